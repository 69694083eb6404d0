/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part of kernels_body.h, with its conditions: sums of products as exact.c makes them, for finite operands.
 *
 * All values are whole numbers of units of 2^-17, in fp32. While the sum's magnitude and the magnitudes of a
 * group's products together are below 2^24, every step is exact, and no ceiling is near. Whoever calls sees
 * to the products of exact_channels and looks at the largest sum; exact_own marks outputs for which that was
 * not so. Exponents are compared as powers of two, which is what a float is when its sign and its significand
 * are cleared; of a zero that is 0.
 */
#define EXACT_EXPONENT  0x7f800000u
#define EXACT_MAGNITUDE 0x7fffffffu
#define EXACT_GAP       0x1p12f /* GAP of exact.c */
#define EXACT_LIMIT     0x1p23f

/* The product of the operands' powers of two decides whether theirs is lost. */
INLINE vec exact_product(vec x, vec weight, bool lossy)
{
    vec product = vec_trunc(vec_mul(x, weight));

    if (!lossy)
        return product;
    return vec_if_at_most(vec_set(ENG_EXACT_LEAST),
                          vec_mul(vec_and(x, EXACT_EXPONENT), vec_and(weight, EXACT_EXPONENT)), product,
                          vec_set(0));
}

/*
 * The next product of a group. One of the two is lost when the other one's power of two is the gap or more
 * times its own: then that power exceeds half the gap times its magnitude, which no smaller power does.
 */
INLINE vec exact_add(vec group, vec product)
{
    vec larger = vec_larger_magnitude(group, product);
    vec reach = vec_mul(vec_smaller_magnitude(group, product), vec_set(EXACT_GAP / 2));

    return vec_if_at_most(vec_and(larger, EXACT_EXPONENT), reach, vec_add(group, product), larger);
}

/* Groups of `count` products that are not 0; the others change nothing. */
INLINE void exact_groups(const struct eng_exact_tap *tap, size_t groups, const float *weights,
                         unsigned vectors, unsigned count, bool lossy, vec *sum, vec *peak)
{
    for (; groups; groups--, tap += count) {
        UNROLL
        for (unsigned v = 0; v < vectors; v++) {
            vec group = vec_set(0);

            UNROLL
            for (unsigned i = 0; i < count; i++) {
                vec weight = vec_load(weights + ((size_t)tap[i].row * vectors + v) * LANES);
                vec product = exact_product(vec_set(tap[i].x), weight, lossy);

                group = i ? exact_add(group, product) : product;
            }
            sum[v] = vec_add(sum[v], group);
            peak[v] = vec_larger_magnitude(peak[v], sum[v]);
        }
    }
}

INLINE void exact_channels_of(const struct eng_exact_taps *taps, const float *weights, unsigned vectors,
                              float *sums, float *peaks)
{
    vec sum[ENG_EXACT_VECTORS], peak[ENG_EXACT_VECTORS];

    UNROLL
    for (unsigned v = 0; v < vectors; v++) {
        sum[v] = vec_load(sums + v * LANES);
        peak[v] = vec_load(peaks + v * LANES);
    }
    UNROLL
    for (unsigned n = 0; n < ENG_EXACT_GROUP; n++) {
        exact_groups(taps->tap[0][n], taps->groups[0][n], weights, vectors, n + 1, false, sum, peak);
        exact_groups(taps->tap[1][n], taps->groups[1][n], weights, vectors, n + 1, true, sum, peak);
    }
    UNROLL
    for (unsigned v = 0; v < vectors; v++) {
        vec_store(sums + v * LANES, sum[v]);
        vec_store(peaks + v * LANES, peak[v]);
    }
}

TARGET static void exact_channels(const struct eng_exact_taps *taps, const float *weights, unsigned vectors,
                                  float *sums, float *peaks)
{
    switch (vectors) {
    case 1: exact_channels_of(taps, weights, 1, sums, peaks); break;
    case 2: exact_channels_of(taps, weights, 2, sums, peaks); break;
    case 3: exact_channels_of(taps, weights, 3, sums, peaks); break;
    case 4: exact_channels_of(taps, weights, 4, sums, peaks); break;
    }
}

TARGET static void exact_own(const float *x, const float *weights, size_t taps, float *sums, float *marks)
{
    vec sum = vec_set(0), mark = vec_set(0);

    for (size_t t = 0; t < taps; t += ENG_EXACT_GROUP) {
        vec group = vec_set(0), bound = vec_and(sum, EXACT_MAGNITUDE);

        UNROLL
        for (unsigned i = 0; i < ENG_EXACT_GROUP; i++) {
            vec value = vec_load(x + (t + i) * LANES), weight = vec_load(weights + (t + i) * LANES);
            vec product = exact_product(value, weight, true);

            group = i ? exact_add(group, product) : product;
            bound = vec_add(bound, vec_and(product, EXACT_MAGNITUDE));
        }
        sum = vec_add(sum, group);
        mark = vec_if_less(bound, vec_set(EXACT_LIMIT), mark, vec_set(1));
    }
    vec_store(sums, sum);
    vec_store(marks, mark);
}

/* In lanes: of the channels of each row, the least weight that is not 0, and the largest, in magnitude. */
TARGET static void exact_weights(const float *weights, size_t rows, unsigned vectors, float *least,
                                 float *most)
{
    const float *end = weights + rows * vectors * LANES;

    for (; weights < end; least += LANES, most += LANES) {
        vec low = vec_load(least), high = vec_load(most);

        for (unsigned v = 0; v < vectors; v++, weights += LANES) {
            vec weight = vec_and(vec_load(weights), EXACT_MAGNITUDE);

            low = vec_if_less(vec_set(0), weight, vec_smaller_magnitude(low, weight), low);
            high = vec_larger(high, weight);
        }
        vec_store(least, low);
        vec_store(most, high);
    }
}

TARGET static float exact_kinds(const float *x, const float *least, const float *most, size_t n, float *kinds)
{
    vec largest = vec_set(0);
    float lane[LANES];

    for (size_t i = 0; i < n; i += LANES) {
        vec element = vec_and(vec_load(x + i), EXACT_MAGNITUDE);
        vec power = vec_mul(vec_and(element, EXACT_EXPONENT), vec_load(least + i));
        vec kind = vec_if_less(power, vec_set(ENG_EXACT_LEAST), vec_set(1 + ENG_EXACT_LOSSY), vec_set(1));

        largest = vec_larger(largest, vec_mul(element, vec_load(most + i)));
        vec_store(kinds + i, vec_if_less(vec_set(0), element, kind, vec_set(0)));
    }
    vec_store(lane, largest);
    for (unsigned i = 1; i < LANES; i++)
        lane[0] = lane[i] > lane[0] ? lane[i] : lane[0];
    return lane[0];
}
