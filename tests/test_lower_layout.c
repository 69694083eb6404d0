/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layout operations and rank 5 on the whole machine, with random shapes of ranks 1 to 5, against the
 * definitions in compiler/eval. Moves are exact, so small whole numbers must come out as they went in.
 */
#include <stdlib.h>
#include <string.h>

#include "compiler/graph/build.h"
#include "lower_machine.h"

enum { ROUNDS = 24 };

/* One graph: an input, operations that are added with `b`, an output. */
struct trial {
    struct gr g;
    struct base_error error;
    struct cc_build b;
    uint32_t x;
};

static void begin(struct trial *t, uint64_t stream, struct gr_shape shape)
{
    gr_open(&t->g, stream, GR_WHOLE);
    t->b = (struct cc_build){.graph = t->g.graph, .name = "y", .error = &t->error};
    t->x = gr_input(&t->g, "x", CC_FP16, shape);
}

static struct gr_shape shape_of(struct trial *t, uint32_t value)
{
    const struct cc_value *v = &t->g.graph->value[value];
    struct gr_shape s = {.rank = v->rank};

    memcpy(s.dim, v->dim, sizeof(s.dim));
    return s;
}

static uint32_t end(struct trial *t, uint32_t y)
{
    uint32_t records;

    if (t->b.status)
        fail_msg("%s", t->error.text);
    gr_output(&t->g, y);
    records = gr_check(&t->g, &client);
    gr_close(&t->g);
    return records;
}

static struct gr_shape any_shape(struct test_rng *rng, uint32_t low, uint32_t high)
{
    struct gr_shape s = {.rank = (uint32_t)test_rng_range(rng, low, high)};

    for (uint32_t i = 0; i < s.rank; i++)
        s.dim[i] = (uint32_t)test_rng_range(rng, 1, i + 1 == s.rank ? 45 : 5);
    return s;
}

static uint32_t up_to(struct trial *t, uint32_t low, uint32_t high)
{
    return (uint32_t)test_rng_range(&t->g.rng, low, high);
}

typedef uint32_t adder(struct trial *t);

static void repeat(adder *add, uint64_t stream, uint32_t low, uint32_t high, unsigned rounds)
{
    struct test_rng rng;
    struct trial t;

    test_rng_init(&rng, stream);
    for (unsigned i = 0; i < rounds; i++) {
        begin(&t, stream + 1 + i, any_shape(&rng, low, high));
        end(&t, add(&t));
    }
}

static uint32_t add_transpose(struct trial *t)
{
    struct gr_shape s = shape_of(t, t->x);
    uint32_t perm[CC_RANK_MAX] = {0, 1, 2, 3, 4};

    for (uint32_t i = s.rank; i-- > 1;) {
        uint32_t k = up_to(t, 0, i), kept = perm[i];

        perm[i] = perm[k];
        perm[k] = kept;
    }
    return cc_build_cast(&t->b, cc_build_transpose(&t->b, t->x, perm), CC_FP16);
}

static void transposes(void **state)
{
    (void)state;
    repeat(add_transpose, 100, 2, 5, 2 * ROUNDS);
}

/* The factors of the elements, dealt to the axes of another shape. */
static uint32_t add_reshape(struct trial *t)
{
    uint64_t elements = cc_value_elements(&t->g.graph->value[t->x]);
    struct gr_shape s = {.rank = up_to(t, 1, 5), .dim = {1, 1, 1, 1, 1}};

    for (uint32_t factor = 2; elements > 1; factor++)
        for (; elements % factor == 0; elements /= factor)
            s.dim[up_to(t, 0, s.rank - 1)] *= factor;
    return cc_build_cast(&t->b, cc_build_reshape(&t->b, t->x, s.rank, s.dim), CC_FP16);
}

static void reshapes(void **state)
{
    (void)state;
    repeat(add_reshape, 200, 1, 5, 2 * ROUNDS);
}

