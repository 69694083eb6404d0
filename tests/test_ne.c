/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The neural engines: random convolutions and bypasses against a computation of the test's own, then the
 * reference and every fast path must give its bytes, those between the elements included.
 */
#include "ne_layer.h"

#include <errno.h>

#include "base/alloc.h"

/* The numbers of a convolution but for its extents. */
static void random_kernel(struct test_rng *rng, struct pr_ne *ne)
{
    ne->mode = PR_NE_MAC;
    ne->kw = pick(rng, 1, 4);
    ne->kh = pick(rng, 1, 3);
    ne->px = pick(rng, 0, ne->kw);
    ne->py = pick(rng, 0, ne->kh);
    ne->ox = 1;
    ne->sx = pick(rng, 0, 3) ? 1 : pick(rng, 2, 3);
    ne->sy = pick(rng, 0, 3) ? 1 : pick(rng, 2, 3);
    ne->lanes = 1u << pick(rng, 0, 5);
    ne->engines = 1u << pick(rng, 0, 4);
    ne->bias = test_rng_bool(rng);
    ne->relu = pick(rng, 0, 3) == 0;
    ne->acc_bias = pick(rng, 0, 2) ? 0 : random_half(rng, SMALL);
    ne->post_scale = pick(rng, 0, 2) ? ONE : random_half(rng, SMALL);
}

/* The output reaches as far as some tap meets the input, and sometimes one further. */
static void set_extents(struct test_rng *rng, struct pr_task *task, const uint32_t in[3], uint32_t cout)
{
    const struct pr_ne *ne = &task->ne;
    uint32_t far_x = (in[0] + ne->px) / ne->sx + 1, far_y = (in[1] + ne->py) / ne->sy + 1;

    memcpy(task->src[0].extent, (uint32_t[]){in[0], in[1], 1, in[2], 1}, sizeof(task->src[0].extent));
    memcpy(task->dst.extent,
           (uint32_t[]){pick(rng, far_x > 3 ? far_x - 3 : 1, far_x), pick(rng, 1, far_y), 1, cout, 1},
           sizeof(task->dst.extent));
    random_layout(rng, &task->src[0], pick(rng, 0, 9) ? 0 : pick(rng, 0, 31));
    random_layout(rng, &task->dst, 0);
    task->src[0].relu = pick(rng, 0, 4) == 0;
    task->dst.zero_tail = test_rng_bool(rng);
}

static void convolutions(void **state)
{
    struct test_rng rng;
    struct layer l;

    (void)state;
    for (uint64_t round = 0; round < ROUNDS(400); round++) {
        test_rng_init(&rng, 1000 + round);
        memset(&l, 0, sizeof(l));
        l.task.unit = PR_UNIT_NE;
        random_kernel(&rng, &l.task.ne);
        set_extents(&rng, &l.task,
                    (uint32_t[]){pick(&rng, 1, round % 3 ? 70 : 5), pick(&rng, 1, 5), pick(&rng, 1, 12)},
                    pick(&rng, 1, round % 4 ? 12 : 70));
        layer_open(&l, &rng, (enum palette)pick(&rng, 0, PALETTES - 1));
        check_layer(&l, round);
        layer_close(&l);
    }
    ways_end();
}

static void one_tap(void **state)
{
    struct test_rng rng;
    struct layer l;

    (void)state;
    for (uint64_t round = 0; round < 40; round++) {
        test_rng_init(&rng, 2000 + round);
        memset(&l, 0, sizeof(l));
        l.task.unit = PR_UNIT_NE;
        random_kernel(&rng, &l.task.ne);
        l.task.ne.kw = l.task.ne.kh = 1;
        l.task.ne.px = l.task.ne.py = pick(&rng, 0, 1);
        set_extents(&rng, &l.task, (uint32_t[]){pick(&rng, 1, 40), pick(&rng, 1, 4), 1}, pick(&rng, 1, 20));
        layer_open(&l, &rng, round & 1 ? ANY : LARGE);
        check_layer(&l, round);
        layer_close(&l);
    }
    ways_end();
}

