/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recovery of the driver against a made-up controller that fails: what is drained, what is cancelled and in
 * which order, what is loaded again, and what calls are answered meanwhile.
 */
#include "drvrig.h"

#include <string.h>

#include "driver/state.h"

static struct drvrig rig;
static struct drv_client *client;
static uint64_t token;
static uint32_t surface[2];
static uint32_t statistics; /* the surface for them, or 0 */

static int boot(void **state)
{
    (void)state;
    drvrig_make(&rig, true);
    client = drvrig_client(&rig, ANE_CLIENT_CONTROL);
    token = drvrig_program(&rig, client, 1, 0x5000, 0);
    surface[0] = drvrig_surface(&rig, 64);
    surface[1] = drvrig_surface(&rig, 64);
    statistics = 0;
    return 0;
}

static int drop(void **state)
{
    (void)state;
    drv_client_close(client);
    drvrig_drop(&rig);
    return 0;
}

static IOReturn send_once(void)
{
    struct ane_request_reply reply;
    struct ane_request request;

    drvrig_request(&request, token, 1, 1, surface);
    request.stats_surface = statistics;
    return drvrig_send(client, &request, &reply);
}

static void says(const char *text)
{
    if (!strstr(drv_last_error(rig.driver), text))
        fail_msg("\"%s\" does not say \"%s\"", drv_last_error(rig.driver), text);
}

/* A dispatch computes what it should: the rig adds the inputs. */
static void dispatches(uint32_t value)
{
    *(uint32_t *)drvrig_surface_base(&rig, surface[0]) = value;
    *(uint32_t *)drvrig_surface_base(&rig, surface[1]) = 0;
    if (send_once())
        fail_msg("%s", drv_last_error(rig.driver));
    assert_int_equal(*(uint32_t *)drvrig_surface_base(&rig, surface[1]), value);
}

static void crash_in_wait(struct drvrig *r)
{
    r->admit = NULL;
    r->hold = false;
    drvrig_crash(r);
}

/* The one request that the firmware holds is aborted by a crash. */
static void crash_under_a_request(void)
{
    rig.hold = true;
    rig.admit = crash_in_wait;
    assert_int_equal(send_once(), kIOReturnAborted);
}

static void a_crash_is_recovered_from(void **state)
{
    struct drv_stats before, after;

    (void)state;
    dispatches(41);
    before = drv_stats_get(rig.driver);
    crash_under_a_request();
    says("The firmware failed while it had a request of client 1");
    says(DRVRIG_CRASH_TEXT ", in task exeloop. The request was aborted; the engine has been restarted.");
    dispatches(42);
    after = drv_stats_get(rig.driver);
    assert_int_equal(rig.boots, 2);
    assert_int_equal(rig.selected, PR_BOOT_COLD);
    assert_int_equal(after.crashes, 1);
    assert_int_equal(after.recoveries, 1);
    assert_int_equal(after.dumps, 1);
    assert_int_equal(after.dumps_incomplete, 0);
    assert_int_equal(after.cancelled, 1);
    assert_true(after.pages == before.pages && after.in_flight == 0);
    assert_int_equal(after.programs, 1);
}

/* As the file is described in protocol/dump.h, read by hand. */
static void the_dump_has_every_section_in_order(void **state)
{
    struct pr_dump_file head;
    size_t at = sizeof(head);

    (void)state;
    crash_under_a_request();
    memcpy(&head, rig.dump, sizeof(head));
    assert_true(head.magic == 0x44454e41 && head.version == 2 && head.sections == 10 && head.complete == 1);
    assert_string_equal(head.board, "t6000");
    for (uint32_t section = 1; section <= 10; section++) {
        struct pr_dump_part part;

        memcpy(&part, rig.dump + at, sizeof(part));
        at += sizeof(part);
        assert_int_equal(part.section, section);
        if (section == 1)
            assert_string_equal((char *)rig.dump + at + 56, DRVRIG_CRASH_TEXT);
        else if (section != 7)
            assert_true(part.bytes == 16 * section && rig.dump[at] == section);
        at += part.bytes;
    }
    assert_int_equal(at, rig.dump_bytes);
}

