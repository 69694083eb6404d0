/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver's trace as records: each event is caused once, and its fields have the numbers and names that
 * caused it.
 */
#include "drvrig.h"

#include <string.h>

static struct drvrig rig;

static int boot(void **state)
{
    (void)state;
    drvrig_make(&rig, true);
    return 0;
}

static int drop(void **state)
{
    (void)state;
    drvrig_drop(&rig);
    return 0;
}

static struct pr_trace_record traced(enum pr_trace_event_id event, unsigned nth)
{
    struct pr_trace_record record;

    if (!drvrig_traced(&rig, event, nth, &record))
        fail_msg("event %s was traced %u times or less", pr_trace_event(event)->id, nth);
    return record;
}

static unsigned count(enum pr_trace_event_id event)
{
    struct pr_trace_record record;
    unsigned times = 0;

    while (drvrig_traced(&rig, event, times, &record))
        times++;
    return times;
}

static uint64_t number_at(enum pr_trace_event_id event, unsigned nth, unsigned field)
{
    return traced(event, nth).value[field].number;
}

static bool has_text(enum pr_trace_event_id event, unsigned nth, unsigned field, const char *text)
{
    struct pr_trace_record record = traced(event, nth);

    return pr_trace_text_is(&record.value[field], text);
}

#define NUMBER(event, nth, field)         number_at(PR_TRACE_##event, nth, PR_TRACE_AT_##event##_##field)
#define HAS_TEXT(event, nth, field, text) has_text(PR_TRACE_##event, nth, PR_TRACE_AT_##event##_##field, text)

/* Addresses and sizes of the H13 board, from the container, PMU and DART bases. */
static void the_apertures(void **state)
{
    static const struct {
        const char *name;
        uint64_t base, bytes;
    } wanted[] = {
        {"ANE", 0x284000000, 0x2000000},  {"PS", 0x28e08c000, 0x4000},       {"PWGATE", 0x28e080000, 0xc000},
        {"PTD", 0x285800000, 0x4000},     {"ANEHAL1", 0x285c00000, 0x24000}, {"ANEHAL2", 0x285c24000, 0x4000},
        {"ANEHAL3", 0x285170000, 0x4000},
    };

    (void)state;
    assert_int_equal(count(PR_TRACE_DRV_APERTURE), 7);
    for (unsigned i = 0; i < 7; i++) {
        assert_int_equal(NUMBER(DRV_APERTURE, i, number), i + 1);
        assert_true(HAS_TEXT(DRV_APERTURE, i, name, wanted[i].name));
        assert_true(NUMBER(DRV_APERTURE, i, base) == wanted[i].base);
        assert_true(NUMBER(DRV_APERTURE, i, bytes) == wanted[i].bytes);
    }
}

static void a_boot(void **state)
{
    static const struct {
        uint32_t id;
        const char *name;
    } wanted[] = {
#define X(id, text) {PR_CMD_##id, #id},
        PR_BOOT_COMMANDS(X) PR_BIND_COMMANDS(X)
#undef X
    };

    (void)state;
    assert_int_equal(count(PR_TRACE_DRV_BOOT_COMMAND), sizeof(wanted) / sizeof(wanted[0]));
    for (unsigned i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        assert_int_equal(NUMBER(DRV_BOOT_COMMAND, i, id), wanted[i].id);
        assert_true(HAS_TEXT(DRV_BOOT_COMMAND, i, name, wanted[i].name));
    }
    assert_int_equal(NUMBER(DRV_RESOURCES, 0, programs), drvrig_resources.programs);
    assert_int_equal(NUMBER(DRV_RESOURCES, 0, processes), drvrig_resources.processes);
    assert_int_equal(NUMBER(DRV_RESOURCES, 0, procedures), drvrig_resources.procedures);
    assert_int_equal(NUMBER(DRV_RESOURCES, 0, engines), drvrig_resources.engines);
    assert_int_equal(count(PR_TRACE_DRV_READY), 1);
    assert_int_equal(NUMBER(DRV_SHARED_ALLOCATED, 0, bytes), 0x40000);
    assert_true(NUMBER(DRV_SHARED_ALLOCATED, 0, address) == rig.log_buffer);
    assert_true(HAS_TEXT(DRV_FIRMWARE_LINE, 0, text, "said the firmware"));
    assert_int_equal(count(PR_TRACE_DRV_REFUSED), 0);
}

static void a_boot_that_fails_once(void **state)
{
    struct base_error error;

    (void)state;
    drvrig_make(&rig, false);
    rig.no_second_wakes = 1;
    assert_int_equal(drv_create(&rig.platform, &rig.driver, &error), 0);
    assert_int_equal(drv_start(rig.driver, &error), 0);
    assert_int_equal(count(PR_TRACE_DRV_BOOT_FAILED), 1);
    assert_int_equal(NUMBER(DRV_BOOT_FAILED, 0, boot), 1);
    assert_int_equal(NUMBER(DRV_BOOT_FAILED, 0, boots), DRV_BOOT_TRIES);
    assert_int_equal(count(PR_TRACE_DRV_READY), 1);
    drvrig_drop(&rig);
}

