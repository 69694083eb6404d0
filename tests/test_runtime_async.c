/* SPDX-License-Identifier: Apache-2.0 */
/* Submitted streams, as a client of e5rt.h sees them. */
#include "support.h"

#include <string.h>
#include <unistd.h>

#include <anemone/iokit.h>

#include "asyncrig.h"
#include "runtime/async.h"
#include "sabotage.h"

#define SHORT_NS 1000000ull

static void completion_events_rise_under_submission_alone(void **state)
{
    e5rt_buffer_object_t one = asyncrig_buffer(1), sum = asyncrig_buffer(0);
    e5rt_async_event_t done = asyncrig_event("done");
    struct asyncrig_stream chain;
    uint64_t future;

    (void)state;
    asyncrig_make(&chain, "count", one, sum, sum, done, NULL);
    for (unsigned i = 1; i <= 4; i++) {
        asyncrig_submit(&chain);
        OK(e5rt_async_event_get_active_future_value(done, &future));
        assert_int_equal(future, i);
        OK(e5rt_async_event_sync_wait(done, i, ASYNCRIG_LONG_NS));
        assert_true(asyncrig_value(sum) == i && asyncrig_last(done) == i);
    }
    asyncrig_ok(&chain.told, 4);
    OK(e5rt_execution_stream_execute_sync(chain.stream));
    assert_true(asyncrig_value(sum) == 5 && asyncrig_last(done) == 4);
    FAILS(e5rt_async_event_sync_wait(done, 5, SHORT_NS), E5RT_INVALID_OPERATION, "did not reach 5 in time");
    FAILS(e5rt_async_event_sync_wait(done, 5, 0), E5RT_INVALID_OPERATION, "the last value is 4");
    asyncrig_end(&chain);
    OK(e5rt_async_event_release(&done));
    OK(e5rt_buffer_object_release(&one));
    OK(e5rt_buffer_object_release(&sum));
}

/* The first waits for the application, the second for the first; executed, neither waits. */
static void dependent_events_order_streams(void **state)
{
    e5rt_buffer_object_t one = asyncrig_buffer(1), zero = asyncrig_buffer(0), middle = asyncrig_buffer(0),
                         end = asyncrig_buffer(0);
    e5rt_async_event_t go = asyncrig_event("go"), done = asyncrig_event("done");
    struct asyncrig_stream first, second;

    (void)state;
    asyncrig_make(&first, "first", one, zero, middle, done, go);
    asyncrig_make(&second, "second", middle, middle, end, NULL, done);
    OK(e5rt_async_event_set_active_future_value(go, 7));
    asyncrig_submit(&first);
    asyncrig_submit(&second);
    OK(e5rt_async_event_signal(go, 6));
    usleep(20000);
    assert_true(atomic_load(&first.told.count) == 0 && atomic_load(&second.told.count) == 0);
    assert_true(asyncrig_value(middle) == 0 && asyncrig_value(end) == 0 && asyncrig_last(done) == 0);
    OK(e5rt_async_event_signal(go, 7));
    asyncrig_ok(&first.told, 1);
    asyncrig_ok(&second.told, 1);
    assert_true(asyncrig_value(middle) == 1 && asyncrig_value(end) == 2 && asyncrig_last(done) == 1);
    OK(e5rt_async_event_set_active_future_value(go, 8));
    OK(e5rt_execution_stream_execute_sync(first.stream));
    OK(e5rt_async_event_signal(go, 8));
    asyncrig_end(&first);
    asyncrig_end(&second);
    OK(e5rt_async_event_release(&go));
    OK(e5rt_async_event_release(&done));
    OK(e5rt_buffer_object_release(&one));
    OK(e5rt_buffer_object_release(&zero));
    OK(e5rt_buffer_object_release(&middle));
    OK(e5rt_buffer_object_release(&end));
}

