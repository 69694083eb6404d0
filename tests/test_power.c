/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clock gates of the engine's partitions, by stores of the controller to the power-state words: the state is
 * kept, no descriptor starts, and what was pushed runs when the clock is back.
 */
#include "support.h"

#include "bare.h"
#include "machine/internal.h"
#include "programs.h"

#define STRIDE 8u
#define ON     0xfu
#define OFF    0x300u

struct subject {
    struct ane_machine *machine;
    struct bare bare;
    struct bare_request request;
    struct bare_buffer buffer;
};

static void make(struct subject *s)
{
    struct ane_machine_config config = {.size = sizeof(config), .trace = 1};
    struct test_program program;

    assert_int_equal(ane_machine_create(&config, &s->machine), 0);
    bare_start(&s->bare, s->machine, 4000);
    test_assemble(&program, "%s", test_text_relu);
    td_set_shape(program.bytes, &(struct td_shape){1, 1, 1, 8});
    s->request = bare_load(&s->bare, program.bytes, program.size, 0, program.first_words, program.count, 4);
    s->buffer = bare_buffer(&s->bare, 64);
    s->request.bar[4] = s->request.bar[5] = s->buffer.iova;
}

static void store(struct subject *s, enum soc_master master, unsigned domain, uint32_t value)
{
    soc_bus_write32(s->machine->bus, master, s->machine->board->pmu + domain * STRIDE, value);
}

static uint64_t requests(struct subject *s)
{
    return ane_machine_counter(s->machine, "engine.requests");
}

static bool idle(struct subject *s)
{
    return ane_machine_read32(s->machine, s->machine->board->container + 0x1c24054) & 1;
}

static void a_gated_island_holds_what_is_pushed(void **state)
{
    struct subject s;

    (void)state;
    make(&s);
    assert_true(bare_run(&s.bare, &s.request));
    for (unsigned domain = 1; domain < PR_PMU_DOMAINS; domain++) {
        uint32_t info = 0;

        store(&s, SOC_MASTER_CONTROLLER, domain, OFF);
        bare_push(&s.bare, &s.request); /* registers answer and have kept their values */
        assert_int_equal(ane_machine_run(s.machine, 1000000), ANE_RUN_STUCK);
        assert_false(idle(&s));
        assert_int_equal(requests(&s), domain);
        assert_int_equal(ane_machine_counter(s.machine, "engine.gated"), domain);
        store(&s, SOC_MASTER_CONTROLLER, domain, ON);
        assert_int_equal(ane_machine_run(s.machine, 1000000), 0);
        assert_true(idle(&s));
        assert_int_equal(requests(&s), domain + 1);
        assert_int_equal(bare_finish(&s.bare, &s.request, &info), 1);
    }
    ane_machine_destroy(s.machine);
}

/* A descriptor in the datapath ends; the next request waits. */
static void a_gate_stops_at_a_descriptor(void **state)
{
    struct subject s;

    (void)state;
    make(&s);
    bare_push(&s.bare, &s.request);
    bare_push(&s.bare, &s.request);
    store(&s, SOC_MASTER_CONTROLLER, 2, OFF);
    assert_int_equal(ane_machine_run(s.machine, 1000000), ANE_RUN_STUCK);
    assert_int_equal(requests(&s), 1);
    store(&s, SOC_MASTER_CONTROLLER, 2, ON);
    assert_int_equal(ane_machine_run(s.machine, 1000000), 0);
    assert_int_equal(requests(&s), 2);
    ane_machine_destroy(s.machine);
}

/* The host's store takes the power: what was held is gone, and nothing runs when the power is back. */
static void the_host_takes_the_power_of_a_gated_island(void **state)
{
    struct subject s;

    (void)state;
    make(&s);
    store(&s, SOC_MASTER_CONTROLLER, 3, OFF);
    bare_push(&s.bare, &s.request);
    store(&s, SOC_MASTER_HOST, 3, OFF);
    assert_int_equal(ane_machine_run(s.machine, 1000000), 0);
    store(&s, SOC_MASTER_HOST, 3, ON);
    assert_int_equal(ane_machine_run(s.machine, 1000000), 0);
    assert_true(idle(&s));
    assert_int_equal(requests(&s), 0);
    ane_machine_destroy(s.machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gated_island_holds_what_is_pushed),
        cmocka_unit_test(a_gate_stops_at_a_descriptor),
        cmocka_unit_test(the_host_takes_the_power_of_a_gated_island),
    };

    return cmocka_run_group_tests_name("power", tests, NULL, NULL);
}
