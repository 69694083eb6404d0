/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the broker ends, its ends of all sockets are closed with it: its session, the orders of the compile
 * services, which then end too and are started anew, and the connections of clients. The service holds a copy
 * of each of the latter, so that it can end them with the client's session; it shuts those down itself.
 */
#include "service/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/packet.h"
#include "protocol/broker.h"
#include "service/child.h"
#include "service/log.h"
#include "service/peer.h"

#define STATE_PATH   4096u
#define SOON_NS      1000000000ull /* an end so soon after the start makes the delay grow */
#define DELAY_MS     100u
#define DELAY_MAX_MS 5000u
#define STOP_MS      2000u
#define NS_PER_MS    1000000u

enum role { BROKER, COMPILER, LONGER_COMPILER, ROLES };
static const char *const name_of[ROLES] = {"broker", "compile service", "longer-duration compile service"};

struct child {
    pid_t pid; /* 0: it does not run */
    uint32_t restarts;
    unsigned early; /* ends in a row that came soon */
    uint64_t started_ns, due_ns;
};

struct svc_supervisor {
    struct svc_service *service;
    const char *executable;
    char state[STATE_PATH];
    pthread_mutex_t lock; /* of what follows, which other threads read */
    int control;          /* the service's end of the broker's first socket; -1: it does not run */
    int orders[ROLES];    /* the broker's end of a compile service's socket, until it has it; -1: none */
    struct child child[ROLES];
};

int svc_supervisor_make(struct svc_service *service, const char *executable, const char *state,
                        struct svc_supervisor **made, struct base_error *error)
{
    struct svc_supervisor *supervisor = base_alloc(sizeof(*supervisor));

    if (!supervisor)
        return base_fail(error, ENOMEM, "No memory for the service's children.");
    supervisor->service = service;
    supervisor->executable = executable;
    snprintf(supervisor->state, sizeof(supervisor->state), "%s", state);
    supervisor->control = -1;
    for (unsigned i = 0; i < ROLES; i++)
        supervisor->orders[i] = -1;
    pthread_mutex_init(&supervisor->lock, NULL);
    *made = supervisor;
    return 0;
}

/* ---- Notices ---- */

/* With the lock held; file -1: none. 0 or a negative errno. */
static int send_notice(struct svc_supervisor *supervisor, uint16_t type, const void *body, uint32_t bytes,
                       int file)
{
    struct pr_service_header header = {
        .magic = PR_BROKER_MAGIC, .version = PR_SERVICE_VERSION, .type = type, .bytes = bytes};

    if (supervisor->control < 0)
        return -ENODEV;
    return base_packet_send(supervisor->control, &header, sizeof(header), body, bytes, &file, file >= 0, 0);
}

void svc_supervisor_report(struct svc_supervisor *supervisor, uint32_t task)
{
    const struct pr_broker_active_notice notice = {.task = task};

    pthread_mutex_lock(&supervisor->lock);
    send_notice(supervisor, PR_BROKER_NOTICE_ACTIVE, &notice, sizeof(notice), -1);
    pthread_mutex_unlock(&supervisor->lock);
}

/* With the lock held: the broker gets the compile services' sockets that it does not have. */
static void hand_over_orders(struct svc_supervisor *supervisor)
{
    for (unsigned i = COMPILER; i < ROLES; i++) {
        struct pr_broker_compiler notice = {.number = i - COMPILER,
                                            .pid = (uint32_t)supervisor->child[i].pid};

        if (supervisor->orders[i] < 0 || send_notice(supervisor, PR_BROKER_NOTICE_COMPILER, &notice,
                                                     sizeof(notice), supervisor->orders[i]))
            continue;
        close(supervisor->orders[i]);
        supervisor->orders[i] = -1;
    }
}

struct pollfd svc_supervisor_poll(struct svc_supervisor *supervisor)
{
    return (struct pollfd){.fd = supervisor->control, .events = POLLIN};
}

