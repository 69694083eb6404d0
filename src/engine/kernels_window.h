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

#if LANES < 16
typedef vec vec_least;

/* The least magnitude that fp16 rounds to a normal number. */
INLINE vec_least vec_least_of(bool normal)
{
    return vec_set(normal ? 0x1.ffcp-15f : 0);
}

INLINE vec vec_kept(vec v, vec_least least)
{
    return vec_if_less(vec_and(v, 0x7fffffff), least, vec_set(0), v);
}

/* Numbers that are not -0. Those below the least magnitude give 0. */
INLINE void vec_to_fp16_kept(uint8_t *to, vec v, vec_least least)
{
    vec_to_fp16_number(to, vec_kept(v, least), 0);
}

INLINE void vecs_to_fp16_kept(uint8_t *to, vec a, vec b, vec_least least)
{
    vec_to_fp16_kept(to, a, least);
    vec_to_fp16_kept(to + 2 * LANES, b, least);
}

INLINE void vec_to_fp16_kept_part(uint8_t *to, vec v, vec_least least, size_t n)
{
    vec_to_fp16_part(to, vec_kept(v, least), n, ENG_STORE_NUMBER);
}

/* As many zeros after the vector. */
INLINE void vec_to_fp16_kept_and_zeros(uint8_t *to, vec v, vec_least least)
{
    vec_to_fp16_kept(to, v, least);
    __builtin_memset(to + 2 * LANES, 0, 2 * LANES);
}
#endif

/*
 * A strip of columns of one channel, or all columns, where they are one vector, of as many channels. What is
 * marked c is a constant where this is inlined. Nothing here needs the window again while rows pass, so that
 * the compiler keeps in registers what a row needs.
 */
struct strip {
    unsigned step, vectors; /* c */
    /* c: no input needs a rule of loads, the end is a range, and only edges are outside the input */
    bool known;
    bool group;     /* c: each vector is a channel */
    bool ahead;     /* c if known: the vector after the last is needed too */
    unsigned whole; /* vectors that are stored as such from the last one on, zeros after the outputs */
    uint32_t last;  /* outputs in the last vector */
    size_t in_next, out_next; /* bytes from vector to vector */
    vec weight[ENG_WINDOW_TAPS][WINDOW_VECTORS], bias[WINDOW_VECTORS];
    vec ceiling, low, top;
    vec_least least;
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
    const uint8_t *from = (const uint8_t *)(row + v * next);
    const bool inside = s->known && !s->group && v > 0 && v + 1 < s->vectors;
    struct lanes low = s->lanes[s->group ? 0 : v * s->step], high = s->lanes[s->group ? 1 : v * s->step + 1];
    struct phases p;

    if (inside)
        low = high = lanes_between(0, LANES);
    if (s->step == 2)
        vec_operands(from, low, high, s->known, &p.of[0], &p.of[1]);
    else
        p.of[0] = p.of[1] = vec_operand(from, low, s->known);
    return p;
}

/* Column x of the window, for all outputs of a vector; `next` is the vector after it. */
INLINE vec strip_tap(const struct strip *s, const struct phases *p, const struct phases *next, unsigned x)
{
    return x < s->step ? p->of[x] : vec_shift(p->of[x % s->step], next->of[x % s->step], x / s->step);
}

/* Sums of known strips are far below the ceiling, so that weights are not scaled either. */
INLINE vec strip_mac(const struct strip *s, vec sum, vec x, vec weight)
{
    return s->known ? vec_fma(sum, x, weight) : vec_mac(sum, x, weight, s->ceiling);
}

