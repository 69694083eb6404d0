/* SPDX-License-Identifier: Apache-2.0 */
/*
 * States of a slot: the service changes POSTED to TAKEN and TAKEN to DONE, and looks at no other. What a
 * client writes there at a wrong time changes its own calls alone.
 *
 * A thread that waits spins first. How many spin at once in the process is bounded, so that spinning takes no
 * processor from those that have work.
 */
#include "service/ring.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/file.h"
#include "base/pause.h"
#include "service/advice.h"
#include "service/futex.h"
#include "service/peer.h"
#include "service/thread.h"

#define LOOKS_AT_ONCE 16u /* between two looks at the clock */
#define JOIN_MS       5u

/* The part of a slot that is copied whole; the struct bytes follow by their sizes. */
#define CALL_AT  offsetof(struct pr_ring_slot, operation)
#define CALL_END offsetof(struct pr_ring_slot, pad)

int svc_ring_make(struct svc_ring *ring, struct base_error *error)
{
    int file = base_file_memory("anemone-ring", PR_RING_BYTES);
    uint8_t *base;

    if (file < 0)
        return base_fail(error, -file, "The ring of a session could not be made: %s.", strerror(-file));
    base = base_alloc_allowed() ? mmap(NULL, PR_RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                                : MAP_FAILED;
    if (base == MAP_FAILED) {
        close(file);
        return base_fail(error, ENOMEM, "The ring of a session could not be mapped.");
    }
    ring->file = file;
    ring->head = (void *)base;
    ring->completion = (void *)(base + PR_RING_COMPLETIONS_AT);
    ring->slot = (void *)(base + PR_RING_SLOTS_AT);
    ring->head->slots = PR_RING_SLOTS;
    ring->head->completions = PR_RING_COMPLETIONS;
    ring->head->magic = PR_RING_MAGIC;
    return 0;
}

void svc_ring_unmap(struct svc_ring *ring)
{
    if (ring->head)
        munmap(ring->head, PR_RING_BYTES);
    if (ring->file >= 0)
        close(ring->file);
    ring->head = NULL;
    ring->file = -1;
}

/* ---- One call ---- */

/* A call as the machine takes it: pointers into the copy, or NULL. */
struct call {
    struct pr_ring_slot copy;
    const uint64_t *scalar_in;
    uint64_t *scalar_out;
    const void *in;
    void *out;
};

/* An argument that is absent, or that the ring has no room for, is NULL: the driver refuses it. */
static bool present(const struct pr_ring_slot *copy, uint32_t absent, uint32_t count, uint32_t most)
{
    return !(copy->absent & absent) && count <= most;
}

static void copy_call(const struct pr_ring_slot *slot, struct call *call)
{
    struct pr_ring_slot *copy = &call->copy;

    memcpy((uint8_t *)copy + CALL_AT, (const uint8_t *)slot + CALL_AT, CALL_END - CALL_AT);
    __asm__ volatile("" ::: "memory"); /* from here on only the copy is read */
    call->scalar_in =
        present(copy, PR_RING_NO_SCALARS_IN, copy->scalars_in, PR_RING_SCALARS) ? copy->scalar_in : NULL;
    call->scalar_out =
        present(copy, PR_RING_NO_SCALARS_OUT, copy->scalars_out, PR_RING_SCALARS) ? copy->scalar_out : NULL;
    call->in = present(copy, PR_RING_NO_STRUCT_IN, copy->struct_in, PR_RING_DATA) ? copy->in : NULL;
    call->out = present(copy, PR_RING_NO_STRUCT_OUT, copy->struct_out, PR_RING_DATA) ? copy->out : NULL;
    if (call->in)
        memcpy(copy->in, slot->in, copy->struct_in);
    if (call->out)
        memcpy(copy->out, slot->out, copy->struct_out);
}

static void write_outputs(struct pr_ring_slot *slot, const struct call *call)
{
    if (call->scalar_out)
        memcpy(slot->scalar_out, call->scalar_out, call->copy.scalars_out * sizeof(call->scalar_out[0]));
    if (call->out)
        memcpy(slot->out, call->out, call->copy.struct_out);
}

/* The machine's own answers come first: what it refuses needs no place for a record. */
static IOReturn call_async(struct svc_peer *session, io_connect_t connect, struct call *call,
                           struct base_error *error)
{
    const struct pr_ring_slot *copy = &call->copy;
    bool referenced =
        present(copy, PR_RING_NO_REFERENCE, copy->references, PR_RING_REFERENCES) && copy->references;
    uint32_t scalars = copy->scalars_out;
    size_t bytes = copy->struct_out;
    const bool watched = referenced && copy->port;
    ane_port_t port = copy->port; /* the driver refuses a wrong count of words before it reads any */
    uint64_t index = 0;
    IOReturn status;

    if (watched) {
        status = svc_completions_begin(session, copy, &index, &port, error);
        if (status)
            return status;
    }
    status = IOConnectCallAsyncMethod(
        connect, copy->selector, port, copy->absent & PR_RING_NO_REFERENCE ? NULL : &index,
        referenced ? 1 : copy->references, call->scalar_in, copy->scalars_in, call->in, copy->struct_in,
        call->scalar_out, &scalars, call->out, &bytes);
    if (status && watched)
        svc_completions_cancel(session, index);
    return status;
}

static IOReturn call_event(struct svc_ring *ring, io_connect_t connect, struct call *made,
                           struct base_error *error)
{
    /* By enum pr_ring_event. */
    static const struct {
        uint32_t in, out;
    } counts[] = {{1, 1}, {1, 1}, {2, 0}, {3, 0}, {1, 0}};
    struct pr_ring_slot *call = &made->copy;
    const uint64_t *in = call->scalar_in;
    uint32_t event = (uint32_t)in[0];
    IOReturn status;

    if (call->selector >= BASE_COUNT_OF(counts) || call->scalars_in != counts[call->selector].in ||
        call->scalars_out != counts[call->selector].out || (call->scalars_out && !made->scalar_out) ||
        !made->scalar_in || (call->selector != PR_RING_EVENT_CREATE && in[0] > UINT32_MAX)) {
        base_fail(error, EINVAL, "A call of the ring names event operation %u with %u and %u scalars.",
                  call->selector, call->scalars_in, call->scalars_out);
        return kIOReturnBadArgument;
    }
    switch ((enum pr_ring_event)call->selector) {
    case PR_RING_EVENT_CREATE:
        status = ane_event_create(connect, in[0], &event);
        if (!status)
            call->scalar_out[0] = event;
        return status;
    case PR_RING_EVENT_VALUE: return ane_event_value(connect, event, &call->scalar_out[0]);
    case PR_RING_EVENT_SIGNAL: return ane_event_signal(connect, event, in[1]);
    case PR_RING_EVENT_WAIT:
        atomic_fetch_add(&ring->waiting, 1);
        status = ane_event_wait(connect, event, in[1], in[2]);
        atomic_fetch_sub(&ring->waiting, 1);
        return status;
    case PR_RING_EVENT_RELEASE: return ane_event_release(connect, event);
    }
    return kIOReturnBadArgument;
}

/* The machine's sentence; for a refusal that a policy line would change, with that line. */
static IOReturn take_sentence(struct svc_peer *session, IOReturn status, struct base_error *error)
{
    if (!status)
        return status;
    if (!error->text[0])
        snprintf(error->text, sizeof(error->text), "%s", ane_machine_error());
    if (status == kIOReturnNotPrivileged || status == kIOReturnNotPermitted)
        svc_advice_add_named(session, error);
    return status;
}

static IOReturn call_machine(struct svc_peer *session, io_connect_t connect, struct call *call,
                             struct base_error *error)
{
    const struct pr_ring_slot *copy = &call->copy;
    uint32_t scalars = copy->scalars_out;
    size_t bytes = copy->struct_out;

    switch (copy->operation) {
    case PR_RING_METHOD:
        return IOConnectCallMethod(connect, copy->selector, call->scalar_in, copy->scalars_in, call->in,
                                   copy->struct_in, call->scalar_out, &scalars, call->out, &bytes);
    case PR_RING_CATALOGUE:
        return ane_catalogue_call(connect, copy->selector, call->scalar_in, copy->scalars_in, call->in,
                                  copy->struct_in, call->scalar_out, &scalars, call->out, &bytes);
    case PR_RING_ASYNC: return call_async(session, connect, call, error);
    case PR_RING_EVENT: return call_event(&session->ring, connect, call, error);
    }
    base_fail(error, EINVAL, "A call of the ring names operation %u; there is none.", copy->operation);
    return kIOReturnBadArgument;
}

static IOReturn make_call(struct svc_peer *session, struct call *call, unsigned *hint,
                          struct base_error *error)
{
    io_connect_t connect;
    IOReturn status = svc_kernel_enter(session, call->copy.connect, &connect, hint, error);

    if (status)
        return status;
    status = call_machine(session, connect, call, error);
    svc_kernel_leave(session, *hint);
    return take_sentence(session, status, error);
}

/* Outcome first, then the state; both words and the state are in one line. */
static void answer(struct pr_ring_slot *slot, IOReturn status, const struct base_error *error)
{
    slot->result = status;
    if (status)
        memcpy(slot->sentence, error->text, strnlen(error->text, sizeof(slot->sentence) - 1) + 1);
    __atomic_store_n(&slot->state, PR_RING_DONE, __ATOMIC_SEQ_CST);
    svc_futex_wake_sleeper(&slot->client_asleep);
}
_Static_assert(sizeof(((struct base_error *)0)->text) == PR_RING_SENTENCE, "a sentence");

static IOReturn refuse_stopping(struct base_error *error)
{
    base_fail(error, ENODEV, "The service is stopping.");
    return kIOReturnNoDevice;
}

void svc_ring_serve(struct svc_peer *session, struct pr_ring_slot *slot, unsigned *hint)
{
    struct base_error error;
    struct call call;
    IOReturn status;

    __atomic_store_n(&slot->state, PR_RING_TAKEN, __ATOMIC_RELAXED);
    error.text[0] = '\0';
    copy_call(slot, &call);
    if (atomic_load_explicit(&session->service->draining, memory_order_relaxed))
        status = refuse_stopping(&error);
    else
        status = make_call(session, &call, hint, &error);
    write_outputs(slot, &call);
    answer(slot, status, &error);
}

/* ---- Waiting ---- */

static bool posted(const struct pr_ring_slot *slot)
{
    return __atomic_load_n(&slot->state, __ATOMIC_SEQ_CST) == PR_RING_POSTED;
}

static bool spin(struct svc_peer *session, const struct pr_ring_slot *slot)
{
    const uint64_t most = session->blessed ? PR_RING_SPIN_BLESSED_NS : PR_RING_SPIN_NS;
    uint64_t begin = svc_service_now(), spent = 0;
    struct svc_service *service = session->service;
    bool found = posted(slot);

    if (found || atomic_load_explicit(&service->spinners, memory_order_relaxed) >= service->spinners_most)
        return found;
    atomic_fetch_add_explicit(&service->spinners, 1, memory_order_relaxed);
    do {
        if (spent >= PR_RING_SPIN_ALONE_NS)
            sched_yield();
        for (unsigned i = 0; i < LOOKS_AT_ONCE && !found; i++) {
            base_pause();
            found = __atomic_load_n(&slot->state, __ATOMIC_RELAXED) == PR_RING_POSTED;
        }
        spent = svc_service_now() - begin;
    } while (!found && spent < most);
    atomic_fetch_sub_explicit(&service->spinners, 1, memory_order_relaxed);
    return found;
}

/* False when the ring stops. */
static bool wait_for_call(struct svc_peer *session, struct pr_ring_slot *slot)
{
    if (spin(session, slot))
        return true;
    for (;;) {
        __atomic_store_n(&slot->service_asleep, 1, __ATOMIC_SEQ_CST);
        if (posted(slot)) {
            __atomic_store_n(&slot->service_asleep, 0, __ATOMIC_RELAXED);
            return true;
        }
        if (atomic_load(&session->ring.stopping))
            return false;
        svc_futex_sleep(&slot->service_asleep);
    }
}

static void *serve_slot(void *argument)
{
    struct svc_ring_thread *thread = argument;
    struct svc_peer *session = thread->session;
    struct pr_ring_slot *slot = &session->ring.slot[thread->slot];

    while (!atomic_load(&session->ring.stopping) && wait_for_call(session, slot)) {
        atomic_store_explicit(&thread->busy, true, memory_order_relaxed);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        svc_ring_serve(session, slot, &thread->hint);
        atomic_store_explicit(&thread->busy, false, memory_order_relaxed);
    }
    return NULL;
}

/* For those who look at the process's threads: the broker's stay as long as it does. */
static void name_thread(const struct svc_ring_thread *thread)
{
    char name[16];

    snprintf(name, sizeof(name), "%s %u",
             thread->session->role == PR_SERVICE_ROLE_BROKER ? "broker-slot" : "slot", thread->slot);
    pthread_setname_np(thread->thread, name);
}

/* The broker serves all users, so its slots are none's. */
static bool is_counted(const struct svc_peer *session, unsigned served)
{
    return session->role != PR_SERVICE_ROLE_BROKER && served > PR_SERVICE_SLOTS_FREE;
}

/* The session has one more or one fewer slot that is served. */
static int take_share(struct svc_peer *session, struct base_error *error)
{
    int status = 0;

    if (is_counted(session, session->ring.served + 1))
        status = svc_shares_take(&session->service->shares, session->uid, PR_SERVICE_SHARE_SLOTS, 1, error);
    session->ring.served += !status;
    return status;
}

static void give_share(struct svc_peer *session)
{
    if (is_counted(session, session->ring.served))
        svc_shares_give(&session->service->shares, session->uid, PR_SERVICE_SHARE_SLOTS, 1);
    session->ring.served--;
}

IOReturn svc_ring_announce(struct svc_peer *session, unsigned slot, struct base_error *error)
{
    struct svc_ring_thread *thread;
    int status;

    if (slot >= PR_RING_SLOTS) {
        base_fail(error, EINVAL, "Slot %u is announced; the ring has %u.", slot, PR_RING_SLOTS);
        return kIOReturnBadArgument;
    }
    thread = &session->ring.thread[slot];
    if (thread->served)
        return kIOReturnSuccess;
    if (take_share(session, error))
        return kIOReturnNoResources;
    thread->session = session;
    thread->slot = slot;
    status = svc_thread_start(&thread->thread, serve_slot, thread);
    if (status) {
        give_share(session);
        base_fail(error, -status, "The service has no thread for slot %u: %s.", slot, strerror(-status));
        return kIOReturnNoResources;
    }
    thread->served = true;
    name_thread(thread);
    return kIOReturnSuccess;
}

/* The word that a thread sleeps on is the client's too, so it is woken until it has ended. */
static void join(struct svc_ring *ring, struct svc_ring_thread *thread)
{
    uint32_t *asleep = &ring->slot[thread->slot].service_asleep;
    struct timespec until;

    do {
        __atomic_store_n(asleep, 0, __ATOMIC_SEQ_CST);
        svc_futex_wake(asleep);
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += JOIN_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
    } while (pthread_timedjoin_np(thread->thread, NULL, &until));
}

void svc_ring_stop(struct svc_peer *session)
{
    struct svc_ring *ring = &session->ring;
    struct base_error error;
    IOReturn status = refuse_stopping(&error);

    if (!ring->head)
        return;
    atomic_store(&ring->stopping, true);
    for (unsigned i = 0; i < PR_RING_SLOTS; i++)
        if (ring->thread[i].served) {
            join(ring, &ring->thread[i]);
            give_share(session);
        }
    __atomic_store_n(&ring->head->magic, 0, __ATOMIC_SEQ_CST);
    for (unsigned i = 0; i < PR_RING_SLOTS; i++)
        if (posted(&ring->slot[i]))
            answer(&ring->slot[i], status, &error);
    svc_futex_wake(&ring->head->client_asleep);
}

unsigned svc_ring_busy(const struct svc_ring *ring)
{
    unsigned busy = 0, waiting = atomic_load(&ring->waiting);

    for (unsigned i = 0; i < PR_RING_SLOTS; i++)
        busy += atomic_load(&ring->thread[i].busy);
    return busy > waiting ? busy - waiting : 0;
}
