/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The debug work processor, control selectors 11 to 15: with a made-up firmware for every rule, and with the
 * real one from a warning in its log to the answer.
 */
#include "drvrig.h"

#include <stdlib.h>
#include <string.h>

#include <anemone/catalogue.h>
#include <anemone/iokit.h>

#include "driver/state.h"
#include "iorig.h"
#include "protocol/call.h"
#include "protocol/control_bodies.h"
#include "protocol/notification.h"

static struct drvrig rig;
static struct drv_client *client, *other;
static uint32_t surface;

static int boot(void **state)
{
    (void)state;
    drvrig_make(&rig, true);
    client = drvrig_client(&rig, ANE_CLIENT_CONTROL);
    other = drvrig_client(&rig, ANE_CLIENT_CONTROL);
    surface = drvrig_surface(&rig, 256);
    return 0;
}

static int drop(void **state)
{
    (void)state;
    if (client)
        drv_client_close(client);
    drv_client_close(other);
    drvrig_drop(&rig);
    return 0;
}

static void says(const char *text)
{
    if (!strstr(drv_last_error(rig.driver), text))
        fail_msg("\"%s\" does not say \"%s\"", drv_last_error(rig.driver), text);
}

static IOReturn enrol(struct drv_client *who, uint32_t items, uint32_t flags, uint64_t session)
{
    const struct ane_debug_processor processor = {.session = session, .items = items, .flags = flags};

    return drvrig_call(who, 11, NULL, 0, &processor, sizeof(processor), NULL, 0, NULL, 0);
}

static IOReturn plain(struct drv_client *who, uint32_t selector)
{
    return drvrig_call(who, selector, NULL, 0, NULL, 0, NULL, 0, NULL, 0);
}

static IOReturn fetch_at(struct drv_client *who, uint64_t from, uint64_t offset)
{
    return drvrig_call(who, 13, (const uint64_t[]){from, offset}, 2, NULL, 0, NULL, 0, NULL, 0);
}

static struct ane_debug_item fetch(void)
{
    struct ane_debug_item item;

    if (fetch_at(client, surface, 0))
        fail_msg("%s", drv_last_error(rig.driver));
    memcpy(&item, drvrig_surface_base(&rig, surface), sizeof(item));
    return item;
}

static IOReturn complete(struct drv_client *who, uint64_t item, uint64_t status)
{
    return drvrig_call(who, 14, (const uint64_t[]){item, status}, 2, NULL, 0, NULL, 0, NULL, 0);
}

/* A debug call of the firmware's with this text. */
static void call(uint32_t slot, const char *text)
{
    const uint64_t cell = rig.args.heap + 64ull * rig.cursor[PR_CHANNEL_IO_T2H],
                   payload = rig.args.heap + 0x8000 + 128 * slot;
    const struct pr_notify_rpc message = {.head.id = PR_CMD_BACK_CHANNEL_RPC,
                                          .slot = slot,
                                          .kind = PR_RPC_DEBUG,
                                          .magic = PR_RPC_MAGIC,
                                          .length = (uint32_t)strlen(text),
                                          .address = payload};

    memcpy(drvrig_base_at(&rig, payload, message.length), text, message.length);
    memcpy(drvrig_base_at(&rig, cell, sizeof(message)), &message, sizeof(message));
    assert_true(drvrig_send_slot(&rig, PR_CHANNEL_IO_T2H, cell, sizeof(message), 0));
    drvrig_work(&rig);
}

static void expect_answer(uint32_t slot, uint32_t status, uint64_t answers)
{
    struct pr_exe_rpc answer;

    drvrig_work(&rig);
    memcpy(&answer, rig.chained.bytes, sizeof(answer));
    assert_int_equal(drv_stats_get(rig.driver).rpc_answered, answers);
    assert_int_equal(answer.slot, slot);
    assert_int_equal(answer.status, status);
}