static void set_tier(struct svc_service *service, const struct pr_broker_tier_notice *notice)
{
    struct svc_peer *peer = svc_service_hold_task(service, notice->task);

    if (!peer)
        return;
    pthread_mutex_lock(&service->lock);
    peer->tier = notice->tier < PR_BROKER_TIERS ? notice->tier : PR_BROKER_TIERS;
    pthread_mutex_unlock(&service->lock);
    svc_peer_release(peer);
}

/* With the lock held. */
static void drop_control(struct svc_supervisor *supervisor)
{
    if (supervisor->control >= 0)
        close(supervisor->control);
    supervisor->control = -1;
}

/* The socket ends with the process. A broker that sends anything but the notice TIER is broken. */
void svc_supervisor_receive(struct svc_supervisor *supervisor)
{
    struct {
        struct pr_service_header header;
        struct pr_broker_tier_notice tier;
    } notice;
    unsigned count;
    long size = base_packet_receive(supervisor->control, &notice, sizeof(notice), NULL, 0, &count);

    if (size == (long)sizeof(notice) && notice.header.magic == PR_BROKER_MAGIC &&
        notice.header.type == PR_BROKER_NOTICE_TIER) {
        set_tier(supervisor->service, &notice.tier);
        return;
    }
    if (size > 0)
        svc_log("the broker sent a notice that there is none of; it is ended");
    pthread_mutex_lock(&supervisor->lock);
    drop_control(supervisor);
    if (supervisor->child[BROKER].pid)
        kill(supervisor->child[BROKER].pid, SIGKILL);
    pthread_mutex_unlock(&supervisor->lock);
}

/* ---- Starting ---- */

static void close_pair(int pair[2])
{
    for (unsigned i = 0; i < 2; i++)
        if (pair[i] >= 0)
            close(pair[i]);
}

static int make_pair(int pair[2])
{
    pair[0] = pair[1] = -1;
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) ? -errno : 0;
}

/* With the lock held. */
static int start_broker(struct svc_supervisor *supervisor, struct base_error *error)
{
    const char *const words[] = {"anemone", "broker", NULL};
    int control[2] = {-1, -1}, session[2] = {-1, -1};
    int status = make_pair(control);

    if (!status)
        status = make_pair(session);
    if (!status)
        status = svc_child_start(supervisor->executable, words, (const int[]){control[1], session[1]},
                                 &supervisor->child[BROKER].pid);
    if (!status) {
        status = svc_peer_start(supervisor->service, session[0], PR_SERVICE_ROLE_BROKER, error);
        if (status) /* without its session it ends by itself */
            kill(supervisor->child[BROKER].pid, SIGKILL);
        else
            session[0] = -1;
        supervisor->control = control[0];
        control[0] = -1;
    } else {
        base_fail(error, -status, "%s", strerror(-status));
    }
    close_pair(control);
    close_pair(session);
    return status;
}

/* With the lock held. */
static int start_compiler(struct svc_supervisor *supervisor, enum role role, struct base_error *error)
{
    const char *const words[] = {"anemone", "compiler", role == COMPILER ? "0" : "1", supervisor->state,
                                 NULL};
    int orders[2];
    int status = make_pair(orders);

    if (!status)
        status = svc_child_start(supervisor->executable, words, (const int[]){orders[1], -1},
                                 &supervisor->child[role].pid);
    if (!status) {
        if (supervisor->orders[role] >= 0)
            close(supervisor->orders[role]);
        supervisor->orders[role] = orders[0];
        orders[0] = -1;
    } else {
        base_fail(error, -status, "%s", strerror(-status));
    }
    close_pair(orders);
    return status;
}

/* With the lock held: when a child that is not running is to be started. */
static void set_due(struct child *child, uint64_t now)
{
    unsigned ms = child->early ? DELAY_MS << (child->early < 6 ? child->early - 1 : 6) : 0;

    child->due_ns = now + (uint64_t)(ms < DELAY_MAX_MS ? ms : DELAY_MAX_MS) * NS_PER_MS;
}

