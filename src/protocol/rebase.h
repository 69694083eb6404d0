/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rebase (seeds ch. 28): the firmware's second translation, from a device address of the host (space A)
 * to the DRAM-tile aperture (space C), and the engine registers (space B) that take the low half of the
 * result.
 */
#ifndef PROTOCOL_REBASE_H
#define PROTOCOL_REBASE_H

#include "protocol/bits.h"
#include "protocol/board.h"
#include "protocol/tm_regs.h"

/* The high half of space C. The device address is the low half (CHOSEN), so that the DART translates it. */
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

/* Buffers of a program that are not generic ones: what a record or a process calls them (CHOSEN). */
#define PR_PROCESS_TEXT   0xfffffffeu
#define PR_PROCESS_KERNEL 0xffffffffu
/* The BARs that they have where the operation names no other buffer for them. */
#define PR_REBASE_BAR_TEXT   0u
#define PR_REBASE_BAR_KERNEL 1u

/*
 * A register-write record: an engine register and two operand values, 44 bytes (seeds ch. 28). Places, and
 * the fields beside those three, are CHOSEN. In a container the operands are 0 and the register is that of
 * queue 0; the firmware fills the operands of its copy and adds the queue. A 64-bit value is two words, low
 * half first, since 44 is not a multiple of 8.
 */
struct pr_rebase_record {
    uint32_t operation, bar;
    uint32_t buffer; /* index of a generic buffer, PR_PROCESS_TEXT or PR_PROCESS_KERNEL */
    uint32_t flags;
    uint32_t zero;
    uint32_t reg[2];   /* space B */
    uint32_t first[2]; /* space C: the buffer's first byte */
    uint32_t end[2];   /* space C: the byte behind its last */
};
_Static_assert(sizeof(struct pr_rebase_record) == 44, "a rebase record is 44 bytes");
/* The BAR takes all 64 bits, in a table of the firmware's; its register is not written. */
#define PR_REBASE_WIDE 1u

static inline uint64_t pr_rebase_get(const uint32_t value[2])
{
    return value[0] | (uint64_t)value[1] << 32;
}

static inline void pr_rebase_put(uint32_t value[2], uint64_t to)
{
    value[0] = (uint32_t)to;
    value[1] = (uint32_t)(to >> 32);
}

#endif