/* More than the driver takes at once; on the device the second never completes. */
static void overlapped_streams_all_complete(void **state)
{
    enum { STREAMS = 40, ROUNDS = 5 };
    static struct asyncrig_stream chain[STREAMS];
    e5rt_execution_stream_config_options_t options;
    e5rt_buffer_object_t one = asyncrig_buffer(1), sum[STREAMS];
    int enabled = -1;

    (void)state;
    OK(e5rt_execution_stream_config_options_create(&options));
    OK(e5rt_execution_stream_config_options_get_enable_low_latency_async_events(options, &enabled));
    assert_int_equal(enabled, 0);
    OK(e5rt_execution_stream_config_options_set_enable_low_latency_async_events(options, 1));
    OK(e5rt_execution_stream_config_options_get_enable_low_latency_async_events(options, &enabled));
    assert_int_equal(enabled, 1);
    for (unsigned i = 0; i < STREAMS; i++) {
        sum[i] = asyncrig_buffer(i);
        asyncrig_make(&chain[i], "many", one, sum[i], sum[i], NULL, NULL);
        if (i % 2)
            OK(e5rt_execution_stream_set_config_options(chain[i].stream, options));
    }
    OK(e5rt_execution_stream_config_options_release(&options));
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < STREAMS; i++)
            asyncrig_submit(&chain[i]);
        for (unsigned i = 0; i < STREAMS; i++)
            asyncrig_ok(&chain[i].told, 1);
    }
    for (unsigned i = 0; i < STREAMS; i++) {
        assert_true(asyncrig_value(sum[i]) == i + ROUNDS);
        asyncrig_end(&chain[i]);
        OK(e5rt_buffer_object_release(&sum[i]));
    }
    OK(e5rt_buffer_object_release(&one));
}

static uint64_t requests_of(struct ane_machine *machine)
{
    uint64_t requests;

    assert_true(mach_enter(machine));
    requests = drv_stats_get(machine->driver).requests;
    mach_leave(machine);
    return requests;
}

/* With low-latency events the thread that submits sends: the driver has the request when the call returns. */
static void low_latency_sends_at_once(void **state)
{
    e5rt_execution_stream_config_options_t options;
    e5rt_buffer_object_t one, sum;
    struct ane_machine *machine;
    struct asyncrig_stream chain;
    uint64_t before;

    (void)state;
    e5rig_needs_own_machine("it holds the machine");
    one = asyncrig_buffer(1);
    sum = asyncrig_buffer(0);
    assert_int_equal(ane_machine_default(NULL, &machine), 0);
    asyncrig_make(&chain, "quick", one, sum, sum, NULL, NULL);
    OK(e5rt_execution_stream_config_options_create(&options));
    OK(e5rt_execution_stream_config_options_set_enable_low_latency_async_events(options, 1));
    OK(e5rt_execution_stream_set_config_options(chain.stream, options));
    OK(e5rt_execution_stream_config_options_release(&options));
    asyncrig_hold();
    before = requests_of(machine);
    asyncrig_submit(&chain);
    assert_int_equal(requests_of(machine) - before, 1);
    asyncrig_let_go();
    asyncrig_ok(&chain.told, 1);
    asyncrig_end(&chain);
    OK(e5rt_buffer_object_release(&one));
    OK(e5rt_buffer_object_release(&sum));
}

