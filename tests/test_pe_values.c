/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The planar engine: values worked out by hand, and the chains of tasks that a layer norm and a softmax are,
 * against the same in double.
 */
#include "engine/pe.h"
#include "tensors.h"

enum { ONE = 0x3c00 };

static uint32_t fp32_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static void operands_of(const struct pr_task *task, void *a, void *b, void *y, struct eng_operands *operands)
{
    memset(operands, 0, sizeof(*operands));
    eng_view_of_host(&operands->src[0], &task->src[0], a);
    if (task->pe.two_sources)
        eng_view_of_host(&operands->src[1], &task->src[1], b);
    eng_view_of_host(&operands->dst, &task->dst, y);
}

/* One element through a task of two sources; both policies, all ways. */
static void check_edge(struct pr_pe pe, uint16_t a, uint16_t b, uint16_t m1, uint16_t ieee)
{
    struct pr_task task = {.unit = PR_UNIT_PE, .pe = pe};
    struct pr_tensor one = {.home = PR_HOME_DRAM, .extent = {1, 1, 1, 1, 1}, .stride = {2, 2, 2, 2, 2}};
    struct eng_operands operands;
    uint16_t y;
    struct way way;

    task.src[0] = task.src[1] = task.dst = one;
    operands_of(&task, &a, &b, &y, &operands);
    for (unsigned policy = 0; policy < ENG_POLICIES; policy++) {
        for (unsigned i = 0; way_get(i, &way); i++) {
            struct eng_compute compute = {
                .policy = (enum eng_policy)policy, .path = way.path, .pool = way_begin(&way)};

            y = 0x1234;
            eng_pe_run(&compute, &task, &operands);
            if (y != (policy == ENG_IEEE ? ieee : m1))
                fail_msg("op %d of %04x and %04x, policy %u path %d isa %d: %04x", pe.op, a, b, policy,
                         way.path, way.isa, y);
        }
    }
}

