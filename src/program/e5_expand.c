/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records into descriptors. A descriptor is accepted only after it has been decoded again and the task is
 * what the record says, so a mistake here is refused and never reaches the engine.
 */
#include "program/e5.h"

#include <string.h>

#include "program/e5_expander.h"
#include "program/kernel.h"
#include "program/td_codes.h"
#include "program/td_write.h"

/* What every known descriptor of such a task has in fields that this model does not act on. */
enum { FMT_MODE = 1, TRUNCATE = 3, INTERLEAVE_PLANAR = 1, SOURCES_ONE = 1, SOURCES_TWO = 3 };
enum { SOURCES_SECOND = 2 }; /* source 2 by DMA, source 1 in L2 */
enum { BINARY_POINT_FP16 = 0x1c };
enum { DEPENDENT_NEURAL = 1, DEPENDENT_PLANAR = 2 };
enum { W, H, C, G }; /* places in a record's extents */

#define TD_STEP ((uint32_t)((PR_TD_WORDS_FULL * 4 + PR_TD_ALIGN - 1) / PR_TD_ALIGN * PR_TD_ALIGN))

static void put_field(struct pr_e5_expander *x, enum pr_td_field field, uint32_t value)
{
    pr_image_put(&x->image, field, value);
}

static void head(struct pr_e5_expander *x, enum pr_td_header_field field, uint32_t value)
{
    pr_td_head_put(&x->head, field, value);
}

static bool in_l2(const struct pr_e5_operand *o)
{
    return o->place == PR_E5_L2;
}

/* The buffer register of an operand, and the bytes that are its own there. Makes its offset the buffer's. */
static bool operand_buffer(const struct pr_e5_expander *x, struct pr_e5_operand *o, uint32_t *bar,
                           struct pr_e5_span *span)
{
    const uint32_t all = o->offset | o->row | o->plane | o->depth | o->group;

    if (all % (in_l2(o) ? PR_E5_L2_ALIGN : PR_ROW_ALIGN))
        return pr_e5_wrong(x, "an operand's offset or stride is not a multiple of 64, in L2 of 16");
    switch (o->place) {
    case PR_E5_L2:
        if (o->offset >= PR_L2_BYTES || o->row >= PR_L2_BYTES || o->plane >= PR_L2_BYTES ||
            o->depth >= PR_L2_BYTES || o->group >= PR_L2_BYTES)
            return pr_e5_wrong(x, "an operand's offset or stride is larger than L2");
        *span = (struct pr_e5_span){0, PR_L2_BYTES};
        break;
    case PR_E5_PORT:
        if (o->index >= x->e5->ports)
            return pr_e5_wrong(x, "an operand names a port that does not exist");
        *bar = x->e5->port[o->index].bar;
        *span = (struct pr_e5_span){x->e5->port[o->index].offset, x->e5->port[o->index].bytes};
        if (o->offset > PR_E5_BYTES_MAX)
            return pr_e5_wrong(x, "an operand's offset is larger than any port");
        o->offset += span->from;
        return true;
    case PR_E5_INTERMEDIATE:
        *bar = PR_HWX_BAR_INTERMEDIATE;
        *span = (struct pr_e5_span){0, x->e5->intermediate_bytes};
        break;
    case PR_E5_CONSTANT:
        *bar = PR_HWX_BAR_CONST;
        *span = (struct pr_e5_span){0, x->e5->constant_bytes};
        break;
    default: return pr_e5_wrong(x, "an operand's place is unknown");
    }
    return o->index == 0 || pr_e5_wrong(x, "an operand outside the ports has an index");
}

