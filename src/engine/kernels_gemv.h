/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part of kernels_body.h, with its conditions: sums of products for few pixels. Weights are converted in
 * registers, used for every pixel, and not kept.
 */

#define GEMV_PREFETCH 1024 /* bytes ahead in each run; it changes only the speed */

INLINE void gemv_prefetch(const struct eng_gemv *g, unsigned runs, size_t at)
{
    UNROLL
    for (unsigned i = 0; i < runs; i++)
        __builtin_prefetch(g->run[i] + at + GEMV_PREFETCH);
}

INLINE void gemv_of(const struct eng_gemv *g, unsigned lanes, unsigned vectors, unsigned pixels)
{
    const struct eng_load load = {.rules = ENG_RULE_NAN_IS_INFINITY | ENG_RULE_NO_DENORMALS, .scale = 1};
    const unsigned runs = vectors * (LANES / lanes);
    const uint8_t *run[GEMV_VECTORS * (LANES / 4)];
    vec sum[ENG_GEMV_PIXELS][GEMV_VECTORS], ceiling = vec_set(g->ceiling);
    const size_t stride = g->stride;
    const float *in = g->in;
    size_t at = 0, prefetched = 0;

    UNROLL
    for (unsigned i = 0; i < runs; i++)
        run[i] = g->run[i];
    UNROLL
    for (unsigned p = 0; p < pixels; p++) {
        UNROLL
        for (unsigned v = 0; v < vectors; v++)
            sum[p][v] = vec_set(0);
    }
    for (uint32_t c = 0; c < g->channels; c++, in += pixels, at += stride) {
        if (at >= prefetched) {
            gemv_prefetch(g, runs, at);
            prefetched = at + 64;
        }
        UNROLL
        for (unsigned v = 0; v < vectors; v++) {
            vec w = vec_from_fp16_runs(run + v * (LANES / lanes), at, lanes, &load);

            UNROLL
            for (unsigned p = 0; p < pixels; p++)
                sum[p][v] = vec_mac(sum[p][v], vec_set(in[p]), w, ceiling);
        }
    }
    UNROLL
    for (unsigned p = 0; p < pixels; p++) {
        UNROLL
        for (unsigned v = 0; v < vectors; v++)
            vec_store(g->acc + (p * vectors + v) * LANES, sum[p][v]);
    }
}

INLINE void gemv_pixels(const struct eng_gemv *g, unsigned lanes, unsigned vectors)
{
    switch (g->pixels) {
    case 1: gemv_of(g, lanes, vectors, 1); break;
    case 2: gemv_of(g, lanes, vectors, 2); break;
    case 4: gemv_of(g, lanes, vectors, 4); break;
    }
}

INLINE void gemv_vectors(const struct eng_gemv *g, unsigned lanes)
{
    switch (g->vectors) {
    case 1: gemv_pixels(g, lanes, 1); break;
    case 2: gemv_pixels(g, lanes, 2); break;
#if GEMV_VECTORS > 2
    case 4: gemv_pixels(g, lanes, 4); break;
#endif
    }
}

TARGET static void gemv(const struct eng_gemv *g)
{
    switch (g->lanes) {
    case 4: gemv_vectors(g, 4); break;
#if LANES > 4
    case 8: gemv_vectors(g, 8); break;
#endif
#if LANES > 8
    case 16: gemv_vectors(g, 16); break;
#endif
    }
}
