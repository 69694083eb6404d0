/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The firmware's state: one struct in the framework arena, shared by the files of this room only.
 *
 * Two tasks, both in the application band: the execution loop (2) and the server (3). What the server changes
 * and the execution loop reads (programs, processes) is changed in a critical section; everything else of the
 * execution loop is its own.
 */
#ifndef FIRMWARE_STATE_H
#define FIRMWARE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "firmware/firmware.h"
#include "protocol/board.h"
#include "protocol/channel.h"
#include "protocol/container.h"
#include "protocol/controller.h"
#include "protocol/execution.h"
#include "protocol/message.h"
#include "protocol/rebase.h"
#include "protocol/tm_regs.h"
#include "rtkernel/fsm.h"

struct rt_kernel;
struct rt_port;
struct rt_task;
struct rt_timer;

#define FW_EXELOOP_PRIORITY 2u
#define FW_SERVER_PRIORITY  3u

#define FW_CALLS      256u /* accepted and not yet reported to the host, over all processes */
#define FW_NO_CALL    0xffffu
#define FW_CREDIT     2u /* requests a level may hold on its queue: the queue's slots */
#define FW_RING_TRIES 8u /* rejected doorbell stores in a row */

/* A shared-memory ring, seen from the controller. */
struct fw_channel {
    uint64_t ring; /* device address of slot 0 */
    uint32_t slots;
    uint32_t cursor; /* the slot to look at next */
    bool ready;
};

/*
 * What reaches a task's queues: a word of reasons is kept beside them, so that no reason is lost when a queue
 * is full.
 */
enum fw_record_kind { FW_RECORD_LOOK, FW_RECORD_DEADLINE, FW_RECORD_START };
struct fw_record {
    uint32_t kind;
    uint32_t zero;
};
struct fw_pump {
    struct rt_task *task;
    /* bits of channels that rang, and FW_REASON_ENGINE; a look is posted when the first is set */
    uint32_t reasons;
};
#define FW_REASON_ENGINE (1u << 31)

/*
 * A buffer that has been rebased: its 64-bit mapped address, whose low half goes to a BAR. `address` and
 * `bytes` are the host's.
 */
struct fw_binding {
    uint32_t index, pool;
    uint64_t address, bytes; /* bytes 0: a free entry */
    uint64_t mapped;
};
#define FW_REBASE_SETS 32u
#define FW_REBASE_WAYS 4u

/*
 * What one process has rebased: the program's own buffers, for as long as it lives, and the buffers that
 * calls bound last. A block of the system arena.
 */
struct fw_rebase {
    uint64_t dva_base, region_size; /* all device addresses that were mapped */
    uint64_t rebased;               /* times an address was computed: warm calls add nothing */
    uint64_t premapped;             /* of those, ahead of a call */
    uint64_t text, kernel;          /* mapped; 0: there is none */
    uint8_t oldest[FW_REBASE_SETS]; /* which entry of a set is replaced next */
    struct fw_binding cache[FW_REBASE_SETS][FW_REBASE_WAYS];
    uint64_t *own; /* mapped, by place in the table of generic buffers; 0: each call binds it */
    struct pr_rebase_record *record; /* those of the container, with operands */
};

/*
 * A loaded program: this, and behind it the private copy of its container, in one block of the system arena.
 */
struct fw_program {
    struct pr_container container; /* points into the copy */
    uint32_t processes;
    uint32_t own; /* buffers that a process must have: text, kernel, and those of a fixed address */
    uint16_t record[PR_OPERATIONS_MAX + 1]; /* the first of an operation; the next operation's ends them */
    /* of a buffer index in the table of generic buffers; FW_NO_PLACE */
    uint16_t place[PR_GENERIC_BUFFERS_MAX];
};
#define FW_NO_PLACE 0xffffu

enum fw_process_state { FW_PROCESS_IDLE, FW_PROCESS_RUNNING };
struct fw_process {
    struct fw_rebase *rebase; /* while it is running */
    uint8_t state;
    uint8_t stream;
    uint16_t program;
    uint16_t calls; /* accepted and not reported yet */
    uint64_t finished;
};

