/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The firmware's state: one struct in the framework arena, shared by the files of this room only.
 *
 * Each member belongs to one task (tasks.h), which alone changes it. What another task reads of it is one
 * word, or is changed in a critical section: programs and processes, which the call manager changes and the
 * execution loop reads, and the word that closes the execution loop.
 */
#ifndef FIRMWARE_STATE_H
#define FIRMWARE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "firmware/cache_state.h"
#include "firmware/firmware.h"
#include "firmware/list.h"
#include "protocol/board.h"
#include "protocol/cache.h"
#include "protocol/call.h"
#include "protocol/channel.h"
#include "protocol/container.h"
#include "protocol/control_bodies.h"
#include "protocol/controller.h"
#include "protocol/endpoint.h"
#include "protocol/execution.h"
#include "protocol/inference.h"
#include "protocol/log_line.h"
#include "protocol/message.h"
#include "protocol/notification.h"
#include "protocol/property.h"
#include "protocol/rebase.h"
#include "protocol/rule.h"
#include "protocol/stats.h"
#include "protocol/tm_regs.h"
#include "protocol/dump.h"
#include "rtkernel/fsm.h"

struct rt_kernel;
struct rt_mailbox;
struct rt_mutex;
struct rt_port;
struct rt_queue;
struct rt_semaphore;
struct rt_signal;
struct rt_task;
struct rt_timer;

/*
 * The tasks beside the kernel's own two, idle and terminator (seeds ch. 29 names them; the names here and the
 * levels are chosen). X(id, name, level)
 */
#define FW_TASKS(X)            \
    X(INTMGR, "intmgr", 1)     \
    X(EXELOOP, "exeloop", 2)   \
    X(SERVER, "server", 3)     \
    X(CALLMGR, "callmgr", 4)   \
    X(DARTMGR, "dartmgr", 4)   \
    X(TUNABLES, "tunables", 5) \
    X(HOSTRPC, "hostrpc", 5)   \
    X(LOADMON, "loadmon", 6)
enum fw_task {
#define X(id, name, level) FW_TASK_##id,
    FW_TASKS(X)
#undef X
        FW_TASK_COUNT
};

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
enum fw_record_kind {
    FW_RECORD_LOOK,      /* reasons are there */
    FW_RECORD_COMMAND,   /* the server's command is this task's to run */
    FW_RECORD_START,     /* exeloop: arm */
    FW_RECORD_STOP,      /* exeloop: disarm */
    FW_RECORD_RESET,     /* exeloop: end the calls of the range; intmgr: the host has reset it */
    FW_RECORD_QUEUES,    /* tunables: load the registers of the queues */
    FW_RECORD_REBASE,    /* dartmgr: the buffers of a new process */
    FW_RECORD_WINDOW,    /* dartmgr: whether a range is mapped */
    FW_RECORD_CANCEL,    /* exeloop: end the held calls of events.asked */
    FW_RECORD_POLL,      /* intmgr: its timer fired */
    FW_RECORD_PROCESS,   /* exeloop: a process ends, and with it what of it waits */
    FW_RECORD_SECURE,    /* exeloop: the host has not resumed the transition in time */
    FW_RECORD_INFERENCE, /* exeloop: the inference call that the server holds */
    FW_RECORD_BUILTIN,   /* callmgr: a built-in network is wanted */
};
struct fw_record {
    uint8_t kind, from; /* from: who waits for the answer */
};
struct fw_pump {
    struct fw *fw;
    struct rt_task *task;
    struct rt_mailbox *answer; /* one word, from the task that was asked */
    /* bits of channels that rang, and FW_REASON_*; a look is posted when the first is set */
    uint32_t reasons;
    uint8_t number; /* enum fw_task */
};
#define FW_REASON_ENGINE  (1u << 31) /* exeloop: the engine's line rose */
#define FW_REASON_ABORT   (1u << 30) /* exeloop: queues are overdue */
#define FW_REASON_CHECK   (1u << 29) /* exeloop: has the abort cleared the queues? */
#define FW_REASON_LINES   (1u << 28) /* hostrpc: log lines for the host */
#define FW_REASON_REPORT  (1u << 27) /* loadmon: a report is due */
#define FW_REASON_TIMEOUT (1u << 26) /* intmgr: the timeout interrupt came */
#define FW_REASON_STRAY   (1u << 25) /* intmgr: lines that no other task has */

