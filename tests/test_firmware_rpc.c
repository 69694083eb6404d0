/* SPDX-License-Identifier: Apache-2.0 */
/* The back channel: calls of the firmware's to the host, their answers, and payloads of the host's. */
#include "support.h"

#include <string.h>

#include "fwrig.h"
#include "protocol/call.h"
#include "protocol/control_bodies.h"
#include "protocol/notification.h"

#define PLACES 8u

static int setup(void **state)
{
    struct fwrig *rig = fwrig_create();

    *state = rig;
    fwrig_boot_started(rig);
    return 0;
}

static int teardown(void **state)
{
    fwrig_destroy(*state);
    return 0;
}

static uint32_t word(struct fwrig *rig, uint32_t id, uint32_t value)
{
    return fwrig_control(rig, id, &value, sizeof(value));
}

/* A warning: with RPC_ENABLE bit 4, a debug call. */
static void warn(struct fwrig *rig, uint32_t mode)
{
    assert_int_equal(word(rig, PR_CMD_FW_RUN_MODE, mode), PR_STATUS_BAD_ARGUMENT);
}

/* The next message, which must be a call of that kind. */
static struct pr_notify_rpc take_call(struct fwrig *rig, uint32_t kind)
{
    union {
        uint8_t bytes[FWRIG_MESSAGE_BYTES];
        struct pr_notify_rpc rpc;
    } m;

    assert_true(fwrig_message(rig, &m));
    assert_int_equal(m.rpc.head.id, PR_CMD_BACK_CHANNEL_RPC);
    assert_int_equal(m.rpc.kind, kind);
    assert_int_equal(m.rpc.magic, 0x55aa55aa);
    return m.rpc;
}

static uint32_t answer(struct fwrig *rig, uint32_t slot, uint32_t status, uint64_t value)
{
    struct pr_exe_rpc message = {
        .head.id = 0xff00, .magic = 0x55aa55aa, .slot = slot, .status = status, .value = value};

    assert_true(fwrig_send(rig, PR_CHANNEL_DATA_CHAIN_H2T, &message, sizeof(message), 0));
    return message.head.status;
}

static void expect_log(struct fwrig *rig, const char *text)
{
    if (!strstr(fwrig_log(rig), text))
        fail_msg("the log does not say \"%s\":\n%s", text, fwrig_log(rig));
}

