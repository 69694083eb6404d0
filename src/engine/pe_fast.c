/* SPDX-License-Identifier: Apache-2.0 */
/* The planar engine: the fast path. */
#include "engine/pe.h"

#include <math.h>
#include <string.h>

#include "engine/lines.h"

enum {
    REDUCE_CHANNELS = 256, /* of one piece of a reduction, at most ... */
    REDUCE_WORK = 32768,   /* ... and as many as make this many elements, but at least one */
};

struct elementwise {
    const struct eng_kernels *kernels;
    const struct eng_pe_constants *k;
    struct eng_operands operands; /* with their axes joined */
    struct eng_lines lines;
};

static void elementwise_piece(void *context, size_t piece, unsigned worker)
{
    const struct elementwise *e = context;
    uint8_t a[ENG_LINE_BYTES], b[ENG_LINE_BYTES], y[ENG_LINE_BYTES];
    struct eng_line line;
    uint64_t count = eng_lines_first(&e->lines, piece, &line);

    (void)worker;
    for (; count; count--, eng_lines_next(&e->lines, &line)) {
        const uint8_t *first = eng_view_line(&e->operands.src[0], &line, a);
        const uint8_t *second = e->k->two ? eng_view_line(&e->operands.src[1], &line, b) : NULL;
        uint8_t *to = eng_view_line_target(&e->operands.dst, &line, y);

        e->kernels->pe_line(first, second, to, line.n, e->k);
        eng_view_line_put(&e->operands.dst, &line, to);
    }
}

static void run_elementwise(struct eng_pool *pool, const struct eng_pe_constants *k,
                            const struct eng_operands *operands)
{
    struct elementwise e = {.kernels = eng_kernels_get(), .k = k, .operands = *operands};
    struct eng_view *views[] = {&e.operands.dst, &e.operands.src[0], &e.operands.src[1]};

    eng_lines_cut(&e.lines, views, k->two ? 3 : 2);
    eng_pool_run(pool, eng_lines_pieces(&e.lines), elementwise_piece, &e);
}

struct reduction {
    const struct eng_kernels *kernels;
    const struct eng_pe_constants *k;
    const struct eng_operands *operands;
    uint32_t extent[PR_AXES]; /* of the source, with rows joined where that keeps every element in its lane */
    uint32_t block;           /* channels of one piece */
    uint32_t blocks;          /* in each group */
};

/* The elements of one row go to their lanes. */
static void reduce_row(const struct reduction *r, uint32_t index[PR_AXES], float lanes[ENG_LANES])
{
    const struct eng_view *src = &r->operands->src[0];
    uint32_t width = r->extent[PR_AXIS_W];
    uint32_t step = eng_view_is_packed(src, PR_AXIS_W) ? width : ENG_LINE_MAX;
    uint8_t buffer[ENG_LINE_BYTES];
    struct eng_line line = {.axis = PR_AXIS_W};

    memcpy(line.index, index, sizeof(line.index));
    for (uint32_t x = 0; x < width; x += line.n) {
        line.index[PR_AXIS_W] = x;
        line.n = width - x < step ? width - x : step;
        r->kernels->pe_reduce(lanes, eng_view_line(src, &line, buffer), line.n, r->k);
    }
}

/* Of narrow rows a column at a time: every lane still takes its elements in the same order. */
static void reduce_columns(const struct reduction *r, uint32_t index[PR_AXES], float lanes[ENG_LANES])
{
    const struct eng_view *src = &r->operands->src[0];
    uint32_t height = src->extent[PR_AXIS_H];
    struct eng_line line = {.axis = PR_AXIS_H};
    uint8_t buffer[ENG_LINE_BYTES];
    float floats[ENG_LINE_MAX];

    memcpy(line.index, index, sizeof(line.index));
    for (uint32_t w = 0; w < src->extent[PR_AXIS_W]; w++) {
        line.index[PR_AXIS_W] = w;
        for (uint32_t h = 0; h < height; h += line.n) {
            line.index[PR_AXIS_H] = h;
            line.n = height - h < ENG_LINE_MAX ? height - h : ENG_LINE_MAX;
            r->kernels->to_float(eng_view_line(src, &line, buffer), floats, line.n, &r->k->load[0]);
            for (uint32_t i = 0; i < line.n; i++)
                lanes[w] = eng_pe_reduce_element(lanes[w], floats[i], r->k);
        }
    }
}

