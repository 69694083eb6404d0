/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part of kernels_body.h, with its conditions: sums of products for few pixels. Weights are converted in
 * registers, used for every pixel, and not kept. A NaN among them stays one, and makes the sum one.
 */

/*
 * How far ahead weights are fetched: so many bytes of all runs together, which cover the latency of memory
 * and leave the first cache room, and at most so many in one run. It changes only the speed.
 */
#define GEMV_AHEAD    20480
#define GEMV_FARTHEST 6144

/* The cache line of every run that is `at` bytes after its first; behind the end, of the runs that follow. */
INLINE void gemv_prefetch(const struct eng_gemv *g, unsigned runs, size_t at)
{
    const size_t bytes = g->channels * g->stride;
    const uint8_t *const *from = g->run;

    if (at >= bytes) {
        if (!g->next)
            return;
        from = g->next;
        at -= bytes;
    }
    UNROLL
    for (unsigned i = 0; i < runs; i++)
        __builtin_prefetch(from[i] + at);
}

/* Rows [0, rows) from `at` on, at most GEMV_ROWS: the chain of every sum goes on by so many products. */
INLINE void gemv_rows(const struct eng_gemv *g, const uint8_t *const *run, size_t at, const float *in,
                      unsigned rows, unsigned lanes, unsigned vectors, unsigned pixels,
                      vec sum[ENG_GEMV_PIXELS][GEMV_VECTORS])
{
    const struct eng_load load = {.rules = ENG_RULE_NO_DENORMALS, .scale = 1};
    vec w[GEMV_ROWS], ceiling = vec_set(g->ceiling);

    UNROLL
    for (unsigned v = 0; v < vectors; v++) {
        const uint8_t *const *from = run + v * (LANES / lanes);

        if (rows == GEMV_ROWS)
            vecs_from_fp16_rows(from, at, g->stride, lanes, &load, w);
        else
            w[0] = vec_from_fp16_runs(from, at, lanes, &load);
        UNROLL
        for (unsigned r = 0; r < rows; r++) {
            UNROLL
            for (unsigned p = 0; p < pixels; p++)
                sum[p][v] = vec_mac(sum[p][v], vec_set(in[r * pixels + p]), w[r], ceiling);
        }
    }
}

/* Rows before those whose weights are whole cache lines, where lines are what is read. */
INLINE uint32_t gemv_head(const struct eng_gemv *g, unsigned lanes)
{
    const size_t line = 2 * GEMV_ROWS * (size_t)lanes;
    const uint32_t head = (uint32_t)(-(uintptr_t)g->run[0] % line / (2 * lanes));

    if (line != 64)
        return 0;
    return head < g->channels ? head : g->channels;
}

INLINE void gemv_of(const struct eng_gemv *g, unsigned lanes, unsigned vectors, unsigned pixels)
{
    const unsigned runs = vectors * (LANES / lanes);
    const size_t ahead = GEMV_AHEAD / runs < GEMV_FARTHEST ? GEMV_AHEAD / runs / 64 * 64 : GEMV_FARTHEST;
    const uint8_t *run[GEMV_VECTORS * (LANES / 4)];
    vec sum[ENG_GEMV_PIXELS][GEMV_VECTORS];
    const float *in = g->in;
    size_t at = 0, prefetched = ahead;
    uint32_t left = g->channels;

    UNROLL
    for (unsigned i = 0; i < runs; i++)
        run[i] = g->run[i];
    UNROLL
    for (unsigned p = 0; p < pixels; p++) {
        UNROLL
        for (unsigned v = 0; v < vectors; v++)
            sum[p][v] = vec_set(0);
    }
    for (uint32_t head = gemv_head(g, lanes); head; head--, left--, in += pixels, at += g->stride)
        gemv_rows(g, run, at, in, 1, lanes, vectors, pixels, sum);
    for (; left >= GEMV_ROWS; left -= GEMV_ROWS, in += GEMV_ROWS * pixels, at += GEMV_ROWS * g->stride) {
        for (; prefetched <= at + ahead; prefetched += 64)
            gemv_prefetch(g, runs, prefetched);
        gemv_rows(g, run, at, in, GEMV_ROWS, lanes, vectors, pixels, sum);
    }
    for (; left; left--, in += pixels, at += g->stride)
        gemv_rows(g, run, at, in, 1, lanes, vectors, pixels, sum);
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
