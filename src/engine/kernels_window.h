/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part of kernels_body.h, with its conditions: square windows over one channel.
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
#define WINDOW_ROWS      3 /* of the largest ring */
#define WINDOW_LOAD      ENG_RULE_NAN_IS_INFINITY
#define WINDOW_LOAD_MAC  (ENG_RULE_NAN_IS_INFINITY | ENG_RULE_NO_DENORMALS)
#define WINDOW_STORE     (ENG_RULE_NAN_IS_ZERO | ENG_RULE_NO_MINUS_ZERO)
#define WINDOW_STORE_MAC (WINDOW_STORE | ENG_RULE_NO_DENORMALS | ENG_RULE_CEILING)

/* What a strip of columns is computed with; k, step, vectors and max are constants where this is inlined. */
struct strip {
    const struct eng_window *window;
    uint32_t x0;
    unsigned k, step, vectors;
    bool max;
    bool plain; /* the end has neither a second bias nor a factor */
    bool table; /* with one that is more than a clamp from 0 to `top` */
    bool clamps;
    float top;
    float floor;                             /* of the results: 0 is a ReLU */
    struct lanes in[2 * WINDOW_VECTORS + 2]; /* of each vector of an input row those inside the input */
};

/* The vector of an input row that begins at `column`, which is number v of the strip's. */
INLINE vec strip_load(const struct strip *s, const uint8_t *row, int64_t column, unsigned v)
{
    const struct eng_load load = {.rules = s->max ? WINDOW_LOAD : WINDOW_LOAD_MAC, .scale = 1};
    const uint8_t *from = (const uint8_t *)((uintptr_t)row + (uintptr_t)(2 * column));

    return vec_from_fp16_lanes(from, s->in[v], &load, vec_set(s->max ? s->window->outside : 0));
}

/* A vector of an input row, by column modulo step. */
struct phases {
    vec of[2];
};

INLINE struct phases strip_phases(const struct strip *s, const uint8_t *row, unsigned v)
{
    int64_t column = (int64_t)s->x0 * s->step - s->window->px + (int64_t)v * s->step * LANES;
    struct phases p;
    vec a = strip_load(s, row, column, v * s->step), b;

    p.of[0] = p.of[1] = a;
    if (s->step == 2) {
        b = strip_load(s, row, column + LANES, v * s->step + 1);
        p.of[0] = vec_even(a, b);
        p.of[1] = vec_odd(a, b);
    }
    return p;
}

/* Column x of the window, for all outputs of a vector; `next` is the vector after it. */
INLINE vec strip_tap(const struct strip *s, const struct phases *p, const struct phases *next, unsigned x)
{
    return x < s->step ? p->of[x] : vec_shift(p->of[x % s->step], next->of[x % s->step], x / s->step);
}

/* An input row for all output rows of the ring whose window has it. */
INLINE void strip_add(const struct strip *s, const uint8_t *row, unsigned turn,
                      vec sum[WINDOW_ROWS][WINDOW_VECTORS])
{
    const unsigned ring = (s->k + s->step - 1) / s->step, period = ring * s->step;
    const bool ahead = s->k > s->step; /* the vector after the last is needed too */
    struct phases p = strip_phases(s, row, 0), next = p;
    vec ceiling = vec_set(s->window->ceiling), tap, largest;

    UNROLL_STRIP
    for (unsigned v = 0; v < s->vectors; v++, p = next) {
        if (ahead || v + 1 < s->vectors)
            next = strip_phases(s, row, v + 1);
        largest = p.of[0];
        UNROLL_STRIP
        for (unsigned x = 0; x < s->k; x++) {
            tap = strip_tap(s, &p, &next, x);
            largest = s->max && x ? vec_larger(largest, tap) : largest;
            UNROLL_STRIP
            for (unsigned r = 0; r < ring; r++) {
                const unsigned ky = (turn + period - r * s->step) % period;

                if (ky < s->k && !s->max)
                    sum[r][v] = vec_mac(sum[r][v], tap, vec_load(s->window->weight[ky * s->k + x]), ceiling);
            }
        }
        UNROLL_STRIP
        for (unsigned r = 0; r < ring; r++)
            if ((turn + period - r * s->step) % period < s->k && s->max)
                sum[r][v] = vec_larger(sum[r][v], largest);
    }
}