INLINE vec strip_add(const struct strip *s, vec sum, const vec tap[STRIP_SIDE], unsigned ky, unsigned v)
{
    UNROLL_STRIP
    for (unsigned x = 0; x < STRIP_SIDE; x++)
        sum = strip_mac(s, sum, tap[x], s->weight[ky * STRIP_SIDE + x][s->group ? v : 0]);
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

/* The end of vector v, with the one before it where two are stored together. */
INLINE void strip_put(const struct strip *s, uint8_t *to, vec sum[WINDOW_VECTORS], unsigned v)
{
    const bool last = s->group || v + 1 == s->vectors, second = !s->group && v % 2;

    sum[v] = vec_clamp(vec_add(sum[v], s->bias[s->group ? v : 0]), s->low, s->top);
    if (last)
        sum[v] = vec_first(sum[v], s->last, vec_set(0));
    to += (second ? v - 1 : v) * s->out_next;
    if (last && !s->whole) {
        if (second)
            vec_to_fp16_kept(to, sum[v - 1], s->least);
        vec_to_fp16_kept_part(to + (second ? 2 * LANES : 0), sum[v], s->least, s->last);
    } else if (second) {
        vecs_to_fp16_kept(to, sum[v - 1], sum[v], s->least);
    } else if (last && s->whole == 2) {
        vec_to_fp16_kept_and_zeros(to, sum[v], s->least);
    } else if (last) {
        vec_to_fp16_kept(to, sum[v], s->least);
    }
}

/* How many of a row's last vectors are stored whole where known strips end: 2 with one of zeros. */
INLINE unsigned strip_whole(const struct eng_window *w, uint32_t x0, uint32_t vectors)
{
    const uint32_t end = x0 + vectors * LANES;

    return end >= w->wout && end + LANES <= w->tail ? 2 : end <= w->wout || end <= w->tail;
}

/* The first column after what the last of known strips stores. */
INLINE uint32_t strip_end(const struct eng_window *w, uint32_t x0, uint32_t vectors)
{
    const unsigned whole = strip_whole(w, x0, vectors);

    return !whole ? w->wout : x0 + (vectors + (whole == 2 ? vectors % 2 : 0)) * LANES;
}

INLINE void strip_set_end(struct strip *s, const struct eng_window *w, uint32_t x0, uint32_t channel)
{
    const struct eng_finish *f = &w->finish;
    const uint32_t vectors = s->group ? 1 : s->vectors, left = w->wout - x0, most = vectors * LANES;
    const bool clamps = f->table && f->table->clamp;

    s->last = left >= most ? LANES : left - (most - LANES);
    s->whole = strip_whole(w, x0, vectors);
    s->low = vec_set(clamps || f->relu ? 0 : -__builtin_inff());
    s->top = vec_set(clamps ? f->table->high : __builtin_inff());
    s->least = vec_least_of(!clamps);
    s->finish = f;
    s->channel_bias = w->bias[channel];
}

INLINE void strip_begin(struct strip *s, const struct eng_window *w, uint32_t channel, uint32_t x0)
{
    const int64_t column = (int64_t)x0 * s->step - w->px;
    const unsigned channels = s->group ? s->vectors : 1, vectors = s->group ? 1 : s->vectors + 1;
    const float scale = s->known ? w->finish.unscale : 1;

    strip_set_end(s, w, x0, channel);
    s->in_next = s->group ? w->in_channel : 2 * LANES * s->step;
    s->out_next = s->group ? w->out_channel : 2 * LANES;
    s->ceiling = vec_set(w->ceiling);
    UNROLL_STRIP
    for (unsigned i = 0; i < channels; i++) {
        s->bias[i] = vec_set(w->bias[channel + i]);
        UNROLL_STRIP
        for (unsigned tap = 0; tap < ENG_WINDOW_TAPS; tap++)
            s->weight[tap][i] = vec_set(w->weight[tap * w->weight_tap + channel + i] * scale);
    }
    UNROLL_STRIP
    for (unsigned v = 0; v < vectors * s->step; v++)
        s->lanes[v] =
            lanes_between(-column - (int64_t)v * LANES, (int64_t)w->win - column - (int64_t)v * LANES);
}

/* Sums of up to three output rows, the complete ones first. */
struct ring {
    vec of[STRIP_SIDE][WINDOW_VECTORS];
};

/* The input rows of a turn are added: one, or with steps of 2 two, and the sums of `of[0]` are complete. */
INLINE void strip_turn(const struct strip *s, struct ring *sums, uintptr_t in, size_t in_row, int64_t at,
                       uint32_t hin, uint8_t *out)
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
        if (s->known)
            strip_put(s, out, sums->of[0], v);
    }
}

