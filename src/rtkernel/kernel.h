/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real-time kernel of the engine's controller. All of its state is one struct at the base of the memory
 * it is given; a restart clears that memory and boots again.
 */
#ifndef RTKERNEL_KERNEL_H
#define RTKERNEL_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rtkernel/log.h"
#include "rtkernel/rt_limits.h"
#include "rtkernel/status.h"

struct rt_kernel;
struct rt_port;

struct rt_boot {
    void *base;             /* of the carve-out; aligned to 64 bytes */
    size_t bytes;           /* of the carve-out */
    size_t framework_bytes; /* reserved for the framework arena; the rest is the system arena */
    size_t stack_extra;     /* added to every stack, for what the port's calls need; 0 on bare metal */
    bool zeroed;            /* the carve-out is all zeros: heap that was never used need not be cleared */
    enum rt_log_level log_level;
    struct rt_port *port;
};

struct rt_refusal {
    char text[RT_TEXT_BYTES];
};

/* What a carve-out needs before the first byte of heap. */
size_t rt_kernel_bytes(void);

/*
 * Sets up the kernel, its arenas and its own tasks, masks interrupts, and returns: the application then
 * creates its tasks and starts. The earlier contents of the carve-out are not used. RT_EINVAL or RT_ENOMEM,
 * with a sentence in `refusal` (which may be NULL) and in the port's log, when the carve-out is misaligned or
 * too small, or when the initial heap does not exceed twice the framework reservation.
 */
int rt_kernel_boot(const struct rt_boot *boot, struct rt_kernel **kernel, struct rt_refusal *refusal);

/* Leaves the caller's stack for the most urgent task, for good. */
_Noreturn void rt_kernel_start(struct rt_kernel *kernel);

/*
 * For a port whose contexts own something: drops the context of every task. Called from outside the kernel,
 * which will not run again, before its memory is used for something else.
 */
void rt_kernel_close(struct rt_kernel *kernel);

/* Bytes of the carve-out, from its base, that hold anything: what is above them is free heap. */
size_t rt_kernel_extent(const struct rt_kernel *kernel);

struct rt_port *rt_kernel_port(const struct rt_kernel *kernel);
bool rt_kernel_in_interrupt(const struct rt_kernel *kernel);
/* Context switches since the start. */
uint64_t rt_kernel_switches(const struct rt_kernel *kernel);
/*
 * Posts that were refused because what was posted before is still there: to a full mailbox (RT_EAGAIN), to a
 * full queue without waiting (RT_EAGAIN), and units above a semaphore's limit (RT_EOVERFLOW).
 */
uint64_t rt_kernel_refused_posts(const struct rt_kernel *kernel);

#endif