/* Shapes beyond every limit of a block: columns, rows, channels in and out, taps. */
static void large(void **state)
{
    static const struct {
        uint32_t in[3], cout, kw, kh, px, py, sx, lanes, engines;
    } shape[] = {
        {{600, 3, 2}, 3, 3, 3, 1, 1, 1, 1, 4},      {{33, 40, 3}, 40, 3, 3, 1, 1, 1, 2, 16},
        {{20, 3, 600}, 5, 3, 3, 1, 1, 1, 1, 4},     {{1, 1, 512}, 512, 1, 1, 0, 0, 1, 32, 16},
        {{1, 1, 300}, 1100, 1, 1, 0, 0, 1, 32, 16}, {{1, 70, 40}, 33, 1, 5, 0, 2, 1, 2, 16},
        {{3, 200, 9}, 24, 3, 2, 1, 0, 1, 1, 16},    {{150, 5, 5}, 70, 5, 3, 2, 1, 2, 4, 16},
        {{16, 9, 130}, 80, 3, 3, 1, 1, 1, 4, 16},   {{40, 60, 2}, 2, 13, 29, 6, 14, 1, 1, 1},
        {{2, 40, 12}, 64, 13, 29, 6, 14, 1, 4, 16}, {{64, 30, 17}, 33, 3, 3, 1, 1, 1, 2, 16},
    };
    struct test_rng rng;
    struct layer l;

    (void)state;
    for (uint64_t i = 0; i < 2 * sizeof(shape) / sizeof(shape[0]); i++) {
        const uint64_t s = i / 2;
        struct pr_ne *ne = &l.task.ne;

        test_rng_init(&rng, 3000 + i);
        memset(&l, 0, sizeof(l));
        l.task.unit = PR_UNIT_NE;
        random_kernel(&rng, ne);
        ne->kw = shape[s].kw;
        ne->kh = shape[s].kh;
        ne->px = shape[s].px;
        ne->py = shape[s].py;
        ne->ox = 1;
        ne->sx = shape[s].sx;
        ne->sy = 1;
        ne->lanes = shape[s].lanes;
        ne->engines = shape[s].engines;
        set_extents(&rng, &l.task, shape[s].in, shape[s].cout);
        l.task.dst.extent[PR_AXIS_W] = shape[s].in[0] / ne->sx;
        l.task.dst.extent[PR_AXIS_H] = shape[s].in[1];
        random_layout(&rng, &l.task.dst, 0);
        layer_open(&l, &rng, i & 1 ? CANCELLING : SMALL);
        check_layer(&l, i);
        layer_close(&l);
    }
    ways_end();
}

static void bypasses(void **state)
{
    struct test_rng rng;
    struct layer l;

    (void)state;
    for (uint64_t round = 0; round < ROUNDS(300); round++) {
        test_rng_init(&rng, 4000 + round);
        memset(&l, 0, sizeof(l));
        l.task.unit = PR_UNIT_NE;
        l.task.ne.mode = PR_NE_BYPASS;
        l.task.ne.relu = pick(&rng, 0, 3) == 0;
        l.task.ne.acc_bias = pick(&rng, 0, 2) ? 0 : random_half(&rng, SMALL);
        l.task.ne.post_scale = pick(&rng, 0, 2) ? ONE : random_half(&rng, SMALL);
        memcpy(l.task.dst.extent,
               (uint32_t[]){pick(&rng, 1, round % 20 ? 70 : 3000), pick(&rng, 1, 4), pick(&rng, 1, 2),
                            pick(&rng, 1, 9), pick(&rng, 1, 3)},
               sizeof(l.task.dst.extent));
        memcpy(l.task.src[0].extent, l.task.dst.extent, sizeof(l.task.dst.extent));
        random_layout(&rng, &l.task.src[0], pick(&rng, 0, 4) ? 0 : pick(&rng, 0, 31));
        random_layout(&rng, &l.task.dst, 0);
        l.task.src[0].relu = pick(&rng, 0, 4) == 0;
        l.task.dst.zero_tail = test_rng_bool(&rng);
        layer_open(&l, &rng, (enum palette)pick(&rng, 0, PALETTES - 1));
        check_layer(&l, round);
        layer_close(&l);
    }
    ways_end();
}