static void a_refusal_has_its_code_and_sentence(void **state)
{
    struct drv_client *client = drvrig_client(&rig, ANE_CLIENT_CONTROL);

    (void)state;
    assert_int_equal(drvrig_destroy(client, 0x1234), kIOReturnNotFound);
    assert_int_equal(NUMBER(DRV_REFUSED, 0, code), (uint32_t)kIOReturnNotFound);
    assert_true(HAS_TEXT(DRV_REFUSED, 0, text, drv_last_error(rig.driver)));
    drv_client_close(client);
}

/* A mapping by selector 5: the first range of the first domain, which is stream 3. */
static void domains_and_mappings(void **state)
{
    struct drv_client *client;
    const uint32_t surface = drvrig_surface(&rig, 0x6000);
    struct ane_device_info info = {.token = 1};
    struct ane_memory_map map = {.surface = surface, .usage = 1, .size = 0x5000};
    unsigned maps = count(PR_TRACE_DRV_MAP), unmaps = count(PR_TRACE_DRV_UNMAP);
    uint64_t zero = 0, address = 0;
    uint32_t number;

    (void)state;
    assert_int_equal(drv_client_open(rig.driver, &drvrig_identity, ANE_CLIENT_DIRECT_PATH, &client, NULL),
                     kIOReturnSuccess);
    number = drv_client_number(client);
    assert_int_equal(drvrig_call(client, 0, NULL, 0, &info, sizeof(info), NULL, 0, &info, sizeof(info)),
                     kIOReturnSuccess);
    map.token = info.token;
    assert_int_equal(drvrig_call(client, 5, &zero, 1, &map, sizeof(map), &address, 1, NULL, 0),
                     kIOReturnSuccess);
    assert_int_equal(NUMBER(DRV_DOMAIN_LENT, 0, domain), 1);
    assert_int_equal(NUMBER(DRV_DOMAIN_LENT, 0, client), number);
    assert_int_equal(NUMBER(DRV_DOMAIN_LENT, 0, stream), 3);
    assert_int_equal(NUMBER(DRV_MAP, maps, domain), 1);
    assert_int_equal(NUMBER(DRV_MAP, maps, usage), 1);
    assert_true(NUMBER(DRV_MAP, maps, iova) == address);
    assert_true(NUMBER(DRV_MAP, maps, physical) == rig.surface[surface].address);
    map.address = address;
    rig.endless_invalidate = true;
    assert_int_equal(drvrig_call(client, 6, NULL, 0, &map, sizeof(map), NULL, 0, NULL, 0), kIOReturnSuccess);
    rig.endless_invalidate = false;
    assert_int_equal(NUMBER(DRV_UNMAP, unmaps, domain), 1);
    assert_true(NUMBER(DRV_UNMAP, unmaps, iova) == address);
    assert_true(NUMBER(DRV_UNMAP, unmaps, bytes) == NUMBER(DRV_MAP, maps, bytes));
    assert_int_equal(count(PR_TRACE_DRV_INVALIDATE_STUCK), PR_DART_COUNT);
    for (unsigned i = 0; i < PR_DART_COUNT; i++) {
        assert_int_equal(NUMBER(DRV_INVALIDATE_STUCK, i, dart), i);
        assert_int_equal(NUMBER(DRV_INVALIDATE_STUCK, i, streams), 1u << 3);
    }
    drv_client_close(client);
    assert_int_equal(NUMBER(DRV_DOMAIN_RETURNED, 0, domain), 1);
    assert_int_equal(NUMBER(DRV_DOMAIN_RETURNED, 0, client), number);
}

static void a_loaded_program(void **state)
{
    struct drv_client *client = drvrig_client(&rig, ANE_CLIENT_CONTROL);
    uint64_t token = drvrig_program(&rig, client, 2, 0, 0);

    (void)state;
    assert_true(NUMBER(DRV_PROGRAM_LOADED, 0, token) == token);
    assert_true(HAS_TEXT(DRV_PROGRAM_LOADED, 0, name, "sum"));
    assert_int_equal(NUMBER(DRV_PROGRAM_LOADED, 0, id), 0);
    assert_int_equal(NUMBER(DRV_PROGRAM_LOADED, 0, inputs), 2);
    assert_int_equal(NUMBER(DRV_PROGRAM_LOADED, 0, outputs), 1);
    assert_int_equal(NUMBER(DRV_PROGRAM_LOADED, 0, descriptors), 1);
    drv_client_close(client);
}

