/* SPDX-License-Identifier: Apache-2.0 */
/* Async events of the runtime, refusals of submission, and what a fork and a lack of memory do to it. */
#include "support.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "asyncrig.h"
#include "base/alloc.h"

/* Eight threads wait for values that a ninth signals, and submit each other's dependencies. */
struct waiter {
    pthread_t thread;
    e5rt_async_event_t event;
    uint64_t value;
    int64_t status;
};

static void *wait_for(void *context)
{
    struct waiter *waiter = context;

    waiter->status = e5rt_async_event_sync_wait(waiter->event, waiter->value, ASYNCRIG_LONG_NS);
    return NULL;
}

static void threads_wait_for_one_event(void **state)
{
    enum { WAITERS = 8 };
    e5rt_async_event_t event = asyncrig_event("shared");
    struct waiter waiter[WAITERS];

    (void)state;
    for (unsigned i = 0; i < WAITERS; i++) {
        waiter[i] = (struct waiter){.event = event, .value = i + 1};
        assert_int_equal(pthread_create(&waiter[i].thread, NULL, wait_for, &waiter[i]), 0);
    }
    for (unsigned i = 0; i < WAITERS; i++)
        OK(e5rt_async_event_signal(event, i + 1));
    for (unsigned i = 0; i < WAITERS; i++) {
        pthread_join(waiter[i].thread, NULL);
        assert_int_equal(waiter[i].status, E5RT_OK);
    }
    OK(e5rt_async_event_release(&event));
}

static void wrong_calls_are_refused(void **state)
{
    e5rt_buffer_object_t one = asyncrig_buffer(1), sum = asyncrig_buffer(0);
    e5rt_async_event_t event, got[2] = {NULL, NULL}, list[E5RT_DEPENDENT_EVENTS_MAX + 1];
    e5rt_execution_stream_operation_t operation = asyncrig_adder("op", one, sum, sum);
    e5rt_execution_stream_t stream;
    char name[129];
    const char *told_name;
    struct asyncrig_told told;
    uint64_t count;

    (void)state;
    asyncrig_told_begin(&told);
    memset(name, 'n', 128);
    name[128] = '\0';
    FAILS(e5rt_async_event_create(NULL, "a", 0), E5RT_INVALID_ARGUMENT, "NULL");
    FAILS(e5rt_async_event_create(&event, NULL, 0), E5RT_INVALID_ARGUMENT, "eventName is NULL");
    FAILS(e5rt_async_event_create(&event, name, 0), E5RT_INVALID_ARGUMENT, "the limit is 127");
    name[127] = '\0';
    OK(e5rt_async_event_create(&event, name, 3));
    OK(e5rt_async_event_get_name(event, &told_name));
    assert_string_equal(told_name, name);
    assert_int_equal(asyncrig_last(event), 3);
    FAILS(e5rt_async_event_signal(event, 2), E5RT_INVALID_ARGUMENT, "values only rise");
    FAILS(e5rt_async_event_set_active_future_value(event, 2), E5RT_INVALID_ARGUMENT, "values only rise");
    OK(e5rt_async_event_signal(event, 3));
    OK(e5rt_async_event_sync_wait(event, 3, 0));
    FAILS(e5rt_async_event_get_name(event, NULL), E5RT_INVALID_ARGUMENT, "NULL");
    FAILS(e5rt_async_event_get_last_signaled_value(NULL, &count), E5RT_INVALID_ARGUMENT, "NULL");
    FAILS(e5rt_async_event_get_active_future_value(event, NULL), E5RT_INVALID_ARGUMENT, "NULL");

    for (unsigned i = 0; i <= E5RT_DEPENDENT_EVENTS_MAX; i++)
        list[i] = event;
    FAILS(e5rt_execution_stream_operation_bind_dependent_events(operation, list, 17), E5RT_OUT_OF_BOUNDS,
          "the limit is 16");
    FAILS(e5rt_execution_stream_operation_bind_dependent_events(operation, NULL, 1), E5RT_INVALID_ARGUMENT,
          "NULL");
    list[1] = NULL;
    FAILS(e5rt_execution_stream_operation_bind_dependent_events(operation, list, 2), E5RT_INVALID_ARGUMENT,
          "NULL");
    list[1] = event;
    OK(e5rt_execution_stream_operation_bind_dependent_events(operation, list, E5RT_DEPENDENT_EVENTS_MAX));
    OK(e5rt_execution_stream_operation_bind_dependent_events(operation, list, 2));
    OK(e5rt_execution_stream_operation_get_dependent_event_count(operation, &count));
    assert_int_equal(count, 2);
    FAILS(e5rt_execution_stream_operation_retain_dependent_events(operation, 3, got), E5RT_OUT_OF_BOUNDS,
          "depends on 2");
    base_alloc_fail_nth(2);
    FAILS(e5rt_execution_stream_operation_retain_dependent_events(operation, 2, got), E5RT_NO_MEMORY,
          "an event");
    base_alloc_fail_nth(0);
    assert_true(!got[0] && !got[1]);
    OK(e5rt_execution_stream_operation_retain_dependent_events(operation, 2, got));
    OK(e5rt_async_event_release(&got[0]));
    OK(e5rt_async_event_release(&got[1]));
    FAILS(e5rt_execution_stream_operation_retain_completion_event(operation, got), E5RT_INVALID_OPERATION,
          "no completion event");
    OK(e5rt_execution_stream_operation_bind_completion_event(operation, event));
    OK(e5rt_execution_stream_operation_bind_completion_event(operation, NULL));
    OK(e5rt_execution_stream_operation_bind_dependent_events(operation, NULL, 0));

    OK(e5rt_execution_stream_create(&stream));
    FAILS(e5rt_execution_stream_submit_async(stream, asyncrig_tell, &told), E5RT_INVALID_OPERATION,
          "no encoded");
    OK(e5rt_execution_stream_encode_operation(stream, operation));
    FAILS(e5rt_execution_stream_submit_async(stream, NULL, &told), E5RT_INVALID_ARGUMENT,
          "the completion function is NULL");
    FAILS(e5rt_execution_stream_submit_async_with_timeout(stream, NULL, &told, 1), E5RT_INVALID_ARGUMENT,
          "the completion function is NULL");
    FAILS(e5rt_execution_stream_submit_async(NULL, asyncrig_tell, &told), E5RT_INVALID_ARGUMENT, "NULL");
    FAILS(e5rt_execution_stream_async_submit(stream), E5RT_INVALID_OPERATION,
          "use e5rt_execution_stream_submit_async");
    FAILS(e5rt_execution_stream_async_submit(NULL), E5RT_INVALID_ARGUMENT, "NULL");
    FAILS(e5rt_execution_stream_operation_bind_completion_event(operation, event), E5RT_INVALID_OPERATION,
          "has been encoded");
    FAILS(e5rt_execution_stream_operation_bind_dependent_events(operation, list, 1), E5RT_INVALID_OPERATION,
          "has been encoded");
    FAILS(e5rt_execution_stream_config_options_create(NULL), E5RT_INVALID_ARGUMENT, "NULL");
    assert_int_equal(atomic_load(&told.count), 0);
    OK(e5rt_execution_stream_release(&stream));
    OK(e5rt_execution_stream_operation_release(&operation));
    OK(e5rt_async_event_release(&event));
    OK(e5rt_buffer_object_release(&one));
    OK(e5rt_buffer_object_release(&sum));
}