static void edges(void **state)
{
    struct pr_pe pe = {.two_sources = true, .scale = ONE, .pre_scale = ONE, .final_scale = 0x3f800000};
    struct pr_pe copy = {.scale = ONE, .pre_scale = ONE, .final_scale = 0x3f800000};

    (void)state;
    pe.op = PR_PE_ADD;
    check_edge(pe, 0x7bff, 0x7bff, 0x7c00, 0x7c00); /* 65504 + 65504 = inf, as on the device */
    check_edge(pe, 0x7c00, 0xfc00, 0x0000, 0x7e00); /* inf - inf */
    check_edge(pe, 0x7e00, 0x3c00, 0x7c00, 0x7e00); /* NaN reads as +inf */
    check_edge(pe, 0x7e00, 0xfc00, 0x0000, 0x7e00);
    check_edge(pe, 0x8000, 0x8000, 0x0000, 0x8000);
    check_edge(pe, 0x0001, 0x0001, 0x0002, 0x0002); /* denormals are kept */
    check_edge(pe, 0x77ff, 0x4c00, 0x7800, 0x7800); /* 32752 + 16: no ceiling here */
    check_edge(pe, 0x6800, 0x3c00, 0x6800, 0x6800); /* 2048 + 1 ties to even */
    check_edge(pe, 0x6800, 0x4200, 0x6802, 0x6802); /* 2048 + 3 too */
    pe.op = PR_PE_MUL;
    check_edge(pe, 0x0000, 0xfc00, 0x0000, 0x7e00); /* 0 * -inf is zero on the device */
    check_edge(pe, 0xbc00, 0x0000, 0x0000, 0x8000);
    check_edge(pe, 0x0001, 0x3800, 0x0000, 0x0000); /* half of the smallest ties to even */
    check_edge(pe, 0x0003, 0x3800, 0x0002, 0x0002);
    check_edge(pe, 0x5c00, 0x5c00, 0x7c00, 0x7c00); /* 256 * 256 */
    check_edge(pe, 0xfc00, 0x398c, 0xf98c, 0xfc00); /* log(+0): log2 gives -inf, times ln 2 is -45440 */
    check_edge(pe, 0x7c00, 0x3c00, 0x7c00, 0x7c00); /* an infinity stays one, though it counts as 65536 */
    check_edge(pe, 0x7e00, 0xbc00, 0xfc00, 0x7e00);
    pe.op = PR_PE_MAX;
    check_edge(pe, 0x7e00, 0x3c00, 0x7c00, 0x3c00);
    check_edge(pe, 0x3c00, 0x7e00, 0x7c00, 0x3c00);
    check_edge(pe, 0x0000, 0x8000, 0x0000, 0x8000);
    pe.op = PR_PE_MIN;
    check_edge(pe, 0x7e00, 0x3c00, 0x3c00, 0x3c00);
    check_edge(pe, 0x7e00, 0xfe00, 0x7c00, 0x7e00);
    pe.op = PR_PE_SQUARE_OF_SUM;
    check_edge(pe, 0x4000, 0xc200, 0x3c00, 0x3c00); /* (2 - 3)^2 */
    pe.negate1 = true;
    check_edge(pe, 0x4000, 0x4500, 0x4880, 0x4880); /* (5 - 2)^2 */
    check_edge(copy, 0x8000, 0, 0x0000, 0x8000); /* a copy under ieee keeps -0, for nothing is added to it */
    check_edge(copy, 0x83ff, 0, 0x83ff, 0x83ff);
    check_edge(copy, 0xfbff, 0, 0xfbff, 0xfbff);
    copy.op = PR_PE_SQUARE_OF_SUM;
    check_edge(copy, 0xc200, 0, 0x4880, 0x4880);
    copy.op = PR_PE_ADD;
    copy.abs = true;
    check_edge(copy, 0xc200, 0, 0x4200, 0x4200);
    copy.abs = false;
    copy.scale = 0x4000;
    copy.bias = 0xc400;
    copy.relu = true;
    copy.final_scale = 0x3f000000;
    check_edge(copy, 0x4200, 0, 0x3c00, 0x3c00); /* 0.5 * relu(2 * 3 - 4) */
    check_edge(copy, 0x3c00, 0, 0x0000, 0x0000);
    ways_end();
}

static void comparisons(void **state)
{
    struct pr_pe pe = {.two_sources = true, .scale = ONE, .pre_scale = ONE, .final_scale = 0x3f800000};

    (void)state;
    pe.negate2 = true; /* v = a - b */
    pe.compare = PR_PE_EQUAL;
    check_edge(pe, 0x4200, 0x4200, ONE, ONE);
    check_edge(pe, 0x0001, 0x0002, 0, 0); /* the smallest difference there is */
    check_edge(pe, 0x8000, 0x0000, ONE, ONE);
    check_edge(pe, 0x7c00, 0x7c00, ONE, 0); /* inf - inf is 0 on the device, and a NaN in C */
    pe.compare = PR_PE_GREATER;
    check_edge(pe, 0x4200, 0x4200, 0, 0);
    check_edge(pe, 0x0002, 0x0001, ONE, ONE);
    check_edge(pe, 0x0001, 0x0002, 0, 0);
    check_edge(pe, 0x7c00, 0x7c00, 0, 0);
    pe.compare = PR_PE_GREATER_EQUAL;
    check_edge(pe, 0x4200, 0x4200, ONE, ONE);
    check_edge(pe, 0x8000, 0x0000, ONE, ONE);
    check_edge(pe, 0x4200, 0x4201, 0, 0);
    check_edge(pe, 0x7c00, 0x7c00, ONE, 0);
    pe.abs = true;
    check_edge(pe, 0x4200, 0x4201, ONE, ONE); /* the absolute value is taken first */
    pe.abs = false;
    pe.scale = 0x4200;
    pe.bias = 0xbc00;
    check_edge(pe, 0x4200, 0x4201, 0xbc00, 0xbc00); /* 3 * 0 - 1: scale and bias come after */
    check_edge(pe, 0x4200, 0x4000, 0x4000, 0x4000); /* 3 * 1 - 1 */
    ways_end();
}

