/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory file of one open of a node: sparse, of a size that no program uses up, sealed. Parts of it are
 * buffers. No offset is given out twice. A part that was given back keeps its bytes, because the program may
 * still map it, until ACC_MEMORY_FREED bytes or ACC_MEMORY_FREED_PARTS parts were given back after it; then
 * its pages are freed and read 0. The caller has a lock.
 */
#ifndef ACCEL_MEMORY_H
#define ACCEL_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Python's mmap compares offset + length with the size that stat gives. */
#define ACC_MEMORY_BYTES (1ull << 56)
/* Where DRM's offsets begin on a 64-bit kernel (lnx): a program that maps offset 0 has made a mistake. */
#define ACC_MEMORY_FIRST       0x100000000ull
#define ACC_MEMORY_FREED       (256ull << 20)
#define ACC_MEMORY_FREED_PARTS 4096u

struct acc_memory_part {
    uint64_t offset, bytes;
};

struct acc_memory {
    int file;
    uint64_t next; /* offset of the next buffer */
    /* Parts given back that still have their bytes: a ring, oldest first. */
    struct acc_memory_part *freed;
    uint32_t freed_first, freed_count;
    uint64_t freed_bytes;
};

int acc_memory_open(struct acc_memory *memory, struct base_error *error);
/* Bytes stay while another process maps or holds the file. */
void acc_memory_close(struct acc_memory *memory);

/* Whole pages of zeros. -ENOSPC when the file has no offsets left. */
int acc_memory_take(struct acc_memory *memory, uint64_t bytes, uint64_t *offset);
/* Undoes the last take. */
void acc_memory_untake(struct acc_memory *memory, uint64_t bytes);
void acc_memory_give(struct acc_memory *memory, uint64_t offset, uint64_t bytes);

/* An open file description of its own, close on exec; or a negative errno. */
int acc_memory_descriptor(const struct acc_memory *memory);
/* No other open file description of the file exists, in any process; a mapping keeps one. */
bool acc_memory_alone(const struct acc_memory *memory);

#endif
