/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part of kernels_body.h, with its conditions: copies whose rows are the source's columns. A block is HALVES
 * rows of eight columns and becomes eight whole vectors, by exchanging elements, pairs and fours inside of
 * each 16 bytes.
 */
typedef uint32_t pairs __attribute__((vector_size(2 * HALVES)));
typedef uint64_t fours __attribute__((vector_size(2 * HALVES)));

/* From the 16 bytes that begin at element i: its first half, alternating with that of another vector. */
#define ZIP_HALVES(i) i, HALVES + i, i + 1, HALVES + i + 1, i + 2, HALVES + i + 2, i + 3, HALVES + i + 3
#define ZIP_PAIRS(i)  i, HALVES / 2 + i, i + 1, HALVES / 2 + i + 1
#define ZIP_FOURS(i)  i, HALVES / 4 + i
#if HALVES == 8
#define ZIP(a, b, form, step, i) __builtin_shufflevector(a, b, form(i))
#elif HALVES == 16
#define ZIP(a, b, form, step, i) __builtin_shufflevector(a, b, form(i), form(i + step))
#else
#define ZIP(a, b, form, step, i) \
    __builtin_shufflevector(a, b, form(i), form(i + step), form(i + 2 * step), form(i + 3 * step))
#endif
#define LOW_HALVES(a, b)  ZIP(a, b, ZIP_HALVES, 8, 0)
#define HIGH_HALVES(a, b) ZIP(a, b, ZIP_HALVES, 8, 4)
#define LOW_PAIRS(a, b)   (halves) ZIP((pairs)(a), (pairs)(b), ZIP_PAIRS, 4, 0)
#define HIGH_PAIRS(a, b)  (halves) ZIP((pairs)(a), (pairs)(b), ZIP_PAIRS, 4, 2)
#define LOW_FOURS(a, b)   (halves) ZIP((fours)(a), (fours)(b), ZIP_FOURS, 2, 0)
#define HIGH_FOURS(a, b)  (halves) ZIP((fours)(a), (fours)(b), ZIP_FOURS, 2, 1)

INLINE void turn_vectors(const halves r[8], uint8_t *to, size_t to_row, bool stream)
{
    halves e[8], p[8];

    UNROLL
    for (unsigned i = 0; i < 8; i += 2) {
        e[i] = LOW_HALVES(r[i], r[i + 1]);
        e[i + 1] = HIGH_HALVES(r[i], r[i + 1]);
    }
    UNROLL
    for (unsigned i = 0; i < 8; i += 4) {
        p[i] = LOW_PAIRS(e[i], e[i + 2]);
        p[i + 1] = HIGH_PAIRS(e[i], e[i + 2]);
        p[i + 2] = LOW_PAIRS(e[i + 1], e[i + 3]);
        p[i + 3] = HIGH_PAIRS(e[i + 1], e[i + 3]);
    }
    UNROLL
    for (unsigned i = 0; i < 4; i++) {
        store_whole(to + 2 * i * to_row, LOW_FOURS(p[i], p[i + 4]), stream);
        store_whole(to + (2 * i + 1) * to_row, HIGH_FOURS(p[i], p[i + 4]), stream);
    }
}

/* Whether a set's instructions find out that no element needs a rule in less time than the rules take. */
#define FEW_CHECKS (LANES == ENG_LANES)

/*
 * Whether the usual rules change none of the elements: no NaN of either sign and no -0. The bits less 0x8001
 * are largest for -0 and for positive NaNs.
 */
INLINE bool turn_keeps(const halves r[8])
{
    halves negative = r[0], others = r[0] - 0x8001;

    UNROLL
    for (unsigned i = 1; i < 8; i++) {
        negative = halves_max(negative, r[i]);
        others = halves_max(others, r[i] - 0x8001);
    }
    return halves_within(negative, 0x7fff, 0xfc00) && halves_within(others, 0x7fff, 0xfbff);
}

/* HALVES rows of eight columns. Row i + 8 k is in the k-th 16 bytes of vector i. */
INLINE void turn_block(const uint8_t *from, size_t from_row, uint8_t *to, size_t to_row,
                       const struct copy_rules *rules)
{
    halves r[8];

    UNROLL
    for (unsigned i = 0; i < 8; i++)
        r[i] = halves_of_eights(from + i * from_row, 8 * from_row);
    if (!rules->usual || !FEW_CHECKS || !__builtin_expect(turn_keeps(r), 1)) {
        UNROLL
        for (unsigned i = 0; i < 8; i++)
            r[i] = copy_element(r[i], rules);
    }
    turn_vectors(r, to, to_row, false);
}

