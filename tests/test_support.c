/* SPDX-License-Identifier: Apache-2.0 */
/* The tests' own tools: half-precision conversions, the random generator, files. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "folder.h"

struct half_case {
    double value;
    uint16_t half;
};

/* From the definition of binary16: 1 sign bit, 5 exponent bits with bias 15, 10 fraction bits. */
static const struct half_case exact_cases[] = {
    {0.0, 0x0000},       {-0.0, 0x8000},     {1.0, 0x3c00},        {-2.0, 0xc000},     {0.5, 0x3800},
    {65504.0, 0x7bff},   {-65504.0, 0xfbff}, {0x1p-14, 0x0400},    {0x1p-24, 0x0001},  {-0x1p-24, 0x8001},
    {0x3ffp-24, 0x03ff}, {1.5, 0x3e00},      {0x1.004p+0, 0x3c01}, {INFINITY, 0x7c00}, {-INFINITY, 0xfc00},
};

static const struct half_case rounded_cases[] = {
    {0x1.002p+0, 0x3c00},           /* tie, down to even */
    {0x1.006p+0, 0x3c02},           /* tie, up to even */
    {0x1.0020000000001p+0, 0x3c01}, /* just above the tie */
    {0x1.005ffffffffffp+0, 0x3c01}, /* just below the tie */
    {65519.999, 0x7bff},            /* the last that stays finite */
    {65520.0, 0x7c00},              /* tie between 65504 and 65536 */
    {-1e300, 0xfc00},
    {0x1p-25, 0x0000},                /* tie between 0 and the least subnormal */
    {-0x1.0000000000001p-25, 0x8001}, /* just above it */
    {0x1.8p-24, 0x0002},              /* tie between 1 and 2 units */
    {0x1.ffbp-15, 0x03ff},
    {0x1.ffcp-15, 0x0400}, /* tie: rounds up into the normal numbers */
    {0x1p-1074, 0x0000},
    {-0x1p-26, 0x8000},
};

static void half_known_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(exact_cases) / sizeof(exact_cases[0]); i++) {
        double back = test_half_to_double(exact_cases[i].half);

        assert_int_equal(test_half_from_double(exact_cases[i].value), exact_cases[i].half);
        assert_memory_equal(&back, &exact_cases[i].value, sizeof(back));
    }
    for (size_t i = 0; i < sizeof(rounded_cases) / sizeof(rounded_cases[0]); i++)
        assert_int_equal(test_half_from_double(rounded_cases[i].value), rounded_cases[i].half);
}

/* Every half is sign * fraction * 2^exponent; every one comes back from its double. */
static void half_all_values(void **state)
{
    (void)state;
    for (uint32_t half = 0; half < 0x10000; half++) {
        double value = test_half_to_double((uint16_t)half);
        int exponent = (half >> 10) & 0x1f;
        int fraction = half & 0x3ff;
        double magnitude = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);

        if (exponent == 0x1f) {
            assert_int_equal(isnan(value) != 0, fraction != 0);
            assert_int_equal(isinf(value) != 0, fraction == 0);
            assert_int_equal(test_half_is_nan((uint16_t)half), fraction != 0);
            if (fraction != 0) {
                assert_int_equal(test_half_from_double(value), half | 0x200);
                continue;
            }
        } else {
            assert_true(fabs(value) == magnitude);
        }
        assert_int_equal(signbit(value) != 0, half >> 15);
        assert_int_equal(test_half_from_double(value), half);
    }
}

/* The middle between two neighbours goes to the even one; a hair to either side goes to the nearer one. */
static void half_all_ties(void **state)
{
    (void)state;
    for (uint32_t half = 0; half < 0x7bff; half++) {
        double low = test_half_to_double((uint16_t)half);
        double high = test_half_to_double((uint16_t)(half + 1));
        double middle = (low + high) / 2;

        assert_true(low < high);
        assert_int_equal(test_half_from_double(middle), (half + 1) & ~UINT32_C(1));
        assert_int_equal(test_half_from_double(nextafter(middle, 0)), half);
        assert_int_equal(test_half_from_double(nextafter(middle, 1e9)), half + 1);
    }
}

