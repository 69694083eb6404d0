/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The planar engine: the reference, and the choice of the fast path. Both give the same bits: elementwise
 * steps are separate fp32 operations, and a reduction puts element w into lane w mod ENG_LANES, whatever the
 * vector's length. kernels_pe.h repeats each formula; a change here is a change there.
 */
#include "engine/pe.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 256, ONE = 0x3c00 };

/* 1 is what almost every factor is, and no rule changes it. */
static float factor(uint16_t half, unsigned load_rules)
{
    return half == ONE ? 1 : eng_constant(half, load_rules);
}

static void load_of(struct eng_load *load, const struct eng_view *source, const struct eng_rules *rules)
{
    load->rules = eng_view_rules(source, rules->load);
    load->relu = source->relu;
    load->scale = 1;
}

/* Field by field where they are read: a copy would wait for the stores of all of them. */
void eng_pe_constants_of(struct eng_pe_constants *k, const struct pr_task *task,
                         const struct eng_operands *operands, const struct eng_rules *rules)
{
    const struct pr_pe *pe = &task->pe;
    float pre = factor(pe->pre_scale, rules->load);

    k->op = pe->op;
    k->reduce = pe->reduce;
    k->compare = pe->compare;
    k->function = pe->function;
    k->two = pe->two_sources;
    k->pre = pe->negate1 ? -pre : pre;
    k->sign2 = pe->negate2 ? -1.0f : 1.0f;
    k->scale = factor(pe->scale, rules->load);
    k->bias = eng_constant_addend(pe->bias, rules->load);
    k->final = eng_constant_fp32(pe->final_scale, rules->load);
    k->epsilon = eng_constant_addend(pe->epsilon, rules->load);
    k->abs = pe->abs;
    k->relu = pe->relu;
    k->store = rules->store;
    load_of(&k->load[0], &operands->src[0], rules);
    load_of(&k->load[1], &operands->src[1], rules);
}

/* An indeterminate form would be stored as 0, so it compares as 0 too. */
static float compared(const struct eng_pe_constants *k, float v)
{
    if (isnan(v) && k->store & ENG_RULE_NAN_IS_ZERO)
        v = 0;
    switch (k->compare) {
    case PR_PE_COMPARE_NONE: break;
    case PR_PE_EQUAL: return v == 0;
    case PR_PE_GREATER: return v > 0;
    case PR_PE_GREATER_EQUAL: return v >= 0;
    }
    return v;
}

/* Separate fp32 operations: no step is fused with the next. `c` is AFFINE's row 1. */
static float combine(const struct eng_pe_constants *k, float a, float b, float c)
{
    float v = k->pre * a;

    if (k->two) {
        b = k->sign2 * b;
        switch (k->op) {
        case PR_PE_ADD:
        case PR_PE_SQUARE_OF_SUM: v = v + b; break;
        case PR_PE_MUL: v = v * b; break;
        case PR_PE_MAX: v = eng_max(v, b); break;
        case PR_PE_MIN: v = eng_min(v, b); break;
        case PR_PE_AFFINE: v = (v + b) * c; break;
        }
    }
    if (k->op == PR_PE_SQUARE_OF_SUM)
        v = v * v;
    if (k->abs)
        v = fabsf(v);
    return k->compare ? compared(k, v) : v;
}

/*
 * y = final_scale * relu?(scale * compare?(abs?(op(...))) + bias), in this order, in fp32, rounded to fp16
 * once at the end. The formula fits every known sample, but the order of scale and bias and the places of
 * rounding inside are not public: they are chosen.
 */
static float element(const struct eng_pe_constants *k, float a, float b, float c)
{
    float v = k->scale * combine(k, a, b, c) + k->bias;

    return k->final * (k->relu ? eng_relu(v) : v);
}

/* The affine's source 2 has one element in each of its two rows for all of a channel and group. */
static void load_affine(const struct eng_view *src, const uint32_t index[PR_AXES], unsigned rules, float *b,
                        float *c, uint32_t n)
{
    uint32_t at[PR_AXES] = {[PR_AXIS_C] = index[PR_AXIS_C], [PR_AXIS_G] = index[PR_AXIS_G]};

    eng_view_load_row(src, at, b, 1, rules);
    at[PR_AXIS_H] = 1;
    eng_view_load_row(src, at, c, 1, rules);
    for (uint32_t i = 1; i < n; i++) {
        b[i] = b[0];
        c[i] = c[0];
    }
}

static void reference_row(const struct eng_operands *operands, const struct eng_pe_constants *k,
                          const struct eng_rules *rules, uint32_t index[PR_AXES])
{
    uint32_t width = operands->dst.extent[PR_AXIS_W];
    float a[CHUNK], b[CHUNK] = {0}, c[CHUNK] = {0};

    for (uint32_t x = 0; x < width; x += CHUNK) {
        uint32_t n = width - x < CHUNK ? width - x : CHUNK;

        index[PR_AXIS_W] = x;
        eng_view_load_row(&operands->src[0], index, a, n, rules->load);
        if (k->two && k->op == PR_PE_AFFINE)
            load_affine(&operands->src[1], index, rules->load, b, c, n);
        else if (k->two)
            eng_view_load_row(&operands->src[1], index, b, n, rules->load);
        for (uint32_t i = 0; i < n; i++)
            a[i] = element(k, a[i], b[i], c[i]);
        eng_view_store_row(&operands->dst, index, a, n, rules->store);
    }
}

