/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part of kernels_body.h, with its conditions: sums of products of windows of 3x3 over one channel.
 *
 * Input rows are taken in order, each once: it is converted to fp32, moved along by the window's columns, and
 * added to every output row whose window has it. An input row outside the input is one of zeros, whose
 * products change no sum, and before the first output row is complete, others are stored in its place. So a
 * turn of the loop over rows has no branches.
 */

/* clang unrolls these loops where it can; where a pragma asks for it and it cannot, it warns. */
#if defined(__clang__)
#define UNROLL_STRIP
#else
#define UNROLL_STRIP UNROLL
#endif
#define STRIP_SIDE 3 /* of a window */

/*
 * The end of sums that are below the ceiling: a bias and a range. fp16 values that have none of the bits of
 * `kept` become 0: places without a result, -0, and denormals where they are not kept.
 */
struct strip_range {
    vec unscale;
    halves low, high, kept, last; /* `last` is `kept` for the last vectors */
};

/*
 * A strip of columns of one channel, or all columns, where they are one vector or a part of it, of some
 * channels. What is marked c is a constant where this is inlined. Nothing here needs the window again while
 * rows pass, so that the compiler keeps in registers what a row needs.
 */
struct strip {
    unsigned step, vectors; /* c */
    /*
     * c: inputs are taken to be finite and results to be below the ceiling, the end is a range, and only
     * edges are outside the input.
     */
    bool usual;
    bool ahead;               /* c if usual: the vector after the last is needed too */
    unsigned group;           /* c: channels in each vector; 0: all vectors are of one channel */
    uint32_t last;            /* outputs in the last vector, or of a channel */
    uint32_t stored;          /* elements that are stored of the last two vectors, or of a channel */
    size_t in_next, out_next; /* bytes from vector to vector, or from channel to channel */
    vec weight[ENG_WINDOW_TAPS][WINDOW_VECTORS], bias[WINDOW_VECTORS];
    vec ceiling;
    struct strip_range end;
    struct lanes lanes[2 * WINDOW_VECTORS + 2]; /* of each vector of an input row those inside the input */
    const struct eng_finish *finish;
    float channel_bias;
};

/* A vector of an input row, by column modulo step. */
struct phases {
    vec of[2];
};

/* `row` is the input row at the strip's first column, which may be before the row. */
INLINE struct phases strip_phases(const struct strip *s, uintptr_t row, size_t next, unsigned v)
{
    const uint8_t *from = (const uint8_t *)(row + (s->group ? s->group : 1) * v * next);
    const bool inside = s->usual && !s->group && v > 0 && v + 1 < s->vectors;
    struct lanes low = s->lanes[s->group ? 0 : v * s->step], high = s->lanes[s->group ? 1 : v * s->step + 1];
    struct phases p;

    if (inside)
        low = high = lanes_between(0, LANES);
#if WINDOW_PARTS > 1
    if (s->group > 1 && s->step == 2) {
        vec_operands_of_two(from, from + next, low, &p.of[0], &p.of[1]);
        return p;
    }
    if (s->group > 1) {
        p.of[0] = p.of[1] = vec_operand_of_two(from, from + next, low);
        return p;
    }
#endif
    if (s->step == 2)
        vec_operands(from, low, high, s->usual, &p.of[0], &p.of[1]);
    else
        p.of[0] = p.of[1] = vec_operand(from, low, s->usual);
    return p;
}

/*
 * Column x of the window, for all outputs of a vector; `next` is the vector after it. Columns of the first
 * phase are behind those of all phases, which for three columns are one or two.
 */
INLINE vec strip_tap(const struct strip *s, const struct phases *p, const struct phases *next, unsigned x)
{
    return x < s->step ? p->of[x] : vec_shift(p->of[0], next->of[0], x - s->step + 1);
}

INLINE vec strip_add(const struct strip *s, vec sum, const vec tap[STRIP_SIDE], unsigned ky, unsigned v)
{
    UNROLL_STRIP
    for (unsigned x = 0; x < STRIP_SIDE; x++)
        sum = vec_mac(sum, tap[x], s->weight[ky * STRIP_SIDE + x][s->group ? v : 0], s->ceiling);
    return sum;
}

