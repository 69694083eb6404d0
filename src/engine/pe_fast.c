/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The planar engine: the fast path. A reduction puts every element into the same lane and in the same order
 * as the reference, however it is cut.
 */
#include "engine/pe.h"

#include <math.h>
#include <string.h>

#include "engine/lines.h"

enum {
    REDUCE_CHANNELS = 256, /* of one piece of a reduction, at most ... */
    REDUCE_WORK = 32768,   /* ... and as many as make this many elements, but at least one */
};

/* A line along an axis of stride 0 is one element, read once and repeated. */
static const uint8_t *broadcast_line(const struct eng_view *view, const struct eng_line *line,
                                     uint8_t buffer[ENG_LINE_BYTES])
{
    struct eng_line first = *line;
    const uint8_t *half;
    uint8_t four[8];

    first.n = 1;
    half = eng_view_line(view, &first, buffer);
    for (unsigned i = 0; i < sizeof(four); i += 2)
        memcpy(four + i, half, 2);
    for (size_t at = 0; at < 2 * (size_t)line->n; at += sizeof(four))
        memcpy(buffer + at, four, sizeof(four));
    return buffer;
}

/* The line's fp16 values. An interleaved axis has more than one element at stride 0. */
static const uint8_t *source_line(const struct eng_view *view, const struct eng_line *line,
                                  uint8_t buffer[ENG_LINE_BYTES])
{
    if (view->stride[line->axis] == 0 && !(view->interleave > 1 && line->axis == view->bundled))
        return broadcast_line(view, line, buffer);
    return eng_view_line(view, line, buffer);
}

struct elementwise {
    const struct eng_kernels *kernels;
    const struct eng_pe_constants *k;
    struct eng_operands operands; /* with their axes joined */
    struct eng_view rows;         /* AFFINE: source 2 with its own H; in `operands` its H has stride 0 */
    struct eng_lines lines;
};

/* AFFINE: the elements of one row of source 2, for the channels and groups along the line. */
static const uint8_t *affine_line(const struct elementwise *e, const struct eng_line *line, uint32_t row,
                                  uint8_t buffer[ENG_LINE_BYTES])
{
    struct eng_line at = *line;

    at.index[PR_AXIS_W] = at.index[PR_AXIS_D] = 0;
    at.index[PR_AXIS_H] = row;
    /*
     * Along H the operand is broadcast, as along W and D. Index H selects the row of source 2, so the line
     * runs along W instead.
     */
    if (line->axis == PR_AXIS_H)
        at.axis = PR_AXIS_W;
    return source_line(&e->rows, &at, buffer);
}

static void elementwise_piece(void *context, size_t piece, unsigned worker)
{
    const struct elementwise *e = context;
    uint8_t buffer[ENG_PE_LINES][ENG_LINE_BYTES], y[ENG_LINE_BYTES];
    const uint8_t *in[ENG_PE_LINES] = {0};
    struct eng_line line;
    uint64_t count = eng_lines_first(&e->lines, piece, &line);

    (void)worker;
    for (; count; count--, eng_lines_next(&e->lines, &line)) {
        uint8_t *to = eng_view_line_target(&e->operands.dst, &line, y);

        in[0] = source_line(&e->operands.src[0], &line, buffer[0]);
        if (e->k->two && e->k->op == PR_PE_AFFINE) {
            in[1] = affine_line(e, &line, 0, buffer[1]);
            in[2] = affine_line(e, &line, 1, buffer[2]);
        } else if (e->k->two) {
            in[1] = source_line(&e->operands.src[1], &line, buffer[1]);
        }
        e->kernels->pe_line(in, to, line.n, e->k);
        eng_view_line_put(&e->operands.dst, &line, to);
    }
}

static void run_elementwise(struct eng_pool *pool, const struct eng_pe_constants *k,
                            const struct eng_operands *operands)
{
    struct elementwise e = {.kernels = eng_kernels_get(), .k = k, .operands = *operands};
    struct eng_view *views[] = {&e.operands.dst, &e.operands.src[0], &e.operands.src[1]}, *second = views[2];

    if (k->op == PR_PE_AFFINE) {
        memcpy(second->extent, operands->dst.extent, sizeof(second->extent));
        second->stride[PR_AXIS_W] = second->stride[PR_AXIS_D] = 0;
        e.rows = *second;
        second->stride[PR_AXIS_H] = 0;
    }
    eng_lines_cut(&e.lines, views, k->two ? 3 : 2);
    eng_pool_run(pool, eng_lines_pieces(&e.lines), elementwise_piece, &e);
}

