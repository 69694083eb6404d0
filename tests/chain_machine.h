/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of chains through all layers: one machine, a control and a direct-path client, what the host
 * stores to the doorbell, and the selectors of chaining by their structs.
 */
#ifndef TESTS_CHAIN_MACHINE_H
#define TESTS_CHAIN_MACHINE_H

#include "support.h"

#include <string.h>

#include "driver/state.h"
#include "inside.h"
#include "iorig.h"

#define DOORBELL 0x1844000u
#define BELL(n)  (1u << (n))
#define ROW(w)   (((w)*2 + 63) / 64 * 64)

/* The host's stores to the doorbell, by bit, and what it sent to the execution loop, by id. */
static struct watch {
    struct soc_bus_tap tap;
    struct ane_machine *machine;
    unsigned stores, bell[32];
    unsigned calls, triggers, sets, selections, others;
} watch;

static inline void note_message(const struct drv *d)
{
    const struct drv_ring *ring = &d->ring[PR_CHANNEL_DATA_CHAIN_H2T];
    const struct drv_request *r = ring->holder[(ring->cursor + ring->slots - 1) % ring->slots];
    uint16_t id;

    memcpy(&id, r->message + 4, sizeof(id));
    switch (id) {
    case 0x204: watch.calls++; break;
    case 0x209: watch.triggers++; break;
    case 0x20a: watch.sets++; break;
    case 0x212: watch.selections++; break;
    default: watch.others++;
    }
}

static inline bool see(void *context, struct soc_access *access)
{
    (void)context;
    if (!access->write || access->address - watch.machine->board->container != DOORBELL)
        return true;
    watch.stores++;
    for (unsigned i = 0; i < 32; i++)
        watch.bell[i] += access->value >> i & 1;
    if (access->value & BELL(7))
        note_message(watch.machine->driver);
    return true;
}

static uint32_t surfaces[16];
static unsigned surface_count;

/* Released at the end of the test. */
static inline uint32_t surface_of(size_t bytes)
{
    uint32_t *id = &surfaces[surface_count++];

    assert_true(surface_count <= sizeof(surfaces) / sizeof(surfaces[0]));
    assert_int_equal(ane_surface_create(0, bytes, id), 0);
    return *id;
}

static struct ane_machine *machine;
static struct iorig_client control, direct;

static inline int boot_with(uint32_t clock, uint32_t in_flight)
{
    machine = iorig_machine((struct ane_machine_config){.clock = clock, .in_flight = in_flight});
    assert_int_equal(iorig_open(ane_machine_service(machine), 0, ANE_CLIENT_CONTROL, &control),
                     kIOReturnSuccess);
    assert_int_equal(iorig_open(ane_machine_service(machine), 0, ANE_CLIENT_DIRECT_PATH, &direct),
                     kIOReturnSuccess);
    watch = (struct watch){.tap = {.see = see}, .machine = machine};
    soc_bus_tap_add(machine->bus, &watch.tap);
    return 0;
}

static inline int boot(void **state)
{
    (void)state;
    return boot_with(ANE_CLOCK_CLOSED, ANE_IN_FLIGHT_BANDS);
}

/* Where a trigger keeps its band until it has ended. */
static inline int boot_one(void **state)
{
    (void)state;
    return boot_with(ANE_CLOCK_CLOSED, ANE_IN_FLIGHT_ONE);
}

/* For callers in several threads. */
static inline int boot_open(void **state)
{
    (void)state;
    return boot_with(ANE_CLOCK_OPEN, ANE_IN_FLIGHT_BANDS);
}

static inline int halt(void **state)
{
    (void)state;
    soc_bus_tap_remove(machine->bus, &watch.tap);
    assert_int_equal(IOServiceClose(direct.connect), kIOReturnSuccess);
    assert_int_equal(IOServiceClose(control.connect), kIOReturnSuccess);
    ane_machine_destroy(machine);
    while (surface_count)
        ane_surface_release(surfaces[--surface_count]);
    return 0;
}

