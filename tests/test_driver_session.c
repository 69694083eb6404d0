/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions of the driver: what a client is told about the device, what its caller may do, and hints. */
#include "drvrig.h"

#include <string.h>

#include "driver/state.h"

static struct drvrig rig;
static struct drv_client *client; /* the control client of the process itself */
static uint64_t token;
static uint32_t surface[2];

static int boot(void **state)
{
    (void)state;
    drvrig_make(&rig, true);
    client = drvrig_client(&rig, ANE_CLIENT_CONTROL);
    token = drvrig_program(&rig, client, 1, 0, 0);
    for (unsigned i = 0; i < 2; i++)
        surface[i] = drvrig_surface(&rig, 4096);
    return 0;
}

static int drop(void **state)
{
    (void)state;
    drvrig_drop(&rig);
    return 0;
}

static void expect_error(const char *text)
{
    if (!strstr(drv_last_error(rig.driver), text))
        fail_msg("\"%s\" does not say \"%s\"", drv_last_error(rig.driver), text);
}

static struct drv_client *open_as(const struct drv_identity *identity, uint32_t type)
{
    struct ane_device_info info = {.token = ANE_USAGE_STANDARD};
    struct drv_client *opened;

    assert_int_equal(drv_client_open(rig.driver, identity, type, &opened, NULL), kIOReturnSuccess);
    if (type != ANE_CLIENT_HINTS)
        assert_int_equal(drvrig_call(opened, 0, NULL, 0, &info, 104, NULL, 0, &info, 104), kIOReturnSuccess);
    return opened;
}

static IOReturn send_with(struct drv_client *from, uint32_t priority, uint32_t qos)
{
    struct ane_request_reply reply;
    struct ane_request request;

    drvrig_request(&request, token, 1, 1, surface);
    request.priority = priority;
    request.qos = qos;
    return drvrig_send(from, &request, &reply);
}

static struct ane_status status_of(struct drv_client *from)
{
    struct ane_status status;

    memset(&status, 0xff, sizeof(status));
    assert_int_equal(drvrig_call(from, 7, NULL, 0, NULL, 0, NULL, 0, &status, 32), kIOReturnSuccess);
    return status;
}

static uint32_t requests_inside;

static void look_inside(struct drvrig *r)
{
    r->admit = NULL;
    requests_inside = status_of(client).requests;
    r->hold = false;
}

static void status_counts_what_is_there(void **state)
{
    struct drv_client *direct = drvrig_client(&rig, ANE_CLIENT_DIRECT_PATH),
                      *hints = drvrig_client(&rig, ANE_CLIENT_HINTS);
    struct ane_status status = status_of(client);

    (void)state;
    assert_true(status.state == ANE_DEVICE_RUNNING && status.engines == 1 && status.programs == 1);
    assert_int_equal(status.clients, 2); /* not the hints client */
    assert_true(status.processes == 1 && status.requests == 0 && status.pages == 0);
    rig.hold = true;
    rig.admit = look_inside;
    assert_int_equal(send_with(client, 5, 21), kIOReturnSuccess);
    assert_int_equal(requests_inside, 1);
    /* Two surfaces of a page each stay mapped. */
    status = status_of(client);
    assert_true(status.requests == 0 && status.pages == 2);
    drv_client_close(direct);
    drv_client_close(hints);
    assert_int_equal(status_of(client).clients, 1);
    assert_int_equal(drvrig_destroy(client, token), kIOReturnSuccess);
    status = status_of(client);
    assert_true(status.programs == 0 && status.processes == 0);
}

static void status_reads_the_device(void **state)
{
    (void)state;
    rig.driver->platform.engines = 2;
    assert_int_equal(status_of(client).engines, 2);
    /* A fault is latched until the park is over. */
    rig.dart[1][0x40 / 4] = 0x83000004;
    drv_fault_interrupt(rig.driver);
    assert_int_equal(status_of(client).state, ANE_DEVICE_FAULTED);
    assert_true(drvrig_fire(&rig));
    assert_int_equal(status_of(client).state, ANE_DEVICE_RUNNING);
    rig.cpu = 0;
    assert_int_equal(status_of(client).state, ANE_DEVICE_STOPPED);
}

static void the_version_is_the_device_s(void **state)
{
    uint64_t version = 0;

    (void)state;
    assert_int_equal(drvrig_call(client, 10, NULL, 0, NULL, 0, &version, 1, NULL, 0), kIOReturnSuccess);
    assert_int_equal(version, 96); /* Table 27.9 */
}

static void the_firmware_is_never_loaded_by_a_client(void **state)
{
    const uint64_t scalars[3] = {1, 2, 3};
    const uint64_t accesses = rig.mmio;

    (void)state;
    assert_int_equal((uint32_t)drvrig_call(client, 16, scalars, 3, NULL, 0, NULL, 0, NULL, 0), 0xe00002c7u);
    expect_error("inactive");
    assert_true(rig.mmio == accesses);
}

