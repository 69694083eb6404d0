/* SPDX-License-Identifier: Apache-2.0 */
/* The boards, one row each; a value that no source states is named as chosen in the row's source. */
#include "protocol/board.h"

#include "protocol/device.h"
#include "protocol/text.h"

#include <string.h>

const struct pr_board pr_board_table[PR_CHIP_COUNT] = {
    [PR_CHIP_T6000] =
        {
            .name = "t6000",
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