/* The kernel's buffer: the constants, or where it was made. */
static bool kernel_buffer(struct pr_e5_expander *x, struct pr_e5_span *span)
{
    struct pr_e5_record *r = x->record;
    struct pr_e5_operand kernel = {.place = r->kernel_place ? r->kernel_place : (uint32_t)PR_E5_CONSTANT,
                                   .index = r->kernel_index,
                                   .offset = r->kernel};
    uint32_t bar = 0;

    if (!pr_e5_has_weights(r) && !(r->flags & PR_E5_TABLE))
        return true;
    if (in_l2(&kernel))
        return pr_e5_wrong(x, "its kernel is in L2, and a kernel comes by DMA");
    if (!operand_buffer(x, &kernel, &bar, span))
        return false;
    r->kernel = kernel.offset;
    head(x, PR_H_KBASE0, bar);
    head(x, PR_H_KBE0, 1);
    return true;
}

/* The spans of source 1, source 2, result and kernel. */
static bool place_operands(struct pr_e5_expander *x, struct pr_e5_span span[4])
{
    struct pr_e5_record *r = x->record;
    uint32_t bar = 0;

    if ((r->slice && in_l2(&r->src[0])) || (r->interleave > 1 && in_l2(&r->dst)))
        return pr_e5_wrong(x, "it has a slice or an interleave in L2, and those are for DMA");
    if (!operand_buffer(x, &r->src[0], &bar, &span[0]))
        return false;
    head(x, PR_H_RBASE0, in_l2(&r->src[0]) ? 0 : bar);
    head(x, PR_H_RBE0, !in_l2(&r->src[0]));
    if (pr_e5_has_two_sources(r)) {
        if (!operand_buffer(x, &r->src[1], &bar, &span[1]))
            return false;
        head(x, PR_H_RBASE1, in_l2(&r->src[1]) ? 0 : bar);
        head(x, PR_H_RBE1, !in_l2(&r->src[1]));
    } else if (r->src[1].place != PR_E5_NONE) {
        return pr_e5_wrong(x, "a task of one source has two");
    }
    if (r->dst.place == PR_E5_CONSTANT || (r->dst.place == PR_E5_PORT && r->dst.index < x->e5->ports &&
                                           x->e5->port[r->dst.index].direction != PR_HWX_OUTPUT))
        return pr_e5_wrong(x, "its result goes to a constant or an input");
    if (!operand_buffer(x, &r->dst, &bar, &span[2]))
        return false;
    head(x, PR_H_WBASE, in_l2(&r->dst) ? 0 : bar);
    head(x, PR_H_WBE, !in_l2(&r->dst));
    return kernel_buffer(x, &span[3]);
}

static void write_extents(struct pr_e5_expander *x)
{
    const struct pr_e5_record *r = x->record;
    bool keeps = pr_e5_is_reduction(r); /* the registers of a reduction state its source twice */
    const uint32_t *out = keeps ? r->in : r->out;

    put_field(x, PR_F_WIN, r->in[W]);
    put_field(x, PR_F_HIN, r->in[H]);
    put_field(x, PR_F_CIN, r->in[C]);
    put_field(x, PR_F_DIN, r->depth ? r->depth : 1);
    put_field(x, PR_F_WOUT, out[W]);
    put_field(x, PR_F_HOUT, out[H]);
    put_field(x, PR_F_COUT, out[C]);
    put_field(x, PR_F_DOUT, r->depth ? r->depth : 1);
    put_field(x, PR_F_NUM_GROUPS, r->in[G]);
    put_field(x, PR_F_TILE_HEIGHT, out[H]);
    put_field(x, PR_F_TASK_ID, x->index & 0xffff);
}

/* Of a row, what is staged in L2 at a time, in whole 16 bytes: as in programs of Apple's compiler. */
static uint32_t strip_bytes(const struct pr_e5_record *r)
{
    return 2 * r->in[W] < PR_STRIP_BYTES ? (uint32_t)pr_round_up(2 * r->in[W], 16) : PR_STRIP_BYTES;
}

/* The task before this one has just written the operand in L2. */
static bool is_just_written(const struct pr_e5_expander *x, const struct pr_e5_operand *o)
{
    return x->before && in_l2(o) && in_l2(&x->before->dst) && x->before->dst.offset == o->offset;
}

