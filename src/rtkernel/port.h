/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The port: all that the kernel and the firmware above it ask of the processor and the board they run on.
 * These are the only undefined symbols of a freestanding build.
 *
 * Every call takes the port that was given at boot; a process may run several kernels, each with its own.
 * Unless a comment says otherwise a call returns at once, and may be made from tasks, in interrupt context,
 * and before the kernel is started.
 *
 * Interrupts: the port delivers one by calling rt_kernel_interrupt with interrupts masked, on the stack of
 * whatever was running, and only while they are not masked. That call may switch to another task and return
 * much later. A port without real interrupts delivers inside the calls marked "delivers".
 */
#ifndef RTKERNEL_PORT_H
#define RTKERNEL_PORT_H

#include <stddef.h>
#include <stdint.h>

struct rt_port;
struct rt_fault;

/* Registers at a 64-bit physical address, aligned to their width, in program order. Delivers. */
uint32_t rt_port_read32(struct rt_port *port, uint64_t address);
void rt_port_write32(struct rt_port *port, uint64_t address, uint32_t value);
/* The same as stores to consecutive 32-bit registers, in order; delivers between any two, or after all. */
void rt_port_write_words(struct rt_port *port, uint64_t address, const uint32_t *value, uint32_t count);
uint64_t rt_port_read64(struct rt_port *port, uint64_t address);
void rt_port_write64(struct rt_port *port, uint64_t address, uint64_t value);

/*
 * A system register, by the 16 bits that name it in an MRS instruction. Which there are is the processor's:
 * protocol/controller.h lists them; a port faults on any other, and on a write to one that is read only.
 */
#define RT_SYSREG(op0, op1, crn, crm, op2) ((op0) << 14 | (op1) << 11 | (crn) << 7 | (crm) << 3 | (op2))
#define RT_SYSREG_S3_3_C15_C8_0            RT_SYSREG(3u, 3u, 15u, 8u, 0u)
#define RT_SYSREG_MPIDR_EL1                RT_SYSREG(3u, 0u, 0u, 0u, 5u)
uint64_t rt_port_sysreg_read(struct rt_port *port, uint32_t id);
void rt_port_sysreg_write(struct rt_port *port, uint32_t id, uint64_t value);

/* Every access before it is done, and seen by devices, before any access after it begins (dsb sy; isb). */
void rt_port_barrier(struct rt_port *port);

/*
 * Masks interrupts and returns the state before: 0 when they were enabled. Restore takes that value back; it
 * delivers when the value is 0. Interrupts are masked at reset, while a handler runs, and in a new context.
 */
uint32_t rt_port_irq_mask(struct rt_port *port);
void rt_port_irq_restore(struct rt_port *port, uint32_t previous);

/*
 * Raises a line by software: delivered like one of the board's, at the latest when interrupts are unmasked.
 */
void rt_port_irq_raise(struct rt_port *port, unsigned line);

/*
 * Returns after at least one interrupt was delivered. Called by the idle task with interrupts enabled;
 * blocks; delivers. Boot code may call it with interrupts masked: it then returns once one is raised, which
 * is forgotten.
 */
void rt_port_wait(struct rt_port *port);

/*
 * A saved processor state; what is inside is the port's. Enough for the callee-saved registers of AArch64
 * (x19 to x30, sp, d8 to d15) and of x86-64.
 */
struct rt_context {
    _Alignas(16) uint64_t word[24];
};

/*
 * A context that will call entry(arg) on that stack, with interrupts masked; entry never returns. `stack` and
 * `bytes` are multiples of 16; the stack grows downwards.
 */
void rt_port_context_make(struct rt_port *port, struct rt_context *context, void *stack, size_t bytes,
                          void (*entry)(void *arg), void *arg);
/*
 * Saves the caller into `from` and continues `to`; returns when a switch goes back to `from`. Interrupts
 * are masked on both sides. A `from` that was not made here is the boot code's, and no switch goes back to
 * it.
 */
void rt_port_context_switch(struct rt_port *port, struct rt_context *from, struct rt_context *to);
/* The context will not run again, and its stack is about to be used for something else. */
void rt_port_context_drop(struct rt_port *port, struct rt_context *context);

/* Nanoseconds since some beginning; never goes back. */
uint64_t rt_port_now(struct rt_port *port);
/*
 * One timer: delivers RT_IRQ_TIMER once when rt_port_now reaches the deadline. A new call replaces it; 0 is
 * off.
 */
void rt_port_timer_set(struct rt_port *port, uint64_t deadline);

/*
 * Shared memory at a device address, for loads and stores; valid until the mapping is changed. NULL when any
 * byte of the range is not mapped. What it holds is hostile: copy once, validate the copy, use the copy.
 */
void *rt_port_window(struct rt_port *port, uint64_t address, size_t bytes);

/* A line of the log and its parts: "level origin: text". The strings are valid during the call. */
struct rt_port_line {
    const char *line; /* as in the ring, without a line end; line[length] is 0 */
    size_t length;
    const char *level;  /* its name */
    const char *origin; /* the task's name, "irq N" or "boot" */
    const char *text;
};
/* A line that the log's ring has. Interrupts are masked. */
void rt_port_log(struct rt_port *port, const struct rt_port_line *line);
/*
 * A mark for who watches the processor from outside, such as a trace. What a code and its words mean is the
 * program's above the kernel; a port that is not watched does nothing. Any context.
 */
void rt_port_mark(struct rt_port *port, uint32_t code, const uint64_t *word, size_t words);
/*
 * Why the kernel or the firmware does not start: one sentence, `text[length]` is 0. There may be no kernel
 * yet, so the log's ring does not have it.
 */
void rt_port_refuse(struct rt_port *port, const char *text, size_t length);

/*
 * The call stack of the caller, innermost first, as offsets from where the image begins; how many. 0 where
 * the port cannot tell.
 */
size_t rt_port_call_stack(struct rt_port *port, uint64_t *frame, size_t most);

/*
 * The end of a kernel that has failed: the fault is complete, the fault hook has run. On bare metal the
 * processor stays here until it is reset. Interrupts are masked.
 */
_Noreturn void rt_port_fault(struct rt_port *port, const struct rt_fault *fault);
/* The processor stops for good, by intention (power-down). */
_Noreturn void rt_port_halt(struct rt_port *port);

#endif