static void warnings_are_debug_calls(void **state)
{
    static const char text[] = "run mode 9 is refused: it must be below 2";
    struct fwrig *rig = *state;
    struct pr_notify_rpc call;

    warn(rig, 9); /* before RPC_ENABLE asks for it */
    assert_int_equal(fwrig_counter(rig, "rpc-calls"), 0);
    assert_int_equal(word(rig, PR_CMD_RPC_ENABLE, 2), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(word(rig, PR_CMD_RPC_ENABLE, PR_RPC_LINES | PR_RPC_CALLS), PR_STATUS_OK);
    warn(rig, 9);
    call = take_call(rig, PR_RPC_DEBUG);
    assert_int_equal(call.length, sizeof(text) - 1);
    assert_memory_equal(fwrig_memory(rig, call.address, call.length), text, call.length);
    assert_int_equal(answer(rig, call.slot, PR_STATUS_OK, 0), PR_STATUS_OK);
    assert_int_equal(fwrig_counter(rig, "rpc-answered"), 1);
    /* a second answer names a call that is over */
    assert_int_equal(word(rig, PR_CMD_RPC_ENABLE, PR_RPC_LINES), PR_STATUS_OK);
    assert_int_equal(answer(rig, call.slot, PR_STATUS_OK, 0), PR_STATUS_WRONG_STATE);
    expect_log(rig, "RPCEventMap has such a call outstanding does not hold");
    assert_int_equal(fwrig_counter(rig, "rpc-calls"), 1);
}

static void a_place_that_was_not_answered_is_dirty(void **state)
{
    struct pr_notify_rpc call[PLACES + 1];
    struct fwrig *rig = *state;
    union {
        uint8_t bytes[FWRIG_MESSAGE_BYTES];
        struct pr_notify_error error;
    } m;

    assert_int_equal(word(rig, PR_CMD_RPC_ENABLE, PR_RPC_CALLS), PR_STATUS_OK);
    for (unsigned i = 0; i < PLACES; i++) {
        warn(rig, 2 + i);
        call[i] = take_call(rig, PR_RPC_DEBUG);
        assert_int_equal(call[i].slot % PLACES, i);
        if (i == 1) /* only this one is answered */
            assert_int_equal(answer(rig, call[i].slot, PR_STATUS_OK, 0), PR_STATUS_OK);
    }
    assert_int_equal(fwrig_counter(rig, "rpc-dirty"), 0);
    warn(rig, 99);
    expect_log(rig, "RPCEventMap[0] is dirty. (No ack from driver)");
    assert_true(fwrig_message(rig, &m));
    assert_int_equal(m.error.head.id, PR_CMD_CH_ERROR_NOTIFICATION);
    assert_int_equal(m.error.error, PR_CHANNEL_ERROR_RPC);
    assert_int_equal(m.error.address, 0);
    call[PLACES] = take_call(rig, PR_RPC_DEBUG);
    assert_int_equal(call[PLACES].slot % PLACES, 0);
    /* the answer to the call before comes too late for it; then a right one */
    assert_int_equal(word(rig, PR_CMD_RPC_ENABLE, 0), PR_STATUS_OK);
    assert_int_equal(answer(rig, call[0].slot, PR_STATUS_OK, 0), PR_STATUS_WRONG_STATE);
    assert_int_equal(answer(rig, call[PLACES].slot, PR_STATUS_OK, 0), PR_STATUS_OK);
    assert_int_equal(word(rig, PR_CMD_RPC_ENABLE, PR_RPC_CALLS), PR_STATUS_OK);
    warn(rig, 100); /* place 1 was answered: not dirty */
    assert_int_equal(take_call(rig, PR_RPC_DEBUG).slot % PLACES, 1);
    assert_int_equal(fwrig_counter(rig, "rpc-dirty"), 1);
}

/* GetDirectProcCallEventPoolAvailNum() >= 2: at 2 events a call is made, at 1 it is not. */
static void the_last_events_are_kept_for_completions(void **state)
{
    struct fwrig *rig = *state;

    for (unsigned i = 0; i < 62; i++) {
        fwrig_post(rig, PR_CHANNEL_IO, 0x90000000u, 24, 0); /* an error notification each */
        fwrig_run(rig);
    }
    assert_int_equal(word(rig, PR_CMD_RPC_ENABLE, PR_RPC_CALLS), PR_STATUS_OK);
    warn(rig, 7);
    assert_int_equal(fwrig_counter(rig, "rpc-calls"), 1);
    warn(rig, 8);
    assert_int_equal(fwrig_counter(rig, "rpc-calls"), 1);
    assert_int_equal(fwrig_counter(rig, "rpc-unsent"), 1);
}

/* After 4096 calls the clocks are compared: the offset is that of the middle of call and answer. */
static void time_answers_set_the_offset(void **state)
{
    struct fwrig *rig = *state;
    struct pr_notify_rpc call = {0};
    struct pr_program_event event;
    union fwrig_call c;
    union {
        uint8_t bytes[FWRIG_MESSAGE_BYTES];
        struct pr_notification_head head;
        struct pr_notify_rpc rpc;
    } m;

    fwrig_load(rig);
    for (unsigned i = 0; i < 4096; i++) {
        fwrig_call_make(&c, i);
        assert_int_equal(fwrig_call(rig, &c), 0);
        fwrig_retire(rig, 4, 0, true);
        fwrig_run(rig);
        if (i < 4095)
            assert_true(fwrig_event(rig, &event, true));
    }
    while (fwrig_message(rig, &m))
        if (m.head.id == PR_CMD_BACK_CHANNEL_RPC)
            call = m.rpc;
    assert_int_equal(call.kind, PR_RPC_TIME);
    assert_int_equal(call.value, fwrig_now(rig));
    assert_int_equal(call.length, 0);
    fwrig_pass(rig, 600); /* to the host and back */
    assert_int_equal(answer(rig, call.slot, PR_STATUS_OK, 5000000000ull), PR_STATUS_OK);
    assert_int_equal(fwrig_counter(rig, "rpc-synchronised"), 1);
    /* the host's clock was read 300 ns ago: a notification now has that time */
    fwrig_post(rig, PR_CHANNEL_IO, 0x90000000u, 24, 0);
    fwrig_run(rig);
    assert_true(fwrig_message(rig, &m));
    assert_int_equal(m.head.id, PR_CMD_CH_ERROR_NOTIFICATION);
    assert_int_equal(((struct pr_notify_error *)(void *)&m)->time, 5000000300ull);
}

/* Bounds: length, then magic, before anything else; each at its limit. */
static void bounds_of_a_payload(void **state)
{
    static const struct {
        uint32_t length, magic, slot;
        uint64_t address;
        enum pr_status status;
        const char *log;
    } rows[] = {
        {0, 0x55aa55aa, PR_NO_ID, 0, PR_STATUS_OK, "back channel: 0x0 bytes with checksum 0x811c9dc5"},
        {0x800000, 0x55aa55aa, PR_NO_ID, FWRIG_BASE, PR_STATUS_OK, "back channel: 0x800000 bytes"},
        {0x800001, 0x12345678, PR_NO_ID, FWRIG_BASE, PR_STATUS_BAD_ARGUMENT,
         "length <= 0x800000 does not hold: 0x800001"},
        {0x800000, 0x55aa55ab, PR_NO_ID, FWRIG_BASE, PR_STATUS_BAD_ARGUMENT,
         "magic == 0x55aa55aa does not hold: 0x55aa55ab"},
        {0x800000, 0x55aa55aa, PR_NO_ID, FWRIG_BASE + 1, PR_STATUS_BAD_ARGUMENT,
         "back channel: 0x800000 bytes at 0x400001 are not mapped"},
        {1, 0x55aa55aa, PR_NO_ID, UINT64_MAX, PR_STATUS_BAD_ARGUMENT, "are not mapped"},
        {0, 0x55aa55aa, 0, 0, PR_STATUS_WRONG_STATE, "such a call outstanding does not hold: 0x0"},
        {0, 0x55aa55aa, 0xfffffff0, 0, PR_STATUS_WRONG_STATE, "outstanding does not hold: 0xfffffff0"},
    };
    struct fwrig *rig = *state;

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pr_exe_rpc message = {.head.id = 0xff00,
                                     .magic = rows[i].magic,
                                     .length = rows[i].length,
                                     .slot = rows[i].slot,
                                     .address = rows[i].address};

        assert_true(fwrig_send(rig, PR_CHANNEL_DATA_CHAIN_H2T, &message, sizeof(message), 0));
        if (message.head.status != rows[i].status)
            fail_msg("row %u: status %u", i, message.head.status);
        expect_log(rig, rows[i].log);
    }
}

