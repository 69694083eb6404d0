/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a session answers to each message of protocol/service.h. The table has a row for each: the sizes and
 * descriptors of the format, whether it grants something, and the function that makes the reply.
 */
#ifndef SERVICE_MESSAGE_H
#define SERVICE_MESSAGE_H

#include <stdbool.h>

#include "base/error.h"
#include "protocol/service.h"

struct svc_peer;

union svc_body {
#define X(id, number, request, reply, in, out, what) \
    struct pr_service_##request request_##id;        \
    struct pr_service_##reply reply_##id;
    PR_SERVICE_MESSAGES(X)
#undef X
};

struct svc_reply {
    int32_t status;
    int file; /* the descriptor that goes with it, closed afterwards; -1: none */
    struct base_error error;
    union svc_body body;
};

struct svc_message {
    const char *name;
    uint16_t number;
    uint32_t request, reply; /* bytes */
    unsigned fds_in, fds_out;
    bool grants;   /* identity is checked again */
    bool observer; /* also for a session that has no task */
    /* Fills the reply, which is zeroed but for its file. */
    void (*answer)(struct svc_peer *session, const union svc_body *request, struct svc_reply *reply);
};

/* NULL: there is no such message. */
const struct svc_message *svc_message_find(uint16_t number);

#endif
