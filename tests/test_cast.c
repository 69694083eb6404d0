/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Casts and layouts of the runtime: rounding, fast rows against plain ones, engine rows against packed ones.
 */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cast.h"

static float float_of(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

static uint16_t to_half(uint32_t bits)
{
    float from = float_of(bits);
    uint16_t half;

    e5_cast_to_half_reference(&from, &half, 1);
    return half;
}

static void edges_round_as_ieee_says(void **state)
{
    static const struct {
        uint32_t from;
        uint16_t to;
    } edge[] = {
        {0x00000000, 0x0000}, {0x80000000, 0x8000}, {0x3f800000, 0x3c00},
        {0x477fe000, 0x7bff},                       /* 65504 */
        {0x477fefff, 0x7bff}, {0x477ff000, 0x7c00}, /* below 65520; 65520 */
        {0x7f7fffff, 0x7c00}, {0xff7fffff, 0xfc00}, {0x7f800000, 0x7c00},
        {0xff800000, 0xfc00}, {0x33800000, 0x0001}, /* 2^-24 */
        {0x33000000, 0x0000}, {0x33000001, 0x0001}, /* half of it; a little more */
        {0x33c00000, 0x0002},                       /* 1.5 of it: to even */
        {0x387fc000, 0x03ff}, {0x387fe000, 0x0400}, /* the largest denormal; half way to the next */
        {0x3f801000, 0x3c00}, {0x3f803000, 0x3c02}, /* ties */
        {0x3f801001, 0x3c01}, {0x00000001, 0x0000}, {0x7fc00000, 0x7e00},
        {0xffc02000, 0xfe01}, /* NaN keeps sign and high payload */
        {0x7f800001, 0x7e00}, /* and becomes quiet */
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(edge) / sizeof(edge[0]); i++)
        if (to_half(edge[i].from) != edge[i].to)
            fail_msg("%08x gives %04x, not %04x", edge[i].from, to_half(edge[i].from), edge[i].to);
}

static void every_half_becomes_its_float_and_comes_back(void **state)
{
    static uint16_t half[65536], back[65536];
    static float value[65536];

    (void)state;
    for (unsigned i = 0; i < 65536; i++)
        half[i] = (uint16_t)i;
    e5_cast_to_float_reference(half, value, 65536);
    e5_cast_to_half_reference(value, back, 65536);
    for (unsigned i = 0; i < 65536; i++) {
        if (test_half_is_nan(half[i])) {
            assert_true(isnan(value[i]));
            assert_int_equal(back[i], half[i] | 0x200);
        } else {
            assert_true((double)value[i] == test_half_to_double(half[i]));
            assert_int_equal(back[i], half[i]);
        }
    }
}

static void random_floats_round_as_the_other_conversion_does(void **state)
{
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 1);
    for (unsigned i = 0; i < 2000000; i++) {
        /* Half of them with exponents that matter. */
        uint32_t bits = test_rng_u32(&rng);
        float value;

        if (test_rng_bool(&rng))
            bits = (bits & 0x807fffff) | (uint32_t)test_rng_range(&rng, 100, 145) << 23;
        if (test_rng_bool(&rng))
            bits &= 0xfffff000;
        value = float_of(bits);
        if (!isnan(value) && to_half(bits) != test_half_from_double((double)value))
            fail_msg("%08x gives %04x, not %04x", bits, to_half(bits), test_half_from_double((double)value));
    }
}

