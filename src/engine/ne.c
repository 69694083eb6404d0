/* SPDX-License-Identifier: Apache-2.0 */
/* The neural engines: the reference, the bypass, and the way to the fast path. */
#include "engine/ne.h"

#include <errno.h>
#include <string.h>

#include "engine/finish.h"
#include "engine/lines.h"

enum { CHUNK = 256 };

static uint16_t stream_half(const struct eng_ne *ne, const struct pr_kernel_place *place, uint32_t row)
{
    uint64_t offset = place->offset + ((uint64_t)row * place->lanes + place->lane) * 2;
    uint16_t half;

    memcpy(&half, ne->streams[place->engine].bytes + offset, sizeof(half));
    return half;
}

/* What is added to a channel's sums; -0, which changes nothing, when the kernel has no bias row. */
static float bias_value(const struct eng_ne *ne, const struct pr_kernel_place *place)
{
    if (!ne->task->ne.bias)
        return -0.0f;
    return eng_load_value(stream_half(ne, place, 0), ne->rules->load | ne->rules->mac);
}

/* The weights of one output channel on one row of the input: the chain of every output goes on by kw taps. */
static void reference_taps(const struct eng_ne *ne, const struct pr_kernel_place *place, uint32_t tap,
                           const float *in, float *sum)
{
    const struct pr_ne *n = &ne->task->ne;
    uint32_t win = ne->operands->src[0].extent[PR_AXIS_W], wout = ne->operands->dst.extent[PR_AXIS_W];

    for (uint32_t kx = 0; kx < n->kw; kx++) {
        uint16_t half = stream_half(ne, place, (n->bias ? 1 : 0) + tap + kx);
        float weight = eng_load_value(half, ne->rules->load | ne->rules->mac);

        for (uint32_t x = 0; x < wout; x++) {
            int64_t ix = (int64_t)x * n->sx + kx - n->px;

            /* A tap on the padding is left out, whatever its weight. */
            if (ix >= 0 && ix < win)
                sum[x] = eng_mac_value(sum[x], in[ix], weight, ne->rules->mac);
        }
    }
}

/* One output row: chains over input channel, kernel row, kernel column, in this order, from +0. */
static void reference_mac_row(const struct eng_ne *ne, uint32_t channel, uint32_t y, float *in, float *sum)
{
    const struct pr_ne *n = &ne->task->ne;
    const struct eng_view *src = &ne->operands->src[0], *dst = &ne->operands->dst;
    uint32_t index[PR_AXES] = {0}, cin = src->extent[PR_AXIS_C], wout = dst->extent[PR_AXIS_W];
    struct pr_kernel_place place;
    float bias;

    pr_kernel_place(ne->task, 0, channel, &place);
    bias = bias_value(ne, &place);
    memset(sum, 0, wout * sizeof(*sum));
    for (uint32_t c = 0; c < cin; c++) {
        for (uint32_t ky = 0; ky < n->kh; ky++) {
            int64_t iy = (int64_t)y * n->sy + ky - n->py;

            if (iy < 0 || iy >= src->extent[PR_AXIS_H])
                continue;
            index[PR_AXIS_C] = c;
            index[PR_AXIS_H] = (uint32_t)iy;
            eng_view_load_row(src, index, in, src->extent[PR_AXIS_W], ne->rules->load | ne->rules->mac);
            reference_taps(ne, &place, (c * n->kh + ky) * n->kw, in, sum);
        }
    }
    for (uint32_t x = 0; x < wout; x++)
        sum[x] = eng_finish_value(&ne->finish, sum[x], bias);
    index[PR_AXIS_C] = channel;
    index[PR_AXIS_H] = y;
    eng_view_store_row(dst, index, sum, wout, ne->rules->store);
}

static int reference_mac(const struct eng_ne *ne)
{
    const uint32_t *in = ne->operands->src[0].extent, *out = ne->operands->dst.extent;
    float *row = eng_scratch_reserve(ne->scratch, ((size_t)in[PR_AXIS_W] + out[PR_AXIS_W]) * sizeof(*row));

    if (!row)
        return -ENOMEM;
    for (uint32_t channel = 0; channel < out[PR_AXIS_C]; channel++)
        for (uint32_t y = 0; y < out[PR_AXIS_H]; y++)
            reference_mac_row(ne, channel, y, row, row + in[PR_AXIS_W]);
    return 0;
}

static int run_mac(const struct eng_ne *ne, enum eng_path path)
{
    const uint32_t *in = ne->operands->src[0].extent, *out = ne->operands->dst.extent;
    const struct pr_ne *n = &ne->task->ne;

    if (!n->kw || !n->kh || !n->sx || !n->sy || !n->lanes || !n->engines || n->engines > PR_ENGINES_MAX)
        return -EINVAL;
    if (in[PR_AXIS_D] != 1 || in[PR_AXIS_G] != 1 || out[PR_AXIS_D] != 1 || out[PR_AXIS_G] != 1)
        return -EINVAL;
    for (uint32_t engine = 0; engine < n->engines; engine++)
        if (pr_kernel_stream_bytes(ne->task, engine) > ne->streams[engine].size)
            return -EINVAL;
    if (path == ENG_PATH_FAST && !eng_view_overlaps_itself(&ne->operands->dst))
        return eng_ne_mac_fast(ne);
    return reference_mac(ne);
}

