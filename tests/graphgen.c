/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operands are chosen among the values so far, the later ones more often. Attributes are random within what
 * usually makes sense; where the graph's own rules refuse the result, another operation is tried.
 */
#include "graphgen.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "compiler/eval/eval.h"
#include "compiler/graph/build.h"

enum { VALUES_MAX = 64, ELEMENTS_MAX = 4096, OUTPUTS_MAX = 6, TRIES = 600 };
static const double LARGEST = 64;

struct generator {
    struct cc_build b;
    struct base_error error;
    struct test_rng rng;
    uint32_t number[VALUES_MAX], truth[VALUES_MAX]; /* values that may be operands: numbers, booleans */
    unsigned numbers, truths;
    double *computed[1 << 14]; /* per value of the graph; NULL: a constant */
    bool used[1 << 14];
};

static uint32_t below(struct generator *r, uint32_t end)
{
    return (uint32_t)test_rng_range(&r->rng, 0, (int64_t)end - 1);
}

static uint32_t between(struct generator *r, uint32_t low, uint32_t high)
{
    return (uint32_t)test_rng_range(&r->rng, low, high);
}

static float real(struct generator *r, double low, double high)
{
    return (float)(low + test_rng_unit(&r->rng) * (high - low));
}

static const struct cc_value *at(const struct generator *r, uint32_t value)
{
    return &r->b.graph->value[value];
}

static uint32_t choose(struct generator *r, const uint32_t *list, unsigned count)
{
    uint32_t a = below(r, count), b = below(r, count);

    return list[a > b ? a : b];
}

static uint32_t some_number(struct generator *r)
{
    return choose(r, r->number, r->numbers);
}

static uint32_t length(struct generator *r)
{
    static const uint32_t lengths[] = {1, 1, 2, 3, 4, 5, 7, 8, 12, 17, 33};

    return lengths[below(r, sizeof(lengths) / sizeof(lengths[0]))];
}

static uint32_t constant(struct generator *r, uint32_t rank, const uint32_t *dims, double low, double high)
{
    uint64_t count = 1;
    float *data;

    for (uint32_t i = 0; i < rank; i++)
        count *= dims[i];
    if (count > 1u << 16) {
        r->b.status = -1;
        return 0;
    }
    data = base_alloc_array(count, sizeof(*data));
    for (uint64_t i = 0; data && i < count; i++)
        data[i] = real(r, low, high);
    return cc_build_const(&r->b, CC_FP32, rank, dims, data);
}

static uint32_t vector(struct generator *r, uint32_t count, double low, double high)
{
    return constant(r, 1, &count, low, high) + 1;
}

/* x with this rank: axes of length 1 in front, or the first axes as one. */
static uint32_t with_rank(struct generator *r, uint32_t x, uint32_t rank)
{
    const struct cc_value *v = at(r, x);
    uint32_t dims[CC_RANK_MAX] = {1, 1, 1, 1, 1}, over = v->rank > rank ? v->rank - rank : 0;

    for (uint32_t i = 0; i < rank; i++)
        if (i + v->rank >= rank)
            dims[i] = v->dim[i + v->rank - rank];
    for (uint32_t i = 0; i < over; i++)
        dims[0] *= v->dim[i];
    return v->rank == rank ? x : cc_build_reshape(&r->b, x, rank, dims);
}

static uint32_t positive(struct generator *r, uint32_t x)
{
    x = cc_build_unary(&r->b, CC_OP_ABS, x);
    return cc_build_binary(&r->b, CC_OP_ADD, x, cc_build_scalar(&r->b, 0.25f));
}

/* A constant that broadcasts against x. */
static uint32_t constant_for(struct generator *r, uint32_t x, double low, double high)
{
    uint32_t rank = between(r, 0, at(r, x)->rank), dims[CC_RANK_MAX];

    for (uint32_t i = 0; i < rank; i++)
        dims[i] = test_rng_bool(&r->rng) ? 1 : at(r, x)->dim[at(r, x)->rank - rank + i];
    return constant(r, rank, dims, low, high);
}

