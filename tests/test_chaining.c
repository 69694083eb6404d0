/* SPDX-License-Identifier: Apache-2.0 */
/* Data chaining's selectors: what they refuse, what they send, and what the machine's firmware answers. */
#include "drvrig.h"

#include <string.h>

#include "driver/state.h"
#include "inside.h"
#include "iorig.h"

static struct drvrig rig;
static struct drv_client *control, *direct;
static uint64_t token;
static struct ane_chaining_reply chain;
static uint32_t surface[8];

static IOReturn prepare(struct drv_client *client, uint64_t program, uint32_t procedure, uint32_t sets)
{
    const struct ane_chaining_prepare in = {program, procedure, sets};

    return drvrig_call(client, ANE_CONTROL_ProgramChainingPrepare, NULL, 0, &in, sizeof(in), NULL, 0, &chain,
                       sizeof(chain));
}

static IOReturn enqueue(const struct ane_output_set *set)
{
    return drvrig_call(direct, ANE_DIRECT_ProgramOutputSetEnqueue, NULL, 0, set, sizeof(*set), NULL, 0, NULL,
                       0);
}

static IOReturn ready(const struct ane_inputs_ready *inputs)
{
    return drvrig_call(direct, ANE_DIRECT_ProgramInputsReady, NULL, 0, inputs, sizeof(*inputs), NULL, 0, NULL,
                       0);
}

static IOReturn activate(const struct ane_active_procedure *active)
{
    return drvrig_call(direct, ANE_DIRECT_ProgramChainingSetActiveProcedure, NULL, 0, active, sizeof(*active),
                       NULL, 0, NULL, 0);
}

/* A program of two inputs and an output, prepared; and a controller that serves chains. */
static int make(void **state)
{
    (void)state;
    drvrig_make(&rig, true);
    rig.chains = true;
    control = drvrig_client(&rig, ANE_CLIENT_CONTROL);
    direct = drvrig_client(&rig, ANE_CLIENT_DIRECT_PATH);
    token = drvrig_program(&rig, control, 2, 0, 0);
    for (unsigned i = 0; i < 8; i++)
        surface[i] = drvrig_surface(&rig, 0x4000);
    return 0;
}

static int drop(void **state)
{
    (void)state;
    drv_client_close(direct);
    drv_client_close(control);
    assert_int_equal(drv_stats_get(rig.driver).programs, 0);
    assert_int_equal(drv_stats_get(rig.driver).surfaces_mapped, 0);
    drvrig_drop(&rig);
    return 0;
}

static struct ane_output_set set_of(uint32_t index, uint32_t output)
{
    struct ane_chained_buffer *list = drvrig_surface_base(&rig, surface[7]);

    list[0] = (struct ane_chained_buffer){.surface = output, .offset = 0x40};
    return (struct ane_output_set){
        .handle = chain.handle, .set = index, .outputs = 1, .surface = surface[7], .offset = 0};
}

static struct ane_inputs_ready inputs_of(uint64_t timestamp)
{
    struct ane_inputs_ready inputs = {
        .handle = chain.handle, .timestamp = timestamp, .inputs = 2, .doorbell = ANE_REQUEST_DOORBELL};

    inputs.input[0].surface = surface[0];
    inputs.input[1].surface = surface[1];
    inputs.input[1].offset = 0x80;
    return inputs;
}