/* An accepted call: what the queue needs, and what its event reports. */
struct fw_call {
    uint32_t bar[PR_TQ_BARS];
    uint32_t wide;          /* a bit per BAR that goes to the table of wide ones */
    uint32_t address, info; /* REQ_ADDR, REQ_INFO */
    uint64_t cookie;
    uint64_t stats, stats_bytes;
    uint64_t accepted;                       /* when */
    uint32_t error[PR_TM_ERRORS], tm_status; /* of a call that failed on the engine */
    uint32_t procedure;
    uint16_t program, process;
    uint16_t next;
    uint8_t level, stream, network, status;
};

struct fw_list {
    uint16_t head, tail;
};

/* One priority level and the task queue of its number. */
struct fw_level {
    struct fw_list waiting, running; /* running: pushed, oldest first */
    uint32_t credit;
    uint64_t since; /* the oldest request is the oldest since then */
};

/* A buffer of the draft, by place. */
struct fw_bound {
    uint64_t mapped, bytes;
    bool wide; /* asked for by the host */
};

struct fw_exeloop {
    struct fw_pump pump;
    struct rt_fsm machine;
    struct rt_timer *deadline;
    struct fw_level level[PR_PRIORITIES];
    struct fw_list free, events;                     /* events: ended, not yet reported to the host */
    uint32_t active;                                 /* calls waiting or running */
    uint32_t sequence;                               /* of PROGRAM_EVENTs */
    uint32_t network;                                /* the last one given out */
    uint32_t networks[(PR_NETWORK_ID_MAX + 1) / 32]; /* a bit per network id in use */
    uint8_t network_level[PR_NETWORK_ID_MAX + 1];    /* of a network id in use */
    uint32_t log_level;                              /* property 0x00a1 */
    uint64_t dropped, unknown, stale;

    struct fw_call draft; /* the call being checked */
    struct fw_bound bound_as[PR_GENERIC_BUFFERS_MAX];
    uint64_t bound[PR_GENERIC_BUFFERS_MAX / 64]; /* which of them are the draft's */
    _Alignas(8) uint8_t message[PR_CALL_BYTES(PR_CALL_BUFFERS_MAX)];
};

struct fw_server {
    struct fw_pump pump;
    uint64_t pmu_base;
    int64_t host_time_offset;
    struct pr_body_setting setting;
    uint64_t loads; /* programs loaded since boot */
    _Alignas(8) uint8_t message[(PR_MESSAGE_BYTES_MAX + 7u) & ~7u];
};

struct fw_terminal {
    bool enabled;
    uint64_t buffer; /* device address of the log buffer the host gave; 0: none yet */
    uint64_t lost;
};

/* A host doorbell. The first also announces the channels. */
struct fw_target {
    uint64_t address; /* physical */
    uint32_t bits;    /* of a completion; 0: unused */
    uint32_t unrung;  /* bits whose store was rejected too often */
};

struct fw {
    struct rt_kernel *kernel;
    struct rt_port *port;
    uint64_t registers;
    uint64_t heap; /* device address of the extra heap: one PROGRAM_EVENT cell per IO_T2H slot */
    struct fw_target target[PR_DOORBELL_TARGETS];
    uint32_t rejected; /* times that a store was rejected too often */
    bool unknown_id_panics;
    struct fw_channel channel[PR_CHANNEL_COUNT];
    struct pr_rebase_engine
        engine; /* the region of the process that maps a buffer; interrupts are masked then */
    /* The software descriptor table of wide BARs: all 64 bits, and which of a queue are in use. */
    uint64_t wide[PR_TQ_COUNT][PR_TQ_BARS];
    uint32_t wide_bars[PR_TQ_COUNT];
    struct fw_terminal terminal;
    struct fw_server server;
    struct fw_exeloop exeloop;
    struct fw_program *program[PR_PROGRAMS_MAX];
    struct fw_process process[PR_PROCESSES_MAX];
    struct fw_call call[FW_CALLS];
};

_Static_assert(sizeof(struct fw) + 64 <= PR_FRAMEWORK_BYTES,
               "the framework reservation holds the firmware's state");

#endif