#define FW_REASON_EVENTS (1u << PR_DOORBELL_SHARED_EVENT) /* exeloop: values may have changed */
#define FW_REASON_NOTIFY (1u << 24)                       /* exeloop: a notification is posted */

#define FW_REASON_CACHE (1u << 20) /* exeloop: executions may start again */

/* Why no call is accepted; all bits 0: calls are. */
#define FW_CLOSED_INIT     (1u << 0)
#define FW_CLOSED_QUIESCED (1u << 1)
#define FW_CLOSED_RESET    (1u << 2)
#define FW_CLOSED_CACHE    (1u << 3)
#define FW_CLOSED_ISLANDS  (1u << 4)
#define FW_CLOSED_ENDPOINT (1u << 5) /* of the execution loop: not bound (endpoint.c) */

/*
 * A buffer that has been rebased: its 64-bit mapped address, whose low half goes to a BAR. `address` and
 * `bytes` are the host's.
 */
struct fw_binding {
    uint32_t index, pool;
    uint64_t address, bytes; /* bytes 0: a free entry */
    uint64_t mapped;
};

/* Statistics buffers of a process. The dartmgr changes it, in a critical section. */
struct fw_statistics {
    uint64_t base; /* the lowest address that was mapped; 0: none was */
    uint32_t count;
    struct pr_stats_totals totals; /* the execution loop's */
    struct {
        uint64_t address, bytes;
    } map[PR_STATS_MAPS]; /* the next goes to count % PR_STATS_MAPS */
};

#define FW_REBASE_SETS 32u
#define FW_REBASE_WAYS 4u

/*
 * What one process has rebased: the program's own buffers, for as long as it lives, and the buffers that
 * calls bound last; and its statistics buffers. A block of the system arena.
 */
struct fw_rebase {
    uint64_t dva_base, region_size; /* all device addresses that were mapped */
    uint64_t rebased;               /* times an address was computed: warm calls add nothing */
    uint64_t premapped;             /* of those, ahead of a call */
    uint64_t text, kernel;          /* mapped; 0: there is none */
    uint8_t oldest[FW_REBASE_SETS]; /* which entry of a set is replaced next */
    struct fw_binding cache[FW_REBASE_SETS][FW_REBASE_WAYS];
    struct fw_statistics statistics;
    /* Property buffers of inference calls; the next goes to properties % PR_PROPERTY_MAPS. */
    uint32_t properties;
    struct {
        uint64_t address, bytes;
    } property[PR_PROPERTY_MAPS];
    uint64_t *own; /* mapped, by place in the table of generic buffers; 0: each call binds it */
    struct pr_rebase_record *record; /* those of the container, with operands */
};

/*
 * A loaded program: this, and behind it the private copy of its container, in one block of the system arena.
 */
struct fw_program {
    struct pr_container container; /* points into the copy */
    uint32_t processes;
    uint64_t cached; /* bytes of it in the memory cache (prefetch.c) */
    uint32_t own;    /* buffers that a process must have: text, kernel, and those of a fixed address */
    bool mutable;    /* it has a mutable buffer */
    uint16_t record[PR_OPERATIONS_MAX + 1]; /* the first of an operation; the next operation's ends them */
    uint32_t custom[PR_OPERATIONS_MAX];     /* a bit per BAR of the operation that a call may set itself */
    /* of a buffer index in the table of generic buffers; FW_NO_PLACE */
    uint16_t place[PR_GENERIC_BUFFERS_MAX];
};
#define FW_NO_PLACE 0xffffu

/*
 * A slot of the program table (seeds ch. 30: stride 0x20, and a validity byte that the argument validator
 * indexes; the table is at offset 0x9948 of an engine object whose other parts are not known, so that it is
 * elsewhere here). What else a slot has is CHOSEN.
 */
struct fw_program_slot {
    uint8_t valid;    /* 1: fw.program has a program that has passed every check */
    uint8_t reserved; /* the id is the host's, with a program or without */
    uint8_t zero[6];
    uint64_t loads; /* programs that the slot has had since the boot */
    uint64_t since; /* when the last one was loaded */
    uint64_t zero2;
};
_Static_assert(sizeof(struct fw_program_slot) == PR_PROGRAM_SLOT_STRIDE &&
                   offsetof(struct fw_program_slot, valid) == 0,
               "a slot's stride, and its validity byte");

