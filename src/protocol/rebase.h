/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rebase (seeds ch. 28): the firmware's second translation, from a device address of the host (space A) to
 * the DRAM-tile aperture (space C), and the engine registers (space B) that take the low half of the result.
 */
#ifndef PROTOCOL_REBASE_H
#define PROTOCOL_REBASE_H

#include "protocol/bits.h"
#include "protocol/board.h"
#include "protocol/tm_regs.h"

/* The high half of space C. The device address is the low half (CHOSEN), so that the DART can translate it. */
#define PR_MAPPED_HALF 0x1bc4u
#define PR_MAPPED_BASE ((uint64_t)PR_MAPPED_HALF << 32)

/* Table 28.8: X(member, the seed's name, offset in the object, meaning) */
#define PR_REBASE_FIELDS(X)                                       \
    X(dva_base, "dvaBase", 0xb98, "host / DART IOVA region base") \
    X(region_size, "regionSize", 0xba0, "mapped region size")     \
    X(mapped_base, "mappedBase", 0xba8, "firmware runtime aperture base, the rebase target base")
#define PR_REBASE_OBJECT 0xa000u /* of the engine's object */

/* The aperture configuration: what the rebase uses, set at buffer-map time. */
struct pr_rebase_region {
    uint8_t unknown[0xb98];
    uint64_t dva_base, region_size, mapped_base;
};
struct pr_rebase_engine {
    uint8_t unknown[PR_REBASE_OBJECT];
    struct pr_rebase_region region;
};
#define X(member, name, offset, meaning) \
    _Static_assert(offsetof(struct pr_rebase_region, member) == (offset), "Table 28.8");
PR_REBASE_FIELDS(X)
#undef X
_Static_assert(offsetof(struct pr_rebase_engine, region) == PR_REBASE_OBJECT, "Table 28.8: engine + 0xa000");

/* One subtraction and one addition. False when a byte of the range is outside the region. */
static inline bool pr_rebase_translate(const struct pr_rebase_region *region, uint64_t iova, uint64_t bytes,
                                       uint64_t *runtime)
{
    if (iova < region->dva_base || bytes > region->region_size ||
        iova - region->dva_base > region->region_size - bytes)
        return false;
    *runtime = iova - region->dva_base + region->mapped_base;
    return true;
}

/* The address of a BAR of a queue, in the aperture of the engine that begins at `container`. */
static inline uint64_t pr_rebase_register(uint64_t container, uint32_t queue, uint32_t bar)
{
    return container + PR_ENGINE_TQ + (uint64_t)queue * PR_TQ_STRIDE + PR_TQ_BAR1 + 4ull * bar;
}

#endif
