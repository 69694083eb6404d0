/* SPDX-License-Identifier: Apache-2.0 */
/* The residency map: programs spread over engines by resident bytes, and a program that is not in the map. */
#include "drvrig.h"

#include "driver/state.h"

static struct drvrig rig;

static void one_engine_takes_everything(void **state)
{
    struct drv_residency program[3];
    struct drv_balancer balancer;

    (void)state;
    drv_balancer_init(&balancer, 1);
    for (unsigned i = 0; i < 3; i++) {
        drv_balancer_place(&balancer, &program[i], 100u << i);
        assert_int_equal(program[i].engine, 0);
    }
    assert_int_equal(balancer.resident[0].programs, 3);
    assert_int_equal(balancer.resident[0].bytes, 700);
}

static void two_engines_share_by_bytes(void **state)
{
    /* Fewest resident bytes, then the lowest number: by hand from the sizes. */
    static const struct {
        uint64_t bytes;
        uint32_t engine;
    } rows[] = {{100, 0}, {30, 1}, {40, 1}, {50, 1}, {10, 0}, {10, 0}, {0, 0}, {1, 0}, {5, 1}};
    struct drv_residency program[sizeof(rows) / sizeof(rows[0])];
    struct drv_balancer balancer;

    (void)state;
    drv_balancer_init(&balancer, 2);
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        drv_balancer_place(&balancer, &program[i], rows[i].bytes);
        if (program[i].engine != rows[i].engine)
            fail_msg("program %u went to engine %u", i, program[i].engine);
    }
    assert_int_equal(balancer.resident[0].bytes, 121);
    assert_int_equal(balancer.resident[1].bytes, 125);
    /* The first leaves, from the end of the map; a second removal changes nothing. */
    drv_balancer_remove(&balancer, &program[0]);
    drv_balancer_remove(&balancer, &program[0]);
    assert_int_equal(balancer.resident[0].bytes, 21);
    assert_int_equal(balancer.resident[0].programs, 4);
    drv_balancer_place(&balancer, &program[0], 7);
    assert_int_equal(program[0].engine, 0);
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        drv_balancer_remove(&balancer, &program[i]);
    assert_null(balancer.map);
    assert_int_equal(balancer.resident[0].bytes + balancer.resident[1].bytes, 0);
    assert_int_equal(balancer.resident[0].programs + balancer.resident[1].programs, 0);
}

/* A client finds programs through the map: one that the balancer has dropped cannot be used. */
static void a_program_outside_the_map_is_not_found(void **state)
{
    struct ane_program_prepare prepare;
    struct drv_client *client;
    uint64_t token;

    (void)state;
    drvrig_make(&rig, true);
    client = drvrig_client(&rig, ANE_CLIENT_CONTROL);
    token = drvrig_program(&rig, client, 2, 0, 0);
    assert_ptr_equal(rig.driver->balancer.map, &rig.driver->programs->residency);
    drv_balancer_remove(&rig.driver->balancer, &rig.driver->programs->residency);
    assert_int_equal(drvrig_prepare(client, token, &prepare), kIOReturnNotFound);
    drv_balancer_place(&rig.driver->balancer, &rig.driver->programs->residency, 1);
    assert_int_equal(drvrig_prepare(client, token, &prepare), kIOReturnSuccess);
    drv_client_close(client);
    assert_null(rig.driver->balancer.map);
    drvrig_drop(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_engine_takes_everything),
        cmocka_unit_test(two_engines_share_by_bytes),
        cmocka_unit_test(a_program_outside_the_map_is_not_found),
    };

    return cmocka_run_group_tests_name("balancer", tests, NULL, NULL);
}
