/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a driver author can do to the controller from outside, by register accesses and bytes in DRAM alone.
 * The controller may stop or fail; the process and the machine go on, and another boot works.
 */
#include "support.h"

#include "bootrig.h"
#include "protocol/board.h"
#include "protocol/tm_regs.h"

static struct ane_machine *make(uint32_t chip, struct bootrig *rig)
{
    struct ane_machine_config config = {.size = sizeof(config), .firmware = 1, .chip = chip};
    struct ane_machine *machine;

    assert_int_equal(ane_machine_create(&config, &machine), 0);
    bootrig_make(rig, machine);
    return machine;
}

static void boots_well(struct bootrig *rig)
{
    assert_true(bootrig_boot(rig));
    assert_true(bootrig_answers(rig));
    assert_int_equal(bootrig_read(rig, PR_CTRL_CPU_STATUS), PR_CPU_STATUS_RUNNING);
}

static void it_boots_from_outside(void **state)
{
    (void)state;
    for (uint32_t chip = 0; chip < 2; chip++) {
        struct bootrig rig;
        struct ane_machine *machine = make(chip, &rig);

        boots_well(&rig);
        boots_well(&rig);
        ane_machine_destroy(machine);
    }
}

/* The status of a second target of that register and value, behind the host's own. */
static int bind_second(struct bootrig *rig, uint64_t address, uint32_t bits)
{
    const struct pr_body_endpoint2 targets = {
        .endpoint = 1,
        .targets = 2,
        .target = {{.reg = bootrig_register(rig, PR_CTRL_HOST_DOORBELL), .bits = 0x40},
                   {.reg = address, .bits = bits}}};

    return bootrig_command(rig, PR_CMD_IPC_ENDPOINT_SET2, &targets, sizeof(targets));
}

static void expect_no_doorbell(struct bootrig *rig, uint64_t address)
{
    assert_int_equal(bind_second(rig, address, 1), PR_STATUS_BAD_ARGUMENT);
    assert_true(bootrig_answers(rig));
    assert_int_equal(bootrig_read(rig, PR_CTRL_CPU_STATUS), PR_CPU_STATUS_RUNNING);
}

/* The store that should ring the host would clear the run bit: the address is not a doorbell's. */
static void a_store_to_cpu_control_is_refused(void **state)
{
    struct bootrig rig;
    struct ane_machine *machine = make(ANE_CHIP_T6000, &rig);

    (void)state;
    boots_well(&rig);
    for (unsigned i = 0; i < 3; i++)
        expect_no_doorbell(&rig, bootrig_register(&rig, PR_CTRL_CPU_CONTROL));
    ane_machine_destroy(machine);
}

static void a_store_to_a_power_state_is_refused(void **state)
{
    struct bootrig rig;
    struct ane_machine *machine = make(ANE_CHIP_T8103, &rig);

    (void)state;
    boots_well(&rig);
    for (unsigned domain = 0; domain < PR_PMU_DOMAINS; domain++)
        expect_no_doorbell(&rig, rig.bare.map.pmu + domain * PR_PMU_STRIDE);
    ane_machine_destroy(machine);
}

/* The machine can be destroyed while a stopped controller has never been started again. */
static void a_machine_ends_with_a_stopped_controller(void **state)
{
    struct bootrig rig;
    struct ane_machine *machine = make(ANE_CHIP_T6000, &rig);

    (void)state;
    boots_well(&rig);
    bootrig_write(&rig, PR_CTRL_CPU_CONTROL, 0);
    assert_false(bootrig_answers(&rig));
    ane_machine_destroy(machine);
}

/* A store to any other register is never made: the endpoint is not bound to it. */
static void a_doorbell_is_one_of_two_registers(void **state)
{
    static const uint32_t registers[] = {
#define X(id, name, offset, source) offset,
        PR_CONTROLLER_REGISTERS(X)
#undef X
                PR_ENGINE_TM +
            PR_TM_REQ_PUSH,
        PR_ENGINE_TM + PR_TM_ABORT, PR_ENGINE_TM + PR_TM_TQ_EN, PR_ENGINE_TQ};
    struct bootrig rig;
    struct ane_machine *machine = make(ANE_CHIP_T6000, &rig);
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 17);
    boots_well(&rig);
    for (unsigned i = 0; i < 200; i++) {
        uint64_t address = rig.bare.map.container + (uint64_t)test_rng_range(&rng, 0, 0x7fffff) * 4;

        if (i < sizeof(registers) / sizeof(registers[0]))
            address = bootrig_register(&rig, registers[i]);
        else if (i % 2)
            address = rig.bare.map.dart[i % 3] + (uint64_t)test_rng_range(&rng, 0, 0xfff) * 4;
        assert_int_equal(bind_second(&rig, address, 1 + (uint32_t)test_rng_range(&rng, 0, 0xffff)),
                         address == bootrig_register(&rig, PR_CTRL_HOST_DOORBELL) ? PR_STATUS_OK
                                                                                  : PR_STATUS_BAD_ARGUMENT);
    }
    assert_int_equal(bind_second(&rig, PR_GPU_DOORBELL, 1), PR_STATUS_OK);
    assert_int_equal(bind_second(&rig, PR_GPU_DOORBELL, 2), PR_STATUS_BAD_ARGUMENT);
    boots_well(&rig);
    ane_machine_destroy(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_boots_from_outside),
        cmocka_unit_test(a_store_to_cpu_control_is_refused),
        cmocka_unit_test(a_store_to_a_power_state_is_refused),
        cmocka_unit_test(a_machine_ends_with_a_stopped_controller),
        cmocka_unit_test(a_doorbell_is_one_of_two_registers),
    };

    return cmocka_run_group_tests_name("controller", tests, NULL, NULL);
}