static void functions(void **state)
{
    struct pr_pe pe = {.reduce = PR_PE_REDUCE_SUM, .scale = ONE, .pre_scale = ONE, .final_scale = 0x3f800000};

    (void)state;
    pe.function = PR_PE_RECIPROCAL;
    check_edge(pe, 0x4400, 0, 0x3400, 0x3400); /* 1/4 */
    check_edge(pe, 0xc200, 0, 0xb555, 0xb555); /* -1/3 */
    check_edge(pe, 0x0000, 0, 0x7c00, 0x7c00);
    check_edge(pe, 0x0001, 0, 0x7c00, 0x7c00); /* 2^24 */
    pe.function = PR_PE_RSQRT;
    check_edge(pe, 0x4400, 0, 0x3800, 0x3800); /* 1/2 */
    check_edge(pe, 0x4000, 0, 0x39a8, 0x39a8); /* 0.70710678 is 0.70703125 and less than half a step */
    check_edge(pe, 0x0001, 0, 0x6c00, 0x6c00); /* 2^12 */
    check_edge(pe, 0x0000, 0, 0x7c00, 0x7c00);
    check_edge(pe, 0xbc00, 0, 0x0000, 0x7e00); /* of a negative number */
    pe.reduce = PR_PE_REDUCE_MAX;
    check_edge(pe, 0x8000, 0, 0x7c00, 0xfc00); /* of -0, which a sum never is */
    pe.function = PR_PE_RECIPROCAL;
    check_edge(pe, 0x8000, 0, 0x7c00, 0xfc00);
    pe.function = PR_PE_RSQRT;
    pe.final_scale = fp32_bits(0.25f);
    pe.epsilon = 0xb400;
    check_edge(pe, 0x4500, 0, 0x3c00, 0x3c00); /* 1 / sqrt(5 / 4 - 1/4) */
    pe = (struct pr_pe){.reduce = PR_PE_REDUCE_SUM,
                        .op = PR_PE_SQUARE_OF_SUM,
                        .two_sources = true,
                        .negate1 = true,
                        .scale = ONE,
                        .pre_scale = ONE,
                        .final_scale = 0x3f800000};
    check_edge(pe, 0x4000, 0x4500, 0x4880, 0x4880); /* (5 - 2)^2 */
    pe.op = PR_PE_MIN;
    pe.negate1 = false;
    pe.reduce = PR_PE_REDUCE_MIN;
    check_edge(pe, 0x4000, 0x4500, 0x4000, 0x4000);
    ways_end();
}

/*
 * (a - row 0) * row 1 with numbers to look at: channels, rows and
 * columns that must not be mistaken for each other.
 */
static void affine(void **state)
{
    static const float a[2][2][3] = {{{1, 2, 3}, {4, 5, 6}}, {{7, 8, 9}, {10, 11, 12}}};
    static const float row[2][2] = {{1, 10}, {2, -1}}; /* [row][channel] */
    static const float expected[2][2][3] = {{{0, 2, 4}, {6, 8, 10}}, {{3, 2, 1}, {0, -1, -2}}};
    struct pr_task task = {.unit = PR_UNIT_PE,
                           .pe = {.op = PR_PE_AFFINE,
                                  .two_sources = true,
                                  .negate2 = true,
                                  .scale = ONE,
                                  .pre_scale = ONE,
                                  .final_scale = 0x3f800000}};
    struct eng_operands operands;
    uint16_t x[12], rows[4], y[12];
    struct way way;

    (void)state;
    task.src[0] =
        (struct pr_tensor){.home = PR_HOME_DRAM, .extent = {3, 2, 1, 2, 1}, .stride = {2, 6, 12, 12, 24}};
    task.dst = task.src[0];
    task.src[1] =
        (struct pr_tensor){.home = PR_HOME_DRAM, .extent = {1, 2, 1, 2, 1}, .stride = {2, 4, 8, 2, 8}};
    for (unsigned i = 0; i < 12; i++)
        x[i] = test_half_from_double(a[i / 6][i / 3 % 2][i % 3]);
    for (unsigned i = 0; i < 4; i++)
        rows[i] = test_half_from_double(row[i / 2][i % 2]);
    operands_of(&task, x, rows, y, &operands);
    for (unsigned i = 0; way_get(i, &way); i++) {
        struct eng_compute compute = {.policy = ENG_M1, .path = way.path, .pool = way_begin(&way)};

        eng_pe_run(&compute, &task, &operands);
        for (unsigned k = 0; k < 12; k++)
            assert_true(test_half_to_double(y[k]) == expected[k / 6][k / 3 % 2][k % 3]);
    }
    ways_end();
}