enum fw_process_state { FW_PROCESS_IDLE, FW_PROCESS_RUNNING, FW_PROCESS_STATES };
struct fw_process {
    struct fw_rebase *rebase; /* while it is running */
    struct rt_fsm machine;    /* enum fw_process_state; the call manager's */
    uint8_t stream;
    bool secure; /* its calls run in secure mode alone */
    uint16_t program;
    uint16_t user;     /* the client that it belongs to */
    uint16_t calls;    /* accepted and not reported yet */
    uint16_t reserved; /* the program that the id is reserved for, plus 1; 0: none */
    uint16_t requests; /* cache requests; the execution loop's */
    uint64_t finished;
};

/*
 * A request to the engine: what the queue needs. An accepted call is one or more of them, in the order in
 * which they run. The first is the call: it has what the event reports, and is kept until all have ended.
 */
enum fw_origin { FW_ORIGIN_CALL, FW_ORIGIN_CACHE }; /* who waits for its end: the host, a cache request */
struct fw_call {
    uint32_t bar[PR_TQ_BARS];
    uint32_t wide;          /* a bit per BAR that goes to the table of wide ones */
    uint32_t address, info; /* REQ_ADDR, REQ_INFO */
    uint64_t cookie;
    uint64_t stats, stats_bytes;
    uint64_t accepted, pushed;               /* when; pushed: if it has a network id */
    uint64_t charged;                        /* the engine's time that all had when it was pushed */
    uint64_t engine_ns;                      /* of the first: the engine's time for its requests */
    uint32_t error[PR_TM_ERRORS], tm_status; /* of a call that failed on the engine */
    uint32_t procedure;
    uint32_t ticket; /* in the ring of recent commands; rises with each submit */
    uint16_t program, process;
    uint16_t next;
    uint16_t execution; /* FW_ORIGIN_CACHE: in fw_cache */
    uint8_t level, stream, network, status;
    uint8_t origin;  /* enum fw_origin */
    uint16_t lead;   /* the first request of the call, which may be this one */
    uint16_t follow; /* the next one, FW_NO_CALL: this is the last */
    uint16_t left;   /* of the first: requests that have not ended */
    bool dispatched; /* of the first: its queue has them, or had */
    uint32_t after;  /* of the first, once it has ended: notifications that go before its event */
    struct fw_call_events *events; /* of the first; event.h; NULL: none */
};

/*
 * Which held calls: of a cookie (0: any), of a process (PR_NO_ID: any), of a range of levels; executions that
 * a cache request takes with it (0: any call).
 */
struct fw_event_match {
    uint64_t cookie, handler;
    uint32_t process;
    uint8_t first_level, last_level;
    bool outside; /* also calls that wait outside of the machine (secure.h) */
};

/* Events that calls wait for and signal. The table is the server's, changed while nothing is in flight. */
struct fw_events {
    uint64_t counter[PR_FIRMWARE_EVENTS];
    struct fw_list held; /* calls that wait, oldest first */
    uint32_t count;      /* of them */
    uint64_t held_ever;
    uint64_t table; /* of shared events, device address */
    uint32_t rows;
    struct fw_event_match asked; /* of FW_RECORD_CANCEL */
    uint32_t cancelled;          /* its answer */
};

/* One priority level and the task queue of its number. */
struct fw_level {
    struct fw_list waiting, running; /* running: pushed, oldest first */
    uint32_t credit;
    uint64_t since; /* the oldest request is the oldest since then */
    /* From the abort until the queue is vacant again nothing is pushed; its calls end with `reason` then. */
    bool aborting;
    bool full;      /* the queue had no room for the oldest call that waits, and that is logged */
    uint8_t reason; /* enum pr_status */
    uint64_t aborted;
};

/* A buffer of the draft, by place. */
struct fw_bound {
    uint64_t mapped, bytes;
    bool wide; /* asked for by the host */
};

