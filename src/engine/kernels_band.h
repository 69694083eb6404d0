/* SPDX-License-Identifier: Apache-2.0 */
/* Part of kernels_body.h, with its conditions: rows of fp16 values as they lie. */

INLINE halves halves_set(uint16_t bits)
{
    return (halves){0} + bits;
}

/* Whether a band's whole vectors go around the caches. */
INLINE bool streams(const struct eng_band *band)
{
    return STREAMS && band->stream && (uintptr_t)band->out % sizeof(halves) == 0 &&
           (band->rows == 1 || band->out_row % sizeof(halves) == 0);
}

INLINE void store_whole(uint8_t *to, halves v, bool stream)
{
    if (stream)
        halves_stream(to, v);
    else
        __builtin_memcpy(to, &v, sizeof(v));
}

/* A small even number of zero bytes, in stores that may overlap. */
INLINE void zero_tail(uint8_t *to, size_t bytes)
{
    for (; bytes > 64; to += 32, bytes -= 32)
        __builtin_memset(to, 0, 32);
    if (bytes >= 32) {
        __builtin_memset(to, 0, 32);
        if (bytes > 32)
            __builtin_memset(to + bytes - 32, 0, 32);
    } else if (bytes >= 16) {
        __builtin_memset(to, 0, 16);
        __builtin_memset(to + bytes - 16, 0, 16);
    } else if (bytes >= 8) {
        __builtin_memset(to, 0, 8);
        __builtin_memset(to + bytes - 8, 0, 8);
    } else {
        for (; bytes; bytes -= 2, to += 2)
            __builtin_memset(to, 0, 2);
    }
}

/* The last n elements of a row, fewer than LANES, and the zeros after it. */
INLINE void store_last(uint8_t *to, vec v, size_t n, size_t tail, unsigned rules)
{
    if (n == 0) {
        zero_tail(to, tail);
    } else if (rules == ENG_STORE_NUMBER && n <= LANES / 2 && 2 * n + tail >= 2 * LANES) {
        vec_to_fp16_few(to, v, n);
        zero_tail(to + 2 * LANES, 2 * n + tail - 2 * LANES);
    } else if (2 * n + tail >= 2 * LANES) {
        vec_to_fp16(to, vec_first(v, n, vec_set(0)), rules);
        zero_tail(to + 2 * LANES, 2 * n + tail - 2 * LANES);
    } else {
        vec_to_fp16_part(to, v, n, rules);
        zero_tail(to + 2 * n, tail);
    }
}

/* The same of a vector of fp16 values: fewer than HALVES. */
INLINE void store_halves(uint8_t *to, halves v, size_t n, size_t tail)
{
    if (2 * n + tail >= sizeof(v)) {
        v = halves_first(v, n);
        __builtin_memcpy(to, &v, sizeof(v));
        zero_tail(to + sizeof(v), 2 * n + tail - sizeof(v));
    } else {
        halves_store_part(to, v, n);
        zero_tail(to + 2 * n, tail);
    }
}

/* n elements, LANES at most, `step` bytes apart. */
INLINE vec load_steps(const uint8_t *from, size_t step, size_t n, const struct eng_load *load)
{
    uint8_t part[2 * LANES] = {0};

    if (step == 0)
        return vec_from_fp16_one(from, load);
    if (step == 2)
        return n == LANES ? vec_from_fp16(from, load) : vec_from_fp16_part(from, n, load);
    if (n == LANES)
        return vec_from_fp16_steps(from, step, load);
    for (size_t i = 0; i < n; i++)
        __builtin_memcpy(part + 2 * i, from + i * step, 2);
    return vec_from_fp16(part, load);
}

/* The same stored, with zeros after each. */
INLINE void store_steps(uint8_t *to, size_t step, vec v, size_t n, size_t tail, unsigned rules)
{
    uint8_t part[2 * LANES];

    if (step == 2 && n == LANES) {
        vec_to_fp16(to, v, rules);
        return;
    }
    vec_to_fp16(part, v, rules);
    for (size_t i = 0; i < n; i++, to += step) {
        __builtin_memcpy(to, part + 2 * i, 2);
        zero_tail(to + 2, tail);
    }
}

