/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A driver without a machine: DRAM is an array, time is a number, and behind the bus stands a made-up controller that answers handshakes, commands and calls. It reads and
 * writes memory only through the tables that the DART registers name, with a walk of its own, and can be told to misbehave.
 */
#ifndef TESTS_DRVRIG_H
#define TESTS_DRVRIG_H

#include "support.h"

#include "driver/driver.h"
#include "protocol/channel.h"
#include "protocol/container.h"
#include "protocol/message.h"
#include "soc/clock.h"
#include "soc/trace.h"

#define RIG_PAGES     2048u
#define RIG_SURFACES  64u
#define RIG_PROGRAMS  16u
#define RIG_PROCESSES 32u
#define RIG_CALLS     16u
#define RIG_CHAIN     0x1234567890ull
#define RIG_RECORDS   (1u << 20)       /* bytes of the trace that are kept */
#define RIG_IMAGE     0x10000800000ull /* where the firmware is said to be */

struct rig_surface {
    uint64_t address, bytes;
    uint32_t uses; /* the driver's */
    bool there;
    uint32_t task;
};

/* A call the controller has accepted. */
struct rig_call {
    bool there;
    uint64_t cookie;
    uint32_t program, process, stream, priority;
    uint32_t buffers;
    struct pr_buffer buffer[PR_CALL_BUFFERS_MAX];
    struct pr_buffer stats;
};

struct rig {
    struct drv *driver;
    struct drv_platform platform;
    uint64_t now;

    /* Memory. */
    uint8_t *dram;
    uint8_t run[RIG_PAGES]; /* pages from here on: 0 free, else 1 in use; lengths below */
    uint32_t length[RIG_PAGES];
    uint32_t used, alloc_calls, alloc_fails_at;
    struct rig_surface surface[RIG_SURFACES];

    /* Registers. */
    uint32_t pmu[PR_PMU_DOMAINS];
    uint32_t dart[PR_DART_COUNT][0x300 / 4];
    uint32_t invalidates[PR_DART_COUNT];
    uint64_t rvbar;
    uint32_t cpu, scratch[8], doorbell, host_pending, tm_error2;
    uint64_t mmio; /* accesses */

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
    } program[RIG_PROGRAMS];
    struct {
        bool there;
        uint32_t program, stream;
    } process[RIG_PROCESSES];
    struct rig_call call[RIG_CALLS];
    uint32_t commands[32], command_count; /* ids in order */
    uint32_t order[64], order_count;      /* priorities of calls in the order they were run */
    uint32_t most_normal, most_realtime;  /* calls held at once */
    uint32_t sequence;
    union {
        uint8_t bytes[0x1000];
        struct pr_exe_header head;
        struct pr_cache_request request;
        struct pr_cache_recycle recycle;
        struct pr_cache_trigger trigger;
        struct pr_cache_active active;
    } chained; /* the last message that is not a call */
    uint32_t chained_bytes;

    /* Misbehaviour. */
    bool no_power, no_first_wake, no_third, no_terminal;
    int no_second_wakes; /* so many boots stop there */
    uint32_t refuse_boot, refuse_third;
    uint32_t channels, ipc_less_1, heap; /* what scratch 0, 1 and 3 say, when not 0 */
    void (*spoil_table)(struct pr_channel_record *record);
    uint64_t table_offset;
    uint32_t bad_command, bad_status; /* this command is answered so */
    uint32_t silent_command;          /* this one is not */
    bool endless_invalidate;          /* the DARTs stay busy with it */
    bool deaf;                        /* doorbells of calls are lost */
    bool hold;                        /* calls are accepted and stay */
    bool no_events;                   /* they end, and nobody is told */
    bool mute;                        /* the controller's doorbells are lost */
    bool masked;                      /* the interrupt line is cut */
    uint32_t call_status;             /* every call ends so */
    uint64_t call_detail;
    uint32_t call_refusal; /* every call is refused so */
    bool chains;           /* messages of chains are served, with RIG_CHAIN as their handle */
    bool fault;            /* and the second DART shows a fault */

    /* Runs inside a wait, when the controller has nothing to do: calls from elsewhere. */
    void (*admit)(struct rig *rig);
    void *context;
    unsigned admitted;

    struct soc_clock *clock; /* always at 0 */
    struct soc_trace trace;
    uint8_t *records; /* as in a file */
    size_t records_size;
};

