/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of the driver's clients: what each has, and what it has used. */
#include "support.h"

#include <errno.h>

#include "iorig.h"

#define ROOM 8u

static struct ane_machine *machine;

static int open_machine(void **state)
{
    (void)state;
    machine = iorig_machine((struct ane_machine_config){.threads = 1});
    return 0;
}

static int close_machine(void **state)
{
    (void)state;
    ane_machine_destroy(machine);
    return 0;
}

static void figures_follow_requests(void **state)
{
    struct ane_machine_client before[ROOM], now[ROOM];
    struct ane_machine_profile sums;
    struct iorig_accumulator a, b;

    (void)state;
    assert_int_equal(ane_machine_clients(machine, before, ROOM), 0);
    iorig_accumulator_make(&a, ane_machine_service(machine), 4, 64);
    iorig_accumulator_make(&b, ane_machine_service(machine), 64, 512);
    assert_int_equal(ane_machine_clients(machine, before, ROOM), 2);
    assert_true(before[0].number < before[1].number && before[0].task == 0);
    assert_true(before[0].type == ANE_CLIENT_CONTROL && before[0].programs == 1);
    assert_true(before[0].completed == 0 && before[0].engine_ns == 0 && before[0].in_flight == 0);
    assert_true(before[0].queue_depth == 24);
    assert_int_equal(ane_machine_profile(machine, 1, NULL), 0);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(iorig_accumulator_step(&a), kIOReturnSuccess);
    assert_int_equal(ane_machine_profile(machine, 0, &sums), 0);
    assert_int_equal(ane_machine_clients(machine, now, ROOM), 2);
    assert_true(now[0].completed == 5 && now[1].completed == 0 && now[1].engine_ns == 0);
    /* From the push to its interrupt, and at most until the firmware has answered it. */
    assert_true(now[0].engine_ns >= sums.virtual_ns[2]);
    assert_true(now[0].engine_ns <= sums.virtual_ns[2] + sums.virtual_ns[3]);
    assert_true(now[0].bytes > before[0].bytes && now[1].bytes == before[1].bytes);
    assert_int_equal(iorig_accumulator_step(&b), kIOReturnSuccess);
    assert_int_equal(ane_machine_clients(machine, now, ROOM), 2);
    /* 128 times the elements: more time in one request than the small one has had in five. */
    assert_true(now[1].completed == 1 && now[1].engine_ns > now[0].engine_ns);
    iorig_accumulator_release(&a);
    assert_int_equal(ane_machine_clients(machine, before, 1), 1);
    assert_int_equal(before[0].number, now[1].number);
    iorig_accumulator_release(&b);
    assert_int_equal(ane_machine_clients(machine, NULL, 0), 0);
}

static void wrong_arguments(void **state)
{
    struct ane_machine_config config = {.size = sizeof(config)};
    struct ane_machine_client one;
    struct ane_machine *bare;

    (void)state;
    assert_int_equal(ane_machine_clients(machine, NULL, 1), -EINVAL);
    assert_int_equal(ane_machine_clients(NULL, &one, 1), -EPERM);
    assert_int_equal(ane_machine_create(&config, &bare), 0);
    assert_int_equal(ane_machine_clients(bare, &one, 1), -ENODEV);
    ane_machine_destroy(bare);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(figures_follow_requests, open_machine, close_machine),
        cmocka_unit_test_setup_teardown(wrong_arguments, open_machine, close_machine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