TARGET static void to_half_steps(const float *floats, uint8_t *fp16, size_t step, size_t n, size_t tail,
                                 unsigned rules)
{
    for (size_t i = 0; i < n; i += LANES) {
        size_t some = n - i < LANES ? n - i : LANES;
        vec v = some == LANES ? vec_load(floats + i) : vec_load_part(floats + i, some);

        store_steps(fp16 + i * step, step, v, some, tail, rules);
    }
}

/* Eight rows of eight elements, by exchanging elements, pairs and fours. */
typedef uint16_t eight __attribute__((vector_size(16)));

INLINE eight eight_load(const uint8_t *from)
{
    eight v;

    __builtin_memcpy(&v, from, sizeof(v));
    return v;
}

#define ELEMENTS_LOW(a, b)  __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define ELEMENTS_HIGH(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define PAIRS_LOW(a, b)     __builtin_shufflevector(a, b, 0, 1, 8, 9, 2, 3, 10, 11)
#define PAIRS_HIGH(a, b)    __builtin_shufflevector(a, b, 4, 5, 12, 13, 6, 7, 14, 15)
#define FOURS_LOW(a, b)     __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11)
#define FOURS_HIGH(a, b)    __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15)

INLINE void transpose_block(const uint8_t *from, size_t from_row, uint8_t *to, size_t to_row)
{
    eight r[8], e[8], p[8];

    UNROLL
    for (unsigned i = 0; i < 8; i++)
        r[i] = eight_load(from + i * from_row);
    UNROLL
    for (unsigned i = 0; i < 4; i++) {
        e[2 * i] = ELEMENTS_LOW(r[2 * i], r[2 * i + 1]);
        e[2 * i + 1] = ELEMENTS_HIGH(r[2 * i], r[2 * i + 1]);
    }
    UNROLL
    for (unsigned i = 0; i < 8; i += 4) {
        p[i] = PAIRS_LOW(e[i], e[i + 2]);
        p[i + 1] = PAIRS_HIGH(e[i], e[i + 2]);
        p[i + 2] = PAIRS_LOW(e[i + 1], e[i + 3]);
        p[i + 3] = PAIRS_HIGH(e[i + 1], e[i + 3]);
    }
    UNROLL
    for (unsigned i = 0; i < 4; i++) {
        eight low = FOURS_LOW(p[i], p[i + 4]), high = FOURS_HIGH(p[i], p[i + 4]);

        __builtin_memcpy(to + 2 * i * to_row, &low, sizeof(low));
        __builtin_memcpy(to + (2 * i + 1) * to_row, &high, sizeof(high));
    }
}

INLINE void transpose_elements(const uint8_t *from, size_t from_row, uint8_t *to, size_t to_row, size_t rows,
                               size_t columns)
{
    for (size_t c = 0; c < columns; c++)
        for (size_t r = 0; r < rows; r++)
            __builtin_memcpy(to + c * to_row + 2 * r, from + r * from_row + 2 * c, 2);
}

TARGET static void transpose(const uint8_t *from, size_t from_row, uint8_t *to, size_t to_row, size_t rows,
                             size_t columns)
{
    size_t all_rows = rows / 8 * 8, all_columns = columns / 8 * 8;

    for (size_t r = 0; r < all_rows; r += 8)
        for (size_t c = 0; c < all_columns; c += 8)
            transpose_block(from + r * from_row + 2 * c, from_row, to + c * to_row + 2 * r, to_row);
    transpose_elements(from + 2 * all_columns, from_row, to + all_columns * to_row, to_row, rows,
                       columns - all_columns);
    transpose_elements(from + all_rows * from_row, from_row, to + 2 * all_rows, to_row, rows - all_rows,
                       all_columns);
}
