/* SPDX-License-Identifier: Apache-2.0 */
/* Faults: the record is filled in place, because the stack may be what has failed. */
#include "rtkernel/fault.h"

#include "rtkernel/format.h"
#include "rtkernel/memory.h"
#include "rtkernel/sched.h"

const char *rt_fault_class_name(enum rt_fault_class fault_class)
{
    switch (fault_class) {
    case RT_FAULT_NMI: return "non-maskable interrupt";
    case RT_FAULT_IRQ: return "interrupt";
    case RT_FAULT_FIQ: return "fast interrupt";
    case RT_FAULT_SYNC: return "synchronous abort";
    case RT_FAULT_ASSERT: return "assertion";
    default: return "?";
    }
}

/* The first fault is the one that is reported; a fault while reporting it ends the report. */
static struct rt_fault *begin(struct rt_kernel *kernel, enum rt_fault_class fault_class)
{
    struct rt_fault *fault = &kernel->fault;

    (void)rt_port_irq_mask(kernel->port);
    if (kernel->faulted)
        rt_port_fault(kernel->port, fault);
    kernel->faulted = true;
    fault->fault_class = fault_class;
    fault->in_interrupt = kernel->in_interrupt;
    fault->line = kernel->in_interrupt ? kernel->line : 0;
    fault->time = rt_port_now(kernel->port);
    fault->thread =
        kernel->in_interrupt || !kernel->current ? RT_THREAD_BOOT : rt_task_thread(kernel->current);
    fault->processor = rt_port_sysreg_read(kernel->port, RT_SYSREG_MPIDR_EL1) >> 8 & 0xff;
    fault->frames = (unsigned)rt_port_call_stack(kernel->port, fault->frame, RT_CALL_STACK_FRAMES);
    rt_memory_copy_name(fault->task, sizeof(fault->task), kernel->current ? kernel->current->name : "");
    return fault;
}

static _Noreturn void end(struct rt_kernel *kernel)
{
    rt_log(kernel, RT_LOG_ERROR, "%s: %s", rt_fault_class_name(kernel->fault.fault_class),
           kernel->fault.text);
    if (kernel->fault_hook)
        kernel->fault_hook(kernel->fault_arg, &kernel->fault);
    rt_port_fault(kernel->port, &kernel->fault);
}

_Noreturn void rt_fault_assert(struct rt_kernel *kernel, const char *format, ...)
{
    struct rt_fault *fault = begin(kernel, RT_FAULT_ASSERT);
    va_list args;

    va_start(args, format);
    rt_format_list(fault->text, sizeof(fault->text), format, args);
    va_end(args);
    end(kernel);
}

_Noreturn void rt_kernel_exception(struct rt_kernel *kernel, enum rt_fault_class fault_class,
                                   const struct rt_registers *registers, const char *text)
{
    struct rt_fault *fault = begin(kernel, fault_class);

    rt_memory_copy_name(fault->text, sizeof(fault->text), text);
    fault->has_registers = registers;
    if (registers)
        fault->registers = *registers;
    end(kernel);
}

void rt_fault_hook(struct rt_kernel *kernel, void (*hook)(void *arg, const struct rt_fault *fault), void *arg)
{
    const uint32_t previous = rt_sched_enter(kernel);

    kernel->fault_hook = hook;
    kernel->fault_arg = arg;
    rt_sched_leave(kernel, previous);
}
