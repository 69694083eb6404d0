/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages: what is in the command pool while a slot points to it. The firmware copies a message once,
 * checks the copy and writes replies back in place. Two header forms (docs/provenance.md): the control
 * channel (IO, DEBUG, BUF_H2T) has the 24-byte header of Table 30.1; the execution loop (DATA_CHAIN_H2T) has
 * a u16 id at +4 and fields from +8.
 */
#ifndef PROTOCOL_MESSAGE_H
#define PROTOCOL_MESSAGE_H

#include <stddef.h>

#include "protocol/bits.h"
#include "protocol/commands.h"
#include "protocol/rebase.h"

#define PR_MESSAGE_BYTES_MAX     0x1b89u /* message size bound, command facts 3.1: less than this */
#define PR_PRIORITIES            8u
#define PR_PRIORITY_REALTIME_MAX 1u
#define PR_PROGRAMS_MAX          144u
#define PR_PROGRAM_SLOT_STRIDE   0x20u /* of the program-slot table, seeds ch. 30 */
#define PR_PROCESSES_MAX         288u
#define PR_NO_ID                 0xffffffffu /* -1: unbound program or process */

/* sCSneControllerCmdHdr, Table 30.1. `size` is the body that follows. */
struct pr_command_header {
    uint32_t id;
    uint32_t size;
    uint32_t priority;
    uint32_t program_id;
    uint32_t process_id;
    uint32_t procedure_id;
};
/* X(member, the seed's name, offset, type, meaning) */
#define PR_HEADER_FIELDS(X)                                                               \
    X(id, "id", 0x00, "u32", "the eCSneCmdId selector")                                   \
    X(size, "size", 0x04, "u32", "byte length of the command body that follows")          \
    X(priority, "priority", 0x08, "u32", "scheduling band, 0..7")                         \
    X(program_id, "programId", 0x0c, "i32", "loaded-program slot, -1 when invalid")       \
    X(process_id, "processId", 0x10, "i32", "per-program process instance, -1 when none") \
    X(procedure_id, "procedureId", 0x14, "u32", "index into the program's procedure table")
#define X(member, name, offset, type, meaning) \
    _Static_assert(offsetof(struct pr_command_header, member) == (offset), "Table 30.1");
PR_HEADER_FIELDS(X)
#undef X
_Static_assert(sizeof(struct pr_command_header) == 24, "Table 30.1 is six words");

/*
 * The firmware's answer, written to the header's `priority` place of the reply (CHOSEN): 0 is well. X(id,
 * value, text)
 */
#define PR_STATUSES(X)                                             \
    X(OK, 0, "done")                                               \
    X(BAD_SIZE, 1, "message or body has the wrong size")           \
    X(UNKNOWN_COMMAND, 2, "no such command on this channel")       \
    X(BAD_ARGUMENT, 3, "an argument is outside its bounds")        \
    X(NO_PROGRAM, 4, "no such program")                            \
    X(NO_PROCESS, 5, "no such process")                            \
    X(NO_RESOURCES, 6, "a table of the firmware is full")          \
    X(NOT_READY, 7, "the channel is not ready")                    \
    X(BAD_CONTAINER, 8, "the program container failed its checks") \
    X(WRONG_STATE, 9, "not allowed in this state")                 \
    X(TRANSLATION, 10, "the DART refused an address")              \
    X(ABORTED, 11, "the call was aborted")                         \
    X(STUCK, 12, "the task queue stopped on a descriptor")         \
    X(BUSY, 13, "programs or processes still use it")              \
    X(NOT_STARTED, 14, "the push never reached the task manager")  \
    X(LOST_INTERRUPT, 15, "the engine finished, but its interrupt never came")

enum pr_status {
#define X(id, value, text) PR_STATUS_##id = value,
    PR_STATUSES(X)
#undef X
};
const char *pr_status_text(uint32_t status);

/* The reply of any control command: the header again, `priority` replaced by the status. */
#define PR_REPLY_STATUS(header) ((header)->priority)

/*
 * Bodies of the control commands (after the header). Sizes from command facts 2 minus their 8-byte header,
 * where known.
 */