static void a_chain_goes_round(void **state)
{
    struct ane_active_procedure active;
    struct ane_inputs_ready inputs;
    struct ane_output_set set;

    (void)state;
    assert_int_equal(prepare(control, token, 0, 2), kIOReturnSuccess);
    assert_true(chain.handle && chain.inputs == 2 && chain.outputs == 1 && chain.sets == 2);
    assert_int_equal(rig.chained.head.id, 0x208);
    assert_true(rig.chained.request.output_sets == 2 && rig.chained.request.partitions == 1 &&
                rig.process[rig.chained.request.process_id].there);
    set = set_of(1, surface[2]);
    assert_int_equal(enqueue(&set), kIOReturnSuccess);
    assert_int_equal(rig.chained.head.id, 0x20a);
    assert_true(rig.chained.recycle.cache_handler == DRVRIG_CHAIN && rig.chained.recycle.set == 1 &&
                rig.chained.recycle.buffers == 1 && rig.chained_bytes == 0x18 + 0x30);
    assert_true(rig.chained.recycle.buffer[0].type == PR_BUFFER_OUT &&
                rig.chained.recycle.buffer[0].index == 2);
    /* The address is that of the surface in the domain of the process. */
    assert_true(drvrig_walk(&rig, 2, rig.process[0].stream, rig.chained.recycle.buffer[0].address) ==
                rig.surface[surface[2]].address + 0x40);
    inputs = inputs_of(10);
    assert_int_equal(ready(&inputs), kIOReturnSuccess);
    assert_int_equal(rig.chained.head.id, 0x209);
    assert_true(rig.chained.trigger.cache_handler == DRVRIG_CHAIN && rig.chained.trigger.timestamp == 10 &&
                rig.chained.trigger.buffers == 2);
    assert_true(drvrig_walk(&rig, 1, rig.process[0].stream, rig.chained.trigger.buffer[1].address) ==
                rig.surface[surface[1]].address + 0x80);
    active = (struct ane_active_procedure){.handle = chain.handle};
    assert_int_equal(activate(&active), kIOReturnSuccess);
    assert_int_equal(rig.chained.head.id, 0x212);
    assert_true(rig.chained.active.group == DRVRIG_CHAIN && rig.chained.active.active == DRVRIG_CHAIN);
    /* Another surface for the set: the first is free again. */
    set = set_of(1, surface[3]);
    assert_int_equal(enqueue(&set), kIOReturnSuccess);
    /* The chain ends with the process. */
    assert_int_equal(drvrig_unprepare(control, token), kIOReturnSuccess);
    inputs = inputs_of(11);
    assert_int_equal(ready(&inputs), kIOReturnNotFound);
}

static void what_does_not_fit_is_refused(void **state)
{
    const struct drv_identity poor = {.entitlements = PR_ENTITLEMENT_BIT(OPEN), .developer = true, .task = 9};
    struct ane_device_info info = {.token = ANE_USAGE_STANDARD};
    struct ane_chained_buffer *list = drvrig_surface_base(&rig, surface[7]);
    struct ane_active_procedure active;
    struct ane_inputs_ready inputs;
    struct ane_output_set set;
    struct drv_client *other;

    (void)state;
    assert_int_equal(prepare(control, token + 100, 0, 2), kIOReturnNotFound);
    assert_int_equal(prepare(control, token, 1, 2), kIOReturnBadArgument);
    assert_int_equal(prepare(control, token, 0, 0), kIOReturnBadArgument);
    assert_int_equal(prepare(control, token, 0, 9), kIOReturnBadArgument);
    assert_int_equal(drv_client_open(rig.driver, &poor, ANE_CLIENT_CONTROL, &other, NULL), kIOReturnSuccess);
    assert_int_equal(drvrig_call(other, 0, NULL, 0, &info, sizeof(info), NULL, 0, &info, sizeof(info)),
                     kIOReturnSuccess);
    assert_int_equal(prepare(other, token, 0, 2), kIOReturnNotPrivileged);
    drv_client_close(other);
    assert_int_equal(prepare(control, token, 0, 2), kIOReturnSuccess);
    rig.chained_bytes = 0;
#define REFUSED(call, make, change, code) \
    do {                                  \
        make;                             \
        change;                           \
        assert_int_equal(call, code);     \
    } while (0)
#define SET(change, code) REFUSED(enqueue(&set), set = set_of(0, surface[2]), change, code)
    SET(set.handle++, kIOReturnNotFound);
    SET(set.session = 999, kIOReturnBadArgument);
    SET(set.set = 2, kIOReturnBadArgument);
    SET(set.outputs = 2, kIOReturnBadArgument);
    SET(set.reserved = 1, kIOReturnBadArgument);
    SET(set.surface = 63, kIOReturnBadArgument);
    SET(set.offset = 4, kIOReturnBadArgument);
    SET(set.offset = 0x4000 - 16, kIOReturnBadArgument);
    SET(list[0].surface = 63, kIOReturnBadArgument);
    SET(list[0].offset = 8, kIOReturnBadArgument);
    SET(list[0].offset = 0x4000, kIOReturnBadArgument);
    SET(list[0].reserved = 1, kIOReturnBadArgument);
    SET(list[0].value = 1, kIOReturnUnsupported);
#define IN(change, code) REFUSED(ready(&inputs), inputs = inputs_of(5), change, code)
    IN(inputs.handle++, kIOReturnNotFound);
    IN(inputs.session = 999, kIOReturnBadArgument);
    IN(inputs.inputs = 1, kIOReturnBadArgument);
    IN(inputs.doorbell = 32, kIOReturnBadArgument);
    IN(inputs.doorbell = 6, kIOReturnBadArgument);
    IN(inputs.timestamp = 0, kIOReturnBadArgument);
    IN(inputs.input[2].surface = 1, kIOReturnBadArgument);
    IN(inputs.input[127].value = 1, kIOReturnBadArgument);
    IN(inputs.input[0].surface = 63, kIOReturnBadArgument);
    IN(inputs.input[1].offset = ~63ull, kIOReturnBadArgument);
#define ACT(change, code) \
    REFUSED(activate(&active), active = (struct ane_active_procedure){.handle = chain.handle}, change, code)
    ACT(active.handle++, kIOReturnNotFound);
    ACT(active.session = 999, kIOReturnBadArgument);
    ACT(active.procedure = 1, kIOReturnBadArgument);
    ACT(active.flags = 1, kIOReturnBadArgument);
    ACT(active.reserved = 1, kIOReturnBadArgument);
    assert_int_equal(rig.chained_bytes, 0); /* nothing of that was sent */
    IN((void)0, kIOReturnSuccess);
    IN((void)0, kIOReturnBadArgument); /* the same timestamp */
    IN(inputs.timestamp = 6; rig.call_refusal = PR_STATUS_BUSY, kIOReturnBusy);
    rig.call_refusal = 0;
    IN(inputs.timestamp = 6, kIOReturnSuccess); /* the refused one does not count */
}

