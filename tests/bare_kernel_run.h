/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels one after another on qemu's virt board: each gets the same memory, and ends when it waits for what
 * cannot come, when it fails, or when it halts.
 */
#ifndef TESTS_BARE_KERNEL_RUN_H
#define TESTS_BARE_KERNEL_RUN_H

#include <stdbool.h>

#include "rtkernel/fault.h"

struct rt_kernel;
struct rt_port;

enum bare_kernel_end { BARE_KERNEL_IDLE = 1, BARE_KERNEL_FAULTED, BARE_KERNEL_HALTED };

/* Boots a kernel, calls setup(kernel, arg) and starts it. */
enum bare_kernel_end bare_kernel_run(void (*setup)(struct rt_kernel *kernel, void *arg), void *arg);
/* Calls entry(port) on the boot code's stack, without a kernel; its return is a halt. */
enum bare_kernel_end bare_kernel_run_early(void (*entry)(struct rt_port *port));
/* Of the last run that ended in one. */
const struct rt_fault *bare_kernel_fault(void);

/* A line of the output that is compared: it begins with "# ". */
void bare_kernel_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* bare_kernel_processor.c: prints a line for each check of the processor's port; how many failed. */
unsigned bare_kernel_check_processor(void);

#endif
