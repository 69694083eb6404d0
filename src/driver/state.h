/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this room share: the device, its domains, rings, programs, clients and requests. */
#ifndef DRIVER_STATE_H
#define DRIVER_STATE_H

#include "driver/balancer.h"
#include "driver/driver.h"
#include "driver/gate.h"
#include "driver/space.h"
#include "driver/usage.h"
#include "protocol/channel.h"
#include "protocol/container.h"
#include "protocol/counters.h"
#include "protocol/board.h"
#include "protocol/dart_regs.h"
#include "protocol/device.h"
#include "protocol/dump.h"
#include "protocol/endpoint.h"
#include "protocol/execution.h"
#include "protocol/message.h"
#include "protocol/notification.h"
#include "protocol/stats.h"
#include "protocol/tm_regs.h"
#include "soc/trace.h"

/* Device addresses begin behind an unmapped page: 0 is never a buffer's. */
#define DRV_FIRST_ADDRESS 0x4000u

/* The command pool is cut into cells, the largest message being a call with 64 buffers. */
#define DRV_CELL_BYTES          0x1000u
#define DRV_CELLS               (PR_COMMAND_POOL_BYTES / DRV_CELL_BYTES)
#define DRV_COMMANDS            16u /* control commands: one per slot of IO */
#define DRV_REQUESTS            (DRV_CELLS - DRV_COMMANDS)
#define DRV_REQUESTS_PER_CLIENT (DRV_REQUESTS / 2) /* so that one client cannot take them all */
/*
 * Requests that may wait in the firmware, for events or for output sets, of all clients; of one client half
 * of them. The others signal, or run.
 */
#define DRV_WAITING_REQUESTS (DRV_REQUESTS / 2)
/* Programs of one client; the firmware's other slots are left to others. */
#define DRV_PROGRAMS_LEFT 16u
_Static_assert(DRV_REQUESTS == DRV_WATCHES, "one number");
_Static_assert(DRV_CELL_BYTES >= PR_CALL_BYTES(PR_CALL_BUFFERS_MAX), "a call fits into a cell");

/*
 * A client that has completed a request in a domain keeps it for its turn, a number of requests, also when it
 * is idle in between (chosen): to change hands costs as much as many requests. Who waits for a domain
 * respects turns for a few steps, and until a step passes in which no request of any client completes. Not
 * with a closed clock, where calls come at times that were set before.
 */
#define DRV_TURN_REQUESTS 64u
#define DRV_TURN_STEP_NS  200000u
#define DRV_TURN_STEPS    10u
#define DRV_CLIENT_PAGES  ((8ull << 30) / PR_PAGE_BYTES) /* a client may have (chosen): 8 GiB */

#define DRV_HOLDERS       64u /* slots of a host-to-controller ring, at most */
#define DRV_SHARED_BLOCKS 16u
#define DRV_BUCKETS       64u
#define DRV_BANDS         2u
#define DRV_TABLES        (PR_DART_APERTURE_BYTES >> PR_DART_L1_SHIFT)

#define DRV_PORT_NAME 32u

#define DRV_COOKIE_SHIFT 8 /* a cookie is serial << shift | index */

#define DRV_DEFAULT_TIMEOUT_MS ANE_TIMEOUT_MS
#define DRV_TIMEOUT_MS_MAX     3600000u
#define DRV_MS                 1000000ull

/* A translation domain: 0 is the base (firmware, system), 1-7 are lent to clients. */
struct drv_domain {
    uint32_t number;
    uint32_t streams;          /* bitmap of its stream slots */
    struct drv_client *client; /* to whom it is lent */
    uint64_t lent;             /* serial number of the loan: the smallest is the oldest */
    uint64_t completed;        /* by its client, at the loan */
    struct drv_tables *tables; /* of the page-protection layer; NULL while the domain is not in use */
    struct drv_space space;
    uint32_t mappings; /* live ones: what retains its mapper */
};