static void the_handshake_names_the_engines(void **state)
{
    struct ane_device_info info = {.token = ANE_USAGE_STANDARD, .callback = 0x1111222233334444ull};
    struct drv_client *second;

    (void)state;
    rig.driver->platform.engines = 3;
    assert_int_equal(drv_client_open(rig.driver, &drvrig_identity, ANE_CLIENT_CONTROL, &second, NULL),
                     kIOReturnSuccess);
    assert_int_equal(drvrig_call(second, 0, NULL, 0, &info, 104, NULL, 0, &info, 104), kIOReturnSuccess);
    assert_true(info.engines == 3 && info.callback == ANE_DEVICE_INFO_BOARD);
    drv_client_close(second);
}

/* Callers. All of them have the signature of one team and hash, so that they find the same program. */

static struct drv_identity holder(uint32_t task, uint32_t entitlements)
{
    return (struct drv_identity){.task = task,
                                 .entitlements = PR_ENTITLEMENT_BIT(OPEN) | entitlements,
                                 .developer = true,
                                 .has_signature = true,
                                 .team = "TEAM",
                                 .cdhash = {1}};
}

static void reserved_priorities_need_their_keys(void **state)
{
    /* Callers of the process itself, so that surfaces and program are theirs. */
    const struct drv_identity who[3] = {holder(0, 0), holder(0, PR_ENTITLEMENT_BIT(REALTIME)),
                                        holder(0, PR_ENTITLEMENT_BIT(SYSTEM_PRIORITIES))};
    static const struct {
        unsigned who;
        uint32_t priority;
        const char *key; /* NULL: served */
    } rows[] = {
        {0, 0, "com.apple.ane.allow-system-reserved-priorities"},
        {0, 1, "com.apple.ane.realtime-priority-client"},
        {0, 2, NULL},
        {0, 7, NULL},
        {1, 0, "com.apple.ane.allow-system-reserved-priorities"},
        {1, 1, NULL},
        {2, 0, NULL},
        {2, 1, "com.apple.ane.realtime-priority-client"},
    };
    struct drv_client *caller[3];

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct ane_program_prepare prepare;

        caller[i] = open_as(&who[i], ANE_CLIENT_CONTROL);
        assert_int_equal(drvrig_prepare(caller[i], token, &prepare), kIOReturnSuccess);
    }
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ane_program_prepare prepare = {.token = token, .priority = rows[i].priority};
        struct drv_client *from = caller[rows[i].who];
        const uint32_t expected = rows[i].key ? 0xe00002c1u : 0;
        const uint64_t before = drv_stats_get(rig.driver).requests;

        assert_int_equal((uint32_t)send_with(from, rows[i].priority, 21), expected);
        if (rows[i].key)
            expect_error(rows[i].key);
        assert_true(drv_stats_get(rig.driver).requests == before + !rows[i].key);
        assert_int_equal((uint32_t)drvrig_call(from, 4, NULL, 0, &prepare, 56, NULL, 0, &prepare, 56),
                         expected);
        if (rows[i].key)
            expect_error(rows[i].key);
    }
}

/* Hints. */

static IOReturn hint_session(struct drv_client *from, uint32_t hint, uint32_t value, uint32_t previous)
{
    struct ane_session_hint request = {.hint = hint, .value = value};
    struct ane_session_hint_reply reply = {0};
    IOReturn result = drvrig_call(from, 7, NULL, 0, &request, 16, NULL, 0, &reply, 24);

    if (!result)
        assert_true(reply.session == from->token && reply.hint == hint && reply.previous == previous &&
                    reply.value == value);
    return result;
}

static IOReturn hint_clients(struct drv_client *from, uint64_t hint, uint64_t value, uint64_t scope)
{
    const uint64_t scalars[3] = {hint, value, scope};

    return drvrig_call(from, 0, scalars, 3, NULL, 0, NULL, 0, NULL, 0);
}

