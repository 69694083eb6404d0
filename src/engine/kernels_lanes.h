/* SPDX-License-Identifier: Apache-2.0 */

#if STRIP_FEW == LANES
/* STRIP_FEW floats. */
typedef vec vec_few;

INLINE vec_few few_zero(void)
{
    return vec_set(0);
}

INLINE void few_store(float *to, vec_few v)
{
    vec_store(to, v);
}

INLINE vec_few few_mac(vec_few sum, const float *x, const float *weight, float ceiling)
{
    return vec_mac(sum, vec_set(*x), vec_load(weight), vec_set(ceiling));
}
#endif
/*
 * Part of the instruction sets that have no masks: several runs of weights, magnitudes, vectors at the edge
 * of a row, the spots of tables, and vectors of fp16 values as bits. The including file has defined
 * everything else.
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

INLINE void vecs_from_fp16_rows(const uint8_t *const *run, size_t at, size_t stride, unsigned lanes,
                                const struct eng_load *load, vec w[GEMV_ROWS])
{
    vecs_from_fp16_runs(run, at, stride, lanes, load, w);
}

/* Of two numbers the one of larger magnitude, and the smaller magnitude. */
INLINE vec vec_larger_magnitude(vec a, vec b)
{
    return vec_if_less(vec_and(a, 0x7fffffffu), vec_and(b, 0x7fffffffu), b, a);
}