/*
 * Sums that tell the tree from any other: 2^25 and ones, which fp32 drops or keeps depending on who meets
 * whom.
 */
static void tree_of_sums(void **state)
{
    struct pr_task task = {
        .unit = PR_UNIT_PE,
        .pe = {.reduce = PR_PE_REDUCE_SUM, .scale = ONE, .pre_scale = ONE, .final_scale = 0x3f800000}};
    uint16_t x[40] = {0}, y;
    struct eng_operands operands;
    struct way way;

    (void)state;
    task.src[0] =
        (struct pr_tensor){.home = PR_HOME_DRAM, .extent = {40, 1, 1, 1, 1}, .stride = {2, 80, 80, 80, 80}};
    task.dst = (struct pr_tensor){.home = PR_HOME_DRAM, .extent = {1, 1, 1, 1, 1}, .stride = {2, 2, 2, 2, 2}};
    task.pe.op = PR_PE_SQUARE_OF_SUM;
    x[0] = 0x7000;                 /* 8192^2 = 2^26 in lane 0 ... */
    x[16] = 0x3c00;                /* ... which swallows a one of its own lane */
    x[1] = x[17] = x[33] = 0x4000; /* 4 + 4 + 4 in lane 1 */
    operands_of(&task, x, NULL, &y, &operands);
    task.pe.final_scale = fp32_bits(0x1p-26f);
    for (unsigned i = 0; way_get(i, &way); i++) {
        struct eng_compute compute = {.policy = ENG_M1, .path = way.path, .pool = way_begin(&way)};

        eng_pe_run(&compute, &task, &operands);
        assert_int_equal(y, ONE);
    }
    /* 65504 + 1 - 65504: the one is lost only if it meets the large one first. */
    memset(x, 0, sizeof(x));
    task.pe.op = PR_PE_ADD;
    task.pe.final_scale = fp32_bits(1);
    x[0] = 0x7bff;
    x[8] = 0xfbff; /* lane 8 meets lane 0 before lane 4 does */
    x[4] = 0x0001;
    for (unsigned i = 0; way_get(i, &way); i++) {
        struct eng_compute compute = {.policy = ENG_M1, .path = way.path, .pool = way_begin(&way)};

        eng_pe_run(&compute, &task, &operands);
        assert_int_equal(y, 0x0001);
    }
    ways_end();
}

enum { COLUMNS = 75, ROWS = 3, CHANNELS = 5, PLANE = COLUMNS * ROWS, ELEMENTS = PLANE * CHANNELS };

/* [CHANNELS][ROWS][COLUMNS] without gaps. */
static const struct pr_tensor whole = {.home = PR_HOME_DRAM,
                                       .extent = {COLUMNS, ROWS, 1, CHANNELS, 1},
                                       .stride = {2, 2 * COLUMNS, 2 * PLANE, 2 * PLANE, 2 * ELEMENTS}};
/* An element per channel ... */
static const struct pr_tensor one_each = {.home = PR_HOME_DRAM,
                                          .extent = {1, 1, 1, CHANNELS, 1},
                                          .stride = {2, 2 * CHANNELS, 2 * CHANNELS, 2, 2 * CHANNELS}};
