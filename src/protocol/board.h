/* SPDX-License-Identifier: Apache-2.0 */
/* Boards: where the blocks of one system on chip are in physical memory. */
#ifndef PROTOCOL_BOARD_H
#define PROTOCOL_BOARD_H

#include "protocol/bits.h"

#define PR_PAGE_BYTES 0x4000u /* Table 28.1: the DART's page, also DRAM's allocation unit */
#define PR_PAGE_SHIFT 14
#define PR_DART_COUNT 3u

/*
 * Offsets inside the engine container, the same on both boards (engine facts 2.1, command facts 5.1 and 6).
 */
#define PR_ENGINE_REGS     0x1c00000u /* task-descriptor registers as the fetcher sees them */
#define PR_ENGINE_TM       0x1c24000u /* task manager */
#define PR_ENGINE_TQ       0x1c25000u /* task queues */
#define PR_ENGINE_REGS_END 0x1c28000u

enum pr_chip { PR_CHIP_T6000, PR_CHIP_T8103, PR_CHIP_COUNT };

/*
 * The driver's apertures, in order (seeds Table 29.2). The first four are consecutive entries of the device
 * tree's `reg` list; which entries the ANEHAL apertures are is a field of the chip's family. X(id, name,
 * role)
 */
#define PR_APERTURES(X)                                                                                 \
    X(ANE, "ANE", "main control aperture, holding the scratch registers and the reset-vector register") \
    X(PS, "PS", "power-state")                                                                          \
    X(PWGATE, "PWGATE", "power-gate")                                                                   \
    X(PTD, "PTD", "page-table and translation-domain control")                                          \
    X(ANEHAL1, "ANEHAL1", "hardware-abstraction register aperture")                                     \
    X(ANEHAL2, "ANEHAL2", "hardware-abstraction register aperture")                                     \
    X(ANEHAL3, "ANEHAL3", "hardware-abstraction register aperture")
enum pr_aperture {
#define X(id, name, role) PR_APERTURE_##id,
    PR_APERTURES(X)
#undef X
        PR_APERTURE_COUNT
};
#define PR_APERTURE_HALS (PR_APERTURE_COUNT - PR_APERTURE_ANEHAL1)

struct pr_window {
    uint64_t base, bytes;
};

struct pr_board {
    const char *name;
    struct pr_window reg[PR_APERTURE_COUNT]; /* the device tree's list */
    uint32_t first_index;                    /* of the aperture ANE in it */
    uint32_t hal_index[PR_APERTURE_HALS];
    uint64_t container, container_bytes; /* the engine's aperture */
    uint64_t dart[PR_DART_COUNT];        /* 16 KiB each */
    uint64_t dapf; /* the fourth window of 16 KiB (seeds ch. 28); what is in it is not public */
    uint64_t pmu;  /* power-state registers */
    uint64_t dram;
    uint32_t interrupt;      /* the engine's line at the interrupt controller */
    uint32_t dart_interrupt; /* that of the three DARTs */
    /* what the controller compares with its boot arguments: version << 8 | minor version */
    uint32_t revision;
    const char *source;
};

extern const struct pr_board pr_board_table[PR_CHIP_COUNT];

/* A run of physical memory, whole pages. A buffer is a list of them in the order of its bytes. */
struct pr_extent {
    uint64_t physical, bytes;
};
/* A buffer is never physically contiguous beyond this (chosen, see docs/machine.md). */
#define PR_EXTENT_BYTES_MAX 0x100000u

/* The board of that name, or NULL. */
const struct pr_board *pr_board_find(const char *name);

/* The time base that the controller's registers and the engine's events count in. */
#define PR_TIMEBASE_HZ 24000000u
static inline uint64_t pr_timebase_ticks(uint64_t ns)
{
    return ns * (PR_TIMEBASE_HZ / 1000000) / 1000;
}

/*
 * Power-state registers: seven words, 8 bytes apart (engine facts 2.1, guide facts 7.1). Low nibble target,
 * next nibble actual state.
 */
#define PR_PMU_DOMAINS 7u
#define PR_PMU_STRIDE  8u
#define PR_PMU_ON      0xfu
#define PR_PMU_OFF     0x300u
#define PR_PMU_READY   0xffu

#endif