/* Three operations; the second fails, so the third does not begin and what waits for either fails. */
static void a_failure_ends_the_stream_and_what_waits_for_it(void **state)
{
    e5rt_buffer_object_t one, sum, other;
    e5rt_async_event_t go, done;
    e5rt_execution_stream_operation_t operation[3];
    e5rt_execution_stream_t stream;
    struct ane_machine *machine;
    struct sabotage sabotage;
    struct asyncrig_stream after;
    struct asyncrig_told told;

    (void)state;
    e5rig_needs_own_machine("it breaks the machine");
    one = asyncrig_buffer(1);
    sum = asyncrig_buffer(0);
    other = asyncrig_buffer(0);
    go = asyncrig_event("go");
    done = asyncrig_event("done");
    asyncrig_told_begin(&told);
    assert_int_equal(ane_machine_default(NULL, &machine), 0);
    OK(e5rt_execution_stream_create(&stream));
    for (unsigned i = 0; i < 3; i++) {
        operation[i] = asyncrig_adder("part", one, sum, sum);
        OK(e5rt_execution_stream_operation_bind_completion_event(operation[i], done));
        if (i == 1)
            OK(e5rt_execution_stream_operation_bind_dependent_events(operation[i], &go, 1));
        OK(e5rt_execution_stream_encode_operation(stream, operation[i]));
    }
    asyncrig_make(&after, "after", one, other, other, NULL, done);
    OK(e5rt_async_event_set_active_future_value(go, 1));
    OK(e5rt_execution_stream_submit_async(stream, asyncrig_tell, &told));
    asyncrig_submit(&after);
    OK(e5rt_async_event_sync_wait(done, 1, ASYNCRIG_LONG_NS));
    assert_true(asyncrig_value(sum) == 1);
    assert_true(mach_enter(machine));
    sabotage_begin(&sabotage, machine, SABOTAGE_ZERO_BAR);
    mach_leave(machine);
    OK(e5rt_async_event_signal(go, 1));
    asyncrig_failed(&told, "Operation part failed");
    assert_true(mach_enter(machine));
    sabotage_end(&sabotage);
    mach_leave(machine);
    asyncrig_failed(&after.told, "event done will not reach 3");
    FAILS(e5rt_async_event_sync_wait(done, 2, ASYNCRIG_LONG_NS), E5RT_INVALID_OPERATION, "will not reach 2");
    assert_true(asyncrig_value(sum) == 1 && asyncrig_value(other) == 0 && asyncrig_last(done) == 1);
    /* Everything goes on. */
    OK(e5rt_execution_stream_submit_async(stream, asyncrig_tell, &told));
    asyncrig_ok(&told, 1);
    asyncrig_submit(&after);
    asyncrig_ok(&after.told, 1);
    assert_true(asyncrig_value(sum) == 4 && asyncrig_value(other) == 1 && asyncrig_last(done) == 6);
    OK(e5rt_execution_stream_release(&stream));
    for (unsigned i = 0; i < 3; i++)
        OK(e5rt_execution_stream_operation_release(&operation[i]));
    asyncrig_end(&after);
    OK(e5rt_async_event_release(&go));
    OK(e5rt_async_event_release(&done));
    OK(e5rt_buffer_object_release(&one));
    OK(e5rt_buffer_object_release(&sum));
    OK(e5rt_buffer_object_release(&other));
}

static void a_timeout_passes_before_an_operation_begins(void **state)
{
    e5rt_buffer_object_t one = asyncrig_buffer(1), sum = asyncrig_buffer(0);
    e5rt_async_event_t go = asyncrig_event("go"), done = asyncrig_event("done");
    struct asyncrig_stream chain;

    (void)state;
    asyncrig_make(&chain, "late", one, sum, sum, done, go);
    OK(e5rt_async_event_set_active_future_value(go, 1));
    OK(e5rt_execution_stream_submit_async_with_timeout(chain.stream, asyncrig_tell, &chain.told, 10));
    asyncrig_failed(&chain.told, "operation 1 of 1, late, had not begun");
    FAILS(e5rt_async_event_sync_wait(done, 1, ASYNCRIG_LONG_NS), E5RT_INVALID_OPERATION, "will not reach 1");
    OK(e5rt_async_event_signal(go, 1));
    OK(e5rt_execution_stream_submit_async_with_timeout(chain.stream, asyncrig_tell, &chain.told, UINT64_MAX));
    asyncrig_ok(&chain.told, 1);
    assert_true(asyncrig_value(sum) == 1 && asyncrig_last(done) == 2);
    assert_int_equal(atomic_load(&chain.told.count), 2);
    asyncrig_end(&chain);
    OK(e5rt_async_event_release(&go));
    OK(e5rt_async_event_release(&done));
    OK(e5rt_buffer_object_release(&one));
    OK(e5rt_buffer_object_release(&sum));
}

