/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every key of Listing 27.6 and of Tables 27.7 and 27.8, and the two that are chosen: granted and missing, by
 * table (deeds.h). And what a client may do that the sandbox exception alone opened.
 */
#include "support.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "deeds.h"
#include "iorig.h"
#include "partyrig.h"

#define BIT(id) PR_ENTITLEMENT_BIT(id)

static struct ane_machine *machine;
static io_service_t service;

static int make(void **state)
{
    (void)state;
    machine = iorig_machine((struct ane_machine_config){.clock = ANE_CLOCK_CLOSED});
    service = ane_machine_service(machine);
    return 0;
}

static int drop(void **state)
{
    (void)state;
    ane_machine_destroy(machine);
    return 0;
}

static ane_task_t task_with(uint32_t entitlements)
{
    static const uint8_t cdhash[20] = {7};
    const char *list[PR_ENTITLEMENT_COUNT];
    ane_task_t task = ane_task_create(list, deeds_list(entitlements, list), "TEAM", cdhash);

    assert_int_not_equal(task, 0);
    return task;
}

static void run(unsigned key, uint32_t entitlements, struct deeds_outcome *outcome)
{
    ane_task_t task = task_with(entitlements);

    deeds_kernel[key].run(service, task, outcome);
    ane_task_release(task);
}

static void each_key_of_the_kernel(void **state)
{
    unsigned rows = 0;

    (void)state;
    for (unsigned key = 0; key < PR_ENTITLEMENT_COUNT; key++) {
        const struct deeds_row *row = &deeds_kernel[key];
        struct deeds_outcome outcome;

        if (!row->run)
            continue;
        rows++;
        run(key, row->others | 1u << key, &outcome);
        if (outcome.status)
            fail_msg("with %s: 0x%08x %s", deeds_key[key], (unsigned)outcome.status, outcome.sentence);
        run(key, row->others, &outcome);
        if ((uint32_t)outcome.status != row->missing ||
            strncmp(outcome.sentence, row->words, strlen(row->words)) != 0 ||
            !strstr(outcome.sentence, deeds_key[key]))
            fail_msg("without %s: 0x%08x %s", deeds_key[key], (unsigned)outcome.status, outcome.sentence);
    }
    assert_int_equal(rows, 11);
}

/* No other key opens what one key opens. */
static void no_key_replaces_another(void **state)
{
    (void)state;
    for (unsigned key = 0; key < PR_ENTITLEMENT_COUNT; key++) {
        const struct deeds_row *row = &deeds_kernel[key];
        uint32_t all = PR_ENTITLEMENTS_ALL & ~(1u << key);
        struct deeds_outcome outcome;

        if (!row->run)
            continue;
        if (key == PR_ENTITLEMENT_DIRECT_CLASS)
            all &= ~BIT(OPEN); /* which opens a direct-path client, too */
        run(key, all, &outcome);
        if ((uint32_t)outcome.status != row->missing)
            fail_msg("all but %s: 0x%08x", deeds_key[key], (unsigned)outcome.status);
    }
}

/* ---- The sandbox exception ---- */

static void control_and_hints_stay_closed(void **state)
{
    static const uint32_t types[] = {ANE_CLIENT_CONTROL, ANE_CLIENT_HINTS};
    ane_task_t task = task_with(PR_ENTITLEMENTS_ALL & ~BIT(OPEN));

    (void)state;
    for (unsigned i = 0; i < BASE_COUNT_OF(types); i++) {
        io_connect_t connect = 1;

        assert_int_equal(IOServiceOpen(service, task, types[i], &connect), kIOReturnUnsupported);
        assert_int_equal(connect, 0);
        assert_non_null(strstr(ane_machine_error(), "com.apple.ane.iokit-user-access"));
    }
    ane_task_release(task);
}

/*
 * The broker's arrangement: a delegate of the task loads the program, the task submits on its own connection.
 * Another task with the same exception finds no such program.
 */
