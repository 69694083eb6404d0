/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program of generations B and C, in the process of the test: a device with one open file, buffers that are
 * mapped as a program maps them, and one request: y = a + b over fp16 values. Its client reads and writes the
 * test's own memory as the kernel would: a bad address is -EFAULT.
 */
#ifndef TESTS_ACCELRIG_H
#define TESTS_ACCELRIG_H

#include "support.h"

#include "accel/table.h"

#define ACCELRIG_PAGE     0x4000u
#define ACCELRIG_CHANNELS 4u
#define ACCELRIG_WIDTH    32u
#define ACCELRIG_VALUES   (ACCELRIG_CHANNELS * ACCELRIG_WIDTH)
#define ACCELRIG_TILE_Y   4u
#define ACCELRIG_TILE_B   5u
#define ACCELRIG_TILE_A   6u

struct accelrig {
    struct acc_device *device;
    struct acc_table *table;
    struct acc_file *file;
    int descriptor; /* the program's */
    struct acc_client client;
    unsigned reports;
    char report[8192]; /* the last one */
};

struct accelrig_buffer {
    uint32_t handle;
    uint64_t bytes, offset;
    uint8_t *map;
};

/* The buffers of one request, and its call. */
struct accelrig_sum {
    struct accelrig_buffer text, first, a, b, y;
    struct acc_abi_submit call;
};

/* `config` may be NULL: an M1. */
void accelrig_start(struct accelrig *rig, const struct ane_machine_config *config);
void accelrig_stop(struct accelrig *rig);
/* Another file of the same device, in a copy of the rig. */
void accelrig_open(struct accelrig *rig);
void accelrig_close(struct accelrig *rig);

int accelrig_ioctl(struct accelrig *rig, uint32_t request, void *argument);
/* BO_INIT and mmap, which must work. */
struct accelrig_buffer accelrig_buffer(struct accelrig *rig, uint64_t bytes);
/* munmap and BO_FREE. */
void accelrig_buffer_end(struct accelrig *rig, struct accelrig_buffer *buffer);

void accelrig_sum_make(struct accelrig *rig, struct accelrig_sum *sum);
void accelrig_sum_end(struct accelrig *rig, struct accelrig_sum *sum);
/* Writes new values that depend on `seed`, submits, compares. */
void accelrig_sum_check(struct accelrig *rig, struct accelrig_sum *sum, unsigned seed);
/* A word of the descriptor, in both of its copies. */
void accelrig_sum_patch(struct accelrig_sum *sum, uint32_t offset, uint32_t value);
uint32_t accelrig_sum_word(const struct accelrig_sum *sum, uint32_t offset);

#endif