struct pr_body_u32 {
    uint32_t value;
}; /* PRINT_ENABLE, START, TRACE_ENABLE, STOP, DSID_SET: 4 bytes */
struct pr_body_pmu {
    uint64_t base;
}; /* SET_SNE_PMU_BASE2: 8 bytes */
struct pr_body_property {
    uint32_t channel, property, value;
}; /* CH_PROPERTY_WRITE: 0xc bytes */
struct pr_body_time {
    uint64_t host_ns, controller_ns;
}; /* host-to-engine time synchronisation (CHOSEN body; sent as TIMEPROFILE_SHOW, log 0x08) */
struct pr_body_setting {
    uint64_t count;
    struct {
        uint32_t reg, value;
    } row[2];
}; /* ANE_DEFAULT_SETTING_SET: 8 + 8n */
/* Its row of the context-switch latency threshold, in microseconds (seeds ch. 29; the number is CHOSEN). */
#define PR_SETTING_SWITCH_LATENCY 1u
struct pr_body_resources { /* RESOURCE_INFO_GET: 0x5c bytes, command facts 4.2 */
    uint32_t programs, processes, wait_events, calls_per_process, procedures, cache_requests, engines;
    uint32_t zero[16];
};
_Static_assert(sizeof(struct pr_body_resources) == 0x5c, "0x64 bytes with the 8-byte header of the facts");
struct pr_body_stats_sizes {
    uint32_t header, event, debug_event, engine;
}; /* STATS_BUFFER_SIZE_GET */
/* Replies whose bodies no source has (CHOSEN). CONFIG_GET: 8 bytes, first word not 0. */
struct pr_body_config {
    uint32_t timebase_hz, engines;
};
struct pr_body_build {
    uint32_t protocol_version, ring_version;
    char text[0x38];
}; /* BUILDINFO, when the host left room */

#define PR_MCACHE_BYTES 0x200000u /* MCACHE_SIZE_GET; command facts 2 */

/*
 * Life and power (bodies CHOSEN unless a source is named). POWER_DOWN and SUSPEND have none (command facts
 * 2).
 *   QUIESCE_STATE   no call is accepted from here on; answered when nothing is in flight, with the counts
 *   SUSPEND         after QUIESCE_STATE, with nothing loaded (command facts 2): state is saved for a warm
 *                   boot
 *   POWER_DOWN      the answer is the last word: the processor gates its power and waits for a reset
 *   RESET           the host's acknowledgement of CH_RESET_NOTIFICATION, with the same queues
 *   POWER_DEVICE_ON, POWER_DEVICE_OFF   one device of enum pr_power_device
 *   SET_DYNAMIC_POWERGATE   1: the compute islands are gated while nothing is in flight (command facts 2)
 *   CH_POWER_CONTROL        a channel is made ready (1) or not (0); IO stays ready
 */
struct pr_body_quiesce {
    uint32_t calls, programs, processes, state; /* state: enum pr_execution_state */
};
struct pr_body_reset {
    uint32_t first_queue, last_queue;
};
enum pr_power_device { PR_POWER_MCACHE = 0, PR_POWER_ISLANDS = 1, PR_POWER_DEVICES };
struct pr_body_channel_power {
    uint32_t channel, on;
};

/*
 * INIT_SHARED_EVENT_INFO (CHOSEN body): where the table of shared events is, and how many it has room for.
 * The firmware writes how many of them it will use to the reply.
 */
struct pr_body_shared_events {
    uint64_t address;
    uint32_t events;
    uint32_t flags; /* PR_SHARED_EVENTS_CANCEL, or 0 */
};
#define PR_SHARED_EVENTS_MAX  2u  /* of one call: active < 2 (seeds ch. 30, command facts 4.4) */
#define PR_SHARED_EVENT_ROWS  64u /* of the table (CHOSEN) */
#define PR_SHARED_EVENT_BYTES 16u
struct pr_shared_event {
    uint64_t value;
    uint64_t time; /* host time of the last change */
};                 /* a row (CHOSEN) */
_Static_assert(sizeof(struct pr_shared_event) == PR_SHARED_EVENT_BYTES, "no padding");
/* The host's doorbell to the controller after it has changed a row (CHOSEN); no channel has the bit. */
#define PR_DOORBELL_SHARED_EVENT 8u
/*
 * No table is given: `address` is the cookie of a call that waits for an event, or 0 for all such calls. They
 * end with ABORTED; the reply says how many.
 */
#define PR_SHARED_EVENTS_CANCEL 1u

/* CH_INFO_GET on DEBUG (CHOSEN body): a page of the kernel's own report, as text. */
enum pr_report {
    PR_REPORT_TASKS,
    PR_REPORT_POOLS,
    PR_REPORT_ARENAS,
    PR_REPORT_COUNTERS,
    PR_REPORT_CACHE,
    PR_REPORTS
};
struct pr_body_report {
    uint32_t report; /* enum pr_report; asked */
    uint32_t bytes;  /* of text in the reply, all of it or what fits */
    char text[0x1800];
};

/*
 * BUF_T2H hands buffers of the firmware's to the host; CH_BUFFER_RETURN on BUF_H2T gives them back (CHOSEN).
 */
