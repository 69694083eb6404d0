/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the engine keeps between dispatches must not outlive what it was made of: a descriptor's bytes, its
 * BARs, the page table behind them.
 */
#include "support.h"

#include "bare.h"
#include "programs.h"

#define WIDTH   64u
#define NUMBERS (WIDTH * 2)
#define MANY    100u

struct subject {
    struct ane_machine *machine;
    struct bare bare;
    struct bare_buffer src, dst, other;
    struct bare_request request;
};

static struct bare_request load_relu(struct subject *s, uint32_t width)
{
    struct test_program program;
    struct bare_request request;

    test_assemble(&program, "%s", test_text_relu);
    td_set_shape(program.bytes, &(struct td_shape){1, 1, 1, width});
    request = bare_load(&s->bare, program.bytes, program.size, 0, program.first_words, program.count, 0);
    request.bar[4] = s->dst.iova;
    request.bar[5] = s->src.iova;
    return request;
}

static void fill(struct subject *s, double value)
{
    uint16_t number[NUMBERS];

    for (unsigned i = 0; i < NUMBERS; i++)
        number[i] = test_half_from_double(value + i);
    bare_put(&s->bare, s->src.iova, number, sizeof(number));
}

static int make(void **state)
{
    static struct subject subject;
    const struct ane_machine_config config = {.size = sizeof(config)};
    struct subject *s = &subject;

    assert_int_equal(ane_machine_create(&config, &s->machine), 0);
    bare_start(&s->bare, s->machine, 2000);
    s->src = bare_buffer(&s->bare, BARE_PAGE);
    s->dst = bare_buffer(&s->bare, BARE_PAGE);
    s->other = bare_buffer(&s->bare, BARE_PAGE);
    s->request = load_relu(s, WIDTH);
    fill(s, 1);
    *state = s;
    return 0;
}

static int destroy(void **state)
{
    struct subject *s = *state;

    ane_machine_destroy(s->machine);
    return 0;
}

static double result_at(struct subject *s, uint32_t iova, unsigned element)
{
    uint16_t half;

    bare_get(&s->bare, iova + 2 * element, &half, 2);
    return test_half_to_double(half);
}

static void run(struct subject *s, double value)
{
    fill(s, value);
    assert_true(bare_run(&s->bare, &s->request));
}

static uint64_t reused(struct subject *s)
{
    return ane_machine_counter(s->machine, "engine.reused");
}

/* The form of the first run is used again, until a byte of the descriptor changes. */
static void changed_bytes_are_decoded(void **state)
{
    struct subject *s = *state;
    struct test_program wide;

    run(s, 1);
    run(s, 2);
    assert_int_equal(reused(s), 1);
    assert_float_equal(result_at(s, s->dst.iova, WIDTH - 1), WIDTH + 1, 0);
    assert_float_equal(result_at(s, s->dst.iova, WIDTH), 0, 0);

    test_assemble(&wide, "%s", test_text_relu);
    td_set_shape(wide.bytes, &(struct td_shape){1, 1, 1, NUMBERS});
    bare_put(&s->bare, s->request.first, wide.bytes, 4 * wide.first_words);
    run(s, 3);
    assert_int_equal(reused(s), 1);
    assert_float_equal(result_at(s, s->dst.iova, NUMBERS - 1), NUMBERS + 2, 0);
}

static void changed_bars_are_granted(void **state)
{
    struct subject *s = *state;

    run(s, 1);
    s->request.bar[4] = s->other.iova;
    run(s, 5);
    assert_float_equal(result_at(s, s->dst.iova, 0), 1, 0);
    assert_float_equal(result_at(s, s->other.iova, 0), 5, 0);
    s->request.bar[4] = s->dst.iova;
    run(s, 7);
    assert_float_equal(result_at(s, s->dst.iova, 0), 7, 0);
    assert_float_equal(result_at(s, s->other.iova, 0), 5, 0);
}

/* An entry stays until it is invalidated, and no longer. */
static void remapped_pages_are_granted(void **state)
{
    struct subject *s = *state;
    uint64_t page = bare_physical(&s->bare, s->dst.iova), other = bare_physical(&s->bare, s->other.iova);

    run(s, 1);
    bare_map(&s->bare, s->dst.iova, other);
    run(s, 5);
    assert_float_equal(result_at(s, s->other.iova, 0), 0, 0);
    bare_invalidate(&s->bare);
    run(s, 9);
    assert_float_equal(result_at(s, s->other.iova, 0), 9, 0);
    bare_map(&s->bare, s->dst.iova, page);
    bare_invalidate(&s->bare);
    assert_float_equal(result_at(s, s->dst.iova, 0), 5, 0);
}

static void unmapped_pages_are_refused(void **state)
{
    struct subject *s = *state;

    run(s, 1);
    run(s, 2);
    bare_map(&s->bare, s->dst.iova, 0);
    bare_invalidate(&s->bare);
    bare_push(&s->bare, &s->request);
    assert_int_equal(ane_machine_run(s->machine, 1000000), ANE_RUN_STUCK);
    assert_int_equal(ane_machine_counter(s->machine, "engine.faulted"), 1);
}

/* A result that shares its page with the source is staged, also when the ranges were granted before. */
static void overlap_is_judged_again(void **state)
{
    struct subject *s = *state;

    run(s, 1);
    run(s, 1);
    s->request.bar[4] = s->src.iova + 2 * WIDTH / 2;
    run(s, 3);
    for (unsigned i = 0; i < WIDTH; i++)
        assert_float_equal(result_at(s, s->src.iova, WIDTH / 2 + i), 3.0 + i, 0);
}

/* Forms of many descriptors do not displace each other. */
static void many_forms_are_kept(void **state)
{
    struct subject *s = *state;
    struct bare_request request[MANY];
    uint64_t before;

    for (unsigned i = 0; i < MANY; i++) {
        request[i] = load_relu(s, 1 + i % WIDTH);
        assert_true(bare_run(&s->bare, &request[i]));
    }
    before = reused(s);
    for (unsigned i = 0; i < MANY; i++)
        assert_true(bare_run(&s->bare, &request[i]));
    assert_int_equal(reused(s), before + MANY);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, make, destroy)
    const struct CMUnitTest tests[] = {
        CASE(changed_bytes_are_decoded),  CASE(changed_bars_are_granted), CASE(remapped_pages_are_granted),
        CASE(unmapped_pages_are_refused), CASE(overlap_is_judged_again),  CASE(many_forms_are_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
