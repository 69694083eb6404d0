/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The planar engine: random tasks against a computation of the test's own, then the reference and every fast
 * path must give its bytes, those between the elements included.
 */
#include "engine/pe.h"
#include "tensors.h"

#include "base/alloc.h"

enum { ONE = 0x3c00 };

/*
 * Each fp32 operation is made in double, where it is exact enough to be rounded to fp32 without a second
 * error.
 */
static float fp32(double value)
{
    return (float)value;
}

/* Under m1 the planar engine counts an infinity, and so a NaN, as 2^16. */
static double pe_load(uint16_t half, bool m1, bool mac, bool relu)
{
    double value = model_load(half, m1, mac, relu);

    return m1 && isinf(value) ? copysign(65536, value) : value;
}

static float model_combine(const struct pr_pe *pe, bool m1, double a, double b)
{
    float v = fp32(pe_load(pe->pre_scale, m1, false, false) * a), w = (float)b;

    if (pe->negate1)
        v = -v;
    if (pe->negate2)
        w = -w;
    if (pe->two_sources) {
        if (pe->op == PR_PE_MUL)
            v = fp32((double)v * w);
        else if (pe->op == PR_PE_MAX)
            v = isnan(v) ? w : isnan(w) ? v : v > w ? v : w;
        else if (pe->op == PR_PE_MIN)
            v = isnan(v) ? w : isnan(w) ? v : v < w ? v : w;
        else
            v = fp32((double)v + w);
    }
    if (pe->op == PR_PE_SQUARE_OF_SUM)
        v = fp32((double)v * v);
    return pe->abs ? (v < 0 || (v == 0 && signbit(v)) ? -v : v) : v;
}

static float model_element(const struct pr_pe *pe, bool m1, double a, double b)
{
    float v = model_combine(pe, m1, a, b), final;

    memcpy(&final, &pe->final_scale, sizeof(final));
    v = fp32(v * pe_load(pe->scale, m1, false, false));
    if (pe->bias & 0x7fff)
        v = fp32(v + pe_load(pe->bias, m1, false, false));
    if (pe->relu && v < 0)
        v = 0;
    return fp32((double)v * final);
}

/*
 * The tree in words: lane w mod 16, rows in the order of d and h; then lane i meets i + 8, i + 4, i + 2, i +
 * 1.
 */
static float model_reduce(const struct pr_task *task, bool m1, const uint8_t *src, uint32_t c, uint32_t g)
{
    const struct pr_tensor *t = &task->src[0];
    bool max = task->pe.reduce == PR_PE_REDUCE_MAX;
    float lane[16], final;

    for (unsigned i = 0; i < 16; i++)
        lane[i] = max ? -INFINITY : 0;
    for (uint32_t d = 0; d < t->extent[PR_AXIS_D]; d++)
        for (uint32_t h = 0; h < t->extent[PR_AXIS_H]; h++)
            for (uint32_t w = 0; w < t->extent[PR_AXIS_W]; w++) {
                uint32_t index[PR_AXES] = {w, h, d, c, g};
                float v =
                    model_combine(&task->pe, m1, pe_load(element_get(t, src, index), m1, false, t->relu), 0);

                if (!max)
                    lane[w % 16] = fp32((double)lane[w % 16] + v);
                else if (v >= lane[w % 16]) /* of equal ones (+0 and -0) the later */
                    lane[w % 16] = v;
            }
    for (unsigned step = 8; step; step /= 2)
        for (unsigned i = 0; i < step; i++)
            if (!max)
                lane[i] = fp32((double)lane[i] + lane[i + step]);
            else if (lane[i + step] >= lane[i])
                lane[i] = lane[i + step];
    memcpy(&final, &task->pe.final_scale, sizeof(final));
    lane[0] = fp32((double)lane[0] * final);
    if (task->pe.epsilon & 0x7fff)
        lane[0] = fp32(lane[0] + pe_load(task->pe.epsilon, m1, false, false));
    return lane[0];
}

static void model_run(const struct pr_task *task, bool m1, const uint8_t *a, const uint8_t *b, uint8_t *y)
{
    uint32_t index[PR_AXES] = {0};

    do {
        float v;

        if (task->pe.reduce)
            v = model_reduce(task, m1, a, index[PR_AXIS_C], index[PR_AXIS_G]);
        else
            v = model_element(&task->pe, m1,
                              pe_load(element_get(&task->src[0], a, index), m1, false, task->src[0].relu),
                              task->pe.two_sources ? pe_load(element_get(&task->src[1], b, index), m1, false,
                                                             task->src[1].relu)
                                                   : 0);
        element_put(&task->dst, y, index, model_store(v, m1, false, false));
    } while (next_index(index, task->dst.extent));
}