/* DRAM of the driver's own, mapped in the base domain. */
struct drv_block {
    struct drv_pages pages;
    uint64_t bytes; /* 0: none */
    uint64_t iova;
    void *host; /* of an overlay: NULL */
    uint32_t usage;
    /* Of an overlay (overlay.c): the pages that are its own, and their places in it; the others are not. */
    struct drv_pages own;
    uint32_t *own_page, own_pages;
    void *saved; /* not wired: its own bytes, in host memory; it has neither pages nor an address */
};

/* What a client sees mapped: a surface, or an intermediate buffer of the driver's. */
struct drv_mapping {
    struct drv_mapping *next; /* in its bucket */
    struct drv_domain *domain;
    uint64_t iova; /* 0: the driver's own pages, reclaimed until their next use */
    uint64_t bytes;
    struct drv_pages pages;
    uint64_t used;           /* serial number of the request that bound it last */
    uint32_t usage, surface; /* surface 0: pages of the driver's own */
    uint32_t uses;           /* requests that bind it */
    uint32_t pins;           /* selector 5 */
    bool stale;              /* the surface was released: goes after its last use */
    uint64_t idle_since;     /* its last use, while there is a time to live */
};

struct drv_ring {
    struct pr_slot *slot;
    uint32_t slots, bit;
    uint32_t cursor;           /* next slot to write or to take */
    void *holder[DRV_HOLDERS]; /* host to controller: whose message a slot carries */
};

/*
 * A control command under way: a cell of the pool, free again as soon as its slot has come back. The answer
 * is copied to the caller's own record then; a caller that no longer waits has none.
 */
typedef void (*drv_reply)(void *context, const struct pr_command_header *reply);
struct drv_answer {
    bool done;
    bool cancelled; /* by a restart of the firmware: it has not answered */
    struct pr_command_header header;
};
struct drv_command {
    bool busy;  /* the cell is taken */
    bool quiet; /* its reply is not looked at */
    uint64_t serial;
    uint32_t slot;
    uint8_t *message;
    uint64_t address;
    struct drv_answer *answer; /* NULL: the caller has given up */
    void *body;                /* the caller's */
    uint32_t bytes;
    drv_reply reply, late; /* called when the slot comes back, with or without a caller; may be NULL */
    void *context, *late_context;
};

/* The life of a program, as the firmware and its clients see it. The table of transitions is in program.c. */
enum drv_program_state {
    DRV_PROGRAM_NEW,       /* the firmware has not been asked to load it */
    DRV_PROGRAM_LOADING,   /* a load is with the firmware; its answer decides, whenever it comes */
    DRV_PROGRAM_LOADED,    /* the firmware has it, clients do not find it: just loaded, or to be unloaded */
    DRV_PROGRAM_READY,     /* the firmware has it, clients find it while it has an owner */
    DRV_PROGRAM_LOST,      /* as READY, but the firmware was restarted: loaded again at its next use */
    DRV_PROGRAM_RELOADING, /* the same, and that load is with the firmware */
    DRV_PROGRAM_UNWIRING,  /* as READY, but an unload is with the firmware after which it is LOST */
    DRV_PROGRAM_UNWIRED,   /* as LOST, and its memory is in the host's: wired again at its next use */
    DRV_PROGRAM_UNLOADING, /* an unload is with the firmware; its answer decides, whenever it comes */
    DRV_PROGRAM_UNLOADED,  /* the firmware does not have it */
};

/* A part of a program's text, kernel or constants. */
struct drv_part {
    uint64_t offset, bytes; /* bytes 0: none */
};

/* A procedure of a program. Its buffers are in the order of ane_request: inputs, outputs, intermediate. */
struct drv_procedure {
    uint32_t inputs, outputs, intermediates;
    uint32_t buffers;                          /* that a call binds: those, and the scratch buffer */
    uint64_t bytes[PR_TQ_BARS];                /* least sizes */
    uint8_t type[PR_TQ_BARS], bar[PR_TQ_BARS]; /* PR_BUFFER_*, and the buffer register */
    char port[PR_TQ_BARS][DRV_PORT_NAME];      /* names of inputs and outputs, cut to fit */
    uint32_t first_buffer;                     /* the first of them among the container's */
    uint32_t constants_index;                  /* of the constants there */
    uint32_t td_count, first_words;
    uint64_t scratch_bytes; /* 0: none */
    struct drv_part text, kernel, constants;
};

