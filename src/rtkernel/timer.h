/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timers: at its time a timer posts a message, gives a semaphore or raises an interrupt line. No code of the
 * application's runs in interrupt context, except the handler of such a line. What cannot be delivered (queue
 * full, semaphore at its limit) and periods that passed unseen are counted.
 */
#ifndef RTKERNEL_TIMER_H
#define RTKERNEL_TIMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rtkernel/status.h"

struct rt_kernel;
struct rt_queue;
struct rt_semaphore;
struct rt_timer;

/* RT_EMSGSIZE when the message is wider than RT_TIMER_MESSAGE_BYTES or the queue, RT_ENOSPC. Any context. */
int rt_timer_create_post(struct rt_kernel *kernel, struct rt_timer **timer, struct rt_queue *queue,
                         const void *message, size_t bytes);
/* The target must outlive the timer: one that fires at a deleted queue or semaphore is a fault. */
int rt_timer_create_give(struct rt_kernel *kernel, struct rt_timer **timer, struct rt_semaphore *semaphore);
/*
 * Raises a line as rt_irq_raise does: its handler runs in interrupt context, right after the timer's
 * interrupt. RT_EINVAL for a line of RT_IRQ_LINES or above, RT_ENOSPC. Any context.
 */
int rt_timer_create_interrupt(struct rt_kernel *kernel, struct rt_timer **timer, unsigned line);
void rt_timer_delete(struct rt_timer *timer);

/*
 * Fires `delay` nanoseconds from now, then every `period`, or once when that is 0. Restarts a running one.
 * Any context.
 */
void rt_timer_start(struct rt_timer *timer, uint64_t delay, uint64_t period);
void rt_timer_stop(struct rt_timer *timer);
bool rt_timer_running(const struct rt_timer *timer);
uint64_t rt_timer_missed(const struct rt_timer *timer);

#endif
