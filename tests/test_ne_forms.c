/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The neural engines in all their forms: groups, channels of an output channel's own, steps, several columns
 * a step, folds, tables, tensors of bytes and of interleaved channels. Every way to run a task must give what
 * the test computes.
 */
#include "ne_layer.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/array.h"

static void random_finish(struct test_rng *rng, struct pr_ne *ne)
{
    ne->relu = pick(rng, 0, 3) == 0;
    ne->acc_bias = pick(rng, 0, 2) ? 0 : random_half(rng, SMALL);
    ne->post_scale = pick(rng, 0, 2) ? ONE : random_half(rng, SMALL);
}

/* Elements that are not always halfs and channels that are not always apart. */
static void random_elements(struct test_rng *rng, struct pr_tensor *t)
{
    static const enum pr_format formats[] = {PR_FP16, PR_FP16, PR_U8, PR_I8};

    t->format = formats[pick(rng, 0, 3)];
    t->interleave = pick(rng, 0, 2) ? pick(rng, 0, 1) : pick(rng, 2, 5);
}

/* What every form has: a window, steps, extents, layouts. The mode's own numbers are set before. */
static void random_task(struct test_rng *rng, struct pr_task *task, uint32_t width, uint32_t cout)
{
    struct pr_ne *ne = &task->ne;
    uint32_t in[PR_AXES] = {pick(rng, 1, width), pick(rng, 1, 7), 1, 1, 1}, far_x, far_y;

    task->unit = PR_UNIT_NE;
    ne->kw = ne->mode == PR_NE_PRODUCT ? 1 : pick(rng, 1, 4);
    ne->kh = ne->mode == PR_NE_PRODUCT ? 1 : pick(rng, 1, 3);
    ne->sx = pick(rng, 1, 3);
    ne->sy = pick(rng, 1, 3);
    ne->px = pick(rng, 0, ne->kw);
    ne->py = pick(rng, 0, ne->kh);
    ne->lanes = 1u << pick(rng, 0, 3);
    ne->engines = 1u << pick(rng, 0, 4);
    random_finish(rng, ne);
    in[PR_AXIS_C] = ne->unicast ? ne->unicast * cout : pick(rng, 1, 6);
    in[PR_AXIS_G] = pick(rng, 0, 2) ? 1 : pick(rng, 2, 3);
    far_x = ((in[PR_AXIS_W] + ne->px) / ne->sx + 1) * ne->ox;
    far_y = (in[PR_AXIS_H] + ne->py) / ne->sy + 1;
    memcpy(task->src[0].extent, in, sizeof(in));
    memcpy(task->dst.extent,
           (uint32_t[]){pick(rng, far_x > 3 ? far_x - 3 : 1, far_x), pick(rng, 1, far_y), 1, cout,
                        in[PR_AXIS_G]},
           sizeof(in));
    random_elements(rng, &task->src[0]);
    random_elements(rng, &task->dst);
    random_layout(rng, &task->src[0], pick(rng, 0, 9) ? 0 : pick(rng, 0, 31));
    random_layout(rng, &task->dst, 0);
    task->src[0].relu = pick(rng, 0, 4) == 0;
    task->src[0].slice = pick(rng, 0, 4) == 0;
    task->dst.zero_tail = test_rng_bool(rng);
}

static void run_rounds(uint64_t stream, unsigned rounds, void (*choose)(struct test_rng *, struct pr_ne *))
{
    struct test_rng rng;
    struct layer l;

    for (uint64_t round = 0; round < rounds; round++) {
        test_rng_init(&rng, stream + round);
        memset(&l, 0, sizeof(l));
        choose(&rng, &l.task.ne);
        random_task(&rng, &l.task, round % 3 ? 70 : round % 20 ? 6 : 900, pick(&rng, 1, round % 4 ? 4 : 40));
        layer_open(&l, &rng, (enum palette)pick(&rng, 0, PALETTES - 1));
        check_layer(&l, round);
        layer_close(&l);
    }
    ways_end();
}

static void choose_unicast(struct test_rng *rng, struct pr_ne *ne)
{
    ne->mode = PR_NE_MAC;
    ne->unicast = pick(rng, 1, 3);
    ne->ox = pick(rng, 1, ENG_NE_OX_MAX);
    ne->bias = test_rng_bool(rng);
    ne->reuse = test_rng_bool(rng);
}

