/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads take turns: one receives, the others wait for their turn or give an answer that waits for the
 * engine. A thread that is about to give such an answer first lets another receive, and makes one when none
 * is idle; at the limit, or without memory for one, it answers and keeps receiving, so that calls are late
 * and not lost.
 */
#include "accel/notify.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "accel/answer.h"
#include "accel/launch.h"
#include "base/alloc.h"
#include "base/file.h"

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
    int listener, stop; /* stop: an eventfd */

    /* Guards what follows. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool receiving; /* a thread does */
    bool ended;
    unsigned idle; /* threads that receive next, or are about to wait for it */
    unsigned count;
    pthread_t thread[THREADS_MAX];
};

static void *serve(void *argument);

/* With the lock held. No signal is delivered to a thread of this kind: the mask is that of its maker. */
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
    notify->idle++;
    return true;
}

/* False when all have ended. */
static bool become_receiver(struct notify *notify)
{
    bool ended;

    pthread_mutex_lock(&notify->lock);
    while (notify->receiving && !notify->ended)
        pthread_cond_wait(&notify->changed, &notify->lock);
    notify->idle--;
    ended = notify->ended;
    notify->receiving = true;
    pthread_mutex_unlock(&notify->lock);
    return !ended;
}

/*
 * A thread counts as idle before it sends its answer: the program may make its next call before the thread
 * has come back, and another one would be made each time.
 */
static void become_idle(struct notify *notify)
{
    pthread_mutex_lock(&notify->lock);
    notify->idle++;
    pthread_mutex_unlock(&notify->lock);
}

/* False: there is no other thread, and the caller goes on receiving after its answer. */
static bool hand_over(struct notify *notify)
{
    bool handed;

    pthread_mutex_lock(&notify->lock);
    handed = notify->idle || add_thread(notify);
    if (handed) {
        notify->receiving = false;
        pthread_cond_signal(&notify->changed);
    }
    pthread_mutex_unlock(&notify->lock);
    return handed;
}

static void end(struct notify *notify)
{
    pthread_mutex_lock(&notify->lock);
    notify->ended = true;
    pthread_cond_broadcast(&notify->changed);
    pthread_mutex_unlock(&notify->lock);
}

/* The next call, or false at the end. One whose program was killed in the meantime is gone: ENOENT. */
static bool receive(struct notify *notify, union acc_notice *notice)
{
    struct pollfd wait[2] = {{.fd = notify->listener, .events = POLLIN},
                             {.fd = notify->stop, .events = POLLIN}};

    for (;;) {
        if (poll(wait, 2, -1) < 0)
            continue;
        if (wait[1].revents)
            return false;
        memset(notice, 0, sizeof(*notice));
        if ((wait[0].revents & POLLIN) && !ioctl(notify->listener, SECCOMP_IOCTL_NOTIF_RECV, &notice->call))
            return true;
        if (!(wait[0].revents & POLLIN))
            return false; /* no process is under the filter any more */
    }
}

static void *serve(void *argument)
{
    struct notify *notify = argument;

    while (become_receiver(notify)) {
        bool handed = false;

        while (!handed) {
            struct acc_answer answer;
            union acc_notice notice;

            if (!receive(notify, &notice)) {
                end(notify);
                return NULL;
            }
            acc_answer_prepare(&answer, notify->table, notify->listener, &notice.call);
            handed = answer.waits && hand_over(notify);
            acc_answer_work(&answer);
            if (handed)
                become_idle(notify);
            acc_answer_send(&answer);
        }
    }
    return NULL;
}

static void stop_threads(struct notify *notify)
{
    unsigned count;

    end(notify);
    eventfd_write(notify->stop, 1);
    pthread_mutex_lock(&notify->lock);
    count = notify->count; /* a thread makes another only while it receives */
    pthread_mutex_unlock(&notify->lock);
    for (unsigned i = 0; i < count; i++)
        pthread_join(notify->thread[i], NULL);
}

static int start_threads(struct notify *notify, struct base_error *error)
{
    bool made = true;

    notify->stop = base_alloc_allowed() ? eventfd(0, EFD_CLOEXEC) : -1;
    if (notify->stop < 0)
        return base_fail(error, EMFILE, "No file descriptor is left for the notifier.");
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
    struct notify notify = {.table = table,
                            .listener = -1,
                            .stop = -1,
                            .lock = PTHREAD_MUTEX_INITIALIZER,
                            .changed = PTHREAD_COND_INITIALIZER};
    struct acc_launch launch;
    int result = begin(&launch, argv, error);

    if (result)
        return result;
    result = run(&notify, &launch, argv, status, error);
    if (notify.stop >= 0)
        close(notify.stop);
    acc_launch_end(&launch);
    return result;
}