struct fw_exeloop {
    struct rt_fsm machine;
    struct rt_timer *deadline; /* raises the timeout interrupt */
    struct fw_level level[PR_PRIORITIES];
    struct fw_list free, events;                     /* events: ended, not yet reported to the host */
    uint32_t active;                                 /* calls waiting or running */
    uint32_t aborting;                               /* levels that are */
    uint32_t sequence;                               /* of PROGRAM_EVENTs */
    uint32_t network;                                /* the last one given out */
    uint32_t networks[(PR_NETWORK_ID_MAX + 1) / 32]; /* a bit per network id in use */
    uint8_t network_level[PR_NETWORK_ID_MAX + 1];    /* of a network id in use */
    uint32_t log_level;                              /* property 0x00a1 */
    uint64_t unknown, stale;
    uint64_t packets;        /* sub-packets of inference calls that became calls */
    uint64_t ended;          /* when the engine's last request has */
    uint64_t charged;        /* the engine's time of all requests that have */
    uint64_t late;           /* calls that waited longer than the context-switch threshold */
    uint64_t checks, insane; /* sanity checks, and what was wrong in them */
    bool notify_reset;       /* the notification of the reset is due, once IO_T2H has room */

    struct fw_call draft; /* the call being checked */
    struct fw_bound bound_as[PR_GENERIC_BUFFERS_MAX];
    uint64_t bound[PR_GENERIC_BUFFERS_MAX / 64]; /* which of them are the draft's */
    uint32_t custom;                             /* a bit per BAR that the call sets itself */
    uint32_t custom_value[PR_TQ_BARS];
    uint32_t requests; /* of the call being checked: entries of the table of procedures */
    uint16_t request[PR_EXECUTE_ORDER_MAX];
    _Alignas(8) uint8_t message[PR_CALL_CONTAINER_BYTES];
};

/* The secure mode (secure.h). The execution loop's. */
enum fw_secure_phase { FW_SECURE_OFF, FW_SECURE_QUIESCING, FW_SECURE_PAUSED, FW_SECURE_ON };
struct fw_secure {
    struct rt_timer *timer; /* of the host's acknowledgement */
    struct fw_list held;    /* accepted calls outside of the machine, oldest first */
    uint32_t waiting;       /* how many */
    uint32_t dropped;       /* triggers of processes that are not secure, since the switch began */
    uint8_t phase;          /* enum fw_secure_phase */
    bool entering;          /* where a switch goes */
    uint64_t paused;        /* since when */
    uint64_t switches, timeouts, dropped_ever;
};

struct fw_command;
struct fw_server {
    const struct fw_command *command; /* the one under way, with its reply */
    size_t capacity;                  /* bytes of body that the host left room for */
    size_t reply;                     /* bytes of body that go back */
    int64_t host_time_offset;
    uint64_t loads; /* programs loaded since boot */
    _Alignas(8) uint8_t message[(PR_MESSAGE_BYTES_MAX + 7u) & ~7u];
};

/* The life of the firmware (CHOSEN; the commands are in message.h). Its machine is the server's. */
enum fw_life_state {
    FW_LIFE_INIT,
    FW_LIFE_RUNNING,
    FW_LIFE_QUIESCED,
    FW_LIFE_SUSPENDED,
    FW_LIFE_DOWN,
    FW_LIFE_STATES
};
struct fw_life {
    struct rt_fsm machine;
    struct rt_signal *signal; /* FW_SIGNAL_* */
};
#define FW_SIGNAL_DRAINED (1u << 0) /* nothing is in flight */
#define FW_SIGNAL_RESET   (1u << 1) /* a reset is wanted of the host */

struct fw_power {
    uint64_t pmu;   /* base of the power-state registers; 0: not known yet */
    uint32_t on;    /* a bit per enum pr_power_device */
    bool dynamic;   /* the islands are gated while nothing is in flight */
    uint64_t gated; /* how often they were */
};

/* progProcInfo (builtin.c); the call manager changes it while the server waits. */
struct fw_builtin_row {
    bool valid;
    uint32_t network;          /* enum pr_built_in_network */
    uint16_t program, process; /* progId, procId */
};
struct fw_builtin {
    struct fw_builtin_row row[PR_BUILT_IN_PROGRAMS_MAX];
    uint32_t asked, asked_network;
};

/* What the dartmgr was asked. */
struct fw_dartmgr {
    const struct fw_program *program;
    const struct pr_body_process *body;
    struct fw_rebase *rebase;
    struct rt_mutex *asking; /* one task at a time asks for a window */
    uint64_t address, bytes;
};

/* Defaults the host has set, and registers that are loaded from a table. */
struct fw_tunables {
    uint64_t switch_ns;          /* context-switch latency threshold; 0: none */
    uint64_t loads;              /* times the registers of the queues were written */
    uint8_t weight[PR_TQ_COUNT]; /* PRTY of the queues */
};