/* ... for all of its plane ... */
static const struct pr_tensor repeated = {
    .home = PR_HOME_DRAM, .extent = {COLUMNS, ROWS, 1, CHANNELS, 1}, .stride = {0, 0, 0, 2, 0}};
/* ... and two rows of it, as the affine reads them. */
static const struct pr_tensor two_rows = {
    .home = PR_HOME_DRAM, .extent = {1, 2, 1, CHANNELS, 1}, .stride = {2, 2 * CHANNELS, 2, 2, 2}};

static const struct pr_pe plain = {.scale = ONE, .pre_scale = ONE, .final_scale = 0x3f800000};

static void run_task(const struct way *way, const struct pr_task *task, uint16_t *a, uint16_t *b, uint16_t *y)
{
    struct eng_compute compute = {.policy = ENG_M1, .path = way->path, .pool = way_begin(way)};
    struct eng_operands operands;

    operands_of(task, a, b, y, &operands);
    eng_pe_run(&compute, task, &operands);
}

/* The mean to row 0; 1 / sqrt(mean of (mean - x)^2 + epsilon) to row 1; (x - row 0) * row 1. */
static void run_norm(const struct way *way, uint16_t *x, uint16_t row[2][CHANNELS], uint16_t *y)
{
    struct pr_task mean = {PR_UNIT_PE, {whole}, one_each, plain, {0}};
    struct pr_task deviation = {PR_UNIT_PE, {whole, repeated}, one_each, plain, {0}};
    struct pr_task result = {PR_UNIT_PE, {whole, two_rows}, whole, plain, {0}};

    mean.pe.reduce = deviation.pe.reduce = PR_PE_REDUCE_SUM;
    mean.pe.final_scale = deviation.pe.final_scale = fp32_bits(1.0f / PLANE);
    run_task(way, &mean, x, NULL, row[0]);
    deviation.pe.op = PR_PE_SQUARE_OF_SUM;
    deviation.pe.two_sources = deviation.pe.negate1 = true;
    deviation.pe.epsilon = 0x00a8; /* 1e-5 */
    deviation.pe.function = PR_PE_RSQRT;
    run_task(way, &deviation, x, row[0], row[1]);
    result.pe.op = PR_PE_AFFINE;
    result.pe.two_sources = result.pe.negate2 = true;
    run_task(way, &result, x, row[0], y);
}

/* Three roundings to half are made on the way: of the mean, of row 1 and of the result. */
static void check_norm(const uint16_t *x, const uint16_t *y)
{
    double mean = 0, deviation = 0, rounding = ldexp(1, -11);

    for (unsigned i = 0; i < PLANE; i++)
        mean += test_half_to_double(x[i]) / PLANE;
    for (unsigned i = 0; i < PLANE; i++)
        deviation += pow(test_half_to_double(x[i]) - mean, 2) / PLANE;
    deviation = 1 / sqrt(deviation + 1e-5);
    for (unsigned i = 0; i < PLANE; i++) {
        double expected = (test_half_to_double(x[i]) - mean) * deviation;
        double allowed = rounding * (2.1 * fabs(expected) + 1.1 * fabs(mean) * deviation) + ldexp(1, -24);

        if (fabs(test_half_to_double(y[i]) - expected) > allowed)
            fail_msg("element %u of a norm is %g, not %g", i, test_half_to_double(y[i]), expected);
    }
}

static void layer_norm(void **state)
{
    uint16_t x[ELEMENTS], row[2][CHANNELS], y[ELEMENTS];
    struct test_rng rng;
    struct way way;

    (void)state;
    test_rng_init(&rng, 60000);
    for (unsigned i = 0; i < ELEMENTS; i++) /* every channel about another number, and as wide as that */
        x[i] = test_half_from_double((test_rng_unit(&rng) + 0.25) * ldexp(1, (int)(i / PLANE) * 2 - 4));
    for (unsigned i = 0; way_get(i, &way); i++) {
        memset(y, 0xff, sizeof(y));
        run_norm(&way, x, row, y);
        for (unsigned c = 0; c < CHANNELS; c++)
            check_norm(x + (size_t)c * PLANE, y + (size_t)c * PLANE);
    }
    ways_end();
}