struct drv_program {
    struct drv_program *next;
    struct drv *driver;
    enum drv_program_state state;
    uint64_t token;
    uint32_t id;              /* the firmware's slot */
    struct drv_client *owner; /* NULL: its owner has gone, it lives until the last process ends */
    bool destroyed;           /* by its owner, which may still wait: clients do not find it */
    struct drv_identity identity;
    char name[64];
    uint32_t qos; /* of processes that name none; 0: none named */
    uint32_t procedures;
    struct drv_procedure *procedure; /* of an instance: its base's */
    uint32_t td_count;               /* of all procedures */
    struct drv_block text, kernel, constants, working, container;
    uint64_t intermediate_bytes; /* the most that a procedure needs; 0: none has such a buffer */
    uint64_t scratch_bytes;      /* the same for the buffer that each process has for itself */
    /* Of an instance (instance.c): blocks that are its base's have the base's addresses. */
    struct drv_program *base;
    bool weighted;                  /* with weight files: kernel, working set and container are its own */
    uint32_t flags;                 /* enum ane_instance_flags */
    uint32_t instances;             /* of this base program */
    uint32_t queue_depth, requests; /* requests assigned at once, at most (0: no limit), and now */
    struct drv_residency residency; /* on which engine: the balancer's */
    struct drv_process *processes;
    uint32_t pins;  /* requests and lifecycle calls of clients under way */
    uint32_t holds; /* commands of the driver's own under way; `unheld` when the last has ended */
    bool unheld;
    bool settled;    /* neither RELOADING nor UNWIRING: what other callers wait for */
    uint32_t ghosts; /* processes that the firmware has, or may have, and no client */
    uint64_t used;   /* the worker's last pass before its last use (reclaim.c) */
    uint64_t turn;   /* of that use; rises */
};

/* The life of a process, a program prepared by one client. The table of transitions is in process.c. */
enum drv_process_state {
    DRV_PROCESS_PARKED,   /* without a slot: not started yet, or its client's domain was lent to another */
    DRV_PROCESS_STARTING, /* its creation is with the firmware; one caller waits for that */
    DRV_PROCESS_LIVE,     /* has a slot, and text and kernel mapped in its client's domain */
    DRV_PROCESS_ENDED,    /* no longer found; removed when its termination is over */
};

/* What the firmware's slot of a process has mapped for statistics, in order, and the totals read last. */
struct drv_statistics {
    uint64_t slots; /* that the process has had */
    uint32_t count;
    struct pr_stats_totals seen;
    struct {
        uint64_t address, bytes;
    } map[PR_STATS_MAPS]; /* the next goes to count % PR_STATS_MAPS */
};

struct drv_process {
    struct drv_process *next_of_client, *next_of_program;
    struct drv_program *program;
    struct drv_client *client;
    enum drv_process_state state;
    bool settled; /* not STARTING: what other callers of the client wait for */
    bool restore; /* a restart of the firmware took its slot while a call used it: started again by itself */
    uint32_t id;  /* the firmware's slot */
    uint32_t old_id;   /* still to be terminated after an eviction */
    uint32_t attempts; /* starts by callers, so far */
    uint32_t prepares;
    uint32_t qos; /* of requests that name none, as the last prepare said; 0: the program's */
    uint32_t pins;
    uint64_t text, kernel, constants; /* addresses in its client's domain */
    struct drv_mapping *intermediate[DRV_BANDS], *scratch[DRV_BANDS];
    /* The mappings the last request bound; good while `generation` is the client's. */
    uint64_t generation;
    struct drv_mapping *recent[PR_CALL_BUFFERS_MAX];
    struct drv_statistics statistics;
};

/*
 * Buffers of a program that a process has mapped: text, kernel, and the constants of each procedure. Of the
 * generic buffers of an image only the constants have a fixed address.
 */
#define DRV_PROCESS_PARTS (2u + PR_PROCEDURES_MAX)
#define DRV_PROCESS_BYTES PR_PROCESS_BYTES(DRV_PROCESS_PARTS) /* the body of CREATE_PROCESS, at most */

