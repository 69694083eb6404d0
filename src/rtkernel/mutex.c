/* SPDX-License-Identifier: Apache-2.0 */
/* Mutexes. While tasks wait there is an owner: unlocking hands the mutex to the first waiter directly. */
#include "rtkernel/mutex.h"

#include "rtkernel/sched.h"

int rt_mutex_create(struct rt_kernel *kernel, struct rt_mutex **mutex)
{
    const uint32_t previous = rt_sched_enter(kernel);
    const int slot = rt_pool_take(kernel, RT_POOL_MUTEX);

    if (slot >= 0) {
        *mutex = &kernel->mutex[slot];
        **mutex = (struct rt_mutex){.kernel = kernel};
        rt_link_init(&(*mutex)->waiters);
    }
    rt_sched_leave(kernel, previous);
    return slot < 0 ? slot : RT_OK;
}

int rt_mutex_delete(struct rt_mutex *mutex)
{
    struct rt_kernel *kernel = mutex->kernel;
    const uint32_t previous = rt_sched_enter(kernel);
    const bool idle = !mutex->owner;

    if (idle)
        rt_pool_release(kernel, RT_POOL_MUTEX, (size_t)(mutex - kernel->mutex));
    rt_sched_leave(kernel, previous);
    return idle ? RT_OK : RT_EBUSY;
}

int rt_mutex_lock(struct rt_mutex *mutex, uint64_t timeout)
{
    struct rt_kernel *kernel = mutex->kernel;
    const uint32_t previous = rt_sched_enter(kernel);
    int result = RT_OK;

    rt_sched_check_task(kernel, __func__); /* even trying: a handler cannot own anything */
    if (timeout)
        rt_sched_check_block(kernel, previous, __func__);
    if (!mutex->owner)
        mutex->owner = kernel->current;
    else if (mutex->owner == kernel->current)
        result = RT_EDEADLK;
    else if (!timeout)
        result = RT_EAGAIN;
    else
        result =
            rt_sched_block(kernel, &mutex->waiters, RT_TASK_BLOCKED, rt_timeline_deadline(kernel, timeout));
    rt_sched_leave(kernel, previous);
    return result;
}

int rt_mutex_unlock(struct rt_mutex *mutex)
{
    struct rt_kernel *kernel = mutex->kernel;
    const uint32_t previous = rt_sched_enter(kernel);
    int result = RT_OK;

    rt_sched_check_task(kernel, __func__);
    if (mutex->owner != kernel->current) {
        result = RT_EPERM;
    } else if (rt_link_alone(&mutex->waiters)) {
        mutex->owner = NULL;
    } else {
        mutex->owner = rt_sched_first(&mutex->waiters);
        rt_sched_wake(mutex->owner, RT_OK);
    }
    rt_sched_leave(kernel, previous);
    return result;
}

struct rt_task *rt_mutex_owner(const struct rt_mutex *mutex)
{
    return mutex->owner;
}
