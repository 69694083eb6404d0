/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Submitted streams. `submitted` lists them, oldest first; each is kept by its place there. The service
 * thread alone ends operations, takes streams out of the list and calls completion functions. It waits in one
 * of two ways: at the port, which drives the machine, while a request is under way; else on a condition.
 * Whoever changes something that it may wait for wakes it in the way it waits (e5_async_unlock_changed).
 *
 * A request through the broker has no message at a port: the call waits for it. A second thread makes these
 * calls, one at a time, the oldest stream's first, and leaves each outcome with its stream.
 *
 * An event's value that a stream was to signal is lost when the stream fails or its time passes: what waits
 * for it fails too, and does not wait for ever. What waits for a smaller value, which another stream is still
 * to signal, goes on waiting.
 */
#include "runtime/async.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"

/* Requests under way at once. The driver has room for 24 of a client; more would wait in its method. */
#define RUNNING_MAX 16u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed; /* for those who wait for events, and for the service thread */
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Under the lock. */
static struct {
    e5rt_execution_stream_t submitted; /* oldest first */
    unsigned running;                  /* requests under way */
    uint64_t last_id;
    bool started;   /* there is a thread */
    bool sending;   /* there is one for the broker, too */
    bool receiving; /* it waits at the port, or is about to */
    ane_port_t port;
} service;

static _Thread_local bool is_service;

static void before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&lock);
}

static void make_condition(void)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&changed, &attributes);
    pthread_condattr_destroy(&attributes);
}

/* A child has no service thread, and what its parent submitted does not go on there. */
static void in_child(void)
{
    for (e5rt_execution_stream_t stream = service.submitted; stream; stream = stream->submission.next)
        atomic_store(&stream->busy, false);
    memset(&service, 0, sizeof(service));
    is_service = false;
    make_condition();
    pthread_mutex_unlock(&lock);
}

static void prepare(void)
{
    make_condition();
    pthread_atfork(before_fork, after_fork, in_child);
}

void e5_async_lock(void)
{
    pthread_once(&once, prepare);
    pthread_mutex_lock(&lock);
}

void e5_async_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

void e5_async_unlock_changed(void)
{
    const ane_port_t port = service.receiving && !is_service ? service.port : 0;

    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    if (port)
        ane_port_wake(port);
}

bool e5_async_is_service(void)
{
    return is_service;
}

/* Time. */

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t end_of(uint64_t timeout_ns)
{
    const uint64_t now = now_ns();

    return timeout_ns > UINT64_MAX - now ? UINT64_MAX : now + timeout_ns;
}

static void wait_until(uint64_t end)
{
    const struct timespec at = {.tv_sec = (time_t)(end / 1000000000u), .tv_nsec = (long)(end % 1000000000u)};

    if (end == UINT64_MAX)
        pthread_cond_wait(&changed, &lock);
    else
        pthread_cond_timedwait(&changed, &lock, &at);
}

/* The smallest value, not below this one, that submitted work is still to signal; 0: none. */
static uint64_t next_signal(const struct e5_event *event, uint64_t value)
{
    uint64_t next = 0;

    for (e5rt_execution_stream_t stream = service.submitted; stream; stream = stream->submission.next)
        for (size_t i = stream->submission.at; i < stream->count && !stream->submission.reported; i++) {
            const struct e5_slot *slot = &stream->slot[i];

            if (slot->operation->completion == event && slot->signals >= value &&
                (!next || slot->signals < next))
                next = slot->signals;
        }
    return next;
}

/* The work that would have reached the value first has failed. */
bool e5_async_is_lost(const struct e5_event *event, uint64_t value)
{
    const uint64_t loss = e5_event_reached(event, value) ? 0 : e5_event_next_loss(event, value);
    const uint64_t signal = loss ? next_signal(event, value) : 0;

    return loss && (!signal || loss < signal);
}

bool e5_async_wait(const struct e5_event *event, uint64_t value, uint64_t timeout_ns)
{
    const uint64_t end = end_of(timeout_ns);

    while (!e5_event_reached(event, value) && !e5_async_is_lost(event, value) && now_ns() < end)
        wait_until(end);
    return e5_event_reached(event, value);
}

/* Submissions. Everything below is called with the lock, and says so where it gives it up. */