static void unicast(void **state)
{
    (void)state;
    run_rounds(10000, ROUNDS(700), choose_unicast);
}

static void choose_dense(struct test_rng *rng, struct pr_ne *ne)
{
    ne->mode = PR_NE_MAC;
    ne->ox = pick(rng, 0, 2) ? 1 : pick(rng, 2, ENG_NE_OX_MAX);
    ne->bias = test_rng_bool(rng);
    ne->reuse = test_rng_bool(rng);
}

static void dense(void **state)
{
    (void)state;
    run_rounds(20000, ROUNDS(500), choose_dense);
}

/* Without streams: the kernel's unpacking is part of this one. */
static void choose_ones(struct test_rng *rng, struct pr_ne *ne)
{
    ne->mode = PR_NE_MAC;
    ne->unicast = pick(rng, 0, 2);
    ne->ox = 1;
    ne->ones = true;
}

static void ones(void **state)
{
    struct eng_compute compute = {0};
    struct test_rng rng;
    struct layer l;

    (void)state;
    run_rounds(30000, ROUNDS(100), choose_ones);
    for (uint64_t round = 0; round < ROUNDS(100); round++) {
        test_rng_init(&rng, 31000 + round);
        memset(&l, 0, sizeof(l));
        choose_ones(&rng, &l.task.ne);
        random_task(&rng, &l.task, 30, pick(&rng, 1, 9));
        layer_open(&l, &rng, SMALL);
        model_run(&l, ENG_M1);
        memcpy(l.y.bytes, l.y.before, l.y.size);
        assert_int_equal(eng_ne_run(&compute, &l.task, &l.operands, l.stream, NULL), 0);
        assert_memory_equal(l.y.bytes, l.expected, l.y.size);
        layer_close(&l);
    }
    eng_compute_free(&compute);
}

static void choose_fold(struct test_rng *rng, struct pr_ne *ne)
{
    ne->mode = pick(rng, 0, 3) ? PR_NE_MAX : PR_NE_PRODUCT;
    ne->unicast = ne->mode == PR_NE_PRODUCT ? pick(rng, 1, 4) : pick(rng, 0, 3);
    ne->pad_lowest = ne->mode == PR_NE_MAX && test_rng_bool(rng);
    ne->ox = 1;
    ne->ones = true;
}

static void folds(void **state)
{
    (void)state;
    run_rounds(40000, ROUNDS(700), choose_fold);
}

/* Extents and layouts of packed surfaces; padding may be on both sides. */
static void set_surfaces(struct test_rng *rng, struct pr_task *task, const uint32_t in[3], uint32_t cout)
{
    const struct pr_ne *ne = &task->ne;
    uint32_t w = in[0] + 2 * ne->px, h = in[1] + 2 * ne->py;

    task->unit = PR_UNIT_NE;
    memcpy(task->src[0].extent, (uint32_t[]){in[0], in[1], 1, in[2], 1}, sizeof(task->src[0].extent));
    memcpy(task->dst.extent,
           (uint32_t[]){w < ne->kw ? 1 : (w - ne->kw) / ne->sx + 1,
                        h < ne->kh ? 1 : (h - ne->kh) / ne->sy + 1, 1, cout, 1},
           sizeof(task->dst.extent));
    random_layout(rng, &task->src[0], 0);
    random_layout(rng, &task->dst, 0);
    task->dst.zero_tail = test_rng_bool(rng);
}

/* A table of straight pieces between -16 and 16, and random ones beyond. */
static void random_table(struct test_rng *rng, uint16_t halfs[PR_TABLE_VALUES], struct eng_table *table)
{
    memset(halfs, 0, PR_TABLE_BYTES);
    halfs[0] = 0xd000; /* clamps at -32 and 32 */
    halfs[1] = 0x5000;
    for (unsigned i = 2; i < 41; i++)
        halfs[i] = random_half(rng, SMALL);
    halfs[41] = 0; /* knots 1 apart */
    halfs[42] = 1;
    assert_true(eng_table_read(table, halfs, NULL));
}

