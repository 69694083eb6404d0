/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cache requests (protocol/cache.h): the pool of indices, the state of each, groups. The execution loop owns
 * them and runs the commands about them.
 */
#ifndef FIRMWARE_CACHE_H
#define FIRMWARE_CACHE_H

#include "firmware/state.h"

/* All available. */
void fw_cache_init(struct fw *fw);

/* The live request of a handler, or NULL. */
struct fw_cache_request *fw_cache_find(struct fw *fw, uint64_t handler);
static inline enum pr_cache_state fw_cache_state(const struct fw_cache_request *request)
{
    return (enum pr_cache_state)rt_fsm_state(&request->machine);
}
static inline bool fw_cache_in_use(const struct fw_cache_request *request)
{
    return fw_cache_state(request) == PR_CACHE_IN_USE;
}
static inline unsigned fw_cache_index(const struct fw *fw, const struct fw_cache_request *request)
{
    return (unsigned)(request - fw->cache.request);
}
/* The first member of its group. */
static inline struct fw_cache_request *fw_cache_group(struct fw *fw, const struct fw_cache_request *request)
{
    return &fw->cache.request[request->first];
}

/* The output of a member that a buffer of the group's sets is for, by its place there. */
static inline uint32_t fw_cache_output(const struct fw_cache_request *group,
                                       const struct fw_cache_request *member, unsigned place)
{
    return member->own_outputs ? member->output[place] : group->output[place];
}

/* A request that has been checked, with its block, is in use from here on; its handler is given. */
void fw_cache_begin(struct fw *fw, struct fw_cache_request *request);
/* Ends a request that is invalidated, once nothing of it is under way. */
void fw_cache_settle(struct fw *fw, struct fw_cache_request *request);
/* Invalidates all requests, or those of a process: PR_NO_ID is all. */
void fw_cache_invalidate_all(struct fw *fw, uint32_t process);

/* Whether a request is installed whose executions wait for events or signal some. */
bool fw_cache_has_events(const struct fw *fw);

/* Commands of control.c's table. */
enum pr_status fw_cache_invalidate(struct fw *fw, struct pr_command_header *header, void *body);
enum pr_status fw_cache_force_disable(struct fw *fw, struct pr_command_header *header, void *body);
/* Message 0x212 of the execution loop: selects the active member of a group. */
enum pr_status fw_cache_select(struct fw *fw, uint64_t length);

/* PR_REPORT_CACHE: a line for each request that is not available, and for each pool. */
size_t fw_cache_text(struct fw *fw, char *text, size_t bytes);

#endif