/* Boots unless `boot` is false. */
void rig_make(struct rig *rig, bool boot);
void rig_drop(struct rig *rig);
/* Bytes behind a device address of a stream, as one of the three DARTs translates it; NULL when any page is missing or the pages are not neighbours. */
void *rig_at(struct rig *rig, unsigned dart, uint32_t stream, uint64_t iova, uint64_t bytes);
/* The physical address; 0 when there is none. */
uint64_t rig_walk(const struct rig *rig, unsigned dart, uint32_t stream, uint64_t iova);
/* The base domain as the firmware sees it, the same through every controller. */
void *rig_base_at(struct rig *rig, uint64_t iova, uint64_t bytes);
/* The controller fills the next slot of a channel and rings; false when the host has not given it back. */
bool rig_send_slot(struct rig *rig, unsigned channel, uint64_t address, uint64_t length, uint64_t tag);
/* What the controller answers to RESOURCE_INFO_GET: numbers that are all different. */
extern const struct pr_body_resources rig_resources;
/* One step of the controller; false when there is nothing to do. */
bool rig_step(struct rig *rig);
/* The controller works until it has nothing to do. */
void rig_work(struct rig *rig);
/* Ends the oldest call that is held; false when there is none. */
bool rig_finish_one(struct rig *rig, uint32_t status);
/* The record of an event, 0 being its first; false when it was not traced so often. */
bool rig_traced(const struct rig *rig, enum pr_trace_event_id event, unsigned nth,
                struct pr_trace_record *record);

uint32_t rig_surface(struct rig *rig, uint64_t bytes);
void *rig_surface_base(struct rig *rig, uint32_t id);

/* A client of the process itself, opened (selector 0 too). */
struct drv_client *rig_client(struct rig *rig, uint32_t type);
extern const struct drv_identity rig_identity;

/* A small image: y = a + b, or with `inputs` 1 a rectifier; with a kernel, an intermediate buffer. Returns its size. */
size_t rig_image(uint8_t *bytes, size_t capacity, uint32_t inputs, uint32_t kernel_bytes,
                 uint32_t intermediate_bytes);
#define RIG_PORT_BYTES 64u

/* Selectors by their structs. */
IOReturn rig_call(struct drv_client *client, uint32_t selector, const uint64_t *scalar, uint32_t scalars,
                  const void *in, uint32_t in_bytes, uint64_t *scalar_out, uint32_t scalars_out, void *out,
                  uint32_t out_bytes);
IOReturn rig_create(struct rig *rig, struct drv_client *client, const void *image, size_t size,
                    uint64_t *token);
IOReturn rig_create_as(struct rig *rig, struct drv_client *client, uint32_t representation, const void *image,
                       size_t size, uint64_t *token);
IOReturn rig_prepare(struct drv_client *client, uint64_t token, struct ane_program_prepare *prepare);
IOReturn rig_unprepare(struct drv_client *client, uint64_t token);
IOReturn rig_destroy(struct drv_client *client, uint64_t token);
void rig_request(struct ane_request *request, uint64_t token, uint32_t inputs, uint32_t outputs,
                 const uint32_t *surfaces);
IOReturn rig_send(struct drv_client *client, const struct ane_request *request,
                  struct ane_request_reply *reply);
/* Created and prepared. */
uint64_t rig_program(struct rig *rig, struct drv_client *client, uint32_t inputs, uint32_t kernel_bytes,
                     uint32_t intermediate_bytes);

#endif