/* The completion function is called once; the stream is busy until the late completion. */
static void a_timeout_passes_and_the_completion_is_late(void **state)
{
    e5rt_buffer_object_t one, sum;
    e5rt_execution_stream_config_options_t options;
    e5rt_async_event_t done;
    struct asyncrig_stream chain, other;

    (void)state;
    e5rig_needs_own_machine("it holds the machine");
    one = asyncrig_buffer(1);
    sum = asyncrig_buffer(0);
    done = asyncrig_event("done");
    asyncrig_make(&chain, "late", one, sum, sum, done, NULL);
    OK(e5rt_execution_stream_config_options_create(&options));
    OK(e5rt_execution_stream_config_options_set_enable_low_latency_async_events(options, 1));
    OK(e5rt_execution_stream_set_config_options(chain.stream, options)); /* sent when the call returns */
    OK(e5rt_execution_stream_config_options_release(&options));
    asyncrig_make(&other, "other", one, one, sum, NULL, NULL);
    asyncrig_hold();
    OK(e5rt_execution_stream_submit_async(other.stream, asyncrig_tell, &other.told));
    OK(e5rt_execution_stream_submit_async_with_timeout(chain.stream, asyncrig_tell, &chain.told, 20));
    asyncrig_failed(&chain.told, "late, is with the driver");
    FAILS(e5rt_execution_stream_submit_async(chain.stream, asyncrig_tell, &chain.told),
          E5RT_INVALID_OPERATION, "has been submitted");
    FAILS(e5rt_execution_stream_execute_sync(chain.stream), E5RT_INVALID_OPERATION, "has been submitted");
    FAILS(e5rt_execution_stream_reset(chain.stream), E5RT_INVALID_OPERATION, "has been submitted");
    FAILS(e5rt_execution_stream_encode_operation(chain.stream, other.operation), E5RT_INVALID_OPERATION,
          "has been submitted");
    FAILS(e5rt_execution_stream_set_config_options(chain.stream, NULL), E5RT_INVALID_OPERATION,
          "has been submitted");
    assert_int_equal(atomic_load(&other.told.count), 0);
    asyncrig_let_go();
    asyncrig_ok(&other.told, 1);
    asyncrig_await_idle(chain.stream);
    assert_int_equal(atomic_load(&chain.told.count), 1);
    assert_true(asyncrig_last(done) == 0);
    asyncrig_submit(&chain);
    asyncrig_ok(&chain.told, 1);
    assert_true(asyncrig_last(done) == 2);
    asyncrig_end(&chain);
    asyncrig_end(&other);
    OK(e5rt_async_event_release(&done));
    OK(e5rt_buffer_object_release(&one));
    OK(e5rt_buffer_object_release(&sum));
}

/* A later value of the same event is lost first: what waits for an earlier one still gets it. */
static void a_loss_is_of_one_value(void **state)
{
    e5rt_buffer_object_t one, sum, other;
    e5rt_async_event_t go, done;
    struct asyncrig_stream first, second, reader;

    (void)state;
    e5rig_needs_own_machine("it holds the machine");
    one = asyncrig_buffer(1);
    sum = asyncrig_buffer(0);
    other = asyncrig_buffer(0);
    go = asyncrig_event("go");
    done = asyncrig_event("done");
    asyncrig_make(&first, "first", one, sum, sum, done, NULL);
    asyncrig_make(&second, "second", one, one, one, done, go);
    asyncrig_make(&reader, "reader", one, sum, other, NULL, done);
    asyncrig_hold();
    asyncrig_submit(&first);
    asyncrig_submit(&reader); /* needs 1 */
    OK(e5rt_async_event_set_active_future_value(go, 1));
    OK(e5rt_execution_stream_submit_async_with_timeout(second.stream, asyncrig_tell, &second.told, 10));
    asyncrig_failed(&second.told, "second, had not begun"); /* 2 is lost */
    FAILS(e5rt_async_event_sync_wait(done, 2, ASYNCRIG_LONG_NS), E5RT_INVALID_OPERATION, "will not reach 2");
    assert_int_equal(atomic_load(&reader.told.count), 0);
    asyncrig_let_go();
    OK(e5rt_async_event_sync_wait(done, 1, ASYNCRIG_LONG_NS));
    asyncrig_ok(&first.told, 1);
    asyncrig_ok(&reader.told, 1);
    assert_true(asyncrig_value(other) == 2 && asyncrig_last(done) == 1);
    asyncrig_end(&first);
    asyncrig_end(&second);
    asyncrig_end(&reader);
    OK(e5rt_async_event_release(&go));
    OK(e5rt_async_event_release(&done));
    OK(e5rt_buffer_object_release(&one));
    OK(e5rt_buffer_object_release(&sum));
    OK(e5rt_buffer_object_release(&other));
}

