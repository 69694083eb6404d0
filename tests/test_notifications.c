/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The firmware's notifications in the driver: each is counted and traced with its values, the firmware's
 * calls are answered, and a message of any bytes is survived.
 */
#include "drvrig.h"

#include <stdio.h>
#include <string.h>

#include <anemone/catalogue.h>
#include <anemone/iokit.h>

#include "driver/state.h"
#include "iorig.h"
#include "protocol/call.h"
#include "protocol/notification.h"
#include "protocol/rule.h"
#include "trace/viewer.h"

static struct drvrig rig;
static struct drv_client *client;
static uint64_t token;
static uint32_t surface[2];

static int boot(void **state)
{
    (void)state;
    drvrig_make(&rig, true);
    client = drvrig_client(&rig, ANE_CLIENT_CONTROL);
    token = drvrig_program(&rig, client, 1, 0, 0);
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

/* In the firmware's heap, sent as the firmware sends its own. */
static void send(const void *message, size_t bytes)
{
    const uint64_t cell = rig.args.heap + 64ull * rig.cursor[PR_CHANNEL_IO_T2H];

    memcpy(drvrig_base_at(&rig, cell, bytes), message, bytes);
    assert_true(drvrig_send_slot(&rig, PR_CHANNEL_IO_T2H, cell, bytes, 0));
    drvrig_work(&rig);
}
#define SEND(message) send(&(message), sizeof(message))

static struct pr_trace_record traced(enum pr_trace_event_id event, unsigned nth)
{
    struct pr_trace_record record;

    if (!drvrig_traced(&rig, event, nth, &record))
        fail_msg("event %s was traced %u times or less", pr_trace_event(event)->id, nth);
    return record;
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

static uint64_t notified(enum pr_notification kind)
{
    return drv_stats_get(rig.driver).notified[kind];
}

static void channel_errors(void **state)
{
    const struct pr_notify_error error = {.head.id = PR_CMD_CH_ERROR_NOTIFICATION,
                                          .error = PR_CHANNEL_ERROR_UNREADABLE,
                                          .channel = PR_CHANNEL_DEBUG,
                                          .address = 0x1234,
                                          .length = 24},
                                 other = {.head.id = PR_CMD_CH_ERROR_NOTIFICATION, .error = 99};

    (void)state;
    SEND(error);
    assert_int_equal(NUMBER(DRV_CHANNEL_ERROR, 0, channel), PR_CHANNEL_DEBUG);
    assert_true(HAS_TEXT(DRV_CHANNEL_ERROR, 0, text, "a message could not be read"));
    assert_int_equal(NUMBER(DRV_CHANNEL_ERROR, 0, address), 0x1234);
    assert_int_equal(NUMBER(DRV_CHANNEL_ERROR, 0, length), 24);
    SEND(other); /* the index is opaque for who does not know it */
    assert_true(HAS_TEXT(DRV_CHANNEL_ERROR, 1, text, "an error without a name"));
    assert_int_equal(notified(PR_NOTIFICATION_CH_ERROR_NOTIFICATION), 2);
}

static void signposts_single_and_grouped(void **state)
{
    const struct pr_notify_signpost one = {.head.id = PR_CMD_CH_SIGNPOST_NOTIFICATION,
                                           .code = PR_SIGNPOST_PUSHED,
                                           .argument = {4, 9},
                                           .time = 77};
    const struct pr_notify_signposts many = {
        .head.id = PR_CMD_CH_SIGNPOST_NOTIFICATION_GROUP,
        .count = UINT32_MAX, /* three are there */
        .time = 78,
        .post = {{PR_SIGNPOST_ACCEPTED, {1, 2}}, {0, {3, 4}}, {UINT32_MAX, {5, 6}}}};
    const struct pr_notify_signpost64 wide = {.head.id = PR_CMD_CH_SIGNPOST64_NOTIFICATION,
                                              .code = PR_SIGNPOST_SPAN,
                                              .argument = {1ull << 40, 1ull << 41},
                                              .time = 79};
    const struct pr_notify_signposts64 wides = {.head.id = PR_CMD_CH_SIGNPOST64_NOTIFICATION_GROUP,
                                                .count = 2,
                                                .time = 80,
                                                .code = {PR_SIGNPOST_SPAN, PR_SIGNPOST_SPAN},
                                                .argument = {{1, 2}, {3, 1ull << 42}}};

    (void)state;
    SEND(one);
    assert_true(HAS_TEXT(DRV_SIGNPOST, 0, name, "pushed"));
    assert_int_equal(NUMBER(DRV_SIGNPOST, 0, time), 77);
    assert_int_equal(NUMBER(DRV_SIGNPOST, 0, first), 4);
    assert_int_equal(NUMBER(DRV_SIGNPOST, 0, second), 9);
    SEND(many);
    assert_true(HAS_TEXT(DRV_SIGNPOST, 1, name, "accepted"));
    assert_true(HAS_TEXT(DRV_SIGNPOST, 2, name, "unknown"));
    assert_true(HAS_TEXT(DRV_SIGNPOST, 3, name, "unknown"));
    assert_int_equal(NUMBER(DRV_SIGNPOST, 3, second), 6);
    SEND(wide);
    assert_true(NUMBER(DRV_SIGNPOST, 4, second) == 1ull << 41);
    SEND(wides);
    assert_int_equal(NUMBER(DRV_SIGNPOST, 5, first), 1);
    assert_true(NUMBER(DRV_SIGNPOST, 6, second) == 1ull << 42);
    assert_false(drvrig_traced(&rig, PR_TRACE_DRV_SIGNPOST, 7, &(struct pr_trace_record){0}));
    assert_int_equal(notified(PR_NOTIFICATION_CH_SIGNPOST64_NOTIFICATION_GROUP), 1);
}

static void the_load(void **state)
{
    const struct pr_notify_load load = {.head.id = PR_CMD_CPU_LOAD_NOTIFICATION,
                                        .score = 0xcccc,
                                        .above = 1,
                                        .span_ns = 1000000,
                                        .busy_ns = 800000};

    (void)state;
    SEND(load);
    assert_true(HAS_TEXT(DRV_LOAD, 0, side, "above its high watermark"));
    assert_int_equal(NUMBER(DRV_LOAD, 0, busy), 800000);
    assert_int_equal(drv_stats_get(rig.driver).load_score, 0xcccc);
    assert_int_equal(notified(PR_NOTIFICATION_CPU_LOAD_NOTIFICATION), 1);
}

static void errors_diagnostics_and_prefetches(void **state)
{
    const struct pr_notify_sync sync = {.head.id = PR_CMD_TM_SYNC_ERR_NOTIFICATION,
                                        .queue = 4,
                                        .network = 8,
                                        .error = {0x00050402, 0x1000, 0x2000},
                                        .program_id = 3};
    const struct pr_notify_debug rule = {.head.id = PR_CMD_DBG_EVENT, .rule = PR_RULE_RPC_MAGIC, .count = 7},
                                 none = {.head.id = PR_CMD_DBG_EVENT, .rule = PR_RULES};
    const struct pr_notify_prefetch prefetch = {.head.id = PR_CMD_PREFETCH_DSID_EVENT,
                                                .dsid = 7,
                                                .event = PR_PREFETCH_DONE,
                                                .program_id = 2,
                                                .bytes = 0x5000};

    (void)state;
    SEND(sync);
    assert_true(HAS_TEXT(DRV_SYNC_ERROR, 0, transfer, "destination"));
    assert_int_equal(NUMBER(DRV_SYNC_ERROR, 0, network), 8);
    assert_int_equal(NUMBER(DRV_SYNC_ERROR, 0, error3), 0x2000);
    SEND(rule);
    assert_true(HAS_TEXT(DRV_DIAGNOSTIC, 0, text, "magic == 0x55aa55aa"));
    SEND(none);
    assert_true(HAS_TEXT(DRV_DIAGNOSTIC, 1, text, "a rule without a name"));
    SEND(prefetch);
    assert_true(HAS_TEXT(DRV_PREFETCH, 0, event, "are in the memory cache"));
    assert_int_equal(NUMBER(DRV_PREFETCH, 0, bytes), 0x5000);
    assert_int_equal(notified(PR_NOTIFICATION_TM_SYNC_ERR_NOTIFICATION), 1);
    assert_int_equal(notified(PR_NOTIFICATION_DBG_EVENT), 2);
    assert_int_equal(notified(PR_NOTIFICATION_PREFETCH_DSID_EVENT), 1);
}

static struct pr_notify_rpc call_of(uint32_t kind, uint32_t slot)
{
    return (struct pr_notify_rpc){
        .head.id = PR_CMD_BACK_CHANNEL_RPC, .slot = slot, .kind = kind, .magic = PR_RPC_MAGIC};
}

/* The last message on DATA_CHAIN_H2T that is not a call. */
static struct pr_exe_rpc last_answer(void)
{
    struct pr_exe_rpc answer;

    memcpy(&answer, rig.chained.bytes, sizeof(answer));
    assert_int_equal(rig.chained_bytes, 0x28);
    assert_int_equal(answer.head.id, 0xff00);
    assert_int_equal(answer.magic, 0x55aa55aa);
    return answer;
}

static void calls_are_answered(void **state)
{
    struct pr_notify_rpc call = call_of(PR_RPC_TIME, 0x123);

    (void)state;
    rig.now = 5000;
    SEND(call);
    assert_int_equal(last_answer().slot, 0x123);
    assert_int_equal(last_answer().status, PR_STATUS_OK);
    assert_true(last_answer().value >= 5000 && last_answer().value <= rig.now);
    call = call_of(PR_RPC_DEBUG, 0x124); /* there is no processor */
    SEND(call);
    assert_int_equal(last_answer().slot, 0x124);
    assert_int_equal(last_answer().status, PR_STATUS_NOT_READY);
    call = call_of(77, 0x125);
    SEND(call);
    assert_int_equal(last_answer().status, PR_STATUS_UNKNOWN_COMMAND);
    call = call_of(PR_RPC_TIME, 0x126);
    call.magic++;
    SEND(call);
    assert_int_equal(last_answer().slot, 0x126);
    assert_int_equal(last_answer().status, PR_STATUS_BAD_ARGUMENT);
    call = call_of(PR_RPC_DEBUG, 0x127); /* a text outside the firmware's memory */
    call.length = 8;
    call.address = 0x70000000;
    SEND(call);
    assert_int_equal(last_answer().status, PR_STATUS_BAD_ARGUMENT);
    call = call_of(PR_RPC_DEBUG, 0x128);
    call.length = PR_RPC_TEXT_BYTES + 1;
    call.address = rig.args.heap;
    SEND(call);
    assert_int_equal(last_answer().status, PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(drv_stats_get(rig.driver).rpc_answered, 6);
    drvrig_copy(&rig, client, token, surface, 0x1111);
}

/* 16 slots of DATA_CHAIN_H2T, and eight answers that wait for one; what comes beyond them is dropped. */
static void answers_wait_for_a_slot(void **state)
{
    struct pr_notify_rpc call;

    (void)state;
    rig.deaf = true;
    for (uint32_t i = 0; i < 16 + 8 + 3; i++) {
        call = call_of(PR_RPC_TIME, i);
        SEND(call);
    }
    assert_int_equal(drv_stats_get(rig.driver).rpc_answered, 16);
    rig.deaf = false;
    rig.doorbell |= 1u << pr_channel_table[PR_CHANNEL_DATA_CHAIN_H2T].bit;
    drvrig_work(&rig);
    assert_int_equal(drv_stats_get(rig.driver).rpc_answered, 24);
    assert_int_equal(last_answer().slot, 23);
    drvrig_copy(&rig, client, token, surface, 0x2222);
}

/* Every id with random bytes behind it; a reset is another test's (test_driver_recovery.c). */
static void any_bytes_are_survived(void **state)
{
    struct test_rng rng;
    static const uint32_t ids[] = {
#define X(command, name) PR_CMD_##command,
        PR_NOTIFICATIONS(X)
#undef X
            PR_CMD_PROGRAM_EVENT,
        0xdead,
    };

    (void)state;
    test_rng_init(&rng, 1);
    for (unsigned i = 0; i < 3000; i++) {
        union {
            uint8_t bytes[PR_NOTIFICATION_BYTES_MAX];
            struct pr_notification_head head;
            struct pr_notify_rpc rpc;
        } message;

        test_rng_bytes(&rng, &message, sizeof(message));
        message.head.id = ids[i % (sizeof(ids) / sizeof(ids[0]))];
        if (message.head.id == PR_CMD_CH_RESET_NOTIFICATION)
            continue;
        if (message.head.id == PR_CMD_BACK_CHANNEL_RPC && i % 2) {
            message.rpc.magic = PR_RPC_MAGIC;
            message.rpc.kind %= 3;
            message.rpc.length %= 300;
            message.rpc.address = rig.args.heap + i;
        }
        send(&message, (size_t)test_rng_range(&rng, 0x28, 0x40));
    }
    assert_true(notified(PR_NOTIFICATION_USER_EVENT) > 100);
    drvrig_copy(&rig, client, token, surface, 0x3333);
}

/* The viewer: a signpost is a moment of a track of its own, at the firmware's time. */
static void signposts_in_the_viewer(void **state)
{
    struct pr_trace_record record = {.ns = 5000, .event = PR_TRACE_DRV_SIGNPOST};
    struct trace_viewer viewer;
    char text[0x2000] = {0};
    FILE *file = tmpfile();

    (void)state;
    record.value[PR_TRACE_AT_DRV_SIGNPOST_name].text = "pushed";
    record.value[PR_TRACE_AT_DRV_SIGNPOST_name].length = 6;
    record.value[PR_TRACE_AT_DRV_SIGNPOST_time].number = 4321;
    assert_non_null(file);
    trace_viewer_begin(&viewer, file);
    trace_viewer_record(&viewer, &record);
    record.value[PR_TRACE_AT_DRV_SIGNPOST_time].number = 5001; /* not past */
    trace_viewer_record(&viewer, &record);
    trace_viewer_end(&viewer);
    rewind(file);
    assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
    fclose(file);
    assert_non_null(
        strstr(text, "\"tid\": 90, \"name\": \"thread_name\", \"args\": {\"name\": \"signposts\"}"));
    assert_non_null(
        strstr(text, "\"tid\": 90, \"ts\": 4.321, \"s\": \"t\", \"cat\": \"plain\", \"name\": \"pushed\""));
    assert_non_null(strstr(text, "\"tid\": 90, \"ts\": 5.000,"));
}

/* Through all layers. */

static IOReturn inject(const struct iorig_client *raw, uint32_t id, uint32_t value)
{
    struct ane_command command = {.id = id, .bytes = 4};
    size_t size = sizeof(command);

    memcpy(command.body, &value, sizeof(value));
    return ane_catalogue_call(raw->connect, ANE_CATALOGUE_SendCommand, NULL, 0, &command, sizeof(command),
                              NULL, NULL, &command, &size);
}

static void a_machine_sends_them(void **state)
{
    struct ane_machine *machine = iorig_machine((struct ane_machine_config){.clock = ANE_CLOCK_CLOSED});
    struct iorig_accumulator a;
    struct iorig_client raw;

    (void)state;
    assert_int_equal(iorig_open(ane_machine_service(machine), 0, ANE_CLIENT_DIRECT_PATH, &raw),
                     kIOReturnSuccess);
    iorig_accumulator_make(&a, ane_machine_service(machine), 2, 16);
    assert_int_equal(iorig_accumulator_step(&a), kIOReturnSuccess);
    assert_int_equal(ane_machine_counter(machine, "driver.notify_signpost"), 0);
    assert_int_equal(inject(&raw, PR_CMD_TRACE_ENABLE, 4), kIOReturnSuccess);
    assert_int_equal(iorig_accumulator_step(&a), kIOReturnSuccess);
    assert_int_equal(inject(&raw, PR_CMD_PING, 0), kIOReturnSuccess); /* what follows the event has arrived */
    /* accepted and pushed may be of one time; retired and the spans come with the event */
    assert_true(ane_machine_counter(machine, "driver.notify_signpost") +
                    2 * ane_machine_counter(machine, "driver.notify_signpost_group") >=
                4);
    assert_int_equal(ane_machine_counter(machine, "driver.notify_signpost64"), 1);
    assert_int_equal(inject(&raw, PR_CMD_FW_RUN_MODE, 1), kIOReturnSuccess);
    assert_int_equal(inject(&raw, PR_CMD_FW_RUN_MODE, 2), kIOReturnBadArgument);
    assert_int_equal(inject(&raw, PR_CMD_PING, 0), kIOReturnSuccess);
    assert_int_equal(ane_machine_counter(machine, "driver.notify_debug"), 1);
    iorig_accumulator_release(&a);
    ane_machine_destroy(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, boot, drop)
        T(channel_errors),
        T(signposts_single_and_grouped),
        T(the_load),
        T(errors_diagnostics_and_prefetches),
        T(calls_are_answered),
        T(answers_wait_for_a_slot),
        T(any_bytes_are_survived),
#undef T
        cmocka_unit_test(signposts_in_the_viewer),
        cmocka_unit_test(a_machine_sends_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