/* The machine's firmware has no such command yet: its refusal comes back, and the next call is served. */
/* The same signature in another task: the chain is found, the owner's surfaces are not. */
static void another_task_names_only_its_own_surfaces(void **state)
{
    struct drv_identity other = drvrig_identity;
    struct ane_inputs_ready inputs;
    struct ane_output_set set;

    (void)state;
    other.has_signature = true;
    drv_client_close(control);
    control = drvrig_client_as(&rig, ANE_CLIENT_CONTROL, &other);
    token = drvrig_program(&rig, control, 2, 0, 0);
    assert_int_equal(prepare(control, token, 0, 2), kIOReturnSuccess);
    other.task++;
    drv_client_close(direct);
    direct = drvrig_client_as(&rig, ANE_CLIENT_DIRECT_PATH, &other);
    set = set_of(1, surface[2]);
    rig.surface[surface[7]].task = other.task; /* where the list is */
    assert_int_equal(enqueue(&set), kIOReturnNotPermitted);
    inputs = inputs_of(10);
    assert_int_equal(ready(&inputs), kIOReturnNotPermitted);
}

static void the_firmware_refuses_by_name(void **state)
{
    struct ane_machine_config config = {.size = sizeof(config), .firmware = 1};
    struct ane_chaining_prepare in = {.sets = 1};
    struct iorig_accumulator accumulator;
    struct ane_machine *machine;
    size_t size = sizeof(chain);

    (void)state;
    assert_int_equal(ane_machine_create(&config, &machine), 0);
    iorig_accumulator_make(&accumulator, ane_machine_service(machine), 2, 8);
    in.token = accumulator.token;
    assert_int_equal(IOConnectCallMethod(accumulator.client.connect, ANE_CONTROL_ProgramChainingPrepare, NULL,
                                         0, &in, sizeof(in), NULL, NULL, &chain, &size),
                     kIOReturnUnsupported);
    assert_non_null(strstr(ane_machine_error(), "0x208"));
    assert_non_null(strstr(ane_machine_error(), "no such command on this channel"));
    assert_int_equal(iorig_accumulator_step(&accumulator), kIOReturnSuccess);
    assert_true(iorig_accumulator_value(&accumulator) == 1);
    iorig_accumulator_release(&accumulator);
    ane_machine_destroy(machine);
}