static bool broadcasts(const struct cc_value *x, const struct cc_value *y)
{
    for (uint32_t back = 1; back <= x->rank && back <= y->rank; back++) {
        uint32_t a = x->dim[x->rank - back], b = y->dim[y->rank - back];

        if (a != b && a != 1 && b != 1)
            return false;
    }
    return true;
}

/* Another operand for x: a value that broadcasts, x itself, or a constant. */
static uint32_t partner(struct generator *r, uint32_t x, double low, double high)
{
    for (unsigned i = 0; i < 8; i++) {
        uint32_t y = some_number(r);

        if (y != x && broadcasts(at(r, x), at(r, y)))
            return y;
    }
    return below(r, 8) ? constant_for(r, x, low, high) : x;
}

static uint32_t binary(struct generator *r, enum cc_op_kind kind)
{
    uint32_t x = some_number(r), y;

    switch (kind) {
    case CC_OP_POW:
        if (test_rng_bool(&r->rng))
            return cc_build_binary(&r->b, kind, x, cc_build_scalar(&r->b, (float)between(r, 0, 3)));
        return cc_build_binary(&r->b, kind, positive(r, x), constant_for(r, x, -2, 2));
    case CC_OP_REAL_DIV:
    case CC_OP_FLOOR_DIV:
    case CC_OP_MOD:
        y = test_rng_bool(&r->rng) ? positive(r, partner(r, x, 0.5, 3)) : constant_for(r, x, 0.5, 3);
        return cc_build_binary(&r->b, kind, x, y);
    default: break;
    }
    y = partner(r, x, -2, 2);
    return test_rng_bool(&r->rng) ? cc_build_binary(&r->b, kind, x, y) : cc_build_binary(&r->b, kind, y, x);
}

static uint32_t unary(struct generator *r, enum cc_op_kind kind)
{
    struct cc_attributes a = {.alpha = real(r, 0.1, 1.5), .beta = real(r, 0.1, 1.5)};
    uint32_t x = some_number(r);

    switch (kind) {
    case CC_OP_LOG:
    case CC_OP_RSQRT:
    case CC_OP_INVERSE:
        a.epsilon = real(r, 0, 0.1);
        x = positive(r, x);
        break;
    case CC_OP_SQRT: x = positive(r, x); break;
    case CC_OP_CLIP: a.alpha = real(r, -1, 0); break;
    case CC_OP_THRESHOLD:
    case CC_OP_THRESHOLDED_RELU: a.alpha = real(r, -1, 1); break;
    case CC_OP_LEAKY_RELU: a.alpha = real(r, -0.5, 1); break;
    case CC_OP_LINEAR_ACTIVATION:
    case CC_OP_SIGMOID_HARD: a.beta = real(r, -1, 1); break;
    case CC_OP_GELU: a.gelu = (enum cc_gelu)below(r, 3); break;
    default: break;
    }
    return cc_build_op(&r->b, kind, 1, &x, &a);
}

