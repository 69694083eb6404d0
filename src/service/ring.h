/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service's end of a session's ring (protocol/service_ring.h): a thread for each slot that the client has
 * announced. The ring is the client's to change at any time: a call is copied once, the copy is checked and
 * used.
 */
#ifndef SERVICE_RING_H
#define SERVICE_RING_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <anemone/iokit.h>

#include "base/error.h"
#include "protocol/service_ring.h"

struct svc_peer;

struct svc_ring_thread {
    struct svc_peer *session;
    unsigned slot;
    unsigned hint; /* where the connection of its last call is in the session's table */
    bool served;
    atomic_bool busy; /* in a call */
    pthread_t thread;
};

struct svc_ring {
    int file; /* -1: none */
    struct pr_ring_head *head;
    struct pr_ring_completion *completion;
    struct pr_ring_slot *slot;
    atomic_bool stopping;
    unsigned served;     /* slots */
    atomic_uint waiting; /* calls that wait for an event: the end of the service does not wait for them */
    struct svc_ring_thread thread[PR_RING_SLOTS];
};

/* Makes the memory file and maps it. 0, or a negative errno with a sentence. */
int svc_ring_make(struct svc_ring *ring, struct base_error *error);
/*
 * Serves a slot from now on; a second time changes nothing. kIOReturnBadArgument: there is no such slot;
 * kIOReturnNoResources: the user has as many as one user may have, or the process has no thread.
 */
IOReturn svc_ring_announce(struct svc_peer *session, unsigned slot, struct base_error *error);
/*
 * One call that is posted in a slot: takes it, makes it, writes its outcome and wakes the client. `hint` as
 * in svc_kernel_connect.
 */
void svc_ring_serve(struct svc_peer *session, struct pr_ring_slot *slot, unsigned *hint);
/* Ends the threads; calls that wait in the ring are answered with kIOReturnNoDevice. */
void svc_ring_stop(struct svc_peer *session);
void svc_ring_unmap(struct svc_ring *ring);
/* Calls under way, but for those that wait for an event. */
unsigned svc_ring_busy(const struct svc_ring *ring);

#endif
