/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products with a constant matrix are 1x1 convolutions: the inner axis becomes the channels, the other one
 * the width. A runtime operand whose inner axis is its last one is transposed first, by a bypass task that
 * writes contiguous channels into a buffer.
 */
#include "compiler/lower/family.h"
#include "compiler/lower/mac.h"
#include "compiler/lower/operand.h"

#define ROWS PR_WIDTH_MAX /* of one descriptor, where they are the width */

/*
 * Transposes `rows` rows of `inner` elements, `row` bytes apart: element (k, m) goes to k * plane + 2 * m of
 * the buffer.
 */
static int transpose(struct cc_lowering *l, const struct pr_e5_operand *src, uint32_t row, uint32_t rows,
                     uint32_t inner, uint32_t buffer, uint32_t plane)
{
    int status = 0;

    for (uint32_t k = 0; k < inner && !status; k += PR_WIDTH_MAX) {
        struct pr_e5_record r = cc_record(PR_E5_BYPASS);

        r.in[CC_W] = r.out[CC_W] = inner - k < PR_WIDTH_MAX ? inner - k : PR_WIDTH_MAX;
        r.in[CC_H] = r.out[CC_H] = 1;
        r.in[CC_C] = r.out[CC_C] = rows;
        r.in[CC_G] = r.out[CC_G] = 1;
        r.src[0] = *src;
        r.src[0].offset += 2 * k;
        r.src[0].plane = row;
        r.dst = (struct pr_e5_operand){
            .place = PR_E5_INTERMEDIATE, .index = buffer, .offset = k * plane, .row = plane, .plane = plane};
        r.flags = PR_E5_OUT_TRANSPOSE;
        status = cc_emit(l, &r);
    }
    return status;
}

/*
 * The runtime operand of a product: `rows` rows from `src` on, or `inner` rows when its inner axis comes
 * first.
 */
struct operand {
    struct pr_e5_operand src;
    uint32_t row;
    bool inner_first;
};

static int product_rows(struct cc_lowering *l, struct cc_mac *mac, const struct operand *x, uint32_t first,
                        uint32_t rows)
{
    uint32_t inner = mac->in[CC_C], plane = (uint32_t)pr_round_up(2ull * rows, PR_ROW_ALIGN), buffer;
    struct pr_e5_operand src = x->src;
    int status;

    mac->in[CC_W] = mac->out[CC_W] = rows;
    mac->in[CC_H] = mac->out[CC_H] = 1;
    mac->batches = 1;
    mac->kw = mac->kh = 1;
    if (x->inner_first) {
        mac->src = src;
        mac->src.offset += 2 * first;
        mac->src.plane = x->row;
        return cc_emit_mac(l, mac);
    }
    src.offset += first * x->row;
    status = cc_scratch(l, (uint64_t)plane * inner, &buffer);
    if (!status)
        status = transpose(l, &src, x->row, rows, inner, buffer, plane);
    mac->src =
        (struct pr_e5_operand){.place = PR_E5_INTERMEDIATE, .index = buffer, .row = plane, .plane = plane};
    return status ? status : cc_emit_mac(l, mac);
}

/* In pieces of at most ROWS rows. One row advances the result's offset by `dst_step` bytes. */
static int product(struct cc_lowering *l, struct cc_mac *mac, const struct operand *x, uint32_t rows,
                   uint32_t dst_step)
{
    struct cc_mac part = *mac;
    int status = 0;

    for (uint32_t first = 0; first < rows && !status; first += ROWS) {
        part.dst.offset = mac->dst.offset + first * dst_step;
        status = product_rows(l, &part, x, first, rows - first < ROWS ? rows - first : ROWS);
    }
    return status;
}

/* The result's channels are contiguous; its width has the stride of rows. */
static void transpose_result(struct cc_mac *mac, const struct cc_layout *out)
{
    mac->transposed = true;
    mac->dst.plane = out->row;
}

int cc_lower_linear(struct cc_lowering *l, const struct cc_step *step)
{
    const struct cc_op *op = step->op;
    const struct cc_attributes *a = &op->a;
    const struct cc_value *weight = cc_value_of(l, a->weight - 1);
    struct cc_mac mac = {.weight = cc_data(l, a->weight - 1),
                         .bias = a->bias ? cc_data(l, a->bias - 1) : NULL};
    struct operand x = {.inner_first = false};
    struct cc_layout in, out;
    struct cc_table table;
    int status = cc_source(l, op->input[0], &x.src, &in);

    if (!status)
        status = cc_result(l, step->output, &mac.dst, &out);
    if (status)
        return status;
    cc_mac_fuse(&mac, step, &table);
    x.row = in.row;
    mac.in[CC_C] = weight->dim[1];
    mac.out[CC_C] = weight->dim[0];
    mac.step[0] = weight->dim[1];
    mac.step[1] = 1;
    transpose_result(&mac, &out);
    return product(l, &mac, &x, in.n * in.c * in.h, out.row);
}