static void hints_are_checked(void **state)
{
    struct drv_client *direct = drvrig_client(&rig, ANE_CLIENT_DIRECT_PATH),
                      *hints = drvrig_client(&rig, ANE_CLIENT_HINTS);
    struct ane_session_hint foreign = {.hint = ANE_HINT_QOS, .value = 1, .session = direct->token + 1};
    struct ane_session_hint_reply reply;

    (void)state;
    assert_int_equal(hint_session(direct, 0, 1, 0), kIOReturnBadArgument);
    assert_int_equal(hint_session(direct, 4, 1, 0), kIOReturnBadArgument);
    assert_int_equal(hint_session(direct, ANE_HINT_RESIDENT, 2, 0), kIOReturnBadArgument);
    assert_int_equal(hint_session(direct, ANE_HINT_QUEUE_DEPTH, 25, 0), kIOReturnBadArgument);
    expect_error("a queue depth of 25; the limit is 24");
    assert_int_equal(drvrig_call(direct, 7, NULL, 0, &foreign, 16, NULL, 0, &reply, 24),
                     kIOReturnBadArgument);
    assert_int_equal(hint_clients(hints, 1ull << 32 | ANE_HINT_QOS, 1, 0), kIOReturnBadArgument);
    assert_int_equal(hint_clients(hints, ANE_HINT_QOS, 1ull << 32, 0), kIOReturnBadArgument);
    assert_int_equal(hint_clients(hints, ANE_HINT_QOS, 1, 2), kIOReturnBadArgument);
    assert_true(direct->qos == 21 && !direct->resident && direct->queue_depth == 24);
    /* Each value comes back as the previous one of the next call. */
    assert_int_equal(hint_session(direct, ANE_HINT_QOS, 33, 0), kIOReturnSuccess);
    assert_int_equal(hint_session(direct, ANE_HINT_QOS, 0, 33), kIOReturnSuccess);
    assert_int_equal(hint_session(direct, ANE_HINT_RESIDENT, 1, 0), kIOReturnSuccess);
    assert_true(direct->resident);
    assert_int_equal(hint_session(direct, ANE_HINT_RESIDENT, 0, 1), kIOReturnSuccess);
    assert_int_equal(hint_session(direct, ANE_HINT_QUEUE_DEPTH, 5, 0), kIOReturnSuccess);
    assert_int_equal(hint_session(direct, ANE_HINT_QUEUE_DEPTH, 0, 5), kIOReturnSuccess);
    assert_int_equal(direct->queue_depth, 24);
}

static uint32_t qos_inside;

static void see_qos(struct drvrig *r)
{
    r->admit = NULL;
    qos_inside = r->driver->band[0].running->qos;
    r->hold = false;
}

static uint32_t qos_sent(struct drv_client *from, uint32_t qos)
{
    rig.hold = true;
    rig.admit = see_qos;
    assert_int_equal(send_with(from, 5, qos), kIOReturnSuccess);
    return qos_inside;
}

static void a_request_without_qos_takes_the_hint(void **state)
{
    struct drv_client *direct = drvrig_client(&rig, ANE_CLIENT_DIRECT_PATH);

    (void)state;
    assert_int_equal(qos_sent(direct, 0), 21); /* the default class */
    assert_int_equal(hint_session(direct, ANE_HINT_QOS, 33, 0), kIOReturnSuccess);
    assert_int_equal(qos_sent(direct, 0), 33);
    assert_int_equal(qos_sent(direct, 21), 21);
    assert_int_equal(qos_sent(client, 0), 21); /* another session's */
}

static unsigned sent, refused, depth;
static struct drv_client *sender;

/* Each call is made while the one before waits; the one past the depth finds no request. */
static void send_until_refused(struct drvrig *r)
{
    if (++sent == depth) {
        r->admit = NULL;
        r->hold = false;
    }
    if (send_with(sender, 5, 21) == kIOReturnTimeout)
        refused++;
}

static void a_queue_depth_limits_requests(void **state)
{
    struct drv_client *direct = drvrig_client(&rig, ANE_CLIENT_DIRECT_PATH);
    const uint64_t over = drv_stats_get(rig.driver).over_quota;

    (void)state;
    sender = direct;
    for (depth = 1; depth <= 3; depth += 2) {
        sent = refused = 0;
        rig.order_count = 0;
        assert_int_equal(hint_session(direct, ANE_HINT_QUEUE_DEPTH, depth, depth == 1 ? 0 : 1),
                         kIOReturnSuccess);
        rig.hold = true;
        rig.admit = send_until_refused;
        assert_int_equal(send_with(direct, 5, 21), kIOReturnSuccess);
        assert_int_equal(refused, 1);
        assert_int_equal(rig.order_count, depth);
    }
    assert_true(drv_stats_get(rig.driver).over_quota == over + 2);
    assert_int_equal(drv_stats_get(rig.driver).client_requests, 24);
    assert_int_equal(drv_stats_get(rig.driver).client_programs, 128);
}

/*
 * The second call waits for the depth of 1; the third, inside its wait, raises the depth and lets it go on.
 */
static void raise_depth(struct drvrig *r)
{
    r->admit = NULL;
    assert_int_equal(hint_session(sender, ANE_HINT_QUEUE_DEPTH, 2, 1), kIOReturnSuccess);
}

static IOReturn second_result;

static void send_second(struct drvrig *r)
{
    r->admit = raise_depth;
    second_result = send_with(sender, 2, 21);
    r->hold = false;
}