/* With the lock held. */
static void start_child(struct svc_supervisor *supervisor, enum role role, uint64_t now)
{
    struct child *child = &supervisor->child[role];
    struct base_error error;
    int status = role == BROKER ? start_broker(supervisor, &error) : start_compiler(supervisor, role, &error);

    child->started_ns = now;
    if (!child->pid) {
        child->early++;
        set_due(child, now);
    }
    if (status)
        svc_log("the %s does not start: %s", name_of[role], error.text);
    else
        svc_log("the %s runs: process %d", name_of[role], (int)child->pid);
}

int svc_supervisor_start_due(struct svc_supervisor *supervisor)
{
    uint64_t now = svc_service_now(), next = UINT64_MAX;

    pthread_mutex_lock(&supervisor->lock);
    for (unsigned i = 0; i < ROLES; i++) {
        struct child *child = &supervisor->child[i];

        if (!child->pid && child->due_ns <= now)
            start_child(supervisor, i, now);
        if (!child->pid && child->due_ns < next)
            next = child->due_ns;
    }
    hand_over_orders(supervisor);
    pthread_mutex_unlock(&supervisor->lock);
    return next == UINT64_MAX ? -1 : (int)(next <= now ? 0 : (next - now) / NS_PER_MS + 1);
}

/* ---- Ends ---- */

static void say_end(enum role role, const struct child *child, pid_t pid, int status)
{
    char delay[48] = "";

    if (child->early > 1)
        snprintf(delay, sizeof(delay), ", %u times in a row", child->early);
    if (WIFSIGNALED(status))
        svc_log("the %s ended: process %d, %s%s; it is started again", name_of[role], (int)pid,
                strsignal(WTERMSIG(status)), delay);
    else
        svc_log("the %s ended: process %d, status %d%s; it is started again", name_of[role], (int)pid,
                WEXITSTATUS(status), delay);
}

/* With the lock held. */
static void note_end(struct svc_supervisor *supervisor, enum role role, int status)
{
    struct child *child = &supervisor->child[role];
    uint64_t now = svc_service_now();
    pid_t pid = child->pid;

    child->pid = 0;
    child->restarts++;
    child->early = now - child->started_ns < SOON_NS ? child->early + 1 : 0;
    set_due(child, now);
    say_end(role, child, pid, status);
    if (role != BROKER)
        return;
    drop_control(supervisor);
    svc_service_cut_brokers(supervisor->service);
    /* What comes with the broker's end is not theirs. */
    supervisor->child[COMPILER].early = supervisor->child[LONGER_COMPILER].early = 0;
}

void svc_supervisor_reap(struct svc_supervisor *supervisor)
{
    pthread_mutex_lock(&supervisor->lock);
    for (unsigned i = 0; i < ROLES; i++) {
        pid_t pid = supervisor->child[i].pid;
        int status;

        if (pid && waitpid(pid, &status, WNOHANG) == pid)
            note_end(supervisor, i, status);
    }
    pthread_mutex_unlock(&supervisor->lock);
}

/* The children end when their sockets do. */
void svc_supervisor_stop(struct svc_supervisor *supervisor)
{
    drop_control(supervisor);
    for (unsigned i = 0; i < ROLES; i++) {
        pid_t pid = supervisor->child[i].pid;

        if (supervisor->orders[i] >= 0)
            close(supervisor->orders[i]);
        for (unsigned ms = 0; pid && waitpid(pid, NULL, WNOHANG) != pid; ms++) {
            if (ms == STOP_MS) {
                svc_log("the %s did not end in %u s and is killed", name_of[i], STOP_MS / 1000);
                kill(pid, SIGKILL);
            }
            usleep(1000);
        }
    }
    pthread_mutex_destroy(&supervisor->lock);
    base_free(supervisor);
}