static uint32_t fp32_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static void random_constants(struct test_rng *rng, struct pr_pe *pe)
{
    bool plain = test_rng_bool(rng);

    pe->pre_scale = plain ? ONE : random_half(rng, SMALL);
    pe->scale = plain ? ONE : random_half(rng, SMALL);
    pe->bias = plain ? 0 : random_half(rng, SMALL);
    pe->final_scale = plain ? fp32_bits(1) : fp32_bits((float)test_rng_unit(rng));
    if (pick(rng, 0, 9) == 0)
        pe->scale = pe->pre_scale = random_half(rng, ANY);
    pe->relu = pick(rng, 0, 3) == 0;
    pe->abs = pick(rng, 0, 3) == 0;
}

static void random_extents(struct test_rng *rng, struct pr_tensor *t)
{
    t->extent[PR_AXIS_W] = pick(rng, 1, 70);
    t->extent[PR_AXIS_H] = pick(rng, 1, 5);
    t->extent[PR_AXIS_D] = pick(rng, 0, 3) ? 1 : pick(rng, 1, 3);
    t->extent[PR_AXIS_C] = pick(rng, 1, 9);
    t->extent[PR_AXIS_G] = pick(rng, 1, 3);
    if (pick(rng, 0, 5) == 0) {
        t->extent[PR_AXIS_W] = pick(rng, 1, 3);
        t->extent[PR_AXIS_C] = pick(rng, 20, 50);
    }
}

static void random_elementwise(struct test_rng *rng, struct pr_task *task)
{
    struct pr_pe *pe = &task->pe;

    memset(task, 0, sizeof(*task));
    task->unit = PR_UNIT_PE;
    pe->two_sources = pick(rng, 0, 3) != 0;
    pe->op = pe->two_sources      ? (enum pr_pe_op)pick(rng, 0, 4)
             : test_rng_bool(rng) ? PR_PE_ADD
                                  : PR_PE_SQUARE_OF_SUM;
    if (pe->op == PR_PE_ADD || pe->op == PR_PE_SQUARE_OF_SUM) {
        pe->negate1 = pick(rng, 0, 3) == 0;
        pe->negate2 = pe->two_sources && pick(rng, 0, 3) == 0;
    }
    random_constants(rng, pe);
    random_extents(rng, &task->dst);
    random_layout(rng, &task->dst, 0);
    task->dst.zero_tail = test_rng_bool(rng);
    for (unsigned i = 0; i < (pe->two_sources ? 2u : 1u); i++) {
        memcpy(task->src[i].extent, task->dst.extent, sizeof(task->dst.extent));
        random_layout(rng, &task->src[i], pick(rng, 0, 2) ? 0 : pick(rng, 0, 31));
        task->src[i].relu = pick(rng, 0, 4) == 0;
    }
}

static void random_reduction(struct test_rng *rng, struct pr_task *task)
{
    struct pr_pe *pe = &task->pe;

    memset(task, 0, sizeof(*task));
    task->unit = PR_UNIT_PE;
    random_constants(rng, pe);
    pe->relu = false;
    pe->scale = ONE;
    pe->bias = 0;
    pe->op = test_rng_bool(rng) ? PR_PE_ADD : PR_PE_SQUARE_OF_SUM;
    pe->reduce = test_rng_bool(rng) ? PR_PE_REDUCE_SUM : PR_PE_REDUCE_MAX;
    pe->epsilon = test_rng_bool(rng) ? 0x00a8 : 0;
    random_extents(rng, &task->src[0]);
    if (pick(rng, 0, 3) == 0) {
        task->src[0].extent[PR_AXIS_W] = pick(rng, 1, 4);
        task->src[0].extent[PR_AXIS_H] = pick(rng, 8, 40);
    }
    random_layout(rng, &task->src[0], 0);
    task->src[0].relu = pick(rng, 0, 4) == 0;
    for (unsigned axis = 0; axis < PR_AXES; axis++)
        task->dst.extent[axis] = axis >= PR_AXIS_C ? task->src[0].extent[axis] : 1;
    random_layout(rng, &task->dst, 0);
    task->dst.zero_tail = test_rng_bool(rng);
}