/* An input row as it passes: the taps of one vector after the other. */
struct passing {
    uintptr_t row;
    size_t next;
    struct phases now;
};

INLINE struct passing strip_enter(const struct strip *s, uintptr_t in, bool inside)
{
    static const _Alignas(64) uint8_t zeros[(WINDOW_VECTORS + 1) * 2 * 2 * LANES];
    struct passing p = {.row = inside ? in : (uintptr_t)zeros, .next = inside || !s->group ? s->in_next : 0};

    if (!s->group)
        p.now = strip_phases(s, p.row, p.next, 0);
    return p;
}

INLINE void strip_taps(const struct strip *s, struct passing *p, unsigned v, vec tap[STRIP_SIDE])
{
    struct phases next;

    if (s->group)
        p->now = strip_phases(s, p->row, p->next, v);
    next = p->now;
    if (!s->group && (v + 1 < s->vectors || s->ahead))
        next = strip_phases(s, p->row, p->next, v + 1);
    UNROLL_STRIP
    for (unsigned x = 0; x < STRIP_SIDE; x++)
        tap[x] = strip_tap(s, &p->now, &next, x);
    p->now = next;
}

/* The strip's part of an output row, by an end that may be any. */
INLINE void strip_put_any(const struct strip *s, uint8_t *to, const vec sum[WINDOW_VECTORS])
{
    struct eng_finish f = *s->finish;
    float line[WINDOW_VECTORS * LANES];

    f.bias = s->channel_bias;
    UNROLL_STRIP
    for (unsigned v = 0; v < s->vectors; v++)
        vec_store(line + v * LANES, sum[v]);
    finish(line, NULL, to, (s->vectors - 1) * LANES + s->last, &f);
}

INLINE vec strip_total(const struct strip *s, vec sum, unsigned v)
{
    return vec_add_exact(s->bias[s->group ? v : 0], sum, s->end.unscale);
}

INLINE void strip_save(uint8_t *to, halves v, uint32_t n)
{
    if (n == HALVES)
        __builtin_memcpy(to, &v, sizeof(v));
    else
        halves_store_part(to, v, n);
}

/* The results of two vectors, or of the last one. `most` is twice the largest magnitude, as bits. */
INLINE void strip_put(const struct strip *s, uint8_t *to, const vec sum[WINDOW_VECTORS], unsigned first,
                      halves *most)
{
    const unsigned second = first + 1 < s->vectors ? first + 1 : first;
    const bool last = s->group || second + 1 == s->vectors;
    halves v = halves_of_numbers(strip_total(s, sum[first], first),
                                 first == second ? vec_set(0) : strip_total(s, sum[second], second), 0);

    *most = halves_max(*most, v + v);
    v = halves_signed_min(halves_signed_max(v, s->end.low), s->end.high);
    v = halves_kept(v, last ? s->end.last : s->end.kept);
    if (!s->group) {
        strip_save(to + first * s->out_next, v, last ? s->stored : HALVES);
        return;
    }
    UNROLL_STRIP
    for (unsigned i = 0; i < 2 * s->group; i++)
        strip_save(to + (first * s->group + i) * s->out_next, halves_part(v, i, 2 * s->group), s->stored);
}

/* How many elements of the strip's rows are stored, with the zeros after the last. */
INLINE uint32_t strip_stored(const struct eng_window *w, uint32_t x0, uint32_t vectors)
{
    const uint32_t left = (w->tail > w->wout ? w->tail : w->wout) - x0, most = (vectors + 1) / 2 * HALVES;

    return left < most ? left : most;
}