static uint32_t window(struct generator *r, enum cc_op_kind kind)
{
    uint32_t x = with_rank(r, some_number(r), 4), channels = at(r, x)->dim[1], group, out;
    struct cc_attributes a = {.groups = 1};
    bool pool = kind != CC_OP_CONV && kind != CC_OP_CONV_TRANSPOSE;

    for (unsigned i = 0; i < 2; i++) {
        a.kernel[i] = between(r, 1, 4);
        a.stride[i] = between(r, 1, below(r, 4) ? 2 : 5);
        a.dilation[i] = below(r, 4) ? 1 : between(r, 1, 3);
        a.pad[2 * i] = below(r, a.kernel[i]);
        a.pad[2 * i + 1] = below(r, a.kernel[i]);
    }
    a.ceil = pool && below(r, 3) == 0;
    a.exclude_padding = kind == CC_OP_AVG_POOL && test_rng_bool(&r->rng);
    if (pool)
        return cc_build_op(&r->b, kind, 1, &x, &a);
    if (test_rng_bool(&r->rng))
        for (uint32_t g = 2; g <= channels; g++)
            if (channels % g == 0 && below(r, 2))
                a.groups = g;
    group = channels / a.groups;
    out = between(r, 1, 3);
    if (kind == CC_OP_CONV) {
        a.weight =
            constant(r, 4, (uint32_t[]){out * a.groups, group, a.kernel[0], a.kernel[1]}, -0.5, 0.5) + 1;
    } else {
        a.weight = constant(r, 4, (uint32_t[]){channels, out, a.kernel[0], a.kernel[1]}, -0.5, 0.5) + 1;
        for (unsigned i = 0; i < 2; i++) {
            uint32_t whole = a.stride[i] * (at(r, x)->dim[2 + i] - 1) + a.dilation[i] * (a.kernel[i] - 1) + 1;
            uint32_t cut = a.pad[2 * i] + a.pad[2 * i + 1];

            a.size[i] = whole > cut ? whole - cut + below(r, 2) : 1;
        }
    }
    if (test_rng_bool(&r->rng))
        a.bias = vector(r, out * a.groups, -1, 1);
    return cc_build_op(&r->b, kind, 1, &x, &a);
}

static uint32_t matmul(struct generator *r)
{
    uint32_t x = some_number(r), dims[CC_RANK_MAX] = {1, 1, 1, 1, 1}, rank, inner, out = between(r, 1, 9);
    struct cc_attributes a = {.transpose_x = test_rng_bool(&r->rng), .transpose_y = test_rng_bool(&r->rng)};
    uint32_t y;

    if (at(r, x)->rank < 2)
        x = with_rank(r, x, 2);
    rank = at(r, x)->rank;
    inner = at(r, x)->dim[rank - (a.transpose_x ? 2 : 1)];
    if (below(r, 3) == 0) { /* x by itself, transposed */
        a.transpose_y = !a.transpose_x;
        return cc_build_op(&r->b, CC_OP_MATMUL, 2, (uint32_t[]){x, x}, &a);
    }
    for (uint32_t i = 0; i + 2 < rank && test_rng_bool(&r->rng); i++)
        dims[i] = at(r, x)->dim[i];
    dims[rank - 2] = a.transpose_y ? out : inner;
    dims[rank - 1] = a.transpose_y ? inner : out;
    y = constant(r, rank, dims, -0.5, 0.5);
    return cc_build_op(&r->b, CC_OP_MATMUL, 2, (uint32_t[]){x, y}, &a);
}

static uint32_t linear(struct generator *r)
{
    uint32_t x = some_number(r), in, out = between(r, 1, 20);
    struct cc_attributes a = {0};

    if (at(r, x)->rank == 0)
        x = with_rank(r, x, 1);
    in = at(r, x)->dim[at(r, x)->rank - 1];
    a.weight = constant(r, 2, (uint32_t[]){out, in}, -0.5, 0.5) + 1;
    if (test_rng_bool(&r->rng))
        a.bias = vector(r, out, -1, 1);
    return cc_build_op(&r->b, CC_OP_LINEAR, 1, &x, &a);
}

static uint32_t over_axes(struct generator *r, enum cc_op_kind kind)
{
    uint32_t x = some_number(r), all;
    struct cc_attributes a = {.keep_dims = test_rng_bool(&r->rng), .epsilon = real(r, 0.01, 0.1)};

    if (at(r, x)->rank == 0)
        x = with_rank(r, x, 1);
    all = (1u << at(r, x)->rank) - 1;
    a.axes = between(r, 1, all);
    a.axis = below(r, at(r, x)->rank);
    if (kind == CC_OP_REDUCE_LOG_SUM)
        x = positive(r, x);
    if (kind == CC_OP_LAYER_NORM && test_rng_bool(&r->rng)) {
        uint32_t dims[CC_RANK_MAX], rank = 0;

        for (uint32_t i = 0; i < at(r, x)->rank; i++)
            if (a.axes >> i & 1)
                dims[rank++] = at(r, x)->dim[i];
        a.weight = constant(r, rank, dims, 0.5, 1.5) + 1;
        a.bias = constant(r, rank, dims, -1, 1) + 1;
    }
    return cc_build_op(&r->b, kind, 1, &x, &a);
}

