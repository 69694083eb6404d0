/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's side of data chaining, on fwrig: messages about cache requests of the program of
 * container_image.h, whose procedures have one input and one output.
 */
#ifndef TESTS_CACHERIG_H
#define TESTS_CACHERIG_H

#include "firmware/state.h"
#include "fwrig.h"

#define CACHERIG_QUEUE 4u /* the priority of the requests */
/* The buffers of set i, and of input i. */
#define CACHERIG_SET(i)   (FWRIG_OUT + 0x2000u * (uint32_t)(i))
#define CACHERIG_INPUT(i) (FWRIG_IN + 0x1000u * (uint32_t)(i))

/* Installs a request as a control command; what is not set is 0. */
struct cacherig_install {
    struct pr_command_header header;
    struct {
        uint64_t cache_handler, group, follow;
        uint32_t output_sets, partitions, requests, links;
        uint32_t custom_bars, wait_events, signal_events;
        uint32_t pool, flags, zero;
        struct pr_cache_link link[PR_CACHE_LINKS_MAX + 1]; /* or bars, or events */
        uint8_t more[0x600];
    } body;
};
/* A sound one: procedure 0 of process 0, two sets, no links. */
void cacherig_install_make(struct cacherig_install *install);
/* A link from the output of `source` to the input. */
void cacherig_install_link(struct cacherig_install *install, uint64_t source);
/* Sends it, with the size of its counts unless header.size is not 0; the status. */
uint32_t cacherig_install(struct fwrig *rig, const struct cacherig_install *install, uint64_t *handler);
/* A request of that many sets, installed; asserts. */
uint64_t cacherig_request(struct fwrig *rig, uint32_t sets, uint32_t flags);

/* Messages; each gives the status. */
uint32_t cacherig_recycle(struct fwrig *rig, uint64_t handler, uint32_t set);       /* with its buffer */
uint32_t cacherig_recycle_again(struct fwrig *rig, uint64_t handler, uint32_t set); /* without */
uint32_t cacherig_trigger(struct fwrig *rig, uint64_t handler, uint64_t time); /* with input `time` % 16 */
uint32_t cacherig_trigger_linked(struct fwrig *rig, uint64_t handler, uint64_t time);
uint32_t cacherig_select(struct fwrig *rig, uint64_t group, uint64_t active);
uint32_t cacherig_invalidate(struct fwrig *rig, uint64_t handler, uint32_t *in_flight);
uint32_t cacherig_disable(struct fwrig *rig, uint32_t value);
uint32_t cacherig_send(struct fwrig *rig, const void *message, size_t bytes); /* of the execution loop */
void cacherig_recycle_make(struct pr_cache_recycle *message, uint64_t handler, uint32_t set);
void cacherig_trigger_make(struct pr_cache_trigger *message, uint64_t handler, uint64_t time);

/* The oldest request of the queue ends, with an engine's code. */
void cacherig_retire(struct fwrig *rig, uint32_t code);
/* The next event must be that one. */
void cacherig_expect(struct fwrig *rig, uint64_t handler, uint64_t time, uint32_t set, enum pr_status status);
/* Input and output of a push. */
uint32_t cacherig_in(const struct fwrig *rig, size_t push);
uint32_t cacherig_out(const struct fwrig *rig, size_t push);

static inline const struct fw *cacherig_fw(const struct fwrig *rig)
{
    return fwrig_firmware(rig);
}
/* How often the rule was broken. */
static inline uint32_t cacherig_broken(const struct fwrig *rig, enum pr_rule rule)
{
    return cacherig_fw(rig)->broken[rule];
}
/* It was broken once more since `before`, with the rule's status, and its words are in the log. */
void cacherig_expect_broken(struct fwrig *rig, enum pr_rule rule, uint32_t before, uint32_t status);

#endif
