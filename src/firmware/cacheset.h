/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output sets of a group of cache requests: given by the host, taken by executions in the order of their
 * recycling. Each is available or in execution.
 */
#ifndef FIRMWARE_CACHESET_H
#define FIRMWARE_CACHESET_H

#include "firmware/state.h"

/* All sets of a new group are in execution and have no buffers. */
void fw_cacheset_init(struct fw *fw, struct fw_cache_request *group);
/* Message 0x20a of the execution loop: a set of the host's is available. */
enum pr_status fw_cacheset_recycle(struct fw *fw, uint64_t length);
/* A set is available again with the buffers it had. */
void fw_cacheset_return(struct fw *fw, struct fw_cache_request *group, unsigned set);
/* Takes the oldest available set for an execution; there is one. */
unsigned fw_cacheset_take(struct fw *fw, struct fw_cache_request *group, uint16_t execution);

static inline struct pr_buffer *fw_cacheset_buffers(const struct fw_cache_request *group, unsigned set)
{
    return group->buffer + (size_t)set * group->outputs;
}

#endif
