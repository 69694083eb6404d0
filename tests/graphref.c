/* SPDX-License-Identifier: Apache-2.0 */
/* Operations by their definitions. */
#include "graphref.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

#define AXES GR_AXES

size_t gr_elements(const struct cc_value *v)
{
    size_t count = 1;

    for (uint32_t i = 0; i < v->rank; i++)
        count *= v->dim[i];
    return count;
}

static size_t count_of(const uint32_t dim[AXES])
{
    size_t count = 1;

    for (unsigned i = 0; i < AXES; i++)
        count *= dim[i];
    return count;
}

static double *zeros(size_t count)
{
    double *x = calloc(count, sizeof(*x));

    assert_non_null(x);
    return x;
}

struct gr_array gr_array_of(const struct cc_value *v)
{
    struct gr_array a = {.dim = {1, 1, 1, 1, 1}};

    for (uint32_t i = 0; i < v->rank; i++)
        a.dim[AXES - v->rank + i] = v->dim[i];
    a.x = zeros(gr_elements(v));
    return a;
}

/* Element at an index, axes of length 1 repeated. */
static double *pick(const struct gr_array *a, const uint32_t index[AXES])
{
    size_t place = 0;

    for (unsigned i = 0; i < AXES; i++)
        place = place * a->dim[i] + (a->dim[i] == 1 ? 0 : index[i]);
    return &a->x[place];
}

