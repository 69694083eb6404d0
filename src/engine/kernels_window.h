/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part of kernels_body.h, with its conditions: sums of products of windows of 3x3 over one channel.
 *
 * Input rows are taken in order, each once: it is converted to fp32, moved along by the window's columns, and
 * added to every output row whose window has it. So many output rows are unfinished at a time as windows
 * overlap, in a ring of registers: the loop over input rows is unrolled by the ring's period.
 */

/* clang unrolls these loops where it can; where a pragma asks for it and it cannot, it warns. */
#if defined(__clang__)
#define UNROLL_STRIP
#else
#define UNROLL_STRIP UNROLL
#endif
#define STRIP_SIDE  3 /* of a window */
#define STRIP_ROWS  3 /* of the largest ring */
#define STRIP_STORE (ENG_RULE_NAN_IS_ZERO | ENG_RULE_NO_MINUS_ZERO | ENG_RULE_NO_DENORMALS | ENG_RULE_CEILING)

#if LANES < 16
typedef vec vec_top;

INLINE vec_top vec_top_of(float top)
{
    return vec_set(top);
}

/* Sums between 0 and `top`; a NaN and -0 give 0. */
INLINE void vec_to_fp16_clamped(uint8_t *to, vec v, vec_top top)
{
    vec_to_fp16(to, vec_clamp(v, vec_set(0), top), ENG_RULE_NAN_IS_ZERO);
}

INLINE void vec_to_fp16_clamped_part(uint8_t *to, vec v, vec_top top, size_t n)
{
    vec_to_fp16_part(to, vec_clamp(v, vec_set(0), top), n, ENG_RULE_NAN_IS_ZERO);
}
#endif

/*
 * What is known of a channel: how its results end, and, but in strips of one vector, that no input needs a
 * rule of loads.
 */
enum strip_kind {
    STRIP_PLAIN,   /* the end is at most a bias and a ReLU */
    STRIP_CLAMPED, /* it is a bias and a clamp from 0 to the table's high end */
    STRIP_ANY,
    STRIP_KINDS
};

/*
 * A strip of columns of one channel. What is marked c is a constant where this is inlined. Nothing here needs
 * the window again while rows pass, so that the compiler keeps in registers what a row needs.
 */
struct strip {
    unsigned step, vectors; /* c */
    enum strip_kind kind;   /* c */
    bool ahead;             /* the vector after the last is needed too */
    bool whole;             /* the last vector is stored as a whole, the columns after the outputs as zeros */
    uint32_t last;          /* outputs in the last vector */
    vec weight[ENG_WINDOW_TAPS], ceiling;
    vec bias, unscale, floor; /* a floor of 0 is a ReLU */
    vec_top top;
    const struct eng_finish *finish;
    float channel_bias;
    struct lanes lanes[2 * WINDOW_VECTORS + 2]; /* of each vector of an input row those inside the input */
};

/* A vector of an input row, by column modulo step. */
struct phases {
    vec of[2];
};

/* Rows of one vector are not searched first: that would take longer than the rules of loads. */
INLINE bool strip_is_clean(const struct strip *s)
{
    return s->kind != STRIP_ANY && s->vectors > 1;
}

/* `row` is the input row at the strip's first column, which may be before the row. */
INLINE struct phases strip_phases(const struct strip *s, uintptr_t row, unsigned v)
{
    const uint8_t *from = (const uint8_t *)(row + (uintptr_t)v * s->step * LANES * 2);
    struct phases p;

    if (s->step == 2)
        vec_operands(from, s->lanes[2 * v], s->lanes[2 * v + 1], strip_is_clean(s), &p.of[0], &p.of[1]);
    else
        p.of[0] = p.of[1] = vec_operand(from, s->lanes[v], strip_is_clean(s));
    return p;
}

/* Column x of the window, for all outputs of a vector; `next` is the vector after it. */
INLINE vec strip_tap(const struct strip *s, const struct phases *p, const struct phases *next, unsigned x)
{
    return x < s->step ? p->of[x] : vec_shift(p->of[x % s->step], next->of[x % s->step], x / s->step);
}

/* An input row for all output rows of the ring whose window has it. */
INLINE void strip_add(const struct strip *s, uintptr_t row, unsigned turn,
                      vec sum[STRIP_ROWS][WINDOW_VECTORS])
{
    const unsigned ring = (STRIP_SIDE + s->step - 1) / s->step, period = ring * s->step;
    struct phases p = strip_phases(s, row, 0), next = p;

    UNROLL_STRIP
    for (unsigned v = 0; v < s->vectors; v++, p = next) {
        if (v + 1 < s->vectors || s->ahead)
            next = strip_phases(s, row, v + 1);
        UNROLL_STRIP
        for (unsigned x = 0; x < STRIP_SIDE; x++) {
            vec tap = strip_tap(s, &p, &next, x);

            UNROLL_STRIP
            for (unsigned r = 0; r < ring; r++) {
                const unsigned ky = (turn + period - r * s->step) % period;

                if (ky < STRIP_SIDE)
                    sum[r][v] = vec_mac(sum[r][v], tap, s->weight[ky * STRIP_SIDE + x], s->ceiling);
            }
        }
    }
}