INLINE void strip_set_end(struct strip *s, const struct eng_window *w, uint32_t x0, uint32_t channel)
{
    const struct eng_finish *f = &w->finish;
    const uint32_t vectors = s->group ? 1 : s->vectors, left = w->wout - x0, most = vectors * LANES;
    const uint32_t even = (vectors - 1) / 2 * HALVES;
    const bool clamps = f->table && f->table->clamp;

    s->last = left >= most ? LANES : left - (most - LANES);
    s->stored = strip_stored(w, x0, vectors) - even;
    s->end.unscale = vec_set(f->unscale);
    s->end.low = halves_set(clamps || f->relu ? 0 : 0x8000);
    s->end.high = halves_set(clamps ? w->high : 0x7fff);
    s->end.kept = halves_set(clamps ? 0x7fff : 0x7c00);
    s->end.last = halves_first_each(s->end.kept,
                                    s->group               ? s->last
                                    : left - even < HALVES ? left - even
                                                           : HALVES,
                                    s->group ? 2 * s->group : 1);
    s->finish = f;
    s->channel_bias = w->bias[channel];
}

INLINE vec strip_weight(const struct strip *s, const float *from)
{
#if WINDOW_PARTS > 1
    if (s->group > 1)
        return vec_of_two(from);
#endif
    (void)s;
    return vec_set(*from);
}

INLINE void strip_begin(struct strip *s, const struct eng_window *w, uint32_t channel, uint32_t x0)
{
    const int64_t column = (int64_t)x0 * s->step - w->px;
    const unsigned weights = s->group ? s->vectors : 1, vectors = s->group ? 1 : s->vectors + 1;
    const unsigned lanes = s->group ? LANES / s->group : LANES;

    strip_set_end(s, w, x0, channel);
    s->in_next = s->group ? w->in_channel : 2 * LANES * s->step;
    s->out_next = s->group ? w->out_channel : 2 * LANES;
    s->ceiling = vec_set(w->ceiling);
    UNROLL_STRIP
    for (unsigned i = 0; i < weights; i++) {
        const uint32_t first = channel + i * (s->group ? s->group : 1);

        s->bias[i] = strip_weight(s, w->bias + first);
        UNROLL_STRIP
        for (unsigned tap = 0; tap < ENG_WINDOW_TAPS; tap++)
            s->weight[tap][i] = strip_weight(s, w->weight + tap * w->weight_tap + first);
    }
    /* Two channels in a vector have all their columns in one set of lanes. */
    UNROLL_STRIP
    for (unsigned v = 0; v < vectors * s->step; v++)
        s->lanes[v] =
            lanes_between(-column - (int64_t)v * LANES, (int64_t)w->win - column - (int64_t)v * LANES);
    if (s->group > 1)
        s->lanes[0] = lanes_between(
            -column, (int64_t)w->win - column < lanes * s->step ? (int64_t)w->win - column : lanes * s->step);
}

/* Sums of up to three output rows, the complete ones first. */
struct ring {
    vec of[STRIP_SIDE][WINDOW_VECTORS];
};

/* The input rows of a turn are added: one, or with steps of 2 two, and the sums of `of[0]` are complete. */
INLINE void strip_turn(const struct strip *s, struct ring *sums, uintptr_t in, size_t in_row, int64_t at,
                       uint32_t hin, uint8_t *out, halves *most)
{
    struct passing p = strip_enter(s, in, (uint64_t)at < hin), q = p;
    vec tap[STRIP_SIDE];

    if (s->step == 2)
        q = strip_enter(s, in + in_row, (uint64_t)at + 1 < hin);
    UNROLL_STRIP
    for (unsigned v = 0; v < s->vectors; v++) {
        strip_taps(s, &p, v, tap);
        if (s->step == 2) {
            sums->of[0][v] = strip_add(s, sums->of[0][v], tap, 1, v);
            strip_taps(s, &q, v, tap);
        } else {
            sums->of[1][v] = strip_add(s, sums->of[1][v], tap, 1, v);
        }
        sums->of[0][v] = strip_add(s, sums->of[0][v], tap, 2, v);
        sums->of[3 - s->step][v] = strip_add(s, vec_set(0), tap, 0, v);
        if (s->usual && (v % 2 || v + 1 == s->vectors))
            strip_put(s, out, sums->of[0], v / 2 * 2, most);
    }
}

/*
 * False when inputs or results are not as they are taken to be, and then the results are wrong. It is seen at
 * the results alone: an input that is not finite leaves no finite number in a sum that has it, and so does a
 * partial sum that reached the ceiling.
 */
