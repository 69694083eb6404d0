/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every handle begins with. A mark is LIVE or RELEASED plus the kind, and is changed to RELEASED when
 * the last reference is dropped. Memory of a handle is never freed, only used again for the same kind, and
 * not before KEPT others have been released: so reading the mark of a stale handle is safe, and usually shows
 * what it is. The lock protects the lists alone and is taken inside all others.
 */
#include "runtime/handle.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"

#define LIVE     0xe5a0c0deu
#define RELEASED 0xe5dead00u
#define KEPT     32u /* released handles of a kind that wait before memory is used again */

static const char *const kind_name[E5_KINDS] = {
    [E5_COMPILER] = "e5rt_e5_compiler_t",
    [E5_CONFIG] = "e5rt_e5_compiler_config_options_t",
    [E5_OPTIONS] = "e5rt_e5_compiler_options_t",
    [E5_LIBRARY] = "e5rt_program_library_t",
    [E5_FUNCTION] = "e5rt_program_function_t",
    [E5_OP_OPTIONS] = "e5rt_precompiled_compute_op_create_options_t",
    [E5_OPERATION] = "e5rt_execution_stream_operation_t",
    [E5_PORT] = "e5rt_io_port_t",
    [E5_BUFFER] = "e5rt_buffer_object_t",
    [E5_TENSOR] = "e5rt_tensor_desc_t",
    [E5_STREAM] = "e5rt_execution_stream_t",
    [E5_STREAM_OPTIONS] = "e5rt_execution_stream_config_options_t",
    [E5_EVENT] = "e5rt_async_event_t",
};

/* The released, oldest first. */
static struct {
    struct e5_handle *oldest, *newest;
    unsigned count;
} released[E5_KINDS];
static pthread_mutex_t released_lock = PTHREAD_MUTEX_INITIALIZER;

static void before_fork(void)
{
    pthread_mutex_lock(&released_lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&released_lock);
}

/* The lock is taken inside all others: its place among the handlers does not matter. */
static __attribute__((constructor)) void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork, after_fork);
}

static struct e5_handle *take_released(enum e5_kind kind)
{
    struct e5_handle *handle = NULL;

    pthread_mutex_lock(&released_lock);
    if (released[kind].count > KEPT) {
        handle = released[kind].oldest;
        released[kind].oldest = handle->next;
        released[kind].count--;
    }
    pthread_mutex_unlock(&released_lock);
    return handle;
}

static void put_released(struct e5_handle *handle, enum e5_kind kind)
{
    pthread_mutex_lock(&released_lock);
    handle->next = NULL;
    if (released[kind].count++)
        released[kind].newest->next = handle;
    else
        released[kind].oldest = handle;
    released[kind].newest = handle;
    pthread_mutex_unlock(&released_lock);
}

void *e5_handle_make(enum e5_kind kind, size_t bytes, void (*end)(void *handle))
{
    struct e5_handle *handle = take_released(kind);

    if (!handle) {
        handle = base_alloc(bytes);
    } else if (base_alloc_allowed()) {
        memset(handle, 0, bytes);
    } else {
        put_released(handle, kind);
        return NULL;
    }
    if (!handle)
        return NULL;
    handle->mark = LIVE + kind;
    handle->end = end;
    atomic_init(&handle->given, true);
    atomic_init(&handle->count, 1);
    return handle;
}

void *e5_handle_keep(void *handle)
{
    struct e5_handle *h = handle;

    atomic_fetch_add(&h->count, 1);
    return handle;
}

void e5_handle_drop(void *handle)
{
    struct e5_handle *h = handle;
    enum e5_kind kind;

    if (!h || atomic_fetch_sub(&h->count, 1) != 1)
        return;
    if (h->end)
        h->end(handle);
    kind = (enum e5_kind)(h->mark - LIVE);
    h->mark = RELEASED + kind;
    put_released(h, kind);
}

static int64_t fail_released(enum e5_kind kind, const char *call)
{
    return e5_fail(E5RT_INVALID_ARGUMENT, "%s: the %s has been released.", call, kind_name[kind]);
}

int64_t e5_check(const void *handle, enum e5_kind kind, const char *call)
{
    const struct e5_handle *h = handle;

    if (!h)
        return e5_fail(E5RT_INVALID_ARGUMENT, "%s: the %s is NULL.", call, kind_name[kind]);
    if ((uintptr_t)h % _Alignof(struct e5_handle) == 0) {
        if (h->mark == LIVE + kind)
            return atomic_load(&h->given) ? E5RT_OK : fail_released(kind, call);
        if (h->mark - LIVE < E5_KINDS)
            return e5_fail(E5RT_INVALID_ARGUMENT, "%s: an %s was given where an %s is needed.", call,
                           kind_name[h->mark - LIVE], kind_name[kind]);
        if (h->mark == RELEASED + kind)
            return fail_released(kind, call);
    }
    return e5_fail(E5RT_INVALID_ARGUMENT, "%s: this is not an %s.", call, kind_name[kind]);
}

int64_t e5_check_optional(const void *handle, enum e5_kind kind, const char *call)
{
    return handle ? e5_check(handle, kind, call) : E5RT_OK;
}

int64_t e5_handle_release(void *address, enum e5_kind kind, const char *call)
{
    struct e5_handle *h;
    void *handle = NULL;
    int64_t status;

    if (address)
        memcpy(&handle, address, sizeof(handle));
    if (!handle)
        return E5RT_OK;
    status = e5_check(handle, kind, call);
    if (status)
        return status;
    h = handle;
    if (!atomic_exchange(&h->given, false))
        return fail_released(kind, call);
    memset(address, 0, sizeof(handle));
    e5_handle_drop(handle);
    return E5RT_OK;
}
