/* SPDX-License-Identifier: Apache-2.0 */
/* Signals: 32 flags that stay raised until a task that waits for them takes them. */
#ifndef RTKERNEL_SIGNAL_H
#define RTKERNEL_SIGNAL_H

#include <stdint.h>

#include "rtkernel/status.h"

struct rt_kernel;
struct rt_signal;

/* RT_ENOSPC when the pool is exhausted. Any context. */
int rt_signal_create(struct rt_kernel *kernel, struct rt_signal **signal);
/* RT_EBUSY while a task waits there. Any context. */
int rt_signal_delete(struct rt_signal *signal);
/*
 * Raises flags. A flag goes to the most urgent task that waits for it; a flag that no task waits for
 * stays. Any context.
 */
void rt_signal_raise(struct rt_signal *signal, uint32_t flags);
/*
 * Waits until at least one of `flags` is raised, and takes those. RT_EINVAL for no flags, RT_EAGAIN,
 * RT_ETIMEDOUT. Blocks unless the timeout is 0. `taken` may be NULL.
 */
int rt_signal_wait(struct rt_signal *signal, uint32_t flags, uint32_t *taken, uint64_t timeout);

#endif
