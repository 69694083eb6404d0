/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of products as `m1-exact` makes them, against every figure that is published about the engine's own:
 * the probes of the open guide's chapter on the multiply-accumulate datapath, and the ten relative errors of
 * the ANEForge benchmarks (GEMM on an M1 for K to 4096, GEMV on an M5 for 8192; convolutions on an M1).
 */
#include "engine/exact.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/compute.h"
#include "engine/kernels.h"
#include "support.h"

/* What the rules make of an fp16 value on its way in or out: a denormal is zero. */
static float half_of(double value)
{
    double half = test_half_to_double(test_half_from_double(value));

    return fabs(half) < 0x1p-14 ? 0 : (float)half;
}

/* The dot product with ones, as fp32, and as it is stored. */
static float sum_of(const float *x, size_t n)
{
    struct eng_exact exact;

    eng_exact_begin(&exact);
    for (size_t i = 0; i < n; i++)
        eng_exact_add(&exact, x[i], 1);
    return eng_exact_end(&exact);
}

static float product_of(float x, float weight)
{
    struct eng_exact exact;

    eng_exact_begin(&exact);
    eng_exact_add(&exact, x, weight);
    return eng_exact_end(&exact);
}

static void many_ones(void **state)
{
    static float x[16384];

    (void)state;
    for (size_t i = 0; i < 16384; i++)
        x[i] = 1;
    assert_true(half_of(sum_of(x, 16000)) == 16000);
    assert_true(half_of(sum_of(x, 16384)) == 16384);
    /* The three ones beside 4096 are lost; 5117 is stored as 5116. */
    x[0] = 4096;
    assert_true(sum_of(x, 1025) == 5117);
    assert_true(half_of(sum_of(x, 1025)) == 5116);
}

/* 16 x [B, -B, 1] and 16 x [B, 1, -B]. */
static void survivors(void **state)
{
    static const struct {
        float b, left;
    } row[] = {{1024, 16}, {3000, 16}, {4000, 16}, {4090, 16}, {4096, 4}, {8000, 4}, {16000, 4}, {30000, 4}};
    float x[48], y[48];

    (void)state;
    for (unsigned r = 0; r < sizeof(row) / sizeof(row[0]); r++) {
        for (unsigned i = 0; i < 48; i += 3) {
            x[i] = y[i] = row[r].b;
            x[i + 1] = y[i + 2] = -row[r].b;
            x[i + 2] = y[i + 1] = 1;
        }
        assert_true(sum_of(x, 48) == row[r].left);
        assert_true(sum_of(y, 48) == row[r].left);
    }
}

static void lanes(void **state)
{
    static const float apart[] = {4096, 0, 0, 0, 1}, together[] = {0, 4096, 1}, before[] = {1, 0, 0, 4096};
    static const float grown[] = {2048, 2048, 1}, kept[] = {4095, 1};

    (void)state;
    assert_true(sum_of(apart, 5) == 4097); /* groups are added exactly */
    assert_true(sum_of(together, 3) == 4096);
    assert_true(sum_of(before, 4) == 4096);
    assert_true(sum_of(grown, 3) == 4096); /* the gap is from the sum so far, not from the largest lane */
    assert_true(sum_of(kept, 2) == 4096);
}

static void products(void **state)
{
    (void)state;
    assert_true(product_of(0x1p-8f, 0x1p-8f) == 0x1p-16f);
    assert_true(product_of(0x1p-8f, 0x1p-9f) == 0);
    assert_true(product_of(0x1.ffcp-8f, 0x1.ffcp-9f) == 0); /* nearly 2^-15, yet the exponents sum to -17 */
    assert_true(product_of(0x1p1f, 0x1p-14f) == 0x1p-13f);
    assert_true(product_of(0x1.4p-8f, 0x1.8p-8f) == 0x3p-17f); /* 3.75 units of the grid, cut */
    assert_true(product_of(-0x1.4p-8f, 0x1.8p-8f) == -0x3p-17f);
    assert_true(product_of(0x1.004p0f, 0x1.004p0f) == 1 + 0x1p-9f); /* 2^-20 is below the grid */
    assert_true(product_of(3, 5) == 15);
}

