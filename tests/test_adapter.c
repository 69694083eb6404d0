/* SPDX-License-Identifier: Apache-2.0 */
/* Adapters of one large base: each has its weights, and holds only the pages that its files touch. */
#include "support.h"

#include <inttypes.h>

#include "driver/state.h"
#include "machine/internal.h"
#include "modelrig.h"
#include "rtkernel/fault.h"

#define ADAPTERS 8u
/* 5,120 x 2,048 halves: 20 MiB; an adapter changes 60 rows, 240 KiB. */
#define ROWS    5120u
#define COLUMNS 2048u
#define CHANGED 60u

static struct modelrig rig;
static uint64_t base, adapter[ADAPTERS];

static uint64_t used(void)
{
    return ane_machine_counter(rig.machine, "dram.used");
}

static void check_all(void)
{
    modelrig_check(&rig, base, MODELRIG_BASE);
    for (unsigned i = 0; i < ADAPTERS; i++)
        modelrig_check(&rig, adapter[i], i + 1);
}

static int open_models(void **state)
{
    (void)state;
    modelrig_open(&rig, (struct ane_machine_config){.threads = 1}, ROWS, COLUMNS, CHANGED);
    base = modelrig_base(&rig);
    return 0;
}

static int close_models(void **state)
{
    (void)state;
    modelrig_close(&rig);
    return 0;
}

/* The pages of its files; a page each for container and working set; page tables, 32 MiB each, twice. */
static uint64_t adapter_limit(void)
{
    const uint64_t tables = 2 * (ADAPTERS * modelrig_weight_bytes(&rig) / (32u << 20) + 2);
    uint64_t pages = tables;

    for (unsigned i = 0; i < ADAPTERS; i++)
        pages += modelrig_adapter_pages(&rig, i + 1) + 2;
    return pages * PR_PAGE_BYTES;
}

static void memory_grows_by_the_adapters(void **state)
{
    struct ane_machine_client before, now;
    uint64_t first, own = 0;

    (void)state;
    assert_true(modelrig_weight_bytes(&rig) >= 20u << 20);
    modelrig_check(&rig, base, MODELRIG_BASE);
    assert_int_equal(ane_machine_clients(rig.machine, &before, 1), 1);
    first = used();
    for (unsigned i = 0; i < ADAPTERS; i++) {
        adapter[i] = modelrig_adapter(&rig, base, i + 1, 0);
        own += modelrig_adapter_pages(&rig, i + 1) + 2;
    }
    print_message("# adapters %u, each of %" PRIu64 " bytes: %" PRIu64 " bytes of DRAM\n", ADAPTERS,
                  modelrig_weight_bytes(&rig), used() - first);
    assert_true(used() - first <= adapter_limit());
    assert_int_equal(ane_machine_clients(rig.machine, &now, 1), 1);
    assert_int_equal(now.bytes - before.bytes, own * PR_PAGE_BYTES);
    assert_int_equal(now.programs, 1 + ADAPTERS);
    check_all();
    /* Any order; those that are left, and the base, keep their weights. */
    for (unsigned i = 0; i < ADAPTERS; i++) {
        const unsigned at = i * 3 % ADAPTERS;

        assert_int_equal(iorig_destroy(&rig.client, base), kIOReturnBusy);
        assert_int_equal(iorig_destroy(&rig.client, adapter[at]), kIOReturnSuccess);
        if (i + 1 < ADAPTERS)
            modelrig_check(&rig, adapter[(i + 1) * 3 % ADAPTERS], (i + 1) * 3 % ADAPTERS + 1);
    }
    modelrig_check(&rig, base, MODELRIG_BASE);
    assert_int_equal(used(), first);
    assert_int_equal(iorig_destroy(&rig.client, base), kIOReturnSuccess);
    assert_true(used() < first - modelrig_weight_bytes(&rig));
}

static void adapters_survive_restarts(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ADAPTERS; i++)
        adapter[i] = modelrig_adapter(&rig, base, i + 1, 0);
    check_all();
    assert_int_equal(ane_machine_sleep(rig.machine), 0);
    check_all();
    mach_cpu_inject(rig.machine, RT_FAULT_SYNC, "made up");
    assert_true(modelrig_run(&rig, adapter[3]) == kIOReturnSuccess ||
                ane_machine_counter(rig.machine, "driver.crashes") == 1);
    check_all();
    assert_int_equal(ane_machine_counter(rig.machine, "driver.recoveries"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(memory_grows_by_the_adapters, open_models, close_models),
        cmocka_unit_test_setup_teardown(adapters_survive_restarts, open_models, close_models),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
