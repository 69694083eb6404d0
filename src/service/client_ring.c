/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls through the ring. While both sides are hot a call makes no system call, takes no lock and allocates
 * nothing: a bit of `free_slots` is the only word that threads contend for.
 *
 * A slot whose call the service has not answered when the session ends is not given back: the service may
 * still write there. Calls that may wait without end leave a few slots to the others, which are what ends
 * such waits.
 */
#include "service/client_session.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/pause.h"

#define SLEEP_NS     100000000l /* then the socket is looked at */
#define LOOKS        16u        /* at a word, between two looks at the clock */
#define LEFT_TO_REST 4u         /* slots that calls which wait leave free */
#define NS_PER_S     1000000000ull

_Static_assert(PR_RING_SLOTS == 64, "a set of slots is one word");

static uint64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

static bool spin(const uint32_t *word, uint32_t value, uint64_t ns)
{
    uint64_t begin = now(), spent;

    do {
        for (unsigned i = 0; i < LOOKS; i++) {
            if (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value)
                return true;
            base_pause();
        }
        spent = now() - begin;
        if (spent >= PR_RING_SPIN_ALONE_NS)
            sched_yield();
    } while (spent < ns);
    return false;
}

void svc_ring_wait(const uint32_t *word, uint32_t value, uint32_t *asleep, uint64_t spin_ns)
{
    const struct timespec most = {0, SLEEP_NS};

    if (spin_ns && spin(word, value, spin_ns))
        return;
    __atomic_store_n(asleep, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(word, __ATOMIC_SEQ_CST) == value)
        syscall(SYS_futex, asleep, FUTEX_WAIT, 1, &most, NULL, 0);
    __atomic_store_n(asleep, 0, __ATOMIC_RELAXED);
}

void svc_ring_wake(uint32_t *asleep)
{
    if (__atomic_load_n(asleep, __ATOMIC_SEQ_CST) && __atomic_exchange_n(asleep, 0, __ATOMIC_SEQ_CST))
        syscall(SYS_futex, asleep, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* The lowest free slot of a set: few threads of the service serve most calls. -1: none. */
static int try_slot(struct svc_session *session, uint64_t among)
{
    uint64_t set = atomic_load_explicit(&session->free_slots, memory_order_relaxed);

    while (set & among) {
        uint64_t lowest = (set & among) & -(set & among);

        if (atomic_compare_exchange_weak(&session->free_slots, &set, set & ~lowest))
            return __builtin_ctzll(lowest);
    }
    return -1;
}

static int take_slot(struct svc_session *session, uint64_t among)
{
    int slot = try_slot(session, among);

    if (slot >= 0)
        return slot;
    pthread_mutex_lock(&session->slot_lock);
    atomic_fetch_add(&session->slot_waiters, 1);
    while ((slot = try_slot(session, among)) < 0)
        pthread_cond_wait(&session->slot_freed, &session->slot_lock);
    atomic_fetch_sub(&session->slot_waiters, 1);
    pthread_mutex_unlock(&session->slot_lock);
    return slot;
}

static void give_slot(struct svc_session *session, int slot)
{
    atomic_fetch_or(&session->free_slots, 1ull << slot);
    if (atomic_load(&session->slot_waiters)) {
        pthread_mutex_lock(&session->slot_lock);
        pthread_cond_broadcast(&session->slot_freed); /* those that wait differ in what they may take */
        pthread_mutex_unlock(&session->slot_lock);
    }
}

/* The slot is the caller's, so no other thread announces it. */
static IOReturn announce(struct svc_session *session, int slot, struct base_error *error)
{
    const struct pr_service_slot request = {.slot = (uint32_t)slot};
    int status;

    if (atomic_load_explicit(&session->announced, memory_order_relaxed) & 1ull << slot)
        return kIOReturnSuccess;
    status = svc_session_talk(session, PR_SERVICE_SLOT, &request, NULL, NULL, error);
    if (!status)
        atomic_fetch_or(&session->announced, 1ull << slot);
    return status;
}

static size_t room(size_t bytes, size_t most)
{
    return bytes > most ? 0 : bytes;
}

/* Arguments that are NULL, or that the ring has no room for, are announced with their size alone. */
static void fill(struct pr_ring_slot *slot, const struct svc_call *call, const uint64_t *reference)
{
    slot->operation = call->operation;
    slot->connect = call->connect;
    slot->selector = call->selector;
    slot->port = call->port;
    slot->references = call->references;
    slot->scalars_in = call->scalars_in;
    slot->scalars_out = call->scalars_out;
    slot->struct_in = (uint32_t)call->struct_in_bytes;
    slot->struct_out = (uint32_t)call->struct_out_bytes;
    slot->absent =
        (call->scalar_in ? 0 : PR_RING_NO_SCALARS_IN) | (call->struct_in ? 0 : PR_RING_NO_STRUCT_IN) |
        (call->scalar_out ? 0 : PR_RING_NO_SCALARS_OUT) | (call->struct_out ? 0 : PR_RING_NO_STRUCT_OUT) |
        (call->reference ? 0 : PR_RING_NO_REFERENCE);
    if (reference)
        memcpy(slot->reference, reference, sizeof(slot->reference));
    if (call->scalar_in)
        memcpy(slot->scalar_in, call->scalar_in, room(call->scalars_in, PR_RING_SCALARS) * sizeof(uint64_t));
    if (call->scalar_out)
        memcpy(slot->scalar_out, call->scalar_out,
               room(call->scalars_out, PR_RING_SCALARS) * sizeof(uint64_t));
    if (call->struct_in)
        memcpy(slot->in, call->struct_in, room(call->struct_in_bytes, PR_RING_DATA));
    if (call->struct_out)
        memcpy(slot->out, call->struct_out, room(call->struct_out_bytes, PR_RING_DATA));
}

/* The sizes are the caller's own, whatever the slot says by now. */
static IOReturn take_outcome(const struct pr_ring_slot *slot, const struct svc_call *call,
                             struct base_error *error)
{
    IOReturn result = slot->result;

    if (call->scalar_out)
        memcpy(call->scalar_out, slot->scalar_out,
               room(call->scalars_out, PR_RING_SCALARS) * sizeof(uint64_t));
    if (call->struct_out)
        memcpy(call->struct_out, slot->out, room(call->struct_out_bytes, PR_RING_DATA));
    if (result)
        base_fail(error, EIO, "%.*s", (int)PR_RING_SENTENCE - 1, slot->sentence);
    return result;
}

/* False: the session has ended, and the call was not answered before. */
static bool wait_done(struct svc_session *session, struct pr_ring_slot *slot)
{
    uint64_t spin_ns = session->spin_ns;

    for (;;) {
        uint32_t state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);
        bool ended;

        if (state == PR_RING_DONE)
            return true;
        ended = svc_session_has_ended(session);
        if (ended)
            return __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) == PR_RING_DONE;
        svc_ring_wait(&slot->state, state, &slot->client_asleep, spin_ns);
        if (__atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) == state) {
            spin_ns = 0;
            svc_session_look(session);
        }
    }
}

