/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deeds of the kernel's keys. Programs are y = a + b without a signature, so deeds with a program need the
 * key of raw images, in the service as on a machine of one's own.
 */
#include "deeds.h"

#include <stdio.h>
#include <string.h>

#include "iorig.h"
#include "support.h"

#define BIT(id)  PR_ENTITLEMENT_BIT(id)
#define PROGRAM  (BIT(OPEN) | BIT(RAW_IMAGES))
#define BYTES    0x4000u
#define CHANNELS 2u
#define WIDTH    16u

const char *const deeds_key[PR_ENTITLEMENT_COUNT] = {
#define X(id, key, capability, holders, kind) [PR_ENTITLEMENT_##id] = key,
    PR_ENTITLEMENTS(X)
#undef X
};

unsigned deeds_list(uint32_t entitlements, const char *list[PR_ENTITLEMENT_COUNT])
{
    unsigned count = 0;

    for (unsigned i = 0; i < PR_ENTITLEMENT_COUNT; i++)
        if (entitlements >> i & 1)
            list[count++] = deeds_key[i];
    return count;
}

void deeds_note(struct deeds_outcome *outcome, IOReturn status)
{
    outcome->status = status;
    snprintf(outcome->sentence, sizeof(outcome->sentence), "%s", status ? ane_machine_error() : "");
}

static void must(IOReturn status, const char *what)
{
    if (status)
        fail_msg("%s: 0x%08x %s", what, (unsigned)status, ane_machine_error());
}

/* ---- Opening ---- */

static void open_type(io_service_t service, ane_task_t task, uint32_t type, struct deeds_outcome *outcome)
{
    io_connect_t connect;

    deeds_note(outcome, IOServiceOpen(service, task, type, &connect));
    if (!outcome->status)
        must(IOServiceClose(connect), "close");
}

static void open_control(io_service_t service, ane_task_t task, struct deeds_outcome *outcome)
{
    open_type(service, task, ANE_CLIENT_CONTROL, outcome);
}

static void open_direct(io_service_t service, ane_task_t task, struct deeds_outcome *outcome)
{
    open_type(service, task, ANE_CLIENT_DIRECT_PATH, outcome);
}

/* ---- Programs ---- */

struct program {
    struct iorig_client control, direct;
    uint64_t token;
    uint32_t surface[3]; /* a, b, y */
    uint32_t lists;      /* arguments of chains */
};

static uint8_t image[0x8000];

static void create_unsigned(io_service_t service, ane_task_t task, struct deeds_outcome *outcome)
{
    size_t bytes = iorig_image_add(image, sizeof(image), CHANNELS, WIDTH);
    struct ane_program_create create = {.size = ANE_PROGRAM_IMAGE + bytes};
    struct iorig_client client;
    struct ane_program_args *args;

    must(iorig_open(service, task, ANE_CLIENT_CONTROL, &client), "open");
    assert_int_equal(ane_surface_create(task, ANE_PROGRAM_IMAGE + bytes, &create.surface), 0);
    args = ane_surface_base(create.surface);
    *args = (struct ane_program_args){.representation = ANE_PROGRAM_LEGACY,
                                      .version = ANE_PROGRAM_ARGS_VERSION,
                                      .image_size = bytes,
                                      .procedures = 1,
                                      .name = "unsigned"};
    memcpy((uint8_t *)args + ANE_PROGRAM_IMAGE, image, bytes);
    deeds_note(outcome, IOConnectCallMethod(client.connect, ANE_CONTROL_ProgramCreate, NULL, 0, &create,
                                            sizeof(create), NULL, NULL, NULL, NULL));
    must(IOServiceClose(client.connect), "close");
    ane_surface_release(create.surface);
}

static void program_make(struct program *p, io_service_t service, ane_task_t task)
{
    struct ane_program_prepare prepare;

    must(iorig_open(service, task, ANE_CLIENT_CONTROL, &p->control), "open");
    must(iorig_open(service, task, ANE_CLIENT_DIRECT_PATH, &p->direct), "open direct path");
    must(iorig_create(&p->control, image, iorig_image_add(image, sizeof(image), CHANNELS, WIDTH), &p->token),
         "create");
    must(iorig_prepare(&p->control, p->token, &prepare), "prepare");
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(ane_surface_create(task, BYTES, &p->surface[i]), 0);
    assert_int_equal(ane_surface_create(task, BYTES, &p->lists), 0);
}

static void program_end(struct program *p)
{
    must(IOServiceClose(p->direct.connect), "close");
    must(IOServiceClose(p->control.connect), "close");
    for (unsigned i = 0; i < 3; i++)
        ane_surface_release(p->surface[i]);
    ane_surface_release(p->lists);
}

static void request_at(io_service_t service, ane_task_t task, uint32_t priority,
                       struct deeds_outcome *outcome)
{
    struct ane_request_reply reply;
    struct program p;

    program_make(&p, service, task);
    deeds_note(outcome, iorig_request(&p.control, p.token, 1, priority, p.surface, 2, 1, &reply));
    program_end(&p);
}

static void request_realtime(io_service_t service, ane_task_t task, struct deeds_outcome *outcome)
{
    request_at(service, task, 1, outcome);
}

static void request_system(io_service_t service, ane_task_t task, struct deeds_outcome *outcome)
{
    request_at(service, task, 0, outcome);
}

static void map_memory(io_service_t service, ane_task_t task, struct deeds_outcome *outcome)
{
    const uint64_t zero = 0;
    uint64_t address;
    uint32_t one = 1;
    struct ane_memory_map map = {.usage = ANE_MAP_INPUT, .size = BYTES};
    struct program p;

    program_make(&p, service, task);
    map.surface = p.surface[0];
    map.token = p.direct.session;
    deeds_note(outcome, IOConnectCallMethod(p.direct.connect, ANE_DIRECT_MemoryMapRequest, &zero, 1, &map,
                                            sizeof(map), &address, &one, NULL, NULL));
    program_end(&p);
}