INLINE bool strip_of(const struct eng_window *w, uint32_t channel, uint32_t x0, struct strip s)
{
    const size_t in_row = w->in_row, out_row = w->out_row;
    const unsigned step = s.step, vectors = s.vectors;
    const uint32_t hin = w->hin;
    const int64_t hout = w->hout;
    int64_t y = step == 2   ? (w->py ? 0 : -1)
                : w->py < 2 ? (int64_t)w->py - 2
                            : 0,
            at = y * step + STRIP_SIDE - step - (int64_t)w->py;
    uintptr_t in = (uintptr_t)(w->in + channel * w->in_channel) + 2 * ((uintptr_t)x0 * step - w->px) +
                   (uintptr_t)at * in_row;
    uint8_t *out = w->out + channel * w->out_channel + 2 * (size_t)x0;
    halves most = halves_set(0);
    struct ring sums;

    strip_begin(&s, w, channel, x0);
    UNROLL_STRIP
    for (unsigned v = 0; v < vectors; v++)
        sums.of[0][v] = sums.of[1][v] = sums.of[2][v] = vec_set(0);
    for (; y < hout; y++, at += step, in += step * in_row) {
        strip_turn(&s, &sums, in, in_row, at, hin, out, &most);
        if (!s.usual && y >= 0)
            strip_put_any(&s, out, sums.of[0]);
        out += y >= 0 ? out_row : 0;
        UNROLL_STRIP
        for (unsigned v = 0; v < vectors; v++) {
            sums.of[0][v] = sums.of[1][v];
            sums.of[1][v] = sums.of[2][v];
        }
    }
    return !halves_any((halves)(most >= 2 * 0x7800));
}

typedef bool strip_function(const struct eng_window *w, uint32_t channel, uint32_t x0);

#define STRIP(name, ...)                                                                            \
    TARGET __attribute__((noinline)) static bool name(const struct eng_window *w, uint32_t channel, \
                                                      uint32_t x0)                                  \
    {                                                                                               \
        return strip_of(w, channel, x0, (struct strip){__VA_ARGS__});                               \
    }
