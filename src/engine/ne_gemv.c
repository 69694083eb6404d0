/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The neural engines: kernels of one tap over very few pixels (a matrix times one or some vectors). Weights
 * are most of the bytes and are used once for each pixel, so they are read in place, as they lie in the
 * streams, and converted in registers.
 *
 * A vector has the output channels of one run of weights, or of several equal ones. Where runs are too short
 * or unequal, which the last channels of a kernel are, the vector's weights are copied beside each other.
 *
 * Rules other than those of m1, and inputs of 2^15 and above, are left to ne_fast.c. So is a task with a sum
 * that is not finite, because the kernels do not replace weights that are NaNs; it is computed again.
 */
#include "engine/ne.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

enum { VECTORS_MAX = 4, RUNS_MAX = VECTORS_MAX * ENG_LANES / 4, LANES_LEAST = 4 };

struct gemv {
    const struct eng_ne *ne;
    struct eng_mac_setup mac;
    uint32_t channels, cout, pixels, wout;
    uint32_t padded; /* pixels, as many as the kernels take */
    uint32_t width;  /* output channels of a piece */
    size_t worker_floats, packed_floats;
    float *in, *memory; /* in: [channel][pixel] */
    struct room *rooms; /* of workers */
    unsigned workers;
    atomic_bool infinite;
};

/* Vectors that are computed together: runs of equal lanes and row distance. */
struct batch {
    struct eng_gemv call;
    const uint8_t *run[RUNS_MAX];
    uint32_t channel;
    bool packed;
};

/* What a worker has. */
struct room {
    float *acc, *bias;
    uint8_t *packed;
    struct batch batch[2]; /* the one under way, and the one after it if it has vectors, */
    unsigned turn;         /* which is which */
};

static void load_pixel(const struct gemv *g, uint32_t pixel, float *line)
{
    const struct eng_view *src = &g->ne->operands.src[0];
    struct eng_load load = g->mac.input;
    uint32_t most = eng_view_is_packed(src, PR_AXIS_C) ? g->channels : ENG_LINE_MAX;
    struct eng_line at = {.index = {pixel % g->wout, pixel / g->wout}, .axis = PR_AXIS_C};
    uint8_t buffer[ENG_LINE_BYTES];

    load.scale *= g->mac.weight.scale;
    for (uint32_t c = 0; c < g->channels; c += at.n) {
        at.index[PR_AXIS_C] = c;
        at.n = eng_least(most, g->channels - c);
        g->mac.kernels->to_float(eng_view_line(src, &at, buffer), line + c, at.n, &load);
    }
}

/*
 * The input as fp32, scaled for the weights too, which the kernels then do not scale. False when an element
 * is not finite then: infinite, or at least 2^15.
 */
static bool load_input(const struct gemv *g, float *line)
{
    bool finite = true;

    if (g->padded == 1) {
        load_pixel(g, 0, g->in);
        return g->mac.kernels->all_finite(g->in, g->channels);
    }
    memset(g->in, 0, (size_t)g->padded * g->channels * sizeof(float));
    for (uint32_t p = 0; p < g->pixels && finite; p++) {
        load_pixel(g, p, line);
        finite = g->mac.kernels->all_finite(line, g->channels);
        for (uint32_t c = 0; c < g->channels; c++)
            g->in[(size_t)c * g->padded + p] = line[c];
    }
    return finite;
}

/* A run into its place in every row; of constant length where it is short. */
static void pack_run(const struct gemv *g, const uint8_t *from, size_t stride, uint32_t run, uint8_t *to)
{
    const size_t row = 2 * (size_t)g->mac.kernels->lanes;
    const uint8_t *end = from + g->channels * stride;

    if (run == 1)
        for (; from < end; from += stride, to += row)
            memcpy(to, from, 2);
    else if (run == 2)
        for (; from < end; from += stride, to += row)
            memcpy(to, from, 4);
    else
        for (; from < end; from += stride, to += row)
            memcpy(to, from, 2 * (size_t)run);
}

/* Weights of n channels from `channel` on, beside each other and followed by zeros. */
static void pack(const struct gemv *g, uint32_t channel, uint32_t n, uint8_t *to)
{
    const struct eng_ne *ne = g->ne;
    const uint32_t lanes = g->mac.kernels->lanes;
    const uint8_t *from;
    size_t stride;
    uint32_t run;

    if (n < lanes)
        memset(to, 0, 2 * (size_t)lanes * g->channels);
    for (uint32_t i = 0; i < n; i += run) {
        run = eng_weights_run(ne->weights, ne->task, ne->group, channel + i, n - i, 0, &from, &stride);
        pack_run(g, from, stride, run, to + 2 * (size_t)i);
    }
}