static uint32_t add_slice(struct trial *t)
{
    struct gr_shape s = shape_of(t, t->x);
    struct cc_attributes a = {0};

    for (uint32_t i = 0; i < s.rank; i++) {
        a.begin[i] = up_to(t, 0, s.dim[i] - 1);
        a.step[i] = up_to(t, 0, 3);
        a.size[i] = up_to(t, 1, (s.dim[i] - a.begin[i] - 1) / (a.step[i] ? a.step[i] : 1) + 1);
        if (a.size[i] == 1 && test_rng_bool(&t->g.rng))
            a.axes |= 1u << i;
    }
    return cc_build_op(&t->b, CC_OP_SLICE_BY_INDEX, 1, &t->x, &a);
}

static void slices(void **state)
{
    (void)state;
    repeat(add_slice, 300, 1, 5, 2 * ROUNDS);
}

static uint32_t add_tile(struct trial *t)
{
    struct cc_attributes a = {0};

    for (uint32_t i = 0; i < CC_RANK_MAX; i++)
        a.reps[i] = i < shape_of(t, t->x).rank ? up_to(t, 1, 3) : 0;
    return cc_build_op(&t->b, CC_OP_TILE, 1, &t->x, &a);
}

static void tiles(void **state)
{
    (void)state;
    repeat(add_tile, 400, 1, 5, ROUNDS);
}

/* Up to 40 values: x, its slices, and constants. */
static uint32_t add_concat(struct trial *t)
{
    struct gr_shape s = shape_of(t, t->x);
    uint32_t axis = up_to(t, 0, s.rank - 1), count = test_rng_bool(&t->g.rng) ? 40 : up_to(t, 1, 4);
    uint32_t value[CC_INPUTS_MAX], none[CC_RANK_MAX] = {0};

    for (uint32_t i = 0; i < count; i++) {
        struct gr_shape part = s;

        part.dim[axis] = up_to(t, 1, s.dim[axis] < 3 ? s.dim[axis] : 3);
        value[i] = i % 3 == 1   ? gr_const(&t->g, part)
                   : i % 3 == 2 ? cc_build_slice(&t->b, t->x, none, part.dim, NULL)
                                : t->x;
    }
    return cc_build_op(&t->b, CC_OP_CONCAT, count, value, &(struct cc_attributes){.axis = axis});
}

static void concats(void **state)
{
    (void)state;
    repeat(add_concat, 500, 1, 5, ROUNDS);
}

static uint32_t add_stack(struct trial *t)
{
    struct gr_shape s = shape_of(t, t->x);
    uint32_t count = up_to(t, 1, 5), value[8];

    for (uint32_t i = 0; i < count; i++)
        value[i] = i % 2 ? gr_const(&t->g, s) : t->x;
    return cc_build_op(&t->b, CC_OP_STACK, count, value,
                       &(struct cc_attributes){.axis = up_to(t, 0, s.rank)});
}

static void stacks(void **state)
{
    (void)state;
    repeat(add_stack, 600, 1, 4, ROUNDS);
}

static uint32_t add_pad(struct trial *t)
{
    struct gr_shape s = shape_of(t, t->x);
    struct cc_attributes a = {.pad_mode = (enum cc_pad)up_to(t, 0, 2), .alpha = -3.5f};

    for (uint32_t i = 0; i < s.rank; i++) {
        uint32_t most = a.pad_mode == CC_PAD_REFLECT && s.dim[i] < 5 ? s.dim[i] - 1 : 4;

        a.begin[i] = test_rng_bool(&t->g.rng) ? up_to(t, 0, most) : 0;
        a.end[i] = test_rng_bool(&t->g.rng) ? up_to(t, 0, most) : 0;
    }
    return cc_build_cast(&t->b, cc_build_op(&t->b, CC_OP_PAD, 1, &t->x, &a), CC_FP16);
}

static void pads(void **state)
{
    (void)state;
    repeat(add_pad, 700, 1, 5, 2 * ROUNDS);
}

static uint32_t add_reverse(struct trial *t)
{
    struct cc_attributes a = {.axes = up_to(t, 1, (1u << shape_of(t, t->x).rank) - 1)};

    return cc_build_op(&t->b, CC_OP_REVERSE, 1, &t->x, &a);
}

