/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interrupts: the table of handlers, and the way in. A handler runs on the stack of the interrupted task,
 * with interrupts masked, and is never interrupted itself. A task that it wakes runs only after the handler
 * has returned, by preemption at the end of rt_kernel_interrupt. The timer's line is above those of the
 * table, so no handler can be attached to it.
 */
#include "rtkernel/irq.h"

#include "rtkernel/sched.h"

int rt_irq_attach(struct rt_kernel *kernel, unsigned line, void (*handler)(void *arg, unsigned line),
                  void *arg)
{
    uint32_t previous;
    int result = RT_OK;

    if (line >= RT_IRQ_LINES)
        return RT_EINVAL;
    previous = rt_sched_enter(kernel);
    if (handler && kernel->irq[line].handler)
        result = RT_EBUSY;
    else
        kernel->irq[line] = (struct rt_irq){handler, arg};
    rt_sched_leave(kernel, previous);
    return result;
}

int rt_irq_raise(struct rt_kernel *kernel, unsigned line)
{
    uint32_t previous;

    if (line >= RT_IRQ_LINES)
        return RT_EINVAL;
    previous = rt_sched_enter(kernel);
    rt_port_irq_raise(kernel->port, line);
    rt_sched_leave(kernel, previous);
    return RT_OK;
}

uint32_t rt_irq_mask(struct rt_kernel *kernel)
{
    return rt_sched_enter(kernel);
}

void rt_irq_restore(struct rt_kernel *kernel, uint32_t previous)
{
    rt_sched_leave(kernel, previous);
}

uint64_t rt_irq_spurious(const struct rt_kernel *kernel)
{
    return kernel->spurious;
}

static void handle(struct rt_kernel *kernel, unsigned line)
{
    if (line == RT_IRQ_TIMER)
        rt_timeline_expire(kernel);
    else if (line < RT_IRQ_LINES && kernel->irq[line].handler)
        kernel->irq[line].handler(kernel->irq[line].arg, line);
    else
        kernel->spurious++;
}

void rt_kernel_interrupt(struct rt_kernel *kernel, unsigned line)
{
    if (kernel->in_interrupt || !kernel->current)
        rt_fault_assert(kernel, "interrupt %u: delivered while masked", line);
    kernel->in_interrupt = true;
    kernel->line = line;
    handle(kernel, line);
    kernel->in_interrupt = false;
    if (rt_sched_outranked(kernel))
        rt_sched_preempt(kernel);
}
