/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bound of a result has two parts.
 *
 * Propagated: how far the result moves when the operands move inside their bounds. For operations on single
 * elements, and others that are monotone in every operand, the operation is computed again at the ends of the
 * intervals, which also shows the step of a comparison or a floor. For sums of products it is the same sum of
 * absolute values. Softmax and norms have a formula each.
 *
 * Own: what the operation itself loses.
 * - U = 2^-11 of the result: fp16 has 11 bits, and every result is rounded. The same for each constant that
 *   is rounded to fp16, and for every result in the middle of a lowering that has several descriptors.
 * - DENORMAL = 2^-14: below it, a multiply-accumulate takes operands for 0 and stores 0.
 * - 2^-24 of the sum of absolute values, per term: the chain is fp32.
 * - tables: linear interpolation between 33 knots that are rounded to fp16. The errors of the H13 tables over
 *   all fp16 values are published figures; those of the tables of our own follow from h^2 / 8 max |f''|.
 * - at 2^15 a sum of products is infinite, at 65520 any result, and at 2^12 what is read from the middle of a
 *   row: no promise from there on.
 */
#include "errorbound.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "compiler/graph/build.h"
#include "support.h"

static const double U = 0x1p-11, DENORMAL = 0x1p-14, CEILING = 32752, MOST = 65504, SLICED = 4094;

static uint64_t count_of(const struct eb *b, uint32_t value)
{
    return cc_value_elements(&b->graph->value[value]);
}

static double *room(uint64_t count)
{
    double *x = calloc(count, sizeof(*x));

    assert_non_null(x);
    return x;
}

static double rounded(double x)
{
    return fabs(x) > 65519 ? copysign(INFINITY, x) : test_half_to_double(test_half_from_double(x));
}

static void evaluate(const struct cc_graph *graph, const struct cc_op *op, const double *const *operand,
                     double *y)
{
    struct base_error error;

    if (cc_eval_op(graph, op, operand, y, &error))
        fail_msg("%s", error.text);
}

/* Of a constant: it is rounded to fp16 once. Integers and booleans are exact. */
static void bound_constant(struct eb *b, uint32_t value)
{
    const struct cc_value *v = &b->graph->value[value];

    if (b->bound[value])
        return;
    b->bound[value] = room(cc_value_elements(v));
    for (uint64_t i = 0; v->type == CC_FP32 && i < cc_value_elements(v); i++)
        b->bound[value][i] = fabs(rounded(cc_value_number(v, i)) - cc_value_number(v, i));
}

void eb_open(struct eb *b, const struct cc_graph *graph)
{
    struct base_error error;

    *b = (struct eb){.graph = graph};
    if (cc_eval_open(&b->exact, graph, &error) || cc_graph_copy(graph, &b->magnitude))
        fail_msg("There is no memory for the bounds of a graph.");
    b->bound = calloc(graph->values, sizeof(*b->bound));
    assert_non_null(b->bound);
    for (uint32_t i = 0; i < graph->values; i++) {
        struct cc_value *v = &b->magnitude->value[i];

        for (uint64_t k = 0; v->data && k < cc_value_elements(v); k++) {
            if (v->type == CC_FP16)
                ((uint16_t *)v->data)[k] &= 0x7fff;
            if (v->type == CC_FP32)
                ((float *)v->data)[k] = fabsf(((float *)v->data)[k]);
        }
    }
}

void eb_close(struct eb *b)
{
    for (uint32_t i = 0; i < b->graph->values; i++)
        free(b->bound[i]);
    free(b->bound);
    cc_graph_destroy(b->magnitude);
    cc_eval_close(&b->exact);
}

void eb_set(struct eb *b, uint32_t value, const double *elements)
{
    struct base_error error;

    if (cc_eval_set(&b->exact, value, elements, &error))
        fail_msg("%s", error.text);
    free(b->bound[value]);
    b->bound[value] = room(count_of(b, value));
    for (uint64_t i = 0; i < count_of(b, value); i++)
        b->bound[value][i] = fabs(rounded(elements[i]) - elements[i]);
}

/* Propagated. */

