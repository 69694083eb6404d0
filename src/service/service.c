/* SPDX-License-Identifier: Apache-2.0 */
#include "service/service.h"

#include <errno.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "service/peer.h"

uint64_t svc_service_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int svc_service_init(struct svc_service *service, struct ane_machine *machine, struct svc_policy *policy,
                     struct base_error *error)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);

    *service = (struct svc_service){.machine = machine,
                                    .device = ane_machine_service(machine),
                                    .policy = policy,
                                    .uid = geteuid(),
                                    .started_ns = svc_service_now(),
                                    .spinners_most = processors > 1 ? (unsigned)processors / 2 : 0};
    if (!service->device)
        return base_fail(error, EINVAL, "A service needs a machine with firmware.");
    pthread_mutex_init(&service->lock, NULL);
    pthread_mutex_init(&service->open_lock, NULL);
    svc_shares_init(&service->shares, service->uid);
    pthread_mutex_init(&service->figures_lock, NULL);
    pthread_cond_init(&service->changed, NULL);
    return 0;
}

void svc_service_end(struct svc_service *service)
{
    svc_figures_end(&service->figures);
    pthread_mutex_destroy(&service->lock);
    pthread_mutex_destroy(&service->open_lock);
    svc_shares_end(&service->shares);
    pthread_mutex_destroy(&service->figures_lock);
    pthread_cond_destroy(&service->changed);
}

struct svc_peer *svc_service_hold_task(struct svc_service *service, ane_task_t task)
{
    struct svc_peer *found = NULL;

    pthread_mutex_lock(&service->lock);
    for (unsigned i = 0; i < SVC_ROWS && task && !found; i++) {
        struct svc_peer *session = service->session[i];

        if (session && session->task == task && !session->ending && session != service->broker)
            found = session;
    }
    if (found)
        found->holds++;
    pthread_mutex_unlock(&service->lock);
    return found;
}

struct svc_peer *svc_service_hold_broker(struct svc_service *service)
{
    struct svc_peer *broker;

    pthread_mutex_lock(&service->lock);
    broker = service->broker;
    if (broker)
        broker->holds++;
    pthread_mutex_unlock(&service->lock);
    return broker;
}

unsigned svc_service_count_locked(const struct svc_service *service, enum pr_service_role role, uid_t uid)
{
    unsigned count = 0;

    for (unsigned i = 0; i < SVC_ROWS; i++) {
        const struct svc_peer *session = service->session[i];

        count +=
            session && session->greeted && session->role == role && (uid == (uid_t)-1 || session->uid == uid);
    }
    return count;
}

void svc_service_cut_brokers(struct svc_service *service)
{
    pthread_mutex_lock(&service->lock);
    for (unsigned i = 0; i < SVC_ROWS; i++)
        if (service->session[i])
            svc_peer_cut_broker_locked(service->session[i]);
    pthread_mutex_unlock(&service->lock);
}

void svc_service_end_sessions(struct svc_service *service)
{
    pthread_mutex_lock(&service->lock);
    for (unsigned i = 0; i < SVC_ROWS; i++)
        if (service->session[i])
            shutdown(service->session[i]->socket, SHUT_RDWR);
    pthread_mutex_unlock(&service->lock);
}

unsigned svc_service_wait_sessions(struct svc_service *service, unsigned ms)
{
    struct timespec until;
    unsigned left;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += ms % 1000 * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_mutex_lock(&service->lock);
    while (service->sessions &&
           pthread_cond_timedwait(&service->changed, &service->lock, &until) != ETIMEDOUT)
        ;
    left = service->sessions;
    pthread_mutex_unlock(&service->lock);
    return left;
}

unsigned svc_service_in_flight(struct svc_service *service)
{
    unsigned count = 0;

    pthread_mutex_lock(&service->lock);
    for (unsigned i = 0; i < SVC_ROWS; i++) {
        struct svc_peer *session = service->session[i];

        if (session && session->greeted && !session->ending)
            count += svc_ring_busy(&session->ring) + svc_completions_under_way(&session->completions);
    }
    pthread_mutex_unlock(&service->lock);
    return count;
}