static void items_come_in_order_and_are_answered(void **state)
{
    struct ane_debug_item first, second;

    (void)state;
    assert_int_equal(enrol(client, 4, 0, 0), kIOReturnSuccess);
    assert_int_equal(rig.rpc_enable, PR_RPC_LINES | PR_RPC_CALLS);
    assert_int_equal(fetch().item, 0); /* nothing yet */
    call(3, "first");
    call(4, "second, longer");
    assert_int_equal(drv_stats_get(rig.driver).rpc_answered, 0);
    first = fetch();
    assert_int_equal(first.kind, PR_RPC_DEBUG);
    assert_int_equal(first.bytes, 5);
    assert_memory_equal((char *)drvrig_surface_base(&rig, surface) + 16, "first", 5);
    assert_int_equal(fetch_at(client, surface, 128), kIOReturnSuccess);
    memcpy(&second, (char *)drvrig_surface_base(&rig, surface) + 128, sizeof(second));
    assert_int_equal(second.bytes, 14);
    assert_memory_equal((char *)drvrig_surface_base(&rig, surface) + 144, "second, longer", 14);
    assert_true(second.item > first.item);
    assert_int_equal(fetch().item, 0);
    assert_int_equal(complete(client, second.item, 9), kIOReturnSuccess);
    expect_answer(4, 9, 1);
    assert_int_equal(complete(client, first.item, 0), kIOReturnSuccess);
    expect_answer(3, 0, 2);
    assert_int_equal(complete(client, first.item, 0), kIOReturnNotFound);
    says("it is completed or dropped");
    assert_int_equal(plain(client, 12), kIOReturnSuccess);
    assert_int_equal(rig.rpc_enable, PR_RPC_LINES);
}

static void bounds(void **state)
{
    (void)state;
    assert_int_equal(enrol(client, 0, 0, 0), kIOReturnBadArgument);
    assert_int_equal(enrol(client, ANE_DEBUG_ITEMS + 1, 0, 0), kIOReturnBadArgument);
    says("17 items; 1 to 16 are possible");
    assert_int_equal(enrol(client, 1, 1, 0), kIOReturnBadArgument);
    assert_int_equal(enrol(client, 1, 0, 0x7777), kIOReturnBadArgument);
    says("Session 0x7777");
    assert_int_equal(rig.rpc_enables, 0);
    for (uint32_t selector = 12; selector <= 15; selector++) {
        const bool scalars = selector == 13 || selector == 14;

        assert_int_equal(drvrig_call(client, selector, (const uint64_t[]){1, 0}, scalars ? 2 : 0, NULL, 0,
                                     NULL, 0, NULL, 0),
                         kIOReturnNotReady);
        says("is not registered as the debug work processor");
    }
    assert_int_equal(enrol(client, ANE_DEBUG_ITEMS, 0, 0), kIOReturnSuccess);
    call(1, "twelve bytes");
    assert_int_equal(fetch_at(client, 0, 0), kIOReturnBadArgument);
    assert_int_equal(fetch_at(client, 1ull << 32 | surface, 0), kIOReturnBadArgument);
    assert_int_equal(fetch_at(client, 99, 0), kIOReturnBadArgument);
    assert_int_equal(fetch_at(client, surface, 4), kIOReturnBadArgument);
    assert_int_equal(fetch_at(client, surface, 256 - 24), kIOReturnBadArgument); /* 28 bytes */
    says("an item of 28 bytes does not fit at 232");
    assert_int_equal(fetch_at(client, surface, UINT64_MAX - 7), kIOReturnBadArgument);
    assert_int_equal(complete(client, 1, 0), kIOReturnBadArgument); /* it is there, not fetched */
    says("item 1 was not fetched");
    assert_int_equal(fetch().item, 1); /* nothing was lost */
    assert_int_equal(complete(client, 1, 1ull << 32), kIOReturnBadArgument);
    assert_int_equal(complete(client, 0, 0), kIOReturnNotFound);
    assert_int_equal(complete(client, 2, 0), kIOReturnNotFound);
    says("there was none of that number");
    assert_int_equal(complete(client, 1, 0), kIOReturnSuccess);
}

/* As many as were asked for are kept; what comes beyond them is refused at once. */
static void the_limit_of_items(void **state)
{
    (void)state;
    assert_int_equal(enrol(client, 2, 0, 0), kIOReturnSuccess);
    call(0, "a");
    call(1, "b");
    call(2, "c");
    expect_answer(2, PR_STATUS_NO_RESOURCES, 1);
    assert_int_equal(fetch().item, 1);
    call(3, "d"); /* a fetched one still counts */
    expect_answer(3, PR_STATUS_NO_RESOURCES, 2);
    assert_int_equal(complete(client, 1, 0), kIOReturnSuccess);
    drvrig_work(&rig);
    call(4, "e");
    assert_int_equal(plain(client, 15), kIOReturnSuccess); /* b and e were not fetched */
    expect_answer(4, PR_STATUS_ABORTED, 5);
    assert_int_equal(fetch().item, 0);
}

