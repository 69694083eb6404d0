/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loops of the planar engine that softmax and norms are made of, in every instruction set: planes of all
 * widths around that of a vector against the reference, bands against the formula. All palettes, and rows of
 * negative elements or zeros alone.
 */
#include "engine/pe.h"
#include "tensors.h"

#include "engine/compute.h"

enum { CHANNELS = 20, ELEMENTS = CHANNELS * 3 * 140, STORE = ENG_RULE_NAN_IS_ZERO | ENG_RULE_NO_MINUS_ZERO };

static struct eng_pe_constants constants_of(enum pr_pe_op op, enum pr_pe_reduce reduce, bool two)
{
    struct eng_pe_constants k = {.op = op,
                                 .reduce = reduce,
                                 .two = two,
                                 .pre = 1,
                                 .sign2 = 1,
                                 .scale = 1,
                                 .bias = -0.0f,
                                 .final = 1,
                                 .epsilon = -0.0f,
                                 .store = STORE};

    k.load[0] = k.load[1] = (struct eng_load){.rules = ENG_RULES_FINITE, .scale = 1};
    return k;
}

static void fill(struct test_rng *rng, uint16_t *x, size_t n)
{
    uint32_t what = pick(rng, 0, PALETTES + 1);

    for (size_t i = 0; i < n; i++) {
        x[i] = random_half(rng, what < PALETTES ? (enum palette)what : SMALL);
        if (what == PALETTES) /* below 0 alone */
            x[i] |= 0x8000;
        if (what > PALETTES)
            x[i] &= 0x8000;
    }
}

static float loaded(uint16_t half)
{
    return eng_load_value(half, ENG_RULES_FINITE);
}

/* `b` has one element for a plane, at its first column. */
static uint16_t reduced(const struct eng_planes *p, uint32_t c, const struct eng_pe_constants *k)
{
    float lanes[ENG_LANES];

    eng_pe_reduce_begin(lanes, k);
    for (uint32_t h = 0; h < p->rows; h++) {
        for (uint32_t w = 0; w < p->columns; w++) {
            uint16_t a, b;

            memcpy(&a, p->at[0] + c * p->channel[0] + h * p->row[0] + 2 * w, 2);
            memcpy(&b, p->at[1] + c * p->channel[1], 2);
            lanes[w % ENG_LANES] = eng_pe_reduce_element(lanes[w % ENG_LANES], loaded(a), loaded(b), k);
        }
    }
    return eng_store_value(eng_pe_reduce_end(lanes, k), k->store);
}

static void check_planes(const struct eng_planes *p, const struct eng_pe_constants *k, uint64_t round)
{
    float y[CHANNELS];

    for (unsigned isa = ENG_ISA_PORTABLE; isa <= ENG_ISA_AVX512; isa++) {
        eng_isa_limit((enum eng_isa)isa);
        eng_kernels_get()->pe_planes(p, y, k);
        for (uint32_t c = 0; c < p->channels; c++)
            if (eng_store_value(y[c], k->store) != reduced(p, c, k))
                fail_msg("round %ju, isa %u, reduction %u of %u x %u, channel %u: %04x, not %04x",
                         (uintmax_t)round, isa, k->reduce, p->rows, p->columns, c,
                         eng_store_value(y[c], k->store), reduced(p, c, k));
    }
    eng_isa_limit(ENG_ISA_AVX512);
}

static void planes(void **state)
{
    static uint16_t x[ELEMENTS], b[CHANNELS];
    struct test_rng rng;

    (void)state;
    for (uint64_t round = 0; round < 3000; round++) {
        struct eng_pe_constants k = constants_of(PR_PE_ADD, PR_PE_REDUCE_MAX, false);
        struct eng_planes p = {.at = {(uint8_t *)x, (uint8_t *)b}, .channel[1] = 2, .depths = 1};

        test_rng_init(&rng, 100 + round);
        if (round % 3 == 1)
            k = constants_of(PR_PE_ADD, PR_PE_REDUCE_SUM, false);
        if (round % 3 == 2) {
            k = constants_of(PR_PE_SQUARE_OF_SUM, PR_PE_REDUCE_SUM, true);
            k.pre = test_rng_bool(&rng) ? -1 : 1;
            k.sign2 = test_rng_bool(&rng) ? -1 : 1;
        }
        p.columns = pick(&rng, 1, 130);
        p.rows = pick(&rng, 1, 3);
        p.channels = pick(&rng, 1, CHANNELS);
        p.column[0] = 2;
        p.row[0] = 2 * (p.columns + pick(&rng, 0, 5));
        p.channel[0] = p.rows * p.row[0];
        fill(&rng, x, ELEMENTS);
        fill(&rng, b, CHANNELS);
        check_planes(&p, &k, round);
    }
}