struct operands {
    const double *x[CC_INPUTS_MAX], *e[CC_INPUTS_MAX];
    uint64_t count[CC_INPUTS_MAX];
};

static struct operands operands_of(const struct eb *b, const struct cc_op *op)
{
    struct operands o;

    for (uint32_t i = 0; i < op->inputs; i++) {
        o.x[i] = b->exact.value[op->input[i]];
        o.e[i] = b->bound[op->input[i]];
        o.count[i] = count_of(b, op->input[i]);
    }
    return o;
}

/* e grows to how far the operation moves when operand k moves by step[k] bounds. */
static void move_operands(const struct eb *b, const struct cc_op *op, const struct operands *o,
                          const double *step, double *e)
{
    uint64_t count = count_of(b, op->output);
    const double *y = b->exact.value[op->output];
    double *moved[CC_INPUTS_MAX], *result = room(count);

    for (uint32_t k = 0; k < op->inputs; k++) {
        moved[k] = room(o->count[k]);
        for (uint64_t i = 0; i < o->count[k]; i++)
            moved[k][i] = o->x[k][i] + (o->e[k][i] == 0 ? 0 : step[k] * o->e[k][i]);
    }
    evaluate(b->graph, op, (const double *const *)moved, result);
    for (uint64_t i = 0; i < count; i++) {
        double distance = result[i] == y[i] ? 0 : fabs(result[i] - y[i]);

        e[i] = isnan(distance) ? INFINITY : fmax(e[i], distance);
    }
    for (uint32_t k = 0; k < op->inputs; k++)
        free(moved[k]);
    free(result);
}

/* Every combination of ends, and of the middle; of one operand, four places. */
static void bound_corners(const struct eb *b, const struct cc_op *op, double *e)
{
    static const double place[] = {-1, -0.5, 0.5, 1};
    struct operands o = operands_of(b, op);
    double step[3];
    unsigned all = 1;

    for (unsigned i = 0; op->inputs == 1 && i < BASE_COUNT_OF(place); i++)
        move_operands(b, op, &o, &place[i], e);
    for (uint32_t i = 0; i < op->inputs; i++)
        all *= 3;
    for (unsigned i = 0; op->inputs > 1 && i < all; i++) {
        for (unsigned k = 0, rest = i; k < op->inputs; k++, rest /= 3)
            step[k] = (double)(rest % 3) - 1;
        move_operands(b, op, &o, step, e);
    }
}

/* EQUAL and NOT_EQUAL: 1 where the two intervals overlap. Their ends alone need not be equal anywhere. */
static void bound_equality(const struct eb *b, const struct cc_op *op, double *e)
{
    struct operands o = operands_of(b, op);
    uint64_t count = count_of(b, op->output);
    double *moved[2] = {room(o.count[0]), room(o.count[1])}, *result[2] = {room(count), room(count)};
    struct cc_op order = *op;

    for (unsigned n = 0; n < 2; n++) {
        for (unsigned k = 0; k < 2; k++)
            for (uint64_t i = 0; i < o.count[k]; i++)
                moved[k][i] = o.x[k][i] + (k == n ? o.e[k][i] : -o.e[k][i]);
        order.kind = n ? CC_OP_LESS : CC_OP_GREATER;
        evaluate(b->graph, &order, (const double *const *)moved, result[n]);
    }
    for (uint64_t i = 0; i < count; i++)
        e[i] = fmax(e[i], result[0][i] * result[1][i]);
    for (unsigned k = 0; k < 2; k++) {
        free(moved[k]);
        free(result[k]);
    }
}

/* Infinite where operand k of two reaches 0: a sum with an indicator broadcasts it. */
static void bound_zero(const struct eb *b, const struct cc_op *op, uint32_t k, double *e)
{
    struct operands o = operands_of(b, op);
    struct cc_op sum = *op;
    double *part[2] = {room(o.count[0]), room(o.count[1])}, *result = room(count_of(b, op->output));

    for (uint64_t i = 0; i < o.count[k]; i++)
        part[k][i] = fabs(o.x[k][i]) <= o.e[k][i] ? INFINITY : 0;
    sum.kind = CC_OP_ADD;
    evaluate(b->graph, &sum, (const double *const *)part, result);
    for (uint64_t i = 0; i < count_of(b, op->output); i++)
        e[i] += result[i];
    for (unsigned i = 0; i < 2; i++)
        free(part[i]);
    free(result);
}