static void submits_what_a_broker_loaded(void **state)
{
    static const uint8_t other_hash[20] = {8};
    static uint8_t image[0x8000];
    const char *const open_key[] = {deeds_key[PR_ENTITLEMENT_OPEN]},
                      *const direct_key[] = {deeds_key[PR_ENTITLEMENT_DIRECT_CLASS]};
    ane_task_t task = task_with(BIT(DIRECT_CLASS) | BIT(RAW_IMAGES)),
               delegate = ane_task_delegate(task, open_key, 1),
               stranger = ane_task_create(direct_key, 1, "TEAM", other_hash);
    struct iorig_client broker, direct, other;
    struct ane_program_prepare prepare;
    struct ane_request_reply reply;
    uint32_t surface[3], foreign[3];
    uint64_t token;

    (void)state;
    assert_int_equal(iorig_open(service, delegate, ANE_CLIENT_CONTROL, &broker), kIOReturnSuccess);
    assert_int_equal(iorig_open(service, task, ANE_CLIENT_DIRECT_PATH, &direct), kIOReturnSuccess);
    assert_int_equal(iorig_open(service, stranger, ANE_CLIENT_DIRECT_PATH, &other), kIOReturnSuccess);
    assert_int_equal(iorig_create(&broker, image, iorig_image_add(image, sizeof(image), 2, 16), &token),
                     kIOReturnSuccess);
    assert_int_equal(iorig_prepare(&broker, token, &prepare), kIOReturnSuccess);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(ane_surface_create(task, 0x4000, &surface[i]), 0);
        assert_int_equal(ane_surface_create(stranger, 0x4000, &foreign[i]), 0);
    }
    ((uint16_t *)ane_surface_base(surface[0]))[0] = 0x3c00; /* 1 */
    ((uint16_t *)ane_surface_base(surface[1]))[0] = 0x4000; /* 2 */
    assert_int_equal(iorig_request(&direct, token, 1, ANE_REQUEST_PRIORITY, surface, 2, 1, &reply),
                     kIOReturnSuccess);
    assert_int_equal(((uint16_t *)ane_surface_base(surface[2]))[0], 0x4200); /* 3 */
    assert_int_equal(iorig_request(&other, token, 1, ANE_REQUEST_PRIORITY, foreign, 2, 1, &reply),
                     kIOReturnNotFound);
    assert_int_equal(iorig_request(&direct, token, 2, 1, surface, 2, 1, &reply), kIOReturnNotPrivileged);
    for (unsigned i = 0; i < 3; i++) {
        ane_surface_release(surface[i]);
        ane_surface_release(foreign[i]);
    }
    IOServiceClose(direct.connect);
    IOServiceClose(other.connect);
    IOServiceClose(broker.connect);
    ane_task_release(task);
    ane_task_release(delegate);
    ane_task_release(stranger);
}

/* Methods that all clients would feel, by name: those that change power, firmware or translation. */
static void the_device_is_not_its_own(void **state)
{
    static const struct {
        uint32_t method, scalars;
    } methods[] = {
        {ANE_CATALOGUE_PowerOn, 0},
        {ANE_CATALOGUE_PowerOff, 0},
        {ANE_CATALOGUE_LoadFirmware, 3},
        {ANE_CATALOGUE_ForgetFirmware, 0},
        {ANE_CATALOGUE_SetPowerManagement, 1},
        {ANE_CATALOGUE_SetDynamicPowerGating, 1},
        {ANE_CATALOGUE_SetPowerGatingHysteresisTime, 1},
        {ANE_CATALOGUE_SetThrottlingPercentage, 1},
        {ANE_CATALOGUE_SetDARTCacheTTL, 1},
        {ANE_CATALOGUE_FWSharedEventDoorbellRing, 1},
        {ANE_CATALOGUE_AddPersistentClient, 0},
        {ANE_CATALOGUE_RemovePersistentClient, 0},
    };
    ane_task_t task = task_with(PR_ENTITLEMENTS_ALL & ~BIT(OPEN));
    const uint64_t zeros[3] = {0};
    struct iorig_client client;
    uint64_t powered = 0;
    uint32_t one = 1;

    (void)state;
    assert_int_equal(iorig_open(service, task, ANE_CLIENT_DIRECT_PATH, &client), kIOReturnSuccess);
    for (unsigned i = 0; i < BASE_COUNT_OF(methods); i++) {
        IOReturn status = ane_catalogue_call(client.connect, methods[i].method, zeros, methods[i].scalars,
                                             NULL, 0, NULL, NULL, NULL, NULL);

        if (status != kIOReturnNotPrivileged ||
            !strstr(ane_machine_error(), "com.apple.ane.iokit-user-access"))
            fail_msg("method 0x%x: 0x%08x %s", methods[i].method, (unsigned)status, ane_machine_error());
    }
    assert_int_equal(ane_catalogue_call(client.connect, ANE_CATALOGUE_IsPowered, NULL, 0, NULL, 0, &powered,
                                        &one, NULL, NULL),
                     kIOReturnSuccess);
    assert_int_equal(powered, 1);
    IOServiceClose(client.connect);
    ane_task_release(task);
}

static uint32_t hint_depth(const struct iorig_client *client, uint32_t depth)
{
    const struct ane_session_hint hint = {
        .hint = ANE_HINT_QUEUE_DEPTH, .value = depth, .session = client->session};
    struct ane_session_hint_reply reply;
    size_t size = sizeof(reply);

    assert_int_equal(IOConnectCallMethod(client->connect, ANE_DIRECT_SessionHintRequest, NULL, 0, &hint,
                                         sizeof(hint), NULL, NULL, &reply, &size),
                     kIOReturnSuccess);
    return reply.value;
}