static void a_raised_depth_lets_waiting_calls_on(void **state)
{
    struct drv_client *direct = drvrig_client(&rig, ANE_CLIENT_DIRECT_PATH);

    (void)state;
    sender = direct;
    assert_int_equal(hint_session(direct, ANE_HINT_QUEUE_DEPTH, 1, 0), kIOReturnSuccess);
    rig.hold = true;
    rig.admit = send_second;
    /* The firmware keeps the outer call's request, so both time out: the inner one in its band's queue. */
    send_with(direct, 5, 21);
    rig.hold = false;
    assert_int_equal(second_result, kIOReturnTimeout);
    expect_error("timed out");
    assert_null(strstr(drv_last_error(rig.driver), "the limits are"));
}

static void hints_for_others_reach_their_scope(void **state)
{
    const uint32_t keys = PR_ENTITLEMENT_BIT(SET_HINTS);
    struct drv_identity setter = holder(1, keys), wide = holder(2, keys | PR_ENTITLEMENT_BIT(SHARE_HINTS)),
                        plain = holder(3, 0), foreign = holder(4, 0), unsigned_one = holder(5, 0);
    struct drv_client *hints, *wide_hints, *own, *sibling, *other, *bare, *later;

    (void)state;
    memcpy(foreign.team, "OTHER", 6);
    unsigned_one.has_signature = false;
    own = open_as(&setter, ANE_CLIENT_CONTROL);
    sibling = open_as(&plain, ANE_CLIENT_CONTROL);
    other = open_as(&foreign, ANE_CLIENT_CONTROL);
    bare = open_as(&unsigned_one, ANE_CLIENT_CONTROL);
    /* Without the key; and with it, for a coalition without the other. */
    hints = open_as(&plain, ANE_CLIENT_HINTS);
    assert_int_equal((uint32_t)hint_clients(hints, ANE_HINT_QOS, 9, 0), 0xe00002c1u);
    expect_error("com.apple.private.ane.allow-set-client-hints");
    drv_client_close(hints);
    hints = open_as(&setter, ANE_CLIENT_HINTS);
    assert_int_equal((uint32_t)hint_clients(hints, ANE_HINT_QOS, 9, 1), 0xe00002c1u);
    expect_error("com.apple.private.ane.allow-share-coalition-hints");
    assert_int_equal(own->qos, 21);
    /* The task's own clients, open and later. */
    assert_int_equal(hint_clients(hints, ANE_HINT_QOS, 9, 0), kIOReturnSuccess);
    assert_true(own->qos == 9 && sibling->qos == 21 && other->qos == 21 && client->qos == 21);
    later = open_as(&setter, ANE_CLIENT_DIRECT_PATH);
    assert_int_equal(later->qos, 9);
    drv_client_close(later);
    /* Those of the same team. The newest counts, whoever set it. */
    wide_hints = open_as(&wide, ANE_CLIENT_HINTS);
    assert_int_equal(hint_clients(wide_hints, ANE_HINT_QOS, 11, 1), kIOReturnSuccess);
    assert_true(own->qos == 11 && sibling->qos == 11 && other->qos == 21 && bare->qos == 21);
    later = open_as(&setter, ANE_CLIENT_CONTROL);
    assert_int_equal(later->qos, 11);
    drv_client_close(later);
    /* A hint ends with the client that set it; who has it keeps it. */
    drv_client_close(wide_hints);
    later = open_as(&plain, ANE_CLIENT_CONTROL);
    assert_int_equal(later->qos, 21);
    assert_int_equal(sibling->qos, 11);
    drv_client_close(hints);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(status_counts_what_is_there, boot, drop),
        cmocka_unit_test_setup_teardown(status_reads_the_device, boot, drop),
        cmocka_unit_test_setup_teardown(the_version_is_the_device_s, boot, drop),
        cmocka_unit_test_setup_teardown(the_firmware_is_never_loaded_by_a_client, boot, drop),
        cmocka_unit_test_setup_teardown(the_handshake_names_the_engines, boot, drop),
        cmocka_unit_test_setup_teardown(reserved_priorities_need_their_keys, boot, drop),
        cmocka_unit_test_setup_teardown(hints_are_checked, boot, drop),
        cmocka_unit_test_setup_teardown(a_request_without_qos_takes_the_hint, boot, drop),
        cmocka_unit_test_setup_teardown(a_queue_depth_limits_requests, boot, drop),
        cmocka_unit_test_setup_teardown(a_raised_depth_lets_waiting_calls_on, boot, drop),
        cmocka_unit_test_setup_teardown(hints_for_others_reach_their_scope, boot, drop),
    };

    return cmocka_run_group_tests_name("driver_session", tests, NULL, NULL);
}
