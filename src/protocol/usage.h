/* SPDX-License-Identifier: Apache-2.0 */
/* Usage codes: what a mapping is for, and the protection that follows from it (seeds Table 28.5). */
#ifndef PROTOCOL_USAGE_H
#define PROTOCOL_USAGE_H

#include "protocol/segment.h"

/* Which way the engine moves the data of a mapping. */
enum pr_dma {
    PR_DMA_NONE, /* not said */
    PR_DMA_READ, /* the engine only reads */
    PR_DMA_WRITE,
    PR_DMA_BOTH,
};

#define PR_USAGE_FIRMWARE_FLAG 0x1000u /* the firmware's own class: mapped for the firmware only */

/*
 * X(id, code, direction, protection on the M1, the seed's words for it, role). The last two are the firmware
 * class; their leaves are written as read-write, because no other form is known (chosen).
 */
#define PR_USAGES(X)                                                                                      \
    X(INPUT, 1, READ, PR_PROT_READ_WRITE, "read-write (3) on the M1", "client input tensor")              \
    X(OUTPUT, 2, WRITE, PR_PROT_DEVICE_WRITE, "device-write (1)", "client output tensor")                 \
    X(INTERMEDIATE, 7, BOTH, PR_PROT_READ_WRITE, "read-write (3)", "intermediate buffer")                 \
    X(KERNEL, 8, NONE, PR_PROT_READ_WRITE, "read-write (3)", "kernel and weights")                        \
    X(TEXT, 9, NONE, PR_PROT_READ_WRITE, "read-write (3)", "program text, task descriptors, working set") \
    X(CONSTANTS, 11, NONE, PR_PROT_READ_WRITE, "read-write (3)", "program constants and scratch")         \
    X(FIRMWARE_SURFACE, 0x1019, NONE, PR_PROT_READ_WRITE, "firmware class",                               \
      "firmware power-on shared surface")                                                                 \
    X(FIRMWARE_HEAP, 0x101a, NONE, PR_PROT_READ_WRITE, "firmware class", "firmware resident heap")

enum pr_usage {
#define X(id, code, direction, protection, words, role) PR_USAGE_##id = (code),
    PR_USAGES(X)
#undef X
};

#endif