static void a_controller_that_stops_staging(void **state)
{
    struct pr_dump_file head;

    (void)state;
    rig.crash_stops = 3;
    crash_under_a_request();
    memcpy(&head, rig.dump, sizeof(head));
    assert_true(head.sections == 3 && head.complete == 0);
    assert_int_equal(drv_stats_get(rig.driver).dumps_incomplete, 1);
    dispatches(5);
}

static void spoil_address(struct drvrig *r)
{
    r->scratch[1] = 1;
}
static void spoil_size(struct drvrig *r)
{
    r->scratch[2] = PR_DUMP_AREA_BYTES + 1;
}
static void spoil_number(struct drvrig *r)
{
    r->scratch[4] = 0xdead0000u | (PR_DUMP_SECTION_COUNT + 1);
}
static void spoil_order(struct drvrig *r)
{
    if (r->crashing == 3)
        r->scratch[4] = 0xdead0000u | 2;
}
static void spoil_mark(struct drvrig *r)
{
    r->scratch[4] = 0xbeef0001u;
}

static void a_spoiled_dump_ends_it(void **state)
{
    static const struct {
        void (*spoil)(struct drvrig *rig);
        uint32_t sections;
    } rows[] = {
        {spoil_address, 0}, {spoil_size, 0}, {spoil_number, 0}, {spoil_order, 2}, {spoil_mark, 0},
    };
    struct pr_dump_file head;

    (void)state;
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        rig.spoil_dump = rows[i].spoil;
        crash_under_a_request();
        memcpy(&head, rig.dump, sizeof(head));
        if (head.sections != rows[i].sections || head.complete)
            fail_msg("row %u: %u sections, complete %u", i, head.sections, head.complete);
        rig.spoil_dump = NULL;
        dispatches(i);
    }
}

/* Asynchronous requests: the first is in the firmware, the others queue in the driver. */
static void post(uint64_t sequence)
{
    struct ane_request request;

    drvrig_request(&request, token, 1, 1, surface);
    request.sequence = sequence;
    request.stats_surface = statistics;
    request.priority = sequence % 2 ? 0 : 4; /* both bands */
    if (drvrig_post(client, &request))
        fail_msg("%s", drv_last_error(rig.driver));
}

/* Of the second program: it has the first slot afterwards. */
static void queued_requests_get_through(void **state)
{
    (void)state;
    token = drvrig_program(&rig, client, 1, 0, 0);
    assert_true(rig.process[1].there);
    rig.hold = true;
    for (uint64_t i = 1; i <= 6; i++)
        post(i);
    drvrig_work(&rig);
    assert_int_equal(rig.most_held, 2);
    crash_in_wait(&rig);
    do
        drvrig_work(&rig);
    while (drvrig_fire(&rig));
    assert_int_equal(rig.messages, 6);
    /* What the firmware had ends in the order of submission, and first; the rest is computed. */
    for (unsigned i = 0; i < 6; i++) {
        if (i < 2)
            assert_int_equal(rig.message[i].reply.sequence, i + 1);
        assert_int_equal(rig.message[i].result, i < 2 ? kIOReturnAborted : kIOReturnSuccess);
    }
    assert_int_equal(drv_stats_get(rig.driver).in_flight, 0);
    assert_true(rig.process[0].there && !rig.process[1].there);
    dispatches(9);
}

/*
 * A restarted firmware has mapped no statistics buffer and counts from 0. What was queued has no record; the
 * next request maps the surface again.
 */
