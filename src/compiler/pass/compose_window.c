/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Composites of the window family: windows beyond the limits of a descriptor (window.h), sums of squares
 * over a window, and PRELU.
 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "compiler/pass/compose.h"
#include "compiler/pass/window.h"

enum {
    LRN_CHANNELS_MAX = 4096 /* of a band matrix, which has their square; chosen */
};

/* sqrt(n) sqrt(mean of squares): the mean does not overflow where its squares do not. */
static void l2_pool(struct cc_rewrite *r, const struct cc_op *op, bool *done)
{
    struct cc_build *b = &r->to;
    struct cc_attributes a = op->a;
    uint32_t x;

    if (op->kind != CC_OP_L2_POOL)
        return;
    *done = true;
    /* zeros count nothing */
    cc_window_pad_up(&a, r->from->value[op->input[0]].dim + 2, r->from->value[op->output].dim + 2);
    a.exclude_padding = false;
    x = cc_build_unary(b, CC_OP_SQUARE, cc_rewrite_value(r, op->input[0]));
    x = cc_build_unary(b, CC_OP_SQRT, cc_build_op(b, CC_OP_AVG_POOL, 1, &x, &a));
    x = cc_build_binary(b, CC_OP_MUL, x,
                        cc_build_scalar(b, (float)sqrt((double)a.kernel[0] * (double)a.kernel[1])));
    cc_rewrite_put(r, op->output, x);
}

/* beta + alpha / size times the sum of the squares in a channel's window: a 1x1 convolution with a band. */
static uint32_t band_sum(struct cc_rewrite *r, const struct cc_op *op, uint32_t x)
{
    struct cc_build *b = &r->to;
    uint32_t channels = r->from->value[op->input[0]].dim[1], size = op->a.kernel[0], before = (size - 1) / 2;
    const uint32_t dim[4] = {channels, channels, 1, 1};
    struct cc_attributes a = {.stride = {1, 1}, .dilation = {1, 1}, .groups = 1};
    struct cc_kernel band;
    float *bias = base_alloc_array(channels, sizeof(*bias));

    if (!bias || !cc_kernel_make(b, dim, &band)) {
        base_free(bias);
        return cc_build_const(b, CC_FP32, 1, &channels, NULL);
    }
    for (uint32_t out = 0; out < channels; out++) {
        uint64_t end = (uint64_t)out + size - before;

        bias[out] = op->a.beta;
        for (uint32_t in = before < out ? out - before : 0; in < channels && in < end; in++)
            band.w[(size_t)out * channels + in] = 1;
    }
    a.weight = cc_kernel_put(b, &band);
    a.bias = cc_build_const(b, CC_FP32, 1, &channels, bias) + 1;
    return cc_build_op(b, CC_OP_CONV, 1, &x, &a);
}

/*
 * x times u to -gamma. The usual exponents are products of reciprocal roots, which are more precise than a
 * power by logarithms.
 */
static uint32_t divided(struct cc_build *b, uint32_t x, uint32_t u, float gamma)
{
    struct cc_attributes none = {0};
    uint32_t root;

    if (gamma == 1)
        return cc_build_binary(b, CC_OP_REAL_DIV, x, u);
    if (gamma != 0.5f && gamma != 0.75f)
        return cc_build_binary(b, CC_OP_MUL, x, cc_build_binary(b, CC_OP_POW, u, cc_build_scalar(b, -gamma)));
    root = cc_build_op(b, CC_OP_RSQRT, 1, &u, &none);
    x = cc_build_binary(b, CC_OP_MUL, x, root);
    return gamma == 0.5f ? x : cc_build_binary(b, CC_OP_MUL, x, cc_build_unary(b, CC_OP_SQRT, root));
}