static void fast_rows_equal_plain_rows(void **state)
{
    enum { MOST = 203 };
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 2);
    for (unsigned round = 0; round < 20000; round++) {
        float floats[MOST], a[MOST + 1], b[MOST + 1];
        uint16_t halfs[MOST], c[MOST + 1], d[MOST + 1];
        size_t count = (size_t)test_rng_range(&rng, 0, MOST);

        memset(a, 0x55, sizeof(a)), memset(b, 0x55, sizeof(b)), memset(c, 0x55, sizeof(c)),
            memset(d, 0x55, sizeof(d));
        for (size_t i = 0; i < count; i++) {
            uint32_t bits = test_rng_u32(&rng);

            if (test_rng_bool(&rng))
                bits = (bits & 0x807fffff) | (uint32_t)test_rng_range(&rng, 100, 145) << 23;
            floats[i] = float_of(bits);
            halfs[i] = test_rng_fp16_any(&rng);
        }
        e5_cast_to_half(floats, c, count);
        e5_cast_to_half_reference(floats, d, count);
        e5_cast_to_float(halfs, a, count);
        e5_cast_to_float_reference(halfs, b, count);
        assert_memory_equal(c, d, sizeof(c));
        assert_memory_equal(a, b, sizeof(a));
    }
}

static void all_halfs_in_fast_rows(void **state)
{
    static uint16_t half[65536];
    static float fast[65536], plain[65536];

    (void)state;
    for (unsigned i = 0; i < 65536; i++)
        half[i] = (uint16_t)i;
    e5_cast_to_float(half, fast, 65536);
    e5_cast_to_float_reference(half, plain, 65536);
    assert_memory_equal(fast, plain, sizeof(fast));
}

static struct pr_e5_port make_port(uint32_t type, uint32_t n, uint32_t c, uint32_t h, uint32_t w,
                                   uint32_t gap)
{
    struct pr_e5_port port = {.name = "p",
                              .direction = PR_HWX_INPUT,
                              .type = type,
                              .rank = 4,
                              .dim = {n, c, h, w},
                              .n = n,
                              .c = c,
                              .h = h,
                              .w = w};

    port.row = (2 * w + 63) / 64 * 64 + 64 * (gap & 1);
    port.plane = port.row * h + 64 * (gap >> 1);
    port.bytes = n * c * port.plane;
    return port;
}

/* Element by element, with nothing shared but the definition. */
static void check_both_ways(struct test_rng *rng, const struct e5_layout *l)
{
    const struct e5_form *f = &l->form;
    uint8_t *packed = malloc(l->packed), *back = malloc(l->packed), *engine = calloc(1, f->bytes);
    size_t element = l->type == E5_FP32 ? 4 : 2, i = 0;

    assert_int_equal(f->type, E5_FP16);
    for (size_t k = 0; k < l->packed / element; k++) {
        float value = (float)test_half_to_double(test_rng_fp16_finite(rng, 1000));
        uint16_t half = test_half_from_double((double)value);

        memcpy(packed + k * element, element == 4 ? (void *)&value : (void *)&half, element);
    }
    e5_cast_in(l, packed, engine);
    for (uint32_t n = 0; n < f->n; n++)
        for (uint32_t c = 0; c < f->c; c++)
            for (uint32_t h = 0; h < f->h; h++)
                for (uint32_t w = 0; w < f->w; w++, i++) {
                    uint8_t *at = engine + n * f->batch + c * f->plane + h * f->row + 2 * w;
                    uint16_t half, wanted;
                    float value;

                    memcpy(&half, at, 2);
                    memset(at, 0, 2);
                    memcpy(&value, packed + i * element, element);
                    memcpy(&wanted, packed + i * element, 2);
                    if (element == 4)
                        wanted = test_half_from_double((double)value);
                    assert_int_equal(half, wanted);
                }
    for (size_t k = 0; k < f->bytes; k++)
        assert_int_equal(engine[k], 0); /* nothing between the elements was touched */
    e5_cast_in(l, packed, engine);
    e5_cast_out(l, engine, back);
    assert_memory_equal(packed, back, l->packed);
    free(packed), free(back), free(engine);
}

