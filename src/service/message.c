/* SPDX-License-Identifier: Apache-2.0 */
#include "service/message.h"

#include <errno.h>

#include "base/array.h"
#include "service/greeting.h"
#include "service/registry.h"
#include "service/status.h"
#include "service/supervisor.h"
#include "service/peer.h"

static void answer_HELLO(struct svc_peer *session, const union svc_body *request, struct svc_reply *reply)
{
    svc_greeting_answer(session, &request->request_HELLO, reply);
}

static void answer_OPEN(struct svc_peer *session, const union svc_body *request, struct svc_reply *reply)
{
    reply->status =
        svc_kernel_open(session, &request->request_OPEN, &reply->body.reply_OPEN.connect, &reply->error);
}

static void answer_CLOSE(struct svc_peer *session, const union svc_body *request, struct svc_reply *reply)
{
    reply->status = svc_kernel_close(session, request->request_CLOSE.connect, &reply->error);
}

static void answer_SLOT(struct svc_peer *session, const union svc_body *request, struct svc_reply *reply)
{
    reply->status = svc_ring_announce(session, request->request_SLOT.slot, &reply->error);
}

static void answer_SURFACE(struct svc_peer *session, const union svc_body *request, struct svc_reply *reply)
{
    reply->status = svc_kernel_surface(session, &request->request_SURFACE, &reply->body.reply_SURFACE.surface,
                                       &reply->file, &reply->error);
}

static void answer_SURFACE_RELEASE(struct svc_peer *session, const union svc_body *request,
                                   struct svc_reply *reply)
{
    (void)reply;
    svc_kernel_surface_release(session, request->request_SURFACE_RELEASE.surface);
}

static void answer_REGISTRY(struct svc_peer *session, const union svc_body *request, struct svc_reply *reply)
{
    reply->status = svc_registry_step(session->service, &request->request_REGISTRY,
                                      &reply->body.reply_REGISTRY, &reply->error);
}

static void answer_BROKER(struct svc_peer *session, const union svc_body *request, struct svc_reply *reply)
{
    struct svc_supervisor *supervisor = session->service->supervisor;

    (void)request;
    if (supervisor) {
        reply->status = svc_supervisor_connect(supervisor, session, &reply->file, &reply->error);
        return;
    }
    reply->status = kIOReturnNoDevice;
    base_fail(&reply->error, ENODEV, "This service has no broker.");
}

static void answer_STATUS(struct svc_peer *session, const union svc_body *request, struct svc_reply *reply)
{
    svc_status_fill(session, request->request_STATUS.first, &reply->body.reply_STATUS);
}

/* Beside the format: messages that grant something, and those that an observer may send. */
#define GRANTING \
    (1u << PR_SERVICE_OPEN | 1u << PR_SERVICE_SLOT | 1u << PR_SERVICE_SURFACE | 1u << PR_SERVICE_BROKER)
#define OBSERVED (1u << PR_SERVICE_HELLO | 1u << PR_SERVICE_STATUS | 1u << PR_SERVICE_REGISTRY)

static const struct svc_message messages[] = {
#define X(id, number, request, reply, in, out, what)                         \
    {#id,        number, PR_SERVICE_BYTES(request), PR_SERVICE_BYTES(reply), \
     in,         out,    GRANTING >> (number)&1u,   OBSERVED >> (number)&1u, \
     answer_##id},
    PR_SERVICE_MESSAGES(X)
#undef X
};

const struct svc_message *svc_message_find(uint16_t number)
{
    for (size_t i = 0; i < BASE_COUNT_OF(messages); i++)
        if (messages[i].number == number)
            return &messages[i];
    return NULL;
}
