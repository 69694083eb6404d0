/* SPDX-License-Identifier: Apache-2.0 */
/* Instances that ask for power saving: the device sleeps when all are idle, and the next call wakes it. */
#include "support.h"

#include "modelrig.h"

#include <anemone/catalogue.h>

#define SAVING     ANE_INSTANCE_POWER_SAVING
#define AGGRESSIVE (ANE_INSTANCE_POWER_SAVING | ANE_INSTANCE_AGGRESSIVE_POWER_SAVING)

static struct modelrig rig;
static uint64_t base;

static int open_models(void **state)
{
    (void)state;
    modelrig_open(&rig, (struct ane_machine_config){.threads = 1}, 64, 64, 4);
    base = modelrig_base(&rig);
    return 0;
}

static int close_models(void **state)
{
    (void)state;
    modelrig_close(&rig);
    return 0;
}

/* A pass with a limit that unwires nothing; whether the device sleeps. */
static bool sleeps_after(uint32_t passes)
{
    struct ane_machine_residency now = {.size = sizeof(now)};

    assert_int_equal(ane_machine_reclaim(rig.machine, UINT64_MAX, passes, &now), 0);
    assert_int_equal(now.sleeps, ane_machine_counter(rig.machine, "driver.saving_sleeps"));
    return now.asleep;
}

static void sleeps_when_unused(void **state)
{
    const uint64_t saving = modelrig_adapter(&rig, base, MODELRIG_BASE, SAVING);

    (void)state;
    assert_false(sleeps_after(2)); /* used since the last pass */
    assert_false(sleeps_after(2)); /* for one */
    assert_true(sleeps_after(2));  /* for two */
    assert_true(sleeps_after(2));  /* and stays so: the pass does not wake it */
    assert_int_equal(ane_machine_counter(rig.machine, "driver.saving_sleeps"), 1);
    modelrig_check(&rig, saving, MODELRIG_BASE);
    assert_false(sleeps_after(1)); /* awake, used since the last pass */
    assert_true(sleeps_after(1));
    modelrig_check(&rig, base, MODELRIG_BASE); /* a use of the base counts */
    assert_false(sleeps_after(1));
    assert_true(sleeps_after(1));
    assert_int_equal(ane_machine_counter(rig.machine, "driver.saving_sleeps"), 3);
    assert_int_equal(iorig_destroy(&rig.client, saving), kIOReturnSuccess); /* a call: awake */
    for (unsigned i = 0; i < 4; i++)
        assert_false(sleeps_after(0)); /* no instance asks */
}

static void the_aggressive_form_does_not_wait(void **state)
{
    const uint64_t aggressive = modelrig_adapter(&rig, base, 1, AGGRESSIVE);

    (void)state;
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(sleeps_after(5), i == 5); /* the base was prepared so long ago */
    modelrig_check(&rig, aggressive, 1);
    assert_false(sleeps_after(5)); /* used since the last pass */
    assert_true(sleeps_after(5));
    modelrig_check(&rig, aggressive, 1);
}

/* What does not ask keeps the device awake, and so do a persistent client and a program without instances. */
static void one_that_does_not_ask(void **state)
{
    const uint64_t saving = modelrig_adapter(&rig, base, MODELRIG_BASE, SAVING),
                   plain = modelrig_adapter(&rig, base, 1, 0);
    struct iorig_client direct;
    uint64_t other;

    (void)state;
    for (unsigned i = 0; i < 3; i++)
        assert_false(sleeps_after(0));
    assert_int_equal(iorig_destroy(&rig.client, plain), kIOReturnSuccess);
    assert_true(sleeps_after(0));
    assert_int_equal(iorig_open(ane_machine_service(rig.machine), 0, ANE_CLIENT_DIRECT_PATH, &direct),
                     kIOReturnSuccess);
    assert_int_equal(ane_catalogue_call(direct.connect, ANE_CATALOGUE_AddPersistentClient, NULL, 0, NULL, 0,
                                        NULL, NULL, NULL, NULL),
                     kIOReturnSuccess);
    assert_false(sleeps_after(0));
    IOServiceClose(direct.connect);
    assert_true(sleeps_after(0));
    other = modelrig_base(&rig);
    assert_false(sleeps_after(0));
    assert_int_equal(iorig_destroy(&rig.client, other), kIOReturnSuccess);
    assert_true(sleeps_after(0));
    modelrig_check(&rig, saving, MODELRIG_BASE);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, open_models, close_models)
    const struct CMUnitTest tests[] = {
        CASE(sleeps_when_unused),
        CASE(the_aggressive_form_does_not_wait),
        CASE(one_that_does_not_ask),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