/* What a ReLU6 is compiled to, but with any ends: x, but at least the one and at most the other. */
static void clamp_table(struct test_rng *rng, struct eng_table *table)
{
    static const uint16_t ends[] = {0x4600, 0x3c00, 0x0400, 0x5000, 0x7a00, 0x7c00};
    static const uint16_t lows[] = {0, 0, 0, 0x3c00, 0xbc00};
    uint16_t halfs[PR_TABLE_VALUES] = {0};

    halfs[PR_AT_LOW] = halfs[PR_AT_BELOW] = lows[pick(rng, 0, 4)];
    halfs[PR_AT_HIGH] = halfs[PR_AT_ABOVE] = ends[pick(rng, 0, 5)];
    halfs[PR_AT_LOW_SLOPE] = halfs[PR_AT_HIGH_SLOPE] = 0x3c00;
    halfs[PR_AT_SHIFT] = 0x40;
    halfs[PR_AT_CODE] = 1;
    assert_true(eng_table_read(table, halfs, NULL));
    assert_int_equal(table->clamp, halfs[PR_AT_LOW] < halfs[PR_AT_HIGH] && halfs[PR_AT_HIGH] < 0x7800);
}

/* Of both kinds; ne has no ReLU then. */
static void give_table(struct test_rng *rng, struct layer *l, struct eng_table *table)
{
    uint16_t halfs[PR_TABLE_VALUES];

    if (test_rng_bool(rng))
        clamp_table(rng, table);
    else
        random_table(rng, halfs, table);
    l->table = table;
    l->task.ne.table = true;
    l->task.ne.relu = false;
}

/*
 * Windows over one channel: rows from less than a vector to several strips, some of them with one element
 * for which loads have a rule; and many of small numbers, which have faster loops. Most widths are beside
 * those at which a row needs another vector; many channels have rows of which several are in a vector.
 */
static void windows(void **state)
{
    static const uint16_t specks[] = {0, 0, 0, 0x0001, 0x83ff, 0x7c01, 0xfe00, 0xfc00};
    struct eng_table table;
    struct test_rng rng;
    struct layer l;

    (void)state;
    for (uint64_t round = 0; round < ROUNDS(600); round++) {
        struct pr_ne *ne = &l.task.ne;
        uint32_t channels, width;

        test_rng_init(&rng, 60000 + round);
        memset(&l, 0, sizeof(l));
        ne->mode = pick(&rng, 0, 2) ? PR_NE_MAC : PR_NE_MAX;
        ne->ones = ne->mode == PR_NE_MAX;
        ne->pad_lowest = ne->mode == PR_NE_MAX && test_rng_bool(&rng);
        ne->bias = ne->mode == PR_NE_MAC && test_rng_bool(&rng);
        ne->unicast = ne->ox = ne->lanes = 1;
        ne->engines = 16;
        ne->kw = ne->kh = ne->mode == PR_NE_MAX ? pick(&rng, 2, 3) : 3;
        ne->sx = ne->sy = ne->mode == PR_NE_MAX ? 2 : pick(&rng, 1, 2);
        ne->px = pick(&rng, 0, 2);
        ne->py = pick(&rng, 0, 2);
        random_finish(&rng, ne);
        if (test_rng_bool(&rng))
            give_table(&rng, &l, &table);
        channels = pick(&rng, 1, round % 4 ? 9 : 40);
        l.speck = specks[pick(&rng, 0, 7)];
        width = round % 3 ? 8 * pick(&rng, 0, 17) + pick(&rng, 1, 5) : pick(&rng, 1, round % 15 ? 150 : 2300);
        if (channels > 9)
            width = pick(&rng, 1, 20);
        set_surfaces(&rng, &l.task, (uint32_t[]){width, pick(&rng, 1, round % 5 ? 12 : 60), channels},
                     channels);
        layer_open(&l, &rng, round % 2 ? SMALL : (enum palette)pick(&rng, 0, PALETTES - 1));
        check_layer(&l, round);
        layer_close(&l);
    }
    ways_end();
}

