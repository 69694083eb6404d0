/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's state and its objects, for this room alone. Everything here is changed with interrupts masked.
 */
#ifndef RTKERNEL_STATE_H
#define RTKERNEL_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rtkernel/fault.h"
#include "rtkernel/heap.h"
#include "rtkernel/list.h"
#include "rtkernel/log.h"
#include "rtkernel/pool.h"
#include "rtkernel/port.h"
#include "rtkernel/rt_limits.h"
#include "rtkernel/status.h"
#include "rtkernel/task.h"

/*
 * What an object's mark is while it exists. Deleting clears it, and leaves the pointer to the kernel, so that
 * a call with a deleted object can be refused.
 */
#define RT_MARK(kind) (0x72744f00u + (uint32_t)(kind))

/* A future event: the timeout of a task's wait, or a timer. */
struct rt_event {
    struct rt_link link; /* alone when not on the timeline */
    uint64_t deadline;
    bool is_timer;
};

struct rt_task {
    struct rt_context context;
    struct rt_kernel *kernel;
    uint32_t mark;           /* RT_MARK of its pool while it exists */
    struct rt_link link;     /* in a ready level, in an object's waiters, or among the dead */
    struct rt_link *waiters; /* the list of an object in which `link` is, or NULL */
    struct rt_mutex *awaits; /* the mutex of that list, if it is a mutex's */
    struct rt_link held;     /* mutexes that it has */
    uint8_t base;            /* the priority it was created with */
    uint8_t priority;        /* the effective one: its base, or that of a more urgent waiter of `held` */
    uint8_t state;           /* enum rt_task_state, without regard to `suspended` */
    bool suspended;
    bool ended;       /* among the dead: the terminator has it */
    bool waiting_any; /* in rt_task_wait_any: the owner's queues wake it */
    int32_t wait_result;
    uint64_t wait_word; /* what is waited for, or what was handed over: a mailbox's word, a signal's flags */
    struct rt_event timeout; /* of the wait */
    uint64_t *stack;         /* its lowest address: guard words, then fill */
    size_t stack_bytes;
    uint64_t runs;
    struct rt_queue *input, *interrupts;
    void (*entry)(void *arg);
    void *arg;
    char name[RT_NAME_BYTES];
};

struct rt_semaphore {
    struct rt_kernel *kernel;
    uint32_t mark; /* RT_MARK of its pool while it exists */
    uint32_t count, limit;
    struct rt_link waiters;
};

struct rt_queue {
    struct rt_kernel *kernel;
    uint32_t mark;         /* RT_MARK of its pool while it exists */
    struct rt_task *owner; /* whose input or interrupt queue it is, or NULL */
    uint8_t *ring;
    uint32_t width, depth;
    uint32_t slot_bytes;  /* a length word and the message */
    uint32_t read, write; /* slots */
    bool locked; /* ring and pointers are being changed; with interrupts masked it is never found set */
    struct rt_semaphore messages, spaces;
};

struct rt_mailbox {
    struct rt_kernel *kernel;
    uint32_t mark; /* RT_MARK of its pool while it exists */
    bool full;
    uint64_t word;
    struct rt_link waiters;
};

struct rt_signal {
    struct rt_kernel *kernel;
    uint32_t mark; /* RT_MARK of its pool while it exists */
    uint32_t flags;
    struct rt_link waiters;
};

struct rt_mutex {
    struct rt_kernel *kernel;
    uint32_t mark; /* RT_MARK of its pool while it exists */
    struct rt_task *owner;
    struct rt_link held; /* in the owner's */
    struct rt_link waiters;
};

struct rt_timer {
    struct rt_event event;
    struct rt_kernel *kernel;
    uint32_t mark; /* RT_MARK of its pool while it exists */
    uint64_t period, missed;
    struct rt_semaphore *semaphore; /* one of the two, or neither: then it raises `line` */
    struct rt_queue *queue;
    uint8_t line;
    uint8_t message_bytes;
    uint8_t message[RT_TIMER_MESSAGE_BYTES];
};

struct rt_pool {
    uint64_t used; /* a bit per slot */
    uint32_t total, available;
};

struct rt_arena {
    uint8_t *base;
    uint64_t bytes;
    uint64_t used, peak; /* bytes of blocks in use, with their overhead */
    uint64_t failures;   /* allocations that were refused */
    uint64_t fresh;      /* from here on nothing was ever allocated, and the bytes are zeros */
};

struct rt_irq {
    void (*handler)(void *arg, unsigned line);
    void *arg;
};

struct rt_kernel {
    struct rt_port *port;
    struct rt_task *current; /* NULL until started */
    struct rt_task *idle;
    uint32_t ready_levels; /* a bit per level that has a task in `ready`; the running task is in none */
    bool in_interrupt;
    bool faulted;
    unsigned line; /* being handled */
    struct rt_link ready[RT_PRIORITY_LEVELS];
    struct rt_link timeline; /* events by deadline, then by arrival */
    uint64_t armed;          /* what the port's timer is set to */
    uint64_t switches;
    uint64_t spurious;
    uint64_t refused_posts;

    struct rt_irq irq[RT_IRQ_LINES];
    struct rt_arena arena[RT_ARENAS];
    struct rt_pool pool[RT_POOL_KINDS];
#define X(id, member, count, name) struct rt_##member member[count];
    RT_POOLS(X)
#undef X

    struct rt_link dead; /* tasks that have exited and wait for the terminator */
    struct rt_semaphore dead_count;
    struct rt_task *terminator;
    struct rt_context boot; /* the caller of rt_kernel_start */
    size_t stack_extra;

    void (*fault_hook)(void *arg, const struct rt_fault *fault);
    void *fault_arg;
    struct rt_fault fault;

    enum rt_log_level log_level;
    uint64_t log_count;
    struct rt_log_line log[RT_LOG_LINES];
};

#endif
