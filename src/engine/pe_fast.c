/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The planar engine: the fast path. Plain tensors are worked on as they lie, in bands of rows or planes;
 * others go through buffers, line by line. A reduction puts every element into the same lane and in the same
 * order as the reference, however it is cut.
 */
#include "engine/pe.h"

#include <math.h>
#include <string.h>

#include "engine/grid.h"
#include "engine/lines.h"

enum {
    REDUCE_CHANNELS = 256, /* of one piece of a reduction, at most ... */
    REDUCE_WORK = 32768,   /* ... and as many as make this many elements, but at least one */
    NARROW = 8,            /* elements that are worth a vector, from here on */
    FEW = 3,               /* outputs that are not worth one, below that */
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
    struct eng_grid grid;
    /* Other formats: */
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

static void elementwise_lines(void *context, size_t piece, unsigned worker)
{
    const struct elementwise *e = context;
    uint8_t buffer[ENG_PE_LINES][ENG_LINE_BYTES], y[ENG_LINE_BYTES];
    struct eng_line line;
    uint64_t count = eng_lines_first(&e->lines, piece, &line);

    (void)worker;
    for (; count; count--, eng_lines_next(&e->lines, &line)) {
        struct eng_band band = {
            .out = eng_view_line_target(&e->operands.dst, &line, y), .n = line.n, .rows = 1};

        band.in[0].at = source_line(&e->operands.src[0], &line, buffer[0]);
        if (e->k->two && e->k->op == PR_PE_AFFINE) {
            band.in[1].at = affine_line(e, &line, 0, buffer[1]);
            band.in[2].at = affine_line(e, &line, 1, buffer[2]);
        } else if (e->k->two) {
            band.in[1].at = source_line(&e->operands.src[1], &line, buffer[1]);
        }
        e->kernels->pe_band(&band, e->k);
        eng_view_line_put(&e->operands.dst, &line, band.out);
    }
}

static void elementwise_bands(void *context, size_t piece, unsigned worker)
{
    const struct elementwise *e = context;
    struct eng_grid_tiles tiles;
    struct eng_grid_place place;
    struct eng_band band;
    uint64_t count = eng_grid_first(&e->grid, piece, &place);

    (void)worker;
    for (; count; count--, eng_grid_next(&e->grid, &place)) {
        eng_grid_band(&e->grid, &place, &band, &tiles);
        e->kernels->pe_band(&band, e->k);
    }
}

/* AFFINE: source 2 has an element per channel and group, in each of its two rows. */
static struct eng_view affine_row(const struct eng_view *source, uint32_t row)
{
    struct eng_view view = *source;

