/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Life and power: quiesce, suspend, stop, the power-gate path, the memory cache, the islands, the channels.
 */
#include "support.h"

#include <string.h>

#include "fwrig.h"
#include "protocol/execution.h"

static int setup(void **state)
{
    struct fwrig *rig = fwrig_create();

    *state = rig;
    fwrig_boot_started(rig);
    fwrig_rang(rig);
    return 0;
}

static int teardown(void **state)
{
    fwrig_destroy(*state);
    return 0;
}

static uint32_t call_with(struct fwrig *rig, uint64_t cookie)
{
    union fwrig_call call;

    fwrig_call_make(&call, cookie);
    return fwrig_call(rig, &call);
}

static void finish(struct fwrig *rig, uint64_t cookie)
{
    struct pr_program_event event;

    fwrig_retire(rig, 4, 0, true);
    fwrig_run(rig);
    assert_true(fwrig_event(rig, &event, true));
    assert_int_equal(event.cookie, cookie);
}

static uint32_t ask(struct fwrig *rig, uint32_t id)
{
    return fwrig_control(rig, id, NULL, 0);
}

static uint32_t ask_word(struct fwrig *rig, uint32_t id, uint32_t value)
{
    const struct pr_body_u32 body = {value};

    return fwrig_control(rig, id, &body, sizeof(body));
}

static uint32_t quiesce(struct fwrig *rig, struct pr_body_quiesce *reply)
{
    const struct pr_body_quiesce none = {0};
    const uint32_t status = fwrig_control(rig, PR_CMD_QUIESCE_STATE, &none, sizeof(none));

    if (status != FWRIG_LOST)
        memcpy(reply, fwrig_reply(rig)->body, sizeof(*reply));
    return status;
}

static void set_pmu(struct fwrig *rig)
{
    const struct pr_body_pmu pmu = {FWRIG_PMU};

    assert_int_equal(fwrig_control(rig, PR_CMD_SET_SNE_PMU_BASE2, &pmu, sizeof(pmu)), PR_STATUS_OK);
}

/* Answered when the two calls in flight have ended, and no later one was accepted. */
static void quiesce_waits_for_what_is_in_flight(void **state)
{
    struct fwrig *rig = *state;
    struct pr_body_quiesce reply;
    const uint32_t slot = fwrig_cursor(rig, PR_CHANNEL_IO) + 2; /* behind the two commands of fwrig_load */

    fwrig_load(rig);
    assert_int_equal(call_with(rig, 1), PR_STATUS_OK);
    assert_int_equal(call_with(rig, 2), PR_STATUS_OK);
    assert_int_equal(quiesce(rig, &reply), FWRIG_LOST);
    assert_int_equal(call_with(rig, 3), PR_STATUS_NOT_READY);
    assert_non_null(strstr(fwrig_log(rig), "refused: the firmware is quiesced"));
    finish(rig, 1);
    assert_false(fwrig_slot_returned(rig, PR_CHANNEL_IO, slot));
    finish(rig, 2);
    assert_true(fwrig_slot_returned(rig, PR_CHANNEL_IO, slot));
    assert_int_equal(quiesce(rig, &reply), PR_STATUS_OK); /* again is well */
    assert_true(reply.calls == 0 && reply.programs == 1 && reply.processes == 1);
    assert_int_equal(reply.state, PR_EXECUTION_RUN);
    assert_int_equal(call_with(rig, 3), PR_STATUS_NOT_READY);
    /* START ends it. */
    assert_int_equal(ask_word(rig, PR_CMD_START, 1), PR_STATUS_OK);
    assert_int_equal(call_with(rig, 4), PR_STATUS_OK);
    finish(rig, 4);
}

static void quiesce_counts_what_it_waited_for(void **state)
{
    struct fwrig *rig = *state;
    struct pr_body_quiesce reply;

    fwrig_load(rig);
    assert_int_equal(call_with(rig, 1), PR_STATUS_OK);
    assert_int_equal(quiesce(rig, &reply), FWRIG_LOST);
    finish(rig, 1);
    /* The answer went over the message, which the call's message had replaced: read it there. */
    memcpy(&reply, fwrig_reply(rig)->body, sizeof(reply));
    assert_int_equal(PR_REPLY_STATUS(&fwrig_reply(rig)->header), PR_STATUS_OK);
    assert_true(reply.calls == 1 && reply.programs == 1);
}