static uint32_t per_channel(struct generator *r, enum cc_op_kind kind)
{
    uint32_t x = with_rank(r, some_number(r), between(r, 3, 4)), channels = at(r, x)->dim[1];
    struct cc_attributes a = {.epsilon = real(r, 0.01, 0.1), .kernel = {between(r, 1, 5)}};

    a.alpha = real(r, 0.1, 1);
    a.beta = real(r, 0.5, 1);
    a.gamma = real(r, 0.3, 1);
    if (kind != CC_OP_LOCAL_RESPONSE_NORM && (kind != CC_OP_INSTANCE_NORM || test_rng_bool(&r->rng))) {
        a.weight = vector(r, channels, 0.25, 1);
        a.bias = vector(r, channels, -1, 1);
    }
    if (kind == CC_OP_BATCH_NORM) {
        a.mean = vector(r, channels, -1, 1);
        a.variance = vector(r, channels, 0.25, 2);
    }
    return cc_build_op(&r->b, kind, 1, &x, &a);
}

static uint32_t blocks(struct generator *r, enum cc_op_kind kind)
{
    uint32_t x = with_rank(r, some_number(r), 4);
    struct cc_attributes a = {.block = {between(r, 1, 3), between(r, 1, 3)},
                              .order =
                                  test_rng_bool(&r->rng) ? CC_DEPTH_BLOCK_FIRST : CC_DEPTH_CHANNEL_FIRST};

    for (unsigned i = 0; i < 4; i++)
        a.pad[i] = kind == CC_OP_DEPTH_TO_SPACE || kind == CC_OP_SPACE_TO_DEPTH ? 0 : below(r, 3);
    return cc_build_op(&r->b, kind, 1, &x, &a);
}

static uint32_t join(struct generator *r, enum cc_op_kind kind)
{
    uint32_t list[20], count = between(r, 1, below(r, 6) ? 4 : 20);
    struct cc_attributes a = {0};

    list[0] = some_number(r);
    if (at(r, list[0])->rank == 0)
        list[0] = with_rank(r, list[0], 1);
    a.axis = below(r, at(r, list[0])->rank + (kind == CC_OP_STACK));
    for (uint32_t i = 1; i < count; i++) {
        uint32_t y = some_number(r);
        bool fits = at(r, y)->rank == at(r, list[0])->rank;

        for (uint32_t k = 0; fits && k < at(r, y)->rank; k++)
            fits = (kind == CC_OP_CONCAT && k == a.axis) || at(r, y)->dim[k] == at(r, list[0])->dim[k];
        list[i] = fits ? y : list[0];
    }
    return cc_build_op(&r->b, kind, count, list, &a);
}

static uint32_t slice(struct generator *r, enum cc_op_kind kind)
{
    uint32_t x = some_number(r);
    struct cc_attributes a = {0};

    for (uint32_t i = 0; i < at(r, x)->rank; i++) {
        uint32_t whole = at(r, x)->dim[i];

        a.begin[i] = test_rng_bool(&r->rng) ? 0 : below(r, whole);
        a.step[i] = between(r, 1, below(r, 3) ? 1 : 3);
        a.size[i] = between(r, 1, (whole - a.begin[i] + a.step[i] - 1) / a.step[i]);
        if (kind == CC_OP_SLICE_BY_INDEX && a.size[i] == 1 && test_rng_bool(&r->rng))
            a.axes |= 1u << i;
    }
    return cc_build_op(&r->b, kind, 1, &x, &a);
}

