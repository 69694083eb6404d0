/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of two matrices computed at run time. The rows of the first are the kernel, read in place, one row
 * per engine; the second is the input, with its inner axis on channels. Where there are many rows, four of
 * them are first interleaved, as the lanes of a kernel are, and an engine takes four at once.
 */
#include "compiler/lower/emit.h"
#include "compiler/lower/family.h"
#include "compiler/lower/neural.h"

enum { LANES_LOG2 = 2, LANES = 1 << LANES_LOG2, BLOCK = PR_ENGINES_MAX * LANES };

/* One matrix of each operand. The inner axis is contiguous in the first and the row axis of the second. */
struct product {
    struct pr_e5_operand x, y, to;
    uint32_t x_row, y_row, to_row;
    uint32_t rows, inner, columns;
    bool relu;
};

/* Transposes a matrix into a buffer. */
static int transpose(struct cc_lowering *l, struct pr_e5_operand *at, uint32_t *row, uint32_t rows,
                     uint32_t columns)
{
    struct cc_view from = {.at = *at, .extent = {1, 1, columns, rows}, .stride = {0, 0, CC_ELEMENT, *row}},
                   to;
    int status = cc_view_scratch(l, from.extent, &to);

    if (!status)
        status = cc_emit_move(l, &from, &to, NULL);
    *at = to.at;
    *row = to.stride[CC_AXIS_H];
    return status;
}

/* Rows from `first` on of the result, with the kernel at `at`, `bytes` for each engine. */
static int emit_rows(struct cc_lowering *l, const struct product *p, uint32_t first, uint32_t count,
                     const struct pr_e5_operand *at, uint32_t bytes, bool lanes)
{
    struct pr_e5_record r = cc_record(PR_E5_CONV);
    int status = 0;

    while (1u << r.engines_log2 < (lanes ? count / LANES : count))
        r.engines_log2++;
    r.lanes_log2 = lanes ? LANES_LOG2 : 0;
    r.kernel_place = at->place;
    r.kernel_index = at->index;
    r.kernel = at->offset;
    r.kernel_bytes = bytes;
    r.kw = r.kh = 1;
    r.flags = p->relu ? PR_E5_RELU : 0;
    r.in[CC_H] = r.out[CC_H] = r.in[CC_G] = r.out[CC_G] = 1;
    r.in[CC_C] = p->inner;
    r.out[CC_C] = count;
    for (uint32_t column = 0; column < p->columns && !status; column += PR_WIDTH_MAX) {
        uint32_t left = p->columns - column;

        r.in[CC_W] = r.out[CC_W] = left < PR_WIDTH_MAX ? left : PR_WIDTH_MAX;
        r.src[0] = p->y;
        r.src[0].offset += CC_ELEMENT * column;
        r.src[0].plane = p->y_row;
        r.dst = p->to;
        r.dst.offset += first * p->to_row + CC_ELEMENT * column;
        r.dst.plane = p->to_row;
        status = cc_emit(l, &r);
    }
    return status;
}

/* Emits the rows that fill blocks of four per engine; `done` is their number. */
static int emit_blocks(struct cc_lowering *l, const struct product *p, uint32_t *done)
{
    uint32_t plane = (uint32_t)pr_round_up((uint64_t)p->inner * CC_ELEMENT * LANES, PR_ROW_ALIGN), blocks;
    struct pr_e5_record r = cc_record(PR_E5_BYPASS);
    int status;

    blocks = plane > PR_KERNEL_CHUNK_MAX || p->inner > PR_WIDTH_MAX ? 0 : p->rows / BLOCK;
    *done = blocks * BLOCK;
    if (!blocks)
        return 0;
    r.src[0] = p->x;
    r.src[0].plane = p->x_row;
    r.dst = (struct pr_e5_operand){.place = PR_E5_INTERMEDIATE, .plane = plane};
    r.interleave = LANES;
    r.in[CC_W] = r.out[CC_W] = p->inner;
    r.in[CC_H] = r.out[CC_H] = r.in[CC_G] = r.out[CC_G] = 1;
    r.in[CC_C] = r.out[CC_C] = *done;
    status = cc_scratch(l, (uint64_t)plane * (*done / LANES), &r.dst.index);
    if (!status)
        status = cc_emit(l, &r);
    for (uint32_t i = 0; i < blocks && !status; i++) {
        struct pr_e5_operand at = r.dst;

        at.offset = i * PR_ENGINES_MAX * plane;
        status = emit_rows(l, p, i * BLOCK, BLOCK, &at, plane, true);
    }
    return status;
}

static int emit_product(struct cc_lowering *l, const struct product *p)
{
    uint32_t first = 0;
    int status = emit_blocks(l, p, &first);

    for (; first < p->rows && !status; first += PR_ENGINES_MAX) {
        struct pr_e5_operand at = p->x;

        at.offset += first * p->x_row;
        status = emit_rows(l, p, first, p->rows - first < PR_ENGINES_MAX ? p->rows - first : PR_ENGINES_MAX,
                           &at, p->x_row, false);
    }
    return status;
}

/* Offset of the operand's matrix for matrix `i` of the result: axes of length 1 are broadcast. */
static uint32_t matrix_offset(const struct cc_layout *operand, const struct cc_layout *out, uint32_t i)
{
    uint32_t n = i / out->c, c = i % out->c;

    return (operand->n > 1 ? n * operand->batch : 0) + (operand->c > 1 ? c * operand->plane : 0);
}

int cc_lower_product(struct cc_lowering *l, const struct cc_step *step)
{
    const struct cc_op *op = step->op;
    const struct cc_attributes *a = &op->a;
    struct cc_layout x, y, out;
    struct product whole = {.relu = step->relu};
    int status = cc_source(l, op->input[0], &whole.x, &x);

    if (!status)
        status = cc_source(l, op->input[1], &whole.y, &y);
    if (!status)
        status = cc_result(l, step->output, &whole.to, &out);
    for (uint32_t i = 0; !status && i < out.n * out.c; i++) {
        struct product p = whole;

        p.inner = a->transpose_x ? x.h : x.w;
        p.rows = out.h;
        p.columns = out.w;
        p.x_row = x.row;
        p.y_row = y.row;
        p.to_row = out.row;
        p.x.offset += matrix_offset(&x, &out, i);
        p.y.offset += matrix_offset(&y, &out, i);
        p.to.offset += i * out.plane;
        if (a->transpose_x)
            status = transpose(l, &p.x, &p.x_row, x.h, x.w);
        if (!status && a->transpose_y)
            status = transpose(l, &p.y, &p.y_row, y.h, y.w);
        if (!status)
            status = emit_product(l, &p);
    }
    return status;
}