static void suspend_needs_an_empty_quiet_firmware(void **state)
{
    struct fwrig *rig = *state;
    struct fwrig_command command = {.header = {.id = PR_CMD_TERMINATE_PROCESS}};
    struct pr_body_quiesce reply;

    fwrig_load(rig);
    assert_int_equal(ask(rig, PR_CMD_SUSPEND), PR_STATUS_WRONG_STATE);
    assert_non_null(strstr(fwrig_log(rig), "suspend is refused: the firmware is running"));
    assert_int_equal(quiesce(rig, &reply), PR_STATUS_OK);
    assert_int_equal(ask(rig, PR_CMD_SUSPEND), PR_STATUS_BUSY);
    assert_non_null(strstr(fwrig_log(rig), "suspend is refused: 1 programs are loaded"));
    assert_true(fwrig_send(rig, PR_CHANNEL_IO, &command, sizeof(command.header), 0));
    command.header = (struct pr_command_header){.id = PR_CMD_UNLOAD_PROGRAM};
    assert_true(fwrig_send(rig, PR_CHANNEL_IO, &command, sizeof(command.header), 0));
    assert_int_equal(ask(rig, PR_CMD_SUSPEND), PR_STATUS_OK);
    /* Nothing but the power-down follows. */
    assert_int_equal(ask_word(rig, PR_CMD_START, 1), PR_STATUS_WRONG_STATE);
    assert_int_equal(ask_word(rig, PR_CMD_STOP, 1), PR_STATUS_WRONG_STATE);
    assert_int_equal(quiesce(rig, &reply), PR_STATUS_WRONG_STATE);
    assert_int_equal(ask(rig, PR_CMD_SUSPEND), PR_STATUS_WRONG_STATE);
    assert_int_equal(fwrig_control(rig, PR_CMD_POWER_DOWN, NULL, 0), FWRIG_LOST);
    assert_int_equal(PR_REPLY_STATUS(&fwrig_reply(rig)->header), PR_STATUS_OK);
    assert_int_equal(fwrig_run(rig), FWRIG_HALTED);
}

/* Bits 2 and 4 of the fabric register are looked at, and 0, 2 and 4 are cleared (Table 29.5). */
static void power_down_gates_the_processor(void **state)
{
    struct fwrig *rig = *state;
    const uint32_t slot = fwrig_cursor(rig, PR_CHANNEL_IO);
    const uint64_t good = fwrig_fabric_get(rig);

    fwrig_fabric_set(rig, good & ~(1ull << 2));
    assert_int_equal(ask(rig, PR_CMD_POWER_DOWN), PR_STATUS_WRONG_STATE);
    assert_non_null(strstr(fwrig_log(rig), "must have bit 2 set and bit 4 clear"));
    fwrig_fabric_set(rig, good | 1ull << 4);
    assert_int_equal(ask(rig, PR_CMD_POWER_DOWN), PR_STATUS_WRONG_STATE);
    fwrig_fabric_set(rig, good);
    fwrig_rang(rig);
    (void)ask(rig, PR_CMD_POWER_DOWN);
    assert_int_equal(fwrig_run(rig), FWRIG_HALTED);
    /* The answer was the last word: slot, status and ring came before. */
    assert_true(fwrig_slot_returned(rig, PR_CHANNEL_IO, slot + 2));
    assert_int_equal(PR_REPLY_STATUS(&fwrig_reply(rig)->header), PR_STATUS_OK);
    assert_int_equal(fwrig_rang(rig), 1u << 1);
    assert_int_equal(fwrig_fabric_get(rig) & (1 | 1 << 2 | 1 << 4), 0);
    fwrig_boot_started(rig);
    fwrig_load(rig);
    assert_int_equal(call_with(rig, 1), PR_STATUS_OK);
    assert_int_equal(ask(rig, PR_CMD_POWER_DOWN), PR_STATUS_BUSY);
    finish(rig, 1);
}

static void stop_goes_back_to_the_start(void **state)
{
    struct fwrig *rig = *state;
    uint32_t word;

    fwrig_load(rig);
    assert_int_equal(call_with(rig, 1), PR_STATUS_OK);
    assert_int_equal(ask_word(rig, PR_CMD_STOP, 1), PR_STATUS_BUSY);
    assert_non_null(strstr(fwrig_log(rig), "stop is refused: 1 calls are in flight"));
    finish(rig, 1);
    assert_int_equal(ask_word(rig, PR_CMD_STOP, 1), PR_STATUS_OK);
    memcpy(&word, fwrig_reply(rig)->body, sizeof(word));
    assert_int_equal(word, PR_EXECUTION_INIT);
    assert_int_equal(ask_word(rig, PR_CMD_STOP, 1), PR_STATUS_WRONG_STATE);
    assert_int_equal(call_with(rig, 2), PR_STATUS_NOT_READY);
    assert_non_null(strstr(fwrig_log(rig), "refused: the execution loop is not started"));
    assert_int_equal(ask_word(rig, PR_CMD_START, 1), PR_STATUS_OK);
    memcpy(&word, fwrig_reply(rig)->body, sizeof(word));
    assert_int_equal(word, PR_EXECUTION_RUN);
    assert_int_equal(call_with(rig, 3), PR_STATUS_OK);
}