/*
 * Number of matrices of an operand. They are `plane` bytes apart in the engine's layout and packed in a
 * constant.
 */
static uint32_t matrices(const struct cc_layout *layout)
{
    return layout->n * layout->c;
}

/* The matrix of an operand for matrix `i` of the result: axes of length 1 are broadcast. */
static uint32_t matrix_of(const struct cc_layout *operand, const struct cc_layout *out, uint32_t i)
{
    uint32_t n = i / out->c % out->n, c = i % out->c;

    return (operand->n > 1 ? n : 0) * operand->c + (operand->c > 1 ? c : 0);
}

struct matmul {
    struct operand x;       /* the runtime operand, its matrix 0 */
    const uint16_t *weight; /* the constant one */
    struct cc_layout runtime, constant, out;
    bool constant_first;
    uint32_t rows, inner, channels; /* of the convolution */
    uint32_t step[2]; /* elements between output channels and between inner elements of the constant */
};

static int matmul_one(struct cc_lowering *l, const struct cc_step *step, const struct matmul *m,
                      const struct pr_e5_operand *dst, uint32_t i, uint32_t rows)
{
    struct cc_mac mac = {.dst = *dst, .step = {m->step[0], m->step[1], 0}};
    struct operand x = m->x;
    struct cc_table table;

    cc_mac_fuse(&mac, step, &table);
    x.src.offset += matrix_of(&m->runtime, &m->out, i) * m->runtime.plane;
    mac.weight = m->weight + (size_t)matrix_of(&m->constant, &m->out, i) * m->constant.h * m->constant.w;
    mac.dst.offset += i * m->out.plane;
    mac.in[CC_C] = m->inner;
    mac.out[CC_C] = m->channels;
    if (m->constant_first)
        mac.dst.plane = m->out.row;
    else
        transpose_result(&mac, &m->out);
    return product(l, &mac, &x, rows, m->constant_first ? 2 : m->out.row);
}

/* The channels are the columns of y if y is constant, else the rows of x. */
static int read_matmul(struct cc_lowering *l, const struct cc_step *step, struct matmul *m,
                       struct pr_e5_operand *dst)
{
    const struct cc_op *op = step->op;
    bool first = cc_is_constant(l, op->input[0]), second = cc_is_constant(l, op->input[1]);
    uint32_t runtime = op->input[first ? 1 : 0], constant = op->input[first ? 0 : 1];
    bool inner_last; /* the constant's inner axis is its last one */
    int status;

    if (first && second)
        return cc_refuse(l, "both operands are constants; compute the result before compiling");
    m->constant_first = first;
    m->weight = cc_data(l, constant);
    status = cc_source(l, runtime, &m->x.src, &m->runtime);
    if (!status)
        status = cc_layout_of(l, constant, &m->constant);
    if (!status)
        status = cc_result(l, step->output, dst, &m->out);
    if (status)
        return status;
    m->x.row = m->runtime.row;
    m->x.inner_first = first ? !op->a.transpose_y : op->a.transpose_x;
    m->inner = m->x.inner_first ? m->runtime.h : m->runtime.w;
    m->rows = m->x.inner_first ? m->runtime.w : m->runtime.h;
    m->channels = first ? m->out.h : m->out.w;
    inner_last = first ? !op->a.transpose_x : op->a.transpose_y;
    m->step[0] = inner_last ? m->constant.w : 1;
    m->step[1] = inner_last ? 1 : m->constant.w;
    return 0;
}

int cc_lower_matmul(struct cc_lowering *l, const struct cc_step *step)
{
    const struct cc_op *op = step->op;
    struct matmul m = {.constant_first = false};
    struct pr_e5_operand dst;
    int status;

    if (!cc_is_constant(l, op->input[0]) && !cc_is_constant(l, op->input[1]))
        return cc_lower_product(l, step);
    status = read_matmul(l, step, &m, &dst);
    if (status)
        return status;
    /* One constant matrix for all: the rows of all leading axes are the rows of one product. */
    if (!m.constant_first && !m.x.inner_first && matrices(&m.constant) == 1)
        return matmul_one(l, step, &m, &dst, 0, matrices(&m.runtime) * m.rows);
    for (uint32_t i = 0; i < matrices(&m.out) && !status; i++)
        status = matmul_one(l, step, &m, &dst, i, m.rows);
    return status;
}
