/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All threads wait for the listener in one epoll, edge-triggered: a call wakes one of them. The epoll does
 * not count calls, so a thread that has received one looks whether more wait, and arms the epoll again for
 * the next thread if so. Then it may take as long as it likes. A thread that is about to wait for the engine
 * makes another when no other is free; at the limit, or without memory for one, calls are late and not lost.
 */
#include "accel/notify.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "accel/answer.h"
#include "accel/launch.h"
#include "base/alloc.h"
#include "base/packet.h"

/* Linux 6.6: a call wakes its receiver on the same processor, and is woken there. Older headers lack it. */
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#endif
#ifndef SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1ul << 0)
#endif

#define THREADS_FIRST 2u
#define THREADS_MAX   64u

struct notify {
    struct acc_table *table;
    int listener, stop, epoll; /* stop: an eventfd */

    /* Guards what follows, and receiving: what poll has seen is there until it is received. */
    pthread_mutex_t lock;
    unsigned free; /* threads that do not wait for the engine */
    unsigned count;
    pthread_t thread[THREADS_MAX];
};

static void *serve(void *argument);

/* With the lock held. No signal is delivered to a thread of this kind. */
static bool add_thread(struct notify *notify)
{
    sigset_t all, before;
    int error;

    if (notify->count == THREADS_MAX || !base_alloc_allowed())
        return false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&notify->thread[notify->count], NULL, serve, notify);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error)
        return false;
    notify->count++;
    notify->free++;
    return true;
}

/* Before waiting for the engine. */
static void go_away(struct notify *notify)
{
    pthread_mutex_lock(&notify->lock);
    if (--notify->free == 0)
        (void)add_thread(notify);
    pthread_mutex_unlock(&notify->lock);
}

/*
 * A thread counts as free before it sends its answer: the program may make its next call before the thread
 * has come back, and another one would be made each time.
 */
static void come_back(struct notify *notify)
{
    pthread_mutex_lock(&notify->lock);
    notify->free++;
    pthread_mutex_unlock(&notify->lock);
}

static short pending(const struct notify *notify)
{
    struct pollfd look = {.fd = notify->listener, .events = POLLIN};

    return poll(&look, 1, 0) == 1 ? look.revents : 0;
}

/* Registers the listener; with EPOLL_CTL_MOD, what waits there already wakes a thread. */
static int arm(const struct notify *notify, int operation)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.fd = notify->listener};

    return epoll_ctl(notify->epoll, operation, notify->listener, &event);
}

/* What came of an attempt: a call, none, or the end, when no process is under the filter any more. */
enum attempt { GOT_CALL, GOT_NONE, GOT_END };

/* A call whose program was killed in the meantime is gone: ENOENT. */
static enum attempt try_receive(struct notify *notify, union acc_notice *notice)
{
    enum attempt attempt = GOT_NONE;
    short seen;

    memset(notice, 0, sizeof(*notice));
    pthread_mutex_lock(&notify->lock);
    seen = pending(notify);
    if (seen & POLLIN) {
        if (!ioctl(notify->listener, SECCOMP_IOCTL_NOTIF_RECV, &notice->call))
            attempt = GOT_CALL;
        if (pending(notify) & POLLIN)
            (void)arm(notify, EPOLL_CTL_MOD);
    } else if (seen) {
        attempt = GOT_END;
    }
    pthread_mutex_unlock(&notify->lock);
    return attempt;
}

/* The next call, or false at the end. */
static bool receive(struct notify *notify, union acc_notice *notice)
{
    for (;;) {
        struct epoll_event event;
        enum attempt attempt;

        if (epoll_wait(notify->epoll, &event, 1, -1) != 1)
            continue;
        if (event.data.fd == notify->stop)
            return false;
        attempt = try_receive(notify, notice);
        if (attempt != GOT_NONE)
            return attempt == GOT_CALL;
    }
}

static void *serve(void *argument)
{
    struct notify *notify = argument;
    struct acc_answer answer;
    union acc_notice notice;

    while (receive(notify, &notice)) {
        acc_answer_prepare(&answer, notify->table, notify->listener, &notice.call);
        if (answer.waits)
            go_away(notify);
        acc_answer_work(&answer);
        if (answer.waits)
            come_back(notify);
        acc_answer_send(&answer);
    }
    return NULL;
}

/* A thread makes another only for a call, and those are over when all processes have ended. */
static void stop_threads(struct notify *notify)
{
    unsigned count;

    eventfd_write(notify->stop, 1);
    for (unsigned i = 0;; i++) {
        pthread_mutex_lock(&notify->lock);
        count = notify->count;
        pthread_mutex_unlock(&notify->lock);
        if (i == count)
            return;
        pthread_join(notify->thread[i], NULL);
    }
}

static int make_epoll(struct notify *notify)
{
    struct epoll_event stop = {.events = EPOLLIN};

    if (!base_alloc_allowed())
        return -EMFILE;
    notify->stop = eventfd(0, EFD_CLOEXEC);
    notify->epoll = epoll_create1(EPOLL_CLOEXEC);
    stop.data.fd = notify->stop;
    if (notify->stop < 0 || notify->epoll < 0 ||
        epoll_ctl(notify->epoll, EPOLL_CTL_ADD, notify->stop, &stop) || arm(notify, EPOLL_CTL_ADD))
        return -errno;
    return 0;
}

static int start_threads(struct notify *notify, struct base_error *error)
{
    bool made = true;
    int status = make_epoll(notify);

    if (status)
        return base_fail(error, -status, "The notifier cannot wait for calls: %s.", strerror(-status));
    pthread_mutex_lock(&notify->lock);
    for (unsigned i = 0; i < THREADS_FIRST && made; i++)
        made = add_thread(notify);
    pthread_mutex_unlock(&notify->lock);
    if (made)
        return 0;
    stop_threads(notify);
    return base_fail(error, EAGAIN, "The threads of the notifier cannot be made.");
}

/* Each buffer of a program takes a descriptor here; the program keeps the limit it has. */
static void raise_descriptors(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit))
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

static int run(struct notify *notify, struct acc_launch *launch, char *const argv[], int *status,
               struct base_error *error)
{
    int result;

    notify->listener = launch->listener;
    (void)ioctl(notify->listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
    raise_descriptors();
    result = start_threads(notify, error);
    if (result)
        return result;
    result = acc_launch_execute(launch, argv[0], error);
    *status = acc_launch_wait(launch);
    stop_threads(notify);
    return result;
}

static int begin(struct acc_launch *launch, char *const argv[], struct base_error *error)
{
    if (!acc_answer_fits())
        return base_fail(error, ENOTSUP, "This kernel's notifications are longer than this program knows.");
    return acc_launch_begin(launch, argv, error);
}

int acc_notify_possible(struct base_error *error)
{
    struct acc_launch launch;
    int status = begin(&launch, NULL, error);

    if (!status)
        acc_launch_end(&launch);
    return status;
}

int acc_notify_run(struct acc_table *table, char *const argv[], int *status, struct base_error *error)
{
    struct notify notify = {
        .table = table, .listener = -1, .stop = -1, .epoll = -1, .lock = PTHREAD_MUTEX_INITIALIZER};
    struct acc_launch launch = {.listener = -1};
    int result = begin(&launch, argv, error);

    if (result)
        return result;
    result = run(&notify, &launch, argv, status, error);
    base_packet_close((int[]){notify.stop, notify.epoll}, 2);
    acc_launch_end(&launch);
    return result;
}
