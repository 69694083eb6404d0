/* SPDX-License-Identifier: Apache-2.0 */
/* Data chaining's selectors: what they refuse, what they send, and how chains and triggers end. */
#include "drvrig.h"

#include <string.h>

#include "driver/request.h"
#include "driver/state.h"
#include "driver/surface.h"

static struct drvrig rig;
static struct drv_client *control, *direct;
static uint64_t token;
static struct ane_chaining_reply chain;
static uint32_t surface[8];

static struct ane_chaining_args args;
static struct ane_chaining_link link[ANE_CHAINING_LINKS];

/* Arguments and links go to surface 6. */
static IOReturn prepare(struct drv_client *client, uint64_t program)
{
    const struct ane_chaining_prepare in = {program, surface[6], 64};
    uint8_t *place = drvrig_surface_base(&rig, surface[6]);

    memcpy(place + 64, &args, sizeof(args));
    memcpy(place + 64 + sizeof(args), link, sizeof(link));
    chain.handle = 0;
    return drvrig_call(client, ANE_CONTROL_ProgramChainingPrepare, NULL, 0, &in, sizeof(in), NULL, 0, &chain,
                       sizeof(chain));
}

static struct ane_chaining_args plain_args(uint32_t sets)
{
    return (struct ane_chaining_args){
        .version = ANE_CHAINING_ARGS_VERSION, .sets = sets, .priority = ANE_REQUEST_PRIORITY};
}