/* The life of a request. The table of transitions is in request.c. */
enum drv_request_state {
    DRV_REQUEST_FREE,        /* in the list of free requests */
    DRV_REQUEST_BOUND,       /* a client's: being bound and written into its cell */
    DRV_REQUEST_QUEUED,      /* in its band's queue, a caller waits or a port is to be notified */
    DRV_REQUEST_IN_FIRMWARE, /* the firmware has it, the same */
    DRV_REQUEST_ABORTED,     /* the firmware has it, its caller has a result and has not looked yet */
    DRV_REQUEST_ABANDONED,   /* the firmware has it, no caller waits */
    DRV_REQUEST_DONE,        /* only its caller has it, and has a result */
};

/* What a request is for the firmware. */
enum drv_request_kind {
    DRV_REQUEST_CALL,    /* a procedure call: PROGRAM_EVENT ends it */
    DRV_REQUEST_TRIGGER, /* of a chain: DATA_CHAINING_EVENT ends it */
    DRV_REQUEST_MESSAGE, /* of a chain: its slot is its answer, no event comes */
};

/* What is known of a failure on the engine. */
struct drv_request_fault {
    uint32_t descriptor; /* DRV_FAULT_UNKNOWN */
    uint32_t dma;        /* enum pr_tm_dma */
    char tensor[DRV_FAULT_TENSOR];
    bool captured; /* by a DART, and this request's: */
    struct IODARTErrorInfo info;
    uint64_t address;
};

struct drv_request {
    struct drv_request *next;  /* free, or in the queue of its band */
    struct drv_client *client; /* of the process */
    struct drv_client *caller; /* who made it: another than `client` for chains; NULL when abandoned */
    struct drv_process *process;
    enum drv_request_kind kind;
    struct drv_chain *chain; /* of a trigger, which uses it */
    uint32_t executions;     /* of a trigger: its own and those that follow, not ended yet */
    bool beside;             /* is sent beside what its band runs: it does not run itself */
    uint64_t cookie;         /* serial << 8 | index */
    uint32_t index;
    uint8_t *message;
    uint64_t address;
    uint32_t priority, length;
    uint32_t procedure; /* of the program: what it calls */
    uint32_t qos;       /* the request's, or the client's when it names none */
    uint32_t urgency;   /* among requests of its priority, by quality of service; 0 is first */
    uint32_t slot;
    enum drv_request_state state;
    bool parked; /* the firmware had no room for it, once at least */
    bool done;   /* ABORTED or DONE: what its caller waits for */
    IOReturn result;
    uint32_t status;
    uint64_t detail;
    bool restarted;           /* it ended because the firmware was restarted */
    bool slept;               /* the same, because the device slept */
    uint32_t waits;           /* events that it waits for (fence.c) */
    bool accepted, end_asked; /* of one that waits: the firmware has it, and was asked to end it */
    uint32_t fences;          /* events that it uses */
    struct drv_event *fence[PR_SHARED_EVENTS_MAX];
    uint32_t error[PR_TM_ERRORS];   /* of a failure: what the firmware read in the task manager */
    struct drv_request_fault fault; /* of a failure, set when it completes */
    void *counters_at;              /* where its counters go; NULL: they are not armed */
    struct pr_counters counters;
    const void *totals_at;    /* where the firmware's totals are at its end; NULL: it has no such buffer */
    struct drv_wake wake;     /* port 0: a caller waits */
    uint64_t sequence, token; /* for its message */
    /* Its event has come, and completing it takes until `due` (a timed driver); cookie 0: it has not. */
    struct drv_request_ending {
        struct drv *driver;
        uint64_t cookie, due, detail;
        uint32_t status;
    } ending;
    uint32_t bindings;
    struct drv_mapping *binding[PR_CALL_BUFFERS_MAX + 1]; /* and statistics */
};

/* A doorbell bit. */
struct drv_kick {
    struct drv *driver;
    bool rung; /* by the driver; the store follows */
};

struct drv_band {
    struct drv_request *running; /* at most one in the firmware (design 11) */
    bool parked;                 /* the firmware was full: nothing is sent until it returns something */
    struct drv_request *queue;   /* in the order of comes_first() in flow.c */
};