static void sizes_of_a_message(void **state)
{
    struct fwrig *rig = *state;

    for (size_t bytes = 8; bytes <= 0x30; bytes += 8) {
        uint8_t message[0x30] = {0};
        const struct pr_exe_rpc rpc = {.head.id = 0xff00, .magic = 0x55aa55aa, .slot = PR_NO_ID};

        memcpy(message, &rpc, sizeof(rpc));
        assert_true(fwrig_send(rig, PR_CHANNEL_DATA_CHAIN_H2T, message, bytes, 0));
        assert_int_equal(pr_le16(message + 6), bytes == 0x28 ? PR_STATUS_OK : PR_STATUS_BAD_SIZE);
    }
}

/* The same on the control channel, where the reply has the checksum: FNV-1a of "foobar", from its authors. */
static void the_control_form_returns_the_checksum(void **state)
{
    struct pr_body_rpc rpc = {.magic = 0x55aa55aa, .length = 6, .slot = PR_NO_ID, .address = FWRIG_IN};
    struct fwrig *rig = *state;

    memcpy(fwrig_memory(rig, FWRIG_IN, 6), "foobar", 6);
    assert_int_equal(fwrig_control(rig, PR_CMD_BACK_CHANNEL_RPC, &rpc, sizeof(rpc)), PR_STATUS_OK);
    memcpy(&rpc, fwrig_reply(rig)->body, sizeof(rpc));
    assert_int_equal(rpc.value, 0xbf9cf968);
    assert_int_equal(fwrig_counter(rig, "rpc-checksum"), 0xbf9cf968);
    assert_int_equal(fwrig_counter(rig, "rpc-payloads"), 1);
    assert_int_equal(fwrig_control(rig, PR_CMD_BACK_CHANNEL_RPC, &rpc, sizeof(rpc) - 1), PR_STATUS_BAD_SIZE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(warnings_are_debug_calls),
        T(a_place_that_was_not_answered_is_dirty),
        T(the_last_events_are_kept_for_completions),
        T(time_answers_set_the_offset),
        T(bounds_of_a_payload),
        T(sizes_of_a_message),
        T(the_control_form_returns_the_checksum),
#undef T
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