static void ceiling(void **state)
{
    static const float under[] = {32752, 15}, at[] = {32752, 16}, down[] = {-32752, -16};
    static const float back[] = {20000, 20000, -20000}, later[] = {20000, 0, 0, 0, 20000, -20000};
    static const float infinite[] = {1, INFINITY, -3}, both[] = {INFINITY, 1, 1, 1, -INFINITY};
    struct eng_exact exact;

    (void)state;
    assert_true(sum_of(under, 2) == 32767);
    assert_true(sum_of(at, 2) == INFINITY);
    assert_true(sum_of(down, 2) == -INFINITY);
    assert_true(sum_of(back, 3) == INFINITY);
    assert_true(sum_of(later, 6) == INFINITY);
    assert_true(sum_of(infinite, 3) == INFINITY);
    assert_true(isnan(sum_of(both, 5)));
    assert_true(isnan(product_of(0, INFINITY)));
    assert_true(product_of(256, 128) == INFINITY && product_of(-256, 127) == -32512);
    assert_true(sum_of(NULL, 0) == 0);
    /* A second sum starts anew. */
    eng_exact_begin(&exact);
    eng_exact_add(&exact, INFINITY, 1);
    eng_exact_begin(&exact);
    eng_exact_add(&exact, 2, 2);
    assert_true(eng_exact_end(&exact) == 4);
}

/* Standard normal, by Box and Muller. */
static double normal(struct test_rng *rng)
{
    double u = 1 - test_rng_unit(rng), v = test_rng_unit(rng);

    return sqrt(-2 * log(u)) * cos(2 * acos(-1) * v);
}

struct vectors {
    float *exact, *half;
};

static void vectors_draw(struct test_rng *rng, struct vectors *v, size_t n, double scale)
{
    v->exact = malloc(n * sizeof(float));
    v->half = malloc(n * sizeof(float));
    assert_true(v->exact && v->half);
    for (size_t i = 0; i < n; i++) {
        v->exact[i] = (float)(normal(rng) * scale);
        v->half[i] = half_of(v->exact[i]);
    }
}

static void vectors_free(struct vectors *v)
{
    free(v->exact);
    free(v->half);
}

/* The L2 error of side * side dot products of length n, relative to fp64 on the operands before rounding. */
static double relative_error(struct test_rng *rng, size_t n, size_t side, double x_scale, double w_scale)
{
    struct vectors x, w;
    double error = 0, norm = 0;

    vectors_draw(rng, &x, n * side, x_scale);
    vectors_draw(rng, &w, n * side, w_scale);
    for (size_t i = 0; i < side * side; i++) {
        size_t row = i / side * n, column = i % side * n;
        struct eng_exact exact;
        double truth = 0, y;

        eng_exact_begin(&exact);
        for (size_t k = 0; k < n; k++) {
            eng_exact_add(&exact, x.half[row + k], w.half[column + k]);
            truth += (double)x.exact[row + k] * w.exact[column + k];
        }
        y = half_of(eng_exact_end(&exact));
        error += (y - truth) * (y - truth);
        norm += truth * truth;
    }
    vectors_free(&x);
    vectors_free(&w);
    return sqrt(error / norm);
}

/*
 * More outputs than the published runs are compared with need, so that our own noise (about 1 percent) stays
 * well inside the 5 percent.
 */
static size_t side_of(size_t n)
{
    return n <= 1024 ? 160 : 96;
}

static void check_error(const char *what, size_t n, double got, double published)
{
    if (fabs(got / published - 1) > 0.05)
        fail_msg("%s of %zu products: relative error %.4g, published %.4g", what, n, got, published);
}

static void gemm_errors(void **state)
{
    static const double published[] = {1.252e-3, 2.578e-3, 5.528e-3, 12.13e-3, 27.24e-3, 63.03e-3};
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 1);
    for (unsigned i = 0; i < 6; i++) {
        size_t n = (size_t)256 << i;
        double scale = 1 / sqrt((double)n);

        check_error("GEMM", n, relative_error(&rng, n, side_of(n), scale, scale), published[i]);
    }
}

static void convolution_errors(void **state)
{
    static const double published[] = {3.672e-4, 3.752e-4, 3.901e-4, 4.191e-4};
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 2);
    for (unsigned i = 0; i < 4; i++) {
        size_t n = (size_t)9 * 64 << i;
        double scale = sqrt(2 / (double)n);

        check_error("convolution", n, relative_error(&rng, n, side_of(n), 1, scale), published[i]);
    }
}

#define KERNEL_TAPS     64u
#define KERNEL_CHANNELS 64u
#define KERNEL_UNITS    0x1p17f

/* Finite fp16 values of sizes that are far apart, denormals and zeros among them. */
static float spread_value(struct test_rng *rng, int low, int high)
{
    double value = ldexp(1 + test_rng_unit(rng), (int)test_rng_range(rng, low, high));

    if (test_rng_range(rng, 0, 15) == 0)
        return 0;
    return (float)test_half_to_double(test_half_from_double(test_rng_bool(rng) ? value : -value));
}