static void write_source1(struct pr_e5_expander *x)
{
    const struct pr_e5_operand *a = &x->record->src[0];

    put_field(x, PR_F_SRC_EN, 1);
    put_field(x, PR_F_SRC_ADDR, a->offset >> 6);
    put_field(x, PR_F_SRC_ROW, a->row >> 6);
    put_field(x, PR_F_SRC_PLANE, a->plane >> 6);
    put_field(x, PR_F_SRC_DEPTH, a->depth >> 6);
    put_field(x, PR_F_SRC_GROUP, a->group >> 6);
    put_field(x, PR_F_SRC_FMT_MODE, FMT_MODE);
    put_field(x, PR_F_SRC_TRUNCATE, TRUNCATE);
    put_field(x, PR_F_SRC_MEM_FMT, PR_CODE_FP16);
    put_field(x, PR_F_SOURCE_TYPE, PR_TYPE_STAGED);
    put_field(x, PR_F_SOURCE_DMA_FMT, PR_STAGING_FP16);
    put_field(x, PR_F_L2_SRC_CHANNEL, strip_bytes(x->record) >> 4);
    if (x->record->slice) {
        pr_image_put_at(&x->image, PR_F_PIXEL_OFFSET, 0, x->record->slice);
        pr_image_put_at(&x->image, PR_F_CHOSEN_MARK, 0, PR_CHOSEN_MARK);
    }
}

static void write_source1_l2(struct pr_e5_expander *x)
{
    const struct pr_e5_operand *a = &x->record->src[0];

    put_field(x, PR_F_SOURCE_TYPE, PR_TYPE_RESIDENT);
    put_field(x, PR_F_L2_SRC_BASE, a->offset >> 4);
    put_field(x, PR_F_L2_SRC_CHANNEL, a->plane >> 4);
    put_field(x, PR_F_L2_SRC_ROW, a->row >> 4);
    put_field(x, PR_F_L2_SRC_DEPTH, a->depth >> 4);
    put_field(x, PR_F_L2_SRC_GROUP, a->group >> 4);
    if (is_just_written(x, a))
        put_field(x, PR_F_SOURCE_DEPENDENT, pr_e5_is_neural(x->before) ? DEPENDENT_NEURAL : DEPENDENT_PLANAR);
}

static void write_source2(struct pr_e5_expander *x)
{
    const struct pr_e5_operand *b = &x->record->src[1];

    put_field(x, PR_F_SRC2_ADDR, b->offset >> 6);
    put_field(x, PR_F_SRC2_ROW, b->row >> 6);
    put_field(x, PR_F_SRC2_PLANE, b->plane >> 6);
    put_field(x, PR_F_SRC2_DEPTH, b->depth >> 6);
    put_field(x, PR_F_SRC2_GROUP, b->group >> 6);
    put_field(x, PR_F_SRC2_TRUNCATE, TRUNCATE);
    put_field(x, PR_F_SRC2_MEM_FMT, PR_CODE_FP16);
    put_field(x, PR_F_SOURCE2_BY_DMA, 1);
}

static void write_source2_l2(struct pr_e5_expander *x)
{
    const struct pr_e5_operand *b = &x->record->src[1];

    put_field(x, PR_F_L2_SRC2_BASE, b->offset >> 4);
    put_field(x, PR_F_L2_SRC2_CHANNEL, b->plane >> 4);
    put_field(x, PR_F_L2_SRC2_ROW, b->row >> 4);
    put_field(x, PR_F_L2_SRC2_DEPTH, b->depth >> 4);
    put_field(x, PR_F_L2_SRC2_GROUP, b->group >> 4);
    put_field(x, PR_F_SOURCE2_FROM_RESULT, is_just_written(x, b));
}

static void write_sources(struct pr_e5_expander *x)
{
    const struct pr_e5_record *r = x->record;

    put_field(x, PR_F_IN_FMT, PR_CODE_FP16);
    put_field(x, PR_F_SRC_INTERLEAVE, INTERLEAVE_PLANAR);
    put_field(x, PR_F_SOURCE_DMA_INTERLEAVE, INTERLEAVE_PLANAR);
    if (in_l2(&r->src[0]))
        write_source1_l2(x);
    else
        write_source1(x);
    if (!pr_e5_has_two_sources(r))
        return;
    put_field(x, PR_F_SRC2_IN_FMT, PR_CODE_FP16);
    if (in_l2(&r->src[1]))
        write_source2_l2(x);
    else
        write_source2(x);
}