static void statistics_begin_again(void **state)
{
    (void)state;
    statistics = drvrig_surface(&rig, 0x1000);
    rig.totals[0] = 5;
    dispatches(1);
    assert_int_equal(rig.premap_count, 1);
    rig.hold = true;
    for (uint64_t i = 1; i <= 4; i++)
        post(i);
    drvrig_work(&rig);
    crash_in_wait(&rig);
    do
        drvrig_work(&rig);
    while (drvrig_fire(&rig));
    assert_int_equal(rig.messages, 4);
    assert_int_equal(drv_stats_get(rig.driver).stats_valid, 5);
    assert_int_equal(rig.premap_count, 1);
    rig.totals[0] = 7;
    dispatches(2);
    dispatches(3);
    assert_int_equal(rig.premap_count, 2);
    assert_int_equal(drv_stats_get(rig.driver).stats_valid, 5 + 7);
}

static void two_clients_are_served_again(void **state)
{
    struct drv_client *other = drvrig_client(&rig, ANE_CLIENT_CONTROL);
    uint64_t mine = token, its = drvrig_program(&rig, other, 1, 0, 0);

    (void)state;
    crash_under_a_request();
    dispatches(1);
    assert_true(rig.process[0].there && !rig.process[1].there); /* the other's at its next use */
    token = its;
    struct drv_client *first = client;

    client = other;
    dispatches(2);
    client = first;
    token = mine;
    assert_int_equal(drvrig_destroy(other, its), kIOReturnSuccess);
    drv_client_close(other);
}

/* Programs that the firmware has forgotten are destroyed without a command. */
static void a_lost_program_is_destroyed(void **state)
{
    uint64_t second = drvrig_program(&rig, client, 1, 0, 0);
    uint32_t commands;

    (void)state;
    crash_under_a_request();
    commands = rig.command_count;
    assert_int_equal(drvrig_destroy(client, second), kIOReturnSuccess);
    assert_int_equal(rig.command_count, commands);
    assert_int_equal(drv_stats_get(rig.driver).programs, 1);
    dispatches(3);
}

static void crash_with_a_command(struct drvrig *r)
{
    r->silent_command = 0xffffffffu;
    r->admit = NULL;
    drvrig_crash(r);
}

static void a_command_under_way_is_aborted(void **state)
{
    static uint8_t image[0x10000];
    size_t size = drvrig_image(image, sizeof(image), 1, 0, 0);
    uint64_t second;

    (void)state;
    rig.silent_command = PR_CMD_LOAD_PROGRAM;
    rig.admit = crash_with_a_command;
    assert_int_equal(drvrig_create(&rig, client, image, size, &second), kIOReturnAborted);
    says("The firmware failed while it had command LOAD_PROGRAM");
    assert_int_equal(drv_stats_get(rig.driver).cancelled, 1);
    assert_int_equal(drv_stats_get(rig.driver).programs, 1);
    assert_int_equal(drvrig_create(&rig, client, image, size, &second), kIOReturnSuccess);
    assert_int_equal(drvrig_destroy(client, second), kIOReturnSuccess);
    dispatches(8);
}

/* The request that waits for its statistics surface is refused, and holds nothing afterwards. */
static void a_map_under_way_is_aborted(void **state)
{
    (void)state;
    statistics = drvrig_surface(&rig, 0x1000);
    rig.silent_command = PR_CMD_PREMAP_BUFFER;
    rig.admit = crash_with_a_command;
    assert_int_equal(send_once(), kIOReturnAborted);
    says("The firmware failed while it had command PREMAP_BUFFER");
    assert_int_equal(drv_stats_get(rig.driver).in_flight, 0);
    dispatches(4);
    assert_int_equal(rig.premap_count, 1);
}

static void stop_in_wait(struct drvrig *r)
{
    r->admit = NULL;
    r->hold = false;
    r->stopped = true;
}

/* A controller that halts without a word: the request that notices has run out of time. */
static void a_dead_controller_is_noticed(void **state)
{
    (void)state;
    rig.hold = true;
    rig.admit = stop_in_wait;
    assert_int_equal(send_once(), kIOReturnTimeout);
    dispatches(6);
    assert_int_equal(drv_stats_get(rig.driver).dumps, 0);
    assert_int_equal(drv_stats_get(rig.driver).recoveries, 1);
    assert_int_equal(drv_stats_get(rig.driver).crashes, 0);
}