/*
 * Sums of products: e = |x + e| |w| - |x| |w|, and `size` the sum of the absolute values of its terms.
 * `flushed`: operands below DENORMAL may count as 0.
 */
static void bound_sums(const struct eb *b, const struct cc_op *op, bool flushed, double *e, double *size)
{
    struct operands o = operands_of(b, op);
    struct cc_op plain = *op;
    double *low[CC_INPUTS_MAX], *high[CC_INPUTS_MAX];
    uint64_t count = count_of(b, op->output);

    plain.a.alpha = fabsf(op->a.alpha);
    for (uint32_t k = 0; k < op->inputs; k++) {
        low[k] = room(o.count[k]);
        high[k] = room(o.count[k]);
        for (uint64_t i = 0; i < o.count[k]; i++) {
            double x = fabs(o.x[k][i]), error = o.e[k][i];

            if (flushed && x - error < DENORMAL)
                error += fmin(x + error, DENORMAL);
            low[k][i] = x;
            high[k][i] = x + error;
        }
    }
    evaluate(b->magnitude, &plain, (const double *const *)low, size);
    evaluate(b->magnitude, &plain, (const double *const *)high, e);
    for (uint64_t i = 0; i < count; i++)
        e[i] = isnan(e[i] - size[i]) ? INFINITY : e[i] - size[i];
    for (uint32_t k = 0; k < op->inputs; k++) {
        free(low[k]);
        free(high[k]);
    }
}

/* Own errors. */

/*
 * Of tables: relative and absolute. Figures of the H13 tables over all fp16 values, in percent for those that
 * reduce the range. Sine: knots 1/16 apart, (1/16)^2 / 8 and three roundings of numbers up to 2. Arc tangent:
 * knots 1/32 apart, |f''| < 0.65, of 1/x by the table of reciprocals above 1.
 */
static const struct {
    enum cc_op_kind kind;
    double relative, absolute;
} tables[] = {
    {CC_OP_SIGMOID, 0, 0.0034}, {CC_OP_TANH, 0, 0.0017},     {CC_OP_ERF, 0, 0.0023},
    {CC_OP_SILU, 0, 0.015},     {CC_OP_SOFTPLUS, 0, 0.002},  {CC_OP_EXP, 0.003, 0},
    {CC_OP_EXP2, 0.0009, 0},    {CC_OP_SQRT, 0.0009, 0},     {CC_OP_RSQRT, 0.0015, 0},
    {CC_OP_INVERSE, 0.0008, 0}, {CC_OP_SOFTSIGN, 0.0008, 0}, {CC_OP_SIN, 0, 0.0025},
    {CC_OP_COS, 0, 0.0025},     {CC_OP_ATAN, 0, 0.0015},     {CC_OP_REDUCE_L2_NORM, 0.0009, 0},
};

/*
 * log2: the range is [1/2, 1), knots are 1/64 apart and |f''| is at most 4 / ln 2, so (1/64)^2 / 8 * 5.8 =
 * 1.8e-4; a knot near 1 is rounded by 2.5e-4. Then ln 2 as fp16.
 */
static const double LOG_TABLE = 4.3e-4;

/* elu: knots are 1/4 apart below 0, and |f''| is at most alpha: (1/4)^2 / 8; a knot is rounded. */
static const double ELU_TABLE = 0.0078125 + 0x1p-11;

