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

const struct pr_board pr_board_table[PR_CHIP_COUNT] = {
    [PR_CHIP_T6000] =
        {
            .name = "t6000",
            REG_LIST(0x284000000, 0x28e08c000, 0x285800000),
            .container = 0x284000000,
            .container_bytes = 0x2000000,
            .dart = {0x285800000, 0x285810000, 0x285820000},
            .dapf = 0x285804000,
            .pmu = 0x28e08c000,
            .dram = 0x10000000000,
            .interrupt = 0x302,
            .dart_interrupt = 0x303,
            .revision = PR_DEVICE_VERSION << 8 | PR_DEVICE_MINOR_VERSION,
            .source = "seeds ch. 27-29 (revision: Table 27.9), engine facts 2.1, guide facts 7.1; "
                      "the DARTs' interrupt: lnx",
        },
    [PR_CHIP_T8103] =
        {
            .name = "t8103",
            REG_LIST(0x26a000000, 0x23b70c000, 0x26b800000),
            .container = 0x26a000000,
            .container_bytes = 0x2000000,
            .dart = {0x26b800000, 0x26b810000, 0x26b820000},
            .dapf = 0x26b804000,
            .pmu = 0x23b70c000,
            .dram = 0x800000000,
            .interrupt = 0x1a0,
            .dart_interrupt = 0x1a1,
            .revision = PR_DEVICE_VERSION << 8 | PR_DEVICE_MINOR_VERSION,
            .source = "engine facts 2.1; DRAM base from the firmware address in command facts 6; "
                      "interrupts: lnx; revision chosen",
        },
};

const struct pr_board *pr_board_find(const char *name)
{
    for (unsigned i = 0; i < PR_CHIP_COUNT; i++)
        if (pr_string_equal(pr_board_table[i].name, name))
            return &pr_board_table[i];
    return NULL;
}