/* ---- Chains ---- */

static IOReturn chain_prepare(const struct program *p, struct ane_chaining_reply *chain)
{
    const struct ane_chaining_prepare in = {.token = p->token, .surface = p->lists};
    struct ane_chaining_args *args = ane_surface_base(p->lists);
    size_t size = sizeof(*chain);

    *args = (struct ane_chaining_args){.version = ANE_CHAINING_ARGS_VERSION,
                                       .sets = 1,
                                       .flags = ANE_CHAINING_AUTO_RECYCLE,
                                       .priority = ANE_REQUEST_PRIORITY};
    return IOConnectCallMethod(p->control.connect, ANE_CONTROL_ProgramChainingPrepare, NULL, 0, &in,
                               sizeof(in), NULL, NULL, chain, &size);
}

static void prepare_chain(io_service_t service, ane_task_t task, struct deeds_outcome *outcome)
{
    struct ane_chaining_reply chain;
    struct program p;

    program_make(&p, service, task);
    deeds_note(outcome, chain_prepare(&p, &chain));
    program_end(&p);
}

static void post_outputs(io_service_t service, ane_task_t task, struct deeds_outcome *outcome)
{
    struct ane_chaining_reply chain;
    struct ane_output_set set = {.outputs = 1};
    struct program p;

    program_make(&p, service, task);
    must(chain_prepare(&p, &chain), "prepare a chain");
    set.handle = chain.handle;
    set.surface = p.lists;
    *(struct ane_chained_buffer *)ane_surface_base(p.lists) =
        (struct ane_chained_buffer){.surface = p.surface[2]};
    deeds_note(outcome, IOConnectCallMethod(p.direct.connect, ANE_DIRECT_ProgramOutputSetEnqueue, NULL, 0,
                                            &set, sizeof(set), NULL, NULL, NULL, NULL));
    program_end(&p);
}

/* ---- Hints and registers ---- */

static void hint_at(io_service_t service, ane_task_t task, uint64_t scope, struct deeds_outcome *outcome)
{
    const uint64_t in[3] = {ANE_HINT_QUEUE_DEPTH, 3, scope};
    io_connect_t connect;

    must(IOServiceOpen(service, task, ANE_CLIENT_HINTS, &connect), "open");
    deeds_note(outcome,
               IOConnectCallMethod(connect, ANE_HINTS_setClientHint, in, 3, NULL, 0, NULL, NULL, NULL, NULL));
    must(IOServiceClose(connect), "close");
}

static void hint_task(io_service_t service, ane_task_t task, struct deeds_outcome *outcome)
{
    hint_at(service, task, ANE_HINT_SCOPE_TASK, outcome);
}

static void hint_coalition(io_service_t service, ane_task_t task, struct deeds_outcome *outcome)
{
    hint_at(service, task, ANE_HINT_SCOPE_COALITION, outcome);
}

static void read_register(io_service_t service, ane_task_t task, struct deeds_outcome *outcome)
{
    const uint64_t offset = 0;
    uint64_t value;
    uint32_t one = 1;
    struct iorig_client client;

    must(iorig_open(service, task, ANE_CLIENT_DIRECT_PATH, &client), "open");
    deeds_note(outcome, ane_catalogue_call(client.connect, ANE_CATALOGUE_ReadANERegister, &offset, 1, NULL, 0,
                                           &value, &one, NULL, NULL));
    must(IOServiceClose(client.connect), "close");
}

const struct deeds_row deeds_kernel[PR_ENTITLEMENT_COUNT] = {
    [PR_ENTITLEMENT_OPEN] = {0, open_control, 0xe00002c7, "Control client: the caller does not hold "},
    [PR_ENTITLEMENT_DIRECT_CLASS] = {0, open_direct, 0xe00002c7,
                                     "Direct-path client: the caller holds neither "},
    [PR_ENTITLEMENT_DATA_CHAINING] = {PROGRAM, prepare_chain, 0xe00002c1, "ANE_ProgramChainingPrepare: "},
    [PR_ENTITLEMENT_REALTIME] = {PROGRAM, request_realtime, 0xe00002c1, "Request: priority 1 is reserved, "},
    [PR_ENTITLEMENT_SYSTEM_PRIORITIES] = {PROGRAM, request_system, 0xe00002c1,
                                          "Request: priority 0 is reserved, "},
    [PR_ENTITLEMENT_MEMORY] = {PROGRAM, map_memory, 0xe00002c1, "ANE_MemoryMapRequest: "},
    [PR_ENTITLEMENT_DATA] = {PROGRAM | BIT(DATA_CHAINING), post_outputs, 0xe00002c1,
                             "ANE_ProgramOutputSetEnqueue: "},
    [PR_ENTITLEMENT_SET_HINTS] = {BIT(OPEN), hint_task, 0xe00002c1, "setClientHint: "},
    [PR_ENTITLEMENT_SHARE_HINTS] = {BIT(OPEN) | BIT(SET_HINTS), hint_coalition, 0xe00002c1,
                                    "setClientHint for a coalition: "},
    [PR_ENTITLEMENT_RAW_ACCESS] = {BIT(OPEN), read_register, 0xe00002c1, "ANE_ReadANERegister: "},
    [PR_ENTITLEMENT_RAW_IMAGES] = {BIT(OPEN), create_unsigned, 0xe00002e2,
                                   "Program create: the program is not signed for this caller: "},
};