#define STRIPS(name, count)                                                          \
    STRIP(name##_1, .step = 1, .vectors = count, .usual = true)                      \
    STRIP(name##_1_ahead, .step = 1, .vectors = count, .usual = true, .ahead = true) \
    STRIP(name##_1_any, .step = 1, .vectors = count, .ahead = true)                  \
    STRIP(name##_2, .step = 2, .vectors = count, .usual = true)                      \
    STRIP(name##_2_ahead, .step = 2, .vectors = count, .usual = true, .ahead = true) \
    STRIP(name##_2_any, .step = 2, .vectors = count, .ahead = true)
#define STRIP_NAMES(name)                                                                   \
    {                                                                                       \
        {name##_1, name##_1_ahead, name##_1_any}, {name##_2, name##_2_ahead, name##_2_any}, \
    }

STRIPS(strip_one, 1)
STRIPS(strip_two, 2)
#if WINDOW_VECTORS > 2
STRIPS(strip_three, 3)
STRIPS(strip_four, 4)
#endif
STRIP(strip_group_1, .step = 1, .vectors = WINDOW_VECTORS, .usual = true, .group = 1)
STRIP(strip_group_2, .step = 2, .vectors = WINDOW_VECTORS, .usual = true, .group = 1)
#if WINDOW_PARTS > 1
STRIP(strip_pairs_1, .step = 1, .vectors = WINDOW_VECTORS, .usual = true, .group = 2)
STRIP(strip_pairs_2, .step = 2, .vectors = WINDOW_VECTORS, .usual = true, .group = 2)
#endif

enum { STRIP_USUAL, STRIP_AHEAD, STRIP_ANY, STRIP_KINDS };

static strip_function *const strip_functions[WINDOW_VECTORS][2][STRIP_KINDS] = {
    STRIP_NAMES(strip_one),
    STRIP_NAMES(strip_two),
#if WINDOW_VECTORS > 2
    STRIP_NAMES(strip_three),
    STRIP_NAMES(strip_four),
#endif
};

/* The columns of a channel's rows from `first` on, which no strip has written. */
INLINE void window_fill_tail(const struct eng_window *w, uint32_t channel, uint32_t first)
{
    uint8_t *row = w->out + channel * w->out_channel + 2 * (size_t)first;

    for (uint32_t y = 0; first < w->tail && y < w->hout; y++, row += w->out_row)
        zero_tail(row, 2 * (size_t)(w->tail - first));
}

/* Strips of WINDOW_VECTORS, and one of what is left. */
INLINE bool window_channel(const struct eng_window *w, uint32_t channel, bool usual)
{
    const unsigned step = w->form == ENG_WINDOW_3_STEP_2 ? 2 : 1;
    uint32_t written = w->wout;
    bool good = true;

    for (uint32_t x0 = 0; good && x0 < w->wout; x0 += WINDOW_VECTORS * LANES) {
        const uint32_t left = w->wout - x0, all = (left + LANES - 1) / LANES;
        const uint32_t vectors = all < WINDOW_VECTORS ? all : WINDOW_VECTORS;
        const int64_t column = (int64_t)x0 * step - w->px, inner = (int64_t)LANES * step;
        const bool ahead = left + (STRIP_SIDE - 1) / step > vectors * LANES;
        /* All vectors but the first and the last are inside the input. */
        const bool plain = vectors <= 2 || (column + inner >= 0 && column + (vectors - 1) * inner <= w->win);
        unsigned kind = !usual || !plain ? STRIP_ANY : ahead ? STRIP_AHEAD : STRIP_USUAL;

        good = strip_functions[vectors - 1][step - 1][kind](w, channel, x0);
        if (kind != STRIP_ANY && left <= vectors * LANES)
            written = x0 + strip_stored(w, x0, vectors);
    }
    if (good)
        window_fill_tail(w, channel, written);
    return good;
}

/* Whether the end of sums below the ceiling is a bias and a range. */
INLINE bool window_has_range(const struct eng_finish *f)
{
    return f->post_scale == 1 && f->acc_bias == 0 && (!f->table || (f->table->clamp && f->table->low == 0));
}

/*
 * Channels whose rows fit in 1 / `parts` of a vector, with all columns of their windows. One more column may
 * be missing where it and the first one, which is in the lane after, are padding.
 */
INLINE bool window_fits(const struct eng_window *w, unsigned parts)
{
    const unsigned step = w->form == ENG_WINDOW_3_STEP_2 ? 2 : 1;
    const uint64_t lanes = LANES / parts * step, columns = (uint64_t)(w->wout - 1) * step + STRIP_SIDE;

    return columns <= lanes || (parts > 1 && columns - lanes <= w->px && (uint64_t)w->win + w->px <= lanes);
}

/* Some channels that are taken together, as many as fit, or one. Returns how many. */
INLINE uint32_t window_channels(const struct eng_window *w, uint32_t channel, bool one, bool parts)
{
    const bool two = w->form == ENG_WINDOW_3_STEP_2;
    const uint32_t left = w->channels - channel;
    uint32_t n = 1;
    bool good = false;

#if WINDOW_PARTS > 1
    if (parts && left >= WINDOW_PARTS * WINDOW_VECTORS) {
        n = WINDOW_PARTS * WINDOW_VECTORS;
        good = (two ? strip_pairs_2 : strip_pairs_1)(w, channel, 0);
    }
#endif
    (void)parts;
    if (n == 1 && one && left >= WINDOW_VECTORS) {
        n = WINDOW_VECTORS;
        good = (two ? strip_group_2 : strip_group_1)(w, channel, 0);
    }
    for (uint32_t i = 0; i < n; i++)
        if (good)
            window_fill_tail(w, channel + i, strip_stored(w, 0, 1));
        else if (!window_channel(w, channel + i, true))
            window_channel(w, channel + i, false);
    return n;
}

TARGET static void window(const struct eng_window *w)
{
    const bool ranged = window_has_range(&w->finish);
    const bool one = window_fits(w, 1), parts = WINDOW_PARTS > 1 && window_fits(w, WINDOW_PARTS);

    for (uint32_t c = 0; c < w->channels;)
        if (ranged)
            c += window_channels(w, c, one, parts);
        else
            window_channel(w, c++, false);
}