/* A row of padding for a maximum. */
INLINE void strip_add_outside(const struct strip *s, vec sum[WINDOW_ROWS][WINDOW_VECTORS])
{
    const unsigned ring = (s->k + s->step - 1) / s->step;

    UNROLL_STRIP
    for (unsigned r = 0; r < ring; r++) {
        UNROLL_STRIP
        for (unsigned v = 0; v < s->vectors; v++)
            sum[r][v] = vec_larger(sum[r][v], vec_set(s->window->outside));
    }
}

INLINE void zeros_to_fp16(uint8_t *to, size_t n)
{
    for (; n >= LANES; n -= LANES, to += 2 * LANES)
        vec_to_fp16(to, vec_set(0), 0);
    if (n)
        vec_to_fp16_part(to, vec_set(0), n, 0);
}

/* As finish_element without a table, or with one that is a clamp. */
INLINE vec strip_finish(const struct strip *s, vec sum)
{
    const struct eng_finish *f = &s->window->finish;

    sum = vec_add(vec_mul(sum, vec_set(f->unscale)), vec_set(f->bias));
    if (!s->plain)
        sum = vec_mul(vec_add(sum, vec_set(f->acc_bias)), vec_set(f->post_scale));
    if (s->clamps)
        return vec_smaller(vec_larger(sum, vec_set(0)), vec_set(s->top)); /* of a NaN and of -0: 0 */
    return vec_larger(vec_set(s->floor), sum);
}

/* Vector v of an output row, of which n elements are in the strip. */
INLINE void strip_put_vector(const struct strip *s, uint8_t *to, unsigned v, uint32_t n, vec sum)
{
    const unsigned rules = s->max ? WINDOW_STORE : WINDOW_STORE_MAC;
    vec result = strip_finish(s, sum);
    bool whole = (v + 1) * LANES <= n;

    if (whole && s->clamps)
        vec_to_fp16(to, result, ENG_RULE_NAN_IS_ZERO);
    else if (whole)
        vec_to_fp16(to, result, rules);
    else if (s->clamps)
        vec_to_fp16_part(to, result, n - v * LANES, ENG_RULE_NAN_IS_ZERO);
    else
        vec_to_fp16_part(to, result, n - v * LANES, rules);
}

/* The strip's part of an output row; the last strip fills the row's tail with zeros. */
INLINE void strip_put(const struct strip *s, uint32_t y, const vec sum[WINDOW_VECTORS])
{
    const struct eng_window *w = s->window;
    const struct eng_finish *f = &w->finish;
    uint8_t *row = w->out + y * w->out_row;
    float line[WINDOW_VECTORS * LANES];
    uint32_t left = w->wout - s->x0, n = left < s->vectors * LANES ? left : s->vectors * LANES;

    UNROLL_STRIP
    for (unsigned v = 0; v < s->vectors; v++) {
        uint8_t *to = row + 2 * ((size_t)s->x0 + v * LANES);

        if (s->table)
            vec_store(line + v * LANES, sum[v]);
        else
            strip_put_vector(s, to, v, n, sum[v]);
    }
    if (s->table)
        finish(line, NULL, row + 2 * (size_t)s->x0, n, f);
    if (n == left && w->tail > w->wout)
        zeros_to_fp16(row + 2 * (size_t)w->wout, w->tail - w->wout);
}

