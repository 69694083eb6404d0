/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asynchronous calls of a session. They complete at one port of the service's, from which a thread writes
 * records into the session's ring (protocol/service_ring.h). It never waits for the client: every call that
 * is accepted has room for its record.
 */
#ifndef SERVICE_COMPLETION_H
#define SERVICE_COMPLETION_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <anemone/iokit.h>

#include "base/error.h"
#include "protocol/service_ring.h"

struct svc_peer;

struct svc_completions {
    pthread_mutex_t lock;
    ane_port_t port; /* 0 until the first call */
    pthread_t thread;
    uint32_t produced;  /* the service's own copy: the ring's is for the client */
    uint32_t under_way; /* calls that were accepted, or are being made, and have no record yet */
    struct {
        bool used;
        uint32_t port; /* of the client */
        uint64_t reference[PR_RING_REFERENCES];
    } call[PR_RING_COMPLETIONS];
};

void svc_completions_init(struct svc_completions *completions);
/*
 * Takes a place for a call: *index is the reference word to call with, and *port the port.
 * kIOReturnNoResources when its record might not find room.
 */
IOReturn svc_completions_begin(struct svc_peer *session, const struct pr_ring_slot *call, uint64_t *index,
                               ane_port_t *port, struct base_error *error);
/* The call was not accepted: no record comes. */
void svc_completions_cancel(struct svc_peer *session, uint64_t index);
/* Ends the thread and the port; after the connections are closed. */
void svc_completions_end(struct svc_completions *completions);
unsigned svc_completions_under_way(struct svc_completions *completions);

#endif