/*
 * HALVES rows of HALVES columns. Each line of the source is read once and whole, because lines that are a
 * power of two apart drive each other out of the caches. The line that follows is fetched meanwhile.
 */
INLINE void turn_tile(const uint8_t *from, size_t from_row, uint8_t *to, size_t to_row, bool stream,
                      const struct copy_rules *rules)
{
    _Alignas(64) uint8_t tile[HALVES][2 * HALVES];
    halves r[8];

    for (unsigned i = 0; i < HALVES; i++) {
        __builtin_prefetch(from + i * from_row + 2 * sizeof(halves), 0, 2);
        copy_vector(from + i * from_row, tile[i], rules);
    }
    for (unsigned c = 0; c < HALVES; c += 8) {
        UNROLL
        for (unsigned i = 0; i < 8; i++)
            r[i] = halves_of_eights(tile[i] + 2 * c, 8 * sizeof(tile[0]));
        turn_vectors(r, to + c * to_row, to_row, stream);
    }
}

/* The last block or tile of an axis ends where the axis does: it may repeat elements of the one before. */
INLINE size_t turn_place(size_t at, size_t size, size_t extent)
{
    return at + size <= extent ? at : extent - size;
}

INLINE void turn_blocks(const struct eng_turn *t, const struct copy_rules *rules)
{
    for (size_t row = 0; row < t->rows; row += HALVES)
        for (size_t column = 0; column < t->columns; column += 8) {
            size_t r = turn_place(row, HALVES, t->rows), c = turn_place(column, 8, t->columns);

            turn_block(t->from + r * t->from_row + 2 * c, t->from_row, t->to + c * t->to_row + 2 * r,
                       t->to_row, rules);
        }
}

INLINE void turn_tiles(const struct eng_turn *t, bool stream, const struct copy_rules *rules)
{
    for (size_t column = 0; column < t->columns; column += HALVES)
        for (size_t row = 0; row < t->rows; row += HALVES) {
            size_t r = turn_place(row, HALVES, t->rows), c = turn_place(column, HALVES, t->columns);
            const uint8_t *from = t->from + r * t->from_row + 2 * c;
            uint8_t *to = t->to + c * t->to_row + 2 * r;

            if (stream && r == row)
                turn_tile(from, t->from_row, to, t->to_row, true, rules);
            else
                turn_tile(from, t->from_row, to, t->to_row, false, rules);
        }
}

/* Few rows or columns. */
INLINE void turn_few(const struct eng_turn *t, const struct copy_rules *rules)
{
    uint8_t tile[8][2 * HALVES];

    for (size_t c = 0; c < t->columns; c += 8) {
        size_t columns = t->columns - c < 8 ? t->columns - c : 8;

        for (size_t r = 0; r < t->rows; r += HALVES) {
            size_t rows = t->rows - r < HALVES ? t->rows - r : HALVES;

            transpose(t->from + r * t->from_row + 2 * c, t->from_row, tile[0], sizeof(tile[0]), rows,
                      columns);
            for (size_t i = 0; i < columns; i++) {
                uint8_t *to = t->to + (c + i) * t->to_row + 2 * r;

                if (rows == HALVES)
                    copy_vector(tile[i], to, rules);
                else
                    copy_short(tile[i], to, rows, t->tail, rules);
            }
        }
    }
}

/* Zeros behind the rows that did not get theirs with their last elements. */
INLINE void turn_tails(const struct eng_turn *t, bool few)
{
    if (few && t->rows % HALVES)
        return;
    for (size_t c = 0; t->tail && c < t->columns; c++)
        zero_tail(t->to + c * t->to_row + 2 * t->rows, t->tail);
}

INLINE void turn_of(const struct eng_turn *t, const struct copy_rules *rules)
{
    bool aligned = (uintptr_t)t->to % sizeof(halves) == 0 && t->to_row % sizeof(halves) == 0;
    bool few = t->rows < HALVES || t->columns < 8;

    if (few) {
        turn_few(t, rules);
    } else if (t->way == ENG_TURN_NEAR || t->columns < HALVES) {
        turn_blocks(t, rules);
    } else if (t->way == ENG_TURN_STREAM && STREAMS && aligned) {
        turn_tiles(t, true, rules);
        halves_stream_end();
    } else {
        turn_tiles(t, false, rules);
    }
    turn_tails(t, few);
}

TARGET static void turn(const struct eng_turn *given, const struct eng_load *load, const struct eng_finish *f)
{
    const struct copy_rules rules = copy_rules_of(load, f);
    const struct eng_turn t = *given;

    if (rules.usual)
        turn_of(&t, &(struct copy_rules){.usual = true});
    else
        turn_of(&t, &rules);
}
