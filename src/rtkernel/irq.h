/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interrupts. A handler runs in interrupt context, with interrupts masked: it may read and write registers,
 * post (rt_queue_try_send, rt_mailbox_post), give, raise and return. Calling a function that blocks there is
 * a fault.
 */
#ifndef RTKERNEL_IRQ_H
#define RTKERNEL_IRQ_H

#include <stdbool.h>
#include <stdint.h>

#include "rtkernel/rt_limits.h"
#include "rtkernel/status.h"

struct rt_kernel;

/* The line number of rt_port_timer_set, for ports. */
#define RT_IRQ_TIMER RT_IRQ_LINES

/*
 * RT_EINVAL for a line of RT_IRQ_LINES or above, RT_EBUSY when it has a handler. A NULL handler detaches. Any
 * context.
 */
int rt_irq_attach(struct rt_kernel *kernel, unsigned line, void (*handler)(void *arg, unsigned line),
                  void *arg);

/*
 * Raises a line by software. Its handler has run when this returns, unless the caller is in a handler or in a
 * critical section: then it runs afterwards. A line that is raised again before it is taken is taken once.
 * RT_EINVAL for a line of RT_IRQ_LINES or above. Any context.
 */
int rt_irq_raise(struct rt_kernel *kernel, unsigned line);

/*
 * A critical section of the application's: no interrupt and no other task between mask and the restore that
 * ends the outermost section. Kernel calls that do not block are allowed inside; a task they wake runs at the
 * restore. A call that blocks inside is a fault.
 */
uint32_t rt_irq_mask(struct rt_kernel *kernel);
void rt_irq_restore(struct rt_kernel *kernel, uint32_t previous);

/* Interrupts on lines without a handler. */
uint64_t rt_irq_spurious(const struct rt_kernel *kernel);

/*
 * The port's way in: with interrupts masked, on the stack of what was interrupted, and never while masked or
 * in another handler. Returns when the interrupted task is the most urgent again.
 */
void rt_kernel_interrupt(struct rt_kernel *kernel, unsigned line);

#endif