/* What the host has set by commands of their own (setting.c, property.c). The server's. */
struct fw_setting {
    uint32_t run_mode; /* enum pr_run_mode */
    uint32_t dsid;     /* PR_NO_ID: none */
    uint32_t property[PR_PROPERTY_COUNT];
    bool profiling;
    uint64_t profile_begin, profile_calls; /* when; calls finished by then */
};

struct fw_loadmon {
    struct rt_semaphore *credits;   /* buffers the host does not have */
    uint32_t held;                  /* a bit per buffer that it has */
    uint32_t buffers;               /* in use; held and credits add up to it */
    uint32_t sent[PR_LOAD_BUFFERS]; /* sequence of the report that a buffer holds */
    uint32_t mode;                  /* enum pr_recycle_mode */
    bool recycling;
    uint32_t sequence, lost;
    uint64_t begin, entered; /* of the span; of EXEC */
    uint64_t busy;           /* in this span, up to the last drain */
    bool busy_now;           /* in EXEC */
    uint64_t finished;       /* calls since boot */
    /* The load score: measured while there is a high watermark. */
    struct rt_timer *score_timer;
    bool watching, measuring;
    bool above;                       /* as the host knows it */
    uint32_t score;                   /* the last */
    uint64_t busy_ever;               /* as `busy`, since boot */
    uint64_t score_begin, score_busy; /* of the span: when, and busy_ever then */
    uint64_t reported_finished, reported_dropped;
};

/* An engine of the profiler's table. Times are exact here; the counters the host sees are in the quad. */
struct fw_engine {
    uint32_t id, type; /* type: enum pr_stats_engine_type */
    uint64_t busy_ns, latency_ns;
    uint64_t ended; /* the last call */
    uint64_t reserved[2];
    struct pr_stats_quad quad;
    uint64_t reserved2;
};
_Static_assert(sizeof(struct fw_engine) == PR_STATS_ENGINE_STRIDE &&
                   offsetof(struct fw_engine, quad) == PR_STATS_QUAD_OFFSET,
               "the stride of the engine table, and its counters");

struct fw_stats {
    struct fw_engine engine[PR_STATS_ENGINES_MAX];
    uint64_t unmapped; /* calls whose buffer the process has not mapped */
    /* the record being made: the room for it; full: a part did not fit */
    uint64_t room;
    uint32_t bytes, valid;
    bool full;
    uint8_t record[PR_STATS_BYTES_MAX];
};

/* Notifications that wait for room (notify.c). Changed in critical sections. */
#define FW_NOTIFICATIONS         64u
#define FW_NOTIFICATIONS_AWAITED 8u /* further places, for those that the host waits for */
struct fw_notification {
    uint8_t bytes;
    _Alignas(8) uint8_t message[PR_NOTIFICATION_BYTES_MAX];
};
struct fw_notify {
    uint32_t first, count;
    uint32_t posted, sent;    /* in all, modulo 2^32; they differ by `count` */
    uint32_t lost, lost_ever; /* lost: since the host heard of it */
    struct fw_notification ring[FW_NOTIFICATIONS + FW_NOTIFICATIONS_AWAITED];
};

/* Signposts of one time that were not posted yet (signpost.c). `on` is the server's. */
struct fw_signposts {
    bool on;
    struct pr_notify_signposts narrow;
    struct pr_notify_signposts64 wide;
};

/* Calls to the host (rpc.c). */
struct fw_rpc_slot {
    bool used;
    uint8_t kind;  /* enum pr_rpc_kind */
    uint32_t uses; /* of the place */
    uint64_t called;
};
struct fw_rpc {
    bool debug; /* RPC_ENABLE: log lines are debug calls */
    uint32_t next;
    struct fw_rpc_slot slot[PR_RPC_SLOTS]; /* RPCEventMap */
    uint64_t calls, answered, dirty, unsent, synchronised;
    uint64_t payloads;
    uint32_t checksum; /* of the last payload */
};

/* What the memory cache holds (prefetch.c). */
struct fw_prefetch {
    uint64_t bytes;
    uint32_t programs;
};

enum fw_intmgr_phase { FW_INTMGR_WATCHING, FW_INTMGR_CLEARING, FW_INTMGR_RESETTING };
struct fw_intmgr {
    struct rt_timer *poll;
    struct rt_mutex *reset; /* held from the notification to the host's RESET */
    bool stuck;             /* the global stuck flag */
    uint8_t phase;
    uint8_t first, last; /* queues of the reset */
    uint32_t stray;      /* a bit per line without a handler that rose and is not logged yet */
    uint64_t timeouts, unhandled, resets;
};