/* A shared event (event.c); its row in the table is its place in the array. */
#define DRV_EVENTS_PER_TASK (PR_SHARED_EVENT_ROWS / 2) /* so that one task cannot take them all */
#define DRV_EVENT_SHARES    8u
struct drv_event {
    uint32_t turn; /* with the row, its number */
    bool live;     /* made and not released */
    uint32_t uses; /* by requests */
    uint32_t task;
    struct drv_client *client; /* that made it, while it is live */
    uint32_t shares, share[DRV_EVENT_SHARES];
};

/* The life of a client's handle, in this order. The table of transitions is in client.c. */
enum drv_client_state {
    DRV_CLIENT_NEW,      /* selector 0 has not been called */
    DRV_CLIENT_OPEN,     /* the session is open */
    DRV_CLIENT_CLOSED,   /* the session has ended (selector 1): no further call gets in */
    DRV_CLIENT_RELEASED, /* the handle was given back: ends with its last call */
    DRV_CLIENT_ZOMBIE,   /* the same, but the firmware still has a request of it: ends when that comes back */
};

/* Hints of anemone/abi.h, by number; 0 is none. */
#define DRV_HINTS       (ANE_HINT_QUEUE_DEPTH + 1)
#define DRV_HINT_SCOPES (ANE_HINT_SCOPE_COALITION + 1)
struct drv_hint {
    uint64_t serial; /* of the call that set it; 0 = never set */
    uint32_t value;
};

struct drv_client {
    struct drv_client *next;
    struct drv *driver;
    struct drv_identity identity;
    uint32_t type, number;
    bool persistent; /* it keeps the device resident */
    enum drv_client_state state;
    bool idle;     /* `busy` is 0: what a close waits for */
    bool *ended;   /* of the close that waits until everything is freed; NULL when none does */
    bool resident; /* hint: its mappings are reclaimed after those of clients without it */
    bool yielding; /* others wait for a domain: its next requests queue behind them */
    bool leaving;  /* its processes are being ended with it, and by no other call */
    uint32_t calls;
    uint32_t busy;   /* requests and operations that need its domain to stay */
    uint32_t pinned; /* mappings made by selector 5 */
    uint32_t requests;
    uint32_t programs;             /* that it owns */
    uint32_t qos;                  /* of requests that name none */
    uint32_t queue_depth;          /* requests under way at most */
    uint64_t completed, engine_ns; /* requests, and the engine's time for them */
    uint64_t token, timeout_ns;
    struct drv_domain *domain;
    struct drv_process *processes;
    uint64_t generation;                              /* of its mappings */
    struct drv_hint hint[DRV_HINT_SCOPES][DRV_HINTS]; /* of a hints client: what it has set for others */
    struct drv_mapping *bucket[DRV_BUCKETS];
};

struct drv_aperture {
    uint64_t base, bytes;
};

/* A fault that a DART captured and no request has taken yet. */
struct drv_capture {
    bool held;
    uint64_t count;
    struct IODARTErrorInfo info;
    uint64_t address;
};

struct drv_fault {
    bool latched, parked, panicked;
    uint64_t count;
    struct drv_pages page; /* of the snapshots */
    uint8_t *memory;
    struct pr_dart_snapshot snapshot[PR_DART_COUNT]; /* the driver's own copies */
    struct drv_capture capture[PR_DART_COUNT];
    struct drv_fault_report last;
    struct {
        drv_fault_consumer call;
        void *context;
    } consumer[DRV_FAULT_CONSUMERS];
};

/* The RTBuddy client (rtbuddy.c). */
struct drv_rtbuddy {
    const char *name;     /* from the ANE property */
    uint64_t mailbox;     /* its registers */
    const char *endpoint; /* NULL: not enabled */
    void (*inbound)(struct drv *driver, uint32_t rang);
};

/* The bodies of the first commands, in and out. */
struct drv_boot_bodies {
    struct pr_body_u32 print, start, cache;
    struct pr_body_pmu pmu;
    struct pr_body_time time;
    struct pr_body_property property;
    struct pr_body_resources resources;
    struct pr_body_setting setting;
    struct pr_body_shared_events events;
    struct pr_body_endpoint endpoint;
    struct pr_body_endpoint2 targets;
};