/* A dot product of n taps, written out: 1x1, n channels. */
static void check_dot(const uint16_t *x, const uint16_t *w, uint32_t n, struct pr_ne ne, uint16_t m1,
                      uint16_t ieee)
{
    struct pr_task task = {.unit = PR_UNIT_NE, .ne = ne};
    struct pr_kernel_bytes stream[PR_ENGINES_MAX] = {{0}};
    struct eng_compute compute = {0};
    struct eng_operands operands = {0};
    uint8_t kernel[4096] = {0};
    uint16_t y;
    struct way way;

    task.ne.kw = task.ne.kh = task.ne.sx = task.ne.ox = task.ne.sy = task.ne.lanes = task.ne.engines = 1;
    task.ne.mode = PR_NE_MAC;
    task.src[0] =
        (struct pr_tensor){.home = PR_HOME_L2, .extent = {1, 1, 1, n, 1}, .stride = {2, 2, 2, 2, 2}};
    task.dst = (struct pr_tensor){.home = PR_HOME_L2, .extent = {1, 1, 1, 1, 1}, .stride = {2, 2, 2, 2, 2}};
    memcpy(kernel, w, 2 * (size_t)n);
    stream[0] = (struct pr_kernel_bytes){kernel, sizeof(kernel)};
    eng_view_of_host(&operands.src[0], &task.src[0], (uint8_t *)(uintptr_t)x);
    eng_view_of_host(&operands.dst, &task.dst, (uint8_t *)&y);
    for (unsigned policy = 0; policy < 2; policy++) {
        for (unsigned i = 0; way_get(i, &way); i++) {
            compute.policy = (enum eng_policy)policy;
            compute.path = way.path;
            compute.pool = way_begin(&way);
            y = 0x1234;
            assert_int_equal(eng_ne_run(&compute, &task, &operands, stream, NULL), 0);
            if (y != (policy == ENG_M1 ? m1 : ieee))
                fail_msg("%u taps, first %04x * %04x, policy %u path %d isa %d: %04x", n, x[0], w[0], policy,
                         way.path, way.isa, y);
        }
    }
    eng_compute_free(&compute);
}

#define DOT(x, w, ne, m1, ieee) \
    check_dot((const uint16_t[])x, (const uint16_t[])w, sizeof((const uint16_t[])x) / 2, ne, m1, ieee)
#define V(...)      \
    {               \
        __VA_ARGS__ \
    }