/* Another thread has submitted the stream after the caller saw it idle: it is in the list once. */
static void a_stream_is_submitted_once(void **state)
{
    e5rt_buffer_object_t one, sum;
    struct asyncrig_stream chain;

    (void)state;
    e5rig_needs_own_machine("it holds the machine");
    one = asyncrig_buffer(1);
    sum = asyncrig_buffer(0);
    asyncrig_make(&chain, "once", one, sum, sum, NULL, NULL);
    asyncrig_hold();
    asyncrig_submit(&chain);
    FAILS(e5_async_submit(chain.stream, asyncrig_tell, &chain.told, UINT64_MAX), E5RT_INVALID_OPERATION,
          "by another thread");
    asyncrig_let_go();
    asyncrig_ok(&chain.told, 1);
    asyncrig_await_idle(chain.stream);
    assert_true(asyncrig_value(sum) == 1 && atomic_load(&chain.told.count) == 1);
    asyncrig_end(&chain);
    OK(e5rt_buffer_object_release(&one));
    OK(e5rt_buffer_object_release(&sum));
}

/* A stream that has failed is idle only when its own thread has done with it: the operation goes at once. */
static void a_failed_stream_is_reset_at_once(void **state)
{
    e5rt_buffer_object_t one = asyncrig_buffer(1), sum = asyncrig_buffer(0);
    e5rt_async_event_t go = asyncrig_event("go"), done = asyncrig_event("done");
    struct asyncrig_stream chain;

    (void)state;
    OK(e5rt_async_event_set_active_future_value(go, 1));
    for (unsigned i = 0; i < 50; i++) {
        asyncrig_make(&chain, "short", one, sum, sum, done, go);
        OK(e5rt_execution_stream_submit_async_with_timeout(chain.stream, asyncrig_tell, &chain.told, 1));
        OK(e5rt_execution_stream_operation_release(&chain.operation));
        while (e5rt_execution_stream_reset(chain.stream))
            ;
        asyncrig_failed(&chain.told, "had not begun");
        OK(e5rt_execution_stream_release(&chain.stream));
    }
    OK(e5rt_async_event_release(&go));
    OK(e5rt_async_event_release(&done));
    OK(e5rt_buffer_object_release(&one));
    OK(e5rt_buffer_object_release(&sum));
}