INLINE vec vec_smaller_magnitude(vec a, vec b)
{
    vec magnitude = vec_and(a, 0x7fffffffu), other = vec_and(b, 0x7fffffffu);

    return vec_if_less(magnitude, other, magnitude, other);
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

/* All are in [0, most] or [-0, least], as bits. */
INLINE bool halves_within(halves v, int16_t most, uint16_t least)
{
    typedef int16_t numbers __attribute__((vector_size(2 * HALVES)));
    typedef uint64_t words __attribute__((vector_size(2 * HALVES)));
    words outside = (words)((numbers)v > most) | (words)(v > least);
    uint64_t any = 0;

    for (unsigned i = 0; i < 2 * HALVES / 8; i++)
        any |= outside[i];
    return any == 0;
}

/* The spot of x among knots that are 1 / scale apart, the first one at place / scale, which has this base. */
INLINE vec vec_spot_base(float place)
{
    return vec_set(place);
}

INLINE vec vec_spot(vec x, vec scale, vec base)
{
    return vec_sub(vec_floor(vec_mul(x, scale)), base);
}

/* x * scale less its floor: exact, as scale is a power of two. */
INLINE vec vec_spot_way(vec x, vec scale, vec base, vec spot)
{
    return vec_sub(vec_mul(x, scale), vec_add(spot, base));
}

/* The remainder by 32 of any spot. */
INLINE vec vec_spot_wrap(vec spot)
{
    return vec_sub(spot, vec_mul(vec_floor(vec_mul(spot, vec_set(0x1p-5f))), vec_set(0x1p5f)));
}

INLINE vec vec_spot_knot(const vec_knots *knots, vec spot)
{
    return vec_inner_knot(knots, spot);
}

/* y times 2 to the floor of x, which is above -126 and below 128. */
INLINE vec vec_times_power(vec y, vec x)
{
    return vec_mul(y, vec_power_of_two(vec_floor(x)));
}

/* y with its sign changed where that of `sign` is set. */
INLINE vec vec_sign_of(vec y, vec sign)
{
    typedef uint32_t bits __attribute__((vector_size(4 * LANES)));

    return (vec)((bits)y ^ ((bits)sign & 0x80000000u));
}

/* The first n from memory, the others from `rest`. */
INLINE halves halves_load_first(const uint8_t *from, size_t n, halves rest)
{
    __builtin_memcpy(&rest, from, 2 * n);
    return rest;
}

/* Lanes of a vector, clipped to those that there are; and a vector of them, with the others from `rest`. */
struct halves_lanes {
    size_t begin, end;
};

INLINE struct halves_lanes halves_lanes_between(int64_t begin, int64_t end)
{
    size_t from = begin < 0 ? 0 : begin < HALVES ? (size_t)begin : HALVES;
    size_t to = end < 0 ? 0 : end < HALVES ? (size_t)end : HALVES;

    return (struct halves_lanes){from, to};
}

INLINE halves halves_load_lanes(const uint8_t *from, struct halves_lanes which, halves rest)
{
    uint8_t all[2 * HALVES];

    if (which.begin == 0 && which.end == HALVES) {
        __builtin_memcpy(&rest, from, sizeof(rest));
    } else if (which.begin < which.end) {
        __builtin_memcpy(all, &rest, sizeof(rest));
        __builtin_memcpy(all + 2 * which.begin, from + 2 * which.begin, 2 * (which.end - which.begin));
        __builtin_memcpy(&rest, all, sizeof(rest));
    }
    return rest;
}

/* Elements 0, 2, 4 ... of a, then of b. */
INLINE halves halves_even(halves a, halves b)
{
#if HALVES == 8
    return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
#else
    return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
#endif
}

/* Lane by lane, as signed numbers or as unsigned ones. */
INLINE halves halves_signed_max(halves a, halves b)
{
    typedef int16_t numbers __attribute__((vector_size(2 * HALVES)));
    halves choice = (halves)((numbers)a > (numbers)b);

    return (choice & a) | (~choice & b);
}

INLINE halves halves_signed_min(halves a, halves b)
{
    typedef int16_t numbers __attribute__((vector_size(2 * HALVES)));
    halves choice = (halves)((numbers)a < (numbers)b);

    return (choice & a) | (~choice & b);
}

INLINE halves halves_max(halves a, halves b)
{
    halves choice = (halves)(a > b);

    return (choice & a) | (~choice & b);
}

INLINE halves halves_min(halves a, halves b)
{
    halves choice = (halves)(a < b);

    return (choice & a) | (~choice & b);
}

/* The least of all lanes, unsigned. */
INLINE uint16_t halves_least(halves v)
{
    uint16_t least = v[0];

    for (unsigned i = 1; i < HALVES; i++)
        least = v[i] < least ? v[i] : least;
    return least;
}

INLINE bool vec_both_finite(vec a, vec b)
{
    return vec_all_finite(a) && vec_all_finite(b);
}

/* The first n of a vector, and zeros. */
INLINE halves halves_first(halves v, size_t n)
{
    halves w = {0};

    __builtin_memcpy(&w, &v, 2 * n);
    return w;
}

/* The same for each of 1 or 2 parts. */
INLINE halves halves_first_each(halves v, size_t n, unsigned parts)
{
    halves w = {0};

    for (unsigned i = 0; i < HALVES; i++)
        w[i] = i % (HALVES / parts) < n ? v[i] : 0;
    return w;
}

/* One of 2 parts, and zeros. */
INLINE halves halves_part(halves v, unsigned part, unsigned parts)
{
    halves w = {0};

    (void)parts;
    __builtin_memcpy(&w, (const uint8_t *)&v + part * sizeof(v) / 2, sizeof(v) / 2);
    return w;
}

/* Elements without any of these bits become 0. */
INLINE halves halves_kept(halves v, halves bits)
{
    return v & (halves)((v & bits) != 0);
}

/* The lower and the upper LANES of a vector, by no rule. */
INLINE vec vec_of_lower(halves v)
{
    uint8_t all[2 * HALVES];

    __builtin_memcpy(all, &v, sizeof(v));
    return vec_from_fp16(all, &(const struct eng_load){.scale = 1});
}

INLINE vec vec_of_upper(halves v)
{
    uint8_t all[2 * HALVES];

    __builtin_memcpy(all, &v, sizeof(v));
    return vec_from_fp16(all + 2 * LANES, &(const struct eng_load){.scale = 1});
}

/* The way back for numbers, by no rule but ENG_RULE_NO_MINUS_ZERO. */
INLINE halves halves_of_numbers(vec lower, vec upper, unsigned rules)
{
    uint16_t a __attribute__((vector_size(2 * LANES))), b __attribute__((vector_size(2 * LANES)));

    vec_to_fp16_number((uint8_t *)&a, lower, rules);
    vec_to_fp16_number((uint8_t *)&b, upper, rules);
#if HALVES == 8
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
#else
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
#endif
}

/* Two vectors of sums, one after the other, by the rules of sums. */
INLINE void vec_to_fp16_sums(uint8_t *to, vec a, vec b, bool relu)
{
    const unsigned rules =
        ENG_RULE_NAN_IS_ZERO | ENG_RULE_NO_MINUS_ZERO | ENG_RULE_NO_DENORMALS | ENG_RULE_CEILING;

    vec_to_fp16(to, relu ? vec_relu(a) : a, rules);
    vec_to_fp16(to + 2 * LANES, relu ? vec_relu(b) : b, rules);
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

/*
 * Operands of products, by the rules of m1: those lanes; the others are 0, and their bytes are not read.
 * `finite` says that all elements are.
 */
INLINE vec vec_operand(const uint8_t *from, struct lanes which, bool finite)
{
    const struct eng_load load = {.rules = ENG_RULE_NO_DENORMALS | (finite ? 0 : ENG_RULE_NAN_IS_INFINITY),
                                  .scale = 1};

    return vec_from_fp16_lanes(from, which, &load, vec_set(0));
}

/* The same of 2 * LANES, at even places and at odd ones. */
INLINE void vec_operands(const uint8_t *from, struct lanes low, struct lanes high, bool finite, vec *even,
                         vec *odd)
{
    vec a = vec_operand(from, low, finite), b = vec_operand(from + 2 * LANES, high, finite);

    *even = vec_even(a, b);
    *odd = vec_odd(a, b);
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
