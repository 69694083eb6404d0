/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of the neural engines: a task with its memory between guard pages, what it must give by a
 * computation of the test's own, and the comparison of every way to run it with that.
 */
#ifndef TESTS_NE_LAYER_H
#define TESTS_NE_LAYER_H

#include <errno.h>

#include "base/alloc.h"
#include "engine/exact.h"
#include "engine/ne.h"
#include "tensors.h"

enum { ONE = 0x3c00 };

/* Sanitizers find what they find in fewer rounds. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ROUNDS(n) ((n) / 3)
#elif defined(__has_feature)
#define ROUNDS(n) (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ? (n) / 3 : (n))
#else
#define ROUNDS(n) (n)
#endif

/*
 * Weights are kept in the order in which kernels are unpacked; those of plain kernels are packed into streams
 * for the engine.
 */
struct layer {
    struct pr_task task;
    struct guarded x, y, kernel[PR_ENGINES_MAX];
    uint16_t *weight;
    uint16_t *bias; /* [group][cout] */
    uint8_t *expected;
    struct eng_operands operands;
    struct pr_kernel_bytes stream[PR_ENGINES_MAX];
    const struct eng_table *table;
    uint16_t speck; /* when it is not 0, one element of the input is this */
};

static inline uint32_t window_of(const struct layer *l)
{
    return l->task.ne.kw + l->task.ne.ox - 1;
}

static inline uint32_t channels_of(const struct layer *l)
{
    return l->task.ne.unicast ? l->task.ne.unicast : l->task.src[0].extent[PR_AXIS_C];
}

static inline uint32_t taps_of(const struct layer *l)
{
    return channels_of(l) * window_of(l) * l->task.ne.kh;
}

/* The weight of a tap for an output. */
static inline uint16_t *weight_at(const struct layer *l, uint32_t group, uint32_t tap, uint32_t channel,
                                  uint32_t column)
{
    size_t cout = l->task.dst.extent[PR_AXIS_C], ox = l->task.ne.ox;

    group = l->task.ne.reuse ? 0 : group;
    return l->weight + (((size_t)group * taps_of(l) + tap) * cout + channel) * ox + column;
}

/* Whether the engine reads the kernel where it lies: every weight is there, as fp16. */
static inline bool is_read_in_place(const struct layer *l)
{
    const struct pr_ne *ne = &l->task.ne;

    return !ne->unicast && !ne->ones && !ne->sparse && !ne->palette && ne->kernel_format == PR_FP16 &&
           ne->ox == 1;
}

/*
 * The packing of the kernel streams is what the protocol's tests are about: here its place function is
 * believed, and the engine's order of rows.
 */
static inline void pack_weights(struct layer *l, struct test_rng *rng)
{
    uint32_t cout = l->task.dst.extent[PR_AXIS_C], bias = l->task.ne.bias ? 1 : 0;
    uint32_t groups = l->task.ne.reuse ? 1 : l->task.dst.extent[PR_AXIS_G];

    for (uint32_t e = 0; e < PR_ENGINES_MAX; e++) {
        uint64_t size = e < l->task.ne.engines ? pr_kernel_stream_bytes(&l->task, e) : 0;

        guarded_open(&l->kernel[e], size, true);
        test_rng_bytes(rng, l->kernel[e].bytes, l->kernel[e].size);
        l->stream[e] = (struct pr_kernel_bytes){l->kernel[e].bytes, l->kernel[e].size};
    }
    for (uint32_t i = 0; i < groups * cout; i++) {
        uint32_t group = i / cout, c = i % cout;
        struct pr_kernel_place place;
        uint8_t *plane;

        assert_true(pr_kernel_place(&l->task, group, c, &place));
        plane = l->kernel[place.engine].bytes + place.offset;
        if (bias)
            memcpy(plane + 2 * place.lane, &l->bias[i], 2);
        for (uint32_t tap = 0; tap < taps_of(l); tap++) {
            uint64_t row = pr_kernel_is_plain(&l->task) ? tap : eng_weights_row(&l->task, tap);

            memcpy(plane + 2 * ((size_t)(row + bias) * place.lanes + place.lane),
                   weight_at(l, group, tap, c, 0), 2);
        }
    }
    for (uint32_t e = 0; e < PR_ENGINES_MAX; e++)
        guarded_protect(&l->kernel[e]);
}

static inline void random_weights(struct layer *l, struct test_rng *rng, enum palette palette)
{
    size_t cout = l->task.dst.extent[PR_AXIS_C],
           groups = l->task.ne.reuse ? 1 : l->task.dst.extent[PR_AXIS_G];
    size_t weights = groups * taps_of(l) * cout * l->task.ne.ox;

    l->weight = malloc(2 * weights);
    l->bias = malloc(2 * groups * cout);
    assert_true(l->weight && l->bias);
    for (size_t i = 0; i < weights; i++)
        l->weight[i] = random_half(rng, palette == ANY && pick(rng, 0, 9) ? SMALL : palette);
    for (size_t i = 0; l->task.ne.ones && i < weights; i++)
        l->weight[i] = ONE;
    for (size_t i = 0; i < groups * cout; i++)
        l->bias[i] = random_half(rng, palette);
    if (is_read_in_place(l))
        pack_weights(l, rng);
}

