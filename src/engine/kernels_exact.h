/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part of kernels_body.h, with its conditions: sums of products as exact.c makes them, for finite operands.
 *
 * All values are whole numbers of units of 2^-17, in fp32. While the sum's magnitude and the powers of two in
 * a group's products together are below 2^23, every number on the way is below 2^24: every step is exact, and
 * no ceiling is near. An output for which that was not so is marked, and made again by exact.c. Exponents are
 * compared as powers of two, which is what a float is when its sign and its significand are cleared; of a
 * zero that is 0.
 */
#define EXACT_EXPONENT  0x7f800000u
#define EXACT_MAGNITUDE 0x7fffffffu
#define EXACT_GAP       0x1p12f /* GAP of exact.c */
#define EXACT_LIMIT     0x1p23f

/* `least` is the smallest weight whose product with x is not lost. */
INLINE vec exact_product(vec x, vec least, vec weight)
{
    return vec_if_at_most(least, vec_and(weight, EXACT_MAGNITUDE), vec_trunc(vec_mul(x, weight)), vec_set(0));
}

/* A group: adds it to the sum, and returns the marks. What is far below the other is lost. */
INLINE vec exact_group(const vec product[ENG_EXACT_GROUP], vec *sum, vec marks)
{
    vec group = product[0], high = vec_and(group, EXACT_EXPONENT), gap = vec_set(EXACT_GAP);
    vec bound = vec_add(vec_and(*sum, EXACT_MAGNITUDE), high);

    UNROLL
    for (unsigned i = 1; i < ENG_EXACT_GROUP; i++) {
        vec next = vec_and(product[i], EXACT_EXPONENT);
        vec kept = vec_if_less(next, vec_mul(high, gap), group, vec_set(0));

        group = vec_if_less(high, vec_mul(next, gap), vec_add(kept, product[i]), kept);
        high = vec_and(group, EXACT_EXPONENT);
        bound = vec_add(bound, next);
    }
    *sum = vec_add(*sum, group);
    return vec_if_less(bound, vec_set(EXACT_LIMIT), marks, vec_set(1));
}

INLINE void exact_channels_of(const struct eng_exact_tap *tap, size_t taps, const float *weights, float *sums,
                              float *marks, unsigned vectors)
{
    vec sum[ENG_EXACT_VECTORS], mark[ENG_EXACT_VECTORS];

    UNROLL
    for (unsigned v = 0; v < vectors; v++)
        sum[v] = mark[v] = vec_set(0);
    for (size_t t = 0; t < taps; t += ENG_EXACT_GROUP, tap += ENG_EXACT_GROUP) {
        UNROLL
        for (unsigned v = 0; v < vectors; v++) {
            vec product[ENG_EXACT_GROUP];

            UNROLL
            for (unsigned i = 0; i < ENG_EXACT_GROUP; i++)
                product[i] = exact_product(vec_set(tap[i].x), vec_set(tap[i].least),
                                           vec_load(weights + ((size_t)tap[i].row * vectors + v) * LANES));
            mark[v] = exact_group(product, &sum[v], mark[v]);
        }
    }
    UNROLL
    for (unsigned v = 0; v < vectors; v++) {
        vec_store(sums + v * LANES, sum[v]);
        vec_store(marks + v * LANES, mark[v]);
    }
}

TARGET static void exact_channels(const struct eng_exact_tap *tap, size_t taps, const float *weights,
                                  unsigned vectors, float *sums, float *marks)
{
    switch (vectors) {
    case 1: exact_channels_of(tap, taps, weights, sums, marks, 1); break;
    case 2: exact_channels_of(tap, taps, weights, sums, marks, 2); break;
    case 3: exact_channels_of(tap, taps, weights, sums, marks, 3); break;
    case 4: exact_channels_of(tap, taps, weights, sums, marks, 4); break;
    }
}

TARGET static void exact_own(const float *x, const float *weights, size_t taps, float *sums, float *marks)
{
    vec sum = vec_set(0), mark = vec_set(0), product[ENG_EXACT_GROUP];

    for (size_t t = 0; t < taps; t += ENG_EXACT_GROUP) {
        UNROLL
        for (unsigned i = 0; i < ENG_EXACT_GROUP; i++) {
            vec value = vec_load(x + (t + i) * LANES), weight = vec_load(weights + (t + i) * LANES);
            vec powers = vec_mul(vec_and(value, EXACT_EXPONENT), vec_and(weight, EXACT_EXPONENT));

            product[i] = vec_if_at_most(vec_set(ENG_EXACT_LEAST), powers, vec_trunc(vec_mul(value, weight)),
                                        vec_set(0));
        }
        mark = exact_group(product, &sum, mark);
    }
    vec_store(sums, sum);
    vec_store(marks, mark);
}
