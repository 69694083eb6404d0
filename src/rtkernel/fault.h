/* SPDX-License-Identifier: Apache-2.0 */
/* Faults: processor exceptions and broken invariants. All end in rt_port_fault; no code runs afterwards. */
#ifndef RTKERNEL_FAULT_H
#define RTKERNEL_FAULT_H

#include <stdbool.h>
#include <stdint.h>

#include "rtkernel/rt_limits.h"

struct rt_kernel;

/*
 * The four exception classes of the dump (ch. 29, "Faults and recovery"), and what software finds by itself.
 */
enum rt_fault_class {
    RT_FAULT_NMI,
    RT_FAULT_IRQ,
    RT_FAULT_FIQ,
    RT_FAULT_SYNC,
    RT_FAULT_ASSERT,
    RT_FAULT_CLASSES,
};
const char *rt_fault_class_name(enum rt_fault_class fault_class);

struct rt_registers {
    uint64_t x[31], sp, pc, pstate;
    uint64_t esr, far; /* exception syndrome, fault address */
};

struct rt_fault {
    enum rt_fault_class fault_class;
    char text[RT_TEXT_BYTES];
    char task[RT_NAME_BYTES]; /* the running or interrupted task; empty before the kernel is started */
    bool in_interrupt;        /* a handler failed, not that task */
    unsigned line;            /* the handler's, when in_interrupt */
    uint64_t time;
    unsigned processor; /* bits 15:8 of MPIDR_EL1 */
    unsigned thread;    /* below RT_THREADS: the task's, or RT_THREAD_BOOT in a handler or in boot code */
    bool has_registers; /* an assertion has none */
    struct rt_registers registers;
    unsigned frames; /* of the call stack, innermost first; 0 where the port cannot tell */
    uint64_t frame[RT_CALL_STACK_FRAMES];
};

/* Fails when the condition does not hold. Evaluates `kernel` only then. Any context. */
#define rt_assert(kernel, condition, text) ((condition) ? (void)0 : rt_fault_assert((kernel), "%s", (text)))

_Noreturn void rt_fault_assert(struct rt_kernel *kernel, const char *format, ...)
    __attribute__((format(printf, 2, 3), cold));

/* The port's way in for an exception it has taken, with the registers it has saved. */
_Noreturn void rt_kernel_exception(struct rt_kernel *kernel, enum rt_fault_class fault_class,
                                   const struct rt_registers *registers, const char *text);

/*
 * What runs between a fault and rt_port_fault, in the context that failed, with interrupts masked: the
 * application's post-mortem dump. It may not call what blocks. A fault inside goes straight to the port.
 */
void rt_fault_hook(struct rt_kernel *kernel, void (*hook)(void *arg, const struct rt_fault *fault),
                   void *arg);

#endif
