/* SPDX-License-Identifier: Apache-2.0 */
/* Counting semaphores. The count is 0 while tasks wait: a given unit goes to the first waiter directly. */
#include "rtkernel/semaphore.h"

#include "rtkernel/sched.h"

void rt_semaphore_init(struct rt_kernel *kernel, struct rt_semaphore *semaphore, uint32_t initial,
                       uint32_t limit)
{
    semaphore->kernel = kernel;
    semaphore->mark = RT_MARK(RT_POOL_SEMAPHORE);
    semaphore->count = initial;
    semaphore->limit = limit;
    rt_link_init(&semaphore->waiters);
}

int rt_semaphore_create(struct rt_kernel *kernel, struct rt_semaphore **semaphore, uint32_t initial,
                        uint32_t limit)
{
    uint32_t previous;
    int slot;

    if (!limit || initial > limit)
        return RT_EINVAL;
    previous = rt_sched_enter(kernel);
    slot = rt_pool_take(kernel, RT_POOL_SEMAPHORE);
    if (slot >= 0) {
        *semaphore = &kernel->semaphore[slot];
        rt_semaphore_init(kernel, *semaphore, initial, limit);
    }
    rt_sched_leave(kernel, previous);
    return slot < 0 ? slot : RT_OK;
}

int rt_semaphore_delete(struct rt_semaphore *semaphore)
{
    struct rt_kernel *kernel = semaphore->kernel;
    const uint32_t previous = rt_sched_enter(kernel);
    const bool idle = rt_link_alone(&semaphore->waiters);

    RT_CHECK_LIVE(semaphore, SEMAPHORE);
    if (idle) {
        semaphore->mark = 0;
        rt_pool_release(kernel, RT_POOL_SEMAPHORE, (size_t)(semaphore - kernel->semaphore));
    }
    rt_sched_leave(kernel, previous);
    return idle ? RT_OK : RT_EBUSY;
}

int rt_semaphore_take(struct rt_semaphore *semaphore, uint64_t timeout)
{
    struct rt_kernel *kernel = semaphore->kernel;
    const uint32_t previous = rt_sched_enter(kernel);
    int result;

    RT_CHECK_LIVE(semaphore, SEMAPHORE);
    if (timeout)
        rt_sched_check_block(kernel, previous, __func__);
    result = rt_sched_take(semaphore, RT_TASK_SEMWAIT, timeout);
    rt_sched_leave(kernel, previous);
    return result;
}

int rt_semaphore_give(struct rt_semaphore *semaphore)
{
    struct rt_kernel *kernel = semaphore->kernel;
    const uint32_t previous = rt_sched_enter(kernel);
    int result;

    RT_CHECK_LIVE(semaphore, SEMAPHORE);
    result = rt_sched_give(semaphore);
    kernel->refused_posts += result != RT_OK;
    rt_sched_leave(kernel, previous);
    return result;
}

uint32_t rt_semaphore_count(const struct rt_semaphore *semaphore)
{
    RT_CHECK_LIVE(semaphore, SEMAPHORE);
    return semaphore->count;
}
