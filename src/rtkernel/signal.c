/* SPDX-License-Identifier: Apache-2.0 */
/* Signals. No task waits for a raised flag, because raising offers the flags to the waiters in order. */
#include "rtkernel/signal.h"

#include "rtkernel/sched.h"

int rt_signal_create(struct rt_kernel *kernel, struct rt_signal **signal)
{
    const uint32_t previous = rt_sched_enter(kernel);
    const int slot = rt_pool_take(kernel, RT_POOL_SIGNAL);

    if (slot >= 0) {
        *signal = &kernel->signal[slot];
        **signal = (struct rt_signal){.kernel = kernel, .mark = RT_MARK(RT_POOL_SIGNAL)};
        rt_link_init(&(*signal)->waiters);
    }
    rt_sched_leave(kernel, previous);
    return slot < 0 ? slot : RT_OK;
}

int rt_signal_delete(struct rt_signal *signal)
{
    struct rt_kernel *kernel = signal->kernel;
    const uint32_t previous = rt_sched_enter(kernel);
    const bool idle = rt_link_alone(&signal->waiters);

    RT_CHECK_LIVE(signal, SIGNAL);
    if (idle) {
        signal->mark = 0;
        rt_pool_release(kernel, RT_POOL_SIGNAL, (size_t)(signal - kernel->signal));
    }
    rt_sched_leave(kernel, previous);
    return idle ? RT_OK : RT_EBUSY;
}

void rt_signal_raise(struct rt_signal *signal, uint32_t flags)
{
    struct rt_kernel *kernel = signal->kernel;
    const uint32_t previous = rt_sched_enter(kernel);
    struct rt_link *link, *next;

    RT_CHECK_LIVE(signal, SIGNAL);
    signal->flags |= flags;
    for (link = signal->waiters.next; link != &signal->waiters; link = next) {
        struct rt_task *task = RT_LINK_OWNER(link, struct rt_task, link);
        const uint32_t taken = signal->flags & (uint32_t)task->wait_word;

        next = link->next;
        if (taken) {
            signal->flags &= ~taken;
            task->wait_word = taken;
            rt_sched_wake(task, RT_OK);
        }
    }
    rt_sched_leave(kernel, previous);
}

int rt_signal_wait(struct rt_signal *signal, uint32_t flags, uint32_t *taken, uint64_t timeout)
{
    struct rt_kernel *kernel = signal->kernel;
    const uint32_t previous = rt_sched_enter(kernel);
    uint32_t got = signal->flags & flags;
    int result = RT_OK;

    RT_CHECK_LIVE(signal, SIGNAL);
    if (timeout)
        rt_sched_check_block(kernel, previous, __func__);
    signal->flags &= ~got;
    if (!flags) {
        result = RT_EINVAL;
    } else if (!got && !timeout) {
        result = RT_EAGAIN;
    } else if (!got) {
        kernel->current->wait_word = flags;
        result =
            rt_sched_block(kernel, &signal->waiters, RT_TASK_WAITING, rt_timeline_deadline(kernel, timeout));
        got = (uint32_t)kernel->current->wait_word;
    }
    if (!result && taken)
        *taken = got;
    rt_sched_leave(kernel, previous);
    return result;
}