/* Rows that are long enough to be read one after the other. */
static void long_rows(void **state)
{
    static uint16_t x[7 * 1100], b[7];
    struct eng_pe_constants k = constants_of(PR_PE_ADD, PR_PE_REDUCE_SUM, false);
    struct test_rng rng;

    (void)state;
    for (uint32_t columns = 1020; columns < 1045; columns++) {
        struct eng_planes p = {.at = {(uint8_t *)x, (uint8_t *)b},
                               .column[0] = 2,
                               .channel = {2200, 2},
                               .columns = columns,
                               .rows = 1,
                               .depths = 1,
                               .channels = 7};

        test_rng_init(&rng, columns);
        fill(&rng, x, sizeof(x) / sizeof(x[0]));
        check_planes(&p, &k, columns);
    }
}

static uint16_t element(const struct eng_pe_constants *k, uint16_t a, uint16_t b, uint16_t c)
{
    float v = loaded(a), w = k->sign2 * loaded(b);

    v = k->op == PR_PE_MUL ? v * w : v + w;
    v = k->op == PR_PE_AFFINE ? v * loaded(c) : v;
    v = k->scale * v;
    return eng_store_value(k->relu ? eng_relu(v) : v, k->store);
}

/* Rows, in place or not; whole vectors may go around the caches. */
struct band_form {
    size_t n, rows, tail;
    bool one, in_place, stream;
};

static void check_band(const struct eng_pe_constants *k, const uint16_t *x, const uint16_t *b,
                       struct band_form f, uint64_t round)
{
    static _Alignas(64) uint16_t y[ELEMENTS];
    size_t n = f.n, rows = f.rows, tail = f.tail, line = f.stream ? 32 : 1;
    size_t step = (n + tail + line) / line * line, b_step = f.one ? 2 : step;

    for (unsigned isa = ENG_ISA_PORTABLE; isa <= ENG_ISA_AVX512; isa++) {
        struct eng_band band = {.in = {{(const uint8_t *)x, 2 * step, false},
                                       {(const uint8_t *)b, 2 * b_step, f.one},
                                       {(const uint8_t *)(b + 1), 2 * b_step, f.one}},
                                .out = (uint8_t *)y,
                                .out_row = 2 * step,
                                .n = n,
                                .rows = rows,
                                .tail = 2 * tail,
                                .stream = f.stream};

        eng_isa_limit((enum eng_isa)isa);
        memset(y, 0x55, sizeof(y));
        if (f.in_place) {
            memcpy(y, x, sizeof(y));
            band.in[0].at = (const uint8_t *)y;
        }
        eng_kernels_get()->pe_band(&band, k);
        for (size_t i = 0; i < rows * step; i++) {
            size_t row = i / step, column = i % step, at = row * b_step + (f.one ? 0 : column);
            uint16_t expected = column < n          ? element(k, x[i], b[at], b[at + 1])
                                : column < n + tail ? 0
                                : f.in_place        ? x[i]
                                                    : 0x5555;

            if (y[i] != expected)
                fail_msg("round %ju, isa %u, op %u, column %zu of %zu: %04x, not %04x", (uintmax_t)round, isa,
                         k->op, column, n, y[i], expected);
        }
    }
    eng_isa_limit(ENG_ISA_AVX512);
}

static void bands(void **state)
{
    static const enum pr_pe_op op[] = {PR_PE_ADD, PR_PE_MUL, PR_PE_AFFINE};
    static uint16_t x[ELEMENTS], b[ELEMENTS + 1];
    struct test_rng rng;

    (void)state;
    for (uint64_t round = 0; round < 1000; round++) {
        struct eng_pe_constants k = constants_of(op[round % 3], PR_PE_REDUCE_NONE, true);
        struct band_form f = {.in_place = round % 4 == 1, .stream = round % 4 > 1};

        test_rng_init(&rng, 5000 + round);
        f.one = test_rng_bool(&rng);
        k.sign2 = test_rng_bool(&rng) ? -1 : 1;
        k.scale = test_rng_bool(&rng) ? 1 : loaded(random_half(&rng, SMALL));
        k.relu = pick(&rng, 0, 3) == 0;
        fill(&rng, x, ELEMENTS);
        fill(&rng, b, ELEMENTS + 1);
        f.n = pick(&rng, 2, 100);
        f.rows = pick(&rng, 1, 10);
        f.tail = pick(&rng, 0, 40);
        check_band(&k, x, b, f, round);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planes),
        cmocka_unit_test(long_rows),
        cmocka_unit_test(bands),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