/* Windows of one element, with steps: rows of every width, more of them than are gathered at once. */
static void selections(void **state)
{
    struct eng_table table;
    struct test_rng rng;
    struct layer l;

    (void)state;
    for (uint64_t round = 0; round < ROUNDS(200); round++) {
        struct pr_ne *ne = &l.task.ne;
        uint32_t channels;

        test_rng_init(&rng, 65000 + round);
        memset(&l, 0, sizeof(l));
        ne->mode = PR_NE_MAX;
        ne->ones = true;
        ne->unicast = ne->ox = ne->lanes = ne->kw = ne->kh = 1;
        ne->engines = 16;
        ne->sx = pick(&rng, 1, 3);
        ne->sy = pick(&rng, 1, 3);
        ne->pad_lowest = test_rng_bool(&rng);
        random_finish(&rng, ne);
        if (test_rng_bool(&rng))
            give_table(&rng, &l, &table);
        channels = pick(&rng, 1, 5);
        set_surfaces(&rng, &l.task, (uint32_t[]){pick(&rng, 1, 150), pick(&rng, 1, 260), channels}, channels);
        layer_open(&l, &rng, (enum palette)pick(&rng, 0, PALETTES - 1));
        check_layer(&l, round);
        layer_close(&l);
    }
    ways_end();
}

/* Kernels of channels of an output channel's own are read as the one reader of all kernels does. */
static void unicast_streams(void **state)
{
    (void)state;
    for (uint64_t round = 0; round < ROUNDS(300); round++) {
        struct eng_scratch memory = {0};
        struct pr_kernel_bytes stream[PR_ENGINES_MAX] = {0};
        uint16_t *values, *bias;
        struct eng_weights weights;
        struct test_rng rng;
        struct layer l;
        uint64_t all, biases;

        test_rng_init(&rng, 75000 + round);
        memset(&l, 0, sizeof(l));
        choose_unicast(&rng, &l.task.ne);
        random_task(&rng, &l.task, 20, pick(&rng, 1, round % 4 ? 9 : 70));
        l.task.ne.table = pick(&rng, 0, 3) == 0;
        for (uint32_t e = 0; e < l.task.ne.engines; e++) {
            stream[e].size = pr_kernel_stream_bytes(&l.task, e);
            if (stream[e].size && round % 10 == 0)
                stream[e].size -= pick(&rng, 0, 1);
            stream[e].bytes = malloc(stream[e].size + 1);
            assert_non_null(stream[e].bytes);
            test_rng_bytes(&rng, (uint8_t *)(uintptr_t)stream[e].bytes, stream[e].size);
        }
        all = pr_kernel_weights(&l.task) * pr_kernel_groups(&l.task);
        biases = (uint64_t)l.task.dst.extent[PR_AXIS_C] * pr_kernel_groups(&l.task);
        values = malloc(2 * (all + biases));
        assert_non_null(values);
        bias = values + all;
        if (pr_kernel_expand(&l.task, stream, values, bias, NULL)) {
            assert_int_equal(eng_weights_open(&weights, &l.task, stream, false, &memory, NULL), 0);
            assert_memory_equal(weights.values, values, 2 * all);
            if (l.task.ne.bias)
                assert_memory_equal(weights.bias, bias, 2 * biases);
        } else {
            assert_int_equal(eng_weights_open(&weights, &l.task, stream, false, &memory, NULL), -EINVAL);
        }
        for (uint32_t e = 0; e < l.task.ne.engines; e++)
            free((void *)(uintptr_t)stream[e].bytes);
        free(values);
        eng_scratch_free(&memory);
    }
}

/* One tap over few pixels: runs of weights of every length, and last channels that fill no vector. */
static void few_pixels(void **state)
{
    struct test_rng rng;
    struct layer l;

    (void)state;
    for (uint64_t round = 0; round < ROUNDS(200); round++) {
        struct pr_ne *ne = &l.task.ne;

        test_rng_init(&rng, 70000 + round);
        memset(&l, 0, sizeof(l));
        ne->mode = PR_NE_MAC;
        ne->ox = ne->kw = ne->kh = ne->sx = ne->sy = 1;
        ne->lanes = 1u << pick(&rng, 0, 5);
        ne->engines = 1u << pick(&rng, 0, 4);
        ne->bias = test_rng_bool(&rng);
        random_finish(&rng, ne);
        set_surfaces(&rng, &l.task, (uint32_t[]){pick(&rng, 1, 3), pick(&rng, 1, 2), pick(&rng, 1, 90)},
                     pick(&rng, 1, 150));
        layer_open(&l, &rng, (enum palette)pick(&rng, 0, PALETTES - 1));
        check_layer(&l, round);
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
        struct pr_task *task = &l.task;

        test_rng_init(&rng, 50000 + round);
        memset(&l, 0, sizeof(l));
        task->unit = PR_UNIT_NE;
        task->ne.mode = PR_NE_BYPASS;
        random_finish(&rng, &task->ne);
        memcpy(task->dst.extent,
               (uint32_t[]){pick(&rng, 1, round % 20 ? 70 : 3000), pick(&rng, 1, 4), pick(&rng, 1, 2),
                            pick(&rng, 1, 30), pick(&rng, 1, 3)},
               sizeof(task->dst.extent));
        memcpy(task->src[0].extent, task->dst.extent, sizeof(task->dst.extent));
        random_elements(&rng, &task->src[0]);
        random_elements(&rng, &task->dst);
        random_layout(&rng, &task->src[0], pick(&rng, 0, 4) ? 0 : pick(&rng, 0, 31));
        random_layout(&rng, &task->dst, 0);
        task->src[0].slice = test_rng_bool(&rng);
        task->dst.zero_tail = test_rng_bool(&rng);
        layer_open(&l, &rng, (enum palette)pick(&rng, 0, PALETTES - 1));
        check_layer(&l, round);
        layer_close(&l);
    }
    ways_end();
}

