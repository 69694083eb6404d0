/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel streams: bytes that public samples show, and random kernels packed here by the sheets' rules, must
 * unpack into the one order; bytes that are no stream are refused and nothing outside them is read.
 */
#include "program/kernel.h"
#include "support.h"

#include <string.h>

enum { ROOM = 1 << 16 };

struct kernel {
    struct pr_task task;
    uint8_t bytes[PR_ENGINES_MAX][ROOM];
    struct pr_kernel_bytes stream[PR_ENGINES_MAX];
    uint16_t weights[ROOM], bias[ROOM];
};

/* From 0 to n - 1. */
static uint32_t below(struct test_rng *rng, uint32_t n)
{
    return (uint32_t)test_rng_range(rng, 0, n - 1);
}

static void kernel_open(struct kernel *k, uint32_t cin, uint32_t cout, uint32_t kw, uint32_t kh)
{
    memset(k, 0, sizeof(*k));
    k->task.unit = PR_UNIT_NE;
    k->task.src[0].extent[PR_AXIS_C] = cin;
    k->task.dst.extent[PR_AXIS_C] = cout;
    k->task.dst.extent[PR_AXIS_G] = 1;
    k->task.ne = (struct pr_ne){
        .mode = PR_NE_MAC, .kw = kw, .kh = kh, .sx = 1, .sy = 1, .ox = 1, .lanes = 1, .engines = 1};
    for (unsigned i = 0; i < PR_ENGINES_MAX; i++)
        k->stream[i].bytes = k->bytes[i];
}

static void put_half(struct kernel *k, unsigned engine, uint16_t half)
{
    uint64_t at = k->stream[engine].size;

    k->bytes[engine][at] = (uint8_t)half;
    k->bytes[engine][at + 1] = (uint8_t)(half >> 8);
    k->stream[engine].size = at + 2;
}

static void put_byte(struct kernel *k, unsigned engine, unsigned byte)
{
    k->bytes[engine][k->stream[engine].size++] = (uint8_t)byte;
}

static void fill_up(struct kernel *k, unsigned engine)
{
    while (k->stream[engine].size % 64)
        put_byte(k, engine, 0);
}

static void expand(struct kernel *k)
{
    struct pr_problem problem = {0};

    memset(k->weights, 0xee, sizeof(k->weights));
    memset(k->bias, 0xee, sizeof(k->bias));
    for (unsigned i = 0; i < k->task.ne.engines; i++)
        k->task.ne.stream[i] = (struct pr_kernel_stream){true, 0, (uint32_t)k->stream[i].size};
    if (!pr_kernel_expand(&k->task, k->stream, k->weights, k->bias, &problem))
        fail_msg("%s", problem.text);
}

static void expect_weights(const struct kernel *k, const uint16_t *expected, size_t count)
{
    assert_int_equal(pr_kernel_weights(&k->task), count);
    for (size_t i = 0; i < count; i++)
        if (k->weights[i] != expected[i])
            fail_msg("weight %zu is %x, not %x", i, k->weights[i], expected[i]);
    assert_int_equal(k->weights[count], 0xeeee);
}

/* Depthwise 3x3 with steps of 2 and a bias, as two full dumps show it. */
static void sparse_sample(void **state)
{
    static const uint8_t mask[] = {0x55, 0x11, 0x05, 0x01};
    static const uint8_t order[] = {0, 2, 6, 8, 1, 7, 3, 5, 4};
    static const uint8_t in_mask[] = {4, 2, 2, 1};
    static struct kernel k;
    uint16_t weights[9];
    unsigned at = 0;

    (void)state;
    kernel_open(&k, 1, 1, 3, 3);
    k.task.ne.sx = k.task.ne.sy = 2;
    k.task.ne.unicast = 1;
    k.task.ne.sparse = k.task.ne.bias = true;
    for (unsigned i = 0; i < 9; i++)
        weights[i] = (uint16_t)(0x3c00 + i);
    put_half(&k, 0, 0x4321);
    put_half(&k, 0, 0x16);
    put_byte(&k, 0, 0);
    for (unsigned i = 0; i < 4; i++) {
        put_byte(&k, 0, mask[i]);
        for (unsigned n = 0; n < in_mask[i]; n++)
            put_half(&k, 0, weights[order[at++]]);
    }
    expand(&k);
    expect_weights(&k, weights, 9);
    assert_int_equal(k.bias[0], 0x4321);
}