/* Memory and random contents for a task whose fields are all set. */
static inline void layer_open(struct layer *l, struct test_rng *rng, enum palette palette)
{
    bool at_end = pick(rng, 0, 3) != 0;

    guarded_open(&l->x, pr_tensor_span(&l->task.src[0]), at_end);
    guarded_open(&l->y, pr_tensor_span(&l->task.dst), at_end);
    if (l->task.src[0].format == PR_FP16)
        random_fp16(rng, l->x.bytes, l->x.size, palette);
    else
        test_rng_bytes(rng, l->x.bytes, l->x.size);
    if (l->speck)
        memcpy(l->x.bytes + 2 * (size_t)pick(rng, 0, (uint32_t)(l->x.size / 2) - 1), &l->speck, 2);
    test_rng_bytes(rng, l->y.before, l->y.size);
    guarded_protect(&l->x);
    l->expected = malloc(l->y.size);
    assert_non_null(l->expected);
    if (l->task.ne.mode == PR_NE_MAC)
        random_weights(l, rng, palette);
    memset(&l->operands, 0, sizeof(l->operands));
    eng_view_of_host(&l->operands.src[0], &l->task.src[0], l->x.bytes);
    eng_view_of_host(&l->operands.dst, &l->task.dst, l->y.bytes);
}

static inline void layer_close(struct layer *l)
{
    guarded_close(&l->x);
    guarded_close(&l->y);
    for (unsigned e = 0; e < PR_ENGINES_MAX; e++)
        if (l->kernel[e].map)
            guarded_close(&l->kernel[e]);
    free(l->expected);
    free(l->weight);
    free(l->bias);
}

static inline bool is_m1(enum eng_policy policy)
{
    return policy != ENG_IEEE;
}

static inline double model_element(const struct layer *l, enum eng_policy policy, bool mac,
                                   const uint32_t index[PR_AXES])
{
    const struct pr_tensor *src = &l->task.src[0];
    double value = model_load(element_get(src, l->x.bytes, index), is_m1(policy), mac, false);

    if (src->slice && is_m1(policy) && fabs(value) >= 4096)
        value = copysign(INFINITY, value);
    return src->relu ? model_relu(value) : value;
}

/* What is at a place of the window that begins where output `out` says; false when that is outside. */
static inline bool model_tap(const struct layer *l, const uint32_t out[PR_AXES], uint32_t channel,
                             uint32_t ky, uint32_t p, uint32_t index[PR_AXES])
{
    const struct pr_tensor *src = &l->task.src[0];
    const struct pr_ne *ne = &l->task.ne;
    long y = (long)(out[PR_AXIS_H] * ne->sy + ky) - (long)ne->py;
    long x = (long)(out[PR_AXIS_W] / ne->ox * ne->sx + p) - (long)ne->px;

    memset(index, 0, PR_AXES * sizeof(index[0]));
    index[PR_AXIS_W] = (uint32_t)x;
    index[PR_AXIS_H] = (uint32_t)y;
    index[PR_AXIS_C] = out[PR_AXIS_C] * ne->unicast + channel;
    index[PR_AXIS_G] = out[PR_AXIS_G];
    return y >= 0 && x >= 0 && y < (long)src->extent[PR_AXIS_H] && x < (long)src->extent[PR_AXIS_W];
}

/*
 * One output. Products and sums are made in double: the product of two fp16 values is exact, and a sum of two
 * floats rounded to double and then to float is the float sum. Sums of m1-exact are the accumulator's, which
 * has tests of its own; here their order is.
 */
static inline float model_sum(const struct layer *l, enum eng_policy policy, bool ceiling,
                              const uint32_t out[PR_AXES])
{
    const struct pr_ne *ne = &l->task.ne;
    bool exact = policy == ENG_M1_EXACT && taps_of(l) > 1;
    uint32_t tap = 0, index[PR_AXES];
    struct eng_exact accumulator;
    float sum = 0;

    eng_exact_begin(&accumulator);
    for (uint32_t c = 0; c < channels_of(l); c++)
        for (uint32_t ky = 0; ky < ne->kh; ky++)
            for (uint32_t p = 0; p < window_of(l); p++, tap++) {
                uint16_t half = *weight_at(l, out[PR_AXIS_G], tap, out[PR_AXIS_C], out[PR_AXIS_W] % ne->ox);
                double weight = model_load(half, is_m1(policy), true, false), x;

                if (!model_tap(l, out, c, ky, p, index))
                    continue;
                x = model_element(l, policy, true, index);
                if (exact)
                    eng_exact_add(&accumulator, (float)x, (float)weight);
                sum = (float)(sum + x * weight);
                if (ceiling && (sum >= 32768 || sum <= -32768))
                    sum = sum > 0 ? INFINITY : -INFINITY;
            }
    return exact ? eng_exact_end(&accumulator) : sum;
}