static void write_result(struct pr_e5_expander *x)
{
    const struct pr_e5_operand *y = &x->record->dst;
    uint32_t interleave = x->record->interleave ? x->record->interleave : (uint32_t)INTERLEAVE_PLANAR;

    put_field(x, PR_F_OUT_FMT, PR_CODE_FP16);
    put_field(x, PR_F_RESULT_DMA_FMT, PR_STAGING_FP16);
    put_field(x, PR_F_RESULT_DMA_INTERLEAVE, interleave);
    if (in_l2(y)) {
        put_field(x, PR_F_RESULT_TYPE, PR_TYPE_RESIDENT);
        put_field(x, PR_F_L2_RESULT_BASE, y->offset >> 4);
        put_field(x, PR_F_L2_RESULT_CHANNEL, y->plane >> 4);
        put_field(x, PR_F_L2_RESULT_ROW, y->row >> 4);
        put_field(x, PR_F_L2_RESULT_DEPTH, y->depth >> 4);
        put_field(x, PR_F_L2_RESULT_GROUP, y->group >> 4);
        return;
    }
    put_field(x, PR_F_RESULT_TYPE, PR_TYPE_STAGED);
    put_field(x, PR_F_DST_EN, 1);
    put_field(x, PR_F_DST_ADDR, y->offset >> 6);
    put_field(x, PR_F_DST_ROW, y->row >> 6);
    put_field(x, PR_F_DST_PLANE, y->plane >> 6);
    put_field(x, PR_F_DST_DEPTH, y->depth >> 6);
    put_field(x, PR_F_DST_GROUP, y->group >> 6);
    put_field(x, PR_F_DST_FMT_MODE, FMT_MODE);
    put_field(x, PR_F_DST_TRUNCATE, TRUNCATE);
    put_field(x, PR_F_DST_MEM_FMT, PR_CODE_FP16);
    put_field(x, PR_F_DST_INTERLEAVE, interleave);
}

static uint32_t task_type(enum pr_e5_kind kind)
{
    switch (kind) {
    case PR_E5_ELEMENTWISE2: return PR_TASK_TWO_SOURCES;
    case PR_E5_REDUCE: return PR_TASK_REDUCTION;
    case PR_E5_REDUCE2: return PR_TASK_REDUCTION_OF_TWO;
    case PR_E5_AFFINE: return PR_TASK_AFFINE;
    default: return PR_TASK_ONE_SOURCE;
    }
}

/* Bit 0 is also set where both sources are in L2. */
static uint32_t sources_by_dma(const struct pr_e5_record *r)
{
    if (!pr_e5_has_two_sources(r) || in_l2(&r->src[1]))
        return SOURCES_ONE;
    return in_l2(&r->src[0]) ? SOURCES_SECOND : SOURCES_TWO;
}