static void tables(void **state)
{
    struct eng_table table;
    struct test_rng rng;
    struct layer l;

    (void)state;
    for (uint64_t round = 0; round < ROUNDS(400); round++) {
        test_rng_init(&rng, 60000 + round);
        memset(&l, 0, sizeof(l));
        if (round & 2)
            choose_dense(&rng, &l.task.ne);
        else if (round & 1)
            choose_unicast(&rng, &l.task.ne);
        else
            choose_fold(&rng, &l.task.ne);
        random_task(&rng, &l.task, 40, pick(&rng, 1, round & 8 ? 40 : 9));
        give_table(&rng, &l, &table);
        layer_open(&l, &rng, (enum palette)pick(&rng, 0, PALETTES - 1));
        check_layer(&l, round);
        layer_close(&l);
    }
    ways_end();
}

/* The table that stands at the head of a stream is the one that is used. */
static void table_of_a_stream(void **state)
{
    struct eng_compute compute = {0};
    uint16_t halfs[PR_TABLE_VALUES];
    struct eng_table table;
    struct test_rng rng;
    struct layer l = {.task = {.unit = PR_UNIT_NE}};
    struct pr_ne *ne = &l.task.ne;

    (void)state;
    test_rng_init(&rng, 65000);
    ne->mode = PR_NE_MAX;
    ne->ox = ne->unicast = 1;
    random_task(&rng, &l.task, 40, 3);
    random_table(&rng, halfs, &table);
    ne->engines = 1;
    ne->table = true;
    ne->relu = false;
    ne->stream[0] = (struct pr_kernel_stream){.enabled = true, .bytes = PR_TABLE_BYTES};
    l.table = &table;
    layer_open(&l, &rng, SMALL);
    model_run(&l, ENG_M1);
    memcpy(l.y.bytes, l.y.before, l.y.size);
    l.stream[0] = (struct pr_kernel_bytes){(const uint8_t *)halfs, PR_TABLE_BYTES};
    assert_int_equal(eng_ne_run(&compute, &l.task, &l.operands, l.stream, NULL), 0);
    assert_memory_equal(l.y.bytes, l.expected, l.y.size);
    eng_compute_free(&compute);
    layer_close(&l);
}

/* The sums of m1-exact, whichever path is asked for; folds are those of m1. */
static void exact_sums(void **state)
{
    struct test_rng rng;
    struct layer l;

    (void)state;
    for (uint64_t round = 0; round < ROUNDS(150); round++) {
        test_rng_init(&rng, 70000 + round);
        memset(&l, 0, sizeof(l));
        if (round % 4 == 0)
            choose_fold(&rng, &l.task.ne);
        else if (round % 4 == 1)
            choose_unicast(&rng, &l.task.ne);
        else
            choose_dense(&rng, &l.task.ne);
        random_task(&rng, &l.task, 30, pick(&rng, 1, 9));
        layer_open(&l, &rng, (enum palette)pick(&rng, 0, PALETTES - 1));
        check_policy(&l, ENG_M1_EXACT, round);
        layer_close(&l);
    }
    ways_end();
}