static IOReturn call_in_slot(struct svc_session *session, struct pr_ring_slot *slot,
                             const struct svc_call *call, const uint64_t *reference, bool *answered,
                             struct base_error *error)
{
    IOReturn result;

    fill(slot, call, reference);
    __atomic_store_n(&slot->state, PR_RING_POSTED, __ATOMIC_SEQ_CST);
    svc_ring_wake(&slot->service_asleep);
    *answered = wait_done(session, slot);
    if (!*answered)
        return svc_session_refuse(session, error);
    result = take_outcome(slot, call, error);
    __atomic_store_n(&slot->state, PR_RING_FREE, __ATOMIC_RELEASE);
    return result;
}

static IOReturn call_ring(struct svc_session *session, const struct svc_call *call, const uint64_t *reference,
                          struct base_error *error)
{
    const bool waits = call->operation == PR_RING_EVENT && call->selector == PR_RING_EVENT_WAIT;
    const int slot = take_slot(session, waits ? UINT64_MAX >> LEFT_TO_REST : UINT64_MAX);
    bool answered = true;
    IOReturn status;

    if (svc_session_has_ended(session))
        status = svc_session_refuse(session, error);
    else
        status = announce(session, slot, error);
    if (!status)
        status = call_in_slot(session, &session->slot[slot], call, reference, &answered, error);
    /* After the end every call is refused before it uses a slot, so that those who wait for one may go. */
    if (answered || svc_session_has_ended(session))
        give_slot(session, slot);
    return status;
}

static IOReturn call_async(struct svc_session *session, const struct svc_call *call, struct base_error *error)
{
    uint64_t reference[PR_RING_REFERENCES] = {0};
    IOReturn status;
    struct svc_pending *row = svc_pending_begin(session, call, &reference[0], &status, error);

    return row ? svc_pending_end(session, row, call, call_ring(session, call, reference, error)) : status;
}

/* A number of this process's parent, or of none. */
static IOReturn refuse_number(io_connect_t connect, struct base_error *error)
{
    if (svc_client_is_inherited(connect)) {
        base_fail(error, EIO, "The connection is closed.");
        return ANE_RETURN_CLOSED;
    }
    base_fail(error, EIO, "There is no such connection.");
    return kIOReturnBadArgument;
}

IOReturn svc_client_call(const struct svc_call *call, struct base_error *error)
{
    struct svc_session *session = svc_session_current();
    IOReturn status;

    if (!session)
        return refuse_number(call->connect, error);
    if (svc_session_has_ended(session))
        return svc_session_refuse(session, error);
    status = call->operation == PR_RING_ASYNC ? call_async(session, call, error)
                                              : call_ring(session, call, NULL, error);
    if (status == kIOReturnBadArgument && svc_client_is_inherited(call->connect))
        return refuse_number(call->connect, error);
    return status;
}
