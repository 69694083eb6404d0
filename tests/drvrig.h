/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A driver without a machine: DRAM is an array whose pages have scattered physical addresses, time is a
 * number, and behind the bus is a made-up controller that answers handshakes, commands and calls. It reads
 * and writes memory only through the tables that the DART registers name, with a walk of its own, and can be
 * made to misbehave.
 */
#ifndef TESTS_DRVRIG_H
#define TESTS_DRVRIG_H

#include "support.h"

#include "driver/driver.h"
#include "protocol/cache.h"
#include "protocol/call.h"
#include "protocol/channel.h"
#include "protocol/container.h"
#include "protocol/endpoint.h"
#include "protocol/dump.h"
#include "protocol/message.h"
#include "protocol/notification.h"
#include "soc/clock.h"
#include "soc/trace.h"

#define DRVRIG_PAGES     2048u
#define DRVRIG_SURFACES  64u
#define DRVRIG_PROGRAMS  16u
#define DRVRIG_PROCESSES 32u
#define DRVRIG_CALLS     64u
#define DRVRIG_CHAIN     0x1234567890ull /* the first cacheHandler; the next is one more */
#define DRVRIG_CHAINS    16u
#define DRVRIG_PORT      7u
#define DRVRIG_TIMERS    4u
#define DRVRIG_RECORDS   (1u << 20)       /* bytes of the trace that are kept */
#define DRVRIG_IMAGE     0x10000800000ull /* where the firmware is said to be */

struct drvrig_surface {
    uint64_t address, bytes; /* address: of the first page */
    struct drv_pages pages;
    uint32_t uses; /* the driver's */
    bool there;
    uint32_t task;
};

/* A call the controller has accepted. */
struct drvrig_call {
    bool there;
    uint64_t cookie;
    uint32_t program, process, stream, priority;
    uint32_t buffers;
    struct pr_buffer buffer[PR_CALL_BUFFERS_MAX];
    struct pr_buffer stats;
    /* Of a trigger; 0: a call. */
    uint64_t handler, timestamp;
    uint32_t set; /* PR_NO_ID: waits for one */
};

/* A cache request: its sets in the order in which they were posted. */
struct drvrig_chain {
    bool there;
    uint32_t program, process;
    uint32_t posted[PR_CACHE_SETS_MAX], posted_count;
    struct {
        uint32_t buffers;
        struct pr_buffer buffer[8];
    } set[PR_CACHE_SETS_MAX];
};

struct drvrig {
    struct drv *driver;
    struct drv_platform platform;
    uint64_t now;

    /* Memory. */
    uint8_t *dram;
    uint8_t run[DRVRIG_PAGES]; /* pages from here on: 0 free, else 1 in use; lengths below */
    uint32_t length[DRVRIG_PAGES];
    uint32_t used, alloc_calls, alloc_fails_at;
    struct drvrig_surface surface[DRVRIG_SURFACES];

    /* Registers. */
    uint32_t pmu[PR_PMU_DOMAINS];
    uint32_t dart[PR_DART_COUNT][0x300 / 4];
    uint32_t invalidates[PR_DART_COUNT];
    uint64_t rvbar;
    uint32_t cpu, scratch[8], doorbell, host_pending;
    uint32_t engine_status; /* at +0xe028 */
    uint64_t mmio;          /* accesses */

    /* What the driver has set. */
    struct drvrig_timer {
        void (*fn)(void *argument); /* NULL: free */
        void *argument;
        uint64_t at;
    } timer[DRVRIG_TIMERS];

    /* The controller. */
    bool line; /* the host's interrupt line is up, and the driver was told */
    int boot;  /* 0 off, 1 reset, 2 waiting for arguments, 3 waiting for the magic, 4 running */
    struct pr_boot_args args;
    uint32_t cursor[8];
    uint64_t log_buffer;
    struct {
        bool there;
        uint64_t text, kernel;
        uint32_t processes;
        _Alignas(8) uint8_t container[0x4000];
        struct pr_container parts;
    } program[DRVRIG_PROGRAMS];
    struct {
        bool there;
        uint32_t program, stream;
        uint64_t text; /* in the client's domain */
    } process[DRVRIG_PROCESSES];
    struct drvrig_call call[DRVRIG_CALLS];
    struct pr_call_tail tail; /* of the last call with events, and these */
    struct pr_event event[48];
    unsigned cancels;                /* calls that were to end */
    struct pr_body_premap premap[8]; /* in order */
    uint32_t premap_count;
    uint32_t totals[3];                   /* in statistics buffers: valid, log events, stat events */
    uint32_t commands[32], command_count; /* ids in order */
    uint32_t order[64], order_count;      /* priorities of calls in the order they were run */
    uint64_t cookie[64];                  /* of the same */
    uint32_t most_normal, most_realtime;  /* calls held at once */
    uint32_t most_held;                   /* of both bands */
    uint32_t sequence;
    union {
        uint8_t bytes[0x1000];
        struct pr_exe_header head;
        struct pr_cache_recycle recycle;
        struct pr_cache_trigger trigger;
        struct pr_cache_active active;
    } chained; /* the last message that is not a call */
    uint32_t chained_bytes;
    struct drvrig_chain chain[DRVRIG_CHAINS];
    uint32_t chain_count;
    struct pr_command_header install_header; /* the last, and its body with links */
    _Alignas(8) uint8_t install[0x40 + 16 * PR_CACHE_LINKS_MAX];
    uint64_t invalidated[DRVRIG_CHAINS];
    uint32_t invalidated_count;
    uint32_t invalidated_in_flight; /* what is answered */
    uint32_t following;             /* what the next event of a chain says; then 0 */