static double own_unary(const struct cc_op *op, double x, double y)
{
    double alpha = fabs((double)op->a.alpha), beta = fabs((double)op->a.beta), own = U * fabs(y);

    for (unsigned i = 0; i < BASE_COUNT_OF(tables); i++)
        if (tables[i].kind == op->kind)
            own += tables[i].relative * fabs(y) + tables[i].absolute;
    switch (op->kind) {
    case CC_OP_GELU: /* two forms share a table, |tanh form - exact| < 0.0005; or x times a sigmoid */
        return own + (op->a.gelu == CC_GELU_SIGMOID ? (0.0034 + 2 * U) * fabs(x) : 0.0062 + 0.0005);
    case CC_OP_ELU: return own + ELU_TABLE * alpha + U * fabs(y);
    case CC_OP_SELU: return own + ELU_TABLE * alpha * beta + U * fabs(y);
    case CC_OP_LOG: return own + LOG_TABLE + U * fabs(y);
    case CC_OP_SOFTSIGN: return own + 2 * U * fabs(y);
    case CC_OP_SCALED_TANH: return own + 0.0017 * alpha + U * (fabs(y) + alpha * fmin(beta * fabs(x), 1));
    case CC_OP_LEAKY_RELU: return own + U * fabs(y);
    case CC_OP_CLAMPED_RELU:
    case CC_OP_CLIP:
    case CC_OP_THRESHOLD:
    case CC_OP_THRESHOLDED_RELU: return own + U * fabs(y);
    case CC_OP_SIGMOID_HARD:
    case CC_OP_LINEAR_ACTIVATION: return own + U * (alpha * fabs(x) + beta);
    case CC_OP_HARD_SWISH: return own + 2 * U * fabs(x) * (alpha * fabs(x) + beta);
    /* exact: the results are whole numbers, or x itself */
    case CC_OP_SIGN:
    case CC_OP_LOGICAL_NOT: return 0;
    default: return own;
    }
}

/* Singular at 0, with an epsilon that is rounded: infinite if the interval reaches it. */
static bool is_singular(const struct cc_op *op, double x, double e)
{
    double at = x + (double)op->a.epsilon, reach = e + U * fabs((double)op->a.epsilon);

    switch (op->kind) {
    case CC_OP_LOG:
    case CC_OP_RSQRT: return at <= reach || at < DENORMAL;
    case CC_OP_SQRT: return x < e;
    case CC_OP_INVERSE: return fabs(at) <= reach || fabs(at) < DENORMAL;
    case CC_OP_SIN:
    case CC_OP_COS: return fabs(x) > 1600; /* 512 pi: the nearest multiple is no fp16 number */
    default: return false;
    }
}

static void own_elements(const struct eb *b, const struct cc_op *op, double *e)
{
    const double *x = b->exact.value[op->input[0]], *y = b->exact.value[op->output];

    for (uint64_t i = 0; i < count_of(b, op->output); i++) {
        e[i] += own_unary(op, x[i], y[i]);
        if (is_singular(op, x[i], b->bound[op->input[0]][i]))
            e[i] = INFINITY;
        /* the step is at alpha as an fp16 number */
        if (op->kind == CC_OP_THRESHOLDED_RELU &&
            fabs(x[i] - (double)op->a.alpha) <= b->bound[op->input[0]][i] + U * fabs((double)op->a.alpha))
            e[i] += fabs(x[i]) + b->bound[op->input[0]][i];
        /* an epsilon that is rounded moves x, at most by the slope */
        if (op->kind == CC_OP_LOG || op->kind == CC_OP_RSQRT || op->kind == CC_OP_INVERSE)
            e[i] += U * fabs((double)op->a.epsilon / (x[i] + (double)op->a.epsilon)) * fmax(fabs(y[i]), 1);
    }
}

/* The exponent of a POW, if it is one number. */
static double exponent_of(const struct eb *b, const struct cc_op *op)
{
    const struct cc_value *v = &b->graph->value[op->input[1]];

    return v->data && cc_value_elements(v) == 1 ? cc_value_number(v, 0) : NAN;
}

/*
 * x^n of a whole n: products, each rounded, and the table of reciprocals. Else 2^(n log2 x): the error of the
 * logarithm and the rounding of the product are multiplied by n ln 2.
 */
static double own_power(double n, double y)
{
    double log2y = fabs(log2(fmax(fabs(y), 1e-9)));

    if (n == floor(n))
        return (fabs(n) + 1) * U * fabs(y) + (n < 0 ? 0.0008 * fabs(y) : 0);
    return fabs(y) *
           (M_LN2 * ((isnan(n) ? 8 : fabs(n)) * (LOG_TABLE + U * log2y) + 2 * U * log2y) + 0.0009 + U);
}