static void an_answer_after_the_timeout(void **state)
{
    static uint8_t image[0x10000];
    struct drv_client *client = drvrig_client(&rig, ANE_CLIENT_CONTROL);
    size_t size = drvrig_image(image, sizeof(image), 1, 0, 0);
    uint32_t slot = rig.cursor[PR_CHANNEL_IO];
    struct pr_slot *late =
        drvrig_base_at(&rig, rig.args.ipc + pr_ipc_ring_offset(PR_CHANNEL_IO) + 64ull * slot, 64);
    uint64_t token;

    (void)state;
    rig.silent_command = PR_CMD_LOAD_PROGRAM;
    assert_int_equal(drvrig_create(&rig, client, image, size, &token), kIOReturnTimeout);
    late->address |= 1;
    rig.host_pending |= 1u << pr_channel_table[PR_CHANNEL_IO].bit;
    drvrig_work(&rig);
    assert_int_equal(count(PR_TRACE_DRV_COMMAND_LATE), 1);
    assert_int_equal(NUMBER(DRV_COMMAND_LATE, 0, slot), slot);
    drv_client_close(client);
}

/* An event in the firmware's heap, sent as the firmware sends its own. */
static void send_event(const struct pr_program_event *event, uint64_t length)
{
    uint64_t cell = rig.args.heap + 64ull * rig.cursor[PR_CHANNEL_IO_T2H];

    memcpy(drvrig_base_at(&rig, cell, sizeof(*event)), event, sizeof(*event));
    assert_true(drvrig_send_slot(&rig, PR_CHANNEL_IO_T2H, cell, length, 0));
    drvrig_work(&rig);
}

static void events_that_no_request_waits_for(void **state)
{
    const struct pr_program_event event = {.id = PR_CMD_PROGRAM_EVENT,
                                           .cookie = 0x77000000aa,
                                           .program_id = 5,
                                           .process_id = 6,
                                           .state = PR_EVENT_FINISHED};
    const struct pr_program_event known = {.id = PR_CMD_START}, unknown = {.id = 0xfffe};
    uint64_t cell;

    (void)state;
    send_event(&event, sizeof(event));
    assert_true(NUMBER(DRV_EVENT_UNCLAIMED, 0, cookie) == event.cookie);
    assert_int_equal(NUMBER(DRV_EVENT_UNCLAIMED, 0, program), 5);
    assert_int_equal(NUMBER(DRV_EVENT_UNCLAIMED, 0, process), 6);
    send_event(&known, sizeof(known));
    assert_int_equal(NUMBER(DRV_NOTIFICATION, 0, id), PR_CMD_START);
    assert_true(HAS_TEXT(DRV_NOTIFICATION, 0, name, "START"));
    send_event(&unknown, sizeof(unknown));
    assert_int_equal(NUMBER(DRV_NOTIFICATION, 1, id), 0xfffe);
    assert_true(HAS_TEXT(DRV_NOTIFICATION, 1, name, "of an unknown kind"));
    cell = rig.args.heap + 64ull * rig.cursor[PR_CHANNEL_IO_T2H];
    send_event(&event, 7);
    assert_int_equal(NUMBER(DRV_EVENT_UNREADABLE, 0, bytes), 7);
    assert_true(NUMBER(DRV_EVENT_UNREADABLE, 0, address) == cell);
    assert_int_equal(count(PR_TRACE_DRV_EVENT_UNCLAIMED), 1);
}

static void memory_the_firmware_may_not_have(void **state)
{
    const uint64_t outside = 0x70000000;

    (void)state;
    assert_true(drvrig_send_slot(&rig, PR_CHANNEL_TERMINAL, outside, 33, 0));
    drvrig_work(&rig);
    assert_int_equal(NUMBER(DRV_TERMINAL_UNREADABLE, 0, bytes), 33);
    assert_true(NUMBER(DRV_TERMINAL_UNREADABLE, 0, address) == outside);
    assert_true(drvrig_send_slot(&rig, PR_CHANNEL_SHAREDMALLOC, 0, 1ull << 40, 0));
    drvrig_work(&rig);
    assert_true(NUMBER(DRV_SHARED_REFUSED, 0, bytes) == 1ull << 40);
    assert_true(drvrig_send_slot(&rig, PR_CHANNEL_SHAREDMALLOC, outside, 0, 0));
    drvrig_work(&rig);
    assert_true(NUMBER(DRV_SHARED_UNKNOWN, 0, address) == outside);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_apertures, boot, drop),
        cmocka_unit_test_setup_teardown(a_boot, boot, drop),
        cmocka_unit_test(a_boot_that_fails_once),
        cmocka_unit_test_setup_teardown(a_refusal_has_its_code_and_sentence, boot, drop),
        cmocka_unit_test_setup_teardown(domains_and_mappings, boot, drop),
        cmocka_unit_test_setup_teardown(a_loaded_program, boot, drop),
        cmocka_unit_test_setup_teardown(an_answer_after_the_timeout, boot, drop),
        cmocka_unit_test_setup_teardown(events_that_no_request_waits_for, boot, drop),
        cmocka_unit_test_setup_teardown(memory_the_firmware_may_not_have, boot, drop),
    };

    return cmocka_run_group_tests_name("driver_trace", tests, NULL, NULL);
}
