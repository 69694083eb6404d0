/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream: encoded operations, run in order. An operation is in one stream at most, which keeps it alive
 * until it is reset or ends.
 */
#include "base/alloc.h"
#include "runtime/operation.h"

#define FIRST_CAPACITY 4u

struct slot {
    e5rt_execution_stream_operation_t operation; /* kept */
};

struct e5rt_execution_stream {
    struct e5_handle handle;
    struct slot *slot;
    size_t count, capacity;
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

static bool make_room(e5rt_execution_stream_t stream)
{
    size_t capacity = stream->capacity ? 2 * stream->capacity : FIRST_CAPACITY;
    struct slot *more;

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
    int64_t status = e5_check(stream, E5_STREAM, __func__);

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
    int64_t status = e5_check(stream, E5_STREAM, __func__);

    if (status)
        return status;
    if (!stream->count)
        return e5_fail(E5RT_INVALID_OPERATION, "The stream has no encoded operation to execute.");
    for (size_t i = 0; i < stream->count && !status; i++)
        status = e5_operation_run(stream->slot[i].operation);
    return status;
}

/* The device rejects it for a fresh stream; here that is accepted without effect. */
int64_t e5rt_execution_stream_reset(e5rt_execution_stream_t stream)
{
    int64_t status = e5_check(stream, E5_STREAM, __func__);

    if (!status)
        reset(stream);
    return status;
}

int64_t e5rt_execution_stream_release(e5rt_execution_stream_t *stream)
{
    return e5_handle_release(stream, E5_STREAM, __func__);
}
