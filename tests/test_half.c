/* SPDX-License-Identifier: Apache-2.0 */
/* Half precision: every half, every tie, and rows that touch nothing outside. */
#include "engine/half.h"
#include "tensors.h"

static uint32_t bits_of(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

static void all_halfs_to_float(void **state)
{
    (void)state;
    for (uint32_t half = 0; half < 0x10000; half++) {
        float value = eng_half_to_float((uint16_t)half);

        if (test_half_is_nan((uint16_t)half)) {
            assert_int_equal(bits_of(value), (half & 0x8000) << 16 | 0x7fc00000 | (half & 0x3ff) << 13);
            continue;
        }
        assert_true(bits_of(value) == bits_of((float)test_half_to_double((uint16_t)half)));
        assert_int_equal(eng_float_to_half(value), half);
    }
}

/* Between each half and the next: the tie, and the floats beside it. */
static void all_ties(void **state)
{
    (void)state;
    for (uint32_t half = 0; half < 0x7c00; half++) {
        double low = test_half_to_double((uint16_t)half);
        double high = half == 0x7bff ? 65536 : test_half_to_double((uint16_t)(half + 1));
        uint32_t tie = bits_of((float)((low + high) / 2));
        uint32_t even = half & 1 ? half + 1 : half;

        assert_int_equal(eng_float_to_half(float_of(tie)), even);
        assert_int_equal(eng_float_to_half(float_of(tie - 1)), half);
        assert_int_equal(eng_float_to_half(float_of(tie + 1)), half + 1);
        assert_int_equal(eng_float_to_half(float_of(tie | 0x80000000)), even | 0x8000);
    }
}

static void float_edges(void **state)
{
    (void)state;
    assert_int_equal(eng_float_to_half(65519.99f), 0x7bff);
    assert_int_equal(eng_float_to_half(65520.0f), 0x7c00);
    assert_int_equal(eng_float_to_half(-1e30f), 0xfc00);
    assert_int_equal(eng_float_to_half(INFINITY), 0x7c00);
    assert_int_equal(eng_float_to_half(-INFINITY), 0xfc00);
    assert_int_equal(eng_float_to_half(float_of(0x7f800001)), 0x7e00);
    assert_int_equal(eng_float_to_half(float_of(0xffc12345)), 0x7e00);
    assert_int_equal(eng_float_to_half(float_of(0x00000001)), 0);
    assert_int_equal(eng_float_to_half(float_of(0x80000001)), 0x8000);
    assert_int_equal(eng_float_to_half(0x1p-25f), 0);
    assert_int_equal(eng_float_to_half(0x1.000002p-25f), 1);
}

static void random_floats(void **state)
{
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 1);
    for (unsigned i = 0; i < 400000; i++) {
        float value = float_of(test_rng_u32(&rng));

        if (i & 1) /* near the range of halfs */
            value = float_of((test_rng_u32(&rng) & 0x8fffffffu) | 0x30000000u);
        assert_int_equal(eng_float_to_half(value), isnan(value) ? 0x7e00 : test_half_from_double(value));
    }
}

static void rows(void **state)
{
    struct guarded halfs, floats;
    struct test_rng rng;
    struct way way;

    (void)state;
    test_rng_init(&rng, 2);
    for (size_t n = 0; n <= 70; n++) {
        for (unsigned end = 0; end < 2; end++) {
            guarded_open(&halfs, n * 2, end);
            guarded_open(&floats, n * 4, end);
            for (unsigned i = 1; way_get(i, &way); i += 2) {
                eng_isa_limit(way.isa);
                for (size_t k = 0; k < n; k++)
                    ((uint16_t *)(void *)halfs.bytes)[k] = random_half(&rng, ANY);
                eng_half_row_to_float((const uint16_t *)(void *)halfs.bytes, (float *)(void *)floats.bytes,
                                      n);
                for (size_t k = 0; k < n; k++)
                    assert_int_equal(bits_of(((float *)(void *)floats.bytes)[k]),
                                     bits_of(eng_half_to_float(((uint16_t *)(void *)halfs.bytes)[k])));
                for (size_t k = 0; k < n; k++)
                    ((float *)(void *)floats.bytes)[k] = float_of(test_rng_u32(&rng));
                eng_float_row_to_half((const float *)(void *)floats.bytes, (uint16_t *)(void *)halfs.bytes,
                                      n);
                for (size_t k = 0; k < n; k++)
                    assert_int_equal(((uint16_t *)(void *)halfs.bytes)[k],
                                     eng_float_to_half(((float *)(void *)floats.bytes)[k]));
            }
            guarded_close(&halfs);
            guarded_close(&floats);
        }
    }
    ways_end();
}

/* Every half and every tie through each instruction set. */
static void rows_of_everything(void **state)
{
    static uint16_t halfs[0x10000], back[0x10000];
    static float floats[0x10000];
    struct way way;

    (void)state;
    for (uint32_t i = 0; i < 0x10000; i++)
        halfs[i] = (uint16_t)i;
    for (unsigned i = 1; way_get(i, &way); i += 2) {
        eng_isa_limit(way.isa);
        eng_half_row_to_float(halfs, floats, 0x10000);
        for (uint32_t k = 0; k < 0x10000; k++)
            assert_int_equal(bits_of(floats[k]), bits_of(eng_half_to_float(halfs[k])));
        for (uint32_t k = 0; k < 0x10000; k++)
            floats[k] = float_of(bits_of(floats[k]) + 0x1000);
        eng_float_row_to_half(floats, back, 0x10000);
        for (uint32_t k = 0; k < 0x10000; k++)
            assert_int_equal(back[k], eng_float_to_half(floats[k]));
    }
    ways_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_halfs_to_float),
        cmocka_unit_test(all_ties),
        cmocka_unit_test(float_edges),
        cmocka_unit_test(random_floats),
        cmocka_unit_test(rows),
        cmocka_unit_test(rows_of_everything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