struct reduction {
    const struct eng_kernels *kernels;
    const struct eng_pe_constants *k;
    const struct eng_operands *operands;
    unsigned sources;
    uint32_t extent[PR_AXES]; /* of a source, with rows joined where that keeps every element in its lane */
    uint32_t step;            /* elements of a row that are taken at once */
    uint32_t block;           /* channels of one piece */
    uint32_t blocks;          /* in each group */
};

/* Accumulates the elements of one row into their lanes. */
static void reduce_row(const struct reduction *r, uint32_t index[PR_AXES], float lanes[ENG_LANES])
{
    uint8_t buffer[2][ENG_LINE_BYTES];
    const uint8_t *in[ENG_PE_LINES] = {0};
    uint32_t width = r->extent[PR_AXIS_W];
    struct eng_line line = {.axis = PR_AXIS_W};

    memcpy(line.index, index, sizeof(line.index));
    for (uint32_t x = 0; x < width; x += line.n) {
        line.index[PR_AXIS_W] = x;
        line.n = width - x < r->step ? width - x : r->step;
        for (unsigned i = 0; i < r->sources; i++)
            in[i] = source_line(&r->operands->src[i], &line, buffer[i]);
        r->kernels->pe_reduce(lanes, in, line.n, r->k);
    }
}

static void column_floats(const struct reduction *r, unsigned source, const struct eng_line *line,
                          float floats[ENG_LINE_MAX])
{
    uint8_t buffer[ENG_LINE_BYTES];
    const uint8_t *elements = source_line(&r->operands->src[source], line, buffer);

    r->kernels->to_float(elements, floats, line->n, &r->k->load[source]);
}

/* Narrow rows are taken a column at a time; every lane still takes its elements in the same order. */
static void reduce_columns(const struct reduction *r, uint32_t index[PR_AXES], float lanes[ENG_LANES])
{
    uint32_t height = r->extent[PR_AXIS_H];
    struct eng_line line = {.axis = PR_AXIS_H};
    float a[ENG_LINE_MAX], b[ENG_LINE_MAX];

    memcpy(line.index, index, sizeof(line.index));
    for (uint32_t w = 0; w < r->extent[PR_AXIS_W]; w++) {
        line.index[PR_AXIS_W] = w;
        for (uint32_t h = 0; h < height; h += line.n) {
            line.index[PR_AXIS_H] = h;
            line.n = height - h < ENG_LINE_MAX ? height - h : ENG_LINE_MAX;
            column_floats(r, 0, &line, a);
            if (r->k->two)
                column_floats(r, 1, &line, b);
            for (uint32_t i = 0; i < line.n; i++)
                lanes[w] = eng_pe_reduce_element(lanes[w], a[i], r->k->two ? b[i] : 0, r->k);
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

/* Contiguous rows are joined into one row, if their length is a multiple of the number of lanes. */
static void join_rows(struct reduction *r, enum pr_axis axis)
{
    uint64_t width = r->extent[PR_AXIS_W];

    if (axis == PR_AXIS_D && r->extent[PR_AXIS_H] != 1)
        return;
    if (width % ENG_LANES || width * r->extent[axis] > INT32_MAX)
        return;
    for (unsigned i = 0; i < r->sources; i++) {
        const struct eng_view *src = &r->operands->src[i];

        if (src->stride[PR_AXIS_W] * width != src->stride[axis])
            return;
    }
    r->extent[PR_AXIS_W] *= r->extent[axis];
    r->extent[axis] = 1;
}

static void run_reduction(struct eng_pool *pool, const struct eng_pe_constants *k,
                          const struct eng_operands *operands)
{
    const uint32_t *in = operands->src[0].extent, *out = operands->dst.extent;
    uint64_t plane = (uint64_t)in[PR_AXIS_W] * in[PR_AXIS_H] * in[PR_AXIS_D], block = REDUCE_WORK / plane;
    struct reduction r = {
        .kernels = eng_kernels_get(), .k = k, .operands = operands, .sources = k->two ? 2 : 1};

    memcpy(r.extent, in, sizeof(r.extent));
    join_rows(&r, PR_AXIS_H);
    join_rows(&r, PR_AXIS_D);
    r.step = r.extent[PR_AXIS_W];
    for (unsigned i = 0; i < r.sources; i++)
        if (!eng_view_is_packed(&operands->src[i], PR_AXIS_W))
            r.step = ENG_LINE_MAX;
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
