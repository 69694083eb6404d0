/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What could keep a recovery from its end: a controller that stages dumps without end or answers with slots
 * that do not exist, a table of timers that is full, callers that come back late.
 */
#include "drvrig.h"

#include <errno.h>
#include <string.h>

#include "driver/state.h"

#define PATIENCE 10000u /* steps of the driver's timer: more than any recovery takes */

static struct drvrig rig;
static struct drv_client *client;
static uint64_t token;
static uint32_t surface[2];

static int boot(void **state)
{
    (void)state;
    drvrig_make(&rig, true);
    client = drvrig_client(&rig, ANE_CLIENT_CONTROL);
    token = drvrig_program(&rig, client, 1, 0x5000, 0);
    surface[0] = drvrig_surface(&rig, 64);
    surface[1] = drvrig_surface(&rig, 64);
    return 0;
}

static int drop(void **state)
{
    (void)state;
    drv_client_close(client);
    drvrig_drop(&rig);
    return 0;
}

static void dispatches(uint32_t value)
{
    drvrig_copy(&rig, client, token, surface, value);
}

static void post(uint64_t sequence)
{
    struct ane_request request;

    drvrig_request(&request, token, 1, 1, surface);
    request.sequence = sequence;
    if (drvrig_post(client, &request))
        fail_msg("%s", drv_last_error(rig.driver));
}

/* Until the driver has set no timer; false when that takes too long. */
static bool settles(void)
{
    for (unsigned i = 0; i < PATIENCE; i++) {
        drvrig_work(&rig);
        if (!drvrig_fire(&rig))
            return true;
    }
    return false;
}

/* One request is with the firmware, the next is queued in the driver; then the firmware fails. */
static void crash_under_two_requests(void)
{
    rig.hold = true;
    post(1);
    post(2);
    drvrig_work(&rig);
    rig.hold = false;
    drvrig_crash(&rig);
}

static void announce(uint32_t section)
{
    rig.scratch[4] = 0xdead0000u | section;
    rig.host_pending |= 1u << PR_DOORBELL_CRASH;
    drvrig_work(&rig);
}

/* Always in the middle of another dump when the driver looks: only the first counts. */
static void dumps_without_end(void **state)
{
    (void)state;
    rig.crash_stops = 1;
    crash_under_two_requests();
    drvrig_work(&rig);
    for (unsigned i = 0; i < PATIENCE && rig.boots == 1; i++) {
        announce(PR_DUMP_SECTION_COUNT + 1);
        announce(1);
        drvrig_fire(&rig);
    }
    assert_int_equal(rig.boots, 2);
    assert_int_equal(rig.dumps, 1);
    assert_int_equal(drv_stats_get(rig.driver).crashes, 1);
    assert_true(settles());
    dispatches(1);
}

static void answers_with_wild_slots(void **state)
{
    static const uint32_t commands[] = {PR_CMD_LOAD_PROGRAM, PR_CMD_CREATE_PROCESS};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        unsigned messages = rig.messages;

        crash_under_two_requests();
        rig.wild_command = commands[i];
        if (!settles())
            fail_msg("row %u: the recovery has no end", i);
        assert_int_equal(rig.messages, messages + 2);
        assert_int_equal(rig.message[messages + 1].result, kIOReturnAborted);
        rig.wild_command = 0;
        dispatches(i);
    }
}

/* The load of a lost program is not answered; its client gives it up meanwhile. */
static void a_program_is_destroyed_while_it_is_reloaded(void **state)
{
    uint64_t second = drvrig_program(&rig, client, 1, 0, 0);
    struct ane_program_prepare prepare;

    (void)state;
    crash_under_two_requests();
    assert_true(settles());
    rig.silent_command = PR_CMD_LOAD_PROGRAM;
    assert_int_equal(drvrig_prepare(client, second, &prepare), kIOReturnTimeout);
    rig.silent_command = 0xffffffffu;
    assert_int_equal(drvrig_destroy(client, second), kIOReturnSuccess);
    assert_int_equal(drvrig_destroy(client, second), kIOReturnNotFound);
    crash_under_two_requests();
    assert_true(settles());
    drv_client_close(drvrig_client(&rig, ANE_CLIENT_CONTROL)); /* reaps */
    assert_int_equal(drv_stats_get(rig.driver).programs, 1);
    dispatches(3);
}