static void write_planar(struct pr_e5_expander *x)
{
    const struct pr_e5_record *r = x->record;
    bool two = pr_e5_has_two_sources(r), max = pr_e5_is_reduction(r) && r->op == PR_PE_REDUCE_MAX;
    bool min = pr_e5_is_reduction(r) && r->op == PR_PE_REDUCE_MIN;

    put_field(x, PR_F_CFG_SOURCES, sources_by_dma(r));
    put_field(x, PR_F_TASK_TYPE, task_type((enum pr_e5_kind)r->kind));
    put_field(x, PR_F_SRC1_BCAST, r->broadcast & PR_BROADCAST_MASK);
    put_field(x, PR_F_SRC2_BCAST, r->broadcast >> PR_BROADCAST_SECOND_LO);
    put_field(x, PR_F_SRC1_TRANSPOSE, (r->flags & PR_E5_TRANSPOSE1) != 0);
    put_field(x, PR_F_SRC2_TRANSPOSE, (r->flags & PR_E5_TRANSPOSE2) != 0);
    put_field(x, PR_F_OUT_TRANSPOSE, (r->flags & PR_E5_OUT_TRANSPOSE) != 0);
    put_field(x, PR_F_PE_RELU, (r->flags & PR_E5_RELU) != 0);
    put_field(x, PR_F_PE_SUB1, (r->flags & PR_E5_SUBTRACT1) != 0);
    /* The codes of the comparisons follow the one of the magnitude. */
    put_field(x, PR_F_PE_COND,
              r->flags & PR_E5_ABS ? PR_COND_ABS
              : r->compare         ? PR_COND_ABS + r->compare
                                   : 0);
    if (two)
        put_field(x, PR_F_PE_SRC2, r->flags & PR_E5_SUBTRACT2 ? PR_SRC2_SUBTRACTED : PR_SRC2_ADDED);
    put_field(x, PR_F_PE_OP, pr_e5_is_reduction(r) ? r->elementwise : r->op);
    put_field(x, PR_F_PE_REDUCE, max ? PR_REDUCE_MAX : min ? PR_REDUCE_MIN : PR_REDUCE_SUM);
    put_field(x, PR_F_PADDING_MODE, max ? PR_PADDING_LOWEST : 0);
    put_field(x, PR_F_PE_FUNCTION, r->function);
    put_field(x, PR_F_PE_SCALE, r->scale);
    put_field(x, PR_F_PE_BIAS, r->bias);
    put_field(x, PR_F_PE_PRE_SCALE, r->pre_scale);
    put_field(x, PR_F_PE_EPSILON, r->epsilon);
    put_field(x, PR_F_PE_FINAL_SCALE, r->final_scale);
}

/* Engines that a convolution's channels reach: the last passes have one lane each. */
static uint32_t engines_used(const struct pr_e5_record *r)
{
    uint32_t engines = 1u << r->engines_log2;

    return r->out[C] < engines ? r->out[C] : engines;
}

/* A stream for each engine; or the one table, for all of them. */
static void write_kernel(struct pr_e5_expander *x)
{
    const struct pr_e5_record *r = x->record;
    bool weights = pr_e5_has_weights(r);
    uint32_t engines = weights ? engines_used(r) : 1u << r->engines_log2;

    put_field(x, PR_F_KERNEL_FMT, PR_CODE_FP16);
    put_field(x, PR_F_KERNEL_AT_RUNTIME, weights && r->kernel_place);
    put_field(x, PR_F_SMALL_SOURCE, weights);
    put_field(x, PR_F_KDMA_LOAD, 1);
    put_field(x, PR_F_SPARSE_FMT, (r->flags & PR_E5_SPARSE) != 0);
    put_field(x, PR_F_KDMA_SPARSE, (r->flags & PR_E5_SPARSE) != 0);
    for (uint32_t e = 0; e < engines; e++) {
        pr_image_put_at(&x->image, PR_F_COEFF_EN, e, 1);
        pr_image_put_at(&x->image, PR_F_COEFF_ADDR, e,
                        (r->kernel + (weights ? e * r->kernel_bytes : 0)) >> 6);
        pr_image_put_at(&x->image, PR_F_COEFF_BYTES, e, r->kernel_bytes >> 6);
    }
}

static uint32_t op_mode(enum pr_e5_kind kind)
{
    switch (kind) {
    case PR_E5_BYPASS: return PR_OP_BYPASS;
    case PR_E5_MAX: return PR_OP_MAX;
    case PR_E5_PRODUCT: return PR_OP_PRODUCT;
    default: return PR_OP_MULTIPLY;
    }
}

