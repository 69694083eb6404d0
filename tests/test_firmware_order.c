/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of several engine requests, by partitions and by execute orders: what is pushed and in which order,
 * one event for each call, and what remains when one request fails, is overdue or is reset.
 */
#include "callrig.h"

#define PLAIN PR_EXE_PROCEDURE_CALL
#define BARS  PR_EXE_PROCEDURE_CALL_WITH_BARS

static int setup(void **state)
{
    struct fwrig *rig = fwrig_create();
    struct container_image image;

    *state = rig;
    fwrig_boot_started(rig);
    fwrig_load(rig);
    callrig_partitions(&image);
    image.operation[1].bar[2].bar = 11; /* the second partition has its intermediate at another BAR */
    image.record[9].bar = 11;
    pr_rebase_put(image.record[9].reg, IMAGE_BAR_0 + 4 * 11);
    assert_int_equal(callrig_load(rig, &image), 1);
    return 0;
}

static int teardown(void **state)
{
    fwrig_destroy(*state);
    return 0;
}

/* A call of the program with partitions. */
static uint32_t call_both(struct fwrig *rig, uint32_t priority, uint64_t cookie)
{
    struct callrig c;

    callrig_make(&c, PLAIN, cookie);
    c.head->call.program_id = c.head->call.process_id = 1;
    c.head->call.partitions = 2;
    c.head->call.priority = priority;
    return callrig_send(rig, &c);
}

static uint32_t call_order(struct fwrig *rig, uint32_t count, const uint32_t *order, uint64_t cookie)
{
    struct callrig c;

    callrig_make(&c, BARS, cookie);
    callrig_order(&c, count, order);
    return callrig_send(rig, &c);
}

static void expect_event(struct fwrig *rig, uint64_t cookie, uint32_t status)
{
    struct pr_program_event event;

    assert_true(fwrig_event(rig, &event, true));
    assert_int_equal(event.cookie, cookie);
    assert_int_equal(event.status, status);
}

static void expect_nothing(struct fwrig *rig)
{
    struct pr_program_event event;

    assert_false(fwrig_event(rig, &event, true));
}

static uint32_t bar_of(const struct fwrig *rig, size_t push, uint32_t bar)
{
    return fwrig_push_at(rig, push)->file[PR_TQ_BAR1 / 4 + bar];
}

static void both_partitions_are_pushed_with_their_bars(void **state)
{
    struct fwrig *rig = *state;

    assert_int_equal(call_both(rig, 4, 0x77), PR_STATUS_OK);
    assert_int_equal(fwrig_pushes(rig), 2);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(fwrig_push_at(rig, i)->queue, 4);
        assert_int_equal(fwrig_push_at(rig, i)->address, FWRIG_TEXT + (i ? 0x400 : 0));
        assert_int_equal(fwrig_push_at(rig, i)->info, i ? 9u << 16 | 2 : 11u << 16 | 1);
        assert_int_equal(bar_of(rig, i, 4), FWRIG_OUT);
        assert_int_equal(bar_of(rig, i, 5), FWRIG_IN);
        assert_int_equal(bar_of(rig, i, 9), i ? 0 : IMAGE_SCRATCH);
        assert_int_equal(bar_of(rig, i, 11), i ? IMAGE_SCRATCH : 0);
        assert_int_equal(fwrig_push_at(rig, i)->file[PR_TQ_NID1 / 4], (i + 1) << 8 | 1);
    }
    callrig_retire(rig, 4, 0);
    expect_nothing(rig);
    assert_int_equal(callrig_fw(rig)->process[1].calls, 1);
    assert_int_equal(callrig_fw(rig)->process[1].finished, 0);
    callrig_retire(rig, 4, 0);
    expect_event(rig, 0x77, PR_STATUS_OK);
    expect_nothing(rig);
    assert_int_equal(callrig_fw(rig)->process[1].finished, 1);
    callrig_expect_free(rig);
    assert_false(fwrig_timer_set(rig));
}

static void one_partition_of_two_may_be_run(void **state)
{
    struct fwrig *rig = *state;
    struct callrig c;

    callrig_make(&c, PLAIN, 1);
    c.head->call.program_id = c.head->call.process_id = 1;
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_OK);
    assert_int_equal(fwrig_pushes(rig), 1);
    assert_int_equal(fwrig_push_at(rig, 0)->address, FWRIG_TEXT);
    callrig_retire(rig, 4, 0);
    expect_event(rig, 1, PR_STATUS_OK);
    /* The second partition is not a procedure. */
    c.head->call.procedure = 1;
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(callrig_fw(rig)->broken[PR_RULE_CONTENT_TYPE], 1);
}