static void own_pairs(const struct eb *b, const struct cc_op *op, double *e)
{
    const double *y = b->exact.value[op->output];
    double n = op->kind == CC_OP_POW ? exponent_of(b, op) : 0;

    for (uint64_t i = 0; i < count_of(b, op->output); i++)
        switch (op->kind) {
        case CC_OP_REAL_DIV: e[i] += fabs(y[i]) * (0.0008 + 3 * U) + DENORMAL * DENORMAL; break;
        case CC_OP_POW: e[i] += own_power(n, y[i]); break;
        /* a step goes to 0, which is at most twice as far as the end of an interval with the step in it */
        case CC_OP_MOD: e[i] = 2 * e[i] + 4 * U * fabs(y[i]); break;
        default: e[i] += cc_op_gives_bool(op->kind) ? 0 : U * fabs(y[i]); break;
        }
    if (op->kind == CC_OP_EQUAL || op->kind == CC_OP_NOT_EQUAL)
        bound_equality(b, op, e);
    if (op->kind == CC_OP_REAL_DIV || op->kind == CC_OP_MOD || op->kind == CC_OP_FLOOR_DIV)
        bound_zero(b, op, 1, e);
    if (op->kind == CC_OP_POW && !(n >= 0 && n == floor(n)))
        bound_zero(b, op, 0, e);
}

/* Weights are rounded to fp16 unless they are fp16 numbers already. */
static double rounding_of_weights(const struct eb *b, const struct cc_op *op)
{
    if (op->kind == CC_OP_AVG_POOL || op->kind == CC_OP_RESIZE)
        return U;
    if (op->a.weight && b->graph->value[op->a.weight - 1].type == CC_FP32)
        return U;
    return op->a.bias && b->graph->value[op->a.bias - 1].type == CC_FP32 ? U : 0;
}

static uint64_t terms_of(const struct eb *b, const struct cc_op *op)
{
    const struct cc_value *x = &b->graph->value[op->input[0]];
    const struct cc_value *w = op->a.weight ? &b->graph->value[op->a.weight - 1] : NULL;

    if (w)
        return cc_value_elements(w) / w->dim[op->kind == CC_OP_CONV_TRANSPOSE ? 1 : 0];
    if (op->kind == CC_OP_MATMUL)
        return x->dim[x->rank - (op->a.transpose_x ? 2 : 1)];
    if (op->kind == CC_OP_AVG_POOL)
        return (uint64_t)op->a.kernel[0] * op->a.kernel[1];
    return cc_value_elements(x) / count_of(b, op->output) + 1;
}

/* A reduction may be made of two, and so may a sum of products that is too long: a rounding of the parts. */
static void bound_products(const struct eb *b, const struct cc_op *op, double *e)
{
    const double *y = b->exact.value[op->output];
    uint64_t count = count_of(b, op->output);
    double *size = room(count), chain = 0x1p-24 * (double)terms_of(b, op),
           weights = rounding_of_weights(b, op);

    bound_sums(b, op, true, e, size);
    for (uint64_t i = 0; i < count; i++) {
        e[i] += U * fabs(y[i]) + (chain + weights) * size[i];
        if (size[i] + e[i] >= CEILING)
            e[i] = INFINITY;
    }
    free(size);
}

static void bound_reduction(const struct eb *b, const struct cc_op *op, double *e)
{
    const double *y = b->exact.value[op->output];
    uint64_t count = count_of(b, op->output), terms = terms_of(b, op);
    double *size = room(count);
    bool mean = op->kind == CC_OP_REDUCE_MEAN;

    bound_sums(b, op, false, e, size);
    for (uint64_t i = 0; i < count; i++) {
        e[i] += 2 * U * fabs(y[i]) + (0x1p-24 * (double)terms + U) * size[i] +
                (op->kind == CC_OP_REDUCE_L2_NORM ? (0.0009 + U) * y[i] : 0);
        if ((mean ? size[i] * (double)terms : size[i]) >= MOST)
            e[i] = INFINITY;
        /* the squares of a norm are a result in the middle */
        if (op->kind == CC_OP_REDUCE_L2_NORM)
            e[i] = size[i] * size[i] >= MOST ? INFINITY : y[i] * y[i] < DENORMAL ? e[i] + 0x1p-7 : e[i];
    }
    free(size);
}