    /* Misbehaviour. */
    bool no_power, no_first_wake, no_third, no_terminal;
    int no_second_wakes; /* so many boots stop there */
    uint32_t refuse_boot, refuse_third;
    uint32_t channels, ipc_less_1, heap; /* what scratch 0, 1 and 3 say, when not 0 */
    void (*spoil_table)(struct pr_channel_record *record);
    uint64_t table_offset;
    bool no_room;                     /* for one process */
    uint32_t bad_command, bad_status; /* this command is answered so */
    uint32_t silent_command;          /* this one is not */
    bool late_creates;                /* CREATE_PROCESS may come when its addresses are taken back */
    uint64_t controller_ns;           /* what its clock is said to be, when not 0 */
    uint32_t wild_command;            /* this one is not done, and answered with wild slots */
    bool endless_invalidate;          /* the DARTs stay busy with it */
    bool deaf;                        /* doorbells of calls are lost */
    bool hold;                        /* calls are accepted and stay */
    bool no_events;                   /* they end, and nobody is told */
    bool mute;                        /* the controller's doorbells are lost */
    bool masked;                      /* the interrupt line is cut */
    uint32_t call_status;             /* every call ends so */
    uint32_t call_error[3];           /* with these words of the task manager */
    bool short_events;                /* or without: in the form of calls that end well */
    uint32_t call_refusal;            /* every call is refused so */
    bool chains;                      /* cache requests are served */
    bool fault;                       /* and the second DART shows a fault */

    /* A crash: sections of a dump are staged one after the other, each when the one before was taken. */
    uint32_t crashing;      /* the section that is staged; 0: none */
    uint32_t crash_stops;   /* after so many sections nothing is staged any more; 0: never */
    uint32_t crash_at_boot; /* so many boots fail at the command after START */
    uint32_t crash_command; /* this command makes the firmware fail, so often: */
    uint32_t crash_commands;
    bool stopped;                           /* the processor has stopped without a word */
    void (*spoil_dump)(struct drvrig *rig); /* what is staged is changed before it is announced */
    uint8_t dump[PR_DUMP_FILE_BYTES_MAX];   /* the last that the driver handed over */
    size_t dump_bytes;
    unsigned dumps, boots;      /* boots: the processor was released */
    uint32_t selected;          /* scratch 7 when it was: warm or cold */
    struct pr_body_reset reset; /* of the last RESET */
    unsigned resets;
    struct pr_body_buffer_return returned_buffer; /* the last, and how many */
    unsigned returned;
    uint32_t rpc_enable; /* the last word of RPC_ENABLE, and how many there were */
    unsigned rpc_enables;

    /* The one wake port, DRVRIG_PORT. */
    uint32_t reserved, watched;
    struct drv_message message[64];
    uint32_t messages;

    /* Runs inside a wait, when the controller has nothing to do: calls from elsewhere. */
    void (*admit)(struct drvrig *rig);
    void *context;
    unsigned admitted;

    struct soc_clock *clock; /* always at 0 */
    struct soc_trace trace;
    uint8_t *records; /* as in a file */
    size_t records_size;
};

/* Boots unless `boot` is false. */
void drvrig_make(struct drvrig *rig, bool boot);
void drvrig_drop(struct drvrig *rig);
/*
 * Bytes behind a device address of a stream, as one of the three DARTs translates it; NULL when any page is
 * missing or the pages are not those of one buffer in their order.
 */
