/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts that the printer holds against what runs: names of task states, families
 * of commands, addresses that follow from others.
 */
#include <string.h>

#include "protocol/board.h"
#include "protocol/commands.h"
#include "protocol/controller.h"
#include "protocol/device.h"
#include "protocol/message.h"
#include "tool/spec/facts.h"
#include "protocol/rebase.h"
#include "protocol/tm_regs.h"
#include "protocol/usage.h"
#include "rtkernel/rt_limits.h"
#include "rtkernel/task.h"
#include "support.h"

static void task_states(void **state)
{
    static const char *const names[] = {
#define X(name, meaning) #name,
        FACT_TASK_STATES(X)
#undef X
    };

    (void)state;
    assert_int_equal(sizeof(names) / sizeof(names[0]), RT_TASK_STATES);
    for (unsigned i = 0; i < RT_TASK_STATES; i++)
        assert_string_equal(rt_task_state_name((enum rt_task_state)i), names[i]);
}

static void addresses_and_numbers(void **state)
{
    const struct pr_board *board = &pr_board_table[PR_CHIP_T6000];

    (void)state;
    assert_int_equal(RT_PRIORITY_LEVELS, PR_PRIORITIES);
    assert_int_equal(PR_BOOT_REFUSED & 0xffff, 0);
    assert_int_equal(board->pmu, FACT_PERF_BASE);
    assert_int_equal(board->revision, PR_DEVICE_VERSION << 8 | PR_DEVICE_MINOR_VERSION);
    assert_int_equal(pr_rebase_register(board->container, 0, 0), 0x285c25020);
#define X(id, code, direction, class, words, role) \
    assert_int_equal((code) >= PR_USAGE_FIRMWARE_FLAG, !strcmp(words, "firmware class"));
    PR_USAGES(X)
#undef X
}

/* Families of the seeds' table against the rows of commands.def. */
static void families(void **state)
{
    static const struct {
        const char *name;
        uint32_t low, high, count;
    } rows[] = {
#define X(tag, low, high, count, subsystem) {#tag, low, high, count},
        FACT_FAMILIES(X)
#undef X
    };
    uint32_t sum = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint32_t members = 0;

        for (unsigned j = 0; j < PR_WIRE_COUNT; j++)
            if (!strcmp(pr_wire_table[j].family, rows[i].name)) {
                members++;
                assert_true(pr_wire_table[j].id >= rows[i].low && pr_wire_table[j].id <= rows[i].high);
            }
        assert_int_equal(members, rows[i].count);
        sum += members;
    }
    assert_int_equal(sum, PR_WIRE_COUNT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(task_states),
        cmocka_unit_test(addresses_and_numbers),
        cmocka_unit_test(families),
    };

    return cmocka_run_group_tests_name("facts", tests, NULL, NULL);
}
