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

static float model_compare(enum pr_pe_compare compare, bool m1, float v)
{
    if (m1 && isnan(v))
        v = 0;
    if (compare == PR_PE_EQUAL)
        return v == 0 ? 1 : 0;
    if (compare == PR_PE_GREATER)
        return v > 0 ? 1 : 0;
    return v >= 0 ? 1 : 0;
}

static float model_combine(const struct pr_pe *pe, bool m1, double a, double b, double c)
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
    if (pe->op == PR_PE_AFFINE)
        v = fp32(v * c);
    if (pe->abs && (v < 0 || (v == 0 && signbit(v))))
        v = -v;
    return pe->compare ? model_compare(pe->compare, m1, v) : v;
}

/* The element of a source at an index. */
static double model_source(const struct pr_tensor *t, const uint8_t *bytes, bool m1,
                           const uint32_t index[PR_AXES])
{
    return pe_load(element_get(t, bytes, index), m1, false, t->relu);
}

/* What is stored, or reduced, for an index of the result (elementwise) or the source (reductions). */
static float model_value(const struct pr_task *task, bool m1, const uint8_t *src1, const uint8_t *src2,
                         const uint32_t index[PR_AXES])
{
    uint32_t row[2][PR_AXES] = {{0, 0, 0, index[PR_AXIS_C], index[PR_AXIS_G]},
                                {0, 1, 0, index[PR_AXIS_C], index[PR_AXIS_G]}};
    double b = 0, c = 0;

    if (task->pe.op == PR_PE_AFFINE) {
        b = model_source(&task->src[1], src2, m1, row[0]);
        c = model_source(&task->src[1], src2, m1, row[1]);
    } else if (task->pe.two_sources) {
        b = model_source(&task->src[1], src2, m1, index);
    }
    return model_combine(&task->pe, m1, model_source(&task->src[0], src1, m1, index), b, c);
}

static float model_finish(const struct pr_pe *pe, bool m1, float v)
{
    float final;

    memcpy(&final, &pe->final_scale, sizeof(final));
    v = fp32(v * pe_load(pe->scale, m1, false, false));
    if (pe->bias & 0x7fff)
        v = fp32(v + pe_load(pe->bias, m1, false, false));
    if (pe->relu && v < 0)
        v = 0;
    return fp32((double)v * final);
}

static float model_function(enum pr_pe_function function, bool m1, float v)
{
    if (function == PR_PE_FUNCTION_NONE)
        return v;
    if (v == 0)
        return m1 || !signbit(v) ? INFINITY : -INFINITY;
    if (function == PR_PE_RECIPROCAL)
        return fp32(1 / (double)v);
    if (v < 0)
        return m1 ? 0 : NAN;
    return fp32(1 / (double)fp32(sqrt(v)));
}

static void model_meet(enum pr_pe_reduce reduce, float *lane, float v)
{
    if (reduce == PR_PE_REDUCE_SUM)
        *lane = fp32((double)*lane + v);
    else if (reduce == PR_PE_REDUCE_MAX ? v >= *lane : v <= *lane) /* of equal ones (+0 and -0) the later */
        *lane = v;
}

/*
 * The tree in words: lane w mod 16, rows in the order of d and h; then lane i meets i + 8, i + 4, i + 2, i +
 * 1.
 */
static float model_reduce(const struct pr_task *task, bool m1, const uint8_t *src1, const uint8_t *src2,
                          uint32_t c, uint32_t g)
{
    const struct pr_tensor *t = &task->src[0];
    enum pr_pe_reduce reduce = task->pe.reduce;
    float lane[16], final;

    for (unsigned i = 0; i < 16; i++)
        lane[i] = reduce == PR_PE_REDUCE_MAX ? -INFINITY : reduce == PR_PE_REDUCE_MIN ? INFINITY : 0;
    for (uint32_t d = 0; d < t->extent[PR_AXIS_D]; d++)
        for (uint32_t h = 0; h < t->extent[PR_AXIS_H]; h++)
            for (uint32_t w = 0; w < t->extent[PR_AXIS_W]; w++) {
                uint32_t index[PR_AXES] = {w, h, d, c, g};

                model_meet(reduce, &lane[w % 16], model_value(task, m1, src1, src2, index));
            }
    for (unsigned step = 8; step; step /= 2)
        for (unsigned i = 0; i < step; i++)
            model_meet(reduce, &lane[i], lane[i + step]);
    memcpy(&final, &task->pe.final_scale, sizeof(final));
    lane[0] = fp32((double)lane[0] * final);
    if (task->pe.epsilon & 0x7fff)
        lane[0] = fp32(lane[0] + pe_load(task->pe.epsilon, m1, false, false));
    return model_function(task->pe.function, m1, lane[0]);
}

