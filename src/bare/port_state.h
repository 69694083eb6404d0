/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the port, for this room alone. */
#ifndef BARE_PORT_STATE_H
#define BARE_PORT_STATE_H

#include <stdbool.h>

#include "rtkernel/fault.h"

struct rt_kernel;

struct rt_port {
    struct rt_kernel *kernel;          /* at the base of its carve-out */
    bool kernel_made;                  /* it has contexts: interrupts and exceptions are its own */
    const struct rt_registers *failed; /* of the exception that is being reported */
    struct rt_fault fault;             /* of an exception before there is a kernel */
};

/* The one port of the image. */
struct rt_port *bare_port(void);

/* A fault of the processor: to the kernel, or to the board while there is none. `registers` may be NULL. */
_Noreturn void bare_fail(enum rt_fault_class fault_class, const struct rt_registers *registers,
                         const char *text);

#endif
