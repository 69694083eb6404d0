/* SPDX-License-Identifier: Apache-2.0 */
/* The boards, one row each; a value that no source states is named as chosen in the row's source. */
#include "protocol/board.h"

#include "protocol/controller.h"
#include "protocol/device.h"
#include "protocol/text.h"

#include <string.h>

/*
 * Container, power states and DART are the board's; what else is in the list is chosen: the seeds name these
 * apertures, no public source places them. PWGATE is the power slice below the states (guide facts 7.1), PTD
 * the first DART, ANEHAL1 to 3 the registers of descriptors, of the task manager with its queues, and of the
 * time base.
 */
#define REG_LIST(container, pmu, dart)                    \
    .reg = {{container, 0x2000000},                       \
            {pmu, 0x4000},                                \
            {(pmu)-0xc000, 0xc000},                       \
            {dart, PR_PAGE_BYTES},                        \
            {(container) + PR_ENGINE_REGS, 0x24000},      \
            {(container) + PR_ENGINE_TM, 0x4000},         \
            {(container) + PR_CTRL_TIMEBASE_LO, 0x4000}}, \
    .first_index = 0, .hal_index = {4, 5, 6}
_Static_assert(PR_ENGINE_TM + 0x4000 == PR_ENGINE_REGS_END, "task manager and queues are one window");

/*
 * Names, addresses and parents are those of the device trees: afr, ane_sys and ane_sys_cpu lnx, the others
 * dts. The engine's own words come first, in the order of their addresses. On t8103 the first of them is
 * ane_sys_cpu; on t6000 that domain has a word elsewhere, and the first is ane_set0. On t6000 no device tree
 * gives ane_set5 to the engine, because it lies behind the end of Apple's list (dts); here it powers what
 * the others power (chosen). Which domain powers which DART is from dts. The engine needs all of its words
 * (chosen: the trees attach it to the sets, which need the rest).
 */
enum { FIRST, BASE, SYS = PR_PMU_DOMAINS, SYS_CPU, FABRIC };
#define ENGINE       PR_POWERED_BIT(PR_POWERED_ENGINE)
#define DART(n)      PR_POWERED_BIT(PR_POWERED_DART0 + (n))
#define WORD(pmu, n) ((pmu) + (n) * (uint64_t)PR_PMU_STRIDE)
#define SET(pmu, n)  [BASE + (n)] = {"ane_set" #n, WORD(pmu, BASE + (n)), BASE, ENGINE}
#define SETS(pmu)    SET(pmu, 1), SET(pmu, 2), SET(pmu, 3), SET(pmu, 4), SET(pmu, 5)

#define T6000_PMU 0x28e08c000
static const struct pr_domain t6000_domain[] = {
    [FIRST] = {"ane_set0", WORD(T6000_PMU, FIRST), SYS_CPU, ENGINE},
    [BASE] = {"ane_base", WORD(T6000_PMU, BASE), FIRST, ENGINE},
    SETS(T6000_PMU),
    [SYS] = {"ane_sys", 0x28e080268, FABRIC, DART(0)},
    [SYS_CPU] = {"ane_sys_cpu", 0x28e0802c8, SYS, ENGINE | DART(1) | DART(2)},
    [FABRIC] = {"afr", 0x28e0801e8, PR_DOMAIN_NONE, 0},
};

#define T8103_PMU 0x23b70c000
static const struct pr_domain t8103_domain[] = {
    [FIRST] = {"ane_sys_cpu", WORD(T8103_PMU, FIRST), SYS, ENGINE},
    [BASE] = {"ane_base", WORD(T8103_PMU, BASE), FIRST, ENGINE},
    SETS(T8103_PMU),
    [SYS] = {"ane_sys", 0x23b700470, PR_DOMAIN_NONE, DART(0) | DART(1) | DART(2)},
};

#define DOMAINS(list) .domain = list, .domains = sizeof(list) / sizeof((list)[0])
_Static_assert(sizeof(t6000_domain) <= PR_DOMAINS_MAX * sizeof(struct pr_domain) &&
                   sizeof(t8103_domain) <= PR_DOMAINS_MAX * sizeof(struct pr_domain),
               "no board has more");

const struct pr_board pr_board_table[PR_CHIP_COUNT] = {
    [PR_CHIP_T6000] =
        {
            .name = "t6000",
            REG_LIST(0x284000000, T6000_PMU, 0x285800000),
            .container = 0x284000000,
            .container_bytes = 0x2000000,
            .dart = {0x285800000, 0x285810000, 0x285820000},
            .dapf = 0x285804000,
            .form = PR_LEAF_T6000,
            .pmu = T6000_PMU,
            DOMAINS(t6000_domain),
            .dram = 0x10000000000,
            .interrupt = 0x302,
            .dart_interrupt = 0x303,
            .revision = PR_DEVICE_VERSION << 8 | PR_DEVICE_MINOR_VERSION,
            .source = "seeds ch. 27-29 (revision: Table 27.9), engine facts 2.1, guide facts 7.1; "
                      "the DARTs' interrupt and power domains: dts, lnx",
        },
    [PR_CHIP_T8103] =
        {
            .name = "t8103",
            REG_LIST(0x26a000000, T8103_PMU, 0x26b800000),
            .container = 0x26a000000,
            .container_bytes = 0x2000000,
            .dart = {0x26b800000, 0x26b810000, 0x26b820000},
            .dapf = 0x26b804000,
            .form = PR_LEAF_T8020,
            .pmu = T8103_PMU,
            DOMAINS(t8103_domain),
            .dram = 0x800000000,
            .interrupt = 0x1a0,
            .dart_interrupt = 0x1a1,
            .revision = PR_DEVICE_VERSION << 8 | PR_DEVICE_MINOR_VERSION,
            .source = "engine facts 2.1; DRAM base from the firmware address in command facts 6; "
                      "interrupts and power domains: dts, lnx; revision chosen",
        },
};

const struct pr_board *pr_board_find(const char *name)
{
    for (unsigned i = 0; i < PR_CHIP_COUNT; i++)
        if (pr_string_equal(pr_board_table[i].name, name))
            return &pr_board_table[i];
    return NULL;
}

const char *pr_board_parent(const struct pr_board *board, uint32_t domain)
{
    const uint8_t parent = board->domain[domain].parent;

    return parent == PR_DOMAIN_NONE ? "" : board->domain[parent].name;
}
