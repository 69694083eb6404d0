/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timeline: events by deadline, equal ones in the order they were added. An event is on it once at most.
 * The port's one timer is set to the first event, or off when there is none; every change of the list ends in
 * arm.
 */
#include "rtkernel/sched.h"

static struct rt_event *event_of(struct rt_link *link)
{
    return RT_LINK_OWNER(link, struct rt_event, link);
}

uint64_t rt_timeline_deadline(struct rt_kernel *kernel, uint64_t timeout)
{
    return timeout == RT_FOREVER ? RT_FOREVER : rt_timeline_after(rt_port_now(kernel->port), timeout);
}

/* Never 0, which is how the port's timer is switched off. */
uint64_t rt_timeline_after(uint64_t now, uint64_t nanoseconds)
{
    const uint64_t deadline = nanoseconds < RT_FOREVER - now ? now + nanoseconds : RT_FOREVER;

    return deadline ? deadline : 1;
}

/*
 * The timer is always exact, never early on purpose: on a virtual clock an unneeded alarm would move time.
 */
static void arm(struct rt_kernel *kernel)
{
    uint64_t first = rt_link_alone(&kernel->timeline) ? 0 : event_of(kernel->timeline.next)->deadline;

    if (first == kernel->armed)
        return;
    kernel->armed = first;
    rt_port_timer_set(kernel->port, first);
}

static void insert(struct rt_kernel *kernel, struct rt_event *event, uint64_t deadline)
{
    struct rt_link *before = &kernel->timeline;

    event->deadline = deadline;
    while (before->previous != &kernel->timeline && event_of(before->previous)->deadline > deadline)
        before = before->previous;
    rt_link_insert(before, &event->link);
}

void rt_timeline_add(struct rt_kernel *kernel, struct rt_event *event, uint64_t deadline)
{
    if (deadline == RT_FOREVER)
        return;
    insert(kernel, event, deadline);
    arm(kernel);
}

void rt_timeline_cancel(struct rt_kernel *kernel, struct rt_event *event)
{
    if (rt_link_alone(&event->link))
        return;
    rt_link_remove(&event->link);
    arm(kernel);
}

/* Off the list first, so that waking the task or restarting the timer finds it clean. */
static void happen(struct rt_event *event, uint64_t now)
{
    rt_link_remove(&event->link);
    if (event->is_timer)
        rt_timer_fire(RT_LINK_OWNER(event, struct rt_timer, event), now);
    else
        rt_sched_wake(RT_LINK_OWNER(event, struct rt_task, timeout), RT_ETIMEDOUT);
}

void rt_timeline_expire(struct rt_kernel *kernel)
{
    const uint64_t now = rt_port_now(kernel->port);

    kernel->armed = 0; /* it has gone off */
    while (!rt_link_alone(&kernel->timeline) && event_of(kernel->timeline.next)->deadline <= now)
        happen(event_of(kernel->timeline.next), now);
    arm(kernel);
}
