/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mutexes. While tasks wait there is an owner: unlocking hands the mutex to the first waiter directly. A
 * mutex is in its owner's `held` list exactly while it has an owner. What priority an owner has follows from
 * these lists alone (rt_sched_inherit), so nothing has to be remembered and undone.
 */
#include "rtkernel/mutex.h"

#include "rtkernel/sched.h"

int rt_mutex_create(struct rt_kernel *kernel, struct rt_mutex **mutex)
{
    const uint32_t previous = rt_sched_enter(kernel);
    const int slot = rt_pool_take(kernel, RT_POOL_MUTEX);

    if (slot >= 0) {
        *mutex = &kernel->mutex[slot];
        **mutex = (struct rt_mutex){.kernel = kernel, .mark = RT_MARK(RT_POOL_MUTEX)};
        rt_link_init(&(*mutex)->waiters);
        rt_link_init(&(*mutex)->held);
    }
    rt_sched_leave(kernel, previous);
    return slot < 0 ? slot : RT_OK;
}

int rt_mutex_delete(struct rt_mutex *mutex)
{
    struct rt_kernel *kernel = mutex->kernel;
    const uint32_t previous = rt_sched_enter(kernel);
    const bool idle = !mutex->owner;

    RT_CHECK_LIVE(mutex, MUTEX);
    if (idle) {
        mutex->mark = 0;
        rt_pool_release(kernel, RT_POOL_MUTEX, (size_t)(mutex - kernel->mutex));
    }
    rt_sched_leave(kernel, previous);
    return idle ? RT_OK : RT_EBUSY;
}

static void set_owner(struct rt_mutex *mutex, struct rt_task *owner)
{
    mutex->owner = owner;
    rt_link_insert(&owner->held, &mutex->held);
}

static void clear_owner(struct rt_mutex *mutex)
{
    mutex->owner = NULL;
    rt_link_remove(&mutex->held);
}

/* Whether the owner waits, by way of other owners, for a mutex that the task has. */
static bool waits_for(const struct rt_task *owner, const struct rt_task *task)
{
    while (owner != task && owner->awaits)
        owner = owner->awaits->owner;
    return owner == task;
}

static int wait_for(struct rt_mutex *mutex, uint64_t timeout)
{
    struct rt_kernel *kernel = mutex->kernel;

    kernel->current->awaits = mutex;
    return rt_sched_block(kernel, &mutex->waiters, RT_TASK_BLOCKED, rt_timeline_deadline(kernel, timeout));
}

int rt_mutex_lock(struct rt_mutex *mutex, uint64_t timeout)
{
    struct rt_kernel *kernel = mutex->kernel;
    const uint32_t previous = rt_sched_enter(kernel);
    int result = RT_OK;

    RT_CHECK_LIVE(mutex, MUTEX);
    rt_sched_check_task(kernel, __func__); /* even trying: a handler cannot own anything */
    if (timeout)
        rt_sched_check_block(kernel, previous, __func__);
    if (!mutex->owner)
        set_owner(mutex, kernel->current);
    else if (waits_for(mutex->owner, kernel->current))
        result = RT_EDEADLK;
    else
        result = timeout ? wait_for(mutex, timeout) : RT_EAGAIN;
    rt_sched_leave(kernel, previous);
    return result;
}

int rt_mutex_unlock(struct rt_mutex *mutex)
{
    struct rt_kernel *kernel = mutex->kernel;
    const uint32_t previous = rt_sched_enter(kernel);
    struct rt_task *next;
    int result = RT_OK;

    RT_CHECK_LIVE(mutex, MUTEX);
    rt_sched_check_task(kernel, __func__);
    if (mutex->owner != kernel->current) {
        result = RT_EPERM;
    } else {
        clear_owner(mutex);
        if (!rt_link_alone(&mutex->waiters)) {
            next = rt_sched_first(&mutex->waiters);
            set_owner(mutex, next);
            rt_sched_wake(next, RT_OK);
        }
        rt_sched_inherit(kernel->current);
    }
    rt_sched_leave(kernel, previous);
    return result;
}

struct rt_task *rt_mutex_owner(const struct rt_mutex *mutex)
{
    RT_CHECK_LIVE(mutex, MUTEX);
    return mutex->owner;
}