/* Published first outputs: splitmix64 from 1234567, xoshiro256** from the state 1, 2, 3, 4. */
static void rng_published_outputs(void **state)
{
    static const uint64_t splitmix[] = {UINT64_C(6457827717110365317), UINT64_C(3203168211198807973),
                                        UINT64_C(9817491932198370423)};
    static const uint64_t xoshiro[] = {11520, 0, UINT64_C(1509978240), UINT64_C(1215971899390074240)};
    uint64_t seed = 1234567;
    struct test_rng rng = {{1, 2, 3, 4}};

    (void)state;
    for (size_t i = 0; i < sizeof(splitmix) / sizeof(splitmix[0]); i++)
        assert_true(test_splitmix64(&seed) == splitmix[i]);
    for (size_t i = 0; i < sizeof(xoshiro) / sizeof(xoshiro[0]); i++)
        assert_true(test_rng_u64(&rng) == xoshiro[i]);
}

static void rng_streams(void **state)
{
    struct test_rng a, again, b;

    (void)state;
    test_rng_init(&a, 7);
    test_rng_init(&again, 7);
    test_rng_init(&b, 8);
    assert_memory_equal(&a, &again, sizeof(a));
    assert_memory_not_equal(&a, &b, sizeof(a));
}

static void rng_range_ends(void **state)
{
    bool seen[7] = {false};
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 0);
    for (int i = 0; i < 1000; i++) {
        int64_t value = test_rng_range(&rng, -3, 3);

        assert_true(value >= -3 && value <= 3);
        seen[value + 3] = true;
    }
    for (int i = 0; i < 7; i++)
        assert_true(seen[i]);
    assert_int_equal(test_rng_range(&rng, 5, 5), 5);
    test_rng_range(&rng, INT64_MIN, INT64_MAX);
    for (int i = 0; i < 1000; i++)
        assert_true(test_rng_range(&rng, INT64_MAX - 1, INT64_MAX) >= INT64_MAX - 1);
}

static void rng_fp16_is_finite(void **state)
{
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 1);
    for (int i = 0; i < 10000; i++) {
        assert_true(fabs(test_half_to_double(test_rng_fp16_finite(&rng, 4.0))) <= 4.0);
        assert_true(fabs(test_half_to_double(test_rng_fp16_finite(&rng, 1e9))) <= 65504.0);
    }
}

static void file_read(void **state)
{
    static const char text[] = "sea\0anemone";
    const char *path = folder_path("text");
    size_t size = 0;
    uint8_t *bytes;

    (void)state;
    folder_write("text", text, sizeof(text));
    bytes = test_file_read(path, &size);
    unlink(path);
    assert_non_null(bytes);
    assert_int_equal(size, sizeof(text));
    assert_memory_equal(bytes, text, sizeof(text));
    free(bytes);
    assert_null(test_file_read(path, &size));
}

static void program_path(void **state)
{
    char *before = test_env_save("ANEMONE_PROGRAMS");
    const char *found;
    bool same;

    (void)state;
    folder_write("a.hwx", "", 0);
    setenv("ANEMONE_PROGRAMS", folder_name(), 1);
    found = test_program_path("a.hwx");
    same = found != NULL && strcmp(found, folder_path("a.hwx")) == 0;
    found = test_program_path("b.hwx");
    test_env_restore("ANEMONE_PROGRAMS", before);
    assert_true(same);
    assert_null(found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_known_values),  cmocka_unit_test(half_all_values),
        cmocka_unit_test(half_all_ties),      cmocka_unit_test(rng_published_outputs),
        cmocka_unit_test(rng_streams),        cmocka_unit_test(rng_range_ends),
        cmocka_unit_test(rng_fp16_is_finite), cmocka_unit_test(file_read),
        cmocka_unit_test(program_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