static void reverses(void **state)
{
    (void)state;
    repeat(add_reverse, 800, 1, 5, ROUNDS);
}

static uint32_t add_gather(struct trial *t)
{
    struct gr_shape s = shape_of(t, t->x);
    struct cc_attributes a = {.axis = up_to(t, 0, s.rank - 1)};
    uint32_t rank = up_to(t, 0, 6 - s.rank < 2 ? 6 - s.rank : 2), dim[2], count = 1;
    int32_t index[64];

    for (uint32_t i = 0; i < rank; i++)
        count *= dim[i] = up_to(t, 1, 8);
    for (uint32_t i = 0; i < count; i++)
        index[i] = (int32_t)up_to(t, 0, s.dim[a.axis] - 1);
    a.indices = cc_build_ints(&t->b, rank, dim, index) + 1;
    return cc_build_op(&t->b, CC_OP_GATHER, 1, &t->x, &a);
}

static void gathers(void **state)
{
    (void)state;
    repeat(add_gather, 900, 1, 5, ROUNDS);
}

/* Sums of up to 45 numbers of at most 4 are whole and below 2048. */
static uint32_t add_cumsum(struct trial *t)
{
    struct cc_attributes a = {.axis = up_to(t, 0, shape_of(t, t->x).rank - 1),
                              .exclusive = test_rng_bool(&t->g.rng),
                              .reverse = test_rng_bool(&t->g.rng)};

    return cc_build_op(&t->b, CC_OP_CUMSUM, 1, &t->x, &a);
}

static void cumsums(void **state)
{
    struct trial t;

    (void)state;
    repeat(add_cumsum, 1000, 1, 5, ROUNDS);
    begin(&t, 1099, GR(1, 700, 3));
    t.g.most = 2; /* so that sums of 700 are below 2048 */
    end(&t, cc_build_op(&t.b, CC_OP_CUMSUM, 1, &t.x, &(struct cc_attributes){.axis = 1, .reverse = true}));
}

static void blocks(void **state)
{
    static const uint32_t size[][2] = {{2, 2}, {3, 3}, {2, 4}, {1, 3}};
    struct trial t;

    (void)state;
    for (uint32_t i = 0; i < 16; i++) {
        const uint32_t *k = size[i / 4];
        struct cc_attributes a = {.block = {k[0], k[1]}, .order = (enum cc_depth_order)(i & 1)};
        bool opens = i & 2;

        begin(&t, 1100 + i, opens ? GR(2, 3 * k[0] * k[1], 5, 7) : GR(2, i > 8 ? 33 : 3, 5 * k[0], 7 * k[1]));
        end(&t, cc_build_op(&t.b, opens ? CC_OP_DEPTH_TO_SPACE : CC_OP_SPACE_TO_DEPTH, 1, &t.x, &a));
    }
    for (uint32_t i = 0; i < 8; i++) {
        const uint32_t *k = size[i / 2];
        struct cc_attributes a = {.block = {k[0], k[1]}, .pad = {1, 2, 0, 1}};
        bool opens = i & 1;

        if (!opens) /* the padded lengths are multiples of the block */
            a.pad[1] = k[0] - 1, a.pad[3] = k[1];
        begin(&t, 1200 + i, opens ? GR(2 * k[0] * k[1], 3, 5, 7) : GR(2, 3, 5 * k[0], 7 * k[1]));
        end(&t, cc_build_op(&t.b, opens ? CC_OP_BATCH_TO_SPACE : CC_OP_SPACE_TO_BATCH, 1, &t.x, &a));
    }
}

static uint32_t add_nearest(struct trial *t)
{
    struct cc_attributes a = {.resize = CC_RESIZE_NEAREST,
                              .coordinate = (enum cc_coordinate)up_to(t, 0, 3),
                              .nearest = (enum cc_nearest)up_to(t, 0, 3),
                              .size = {up_to(t, 1, 9), up_to(t, 1, 60)}};

    return cc_build_op(&t->b, CC_OP_RESIZE, 1, &t->x, &a);
}

