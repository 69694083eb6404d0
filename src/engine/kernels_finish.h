/* SPDX-License-Identifier: Apache-2.0 */
/* Part of kernels_body.h, with its conditions: the end of a neural-engine task. */

INLINE vec finish_element(vec v, vec bias, const struct eng_finish *f)
{
    v = vec_add(vec_mul(v, vec_set(f->unscale)), bias);
    v = vec_mul(vec_add(v, vec_set(f->acc_bias)), vec_set(f->post_scale));
    return f->relu ? vec_relu(v) : v;
}

TARGET static void finish(const float *acc, const float *bias, uint8_t *y, size_t n,
                          const struct eng_finish *constants)
{
    const struct eng_finish f = *constants;
    vec b = vec_set(f.bias);
    size_t i = 0;

    for (; i + LANES <= n; i += LANES) {
        if (bias)
            b = vec_load(bias + i);
        vec_to_halfs(y + 2 * i, finish_element(vec_load(acc + i), b, &f), f.store);
    }
    if (i < n) {
        if (bias)
            b = vec_load_part(bias + i, n - i);
        vec_to_halfs_part(y + 2 * i, finish_element(vec_load_part(acc + i, n - i), b, &f), n - i, f.store);
    }
}
