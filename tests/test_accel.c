/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of generations B and C, in one process: results, what hangs, what faults, and that the next
 * request is right again.
 */
#include "accelrig.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "tdpatch.h"

static void adds(void **state)
{
    static const uint32_t chips[] = {ANE_CHIP_T8103, ANE_CHIP_T6000};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        const struct ane_machine_config config = {.size = sizeof(config), .chip = chips[i], .strict_tlb = 1};
        struct accelrig rig;
        struct accelrig_sum sum;

        accelrig_start(&rig, &config);
        accelrig_sum_make(&rig, &sum);
        for (unsigned seed = 0; seed < 10; seed++)
            accelrig_sum_check(&rig, &sum, seed);
        assert_int_equal(rig.reports, 0);
        assert_int_equal(ane_machine_counter(acc_device_machine(rig.device), "dart.missing_invalidates"), 0);
        assert_int_equal(ane_machine_counter(acc_device_machine(rig.device), "bus.unanswered"), 0);
        accelrig_sum_end(&rig, &sum);
        accelrig_stop(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