/* Softmax and norms: rows of elements that belong together. Axis lengths outside and inside of the axes. */
struct line {
    uint64_t depth, step, first;
};

static struct line line_of(const struct cc_value *v, uint32_t axis, uint64_t number)
{
    struct line l = {.depth = v->dim[axis], .step = 1};

    for (uint32_t i = axis + 1; i < v->rank; i++)
        l.step *= v->dim[i];
    l.first = number / l.step * l.step * l.depth + number % l.step;
    return l;
}

/*
 * e^(x - most) / sum. The difference is rounded; the table of exp has 0.3 percent, once for the element and
 * once for the sum; reciprocal and products are rounded. Powers below DENORMAL count as 0.
 */
static void bound_softmax(const struct eb *b, const struct cc_op *op, double *e)
{
    const struct cc_value *v = &b->graph->value[op->input[0]];
    const double *x = b->exact.value[op->input[0]], *y = b->exact.value[op->output],
                 *bound = b->bound[op->input[0]];
    bool logarithm = op->kind == CC_OP_LOG_SOFTMAX;

    for (uint64_t n = 0; n < cc_value_elements(v) / v->dim[op->a.axis]; n++) {
        struct line l = line_of(v, op->a.axis, n);
        double most = -INFINITY, error = 0, lost = 0;

        for (uint64_t i = 0; i < l.depth; i++) {
            most = fmax(most, x[l.first + i * l.step]);
            error = fmax(error, bound[l.first + i * l.step]);
        }
        for (uint64_t i = 0; i < l.depth; i++)
            lost += fmin(exp(x[l.first + i * l.step] - most), DENORMAL);
        for (uint64_t i = 0; i < l.depth; i++) {
            uint64_t at = l.first + i * l.step;
            double turns = fabs(x[at] - most), relative;

            relative = expm1(2 * error + 2 * U * (turns + 1)) + 2 * 0.003 + 0.0008 + 4 * U + lost;
            e[at] = logarithm ? fabs(y[at]) * 2 * U + relative + LOG_TABLE : y[at] * relative + DENORMAL;
        }
    }
}

static double parameter(const struct eb *b, uint32_t index, uint64_t i, double without)
{
    return index ? fabs(cc_value_number(&b->graph->value[index - 1], i)) : without;
}

/* Which scale element i has, and how many groups of elements a norm has. */
static uint64_t scale_of(const struct cc_op *op, const struct cc_value *v, uint64_t i)
{
    uint64_t place = 0, step = 1, rest = i;
    uint32_t axes = op->kind == CC_OP_LAYER_NORM ? op->a.axes : 2;

    for (uint32_t k = v->rank; k-- > 0; rest /= v->dim[k])
        if (axes >> k & 1) {
            place += rest % v->dim[k] * step;
            step *= v->dim[k];
        }
    return place;
}

static uint64_t group_of(const struct cc_op *op, const struct cc_value *v, uint64_t i, uint64_t *groups)
{
    uint32_t whole = (1u << v->rank) - 1;
    uint32_t over =
        op->kind == CC_OP_LAYER_NORM ? op->a.axes : whole & ~(op->kind == CC_OP_L2_NORM ? 1u : 3u);
    uint64_t place = 0, rest = i;

    *groups = 1;
    for (uint32_t k = v->rank; k-- > 0; rest /= v->dim[k])
        if (!(over >> k & 1)) {
            place += rest % v->dim[k] * *groups;
            *groups *= v->dim[k];
        }
    return place;
}

struct group {
    double count, mean, sum, squares, error, errors;
};

/*
 * (x - mean) / sqrt(variance + epsilon): mean, difference, square, variance and result are rounded, rsqrt has
 * a table. A bound of the operands moves the difference and, at most as much, the deviation.
 */