struct pr_body_buffer_return {
    uint64_t address;
    uint32_t tag, zero;
};
enum pr_buffer_tag { PR_BUFFER_LOAD_REPORT = 1 };
/* Sent by the load monitor, after each PR_LOAD_CALLS finished calls and at each QUIESCE_STATE (CHOSEN). */
struct pr_load_report {
    uint32_t sequence, lost; /* lost: reports for which no buffer was free */
    uint64_t time;           /* host time, by the last synchronisation */
    uint64_t span_ns, busy_ns;
    uint64_t calls, dropped;
};
#define PR_LOAD_CALLS   4096u
#define PR_LOAD_BUFFERS 4u

/*
 * LOAD_PROGRAM: one container by device address (CHOSEN: ANEH, ANEP and ANES by address). Reply: program_id
 * of the header.
 */
struct pr_body_load {
    uint64_t container;
    uint64_t bytes;
    uint64_t working, working_bytes; /* receives struct pr_working_set; 0 bytes: none (CHOSEN) */
};
/*
 * The working set of a loaded program (Table 28.6 names the buffer; what it holds is CHOSEN): where the
 * firmware sees the program's sections.
 */
struct pr_working_set {
    uint64_t text, text_bytes, kernel, kernel_bytes;
};
/*
 * CREATE_PROCESS (CHOSEN): program_id in the header; reply process_id. `stream` has the DART stream of the
 * client's domain, the number of the client, which is the userId of the scheduler's key, and whether its
 * calls run in secure mode alone; its other bits are 0. The buffers that follow are the program's own, each
 * once, at their addresses in that domain: the text, the kernel when the container has one, and every generic
 * buffer whose address the container fixes.
 */
struct pr_process_buffer {
    uint32_t index; /* of the generic buffer, PR_PROCESS_TEXT or PR_PROCESS_KERNEL */
    uint32_t reserved;
    uint64_t address, bytes;
};
_Static_assert(sizeof(struct pr_process_buffer) == 24, "a buffer of a process is 24 bytes");
struct pr_body_process {
    uint32_t stream;
    uint32_t buffers;
    struct pr_process_buffer buffer[];
};
#define PR_PROCESS_STREAM(word)    ((word)&0xffu)
#define PR_PROCESS_USER(word)      ((word) >> 8 & 0xffffu)
#define PR_PROCESS_USER_BITS(user) (((user)&0xffffu) << 8)
#define PR_PROCESS_SECURE          (1u << 31)
#define PR_PROCESS_UNKNOWN         0x7f000000u
#define PR_PROCESS_BYTES(buffers)  (8u + 24u * (buffers))
#define PR_PROCESS_BUFFERS_MAX \
    ((PR_MESSAGE_BYTES_MAX - 1 - (uint32_t)sizeof(struct pr_command_header) - PR_PROCESS_BYTES(0)) / 24u)
_Static_assert(sizeof(struct pr_body_process) == PR_PROCESS_BYTES(0), "the buffers of a process start at 8");

/* Boot commands in order (seeds ch. 29). X(command) */
#define PR_BOOT_COMMANDS(X)                                      \
    X(PRINT_ENABLE, "print-enable")                              \
    X(START, "start")                                            \
    X(SET_SNE_PMU_BASE2, "performance-monitoring-unit base set") \
    X(TIMEPROFILE_SHOW, "host-to-engine time synchronization")   \
    X(CH_PROPERTY_WRITE, "channel-property write")               \
    X(RESOURCE_INFO_GET, "resource-information query")           \
    X(ANE_DEFAULT_SETTING_SET, "default-setting write")          \
    X(MCACHE_SIZE_GET, "memory-cache power-on")                  \
    X(INIT_SHARED_EVENT_INFO, "shared-event-information initialization")

/* Execution loop: the head every message of that channel has. */
struct pr_exe_header {
    uint32_t zero;
    uint16_t id;
    uint16_t status; /* 0 from the host; pr_status when the slot comes back */
};

#define PR_CALL_BUFFERS_MAX     64u
#define PR_CALL_OUTPUT_SETS     1u
#define PR_IN_FLIGHT_MAX        127u
#define PR_DOORBELL_INDEX_LIMIT 32u

/* sCSneBufferDescriptor, command facts 4.4. */
struct pr_buffer {
    uint32_t valid; /* bit 0; bit 1 asks for a wide BAR (CHOSEN) */
    uint32_t index; /* of the program's generic buffer */
    uint32_t type;  /* 0 in, 1 out, 2 intermediate, 3 kernel, 4 text, 5 mutable */
    uint32_t memory;
    uint32_t zero[2];
    uint64_t address; /* device address, below 4 GiB */
    uint64_t bytes;
    uint64_t tag;
};
#define PR_BUFFER_VALID 1u
#define PR_BUFFER_WIDE  2u
_Static_assert(sizeof(struct pr_buffer) == 0x30, "a buffer descriptor is 0x30 bytes");