static void the_memory_cache_is_a_device(void **state)
{
    struct fwrig *rig = *state;

    fwrig_load(rig);
    assert_int_equal(ask_word(rig, PR_CMD_POWER_DEVICE_OFF, PR_POWER_MCACHE), PR_STATUS_OK);
    assert_int_equal(call_with(rig, 1), PR_STATUS_NOT_READY);
    assert_non_null(strstr(fwrig_log(rig), "refused: the memory cache is off"));
    assert_int_equal(ask_word(rig, PR_CMD_POWER_DEVICE_ON, PR_POWER_MCACHE), PR_STATUS_OK);
    assert_int_equal(call_with(rig, 1), PR_STATUS_OK);
    assert_int_equal(ask_word(rig, PR_CMD_POWER_DEVICE_OFF, PR_POWER_MCACHE), PR_STATUS_BUSY);
    finish(rig, 1);
    assert_int_equal(ask_word(rig, PR_CMD_POWER_DEVICE_OFF, PR_POWER_DEVICES), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(ask_word(rig, PR_CMD_POWER_DEVICE_ON, 0xffffffffu), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(fwrig_control(rig, PR_CMD_POWER_DEVICE_ON, NULL, 0), PR_STATUS_BAD_SIZE);
}

static void expect_islands(struct fwrig *rig, bool on)
{
    assert_int_equal(fwrig_power(rig, 0) & 0xff, 0xff); /* the controller's own */
    for (unsigned i = 1; i < 7; i++)
        assert_int_equal(fwrig_power(rig, i) & 0xff, on ? 0xff : 0);
}

static void the_islands_are_a_device(void **state)
{
    struct fwrig *rig = *state;

    fwrig_load(rig);
    assert_int_equal(ask_word(rig, PR_CMD_POWER_DEVICE_OFF, PR_POWER_ISLANDS), PR_STATUS_WRONG_STATE);
    assert_non_null(strstr(fwrig_log(rig), "is not switched off: the PMU's base is not set"));
    set_pmu(rig);
    expect_islands(rig, true);
    assert_int_equal(ask_word(rig, PR_CMD_POWER_DEVICE_OFF, PR_POWER_ISLANDS), PR_STATUS_OK);
    expect_islands(rig, false);
    assert_int_equal(call_with(rig, 1), PR_STATUS_NOT_READY);
    assert_non_null(strstr(fwrig_log(rig), "refused: the compute islands are off"));
    fwrig_write(rig, PR_ENGINE_TM + PR_TM_TQ_EN, 0); /* forgotten */
    assert_int_equal(ask_word(rig, PR_CMD_POWER_DEVICE_ON, PR_POWER_ISLANDS), PR_STATUS_OK);
    expect_islands(rig, true);
    assert_int_equal(call_with(rig, 1), PR_STATUS_OK);
    finish(rig, 1);
}

/* On before the first push of EXEC, off when nothing is in flight. */
static void islands_are_gated_while_idle(void **state)
{
    struct fwrig *rig = *state;

    fwrig_load(rig);
    assert_int_equal(ask_word(rig, PR_CMD_SET_DYNAMIC_POWERGATE, 1), PR_STATUS_WRONG_STATE);
    set_pmu(rig);
    assert_int_equal(call_with(rig, 1), PR_STATUS_OK);
    assert_int_equal(ask_word(rig, PR_CMD_SET_DYNAMIC_POWERGATE, 1), PR_STATUS_BUSY);
    finish(rig, 1);
    expect_islands(rig, true); /* off by default */
    assert_int_equal(ask_word(rig, PR_CMD_SET_DYNAMIC_POWERGATE, 2), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(ask_word(rig, PR_CMD_SET_DYNAMIC_POWERGATE, 1), PR_STATUS_OK);
    expect_islands(rig, false);
    for (uint64_t i = 0; i < 3; i++) {
        fwrig_write(rig, PR_ENGINE_TM + PR_TM_TQ_EN, 0); /* the rig refuses a push to queues that are off */
        assert_int_equal(call_with(rig, 2 * i), PR_STATUS_OK);
        assert_int_equal(call_with(rig, 2 * i + 1), PR_STATUS_OK);
        expect_islands(rig, true);
        finish(rig, 2 * i);
        expect_islands(rig, true);
        finish(rig, 2 * i + 1);
        expect_islands(rig, false);
    }
    assert_int_equal(fwrig_counter(rig, "islands-gated"), 4);
    assert_int_equal(ask_word(rig, PR_CMD_POWER_DEVICE_ON, PR_POWER_ISLANDS), PR_STATUS_WRONG_STATE);
    assert_int_equal(ask_word(rig, PR_CMD_SET_DYNAMIC_POWERGATE, 0), PR_STATUS_OK);
    expect_islands(rig, true);
}

static void the_pmu_base_is_a_page(void **state)
{
    static const uint64_t bad[] = {0, FWRIG_PMU + 8, FWRIG_PMU + 0x4000, 0x23b70c000 /* of another board */};
    struct fwrig *rig = *state;

    for (unsigned i = 0; i < 4; i++) {
        const struct pr_body_pmu pmu = {bad[i]};

        assert_int_equal(fwrig_control(rig, PR_CMD_SET_SNE_PMU_BASE2, &pmu, sizeof(pmu)),
                         PR_STATUS_BAD_ARGUMENT);
        assert_int_equal(fwrig_control(rig, PR_CMD_SET_SNE_PMU_BASE, &pmu, sizeof(pmu)),
                         PR_STATUS_BAD_ARGUMENT);
    }
    assert_non_null(strstr(fwrig_log(rig), "PMU base 0x23b70c000 is refused: the board's is 0x28e08c000"));
}

static uint32_t channel_power(struct fwrig *rig, uint32_t channel, uint32_t on)
{
    const struct pr_body_channel_power body = {channel, on};

    return fwrig_control(rig, PR_CMD_CH_POWER_CONTROL, &body, sizeof(body));
}

/* A channel that is not ready answers so; its slots come back. */
static void channels_can_be_switched(void **state)
{
    struct fwrig *rig = *state;
    struct fwrig_command ping = {.header = {.id = PR_CMD_PING}};

    fwrig_load(rig);
    assert_int_equal(channel_power(rig, PR_CHANNEL_IO, 0), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(channel_power(rig, PR_CHANNEL_COUNT, 0), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(channel_power(rig, PR_CHANNEL_DEBUG, 2), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(channel_power(rig, PR_CHANNEL_DEBUG, 0), PR_STATUS_OK);
    assert_int_equal(channel_power(rig, PR_CHANNEL_DATA_CHAIN_H2T, 0), PR_STATUS_OK);
    fwrig_rang(rig);
    assert_true(fwrig_send(rig, PR_CHANNEL_DEBUG, &ping, sizeof(ping.header), 0));
    assert_int_equal(PR_REPLY_STATUS(&ping.header), PR_STATUS_NOT_READY);
    assert_int_equal(fwrig_rang(rig), 1u << 2);
    assert_int_equal(call_with(rig, 1), PR_STATUS_NOT_READY);
    assert_non_null(strstr(fwrig_log(rig), "a message on channel DATA_CHAIN_H2T is refused"));
    assert_int_equal(fwrig_control(rig, PR_CMD_PING, NULL, 0), PR_STATUS_OK); /* IO */
    assert_int_equal(channel_power(rig, PR_CHANNEL_DEBUG, 1), PR_STATUS_OK);
    assert_int_equal(channel_power(rig, PR_CHANNEL_DATA_CHAIN_H2T, 1), PR_STATUS_OK);
    assert_true(fwrig_send(rig, PR_CHANNEL_DEBUG, &ping, sizeof(ping.header), 0));
    assert_int_equal(PR_REPLY_STATUS(&ping.header), PR_STATUS_OK);
    assert_int_equal(call_with(rig, 1), PR_STATUS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(quiesce_waits_for_what_is_in_flight),
        T(quiesce_counts_what_it_waited_for),
        T(suspend_needs_an_empty_quiet_firmware),
        T(power_down_gates_the_processor),
        T(stop_goes_back_to_the_start),
        T(the_memory_cache_is_a_device),
        T(the_islands_are_a_device),
        T(islands_are_gated_while_idle),
        T(the_pmu_base_is_a_page),
        T(channels_can_be_switched),
#undef T
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