/* A chain of two sets, and no links. */
static void prepare_plain(void)
{
    args = plain_args(2);
    assert_int_equal(prepare(control, token), kIOReturnSuccess);
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

static IOReturn ready_at_port(const struct ane_inputs_ready *inputs)
{
    uint64_t reference[DRV_REFERENCES] = {77};
    struct IOExternalMethodArguments arguments = {.selector = ANE_DIRECT_ProgramInputsReady,
                                                  .asyncWakePort = DRVRIG_PORT,
                                                  .asyncReference = reference,
                                                  .asyncReferenceCount = 1,
                                                  .structureInput = inputs,
                                                  .structureInputSize = sizeof(*inputs)};

    return drv_client_call(direct, arguments.selector, &arguments, NULL);
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

static uint32_t *word_of(uint32_t id, uint64_t offset)
{
    return (uint32_t *)drvrig_surface_base(&rig, id) + offset / 4;
}

static void a_chain_goes_round(void **state)
{
    const struct pr_body_cache_install *install = (const void *)rig.install;
    struct ane_inputs_ready inputs;
    struct ane_output_set set;

    (void)state;
    args = plain_args(2);
    args.priority = 3;
    args.flags = ANE_CHAINING_AUTO_RECYCLE;
    assert_int_equal(prepare(control, token), kIOReturnSuccess);
    assert_true(chain.handle && chain.inputs == 2 && chain.outputs == 1 && chain.sets == 2);
    assert_true(rig.install_header.priority == 3 && rig.install_header.procedure_id == 0 &&
                rig.process[rig.install_header.process_id].there);
    assert_true(install->output_sets == 2 && install->partitions == 1 && install->requests == 1 &&
                install->links == 0 && install->flags == PR_CACHE_AUTO_RECYCLE && !install->group &&
                !install->follow && !install->custom_bars && !install->wait_events);
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
    *word_of(surface[0], 0) = 30;
    *word_of(surface[1], 0x80) = 12;
    inputs = inputs_of(10);
    assert_int_equal(ready(&inputs), kIOReturnSuccess);
    assert_int_equal(rig.chained.head.id, 0x209);
    assert_true(rig.chained.trigger.cache_handler == DRVRIG_CHAIN && rig.chained.trigger.timestamp == 10 &&
                rig.chained.trigger.buffers == 2);
    assert_true(drvrig_walk(&rig, 1, rig.process[0].stream, rig.chained.trigger.buffer[1].address) ==
                rig.surface[surface[1]].address + 0x80);
    /* The call is over: so is the execution. */
    assert_int_equal(*word_of(surface[2], 0x40), 42);
    /* The same set, with the buffers it had. */
    set.outputs = 0;
    assert_int_equal(enqueue(&set), kIOReturnSuccess);
    assert_true(rig.chained.recycle.buffers == 0 && rig.chained_bytes == 0x18);
    *word_of(surface[0], 0) = 31;
    inputs.timestamp++;
    assert_int_equal(ready(&inputs), kIOReturnSuccess);
    assert_int_equal(*word_of(surface[2], 0x40), 43);
    /* Another surface for the set: the first is free again. */
    set = set_of(1, surface[3]);
    assert_int_equal(enqueue(&set), kIOReturnSuccess);
    assert_false(drv_surface_in_use(control, surface[2]));
    assert_true(drv_surface_in_use(control, surface[3]));
    /* The chain ends with the process, in the firmware first. */
    assert_int_equal(rig.invalidated_count, 0);
    assert_int_equal(drvrig_unprepare(control, token), kIOReturnSuccess);
    assert_true(rig.invalidated_count == 1 && rig.invalidated[0] == DRVRIG_CHAIN);
    inputs = inputs_of(12);
    assert_int_equal(ready(&inputs), kIOReturnNotFound);
}

static void a_prepare_that_does_not_fit_is_refused(void **state)
{
    const struct drv_identity poor = {.entitlements = PR_ENTITLEMENT_BIT(OPEN), .developer = true, .task = 9};
    struct ane_device_info info = {.token = ANE_USAGE_STANDARD};
    struct drv_client *other;
    uint64_t first, mine;

    (void)state;
    args = plain_args(2);
    assert_int_equal(prepare(control, token + 100), kIOReturnNotFound);
    assert_int_equal(drv_client_open(rig.driver, &poor, ANE_CLIENT_CONTROL, &other, NULL), kIOReturnSuccess);
    assert_int_equal(drvrig_call(other, 0, NULL, 0, &info, sizeof(info), NULL, 0, &info, sizeof(info)),
                     kIOReturnSuccess);
    assert_int_equal(prepare(other, token), kIOReturnNotPrivileged);
    drv_client_close(other);
    prepare_plain();
    first = chain.handle;
    mine = token;
    token = drvrig_program(&rig, control, 2, 0, 0);
    memset(&rig.install_header, 0, sizeof(rig.install_header));
#define BAD(change)                                                  \
    do {                                                             \
        args = plain_args(2);                                        \
        memset(link, 0, sizeof(link));                               \
        change;                                                      \
        if (prepare(control, token) != kIOReturnBadArgument)         \
            fail_msg("%s: %s", #change, drv_last_error(rig.driver)); \
    } while (0)
    BAD(args.version = 0);
    BAD(args.procedure = 1);
    BAD(args.sets = 0);
    BAD(args.sets = 9);
    BAD(args.flags = 2);
    BAD(args.priority = 8);
    BAD(args.session = 999);
    BAD(args.reserved[15] = 1);
    BAD(args.links = 17);
    BAD((args.links = 1, link[0].output = 1));
    BAD((args.links = 1, link[0].input = 2));
    BAD(args.links = 2);                           /* both to input 0 */
    BAD((args.links = 1, link[0].source = first)); /* of another program */
    BAD(args.follow = first);
    BAD(args.group = first);
    args.follow = 0;
    args.group = 12345;
    assert_int_equal(prepare(control, token), kIOReturnNotFound);
    token = mine;
    args = plain_args(3);
    args.group = first; /* which has two sets */
    assert_int_equal(prepare(control, token), kIOReturnBadArgument);
    assert_int_equal(rig.install_header.id, 0); /* nothing of that was sent */
}

static void what_does_not_fit_is_refused(void **state)
{
    struct ane_chained_buffer *list = drvrig_surface_base(&rig, surface[7]);
    struct ane_active_procedure active;
    struct ane_inputs_ready inputs;
    struct ane_output_set set;

    (void)state;
    prepare_plain();
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
    SET(set.outputs = 0, kIOReturnNotReady); /* it has had no buffers */
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
    IN(inputs.input[0].surface = 0, kIOReturnBadArgument); /* no link brings it */
    IN(inputs.input[1].offset = ~63ull, kIOReturnBadArgument);
    IN(inputs.input[1].value = 1, kIOReturnUnsupported);
    assert_non_null(strstr(drv_last_error(rig.driver), "does not name the event"));
#define ACT(change, code) \
    REFUSED(activate(&active), active = (struct ane_active_procedure){.handle = chain.handle}, change, code)
    ACT(active.handle++, kIOReturnNotFound);
    ACT(active.session = 999, kIOReturnBadArgument);
    ACT(active.procedure = 1, kIOReturnBadArgument);
    ACT(active.flags = 1, kIOReturnBadArgument);
    ACT(active.member = 1, kIOReturnBadArgument);
    assert_int_equal(rig.chained_bytes, 0); /* nothing of that was sent */
    SET((void)0, kIOReturnSuccess);
    IN((void)0, kIOReturnSuccess);
    IN((void)0, kIOReturnBadArgument); /* the same timestamp */
    SET(set.set = 1, kIOReturnSuccess);
    IN(inputs.timestamp = 6; rig.call_refusal = PR_STATUS_BUSY, kIOReturnBusy);
    rig.call_refusal = 0;
    IN(inputs.timestamp = 6, kIOReturnSuccess); /* the refused one does not count */
    SET(set.outputs = 0, kIOReturnSuccess);
    IN(inputs.timestamp = 7; rig.call_status = PR_STATUS_STUCK, kIOReturnError);
}

/* An input that a link brings has no entry; the message has the others, under their numbers. */
static void a_link_replaces_an_input(void **state)
{
    const struct pr_body_cache_install *install = (const void *)rig.install;
    struct ane_inputs_ready inputs;
    struct ane_output_set set;

    (void)state;
    args = plain_args(2);
    args.links = 1;
    link[0] = (struct ane_chaining_link){.output = 0, .input = 0};
    assert_int_equal(prepare(control, token), kIOReturnSuccess);
    assert_int_equal(install->links, 1);
    assert_true(install->link[0].source == 0 && install->link[0].output == 2 && install->link[0].input == 0);
    set = set_of(0, surface[2]);
    assert_int_equal(enqueue(&set), kIOReturnSuccess);
    inputs = inputs_of(1);
    assert_int_equal(ready(&inputs), kIOReturnSuccess);
    assert_int_equal(rig.chained.trigger.buffers, 2);
    assert_int_equal(enqueue(&set), kIOReturnSuccess);
    inputs = inputs_of(2);
    inputs.input[0] = (struct ane_chained_buffer){0};
    assert_int_equal(ready(&inputs), kIOReturnSuccess);
    assert_true(rig.chained.trigger.buffers == 1 && rig.chained.trigger.buffer[0].index == 1);
    inputs = inputs_of(3);
    inputs.input[0] = (struct ane_chained_buffer){.offset = 16};
    assert_int_equal(ready(&inputs), kIOReturnBadArgument);
    /* A second chain takes both inputs from the first, which it follows. */
    args = plain_args(1);
    args.links = 2;
    args.follow = chain.handle;
    link[0] = (struct ane_chaining_link){.source = chain.handle, .output = 0, .input = 0};
    link[1] = (struct ane_chaining_link){.source = chain.handle, .output = 0, .input = 1};
    assert_int_equal(prepare(control, token), kIOReturnSuccess);
    assert_true(install->follow == DRVRIG_CHAIN && install->link[1].source == DRVRIG_CHAIN &&
                install->link[1].input == 1);
}

/* The trigger of a chain that another follows is over with the execution of that one. */
static void what_follows_is_waited_for(void **state)
{
    struct drvrig_call second = {.handler = DRVRIG_CHAIN + 1, .timestamp = 1, .set = 3};
    struct ane_inputs_ready inputs;
    struct ane_output_set set;
    uint64_t first;

    (void)state;
    prepare_plain();
    first = chain.handle;
    args.links = 2;
    args.follow = first;
    link[0] = link[1] = (struct ane_chaining_link){.source = first};
    link[1].input = 1;
    assert_int_equal(prepare(control, token), kIOReturnSuccess);
    chain.handle = first;
    set = set_of(0, surface[2]);
    assert_int_equal(enqueue(&set), kIOReturnSuccess);
    inputs = inputs_of(1);
    rig.following = 1;
    assert_int_equal(ready_at_port(&inputs), kIOReturnSuccess);
    drvrig_work(&rig);
    assert_int_equal(rig.messages, 0);
    second.cookie = rig.chained.trigger.cookie;
    drvrig_chain_event(&rig, &second, PR_STATUS_OK, PR_CACHE_IN_USE);
    drvrig_work(&rig);
    assert_int_equal(rig.messages, 1);
    assert_true(rig.message[0].result == kIOReturnSuccess && rig.message[0].reply.detail == 3);
    /* The firmware has made a member active that does not follow: nothing is waited for. */
    assert_int_equal(enqueue(&set), kIOReturnSuccess);
    inputs = inputs_of(2);
    assert_int_equal(ready(&inputs), kIOReturnSuccess);
    /* A first execution that fails is not followed. */
    assert_int_equal(enqueue(&set), kIOReturnSuccess);
    rig.call_status = PR_STATUS_STUCK;
    inputs = inputs_of(3);
    assert_int_equal(ready(&inputs), kIOReturnError);
}

/* Members have the sets of the first; the group is triggered by the first one's handle. */
static void a_group_has_an_active_member(void **state)
{
    const struct pr_body_cache_install *install = (const void *)rig.install;
    struct ane_active_procedure active = {0};
    uint64_t first;

    (void)state;
    prepare_plain();
    active.handle = first = chain.handle;
    args.group = first;
    assert_int_equal(prepare(control, token), kIOReturnSuccess);
    assert_int_equal(install->group, DRVRIG_CHAIN);
    active.member = chain.handle;
    assert_int_equal(activate(&active), kIOReturnSuccess);
    assert_int_equal(rig.chained.head.id, 0x212);
    assert_true(rig.chained.active.group == DRVRIG_CHAIN && rig.chained.active.active == DRVRIG_CHAIN + 1);
    active.member = 0; /* the first with that procedure */
    assert_int_equal(activate(&active), kIOReturnSuccess);
    assert_true(rig.chained.active.active == DRVRIG_CHAIN);
    active.handle = chain.handle; /* not the first member */
    assert_int_equal(activate(&active), kIOReturnBadArgument);
    args.group = chain.handle;
    assert_int_equal(prepare(control, token), kIOReturnBadArgument);
}

/* Two triggers wait in the firmware for a set, and hold up neither each other, nor a call, nor the set. */
static void triggers_wait_for_sets_beside_others(void **state)
{
    struct ane_request request;
    struct ane_request_reply reply;
    struct ane_inputs_ready inputs;
    struct ane_output_set set;

    (void)state;
    prepare_plain();
    for (unsigned i = 1; i <= 2; i++) {
        inputs = inputs_of(i);
        assert_int_equal(ready_at_port(&inputs), kIOReturnSuccess);
        drvrig_work(&rig);
    }
    inputs.timestamp = 2;
    assert_int_equal(ready_at_port(&inputs), kIOReturnBadArgument);
    assert_int_equal(rig.messages, 0);
    assert_int_equal(rig.reserved, 2);
    drvrig_request(&request, token, 2, 1, surface);
    assert_int_equal(drvrig_send(control, &request, &reply), kIOReturnSuccess);
    assert_int_equal(drvrig_unprepare(control, token), kIOReturnBusy);
    for (unsigned i = 0; i < 2; i++) {
        set = set_of(1 - i, surface[2 + i]);
        assert_int_equal(enqueue(&set), kIOReturnSuccess);
        drvrig_work(&rig);
        assert_int_equal(rig.messages, i + 1);
        assert_true(rig.message[i].reference[0] == 77 && rig.message[i].result == kIOReturnSuccess);
        assert_true(rig.message[i].reply.sequence == i + 1 && rig.message[i].reply.token == chain.handle &&
                    rig.message[i].reply.detail == 1 - i && rig.message[i].reply.status == 0);
    }
    assert_int_equal(rig.reserved, 0);
    assert_int_equal(drv_stats_get(rig.driver).in_flight, 0);
}

/* A trigger that no set will ever come for: its caller's client closes, and then the chain's own. */
static void a_close_ends_triggers_that_wait(void **state)
{
    struct ane_inputs_ready inputs;

    (void)state;
    prepare_plain();
    for (unsigned i = 1; i <= 2; i++) {
        inputs = inputs_of(i);
        assert_int_equal(ready_at_port(&inputs), kIOReturnSuccess);
    }
    drvrig_work(&rig);
    drv_client_close(direct);
    assert_int_equal(rig.messages, 2);
    assert_true(rig.message[0].result == kIOReturnAborted && rig.message[0].reply.sequence == 1);
    assert_int_equal(rig.message[1].result, kIOReturnAborted);
    assert_int_equal(rig.invalidated_count, 0);
    assert_int_equal(drv_stats_get(rig.driver).in_flight, 2); /* the firmware has them */
    direct = drvrig_client(&rig, ANE_CLIENT_DIRECT_PATH);
    inputs = inputs_of(3);
    assert_int_equal(ready_at_port(&inputs), kIOReturnSuccess);
    drvrig_work(&rig);
    drv_client_close(control);
    assert_int_equal(rig.invalidated_count, 1);
    assert_int_equal(drv_stats_get(rig.driver).in_flight, 0);
    assert_int_equal(rig.messages, 3);
    assert_int_equal(rig.message[2].result, kIOReturnAborted);
    control = drvrig_client(&rig, ANE_CLIENT_CONTROL);
}

/* Its time is over while it waits for a set: it runs when a set comes, and no caller is there any more. */
static void a_trigger_that_waits_times_out(void **state)
{
    struct ane_inputs_ready inputs;
    struct ane_output_set set;

    (void)state;
    prepare_plain();
    inputs = inputs_of(1);
    assert_int_equal(ready(&inputs), kIOReturnTimeout);
    assert_non_null(strstr(drv_last_error(rig.driver), "no output set was free?"));
    assert_int_equal(drv_stats_get(rig.driver).in_flight, 1);
    assert_true(drv_surface_in_use(control, surface[0]));
    assert_int_equal(drvrig_unprepare(control, token), kIOReturnBusy);
    *word_of(surface[0], 0) = 4;
    *word_of(surface[1], 0x80) = 3;
    set = set_of(0, surface[2]);
    assert_int_equal(enqueue(&set), kIOReturnSuccess);
    drvrig_work(&rig);
    assert_int_equal(*word_of(surface[2], 0x40), 7);
    assert_int_equal(drv_stats_get(rig.driver).in_flight, 0);
    assert_false(drv_surface_in_use(control, surface[0]));
    inputs = inputs_of(1); /* its execution has ended with that time */
    assert_int_equal(ready(&inputs), kIOReturnBadArgument);
}

static void end_in_wait(struct drvrig *r)
{
    const struct drvrig_call call = {.handler = DRVRIG_CHAIN, .set = PR_NO_ID};

    r->admit = NULL;
    assert_true(r->process[0].there); /* not terminated, and its buffers are in use */
    assert_true(drv_surface_in_use(control, surface[2]));
    drvrig_chain_event(r, &call, PR_STATUS_OK, PR_CACHE_AVAILABLE);
}

/* The firmware says that an execution is under way: the process stays until the event of its end. */
static void an_end_waits_for_what_is_in_flight(void **state)
{
    struct ane_output_set set;

    (void)state;
    prepare_plain();
    set = set_of(0, surface[2]);
    assert_int_equal(enqueue(&set), kIOReturnSuccess);
    rig.invalidated_in_flight = 1;
    rig.admit = end_in_wait;
    assert_int_equal(drvrig_unprepare(control, token), kIOReturnSuccess);
    assert_null(rig.admit);
    assert_false(rig.process[0].there);
    assert_false(drv_surface_in_use(control, surface[2]));
}

static void sleep_ends_a_chain(void **state)
{
    struct ane_inputs_ready inputs;
    struct base_error error;

    (void)state;
    prepare_plain();
    assert_int_equal(drv_sleep(rig.driver, &error), 0);
    assert_int_equal(rig.invalidated_count, 1);
    inputs = inputs_of(1);
    assert_int_equal(ready(&inputs), kIOReturnNotFound);
    assert_non_null(strstr(drv_last_error(rig.driver), "slept; prepare it again"));
    assert_int_equal(control->pinned, 0);
    prepare_plain();
}

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
    prepare_plain();
    other.task++;
    drv_client_close(direct);
    direct = drvrig_client_as(&rig, ANE_CLIENT_DIRECT_PATH, &other);
    set = set_of(1, surface[2]);
    rig.surface[surface[7]].task = other.task; /* where the list is */
    assert_int_equal(enqueue(&set), kIOReturnNotPermitted);
    inputs = inputs_of(10);
    assert_int_equal(ready(&inputs), kIOReturnNotPermitted);
}

/* Requests without a caller, which the controller keeps. */
static void post(unsigned count)
{
    uint64_t doorbell = pr_channel_table[PR_CHANNEL_DATA_CHAIN_H2T].bit, reference[DRV_REFERENCES] = {0};
    struct ane_request_reply reply;
    struct ane_request request;
    struct IOExternalMethodArguments arguments = {.selector = ANE_CONTROL_ProgramSendRequest,
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
        assert_int_equal(drv_client_call(control, arguments.selector, &arguments, NULL), kIOReturnSuccess);
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
    prepare_plain();
    set = set_of(0, surface[2]);
    assert_int_equal(enqueue(&set), kIOReturnSuccess);
    assert_int_equal(control->pinned, 1);
    post(2); /* one is with the firmware, the other queued */
    crash_in_wait(&rig);
    recover();
    assert_int_equal(control->pinned, 0);
    inputs = inputs_of(10);
    assert_int_equal(ready(&inputs), kIOReturnNotFound);
    assert_non_null(strstr(drv_last_error(rig.driver), "was lost when the engine was restarted"));
    assert_int_equal(rig.invalidated_count, 0);
    prepare_plain();
    set = set_of(0, surface[2]);
    assert_int_equal(enqueue(&set), kIOReturnSuccess);
}

/* The firmware fails while it installs: no chain is made, and nothing is held. */
static void an_install_that_a_restart_ends(void **state)
{
    (void)state;
    args = plain_args(2);
    rig.crash_command = PR_CMD_PROCEDURE_CALL_CACHE_REQUEST;
    rig.crash_commands = 1;
    assert_int_equal(prepare(control, token), kIOReturnAborted);
    recover();
    assert_int_equal(control->pinned, 0);
    assert_null(rig.driver->chains);
    prepare_plain();
}

/* A message that waits to be sent while the firmware is restarted names a chain of the old one. */
static void no_message_crosses_a_restart(void **state)
{
    struct ane_active_procedure active;
    struct ane_inputs_ready inputs;
    struct ane_output_set set;
    IOReturn result = kIOReturnSuccess;

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        prepare_plain();
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
        }
        recover();
        if (rig.admit || rig.chained_bytes || !result)
            fail_msg("row %u: result 0x%x, %u bytes were sent", i, (unsigned)result, rig.chained_bytes);
        assert_int_equal(control->pinned, 0);
    }
}

/* The same for sleep: a trigger that is still queued when the device sleeps ends, and its caller knows. */
static void no_message_crosses_a_sleep(void **state)
{
    struct ane_inputs_ready inputs;
    struct base_error error;

    (void)state;
    prepare_plain();
    inputs = inputs_of(1);
    post(1);
    assert_int_equal(ready_at_port(&inputs), kIOReturnSuccess); /* behind the call */
    rig.chained_bytes = 0;
    assert_true(
        drvrig_finish_one(&rig, 0)); /* the host is told when it waits: the device is not ready then */
    assert_int_equal(drv_sleep(rig.driver, &error), 0);
    recover();
    assert_int_equal(rig.chained_bytes, 0);
    assert_int_equal(rig.messages, 2);
    assert_int_equal(rig.message[0].result, kIOReturnSuccess);
    assert_true(rig.message[1].reply.token == chain.handle && rig.message[1].result == kIOReturnAborted);
    assert_int_equal(drv_stats_get(rig.driver).in_flight, 0);
    assert_int_equal(control->pinned, 0);
    prepare_plain();
}

/* Triggers that no set ever comes for: posted until one is refused. */
static unsigned post_triggers(void)
{
    struct ane_inputs_ready inputs;
    unsigned count = 0;

    do {
        inputs = inputs_of(count + 1);
        count++;
    } while (count < DRV_REQUESTS && !ready_at_port(&inputs));
    drvrig_work(&rig);
    return count - 1;
}

/* They may wait for ever: half of all requests are left to work that does not. */
static void triggers_leave_requests_to_others(void **state)
{
    struct drv_client *owner = control;
    struct ane_request_reply reply;
    struct ane_request request;

    (void)state;
    prepare_plain();
    assert_int_equal(post_triggers(), DRV_WAITING_REQUESTS / 2);
    assert_non_null(strstr(drv_last_error(rig.driver), "the limits are 12 and 24"));
    control = drvrig_client(&rig, ANE_CLIENT_CONTROL);
    token = drvrig_program(&rig, control, 2, 0, 0);
    prepare_plain();
    assert_int_equal(post_triggers(), DRV_WAITING_REQUESTS / 2);
    for (uint32_t i = 0; i < DRV_REQUESTS; i++)
        drv_request_expire(rig.driver, i); /* nobody waits for them any more; the firmware has them */
    drvrig_request(&request, token, 2, 1, surface);
    assert_int_equal(drvrig_send(control, &request, &reply), kIOReturnSuccess);
    drv_client_close(owner);
}

static IOReturn second_post;

static void post_again_in_wait(struct drvrig *r)
{
    const struct ane_output_set set = set_of(0, surface[3]);

    r->admit = NULL;
    second_post = enqueue(&set);
    while (drvrig_finish_one(r, 0))
        ;
}

/* Two calls post one set: which of their buffers the set has would be known to the firmware alone. */
static void a_set_is_posted_by_one_call_at_a_time(void **state)
{
    struct ane_output_set set;

    (void)state;
    prepare_plain();
    set = set_of(0, surface[2]);
    post(DRV_REQUESTS_PER_CLIENT); /* the first call waits for a request */
    rig.admit = post_again_in_wait;
    assert_int_equal(enqueue(&set), kIOReturnSuccess);
    assert_null(rig.admit);
    assert_int_equal(second_post, kIOReturnBusy);
    assert_true(drv_surface_in_use(control, surface[2]) && !drv_surface_in_use(control, surface[3]));
    set = set_of(1, surface[3]);
    assert_int_equal(enqueue(&set), kIOReturnSuccess);
    while (drvrig_finish_one(&rig, 0))
        drvrig_work(&rig);
}

static void close_caller_in_wait(struct drvrig *r)
{
    r->admit = NULL;
    drv_request_abort_all(direct); /* what a close does first, before it waits for the call */
}

/* The caller closes while it waits for a request, of which the chain's own client has too many. */
static void a_caller_that_closes_does_not_wait(void **state)
{
    struct ane_active_procedure active;
    struct ane_inputs_ready inputs;
    struct ane_output_set set;

    (void)state;
    prepare_plain();
    set = set_of(0, surface[2]);
    inputs = inputs_of(10);
    active = (struct ane_active_procedure){.handle = chain.handle};
    post(DRV_REQUESTS_PER_CLIENT);
    rig.admit = close_caller_in_wait;
    assert_int_equal(enqueue(&set), kIOReturnAborted);
    rig.admit = close_caller_in_wait;
    assert_int_equal(ready(&inputs), kIOReturnAborted);
    rig.admit = close_caller_in_wait;
    assert_int_equal(activate(&active), kIOReturnAborted);
    assert_non_null(strstr(drv_last_error(rig.driver), "Client 2 was closed"));
    assert_null(rig.driver->request_waiters);
    while (drvrig_finish_one(&rig, 0))
        drvrig_work(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_chain_goes_round, make, drop),
        cmocka_unit_test_setup_teardown(a_prepare_that_does_not_fit_is_refused, make, drop),
        cmocka_unit_test_setup_teardown(what_does_not_fit_is_refused, make, drop),
        cmocka_unit_test_setup_teardown(a_link_replaces_an_input, make, drop),
        cmocka_unit_test_setup_teardown(what_follows_is_waited_for, make, drop),
        cmocka_unit_test_setup_teardown(a_group_has_an_active_member, make, drop),
        cmocka_unit_test_setup_teardown(triggers_wait_for_sets_beside_others, make, drop),
        cmocka_unit_test_setup_teardown(a_close_ends_triggers_that_wait, make, drop),
        cmocka_unit_test_setup_teardown(a_trigger_that_waits_times_out, make, drop),
        cmocka_unit_test_setup_teardown(an_end_waits_for_what_is_in_flight, make, drop),
        cmocka_unit_test_setup_teardown(sleep_ends_a_chain, make, drop),
        cmocka_unit_test_setup_teardown(another_task_names_only_its_own_surfaces, make, drop),
        cmocka_unit_test_setup_teardown(a_restart_ends_a_chain, make, drop),
        cmocka_unit_test_setup_teardown(an_install_that_a_restart_ends, make, drop),
        cmocka_unit_test_setup_teardown(no_message_crosses_a_restart, make, drop),
        cmocka_unit_test_setup_teardown(no_message_crosses_a_sleep, make, drop),
        cmocka_unit_test_setup_teardown(a_caller_that_closes_does_not_wait, make, drop),
        cmocka_unit_test_setup_teardown(triggers_leave_requests_to_others, make, drop),
        cmocka_unit_test_setup_teardown(a_set_is_posted_by_one_call_at_a_time, make, drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
