/* SPDX-License-Identifier: Apache-2.0 */
/* Secure mode, seen from the controller: what the driver asks for when the owner of the mode ends. */
#include "drvrig.h"

#include <string.h>

#include <anemone/catalogue.h>

#include "driver/command.h"
#include "driver/state.h"

static struct drvrig rig;
static struct drv_client *client;

static int boot(void **state)
{
    (void)state;
    drvrig_make(&rig, true);
    client = drvrig_client(&rig, ANE_CLIENT_DIRECT_PATH);
    return 0;
}

static int drop(void **state)
{
    (void)state;
    drvrig_drop(&rig);
    return 0;
}

static IOReturn start(struct drv_client *who)
{
    struct ane_command command = {.id = PR_CMD_SECURE_MODE_START, .bytes = 4};
    struct IOExternalMethodArguments arguments = {.selector = ANE_CATALOGUE_SendCommand,
                                                  .structureInput = &command,
                                                  .structureInputSize = sizeof(command),
                                                  .structureOutput = &command,
                                                  .structureOutputSize = sizeof(command)};

    return drv_catalogue_call(who, arguments.selector, &arguments, NULL);
}

static void tell(uint32_t phase)
{
    const uint64_t cell = rig.args.heap + 64ull * rig.cursor[PR_CHANNEL_IO_T2H];
    const struct pr_notify_secure event = {.head.id = PR_CMD_SECURE_MODE_EVENT, .phase = phase};

    memcpy(drvrig_base_at(&rig, cell, sizeof(event)), &event, sizeof(event));
    assert_true(drvrig_send_slot(&rig, PR_CHANNEL_IO_T2H, cell, 64, 0));
    drvrig_work(&rig);
}

static unsigned count_stops(void)
{
    unsigned count = 0;

    for (uint32_t i = 0; i < rig.command_count; i++)
        count += rig.commands[i % 32] == PR_CMD_SECURE_MODE_STOP;
    return count;
}

/* Without a free command the firmware is told when one has come back: else the mode would never end. */
static void the_mode_ends_when_there_is_room(void **state)
{
    struct drv_command_args ping = {.id = PR_CMD_PING, .program = PR_NO_ID, .process = PR_NO_ID};

    (void)state;
    assert_int_equal(start(client), kIOReturnSuccess);
    tell(PR_SECURE_ENTERED);
    rig.command_count = 0;
    for (unsigned i = 0; i < DRV_COMMANDS; i++)
        assert_true(drv_command_post(rig.driver, &ping, NULL));
    drv_client_close(client);
    assert_int_equal(count_stops(), 0);
    drvrig_work(&rig);
    assert_int_equal(count_stops(), 1);
    tell(PR_SECURE_LEFT);
    assert_int_equal(count_stops(), 1);
    client = drvrig_client(&rig, ANE_CLIENT_DIRECT_PATH);
    assert_int_equal(start(client), kIOReturnSuccess);
}

/* The owner ends before the mode is entered: it is left as soon as it has been. */
static void a_mode_without_owner_is_left(void **state)
{
    (void)state;
    assert_int_equal(start(client), kIOReturnSuccess);
    rig.command_count = 0;
    drv_client_close(client);
    drvrig_work(&rig);
    assert_int_equal(count_stops(), 0);
    tell(PR_SECURE_ENTERED);
    assert_int_equal(count_stops(), 1);
    client = drvrig_client(&rig, ANE_CLIENT_DIRECT_PATH);
    assert_int_equal(start(client), kIOReturnNotPermitted);
    tell(PR_SECURE_LEFT);
    assert_int_equal(start(client), kIOReturnSuccess);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_mode_ends_when_there_is_room, boot, drop),
        cmocka_unit_test_setup_teardown(a_mode_without_owner_is_left, boot, drop),
    };

    return cmocka_run_group_tests_name("driver_secure", tests, NULL, NULL);
}