static void edges(void **state)
{
    struct pr_ne ne = {.post_scale = ONE};

    (void)state;
    DOT(V(0x77ff, 0x0000), V(ONE, ONE), ne, 0x77ff, 0x77ff); /* 32752 passes */
    DOT(V(0x77ff, 0x4c00), V(ONE, ONE), ne, 0x7c00, 0x7800); /* 32752 + 16 does not */
    DOT(V(0xf7ff, 0xcc00), V(ONE, ONE), ne, 0xfc00, 0xf800);
    DOT(V(0x77ff, 0x4c00, 0xf000), V(ONE, ONE, ONE), ne, 0x7c00, 0x7600); /* nor does an interior sum */
    DOT(V(0xf7ff, 0xcc00, 0x7000), V(ONE, ONE, ONE), ne, 0xfc00, 0xf600);
    DOT(V(0xf400, 0x5c00), V(ONE, 0x5800), ne, 0x7400, 0x7400); /* -16384 + 32768: the product may be */
    DOT(V(0x7bff), V(ONE), ne, 0x7bff, 0x7bff);                 /* one tap keeps the whole range */
    DOT(V(0x7bff), V(0xbc00), ne, 0xfbff, 0xfbff);
    DOT(V(0x03ff, 0x0000), V(0x7800, ONE), ne, 0x0000, 0x3ffe); /* a denormal input is zero: 1023 * 2^-9 */
    DOT(V(0x7800, 0x0000), V(0x03ff, ONE), ne, 0x0000, 0x3ffe); /* so is a weight */
    DOT(V(0x0400, 0x0000), V(0x3800, ONE), ne, 0x0000, 0x0200); /* and a result */
    DOT(V(0x0001), V(ONE), ne, 0x0000, 0x0001);
    DOT(V(0x7e00, 0x0000), V(ONE, ONE), ne, 0x7c00, 0x7e00); /* NaN reads as +inf */
    DOT(V(ONE, ONE), V(0xfe00, ONE), ne, 0x7c00, 0x7e00);
    DOT(V(0x7c00, ONE), V(0x0000, ONE), ne, 0x0000, 0x7e00); /* 0 * inf */
    DOT(V(0x7c00, 0xfc00), V(ONE, ONE), ne, 0x0000, 0x7e00); /* inf - inf */
    DOT(V(0xfc00, ONE), V(ONE, ONE), ne, 0xfc00, 0xfc00);
    DOT(V(0x8000, 0x8000), V(ONE, ONE), ne, 0x0000, 0x0000);
    DOT(V(0x6800, 0x3c00), V(ONE, ONE), ne, 0x6800, 0x6800); /* 2049 ties to even */
    ne.acc_bias = 0x0011;
    DOT(V(ONE, 0xbc00), V(ONE, ONE), ne, 0x0000, 0x0011); /* 1e-6 as a result is a denormal ... */
    ne.post_scale = 0x6400;
    DOT(V(ONE, 0xbc00), V(ONE, ONE), ne, 0x1440, 0x1440); /* ... but counts: 17 * 2^-24 * 2^10 */
    ne = (struct pr_ne){.post_scale = 0x4000, .relu = true};
    DOT(V(0x7400, 0x0000), V(ONE, ONE), ne, 0x7c00, 0x7800); /* the ceiling is the result's: 2 * 16384 */
    DOT(V(0xf400, 0x0000), V(ONE, ONE), ne, 0x0000, 0x0000);
    ways_end();
}

/* An infinite weight on the padding is not multiplied by anything. */
static void infinite_weight_on_padding(void **state)
{
    struct test_rng rng;
    struct layer l;

    (void)state;
    for (uint64_t round = 0; round < 20; round++) {
        test_rng_init(&rng, 5000 + round);
        memset(&l, 0, sizeof(l));
        l.task.unit = PR_UNIT_NE;
        l.task.ne = (struct pr_ne){.mode = PR_NE_MAC,
                                   .kw = 3,
                                   .kh = 1,
                                   .px = 1,
                                   .sx = 1,
                                   .ox = 1,
                                   .sy = 1,
                                   .lanes = 1,
                                   .engines = 4,
                                   .post_scale = ONE};
        set_extents(&rng, &l.task, (uint32_t[]){30, 1, 3}, 5);
        l.task.dst.extent[PR_AXIS_W] = 30;
        l.task.src[0].relu = false;
        random_layout(&rng, &l.task.dst, 0);
        layer_open(&l, &rng, SMALL);
        for (unsigned e = 0; e < PR_ENGINES_MAX; e++)
            guarded_close(&l.kernel[e]);
        *weight_at(&l, 0, 3, 1, 0) = round & 1 ? 0x7c00 : 0x7e00; /* input channel 1, the left tap */
        pack_weights(&l, &rng);
        check_layer(&l, round);
        layer_close(&l);
    }
    ways_end();
}