static inline void watch_reset(void)
{
    watch = (struct watch){.tap = watch.tap, .machine = watch.machine};
}

/* Chains as a client makes them. */

static uint32_t lists; /* a surface for arguments and lists */

static inline struct ane_chaining_args *args_of(uint32_t sets, uint32_t flags)
{
    struct ane_chaining_args *args = ane_surface_base(lists);

    memset(args, 0, 0x400);
    *args = (struct ane_chaining_args){
        .version = ANE_CHAINING_ARGS_VERSION, .sets = sets, .flags = flags, .priority = ANE_REQUEST_PRIORITY};
    return args;
}

static inline void add_link(uint64_t source, uint32_t output, uint32_t input)
{
    struct ane_chaining_args *args = ane_surface_base(lists);
    struct ane_chaining_link *link = (void *)(args + 1);

    link[args->links++] = (struct ane_chaining_link){source, output, input};
}

static inline struct ane_chaining_reply prepare_chain(uint64_t token)
{
    const struct ane_chaining_prepare in = {.token = token, .surface = lists};
    struct ane_chaining_reply chain;
    size_t size = sizeof(chain);

    if (IOConnectCallMethod(control.connect, ANE_CONTROL_ProgramChainingPrepare, NULL, 0, &in, sizeof(in),
                            NULL, NULL, &chain, &size))
        fail_msg("%s", ane_machine_error());
    return chain;
}

static inline void post_set(uint64_t handle, uint32_t set, uint32_t surface)
{
    const struct ane_output_set in = {
        .handle = handle, .set = set, .outputs = surface ? 1 : 0, .surface = lists};
    struct ane_chained_buffer *list = ane_surface_base(lists);

    list[0] = (struct ane_chained_buffer){.surface = surface};
    if (IOConnectCallMethod(direct.connect, ANE_DIRECT_ProgramOutputSetEnqueue, NULL, 0, &in, sizeof(in),
                            NULL, NULL, NULL, NULL))
        fail_msg("%s", ane_machine_error());
}

static inline struct ane_inputs_ready inputs_of(uint64_t handle, uint64_t timestamp, uint32_t inputs,
                                                const uint32_t *surface)
{
    struct ane_inputs_ready ready = {
        .handle = handle, .timestamp = timestamp, .inputs = inputs, .doorbell = ANE_REQUEST_DOORBELL};

    for (uint32_t i = 0; i < inputs; i++)
        ready.input[i].surface = surface[i];
    return ready;
}

static inline IOReturn trigger(const struct ane_inputs_ready *ready)
{
    return IOConnectCallMethod(direct.connect, ANE_DIRECT_ProgramInputsReady, NULL, 0, ready, sizeof(*ready),
                               NULL, NULL, NULL, NULL);
}

static inline IOReturn trigger_with(uint64_t handle, uint64_t timestamp, uint32_t inputs,
                                    const uint32_t *surface)
{
    const struct ane_inputs_ready ready = inputs_of(handle, timestamp, inputs, surface);

    return trigger(&ready);
}

static inline void put(uint32_t surface, unsigned width, unsigned channel, unsigned slot, double value)
{
    uint16_t half = test_half_from_double(value);

    memcpy((uint8_t *)ane_surface_base(surface) + channel * ROW(width) + slot * 2, &half, 2);
}

static inline double get(uint32_t surface, unsigned width, unsigned channel, unsigned slot)
{
    uint16_t half;

    memcpy(&half, (const uint8_t *)ane_surface_base(surface) + channel * ROW(width) + slot * 2, 2);
    return test_half_to_double(half);
}

static inline uint64_t prepare_program(uint32_t representation, const void *payload, size_t size,
                                       struct ane_program_prepare *prepare)
{
    uint64_t token;

    if (iorig_create_as(&control, representation, payload, size, &token) ||
        iorig_prepare(&control, token, prepare))
        fail_msg("%s", ane_machine_error());
    return token;
}

#endif