static void bound_norm(const struct eb *b, const struct cc_op *op, double *e)
{
    const struct cc_value *v = &b->graph->value[op->input[0]];
    const double *x = b->exact.value[op->input[0]], *y = b->exact.value[op->output],
                 *bound = b->bound[op->input[0]];
    uint64_t count = cc_value_elements(v), groups;
    struct group *group;
    bool centred = op->kind != CC_OP_L2_NORM;

    group_of(op, v, 0, &groups);
    group = calloc(groups, sizeof(*group));
    assert_non_null(group);
    for (uint64_t i = 0; i < count; i++) {
        struct group *g = &group[group_of(op, v, i, &groups)];

        g->count++;
        g->sum += x[i];
        g->error = fmax(g->error, bound[i]);
    }
    for (uint64_t i = 0; i < count; i++) {
        struct group *g = &group[group_of(op, v, i, &groups)];
        double d = x[i] - (centred ? g->sum / g->count : 0);

        g->squares += d * d;
    }
    for (uint64_t i = 0; i < count; i++) {
        const struct group *g = &group[group_of(op, v, i, &groups)];
        double n = centred ? g->count : 1, mean = centred ? fabs(g->sum / g->count) : 0;
        double variance = g->squares / n, deviation = sqrt(variance + (double)op->a.epsilon);
        double d = fabs(x[i] - (centred ? g->sum / g->count : 0)), scale = 1;
        /* how far a difference is off; of an L2 norm all elements add up */
        double error = 2 * g->error + U * (mean + g->error) + U * d;
        double whole = centred ? error + U * deviation : sqrt(g->count) * error;

        if (centred)
            scale = parameter(b, op->a.weight, scale_of(op, v, i), 1);
        if (deviation * deviation < 0x1p-9 || whole > deviation / 4 || g->squares >= MOST) {
            e[i] = INFINITY;
            continue;
        }
        e[i] = scale *
               ((error + 4 * U * d) / deviation + d / deviation * (2 * whole / deviation + 0.0015 + 6 * U));
        e[i] += 2 * U * (fabs(y[i]) + (centred ? parameter(b, op->a.bias, scale_of(op, v, i), 0) : 0));
    }
    free(group);
}

/* Scale and offset per channel, both rounded to fp16. */
static void bound_batch_norm(const struct eb *b, const struct cc_op *op, double *e)
{
    const struct cc_value *v = &b->graph->value[op->input[0]];
    const double *x = b->exact.value[op->input[0]], *y = b->exact.value[op->output];

    for (uint64_t i = 0; i < cc_value_elements(v); i++) {
        uint64_t c = scale_of(op, v, i);
        double scale = parameter(b, op->a.weight, c, 1) /
                       sqrt(parameter(b, op->a.variance, c, 1) + (double)op->a.epsilon);
        double offset = parameter(b, op->a.bias, c, 0) + parameter(b, op->a.mean, c, 0) * scale;

        e[i] = scale * b->bound[op->input[0]][i] + 2 * U * (scale * fabs(x[i]) + offset) + U * fabs(y[i]);
    }
}

/* Layout: the bounds move with the elements. */
static void bound_move(const struct eb *b, const struct cc_op *op, double *e)
{
    struct operands o = operands_of(b, op);
    struct cc_op plain = *op;
    const double *x = b->exact.value[op->output];
    bool sliced =
        op->kind == CC_OP_SLICE_BY_INDEX || op->kind == CC_OP_SLICE_BY_SIZE || op->kind == CC_OP_GATHER;

    plain.a.alpha = 0;
    if (op->kind == CC_OP_CAST)
        memcpy(e, o.e[0], o.count[0] * sizeof(*e));
    else
        evaluate(b->graph, &plain, o.e, e);
    for (uint64_t i = 0; i < count_of(b, op->output); i++) {
        if (sliced && fabs(x[i]) + e[i] > SLICED)
            e[i] = INFINITY;
        if (op->kind == CC_OP_PAD)
            e[i] += U * fabs(x[i]);
    }
}