static e5rt_execution_stream_t find_by_id(uint64_t id)
{
    e5rt_execution_stream_t stream = service.submitted;

    while (stream && stream->submission.id != id)
        stream = stream->submission.next;
    return stream;
}

/* Values in the order of the operations, so that one may depend on another of the same stream. */
static void assign_values(e5rt_execution_stream_t stream)
{
    for (size_t i = 0; i < stream->count; i++) {
        struct e5_slot *slot = &stream->slot[i];
        e5rt_execution_stream_operation_t operation = slot->operation;

        for (size_t k = 0; k < operation->dependents; k++)
            slot->needs[k] = operation->dependent[k]->future;
        if (operation->completion)
            slot->signals = ++operation->completion->future;
    }
}

/* What operations that have not ended were to signal does not come. */
static void lose_values(e5rt_execution_stream_t stream)
{
    for (size_t i = stream->submission.at; i < stream->count; i++) {
        struct e5_event *event = stream->slot[i].operation->completion;

        if (event)
            e5_event_lose(event, stream->slot[i].signals);
    }
    pthread_cond_broadcast(&changed);
}

/* The first event of the next operation that keeps it from beginning; NULL: none does. */
static struct e5_event *find_unmet(e5rt_execution_stream_t stream, uint64_t *value)
{
    const struct e5_slot *slot = &stream->slot[stream->submission.at];

    for (size_t i = 0; i < slot->operation->dependents; i++)
        if (!e5_event_reached(slot->operation->dependent[i], slot->needs[i])) {
            *value = slot->needs[i];
            return slot->operation->dependent[i];
        }
    return NULL;
}

static void fail(e5rt_execution_stream_t stream, int64_t status)
{
    stream->submission.state = E5_FAILED;
    stream->submission.status = status;
    snprintf(stream->submission.message, sizeof(stream->submission.message), "%s",
             e5rt_get_last_error_message());
}

static void send_to_broker(e5rt_execution_stream_t stream)
{
    e5rt_execution_stream_operation_t operation = stream->slot[stream->submission.at].operation;
    int64_t status;

    stream->submission.state = E5_SENDING;
    pthread_mutex_unlock(&lock);
    status = e5_operation_send(operation);
    pthread_mutex_lock(&lock);
    stream->submission.state = E5_ARRIVED;
    if (status)
        fail(stream, status);
    e5_async_unlock_changed();
    pthread_mutex_lock(&lock);
}

static void *serve_queue(void *argument)
{
    (void)argument;
    pthread_mutex_lock(&lock);
    for (;;) {
        e5rt_execution_stream_t stream = service.submitted;

        while (stream && stream->submission.state != E5_QUEUED)
            stream = stream->submission.next;
        if (stream)
            send_to_broker(stream);
        else
            pthread_cond_wait(&changed, &lock);
    }
    return NULL;
}

/* A thread for as long as the process lives, which takes no signals. */
static bool make_thread(void *(*run)(void *))
{
    sigset_t all, before;
    pthread_t thread;
    int status;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    status = base_alloc_allowed() ? pthread_create(&thread, NULL, run, NULL) : EAGAIN;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (status) {
        e5_fail(E5RT_NO_MEMORY, "No thread could be made for submitted streams.");
        return false;
    }
    pthread_detach(thread);
    return true;
}

static void queue_operation(e5rt_execution_stream_t stream)
{
    service.sending = service.sending || make_thread(serve_queue);
    if (!service.sending) {
        fail(stream, E5RT_NO_MEMORY);
        return;
    }
    stream->submission.state = E5_QUEUED;
    pthread_cond_broadcast(&changed);
}

/*
 * Sends the next operation, without the lock. Its message may come, and the service thread may take it and
 * all that follows, before this thread has the lock again.
 */
static void begin_operation(e5rt_execution_stream_t stream)
{
    e5rt_execution_stream_operation_t operation = stream->slot[stream->submission.at].operation;
    const uint64_t id = stream->submission.id;
    const size_t at = stream->submission.at;
    const ane_port_t port = service.port;
    int64_t status;

    if (e5_device_is_brokered(&operation->library->program)) {
        queue_operation(stream);
        return;
    }
    stream->submission.state = E5_SENDING;
    service.running++;
    pthread_mutex_unlock(&lock);
    status = e5_operation_begin(operation, port, id);
    pthread_mutex_lock(&lock);
    /* SENDING may be that of a later operation, which the service thread sends. */
    if (stream->submission.id != id || stream->submission.at != at || stream->submission.state != E5_SENDING)
        return;
    stream->submission.state = E5_RUNNING;
    if (!status)
        return;
    service.running--;
    fail(stream, status);
}

