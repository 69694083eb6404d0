/* SPDX-License-Identifier: Apache-2.0 */
#include "asyncrig.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <anemone/iokit.h>

#include "machine/internal.h"
#include "support.h"

struct e5rig_model asyncrig_model;
static pthread_t main_thread;

e5rt_buffer_object_t asyncrig_buffer(double value)
{
    e5rt_buffer_object_t buffer = e5rig_buffer(2 * ASYNCRIG_HALFS);
    uint16_t *at = e5rig_data(buffer);

    for (unsigned i = 0; i < ASYNCRIG_HALFS; i++)
        at[i] = test_half_from_double(value);
    return buffer;
}

double asyncrig_value(e5rt_buffer_object_t buffer)
{
    return test_half_to_double(((const uint16_t *)e5rig_data(buffer))[ASYNCRIG_HALFS - 1]);
}

e5rt_execution_stream_operation_t asyncrig_adder(const char *name, e5rt_buffer_object_t x,
                                                 e5rt_buffer_object_t in, e5rt_buffer_object_t out)
{
    e5rt_execution_stream_operation_t operation = e5rig_operation(asyncrig_model.function, name);

    e5rig_bind(operation, "x", x);
    e5rig_bind(operation, "state_in", in);
    e5rig_bind(operation, "state_out", out);
    return operation;
}

e5rt_async_event_t asyncrig_event(const char *name)
{
    e5rt_async_event_t event;

    OK(e5rt_async_event_create(&event, name, 0));
    return event;
}

uint64_t asyncrig_last(e5rt_async_event_t event)
{
    uint64_t value = 0;

    OK(e5rt_async_event_get_last_signaled_value(event, &value));
    return value;
}

/* What completion functions were told. */

void asyncrig_told_begin(struct asyncrig_told *told)
{
    memset(told, 0, sizeof(*told));
    sem_init(&told->calls, 0, 0);
}

void asyncrig_tell(void *context, int64_t status, const char *message)
{
    struct asyncrig_told *told = context;

    told->status = status;
    snprintf(told->message, sizeof(told->message), "%s", message);
    told->elsewhere = !pthread_equal(pthread_self(), main_thread);
    atomic_fetch_add(&told->count, 1);
    sem_post(&told->calls);
}

static void await_call(struct asyncrig_told *told)
{
    while (sem_wait(&told->calls))
        ;
}

void asyncrig_ok(struct asyncrig_told *told, unsigned calls)
{
    for (unsigned i = 0; i < calls; i++)
        await_call(told);
    if (told->status)
        fail_msg("status %ld: %s", (long)told->status, told->message);
    assert_string_equal(told->message, "");
    assert_true(told->elsewhere);
}

void asyncrig_failed(struct asyncrig_told *told, const char *word)
{
    await_call(told);
    assert_true(told->elsewhere);
    assert_int_equal(told->status, E5RT_INVALID_OPERATION);
    if (!strstr(told->message, word))
        fail_msg("\"%s\" does not have \"%s\"", told->message, word);
}

/* Until the stream's submission has come to its end. */
void asyncrig_await_idle(e5rt_execution_stream_t stream)
{
    while (e5rt_execution_stream_set_config_options(stream, NULL))
        usleep(1000);
}

/* One operation in a stream of its own. */

void asyncrig_make(struct asyncrig_stream *chain, const char *name, e5rt_buffer_object_t x,
                   e5rt_buffer_object_t in, e5rt_buffer_object_t out, e5rt_async_event_t completion,
                   e5rt_async_event_t dependent)
{
    chain->operation = asyncrig_adder(name, x, in, out);
    OK(e5rt_execution_stream_operation_bind_completion_event(chain->operation, completion));
    if (dependent)
        OK(e5rt_execution_stream_operation_bind_dependent_events(chain->operation, &dependent, 1));
    OK(e5rt_execution_stream_create(&chain->stream));
    OK(e5rt_execution_stream_encode_operation(chain->stream, chain->operation));
    asyncrig_told_begin(&chain->told);
}

void asyncrig_submit(struct asyncrig_stream *chain)
{
    OK(e5rt_execution_stream_submit_async(chain->stream, asyncrig_tell, &chain->told));
}

void asyncrig_end(struct asyncrig_stream *chain)
{
    OK(e5rt_execution_stream_release(&chain->stream));
    OK(e5rt_execution_stream_operation_release(&chain->operation));
}

/* Virtual time stands still from `begin` to `end`. */

/* As an injected call does that runs and does not wait. */
void asyncrig_hold(void)
{
    struct ane_machine *machine;

    assert_int_equal(ane_machine_default(NULL, &machine), 0);
    assert_true(mach_enter(machine));
    mach_lock_act_begin(&machine->lock);
    mach_leave(machine);
}

void asyncrig_let_go(void)
{
    struct ane_machine *machine;
    struct mach_act act;

    assert_int_equal(ane_machine_default(NULL, &machine), 0);
    mach_lock_act_adopt(&machine->lock, &act);
    mach_lock_act_end(&act);
}

int asyncrig_open(void **state)
{
    const struct td_shape shape = {1, 1, 1, ASYNCRIG_HALFS};

    (void)state;
    main_thread = pthread_self();
    e5rig_write_adder("add.hwx", &shape, 1);
    e5rig_model_open(&asyncrig_model, folder_path("add.hwx"));
    return 0;
}

int asyncrig_close(void **state)
{
    (void)state;
    e5rig_model_close(&asyncrig_model);
    return 0;
}