/* An infinite weight on the padding is not multiplied by anything, whatever the step. */
static void infinite_weight_on_padding(void **state)
{
    struct test_rng rng;
    struct layer l;

    (void)state;
    for (uint64_t round = 0; round < 40; round++) {
        test_rng_init(&rng, 80000 + round);
        memset(&l, 0, sizeof(l));
        choose_unicast(&rng, &l.task.ne);
        random_task(&rng, &l.task, 40, 3);
        l.task.src[0].relu = false;
        layer_open(&l, &rng, SMALL);
        *weight_at(&l, 0, 0, 1, 0) = round & 1 ? 0x7c00 : 0x7e00;
        check_layer(&l, round);
        layer_close(&l);
    }
    ways_end();
}

/* No memory for kernel or sums: the task says so and writes nothing; afterwards all of it is found again. */
static void memory(void **state)
{
    struct eng_compute compute = {0};
    struct test_rng rng;
    struct layer l;

    (void)state;
    for (unsigned nth = 1; nth <= 2; nth++) {
        test_rng_init(&rng, 90000);
        memset(&l, 0, sizeof(l));
        choose_ones(&rng, &l.task.ne);
        random_task(&rng, &l.task, 40, 9);
        layer_open(&l, &rng, SMALL);
        check_memory(&compute, &l, nth);
        eng_compute_free(&compute);
        layer_close(&l);
    }
}

/* Bad streams and tables, and forms without loops. */
static void refusals(void **state)
{
    struct pr_kernel_bytes streams[PR_ENGINES_MAX] = {{0}};
    struct eng_compute compute = {0};
    struct eng_operands operands = {0};
    uint8_t table[PR_TABLE_BYTES], x[8] = {0}, y[8] = {0};
    struct pr_problem problem = {0};
    struct pr_task task = {.unit = PR_UNIT_NE};

    (void)state;
    task.ne = (struct pr_ne){.mode = PR_NE_MAC, .kw = 3, .kh = 1, .sx = 2, .sy = 1, .ox = 1, .lanes = 1};
    task.ne.engines = task.ne.unicast = 1;
    task.src[0] =
        (struct pr_tensor){.home = PR_HOME_L2, .extent = {1, 1, 1, 1, 1}, .stride = {2, 2, 2, 2, 2}};
    task.dst = task.src[0];
    eng_view_of_host(&operands.src[0], &task.src[0], x);
    eng_view_of_host(&operands.dst, &task.dst, y);
    assert_int_equal(eng_ne_run(&compute, &task, &operands, streams, &problem), -EINVAL);
    assert_true(problem.text[0]); /* no weights */

    memset(&problem, 0, sizeof(problem));
    memset(table, 0xff, sizeof(table));
    task.ne = (struct pr_ne){.mode = PR_NE_BYPASS, .table = true, .engines = 1, .lanes = 1};
    task.ne.kw = task.ne.kh = task.ne.sx = task.ne.sy = task.ne.ox = task.ne.unicast = 1;
    task.ne.stream[0] = (struct pr_kernel_stream){.enabled = true, .bytes = sizeof(table)};
    streams[0] = (struct pr_kernel_bytes){table, sizeof(table)};
    assert_int_equal(eng_ne_run(&compute, &task, &operands, streams, &problem), -EINVAL);
    assert_true(problem.text[0]);

    memset(&problem, 0, sizeof(problem));
    task.ne.mode = PR_NE_MAX;
    task.ne.table = false;
    task.ne.ox = 2; /* which columns of the window would be whose? */
    assert_int_equal(eng_ne_run(&compute, &task, &operands, streams, &problem), -EINVAL);
    assert_int_equal(problem.kind, PR_PROBLEM_UNSUPPORTED);
    assert_int_equal(y[0], 0);
    eng_compute_free(&compute);
}

/*
 * Lines of outputs around a vector's length and around the limits of a block, with rows that follow each
 * other and rows that do not, for each kind of end.
 */