static void write_neural(struct pr_e5_expander *x)
{
    const struct pr_e5_record *r = x->record;
    uint32_t unicast = r->kind == PR_E5_BYPASS ? 1 : r->unicast;

    head(x, PR_H_ENE, r->engines_log2 + 1);
    put_field(x, PR_F_ACTIVE_NE, r->engines_log2);
    put_field(x, PR_F_CFG_SOURCES, SOURCES_ONE);
    put_field(x, PR_F_NE_OUT_TRANSPOSE, (r->flags & PR_E5_OUT_TRANSPOSE) != 0);
    put_field(x, PR_F_OCG_SIZE, r->lanes_log2);
    put_field(x, PR_F_PX, r->px);
    put_field(x, PR_F_PY, r->py);
    put_field(x, PR_F_UNICAST_EN, unicast != 0);
    put_field(x, PR_F_UNICAST_CIN, unicast ? unicast : 1);
    put_field(x, PR_F_ELEM_MULT, r->kind == PR_E5_PRODUCT);
    put_field(x, PR_F_PADDING_MODE, r->kind == PR_E5_MAX ? PR_PADDING_LOWEST : 0);
    put_field(x, PR_F_OP_MODE, op_mode((enum pr_e5_kind)r->kind));
    put_field(x, PR_F_KERNEL_MODE, !pr_e5_has_weights(r));
    put_field(x, PR_F_BIAS_MODE, (r->flags & PR_E5_BIAS) != 0);
    put_field(x, PR_F_BINARY_POINT, BINARY_POINT_FP16);
    put_field(x, PR_F_NONLINEAR_MODE,
              r->flags & PR_E5_TABLE  ? PR_NL_TABLE
              : r->flags & PR_E5_RELU ? PR_NL_RELU
                                      : 0);
    put_field(x, PR_F_ACC_BIAS, r->acc_bias);
    put_field(x, PR_F_POST_SCALE, r->post_scale);
    if (pr_e5_has_weights(r) || r->flags & PR_E5_TABLE)
        write_kernel(x);
}

static void write_convolution(struct pr_e5_expander *x)
{
    const struct pr_e5_record *r = x->record;
    bool window = pr_e5_is_neural(r) && r->kind != PR_E5_BYPASS;

    put_field(x, PR_F_KW, window ? r->kw : 1);
    put_field(x, PR_F_KH, window ? r->kh : 1);
    put_field(x, PR_F_SX, r->sx ? r->sx : 1);
    put_field(x, PR_F_SY, r->sy ? r->sy : 1);
    put_field(x, PR_F_OX, 1);
    put_field(x, PR_F_OY, 1);
    put_field(x, PR_F_KD, 1);
    put_field(x, PR_F_SZ, 1);
    put_field(x, PR_F_OZ, 1);
}

/* First, last and next descriptor of the network. */
static void write_chain(struct pr_e5_expander *x)
{
    bool first = x->index == 0, last = x->index + 1 == x->e5->records;

    head(x, PR_H_TID, x->index & 0xffff);
    head(x, PR_H_LNID, !first);
    head(x, PR_H_EON, last);
    head(x, PR_H_SPL, first);
    head(x, PR_H_TSR, last);
    head(x, PR_H_TSE, last);
    head(x, PR_H_SRC_LOC, !in_l2(&x->record->src[0]));
    head(x, PR_H_DST_LOC, !in_l2(&x->record->dst));
    if (last)
        return;
    head(x, PR_H_NEXT_SIZE, PR_TD_WORDS_FULL - 1);
    head(x, PR_H_NEXT_POINTER, (x->index + 1) * TD_STEP);
    head(x, PR_H_TBASE, PR_HWX_BAR_TEXT);
    head(x, PR_H_TBE, 1);
}

static bool inside(const struct pr_e5_expander *x, const struct pr_tensor *t, const struct pr_e5_span *own)
{
    uint64_t bytes = pr_tensor_span(t);

    if (bytes <= own->bytes && t->base >= own->from && t->base - own->from <= own->bytes - bytes)
        return true;
    if (x->problem)
        x->problem->descriptor = x->index;
    return pr_problem_set(
        x->problem, PR_PROBLEM_LIMIT,
        "Record %u: a tensor spans %ju bytes from offset %u of buffer %u; it has %u, from offset %u.",
        x->index, bytes, t->base, t->bar, own->bytes, own->from);
}