/* ---- Clients ---- */

static void fill_client(const struct svc_peer *peer, struct pr_broker_client *client)
{
    const struct svc_identity *identity = &peer->identity;
    size_t length = strlen(identity->executable), room = sizeof(client->executable) - 1;

    *client = (struct pr_broker_client){.task = peer->task,
                                        .pid = (uint32_t)identity->pid,
                                        .uid = identity->uid,
                                        .gid = identity->gid,
                                        .entitlements = peer->grant.entitlements,
                                        .own_user = identity->uid == peer->service->uid,
                                        .has_signature = identity->has_signature};
    memcpy(client->cdhash, identity->cdhash, sizeof(client->cdhash));
    memcpy(client->team, peer->grant.team, sizeof(client->team));
    /* The end of a long path says more. */
    snprintf(client->executable, sizeof(client->executable), "%s",
             identity->executable + (length > room ? length - room : 0));
}

/* A place for the service's copy; those whose other end is closed are given back first. -1: none is free. */
static int free_place(struct svc_peer *peer)
{
    int place = -1;

    for (unsigned i = 0; i < PR_SERVICE_BROKERS; i++) {
        struct pollfd look = {.fd = peer->broker[i]};

        if (look.fd >= 0 && poll(&look, 1, 0) == 1) {
            close(look.fd);
            peer->broker[i] = -1;
        }
        if (peer->broker[i] < 0)
            place = (int)i;
    }
    return place;
}

static IOReturn refuse(IOReturn code, struct base_error *error, const char *sentence)
{
    base_fail(error, EIO, "%s", sentence);
    return code;
}

/* With the locks of the supervisor and the service held. */
static IOReturn connect_locked(struct svc_supervisor *supervisor, struct svc_peer *peer, int pair[2],
                               struct base_error *error)
{
    struct pr_broker_client client;
    int place = free_place(peer), status;

    if (place < 0) {
        base_fail(error, ENOSPC, "This process has %u connections to the broker; close one.",
                  PR_SERVICE_BROKERS);
        return kIOReturnNoResources;
    }
    fill_client(peer, &client);
    status = send_notice(supervisor, PR_BROKER_NOTICE_CLIENT, &client, sizeof(client), pair[1]);
    if (status == -EAGAIN)
        return refuse(kIOReturnBusy, error, "The broker has more notices than it has read; try again.");
    if (status)
        return refuse(kIOReturnNoDevice, error, "The broker does not run; it is being started.");
    peer->broker[place] = pair[1];
    pair[1] = -1;
    return kIOReturnSuccess;
}

IOReturn svc_supervisor_connect(struct svc_supervisor *supervisor, struct svc_peer *peer, int *file,
                                struct base_error *error)
{
    IOReturn result;
    int pair[2];

    if (make_pair(pair))
        return refuse(kIOReturnNoResources, error, "The service has no file descriptor left.");
    pthread_mutex_lock(&supervisor->lock);
    pthread_mutex_lock(&supervisor->service->lock);
    result = connect_locked(supervisor, peer, pair, error);
    pthread_mutex_unlock(&supervisor->service->lock);
    pthread_mutex_unlock(&supervisor->lock);
    if (!result) {
        *file = pair[0];
        pair[0] = -1;
    }
    close_pair(pair);
    return result;
}

void svc_supervisor_figures(struct svc_supervisor *supervisor, struct svc_supervisor_figures *figures)
{
    pthread_mutex_lock(&supervisor->lock);
    *figures =
        (struct svc_supervisor_figures){.broker = supervisor->child[BROKER].pid,
                                        .compiler = supervisor->child[COMPILER].pid,
                                        .broker_restarts = supervisor->child[BROKER].restarts,
                                        .compiler_restarts = supervisor->child[COMPILER].restarts +
                                                             supervisor->child[LONGER_COMPILER].restarts};
    pthread_mutex_unlock(&supervisor->lock);
}