static bool step(uint32_t index[AXES], const uint32_t dim[AXES])
{
    for (unsigned i = AXES; i-- > 0;) {
        if (++index[i] < dim[i])
            return true;
        index[i] = 0;
    }
    return false;
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double gelu(enum cc_gelu mode, double x)
{
    switch (mode) {
    case CC_GELU_EXACT: return 0.5 * x * (1 + erf(x / sqrt(2)));
    case CC_GELU_TANH: return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    default: return x * sigmoid(1.702 * x);
    }
}

static double one(const struct cc_op *o, double x)
{
    double alpha = (double)o->a.alpha, beta = (double)o->a.beta, epsilon = (double)o->a.epsilon;

    switch (o->kind) {
    case CC_OP_CAST: return x;
    case CC_OP_LOGICAL_NOT: return x == 0;
    case CC_OP_RELU: return fmax(0, x);
    case CC_OP_SIGMOID: return sigmoid(x);
    case CC_OP_TANH: return tanh(x);
    case CC_OP_ERF: return erf(x);
    case CC_OP_EXP: return exp(x);
    case CC_OP_EXP2: return exp2(x);
    case CC_OP_LOG: return log(x + epsilon);
    case CC_OP_SQRT: return sqrt(x);
    case CC_OP_RSQRT: return 1 / sqrt(x + epsilon);
    case CC_OP_INVERSE: return 1 / (x + epsilon);
    case CC_OP_ABS: return fabs(x);
    case CC_OP_SQUARE: return x * x;
    case CC_OP_SIGN: return (x > 0) - (x < 0);
    case CC_OP_CEIL: return ceil(x);
    case CC_OP_FLOOR: return floor(x);
    case CC_OP_GELU: return gelu(o->a.gelu, x);
    case CC_OP_SILU: return x * sigmoid(x);
    case CC_OP_LEAKY_RELU: return x >= 0 ? x : alpha * x;
    case CC_OP_RELU6: return fmin(fmax(x, 0), 6);
    case CC_OP_CLIP: return fmin(fmax(x, alpha), beta);
    case CC_OP_ELU: return x > 0 ? x : alpha * expm1(x);
    case CC_OP_SOFTPLUS: return x > 30 ? x : log1p(exp(x));
    case CC_OP_SOFTSIGN: return x / (1 + fabs(x));
    case CC_OP_SIGMOID_HARD: return fmin(fmax(alpha * x + beta, 0), 1);
    case CC_OP_THRESHOLD: return fmax(x, alpha);
    case CC_OP_THRESHOLDED_RELU: return x >= alpha ? x : 0;
    case CC_OP_CLAMPED_RELU: return fmin(beta, x >= 0 ? x : alpha * x);
    case CC_OP_LINEAR_ACTIVATION: return alpha * x + beta;
    case CC_OP_SCALED_TANH: return alpha * tanh(beta * x);
    default: fail_msg("%s has no meaning here", cc_op_name(o->kind)); return 0;
    }
}

/* Indeterminate forms are 0: the engine's documented rule. */
static double power(double a, double b)
{
    return a < 0 && b != floor(b) ? 0 : pow(a, b);
}

static double two(enum cc_op_kind kind, double a, double b)
{
    switch (kind) {
    case CC_OP_ADD: return a + b;
    case CC_OP_SUB: return a - b;
    case CC_OP_MUL: return a * b;
    case CC_OP_MAXIMUM: return a > b ? a : b;
    case CC_OP_MINIMUM: return a < b ? a : b;
    case CC_OP_REAL_DIV: return a / b;
    case CC_OP_FLOOR_DIV: return floor(a / b);
    case CC_OP_POW: return power(a, b);
    case CC_OP_EQUAL: return a == b;
    case CC_OP_NOT_EQUAL: return a != b;
    case CC_OP_GREATER: return a > b;
    case CC_OP_GREATER_EQUAL: return a >= b;
    case CC_OP_LESS: return a < b;
    case CC_OP_LESS_EQUAL: return a <= b;
    case CC_OP_LOGICAL_AND: return a != 0 && b != 0;
    case CC_OP_LOGICAL_OR: return a != 0 || b != 0;
    case CC_OP_LOGICAL_XOR: return (a != 0) != (b != 0);
    default: fail_msg("%s has no meaning here", cc_op_name(kind)); return 0;
    }
}

static double conv_at(const struct cc_op *o, const struct gr_array *x, const struct gr_array *w,
                      const double *bias, const uint32_t y[AXES])
{
    const struct cc_attributes *a = &o->a;
    uint32_t first = y[2] / (w->dim[1] / a->groups) * w->dim[2]; /* the group's first input channel */
    double sum = bias ? bias[y[2]] : 0;

    for (uint32_t c = 0; c < w->dim[2]; c++)
        for (uint32_t i = 0; i < w->dim[3]; i++)
            for (uint32_t k = 0; k < w->dim[4]; k++) {
                int64_t row = (int64_t)y[3] * a->stride[0] + i * a->dilation[0] - a->pad[0];
                int64_t column = (int64_t)y[4] * a->stride[1] + k * a->dilation[1] - a->pad[2];

                if (row < 0 || row >= x->dim[3] || column < 0 || column >= x->dim[4])
                    continue;
                sum += *pick(x, (uint32_t[]){0, y[1], first + c, (uint32_t)row, (uint32_t)column}) *
                       *pick(w, (uint32_t[]){0, y[2], c, i, k});
            }
    return sum;
}

static double pool_at(const struct cc_op *o, const struct gr_array *x, const uint32_t y[AXES])
{
    const struct cc_attributes *a = &o->a;
    double sum = 0, most = -INFINITY;

    for (uint32_t i = 0; i < a->kernel[0]; i++)
        for (uint32_t k = 0; k < a->kernel[1]; k++) {
            int64_t row = (int64_t)y[3] * a->stride[0] + i - a->pad[0];
            int64_t column = (int64_t)y[4] * a->stride[1] + k - a->pad[2];
            double element;

            if (row < 0 || row >= x->dim[3] || column < 0 || column >= x->dim[4])
                continue;
            element = *pick(x, (uint32_t[]){y[0], y[1], y[2], (uint32_t)row, (uint32_t)column});
            sum += element;
            most = fmax(most, element);
        }
    return o->kind == CC_OP_MAX_POOL ? most : sum / ((double)a->kernel[0] * a->kernel[1]);
}

static double product_at(const struct cc_op *o, const struct gr_array *x, const struct gr_array *z,
                         const uint32_t y[AXES])
{
    uint32_t inner = x->dim[o->a.transpose_x ? 3 : 4];
    double sum = 0;

    for (uint32_t k = 0; k < inner; k++) {
        uint32_t row = o->a.transpose_x ? k : y[3], column = o->a.transpose_x ? y[3] : k;
        uint32_t row2 = o->a.transpose_y ? y[4] : k, column2 = o->a.transpose_y ? k : y[4];

        sum += *pick(x, (uint32_t[]){y[0], y[1], y[2], row, column}) *
               *pick(z, (uint32_t[]){y[0], y[1], y[2], row2, column2});
    }
    return sum;
}

static double linear_at(const struct gr_array *x, const struct gr_array *w, const double *bias,
                        const uint32_t y[AXES])
{
    double sum = bias ? bias[y[4]] : 0;

    for (uint32_t k = 0; k < x->dim[4]; k++)
        sum += *pick(x, (uint32_t[]){y[0], y[1], y[2], y[3], k}) * *pick(w, (uint32_t[]){0, 0, 0, y[4], k});
    return sum;
}

/* Reductions. A mask has a bit per one of the five axes. */

static uint32_t mask_of(const struct cc_value *v, uint32_t axes)
{
    return axes << (AXES - v->rank);
}

/*
 * fold over the axes of the mask; `map` is applied to each element first,
 * with the element of `with` (or 0) at its place.
 */
static struct gr_array fold(const struct gr_array *x, uint32_t mask, double start,
                            double (*folds)(double, double), double (*map)(double, double),
                            const struct gr_array *with)
{
    struct gr_array kept;
    uint32_t index[AXES] = {0};

    for (unsigned i = 0; i < AXES; i++)
        kept.dim[i] = mask >> i & 1 ? 1 : x->dim[i];
    kept.x = zeros(count_of(kept.dim));
    for (size_t i = 0; i < count_of(kept.dim); i++)
        kept.x[i] = start;
    do {
        double *to = pick(&kept, index);

        *to = folds(*to, map(*pick(x, index), with ? *pick(with, index) : 0));
    } while (step(index, x->dim));
    return kept;
}

static double sums(double sum, double x)
{
    return sum + x;
}

static double itself(double x, double unused)
{
    (void)unused;
    return x;
}

static double squared_from(double x, double mean)
{
    return (x - mean) * (x - mean);
}

static double exp_from(double x, double most)
{
    return exp(x - most);
}

static void divide(struct gr_array *a, double by)
{
    for (size_t i = 0; i < count_of(a->dim); i++)
        a->x[i] /= by;
}

static void reduce(const struct cc_op *o, uint32_t mask, const struct gr_array *x, struct gr_array *y)
{
    bool square = o->kind == CC_OP_REDUCE_L2_NORM || o->kind == CC_OP_REDUCE_SUM_SQUARE;
    double start = o->kind == CC_OP_REDUCE_MAX ? -INFINITY : o->kind == CC_OP_REDUCE_MIN ? INFINITY : 0;
    struct gr_array kept = fold(x, mask, start,
                                o->kind == CC_OP_REDUCE_MAX   ? fmax
                                : o->kind == CC_OP_REDUCE_MIN ? fmin
                                                              : sums,
                                square ? squared_from : itself, NULL);

    if (o->kind == CC_OP_REDUCE_MEAN)
        divide(&kept, (double)(count_of(x->dim) / count_of(kept.dim)));
    for (size_t i = 0; i < count_of(kept.dim); i++)
        y->x[i] = o->kind == CC_OP_REDUCE_L2_NORM ? sqrt(kept.x[i]) : kept.x[i];
    free(kept.x);
}

static void softmax(uint32_t mask, const struct gr_array *x, struct gr_array *y)
{
    struct gr_array most = fold(x, mask, -INFINITY, fmax, itself, NULL);
    struct gr_array sum = fold(x, mask, 0, sums, exp_from, &most);
    uint32_t index[AXES] = {0};

    do
        *pick(y, index) = exp(*pick(x, index) - *pick(&most, index)) / *pick(&sum, index);
    while (step(index, y->dim));
    free(most.x);
    free(sum.x);
}

/* A parameter's element: its axes are those of `mask`, in their order. */
static double along(const double *parameter, double without, uint32_t mask, const struct gr_array *x,
                    const uint32_t index[AXES])
{
    size_t place = 0;

    for (unsigned i = 0; i < AXES; i++)
        if (mask >> i & 1)
            place = place * x->dim[i] + index[i];
    return parameter ? parameter[place] : without;
}

static const double *constant(const struct gr_array *array, uint32_t index)
{
    return index ? array[index - 1].x : NULL;
}

static void norm(const struct cc_graph *graph, const struct cc_op *o, struct gr_array *array)
{
    const struct cc_value *v = &graph->value[o->input[0]];
    const struct gr_array *x = &array[o->input[0]];
    struct gr_array *y = &array[o->output], mean, variance;
    uint32_t channel = mask_of(v, 2), over = mask_of(v, o->a.axes), index[AXES] = {0};
    bool layer = o->kind == CC_OP_LAYER_NORM, batch = o->kind == CC_OP_BATCH_NORM;
    double count;

    if (o->kind == CC_OP_INSTANCE_NORM)
        over = mask_of(v, (1u << v->rank) - 4);
    mean = fold(x, over, 0, sums, itself, NULL);
    count = (double)(count_of(x->dim) / count_of(mean.dim));
    divide(&mean, count);
    variance = fold(x, over, 0, sums, squared_from, &mean);
    divide(&variance, count);
    do {
        uint32_t mask = layer ? over : channel;
        double m = batch ? along(constant(array, o->a.mean), 0, channel, x, index) : *pick(&mean, index);
        double s =
            batch ? along(constant(array, o->a.variance), 1, channel, x, index) : *pick(&variance, index);

        *pick(y, index) = (*pick(x, index) - m) / sqrt(s + (double)o->a.epsilon) *
                              along(constant(array, o->a.weight), 1, mask, x, index) +
                          along(constant(array, o->a.bias), 0, mask, x, index);
    } while (step(index, y->dim));
    free(mean.x);
    free(variance.x);
}

/* Layout. */

static void transpose(const struct cc_op *o, uint32_t rank, const struct gr_array *x, struct gr_array *y)
{
    uint32_t index[AXES] = {0};

    do {
        uint32_t from[AXES] = {0};

        for (uint32_t i = 0; i < rank; i++)
            from[AXES - rank + o->a.perm[i]] = index[AXES - rank + i];
        *pick(y, index) = *pick(x, from);
    } while (step(index, y->dim));
}

static void slice(const struct cc_op *o, uint32_t rank, const struct gr_array *x, struct gr_array *y)
{
    uint32_t index[AXES] = {0}, size[AXES] = {1, 1, 1, 1, 1};
    size_t place = 0;

    for (uint32_t i = 0; i < rank; i++)
        size[AXES - rank + i] = o->a.size[i];
    do {
        uint32_t from[AXES] = {0};

        for (uint32_t i = 0; i < rank; i++)
            from[AXES - rank + i] = o->a.begin[i] + index[AXES - rank + i];
        y->x[place++] = *pick(x, from);
    } while (step(index, size));
}

static void tile(const struct gr_array *x, struct gr_array *y)
{
    uint32_t index[AXES] = {0};

    do {
        uint32_t from[AXES];

        for (unsigned i = 0; i < AXES; i++)
            from[i] = index[i] % x->dim[i];
        *pick(y, index) = *pick(x, from);
    } while (step(index, y->dim));
}

/*
 * Every operand is `inner` elements after each other, once per index of
 * the axes before; of a stack, that is the same.
 */
static void concat(const struct cc_graph *graph, const struct cc_op *o, struct gr_array *array)
{
    const struct cc_value *y = &graph->value[o->output];
    size_t outer = 1, place = 0;

    for (uint32_t i = 0; i < o->a.axis; i++)
        outer *= y->dim[i];
    for (size_t i = 0; i < outer; i++)
        for (uint32_t k = 0; k < o->inputs; k++) {
            size_t inner = gr_elements(&graph->value[o->input[k]]) / outer;

            memcpy(array[o->output].x + place, array[o->input[k]].x + i * inner, inner * sizeof(double));
            place += inner;
        }
}

/* Operations that see more than one element at a time. */
static bool compute_whole(const struct cc_graph *graph, const struct cc_op *o, struct gr_array *array)
{
    const struct cc_value *v = &graph->value[o->input[0]];
    struct gr_array *y = &array[o->output], *x = &array[o->input[0]];

    switch (o->kind) {
#define CASE(id, text, count) case CC_OP_##id:
        CC_OPS_REDUCE(CASE)
#undef CASE
        reduce(o, mask_of(v, o->a.axes), x, y);
        return true;
    case CC_OP_SOFTMAX: softmax(mask_of(v, 1u << o->a.axis), x, y); return true;
    case CC_OP_LAYER_NORM:
    case CC_OP_INSTANCE_NORM:
    case CC_OP_BATCH_NORM: norm(graph, o, array); return true;
    case CC_OP_TRANSPOSE: transpose(o, v->rank, x, y); return true;
    case CC_OP_RESHAPE:
    case CC_OP_EXPAND_DIMS:
    case CC_OP_SQUEEZE: memcpy(y->x, x->x, gr_elements(v) * sizeof(double)); return true;
    case CC_OP_SLICE_BY_INDEX:
    case CC_OP_SLICE_BY_SIZE: slice(o, v->rank, x, y); return true;
    case CC_OP_TILE: tile(x, y); return true;
    case CC_OP_CONCAT:
    case CC_OP_STACK: concat(graph, o, array); return true;
    default: return false;
    }
}

void gr_compute(const struct cc_graph *graph, const struct cc_op *o, struct gr_array *array)
{
    struct gr_array *y = &array[o->output], *a = &array[o->input[0]], *b = &array[o->input[1]],
                    *c = &array[o->input[2]];
    const struct gr_array *w = o->a.weight ? &array[o->a.weight - 1] : NULL;
    const double *bias = constant(array, o->a.bias);
    uint32_t index[AXES] = {0};

    if (compute_whole(graph, o, array))
        return;
    do {
        double *to = pick(y, index);

        switch (o->kind) {
        case CC_OP_CONV: *to = conv_at(o, a, w, bias, index); break;
        case CC_OP_MAX_POOL:
        case CC_OP_AVG_POOL: *to = pool_at(o, a, index); break;
        case CC_OP_LINEAR: *to = linear_at(a, w, bias, index); break;
        case CC_OP_MATMUL: *to = product_at(o, a, b, index); break;
        case CC_OP_SELECT: *to = *pick(*pick(a, index) != 0 ? b : c, index); break;
        default:
            *to = o->inputs == 1 ? one(o, *pick(a, index)) : two(o->kind, *pick(a, index), *pick(b, index));
            break;
        }
    } while (step(index, y->dim));
}