static void one_processor_at_a_time(void **state)
{
    (void)state;
    assert_int_equal(enrol(client, 4, 0, 0), kIOReturnSuccess);
    assert_int_equal(enrol(client, 4, 0, 0), kIOReturnBusy);
    assert_int_equal(enrol(other, 4, 0, 0), kIOReturnBusy);
    says("client 1 is registered");
    call(1, "a");
    assert_int_equal(fetch().item, 1);
    assert_int_equal(complete(other, 1, 0), kIOReturnNotReady); /* another's item */
    assert_int_equal(plain(client, 12), kIOReturnSuccess);
    expect_answer(1, PR_STATUS_ABORTED, 1);
    assert_int_equal(enrol(other, 4, 0, 0), kIOReturnSuccess);
    assert_int_equal(complete(other, 1, 0), kIOReturnNotFound);
    says("it is of an earlier registration");
}

static void closing_unregisters(void **state)
{
    (void)state;
    assert_int_equal(enrol(client, 4, 0, 0), kIOReturnSuccess);
    call(5, "a");
    drv_client_close(client);
    client = NULL;
    expect_answer(5, PR_STATUS_ABORTED, 1);
    assert_int_equal(rig.rpc_enable, PR_RPC_LINES);
    call(6, "b");
    expect_answer(6, PR_STATUS_NOT_READY, 2);
    assert_int_equal(enrol(other, 4, 0, 0), kIOReturnSuccess);
}

/* The registration outlives a restart of the firmware, its items do not. */
static void a_restart_ends_items(void **state)
{
    const unsigned boots = rig.boots;

    (void)state;
    assert_int_equal(enrol(client, 4, 0, 0), kIOReturnSuccess);
    call(1, "a");
    assert_int_equal(fetch().item, 1);
    drvrig_crash(&rig);
    drvrig_work(&rig);
    assert_int_equal(fetch().item, 0); /* waits until the device is ready again */
    assert_int_equal(rig.boots, boots + 1);
    drvrig_work(&rig);
    assert_int_equal(rig.rpc_enables, 2);
    assert_int_equal(rig.rpc_enable, PR_RPC_LINES | PR_RPC_CALLS);
    assert_int_equal(complete(client, 1, 0), kIOReturnNotFound);
    says("the firmware was restarted since");
    call(1, "b");
    assert_int_equal(fetch().item, 2);
    assert_int_equal(complete(client, 2, 0), kIOReturnSuccess);
    expect_answer(1, 0, 1);
}

static void a_refusal_of_the_firmware_is_the_answer(void **state)
{
    (void)state;
    rig.bad_command = PR_CMD_RPC_ENABLE;
    rig.bad_status = PR_STATUS_BAD_ARGUMENT;
    assert_int_equal(enrol(client, 4, 0, 0), kIOReturnBadArgument);
    rig.bad_command = 0;
    assert_int_equal(enrol(other, 4, 0, 0), kIOReturnSuccess); /* the place is free */
}

static void call_in_wait(struct drvrig *r)
{
    r->admit = NULL;
    r->silent_command = 0;
    call(1, "not for the next one");
}

/* The firmware calls, and its answer to the registration is lost: the item goes with the registration. */
static void a_registration_that_fails_leaves_no_item(void **state)
{
    (void)state;
    rig.silent_command = PR_CMD_RPC_ENABLE;
    rig.admit = call_in_wait;
    assert_int_equal(enrol(client, 4, 0, 0), kIOReturnTimeout);
    assert_null(rig.admit);
    expect_answer(1, PR_STATUS_ABORTED, 1);
    assert_int_equal(enrol(other, 4, 0, 0), kIOReturnSuccess);
    assert_int_equal(fetch_at(other, surface, 0), kIOReturnSuccess);
    assert_int_equal(((struct ane_debug_item *)drvrig_surface_base(&rig, surface))->item, 0);
}