/* The service thread's work. */

static void call_completion(e5rt_execution_stream_t stream, int64_t status, const char *message)
{
    e5rt_async_completion_t completion = stream->submission.completion;
    void *context = stream->submission.context;
    char copy[sizeof(stream->submission.message)];

    snprintf(copy, sizeof(copy), "%s", message);
    pthread_mutex_unlock(&lock);
    completion(context, status, copy);
    pthread_mutex_lock(&lock);
}

/*
 * The stream is idle before its function is called, which may submit it again; any thread may, or may reset
 * it, from there on.
 */
static void finish(e5rt_execution_stream_t stream, int64_t status)
{
    e5rt_execution_stream_t *link = &service.submitted;

    while (*link != stream)
        link = &(*link)->submission.next;
    *link = stream->submission.next;
    stream->submission.state = E5_IDLE;
    if (status)
        lose_values(stream);
    atomic_store_explicit(&stream->busy, false, memory_order_release);
    if (!stream->submission.reported)
        call_completion(stream, status, status ? stream->submission.message : "");
    pthread_mutex_unlock(&lock);
    e5_handle_drop(stream);
    pthread_mutex_lock(&lock);
}

/* A message of its operation has come. After its time has passed nothing of it counts any more. */
static void end_operation(e5rt_execution_stream_t stream, const struct ane_port_message *message)
{
    struct e5_slot *slot = &stream->slot[stream->submission.at];
    int64_t status = E5RT_OK;

    if (stream->submission.reported) {
        finish(stream, E5RT_INVALID_OPERATION);
        return;
    }
    stream->submission.state = E5_ENDING;
    pthread_mutex_unlock(&lock);
    status = e5_operation_end(slot->operation, message);
    pthread_mutex_lock(&lock);
    if (status) {
        fail(stream, status);
        return;
    }
    if (slot->operation->completion)
        e5_event_raise(slot->operation->completion, slot->signals);
    pthread_cond_broadcast(&changed);
    stream->submission.state = E5_PENDING;
    if (++stream->submission.at == stream->count)
        finish(stream, E5RT_OK);
}

/*
 * Its time has passed. An operation that is with the driver stays there, and the stream is busy until it
 * comes back; nothing else of it begins.
 */
static void expire(e5rt_execution_stream_t stream)
{
    struct e5_submission *submission = &stream->submission;
    const bool pending = submission->state == E5_PENDING || submission->state == E5_QUEUED;

    e5_fail(E5RT_INVALID_OPERATION, "The stream was not done in time: operation %zu of %zu, %s, %s.",
            submission->at + 1, stream->count, stream->slot[submission->at].operation->name,
            pending ? "had not begun" : "is with the driver");
    submission->deadline = UINT64_MAX;
    if (pending) {
        fail(stream, E5RT_INVALID_OPERATION);
        return;
    }
    submission->reported = true;
    lose_values(stream);
    call_completion(stream, E5RT_INVALID_OPERATION, e5rt_get_last_error_message());
}

/* What a stream needs of the service thread now; false: nothing. */
static bool serve_stream(e5rt_execution_stream_t stream)
{
    struct e5_submission *submission = &stream->submission;
    struct e5_event *unmet;
    uint64_t value = 0;

    if (submission->state == E5_FAILED) {
        finish(stream, submission->status);
        return true;
    }
    if (submission->state == E5_ARRIVED) {
        end_operation(stream, &(struct ane_port_message){0});
        return true;
    }
    if (submission->deadline <= now_ns() && submission->state != E5_IDLE) {
        expire(stream);
        return true;
    }
    if (submission->state != E5_PENDING)
        return false;
    unmet = find_unmet(stream, &value);
    if (unmet && e5_async_is_lost(unmet, value)) {
        e5_fail(E5RT_INVALID_OPERATION,
                "Operation %s did not begin: event %s will not reach %" PRIu64
                ", because work that was to signal it has failed.",
                stream->slot[submission->at].operation->name, unmet->name, value);
        fail(stream, E5RT_INVALID_OPERATION);
        return true;
    }
    if (unmet || service.running >= RUNNING_MAX)
        return false;
    begin_operation(stream);
    return true;
}