static uint32_t shapes(struct generator *r, enum cc_op_kind kind)
{
    uint32_t x = some_number(r), rank = at(r, x)->rank, dims[CC_RANK_MAX];
    struct cc_attributes a = {0};

    switch (kind) {
    case CC_OP_TRANSPOSE:
        for (uint32_t i = 0; i < rank; i++)
            a.perm[i] = i;
        for (uint32_t i = rank; i > 1; i--) {
            uint32_t k = below(r, i), kept = a.perm[i - 1];

            a.perm[i - 1] = a.perm[k];
            a.perm[k] = kept;
        }
        break;
    case CC_OP_RESHAPE: { /* a new order of the lengths, and a split of one */
        uint32_t kept = 0;

        for (uint32_t i = 0; i < rank; i++)
            dims[i] = at(r, x)->dim[(i + 1) % rank];
        if (rank > 1 && test_rng_bool(&r->rng)) {
            kept = dims[rank - 1];
            rank--;
            dims[rank - 1] *= kept;
        } else if (rank && rank < CC_RANK_MAX && dims[0] % 2 == 0) {
            memmove(dims + 1, dims, rank * sizeof(*dims));
            dims[0] = 2;
            dims[1] /= 2;
            rank++;
        }
        return cc_build_reshape(&r->b, x, rank, dims);
    }
    case CC_OP_EXPAND_DIMS: a.axes = 1u << below(r, rank + 1); break;
    case CC_OP_SQUEEZE:
        for (uint32_t i = 0; i < rank; i++)
            if (at(r, x)->dim[i] == 1 && test_rng_bool(&r->rng))
                a.axes |= 1u << i;
        break;
    case CC_OP_TILE:
        for (uint32_t i = 0; i < rank; i++)
            a.reps[i] = below(r, 3) ? 1 : between(r, 1, 3);
        break;
    case CC_OP_PAD:
        a.pad_mode = (enum cc_pad)below(r, 3);
        a.alpha = real(r, -1, 1);
        for (uint32_t i = 0; i < rank; i++) {
            a.begin[i] = below(r, 2) ? below(r, at(r, x)->dim[i]) % 4 : 0;
            a.end[i] = below(r, 2) ? below(r, at(r, x)->dim[i]) % 4 : 0;
        }
        break;
    case CC_OP_REVERSE: a.axes = below(r, 1u << rank); break;
    default: /* RESIZE */
        x = with_rank(r, x, 4);
        for (unsigned i = 0; i < 2; i++)
            a.size[i] = at(r, x)->dim[2 + i] * between(r, 1, 3);
        a.resize = (enum cc_resize)below(r, 2);
        a.coordinate = (enum cc_coordinate)below(r, 4);
        a.nearest = (enum cc_nearest)below(r, 4);
        break;
    }
    return cc_build_op(&r->b, kind, 1, &x, &a);
}

static uint32_t gather(struct generator *r)
{
    uint32_t x = some_number(r), count = between(r, 1, 6);
    struct cc_attributes a = {0};
    int32_t index[6];

    if (at(r, x)->rank == 0)
        x = with_rank(r, x, 1);
    a.axis = below(r, at(r, x)->rank);
    for (uint32_t i = 0; i < count; i++)
        index[i] = (int32_t)below(r, at(r, x)->dim[a.axis]);
    a.indices = cc_build_ints(&r->b, 1, &count, index) + 1;
    return cc_build_op(&r->b, CC_OP_GATHER, 1, &x, &a);
}

static uint32_t truth_for(struct generator *r)
{
    return r->truths ? choose(r, r->truth, r->truths) : binary(r, CC_OP_GREATER);
}

static uint32_t logical(struct generator *r, enum cc_op_kind kind)
{
    uint32_t x = truth_for(r), y = x;

    if (kind == CC_OP_LOGICAL_NOT)
        return cc_build_unary(&r->b, kind, x);
    for (unsigned i = 0; i < 4 && y == x; i++)
        y = truth_for(r);
    return cc_build_binary(&r->b, kind, x, y);
}