static void ask_in_wait(struct drvrig *r)
{
    r->admit = NULL;
    drvrig_ask_reset(r, 2, 5);
}

static void a_reset_is_acknowledged(void **state)
{
    (void)state;
    rig.hold = true;
    rig.admit = ask_in_wait;
    assert_int_equal(send_once(), kIOReturnAborted);
    says("an abort did not clear its task queues");
    assert_int_equal(rig.resets, 1);
    assert_true(rig.reset.first_queue == 2 && rig.reset.last_queue == 5);
    rig.hold = false;
    dispatches(7);
    assert_int_equal(rig.boots, 2);
}

static void a_crash_during_recovery(void **state)
{
    (void)state;
    rig.crash_at_boot = 2;
    crash_under_a_request();
    dispatches(4);
    assert_int_equal(rig.boots, 4);
    assert_int_equal(drv_stats_get(rig.driver).crashes, 3);
    assert_int_equal(drv_stats_get(rig.driver).recoveries, 1);
    assert_int_equal(drv_stats_get(rig.driver).boot_failures, 2);
}

static void a_crash_at_the_first_boot(void **state)
{
    (void)state;
    drvrig_make(&rig, false);
    rig.crash_at_boot = 1;
    assert_int_equal(drv_create(&rig.platform, &rig.driver, NULL), 0);
    assert_int_equal(drv_start(rig.driver, NULL), 0);
    assert_int_equal(rig.dumps, 1);
    assert_int_equal(rig.boots, 2);
    drvrig_drop(&rig);
}

static void a_recovery_that_fails(void **state)
{
    (void)state;
    rig.crash_at_boot = 1000;
    crash_under_a_request();
    assert_int_equal(rig.boots, 1 + DRV_BOOT_TRIES);
    assert_int_equal(send_once(), kIOReturnNotReady);
    says("The device does not run: The firmware failed while it booted: " DRVRIG_CRASH_TEXT);
    assert_int_equal(rig.boots, 1 + DRV_BOOT_TRIES); /* too early for another try */
    rig.now += PR_RECOVERY_INTERVAL_NS;
    assert_int_equal(send_once(), kIOReturnNotReady);
    assert_int_equal(rig.boots, 1 + 2 * DRV_BOOT_TRIES);
    rig.crash_at_boot = 0;
    rig.now += PR_RECOVERY_INTERVAL_NS;
    dispatches(77);
}

/* The firmware fails at what is loaded again for a queued request. */
static void a_crash_while_programs_are_restored(void **state)
{
    static const uint32_t commands[] = {PR_CMD_LOAD_PROGRAM, PR_CMD_CREATE_PROCESS};
    uint32_t used, mappings;

    (void)state;
    dispatches(1);
    used = rig.used;
    mappings = rig.driver->domain[1].mappings;
    for (unsigned i = 0; i < 2; i++) {
        unsigned messages = rig.messages;

        rig.hold = true;
        post(2);
        post(4);
        drvrig_work(&rig);
        rig.crash_command = commands[i];
        rig.crash_commands = 1;
        crash_in_wait(&rig);
        do
            drvrig_work(&rig);
        while (drvrig_fire(&rig));
        assert_int_equal(rig.messages, messages + 2);
        assert_int_equal(rig.message[messages].result, kIOReturnAborted);
        assert_int_equal(rig.message[messages + 1].result, kIOReturnSuccess);
        assert_int_equal(rig.used, used);
        assert_int_equal(rig.driver->domain[1].mappings, mappings);
        dispatches(2);
    }
}