static void bound_op(const struct eb *b, const struct cc_op *op, double *e)
{
    switch (op->kind) {
#define CASE(id, name, inputs) case CC_OP_##id:
    case CC_OP_LOGICAL_NOT:
        CC_OPS_UNARY(CASE)
        bound_corners(b, op, e);
        own_elements(b, op, e);
        return;
    case CC_OP_LOGICAL_AND:
    case CC_OP_LOGICAL_OR:
    case CC_OP_LOGICAL_XOR:
    case CC_OP_SELECT:
        CC_OPS_BINARY(CASE)
        CC_OPS_COMPARE(CASE)
        bound_corners(b, op, e);
        own_pairs(b, op, e);
        return;
#undef CASE
    case CC_OP_PRELU:
    case CC_OP_SOFTPLUS_PARAMETRIC:
    case CC_OP_MAX_POOL:
    case CC_OP_REDUCE_MAX:
    case CC_OP_REDUCE_MIN:
    case CC_OP_REDUCE_LOG_SUM:
    case CC_OP_REDUCE_LOG_SUM_EXP:
        bound_corners(b, op, e);
        for (uint64_t i = 0; i < count_of(b, op->output); i++)
            e[i] += 2 * U * fabs(b->exact.value[op->output][i]);
        return;
    case CC_OP_CONV:
    case CC_OP_CONV_TRANSPOSE:
    case CC_OP_LINEAR:
    case CC_OP_MATMUL:
    case CC_OP_AVG_POOL:
    case CC_OP_RESIZE: bound_products(b, op, e); return;
    case CC_OP_CUMSUM:
    case CC_OP_L2_POOL:
    case CC_OP_REDUCE_MEAN:
    case CC_OP_REDUCE_SUM:
    case CC_OP_REDUCE_L2_NORM:
    case CC_OP_REDUCE_SUM_SQUARE:
    case CC_OP_REDUCE_L1_NORM:
    case CC_OP_REDUCE_PROD: bound_reduction(b, op, e); return;
    case CC_OP_SOFTMAX:
    case CC_OP_LOG_SOFTMAX: bound_softmax(b, op, e); return;
    case CC_OP_L2_NORM:
    case CC_OP_LAYER_NORM:
    case CC_OP_INSTANCE_NORM: bound_norm(b, op, e); return;
    case CC_OP_BATCH_NORM: bound_batch_norm(b, op, e); return;
    case CC_OP_LOCAL_RESPONSE_NORM:
        for (uint64_t i = 0; i < count_of(b, op->output); i++)
            e[i] = INFINITY;
        return;
    default: bound_move(b, op, e); return;
    }
}

/* Small results may be stored as 0, large ones as infinity. What is whole or moved stays as it is. */
static void limit(const struct eb *b, const struct cc_op *op, double *e)
{
    const double *y = b->exact.value[op->output];
    bool truth = b->graph->value[op->output].type == CC_BOOL;

    for (uint64_t i = 0; i < count_of(b, op->output); i++) {
        if (!isfinite(y[i]) || isnan(e[i]) || fabs(y[i]) + e[i] > MOST)
            e[i] = INFINITY;
        else if (!truth && (y[i] != 0 || e[i] != 0) && fabs(y[i]) - e[i] < DENORMAL)
            e[i] += fmin(fabs(y[i]) + e[i], DENORMAL);
    }
}

void eb_run(struct eb *b)
{
    const struct cc_graph *g = b->graph;
    struct base_error error;

    if (cc_eval_run(&b->exact, 0, &error))
        fail_msg("%s", error.text);
    for (uint32_t i = 0; i < g->ops; i++) {
        const struct cc_op *op = &g->op[i];

        if (!op->inputs || !b->exact.value[op->output])
            continue;
        for (uint32_t k = 0; k < op->inputs; k++)
            if (g->value[op->input[k]].data)
                bound_constant(b, op->input[k]);
        free(b->bound[op->output]);
        b->bound[op->output] = room(count_of(b, op->output));
        bound_op(b, op, b->bound[op->output]);
        limit(b, op, b->bound[op->output]);
    }
    for (uint32_t i = 0; i < g->outputs; i++)
        if (g->value[g->output[i]].data)
            bound_constant(b, g->output[i]);
}

bool eb_holds(const struct eb *b, uint32_t value, uint64_t i, double y)
{
    double want = b->exact.value[value][i], bound = b->bound[value][i];

    return bound == INFINITY || fabs(y - want) <= bound;
}
