/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of the program that makes a call, as the kernel's copy_from_user and copy_to_user reach it. The
 * notifier reads and writes another process; the preloaded library its own.
 */
#ifndef ACCEL_CLIENT_H
#define ACCEL_CLIENT_H

#include <stddef.h>
#include <stdint.h>

struct acc_client {
    /* All bytes, or -EFAULT. */
    int (*read)(void *context, uint64_t address, void *to, size_t bytes);
    int (*write)(void *context, uint64_t address, const void *from, size_t bytes);
    void *context;
    int process; /* its number, for messages */
};

#endif