/* A boot under way (boot.c). */
struct drv_boot {
    unsigned phase, tries;
    bool warm;
    bool crashed; /* the firmware failed after interrupts were enabled */
    uint64_t deadline;
    uint32_t channels;
    unsigned command; /* of the first commands */
    bool posted;
    struct drv_answer answer;
    struct drv_boot_bodies body;
};

/* What the firmware has room for, up to what the driver has. */
struct drv_limits {
    uint32_t programs, processes;
};

/*
 * The host's clock minus the controller's at the last synchronisation, and the change since the one before.
 */
struct drv_sync {
    uint64_t count;
    int64_t offset_ns, drift_ns;
};

/*
 * The back channel (rpc.c). An answer is in the cell of the slot of DATA_CHAIN_H2T that carries it; those
 * that find no free slot wait. The cells are behind the boot arguments, in memory that boot has touched: an
 * answer must not be the first to ask the host for a page.
 */
#define DRV_ANSWER_BYTES   0x28u
#define DRV_ANSWERS_OFFSET 0x400u
_Static_assert(PR_BOOT_ARGS_BYTES <= DRV_ANSWERS_OFFSET, "the cells follow the arguments");
struct drv_rpc_answer {
    uint32_t slot, status;
    uint64_t value;
};
struct drv_rpc {
    uint32_t waiting;
    struct drv_rpc_answer answer[PR_RPC_SLOTS];
};

/* The debug work processor (debug_work.c). */
enum drv_debug_state { DRV_DEBUG_FREE, DRV_DEBUG_WAITING, DRV_DEBUG_FETCHED };
struct drv_debug_item {
    enum drv_debug_state state;
    uint64_t number; /* rises with each item */
    uint32_t slot, kind, bytes;
    char text[PR_RPC_TEXT_BYTES];
};
struct drv_debug_work {
    struct drv_client *client; /* who is registered */
    uint32_t items;            /* kept at most */
    uint64_t number;           /* of the last item */
    uint64_t before, booted;   /* the last one before the registration, before the firmware's boot */
    struct drv_debug_item item[ANE_DEBUG_ITEMS];
};

/* Load reports (debug.c). */
struct drv_load {
    struct pr_load_report last;
    uint64_t reports;
    struct pr_body_buffer_return owed[PR_LOAD_BUFFERS]; /* buffers to give back */
    uint32_t owed_count;
};

/* The last dump, or the one that is being drained (dump.c). */
struct drv_dump {
    bool draining, complete;
    uint32_t sections, last;
    uint64_t deadline;
    size_t bytes;
    char reason[PR_DUMP_TEXT_BYTES + 64];
    _Alignas(8) uint8_t file[PR_DUMP_FILE_BYTES_MAX];
};

/* Recovery and wake (recovery.c). */
enum drv_recovery_phase {
    DRV_RECOVERY_IDLE,
    DRV_RECOVERY_RESET,   /* RESET is with the firmware */
    DRV_RECOVERY_DRAIN,   /* the dump is being taken */
    DRV_RECOVERY_CANCEL,  /* the gate is waited for */
    DRV_RECOVERY_LIMIT,   /* the last recovery began too short a time ago */
    DRV_RECOVERY_BOOT,    /* ANE_Init */
    DRV_RECOVERY_RESTORE, /* what calls and queued requests use is loaded again */
};
struct drv_recovery {
    enum drv_recovery_phase phase;
    bool wake;   /* from sleep: nothing is cancelled, the boot is warm */
    bool armed;  /* a step is due */
    bool failed; /* for good, until a later call tries again */
    bool begun;  /* once at least */
    uint64_t began;
    unsigned boots;        /* of this recovery, that failed */
    unsigned restores;     /* the same, of RESTORE */
    struct base_error why; /* it failed */
    uint64_t deadline;     /* of the command under way */
    bool posted;
    struct drv_answer answer;
    struct pr_body_reset reset;
    struct pr_body_load load;
    _Alignas(8) uint8_t process[DRV_PROCESS_BYTES];
    struct drv_process *restoring; /* for which a command is under way: */
    bool starting;                 /* its creation; else a load */
};

