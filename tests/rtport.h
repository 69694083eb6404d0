/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A port of the real-time kernel for tests: tasks on the host's context switch, a virtual clock, interrupts
 * on demand. The test's thread drives: it boots a kernel and runs it until nothing is left to do. Interrupts
 * are taken at kernel calls, at register accesses and in wait. Assert after rtport_run, never inside a task:
 * cmocka would jump between stacks. A kernel call made from outside, while it is idle, is like one in a
 * critical section: what it wakes runs after the next interrupt.
 */
#ifndef TESTS_RTPORT_H
#define TESTS_RTPORT_H

#include <stddef.h>
#include <stdint.h>

#include "rtkernel/fault.h"
#include "rtkernel/irq.h"
#include "rtkernel/kernel.h"
#include "rtkernel/port.h"

enum rtport_end {
    RTPORT_IDLE,    /* the idle task waits for an interrupt that is not on its way */
    RTPORT_FAULTED, /* rtport_fault says why; cannot run again */
    RTPORT_HALTED,
};

/*
 * A store of N to this register raises line N; reading gives the number
 * of stores so far. The others are memory.
 */
#define RTPORT_DOORBELL     0x1000u
#define RTPORT_REGISTERS    16u         /* 64-bit ones from address 0 */
#define RTPORT_SHARED       0x80000000u /* device address of the shared memory behind rt_port_window */
#define RTPORT_SHARED_BYTES 4096u

#define RTPORT_MPIDR 0x80000305u /* processor 3; its call stack is 0x1000, 0x2000, 0x3000 */

/* With a carve-out of that size, of which `framework` bytes are reserved. Never NULL. */
struct rt_port *rtport_create(size_t carve_out, size_t framework);
void rtport_destroy(struct rt_port *port);
/* What it would boot with, for tests of boot itself. */
struct rt_boot *rtport_boot_arguments(struct rt_port *port);

/* Boots, calls setup(kernel, arg) on the boot stack, starts, and runs until `until` (virtual) or the end. */
enum rtport_end rtport_start(struct rt_port *port, void (*setup)(struct rt_kernel *kernel, void *arg),
                             void *arg, uint64_t until);
/*
 * Continues where the last run ended. The clock is at `until` after an idle end, unless that is RT_FOREVER.
 */
enum rtport_end rtport_run(struct rt_port *port, uint64_t until);
struct rt_kernel *rtport_kernel(struct rt_port *port);

/* Raise a line now, or at a time; from inside or from outside. */
void rtport_raise(struct rt_port *port, unsigned line);
void rtport_raise_at(struct rt_port *port, uint64_t time, unsigned line);
/* The running task computes for that long. */
void rtport_spend(struct rt_port *port, uint64_t nanoseconds);

uint64_t rtport_now(const struct rt_port *port);
uint64_t rtport_timer(const struct rt_port *port); /* the deadline set, 0 for none */
const struct rt_fault *rtport_fault(const struct rt_port *port);
const char *rtport_log(const struct rt_port *port); /* all lines, each with a line end */
/* Live contexts: made and not dropped; and the lowest address of the stack that was made last. */
int rtport_contexts(const struct rt_port *port);
const void *rtport_last_stack(const struct rt_port *port);

#endif