INLINE void strip_put_table(const struct strip *s, uint8_t *to, const vec sum[WINDOW_VECTORS])
{
    struct eng_finish f = *s->finish;
    float line[WINDOW_VECTORS * LANES];

    f.bias = s->channel_bias;
    UNROLL_STRIP
    for (unsigned v = 0; v < s->vectors; v++)
        vec_store(line + v * LANES, sum[v]);
    finish(line, NULL, to, (s->vectors - 1) * LANES + s->last, &f);
}

/* The end of a vector, as finish_element makes it without a table, or with one that is a clamp. */
INLINE void strip_put_vector(const struct strip *s, uint8_t *to, bool last, vec sum)
{
    vec result = vec_add_exact(s->bias, sum, s->unscale);

    if (s->kind != STRIP_CLAMPED)
        result = vec_larger(s->floor, result);
    if (last && s->whole && s->last < LANES)
        result = vec_first(result, s->last, vec_set(0));
    if (last && !s->whole && s->kind == STRIP_CLAMPED)
        vec_to_fp16_clamped_part(to, result, s->top, s->last);
    else if (last && !s->whole)
        vec_to_fp16_part(to, result, s->last, STRIP_STORE);
    else if (s->kind == STRIP_CLAMPED)
        vec_to_fp16_clamped(to, result, s->top);
    else
        vec_to_fp16(to, result, STRIP_STORE);
}

/* The strip's part of an output row. */
INLINE void strip_put(const struct strip *s, uint8_t *to, const vec sum[WINDOW_VECTORS])
{
    if (s->kind == STRIP_ANY) {
        strip_put_table(s, to, sum);
        return;
    }
    UNROLL_STRIP
    for (unsigned v = 0; v < s->vectors; v++)
        strip_put_vector(s, to + 2 * v * LANES, v + 1 == s->vectors, sum[v]);
}

INLINE void strip_set_end(struct strip *s, const struct eng_window *w, uint32_t left, uint32_t channel)
{
    const struct eng_finish *f = &w->finish;
    uint32_t most = s->vectors * LANES, all = w->tail > w->wout ? w->tail - w->wout + left : left;

    s->whole = left >= most || all >= most;
    s->last = left >= most ? LANES : left - (most - LANES);
    s->finish = f;
    s->channel_bias = w->bias[channel];
    s->bias = vec_set(s->channel_bias);
    s->unscale = vec_set(f->unscale);
    s->floor = vec_set(f->relu ? 0 : -__builtin_inff());
    s->top = vec_top_of(s->kind == STRIP_CLAMPED ? f->table->high : 0);
}

INLINE void strip_begin(struct strip *s, const struct eng_window *w, uint32_t channel, uint32_t x0)
{
    int64_t column = (int64_t)x0 * s->step - w->px;

    strip_set_end(s, w, w->wout - x0, channel);
    s->ceiling = vec_set(w->ceiling);
    s->ahead = w->wout - x0 + (STRIP_SIDE - 1) / s->step > s->vectors * LANES;
    UNROLL_STRIP
    for (unsigned tap = 0; tap < ENG_WINDOW_TAPS; tap++)
        s->weight[tap] = vec_set(w->weight[tap * w->weight_tap + channel]);
    UNROLL_STRIP
    for (unsigned v = 0; v < (s->vectors + 1) * s->step; v++)
        s->lanes[v] =
            lanes_between(-column - (int64_t)v * LANES, (int64_t)w->win - column - (int64_t)v * LANES);
}

/*
 * Rows are counted from the first window's first one; each turn of a period has its own place in the ring.
 * Sums begin in the turn that is a window's first row and end in that which is its last.
 */
INLINE void strip_of(const struct eng_window *w, uint32_t channel, uint32_t x0, unsigned step,
                     unsigned vectors, enum strip_kind kind)
{
    const unsigned ring = (STRIP_SIDE + step - 1) / step, period = ring * step;
    const size_t in_row = w->in_row, out_row = w->out_row;
    const uint32_t rows = (w->hout - 1) * step + STRIP_SIDE, py = w->py, hin = w->hin;
    uintptr_t in = (uintptr_t)(w->in + channel * w->in_channel) + 2 * ((uintptr_t)x0 * step - w->px);
    uint8_t *out = w->out + channel * w->out_channel + 2 * (size_t)x0;
    struct strip s = {.step = step, .vectors = vectors, .kind = kind};
    vec sum[STRIP_ROWS][WINDOW_VECTORS];

    strip_begin(&s, w, channel, x0);
    UNROLL_STRIP
    for (unsigned r = 0; r < STRIP_ROWS; r++) {
        UNROLL_STRIP
        for (unsigned v = 0; v < vectors; v++)
            sum[r][v] = vec_set(0);
    }
    for (uint32_t at = 0; at < rows; at += period) {
        UNROLL_STRIP
        for (unsigned turn = 0; turn < period; turn++) {
            UNROLL_STRIP
            for (unsigned v = 0; v < vectors; v++)
                if (turn % step == 0)
                    sum[turn / step][v] = vec_set(0);
            if (at + turn - py < hin) { /* above the input that is a large number */
                strip_add(&s, in, turn, sum);
                in += in_row;
            }
            if ((turn + period - (STRIP_SIDE - 1)) % step == 0 && at + turn >= STRIP_SIDE - 1) {
                strip_put(&s, out, sum[(turn + period - (STRIP_SIDE - 1)) % period / step]);
                out += out_row;
                if (at + turn + 1 >= rows)
                    return;
            }
        }
    }
}

