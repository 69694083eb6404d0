/* SPDX-License-Identifier: Apache-2.0 */
/* Boards: where the blocks of one system on chip are in physical memory. */
#ifndef PROTOCOL_BOARD_H
#define PROTOCOL_BOARD_H

#include "protocol/bits.h"
#include "protocol/dart_regs.h"

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

/* The window that every public device tree calls "engine" (dts, lnx): the end of the one above. */
#define PR_ENGINE_WINDOW       0x1c04000u
#define PR_ENGINE_WINDOW_BYTES 0x24000u
_Static_assert(PR_ENGINE_WINDOW + PR_ENGINE_WINDOW_BYTES == PR_ENGINE_REGS_END, "both end together");
_Static_assert(PR_ENGINE_TM - PR_ENGINE_WINDOW == 0x20000, "where drivers have the task manager");

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

/*
 * What a power domain powers: registers and state are lost with the power. The engine is task manager, queues
 * and datapath, with the controller. X(id, name)
 */
#define PR_POWERED(X)   \
    X(ENGINE, "engine") \
    X(DART0, "dart0")   \
    X(DART1, "dart1")   \
    X(DART2, "dart2")
enum pr_powered {
#define X(id, name) PR_POWERED_##id,
    PR_POWERED(X)
#undef X
        PR_POWERED_COUNT
};
#define PR_POWERED_BIT(block) (1u << (block))
_Static_assert(PR_POWERED_COUNT - PR_POWERED_DART0 == PR_DART_COUNT, "one bit per DART");

#define PR_DOMAINS_MAX 10u
#define PR_DOMAIN_NONE 0xffu

/* A power domain: one word of a power manager. A domain has power only while its parent has. */
struct pr_domain {
    const char *name; /* the device trees' */
    uint64_t address;
    uint8_t parent; /* index in the board's list; PR_DOMAIN_NONE: it has none */
    uint8_t powers; /* a bit per enum pr_powered, without what its children power */
};

struct pr_board {
    const char *name;
    struct pr_window reg[PR_APERTURE_COUNT]; /* the device tree's list */
    uint32_t first_index;                    /* of the aperture ANE in it */
    uint32_t hal_index[PR_APERTURE_HALS];
    uint64_t container, container_bytes; /* the engine's aperture */
    uint64_t dart[PR_DART_COUNT];        /* 16 KiB each */
    uint64_t dapf;          /* the fourth window of 16 KiB (seeds ch. 28); what is in it is not public */
    enum pr_leaf_form form; /* page-table entries of Linux's DART driver on it (lnx) */
    uint64_t pmu;           /* power-state registers: the first PR_PMU_DOMAINS of the list below */
    const struct pr_domain *domain;
    uint32_t domains; /* PR_DOMAINS_MAX at most */
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
/* The name of a domain's parent; "" when it has none. */
const char *pr_board_parent(const struct pr_board *board, uint32_t domain);

/* The time base that the controller's registers and the engine's events count in. */
#define PR_TIMEBASE_HZ 24000000u
static inline uint64_t pr_timebase_ticks(uint64_t ns)
{
    return ns * (PR_TIMEBASE_HZ / 1000000) / 1000;
}

/*
 * The fields of a power-state word, the same for every domain (lnx: the power manager's driver). What lnx
 * does not say is chosen: see soc/pmu.c. X(id, name, lowest bit, width, meaning)
 */
#define PR_PS_FIELDS(X)                                                                                      \
    X(TARGET, "TARGET", 0, 4, "the state asked for: 0xf on, 0x4 clock gated, 0 off")                         \
    X(ACTUAL, "ACTUAL", 4, 4, "the state it has; read only, 0 while the parent is off")                      \
    X(WAS_OFF, "WAS_PWRGATED", 8, 1, "it was off; written 1 clears")                                         \
    X(WAS_GATED, "WAS_CLKGATED", 9, 1, "its clock was gated, or it was off; written 1 clears")               \
    X(DISABLE, "DEV_DISABLE", 10, 1, "set before a reset and cleared after it; no effect of its own")        \
    X(PARENT_OFF, "PARENT_OFF", 11, 1, "the parent is off; read only")                                       \
    X(MINIMUM, "PS_MIN", 16, 4, "the lowest state that AUTO_ENABLE may take; kept, no effect")               \
    X(AUTO_STATE, "PS_AUTO", 24, 4, "the state that AUTO_ENABLE takes; kept, no effect")                     \
    X(AUTO, "AUTO_ENABLE", 28, 1, "the power manager may lower the state of an idle block; kept, no effect") \
    X(RESET, "RESET", 31, 1, "0 to 1 resets what the domain powers, which reads 0 while it is 1")

enum pr_ps_mask {
#define X(id, name, lo, width, meaning) PR_PS_##id = (int)(((1u << (width)) - 1) << (lo)),
    PR_PS_FIELDS(X)
#undef X
};

/* Values of TARGET and ACTUAL. */
#define PR_PS_ON    0xfu
#define PR_PS_GATED 0x4u
#define PR_PS_OFF   0x0u

/*
 * The engine's own words: seven, 8 bytes apart (engine facts 2.1, guide facts 7.1). Whole values that drivers
 * write and wait for.
 */
#define PR_PMU_DOMAINS 7u
#define PR_PMU_STRIDE  8u
#define PR_PMU_ON      PR_PS_ON
#define PR_PMU_OFF     0x300u /* off, and both flags cleared */
#define PR_PMU_READY   0xffu  /* the low byte of a domain that is on */

#endif