void *drvrig_at(struct drvrig *rig, unsigned dart, uint32_t stream, uint64_t iova, uint64_t bytes);
/* A page of memory by its physical address. */
uint8_t *drvrig_memory(const struct drvrig *rig, uint64_t address);
/* The physical address; 0 when there is none. */
uint64_t drvrig_walk(const struct drvrig *rig, unsigned dart, uint32_t stream, uint64_t iova);
/* The base domain as the firmware sees it, the same through every controller. */
void *drvrig_base_at(struct drvrig *rig, uint64_t iova, uint64_t bytes);
/* The controller fills the next slot of a channel and rings; false when the host has not given it back. */
bool drvrig_send_slot(struct drvrig *rig, unsigned channel, uint64_t address, uint64_t length, uint64_t tag);
/* What the controller answers to RESOURCE_INFO_GET: numbers that are all different. */
extern const struct pr_body_resources drvrig_resources;
/* The firmware fails: stages its dump, and works no more. */
void drvrig_crash(struct drvrig *rig);
/* It asks for a reset of these queues. */
void drvrig_ask_reset(struct drvrig *rig, uint32_t first, uint32_t last);
#define DRVRIG_CRASH_TEXT "the rig was asked to fail"
/* Cache requests, in drvrig_chain.c: commands, messages of the execution loop, and the end of one. */
uint32_t drvrig_chain_install(struct drvrig *rig, const struct pr_command_header *header, void *body);
uint32_t drvrig_chain_invalidate(struct drvrig *rig, const struct pr_command_header *header, void *body);
uint32_t drvrig_chain_message(struct drvrig *rig, const void *message, uint64_t length);
void drvrig_chain_event(struct drvrig *rig, const struct drvrig_call *call, uint32_t status, uint32_t state);
/* One step of the controller; false when there is nothing to do. */
bool drvrig_step(struct drvrig *rig);
/* The controller works until it has nothing to do. */
void drvrig_work(struct drvrig *rig);
/* Ends the oldest call that is held; false when there is none. */
bool drvrig_finish_one(struct drvrig *rig, uint32_t status);
/* The record of an event, 0 being its first; false when it was not traced so often. */
bool drvrig_traced(const struct drvrig *rig, enum pr_trace_event_id event, unsigned nth,
                   struct pr_trace_record *record);
/* Time passes until the driver's next timer fires; false when it has set none. */
bool drvrig_fire(struct drvrig *rig);

uint32_t drvrig_surface(struct drvrig *rig, uint64_t bytes);
/* Released by its owner, unseen by the driver: its pages are free. */
void drvrig_surface_end(struct drvrig *rig, uint32_t id);
void *drvrig_surface_base(struct drvrig *rig, uint32_t id);

/* A client of the process itself, opened (selector 0 too). */
struct drv_client *drvrig_client(struct drvrig *rig, uint32_t type);
struct drv_client *drvrig_client_as(struct drvrig *rig, uint32_t type, const struct drv_identity *identity);
extern const struct drv_identity drvrig_identity;

/*
 * A small image: y = a + b, or with `inputs` 1 a rectifier; with a
 * kernel, an intermediate buffer. Returns its size.
 */
size_t drvrig_image(uint8_t *bytes, size_t capacity, uint32_t inputs, uint32_t kernel_bytes,
                    uint32_t intermediate_bytes);
#define DRVRIG_PORT_BYTES 64u

/* Selectors by their structs. */
IOReturn drvrig_call(struct drv_client *client, uint32_t selector, const uint64_t *scalar, uint32_t scalars,
                     const void *in, uint32_t in_bytes, uint64_t *scalar_out, uint32_t scalars_out, void *out,
                     uint32_t out_bytes);
IOReturn drvrig_create(struct drvrig *rig, struct drv_client *client, const void *image, size_t size,
                       uint64_t *token);
IOReturn drvrig_create_as(struct drvrig *rig, struct drv_client *client, uint32_t representation,
                          const void *image, size_t size, uint64_t *token);
/* With `procedures` above 1 the image is a table of procedures and what it names (abi.h). */
IOReturn drvrig_create_several(struct drvrig *rig, struct drv_client *client, uint32_t representation,
                               uint32_t procedures, const void *image, size_t size, uint64_t *token);
IOReturn drvrig_prepare(struct drv_client *client, uint64_t token, struct ane_program_prepare *prepare);
IOReturn drvrig_unprepare(struct drv_client *client, uint64_t token);
IOReturn drvrig_destroy(struct drv_client *client, uint64_t token);
void drvrig_request(struct ane_request *request, uint64_t token, uint32_t inputs, uint32_t outputs,
                    const uint32_t *surfaces);
IOReturn drvrig_send(struct drv_client *client, const struct ane_request *request,
                     struct ane_request_reply *reply);
/* Created and prepared. */
uint64_t drvrig_program(struct drvrig *rig, struct drv_client *client, uint32_t inputs, uint32_t kernel_bytes,
                        uint32_t intermediate_bytes);
/* Sends a request that completes at DRVRIG_PORT. */
IOReturn drvrig_post(struct drv_client *client, const struct ane_request *request);
/* A program of one input and one output copies the value from the first surface to the second, or fails. */
void drvrig_copy(struct drvrig *rig, struct drv_client *client, uint64_t token, const uint32_t *surface,
                 uint32_t value);

#endif