/* Without a thread nothing is submitted, and the next submission tries again. Runs before all others. */
static void a_thread_cannot_be_made(void **state)
{
    e5rt_buffer_object_t one = asyncrig_buffer(1), sum = asyncrig_buffer(0);
    e5rt_async_event_t event = NULL;
    struct asyncrig_stream chain;

    (void)state;
    base_alloc_fail_nth(1);
    FAILS(e5rt_async_event_create(&event, "none", 0), E5RT_NO_MEMORY, "an event");
    base_alloc_fail_nth(0);
    asyncrig_make(&chain, "first", one, sum, sum, NULL, NULL);
    base_alloc_fail_nth(1);
    FAILS(e5rt_execution_stream_submit_async(chain.stream, asyncrig_tell, &chain.told), E5RT_NO_MEMORY,
          "No thread");
    base_alloc_fail_nth(0);
    asyncrig_submit(&chain);
    asyncrig_ok(&chain.told, 1);
    asyncrig_end(&chain);
    OK(e5rt_buffer_object_release(&one));
    OK(e5rt_buffer_object_release(&sum));
}

/* What was submitted before a fork does not go on in the child, which submits anew. */
static void a_forked_child_submits_anew(void **state)
{
    e5rt_buffer_object_t one = asyncrig_buffer(1), sum = asyncrig_buffer(0);
    e5rt_async_event_t go = asyncrig_event("go");
    struct asyncrig_stream chain;
    int status;
    pid_t child;

    (void)state;
#if defined(__SANITIZE_THREAD__)
    skip(); /* this sanitizer allows a child no thread of its own */
#endif
    asyncrig_make(&chain, "forked", one, sum, sum, NULL, go);
    OK(e5rt_async_event_set_active_future_value(go, 1));
    asyncrig_submit(&chain);
    child = fork();
    if (child == 0) {
        const struct td_shape shape = {1, 1, 1, ASYNCRIG_HALFS};
        struct asyncrig_stream own;

        OK(e5rt_execution_stream_reset(chain.stream));
        e5rig_write_adder("child.hwx", &shape, 1);
        e5rig_model_open(&asyncrig_model, folder_path("child.hwx"));
        one = asyncrig_buffer(1);
        sum = asyncrig_buffer(4);
        asyncrig_make(&own, "own", one, sum, sum, NULL, NULL);
        asyncrig_submit(&own);
        asyncrig_ok(&own.told, 1);
        _exit(asyncrig_value(sum) == 5 && atomic_load(&chain.told.count) == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    OK(e5rt_async_event_signal(go, 1));
    asyncrig_ok(&chain.told, 1);
    assert_true(asyncrig_value(sum) == 1);
    asyncrig_end(&chain);
    OK(e5rt_async_event_release(&go));
    OK(e5rt_buffer_object_release(&one));
    OK(e5rt_buffer_object_release(&sum));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_cannot_be_made),
        cmocka_unit_test(threads_wait_for_one_event),
        cmocka_unit_test(wrong_calls_are_refused),
        cmocka_unit_test(a_forked_child_submits_anew),
    };

    return cmocka_run_group_tests_name("runtime_events", tests, asyncrig_open, asyncrig_close);
}