static void engine_rows_and_packed_ones(void **state)
{
    struct pr_problem problem;
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 3);
    for (unsigned round = 0; round < 2000; round++) {
        uint32_t dims[4];
        struct pr_e5_port port;
        struct e5_layout layout;

        for (unsigned i = 0; i < 4; i++)
            dims[i] = test_rng_bool(&rng) ? 1 : (uint32_t)test_rng_range(&rng, 1, i == 3 ? 70 : 5);
        if (test_rng_range(&rng, 0, 3) == 0)
            dims[3] = 32;
        if (test_rng_range(&rng, 0, 15) == 0) /* where rows are no longer moved in pieces */
            dims[3] = (uint32_t)test_rng_range(&rng, 250, 262);
        port = make_port(round & 1, dims[0], dims[1], dims[2], dims[3], (uint32_t)test_rng_range(&rng, 0, 3));
        if (!e5_layout_from_e5(&layout, &port, &problem))
            fail_msg("%s", problem.text);
        check_both_ways(&rng, &layout);
    }
}

/* A port of bytes: rows on 64-byte boundaries, with or without gaps. */
static struct pr_hwx_port byte_port(bool sign, uint32_t n, uint32_t c, uint32_t h, uint32_t w, uint32_t gap)
{
    struct pr_hwx_port port = {.name = "p",
                               .direction = PR_HWX_INPUT,
                               .shaped = true,
                               .element = sign ? PR_HWX_ELEMENT_INT8 : PR_HWX_ELEMENT_UINT8,
                               .n = n,
                               .c = c,
                               .h = h,
                               .w = w,
                               .d = 1,
                               .element_stride = 1};

    port.row_stride = (w + 63) / 64 * 64 + 64 * (gap & 1);
    port.plane_stride = port.row_stride * h + 64 * (gap >> 1);
    port.batch_stride = port.plane_stride * c;
    port.bytes = port.batch_stride * n;
    return port;
}

static void bytes_are_copied(struct test_rng *rng, const struct e5_layout *l)
{
    const struct e5_form *f = &l->form;
    uint8_t *packed = malloc(l->packed), *back = malloc(l->packed), *engine = calloc(1, f->bytes),
            *at = packed;

    assert_int_equal(l->packed, (uint64_t)f->n * f->c * f->h * f->w);
    for (size_t k = 0; k < l->packed; k++)
        packed[k] = (uint8_t)(test_rng_u32(rng) | 1); /* never 0, which stands between the rows */
    e5_cast_in(l, packed, engine);
    e5_cast_out(l, engine, back);
    assert_memory_equal(packed, back, l->packed);
    for (uint32_t n = 0; n < f->n; n++)
        for (uint32_t c = 0; c < f->c; c++)
            for (uint32_t h = 0; h < f->h; h++, at += f->w) {
                uint8_t *row = engine + n * f->batch + c * f->plane + h * f->row;

                assert_memory_equal(row, at, f->w);
                memset(row, 0, f->w);
            }
    for (size_t k = 0; k < f->bytes; k++)
        assert_int_equal(engine[k], 0);
    free(packed), free(back), free(engine);
}

static void rows_of_bytes(void **state)
{
    struct pr_problem problem;
    struct e5_layout layout;
    struct pr_hwx_port port;
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 4);
    for (unsigned round = 0; round < 2000; round++) {
        uint32_t dims[4];

        for (unsigned i = 0; i < 4; i++)
            dims[i] = test_rng_bool(&rng) ? 1 : (uint32_t)test_rng_range(&rng, 1, i == 3 ? 140 : 5);
        if (test_rng_range(&rng, 0, 3) == 0)
            dims[3] = 64;
        if (test_rng_range(&rng, 0, 15) == 0)
            dims[3] = (uint32_t)test_rng_range(&rng, 505, 520);
        port = byte_port(round & 1, dims[0], dims[1], dims[2], dims[3], (uint32_t)test_rng_range(&rng, 0, 3));
        if (!e5_layout_from_hwx(&layout, &port, &problem))
            fail_msg("%s", problem.text);
        assert_int_equal(layout.type, round & 1 ? E5_INT8 : E5_UINT8);
        bytes_are_copied(&rng, &layout);
    }
    port = byte_port(false, 2, 3, 5, 64, 0);
    assert_true(e5_layout_from_hwx(&layout, &port, &problem) && layout.same);
    port = byte_port(false, 2, 3, 5, 63, 0);
    assert_true(e5_layout_from_hwx(&layout, &port, &problem) && !layout.same);
    port.bytes = 2 * 3 * 5 * 64 - 1; /* odd, and the last element is inside */
    assert_true(e5_layout_from_hwx(&layout, &port, &problem));
    port.bytes--;
    assert_false(e5_layout_from_hwx(&layout, &port, &problem));
}