/* 1x9 with two outputs for each step: the bias twice, then window columns by phase, a pair for each. */
static void two_outputs_sample(void **state)
{
    static const uint8_t order[] = {0, 2, 4, 6, 8, 1, 3, 5, 7, 9};
    static struct kernel k;
    uint16_t expected[20] = {0};

    (void)state;
    kernel_open(&k, 1, 1, 9, 1);
    k.task.ne.sx = k.task.ne.ox = 2;
    k.task.ne.unicast = 1;
    k.task.ne.bias = true;
    put_half(&k, 0, 0x1111);
    put_half(&k, 0, 0x1111);
    for (unsigned i = 0; i < 10; i++) {
        unsigned p = order[i];

        put_half(&k, 0, p < 9 ? (uint16_t)(0x100 + p) : 0);
        put_half(&k, 0, p > 0 ? (uint16_t)(0x100 + p - 1) : 0);
    }
    for (unsigned p = 0; p < 10; p++) {
        expected[2 * p] = p < 9 ? (uint16_t)(0x100 + p) : 0;
        expected[2 * p + 1] = p > 0 ? (uint16_t)(0x100 + p - 1) : 0;
    }
    assert_int_equal(k.stream[0].size, 44); /* 22 halfwords */
    expand(&k);
    expect_weights(&k, expected, 20);
    assert_int_equal(k.bias[0], 0x1111);
}

/* The shift kernel {1, 0}: a palette block, then a record of one mask. */
static void palette_sample(void **state)
{
    static struct kernel k;
    const uint16_t expected[2] = {0x3c00, 0};

    (void)state;
    kernel_open(&k, 1, 1, 2, 1);
    k.task.ne.unicast = 1;
    k.task.ne.sparse = k.task.ne.palette = true;
    put_half(&k, 0, 0x3c00);
    fill_up(&k, 0);
    put_half(&k, 0, 1);
    put_byte(&k, 0, 0);
    put_byte(&k, 0, 1);
    expand(&k);
    expect_weights(&k, expected, 2);
}

/* The kernel of `less`: a table, then two signed bytes for each channel, four channels an engine. */
static void int8_sample(void **state)
{
    static struct kernel k;
    uint16_t expected[128], table[PR_TABLE_VALUES];

    (void)state;
    kernel_open(&k, 128, 64, 1, 1);
    k.task.ne.unicast = 2;
    k.task.ne.engines = 16;
    k.task.ne.table = true;
    k.task.ne.kernel_format = PR_I8;
    for (unsigned e = 0; e < 16; e++) {
        for (unsigned i = 0; i < PR_TABLE_VALUES; i++)
            put_half(&k, e, (uint16_t)(i + 7));
        for (unsigned i = 0; i < 4; i++) {
            put_byte(&k, e, 1);
            put_byte(&k, e, 0xff);
        }
        assert_true(k.stream[e].size <= 0xc0);
    }
    expand(&k);
    for (unsigned o = 0; o < 64; o++) {
        expected[o] = 0x3c00;
        expected[64 + o] = 0xbc00;
    }
    expect_weights(&k, expected, 128);
    assert_true(pr_kernel_table(&k.task, k.stream, table, NULL));
    assert_int_equal(table[63], 70);
    k.bytes[5][1] ^= 1;
    assert_false(pr_kernel_table(&k.task, k.stream, table, NULL));
}

/* Packs random weights by the rules of the sheets: this is the test's own reading of them. */
struct packer {
    struct kernel *k;
    uint16_t *weights, *bias; /* of all groups, in the one order */
};

static uint32_t lanes_at(const struct pr_ne *ne, uint32_t left, uint32_t lanes)
{
    while (lanes > 1 && lanes * ne->engines > left)
        lanes /= 2;
    return lanes;
}

static void pack_body(struct packer *p, unsigned engine, uint32_t group, uint32_t channel, uint32_t lanes)
{
    const struct pr_task *t = &p->k->task;
    const struct pr_ne *ne = &t->ne;
    uint32_t window = ne->kw + ne->ox - 1, cin = ne->unicast ? ne->unicast : t->src[0].extent[PR_AXIS_C];
    uint32_t columns = t->dst.extent[PR_AXIS_C] * ne->ox;
    uint32_t used = ne->unicast ? ne->ox : lanes, slots = used, in_mask = 0;
    uint64_t mask_at = 0, length_at = p->k->stream[engine].size;

    if (ne->sparse) {
        slots = used < (ne->small ? 4u : 2u) ? (ne->small ? 4u : 2u) : used;
        for (unsigned i = 0; i < 3; i++)
            put_byte(p->k, engine, 0);
    }
    for (uint32_t c = 0; c < cin; c++)
        for (uint32_t py = 0; py < ne->sy; py++)
            for (uint32_t px = 0; px < ne->sx; px++)
                for (uint32_t y = py; y < (ne->kh + ne->sy - 1) / ne->sy * ne->sy; y += ne->sy)
                    for (uint32_t x = px; x < (window + ne->sx - 1) / ne->sx * ne->sx; x += ne->sx)
                        for (uint32_t slot = 0; slot < slots; slot++) {
                            uint32_t column = ne->unicast ? channel * ne->ox + slot : channel + slot;
                            bool inside = y < ne->kh && x < window && slot < used;
                            uint64_t tap = ((uint64_t)(group * cin + c) * ne->kh + y) * window + x;
                            uint16_t half = inside ? p->weights[tap * columns + column] : 0;

                            if (!ne->sparse) {
                                put_half(p->k, engine, half);
                                continue;
                            }
                            if (in_mask == 0) {
                                mask_at = p->k->stream[engine].size;
                                put_byte(p->k, engine, 0);
                            }
                            if (half) {
                                p->k->bytes[engine][mask_at] |= (uint8_t)(1u << in_mask);
                                put_half(p->k, engine, half);
                            }
                            in_mask = (in_mask + 1) % 8;
                        }
    if (ne->sparse) {
        uint64_t length = p->k->stream[engine].size - length_at - 3;

        p->k->bytes[engine][length_at] = (uint8_t)length;
        p->k->bytes[engine][length_at + 1] = (uint8_t)(length >> 8);
    }
}