struct bench {
    struct guarded a, b, y;
    uint8_t *expected;
};

static void bench_open(struct bench *s, struct test_rng *rng, const struct pr_task *task)
{
    enum palette palette = (enum palette)pick(rng, 0, PALETTES - 1);
    bool at_end = pick(rng, 0, 3) != 0;

    guarded_open(&s->a, pr_tensor_span(&task->src[0]), at_end);
    guarded_open(&s->b, pr_tensor_span(&task->src[1]), at_end);
    guarded_open(&s->y, pr_tensor_span(&task->dst), at_end);
    random_halfs(rng, s->a.bytes, s->a.size, palette);
    random_halfs(rng, s->b.bytes, s->b.size, palette);
    test_rng_bytes(rng, s->y.before, s->y.size);
    guarded_protect(&s->a);
    guarded_protect(&s->b);
    s->expected = malloc(s->y.size);
    assert_non_null(s->expected);
}

static void bench_close(struct bench *s)
{
    guarded_close(&s->a);
    guarded_close(&s->b);
    guarded_close(&s->y);
    free(s->expected);
}

static void operands_of(const struct pr_task *task, uint8_t *a, uint8_t *b, uint8_t *y,
                        struct eng_operands *operands)
{
    memset(operands, 0, sizeof(*operands));
    eng_view_of_host(&operands->src[0], &task->src[0], a);
    if (task->pe.two_sources)
        eng_view_of_host(&operands->src[1], &task->src[1], b);
    eng_view_of_host(&operands->dst, &task->dst, y);
}

static void check_task(struct test_rng *rng, const struct pr_task *task, uint64_t round)
{
    struct eng_operands operands;
    struct bench s;
    struct way way;

    bench_open(&s, rng, task);
    operands_of(task, s.a.bytes, s.b.bytes, s.y.bytes, &operands);
    for (unsigned policy = 0; policy < 2; policy++) {
        memcpy(s.expected, s.y.before, s.y.size);
        model_run(task, policy == ENG_M1, s.a.bytes, s.b.bytes, s.expected);
        for (unsigned i = 0; way_get(i, &way); i++) {
            struct eng_compute compute = {
                .policy = (enum eng_policy)policy, .path = way.path, .pool = way_begin(&way)};

            memcpy(s.y.bytes, s.y.before, s.y.size);
            eng_pe_run(&compute, task, &operands);
            check_bytes(&task->dst, s.y.bytes, s.expected, s.y.size, &way, round);
        }
    }
    bench_close(&s);
}

static void elementwise(void **state)
{
    struct test_rng rng;
    struct pr_task task;

    (void)state;
    for (uint64_t round = 0; round < 600; round++) {
        test_rng_init(&rng, 1000 + round);
        random_elementwise(&rng, &task);
        check_task(&rng, &task, round);
    }
    ways_end();
}

static void reductions(void **state)
{
    struct test_rng rng;
    struct pr_task task;

    (void)state;
    for (uint64_t round = 0; round < 600; round++) {
        test_rng_init(&rng, 10000 + round);
        random_reduction(&rng, &task);
        check_task(&rng, &task, round);
    }
    ways_end();
}