static unsigned timers_left;

static int scarce_after(void *context, uint64_t ns, void (*fn)(void *argument), void *argument)
{
    return timers_left && timers_left-- ? rig.platform.after(context, ns, fn, argument) : -ENOSPC;
}

/* The recovery gets no timer at any of its steps: the next call makes it go on. */
static void a_full_table_of_timers(void **state)
{
    (void)state;
    rig.driver->platform.after = scarce_after;
    for (unsigned i = 0; i < 40; i++) {
        timers_left = i;
        crash_under_two_requests();
        assert_true(settles());
        timers_left = UINT32_MAX;
        dispatches(i);
    }
    assert_int_equal(drv_stats_get(rig.driver).recoveries, 40);
    assert_int_equal(drv_stats_get(rig.driver).in_flight, 0);
}

static struct drv_client *other;

static void crash_in_wait(struct drvrig *r)
{
    r->admit = NULL;
    r->silent_command = 0xffffffffu;
    drvrig_crash(r);
}

/* The thread that sleeps gets the processor late: the recovery is over, and another client has gone. */
static int late_wait(void *context, const bool *done, struct drv_deadline *deadline)
{
    int status = rig.platform.wait(context, done, deadline);

    if (!rig.crashing)
        return status;
    rig.driver->platform.wait = rig.platform.wait;
    assert_true(settles());
    drv_client_close(other);
    return status;
}

static void a_recovery_overtakes_a_sleep(void **state)
{
    static const uint32_t commands[] = {PR_CMD_QUIESCE_STATE, PR_CMD_TERMINATE_PROCESS, PR_CMD_UNLOAD_PROGRAM,
                                        PR_CMD_POWER_DOWN};
    struct base_error error;

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        other = drvrig_client(&rig, ANE_CLIENT_CONTROL);
        drvrig_program(&rig, other, 1, 0, 0);
        rig.silent_command = commands[i];
        rig.admit = crash_in_wait;
        rig.driver->platform.wait = late_wait;
        assert_int_equal(drv_sleep(rig.driver, &error), -EIO);
        if (!strstr(error.text, DRVRIG_CRASH_TEXT))
            fail_msg("%s", error.text);
        assert_true(settles());
        dispatches(i);
        assert_int_equal(drv_stats_get(rig.driver).recoveries, i + 1); /* no second one */
    }
}

/* A request that is queued when the device goes to sleep wakes it. */
static void a_queued_request_wakes_the_device(void **state)
{
    struct base_error error;

    (void)state;
    rig.hold = true;
    post(1);
    post(2);
    drvrig_work(&rig);
    assert_true(drvrig_finish_one(&rig, PR_STATUS_OK));
    rig.driver->ready = false; /* as while the device falls asleep: the second is not sent */
    drvrig_work(&rig);
    rig.driver->ready = true;
    rig.hold = false;
    if (drv_sleep(rig.driver, &error))
        fail_msg("%s", error.text);
    assert_true(settles());
    assert_int_equal(rig.messages, 2);
    assert_int_equal(rig.message[1].result, kIOReturnSuccess);
    assert_int_equal(rig.boots, 2);
    dispatches(5);
}

static void note_panic(void *context, const char *sentence)
{
    (void)context;
    assert_true(sentence[0]);
}

