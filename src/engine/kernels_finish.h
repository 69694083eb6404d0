/* SPDX-License-Identifier: Apache-2.0 */
/* Part of kernels_body.h, with its conditions: the end of a neural-engine task. */

/* As eng_finish_enter. A number of 2^15 and above times infinity is the infinity of its sign. */
INLINE vec finish_enter(vec v, unsigned rules)
{
    vec magnitude = vec_and(v, 0x7fffffff), zero = vec_set(0), infinity = vec_set(__builtin_inff());

    if (rules & ENG_RULE_NAN_IS_ZERO)
        v = vec_if_at_most(magnitude, infinity, v, zero);
    if (rules & ENG_RULE_CEILING)
        v = vec_if_at_most(vec_set(ENG_CEILING), magnitude, vec_mul(v, infinity), v);
    return v;
}

/* `table` says whether there is one, and is a constant where this is inlined. */
INLINE vec finish_element(vec v, vec bias, bool table, const struct eng_finish *f)
{
    v = vec_add(vec_mul(v, vec_set(f->unscale)), bias);
    v = vec_mul(vec_add(v, vec_set(f->acc_bias)), vec_set(f->post_scale));
    if (table)
        return table_element(f->table, finish_enter(v, f->enter));
    return f->relu ? vec_relu(v) : v;
}

INLINE void finish_line(const float *acc, const float *bias, uint8_t *y, size_t n, bool table,
                        const struct eng_finish *constants)
{
    const struct eng_finish f = *constants;
    vec b = vec_set(f.bias);
    size_t i = 0;

    for (; i + LANES <= n; i += LANES) {
        if (bias)
            b = vec_load(bias + i);
        vec_to_fp16(y + 2 * i, finish_element(vec_load(acc + i), b, table, &f), f.store);
    }
    if (i < n) {
        if (bias)
            b = vec_load_part(bias + i, n - i);
        vec_to_fp16_part(y + 2 * i, finish_element(vec_load_part(acc + i, n - i), b, table, &f), n - i,
                         f.store);
    }
}

TARGET static void finish(const float *acc, const float *bias, uint8_t *y, size_t n,
                          const struct eng_finish *constants)
{
    if (constants->table)
        finish_line(acc, bias, y, n, true, constants);
    else
        finish_line(acc, bias, y, n, false, constants);
}
