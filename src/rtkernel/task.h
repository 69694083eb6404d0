/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks: long-lived, each with its own stack, most of them pumps that wait for a message, run it to
 * completion and wait again. Strict priority; first come, first served within a level; no time slices. A task
 * that becomes runnable and is more urgent than the running one runs at once, at the kernel call or the
 * interrupt that made it so.
 */
#ifndef RTKERNEL_TASK_H
#define RTKERNEL_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rtkernel/rt_limits.h"
#include "rtkernel/status.h"

struct rt_kernel;
struct rt_task;
struct rt_queue;

/* Table 29.1, in its order. */
enum rt_task_state {
    RT_TASK_RUNNABLE,  /* ready or running */
    RT_TASK_SUSPENDED, /* parked with rt_task_suspend, whatever else it waits for */
    RT_TASK_WAITING,   /* a queue, a mailbox, a signal, or time */
    RT_TASK_SEMWAIT,   /* a semaphore */
    RT_TASK_BLOCKED,   /* a mutex; or it has exited and is not reaped yet */
    RT_TASK_STATES,
};
const char *rt_task_state_name(enum rt_task_state state);

/* The idle task's priority: below every level. */
#define RT_PRIORITY_IDLE RT_PRIORITY_LEVELS

/*
 * A new task, runnable; when it is more urgent than the caller it runs before this returns. The name is
 * copied, and cut to RT_NAME_BYTES. `stack_bytes` is rounded up to 16. Returning from `entry` is
 * rt_task_exit. RT_EINVAL for a priority above 7 or a stack below RT_STACK_MIN, RT_ENOSPC when the pool is
 * exhausted, RT_ENOMEM when the system arena is. Not in interrupt context.
 */
int rt_task_create(struct rt_kernel *kernel, struct rt_task **task, const char *name, unsigned priority,
                   size_t stack_bytes, void (*entry)(void *arg), void *arg);
/*
 * Ends the calling task. The terminator gives its stack, its slot and its two queues back. Holding a mutex is
 * a fault.
 */
_Noreturn void rt_task_exit(struct rt_kernel *kernel);

/*
 * Ends another task that waits, as if it had called rt_task_exit. RT_EINVAL for the kernel's own tasks,
 * RT_EBUSY for one that is runnable (it may have been handed what it waited for), that has ended, or that has
 * a mutex. Not in interrupt context.
 */
int rt_task_delete(struct rt_task *task);

/* The running task, which in interrupt context is the interrupted one; NULL before the kernel is started. */
struct rt_task *rt_task_current(struct rt_kernel *kernel);
const char *rt_task_name(const struct rt_task *task);
enum rt_task_state rt_task_state(const struct rt_task *task);

/*
 * Parks a task, which may be the caller, until it is resumed. What it waits for may come meanwhile: it is
 * then runnable once resumed. RT_EINVAL for the kernel's own tasks. Suspending in interrupt context is a
 * fault; resuming may be done anywhere. Parking a parked task, or resuming one that is not, changes nothing.
 */
int rt_task_suspend(struct rt_task *task);
int rt_task_resume(struct rt_task *task);

/* Lets others of its level run first. Blocks. */
void rt_task_yield(struct rt_kernel *kernel);
/* Blocks for that many nanoseconds. */
void rt_task_sleep(struct rt_kernel *kernel, uint64_t nanoseconds);

/*
 * Gives a task its two queues: the input queue, for tasks, and the interrupt queue, for handlers. Once per
 * task. RT_EBUSY when it has them, otherwise as rt_queue_create.
 */
int rt_task_queues(struct rt_task *task, size_t width, uint32_t depth, uint32_t irq_depth);
struct rt_queue *rt_task_input(const struct rt_task *task);
struct rt_queue *rt_task_interrupts(const struct rt_task *task);

/*
 * Waits until either of the caller's queues has a message and takes it, from the interrupt queue first.
 * Returns the message's length; RT_EAGAIN, RT_ETIMEDOUT; RT_EINVAL when the caller has no queues or
 * `capacity` is below their width. `from`, which may be NULL, gets the queue it came from. Blocks unless the
 * timeout is 0.
 */
int rt_task_wait_any(struct rt_kernel *kernel, void *message, size_t capacity, struct rt_queue **from,
                     uint64_t timeout);

struct rt_task_info {
    const char *name;
    enum rt_task_state state;
    unsigned priority;      /* the effective one, which may be inherited (mutex.h) */
    unsigned base_priority; /* the one it was created with */
    size_t stack_bytes;
    size_t stack_used, stack_free; /* the maximum so far, and what was never written */
    unsigned thread;               /* below RT_THREADS */
    uint64_t runs;                 /* times it was switched to */
    bool running;
};

/*
 * Calls `each` for every task, in the order of their slots. Any context; `each` may not create or end tasks.
 */
void rt_task_list(struct rt_kernel *kernel, void (*each)(void *arg, const struct rt_task_info *info),
                  void *arg);
/*
 * The list as text, for reports: a line of column names and a line per task, in whole lines as far as
 * `bytes`, at least 1, allows. Its length, without the end. Any context.
 */
size_t rt_task_list_text(struct rt_kernel *kernel, char *text, size_t bytes);

#endif