/* Input row `at`, counted from the first window's first row; it is number `turn` of the ring's period. */
INLINE void strip_row(const struct strip *s, int64_t at, unsigned turn, vec sum[WINDOW_ROWS][WINDOW_VECTORS])
{
    const struct eng_window *w = s->window;
    const unsigned ring = (s->k + s->step - 1) / s->step, period = ring * s->step;
    int64_t iy = at - w->py;

    UNROLL_STRIP
    for (unsigned r = 0; r < ring; r++) {
        UNROLL_STRIP
        for (unsigned v = 0; v < s->vectors; v++)
            if (turn == r * s->step)
                sum[r][v] = vec_set(s->max ? -__builtin_inff() : 0);
    }
    if (iy >= 0 && iy < w->hin)
        strip_add(s, w->in + (size_t)iy * w->in_row, turn, sum);
    else if (s->max)
        strip_add_outside(s, sum);
    UNROLL_STRIP
    for (unsigned r = 0; r < ring; r++)
        if ((turn + period - r * s->step) % period == s->k - 1 && at >= s->k - 1)
            strip_put(s, (uint32_t)(at - (s->k - 1)) / s->step, sum[r]);
}

INLINE struct strip strip_begin(const struct eng_window *w, uint32_t x0, unsigned k, unsigned step,
                                unsigned vectors, bool max)
{
    const struct eng_finish *f = &w->finish;
    struct strip s = {.window = w, .x0 = x0, .k = k, .step = step, .vectors = vectors, .max = max};
    int64_t column = (int64_t)x0 * step - w->px;

    s.plain = f->post_scale == 1 && f->acc_bias == 0;
    s.clamps = f->table && f->table->clamp && f->table->low == 0;
    s.table = f->table && !s.clamps;
    s.top = s.clamps ? f->table->high : 0;
    s.floor = f->relu ? 0 : -__builtin_inff();
    UNROLL_STRIP
    for (unsigned v = 0; v < (vectors + 1) * step; v++)
        s.in[v] = lanes_between(-column - (int64_t)v * LANES, (int64_t)w->win - column - (int64_t)v * LANES);
    return s;
}

INLINE void strip_of(const struct eng_window *w, uint32_t x0, unsigned k, unsigned step, unsigned vectors,
                     bool max)
{
    const struct strip s = strip_begin(w, x0, k, step, vectors, max);
    const unsigned period = (k + step - 1) / step * step;
    int64_t rows = (int64_t)(w->hout - 1) * step + k;
    vec sum[WINDOW_ROWS][WINDOW_VECTORS];

    UNROLL_STRIP
    for (unsigned r = 0; r < WINDOW_ROWS; r++) {
        UNROLL_STRIP
        for (unsigned v = 0; v < vectors; v++)
            sum[r][v] = vec_set(0);
    }
    for (int64_t at = 0; at < rows; at += period) {
        UNROLL_STRIP
        for (unsigned turn = 0; turn < period; turn++)
            if (at + turn < rows)
                strip_row(&s, at + turn, turn, sum);
    }
}

/* Strips of WINDOW_VECTORS, then of two vectors and of one. */
INLINE void window_of(const struct eng_window *w, unsigned k, unsigned step, bool max)
{
    uint32_t x0 = 0;

    for (; !max && (int64_t)w->wout - x0 > (WINDOW_VECTORS - 1) * LANES; x0 += WINDOW_VECTORS * LANES)
        strip_of(w, x0, k, step, WINDOW_VECTORS, max);
    for (; (int64_t)w->wout - x0 > LANES; x0 += 2 * LANES)
        strip_of(w, x0, k, step, 2, max);
    if (x0 < w->wout)
        strip_of(w, x0, k, step, 1, max);
}

TARGET static void window(const struct eng_window *w)
{
    switch (w->form) {
    case ENG_WINDOW_NONE: break;
    case ENG_WINDOW_3: window_of(w, 3, 1, false); break;
    case ENG_WINDOW_3_STEP_2: window_of(w, 3, 2, false); break;
    case ENG_WINDOW_MAX_2_STEP_2: window_of(w, 2, 2, true); break;
    case ENG_WINDOW_MAX_3_STEP_2: window_of(w, 3, 2, true); break;
    }
}
