/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sleep and wake of the driver against a made-up controller: which commands go out in which order, what comes
 * back at the next use, and what happens when the firmware does not obey. And the reports of a firmware that
 * runs.
 */
#include "drvrig.h"

#include <errno.h>
#include <string.h>

#include <anemone/catalogue.h>

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
    rig.command_count = 0;
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

static void sleeps(void)
{
    struct base_error error;

    if (drv_sleep(rig.driver, &error))
        fail_msg("%s", error.text);
    for (unsigned i = 0; i < PR_PMU_DOMAINS; i++)
        assert_true((rig.pmu[i] & 0xf) != 0xf);
    assert_int_equal(rig.boot, 0);
}

static void sleep_empties_the_firmware(void **state)
{
    static const uint32_t order[] = {PR_CMD_QUIESCE_STATE, PR_CMD_TERMINATE_PROCESS, PR_CMD_UNLOAD_PROGRAM,
                                     PR_CMD_SUSPEND, PR_CMD_POWER_DOWN};

    (void)state;
    sleeps();
    assert_int_equal(rig.command_count, sizeof(order) / sizeof(order[0]));
    assert_memory_equal(rig.commands, order, sizeof(order));
    assert_false(rig.program[0].there || rig.process[0].there);
}

/* Seeds ch. 28: only an engine that is powered and idle, 0xa0, has its clock gated. */
static void a_running_engine_is_not_gated(void **state)
{
    struct base_error error;

    (void)state;
    dispatches(1);
    rig.engine_status = 0xa1;
    assert_int_equal(drv_sleep(rig.driver, &error), -EIO);
    assert_non_null(strstr(error.text, "its status is 0xa1, and that of an idle engine 0xa0"));
    rig.engine_status = 0xa0;
    dispatches(2);
    sleeps();
    dispatches(3);
}

static void a_call_wakes_the_device(void **state)
{
    uint64_t pages;

    (void)state;
    dispatches(1);
    pages = drv_stats_get(rig.driver).pages;
    for (unsigned i = 0; i < 20; i++) {
        sleeps();
        dispatches(100 + i);
        assert_int_equal(rig.selected, PR_BOOT_WARM);
        assert_int_equal(rig.boots, 2 + i);
    }
    assert_int_equal(drv_stats_get(rig.driver).pages, pages);
    assert_int_equal(drv_stats_get(rig.driver).recoveries, 0);
}

static void sleep_and_wake_may_be_repeated(void **state)
{
    (void)state;
    assert_int_equal(drv_wake(rig.driver, NULL), 0);
    sleeps();
    sleeps();
    assert_int_equal(drv_wake(rig.driver, NULL), 0);
    assert_int_equal(drv_wake(rig.driver, NULL), 0);
    assert_int_equal(rig.boots, 2);
    dispatches(3);
}

/* What is given back while the device sleeps needs no command. */
static void a_client_closes_while_it_sleeps(void **state)
{
    struct drv_client *other = drvrig_client(&rig, ANE_CLIENT_CONTROL);

    (void)state;
    drvrig_program(&rig, other, 1, 0, 0);
    sleeps();
    rig.command_count = 0;
    drv_client_close(other);
    assert_int_equal(rig.command_count, 0);
    assert_int_equal(drv_stats_get(rig.driver).programs, 1);
    dispatches(9);
}

static void a_firmware_that_does_not_obey(void **state)
{
    struct base_error error;

    (void)state;
    rig.bad_command = PR_CMD_SUSPEND;
    rig.bad_status = PR_STATUS_BUSY;
    assert_int_equal(drv_sleep(rig.driver, &error), -EIO);
    assert_non_null(strstr(error.text, "the firmware refused command SUSPEND"));
    rig.bad_status = 0;
    dispatches(4);
    assert_int_equal(rig.selected, PR_BOOT_COLD);
    assert_int_equal(drv_stats_get(rig.driver).recoveries, 1);
}

static void crash_in_wait(struct drvrig *r)
{
    r->admit = NULL;
    r->silent_command = 0xffffffffu;
    drvrig_crash(r);
}

static void a_crash_on_the_way_to_sleep(void **state)
{
    struct base_error error;

    (void)state;
    rig.silent_command = PR_CMD_QUIESCE_STATE;
    rig.admit = crash_in_wait;
    assert_int_equal(drv_sleep(rig.driver, &error), -EIO);
    dispatches(5);
    assert_int_equal(drv_stats_get(rig.driver).dumps, 1);
    assert_int_equal(drv_stats_get(rig.driver).recoveries, 1);
}

/* Table 27.5's methods for power and image. */
static IOReturn catalogue(struct drv_client *direct, uint32_t method, uint64_t *out)
{
    struct IOExternalMethodArguments args = {
        .selector = method, .scalarOutput = out, .scalarOutputCount = out ? 1 : 0};

    return drv_catalogue_call(direct, method, &args, NULL);
}