/* Streams at equal distances, one output channel each; the destination without gaps. */
static void streams_side_by_side(void **state)
{
    static const struct {
        uint32_t in[3], cout, k, engines;
    } shape[] = {{{16, 16, 8}, 8, 3, 8}, {{16, 3, 3}, 7, 3, 8},    {{32, 5, 5}, 11, 1, 16},
                 {{31, 4, 9}, 2, 3, 2},  {{48, 1, 17}, 16, 2, 16}, {{16, 40, 2}, 9, 3, 16}};
    struct test_rng rng;
    struct layer l;

    (void)state;
    for (uint64_t i = 0; i < 2 * sizeof(shape) / sizeof(shape[0]); i++) {
        const uint64_t s = i / 2;
        struct guarded all;
        uint64_t each;

        test_rng_init(&rng, 5500 + i);
        memset(&l, 0, sizeof(l));
        l.task.unit = PR_UNIT_NE;
        l.task.ne = (struct pr_ne){.mode = PR_NE_MAC,
                                   .kw = shape[s].k,
                                   .kh = shape[s].k,
                                   .px = shape[s].k / 2,
                                   .py = shape[s].k / 2,
                                   .sx = 1,
                                   .ox = 1,
                                   .sy = 1,
                                   .lanes = 1,
                                   .engines = shape[s].engines,
                                   .relu = i & 1,
                                   .post_scale = ONE};
        set_extents(&rng, &l.task, shape[s].in, shape[s].cout);
        l.task.dst.extent[PR_AXIS_W] = shape[s].in[0];
        l.task.dst.extent[PR_AXIS_H] = shape[s].in[1];
        random_layout(&rng, &l.task.dst, 0);
        l.task.dst.format = PR_FP16;
        l.task.dst.interleave = 1;
        l.task.dst.transposed = l.task.dst.zero_tail = false;
        l.task.dst.stride[PR_AXIS_W] = 2;
        l.task.dst.stride[PR_AXIS_H] = 2 * shape[s].in[0];
        l.task.dst.stride[PR_AXIS_D] = l.task.dst.stride[PR_AXIS_C] = 2 * shape[s].in[0] * shape[s].in[1];
        l.task.dst.stride[PR_AXIS_G] = l.task.dst.stride[PR_AXIS_C] * shape[s].cout;
        layer_open(&l, &rng, i & 1 ? ANY : CANCELLING);
        each = l.stream[0].size + 64 * (i & 1);
        guarded_open(&all, each * (shape[s].engines - 1) + l.stream[0].size, true);
        for (uint32_t e = 0; e < shape[s].engines; e++) {
            if (l.stream[e].size)
                memcpy(all.bytes + e * each, l.stream[e].bytes, l.stream[e].size);
            l.stream[e].bytes = all.bytes + e * each;
        }
        guarded_protect(&all);
        check_layer(&l, i);
        guarded_close(&all);
        layer_close(&l);
    }
    ways_end();
}

/*
 * A second run of the same task finds all its memory; a first one that finds none says so and writes nothing.
 */
static void memory(void **state)
{
    struct eng_compute compute = {0};
    struct pr_problem problem = {0};
    struct test_rng rng;
    struct layer l = {.task.unit = PR_UNIT_NE};
    struct way way;

    (void)state;
    test_rng_init(&rng, 6000);
    random_kernel(&rng, &l.task.ne);
    l.task.ne.sx = l.task.ne.sy = 1;
    set_extents(&rng, &l.task, (uint32_t[]){70, 9, 9}, 70);
    layer_open(&l, &rng, SMALL);
    for (unsigned i = 0; way_get(i, &way); i++) {
        compute.path = way.path;
        compute.pool = way_begin(&way);
        eng_compute_free(&compute);
        check_memory(&compute, &l, 1);
    }
    l.stream[0].size -= 1;
    assert_int_equal(eng_ne_run(&compute, &l.task, &l.operands, l.stream, &problem), -EINVAL);
    assert_int_equal(problem.kind, PR_PROBLEM_TRUNCATED);
    eng_compute_free(&compute);
    layer_close(&l);
    ways_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions), cmocka_unit_test(one_tap),
        cmocka_unit_test(large),        cmocka_unit_test(bypasses),
        cmocka_unit_test(edges),        cmocka_unit_test(infinite_weight_on_padding),
        cmocka_unit_test(memory),       cmocka_unit_test(streams_side_by_side),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
