/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model of the real-time kernel: what tasks, semaphores, queues, mailboxes, signals, mutexes and timers do,
 * in arrays and numbers, without lists and without stacks. It knows which task runs after each call, and what
 * every call returns. It shares only the numbers of status.h and task.h with the kernel.
 */
#ifndef TESTS_RTMODEL_H
#define TESTS_RTMODEL_H

#include <stdbool.h>
#include <stdint.h>

#define RTMODEL_TASKS  8
#define RTMODEL_EACH   3 /* objects of each kind */
#define RTMODEL_LIMIT  3 /* of a semaphore */
#define RTMODEL_DEPTH  2 /* of a queue */
#define RTMODEL_EVENTS (RTMODEL_TASKS + RTMODEL_EACH)
#define RTMODEL_NONE   (-1)

enum rtmodel_call {
    RTMODEL_TAKE,
    RTMODEL_GIVE,
    RTMODEL_SEND,
    RTMODEL_RECEIVE,
    RTMODEL_POST,
    RTMODEL_FETCH,
    RTMODEL_RAISE,
    RTMODEL_WAIT,
    RTMODEL_LOCK,
    RTMODEL_UNLOCK,
    RTMODEL_SLEEP,
    RTMODEL_YIELD,
    RTMODEL_SUSPEND,
    RTMODEL_RESUME,
    RTMODEL_DELETE, /* a task */
    RTMODEL_CREATE,
    RTMODEL_START, /* a timer, which gives the semaphore of the same number */
    RTMODEL_STOP,
    RTMODEL_SPEND,     /* computes */
    RTMODEL_INTERRUPT, /* raises a line whose handler makes the call `inside` */
    RTMODEL_CALLS,
};

struct rtmodel_op {
    enum rtmodel_call call;
    int object; /* or the task that is meant */
    uint64_t timeout;
    uint64_t value;           /* a message, a word, flags, a priority, a delay */
    uint64_t period;          /* of a timer */
    enum rtmodel_call inside; /* of an interrupt: GIVE, SEND, POST, RAISE or RESUME */
};

struct rtmodel_task {
    bool exists;
    unsigned base, priority;
    bool suspended;
    bool ready;   /* and not running */
    int64_t rank; /* among the ready ones of its priority: the lowest goes first */
    bool waits;
    enum rtmodel_call waits_in;
    int object;
    uint64_t arrival; /* among waiters of its priority */
    uint64_t wanted;  /* flags, or the message to send */
    bool goes_on;     /* was woken, and has not run since */
    int result;       /* of its last call */
    uint64_t value;
};

struct rtmodel_event {
    bool set;
    uint64_t deadline, order, period;
};

struct rtmodel {
    uint64_t now;
    int current;
    struct rtmodel_task task[RTMODEL_TASKS];
    unsigned units[RTMODEL_EACH];
    struct {
        uint64_t message[RTMODEL_DEPTH];
        unsigned held;             /* messages in the ring */
        unsigned messages, spaces; /* that belong to no task yet */
    } queue[RTMODEL_EACH];
    struct {
        bool full;
        uint64_t word;
    } mailbox[RTMODEL_EACH];
    uint32_t flags[RTMODEL_EACH];
    int owner[RTMODEL_EACH];
    struct rtmodel_event event[RTMODEL_EVENTS]; /* timeouts of tasks, then timers */
    int64_t first, last;                        /* ranks given so far */
    uint64_t stamp;
    uint64_t preemptions, inheritances, timeouts, circles, deletions;
};

void rtmodel_init(struct rtmodel *model);
/* Before the start: a ready task. */
void rtmodel_add(struct rtmodel *model, int task, unsigned priority);
/* The first task. */
void rtmodel_start(struct rtmodel *model);
/*
 * The running task makes that call. Afterwards `current` is the task that runs next; a call that has returned
 * has its result in its task.
 */
void rtmodel_step(struct rtmodel *model, const struct rtmodel_op *op);
/* Whether the task's state is that one of enum rt_task_state. */
bool rtmodel_has_state(const struct rtmodel *model, int task, int state);

#endif