/*
 * The largest; (x - it) * log2 e; two to that power, which is another engine's table and here the test's; one
 * over the sum; the product, whose source 1 is the broadcast one.
 */
static void run_softmax(const struct way *way, uint16_t *x, uint16_t row[2][CHANNELS], uint16_t *power,
                        uint16_t *y)
{
    struct pr_task largest = {PR_UNIT_PE, {whole}, one_each, plain, {0}};
    struct pr_task exponent = {PR_UNIT_PE, {whole, repeated}, whole, plain, {0}};
    struct pr_task sum = {PR_UNIT_PE, {whole}, one_each, plain, {0}};
    struct pr_task product = {PR_UNIT_PE, {repeated, whole}, whole, plain, {0}};

    largest.pe.reduce = PR_PE_REDUCE_MAX;
    run_task(way, &largest, x, NULL, row[0]);
    exponent.pe.two_sources = exponent.pe.negate2 = true;
    exponent.pe.scale = 0x3dc5;
    run_task(way, &exponent, x, row[0], power);
    for (unsigned i = 0; i < ELEMENTS; i++)
        power[i] = test_half_from_double(exp2(test_half_to_double(power[i])));
    sum.pe.reduce = PR_PE_REDUCE_SUM;
    sum.pe.function = PR_PE_RECIPROCAL;
    run_task(way, &sum, power, NULL, row[1]);
    product.pe.op = PR_PE_MUL;
    product.pe.two_sources = true;
    run_task(way, &product, row[1], power, y);
}

static void check_softmax(const uint16_t *x, const uint16_t *power, uint16_t largest, uint16_t reciprocal,
                          const uint16_t *y)
{
    double max = -INFINITY, sum = 0, powers = 0;

    for (unsigned i = 0; i < PLANE; i++)
        max = fmax(max, test_half_to_double(x[i]));
    for (unsigned i = 0; i < PLANE; i++) {
        sum += exp(test_half_to_double(x[i]) - max);
        powers += test_half_to_double(power[i]);
    }
    assert_true(test_half_to_double(largest) == max);
    assert_true(fabs(test_half_to_double(reciprocal) * powers - 1) < 1.01 * ldexp(1, -11));
    for (unsigned i = 0; i < PLANE; i++) {
        double below = max - test_half_to_double(x[i]), expected = exp(-below) / sum;
        /* The exponent, as large as `below` times 1.45, and the constant in it are rounded to half, */
        double exponents = exp(below * 1.1 * ldexp(1, -10)) - 1; /* and so are three numbers later. */

        if (fabs(test_half_to_double(y[i]) - expected) >
            expected * (exponents + 4 * ldexp(1, -11)) + ldexp(1, -22))
            fail_msg("element %u of a softmax is %g, not %g", i, test_half_to_double(y[i]), expected);
    }
}

static void softmax(void **state)
{
    uint16_t x[ELEMENTS], row[2][CHANNELS], power[ELEMENTS], y[ELEMENTS];
    struct test_rng rng;
    struct way way;

    (void)state;
    test_rng_init(&rng, 70000);
    for (unsigned i = 0; i < ELEMENTS; i++) {
        unsigned wide = 4 + 4 * (i / PLANE);

        x[i] = test_half_from_double((test_rng_unit(&rng) - 0.5) * wide);
    }
    for (unsigned i = 0; way_get(i, &way); i++) {
        memset(y, 0xff, sizeof(y));
        run_softmax(&way, x, row, power, y);
        for (size_t c = 0; c < CHANNELS; c++)
            check_softmax(x + c * PLANE, power + c * PLANE, row[0][c], row[1][c], y + c * PLANE);
    }
    ways_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edges),   cmocka_unit_test(comparisons),  cmocka_unit_test(functions),
        cmocka_unit_test(affine),  cmocka_unit_test(tree_of_sums), cmocka_unit_test(layer_norm),
        cmocka_unit_test(softmax),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
