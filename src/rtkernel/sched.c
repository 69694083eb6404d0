/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which task runs next, and how the others wait. A task is in one list at most: its ready level, the waiters
 * of an object, or the dead; the running task and the idle task are in none. A bit of ready_levels is set
 * exactly while that level has a task. All functions are called with interrupts masked.
 */
#include "rtkernel/sched.h"

static struct rt_task *task_of(struct rt_link *link)
{
    return RT_LINK_OWNER(link, struct rt_task, link);
}

void rt_sched_ready(struct rt_task *task)
{
    struct rt_kernel *kernel = task->kernel;

    if (!rt_link_alone(&task->link))
        rt_fault_assert(kernel, "%s was made ready twice", task->name);
    rt_link_insert(&kernel->ready[task->priority], &task->link);
    kernel->ready_levels |= 1u << task->priority;
}

void rt_sched_unready(struct rt_task *task)
{
    struct rt_kernel *kernel = task->kernel;

    rt_link_remove(&task->link);
    if (rt_link_alone(&kernel->ready[task->priority]))
        kernel->ready_levels &= ~(1u << task->priority);
}

/* Behind all tasks of the same priority, because arrival decides among equals. */
static void line_up(struct rt_link *waiters, struct rt_task *task)
{
    struct rt_link *before = waiters;

    while (before->previous != waiters && task_of(before->previous)->priority > task->priority)
        before = before->previous;
    rt_link_insert(before, &task->link);
}

/* The most urgent of a task's base and the first waiters of its mutexes. */
static uint8_t called_for(const struct rt_task *task)
{
    uint8_t priority = task->base;

    for (const struct rt_link *link = task->held.next; link != &task->held; link = link->next) {
        const struct rt_mutex *mutex = RT_LINK_OWNER(link, struct rt_mutex, held);

        if (!rt_link_alone(&mutex->waiters) && rt_sched_first(&mutex->waiters)->priority < priority)
            priority = rt_sched_first(&mutex->waiters)->priority;
    }
    return priority;
}

/*
 * A ready task that is raised goes behind the others of its new level, one that is lowered goes before them:
 * the order of pthread_setschedprio.
 */
static void change_priority(struct rt_task *task, uint8_t priority)
{
    struct rt_kernel *kernel = task->kernel;
    const bool lowered = priority > task->priority;

    if (task->waiters) {
        rt_link_remove(&task->link);
        task->priority = priority;
        line_up(task->waiters, task);
    } else if (!rt_link_alone(&task->link)) {
        rt_sched_unready(task);
        task->priority = priority;
        rt_link_insert(lowered ? kernel->ready[priority].next : &kernel->ready[priority], &task->link);
        kernel->ready_levels |= 1u << priority;
    } else {
        task->priority = priority;
    }
}

/* rt_mutex_lock refuses to close a circle of owners, so the chain ends. */
void rt_sched_inherit(struct rt_task *owner)
{
    while (owner && called_for(owner) != owner->priority) {
        change_priority(owner, called_for(owner));
        owner = owner->awaits ? owner->awaits->owner : NULL;
    }
}

/* Out of the list it waits in; the owner of a mutex may lose a priority by that. */
void rt_sched_step_out(struct rt_task *task)
{
    struct rt_mutex *mutex = task->awaits;

    rt_link_remove(&task->link);
    task->waiters = NULL;
    task->awaits = NULL;
    rt_timeline_cancel(task->kernel, &task->timeout);
    if (mutex)
        rt_sched_inherit(mutex->owner);
}

void rt_sched_wake(struct rt_task *task, int result)
{
    rt_sched_step_out(task);
    task->wait_result = result;
    task->waiting_any = false;
    task->state = RT_TASK_RUNNABLE;
    if (!task->suspended)
        rt_sched_ready(task);
}

static struct rt_task *next_task(struct rt_kernel *kernel)
{
    struct rt_task *task;

    if (!kernel->ready_levels)
        return kernel->idle;
    task = task_of(kernel->ready[__builtin_ctz(kernel->ready_levels)].next);
    rt_sched_unready(task);
    return task;
}

_Static_assert(RT_STACK_GUARDS == 8, "stack_is_whole looks at eight words");

/* Written out, because it is in every switch of tasks. */
RT_READS_STACKS static bool stack_is_whole(const struct rt_task *task)
{
    const uint64_t *word = task->stack;
    uint64_t first = (word[0] ^ RT_STACK_GUARD) | (word[1] ^ RT_STACK_GUARD) | (word[2] ^ RT_STACK_GUARD) |
                     (word[3] ^ RT_STACK_GUARD);
    uint64_t second = (word[4] ^ RT_STACK_GUARD) | (word[5] ^ RT_STACK_GUARD) | (word[6] ^ RT_STACK_GUARD) |
                      (word[7] ^ RT_STACK_GUARD);

    return !(first | second);
}

void rt_sched_dispatch(struct rt_kernel *kernel)
{
    struct rt_task *from = kernel->current, *to;

    if (!stack_is_whole(from))
        rt_fault_assert(kernel, "stack of %s overflowed: %zu bytes are not enough", from->name,
                        from->stack_bytes);
    to = next_task(kernel);
    if (to == from)
        return;
    kernel->current = to;
    kernel->switches++;
    to->runs++;
    rt_port_context_switch(kernel->port, &from->context, &to->context);
}

void rt_sched_preempt(struct rt_kernel *kernel)
{
    struct rt_task *task = kernel->current;

    if (task != kernel->idle) {
        rt_link_insert(kernel->ready[task->priority].next, &task->link);
        kernel->ready_levels |= 1u << task->priority;
    }
    rt_sched_dispatch(kernel);
}

int rt_sched_block(struct rt_kernel *kernel, struct rt_link *waiters, enum rt_task_state state,
                   uint64_t deadline)
{
    struct rt_task *task = kernel->current;

    task->state = (uint8_t)state;
    task->waiters = waiters;
    if (waiters)
        line_up(waiters, task);
    if (task->awaits)
        rt_sched_inherit(task->awaits->owner);
    rt_timeline_add(kernel, &task->timeout, deadline);
    rt_sched_dispatch(kernel);
    return task->wait_result;
}

_Noreturn void rt_sched_start(struct rt_kernel *kernel)
{
    struct rt_task *first = next_task(kernel);

    kernel->current = first;
    kernel->switches++;
    first->runs++;
    rt_port_context_switch(kernel->port, &kernel->boot, &first->context);
    rt_fault_assert(kernel, "the boot context was resumed");
}

_Noreturn void rt_sched_refuse_block(struct rt_kernel *kernel, const char *call)
{
    const char *where = "in a critical section";

    if (kernel->in_interrupt)
        where = "in interrupt context";
    else if (!kernel->current)
        where = "before the kernel is started";
    rt_fault_assert(kernel, "%s called %s", call, where);
}