static void pack_plane(struct packer *p, unsigned engine, uint32_t group, uint32_t channel, uint32_t lanes)
{
    const struct pr_ne *ne = &p->k->task.ne;
    uint32_t cout = p->k->task.dst.extent[PR_AXIS_C];

    for (uint32_t lane = 0; ne->bias && lane < lanes; lane++)
        for (uint32_t column = 0; column < ne->ox; column++)
            put_half(p->k, engine, p->bias[group * cout + channel + lane]);
    pack_body(p, engine, group, channel, lanes);
    if (!ne->unicast && ne->sparse)
        fill_up(p->k, engine);
}

static void pack(struct packer *p)
{
    const struct pr_ne *ne = &p->k->task.ne;
    uint32_t cout = p->k->task.dst.extent[PR_AXIS_C];

    for (uint32_t group = 0; group < p->k->task.dst.extent[PR_AXIS_G]; group++) {
        for (uint32_t channel = 0, lanes = ne->unicast ? 1 : ne->lanes; channel < cout;) {
            lanes = lanes_at(ne, cout - channel, lanes);
            for (uint32_t engine = 0; engine < ne->engines && channel < cout; engine++, channel += lanes)
                pack_plane(p, engine, group, channel, lanes);
        }
        for (uint32_t engine = 0; !ne->unicast && engine < ne->engines; engine++)
            fill_up(p->k, engine);
    }
}

static void random_kernels(void **state)
{
    static struct kernel k;
    static uint16_t weights[ROOM], bias[ROOM];
    struct packer p = {&k, weights, bias};
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 1);
    for (unsigned round = 0; round < 2000; round++) {
        bool unicast = below(&rng, 2);
        uint32_t cout = 1 + below(&rng, 40), u = 1 + below(&rng, 3);
        uint64_t all;

        kernel_open(&k, unicast ? cout * u : u, cout, 1 + below(&rng, 4), 1 + below(&rng, 4));
        k.task.dst.extent[PR_AXIS_G] = 1 + below(&rng, 3);
        k.task.ne.unicast = unicast ? u : 0;
        k.task.ne.sx = 1 + below(&rng, 3);
        k.task.ne.sy = 1 + below(&rng, 3);
        k.task.ne.ox = unicast ? 1 + below(&rng, 2) : 1;
        k.task.ne.lanes = unicast ? 1 : 1u << below(&rng, 6);
        k.task.ne.engines = 1u << below(&rng, 5);
        k.task.ne.sparse = below(&rng, 2);
        k.task.ne.small = below(&rng, 2);
        k.task.ne.bias = below(&rng, 2);
        all = pr_kernel_weights(&k.task) * k.task.dst.extent[PR_AXIS_G];
        if (all * 4 > ROOM)
            continue;
        for (uint64_t i = 0; i < all; i++)
            weights[i] = below(&rng, 3) ? (uint16_t)(1 + below(&rng, 0xffff)) : 0;
        for (uint64_t i = 0; i < (uint64_t)cout * k.task.dst.extent[PR_AXIS_G]; i++)
            bias[i] = k.task.ne.bias ? (uint16_t)test_rng_u32(&rng) : 0x8000;
        pack(&p);
        expand(&k);
        assert_memory_equal(k.weights, weights, all * 2);
        assert_memory_equal(k.bias, bias, 2 * (size_t)cout * k.task.dst.extent[PR_AXIS_G]);
        for (uint32_t e = 0; e < k.task.ne.engines; e++) {
            uint64_t need = pr_kernel_stream_bytes(&k.task, e);

            /* Dense streams are as long as the task says, filled up to 64 bytes. */
            assert_true(k.task.ne.sparse || need == (k.stream[e].size + 63) / 64 * 64);
            assert_int_equal(pr_kernel_engine_works(&k.task, e), k.stream[e].size != 0);
        }
    }
}