/* The second access property, or an internal build. */
static void the_gate(void **state)
{
    struct drv_identity weak = drvrig_identity;
    struct drv_client *plain_client;

    (void)state;
    weak.entitlements &= ~PR_ENTITLEMENT_BIT(RAW_ACCESS);
    plain_client = drvrig_client_as(&rig, ANE_CLIENT_CONTROL, &weak);
    assert_int_equal(enrol(plain_client, 4, 0, 0), kIOReturnNotPrivileged);
    drv_client_close(plain_client);
}

/* With the real firmware: a refused command is a warning of its log, and that is an item. */

static uint64_t firmware_counter(struct ane_machine *machine, const char *name)
{
    static char text[0x4000];
    size_t bytes = sizeof(text);
    const char *line;

    assert_int_equal(ane_machine_report(machine, "counters", text, &bytes), 0);
    line = strstr(text, name);
    assert_non_null(line);
    return strtoull(line + strlen(name), NULL, 10);
}

static IOReturn inject(const struct iorig_client *raw, uint32_t id, uint32_t value)
{
    struct ane_command command = {.id = id, .bytes = 4};
    size_t size = sizeof(command);

    memcpy(command.body, &value, sizeof(value));
    return ane_catalogue_call(raw->connect, ANE_CATALOGUE_SendCommand, NULL, 0, &command, sizeof(command),
                              NULL, NULL, &command, &size);
}

static void through_all_layers(void **state)
{
    static const char warning[] = "run mode 9 is refused: it must be below 2";
    struct ane_machine *machine = iorig_machine((struct ane_machine_config){.clock = ANE_CLOCK_CLOSED});
    const io_service_t service = ane_machine_service(machine);
    const struct ane_debug_processor processor = {.items = 4};
    struct iorig_client control, raw;
    struct ane_debug_item item;
    uint32_t memory;

    (void)state;
    assert_int_equal(iorig_open(service, 0, ANE_CLIENT_CONTROL, &control), kIOReturnSuccess);
    assert_int_equal(iorig_open(service, 0, ANE_CLIENT_DIRECT_PATH, &raw), kIOReturnSuccess);
    assert_int_equal(inject(&raw, PR_CMD_FW_RUN_MODE, 9), kIOReturnBadArgument); /* no processor: no call */
    assert_int_equal(firmware_counter(machine, "rpc-calls "), 0);
    assert_int_equal(IOConnectCallMethod(control.connect, 11, NULL, 0, &processor, sizeof(processor), NULL,
                                         NULL, NULL, NULL),
                     kIOReturnSuccess);
    assert_int_equal(inject(&raw, PR_CMD_FW_RUN_MODE, 9), kIOReturnBadArgument);
    assert_int_equal(firmware_counter(machine, "rpc-calls "), 1);
    assert_int_equal(firmware_counter(machine, "rpc-answered "), 0);
    assert_int_equal(ane_surface_create(0, 4096, &memory), 0);
    assert_int_equal(IOConnectCallMethod(control.connect, 13, (const uint64_t[]){memory, 0}, 2, NULL, 0, NULL,
                                         NULL, NULL, NULL),
                     kIOReturnSuccess);
    memcpy(&item, ane_surface_base(memory), sizeof(item));
    assert_int_equal(item.bytes, sizeof(warning) - 1);
    assert_memory_equal((char *)ane_surface_base(memory) + sizeof(item), warning, item.bytes);
    assert_int_equal(IOConnectCallMethod(control.connect, 14, (const uint64_t[]){item.item, 0}, 2, NULL, 0,
                                         NULL, NULL, NULL, NULL),
                     kIOReturnSuccess);
    assert_int_equal(firmware_counter(machine, "rpc-answered "), 1);
    assert_int_equal(ane_machine_counter(machine, "driver.notify_rpc"), 1);
    assert_int_equal(ane_machine_counter(machine, "driver.rpc_answered"), 1);
    ane_surface_release(memory);
    ane_machine_destroy(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, boot, drop)
        T(items_come_in_order_and_are_answered),
        T(bounds),
        T(the_limit_of_items),
        T(one_processor_at_a_time),
        T(closing_unregisters),
        T(a_restart_ends_items),
        T(a_refusal_of_the_firmware_is_the_answer),
        T(a_registration_that_fails_leaves_no_item),
        T(the_gate),
#undef T
        cmocka_unit_test(through_all_layers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