/* A program that the firmware fails at every time does not keep the device from the others. */
static void a_program_that_the_firmware_fails_at(void **state)
{
    (void)state;
    rig.hold = true;
    post(2);
    post(4);
    drvrig_work(&rig);
    rig.crash_command = PR_CMD_LOAD_PROGRAM;
    rig.crash_commands = 1000;
    crash_in_wait(&rig);
    do
        drvrig_work(&rig);
    while (drvrig_fire(&rig));
    assert_int_equal(rig.messages, 2);
    assert_int_equal(rig.message[1].result, kIOReturnAborted);
    assert_int_equal(drv_stats_get(rig.driver).recoveries, 1);
    assert_int_equal(drv_stats_get(rig.driver).crashes, 1 + DRV_BOOT_TRIES);
    assert_int_equal(send_once(), kIOReturnAborted);
    rig.crash_commands = 0;
    dispatches(6);
}

/* Recoveries begin no earlier than the interval after the last one began. */
static void recoveries_are_rate_limited(void **state)
{
    uint64_t began[4];

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        crash_under_a_request();
        dispatches(i);
        began[i] = rig.now;
    }
    for (unsigned i = 1; i < 4; i++)
        assert_true(began[i] - began[i - 1] >= PR_RECOVERY_INTERVAL_NS);
}

static void a_client_closes_while_it_fails(void **state)
{
    struct drv_client *other = drvrig_client(&rig, ANE_CLIENT_CONTROL);

    (void)state;
    drvrig_program(&rig, other, 1, 0, 0);
    rig.crash_at_boot = 1000;
    crash_under_a_request();
    drv_client_close(other);
    assert_int_equal(drv_stats_get(rig.driver).programs, 1);
    assert_int_equal(drv_stats_get(rig.driver).clients, 1);
}

static void memory_is_where_it_was(void **state)
{
    uint32_t used;

    (void)state;
    dispatches(1);
    used = rig.used;
    for (unsigned i = 0; i < 200; i++) {
        crash_under_a_request();
        dispatches(i);
        if (rig.used != used)
            fail_msg("after %u crashes %u pages are in use, %u before", i + 1, rig.used, used);
    }
    assert_int_equal(drv_stats_get(rig.driver).recoveries, 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_crash_is_recovered_from, boot, drop),
        cmocka_unit_test_setup_teardown(the_dump_has_every_section_in_order, boot, drop),
        cmocka_unit_test_setup_teardown(a_controller_that_stops_staging, boot, drop),
        cmocka_unit_test_setup_teardown(a_spoiled_dump_ends_it, boot, drop),
        cmocka_unit_test_setup_teardown(queued_requests_get_through, boot, drop),
        cmocka_unit_test_setup_teardown(statistics_begin_again, boot, drop),
        cmocka_unit_test_setup_teardown(two_clients_are_served_again, boot, drop),
        cmocka_unit_test_setup_teardown(a_lost_program_is_destroyed, boot, drop),
        cmocka_unit_test_setup_teardown(a_command_under_way_is_aborted, boot, drop),
        cmocka_unit_test_setup_teardown(a_map_under_way_is_aborted, boot, drop),
        cmocka_unit_test_setup_teardown(a_dead_controller_is_noticed, boot, drop),
        cmocka_unit_test_setup_teardown(a_reset_is_acknowledged, boot, drop),
        cmocka_unit_test_setup_teardown(a_crash_during_recovery, boot, drop),
        cmocka_unit_test(a_crash_at_the_first_boot),
        cmocka_unit_test_setup_teardown(a_recovery_that_fails, boot, drop),
        cmocka_unit_test_setup_teardown(a_crash_while_programs_are_restored, boot, drop),
        cmocka_unit_test_setup_teardown(a_program_that_the_firmware_fails_at, boot, drop),
        cmocka_unit_test_setup_teardown(recoveries_are_rate_limited, boot, drop),
        cmocka_unit_test_setup_teardown(a_client_closes_while_it_fails, boot, drop),
        cmocka_unit_test_setup_teardown(memory_is_where_it_was, boot, drop),
    };

    return cmocka_run_group_tests_name("driver_recovery", tests, NULL, NULL);
}