static float reduce(const struct reduction *r, uint32_t channel, uint32_t group)
{
    const uint32_t *extent = r->extent;
    uint32_t index[PR_AXES] = {[PR_AXIS_C] = channel, [PR_AXIS_G] = group};
    bool narrow = extent[PR_AXIS_W] <= 4 && extent[PR_AXIS_H] >= 8;
    float lanes[ENG_LANES];

    eng_pe_reduce_begin(lanes, r->k);
    for (index[PR_AXIS_D] = 0; index[PR_AXIS_D] < extent[PR_AXIS_D]; index[PR_AXIS_D]++) {
        if (narrow) {
            reduce_columns(r, index, lanes);
            continue;
        }
        for (index[PR_AXIS_H] = 0; index[PR_AXIS_H] < extent[PR_AXIS_H]; index[PR_AXIS_H]++)
            reduce_row(r, index, lanes);
    }
    return eng_pe_reduce_end(lanes, r->k);
}

static void reduction_piece(void *context, size_t piece, unsigned worker)
{
    const struct reduction *r = context;
    const struct eng_view *dst = &r->operands->dst;
    uint32_t group = (uint32_t)(piece / r->blocks), first = (uint32_t)(piece % r->blocks) * r->block;
    uint32_t left = dst->extent[PR_AXIS_C] - first;
    struct eng_line line = {.index = {[PR_AXIS_C] = first, [PR_AXIS_G] = group}, .axis = PR_AXIS_C};
    uint8_t buffer[2 * REDUCE_CHANNELS], *to = eng_view_line_target(dst, &line, buffer);
    float y[REDUCE_CHANNELS];

    (void)worker;
    line.n = left < r->block ? left : r->block;
    for (uint32_t i = 0; i < line.n; i++)
        y[i] = reduce(r, first + i, group);
    r->kernels->to_half(y, to, line.n, r->k->store);
    eng_view_line_put(dst, &line, to);
}

/* Rows that follow each other without a gap are one row, if they are whole turns of the lanes. */
static void join_rows(struct reduction *r, enum pr_axis axis)
{
    const struct eng_view *src = &r->operands->src[0];
    uint64_t bytes = (uint64_t)r->extent[PR_AXIS_W] * 2;

    if (axis == PR_AXIS_D && r->extent[PR_AXIS_H] != 1)
        return;
    if (!eng_view_is_packed(src, PR_AXIS_W) || r->extent[PR_AXIS_W] % ENG_LANES ||
        src->stride[axis] != bytes || bytes * r->extent[axis] > INT32_MAX)
        return;
    r->extent[PR_AXIS_W] *= r->extent[axis];
    r->extent[axis] = 1;
}

static void run_reduction(struct eng_pool *pool, const struct eng_pe_constants *k,
                          const struct eng_operands *operands)
{
    const uint32_t *in = operands->src[0].extent, *out = operands->dst.extent;
    uint64_t plane = (uint64_t)in[PR_AXIS_W] * in[PR_AXIS_H] * in[PR_AXIS_D], block = REDUCE_WORK / plane;
    struct reduction r = {.kernels = eng_kernels_get(), .k = k, .operands = operands};

    memcpy(r.extent, in, sizeof(r.extent));
    join_rows(&r, PR_AXIS_H);
    join_rows(&r, PR_AXIS_D);
    r.block = block < 1 ? 1 : block < REDUCE_CHANNELS ? (uint32_t)block : REDUCE_CHANNELS;
    r.blocks = (out[PR_AXIS_C] + r.block - 1) / r.block;
    eng_pool_run(pool, (size_t)r.blocks * out[PR_AXIS_G], reduction_piece, &r);
}

void eng_pe_fast(struct eng_pool *pool, const struct eng_pe_constants *k, const struct eng_operands *operands,
                 bool reduces)
{
    if (reduces)
        run_reduction(pool, k, operands);
    else
        run_elementwise(pool, k, operands);
}