/*
 * The runs of one vector, if they are equal and long enough to be read in place. Returns their lanes, or 0.
 */
static uint32_t find_runs(const struct gemv *g, uint32_t channel, const uint8_t **run, size_t *stride)
{
    const struct eng_ne *ne = g->ne;
    uint32_t lanes = g->mac.kernels->lanes, each = 0, n;
    size_t distance;

    if (channel + lanes > g->cout)
        return 0;
    for (uint32_t i = 0; i < lanes; i += each, run++) {
        n = eng_weights_run(ne->weights, ne->task, ne->group, channel + i, lanes - i, 0, run, &distance);
        if (n < LANES_LEAST || (each && (n != each || distance != *stride)))
            return 0;
        each = n;
        *stride = distance;
    }
    return each;
}

/* Takes up the next vector; false when it has to wait for the next batch. */
static bool batch_take(const struct gemv *g, struct batch *b, uint8_t *packed)
{
    uint32_t all = g->mac.kernels->lanes, channel = b->channel + b->call.vectors * all, lanes, count;
    const uint8_t *run[ENG_LANES];
    size_t stride = 0;

    lanes = find_runs(g, channel, run, &stride);
    if (b->call.vectors && (!lanes || lanes != b->call.lanes || stride != b->call.stride))
        return false;
    b->packed = !lanes;
    if (b->packed) {
        if (!packed)
            return false;
        pack(g, channel, eng_least(all, g->cout - channel), packed);
        run[0] = packed;
        lanes = all;
        stride = 2 * (size_t)all;
    }
    count = all / lanes;
    memcpy(b->run + (size_t)b->call.vectors * count, run, count * sizeof(run[0]));
    b->call.lanes = lanes;
    b->call.stride = stride;
    b->call.vectors++;
    return !b->packed;
}

/*
 * The sums of the first vectors from a channel on, a power of two of them, inside its piece. The others stay
 * for the next batch. Without memory for packed weights there may be none.
 */
static void batch_begin(const struct gemv *g, struct batch *b, uint32_t channel, uint8_t *packed)
{
    uint32_t lanes = g->mac.kernels->lanes, most = g->mac.kernels->gemv_vectors;
    uint32_t end = eng_least((uint64_t)channel - channel % g->width + g->width, g->cout);

    memset(&b->call, 0, sizeof(b->call));
    b->channel = channel;
    while (b->call.vectors < most && channel + b->call.vectors * lanes < end)
        if (!batch_take(g, b, packed))
            break;
    if (b->call.vectors == 3)
        b->call.vectors = 2;
    b->call.run = b->run;
}

/* The batch of a channel; and the one that this worker is likely to run after it is looked up. */
static struct batch *room_turn(const struct gemv *g, struct room *room, uint32_t channel)
{
    struct batch *b = &room->batch[++room->turn % 2], *after = &room->batch[(room->turn + 1) % 2];
    uint64_t next = channel;

    if (!b->call.vectors || b->channel != channel)
        batch_begin(g, b, channel, room->packed);
    next += b->call.vectors * g->mac.kernels->lanes;
    if (next % g->width == 0)
        next += (uint64_t)(g->workers - 1) * g->width;
    after->call.vectors = 0;
    if (next < g->cout)
        batch_begin(g, after, (uint32_t)next, NULL);
    if (after->call.vectors == b->call.vectors && after->call.lanes == b->call.lanes)
        b->call.next = after->run;
    return b;
}

static void load_bias(const struct gemv *g, uint32_t channel, uint32_t n, float *bias)
{
    const struct eng_ne *ne = g->ne;
    struct eng_load load = g->mac.weight;
    const uint8_t *from;
    uint32_t run;

    load.scale = 1;
    for (uint32_t i = 0; i < n; i += run) {
        run = 1;
        bias[i] = -0.0f;
        if (ne->task->ne.bias) {
            run = eng_weights_bias_run(ne->weights, ne->task, ne->group, channel + i, n - i, &from);
            g->mac.kernels->to_float(from, bias + i, run, &load);
        }
    }
}