/* Requests without a caller, which the controller keeps. */
static void post(unsigned count)
{
    uint64_t doorbell = pr_channel_table[PR_CHANNEL_DATA_CHAIN_H2T].bit, reference[DRV_REFERENCES] = {0};
    struct ane_request_reply reply;
    struct ane_request request;
    struct IOExternalMethodArguments args = {.selector = ANE_CONTROL_ProgramSendRequest,
                                             .asyncWakePort = DRVRIG_PORT,
                                             .asyncReference = reference,
                                             .asyncReferenceCount = DRV_REFERENCES,
                                             .scalarInput = &doorbell,
                                             .scalarInputCount = 1,
                                             .structureInput = &request,
                                             .structureInputSize = sizeof(request),
                                             .structureOutput = &reply,
                                             .structureOutputSize = sizeof(reply)};

    rig.hold = true;
    drvrig_request(&request, token, 2, 1, surface);
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(drv_client_call(control, args.selector, &args, NULL), kIOReturnSuccess);
    drvrig_work(&rig);
}

static void crash_in_wait(struct drvrig *r)
{
    r->admit = NULL;
    r->hold = false;
    drvrig_crash(r);
}

static void recover(void)
{
    do
        drvrig_work(&rig);
    while (drvrig_fire(&rig));
}

/* The process is pinned by a queued request and gets a slot again; the chain is gone, and holds nothing. */
static void a_restart_ends_a_chain(void **state)
{
    struct ane_output_set set;
    struct ane_inputs_ready inputs;

    (void)state;
    assert_int_equal(prepare(control, token, 0, 2), kIOReturnSuccess);
    set = set_of(0, surface[2]);
    assert_int_equal(enqueue(&set), kIOReturnSuccess);
    assert_int_equal(control->pinned, 1);
    post(2); /* one is with the firmware, the other queued */
    crash_in_wait(&rig);
    recover();
    assert_int_equal(control->pinned, 0);
    inputs = inputs_of(10);
    assert_int_equal(ready(&inputs), kIOReturnNotFound);
    assert_int_equal(prepare(control, token, 0, 2), kIOReturnSuccess);
    set = set_of(0, surface[2]);
    assert_int_equal(enqueue(&set), kIOReturnSuccess);
}

/* A message that waits to be sent while the firmware is restarted names a chain of the old one. */
static void no_message_crosses_a_restart(void **state)
{
    struct ane_active_procedure active;
    struct ane_inputs_ready inputs;
    struct ane_output_set set;
    IOReturn result = kIOReturnSuccess;

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(prepare(control, token, 0, 2), kIOReturnSuccess);
        set = set_of(0, surface[2]);
        inputs = inputs_of(10);
        active = (struct ane_active_procedure){.handle = chain.handle};
        post(DRV_REQUESTS_PER_CLIENT); /* the next one waits */
        rig.chained_bytes = 0;
        rig.admit = crash_in_wait;
        switch (i) {
        case 0: result = enqueue(&set); break;
        case 1: result = ready(&inputs); break;
        case 2: result = activate(&active); break;
        case 3: result = prepare(control, token, 0, 2); break;
        }
        recover();
        if (rig.admit || rig.chained_bytes || !result)
            fail_msg("row %u: result 0x%x, %u bytes were sent", i, (unsigned)result, rig.chained_bytes);
        assert_int_equal(control->pinned, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_chain_goes_round, make, drop),
        cmocka_unit_test_setup_teardown(what_does_not_fit_is_refused, make, drop),
        cmocka_unit_test_setup_teardown(another_task_names_only_its_own_surfaces, make, drop),
        cmocka_unit_test_setup_teardown(a_restart_ends_a_chain, make, drop),
        cmocka_unit_test_setup_teardown(no_message_crosses_a_restart, make, drop),
        cmocka_unit_test(the_firmware_refuses_by_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