static void when_both_forms_are_one(void **state)
{
    struct pr_problem problem;
    struct e5_layout l;
    struct pr_e5_port p;
    static const struct {
        uint32_t type, n, c, h, w, gap;
        bool same;
    } each[] = {
        {0, 1, 3, 5, 32, 0, true},  {0, 2, 3, 5, 64, 0, true},  {1, 1, 3, 5, 32, 0, false},
        {0, 1, 3, 5, 31, 0, false}, {0, 1, 1, 1, 31, 0, true},  {0, 1, 3, 1, 31, 0, false},
        {0, 1, 3, 5, 32, 1, false}, {0, 1, 3, 5, 32, 2, false}, {0, 1, 1, 5, 32, 2, true},
        {1, 1, 1, 1, 1, 0, false},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
        p = make_port(each[i].type, each[i].n, each[i].c, each[i].h, each[i].w, each[i].gap);
        assert_true(e5_layout_from_e5(&l, &p, &problem));
        assert_int_equal(l.same, each[i].same);
    }
}

static void strides_of_other_ranks(void **state)
{
    struct pr_problem problem;
    struct pr_e5_port p = make_port(0, 1, 6, 1, 40, 0); /* rows of 128, planes of 128 */
    struct e5_layout l;
    uint64_t s[E5_RANK_MAX];

    (void)state;
    p.rank = 2, p.dim[0] = 6, p.dim[1] = 40;
    assert_true(e5_layout_from_e5(&l, &p, &problem) && e5_layout_strides(&l, s));
    assert_true(s[0] == 128 && s[1] == 2);
    p.rank = 3, p.dim[0] = 2, p.dim[1] = 3, p.dim[2] = 40; /* an axis in two */
    assert_true(e5_layout_from_e5(&l, &p, &problem) && e5_layout_strides(&l, s));
    assert_true(s[0] == 384 && s[1] == 128 && s[2] == 2);
    p.rank = 5, p.dim[0] = 1, p.dim[1] = 6, p.dim[2] = 1, p.dim[3] = 8, p.dim[4] = 5;
    assert_true(e5_layout_from_e5(&l, &p, &problem) && e5_layout_strides(&l, s));
    assert_true(s[1] == 128 && s[3] == 10 && s[4] == 2);
    p.rank = 1, p.dim[0] = 240; /* rows have gaps */
    assert_true(e5_layout_from_e5(&l, &p, &problem));
    assert_false(e5_layout_strides(&l, s));
    p.rank = 2, p.dim[0] = 6, p.dim[1] = 41;
    assert_false(e5_layout_from_e5(&l, &p, &problem));
    assert_non_null(strstr(problem.text, "246"));
    p = make_port(2, 1, 1, 1, 1, 0);
    assert_false(e5_layout_from_e5(&l, &p, &problem));
    p = make_port(0, 1, 2, 2, 2, 0);
    p.bytes = 195; /* the last element ends at 196 */
    assert_false(e5_layout_from_e5(&l, &p, &problem));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edges_round_as_ieee_says),
        cmocka_unit_test(every_half_becomes_its_float_and_comes_back),
        cmocka_unit_test(random_floats_round_as_the_other_conversion_does),
        cmocka_unit_test(fast_rows_equal_plain_rows),
        cmocka_unit_test(all_halfs_in_fast_rows),
        cmocka_unit_test(engine_rows_and_packed_ones),
        cmocka_unit_test(rows_of_bytes),
        cmocka_unit_test(when_both_forms_are_one),
        cmocka_unit_test(strides_of_other_ranks),
    };

    return cmocka_run_group_tests_name("cast", tests, NULL, NULL);
}
