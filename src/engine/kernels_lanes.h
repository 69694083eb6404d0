/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part of the instruction sets that have no masks: several runs of weights, and vectors at the edge of a row.
 * The including file has defined the vector type, vec_from_fp16, vec_from_fp16_runs and vec_first.
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

/*
 * Operands of products, by the rules of m1: those lanes; the others are 0, and their bytes are not read.
 * `clean` says that no element needs a rule.
 */
INLINE vec vec_operand(const uint8_t *from, struct lanes which, bool clean)
{
    const struct eng_load load = {.rules = clean ? 0 : ENG_RULE_NAN_IS_INFINITY | ENG_RULE_NO_DENORMALS,
                                  .scale = 1};

    return vec_from_fp16_lanes(from, which, &load, vec_set(0));
}

/* The same of 2 * LANES, at even places and at odd ones. */
INLINE void vec_operands(const uint8_t *from, struct lanes low, struct lanes high, bool clean, vec *even,
                         vec *odd)
{
    vec a = vec_operand(from, low, clean), b = vec_operand(from + 2 * LANES, high, clean);

    *even = vec_even(a, b);
    *odd = vec_odd(a, b);
}

INLINE halves halves_larger(halves a, halves b)
{
    halves first = (halves)(a > b);

    return (first & a) | (~first & b);
}

INLINE halves halves_smaller(halves a, halves b)
{
    return ~halves_larger(~a, ~b);
}

/* Whether a bit is set. */
INLINE bool halves_any(halves v)
{
    uint64_t word[sizeof(v) / 8], all = 0;

    __builtin_memcpy(word, &v, sizeof(v));
    for (size_t i = 0; i < sizeof(v) / 8; i++)
        all |= word[i];
    return all != 0;
}
