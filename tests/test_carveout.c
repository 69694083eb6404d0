/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DRAM that belongs to somebody else: runs of the driver and of the firmware are not freed by a caller of machine.h, and damage to the
 * firmware's carve-out is a fault of the modelled controller and not of the process.
 */
#include "support.h"

#include <errno.h>
#include <string.h>

#include "iorig.h"
#include "machine/internal.h"

static struct ane_machine *make(void)
{
    struct ane_machine_config config = {.size = sizeof(config), .firmware = 1};
    struct ane_machine *machine;

    assert_int_equal(ane_machine_create(&config, &machine), 0);
    return machine;
}

/* Every page of DRAM that is in use, from the first to the last that the machine has taken. */
static void runs_of_others_cannot_be_freed(void **state)
{
    struct ane_machine *machine = make();
    struct ane_machine_map map = {.size = sizeof(map)};
    struct io_accumulator a;
    uint64_t used, mine;
    unsigned refused = 0;

    (void)state;
    assert_int_equal(ane_machine_map(machine, &map), 0);
    io_accumulator_make(&a, ane_machine_service(machine), 2, 33);
    assert_int_equal(ane_machine_dram_alloc(machine, 3 * PR_PAGE_BYTES, &mine), 0);
    used = ane_machine_counter(machine, "dram.used");
    for (uint64_t offset = 0; offset < map.dram_bytes / 16; offset += PR_PAGE_BYTES) {
        if (map.dram + offset == mine)
            continue;
        assert_int_equal(ane_machine_dram_free(machine, map.dram + offset), -EINVAL);
        refused += strstr(ane_machine_error(), "belongs to") != NULL;
    }
    assert_true(refused > 10); /* the carve-out, page tables, surfaces of the firmware, the program */
    assert_int_equal(ane_machine_dram_free(machine, map.dram), -EINVAL);
    assert_non_null(strstr(ane_machine_error(), "belongs to the firmware"));
    assert_int_equal(ane_machine_counter(machine, "dram.used"), used);
    assert_int_equal(io_accumulator_step(&a), kIOReturnSuccess);
    assert_true(io_accumulator_value(&a) == 1);
    used = ane_machine_counter(machine, "dram.used"); /* the request has mapped its surfaces */
    assert_int_equal(ane_machine_dram_free(machine, mine), 0);
    assert_int_equal(ane_machine_counter(machine, "dram.used"), used - 3 * PR_PAGE_BYTES);
    assert_int_equal(ane_machine_dram_free(machine, mine), -EINVAL);
    io_accumulator_release(&a);
    ane_machine_destroy(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_of_others_cannot_be_freed),
    };

    return cmocka_run_group_tests_name("carveout", tests, NULL, NULL);
}