static uint32_t any_op(struct generator *r, enum cc_op_kind kind)
{
    uint32_t x;

    switch (kind) {
#define CASE(id, name, inputs) case CC_OP_##id:
        CC_OPS_UNARY(CASE)
        return unary(r, kind);
        CC_OPS_BINARY(CASE)
        CC_OPS_COMPARE(CASE)
        return binary(r, kind);
        CC_OPS_LOGICAL(CASE)
        return logical(r, kind);
        CC_OPS_REDUCE(CASE)
#undef CASE
    case CC_OP_SOFTMAX:
    case CC_OP_LOG_SOFTMAX:
    case CC_OP_L2_NORM:
    case CC_OP_LAYER_NORM:
    case CC_OP_CUMSUM: return over_axes(r, kind);
    case CC_OP_CAST: return cc_build_cast(&r->b, truth_for(r), CC_FP16);
    case CC_OP_SELECT:
        x = some_number(r);
        return cc_build_op(&r->b, kind, 3, (uint32_t[]){truth_for(r), x, partner(r, x, -1, 1)}, NULL);
    case CC_OP_CONV:
    case CC_OP_CONV_TRANSPOSE:
    case CC_OP_MAX_POOL:
    case CC_OP_AVG_POOL:
    case CC_OP_L2_POOL: return window(r, kind);
    case CC_OP_LINEAR: return linear(r);
    case CC_OP_MATMUL: return matmul(r);
    case CC_OP_PRELU:
    case CC_OP_SOFTPLUS_PARAMETRIC:
    case CC_OP_LOCAL_RESPONSE_NORM:
    case CC_OP_INSTANCE_NORM:
    case CC_OP_BATCH_NORM: return per_channel(r, kind);
    case CC_OP_DEPTH_TO_SPACE:
    case CC_OP_SPACE_TO_DEPTH:
    case CC_OP_BATCH_TO_SPACE:
    case CC_OP_SPACE_TO_BATCH: return blocks(r, kind);
    case CC_OP_CONCAT:
    case CC_OP_STACK: return join(r, kind);
    case CC_OP_SLICE_BY_INDEX:
    case CC_OP_SLICE_BY_SIZE: return slice(r, kind);
    case CC_OP_GATHER: return gather(r);
    default: return shapes(r, kind);
    }
}

/* Computes what was added from operation `first` on; whether all of it is moderate. */
static bool compute(struct generator *r, uint32_t first)
{
    const struct cc_graph *g = r->b.graph;
    bool moderate = true;

    for (uint32_t i = first; i < g->ops; i++) {
        const struct cc_op *op = &g->op[i];
        uint64_t count = cc_value_elements(&g->value[op->output]);
        const double *operand[CC_INPUTS_MAX];
        double *x = calloc(count, sizeof(*x));

        assert_non_null(x);
        assert_true(op->output < sizeof(r->computed) / sizeof(r->computed[0]));
        r->computed[op->output] = x;
        for (uint32_t k = 0; k < op->inputs; k++)
            operand[k] = r->computed[op->input[k]];
        for (uint64_t k = 0; op->kind == CC_OP_CONST && k < count; k++)
            x[k] = cc_value_number(&g->value[op->output], k);
        if (op->inputs && cc_eval_op(g, op, operand, x, &r->error))
            fail_msg("%s", r->error.text);
        for (uint64_t k = 0; op->inputs && k < count; k++)
            moderate &= fabs(x[k]) <= LARGEST;
        moderate &= count <= ELEMENTS_MAX || !op->inputs;
    }
    return moderate;
}

static void use(struct generator *r, uint32_t first)
{
    const struct cc_graph *g = r->b.graph;

    for (uint32_t i = first; i < g->ops; i++)
        for (uint32_t k = 0; k < g->op[i].inputs; k++)
            r->used[g->op[i].input[k]] = true;
}