static uint32_t add_doubled(struct trial *t)
{
    struct gr_shape s = shape_of(t, t->x);
    uint32_t factor = up_to(t, 1, 4);
    struct cc_attributes a = {.resize = CC_RESIZE_NEAREST,
                              .coordinate = CC_ASYMMETRIC,
                              .nearest = CC_ROUND_FLOOR,
                              .size = {s.dim[s.rank - 2] * factor, s.dim[s.rank - 1] * 2}};

    return cc_build_op(&t->b, CC_OP_RESIZE, 1, &t->x, &a);
}

/*
 * The weights and each result are rounded to fp16, 2^-11 of their size at most. Weights of a cubic add up to
 * 1.5 in size at most, so with numbers up to 1 the first axis is off by (1.5 + 1.5) 2^-11, which the second
 * one enlarges to 1.5 times that and adds (2.25 + 2.25) 2^-11 to: 9 2^-11, or 36 times the 2^-13 that
 * gr_check allows a result of 0. The accumulator's grid of 2^-16 is the rest.
 */
static uint32_t add_weighted(struct trial *t)
{
    struct cc_attributes a = {.resize = test_rng_bool(&t->g.rng) ? CC_RESIZE_LINEAR : CC_RESIZE_CUBIC,
                              .cubic = -0.75f,
                              .coordinate = (enum cc_coordinate)up_to(t, 0, 3),
                              .size = {up_to(t, 1, 9), up_to(t, 1, 60)}};

    t->g.numbers = GR_REAL;
    t->g.slack = 40;
    return cc_build_op(&t->b, CC_OP_RESIZE, 1, &t->x, &a);
}

static void resizes(void **state)
{
    (void)state;
    repeat(add_nearest, 1300, 2, 5, ROUNDS);
    repeat(add_doubled, 1400, 2, 5, ROUNDS / 2);
    repeat(add_weighted, 1500, 2, 5, ROUNDS);
}

/* Operands in which any axis may be broadcast, all patterns of five axes. */
static void broadcasts(void **state)
{
    struct trial t;

    (void)state;
    for (uint32_t pattern = 0; pattern < 32; pattern++) {
        struct gr_shape s = GR(2, 3, 4, 2, 5), other = s;
        uint32_t y, cond;

        for (uint32_t i = 0; i < 5; i++)
            if (pattern >> i & 1)
                other.dim[i] = 1;
        begin(&t, 1600 + pattern, s);
        y = gr_input(&t.g, "z", CC_FP16, other);
        cond = cc_build_binary(&t.b, CC_OP_GREATER, t.x, y);
        y = cc_build_binary(&t.b, CC_OP_ADD, t.x, y);
        y = cc_build_op(&t.b, CC_OP_SELECT, 3, (uint32_t[]){cond, y, t.x}, NULL);
        end(&t, cc_build_binary(&t.b, CC_OP_MUL, y, gr_const(&t.g, other)));
    }
}

/* All sets of axes of rank 5; sums of at most 160 numbers up to 4. */
static void reductions(void **state)
{
    struct trial t;

    (void)state;
    for (uint32_t axes = 1; axes < 32; axes++) {
        begin(&t, 1700 + axes, GR(2, 2, 4, 2, 5));
        end(&t, cc_build_reduce(&t.b, axes % 3 ? CC_OP_REDUCE_SUM : CC_OP_REDUCE_MAX, t.x, axes, axes & 1));
    }
}

