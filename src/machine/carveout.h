/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The firmware's memory. What the firmware works with is private memory of the controller, together with the
 * reset vector's stack; the carve-out in DRAM is how every other part sees it. No byte is copied until the
 * carve-out can be seen. From then on it shows the firmware's memory whenever the firmware is not running,
 * and the firmware's memory never changes because the carve-out did: a difference is only reported. The one
 * exception is the retained block at the end, which a restart takes over as it is in DRAM: it holds data
 * with a checksum, and no pointer.
 */
#ifndef MACHINE_CARVEOUT_H
#define MACHINE_CARVEOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct mach_carveout {
    uint8_t *mapping; /* a guard page, the reset vector's stack, the memory */
    size_t mapping_bytes;
    size_t page; /* of the host */
    void *stack; /* the reset vector's */
    size_t stack_bytes;
    uint64_t *memory;
    size_t bytes;
    size_t retained;  /* bytes at the end that a restart keeps; whole words */
    uint64_t *dram;   /* what others see */
    uint64_t address; /* physical, of dram */
    bool exposed;     /* somebody can see it */
    size_t shown;     /* bytes from the start that dram shows, besides the retained block */
};

/*
 * `bytes` of memory for the carve-out that is at a physical address and at `dram`; the last `retained` of
 * them are kept by a restart. -ENOMEM.
 */
int mach_carveout_create(struct mach_carveout *carveout, uint64_t address, void *dram, size_t bytes,
                         size_t retained, struct base_error *error);
void mach_carveout_destroy(struct mach_carveout *carveout);
/* The retained block in the firmware's memory. */
void *mach_carveout_retained(const struct mach_carveout *carveout);

/*
 * For a restart: zeros in the first `used` bytes, at most up to the retained block. No stack in it has a
 * guard page.
 */
void mach_carveout_clear(struct mach_carveout *carveout, size_t used);

/* The page at the low end of a stack in the memory becomes a guard page, or memory again. */
void mach_carveout_guard(const struct mach_carveout *carveout, void *stack, size_t bytes, bool on);

/* The firmware stops running; `used` bytes from the start are in use. */
void mach_carveout_show(struct mach_carveout *carveout, size_t used);
/* Physical address of the first word that has been changed since, or 0. */
uint64_t mach_carveout_changed(const struct mach_carveout *carveout);

#endif