static void a_custom_bar_is_for_the_requests_that_have_it(void **state)
{
    struct fwrig *rig = *state;
    struct callrig c;

    callrig_make(&c, BARS, 1);
    c.head->call.program_id = c.head->call.process_id = 1;
    c.head->call.partitions = 2;
    callrig_bar(&c, 11, 0x00c00000, IMAGE_SCRATCH_BYTES); /* of the second */
    callrig_bar(&c, 4, 0x00d00000, IMAGE_OUTPUT_BYTES);   /* of both */
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_OK);
    assert_int_equal(bar_of(rig, 0, 9), IMAGE_SCRATCH);
    assert_int_equal(bar_of(rig, 0, 11), 0);
    assert_int_equal(bar_of(rig, 1, 11), 0x00c00000);
    assert_int_equal(bar_of(rig, 0, 4), 0x00d00000);
    assert_int_equal(bar_of(rig, 1, 4), 0x00d00000);
    c.head->call.partitions = 1;
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(callrig_fw(rig)->broken[PR_RULE_BAR_ID], 1);
}

static void an_execute_order_is_run_in_its_order(void **state)
{
    static const uint32_t order[] = {1, 0, 1, 1, 0};
    struct fwrig *rig = *state;

    assert_int_equal(call_order(rig, 5, order, 0x55), PR_STATUS_OK);
    for (unsigned i = 0; i < 5; i++) {
        expect_nothing(rig);
        callrig_retire(rig, 4, 0);
    }
    assert_int_equal(fwrig_pushes(rig), 5);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(fwrig_push_at(rig, i)->address, FWRIG_TEXT + (order[i] ? 0x400 : 0));
    expect_event(rig, 0x55, PR_STATUS_OK);
    expect_nothing(rig);
    callrig_expect_free(rig);
}

/* An entry that no call may name, or whose buffers the call does not have: nothing is pushed. */
static void an_order_is_run_as_a_whole_or_not(void **state)
{
    struct fwrig *rig = *state;
    struct callrig c;

    assert_int_equal(call_order(rig, 3, (const uint32_t[]){0, 1, 2}, 1), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(callrig_fw(rig)->broken[PR_RULE_CONTENT_TYPE], 1); /* procedure 2 has content 1 */
    /* In program 1 bar 9 is the first operation's alone: the second entry has no output buffer. */
    callrig_make(&c, BARS, 2);
    c.head->call.program_id = c.head->call.process_id = 1;
    c.head->call.partitions = 2;
    c.head->call.buffers = c.buffers = 1;
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(fwrig_pushes(rig), 0);
    callrig_expect_free(rig);
}

/* The calls of a level keep their order, and a call's requests stay together. */
static void other_calls_do_not_come_between(void **state)
{
    static const unsigned expected[] = {0, 1, 0, 0, 1};
    struct fwrig *rig = *state;
    struct callrig c;

    assert_int_equal(call_both(rig, 4, 1), PR_STATUS_OK);
    callrig_make(&c, PLAIN, 2);
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_OK);
    assert_int_equal(call_both(rig, 4, 3), PR_STATUS_OK);
    for (unsigned i = 0; i < 5; i++)
        callrig_retire(rig, 4, 0);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(fwrig_push_at(rig, i)->address, FWRIG_TEXT + (expected[i] ? 0x400 : 0));
    for (uint64_t i = 1; i <= 3; i++)
        expect_event(rig, i, PR_STATUS_OK);
    callrig_expect_free(rig);
}

/*
 * The first request fails while the second is on the queue already: the call ends when that has ended, with
 * the failure and its words, and the third is not run.
 */
static void a_failed_request_ends_the_call(void **state)
{
    static const uint32_t order[] = {0, 1, 0, 1};
    struct fwrig *rig = *state;
    struct callrig c;

    assert_int_equal(call_order(rig, 4, order, 0x66), PR_STATUS_OK);
    callrig_make(&c, PLAIN, 0x67);
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_OK);
    fwrig_set_error(rig, 0xaabb040c, 0x00a01000);
    callrig_retire(rig, 4, PR_TM_CODE_TRANSLATION);
    expect_nothing(rig);
    assert_int_equal(fwrig_pushes(rig), 3); /* the next call's */
    assert_int_equal(fwrig_push_at(rig, 2)->address, FWRIG_TEXT);
    callrig_retire(rig, 4, 0);
    expect_event(rig, 0x66, PR_STATUS_TRANSLATION);
    assert_int_equal(fwrig_failure()->error[0], 0xaabb040c);
    callrig_retire(rig, 4, 0);
    expect_event(rig, 0x67, PR_STATUS_OK);
    assert_int_equal(fwrig_pushes(rig), 3);
    callrig_expect_free(rig);
}