static void local_response_norm(struct cc_rewrite *r, const struct cc_op *op, bool *done)
{
    const struct cc_value *v = &r->from->value[op->input[0]];
    struct cc_build *b = &r->to;
    uint32_t x, u;

    if (op->kind != CC_OP_LOCAL_RESPONSE_NORM)
        return;
    *done = true;
    if (op->a.alpha < 0) {
        cc_build_refuse(b, "alpha is %g, expected at least 0", (double)op->a.alpha);
        return;
    }
    if (v->dim[1] > LRN_CHANNELS_MAX) {
        cc_build_refuse(b, "x has %u channels, expected at most %u: the sum is a product with a matrix",
                        v->dim[1], LRN_CHANNELS_MAX);
        return;
    }
    x = cc_rewrite_value(r, op->input[0]);
    x = cc_build_reshape(
        b, x, 4, (uint32_t[4]){v->dim[0], v->dim[1], v->rank == 4 ? v->dim[2] : 1, v->dim[v->rank - 1]});
    u = cc_build_binary(b, CC_OP_MUL, x,
                        cc_build_scalar(b, (float)sqrt((double)op->a.alpha / (double)op->a.kernel[0])));
    u = band_sum(r, op, cc_build_unary(b, CC_OP_SQUARE, u));
    x = divided(b, x, u, op->a.gamma);
    if (!b->status)
        cc_rewrite_put(r, op->output, cc_build_reshape(b, x, v->rank, v->dim));
}

/* One factor for every channel of x, broadcast along the axes after axis 1. */
static uint32_t channel_factors(struct cc_rewrite *r, const struct cc_op *op, bool *all_low, bool *all_high)
{
    const struct cc_value *v = &r->from->value[op->a.weight - 1], *x = &r->from->value[op->input[0]];
    uint32_t dim[CC_RANK_MAX] = {v->dim[0], 1, 1, 1, 1};
    float *factor = base_alloc_array(v->dim[0], sizeof(*factor));

    *all_low = *all_high = true;
    for (uint32_t i = 0; factor && i < v->dim[0]; i++) {
        factor[i] = (float)cc_value_number(v, i);
        *all_low &= factor[i] <= 1;
        *all_high &= factor[i] >= 1;
    }
    return cc_build_const(&r->to, CC_FP32, x->rank - 1, dim, factor);
}

static bool all_equal(const struct cc_value *v)
{
    for (uint32_t i = 1; i < v->dim[0]; i++)
        if (cc_value_number(v, i) != cc_value_number(v, 0))
            return false;
    return true;
}

/*
 * The larger of x and its product where no factor is above 1, the smaller one where none is below. Otherwise
 * the parts above and below 0 apart; one of them is 0, so the sum is exact.
 */
static void prelu(struct cc_rewrite *r, const struct cc_op *op, bool *done)
{
    struct cc_build *b = &r->to;
    const struct cc_value *v;
    uint32_t x, factor, above, below;
    bool low, high;

    if (op->kind != CC_OP_PRELU)
        return;
    *done = true;
    v = &r->from->value[op->a.weight - 1];
    x = cc_rewrite_value(r, op->input[0]);
    if (all_equal(v)) {
        cc_rewrite_put(r, op->output,
                       cc_build_op(b, CC_OP_LEAKY_RELU, 1, &x,
                                   &(struct cc_attributes){.alpha = (float)cc_value_number(v, 0)}));
        return;
    }
    factor = channel_factors(r, op, &low, &high);
    if (low || high) {
        x = cc_build_binary(b, low ? CC_OP_MAXIMUM : CC_OP_MINIMUM, x,
                            cc_build_binary(b, CC_OP_MUL, x, factor));
    } else {
        above = cc_build_unary(b, CC_OP_RELU, x);
        below = cc_build_binary(b, CC_OP_MINIMUM, x, cc_build_scalar(b, 0));
        below = cc_build_binary(b, CC_OP_MUL, below, factor);
        x = cc_build_binary(b, CC_OP_ADD, above, below);
    }
    cc_rewrite_put(r, op->output, x);
}

void cc_compose_window(struct cc_rewrite *r, const struct cc_op *op, bool *done)
{
    static cc_rewrite_op *const kinds[] = {cc_window_conv,      cc_window_conv_transpose,
                                           cc_window_max_pool,  cc_window_avg_pool,
                                           cc_window_long,      l2_pool,
                                           local_response_norm, prelu};

    for (unsigned i = 0; i < BASE_COUNT_OF(kinds) && !*done && !r->to.status; i++)
        kinds[i](r, op, done);
}
