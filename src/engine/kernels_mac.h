/* SPDX-License-Identifier: Apache-2.0 */
/* Part of kernels_body.h, with its conditions: sums of products. */

INLINE void mac_columns_of(const struct eng_mac *m, unsigned group, unsigned vectors)
{
    vec sum[PANEL][COLUMNS], x[COLUMNS], ceiling = vec_set(m->ceiling);
    const size_t next = m->in_next, tap = m->in_tap;

    UNROLL
    for (unsigned c = 0; c < group; c++) {
        UNROLL
        for (unsigned v = 0; v < vectors; v++)
            sum[c][v] = m->begin ? vec_set(0) : vec_load(m->acc + c * m->acc_channel + v * m->acc_next);
    }
    for (uint32_t channel = 0; channel < m->channels; channel++) {
        const float *weight = m->panel + ((size_t)channel * m->kh + m->ky0) * m->kw * group;
        const float *row = m->in + channel * m->in_channel;

        for (uint32_t ky = m->ky0; ky < m->ky1; ky++, row += m->in_row) {
            const float *at = row;

            for (uint32_t kx = 0; kx < m->kw; kx++, weight += group, at += tap) {
                UNROLL
                for (unsigned v = 0; v < vectors; v++)
                    x[v] = vec_load(at + v * next);
                UNROLL
                for (unsigned c = 0; c < group; c++) {
                    vec w = vec_set(weight[c]);

                    UNROLL
                    for (unsigned v = 0; v < vectors; v++)
                        sum[c][v] = vec_mac(sum[c][v], x[v], w, ceiling);
                }
            }
        }
    }
    UNROLL
    for (unsigned c = 0; c < group; c++) {
        UNROLL
        for (unsigned v = 0; v < vectors; v++)
            vec_store(m->acc + c * m->acc_channel + v * m->acc_next, sum[c][v]);
    }
}

INLINE void mac_columns_group(const struct eng_mac *m, unsigned group, unsigned vectors)
{
    if (vectors == 1)
        mac_columns_of(m, group, 1);
    else if (vectors == 2)
        mac_columns_of(m, group, 2);
#if COLUMNS > 2
    else
        mac_columns_of(m, group, 3);
#endif
}

TARGET static void mac_columns(const struct eng_mac *m, unsigned group, unsigned vectors)
{
    switch (group) {
    case 1: mac_columns_group(m, 1, vectors); break;
    case 2: mac_columns_group(m, 2, vectors); break;
    case 4: mac_columns_group(m, 4, vectors); break;
#if PANEL > 4
    case 8: mac_columns_group(m, 8, vectors); break;
#endif
    }
}

TARGET static void fold_columns(float *acc, const float *in, size_t tap, uint32_t taps, size_t n,
                                bool product)
{
    for (size_t i = 0; i < n; i += LANES) {
        vec v = vec_load(acc + i);

        for (uint32_t t = 0; t < taps; t++) {
            vec x = vec_load(in + t * tap + i);

            v = product ? vec_mul(v, x) : vec_max(v, x);
        }
        vec_store(acc + i, v);
    }
}
