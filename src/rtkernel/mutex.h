/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mutexes: a semaphore of one unit that records its owner. Not recursive.
 *
 * Priority inheritance: while a more urgent task waits for a mutex, its owner runs with that task's priority,
 * and so does the owner of a mutex for which that owner waits, along the whole chain. A task that has several
 * mutexes has the most urgent priority among its own and those of all their waiters. A priority is given back
 * when the mutex is unlocked, when the waiter's timeout ends, and when the waiter is ended.
 */
#ifndef RTKERNEL_MUTEX_H
#define RTKERNEL_MUTEX_H

#include <stdint.h>

#include "rtkernel/status.h"

struct rt_kernel;
struct rt_mutex;
struct rt_task;

/* RT_ENOSPC when the pool is exhausted. Any context. */
int rt_mutex_create(struct rt_kernel *kernel, struct rt_mutex **mutex);
/* RT_EBUSY while a task has it. Any context. */
int rt_mutex_delete(struct rt_mutex *mutex);
/*
 * RT_EDEADLK when the caller has it, or when its owner waits, directly or by way of others, for a mutex that
 * the caller has; RT_EAGAIN, RT_ETIMEDOUT. Tasks only; blocks unless the timeout is 0.
 */
int rt_mutex_lock(struct rt_mutex *mutex, uint64_t timeout);
/* Hands it to the most urgent waiter. RT_EPERM when the caller does not have it. Tasks only. */
int rt_mutex_unlock(struct rt_mutex *mutex);
struct rt_task *rt_mutex_owner(const struct rt_mutex *mutex);

#endif
