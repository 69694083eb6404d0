/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Activation tables over rows of fp16 values, as a bypass has them: every instruction set against the
 * reference, for every fp16 value and for rows and tails of all lengths around that of a vector.
 */
#include "engine/table.h"
#include "tensors.h"

#include "engine/finish.h"
#include "protocol/problem.h"
#include "table_facts.h"

enum { ALL = 0x10000, ROW = 160, MARK = 0x5555 };

static void finish_of(struct eng_finish *finish, const struct eng_table *table, bool m1)
{
    *finish = (struct eng_finish){.unscale = 1, .bias = -0.0f, .acc_bias = -0.0f, .post_scale = 1};
    finish->table = table;
    finish->enter = m1 ? ENG_RULE_NAN_IS_ZERO : 0;
    finish->store = m1 ? ENG_RULE_NAN_IS_ZERO | ENG_RULE_NO_MINUS_ZERO : 0;
}

static uint16_t expected_of(const struct eng_finish *finish, const struct eng_load *load, uint16_t x)
{
    float value = eng_load_value(x, load->rules);

    value = load->relu ? eng_relu(value) : value;
    return eng_store_value(eng_finish_value(finish, value, finish->bias), finish->store);
}

/* Rows of n elements and `tail` zeros of x, the first ones of all; in place or not. */
static void check_rows(const struct eng_finish *finish, const struct eng_load *load, const uint16_t *x,
                       size_t rows, size_t n, size_t tail, bool in_place, const char *name)
{
    static _Alignas(64) uint16_t y[ALL + 2 * ROW];
    static uint16_t kept[ALL + 2 * ROW];
    size_t step = n + tail + 1;

    for (unsigned isa = ENG_ISA_PORTABLE; isa <= ENG_ISA_AVX512; isa++) {
        struct eng_band band = {.in = {{.at = (const uint8_t *)x, .row = 2 * step}},
                                .out = (uint8_t *)y,
                                .out_row = 2 * step,
                                .n = n,
                                .rows = rows,
                                .tail = 2 * tail,
                                .stream = step % 32 == 0 || rows == 1};

        eng_isa_limit((enum eng_isa)isa);
        memcpy(kept, x, 2 * rows * step);
        for (size_t i = 0; i < rows * step; i++)
            y[i] = in_place ? x[i] : MARK;
        if (in_place)
            band.in[0].at = (const uint8_t *)y;
        eng_kernels_get()->finish_band(&band, load, finish);
        for (size_t i = 0; i < rows * step; i++) {
            size_t column = i % step;
            uint16_t expected = column < n          ? expected_of(finish, load, kept[i])
                                : column < n + tail ? 0
                                : in_place          ? kept[i]
                                                    : MARK;

            if (y[i] != expected)
                fail_msg("%s of %04x, isa %u, column %zu of %zu, tail %zu, rules %x: %04x, not %04x", name,
                         kept[i], isa, column, n, tail, finish->store, y[i], expected);
        }
    }
    eng_isa_limit(ENG_ISA_AVX512);
}

static struct eng_load load_of(bool m1)
{
    return (struct eng_load){.rules = m1 ? ENG_RULE_NAN_IS_INFINITY : 0, .scale = 1};
}

static void table_of(const struct table_fact *fact, struct eng_table *table)
{
    uint16_t halfs[PR_TABLE_VALUES] = {0};
    struct pr_problem problem;

    memcpy(halfs, fact->clamp, sizeof(fact->clamp));
    memcpy(halfs + 4, fact->knot, sizeof(fact->knot));
    memcpy(halfs + 37, fact->tail, sizeof(fact->tail));
    halfs[41] = fact->exponent;
    halfs[42] = fact->code;
    assert_true(eng_table_read(table, halfs, &problem));
}

/* In the order of their bits, so that most vectors have neighbours alone. */
static void every_value(void **state)
{
    static uint16_t x[ALL + 2 * ROW];

    (void)state;
    for (uint32_t i = 0; i < ALL; i++)
        x[i] = (uint16_t)i;
    for (unsigned t = 0; t < TABLE_FACTS; t++) {
        for (unsigned m1 = 0; m1 < 2; m1++) {
            struct eng_load load = load_of(m1);
            struct eng_finish finish;
            struct eng_table table;

            table_of(&table_facts[t], &table);
            finish_of(&finish, &table, m1);
            check_rows(&finish, &load, x, 1, ALL, 0, false, table_facts[t].name);
        }
    }
}

