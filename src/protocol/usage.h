/* SPDX-License-Identifier: Apache-2.0 */
/* Usage codes: what a mapping is for, and the protection class that follows from it (seeds Table 28.5). */
#ifndef PROTOCOL_USAGE_H
#define PROTOCOL_USAGE_H

#include "protocol/bits.h"

#define PR_CLASS_DEVICE_WRITE 1u
#define PR_CLASS_READ_WRITE   3u

/*
 * X(id, code, class, the seed's words for the class, role). The seeds call the last two "firmware class"; a
 * leaf of theirs is written as read-write, because no other form is known (chosen).
 */
#define PR_USAGES(X)                                                                                       \
    X(INPUT, 1, PR_CLASS_READ_WRITE, "read-write (3) on the M1", "client input tensor")                    \
    X(OUTPUT, 2, PR_CLASS_DEVICE_WRITE, "device-write (1)", "client output tensor")                        \
    X(INTERMEDIATE, 7, PR_CLASS_READ_WRITE, "read-write (3)", "intermediate buffer")                       \
    X(KERNEL, 8, PR_CLASS_READ_WRITE, "read-write (3)", "kernel and weights")                              \
    X(TEXT, 9, PR_CLASS_READ_WRITE, "read-write (3)", "program text, task descriptors, working set")       \
    X(CONSTANTS, 11, PR_CLASS_READ_WRITE, "read-write (3)", "program constants and scratch")               \
    X(FIRMWARE_SURFACE, 0x1019, PR_CLASS_READ_WRITE, "firmware class", "firmware power-on shared surface") \
    X(FIRMWARE_HEAP, 0x101a, PR_CLASS_READ_WRITE, "firmware class", "firmware resident heap")

enum pr_usage {
#define X(id, code, class, words, role) PR_USAGE_##id = (code),
    PR_USAGES(X)
#undef X
};

#endif