/* Secure mode (secure.c). */
struct drv_secure {
    const struct drv_client *owner; /* who started it; NULL: no client, or it has ended since */
    bool begun;                     /* from the command on, until the firmware has left it */
    bool entered;                   /* the firmware is in it, and no switch is under way */
    bool stop_owed;                 /* it has no owner, and the firmware could not be asked to leave it */
};

struct drv {
    struct drv_platform platform;
    struct base_error last;
    struct base_error *error; /* the sentence of the call that runs now; NULL when the caller does not ask */
    struct drv_stats stats;
    struct drv_aperture aperture[PR_APERTURE_COUNT];
    uint64_t vector; /* the reset vector: where the firmware's entry is in physical memory */
    bool running;    /* started */
    bool interrupts; /* enabled */
    bool powered;    /* the DARTs' registers answer */
    bool ready;      /* the channels are: running, neither asleep nor in recovery */
    bool asleep;
    bool forgotten; /* the next wake is a cold boot */
    struct drv_gate gate;
    struct drv_rtbuddy rtbuddy;
    struct drv_boot boot;
    struct drv_limits limits;
    struct drv_sync sync;
    uint32_t cache_bytes; /* of the engine's memory cache */
    struct drv_dump dump;
    struct drv_recovery recovery;
    struct drv_load load;
    struct drv_secure secure;
    struct drv_rpc rpc;
    struct drv_debug_work debug_work;

    struct drv_fault fault;
    struct drv_domain domain[PR_DART_DOMAINS];
    uint32_t dart_config; /* the DART's configuration word */
    uint64_t page_quota;  /* pages a client may have */
    uint64_t loans;
    struct drv_waiter *domain_waiters, *command_waiters, *request_waiters;
    struct drv_waiter *address_waiters; /* requests that do not fit beside others of their client */

    struct drv_block ipc, heap, pool, args, events, shared_block[DRV_SHARED_BLOCKS];
    struct drv_ring ring[PR_CHANNEL_COUNT];
    struct drv_kick kick[PR_DOORBELL_INDEX_LIMIT];
    struct drv_command command[DRV_COMMANDS];
    uint64_t command_serial; /* of the last one posted */
    struct drv_request request[DRV_REQUESTS];
    struct drv_request *free_requests;
    struct drv_band band[DRV_BANDS];
    uint64_t serial; /* of requests */
    uint64_t token;  /* the last one given */
    uint64_t hints;  /* serial number of the last hint for clients */
    uint32_t client_number;

    struct drv_client *clients;
    struct drv_balancer balancer;
    struct drv_program *programs;
    struct drv_event event[PR_SHARED_EVENT_ROWS];
    uint32_t event_next; /* the row to try first */
    struct drv_event_waiter *event_waiters;
    bool fence_retry;         /* the firmware could not be asked to end a request that waits */
    struct drv_chain *chains; /* chain.c */
    /* What could not be ended in time and is tried again: see drv_program_reap. */
    bool reap;
    bool unwire;     /* a stale mapping has lost its last use */
    uint64_t ttl_ns; /* of mappings that no request uses; 0: until the client closes */
    struct drv_program *stray[PR_PROCESSES_MAX]; /* processes to terminate, by their number */
    uint64_t pass, turn; /* the last: of the worker (reclaim.c), and of uses of programs */
};

/* One sentence for drv_last_error and the trace; returns `code`. */
IOReturn drv_refuse(struct drv *driver, IOReturn code, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));
/* The command gate, as drv_gate_enter. A recovery that found no timer goes on. */
bool drv_enter(struct drv *driver, struct drv_deadline *deadline);
/* Waits without the gate. */
int drv_wait(struct drv *driver, const bool *done, struct drv_deadline *deadline);
/*
 * A stage of a timed driver passes, with the gate held: it is work of a gated method, and other callers wait
 * for the gate. Nothing when the driver is not timed, or no timer is left.
 */
void drv_spend(struct drv *driver, uint64_t ns);

#endif
