/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device addresses of buffers, as the published driver gives them out: the best fit, from the low end of the
 * hole, whole pages, with nothing between two buffers. The caller has a lock.
 */
#ifndef ACCEL_SPACE_H
#define ACCEL_SPACE_H

#include <stddef.h>
#include <stdint.h>

#include "accel/abi.h"
#include "protocol/dart_regs.h"

/* From the second page on; the last page stays free, since the engine reads ahead (drv). */
#define ACC_SPACE_FIRST ACC_TILE_BYTES
#define ACC_SPACE_END   (PR_DART_APERTURE_BYTES - ACC_TILE_BYTES)

struct acc_range {
    struct acc_range *next; /* at a higher address */
    uint32_t iova;
    uint64_t bytes; /* whole pages */
    uint64_t bank;  /* physical address of its bank */
};

struct acc_space {
    struct acc_range *first; /* the lowest */
};

/* Gives a range of `bytes` bytes its address. 0, or -ENOSPC when no hole is large enough, or for 0 bytes. */
int acc_space_place(struct acc_space *space, struct acc_range *range);
/* Takes out the range that begins at `iova`; NULL when none does. */
struct acc_range *acc_space_remove(struct acc_space *space, uint32_t iova);
/* The range that holds the address or is the last one before it; NULL when there is none. */
const struct acc_range *acc_space_before(const struct acc_space *space, uint32_t address);

#endif