/*
 * PREMAP_BUFFER: program_id and process_id in the header; one operation with one buffer, whose address and
 * size are not 0 (seeds ch. 30). The places are CHOSEN.
 */
struct pr_body_premap {
    uint32_t operations;
    uint32_t buffers; /* nbrOfBuffers */
    uint32_t pool;    /* the pool's identifier; 0 is that of calls */
    uint32_t zero;
    struct pr_buffer buffer;
};
_Static_assert(sizeof(struct pr_body_premap) == 0x40, "a buffer descriptor behind four words");
#define PR_POOL_CALLS  0u
#define PR_POOL_PREMAP 1u /* of what the driver pre-maps */
/*
 * Of statistics buffers: the buffer is not one of the program's, and its address is one of the firmware's.
 * With an address or a size of 0 nothing is mapped, and the command succeeds (seeds Listing 29.5).
 */
#define PR_POOL_STATS 2u
/* Of property buffers of inference calls (inference.h): the same, and their address and size are not 0. */
#define PR_POOL_PROPERTY 3u

/* PROCEDURE_CALL: priority at +0x14 as the seeds read it; what follows +0x18 is command facts 4.4. */
struct pr_call {
    struct pr_exe_header head;
    uint32_t program_id;       /* +0x08 */
    uint32_t process_id;       /* +0x0c */
    uint32_t procedure;        /* +0x10 */
    uint32_t priority;         /* +0x14 */
    uint32_t output_sets;      /* +0x18 CHOSEN place: nbrOfOutputBufferSets, 1 */
    uint32_t partitions;       /* +0x1c CHOSEN place: task-descriptor partitions, 1 or more */
    uint64_t cookie;           /* +0x20 returned in events */
    uint32_t buffers;          /* +0x28 */
    uint32_t zero;             /* +0x2c */
    struct pr_buffer stats;    /* +0x30 statistics buffer; address or bytes 0: none */
    struct pr_buffer buffer[]; /* +0x60 */
};
#define PR_CALL_BYTES(buffers) (0x60u + 0x30u * (buffers))
_Static_assert(sizeof(struct pr_call) == 0x60, "buffer descriptors start at 0x60");

#define PR_TRIGGER_INPUTS_MAX 16u

/* PROGRAM_EVENT on IO_T2H, command facts 5.2: 0x28 bytes. */
struct pr_program_event {
    uint32_t sequence;
    uint32_t id; /* PR_CMD_PROGRAM_EVENT */
    uint64_t cookie;
    uint32_t program_id;
    uint32_t process_id;
    uint32_t status; /* +0x18 pr_status (CHOSEN; 0 seen) */
    uint32_t state;  /* +0x1c 0 = last task dispatched, 1 = finished and output in DRAM */
    /*
     * +0x20 CHOSEN: of a call that was done well, the engine's time for it in ns; of a failed one TM ERROR1
     * in the low half, ERROR2 in the high one.
     */
    uint64_t detail;
};
_Static_assert(sizeof(struct pr_program_event) == 0x28, "a program event is 0x28 bytes");

/*
 * The longer form, of a call that failed while the engine had it (CHOSEN): the host reads no compute
 * register, so what the firmware read there comes with the event. Words that say nothing of this call are
 * PR_TM_ERROR_FINE.
 */
struct pr_program_failure {
    struct pr_program_event event;
    uint32_t error[3]; /* +0x28 ERROR1 to ERROR3 */
    uint32_t status;   /* +0x34 STATUS of the task manager */
};
_Static_assert(sizeof(struct pr_program_failure) == 0x38, "a failure is 0x38 bytes");
enum { PR_EVENT_DISPATCHED = 0, PR_EVENT_FINISHED = 1 };

/*
 * CH_RESET_NOTIFICATION on IO_T2H: an abort did not clear these task queues (seeds ch. 29: it carries the
 * range; places CHOSEN). The host answers with RESET within PR_DEADLINE_MS, or the firmware fails.
 */
struct pr_reset_notification {
    uint32_t sequence;
    uint32_t id;                      /* PR_CMD_CH_RESET_NOTIFICATION */
    uint32_t first_queue, last_queue; /* inclusive */
    uint32_t reason;                  /* pr_status */
    uint32_t zero;
    uint64_t time; /* host time */
    uint64_t zero2;
};
_Static_assert(sizeof(struct pr_reset_notification) == sizeof(struct pr_program_event),
               "messages of IO_T2H have one least size");

#endif