/* One channel by exact.h, in units. */
static float expected_units(const struct eng_exact_tap *tap, unsigned taps, const float *weights, size_t step)
{
    struct eng_exact exact;

    eng_exact_begin(&exact);
    for (unsigned i = 0; i < taps; i++)
        eng_exact_add(&exact, tap[i].x, weights[tap[i].row * step] / KERNEL_UNITS);
    return eng_exact_end(&exact) * KERNEL_UNITS;
}

struct sorted {
    struct eng_exact_tap tap[2][ENG_EXACT_GROUP][KERNEL_TAPS];
    struct eng_exact_taps taps;
};

/* The least weight of a row that is not 0, and the largest, in magnitude. */
static void sizes_of(const float *weights, unsigned channels, float *least, float *most)
{
    *least = INFINITY;
    *most = 0;
    for (unsigned c = 0; c < channels; c++) {
        float weight = fabsf(weights[c]);

        *least = weight > 0 && weight < *least ? weight : *least;
        *most = weight > *most ? weight : *most;
    }
}

/* Groups as the kernels take them. Returns the largest sum of magnitudes of products in one. */
static float sort_groups(struct test_rng *rng, struct sorted *sorted, const struct eng_exact_tap *tap,
                         unsigned taps, const float *weights, unsigned channels)
{
    float largest = 0;

    memset(&sorted->taps, 0, sizeof(sorted->taps));
    for (unsigned lossy = 0; lossy < 2; lossy++)
        for (unsigned n = 0; n < ENG_EXACT_GROUP; n++)
            sorted->taps.tap[lossy][n] = sorted->tap[lossy][n];
    for (unsigned t = 0; t < taps; t += ENG_EXACT_GROUP) {
        struct eng_exact_tap left[ENG_EXACT_GROUP];
        /* Groups that lose nothing may be among those that may. */
        bool lossy = test_rng_range(rng, 0, 3) == 0;
        float least, most, sum = 0;
        unsigned n = 0;

        for (unsigned i = t; i < t + ENG_EXACT_GROUP && i < taps; i++) {
            if (tap[i].x == 0)
                continue;
            sizes_of(weights + (size_t)tap[i].row * channels, channels, &least, &most);
            lossy = lossy || ldexpf(least, ilogbf(tap[i].x)) < ENG_EXACT_LEAST;
            sum += fabsf(tap[i].x) * most;
            left[n++] = tap[i];
        }
        largest = sum > largest ? sum : largest;
        if (n)
            memcpy(sorted->tap[lossy][n - 1] + (size_t)n * sorted->taps.groups[lossy][n - 1]++, left,
                   n * sizeof(*left));
    }
    return largest;
}

/* In two calls, as for more taps than are sorted together. Returns how many sums are right. */
static unsigned check_channels(struct test_rng *rng, const struct eng_exact_tap *tap, unsigned taps,
                               const float *weights, unsigned vectors)
{
    const struct eng_kernels *kernels = eng_kernels_get();
    const unsigned channels = vectors * kernels->lanes;
    const unsigned part = (unsigned)test_rng_range(rng, 0, (taps - 1) / ENG_EXACT_GROUP) * ENG_EXACT_GROUP;
    float sums[KERNEL_CHANNELS] = {0}, peaks[KERNEL_CHANNELS] = {0}, first, second;
    static struct sorted sorted;
    unsigned right = 0;

    first = sort_groups(rng, &sorted, tap, part, weights, channels);
    kernels->exact_channels(&sorted.taps, weights, vectors, sums, peaks);
    second = sort_groups(rng, &sorted, tap + part, taps - part, weights, channels);
    kernels->exact_channels(&sorted.taps, weights, vectors, sums, peaks);
    for (unsigned c = 0; c < channels; c++) {
        if (first >= 0x1p23f || second >= 0x1p23f || !(fabsf(peaks[c]) < 0x1p23f))
            continue;
        assert_true(sums[c] == expected_units(tap, taps, weights + c, channels));
        right++;
    }
    return right;
}

static void check_sizes(const float *weights, unsigned vectors)
{
    const struct eng_kernels *kernels = eng_kernels_get();
    const unsigned channels = vectors * kernels->lanes, rows = KERNEL_TAPS / 4;
    float low[KERNEL_TAPS * 16], high[KERNEL_TAPS * 16], least, most;

    for (unsigned i = 0; i < rows * kernels->lanes; i++) {
        low[i] = i % 3 ? INFINITY : 0x1p-3f;
        high[i] = 0;
    }
    kernels->exact_weights(weights, rows, vectors, low, high);
    for (unsigned i = 0; i < rows * kernels->lanes; i++) {
        float lane[ENG_EXACT_VECTORS];

        for (unsigned v = 0; v < vectors; v++)
            lane[v] =
                weights[(size_t)(i / kernels->lanes) * channels + v * kernels->lanes + i % kernels->lanes];
        sizes_of(lane, vectors, &least, &most);
        assert_true(low[i] == (i % 3 || least < 0x1p-3f ? least : 0x1p-3f));
        assert_true(high[i] == most);
    }
}