static void reference_bypass_row(const struct eng_ne *ne, uint32_t index[PR_AXES])
{
    uint32_t width = ne->operands->dst.extent[PR_AXIS_W];
    float a[CHUNK];

    for (uint32_t x = 0; x < width; x += CHUNK) {
        uint32_t n = width - x < CHUNK ? width - x : CHUNK;

        index[PR_AXIS_W] = x;
        eng_view_load_row(&ne->operands->src[0], index, a, n, ne->rules->load);
        for (uint32_t i = 0; i < n; i++)
            a[i] = eng_finish_value(&ne->finish, a[i], -0.0f);
        eng_view_store_row(&ne->operands->dst, index, a, n, ne->rules->store);
    }
}

static void reference_bypass(const struct eng_ne *ne)
{
    const uint32_t *extent = ne->operands->dst.extent;
    uint32_t index[PR_AXES];

    for (index[PR_AXIS_G] = 0; index[PR_AXIS_G] < extent[PR_AXIS_G]; index[PR_AXIS_G]++)
        for (index[PR_AXIS_C] = 0; index[PR_AXIS_C] < extent[PR_AXIS_C]; index[PR_AXIS_C]++)
            for (index[PR_AXIS_D] = 0; index[PR_AXIS_D] < extent[PR_AXIS_D]; index[PR_AXIS_D]++)
                for (index[PR_AXIS_H] = 0; index[PR_AXIS_H] < extent[PR_AXIS_H]; index[PR_AXIS_H]++)
                    reference_bypass_row(ne, index);
}

struct bypass {
    const struct eng_kernels *kernels;
    struct eng_finish finish;
    struct eng_load load;
    struct eng_view src, dst; /* with their axes joined */
    struct eng_lines lines;
};

static void bypass_piece(void *context, size_t piece, unsigned worker)
{
    const struct bypass *b = context;
    uint8_t from[ENG_LINE_BYTES], to[ENG_LINE_BYTES];
    float floats[ENG_LINE_MAX];
    struct eng_line line;
    uint64_t count = eng_lines_first(&b->lines, piece, &line);

    (void)worker;
    for (; count; count--, eng_lines_next(&b->lines, &line)) {
        const uint8_t *x = eng_view_line(&b->src, &line, from);
        uint8_t *y = eng_view_line_target(&b->dst, &line, to);

        for (uint32_t i = 0; i < line.n; i += ENG_LINE_MAX) {
            uint32_t n = line.n - i < ENG_LINE_MAX ? line.n - i : ENG_LINE_MAX;

            b->kernels->to_float(x + 2 * (size_t)i, floats, n, &b->load);
            b->kernels->finish(floats, NULL, y + 2 * (size_t)i, n, &b->finish);
        }
        eng_view_line_put(&b->dst, &line, y);
    }
}

static void run_bypass(const struct eng_ne *ne, enum eng_path path)
{
    struct bypass b = {
        .kernels = eng_kernels_get(),
        .finish = ne->finish,
        .load = {.rules = ne->rules->load, .relu = ne->operands->src[0].relu, .scale = 1},
        .src = ne->operands->src[0],
        .dst = ne->operands->dst,
    };
    struct eng_view *views[] = {&b.dst, &b.src};

    if (path == ENG_PATH_REFERENCE || eng_view_overlaps_itself(&b.dst)) {
        reference_bypass(ne);
        return;
    }
    eng_lines_cut(&b.lines, views, 2);
    eng_pool_run(ne->pool, eng_lines_pieces(&b.lines), bypass_piece, &b);
}

static enum eng_kind kind_of(const struct pr_task *task)
{
    if (task->ne.mode == PR_NE_BYPASS)
        return ENG_KIND_NE_BYPASS;
    if ((uint64_t)task->src[0].extent[PR_AXIS_C] * task->ne.kw * task->ne.kh == 1)
        return ENG_KIND_NE_MAC_SINGLE;
    return ENG_KIND_NE_MAC;
}

int eng_ne_run(struct eng_compute *compute, const struct pr_task *task, const struct eng_operands *operands,
               const struct pr_kernel_bytes *streams)
{
    const struct eng_rules *rules = &eng_rules_table[compute->policy][kind_of(task)];
    struct eng_ne ne = {
        .task = task,
        .operands = operands,
        .streams = streams,
        .rules = rules,
        .scratch = &compute->scratch,
        .pool = eng_compute_pool(compute, operands),
        /*
         * The registers' constants are no operands of products: a denormal one counts (an epsilon of 1e-6 is
         * one).
         */
        .finish = {.unscale = 1,
                   .bias = -0.0f,
                   .acc_bias = eng_constant_addend(task->ne.acc_bias, rules->load),
                   .post_scale = eng_constant(task->ne.post_scale, rules->load),
                   .relu = task->ne.relu,
                   .store = rules->store},
    };
    struct eng_float_state state = eng_float_begin();
    int error = 0;

    if (task->ne.mode == PR_NE_BYPASS)
        run_bypass(&ne, compute->path);
    else
        error = run_mac(&ne, compute->path);
    eng_float_end(state);
    return error;
}