/* A DART captures a fault at any time of a recovery, which is survived or stops everything. */
static void a_dart_fault_meets_a_recovery(void **state)
{
    for (unsigned panics = 0; panics < 2; panics++)
        for (unsigned steps = 0; steps < 40; steps++) {
            struct ane_request_reply reply;
            struct ane_request request;

            boot(state);
            rig.driver->platform.panic = panics ? note_panic : NULL;
            crash_under_two_requests();
            for (unsigned i = 0; i < steps; i++) {
                drvrig_step(&rig);
                if (i % 2)
                    drvrig_fire(&rig);
            }
            rig.engine_status = 0; /* not benign */
            rig.dart[1][PR_DART_ERROR / 4] = PR_DART_ERROR_FLAG | PR_DART_ERROR_NO_PTE;
            drv_fault_interrupt(rig.driver);
            assert_true(settles());
            assert_int_equal(rig.messages, 2);
            drvrig_request(&request, token, 1, 1, surface);
            if (rig.driver->fault.panicked) {
                assert_true(drvrig_send(client, &request, &reply) != kIOReturnSuccess);
            } else {
                assert_int_equal(drv_stats_get(rig.driver).in_flight, 0);
                dispatches(steps);
            }
            drop(state);
        }
}

/* Between an answer and the caller that it is for, the firmware fails and is restarted. */
static int overtaken_wait(void *context, const bool *done, struct drv_deadline *deadline)
{
    int status = rig.platform.wait(context, done, deadline);

    rig.driver->platform.wait = rig.platform.wait;
    drvrig_crash(&rig);
    assert_true(settles());
    return status;
}

static void says(const char *text)
{
    if (!strstr(drv_last_error(rig.driver), text))
        fail_msg("\"%s\" does not say \"%s\"", drv_last_error(rig.driver), text);
}

static void a_restart_overtakes_an_answer(void **state)
{
    static uint8_t image[0x10000];
    size_t size = drvrig_image(image, sizeof(image), 1, 0, 0);
    struct ane_program_prepare prepare;
    uint64_t second;

    (void)state;
    rig.driver->platform.wait = overtaken_wait;
    assert_int_equal(drvrig_create(&rig, client, image, size, &second), kIOReturnAborted);
    says("was loaded and lost: the engine was restarted.");
    assert_int_equal(drv_stats_get(rig.driver).programs, 1);
    assert_int_equal(drvrig_create(&rig, client, image, size, &second), kIOReturnSuccess);
    rig.driver->platform.wait = overtaken_wait;
    rig.bad_command = PR_CMD_LOAD_PROGRAM;
    rig.bad_status = PR_STATUS_NO_RESOURCES;
    assert_int_equal(drvrig_prepare(client, second, &prepare), kIOReturnAborted);
    says("was started and lost: the engine was restarted.");
    rig.bad_status = 0;
    rig.driver->platform.wait = overtaken_wait;
    assert_int_equal(drvrig_prepare(client, second, &prepare), kIOReturnSuccess); /* started again */
    token = second;
    dispatches(4);
}

/* The controller's clock is wherever it says, and jumps from one end to the other. */
static void a_clock_that_jumps(void **state)
{
    struct base_error error;

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        rig.controller_ns = i % 2 ? 3ull << 62 : 1ull << 62;
        if (drv_sleep(rig.driver, &error))
            fail_msg("%s", error.text);
        dispatches(i);
        assert_true((uint64_t)rig.driver->sync.offset_ns ==
                    rig.driver->boot.body.time.host_ns - rig.controller_ns);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(dumps_without_end, boot, drop),
        cmocka_unit_test_setup_teardown(answers_with_wild_slots, boot, drop),
        cmocka_unit_test_setup_teardown(a_program_is_destroyed_while_it_is_reloaded, boot, drop),
        cmocka_unit_test_setup_teardown(a_full_table_of_timers, boot, drop),
        cmocka_unit_test_setup_teardown(a_recovery_overtakes_a_sleep, boot, drop),
        cmocka_unit_test_setup_teardown(a_queued_request_wakes_the_device, boot, drop),
        cmocka_unit_test_setup_teardown(a_restart_overtakes_an_answer, boot, drop),
        cmocka_unit_test_setup_teardown(a_clock_that_jumps, boot, drop),
        cmocka_unit_test(a_dart_fault_meets_a_recovery),
    };

    return cmocka_run_group_tests_name("driver_wedge", tests, NULL, NULL);
}