/* Every stream that the descriptor names lies in the kernel's buffer and has what its engine needs. */
static bool kernel_inside(const struct pr_e5_expander *x, const struct pr_task *task,
                          const struct pr_e5_span *own)
{
    for (uint32_t e = 0; e < PR_ENGINES_MAX; e++) {
        const struct pr_kernel_stream *stream = &task->ne.stream[e];

        if (!stream->enabled)
            continue;
        if (stream->base < own->from || (uint64_t)stream->base - own->from + stream->bytes > own->bytes)
            return pr_e5_wrong(x, "its kernel ends after the buffer that has it");
        if (pr_kernel_stream_bytes(task, e) > stream->bytes)
            return pr_e5_wrong(x, "its kernel has fewer bytes than its channels need");
    }
    return true;
}

/* What the engine will see must be what the record says, inside the buffers it names. */
static bool check_task(const struct pr_e5_expander *x, const struct pr_task *task,
                       const struct pr_e5_span span[4])
{
    static const enum pr_axis axis[4] = {PR_AXIS_W, PR_AXIS_H, PR_AXIS_C, PR_AXIS_G};
    const struct pr_e5_record *r = x->record;

    for (unsigned i = 0; i < 4; i++)
        if (task->dst.extent[axis[i]] != r->out[i])
            return pr_e5_wrong(x, "its result has other extents than its kind gives");
    if (pr_e5_is_neural(r) && !kernel_inside(x, task, &span[3]))
        return false;
    for (unsigned i = 0; i < 2; i++)
        if (task->src[i].home != PR_HOME_NONE && !inside(x, &task->src[i], &span[i]))
            return false;
    return inside(x, &task->dst, &span[2]);
}

static bool expand(struct pr_e5_expander *x, uint8_t words[PR_TD_WORDS_FULL * 4])
{
    struct pr_e5_span span[4] = {0};
    struct pr_task task;
    struct pr_td td;

    if (!pr_e5_check_record(x) || !place_operands(x, span))
        return false;
    pr_e5_fill_strides(x->record);
    write_extents(x);
    write_convolution(x);
    write_sources(x);
    write_result(x);
    if (pr_e5_is_neural(x->record))
        write_neural(x);
    else
        write_planar(x);
    write_chain(x);
    pr_e5_write_hints(x);
    pr_td_write(&x->head, &x->image, words);
    if (!pr_td_read(words, PR_TD_WORDS_FULL, &td, x->problem) || !pr_td_explained(&td, x->problem) ||
        !pr_task_decode(&td, &x->image, &task, x->problem)) {
        if (x->problem)
            x->problem->descriptor = x->index;
        return false;
    }
    return check_task(x, &task, span);
}

size_t pr_e5_text_bytes(const struct pr_e5 *e5)
{
    return (size_t)e5->records * TD_STEP;
}

size_t pr_e5_expand(const struct pr_e5 *e5, void *text, size_t capacity, uint32_t *first_words,
                    struct pr_problem *problem)
{
    struct pr_e5_record record[2];

    *first_words = PR_TD_WORDS_FULL;
    for (uint32_t i = 0; i < e5->records; i++) {
        struct pr_e5_expander x = {.e5 = e5,
                                   .record = &record[i % 2],
                                   .before = i ? &record[1 - i % 2] : NULL,
                                   .index = i,
                                   .problem = problem};
        uint8_t words[PR_TD_WORDS_FULL * 4];
        size_t at = (size_t)i * TD_STEP;

        pr_e5_record(e5, i, x.record);
        if (!expand(&x, words))
            return 0;
        if (capacity < TD_STEP || at > capacity - TD_STEP)
            continue;
        memcpy((uint8_t *)text + at, words, sizeof(words));
        memset((uint8_t *)text + at + sizeof(words), 0, TD_STEP - sizeof(words));
    }
    return pr_e5_text_bytes(e5);
}
