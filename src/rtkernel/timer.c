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
    **timer = (struct rt_timer){.kernel = kernel, .event.is_timer = true};
    rt_link_init(&(*timer)->event.link);
    return RT_OK;
}

int rt_timer_create_post(struct rt_kernel *kernel, struct rt_timer **timer, struct rt_queue *queue,
                         const void *message, size_t bytes)
{
    uint32_t previous;
    int result;

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
    const int result = create(kernel, timer);

    if (!result)
        (*timer)->semaphore = semaphore;
    rt_sched_leave(kernel, previous);
    return result;
}

void rt_timer_delete(struct rt_timer *timer)
{
    struct rt_kernel *kernel = timer->kernel;
    const uint32_t previous = rt_sched_enter(kernel);

    rt_timeline_cancel(kernel, &timer->event);
    rt_pool_release(kernel, RT_POOL_TIMER, (size_t)(timer - kernel->timer));
    rt_sched_leave(kernel, previous);
}

void rt_timer_start(struct rt_timer *timer, uint64_t delay, uint64_t period)
{
    struct rt_kernel *kernel = timer->kernel;
    const uint32_t previous = rt_sched_enter(kernel);

    rt_timeline_cancel(kernel, &timer->event);
    timer->period = period;
    rt_timeline_add(kernel, &timer->event, rt_timeline_deadline(kernel, delay));
    rt_sched_leave(kernel, previous);
}

void rt_timer_stop(struct rt_timer *timer)
{
    struct rt_kernel *kernel = timer->kernel;
    const uint32_t previous = rt_sched_enter(kernel);

    rt_timeline_cancel(kernel, &timer->event);
    rt_sched_leave(kernel, previous);
}

bool rt_timer_running(const struct rt_timer *timer)
{
    return !rt_link_alone(&timer->event.link);
}

uint64_t rt_timer_missed(const struct rt_timer *timer)
{
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

void rt_timer_fire(struct rt_timer *timer, uint64_t now)
{
    int result;

    if (timer->queue)
        result = rt_queue_put(timer->queue, timer->message, timer->message_bytes);
    else
        result = rt_sched_give(timer->semaphore);
    if (result)
        timer->missed++;
    if (timer->period)
        schedule_next(timer, now);
}