static void strips(void **state)
{
    static const struct {
        uint32_t in[3], cout, kernel, pad, step, lanes;
    } shape[] = {
        {{7, 7, 9}, 40, 1, 0, 1, 32},    {{14, 14, 5}, 70, 1, 0, 1, 16}, {{13, 13, 20}, 33, 1, 0, 1, 2},
        {{56, 3, 8}, 24, 1, 0, 1, 1},    {{32, 5, 3}, 9, 1, 0, 1, 4},    {{27, 9, 4}, 17, 1, 0, 1, 8},
        {{15, 1, 6}, 64, 1, 0, 1, 4},    {{17, 1, 6}, 64, 1, 0, 1, 8},   {{130, 17, 3}, 5, 1, 0, 1, 1},
        {{2100, 2, 2}, 3, 1, 0, 1, 1},   {{14, 14, 11}, 33, 1, 0, 2, 4}, {{67, 5, 5}, 32, 1, 0, 2, 2},
        {{64, 9, 4}, 16, 1, 0, 2, 1},    {{21, 9, 4}, 48, 1, 0, 3, 4},   {{14, 14, 7}, 32, 3, 1, 2, 2},
        {{28, 9, 6}, 64, 3, 1, 2, 4},    {{70, 6, 3}, 34, 3, 1, 2, 8},   {{33, 9, 2}, 16, 7, 3, 2, 1},
        {{66, 4, 2}, 8, 2, 0, 2, 1},     {{40, 8, 3}, 20, 3, 2, 3, 1},   {{1100, 3, 1}, 4, 3, 0, 2, 4},
        {{18, 4, 300}, 16, 3, 1, 2, 16}, {{8, 6, 2400}, 5, 1, 0, 1, 1},  {{1, 30, 4}, 18, 1, 0, 1, 4},
        {{47, 1, 5}, 24, 1, 0, 1, 8},    {{95, 1, 4}, 41, 1, 0, 1, 4},   {{49, 1, 7}, 8, 1, 0, 1, 8},
        {{48, 3, 6}, 16, 3, 1, 1, 8},    {{97, 2, 3}, 15, 1, 0, 1, 2},   {{47, 3, 6}, 40, 3, 1, 1, 8},
        {{93, 3, 4}, 33, 3, 1, 2, 4},    {{95, 5, 4}, 16, 3, 1, 2, 2},   {{23, 4, 5}, 24, 3, 1, 1, 8},
        {{47, 6, 3}, 64, 3, 1, 2, 4},    {{112, 3, 2}, 9, 3, 1, 1, 1},   {{385, 1, 5}, 37, 1, 0, 1, 4},
        {{97, 5, 3}, 40, 3, 1, 2, 4},    {{99, 4, 2}, 19, 3, 1, 2, 2},   {{25, 2, 6}, 24, 1, 0, 1, 8},
    };
    struct eng_table table;
    struct test_rng rng;
    struct layer l;

    (void)state;
    for (uint64_t i = 0; i < ROUNDS(12) * BASE_COUNT_OF(shape); i++) {
        const uint64_t s = i % BASE_COUNT_OF(shape), end = i / BASE_COUNT_OF(shape) % 4;
        struct pr_ne *ne = &l.task.ne;

        test_rng_init(&rng, 90000 + i);
        memset(&l, 0, sizeof(l));
        l.task.unit = PR_UNIT_NE;
        *ne = (struct pr_ne){.mode = PR_NE_MAC, .ox = 1, .engines = 16, .post_scale = ONE};
        ne->kw = ne->kh = shape[s].kernel;
        ne->px = ne->py = shape[s].pad;
        ne->sx = ne->sy = shape[s].step;
        ne->lanes = shape[s].lanes;
        ne->bias = test_rng_bool(&rng);
        ne->relu = end == 1;
        if (end == 2) {
            clamp_table(&rng, &table);
            l.table = &table;
        }
        if (end == 3)
            random_finish(&rng, ne);
        set_surfaces(&rng, &l.task, shape[s].in, shape[s].cout);
        layer_open(&l, &rng, (enum palette)pick(&rng, 0, PALETTES - 1));
        check_layer(&l, i);
        layer_close(&l);
    }
    ways_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unicast),
        cmocka_unit_test(dense),
        cmocka_unit_test(ones),
        cmocka_unit_test(folds),
        cmocka_unit_test(windows),
        cmocka_unit_test(selections),
        cmocka_unit_test(unicast_streams),
        cmocka_unit_test(few_pixels),
        cmocka_unit_test(strips),
        cmocka_unit_test(bypasses),
        cmocka_unit_test(tables),
        cmocka_unit_test(exact_sums),
        cmocka_unit_test(infinite_weight_on_padding),
        cmocka_unit_test(memory),
        cmocka_unit_test(refusals),
        cmocka_unit_test(table_of_a_stream),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