/* Mostly small numbers, where a table has its knots. */
static uint16_t row_half(struct test_rng *rng)
{
    return pick(rng, 0, 49) == 0 ? random_half(rng, ANY) : random_half(rng, SMALL);
}

static void every_length(void **state)
{
    static uint16_t x[ALL + 2 * ROW];
    struct test_rng rng;

    (void)state;
    for (size_t n = 1; n <= 70; n++) {
        const struct table_fact *fact = &table_facts[n % TABLE_FACTS];
        struct eng_load load = load_of(true);
        struct eng_finish finish;
        struct eng_table table;

        test_rng_init(&rng, 3000 + n);
        table_of(fact, &table);
        finish_of(&finish, &table, true);
        load.relu = pick(&rng, 0, 3) == 0;
        load.rules |= pick(&rng, 0, 3) == 0 ? ENG_RULE_SLICE : 0;
        for (size_t i = 0; i < ALL; i++)
            x[i] = row_half(&rng);
        check_rows(&finish, &load, x, pick(&rng, 1, 40), n, pick(&rng, 0, 40), n & 1, fact->name);
    }
}

/* Rules alone; rows are at whole lines, where vectors may go around the caches. */
static void copies(void **state)
{
    static uint16_t x[ALL + 2 * ROW];
    struct test_rng rng;

    (void)state;
    for (size_t n = 2; n <= 200; n++) {
        struct eng_load load = load_of(n % 3);
        struct eng_finish finish;

        test_rng_init(&rng, 6000 + n);
        finish_of(&finish, NULL, n % 3);
        finish.relu = pick(&rng, 0, 3) == 0;
        for (size_t i = 0; i < ALL; i++)
            x[i] = random_half(&rng, ANY);
        check_rows(&finish, &load, x, pick(&rng, 1, 40), n, 31 - n % 32, n & 1, "a copy");
    }
}

/* Knots of -0, below 0, infinite or NaN; clamps in the wrong order and inside the knots. */
static void any_table(void **state)
{
    static const uint16_t code[][2] = {{0x01, 1}, {0x01, 0xfffd}, {0x01, 9}, {0x02, 2}, {0x60, 3}, {0x0a, 5}};
    static uint16_t x[ALL + 2 * ROW];
    struct test_rng rng;

    (void)state;
    for (uint32_t i = 0; i < ALL; i++)
        x[i] = (uint16_t)i;
    for (uint64_t round = 0; round < 120; round++) {
        uint16_t halfs[PR_TABLE_VALUES] = {0};
        struct eng_load load = load_of(true);
        struct pr_problem problem;
        struct eng_finish finish;
        struct eng_table table;

        test_rng_init(&rng, 4000 + round);
        for (unsigned i = 0; i < 41; i++)
            halfs[i] = random_half(&rng, i < 4 && round & 1 ? ANY : SMALL);
        for (unsigned i = 0; i < 3; i++)
            halfs[4 + pick(&rng, 0, 32)] = round % 3 ? 0 : (uint16_t)(pick(&rng, 0, 1) ? 0x8000 : 0xfc00);
        if (round % 4 == 0) {
            halfs[0] = 0xf800; /* hardly a clamp */
            halfs[1] = 0x7800;
        }
        if (code[round % 6][0] == 0x60) {
            halfs[0] = halfs[2] = 0;
            halfs[4] = round & 8 ? 0 : halfs[4];
        }
        halfs[41] = code[round % 6][1];
        halfs[42] = code[round % 6][0];
        assert_true(eng_table_read(&table, halfs, &problem));
        finish_of(&finish, &table, true);
        check_rows(&finish, &load, x, 1, ALL, 0, false, "a table of anything");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value),
        cmocka_unit_test(every_length),
        cmocka_unit_test(any_table),
        cmocka_unit_test(copies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