/* A broker lowers the depth of a client's task under contention; the client cannot raise it again. */
static void the_depth_is_the_brokers(void **state)
{
    const char *const keys[] = {deeds_key[PR_ENTITLEMENT_OPEN], deeds_key[PR_ENTITLEMENT_SET_HINTS]};
    uint64_t lowered[3] = {ANE_HINT_QUEUE_DEPTH, 4, ANE_HINT_SCOPE_TASK};
    ane_task_t task = task_with(BIT(DIRECT_CLASS)), delegate = ane_task_delegate(task, keys, 2);
    struct iorig_client direct, privileged;
    io_connect_t hints;

    (void)state;
    assert_int_equal(iorig_open(service, task, ANE_CLIENT_DIRECT_PATH, &direct), kIOReturnSuccess);
    assert_int_equal(iorig_open(service, delegate, ANE_CLIENT_DIRECT_PATH, &privileged), kIOReturnSuccess);
    assert_int_equal(IOServiceOpen(service, delegate, ANE_CLIENT_HINTS, &hints), kIOReturnSuccess);
    assert_int_equal(hint_depth(&direct, 9), 9); /* before: its own choice */
    assert_int_equal(IOConnectCallMethod(hints, 0, lowered, 3, NULL, 0, NULL, NULL, NULL, NULL),
                     kIOReturnSuccess);
    assert_int_equal(hint_depth(&direct, 24), 4);
    assert_int_equal(hint_depth(&direct, 0), 4);
    assert_int_equal(hint_depth(&direct, 2), 2);
    assert_int_equal(hint_depth(&direct, 5), 4);
    assert_int_equal(hint_depth(&privileged, 20), 20);
    lowered[1] = 0; /* raised again */
    assert_int_equal(IOConnectCallMethod(hints, 0, lowered, 3, NULL, 0, NULL, NULL, NULL, NULL),
                     kIOReturnSuccess);
    assert_int_equal(hint_depth(&direct, 23), 23);
    IOServiceClose(hints);
    IOServiceClose(privileged.connect);
    IOServiceClose(direct.connect);
    ane_task_release(delegate);
    ane_task_release(task);
}

/* What is shared with a delegate, or by it, is shared with or by the task it acts for. */
static void a_delegate_is_its_task(void **state)
{
    const char *const open_key[] = {deeds_key[PR_ENTITLEMENT_OPEN]};
    ane_task_t task = task_with(BIT(DIRECT_CLASS) | BIT(MEMORY)), other = task_with(BIT(OPEN)),
               delegate = ane_task_delegate(task, open_key, 1);
    struct iorig_client direct, owner;
    uint32_t own, foreign, event;
    uint64_t address;

    (void)state;
    assert_int_equal(iorig_open(service, task, ANE_CLIENT_DIRECT_PATH, &direct), kIOReturnSuccess);
    assert_int_equal(iorig_open(service, other, ANE_CLIENT_CONTROL, &owner), kIOReturnSuccess);
    assert_int_equal(ane_surface_create(delegate, 0x4000, &own), 0);
    assert_int_equal(ane_surface_create(other, 0x4000, &foreign), 0);
    assert_int_equal(ane_surface_share(own, task, delegate), -EINVAL);
    assert_int_equal(ane_surface_share(own, delegate, other), 0);
    assert_int_equal(ane_surface_unshare(own, delegate, other), 0);
    assert_int_equal(partyrig_map(&direct, foreign, ANE_MAP_INPUT, &address), kIOReturnNotPermitted);
    assert_int_equal(ane_surface_share(foreign, other, delegate), 0);
    assert_int_equal(partyrig_map(&direct, foreign, ANE_MAP_INPUT, &address), kIOReturnSuccess);
    assert_int_equal(ane_surface_unshare(foreign, other, delegate), 0);
    assert_int_equal(partyrig_map(&direct, foreign, ANE_MAP_INPUT, &address), kIOReturnNotPermitted);
    assert_int_equal(ane_event_create(owner.connect, 0, &event), kIOReturnSuccess);
    assert_int_equal(ane_event_signal(direct.connect, event, 1), kIOReturnNotFound);
    assert_int_equal(ane_event_share(owner.connect, event, delegate), kIOReturnSuccess);
    assert_int_equal(ane_event_signal(direct.connect, event, 1), kIOReturnSuccess);
    IOServiceClose(direct.connect);
    IOServiceClose(owner.connect);
    ane_surface_release(own);
    ane_surface_release(foreign);
    ane_task_release(delegate);
    ane_task_release(other);
    ane_task_release(task);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_key_of_the_kernel),        cmocka_unit_test(no_key_replaces_another),
        cmocka_unit_test(control_and_hints_stay_closed), cmocka_unit_test(submits_what_a_broker_loaded),
        cmocka_unit_test(the_device_is_not_its_own),     cmocka_unit_test(the_depth_is_the_brokers),
        cmocka_unit_test(a_delegate_is_its_task),
    };

    return cmocka_run_group_tests_name("entitlements", tests, make, drop);
}
