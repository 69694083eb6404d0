/* SPDX-License-Identifier: Apache-2.0 */
/* Timers. A timer is on the timeline exactly while it runs, and its period counts from the first deadline. */
#include "rtkernel/timer.h"

#include "rtkernel/memory.h"
#include "rtkernel/sched.h"

static int create(struct rt_kernel *kernel, struct rt_timer **timer)
{
    const int slot = rt_pool_take(kernel, RT_POOL_TIMER);

    if (slot < 0)
        return slot;
    *timer = &kernel->timer[slot];
    **timer = (struct rt_timer){.kernel = kernel, .mark = RT_MARK(RT_POOL_TIMER), .event.is_timer = true};
    rt_link_init(&(*timer)->event.link);
    return RT_OK;
}

int rt_timer_create_post(struct rt_kernel *kernel, struct rt_timer **timer, struct rt_queue *queue,
                         const void *message, size_t bytes)
{
    uint32_t previous;
    int result;

    RT_CHECK_LIVE(queue, QUEUE);
    if (bytes > RT_TIMER_MESSAGE_BYTES || bytes > queue->width)
        return RT_EMSGSIZE;
    previous = rt_sched_enter(kernel);
    result = create(kernel, timer);
    if (!result) {
        (*timer)->queue = queue;
        (*timer)->message_bytes = (uint8_t)bytes;
        if (bytes)
            rt_memcpy((*timer)->message, message, bytes);
    }
    rt_sched_leave(kernel, previous);
    return result;
}

int rt_timer_create_give(struct rt_kernel *kernel, struct rt_timer **timer, struct rt_semaphore *semaphore)
{
    const uint32_t previous = rt_sched_enter(kernel);
    int result;

    RT_CHECK_LIVE(semaphore, SEMAPHORE);
    result = create(kernel, timer);
    if (!result)
        (*timer)->semaphore = semaphore;
    rt_sched_leave(kernel, previous);
    return result;
}

int rt_timer_create_interrupt(struct rt_kernel *kernel, struct rt_timer **timer, unsigned line)
{
    uint32_t previous;
    int result;

    if (line >= RT_IRQ_LINES)
        return RT_EINVAL;
    previous = rt_sched_enter(kernel);
    result = create(kernel, timer);
    if (!result)
        (*timer)->line = (uint8_t)line;
    rt_sched_leave(kernel, previous);
    return result;
}

void rt_timer_delete(struct rt_timer *timer)
{
    struct rt_kernel *kernel = timer->kernel;
    const uint32_t previous = rt_sched_enter(kernel);

    RT_CHECK_LIVE(timer, TIMER);
    rt_timeline_cancel(kernel, &timer->event);
    timer->mark = 0;
    rt_pool_release(kernel, RT_POOL_TIMER, (size_t)(timer - kernel->timer));
    rt_sched_leave(kernel, previous);
}

void rt_timer_start(struct rt_timer *timer, uint64_t delay, uint64_t period)
{
    struct rt_kernel *kernel = timer->kernel;
    const uint32_t previous = rt_sched_enter(kernel);

    RT_CHECK_LIVE(timer, TIMER);
    rt_timeline_cancel(kernel, &timer->event);
    timer->period = period;
    rt_timeline_add(kernel, &timer->event, rt_timeline_deadline(kernel, delay));
    rt_sched_leave(kernel, previous);
}

void rt_timer_stop(struct rt_timer *timer)
{
    struct rt_kernel *kernel = timer->kernel;
    const uint32_t previous = rt_sched_enter(kernel);

    RT_CHECK_LIVE(timer, TIMER);
    rt_timeline_cancel(kernel, &timer->event);
    rt_sched_leave(kernel, previous);
}

bool rt_timer_running(const struct rt_timer *timer)
{
    RT_CHECK_LIVE(timer, TIMER);
    return !rt_link_alone(&timer->event.link);
}

uint64_t rt_timer_missed(const struct rt_timer *timer)
{
    RT_CHECK_LIVE(timer, TIMER);
    return timer->missed;
}

/*
 * Periods count from the first deadline, so that lateness does not add up; those that are over already are
 * skipped.
 */
static void schedule_next(struct rt_timer *timer, uint64_t now)
{
    const uint64_t late = now - timer->event.deadline;

    timer->missed += late / timer->period;
    rt_timeline_add(timer->kernel, &timer->event,
                    rt_timeline_after(now, timer->period - late % timer->period));
}

static void check_target(struct rt_kernel *kernel, uint32_t mark, enum rt_pool_kind kind)
{
    if (mark != RT_MARK(kind))
        rt_pool_refuse(kernel, mark, kind, "a timer fired");
}

/* A line is raised now and taken when this interrupt is over. */
static int deliver(struct rt_timer *timer)
{
    if (timer->queue) {
        check_target(timer->kernel, timer->queue->mark, RT_POOL_QUEUE);
        return rt_queue_put(timer->queue, timer->message, timer->message_bytes);
    }
    if (timer->semaphore) {
        check_target(timer->kernel, timer->semaphore->mark, RT_POOL_SEMAPHORE);
        return rt_sched_give(timer->semaphore);
    }
    rt_port_irq_raise(timer->kernel->port, timer->line);
    return RT_OK;
}

void rt_timer_fire(struct rt_timer *timer, uint64_t now)
{
    if (deliver(timer))
        timer->missed++;
    if (timer->period)
        schedule_next(timer, now);
}
