/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The procedure-call family on the execution loop (seeds Tables 29.4, 30.3 and 30.4). All begin with struct
 * pr_call and its buffers (message.h). A call with bars (0x20c) and a call with events (0x211) have a tail
 * behind the buffers: struct pr_call_tail, then the wait events, signal events and custom bars it counts, in
 * this order. That is the call's size, `callSize`. A call with bars may have a custom execute order behind
 * it, at an offset that the tail names. All of it fits into the copy container. Fields and bounds are the
 * seeds'; places and numbers of types are CHOSEN.
 */
#ifndef PROTOCOL_CALL_H
#define PROTOCOL_CALL_H

#include "protocol/message.h"

#define PR_CUSTOM_BARS_MAX         32u  /* on the wire */
#define PR_PROGRAM_CUSTOM_BARS_MAX 128u /* in a program */
#define PR_SIGNAL_EVENTS_MAX       16u
#define PR_WAIT_EVENTS_MAX         32u /* command facts 4.2: global wait events */
#define PR_EXECUTE_ORDER_MAX       128u
#define PR_EVENT_MASKS             1u

/* A wait or signal event, 24 bytes (seeds ch. 30). */
struct pr_event {
    uint32_t type;        /* enum pr_event_type */
    uint32_t target_mask; /* signal: a bit per doorbell target of the endpoint that is rung; wait: 0 */
    uint64_t id, value;
};
_Static_assert(sizeof(struct pr_event) == 24, "an event record has 24 bytes");
/*
 * A wait holds when the event's value is at least the record's; a signal raises the value to the record's and
 * never lowers it.
 */
enum pr_event_type {
    PR_EVENT_FIRMWARE = 1, /* id: a counter of the firmware's, below PR_FIRMWARE_EVENTS */
    PR_EVENT_SHARED = 2,   /* id: a row of the host's table (INIT_SHARED_EVENT_INFO) */
    PR_EVENT_USER = 3,     /* signal only: a USER_EVENT notification with id and value */
};
#define PR_FIRMWARE_EVENTS 32u

/* A buffer-access register that the call sets itself, by number instead of by buffer. */
struct pr_custom_bar {
    uint32_t type, config; /* PR_CUSTOM_BAR_GENERIC, PR_CUSTOM_BAR_HW_32BIT */
    uint32_t bar_id;       /* below PR_TQ_BARS, and one of the procedure's */
    uint32_t zero;
    uint64_t value; /* device address */
    uint64_t bytes; /* bufSize */
};
_Static_assert(sizeof(struct pr_custom_bar) == 0x20, "a custom bar has 0x20 bytes");
#define PR_CUSTOM_BAR_GENERIC  1u /* ANE_CUSTOM_BAR_GENERIC */
#define PR_CUSTOM_BAR_HW_32BIT 1u /* ANE_CUSTOM_BAR_HW_32BIT */

struct pr_call_tail {
    uint32_t wait_events, signal_events, custom_bars;
    uint32_t event_masks;   /* PR_EVENT_MASKS when there are events, or 0 */
    uint32_t execute_order; /* entries; this and the next two 0: the order is the procedure's own */
    uint32_t execute_order_offset;
    uint32_t sub_network_order; /* bSubNetworkCustomExecuteOrder: 0 in a call with events */
    uint32_t flags;             /* PR_CALL_FORCE_DISABLE_CACHE, in a call with events; else 0 */
};
_Static_assert(sizeof(struct pr_call_tail) == 0x20, "a tail has 0x20 bytes");
/*
 * The force-disable arm of a call with events (seeds Table 30.6): all cache requests are invalidated first,
 * as by FORCE_DISABLE_CACHE_REQUESTS, but new ones may be installed.
 */
#define PR_CALL_FORCE_DISABLE_CACHE 1u

#define PR_CALL_TAIL_BYTES(waits, signals, bars) (0x20u + 24u * ((waits) + (signals)) + 0x20u * (bars))
/* sCSneCmdProcedureCallCopyContainer. */
#define PR_CALL_CONTAINER_BYTES                                                         \
    (PR_CALL_BYTES(PR_CALL_BUFFERS_MAX) +                                               \
     PR_CALL_TAIL_BYTES(PR_WAIT_EVENTS_MAX, PR_SIGNAL_EVENTS_MAX, PR_CUSTOM_BARS_MAX) + \
     PR_EXECUTE_ORDER_MAX * (uint32_t)sizeof(uint32_t))
_Static_assert(PR_CALL_CONTAINER_BYTES < PR_MESSAGE_BYTES_MAX, "a call is a message");

/*
 * An execute order has indices of the program's procedures. They run in that order, one engine request after
 * the other, without the host; the call's own procedure is not run unless it is listed. The buffers of the
 * call are those of all of them. A call with events has none.
 *
 * Partitions: a call runs the first `partitions` operations of its procedure, one engine request each. With
 * an execute order it is 1, and each entry is the first partition of its procedure.
 *
 * A custom bar is for every request of the call whose operation has that BAR, and may have it set
 * (container.h, section custom bars). Its buffer then needs no descriptor.
 *
 * A call has one PROGRAM_EVENT. The first request that fails ends the call with its status, when those that
 * are on the task queue already have ended; the others are not run.
 */

/* RETURN_PROCESS_ID on the execution loop (0x404): the id that REQUEST_PROCESS_ID reserved is free again. */
struct pr_exe_process_id {
    struct pr_exe_header head;
    uint32_t program_id, process_id;
};

/*
 * CH_DATA_FILE_LOAD2 on the execution loop (0x2d), guarded by an engine flag at +0x2bb (seeds Table 30.6).
 * The flag is set while a program with a mutable buffer is loaded. The file is a data file of a process: its
 * bytes are copied to the program's mutable or intermediate buffer of that index by the firmware, before the
 * calls that follow. The firmware reaches its own domain only: the host maps the buffer there too, as it does
 * with statistics buffers.
 */
struct pr_exe_data_file {
    struct pr_exe_header head;
    uint32_t program_id, process_id;
    uint32_t index; /* of the generic buffer */
    uint32_t zero;
    uint64_t source, bytes;       /* both addresses are of the firmware's own domain */
    uint64_t destination, offset; /* of the buffer; offset in it */
};
_Static_assert(sizeof(struct pr_exe_data_file) == 0x38, "no padding");

/*
 * BACK_CHANNEL_RPC on the execution loop (0xff00): the host's answer to a call of the firmware's, or a
 * payload of its own (slot PR_NO_ID). Length and magic come before anything else.
 */
struct pr_exe_rpc {
    struct pr_exe_header head;
    uint32_t magic;   /* PR_RPC_MAGIC */
    uint32_t length;  /* of the payload, at most PR_RPC_BYTES_MAX */
    uint32_t slot;    /* of RPCEventMap */
    uint32_t status;  /* enum pr_status, of the answer */
    uint64_t address; /* of the payload; 0 when length is 0 */
    uint64_t value;   /* the answer, one word */
};
_Static_assert(sizeof(struct pr_exe_rpc) == 0x28, "no padding");
#define PR_RPC_MAGIC     0x55aa55aau
#define PR_RPC_BYTES_MAX 0x800000u

#endif
