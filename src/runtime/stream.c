/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream: encoded operations, run in order. An operation is in one stream at most, which keeps it alive
 * until it is reset or ends.
 */
#include "runtime/stream.h"

#include "base/alloc.h"
#include "runtime/async.h"

#define FIRST_CAPACITY 4u
#define NS_PER_MS      1000000u

struct e5rt_execution_stream_config_options {
    struct e5_handle handle;
    bool low_latency;
};

static void reset(e5rt_execution_stream_t stream)
{
    for (size_t i = 0; i < stream->count; i++) {
        stream->slot[i].operation->encoded = false;
        e5_handle_drop(stream->slot[i].operation);
    }
    stream->count = 0;
}

static void end(void *handle)
{
    e5rt_execution_stream_t stream = handle;

    reset(stream);
    base_free(stream->slot);
}

int64_t e5rt_execution_stream_create(e5rt_execution_stream_t *stream)
{
    int64_t status = e5_check_given(stream, "the place for the stream", __func__);

    if (status)
        return status;
    *stream = e5_handle_make(E5_STREAM, sizeof(**stream), end);
    return *stream ? E5RT_OK : e5_fail_memory("a stream");
}

/* A stream whose operations do not run. */
static int64_t check_idle(e5rt_execution_stream_t stream, const char *call)
{
    int64_t status = e5_check(stream, E5_STREAM, call);

    if (!status && atomic_load_explicit(&stream->busy, memory_order_acquire))
        status = e5_fail(E5RT_INVALID_OPERATION,
                         "%s: the stream has been submitted, and its work is not done yet.", call);
    return status;
}

static int64_t check_filled(e5rt_execution_stream_t stream, const char *call)
{
    int64_t status = check_idle(stream, call);

    if (!status && !stream->count)
        status = e5_fail(E5RT_INVALID_OPERATION, "The stream has no encoded operation to execute.");
    return status;
}

static bool make_room(e5rt_execution_stream_t stream)
{
    size_t capacity = stream->capacity ? 2 * stream->capacity : FIRST_CAPACITY;
    struct e5_slot *more;

    if (stream->count < stream->capacity)
        return true;
    more = base_realloc(stream->slot, capacity * sizeof(*more));
    if (!more)
        return false;
    stream->slot = more;
    stream->capacity = capacity;
    return true;
}

int64_t e5rt_execution_stream_encode_operation(e5rt_execution_stream_t stream,
                                               e5rt_execution_stream_operation_t operation)
{
    int64_t status = check_idle(stream, __func__);

    if (!status)
        status = e5_check(operation, E5_OPERATION, __func__);
    if (status)
        return status;
    if (operation->encoded)
        return e5_fail(E5RT_INVALID_OPERATION,
                       "Op %s has already been encoded; it can be encoded again after its stream is reset.",
                       operation->name);
    status = e5_operation_arrange(operation);
    if (status)
        return status;
    if (!make_room(stream))
        return e5_fail_memory("the stream's operations");
    stream->slot[stream->count++].operation = e5_handle_keep(operation);
    operation->encoded = true;
    return E5RT_OK;
}

int64_t e5rt_execution_stream_execute_sync(e5rt_execution_stream_t stream)
{
    int64_t status = check_filled(stream, __func__);

    for (size_t i = 0; !status && i < stream->count; i++)
        status = e5_operation_run(stream->slot[i].operation);
    return status;
}

/* The device rejects it for a fresh stream; here that is accepted without effect. */
int64_t e5rt_execution_stream_reset(e5rt_execution_stream_t stream)
{
    int64_t status = check_idle(stream, __func__);

    if (!status)
        reset(stream);
    return status;
}

int64_t e5rt_execution_stream_release(e5rt_execution_stream_t *stream)
{
    return e5_handle_release(stream, E5_STREAM, __func__);
}

/* Submission. */

static int64_t submit(e5rt_execution_stream_t stream, e5rt_async_completion_t completion, void *context,
                      uint64_t timeout_ns, const char *call)
{
    int64_t status = check_filled(stream, call);

    if (!status)
        status = e5_check_given((const void *)(uintptr_t)completion, "the completion function", call);
    return status ? status : e5_async_submit(stream, completion, context, timeout_ns);
}

int64_t e5rt_execution_stream_submit_async(e5rt_execution_stream_t stream, e5rt_async_completion_t completion,
                                           void *context)
{
    return submit(stream, completion, context, UINT64_MAX, __func__);
}

int64_t e5rt_execution_stream_submit_async_with_timeout(e5rt_execution_stream_t stream,
                                                        e5rt_async_completion_t completion, void *context,
                                                        uint64_t timeout_ms)
{
    return submit(stream, completion, context,
                  timeout_ms > UINT64_MAX / NS_PER_MS ? UINT64_MAX : timeout_ms * NS_PER_MS, __func__);
}

int64_t e5rt_execution_stream_async_submit(e5rt_execution_stream_t stream)
{
    int64_t status = e5_check(stream, E5_STREAM, __func__);

    return status ? status
                  : e5_fail(E5RT_INVALID_OPERATION,
                            "%s is obsolete; use e5rt_execution_stream_submit_async, which takes a "
                            "completion function.",
                            __func__);
}

/* Options. */

int64_t e5rt_execution_stream_config_options_create(e5rt_execution_stream_config_options_t *options)
{
    int64_t status = e5_check_given(options, "the place for the options", __func__);

    if (status)
        return status;
    *options = e5_handle_make(E5_STREAM_OPTIONS, sizeof(**options), NULL);
    return *options ? E5RT_OK : e5_fail_memory("options");
}

int64_t e5rt_execution_stream_config_options_release(e5rt_execution_stream_config_options_t *options)
{
    return e5_handle_release(options, E5_STREAM_OPTIONS, __func__);
}

int64_t e5rt_execution_stream_config_options_set_enable_low_latency_async_events(
    e5rt_execution_stream_config_options_t options, int enable)
{
    int64_t status = e5_check(options, E5_STREAM_OPTIONS, __func__);

    if (!status)
        options->low_latency = enable;
    return status;
}

int64_t e5rt_execution_stream_config_options_get_enable_low_latency_async_events(
    e5rt_execution_stream_config_options_t options, int *enabled)
{
    int64_t status = e5_check(options, E5_STREAM_OPTIONS, __func__);

    if (!status)
        status = e5_check_given(enabled, "the place for the answer", __func__);
    if (!status)
        *enabled = options->low_latency;
    return status;
}

int64_t e5rt_execution_stream_set_config_options(e5rt_execution_stream_t stream,
                                                 e5rt_execution_stream_config_options_t options)
{
    int64_t status = check_idle(stream, __func__);

    if (!status)
        status = e5_check_optional(options, E5_STREAM_OPTIONS, __func__);
    if (!status)
        stream->low_latency = options && options->low_latency;
    return status;
}
