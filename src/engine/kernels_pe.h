/* SPDX-License-Identifier: Apache-2.0 */
/* Part of kernels_body.h, with its conditions: the planar engine. */

/*
 * op(pre * a, sign2 * b), with the sign cut off when asked. `op` and `two` are constants where this is
 * inlined.
 */
INLINE vec pe_combine(vec a, vec b, enum pr_pe_op op, bool two, const struct eng_pe_constants *k)
{
    vec v = vec_mul(vec_set(k->pre), a);

    if (two) {
        b = vec_mul(vec_set(k->sign2), b);
        switch (op) {
        case PR_PE_ADD:
        case PR_PE_SQUARE_OF_SUM: v = vec_add(v, b); break;
        case PR_PE_MUL: v = vec_mul(v, b); break;
        case PR_PE_MAX: v = vec_max(v, b); break;
        case PR_PE_MIN: v = vec_min(v, b); break;
        case PR_PE_AFFINE: break;
        }
    }
    if (op == PR_PE_SQUARE_OF_SUM)
        v = vec_mul(v, v);
    return vec_and(v, k->abs ? 0x7fffffffu : 0xffffffffu);
}

INLINE vec pe_element(vec a, vec b, enum pr_pe_op op, bool two, const struct eng_pe_constants *k)
{
    vec v = pe_combine(a, b, op, two, k);

    v = vec_add(vec_mul(vec_set(k->scale), v), vec_set(k->bias));
    return vec_mul(vec_set(k->final), k->relu ? vec_relu(v) : v);
}

INLINE void pe_line_of(const uint8_t *a, const uint8_t *b, uint8_t *y, size_t n, enum pr_pe_op op, bool two,
                       const struct eng_pe_constants *constants)
{
    const struct eng_pe_constants k = *constants;
    vec v, w = vec_set(0);
    size_t i = 0;

    for (; i + LANES <= n; i += LANES) {
        v = vec_from_halfs(a + 2 * i, &k.load[0]);
        if (two)
            w = vec_from_halfs(b + 2 * i, &k.load[1]);
        vec_to_halfs(y + 2 * i, pe_element(v, w, op, two, &k), k.store);
    }
    if (i < n) {
        v = vec_from_halfs_part(a + 2 * i, n - i, &k.load[0]);
        if (two)
            w = vec_from_halfs_part(b + 2 * i, n - i, &k.load[1]);
        vec_to_halfs_part(y + 2 * i, pe_element(v, w, op, two, &k), n - i, k.store);
    }
}

TARGET static void pe_line(const uint8_t *a, const uint8_t *b, uint8_t *y, size_t n,
                           const struct eng_pe_constants *k)
{
    if (!k->two) {
        if (k->op == PR_PE_SQUARE_OF_SUM)
            pe_line_of(a, b, y, n, PR_PE_SQUARE_OF_SUM, false, k);
        else
            pe_line_of(a, b, y, n, PR_PE_ADD, false, k);
        return;
    }
    switch (k->op) {
    case PR_PE_ADD: pe_line_of(a, b, y, n, PR_PE_ADD, true, k); break;
    case PR_PE_MUL: pe_line_of(a, b, y, n, PR_PE_MUL, true, k); break;
    case PR_PE_MAX: pe_line_of(a, b, y, n, PR_PE_MAX, true, k); break;
    case PR_PE_MIN: pe_line_of(a, b, y, n, PR_PE_MIN, true, k); break;
    case PR_PE_SQUARE_OF_SUM: pe_line_of(a, b, y, n, PR_PE_SQUARE_OF_SUM, true, k); break;
    case PR_PE_AFFINE: break;
    }
}

#define PARTS (ENG_LANES / LANES)

INLINE vec reduce_step(vec sum, vec v, bool max)
{
    return max ? vec_max(sum, v) : vec_add(sum, v);
}

/* Lanes without an element take what changes nothing: a sum that began with +0 is never -0. */
INLINE void pe_reduce_of(float *lanes, const uint8_t *a, size_t n, enum pr_pe_op op, bool max,
                         const struct eng_pe_constants *constants)
{
    const struct eng_pe_constants k = *constants;
    vec nothing = vec_set(max ? -__builtin_inff() : 0.0f);
    vec sum[PARTS], v;
    size_t i = 0;

    UNROLL
    for (unsigned part = 0; part < PARTS; part++)
        sum[part] = vec_load(lanes + part * LANES);
    for (; i + ENG_LANES <= n; i += ENG_LANES) {
        UNROLL
        for (unsigned part = 0; part < PARTS; part++) {
            v = vec_from_halfs(a + 2 * (i + part * LANES), &k.load[0]);
            sum[part] = reduce_step(sum[part], pe_combine(v, v, op, false, &k), max);
        }
    }
    UNROLL
    for (unsigned part = 0; part < PARTS; part++) {
        size_t at = i + part * LANES, left = at >= n ? 0 : n - at < LANES ? n - at : LANES;

        if (left == LANES) {
            v = vec_from_halfs(a + 2 * at, &k.load[0]);
            sum[part] = reduce_step(sum[part], pe_combine(v, v, op, false, &k), max);
        } else if (left) {
            v = vec_from_halfs_part(a + 2 * at, left, &k.load[0]);
            v = vec_first(pe_combine(v, v, op, false, &k), left, nothing);
            sum[part] = reduce_step(sum[part], v, max);
        }
    }
    UNROLL
    for (unsigned part = 0; part < PARTS; part++)
        vec_store(lanes + part * LANES, sum[part]);
}

TARGET static void pe_reduce(float lanes[ENG_LANES], const uint8_t *a, size_t n,
                             const struct eng_pe_constants *k)
{
    if (k->op == PR_PE_SQUARE_OF_SUM) {
        if (k->max)
            pe_reduce_of(lanes, a, n, PR_PE_SQUARE_OF_SUM, true, k);
        else
            pe_reduce_of(lanes, a, n, PR_PE_SQUARE_OF_SUM, false, k);
    } else {
        if (k->max)
            pe_reduce_of(lanes, a, n, PR_PE_ADD, true, k);
        else
            pe_reduce_of(lanes, a, n, PR_PE_ADD, false, k);
    }
}