static void products(void **state)
{
    struct trial t;
    uint32_t y;

    (void)state;
    for (uint32_t pattern = 0; pattern < 8; pattern++) {
        struct gr_shape s = GR(2, 3, 2, 4, 6), other = GR(2, 3, 2, 6, 5);

        for (uint32_t i = 0; i < 3; i++)
            if (pattern >> i & 1)
                (i & 1 ? &s : &other)->dim[i] = 1;
        begin(&t, 1800 + pattern, s);
        y = pattern == 7 ? gr_const(&t.g, GR(6, 5)) : gr_input(&t.g, "z", CC_FP16, other);
        end(&t, cc_build_binary(&t.b, CC_OP_MATMUL, t.x, y));
    }
    begin(&t, 1900, GR(2, 3, 2, 4, 6));
    end(&t, gr_linear(&t.g, t.x, gr_const(&t.g, GR(5, 6)), GR_NONE));
}

/* Along each axis; the softmax's error is that of its tables, see tests/test_lower_ops.c. */
static void norms(void **state)
{
    struct trial t;

    (void)state;
    for (uint32_t axis = 0; axis < 5; axis++) {
        begin(&t, 2000 + axis, GR(3, 2, 4, 2, 6));
        t.g.numbers = GR_REAL;
        t.g.slack = 16;
        end(&t, cc_build_op(&t.b, CC_OP_SOFTMAX, 1, &t.x, &(struct cc_attributes){.axis = axis}));
    }
    for (uint32_t axes = 1; axes < 32; axes += 2) {
        struct cc_attributes a = {.axes = axes, .epsilon = 1e-3f};
        struct gr_shape s = GR(3, 2, 4, 2, 6), kept = {0};

        for (uint32_t i = 0; i < 5; i++)
            if (axes >> i & 1)
                kept.dim[kept.rank++] = s.dim[i];
        begin(&t, 2100 + axes, s);
        t.g.numbers = GR_REAL;
        t.g.slack = 64;
        a.weight = gr_const(&t.g, kept) + 1;
        end(&t, cc_build_op(&t.b, CC_OP_LAYER_NORM, 1, &t.x, &a));
    }
}

/* Rows of equal length, or without padding at their ends: the only descriptor is that of the ReLU. */
static void aliases(void **state)
{
    static const struct {
        struct gr_shape from, to;
        uint32_t records;
    } row[] = {
        {{3, {4, 6, 5}}, {5, {2, 2, 3, 2, 5}}, 1},
        {{3, {1, 4, 192}}, {5, {1, 4, 3, 2, 32}}, 1},
        {{2, {2, 96}}, {1, {192}}, 1},
        {{2, {2, 96}}, {2, {4, 48}}, 2},
    };
    struct trial t;

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        begin(&t, 2400 + i, row[i].from);
        t.x = cc_build_reshape(&t.b, t.x, row[i].to.rank, row[i].to.dim);
        t.x = cc_build_unary(&t.b, CC_OP_RELU, t.x);
        assert_in_range(end(&t, t.x), row[i].records, i == 3 ? 3 : 1);
    }
}

/* Rows of coprime lengths, more elements than the buffer of one piece has. */
static void long_reshapes(void **state)
{
    struct trial t;

    (void)state;
    begin(&t, 2200, GR(1031, 1033));
    end(&t, cc_build_reshape(&t.b, t.x, 2, (uint32_t[]){1033, 1031}));
}

/* Axes that are longer than what a descriptor takes of W, H or C: the operations are cut. */
static void long_axes(void **state)
{
    static const struct gr_shape shapes[] = {
        {3, {1, 17640, 4}}, {4, {1, 2, 1, 16390}},    {4, {1, 65540, 1, 2}},
        {2, {2, 65540}},    {5, {1, 16390, 1, 2, 2}},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        const struct cc_attributes repeat = {.reps = {2, 1, 1, 1, 1}}, last = {.axis = shapes[i].rank - 1};
        uint32_t perm[CC_RANK_MAX], two[2], y;
        struct trial t;

        begin(&t, 2400 + i, shapes[i]);
        for (uint32_t axis = 0; axis < shapes[i].rank; axis++)
            perm[axis] = shapes[i].rank - 1 - axis;
        y = cc_build_op(&t.b, CC_OP_RELU, 1, &t.x, NULL);
        two[0] = t.x;
        two[1] = y;
        y = cc_build_op(&t.b, CC_OP_SUB, 2, two, NULL);
        y = cc_build_op(&t.b, CC_OP_CONCAT, 2, (uint32_t[]){t.x, y}, &last);
        end(&t, cc_build_transpose(&t.b, y, perm));
        begin(&t, 2500 + i, shapes[i]);
        end(&t, cc_build_op(&t.b, CC_OP_TILE, 1, &t.x, &repeat));
    }
}