/* The largest, where a NaN loses against all and of two equal ones the later wins; or the product. */
static inline float model_fold(const struct layer *l, enum eng_policy policy, const uint32_t out[PR_AXES])
{
    const struct pr_ne *ne = &l->task.ne;
    bool product = ne->mode == PR_NE_PRODUCT, first = true;
    float folded = -INFINITY;
    uint32_t index[PR_AXES];

    for (uint32_t c = 0; c < channels_of(l); c++)
        for (uint32_t ky = 0; ky < ne->kh; ky++)
            for (uint32_t p = 0; p < ne->kw; p++, first = false) {
                bool inside = model_tap(l, out, c, ky, p, index);
                float x = inside ? (float)model_element(l, policy, false, index) : 0;

                if (product)
                    folded = first ? x : (float)((double)folded * x);
                else if ((inside || !ne->pad_lowest) && !isnan(x) && x >= folded)
                    folded = x;
            }
    return folded;
}

static inline uint16_t model_output(const struct layer *l, enum eng_policy policy,
                                    const uint32_t out[PR_AXES])
{
    const struct pr_ne *ne = &l->task.ne;
    bool m1 = is_m1(policy), mac = ne->mode == PR_NE_MAC, ceiling = m1 && mac && taps_of(l) > 1;
    uint32_t group = ne->reuse ? 0 : out[PR_AXIS_G];
    float v;

    if (mac)
        v = model_sum(l, policy, ceiling, out);
    else if (ne->mode == PR_NE_BYPASS)
        v = (float)model_element(l, policy, false, out);
    else
        v = model_fold(l, policy, out);
    if (mac && ne->bias)
        v = (float)(v + model_load(l->bias[group * l->task.dst.extent[PR_AXIS_C] + out[PR_AXIS_C]], m1, true,
                                   false));
    if (ne->acc_bias & 0x7fff)
        v = (float)(v + model_load(ne->acc_bias, m1, false, false));
    if (ne->post_scale != ONE)
        v = (float)(v * model_load(ne->post_scale, m1, false, false));
    if (l->table) {
        if (m1 && isnan(v))
            v = 0;
        if (ceiling && fabsf(v) >= 32768)
            v = v < 0 ? -INFINITY : INFINITY;
        return model_store(eng_table_value(l->table, v), m1, false, false);
    }
    if (ne->relu && v < 0)
        v = 0;
    return model_store(v, m1, mac, ceiling);
}

static inline void model_run(const struct layer *l, enum eng_policy policy)
{
    uint32_t index[PR_AXES] = {0};

    memcpy(l->expected, l->y.before, l->y.size);
    do
        element_put(&l->task.dst, l->expected, index, model_output(l, policy, index));
    while (next_index(index, l->task.dst.extent));
}

/* Kernels whose unpacking is none of this test's business are handed over unpacked. */
static inline int layer_run(struct layer *l, struct eng_compute *compute)
{
    struct eng_weights weights = {.values = l->weight, .bias = l->bias};

    if (l->weight && (l->table || !is_read_in_place(l)))
        return eng_ne_compute(compute, &l->task, &l->operands, &weights, l->table);
    if (l->table)
        return eng_ne_compute(compute, &l->task, &l->operands, NULL, l->table);
    return eng_ne_run(compute, &l->task, &l->operands, l->stream, NULL);
}

static inline void check_policy(struct layer *l, enum eng_policy policy, uint64_t round)
{
    struct eng_compute compute = {.policy = policy};
    struct way way;

    model_run(l, policy);
    for (unsigned i = 0; way_get(i, &way); i++) {
        compute.path = way.path;
        compute.pool = way_begin(&way);
        memcpy(l->y.bytes, l->y.before, l->y.size);
        assert_int_equal(layer_run(l, &compute), 0);
        check_bytes(&l->task.dst, l->y.bytes, l->expected, l->y.size, &way, round);
    }
    eng_compute_free(&compute);
}

static inline void check_layer(struct layer *l, uint64_t round)
{
    check_policy(l, ENG_M1, round);
    check_policy(l, ENG_IEEE, round);
}

/*
 * A first run whose nth allocation fails says so and writes nothing; a second one finds its memory, and a
 * third allocates nothing more.
 */
static inline void check_memory(struct eng_compute *compute, struct layer *l, unsigned nth)
{
    unsigned long before;

    memcpy(l->y.bytes, l->y.before, l->y.size);
    base_alloc_fail_nth(nth);
    assert_int_equal(eng_ne_run(compute, &l->task, &l->operands, l->stream, NULL), -ENOMEM);
    base_alloc_fail_nth(0);
    assert_memory_equal(l->y.bytes, l->y.before, l->y.size);
    assert_int_equal(eng_ne_run(compute, &l->task, &l->operands, l->stream, NULL), 0);
    before = base_alloc_count();
    assert_int_equal(eng_ne_run(compute, &l->task, &l->operands, l->stream, NULL), 0);
    assert_int_equal(base_alloc_count(), before);
}

#endif
