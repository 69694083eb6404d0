/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread leads: it polls the listener and answers. Before it waits for the engine it leaves the lead to
 * whoever needs it: an epoll of the listener is armed, where the other threads wait, and the next call wakes
 * one of them. When no call comes meanwhile, which is usual, nothing is woken, and the thread leads on. So
 * there is one leader, or `vacant` is set.
 * A thread that leaves makes another when no other is free; at the limit, or without memory for one, calls
 * are late and not lost.
 */
#include "accel/notify.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
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
#define PROC_NUMBER   16u /* room for the text of a process's number */

struct notify {
    struct acc_table *table;
    int listener, stop, epoll; /* stop: an eventfd */

    /* Guards what follows. */
    pthread_mutex_t lock;
    bool vacant;   /* no thread leads */
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

/* What of the listener wakes a thread that does not lead: EPOLLIN once, or 0. */
static int watch(const struct notify *notify, int operation, uint32_t events)
{
    struct epoll_event event = {.events = events | EPOLLONESHOT, .data.fd = notify->listener};

    return epoll_ctl(notify->epoll, operation, notify->listener, &event);
}

/* Before waiting for the engine. What is there already wakes a thread too. */
static void leave(struct notify *notify)
{
    pthread_mutex_lock(&notify->lock);
    if (--notify->free == 0)
        (void)add_thread(notify);
    notify->vacant = true;
    (void)watch(notify, EPOLL_CTL_MOD, EPOLLIN);
    pthread_mutex_unlock(&notify->lock);
}

/* Takes the lead if it is vacant; with the lock held. */
static bool take_lead(struct notify *notify)
{
    if (!notify->vacant)
        return false;
    notify->vacant = false;
    (void)watch(notify, EPOLL_CTL_MOD, 0);
    return true;
}

/* Before the answer is sent, after which the program may make its next call. Whether this thread leads. */
static bool come_back(struct notify *notify)
{
    bool leads;

    pthread_mutex_lock(&notify->lock);
    notify->free++;
    leads = take_lead(notify);
    pthread_mutex_unlock(&notify->lock);
    return leads;
}

/* Waits until this thread leads; false at the end. */
static bool wait_for_lead(struct notify *notify)
{
    for (;;) {
        struct epoll_event event;
        bool leads;

        pthread_mutex_lock(&notify->lock);
        leads = take_lead(notify);
        pthread_mutex_unlock(&notify->lock);
        if (leads)
            return true;
        if (epoll_wait(notify->epoll, &event, 1, -1) == 1 && event.data.fd == notify->stop)
            return false;
    }
}

/* The next call, or false at the end. One whose program was killed in the meantime is gone: ENOENT. */
static bool receive(struct notify *notify, union acc_notice *notice)
{
    struct pollfd wait[2] = {{.fd = notify->listener, .events = POLLIN},
                             {.fd = notify->stop, .events = POLLIN}};

    for (;;) {
        if (poll(wait, 2, -1) < 0)
            continue;
        if (wait[1].revents || !(wait[0].revents & POLLIN))
            return false; /* without POLLIN: no process is under the filter any more */
        memset(notice, 0, sizeof(*notice));
        if (!ioctl(notify->listener, SECCOMP_IOCTL_NOTIF_RECV, &notice->call))
            return true;
    }
}

static void *serve(void *argument)
{
    struct notify *notify = argument;
    struct acc_answer answer;
    union acc_notice notice;
    bool leads = false;

    for (;;) {
        leads = leads || wait_for_lead(notify);
        if (!leads || !receive(notify, &notice))
            return NULL;
        acc_answer_prepare(&answer, notify->table, notify->listener, &notice.call);
        if (answer.waits)
            leave(notify);
        acc_answer_work(&answer);
        if (answer.waits)
            leads = come_back(notify);
        acc_answer_send(&answer);
    }
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
        epoll_ctl(notify->epoll, EPOLL_CTL_ADD, notify->stop, &stop) || watch(notify, EPOLL_CTL_ADD, 0))
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

/*
 * Each open of a node and each network of generation A takes descriptors here. The program keeps the limit
 * that it has.
 */
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

/* Descriptors of the program are looked at, and memory files opened, through /proc with process numbers. */
static int check_proc(struct base_error *error)
{
    char self[PROC_NUMBER], link[PROC_NUMBER];
    ssize_t size = readlink("/proc/self", link, sizeof(link) - 1);

    link[size > 0 ? size : 0] = 0;
    snprintf(self, sizeof(self), "%d", (int)getpid());
    if (!strcmp(self, link))
        return 0;
    return base_fail(error, ENOENT,
                     "User notification needs /proc with the process numbers of this namespace; here it %s. "
                     "Mount one there (`unshare --mount-proc` does).",
                     size < 0 ? "is not mounted" : "has those of another namespace");
}

static int begin(struct acc_launch *launch, char *const argv[], struct base_error *error)
{
    if (!acc_answer_fits())
        return base_fail(error, ENOTSUP, "This kernel's notifications are longer than this program knows.");
    if (check_proc(error))
        return -ENOENT;
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
    struct notify notify = {.table = table,
                            .listener = -1,
                            .stop = -1,
                            .epoll = -1,
                            .lock = PTHREAD_MUTEX_INITIALIZER,
                            .vacant = true};
    struct acc_launch launch = {.listener = -1};
    int result = begin(&launch, argv, error);

    if (result)
        return result;
    result = run(&notify, &launch, argv, status, error);
    base_packet_close((int[]){notify.stop, notify.epoll}, 2);
    acc_launch_end(&launch);
    return result;
}