/* A plain kernel's weights are where pr_kernel_place says, in every group. */
static void places_of_groups(void **state)
{
    static struct kernel k;
    static uint16_t weights[ROOM], bias[ROOM];
    struct packer p = {&k, weights, bias};
    struct pr_kernel_place place;

    (void)state;
    kernel_open(&k, 3, 22, 3, 2);
    k.task.dst.extent[PR_AXIS_G] = 3;
    k.task.ne.lanes = 4;
    k.task.ne.engines = 4;
    k.task.ne.bias = k.task.ne.table = true;
    for (unsigned i = 0; i < 3u * 18 * 22; i++)
        weights[i] = (uint16_t)(i + 1);
    for (unsigned i = 0; i < 3u * 22; i++)
        bias[i] = (uint16_t)(0x7000 + i);
    for (unsigned e = 0; e < 4; e++)
        for (unsigned i = 0; i < PR_TABLE_VALUES; i++)
            put_half(&k, e, 0);
    pack(&p);
    assert_true(pr_kernel_is_plain(&k.task));
    for (uint32_t g = 0; g < 3; g++)
        for (uint32_t o = 0; o < 22; o++) {
            uint16_t half;

            assert_true(pr_kernel_place(&k.task, g, o, &place));
            for (uint32_t tap = 0; tap < 18; tap++) {
                memcpy(&half,
                       k.bytes[place.engine] + place.offset + 2 * ((tap + 1) * place.lanes + place.lane), 2);
                assert_int_equal(half, weights[(g * 18 + tap) * 22 + o]);
            }
            memcpy(&half, k.bytes[place.engine] + place.offset + 2 * place.lane, 2);
            assert_int_equal(half, bias[g * 22 + o]);
        }
}

static void refused(struct kernel *k, const char *says)
{
    struct pr_problem problem = {0};

    assert_false(pr_kernel_expand(&k->task, k->stream, k->weights, k->bias, &problem));
    if (!strstr(problem.text, says))
        fail_msg("\"%s\" does not say \"%s\"", problem.text, says);
    assert_false(pr_kernel_expand(&k->task, k->stream, k->weights, k->bias, NULL));
}

static void bad_streams(void **state)
{
    static struct kernel k;

    (void)state;
    kernel_open(&k, 1, 1, 3, 1);
    refused(&k, "ends at byte 0");
    k.task.ne.unicast = 1;
    k.task.ne.sparse = true;
    put_half(&k, 0, 4);
    put_byte(&k, 0, 0);
    put_byte(&k, 0, 1);
    refused(&k, "ends at byte 4");
    put_half(&k, 0, 0x3c00);
    put_byte(&k, 0, 0);
    refused(&k, "longer than its weights");
    k.bytes[0][0] = 2;
    refused(&k, "shorter than its weights");
    k.bytes[0][0] = 0;
    refused(&k, "shorter than the masks");
    k.bytes[0][0] = 3;
    k.bytes[0][2] = 1;
    refused(&k, "is not 0");
    k.bytes[0][2] = 0;
    k.bytes[0][3] = 0x02; /* a second lane, where there is one */
    refused(&k, "outside the kernel");
}

/* Whatever the bytes are: an answer, and the guard around what may be written stays. */
static void random_bytes(void **state)
{
    static struct kernel k;
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 2);
    for (unsigned round = 0; round < 3000; round++) {
        uint64_t all;

        kernel_open(&k, 4, 4, 1 + below(&rng, 3), 1 + below(&rng, 3));
        k.task.ne.unicast = below(&rng, 2);
        k.task.ne.sx = 1 + below(&rng, 2);
        k.task.ne.sparse = true;
        k.task.ne.palette = below(&rng, 2);
        k.task.ne.table = below(&rng, 2);
        k.stream[0].size = below(&rng, 300);
        test_rng_bytes(&rng, k.bytes[0], k.stream[0].size);
        if (k.stream[0].size > 200)
            k.bytes[0][1] = k.bytes[0][2] = 0;
        all = pr_kernel_weights(&k.task);
        k.weights[all] = 0xeeee;
        k.bias[4] = 0xeeee;
        (void)pr_kernel_expand(&k.task, k.stream, k.weights, k.bias, NULL);
        assert_int_equal(k.weights[all], 0xeeee);
        assert_int_equal(k.bias[4], 0xeeee);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sparse_sample),  cmocka_unit_test(two_outputs_sample),
        cmocka_unit_test(palette_sample), cmocka_unit_test(int8_sample),
        cmocka_unit_test(random_kernels), cmocka_unit_test(places_of_groups),
        cmocka_unit_test(bad_streams),    cmocka_unit_test(random_bytes),
    };

    return cmocka_run_group_tests_name("kernel", tests, NULL, NULL);
}
