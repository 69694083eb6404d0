/* SPDX-License-Identifier: Apache-2.0 */
/* Usage codes: what a mapping is for, and the protection class that goes with it (Table 28.5). */
#ifndef DRIVER_USAGE_H
#define DRIVER_USAGE_H

#include <stdint.h>

/* X(id, code, protection class, role) */
#define DRV_USAGES(X)                                            \
    X(INPUT, 1, 3, "client input tensor")                        \
    X(OUTPUT, 2, 1, "client output tensor")                      \
    X(INTERMEDIATE, 7, 3, "intermediate buffer")                 \
    X(KERNEL, 8, 3, "kernel and weights")                        \
    X(TEXT, 9, 3, "program text, task descriptors, working set") \
    X(CONSTANTS, 11, 3, "program constants and scratch")         \
    X(FIRMWARE_SURFACE, 0x1019, 3, "firmware power-on surface")  \
    X(FIRMWARE_HEAP, 0x101a, 3, "firmware resident heap")

enum drv_usage {
#define X(id, code, class, role) DRV_USAGE_##id = code,
    DRV_USAGES(X)
#undef X
};

/* The protection class of a usage code; 0 when there is no such code. */
uint32_t drv_usage_class(uint32_t usage);

#endif
