/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the registers of a task queue say before and after an abort: of a queue that is stuck, of one that
 * runs, and of one whose aborts do not get through.
 */
#include "support.h"

#include "bare.h"
#include "machine/internal.h"
#include "programs.h"

#define TM_ABORT          0x10
#define TM_STATUS         0x54
#define TQ_VACANCY_STATUS 0x0c
#define TQ_VACANT         0x14
#define TQ_INFO           0x1c
#define QUEUE             3u
#define NETWORK           0x40u

/* Drops the next stores to ABORT. */
struct deaf {
    struct soc_bus_tap tap;
    uint64_t address;
    unsigned drops;
};

static bool see(void *context, struct soc_access *access)
{
    struct deaf *d = context;

    if (!access->write || access->address != d->address || !d->drops)
        return true;
    d->drops--;
    return false;
}

struct subject {
    struct ane_machine *machine;
    struct bare bare;
    struct bare_request request;
};

/* A program that runs, or one whose descriptor is refused, which leaves the queue stuck. */
static void make(struct subject *s, bool stuck)
{
    struct ane_machine_config config = {.size = sizeof(config)};
    struct test_program program;
    struct bare_buffer buffer;

    assert_int_equal(ane_machine_create(&config, &s->machine), 0);
    bare_start(&s->bare, s->machine, 4000);
    buffer = bare_buffer(&s->bare, 64);
    test_assemble(&program, "%s", test_text_relu);
    td_set_shape(program.bytes, &(struct td_shape){1, 1, 1, 8});
    if (stuck)
        td_set(program.bytes, 0x28, 0xf4012340); /* a record of no known register */
    s->request =
        bare_load(&s->bare, program.bytes, program.size, 0, program.first_words, program.count, QUEUE);
    s->request.bar[4] = s->request.bar[5] = buffer.iova;
}

/* How many requests the queue holds, by each register that says so. */
static void expect_held(struct subject *s, unsigned requests)
{
    assert_int_equal(bare_tq(&s->bare, QUEUE, TQ_VACANT), 2 - requests);
    assert_int_equal(bare_tq(&s->bare, QUEUE, TQ_VACANCY_STATUS), 2 - requests);
    assert_int_equal(bare_tq(&s->bare, QUEUE, TQ_INFO), requests ? NETWORK : 0);
    assert_int_equal(bare_tm(&s->bare, TM_STATUS) & 1, !requests);
}

static void an_abort_shows_in_the_registers(void **state)
{
    (void)state;
    for (unsigned stuck = 0; stuck < 2; stuck++) {
        struct subject s;

        make(&s, stuck);
        expect_held(&s, 0);
        bare_push(&s.bare, &s.request);
        bare_push(&s.bare, &s.request);
        expect_held(&s, 2);
        bare_tm_write(&s.bare, TM_ABORT, 1u << (QUEUE + 1)); /* another queue's */
        expect_held(&s, 2);
        bare_tm_write(&s.bare, TM_ABORT, 1u << QUEUE);
        expect_held(&s, 0);
        assert_int_equal(ane_machine_run(s.machine, 1000000), 0);
        assert_int_equal(ane_machine_counter(s.machine, "engine.requests"), 0);
        assert_int_equal(ane_machine_counter(s.machine, "engine.stuck"), stuck);
        ane_machine_destroy(s.machine);
    }
}

static void an_abort_that_does_not_clear_shows_too(void **state)
{
    struct deaf deaf = {.tap = {.see = see, .context = &deaf}, .drops = 3};
    struct subject s;

    (void)state;
    make(&s, true);
    deaf.address = s.bare.map.task_manager + TM_ABORT;
    soc_bus_tap_add(s.machine->bus, &deaf.tap);
    bare_push(&s.bare, &s.request);
    for (unsigned i = 0; i < 3; i++) {
        bare_tm_write(&s.bare, TM_ABORT, 1u << QUEUE);
        assert_int_equal(ane_machine_run(s.machine, 1000000), ANE_RUN_STUCK);
        expect_held(&s, 1);
    }
    bare_tm_write(&s.bare, TM_ABORT, 1u << QUEUE);
    expect_held(&s, 0);
    soc_bus_tap_remove(s.machine->bus, &deaf.tap);
    ane_machine_destroy(s.machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_abort_shows_in_the_registers),
        cmocka_unit_test(an_abort_that_does_not_clear_shows_too),
    };

    return cmocka_run_group_tests_name("abort", tests, NULL, NULL);
}