/* How faults below an exception are dealt with (seeds ch. 29); one counter each. X(id, name) */
#define FW_DISPOSITIONS(X) \
    X(WARNED, "warned") X(DROPPED, "dropped") X(REJECTED, "rejected") X(FAULTED, "faulted")
enum fw_disposition {
#define X(id, name) FW_##id,
    FW_DISPOSITIONS(X)
#undef X
        FW_DISPOSITION_COUNT
};

/*
 * What survives a reset, in memory of the board's. A warm boot keeps it if the checksum is right, a cold boot
 * clears it.
 */
struct fw_retained {
    uint64_t magic, checksum; /* the exclusive or of all other words */
    uint64_t total;           /* commands since the ring was cleared */
    uint64_t lines;           /* log lines sent to the host since then */
    struct pr_dump_command command[PR_DUMP_COMMANDS_MAX];
};
#define FW_RETAINED_MAGIC 0x646e616d6d6f43ull

struct fw_hostrpc {
    struct rt_queue *lines; /* of the log, on their way to the host */
    bool muted;             /* RPC_ENABLE: lines stay in the kernel's log */
    bool check;             /* SET_SNE_RPC_CHECK_CMD: commands of BUF_H2T are logged */
    _Alignas(8) uint8_t message[sizeof(struct pr_command_header) + sizeof(struct pr_body_buffer_return)];
};

struct fw_terminal {
    bool enabled;
    uint64_t buffer; /* device address of the log buffer the host gave; 0: none yet */
    uint64_t lost;
};

/* A doorbell target of the endpoint. The first is the host's register, which also announces the channels. */
struct fw_target {
    uint64_t address; /* physical */
    uint32_t bits;    /* of a completion; 0: unused */
    uint32_t unrung;  /* bits whose store was rejected too often */
};

struct fw {
    struct rt_kernel *kernel;
    struct rt_port *port;
    uint64_t registers;
    uint64_t heap;   /* device address of the extra heap, shared.h has its parts */
    uint32_t closed; /* FW_CLOSED_*: why no call is accepted */
    uint64_t count[FW_DISPOSITION_COUNT];
    struct fw_retained *retained;
    struct fw_target target[PR_DOORBELL_TARGETS];
    uint32_t endpoint; /* which parts of it are bound (endpoint.c) */
    uint32_t rejected; /* times that a store was rejected too often */
    bool unknown_id_panics;
    bool warm; /* the boot */
    struct fw_channel channel[PR_CHANNEL_COUNT];
    struct pr_rebase_engine
        engine; /* the region of the process that maps a buffer; interrupts are masked then */
    /* The software descriptor table of wide BARs: all 64 bits, and which of a queue are in use. */
    uint64_t wide[PR_TQ_COUNT][PR_TQ_BARS];
    uint32_t wide_bars[PR_TQ_COUNT];
    struct fw_pump pump[FW_TASK_COUNT];
    struct fw_terminal terminal;
    struct fw_hostrpc hostrpc;
    struct fw_intmgr intmgr;
    struct fw_server server;
    struct fw_life life;
    struct fw_power power;
    struct fw_dartmgr dartmgr;
    struct fw_builtin builtin;
    struct fw_tunables tunables;
    struct fw_setting setting;
    struct fw_loadmon loadmon;
    struct fw_exeloop exeloop;
    struct fw_secure secure;
    struct fw_stats stats;
    struct fw_notify notify;
    struct fw_events events;
    struct fw_cache cache;
    struct fw_signposts signposts;
    struct fw_rpc rpc;
    struct fw_prefetch prefetch;
    uint32_t broken[PR_RULES]; /* how often each rule was (rule.c) */
    struct fw_program *program[PR_PROGRAMS_MAX];
    struct fw_program_slot program_slot[PR_PROGRAMS_MAX];
    struct fw_process process[PR_PROCESSES_MAX];
    struct fw_call call[FW_CALLS];
    struct fw_retained own_retained;              /* of a board that has no memory for it */
    _Alignas(8) uint8_t dump[PR_DUMP_AREA_BYTES]; /* the section being staged */
};

_Static_assert(sizeof(struct fw) + 64 <= PR_FRAMEWORK_BYTES,
               "the framework reservation holds the firmware's state");

#endif
