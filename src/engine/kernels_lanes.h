/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part of the instruction sets that have no masks: several runs of weights, vectors at the edge of a row, and
 * vectors of fp16 values as bits. The including file has defined the vector types, vec_from_fp16,
 * vec_from_fp16_runs and vec_first.
 */

/* The same for four rows. */
INLINE void vecs_from_fp16_runs(const uint8_t *const *run, size_t at, size_t stride, unsigned lanes,
                                const struct eng_load *load, vec w[4])
{
    w[0] = vec_from_fp16_runs(run, at, lanes, load);
    w[1] = vec_from_fp16_runs(run, at + stride, lanes, load);
    w[2] = vec_from_fp16_runs(run, at + 2 * stride, lanes, load);
    w[3] = vec_from_fp16_runs(run, at + 3 * stride, lanes, load);
}

/* Lanes of a vector, clipped to those that there are. */
struct lanes {
    size_t begin, end;
};

INLINE struct lanes lanes_between(int64_t begin, int64_t end)
{
    size_t from = begin < 0 ? 0 : begin < LANES ? (size_t)begin : LANES;
    size_t to = end < 0 ? 0 : end < LANES ? (size_t)end : LANES;

    return (struct lanes){from, to};
}

/* Not inlined: a vector at the edge of a row is rare, and the loops that load one are unrolled. */
TARGET __attribute__((noinline)) static vec vec_from_fp16_edge(const uint8_t *from, size_t begin, size_t end,
                                                               const struct eng_load *load, vec outside)
{
    uint8_t part[2 * LANES] = {0};

    if (begin >= end)
        return outside;
    __builtin_memcpy(part + 2 * begin, from + 2 * begin, 2 * (end - begin));
    return vec_first(outside, begin, vec_first(vec_from_fp16(part, load), end, outside));
}

/* Those lanes; the others are `outside`, and their bytes are not read. */
INLINE vec vec_from_fp16_lanes(const uint8_t *from, struct lanes which, const struct eng_load *load,
                               vec outside)
{
    if (which.begin == 0 && which.end == LANES)
        return vec_from_fp16(from, load);
    return vec_from_fp16_edge(from, which.begin, which.end, load, outside);
}

/* Half of the lanes at most; the others are 0. */
INLINE vec vec_from_fp16_few(const uint8_t *from, size_t n, const struct eng_load *load)
{
    return vec_from_fp16_part(from, n, load);
}

/* Eight elements from each of some places, `step` bytes apart. */
#if HALVES == 8
INLINE halves halves_of_eights(const uint8_t *from, size_t step)
{
    halves v;

    (void)step;
    __builtin_memcpy(&v, from, sizeof(v));
    return v;
}
#else
INLINE halves halves_of_eights(const uint8_t *from, size_t step)
{
    uint16_t a __attribute__((vector_size(16))), b __attribute__((vector_size(16)));

    __builtin_memcpy(&a, from, sizeof(a));
    __builtin_memcpy(&b, from + step, sizeof(b));
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}
#endif

/* As bits: a NaN becomes infinity, -0 becomes +0. */
INLINE halves halves_usual(halves x)
{
    halves nan = (halves)((x & 0x7fff) > 0x7c00);

    x = (nan & 0x7c00) | (~nan & x);
    return x & ~(halves)(x == 0x8000);
}

/* A vector is less than a line of the caches, so that no store goes around them. */
#define STREAMS 0

INLINE void halves_stream(uint8_t *to, halves v)
{
    __builtin_memcpy(to, &v, sizeof(v));
}

INLINE void halves_stream_end(void)
{
}
