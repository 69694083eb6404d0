/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever fails here leaves the session as it was: it has not been greeted, and may only end. */
#include "service/greeting.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "service/keys.h"
#include "service/log.h"
#include "service/peer.h"

/* With the service's lock held: the role is the session's when there is room for one more. */
static IOReturn admit(struct svc_peer *session, enum pr_service_role role, struct base_error *error)
{
    const struct svc_service *service = session->service;
    const bool observes = role == PR_SERVICE_ROLE_OBSERVER;
    const unsigned most = observes ? PR_SERVICE_OBSERVERS : PR_SERVICE_SESSIONS;
    const unsigned most_own = observes ? PR_SERVICE_OBSERVERS_USER : PR_SERVICE_USER;
    unsigned all = svc_service_count_locked(service, role, (uid_t)-1);
    unsigned own = svc_service_count_locked(service, role, session->uid);

    if (all >= most)
        base_fail(error, ENOSPC, "The service has %u %s; that is its limit.", most,
                  observes ? "observers" : "clients");
    else if (session->uid != service->uid && own >= most_own)
        base_fail(error, ENOSPC, "User %u has %u %s of the service; that is the limit of one user.",
                  (unsigned)session->uid, most_own, observes ? "observers" : "clients");
    else
        return kIOReturnSuccess;
    return kIOReturnNoResources;
}

static ane_task_t make_task(const struct svc_peer *session)
{
    const char *list[PR_ENTITLEMENT_COUNT];
    unsigned count = svc_keys_list(session->grant.entitlements, list);

    return ane_task_create(list, count, session->grant.team,
                           session->identity.has_signature ? session->identity.cdhash : NULL);
}

/* A place of kind SLOT, when the policy grants one and it is free. */
static bool take_place(struct svc_peer *session)
{
    unsigned taken = atomic_load(&session->service->blessed);

    if (!(session->grant.entitlements & PR_ENTITLEMENT_BIT(BLESSED)))
        return false;
    while (taken < PR_BLESSED_SLOTS)
        if (atomic_compare_exchange_weak(&session->service->blessed, &taken, taken + 1))
            return true;
    return false;
}

/* The keys that decide what a client may do at all, for the log. */
static const char *access_of(uint32_t entitlements)
{
    if (entitlements & PR_ENTITLEMENT_BIT(OPEN))
        return "opens the device";
    if (entitlements & PR_ENTITLEMENT_BIT(DIRECT_CLASS))
        return "direct path and broker";
    if (entitlements & (PR_ENTITLEMENT_BIT(ALLOW) | PR_ENTITLEMENT_BIT(ACCESS)))
        return "broker";
    return "no access";
}

static IOReturn give_task(struct svc_peer *session, enum pr_service_role role, struct base_error *error)
{
    struct svc_service *service = session->service;
    ane_task_t task = 0;
    IOReturn status = kIOReturnSuccess;

    if (role != PR_SERVICE_ROLE_OBSERVER) {
        task = make_task(session);
        if (!task) {
            base_fail(error, ENOSPC, "%s", ane_machine_error());
            return kIOReturnNoResources;
        }
    }
    pthread_mutex_lock(&service->lock);
    if (session->role != PR_SERVICE_ROLE_BROKER)
        status = admit(session, role, error);
    if (!status) {
        session->task = task;
        session->greeted = true;
        if (session->role != PR_SERVICE_ROLE_BROKER)
            session->role = role;
    }
    pthread_mutex_unlock(&service->lock);
    if (status)
        ane_task_release(task);
    return status;
}

static IOReturn give_ring(struct svc_peer *session, int *file, struct base_error *error)
{
    int status = svc_ring_make(&session->ring, error);

    if (status)
        return kIOReturnNoMemory;
    *file = fcntl(session->ring.file, F_DUPFD_CLOEXEC, 0);
    if (*file >= 0)
        return kIOReturnSuccess;
    base_fail(error, EMFILE, "The service has no file descriptor left.");
    return kIOReturnNoResources;
}

static void fill_welcome(const struct svc_peer *session, struct pr_service_welcome *welcome)
{
    welcome->task = session->task;
    welcome->entitlements = session->grant.entitlements;
    welcome->ring_bytes = PR_RING_BYTES;
    welcome->slots = PR_RING_SLOTS;
    welcome->uid = session->identity.uid;
    welcome->pid = (uint32_t)session->identity.pid;
    memcpy(welcome->team, session->grant.team, sizeof(welcome->team));
    memcpy(welcome->cdhash, session->identity.cdhash, sizeof(welcome->cdhash));
    welcome->has_signature = session->identity.has_signature;
}

/* The broker's socket is the service's own: no other process is the broker. */
static IOReturn check_role(const struct svc_peer *session, uint32_t role, struct base_error *error)
{
    if (role < PR_SERVICE_ROLE_COUNT &&
        (role != PR_SERVICE_ROLE_BROKER || session->role == PR_SERVICE_ROLE_BROKER))
        return kIOReturnSuccess;
    base_fail(error, EINVAL, "HELLO names role %u; a process is a client or an observer.", role);
    return kIOReturnBadArgument;
}

void svc_greeting_answer(struct svc_peer *session, const struct pr_service_hello *hello,
                         struct svc_reply *reply)
{
    enum pr_service_role role = hello->role;
    IOReturn status = check_role(session, role, &reply->error);

    if (!status && session->role != PR_SERVICE_ROLE_BROKER) {
        if (svc_identity_take(session->socket, &session->identity, &reply->error))
            status = kIOReturnNotPermitted;
        else
            svc_policy_match(session->service->policy, &session->identity, &session->grant);
    }
    if (!status)
        status = give_ring(session, &reply->file, &reply->error);
    if (!status)
        status = give_task(session, role, &reply->error);
    reply->status = status;
    if (status) {
        svc_log_client("refused process %d of user %u: %s", (int)session->identity.pid,
                       (unsigned)session->uid, reply->error.text);
        return;
    }
    session->blessed = take_place(session);
    fill_welcome(session, &reply->body.reply_HELLO);
    if (session->role == PR_SERVICE_ROLE_CLIENT)
        svc_log_client("client %u: process %d of user %u, %s: %s%s", session->task,
                       (int)session->identity.pid, (unsigned)session->uid,
                       session->identity.executable[0] ? session->identity.executable : "unknown executable",
                       access_of(session->grant.entitlements), session->blessed ? ", blessed" : "");
}
