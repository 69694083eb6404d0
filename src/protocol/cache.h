/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data chaining: cache requests (seeds ch. 29 and 30). A cache request is a procedure of a process that the
 * firmware keeps installed, with output sets that it gets ahead of time. A trigger takes the oldest available
 * set, runs the procedure once and reports with DATA_CHAINING_EVENT. Links take inputs from the output set of
 * the latest execution of the same or of another request: nothing is copied and the host is not asked. A
 * trigger waits until that execution has ended and a set is available, behind the triggers before it.
 *
 * Install, invalidate and force-disable are control commands (IO); trigger, recycle and group select are
 * messages of the execution loop. What they carry is in the seeds; places and numbers are CHOSEN.
 *
 * The outputs of a request are the buffers of type PR_BUFFER_OUT that its procedure has and that calls bind;
 * the inputs are the others that calls bind. A cacheHandler is never 0 and never that of an earlier request.
 */
#ifndef PROTOCOL_CACHE_H
#define PROTOCOL_CACHE_H

#include "protocol/call.h"
#include "protocol/message.h"

#define PR_CACHE_REQUESTS_MAX 16u /* maxCacheRequest: command facts 4.2 */
#define PR_CACHE_SETS_MAX     8u
#define PR_CACHE_LINKS_MAX    16u

/* ANE_DATA_CHAINING_CACHE_REQUEST_*, seeds ch. 29. X(id, number, name) */
#define PR_CACHE_STATES(X)       \
    X(AVAILABLE, 0, "available") \
    X(IN_USE, 1, "in use")       \
    X(INVALIDATING, 2, "invalidating")
enum pr_cache_state {
#define X(id, number, name) PR_CACHE_##id = (number),
    PR_CACHE_STATES(X)
#undef X
        PR_CACHE_STATE_COUNT
};

/*
 * A set is available from its recycle until an execution takes it, and in execution until it is recycled
 * again. Sets of a new request are in execution: the host gives the buffers with the first recycle.
 */
#define PR_OUTPUT_SET_STATES(X)        \
    X(IN_EXECUTION, 0, "in execution") \
    X(AVAILABLE, 1, "available")
enum pr_output_set_state {
#define X(id, number, name) PR_OUTPUT_SET_##id = (number),
    PR_OUTPUT_SET_STATES(X)
#undef X
        PR_OUTPUT_SET_STATE_COUNT
};

/*
 * An input that is the output of an execution before: the latest one of the source that was accepted before
 * the trigger. A link brings nothing before the source has been triggered, after its latest execution failed,
 * after the host has recycled that one's set, and after the source has ended. Indices are those of generic
 * buffers; the output must be at least as large as the input.
 */
struct pr_cache_link {
    uint64_t source; /* cacheHandler of the same process; 0: the group of this request */
    uint32_t output, input;
};

/*
 * PROCEDURE_CALL_CACHE_REQUEST: installs. Program, process, procedure and priority are those of the header.
 * The WITH_CUSTOM_BARS form has `custom_bars` struct pr_custom_bar behind the links, which hold for every
 * execution; the WITH_SHARED_EVENTS form has `wait_events` and `signal_events` struct pr_event there, whose
 * values rise by 1 with each execution. The counts are 0 in the other forms.
 */
struct pr_body_cache_install {
    uint64_t cache_handler; /* in the reply */
    uint64_t group;         /* cacheHandler of the group's first member; 0: a group of its own */
    /*
     * cacheHandler that this request follows: each execution of it that ends well triggers this request,
     * whose inputs links then bring; 0: none. It is installed before this one, so follows have no cycle.
     */
    uint64_t follow;
    uint32_t output_sets; /* 1 to PR_CACHE_SETS_MAX */
    uint32_t partitions;  /* 1 */
    uint32_t requests;    /* nbrOfAneRequestInList: 1 */
    uint32_t links;
    uint32_t custom_bars, wait_events, signal_events;
    uint32_t pool;  /* of the buffers of its sets, kept and reported; PR_POOL_CALLS */
    uint32_t flags; /* PR_CACHE_* below */
    uint32_t zero;
    struct pr_cache_link link[]; /* then bars or events */
};
_Static_assert(sizeof(struct pr_body_cache_install) == 0x40, "links start at 0x40");
#define PR_CACHE_INSTALL_BYTES(links, bars, events) \
    (0x40u + 0x10u * (links) + 0x20u * (bars) + 24u * (events))
/*
 * A set is recycled by the firmware: when its execution has ended well, no link can bring it any more, and
 * no execution that a link has brought it to is under way. Without the flag, and when the execution failed,
 * only the host recycles.
 */
#define PR_CACHE_AUTO_RECYCLE 1u
/* Of executions only those that fail are reported (CHOSEN). */
#define PR_CACHE_QUIET 2u
#define PR_CACHE_FLAGS (PR_CACHE_AUTO_RECYCLE | PR_CACHE_QUIET)

/*
 * Groups: the members have one process and the output sets of the first member. Their outputs are those of
 * the first, or as many others of the same sizes, place by place: procedures may have buffers for themselves.
 * A set has the buffers of the first; a link names those or its source's own. The first member is active
 * until another one is selected, and again when that one is invalidated. The handler of the first member is
 * that of the group: its trigger runs the active member. A trigger of any other member runs that member if it
 * is active and is dropped otherwise.
 */

/*
 * PROCEDURE_CALL_INVALIDATE_CACHE_REQUEST: process_id in the header. Triggers that wait end with ABORTED, and
 * so do those that wait for an output of the request; what runs ends first. The first member of a group takes
 * the others with it. TERMINATE_PROCESS does the same for all requests of the process.
 */
struct pr_body_cache_invalidate {
    uint64_t cache_handler;
    uint32_t in_flight; /* in the reply: executions under way; if any, an event follows: state AVAILABLE */
    uint32_t zero;
};
/* FORCE_DISABLE_CACHE_REQUESTS: one word, true. No request is installed until the next START. */

/* On the execution loop. */

struct pr_cache_trigger { /* 0x209 */
    struct pr_exe_header head;
    uint64_t cache_handler; /* of a request; or of a group, for its active member */
    uint64_t timestamp;     /* execTimestamp */
    uint32_t buffers;       /* all inputs that no link brings; a buffer given here replaces a link's, once */
    uint32_t zero;
    uint64_t cookie; /* in the event */
    struct pr_buffer buffer[PR_TRIGGER_INPUTS_MAX];
};
struct pr_cache_recycle { /* 0x20a: an output set to write, new or returned */
    struct pr_exe_header head;
    uint64_t cache_handler;
    uint32_t set, buffers;
    struct pr_buffer buffer[PR_CALL_BUFFERS_MAX]; /* all outputs; 0 buffers: those it had */
};
struct pr_cache_active { /* 0x212: the member of a group that runs when the group is triggered */
    struct pr_exe_header head;
    uint64_t group, active;
};
#define PR_CACHE_RECYCLE_BYTES(buffers) (0x18u + 0x30u * (buffers))
#define PR_CACHE_TRIGGER_BYTES(buffers) (0x28u + 0x30u * (buffers))
_Static_assert(offsetof(struct pr_cache_recycle, buffer) == 0x18 &&
                   offsetof(struct pr_cache_trigger, buffer) == 0x28,
               "buffer descriptors follow the heads");

#endif