static void the_catalogue_powers_the_device(void **state)
{
    struct drv_client *direct = drvrig_client(&rig, ANE_CLIENT_DIRECT_PATH);
    uint64_t powered = 7;

    (void)state;
    assert_int_equal(catalogue(direct, ANE_CATALOGUE_PowerOff, NULL), kIOReturnSuccess);
    assert_int_equal(catalogue(direct, ANE_CATALOGUE_IsPowered, &powered), kIOReturnSuccess);
    assert_int_equal(powered, 0);
    assert_int_equal(catalogue(direct, ANE_CATALOGUE_PowerOff, NULL), kIOReturnSuccess);
    assert_int_equal(catalogue(direct, ANE_CATALOGUE_PowerOn, NULL), kIOReturnSuccess);
    assert_int_equal(catalogue(direct, ANE_CATALOGUE_IsPowered, &powered), kIOReturnSuccess);
    assert_int_equal(powered, 1);
    assert_int_equal(rig.selected, PR_BOOT_WARM);
    assert_int_equal(catalogue(direct, ANE_CATALOGUE_ForgetFirmware, NULL), kIOReturnSuccess);
    dispatches(8);
    assert_int_equal(rig.selected, PR_BOOT_COLD);
    assert_int_equal(catalogue(direct, ANE_CATALOGUE_AddPersistentClient, NULL), kIOReturnSuccess);
    assert_int_equal(catalogue(direct, ANE_CATALOGUE_PowerOff, NULL), kIOReturnBusy);
    drv_client_close(direct);
}

/* The firmware's load reports come in buffers of its own, and each goes back. */
static void a_load_report_is_kept_and_its_buffer_returned(void **state)
{
    const struct pr_load_report sent = {.sequence = 3, .lost = 1, .busy_ns = 1234, .calls = 4096};
    uint64_t at = rig.args.heap + 0x8000, reports;

    (void)state;
    memcpy(drvrig_base_at(&rig, at, sizeof(sent)), &sent, sizeof(sent));
    for (unsigned i = 0; i < 2 * PR_LOAD_BUFFERS; i++) {
        assert_true(drvrig_send_slot(&rig, PR_CHANNEL_BUF_T2H, at, sizeof(sent), PR_BUFFER_LOAD_REPORT));
        drvrig_work(&rig);
        assert_int_equal(rig.returned, i + 1);
        assert_true(rig.returned_buffer.address == at && rig.returned_buffer.tag == PR_BUFFER_LOAD_REPORT);
    }
    assert_memory_equal(drv_debug_load(rig.driver, &reports), &sent, sizeof(sent));
    assert_int_equal(reports, 2 * PR_LOAD_BUFFERS);
    /* Nothing outside the firmware's memory, and nothing short, is read. */
    assert_true(drvrig_send_slot(&rig, PR_CHANNEL_BUF_T2H, 0xd0000000, sizeof(sent), PR_BUFFER_LOAD_REPORT));
    assert_true(drvrig_send_slot(&rig, PR_CHANNEL_BUF_T2H, at, sizeof(sent) - 1, PR_BUFFER_LOAD_REPORT));
    assert_true(drvrig_send_slot(&rig, PR_CHANNEL_BUF_T2H, at, sizeof(sent), PR_BUFFER_LOAD_REPORT + 1));
    drvrig_work(&rig);
    drv_debug_load(rig.driver, &reports);
    assert_int_equal(reports, 2 * PR_LOAD_BUFFERS);
}

static void a_report_is_read_on_debug(void **state)
{
    struct base_error error;
    char text[64];
    size_t bytes = sizeof(text);

    (void)state;
    assert_int_equal(drv_debug_report(rig.driver, PR_REPORT_POOLS, text, &bytes, &error), 0);
    assert_string_equal(text, "report 1 of the rig");
    assert_int_equal(bytes, strlen(text));
    bytes = 5;
    assert_int_equal(drv_debug_report(rig.driver, PR_REPORT_POOLS, text, &bytes, &error), -ENOSPC);
    bytes = sizeof(text);
    assert_int_equal(drv_debug_report(rig.driver, PR_REPORTS, text, &bytes, &error), -EINVAL);
    rig.bad_command = PR_CMD_CH_INFO_GET;
    rig.bad_status = PR_STATUS_NOT_READY;
    assert_int_equal(drv_debug_report(rig.driver, PR_REPORT_TASKS, text, &bytes, &error), -EIO);
    assert_non_null(strstr(error.text, "the channel is not ready"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sleep_empties_the_firmware, boot, drop),
        cmocka_unit_test_setup_teardown(a_running_engine_is_not_gated, boot, drop),
        cmocka_unit_test_setup_teardown(a_call_wakes_the_device, boot, drop),
        cmocka_unit_test_setup_teardown(sleep_and_wake_may_be_repeated, boot, drop),
        cmocka_unit_test_setup_teardown(a_client_closes_while_it_sleeps, boot, drop),
        cmocka_unit_test_setup_teardown(a_firmware_that_does_not_obey, boot, drop),
        cmocka_unit_test_setup_teardown(a_crash_on_the_way_to_sleep, boot, drop),
        cmocka_unit_test_setup_teardown(the_catalogue_powers_the_device, boot, drop),
        cmocka_unit_test_setup_teardown(a_load_report_is_kept_and_its_buffer_returned, boot, drop),
        cmocka_unit_test_setup_teardown(a_report_is_read_on_debug, boot, drop),
    };

    return cmocka_run_group_tests_name("driver_sleep", tests, NULL, NULL);
}
