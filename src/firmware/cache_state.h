/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data chaining (cache.h, cacheset.h, cachetrigger.h, cacherun.h). All of it is the execution loop's.
 *
 * An execution is a trigger that was accepted. It has a reference of its own until it ends, one of its group
 * while it is the latest there and links read that group, and one for each link that brings its output to an
 * execution that has not ended. With the last one its set is free to be recycled.
 */
#ifndef FIRMWARE_CACHE_STATE_H
#define FIRMWARE_CACHE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "firmware/list.h"
#include "protocol/cache.h"
#include "rtkernel/fsm.h"

#define FW_EXECUTIONS   256u /* accepted and not yet reported, over all requests */
#define FW_NO_EXECUTION 0xffffu
enum fw_execution_state {
    FW_EXECUTION_WAITING,
    FW_EXECUTION_RUNNING,
    FW_EXECUTION_ENDED,
    FW_EXECUTION_FAILED
};
struct fw_execution {
    uint64_t handler; /* of its request, also when that has ended */
    uint64_t timestamp, cookie;
    uint64_t detail; /* the event's */
    uint32_t ticket;
    uint16_t next;
    uint16_t references;
    uint8_t request; /* index */
    uint8_t state;   /* enum fw_execution_state */
    uint8_t set;     /* FW_NO_SET: none yet */
    uint8_t status;  /* enum pr_status */
    uint8_t inputs;
    uint8_t following; /* executions that its end has triggered */
    bool reported;     /* or nothing is to be reported */
    uint16_t
        source[PR_CACHE_LINKS_MAX]; /* by link of the request; FW_NO_EXECUTION: the trigger has the input */
    struct fw_chained {
        uint32_t index, valid; /* as in struct pr_buffer */
        uint64_t address, bytes;
    } input[PR_TRIGGER_INPUTS_MAX];
};
#define FW_NO_SET 0xffu

struct fw_output_set {
    struct rt_fsm machine; /* enum pr_output_set_state */
    uint16_t execution;    /* that has it and has references; else FW_NO_EXECUTION */
    bool filled;           /* the host has given its buffers */
};

/* Members of the second part are those of the group; the first member has them for all. */
struct fw_cache_request {
    struct rt_fsm machine; /* enum pr_cache_state */
    uint64_t handler;      /* 0 when it is available */
    uint32_t generation;
    uint32_t procedure, priority;
    uint64_t follow;    /* handler of the request that triggers it; 0: none */
    uint64_t timestamp; /* of the last trigger */
    uint32_t flags;
    uint32_t outstanding; /* executions that have not ended */
    uint32_t busy;        /* executions that have references */
    uint64_t ended, failed, dropped;
    uint16_t process;
    uint8_t first; /* index of the group's first member */
    bool announce; /* its end is an event */
    uint8_t links, inputs, outputs;
    bool own_outputs;                               /* others than the first's, place by place */
    uint16_t input[PR_TQ_BARS], output[PR_TQ_BARS]; /* generic buffers */
    struct pr_cache_link link[PR_CACHE_LINKS_MAX];
    uint32_t bars, waits, signals;
    struct pr_custom_bar *bar; /* these three are in one block of the system arena, which `bar` begins */
    struct pr_event *event;    /* the waits, then the signals, of the next execution */
    struct pr_buffer *buffer;  /* of the sets, one set after the other */

    uint8_t active;  /* index of a member */
    uint8_t members; /* beside the first */
    uint8_t sets, available, oldest;
    uint8_t order[PR_CACHE_SETS_MAX]; /* available sets, from `oldest` on */
    uint32_t pool;
    uint32_t linked; /* links that read the group */
    uint16_t latest; /* execution; FW_NO_EXECUTION: a link brings nothing */
    struct fw_list waiting;
    struct fw_output_set set[PR_CACHE_SETS_MAX];
};

struct fw_cache {
    struct fw_cache_request request[PR_CACHE_REQUESTS_MAX];
    struct fw_execution execution[FW_EXECUTIONS];
    struct fw_list free, events; /* executions; events: to be reported */
    bool disabled;
    bool wanted;      /* something happened after which an execution may start */
    bool ending;      /* the event of a request's end has no room yet */
    uint32_t process; /* whose requests end: of FW_RECORD_PROCESS */
    uint64_t ended, dropped;
};

#endif