static bool try_op(struct generator *r)
{
    uint32_t first = r->b.graph->ops, value;
    /* Those of the host are the last ones; the engine has none of them. */
    enum cc_op_kind kind = (enum cc_op_kind)between(r, CC_OP_CAST, CC_OP_ARG_MAX - 1);
    bool moderate;

    r->b.name = cc_op_name(kind);
    value = any_op(r, kind);
    if (r->b.status) { /* refused by the rules */
        r->b.status = 0;
        compute(r, first);
        return false;
    }
    moderate = compute(r, first);
    if (first == r->b.graph->ops || !moderate || at(r, value)->data)
        return false;
    use(r, first);
    if (at(r, value)->type == CC_BOOL)
        r->truth[r->truths++] = value;
    else
        r->number[r->numbers++] = value;
    return true;
}

static void add_inputs(struct generator *r, struct gg *g)
{
    static const char *const names[GG_INPUTS_MAX] = {"a", "b", "c"};
    uint32_t inputs = between(r, 1, GG_INPUTS_MAX);

    for (uint32_t i = 0; i < inputs; i++) {
        uint32_t rank = between(r, 1, CC_RANK_MAX), dims[CC_RANK_MAX], count = 1;
        int value;

        for (uint32_t k = 0; k < rank; k++) {
            dims[k] = length(r);
            if ((uint64_t)count * dims[k] > ELEMENTS_MAX / 4)
                dims[k] = 1;
            count *= dims[k];
        }
        value = cc_graph_add_value(g->graph, names[i], CC_FP16, rank, dims);
        assert_true(value >= 0);
        assert_int_equal(cc_graph_add_input(g->graph, (uint32_t)value), 0);
        g->input[i] = calloc(count, sizeof(double));
        r->computed[value] = calloc(count, sizeof(double));
        assert_non_null(g->input[i]);
        assert_non_null(r->computed[value]);
        for (uint32_t k = 0; k < count; k++)
            r->computed[value][k] = g->input[i][k] = test_half_to_double(test_rng_fp16_finite(&r->rng, 2));
        r->number[r->numbers++] = (uint32_t)value;
    }
}

/* What no operation uses; a boolean after a cast. */
static void add_outputs(struct generator *r, struct gg *g)
{
    char name[16];

    for (unsigned i = 0; i < r->truths; i++)
        if (!r->used[r->truth[i]] && r->numbers < VALUES_MAX) {
            r->b.name = "cast";
            r->number[r->numbers++] = cc_build_cast(&r->b, r->truth[i], CC_FP16);
        }
    for (unsigned i = r->numbers; i-- > g->graph->inputs && g->graph->outputs < OUTPUTS_MAX;) {
        if (r->used[r->number[i]])
            continue;
        snprintf(name, sizeof(name), "y%u", g->graph->outputs);
        cc_build_name(&r->b, r->number[i], name);
        assert_int_equal(cc_graph_add_output(g->graph, r->number[i]), 0);
    }
    assert_int_equal(r->b.status, 0);
}

void gg_open(struct gg *g, uint64_t number, unsigned ops)
{
    struct generator *r = calloc(1, sizeof(*r));
    unsigned wanted, made = 0;

    assert_non_null(r);
    *g = (struct gg){.graph = cc_graph_create()};
    assert_non_null(g->graph);
    r->b = (struct cc_build){.graph = g->graph, .name = "g", .error = &r->error};
    test_rng_init(&r->rng, number);
    add_inputs(r, g);
    wanted = between(r, 1, ops);
    for (unsigned i = 0; i < TRIES && made < wanted; i++)
        made += try_op(r);
    assert_true(made > 0);
    add_outputs(r, g);
    for (unsigned i = 0; i < sizeof(r->computed) / sizeof(r->computed[0]); i++)
        free(r->computed[i]);
    free(r);
}

void gg_close(struct gg *g)
{
    for (unsigned i = 0; i < GG_INPUTS_MAX; i++)
        free(g->input[i]);
    cc_graph_destroy(g->graph);
}