static void finish_batch(const struct gemv *g, const struct batch *b, uint32_t n, const struct room *room)
{
    const struct eng_view *dst = &g->ne->operands.dst;
    size_t next = (size_t)b->call.vectors * g->mac.kernels->lanes;
    uint8_t buffer[2 * VECTORS_MAX * ENG_LANES];

    load_bias(g, b->channel, n, room->bias);
    for (uint32_t p = 0; p < g->pixels; p++) {
        struct eng_line line = {
            .index = {p % g->wout, p / g->wout, 0, b->channel, 0}, .axis = PR_AXIS_C, .n = n};
        uint8_t *to = eng_view_line_target(dst, &line, buffer);

        g->mac.kernels->finish(room->acc + p * next, room->bias, to, n, &g->mac.finish);
        eng_view_line_put(dst, &line, to);
    }
}

static void room_begin(const struct gemv *g, unsigned worker)
{
    struct room *room = &g->rooms[worker];

    room->acc = g->memory + worker * g->worker_floats;
    room->bias = room->acc + (size_t)VECTORS_MAX * g->mac.kernels->lanes * g->padded;
    room->packed = (uint8_t *)(room->bias + VECTORS_MAX * g->mac.kernels->lanes);
    room->batch[0].call.vectors = room->batch[1].call.vectors = 0;
    room->turn = 0;
}

static void gemv_piece(void *context, size_t piece, unsigned worker)
{
    struct gemv *g = context;
    struct room *room = &g->rooms[worker];
    uint32_t channel = (uint32_t)piece * g->width, end = eng_least((uint64_t)channel + g->width, g->cout), n;

    for (; channel < end; channel += n) {
        struct batch *b = room_turn(g, room, channel);

        b->call.in = g->in;
        b->call.channels = g->channels;
        b->call.pixels = g->padded;
        b->call.acc = room->acc;
        b->call.ceiling = g->mac.ceiling;
        n = eng_least(b->call.vectors * g->mac.kernels->lanes, g->cout - channel);
        g->mac.kernels->gemv(&b->call);
        if (!g->mac.kernels->all_finite(room->acc,
                                        (size_t)b->call.vectors * g->mac.kernels->lanes * g->padded))
            atomic_store_explicit(&g->infinite, true, memory_order_relaxed);
        finish_batch(g, b, n, room);
    }
}

static bool fits(const struct eng_ne *ne)
{
    const uint32_t *in = ne->operands.src[0].extent, *out = ne->operands.dst.extent;
    const struct pr_ne *n = &ne->task->ne;

    return ne->rules->load == ENG_RULE_NAN_IS_INFINITY && n->kw == 1 && n->kh == 1 && n->sx == 1 &&
           n->sy == 1 && !n->px && !n->py && n->ox == 1 && !n->unicast && out[PR_AXIS_W] <= in[PR_AXIS_W] &&
           out[PR_AXIS_H] <= in[PR_AXIS_H] && (uint64_t)out[PR_AXIS_W] * out[PR_AXIS_H] <= ENG_GEMV_PIXELS;
}

int eng_ne_gemv(const struct eng_ne *ne)
{
    const uint32_t *out = ne->operands.dst.extent;
    struct gemv g = {.ne = ne, .mac = eng_mac_setup(ne)};
    uint32_t lanes = g.mac.kernels->lanes;

    if (ne->task->ne.mode != PR_NE_MAC || !fits(ne))
        return -ENOTSUP;
    g.workers = eng_pool_workers(ne->pool);
    g.channels = ne->operands.src[0].extent[PR_AXIS_C];
    g.cout = out[PR_AXIS_C];
    g.wout = out[PR_AXIS_W];
    g.pixels = out[PR_AXIS_W] * out[PR_AXIS_H];
    g.padded = g.pixels > 2 ? 4 : g.pixels;
    g.width = g.mac.kernels->gemv_vectors * lanes;
    g.packed_floats = (size_t)g.channels * lanes / 2;
    g.worker_floats = pr_round_up((uint64_t)VECTORS_MAX * lanes * (g.padded + 1) + g.packed_floats, 16);
    g.in = eng_scratch_reserve(
        ne->scratch, ((size_t)g.channels * g.padded + g.worker_floats * g.workers + 16) * sizeof(float) +
                         g.workers * sizeof(*g.rooms));
    if (!g.in)
        return -ENOMEM;
    g.memory = g.in + pr_round_up((uint64_t)g.channels * g.padded, 16);
    g.rooms = (void *)(g.memory + g.worker_floats * g.workers);
    for (unsigned i = 0; i < g.workers; i++)
        room_begin(&g, i);
    if (!load_input(&g, g.memory))
        return -ENOTSUP;
    eng_pool_run(ne->pool, eng_ne_blocks(g.cout, g.width), gemv_piece, &g);
    return atomic_load_explicit(&g.infinite, memory_order_relaxed) ? -ENOTSUP : 0;
}