    if (view.host)
        view.host += (size_t)row * source->stride[PR_AXIS_H];
    view.stride[PR_AXIS_W] = view.stride[PR_AXIS_H] = view.stride[PR_AXIS_D] = 0;
    return view;
}

static bool cut_affine(struct eng_grid *grid, const struct eng_operands *operands)
{
    struct eng_view row0 = affine_row(&operands->src[1], 0), row1 = affine_row(&operands->src[1], 1);

    return eng_grid_cut(grid,
                        (const struct eng_view *const[]){&operands->dst, &operands->src[0], &row0, &row1}, 4);
}

static bool cut(struct eng_grid *grid, const struct eng_pe_constants *k, const struct eng_operands *operands)
{
    if (k->two && k->op == PR_PE_AFFINE)
        return cut_affine(grid, operands);
    return eng_grid_cut(
        grid, (const struct eng_view *const[]){&operands->dst, &operands->src[0], &operands->src[1]},
        k->two ? 3 : 2);
}

static void run_elementwise(struct eng_pool *pool, const struct eng_pe_constants *k,
                            const struct eng_operands *operands)
{
    struct elementwise e;
    struct eng_view *views[] = {&e.operands.dst, &e.operands.src[0], &e.operands.src[1]}, *second = views[2];

    e.kernels = eng_kernels_get();
    e.k = k;
    if (cut(&e.grid, k, operands)) {
        eng_pool_run(pool, eng_grid_pieces(&e.grid), elementwise_bands, &e);
        return;
    }
    e.operands = *operands;
    if (k->op == PR_PE_AFFINE) {
        memcpy(second->extent, operands->dst.extent, sizeof(second->extent));
        second->stride[PR_AXIS_W] = second->stride[PR_AXIS_D] = 0;
        e.rows = *second;
        second->stride[PR_AXIS_H] = 0;
    }
    eng_lines_cut(&e.lines, views, k->two ? 3 : 2);
    eng_pool_run(pool, eng_lines_pieces(&e.lines), elementwise_lines, &e);
}

/* Planes of plain tensors: outputs along one axis, C or G, in blocks; those of the other one by one. */
struct planes {
    const struct eng_kernels *kernels;
    const struct eng_pe_constants *k;
    const struct eng_operands *operands;
    struct eng_planes of; /* all of them */
    enum pr_axis axis, other;
    bool across;    /* vectors of channels, not of columns */
    uint32_t block; /* outputs of one piece */
    uint32_t blocks;
};

static void planes_piece(void *context, size_t piece, unsigned worker)
{
    const struct planes *p = context;
    const struct eng_view *dst = &p->operands->dst;
    uint32_t other = (uint32_t)(piece / p->blocks), first = (uint32_t)(piece % p->blocks) * p->block;
    uint32_t left = dst->extent[p->axis] - first;
    struct eng_planes part = p->of;
    float y[ENG_PLANES_MAX];

    (void)worker;
    part.channels = left < p->block ? left : p->block;
    for (unsigned i = 0; i < (p->k->two ? 2u : 1u); i++)
        part.at[i] += (size_t)first * part.channel[i] + (size_t)other * p->operands->src[i].stride[p->other];
    (p->across ? p->kernels->pe_across : p->kernels->pe_planes)(&part, y, p->k);
    for (uint32_t i = 0; p->k->function != PR_PE_FUNCTION_NONE && i < part.channels; i++)
        y[i] = eng_pe_function(y[i], p->k);
    p->kernels->to_half_steps(
        y, dst->host + (size_t)first * dst->stride[p->axis] + (size_t)other * dst->stride[p->other],
        dst->stride[p->axis], part.channels, dst->tail - dst->tail_begin, p->k->store);
}

/* Along packed outputs, if there are enough of them; else along the longer axis. */
static enum pr_axis output_axis(const struct eng_view *src)
{
    for (unsigned axis = PR_AXIS_C; axis <= PR_AXIS_G; axis++)
        if (src->stride[axis] == 2 && src->extent[axis] >= NARROW)
            return (enum pr_axis)axis;
    return src->extent[PR_AXIS_G] > src->extent[PR_AXIS_C] ? PR_AXIS_G : PR_AXIS_C;
}

/* Rows are vectors, unless they are narrow or their elements are not side by side. */
static bool is_across(const struct eng_planes *of, unsigned sources)
{
    if (of->columns < NARROW || of->column[0] != 2)
        return true;
    return sources == 2 && of->column[1] != 2 && (of->column[1] || of->row[1] || of->depth[1]);
}

/* The steps of a source: along an axis of one element there is none. */
static void set_steps(struct eng_planes *of, unsigned i, const struct eng_view *src, enum pr_axis channel)
{
    const uint32_t *extent = src->extent;

    of->at[i] = src->host;
    of->column[i] = extent[PR_AXIS_W] > 1 ? src->stride[PR_AXIS_W] : 2;
    of->row[i] = extent[PR_AXIS_H] > 1 ? src->stride[PR_AXIS_H] : 0;
    of->depth[i] = extent[PR_AXIS_D] > 1 ? src->stride[PR_AXIS_D] : 0;
    of->channel[i] = extent[channel] > 1 ? src->stride[channel] : 2;
}

static bool run_planes(struct eng_pool *pool, const struct eng_pe_constants *k,
                       const struct eng_operands *operands)
{
    const uint32_t *in = operands->src[0].extent, *out = operands->dst.extent;
    enum pr_axis axis = output_axis(&operands->src[0]);
    struct planes p = {.kernels = eng_kernels_get(),
                       .k = k,
                       .operands = operands,
                       .of = {.columns = in[PR_AXIS_W], .rows = in[PR_AXIS_H], .depths = in[PR_AXIS_D]},
                       .axis = axis,
                       .other = axis == PR_AXIS_C ? PR_AXIS_G : PR_AXIS_C};
    uint64_t plane = (uint64_t)in[PR_AXIS_W] * in[PR_AXIS_H] * in[PR_AXIS_D], block = REDUCE_WORK / plane;

    if (!eng_view_is_plain(&operands->dst) || !eng_view_is_plain(&operands->src[0]) ||
        (k->two && !eng_view_is_plain(&operands->src[1])))
        return false;
    for (unsigned i = 0; i < 2; i++)
        set_steps(&p.of, i, &operands->src[k->two ? i : 0], axis);
    p.across = is_across(&p.of, k->two ? 2 : 1);
    if (p.across && out[axis] < FEW && plane >= NARROW)
        return false; /* lines are gathered, and reduced as rows */
    block = p.across && block < 16 ? 16 : block;
    p.block = block < 1 ? 1 : block < ENG_PLANES_MAX ? (uint32_t)block : ENG_PLANES_MAX;
    p.blocks = (out[axis] + p.block - 1) / p.block;
    eng_pool_run(pool, (size_t)p.blocks * out[p.other], planes_piece, &p);
    return true;
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
    if (!reduces)
        run_elementwise(pool, k, operands);
    else if (!run_planes(pool, k, operands))
        run_reduction(pool, k, operands);
}