static void check_kinds(const struct eng_exact_tap *tap, const float *weights, unsigned channels)
{
    float x[KERNEL_TAPS], least[KERNEL_TAPS], most[KERNEL_TAPS], kinds[KERNEL_TAPS], largest = 0;

    for (unsigned i = 0; i < KERNEL_TAPS; i++) {
        x[i] = tap[i].x;
        sizes_of(weights + (size_t)i * channels, channels, &least[i], &most[i]);
        largest = fabsf(x[i]) * most[i] > largest ? fabsf(x[i]) * most[i] : largest;
    }
    assert_true(eng_kernels_get()->exact_kinds(x, least, most, KERNEL_TAPS, kinds) == largest);
    for (unsigned i = 0; i < KERNEL_TAPS; i++) {
        const bool lossy = x[i] != 0 && ldexpf(least[i], ilogbf(x[i])) < ENG_EXACT_LEAST;

        assert_true(kinds[i] == (float)(x[i] != 0) + (lossy ? (float)ENG_EXACT_LOSSY : 0));
    }
}

/* Returns how many sums of exact_channels were in its range; those are right. */
static unsigned check_kernels(struct test_rng *rng, int low, int high)
{
    static float weights[KERNEL_TAPS * KERNEL_CHANNELS], x[KERNEL_TAPS * KERNEL_CHANNELS];
    const struct eng_kernels *kernels = eng_kernels_get();
    struct eng_exact_tap tap[KERNEL_TAPS];
    float sums[KERNEL_CHANNELS], marks[KERNEL_CHANNELS];
    const unsigned taps = (unsigned)test_rng_range(rng, 1, KERNEL_TAPS), all = (taps + 3) / 4 * 4;
    unsigned right = 0;

    for (unsigned i = 0; i < KERNEL_TAPS * KERNEL_CHANNELS; i++)
        weights[i] = spread_value(rng, low, high) * KERNEL_UNITS;
    for (unsigned i = 0; i < KERNEL_TAPS; i++) {
        float value = i < taps ? spread_value(rng, low, high) : 0;

        if (test_rng_range(rng, 0, 2) == 0)
            value = 0;
        tap[i] = (struct eng_exact_tap){value, i};
        for (unsigned c = 0; c < kernels->lanes; c++)
            x[i * kernels->lanes + c] = value;
    }
    for (unsigned vectors = 1; vectors <= ENG_EXACT_VECTORS; vectors++) {
        right += check_channels(rng, tap, taps, weights, vectors);
        check_sizes(weights, vectors);
        check_kinds(tap, weights, vectors);
    }
    kernels->exact_own(x, weights, all, sums, marks);
    for (unsigned c = 0; c < kernels->lanes; c++)
        assert_true(marks[c] != 0 || sums[c] == expected_units(tap, taps, weights + c, kernels->lanes));
    return right;
}

/* Every instruction set makes the sums of exact.h or tells which are not; all where they stay below 64. */
static void kernels_make_the_same_sums(void **state)
{
    static const enum eng_isa isa[] = {ENG_ISA_PORTABLE, ENG_ISA_AVX2, ENG_ISA_AVX512};
    struct test_rng rng;

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        unsigned large = 0;

        eng_isa_limit(isa[i]);
        test_rng_init(&rng, 3 + i);
        for (unsigned round = 0; round < 60; round++) {
            const unsigned small = check_kernels(&rng, -14, -2);

            assert_int_equal(small, 10 * eng_kernels_get()->lanes);
            check_kernels(&rng, -10, 3);
            large += check_kernels(&rng, 0, 14);
        }
        /* Products of at least 2^28: nearly none. */
        assert_true(large < 60 * 5 * eng_kernels_get()->lanes);
    }
    eng_isa_limit(ENG_ISA_AVX512);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_make_the_same_sums),
        cmocka_unit_test(many_ones),
        cmocka_unit_test(survivors),
        cmocka_unit_test(lanes),
        cmocka_unit_test(products),
        cmocka_unit_test(ceiling),
        cmocka_unit_test(gemm_errors),
        cmocka_unit_test(convolution_errors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
