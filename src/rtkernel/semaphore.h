/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counting semaphores. A unit that is given while tasks wait is handed to the most urgent of them, the
 * longest waiting among equals; it never becomes visible to others.
 */
#ifndef RTKERNEL_SEMAPHORE_H
#define RTKERNEL_SEMAPHORE_H

#include <stdint.h>

#include "rtkernel/status.h"

struct rt_kernel;
struct rt_semaphore;

/*
 * RT_EINVAL when `initial` is above `limit` or the limit is 0, RT_ENOSPC when the pool is exhausted. Any
 * context.
 */
int rt_semaphore_create(struct rt_kernel *kernel, struct rt_semaphore **semaphore, uint32_t initial,
                        uint32_t limit);
/* RT_EBUSY while a task waits there. Any context. */
int rt_semaphore_delete(struct rt_semaphore *semaphore);
/* RT_EAGAIN or RT_ETIMEDOUT. Blocks unless the timeout is 0. */
int rt_semaphore_take(struct rt_semaphore *semaphore, uint64_t timeout);
/* RT_EOVERFLOW at the limit. Any context. */
int rt_semaphore_give(struct rt_semaphore *semaphore);
uint32_t rt_semaphore_count(const struct rt_semaphore *semaphore);

#endif
