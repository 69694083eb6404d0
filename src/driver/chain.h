/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chain: a procedure of a process that the firmware keeps installed (a cache request, protocol/cache.h),
 * with output sets that it gets ahead of time. chaining.h has the selectors, trigger.h its executions.
 */
#ifndef DRIVER_CHAIN_H
#define DRIVER_CHAIN_H

#include "driver/state.h"
#include "protocol/cache.h"
#include "protocol/notification.h"

_Static_assert(ANE_CHAINING_SETS == PR_CACHE_SETS_MAX && ANE_CHAINING_LINKS == PR_CACHE_LINKS_MAX,
               "one number");

struct drv_chain_set {
    uint32_t count;
    struct drv_mapping *mapping[PR_CALL_BUFFERS_MAX];
};

struct drv_chain {
    struct drv_chain *next;
    uint64_t handle;
    struct drv_process *process;
    uint64_t cache_handler; /* the firmware's name for it */
    uint32_t procedure, priority;
    uint64_t follow;         /* handle of the chain whose executions trigger this one at their end; 0: none */
    struct drv_chain *group; /* its first member; of the same process, so that all end together */
    struct drv_chain *active; /* of a first member: the one that runs when the group is triggered */
    uint64_t linked;          /* inputs that links bring: a bit for each port */
    uint64_t timestamp;       /* of the last trigger */
    uint32_t users;           /* calls and triggers that use it */
    bool lost;        /* the firmware does not know it any more: it was restarted, or the device has slept */
    bool invalidated; /* the firmware has been sent the invalidation */
    bool ended;       /* the firmware has reported the end of its last execution after that */
    uint32_t sets;
    uint32_t posting;                            /* sets that a call is about to post: a bit for each */
    struct drv_chain_set set[ANE_CHAINING_SETS]; /* of a first member: the group's */
    /* The driver's own buffers; executions of a chain run one after the other. */
    struct drv_mapping *intermediate, *scratch;
};

/* The procedure that it runs. */
static inline const struct drv_procedure *drv_chain_procedure(const struct drv_chain *chain)
{
    return &chain->process->program->procedure[chain->procedure];
}

/* Makes a chain of a prepared process and installs it: args and links are checked copies. May wait. */
IOReturn drv_chain_make(struct drv_process *process, const struct ane_chaining_args *args,
                        const struct ane_chaining_link *link, struct drv_chain **made);
/* The chain of a handle, if the client may use its program. */
IOReturn drv_chain_find(struct drv_client *client, uint64_t handle, struct drv_chain **found);

/*
 * A call uses a chain until it gives it back: its process is pinned and has a slot. A trigger takes a use of
 * its own, with `put` as its end.
 */
IOReturn drv_chain_use(struct drv_chain *chain);
void drv_chain_unuse(struct drv_chain *chain);
void drv_chain_put(struct drv_chain *chain);
/* kIOReturnNotFound with a sentence when the chain was lost, while the call waited or before. */
IOReturn drv_chain_check(const struct drv_chain *chain);

/*
 * Sends a message of the execution loop about a chain in use, and waits until its slot has come back with the
 * firmware's status. `message` begins with struct pr_exe_header, which is written here.
 */
IOReturn drv_chain_send(struct drv_chain *chain, struct drv_client *caller, uint32_t id, void *message,
                        uint32_t bytes);
/* The driver's own buffers of a chain, bound for a trigger: the intermediate one, then scratch. */
IOReturn drv_chain_bind_own(struct drv_chain *chain, struct drv_request *trigger);
/* The buffer of an output set under an address, in words; false when there is none. */
bool drv_chain_tensor_at(const struct drv_chain *chain, uint64_t address, char *text, size_t size);

/* DATA_CHAINING_EVENT. */
void drv_chain_event(struct drv *driver, const struct pr_notify_chaining *event);

/*
 * The client ends: triggers that wait in the firmware for an output set end, so that its requests come back.
 */
void drv_chain_abort_all(struct drv_client *client);
/* The process ends: its chains are invalidated in the firmware, which is waited for, and end. */
void drv_chain_end_all(struct drv_process *process);
/* The same without the firmware, which is not there any more. */
void drv_chain_drop_all(struct drv_process *process);
/*
 * The firmware was restarted: its chains are lost. What they hold is given back now, or with their last user;
 * the handles are known until the process ends or has a new chain, so that a caller learns what happened.
 */
void drv_chain_lose_all(struct drv_process *process);

#endif
