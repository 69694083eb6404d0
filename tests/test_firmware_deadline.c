/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue that is stuck: timeout interrupt, abort, the wait for it to clear, the host's reset, and the panic.
 */
#include "support.h"

#include <string.h>

#include "firmware/state.h"
#include "fwrig.h"
#include "rtkernel/mutex.h"

#define SECOND 1000000000ull

static int setup(void **state)
{
    struct fwrig *rig = fwrig_create();

    *state = rig;
    fwrig_boot_started(rig);
    fwrig_load(rig);
    fwrig_rang(rig);
    return 0;
}

static int teardown(void **state)
{
    fwrig_destroy(*state);
    return 0;
}

static uint32_t call_with(struct fwrig *rig, uint32_t priority, uint64_t cookie)
{
    union fwrig_call call;

    fwrig_call_make(&call, cookie);
    call.call.priority = priority;
    return fwrig_call(rig, &call);
}

static uint32_t reset(struct fwrig *rig, uint32_t first, uint32_t last)
{
    const struct pr_body_reset range = {first, last};

    return fwrig_control(rig, PR_CMD_RESET, &range, sizeof(range));
}

static const struct fw_intmgr *intmgr(struct fwrig *rig)
{
    return &((const struct fw *)fwrig_firmware(rig))->intmgr;
}

/* The interrupt comes on a line of its own, sets the flag and leaves a record; the abort is the task's. */
static void the_timeout_is_an_interrupt(void **state)
{
    struct fwrig *rig = *state;

    assert_int_equal(call_with(rig, 4, 1), PR_STATUS_OK);
    fwrig_suspend(rig, "intmgr");
    fwrig_pass(rig, 2 * SECOND - 1);
    assert_false(intmgr(rig)->stuck);
    fwrig_pass(rig, 1);
    assert_true(intmgr(rig)->stuck);
    assert_int_equal(fwrig_aborted(rig), 0);
    fwrig_resume(rig, "intmgr");
    assert_int_equal(fwrig_aborted(rig), 1u << 4);
    assert_non_null(strstr(fwrig_log(rig), "timeout interrupt 1: queue 4 is stuck on program 0, process 0"));
    assert_false(intmgr(rig)->stuck); /* the abort has cleared it */
    assert_int_equal(fwrig_counter(rig, "timeouts"), 1);
    assert_false(fwrig_timer_set(rig));
}

/* The queue becomes vacant a second after the abort: its calls end then, with why it was aborted. */
static void a_late_clear_is_waited_for(void **state)
{
    struct fwrig *rig = *state;
    struct pr_program_event event;

    for (uint64_t i = 0; i < 3; i++)
        assert_int_equal(call_with(rig, 4, i), PR_STATUS_OK);
    fwrig_keep_aborted(rig, true);
    fwrig_pass(rig, 2 * SECOND);
    assert_int_equal(fwrig_aborted(rig), 1u << 4);
    assert_false(fwrig_event(rig, &event, true));
    assert_true(intmgr(rig)->stuck);
    fwrig_pass(rig, SECOND);
    assert_int_equal(fwrig_pushes(rig), 2);               /* nothing is pushed to it meanwhile */
    assert_int_equal(call_with(rig, 1, 9), PR_STATUS_OK); /* other queues go on */
    assert_int_equal(fwrig_pushes(rig), 3);
    fwrig_retire(rig, 1, 0, true);
    fwrig_run(rig);
    assert_true(fwrig_event(rig, &event, true));
    assert_int_equal(event.cookie, 9);
    fwrig_keep_aborted(rig, false);
    fwrig_occupy(rig, 4, 0);
    fwrig_write(rig, PR_ENGINE_TM + PR_TM_ABORT, 1u << 4); /* the board finishes the abort */
    fwrig_pass(rig, SECOND / 10);
    for (uint64_t i = 0; i < 2; i++) {
        assert_true(fwrig_event(rig, &event, true));
        assert_int_equal(event.cookie, i);
        assert_int_equal(event.status, PR_STATUS_STUCK);
    }
    assert_int_equal(fwrig_pushes(rig), 4); /* the one that waited */
    fwrig_retire(rig, 4, 0, true);
    fwrig_run(rig);
    assert_true(fwrig_event(rig, &event, true));
    assert_int_equal(event.status, PR_STATUS_OK);
    assert_false(fwrig_timer_set(rig));
    assert_int_equal(fwrig_counter(rig, "resets"), 0);
}

/* The queue has room for another call, and gets none before its abort has cleared. */
static void an_aborting_queue_gets_nothing(void **state)
{
    struct fwrig *rig = *state;

    assert_int_equal(call_with(rig, 4, 1), PR_STATUS_OK);
    fwrig_keep_aborted(rig, true);
    fwrig_pass(rig, 2 * SECOND);
    assert_int_equal(call_with(rig, 4, 2), PR_STATUS_OK);
    assert_int_equal(fwrig_pushes(rig), 1);
    fwrig_keep_aborted(rig, false);
    fwrig_write(rig, PR_ENGINE_TM + PR_TM_ABORT, 1u << 4);
    fwrig_pass(rig, SECOND / 10);
    assert_int_equal(fwrig_pushes(rig), 2);
}