/* Enough elements for several pieces, packed rows and not. */
static void large(void **state)
{
    struct test_rng rng;
    struct pr_task task;

    (void)state;
    for (uint64_t round = 0; round < 6; round++) {
        test_rng_init(&rng, 20000 + round);
        if (round < 4) {
            random_elementwise(&rng, &task);
            task.dst.extent[PR_AXIS_W] = round & 1 ? 3001 : 64;
            task.dst.extent[PR_AXIS_H] = 40;
            for (unsigned i = 0; i < 2; i++)
                memcpy(task.src[i].extent, task.dst.extent, sizeof(task.dst.extent));
            random_layout(&rng, &task.dst, 0);
            random_layout(&rng, &task.src[0], 0);
            if (task.pe.two_sources)
                random_layout(&rng, &task.src[1], round & 2 ? 2 : 0);
        } else {
            random_reduction(&rng, &task);
            task.src[0].extent[PR_AXIS_W] = 2500;
            task.src[0].extent[PR_AXIS_C] = task.dst.extent[PR_AXIS_C] = 40;
            random_layout(&rng, &task.src[0], round & 1);
            random_layout(&rng, &task.dst, 0);
        }
        check_task(&rng, &task, round);
    }
    ways_end();
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
    operands_of(&task, (uint8_t *)&a, (uint8_t *)&b, (uint8_t *)&y, &operands);
    for (unsigned policy = 0; policy < 2; policy++) {
        for (unsigned i = 0; way_get(i, &way); i++) {
            struct eng_compute compute = {
                .policy = (enum eng_policy)policy, .path = way.path, .pool = way_begin(&way)};

            y = 0x1234;
            eng_pe_run(&compute, &task, &operands);
            if (y != (policy == ENG_M1 ? m1 : ieee))
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
    operands_of(&task, (uint8_t *)x, NULL, (uint8_t *)&y, &operands);
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

/* The destination on the first source, element by element. */
static void in_place(void **state)
{
    struct test_rng rng;
    struct way way;

    (void)state;
    for (uint64_t round = 0; round < 60; round++) {
        struct eng_operands operands;
        struct pr_task task;
        struct bench s;

        test_rng_init(&rng, 30000 + round);
        random_elementwise(&rng, &task);
        if (round % 4 == 0) {
            task.dst.extent[PR_AXIS_W] = task.src[1].extent[PR_AXIS_W] = pick(&rng, 250, 1500);
            random_layout(&rng, &task.dst, 0);
            random_layout(&rng, &task.src[1], task.pe.two_sources ? 0 : 31);
        }
        task.src[0] = task.dst;
        bench_open(&s, &rng, &task);
        task.src[0].zero_tail = false;
        memcpy(s.y.before, s.a.bytes, s.y.size);
        memcpy(s.expected, s.a.bytes, s.y.size);
        model_run(&task, true, s.a.bytes, s.b.bytes, s.expected);
        operands_of(&task, s.y.bytes, s.b.bytes, s.y.bytes, &operands);
        for (unsigned i = 0; way_get(i, &way); i++) {
            struct eng_compute compute = {.policy = ENG_M1, .path = way.path, .pool = way_begin(&way)};

            memcpy(s.y.bytes, s.y.before, s.y.size);
            eng_pe_run(&compute, &task, &operands);
            check_bytes(&task.dst, s.y.bytes, s.expected, s.y.size, &way, round);
        }
        bench_close(&s);
    }
    ways_end();
}

/*
 * A destination whose rows lie on each other: the last store wins, in the reference's order, on every path.
 */
static void destination_on_itself(void **state)
{
    struct test_rng rng;
    struct way way;

    (void)state;
    for (uint64_t round = 0; round < 40; round++) {
        struct eng_operands operands;
        struct pr_task task;
        struct bench s;

        test_rng_init(&rng, 40000 + round);
        random_elementwise(&rng, &task);
        task.dst.zero_tail = false;
        task.dst.stride[pick(&rng, 0, 4)] = 2 * pick(&rng, 0, 3);
        bench_open(&s, &rng, &task);
        operands_of(&task, s.a.bytes, s.b.bytes, s.y.bytes, &operands);
        for (unsigned i = 0; way_get(i, &way); i++) {
            struct eng_compute compute = {.policy = ENG_M1, .path = way.path, .pool = way_begin(&way)};

            memcpy(s.y.bytes, s.y.before, s.y.size);
            eng_pe_run(&compute, &task, &operands);
            if (i == 0)
                memcpy(s.expected, s.y.bytes, s.y.size);
            check_bytes(&task.dst, s.y.bytes, s.expected, s.y.size, &way, round);
        }
        bench_close(&s);
    }
    ways_end();
}

static void allocates_nothing(void **state)
{
    unsigned long before;
    struct test_rng rng;
    struct pr_task task;

    (void)state;
    test_rng_init(&rng, 50000);
    random_elementwise(&rng, &task);
    assert_non_null(two_threads ? two_threads : way_begin(&(struct way){ENG_PATH_FAST, ENG_ISA_AVX512, 2}));
    before = base_alloc_count();
    check_task(&rng, &task, 0);
    assert_int_equal(base_alloc_count(), before);
    ways_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elementwise),
        cmocka_unit_test(reductions),
        cmocka_unit_test(large),
        cmocka_unit_test(edges),
        cmocka_unit_test(tree_of_sums),
        cmocka_unit_test(in_place),
        cmocka_unit_test(destination_on_itself),
        cmocka_unit_test(allocates_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