/* Both requests on the queue fail: the call has the first failure. */
static void the_first_failure_is_the_calls(void **state)
{
    struct fwrig *rig = *state;

    assert_int_equal(call_both(rig, 4, 9), PR_STATUS_OK);
    fwrig_set_error(rig, 0xaabb040c, 0x00a01000);
    callrig_retire(rig, 4, PR_TM_CODE_TRANSLATION);
    expect_nothing(rig);
    fwrig_set_error(rig, 0xccdd040c, 0x00a02000);
    callrig_retire(rig, 4, PR_TM_CODE_TRANSLATION + 1);
    expect_event(rig, 9, PR_STATUS_TRANSLATION);
    assert_int_equal(fwrig_failure()->error[0], 0xaabb040c);
    assert_int_equal(fwrig_failure()->error[1], 0x00a01000);
    callrig_expect_free(rig);
}

static void a_failure_of_the_last_request_is_the_calls(void **state)
{
    struct fwrig *rig = *state;

    assert_int_equal(call_both(rig, 4, 9), PR_STATUS_OK);
    callrig_retire(rig, 4, 0);
    fwrig_set_error(rig, 0xaabb040c, 0x00a02000);
    callrig_retire(rig, 4, PR_TM_CODE_TRANSLATION);
    expect_event(rig, 9, PR_STATUS_TRANSLATION);
    assert_int_equal(fwrig_failure()->error[1], 0x00a02000);
    callrig_expect_free(rig);
    assert_int_equal(call_both(rig, 4, 10), PR_STATUS_OK);
    callrig_retire(rig, 4, 0);
    callrig_retire(rig, 4, 0);
    expect_event(rig, 10, PR_STATUS_OK);
}

/* An overdue queue: the requests on it end with the abort, and so does what waits of the same call. */
static void an_abort_ends_all_of_a_call(void **state)
{
    static const uint32_t order[] = {0, 1, 0, 1, 0};
    struct fwrig *rig = *state;
    struct callrig c;

    assert_int_equal(call_order(rig, 5, order, 1), PR_STATUS_OK);
    callrig_make(&c, PLAIN, 2);
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_OK);
    fwrig_pass(rig, 2500000000ull);
    assert_int_equal(fwrig_aborted(rig), 1u << 4);
    expect_event(rig, 1, PR_STATUS_STUCK);
    expect_nothing(rig);
    assert_int_equal(fwrig_pushes(rig), 3); /* the other call goes on */
    callrig_retire(rig, 4, 0);
    expect_event(rig, 2, PR_STATUS_OK);
    callrig_expect_free(rig);
}

/* The abort does not clear the queue: the host's reset ends running and waiting requests, a call at a time. */
static void a_reset_ends_all_of_a_call(void **state)
{
    static const uint32_t order[] = {0, 1, 0, 1};
    const struct pr_body_reset reset = {.first_queue = 4, .last_queue = 4};
    struct fwrig *rig = *state;
    struct pr_reset_notification notification;

    assert_int_equal(call_order(rig, 4, order, 1), PR_STATUS_OK);
    assert_int_equal(call_both(rig, 4, 2), PR_STATUS_OK);
    fwrig_keep_aborted(rig, true);
    fwrig_pass(rig, 4500000000ull);
    assert_true(fwrig_notification(rig, &notification));
    fwrig_keep_aborted(rig, false);
    fwrig_write(rig, PR_ENGINE_TM + PR_TM_ABORT, 1u << 4);
    assert_int_equal(fwrig_control(rig, PR_CMD_RESET, &reset, sizeof(reset)), PR_STATUS_OK);
    expect_event(rig, 1, PR_STATUS_ABORTED);
    expect_event(rig, 2, PR_STATUS_ABORTED);
    expect_nothing(rig);
    callrig_expect_free(rig);
    assert_int_equal(call_both(rig, 4, 3), PR_STATUS_OK);
    callrig_retire(rig, 4, 0);
    callrig_retire(rig, 4, 0);
    expect_event(rig, 3, PR_STATUS_OK);
}