typedef void strip_function(const struct eng_window *w, uint32_t channel, uint32_t x0);

#define STRIP(name, step, vectors, kind)                                                            \
    TARGET __attribute__((noinline)) static void name(const struct eng_window *w, uint32_t channel, \
                                                      uint32_t x0)                                  \
    {                                                                                               \
        strip_of(w, channel, x0, step, vectors, kind);                                              \
    }
#define STRIPS(name, vectors)                          \
    STRIP(name##_1, 1, vectors, STRIP_PLAIN)           \
    STRIP(name##_1_clamped, 1, vectors, STRIP_CLAMPED) \
    STRIP(name##_1_any, 1, vectors, STRIP_ANY)         \
    STRIP(name##_2, 2, vectors, STRIP_PLAIN)           \
    STRIP(name##_2_clamped, 2, vectors, STRIP_CLAMPED) \
    STRIP(name##_2_any, 2, vectors, STRIP_ANY)
#define STRIP_NAMES(name)                                                                       \
    {                                                                                           \
        {name##_1, name##_1_clamped, name##_1_any}, {name##_2, name##_2_clamped, name##_2_any}, \
    }

STRIPS(strip_one, 1)
STRIPS(strip_two, 2)
#if WINDOW_VECTORS > 2
STRIPS(strip_three, 3)
STRIPS(strip_four, 4)
#endif

static strip_function *const strip_functions[WINDOW_VECTORS][2][STRIP_KINDS] = {
    STRIP_NAMES(strip_one),
    STRIP_NAMES(strip_two),
#if WINDOW_VECTORS > 2
    STRIP_NAMES(strip_three),
    STRIP_NAMES(strip_four),
#endif
};

/*
 * Whether no element of a channel is a NaN or, in magnitude, below the normal ones but zero. Twice the bits
 * are at most those of infinity then, and when they are not 0, at least those of the first normal number.
 */
INLINE bool window_is_clean(const struct eng_window *w, uint32_t channel)
{
    const uint8_t *row = w->in + channel * w->in_channel;
    halves most = halves_set(0), least = halves_set(0xffff), x;

    for (uint32_t y = 0; y < w->hin; y++, row += w->in_row) {
        for (uint32_t i = 0; i < w->win; i += HALVES) {
            if (w->win - i >= HALVES)
                __builtin_memcpy(&x, row + 2 * i, sizeof(x));
            else
                x = halves_load_part(row + 2 * i, w->win - i);
            x += x;
            most = halves_max(most, x);
            least = halves_min(least, x - 2); /* of 0 the largest */
        }
    }
    return !halves_any((halves)(most > 2 * 0x7c00) | (halves)(least < 2 * 0x400 - 2));
}

/* The columns of a channel's rows from `first` on, which no strip has written. */
INLINE void window_fill_tail(const struct eng_window *w, uint32_t channel, uint32_t first)
{
    uint8_t *row = w->out + channel * w->out_channel + 2 * (size_t)first;

    for (uint32_t y = 0; first < w->tail && y < w->hout; y++, row += w->out_row)
        zero_tail(row, 2 * (size_t)(w->tail - first));
}

/* Strips of WINDOW_VECTORS, and one of what is left. */
TARGET static void window(const struct eng_window *w)
{
    const struct eng_finish *f = &w->finish;
    bool plain = f->post_scale == 1 && f->acc_bias == 0;
    bool clamps = plain && f->table && f->table->clamp && f->table->low == 0;
    enum strip_kind kind = clamps ? STRIP_CLAMPED : plain && !f->table ? STRIP_PLAIN : STRIP_ANY;

    uint32_t whole = (w->wout + LANES - 1) / LANES * LANES;

    for (uint32_t c = 0; c < w->channels; c++) {
        bool known = kind == STRIP_ANY || w->wout <= LANES || window_is_clean(w, c);

        for (uint32_t x0 = 0; x0 < w->wout; x0 += WINDOW_VECTORS * LANES) {
            uint32_t vectors = (w->wout - x0 - 1) / LANES;

            vectors = vectors < WINDOW_VECTORS ? vectors : WINDOW_VECTORS - 1;
            strip_functions[vectors][w->form == ENG_WINDOW_3_STEP_2][known ? kind : STRIP_ANY](w, c, x0);
        }
        window_fill_tail(w, c, known && kind != STRIP_ANY && whole <= w->tail ? whole : w->wout);
    }
}