/* One thing for one stream, the oldest first: the list may be another afterwards. */
static bool serve_one(void)
{
    for (e5rt_execution_stream_t stream = service.submitted; stream; stream = stream->submission.next)
        if (serve_stream(stream))
            return true;
    return false;
}

static uint64_t earliest_deadline(void)
{
    uint64_t earliest = UINT64_MAX;

    for (e5rt_execution_stream_t stream = service.submitted; stream; stream = stream->submission.next)
        if (stream->submission.deadline < earliest)
            earliest = stream->submission.deadline;
    return earliest;
}

/* The machine has stopped: no message comes any more. */
static void fail_running(void)
{
    for (e5rt_execution_stream_t stream = service.submitted; stream; stream = stream->submission.next)
        if (stream->submission.state == E5_RUNNING) {
            service.running--;
            e5_fail(E5RT_INVALID_OPERATION, "Operation %s was lost: %s",
                    stream->slot[stream->submission.at].operation->name, ane_machine_error());
            fail(stream, E5RT_INVALID_OPERATION);
        }
}

static void receive(uint64_t end)
{
    const uint64_t now = now_ns(), left = end == UINT64_MAX ? UINT64_MAX : end > now ? end - now : 0;
    const ane_port_t port = service.port;
    struct ane_port_message message;
    e5rt_execution_stream_t stream;
    int status;

    service.receiving = true;
    pthread_mutex_unlock(&lock);
    status = ane_port_receive(port, &message, left);
    pthread_mutex_lock(&lock);
    service.receiving = false;
    if (status == -ETIMEDOUT || status == -EINTR)
        return;
    if (status) {
        fail_running();
        return;
    }
    stream = find_by_id(message.reference[0]);
    if (!stream || (stream->submission.state != E5_SENDING && stream->submission.state != E5_RUNNING))
        return;
    service.running--;
    end_operation(stream, &message);
}

static void *serve(void *argument)
{
    (void)argument;
    is_service = true;
    pthread_mutex_lock(&lock);
    for (;;) {
        if (serve_one())
            continue;
        if (service.running)
            receive(earliest_deadline());
        else
            wait_until(earliest_deadline());
    }
    return NULL;
}

static int64_t start(void)
{
    if (service.started)
        return E5RT_OK;
    if (!service.port && ane_port_create(&service.port))
        return e5_fail(E5RT_NO_MEMORY, "The stream could not be submitted: %s", ane_machine_error());
    service.started = make_thread(serve);
    return service.started ? E5RT_OK : E5RT_NO_MEMORY;
}

static void append(e5rt_execution_stream_t stream)
{
    e5rt_execution_stream_t *link = &service.submitted;

    while (*link)
        link = &(*link)->submission.next;
    *link = e5_handle_keep(stream);
}

int64_t e5_async_submit(e5rt_execution_stream_t stream, e5rt_async_completion_t completion, void *context,
                        uint64_t timeout_ns)
{
    uint64_t value;
    int64_t status;

    e5_async_lock();
    /* Another thread may have submitted it since the caller looked. */
    status = atomic_load_explicit(&stream->busy, memory_order_relaxed)
                 ? e5_fail(E5RT_INVALID_OPERATION,
                           "The stream has been submitted by another thread, and its work is not done yet.")
                 : start();
    if (status) {
        e5_async_unlock();
        return status;
    }
    stream->submission = (struct e5_submission){.state = E5_PENDING,
                                                .id = ++service.last_id,
                                                .deadline = end_of(timeout_ns),
                                                .completion = completion,
                                                .context = context};
    atomic_store_explicit(&stream->busy, true, memory_order_relaxed);
    assign_values(stream);
    append(stream);
    e5_handle_keep(stream); /* its completion function may release it before this call returns */
    if (stream->low_latency && service.running < RUNNING_MAX && !find_unmet(stream, &value))
        begin_operation(stream);
    e5_async_unlock_changed();
    e5_handle_drop(stream);
    return E5RT_OK;
}
