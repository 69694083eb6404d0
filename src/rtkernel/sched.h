/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scheduler, for this room alone. A kernel call is rt_sched_enter, a decision with interrupts masked, and
 * rt_sched_leave, which runs a more urgent task that the call has woken. Interrupts are masked across every
 * switch; each task unmasks for itself when it is back.
 */
#ifndef RTKERNEL_SCHED_H
#define RTKERNEL_SCHED_H

#include "rtkernel/state.h"

/* Eight words at the low end of a stack, then the fill by which its use is measured. */
#define RT_STACK_GUARDS 8
#define RT_STACK_GUARD  0x6472617567206b63ull
#define RT_STACK_FILL   0xa5a5a5a5a5a5a5a5ull

/*
 * Stacks carry the address sanitizer's marks of the frames on them; code that reads them from outside must
 * ignore these marks.
 */
#define RT_READS_STACKS __attribute__((no_sanitize_address, noinline))

/* Appends a task to its level. */
void rt_sched_ready(struct rt_task *task);
/* Takes a ready task off its level. */
void rt_sched_unready(struct rt_task *task);
/*
 * Gives the owner of a mutex the priority that its waiters call for, or takes it back, and so on along the
 * chain of owners that wait for a mutex themselves. To be called when a list of waiters has changed.
 */
void rt_sched_inherit(struct rt_task *owner);
/* Takes a waiting task out of its list and off the timeline; its state is the caller's to change. */
void rt_sched_step_out(struct rt_task *task);
/* Ends a wait, with what the waiter gets to see. */
void rt_sched_wake(struct rt_task *task, int result);
/* The running task, which is in no list, makes room for the next one. Returns when it is chosen again. */
void rt_sched_dispatch(struct rt_kernel *kernel);
/* The running task stays first of its level, and a more urgent one runs. */
void rt_sched_preempt(struct rt_kernel *kernel);
/*
 * The running task waits, among `waiters` by priority and arrival (or among none, when NULL), until it is
 * woken or the deadline passes. Returns what it was woken with, or RT_ETIMEDOUT.
 */
int rt_sched_block(struct rt_kernel *kernel, struct rt_link *waiters, enum rt_task_state state,
                   uint64_t deadline);
/* The first task. */
_Noreturn void rt_sched_start(struct rt_kernel *kernel);
_Noreturn void rt_sched_refuse_block(struct rt_kernel *kernel, const char *call);

/* The timeline. A deadline of RT_FOREVER, or one past the end of time, never comes. */
uint64_t rt_timeline_deadline(struct rt_kernel *kernel, uint64_t timeout);
uint64_t rt_timeline_after(uint64_t now, uint64_t nanoseconds);
void rt_timeline_add(struct rt_kernel *kernel, struct rt_event *event, uint64_t deadline);
void rt_timeline_cancel(struct rt_kernel *kernel, struct rt_event *event);
/* The timer interrupt. */
void rt_timeline_expire(struct rt_kernel *kernel);
void rt_timer_fire(struct rt_timer *timer, uint64_t now);

/* Other insides that objects use of each other; all with interrupts masked. */
int rt_pool_take(struct rt_kernel *kernel, enum rt_pool_kind kind);
void rt_pool_release(struct rt_kernel *kernel, enum rt_pool_kind kind, size_t slot);
_Noreturn void rt_pool_refuse(struct rt_kernel *kernel, uint32_t mark, enum rt_pool_kind kind,
                              const char *call);
void rt_semaphore_init(struct rt_kernel *kernel, struct rt_semaphore *semaphore, uint32_t initial,
                       uint32_t limit);
int rt_queue_put(struct rt_queue *queue, const void *message, size_t bytes);
int rt_queue_get(struct rt_queue *queue, void *message);
/* `zeroed`: the bytes are zeros. */
void rt_heap_init(struct rt_kernel *kernel, enum rt_arena_id arena, void *base, size_t bytes, bool zeroed);
/* The end of the highest block in use, or the arena's base. */
const uint8_t *rt_heap_top(const struct rt_kernel *kernel, enum rt_arena_id arena);
int rt_task_create_system(struct rt_kernel *kernel);
unsigned rt_task_thread(const struct rt_task *task);

static inline uint32_t rt_sched_enter(struct rt_kernel *kernel)
{
    return rt_port_irq_mask(kernel->port);
}

/* For calls that may block: not in interrupt context, not in a critical section, not before the start. */
static inline void rt_sched_check_block(struct rt_kernel *kernel, uint32_t previous, const char *call)
{
    if (previous)
        rt_sched_refuse_block(kernel, call);
}

/* For calls that are about the running task, even when they do not block. */
static inline void rt_sched_check_task(struct rt_kernel *kernel, const char *call)
{
    if (kernel->in_interrupt || !kernel->current)
        rt_sched_refuse_block(kernel, call);
}

/* For calls that work on the arenas or do a subsystem's work. */
static inline void rt_sched_check_context(struct rt_kernel *kernel, const char *call)
{
    if (kernel->in_interrupt)
        rt_sched_refuse_block(kernel, call);
}

/* The object exists. To be used in the function that the fault shall name. */
#define RT_CHECK_LIVE(object, id)            \
    ((object)->mark == RT_MARK(RT_POOL_##id) \
         ? (void)0                           \
         : rt_pool_refuse((object)->kernel, (object)->mark, RT_POOL_##id, __func__))

static inline bool rt_sched_outranked(const struct rt_kernel *kernel)
{
    return kernel->ready_levels & ((1u << kernel->current->priority) - 1);
}

static inline void rt_sched_leave(struct rt_kernel *kernel, uint32_t previous)
{
    if (!previous && rt_sched_outranked(kernel))
        rt_sched_preempt(kernel);
    rt_port_irq_restore(kernel->port, previous);
}

static inline struct rt_task *rt_sched_first(const struct rt_link *waiters)
{
    return RT_LINK_OWNER(waiters->next, struct rt_task, link);
}

static inline int rt_sched_take(struct rt_semaphore *semaphore, enum rt_task_state state, uint64_t timeout)
{
    struct rt_kernel *kernel = semaphore->kernel;

    if (semaphore->count) {
        semaphore->count--;
        return RT_OK;
    }
    if (!timeout)
        return RT_EAGAIN;
    return rt_sched_block(kernel, &semaphore->waiters, state, rt_timeline_deadline(kernel, timeout));
}

/*
 * A unit given while a task waits belongs to that task from now on: no other can take it before it runs.
 */
static inline int rt_sched_give(struct rt_semaphore *semaphore)
{
    if (!rt_link_alone(&semaphore->waiters))
        rt_sched_wake(rt_sched_first(&semaphore->waiters), RT_OK);
    else if (semaphore->count == semaphore->limit)
        return RT_EOVERFLOW;
    else
        semaphore->count++;
    return RT_OK;
}

#endif