/* The next row of a tensor: H fastest, then D, C, G. False after the last. */
static bool next_row(uint32_t index[PR_AXES], const uint32_t extent[PR_AXES])
{
    for (unsigned axis = PR_AXIS_H; axis < PR_AXES; axis++) {
        if (++index[axis] < extent[axis])
            return true;
        index[axis] = 0;
    }
    return false;
}

static void reference_elementwise(const struct eng_operands *operands, const struct eng_pe_constants *k,
                                  const struct eng_rules *rules)
{
    uint32_t index[PR_AXES] = {0};

    do
        reference_row(operands, k, rules, index);
    while (next_row(index, operands->dst.extent));
}

static float reduce_two(const struct eng_pe_constants *k, float a, float b)
{
    switch (k->reduce) {
    case PR_PE_REDUCE_NONE:
    case PR_PE_REDUCE_SUM: break;
    case PR_PE_REDUCE_MAX: return eng_max(a, b);
    case PR_PE_REDUCE_MIN: return eng_min(a, b);
    }
    return a + b;
}

void eng_pe_reduce_begin(float lanes[ENG_LANES], const struct eng_pe_constants *k)
{
    float nothing = k->reduce == PR_PE_REDUCE_MAX ? -INFINITY : k->reduce == PR_PE_REDUCE_MIN ? INFINITY : 0;

    for (unsigned lane = 0; lane < ENG_LANES; lane++)
        lanes[lane] = nothing;
}

float eng_pe_reduce_element(float lane, float a, float b, const struct eng_pe_constants *k)
{
    return reduce_two(k, lane, combine(k, a, b, 0));
}

/*
 * Division and square root are rounded correctly everywhere. Where -0 cannot be stored, it counts as +0 here
 * too.
 */
float eng_pe_function(float v, const struct eng_pe_constants *k)
{
    if (v == 0 && k->store & ENG_RULE_NO_MINUS_ZERO)
        v = 0;
    switch (k->function) {
    case PR_PE_FUNCTION_NONE: break;
    case PR_PE_RECIPROCAL: return 1.0f / v;
    case PR_PE_RSQRT: return 1.0f / sqrtf(v);
    }
    return v;
}

/*
 * y = function(final_scale * tree + epsilon). The lanes are combined pairwise: lane i takes lane i + 8, then
 * i + 4, i + 2, i + 1.
 */
float eng_pe_reduce_end(float lanes[ENG_LANES], const struct eng_pe_constants *k)
{
    for (unsigned half = ENG_LANES / 2; half > 0; half /= 2)
        for (unsigned lane = 0; lane < half; lane++)
            lanes[lane] = reduce_two(k, lanes[lane], lanes[lane + half]);
    return eng_pe_function(k->final * lanes[0] + k->epsilon, k);
}

/* One tree, chosen: lane w mod 16 takes its elements row by row in the order of D and H. */
static float reference_reduce(const struct eng_operands *operands, const struct eng_pe_constants *k,
                              unsigned load_rules, uint32_t channel, uint32_t group)
{
    const uint32_t *extent = operands->src[0].extent;
    uint32_t index[PR_AXES] = {[PR_AXIS_C] = channel, [PR_AXIS_G] = group};
    float lanes[ENG_LANES], a, b = 0;

    eng_pe_reduce_begin(lanes, k);
    for (uint32_t d = 0; d < extent[PR_AXIS_D]; d++) {
        for (uint32_t h = 0; h < extent[PR_AXIS_H]; h++) {
            for (uint32_t w = 0; w < extent[PR_AXIS_W]; w++) {
                index[PR_AXIS_W] = w;
                index[PR_AXIS_H] = h;
                index[PR_AXIS_D] = d;
                eng_view_load_row(&operands->src[0], index, &a, 1, load_rules);
                if (k->two)
                    eng_view_load_row(&operands->src[1], index, &b, 1, load_rules);
                lanes[w % ENG_LANES] = eng_pe_reduce_element(lanes[w % ENG_LANES], a, b, k);
            }
        }
    }
    return eng_pe_reduce_end(lanes, k);
}

static void reference_reduction(const struct eng_operands *operands, const struct eng_pe_constants *k,
                                const struct eng_rules *rules)
{
    uint32_t index[PR_AXES] = {0};

    do {
        float y = reference_reduce(operands, k, rules->load, index[PR_AXIS_C], index[PR_AXIS_G]);

        eng_view_store_row(&operands->dst, index, &y, 1, rules->store);
    } while (next_row(index, operands->dst.extent));
}

void eng_pe_run(struct eng_compute *compute, const struct pr_task *task, const struct eng_operands *operands)
{
    bool reduce = task->pe.reduce != PR_PE_REDUCE_NONE;
    enum eng_kind kind = reduce ? ENG_KIND_PE_REDUCTION : ENG_KIND_PE_ELEMENTWISE;
    const struct eng_rules *rules = &eng_rules_table[compute->policy][kind];
    struct eng_pe_constants k;
    struct eng_float_state state = eng_float_begin();

    eng_pe_constants_of(&k, task, operands, rules);
    if (compute->path == ENG_PATH_FAST && !eng_view_overlaps_itself(&operands->dst))
        eng_pe_fast(eng_compute_pool(compute, operands), &k, operands, reduce);
    else if (reduce)
        reference_reduction(operands, &k, rules);
    else
        reference_elementwise(operands, &k, rules);
    eng_float_end(state);
}