/* Windows over such axes are computed in pieces, with the padding of the whole. */
static void long_windows(void **state)
{
    static const struct {
        enum cc_op_kind kind;
        uint32_t h, w, kernel[2], stride[2], pad[4];
    } cases[] = {
        {CC_OP_CONV, 1, 16385, {1, 3}, {1, 1}, {0, 0, 1, 1}},
        {CC_OP_CONV, 32800, 2, {5, 2}, {2, 1}, {2, 3, 0, 1}},
        {CC_OP_CONV, 1, 40000, {1, 10}, {1, 5}, {0, 0, 0, 0}},
        {CC_OP_MAX_POOL, 1, 33000, {1, 3}, {1, 2}, {0, 0, 1, 1}},
        {CC_OP_AVG_POOL, 16400, 1, {4, 1}, {1, 1}, {2, 1, 0, 0}},
        {CC_OP_AVG_POOL, 1, 32768, {1, 32768}, {1, 1}, {0, 0, 0, 0}},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cc_attributes a = {.dilation = {1, 1}, .groups = 1};
        struct trial t;

        begin(&t, 2600 + i, GR(1, 2, cases[i].h, cases[i].w));
        memcpy(a.stride, cases[i].stride, sizeof(cases[i].stride));
        memcpy(a.pad, cases[i].pad, sizeof(cases[i].pad));
        if (cases[i].kind == CC_OP_CONV)
            a.weight = gr_const(&t.g, GR(2, 2, cases[i].kernel[0], cases[i].kernel[1])) + 1;
        else
            memcpy(a.kernel, cases[i].kernel, sizeof(cases[i].kernel));
        end(&t, cc_build_op(&t.b, cases[i].kind, 1, &t.x, &a));
    }
}

/* Zeros before a convolution cost nothing: the same records as without them. */
static void padding_of_a_convolution(void **state)
{
    struct cc_attributes pad = {.begin = {0, 0, 1, 2}, .end = {0, 0, 1, 0}};
    uint32_t records[2];
    struct trial t;

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        struct cc_attributes a = {.stride = {1, 1}, .dilation = {1, 1}, .groups = 1};
        uint32_t x;

        begin(&t, 2300, GR(1, 4, 6, 8));
        a.weight = gr_const(&t.g, GR(3, 4, 3, 3)) + 1;
        if (!i)
            memcpy(a.pad, (uint32_t[]){1, 1, 2, 0}, sizeof(a.pad));
        x = i ? cc_build_op(&t.b, CC_OP_PAD, 1, &t.x, &pad) : t.x;
        records[i] = end(&t, cc_build_op(&t.b, CC_OP_CONV, 1, &x, &a));
    }
    assert_int_equal(records[0], records[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transposes),
        cmocka_unit_test(reshapes),
        cmocka_unit_test(slices),
        cmocka_unit_test(tiles),
        cmocka_unit_test(concats),
        cmocka_unit_test(stacks),
        cmocka_unit_test(pads),
        cmocka_unit_test(reverses),
        cmocka_unit_test(gathers),
        cmocka_unit_test(cumsums),
        cmocka_unit_test(blocks),
        cmocka_unit_test(resizes),
        cmocka_unit_test(broadcasts),
        cmocka_unit_test(reductions),
        cmocka_unit_test(products),
        cmocka_unit_test(norms),
        cmocka_unit_test(aliases),
        cmocka_unit_test(long_reshapes),
        cmocka_unit_test(long_axes),
        cmocka_unit_test(long_windows),
        cmocka_unit_test(padding_of_a_convolution),
    };

    return cmocka_run_group_tests(tests, open_machine, close_machine);
}