INLINE void strip_of(const struct eng_window *w, uint32_t channel, uint32_t x0, struct strip s)
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
    struct ring sums;

    strip_begin(&s, w, channel, x0);
    UNROLL_STRIP
    for (unsigned v = 0; v < vectors; v++)
        sums.of[0][v] = sums.of[1][v] = sums.of[2][v] = vec_set(0);
    for (; y < hout; y++, at += step, in += step * in_row) {
        strip_turn(&s, &sums, in, in_row, at, hin, out);
        if (!s.known && y >= 0)
            strip_put_any(&s, out, sums.of[0]);
        out += y >= 0 ? out_row : 0;
        UNROLL_STRIP
        for (unsigned v = 0; v < vectors; v++) {
            sums.of[0][v] = sums.of[1][v];
            sums.of[1][v] = sums.of[2][v];
        }
    }
}

typedef void strip_function(const struct eng_window *w, uint32_t channel, uint32_t x0);

#define STRIP(name, ...)                                                                            \
    TARGET __attribute__((noinline)) static void name(const struct eng_window *w, uint32_t channel, \
                                                      uint32_t x0)                                  \
    {                                                                                               \
        strip_of(w, channel, x0, (struct strip){__VA_ARGS__});                                      \
    }
#define STRIPS(name, count)                                                          \
    STRIP(name##_1, .step = 1, .vectors = count, .known = true)                      \
    STRIP(name##_1_ahead, .step = 1, .vectors = count, .known = true, .ahead = true) \
    STRIP(name##_1_any, .step = 1, .vectors = count, .ahead = true)                  \
    STRIP(name##_2, .step = 2, .vectors = count, .known = true)                      \
    STRIP(name##_2_ahead, .step = 2, .vectors = count, .known = true, .ahead = true) \
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
STRIP(strip_group_1, .step = 1, .vectors = WINDOW_VECTORS, .known = true, .group = true)
STRIP(strip_group_2, .step = 2, .vectors = WINDOW_VECTORS, .known = true, .group = true)

enum { STRIP_KNOWN, STRIP_AHEAD, STRIP_ANY, STRIP_KINDS };

static strip_function *const strip_functions[WINDOW_VECTORS][2][STRIP_KINDS] = {
    STRIP_NAMES(strip_one),
    STRIP_NAMES(strip_two),
#if WINDOW_VECTORS > 2
    STRIP_NAMES(strip_three),
    STRIP_NAMES(strip_four),
#endif
};

/* Twice the least and the largest magnitude's bits of a channel; of zeros the least is not seen. */
struct extremes {
    halves least, most;
};

INLINE struct extremes extremes_with(struct extremes e, halves x)
{
    x += x;
    e.most = halves_max(e.most, x);
    e.least = halves_min(e.least, x - 2); /* of 0 the largest */
    return e;
}

/* Whether all elements of a channel are 0 or, in magnitude, normal numbers below the one with these bits. */
INLINE bool window_is_within(const struct eng_window *w, uint32_t channel, uint32_t bits)
{
    const uint8_t *row = w->in + channel * w->in_channel;
    const uint32_t whole = w->win / HALVES * HALVES;
    struct extremes e = {.least = halves_set(0xffff), .most = halves_set(0)};
    halves x;

    for (uint32_t y = 0; y < w->hin; y++, row += w->in_row) {
        for (uint32_t i = 0; i < whole; i += HALVES) {
            __builtin_memcpy(&x, row + 2 * i, sizeof(x));
            e = extremes_with(e, x);
        }
        if (w->win > whole)
            e = extremes_with(e, halves_load_part(row + 2 * whole, w->win - whole));
    }
    return !halves_any((halves)(e.most >= (uint16_t)(2 * bits)) | (halves)(e.least < 2 * 0x400 - 2));
}

/* The columns of a channel's rows from `first` on, which no strip has written. */
INLINE void window_fill_tail(const struct eng_window *w, uint32_t channel, uint32_t first)
{
    uint8_t *row = w->out + channel * w->out_channel + 2 * (size_t)first;

    for (uint32_t y = 0; first < w->tail && y < w->hout; y++, row += w->out_row)
        zero_tail(row, 2 * (size_t)(w->tail - first));
}

/*
 * Inputs of a channel that are smaller than the number with these bits, times the weights, give sums below
 * ENG_CEILING / 4; 0 when the bias is not below that too.
 */
INLINE uint32_t window_limit(float weights, float bias)
{
    uint32_t bits, exponent;

    __builtin_memcpy(&bits, &weights, sizeof(bits));
    exponent = bits >> 23; /* the weights are below 2^(exponent - 126), */
    if (!(__builtin_fabsf(bias) < ENG_CEILING / 4))
        return 0;
    if (exponent <= 126 - 3) /* and inputs below 2^(13 - (exponent - 126)) */
        return 0x7c00;
    return exponent >= 126 + 28 ? 0 : (28 + 126 - exponent) << 10;
}

/* The limits of LANES channels at most. */
INLINE void window_limits(const struct eng_window *w, uint32_t channel, uint32_t *limit)
{
    const uint32_t left = w->channels - channel, n = left < LANES ? left : LANES;
    float weights[LANES];
    vec sum = vec_set(0);

    for (unsigned tap = 0; tap < ENG_WINDOW_TAPS; tap++) {
        const float *at = w->weight + tap * w->weight_tap + channel;

        sum = vec_add(sum, vec_and(n < LANES ? vec_load_part(at, n) : vec_load(at), 0x7fffffff));
    }
    vec_store(weights, vec_mul(sum, vec_set(w->finish.unscale)));
    for (uint32_t i = 0; i < n; i++)
        limit[i] = window_limit(weights[i], w->bias[channel + i]);
}

/* Strips of WINDOW_VECTORS, and one of what is left. */
INLINE void window_channel(const struct eng_window *w, uint32_t channel, bool known)
{
    const unsigned step = w->form == ENG_WINDOW_3_STEP_2 ? 2 : 1;
    uint32_t written = w->wout;

    for (uint32_t x0 = 0; x0 < w->wout; x0 += WINDOW_VECTORS * LANES) {
        const uint32_t left = w->wout - x0, all = (left + LANES - 1) / LANES;
        const uint32_t vectors = all < WINDOW_VECTORS ? all : WINDOW_VECTORS;
        const int64_t column = (int64_t)x0 * step - w->px, inner = (int64_t)LANES * step;
        const bool ahead = left + (STRIP_SIDE - 1) / step > vectors * LANES;
        /* All vectors but the first and the last are inside the input. */
        const bool plain = vectors <= 2 || (column + inner >= 0 && column + (vectors - 1) * inner <= w->win);
        unsigned kind = !known || !plain ? STRIP_ANY : ahead ? STRIP_AHEAD : STRIP_KNOWN;

        strip_functions[vectors - 1][step - 1][kind](w, channel, x0);
        if (kind != STRIP_ANY && left <= vectors * LANES)
            written = strip_end(w, x0, vectors);
    }
    window_fill_tail(w, channel, written);
}

/* Whether the end of sums below the ceiling is a bias and a range. */
INLINE bool window_has_range(const struct eng_finish *f)
{
    return f->post_scale == 1 && f->acc_bias == 0 && (!f->table || (f->table->clamp && f->table->low == 0));
}

TARGET static void window(const struct eng_window *w)
{
    const unsigned step = w->form == ENG_WINDOW_3_STEP_2 ? 2 : 1;
    const bool one = (uint64_t)(w->wout - 1) * step + STRIP_SIDE <= LANES * step;
    const bool ranged = window_has_range(&w->finish);
    uint32_t limit[LANES];
    bool known[WINDOW_VECTORS], all;

    for (uint32_t c = 0, n; c < w->channels; c += n) {
        if (c % LANES == 0)
            window_limits(w, c, limit);
        n = one && w->channels - c >= WINDOW_VECTORS ? WINDOW_VECTORS : 1;
        all = n > 1;
        for (uint32_t i = 0; i < n; i++) {
            known[i] = ranged && window_is_within(w, c + i, limit[(c + i) % LANES]);
            all = all && known[i];
        }
        if (all) {
            (step == 2 ? strip_group_2 : strip_group_1)(w, c, 0);
            for (uint32_t i = 0; i < n; i++)
                window_fill_tail(w, c + i, strip_end(w, 0, 1));
            continue;
        }
        for (uint32_t i = 0; i < n; i++)
            window_channel(w, c + i, known[i]);
    }
}