/* Two queues are stuck, a third between them is not. */
static void wedge(struct fwrig *rig)
{
    for (uint64_t i = 0; i < 3; i++) {
        assert_int_equal(call_with(rig, 6, 60 + i), PR_STATUS_OK);
        assert_int_equal(call_with(rig, 3, 30 + i), PR_STATUS_OK);
    }
    fwrig_keep_aborted(rig, true);
    fwrig_pass(rig, 2 * SECOND);
    assert_int_equal(fwrig_aborted(rig), 1u << 6 | 1u << 3);
    fwrig_pass(rig, 2 * SECOND - 1);
    assert_false(intmgr(rig)->phase == FW_INTMGR_RESETTING);
}

static void a_reset_is_asked_of_the_host(void **state)
{
    struct fwrig *rig = *state;
    struct pr_body_time time = {.host_ns = 77};
    struct pr_reset_notification notification;
    struct pr_program_event event;

    assert_int_equal(fwrig_control(rig, PR_CMD_TIMEPROFILE_SHOW, &time, sizeof(time)), PR_STATUS_OK);
    assert_int_equal(reset(rig, 0, 7), PR_STATUS_WRONG_STATE);
    assert_non_null(strstr(fwrig_log(rig), "the firmware wants none"));
    wedge(rig);
    fwrig_rang(rig);
    fwrig_pass(rig, 1);
    assert_true(fwrig_rang(rig) & 1u << 6);
    assert_true(fwrig_notification(rig, &notification));
    assert_int_equal(notification.first_queue, 3);
    assert_int_equal(notification.last_queue, 6);
    assert_int_equal(notification.reason, PR_STATUS_STUCK);
    assert_int_equal(notification.time, 77 + 4 * SECOND);
    assert_non_null(strstr(fwrig_log(rig), "the abort of queues 3 to 6 did not clear within 2 seconds"));
    /* The mutex is the interrupt manager's, and no call is accepted on any queue. */
    assert_non_null(rt_mutex_owner(intmgr(rig)->reset));
    assert_int_equal(call_with(rig, 0, 99), PR_STATUS_NOT_READY);
    assert_non_null(strstr(fwrig_log(rig), "refused: the host has not reset the engine yet"));
    assert_false(fwrig_event(rig, &event, true));
    assert_int_equal(reset(rig, 3, 5), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(reset(rig, 3, 0xffffffffu), PR_STATUS_BAD_ARGUMENT);
    fwrig_pass(rig, SECOND);
    assert_int_equal(reset(rig, 3, 6), PR_STATUS_OK);
    /* In the order they were submitted, running or waiting. */
    for (uint64_t i = 0; i < 6; i++) {
        assert_true(fwrig_event(rig, &event, true));
        assert_int_equal(event.cookie, (i % 2 ? 30 : 60) + i / 2);
        assert_int_equal(event.status, PR_STATUS_ABORTED);
    }
    assert_false(fwrig_event(rig, &event, true));
    assert_null(rt_mutex_owner(intmgr(rig)->reset));
    assert_int_equal(fwrig_counter(rig, "resets"), 1);
    assert_false(fwrig_timer_set(rig));
    assert_int_equal(reset(rig, 3, 6), PR_STATUS_WRONG_STATE);
    /* The host has emptied the queues: calls work again. */
    fwrig_keep_aborted(rig, false);
    fwrig_write(rig, PR_ENGINE_TM + PR_TM_ABORT, 0xff);
    assert_int_equal(call_with(rig, 3, 5), PR_STATUS_OK);
    fwrig_retire(rig, 3, 0, true);
    fwrig_run(rig);
    assert_true(fwrig_event(rig, &event, true));
    assert_true(event.cookie == 5 && event.status == PR_STATUS_OK);
}

/* The notification waits for a slot of a host that returns none for a while. */
static void a_full_ring_delays_the_notification(void **state)
{
    struct fwrig *rig = *state;
    struct pr_program_event event;
    struct pr_reset_notification notification;

    for (unsigned i = 0; i < 64; i++) {
        assert_int_equal(call_with(rig, 0, i), PR_STATUS_OK);
        fwrig_retire(rig, 0, 0, true);
        fwrig_run(rig);
    }
    wedge(rig);
    fwrig_pass(rig, 1);
    for (unsigned i = 0; i < 64; i++) {
        assert_true(fwrig_event(rig, &event, true));
        assert_int_equal(event.cookie, i);
    }
    assert_true(fwrig_notification(rig, &notification));
    assert_int_equal(reset(rig, 3, 6), PR_STATUS_OK);
}

static void without_a_reset_the_firmware_fails(void **state)
{
    struct fwrig *rig = *state;
    uint8_t section[PR_DUMP_AREA_BYTES];
    const struct pr_dump_exception *exception = (const void *)section;

    wedge(rig);
    fwrig_pass(rig, 1);
    fwrig_pass(rig, 2 * SECOND - 1);
    assert_int_equal(fwrig_read(rig, PR_CTRL_SCRATCH(4)), 0);
    fwrig_rang(rig);
    fwrig_pass(rig, 1);
    assert_true(fwrig_dump_take(rig, PR_DUMP_EXCEPTION, section) >= sizeof(*exception));
    assert_string_equal(exception->text, "no reset of queues 3 to 6 within 2 seconds");
    assert_int_equal(fwrig_dump_drain(rig), FWRIG_FAULTED);
}

/* A quiesce that waits for calls cannot keep the server from the host's RESET. */
static void quiesce_gives_way_to_a_reset(void **state)
{
    struct fwrig *rig = *state;
    struct fwrig_command command = {
        .header = {.id = PR_CMD_QUIESCE_STATE, .size = sizeof(struct pr_body_quiesce)}};
    const uint32_t slot = fwrig_cursor(rig, PR_CHANNEL_IO);

    assert_int_equal(call_with(rig, 4, 1), PR_STATUS_OK);
    fwrig_keep_aborted(rig, true);
    memcpy(fwrig_memory(rig, FWRIG_POOL, sizeof(command)), &command, sizeof(command));
    fwrig_post(rig, PR_CHANNEL_IO, FWRIG_POOL, sizeof(command.header) + command.header.size, 0);
    fwrig_pass(rig, 4 * SECOND - 1);
    assert_false(fwrig_slot_returned(rig, PR_CHANNEL_IO, slot));
    fwrig_pass(rig, 1);
    assert_true(fwrig_slot_returned(rig, PR_CHANNEL_IO, slot));
    assert_int_equal(PR_REPLY_STATUS(&fwrig_reply(rig)->header), PR_STATUS_BUSY);
    assert_int_equal(reset(rig, 4, 4), PR_STATUS_OK);
    assert_int_equal(fwrig_control(rig, PR_CMD_QUIESCE_STATE, command.body, sizeof(struct pr_body_quiesce)),
                     PR_STATUS_OK);
}

/* Lines that do not stop rising cannot keep the timeout from being seen. */
static void a_timeout_is_seen_in_a_storm(void **state)
{
    struct fwrig *rig = *state;

    assert_int_equal(call_with(rig, 4, 1), PR_STATUS_OK);
    fwrig_suspend(rig, "intmgr");
    for (unsigned i = 0; i < 100; i++) {
        fwrig_raise(rig, 10 + i % 8);
        assert_int_equal(fwrig_run(rig), FWRIG_IDLE);
    }
    fwrig_pass(rig, 2 * SECOND);
    fwrig_resume(rig, "intmgr");
    assert_int_equal(fwrig_aborted(rig), 1u << 4);
    assert_int_equal(fwrig_counter(rig, "unhandled-interrupts"), 100);
}

static void a_line_without_a_handler_is_logged(void **state)
{
    struct fwrig *rig = *state;

    fwrig_raise(rig, 17);
    assert_int_equal(fwrig_run(rig), FWRIG_IDLE);
    assert_non_null(strstr(fwrig_log(rig), "interrupt line 17 has no handler (1 unhandled)"));
    assert_int_equal(fwrig_counter(rig, "unhandled-interrupts"), 1);
    assert_int_equal(call_with(rig, 4, 1), PR_STATUS_OK);
}

/* A thousand times wedged and reset by the host: nothing is lost and nothing is left. */
static void wedged_and_reset_a_thousand_times(void **state)
{
    struct fwrig *rig = *state;
    struct pr_reset_notification notification;
    struct pr_program_event event;

    for (uint64_t i = 0; i < 1000; i++) {
        const uint32_t level = i % 8;

        fwrig_keep_aborted(rig, true);
        assert_int_equal(call_with(rig, level, i), PR_STATUS_OK);
        fwrig_pass(rig, 4 * SECOND);
        assert_true(fwrig_notification(rig, &notification));
        assert_true(notification.first_queue == level && notification.last_queue == level);
        assert_int_equal(reset(rig, level, level), PR_STATUS_OK);
        assert_true(fwrig_event(rig, &event, true));
        assert_true(event.cookie == i && event.status == PR_STATUS_ABORTED);
        fwrig_keep_aborted(rig, false);
        fwrig_write(rig, PR_ENGINE_TM + PR_TM_ABORT, 0xff);
    }
    assert_int_equal(fwrig_counter(rig, "resets"), 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(the_timeout_is_an_interrupt),         T(a_late_clear_is_waited_for),
        T(an_aborting_queue_gets_nothing),      T(a_reset_is_asked_of_the_host),
        T(a_full_ring_delays_the_notification), T(without_a_reset_the_firmware_fails),
        T(quiesce_gives_way_to_a_reset),        T(a_timeout_is_seen_in_a_storm),
        T(a_line_without_a_handler_is_logged),  T(wedged_and_reset_a_thousand_times),
#undef T
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
