/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process at the service's socket without the library: it sends what it is asked to, right or wrong. Of the
 * tree it uses the protocol's tables alone. No call waits longer than SERVED_WIRE_SECONDS.
 */
#ifndef TESTS_SERVED_WIRE_H
#define TESTS_SERVED_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/broker.h"
#include "protocol/service.h"
#include "protocol/service_ring.h"

#define SERVED_WIRE_SECONDS 30

struct served_wire {
    int socket;
    uint32_t serial;
    struct pr_service_welcome welcome;
    uint8_t *ring; /* NULL without one */
};

struct served_reply {
    struct pr_service_header head;
    union {
        uint8_t body[PR_SERVICE_BODY];
        char sentence[PR_SERVICE_BODY];
        struct pr_service_connect connect;
        struct pr_service_surface surface;
        struct pr_service_registry_value registry;
        struct pr_service_status_page page;
        struct pr_broker_model model;
        struct pr_broker_instance instance;
        struct pr_broker_info info;
        struct pr_broker_purged purged;
    };
    int fd[PR_SERVICE_FDS];
    unsigned fds;
};

/* A connected socket, or -1. */
int served_wire_connect(const char *path);
/* The same and HELLO, with the ring mapped. False: no session; `reply`, which may be NULL, says why. */
bool served_wire_begin(struct served_wire *wire, const char *path, uint32_t role, struct served_reply *reply);
void served_wire_end(struct served_wire *wire);

/* One message, whole and as it is. False when the other end is closed. */
bool served_wire_send(int socket, const void *bytes, size_t size, const int *fds, unsigned count);
/* One message from the other end, of which a reply has the form. False: closed, late, or of another form. */
bool served_wire_receive(int socket, struct served_reply *reply);

/*
 * A message of that type in its right form, and its reply: the status. SERVED_WIRE_CLOSED when there is none.
 */
#define SERVED_WIRE_CLOSED INT32_MIN
int32_t served_wire_call(struct served_wire *wire, uint16_t type, const void *body, size_t size,
                         struct served_reply *reply);
/* The same on a socket to the broker. */
int32_t served_wire_broker(int broker, uint16_t type, const void *body, size_t size, const int *fds,
                           unsigned count, struct served_reply *reply);
/* A socket to the broker; -1 when the service refuses it. */
int served_wire_open_broker(struct served_wire *wire);
void served_reply_close(struct served_reply *reply);

/* A slot of the ring; announced by served_wire_slot, which says whether the service has taken it. */
struct pr_ring_slot *served_wire_at(const struct served_wire *wire, uint32_t slot);
bool served_wire_slot(struct served_wire *wire, uint32_t slot);
/* Posts what is in `call` and copies the outcome there. False when none came in time. */
bool served_wire_post(const struct served_wire *wire, uint32_t slot, struct pr_ring_slot *call);

/* All pages of the service's status: the rows, of which `room` are copied. Negative without a service. */
long served_wire_status(const char *path, struct pr_service_status_page *page, struct pr_service_client *rows,
                        unsigned room);

#endif