/* Released in every order while their work is outstanding; the memory is good until the end. */
static void handles_are_released_with_work_outstanding(void **state)
{
    (void)state;
    e5rig_needs_own_machine("it holds the machine");
    for (unsigned order = 0; order < 6; order++) {
        e5rt_buffer_object_t one = asyncrig_buffer(1), sum = asyncrig_buffer(0), kept = asyncrig_buffer(0);
        e5rt_async_event_t go = asyncrig_event("go"), again = NULL;
        struct asyncrig_stream chain, reader;

        asyncrig_make(&chain, "gone", one, sum, sum, go, NULL);
        asyncrig_make(&reader, "reader", sum, kept, kept, NULL, go);
        OK(e5rt_execution_stream_operation_retain_completion_event(chain.operation, &again));
        asyncrig_hold();
        asyncrig_submit(&chain);
        asyncrig_submit(&reader);
        for (unsigned i = 0; i < 6; i++) {
            switch ((i + order) % 6) {
            case 0: OK(e5rt_execution_stream_release(&chain.stream)); break;
            case 1: OK(e5rt_execution_stream_operation_release(&chain.operation)); break;
            case 2: OK(e5rt_async_event_release(&go)); break;
            case 3: OK(e5rt_buffer_object_release(&one)); break;
            case 4: OK(e5rt_buffer_object_release(&sum)); break;
            default: OK(e5rt_execution_stream_release(&reader.stream)); break;
            }
        }
        asyncrig_let_go();
        OK(e5rt_async_event_sync_wait(again, 1, ASYNCRIG_LONG_NS));
        asyncrig_ok(&chain.told, 1);
        asyncrig_ok(&reader.told, 1);
        assert_true(asyncrig_value(kept) == 1);
        OK(e5rt_execution_stream_operation_release(&reader.operation));
        OK(e5rt_async_event_release(&again));
        OK(e5rt_buffer_object_release(&kept));
    }
}

/* A completion function that submits its stream again, and at the end releases it. */
struct loop {
    struct asyncrig_told told;
    e5rt_execution_stream_t stream;
    e5rt_async_event_t event;
    unsigned left;
};

static void go_on(void *context, int64_t status, const char *message)
{
    struct loop *loop = context;

    if (status || !loop->left) {
        e5rt_execution_stream_release(&loop->stream);
        asyncrig_tell(&loop->told, status, message);
        return;
    }
    loop->left--;
    if (e5rt_async_event_sync_wait(loop->event, 1000, ASYNCRIG_LONG_NS) != E5RT_INVALID_OPERATION ||
        !strstr(e5rt_get_last_error_message(), "a completion callback cannot wait") ||
        (loop->left % 2 && e5rt_execution_stream_execute_sync(loop->stream)) ||
        e5rt_execution_stream_submit_async(loop->stream, go_on, loop))
        asyncrig_tell(&loop->told, E5RT_INVALID_OPERATION, "a call of the completion function went wrong");
}

static void a_completion_function_goes_on(void **state)
{
    e5rt_buffer_object_t one = asyncrig_buffer(1), sum = asyncrig_buffer(0);
    e5rt_async_event_t done = asyncrig_event("done");
    struct asyncrig_stream chain;
    struct loop loop;

    (void)state;
    asyncrig_make(&chain, "loop", one, sum, sum, done, NULL);
    loop = (struct loop){.stream = chain.stream, .event = done, .left = 10};
    asyncrig_told_begin(&loop.told);
    OK(e5rt_execution_stream_submit_async(chain.stream, go_on, &loop));
    asyncrig_ok(&loop.told, 1);
    assert_null(loop.stream);
    assert_true(asyncrig_value(sum) == 11 + 5 && asyncrig_last(done) == 11);
    OK(e5rt_execution_stream_operation_release(&chain.operation));
    OK(e5rt_async_event_release(&done));
    OK(e5rt_buffer_object_release(&one));
    OK(e5rt_buffer_object_release(&sum));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(completion_events_rise_under_submission_alone),
        cmocka_unit_test(dependent_events_order_streams),
        cmocka_unit_test(overlapped_streams_all_complete),
        cmocka_unit_test(low_latency_sends_at_once),
        cmocka_unit_test(a_failure_ends_the_stream_and_what_waits_for_it),
        cmocka_unit_test(a_timeout_passes_before_an_operation_begins),
        cmocka_unit_test(a_timeout_passes_and_the_completion_is_late),
        cmocka_unit_test(a_loss_is_of_one_value),
        cmocka_unit_test(a_stream_is_submitted_once),
        cmocka_unit_test(a_failed_stream_is_reset_at_once),
        cmocka_unit_test(handles_are_released_with_work_outstanding),
        cmocka_unit_test(a_completion_function_goes_on),
    };

    return cmocka_run_group_tests_name("runtime_async", tests, asyncrig_open, asyncrig_close);
}