static void model_run(const struct pr_task *task, bool m1, const uint8_t *a, const uint8_t *b, uint8_t *y)
{
    uint32_t index[PR_AXES] = {0};

    do {
        float v;

        if (task->pe.reduce)
            v = model_reduce(task, m1, a, b, index[PR_AXIS_C], index[PR_AXIS_G]);
        else
            v = model_finish(&task->pe, m1, model_value(task, m1, a, b, index));
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
    pe->final_scale = plain ? fp32_bits(1) : fp32_bits((float)(test_rng_unit(rng) - 0.3));
    if (pick(rng, 0, 9) == 0)
        pe->scale = pe->pre_scale = random_half(rng, ANY);
    pe->relu = pick(rng, 0, 3) == 0;
    pe->abs = pick(rng, 0, 3) == 0;
    if (pick(rng, 0, 4) == 0)
        pe->compare = (enum pr_pe_compare)pick(rng, PR_PE_EQUAL, PR_PE_GREATER_EQUAL);
    if (pe->op == PR_PE_MUL || pe->op == PR_PE_MAX || pe->op == PR_PE_MIN)
        return;
    pe->negate1 = pick(rng, 0, 3) == 0;
    pe->negate2 = pe->two_sources && pick(rng, 0, 3) == 0;
}

/* Rows mostly; or narrow ones, so that lines run along another axis. */
static void random_extents(struct test_rng *rng, struct pr_tensor *t)
{
    t->extent[PR_AXIS_W] = pick(rng, 1, 70);
    t->extent[PR_AXIS_H] = pick(rng, 1, 5);
    t->extent[PR_AXIS_D] = pick(rng, 0, 3) ? 1 : pick(rng, 1, 3);
    t->extent[PR_AXIS_C] = pick(rng, 1, 9);
    t->extent[PR_AXIS_G] = pick(rng, 1, 3);
    if (pick(rng, 0, 3) == 0) {
        t->extent[PR_AXIS_W] = pick(rng, 1, 3);
        t->extent[test_rng_bool(rng) ? PR_AXIS_C : pick(rng, PR_AXIS_H, PR_AXIS_G)] = pick(rng, 20, 50);
    }
}

/* Row after row and plane after plane without a gap, so that axes can be joined. */
static void dense_layout(struct pr_tensor *t, uint32_t broadcast)
{
    uint32_t reach = 2;

    t->home = PR_HOME_DRAM;
    for (unsigned axis = 0; axis < PR_AXES; axis++) {
        t->stride[axis] = broadcast >> axis & 1 ? 0 : reach;
        if (t->stride[axis])
            reach *= t->extent[axis];
    }
}

static void any_layout(struct test_rng *rng, struct pr_tensor *t, bool dense, uint32_t broadcast)
{
    if (dense)
        dense_layout(t, broadcast);
    else
        random_layout(rng, t, broadcast);
}

/* The sources of a task of these extents; those of AFFINE's source 2 are its own. */
static void random_sources(struct test_rng *rng, struct pr_task *task, const uint32_t extent[PR_AXES],
                           bool dense)
{
    for (unsigned i = 0; i < (task->pe.two_sources ? 2u : 1u); i++) {
        struct pr_tensor *t = &task->src[i];
        uint32_t broadcast = pick(rng, 0, 2) ? 0 : pick(rng, 0, 31);

        memcpy(t->extent, extent, sizeof(t->extent));
        if (i == 1 && task->pe.op == PR_PE_AFFINE) {
            t->extent[PR_AXIS_W] = t->extent[PR_AXIS_D] = 1;
            t->extent[PR_AXIS_H] = 2;
            broadcast &= 1u << PR_AXIS_C | 1u << PR_AXIS_G;
        } else if (i == 1 && task->pe.reduce && test_rng_bool(rng)) {
            broadcast = 1u << PR_AXIS_W | 1u << PR_AXIS_H | 1u << PR_AXIS_D; /* as the mean of a norm is */
        }
        any_layout(rng, t, dense, broadcast);
        t->relu = pick(rng, 0, 4) == 0;
    }
}

static void random_elementwise(struct test_rng *rng, struct pr_task *task)
{
    struct pr_pe *pe = &task->pe;
    bool dense = pick(rng, 0, 3) == 0;

    memset(task, 0, sizeof(*task));
    task->unit = PR_UNIT_PE;
    pe->two_sources = pick(rng, 0, 3) != 0;
    pe->op = pe->two_sources      ? (enum pr_pe_op)pick(rng, PR_PE_ADD, PR_PE_AFFINE)
             : test_rng_bool(rng) ? PR_PE_ADD
                                  : PR_PE_SQUARE_OF_SUM;
    random_constants(rng, pe);
    random_extents(rng, &task->dst);
    any_layout(rng, &task->dst, dense, 0);
    task->dst.zero_tail = test_rng_bool(rng);
    random_sources(rng, task, task->dst.extent, dense);
}

/* The destination of a reduction of its source 1. */
static void reduced(struct test_rng *rng, struct pr_task *task)
{
    for (unsigned axis = 0; axis < PR_AXES; axis++)
        task->dst.extent[axis] = axis >= PR_AXIS_C ? task->src[0].extent[axis] : 1;
    random_layout(rng, &task->dst, 0);
}

static void random_reduction(struct test_rng *rng, struct pr_task *task)
{
    struct pr_pe *pe = &task->pe;
    struct pr_tensor source = {0};

    memset(task, 0, sizeof(*task));
    task->unit = PR_UNIT_PE;
    pe->two_sources = test_rng_bool(rng);
    pe->op = pe->two_sources      ? (enum pr_pe_op)pick(rng, PR_PE_ADD, PR_PE_SQUARE_OF_SUM)
             : test_rng_bool(rng) ? PR_PE_ADD
                                  : PR_PE_SQUARE_OF_SUM;
    random_constants(rng, pe);
    pe->relu = false;
    pe->scale = ONE;
    pe->bias = 0;
    pe->reduce = (enum pr_pe_reduce)pick(rng, PR_PE_REDUCE_SUM, PR_PE_REDUCE_MIN);
    pe->function = (enum pr_pe_function)pick(rng, PR_PE_FUNCTION_NONE, PR_PE_RSQRT);
    pe->epsilon = test_rng_bool(rng) ? 0 : test_rng_bool(rng) ? 0x00a8 : random_half(rng, SMALL);
    random_extents(rng, &source);
    if (pick(rng, 0, 3) == 0)
        source.extent[PR_AXIS_W] = 16 * pick(rng, 1, 4);
    else if (pick(rng, 0, 3) == 0) {
        source.extent[PR_AXIS_W] = pick(rng, 1, 4);
        source.extent[PR_AXIS_H] = pick(rng, 8, 40);
    }
    random_sources(rng, task, source.extent, test_rng_bool(rng));
    reduced(rng, task);
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
    random_fp16(rng, s->a.bytes, s->a.size, palette);
    random_fp16(rng, s->b.bytes, s->b.size, palette);
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
    for (unsigned policy = 0; policy < ENG_POLICIES; policy++) {
        memcpy(s.expected, s.y.before, s.y.size);
        model_run(task, policy != ENG_IEEE, s.a.bytes, s.b.bytes, s.expected);
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
    for (uint64_t round = 0; round < 1200; round++) {
        test_rng_init(&rng, 1000 + round);
        random_elementwise(&rng, &task);
        check_task(&rng, &task, round);
    }
    ways_end();
}

/* Rows on 64-byte boundaries with zeros after them, as surfaces have them. */
static void surface_layout(struct pr_tensor *t, const uint32_t extent[PR_AXES])
{
    uint32_t row = (2 * extent[PR_AXIS_W] + 63) / 64 * 64;

    memcpy(t->extent, extent, sizeof(t->extent));
    t->home = PR_HOME_DRAM;
    t->zero_tail = true;
    memcpy(t->stride,
           (uint32_t[]){2, row, row * extent[PR_AXIS_H], row * extent[PR_AXIS_H],
                        row * extent[PR_AXIS_H] * extent[PR_AXIS_C]},
           sizeof(t->stride));
}

/* The same once more, with the result in the place of source 1. */
static void check_in_place(struct test_rng *rng, const struct pr_task *task, uint64_t round)
{
    struct eng_operands operands;
    struct bench s;
    struct way way;

    bench_open(&s, rng, task);
    random_fp16(rng, s.y.before, s.y.size, ANY);
    operands_of(task, s.y.bytes, s.b.bytes, s.y.bytes, &operands);
    memcpy(s.expected, s.y.before, s.y.size);
    model_run(task, true, s.y.before, s.b.bytes, s.expected);
    for (unsigned i = 0; way_get(i, &way); i++) {
        struct eng_compute compute = {.policy = ENG_M1, .path = way.path, .pool = way_begin(&way)};

        memcpy(s.y.bytes, s.y.before, s.y.size);
        eng_pe_run(&compute, task, &operands);
        check_bytes(&task->dst, s.y.bytes, s.expected, s.y.size, &way, round);
    }
    bench_close(&s);
}

/* Every width around one, two and four vectors, without factors: the loops for the most frequent tasks. */
static void rows_of_surfaces(void **state)
{
    static const enum pr_pe_op ops[] = {PR_PE_ADD, PR_PE_ADD, PR_PE_MAX, PR_PE_MIN, PR_PE_MUL};
    struct test_rng rng;

    (void)state;
    for (uint32_t round = 0; round < 5 * 70; round++) {
        uint32_t extent[PR_AXES] = {1 + round % 70, 3, 1, 5, 1};
        struct pr_task task = {.unit = PR_UNIT_PE};

        test_rng_init(&rng, 15000 + round);
        task.pe = (struct pr_pe){.op = ops[round / 70],
                                 .two_sources = true,
                                 .scale = ONE,
                                 .pre_scale = ONE,
                                 .final_scale = 0x3f800000,
                                 .relu = pick(&rng, 0, 3) == 0};
        task.pe.negate2 = task.pe.op == PR_PE_ADD && pick(&rng, 0, 3) == 0;
        surface_layout(&task.src[0], extent);
        surface_layout(&task.src[1], extent);
        surface_layout(&task.dst, extent);
        task.dst.zero_tail = test_rng_bool(&rng);
        check_task(&rng, &task, round);
        check_in_place(&rng, &task, round);
    }
    ways_end();
}

static void reductions(void **state)
{
    struct test_rng rng;
    struct pr_task task;

    (void)state;
    for (uint64_t round = 0; round < 1200; round++) {
        test_rng_init(&rng, 10000 + round);
        random_reduction(&rng, &task);
        check_task(&rng, &task, round);
    }
    ways_end();
}

/* A random task with other extents. */
static void with_extents(struct test_rng *rng, struct pr_task *task, const uint32_t extent[PR_AXES],
                         bool dense)
{
    random_sources(rng, task, extent, dense);
    if (task->pe.reduce) {
        reduced(rng, task);
        return;
    }
    memcpy(task->dst.extent, extent, sizeof(task->dst.extent));
    any_layout(rng, &task->dst, dense, 0);
}

/* Enough elements for several pieces, packed rows and not, and lines longer than a gathered one may be. */
static void large(void **state)
{
    static const uint32_t extent[][PR_AXES] = {
        {3001, 40, 1, 2, 1}, {64, 40, 1, 20, 2}, {1, 1, 1, 5000, 3}, {1, 3000, 1, 2, 2}, {2500, 3, 1, 40, 1},
        {160, 20, 2, 3, 1},  {1, 1, 3, 2, 1500}, {14, 15, 1, 96, 1}, {56, 17, 1, 24, 1},
    };
    struct test_rng rng;
    struct pr_task task;

    (void)state;
    for (uint64_t round = 0; round < 90; round++) {
        test_rng_init(&rng, 20000 + round);
        if (round & 1)
            random_elementwise(&rng, &task);
        else
            random_reduction(&rng, &task);
        with_extents(&rng, &task, extent[round / 2 % (sizeof(extent) / sizeof(extent[0]))], pick(&rng, 0, 1));
        check_task(&rng, &task, round);
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
            uint32_t extent[PR_AXES] = {pick(&rng, 250, 1500), 2, 1, pick(&rng, 1, 9), 1};

            with_extents(&rng, &task, extent, false);
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
        cmocka_unit_test(elementwise),       cmocka_unit_test(rows_of_surfaces),
        cmocka_unit_test(reductions),        cmocka_unit_test(large),
        cmocka_unit_test(in_place),          cmocka_unit_test(destination_on_itself),
        cmocka_unit_test(allocates_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