/* 256 entries: a call that finds too few leaves those it took. */
static void nothing_is_half_entered(void **state)
{
    uint32_t order[PR_EXECUTE_ORDER_MAX] = {0};
    struct fwrig *rig = *state;
    struct callrig c;

    assert_int_equal(call_order(rig, 128, order, 1), PR_STATUS_OK);
    assert_int_equal(call_order(rig, 125, order, 2), PR_STATUS_OK);
    assert_int_equal(call_order(rig, 4, order, 3), PR_STATUS_NO_RESOURCES);
    assert_int_equal(callrig_fw(rig)->process[0].calls, 2);
    assert_int_equal(call_order(rig, 2, order, 3), PR_STATUS_OK); /* the three entries are still there */
    assert_int_equal(call_order(rig, 2, order, 4), PR_STATUS_NO_RESOURCES);
    callrig_make(&c, PLAIN, 4);
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_OK);
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_NO_RESOURCES);
    for (unsigned i = 0; i < 256; i++)
        callrig_retire(rig, 4, 0);
    expect_event(rig, 1, PR_STATUS_OK);
    expect_event(rig, 2, PR_STATUS_OK);
    expect_event(rig, 3, PR_STATUS_OK);
    expect_event(rig, 4, PR_STATUS_OK);
    expect_nothing(rig);
    callrig_expect_free(rig);
}

/* One record for a call, with its time from acceptance to the last end. */
static void statistics_are_those_of_the_call(void **state)
{
    const struct pr_body_premap map = {
        .operations = 1,
        .buffers = 1,
        .pool = PR_POOL_STATS,
        .buffer = {.valid = PR_BUFFER_VALID, .address = FWRIG_STATS, .bytes = 0x1000}};
    struct fwrig_command command = {
        .header = {.id = PR_CMD_PREMAP_BUFFER, .size = sizeof(map), .program_id = 1, .process_id = 1}};
    struct fwrig *rig = *state;
    struct pr_stats_header header;
    struct callrig c;

    memcpy(command.body, &map, sizeof(map));
    assert_true(fwrig_send(rig, PR_CHANNEL_IO, &command, sizeof(command.header) + sizeof(map), 0));
    callrig_make(&c, PLAIN, 1);
    c.head->call.program_id = c.head->call.process_id = 1;
    c.head->call.partitions = 2;
    c.head->call.stats = map.buffer;
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_OK);
    fwrig_pass(rig, 1000);
    callrig_retire(rig, 4, 0);
    memcpy(&header, fwrig_memory(rig, FWRIG_STATS, sizeof(header)), sizeof(header));
    assert_int_equal(header.magic, 0); /* not written yet */
    fwrig_pass(rig, 500);
    callrig_retire(rig, 4, 0);
    memcpy(&header, fwrig_memory(rig, FWRIG_STATS, sizeof(header)), sizeof(header));
    assert_int_equal(header.magic, 0x0101);
    assert_int_equal(header.time, 1500);
    assert_int_equal(header.program, 1);
    assert_int_equal(header.counter, 1);
    expect_event(rig, 1, PR_STATUS_OK);
    assert_int_equal(callrig_fw(rig)->stats.engine[0].quad.calls, 1);
    assert_int_equal(callrig_fw(rig)->stats.engine[0].busy_ns, 1500);
}

/* Processes with a call in flight stay, however many of its requests have ended. */
static void a_process_waits_for_the_whole_call(void **state)
{
    struct fwrig_command end = {.header = {.id = PR_CMD_TERMINATE_PROCESS, .program_id = 1, .process_id = 1}};
    struct fwrig *rig = *state;

    assert_int_equal(call_both(rig, 4, 1), PR_STATUS_OK);
    callrig_retire(rig, 4, 0);
    assert_true(fwrig_send(rig, PR_CHANNEL_IO, &end, sizeof(end.header), 0));
    assert_int_equal(PR_REPLY_STATUS(&end.header), PR_STATUS_BUSY);
    callrig_retire(rig, 4, 0);
    expect_event(rig, 1, PR_STATUS_OK);
    end.header.priority = 0;
    assert_true(fwrig_send(rig, PR_CHANNEL_IO, &end, sizeof(end.header), 0));
    assert_int_equal(PR_REPLY_STATUS(&end.header), PR_STATUS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        T(both_partitions_are_pushed_with_their_bars),
        T(one_partition_of_two_may_be_run),
        T(a_custom_bar_is_for_the_requests_that_have_it),
        T(an_execute_order_is_run_in_its_order),
        T(an_order_is_run_as_a_whole_or_not),
        T(other_calls_do_not_come_between),
        T(a_failed_request_ends_the_call),
        T(the_first_failure_is_the_calls),
        T(a_failure_of_the_last_request_is_the_calls),
        T(an_abort_ends_all_of_a_call),
        T(a_reset_ends_all_of_a_call),
        T(nothing_is_half_entered),
        T(statistics_are_those_of_the_call),
        T(a_process_waits_for_the_whole_call),
#undef T
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
