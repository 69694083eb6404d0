/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of the seeds that rooms keep for themselves (the include matrix leaves them no other way) against
 * the tables of protocol.
 */
#include <string.h>

#include "driver/device.h"
#include "driver/state.h"
#include "firmware/state.h"
#include "protocol/board.h"
#include "protocol/commands.h"
#include "protocol/controller.h"
#include "protocol/message.h"
#include "protocol/seed_driver.h"
#include "protocol/seed_tables.h"
#include "protocol/tm_regs.h"
#include "rtkernel/rt_limits.h"
#include "rtkernel/task.h"
#include "support.h"

static void task_states(void **state)
{
    static const char *const names[] = {
#define X(name, meaning) #name,
        PR_TASK_STATES(X)
#undef X
    };

    (void)state;
    assert_int_equal(sizeof(names) / sizeof(names[0]), RT_TASK_STATES);
    for (unsigned i = 0; i < RT_TASK_STATES; i++)
        assert_string_equal(rt_task_state_name((enum rt_task_state)i), names[i]);
}

static void apertures(void **state)
{
    static const char *const names[] = {
#define X(name, role) name,
        PR_APERTURES(X)
#undef X
    };

    (void)state;
    assert_int_equal(sizeof(names) / sizeof(names[0]), DRV_APERTURES);
    for (unsigned i = 0; i < DRV_APERTURES; i++)
        assert_string_equal(drv_device_aperture_name(i), names[i]);
}

struct usage {
    uint32_t code, class;
};

/* The driver writes the firmware's class as read-write: a leaf has no other form. */
static void usage_codes(void **state)
{
    static const struct usage ours[] = {
#define X(code, class, printed, role) {code, class},
        PR_USAGES(X)
#undef X
    };
    static const struct usage drivers[] = {
#define X(id, code, class, role) {code, class},
        DRV_USAGES(X)
#undef X
    };

    (void)state;
    assert_int_equal(sizeof(ours), sizeof(drivers));
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
        assert_int_equal(ours[i].code, drivers[i].code);
        if (ours[i].class)
            assert_int_equal(ours[i].class, drivers[i].class);
        assert_int_equal(!ours[i].class, ours[i].code >= PR_USAGE_FIRMWARE_FLAG);
    }
}

static void execution_states(void **state)
{
    static const int numbers[] = {
#define X(name, number, meaning) number,
        PR_EXECUTION_STATES(X)
#undef X
    };

    (void)state;
    assert_int_equal(numbers[0], FW_EXELOOP_INIT);
    assert_int_equal(numbers[1], FW_EXELOOP_RUN);
    assert_int_equal(numbers[2], FW_EXELOOP_EXEC);
}

static void firmware_numbers(void **state)
{
    (void)state;
    assert_int_equal(FW_DEADLINE_NS, PR_DEADLINE_MS * 1000000ull);
    assert_int_equal(FW_TARGETS, PR_DOORBELL_TARGETS);
    assert_int_equal(RT_PRIORITY_LEVELS, PR_PRIORITIES);
    assert_int_equal(PR_BOOT_REFUSED & 0xffff, 0);
    assert_int_equal(pr_board_table[PR_CHIP_T6000].pmu, PR_PERF_BASE);
    assert_int_equal(pr_board_table[PR_CHIP_T6000].revision,
                     PR_DEVICE_VERSION << 8 | PR_DEVICE_MINOR_VERSION);
    assert_int_equal(pr_board_table[PR_CHIP_T6000].container + PR_ENGINE_TQ + PR_TQ_BAR1, PR_REBASE_BAR_BASE);
    assert_int_equal(DRV_DEFAULT_TIMEOUT_MS, PR_DEVICE_INFO_TIMEOUT);
}

/* Families of the seeds' table against the rows of commands.def. */
static void families(void **state)
{
    static const struct {
        const char *name;
        uint32_t low, high, count;
    } rows[] = {
#define X(tag, low, high, count, subsystem) {#tag, low, high, count},
        PR_FAMILIES(X)
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
        cmocka_unit_test(task_states),      cmocka_unit_test(apertures),        cmocka_unit_test(usage_codes),
        cmocka_unit_test(execution_states), cmocka_unit_test(firmware_numbers), cmocka_unit_test(families),
    };

    return cmocka_run_group_tests_name("seed_tables", tests, NULL, NULL);
}
