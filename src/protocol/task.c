/* SPDX-License-Identifier: Apache-2.0 */
/* A task decoded from a register image. */
#include "protocol/kernel.h"

#include <string.h>

/* Field codes. Formats: ChCfg, MemFmt and KernelFmt share one numbering; only fp16 is certain. */
enum { FMT_FP16 = 2 };
enum { SOURCE_RESIDENT = 0, SOURCE_KEPT = 1, SOURCE_STAGED = 2 };
enum { RESULT_RESIDENT = 0, RESULT_STAGED = 2 };
enum { TYPE_ONE_SOURCE = 2, TYPE_TWO_SOURCES = 3, TYPE_REDUCTION = 5 };
enum { MAC_MULTIPLY = 0, MAC_BYPASS = 4 };
enum { NL_NONE = 0, NL_RELU = 1 };
enum { SRC2_NONE = 0, SRC2_ADDED = 2, SRC2_SUBTRACTED = 3 };
enum { COND_NONE = 0, COND_ABS = 1 };
enum { ELEMENT_BYTES = 2 };
enum { HALF_ONE = 0x3c00 };

struct decoder {
    const struct pr_td *td;
    const struct pr_image *image;
    struct pr_task *task;
    struct pr_problem *problem;
};

static uint32_t get(const struct decoder *d, enum pr_td_field field)
{
    return pr_image_get(d->image, field);
}

static uint32_t head(const struct decoder *d, enum pr_td_header_field field)
{
    return pr_td_header(d->td, field);
}

/* Names the field in full; returns false. */
static bool refuse(const struct decoder *d, enum pr_problem_kind kind, enum pr_td_field field,
                   const char *why)
{
    const struct pr_field_info *info = &pr_field_table[field];
    const struct pr_reg_info *reg = &pr_reg_table[info->owner];

    if (d->problem) {
        d->problem->address = reg->address;
        d->problem->offset = 0;
        d->problem->bits = get(d, field);
    }
    return pr_problem_set(d->problem, kind, "%s.%s.%s (register %x) is %u: %s.",
                          pr_block_table[reg->block].name, reg->name, info->name, reg->address, get(d, field),
                          why);
}

static bool refuse_header(const struct decoder *d, enum pr_problem_kind kind, enum pr_td_header_field field,
                          const char *why)
{
    const struct pr_field_info *info = &pr_header_table[field];

    if (d->problem) {
        d->problem->address = 0;
        d->problem->offset = 4u * info->owner;
        d->problem->bits = head(d, field);
    }
    return pr_problem_set(d->problem, kind, "Header word %u field %s is %u: %s.", info->owner, info->name,
                          head(d, field), why);
}

/* A field this model acts on for one value only. */
static bool require(const struct decoder *d, enum pr_td_field field, uint32_t value, const char *why)
{
    return get(d, field) == value || refuse(d, PR_PROBLEM_UNSUPPORTED, field, why);
}

static bool decode_extents(const struct decoder *d, uint32_t in[PR_AXES], uint32_t out[PR_AXES])
{
    static const struct {
        enum pr_td_field field;
        uint32_t limit;
        bool output;
        enum pr_axis axis;
    } table[] = {
        {PR_F_WIN, PR_WIDTH_MAX, false, PR_AXIS_W},  {PR_F_HIN, PR_HEIGHT_MAX, false, PR_AXIS_H},
        {PR_F_DIN, PR_DEPTH_MAX, false, PR_AXIS_D},  {PR_F_CIN, PR_CHANNELS_MAX, false, PR_AXIS_C},
        {PR_F_WOUT, PR_WIDTH_MAX, true, PR_AXIS_W},  {PR_F_HOUT, PR_HEIGHT_MAX, true, PR_AXIS_H},
        {PR_F_DOUT, PR_DEPTH_MAX, true, PR_AXIS_D},  {PR_F_COUT, PR_CHANNELS_MAX, true, PR_AXIS_C},
        {PR_F_NUM_GROUPS, 0x1fff, false, PR_AXIS_G}, {PR_F_NUM_GROUPS, 0x1fff, true, PR_AXIS_G},
    };

    for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        uint32_t value = get(d, table[i].field);

        if (value == 0)
            return refuse(d, PR_PROBLEM_INCONSISTENT, table[i].field, "a tensor has no axis of length 0");
        if (value > table[i].limit)
            return refuse(d, PR_PROBLEM_LIMIT, table[i].field, "the axis limit of the M1 is smaller");
        (table[i].output ? out : in)[table[i].axis] = value;
    }
    return true;
}

static void take_strides(const struct decoder *d, const enum pr_td_field field[4], unsigned shift,
                         uint32_t stride[PR_AXES])
{
    stride[PR_AXIS_W] = ELEMENT_BYTES;
    stride[PR_AXIS_H] = get(d, field[0]) << shift;
    stride[PR_AXIS_C] = get(d, field[1]) << shift;
    stride[PR_AXIS_D] = get(d, field[2]) << shift;
    stride[PR_AXIS_G] = get(d, field[3]) << shift;
}

/* DRAM strides count 64 bytes, L2 strides 16. */
enum { DRAM_SHIFT = 6, L2_SHIFT = 4 };

static void dram_source(const struct decoder *d, struct pr_tensor *t, unsigned which)
{
    static const enum pr_td_field stride[2][4] = {
        {PR_F_SRC_ROW, PR_F_SRC_PLANE, PR_F_SRC_DEPTH, PR_F_SRC_GROUP},
        {PR_F_SRC2_ROW, PR_F_SRC2_PLANE, PR_F_SRC2_DEPTH, PR_F_SRC2_GROUP},
    };

    t->home = PR_HOME_DRAM;
    t->bar = head(d, which ? PR_H_RBASE1 : PR_H_RBASE0);
    t->base = get(d, which ? PR_F_SRC2_ADDR : PR_F_SRC_ADDR) << DRAM_SHIFT;
    take_strides(d, stride[which], DRAM_SHIFT, t->stride);
}

static void l2_source(const struct decoder *d, unsigned which, uint32_t *base, uint32_t stride[PR_AXES])
{
    static const enum pr_td_field field[2][4] = {
        {PR_F_L2_SRC_ROW, PR_F_L2_SRC_CHANNEL, PR_F_L2_SRC_DEPTH, PR_F_L2_SRC_GROUP},
        {PR_F_L2_SRC2_ROW, PR_F_L2_SRC2_CHANNEL, PR_F_L2_SRC2_DEPTH, PR_F_L2_SRC2_GROUP},
    };

    *base = get(d, which ? PR_F_L2_SRC2_BASE : PR_F_L2_SRC_BASE) << L2_SHIFT;
    take_strides(d, field[which], L2_SHIFT, stride);
}

static bool source1_format(const struct decoder *d)
{
    return require(d, PR_F_SRC_MEM_FMT, FMT_FP16, "only fp16 (2) memory is decoded here") &&
           require(d, PR_F_SRC_SHIFT, 0, "a shifted source is not decoded") &&
           require(d, PR_F_SRC_OFFSET_CH, 0, "a channel offset is not decoded") &&
           require(d, PR_F_SRC_INTERLEAVE, 1, "only planar surfaces (interleave 1) are read here") &&
           require(d, PR_F_SRC_CMP_VEC, 0, "compressed vectors are not decoded") &&
           require(d, PR_F_SOURCE_DMA_FMT, 1, "only fp16 (1) staging is decoded here") &&
           require(d, PR_F_SOURCE_DMA_INTERLEAVE, 1, "only planar surfaces (interleave 1) are read here") &&
           require(d, PR_F_SOURCE_DMA_CMP_VEC, 0, "compressed vectors are not decoded") &&
           require(d, PR_F_SOURCE_DMA_OFFSET_CH, 0, "a channel offset is not decoded");
}

static bool decode_source1(const struct decoder *d)
{
    struct pr_tensor *t = &d->task->src[0];
    uint32_t type = get(d, PR_F_SOURCE_TYPE);

    if (!require(d, PR_F_IN_FMT, FMT_FP16, "only fp16 (2) sources are computed here"))
        return false;
    for (unsigned i = 0; i < 4; i++)
        if (pr_image_get_at(d->image, PR_F_PIXEL_OFFSET, i))
            return pr_problem_set(d->problem, PR_PROBLEM_UNSUPPORTED,
                                  "TileDMASrc.PixelOffset[%u] is %u: pixel offsets are not decoded.", i,
                                  pr_image_get_at(d->image, PR_F_PIXEL_OFFSET, i));
    t->relu = get(d, PR_F_INPUT_RELU);
    if (type == SOURCE_RESIDENT) {
        t->home = PR_HOME_L2;
        l2_source(d, 0, &t->base, t->stride);
        return true;
    }
    if (type != SOURCE_STAGED && type != SOURCE_KEPT)
        return refuse(d, PR_PROBLEM_UNSUPPORTED, PR_F_SOURCE_TYPE,
                      "streamed hand-off between descriptors is not run");
    if (!get(d, PR_F_SRC_EN))
        return refuse(d, PR_PROBLEM_INCONSISTENT, PR_F_SRC_EN, "SourceCfg says the source comes by DMA");
    if (!head(d, PR_H_RBE0))
        return refuse_header(d, PR_PROBLEM_INCONSISTENT, PR_H_RBE0,
                             "the source comes by DMA and needs its buffer");
    if (!source1_format(d))
        return false;
    dram_source(d, t, 0);
    if (type == SOURCE_KEPT) {
        t->keep = true;
        l2_source(d, 0, &t->keep_base, t->keep_stride);
    }
    return true;
}

static bool decode_source2(const struct decoder *d)
{
    struct pr_tensor *t = &d->task->src[1];

    if (!require(d, PR_F_SRC2_IN_FMT, FMT_FP16, "only fp16 (2) sources are computed here"))
        return false;
    t->relu = get(d, PR_F_INPUT_RELU2);
    if (!get(d, PR_F_SOURCE2_BY_DMA)) {
        t->home = PR_HOME_L2;
        l2_source(d, 1, &t->base, t->stride);
        return true;
    }
    if (!head(d, PR_H_RBE1))
        return refuse_header(d, PR_PROBLEM_INCONSISTENT, PR_H_RBE1,
                             "source 2 comes by DMA and needs its buffer");
    if (!require(d, PR_F_SRC2_MEM_FMT, FMT_FP16, "only fp16 (2) memory is decoded here") ||
        !require(d, PR_F_SRC2_SHIFT, 0, "a shifted source is not decoded"))
        return false;
    dram_source(d, t, 1);
    return true;
}

static bool destination_format(const struct decoder *d)
{
    return require(d, PR_F_DST_MEM_FMT, FMT_FP16, "only fp16 (2) memory is decoded here") &&
           require(d, PR_F_DST_SHIFT, 0, "a shifted result is not decoded") &&
           require(d, PR_F_DST_OFFSET_CH, 0, "a channel offset is not decoded") &&
           require(d, PR_F_DST_CMP_VEC_FILL, 0, "compressed vectors are not decoded") &&
           require(d, PR_F_DST_INTERLEAVE, 1, "only planar surfaces (interleave 1) are written here") &&
           require(d, PR_F_DST_CMP_VEC, 0, "compressed vectors are not decoded") &&
           require(d, PR_F_RESULT_DMA_FMT, 1, "only fp16 (1) staging is decoded here") &&
           require(d, PR_F_RESULT_DMA_INTERLEAVE, 1,
                   "only planar surfaces (interleave 1) are written here") &&
           require(d, PR_F_RESULT_DMA_CMP_VEC, 0, "compressed vectors are not decoded") &&
           require(d, PR_F_RESULT_DMA_OFFSET_CH, 0, "a channel offset is not decoded");
}

static bool decode_destination(const struct decoder *d)
{
    static const enum pr_td_field dram[4] = {PR_F_DST_ROW, PR_F_DST_PLANE, PR_F_DST_DEPTH, PR_F_DST_GROUP};
    static const enum pr_td_field l2[4] = {PR_F_L2_RESULT_ROW, PR_F_L2_RESULT_CHANNEL, PR_F_L2_RESULT_DEPTH,
                                           PR_F_L2_RESULT_GROUP};
    struct pr_tensor *t = &d->task->dst;
    uint32_t type = get(d, PR_F_RESULT_TYPE);

    if (!require(d, PR_F_OUT_FMT, FMT_FP16, "only fp16 (2) results are computed here"))
        return false;
    if (type == RESULT_RESIDENT) {
        t->home = PR_HOME_L2;
        t->base = get(d, PR_F_L2_RESULT_BASE) << L2_SHIFT;
        take_strides(d, l2, L2_SHIFT, t->stride);
        return true;
    }
    if (type != RESULT_STAGED)
        return refuse(d, PR_PROBLEM_UNSUPPORTED, PR_F_RESULT_TYPE,
                      "only results in L2 (0) or by DMA (2) are run");
    if (!get(d, PR_F_DST_EN))
        return refuse(d, PR_PROBLEM_INCONSISTENT, PR_F_DST_EN, "ResultCfg says the result goes out by DMA");
    if (!head(d, PR_H_WBE))
        return refuse_header(d, PR_PROBLEM_INCONSISTENT, PR_H_WBE,
                             "the result goes out by DMA and needs its buffer");
    if (!destination_format(d))
        return false;
    t->home = PR_HOME_DRAM;
    t->bar = head(d, PR_H_WBASE);
    t->base = get(d, PR_F_DST_ADDR) << DRAM_SHIFT;
    t->zero_tail = get(d, PR_F_DST_ZERO_PAD_LAST) || get(d, PR_F_DST_ZERO_PAD_FIRST);
    take_strides(d, dram, DRAM_SHIFT, t->stride);
    return true;
}

/* Transposed: the channel index is contiguous and the width index uses the channel (plane) stride. */
static void transpose(uint32_t stride[PR_AXES])
{
    stride[PR_AXIS_W] = stride[PR_AXIS_C];
    stride[PR_AXIS_C] = ELEMENT_BYTES;
}

/* Strides along the broadcast axes become 0. Bits in the order W, H, D, C. */
static void broadcast(struct pr_tensor *t, uint32_t bits)
{
    for (unsigned axis = PR_AXIS_W; axis <= PR_AXIS_C; axis++)
        if (bits >> axis & 1)
            t->stride[axis] = 0;
}

static bool decode_pe_op(const struct decoder *d)
{
    struct pr_pe *pe = &d->task->pe;
    uint32_t op = get(d, PR_F_PE_OP), src2 = get(d, PR_F_PE_SRC2);

    if (op > PR_PE_SQUARE_OF_SUM)
        return refuse(d, PR_PROBLEM_UNSUPPORTED, PR_F_PE_OP,
                      "elementwise operations above 4 are not decoded");
    pe->op = (enum pr_pe_op)op;
    pe->negate1 = get(d, PR_F_PE_SUB1);
    pe->negate2 = src2 == SRC2_SUBTRACTED;
    if (pe->two_sources && src2 != SRC2_ADDED && src2 != SRC2_SUBTRACTED)
        return refuse(d, PR_PROBLEM_INCONSISTENT, PR_F_PE_SRC2,
                      "a task of two sources adds (2) or subtracts (3) source 2");
    if (!pe->two_sources && src2 != SRC2_NONE)
        return refuse(d, PR_PROBLEM_INCONSISTENT, PR_F_PE_SRC2, "a task of one source has no second operand");
    if (!pe->two_sources && op != PR_PE_ADD && op != PR_PE_SQUARE_OF_SUM)
        return refuse(d, PR_PROBLEM_UNSUPPORTED, PR_F_PE_OP, "with one source only 0 and 4 are decoded");
    if ((pe->negate1 || pe->negate2) && op != PR_PE_ADD && op != PR_PE_SQUARE_OF_SUM)
        return refuse(d, PR_PROBLEM_UNSUPPORTED, PR_F_PE_OP,
                      "a subtracted source is decoded for 0 and 4 only");
    if (get(d, PR_F_PE_COND) > COND_ABS)
        return refuse(d, PR_PROBLEM_UNSUPPORTED, PR_F_PE_COND, "only 0 and 1 (absolute value) are decoded");
    pe->abs = get(d, PR_F_PE_COND) == COND_ABS;
    pe->relu = get(d, PR_F_PE_RELU);
    return require(d, PR_F_PE_FUNCTION, 0, "functions after a reduction are not run by this model yet");
}

static bool decode_pe_reduction(const struct decoder *d)
{
    struct pr_pe *pe = &d->task->pe;
    uint32_t reduce = get(d, PR_F_PE_REDUCE);

    if (get(d, PR_F_TASK_TYPE) != TYPE_REDUCTION) {
        if (get(d, PR_F_PE_EPSILON))
            return refuse(d, PR_PROBLEM_UNSUPPORTED, PR_F_PE_EPSILON,
                          "an epsilon is decoded for reductions only");
        return require(d, PR_F_PE_REDUCE, 0, "this task is no reduction");
    }
    if (reduce != 0 && reduce != 2)
        return refuse(d, PR_PROBLEM_UNSUPPORTED, PR_F_PE_REDUCE, "only 0 (sum) and 2 (max) are decoded");
    pe->reduce = reduce ? PR_PE_REDUCE_MAX : PR_PE_REDUCE_SUM;
    pe->epsilon = (uint16_t)get(d, PR_F_PE_EPSILON);
    if (pe->negate1)
        return refuse(d, PR_PROBLEM_UNSUPPORTED, PR_F_PE_SUB1,
                      "a reduction of a negated source is not decoded");
    return require(d, PR_F_PE_RELU, 0, "a reduction with ReLU is not decoded") &&
           require(d, PR_F_PE_SCALE, HALF_ONE, "a scale other than 1 is not decoded in a reduction") &&
           require(d, PR_F_PE_BIAS, 0, "a bias is not decoded in a reduction");
}

static bool same_extents(const struct decoder *d, const uint32_t in[PR_AXES], const uint32_t out[PR_AXES])
{
    static const enum pr_td_field field[] = {PR_F_WOUT, PR_F_HOUT, PR_F_DOUT, PR_F_COUT};

    for (unsigned axis = PR_AXIS_W; axis <= PR_AXIS_C; axis++)
        if (in[axis] != out[axis])
            return refuse(d, PR_PROBLEM_INCONSISTENT, field[axis],
                          "this task keeps the extents of its source");
    return true;
}

static bool decode_pe(const struct decoder *d, const uint32_t in[PR_AXES], uint32_t out[PR_AXES])
{
    struct pr_task *task = d->task;
    uint32_t type = get(d, PR_F_TASK_TYPE), bits = get(d, PR_F_SRC1_BCAST);
    uint32_t seen[PR_AXES];

    if (type != TYPE_ONE_SOURCE && type != TYPE_TWO_SOURCES && type != TYPE_REDUCTION)
        return refuse(d, PR_PROBLEM_UNSUPPORTED, PR_F_TASK_TYPE,
                      "the planar engine runs 2 (one source), 3 (two sources) and 5 (reduction) here");
    task->pe.two_sources = type == TYPE_TWO_SOURCES;
    if (!decode_pe_op(d) || !decode_pe_reduction(d))
        return false;
    if (task->pe.two_sources && !decode_source2(d))
        return false;
    /* An axis that source 1 broadcasts has length 1 in it: InDim may state either. */
    for (unsigned axis = 0; axis < PR_AXES; axis++)
        seen[axis] = axis <= PR_AXIS_C && bits >> axis & 1 ? out[axis] : in[axis];
    if (!same_extents(d, seen, out))
        return false;
    if (get(d, PR_F_SRC1_TRANSPOSE))
        transpose(task->src[0].stride);
    if (get(d, PR_F_SRC2_TRANSPOSE))
        transpose(task->src[1].stride);
    if (get(d, PR_F_OUT_TRANSPOSE))
        transpose(task->dst.stride);
    broadcast(&task->src[0], bits);
    broadcast(&task->src[1], get(d, PR_F_SRC2_BCAST));
    task->pe.scale = (uint16_t)get(d, PR_F_PE_SCALE);
    task->pe.bias = (uint16_t)get(d, PR_F_PE_BIAS);
    task->pe.pre_scale = (uint16_t)get(d, PR_F_PE_PRE_SCALE);
    task->pe.final_scale = get(d, PR_F_PE_FINAL_SCALE);
    if (task->pe.reduce)
        out[PR_AXIS_W] = out[PR_AXIS_H] = out[PR_AXIS_D] = 1;
    return true;
}

static bool decode_kernel(const struct decoder *d)
{
    struct pr_ne *ne = &d->task->ne;

    if (!require(d, PR_F_KERNEL_FMT, FMT_FP16, "only fp16 (2) kernels are read here") ||
        !require(d, PR_F_PALETTIZED_EN, 0, "palettized kernels are not read by this model yet") ||
        !require(d, PR_F_SPARSE_FMT, 0, "zero-skipping kernels are not read by this model yet") ||
        !require(d, PR_F_GROUP_KERNEL_REUSE, 0, "kernel reuse between groups is not decoded") ||
        !require(d, PR_F_KERNEL_AT_RUNTIME, 0,
                 "kernels from a runtime buffer are not read by this model yet") ||
        !require(d, PR_F_UNICAST_EN, 0, "depthwise and unicast kernels are not run by this model yet") ||
        !require(d, PR_F_NUM_GROUPS, 1, "grouped convolution is not run by this model yet") ||
        !require(d, PR_F_DIN, 1, "convolution over depth is not run"))
        return false;
    for (unsigned i = 0; i < 4; i++)
        if (pr_image_get_at(d->image, PR_F_EXTRA_EN, i))
            return pr_problem_set(
                d->problem, PR_PROBLEM_UNSUPPORTED,
                "KernelDMASrc.ExtraDMAConfig[%u].En is 1: the extra kernel streams are not decoded.", i);
    if (!head(d, PR_H_KBE0))
        return refuse_header(d, PR_PROBLEM_INCONSISTENT, PR_H_KBE0,
                             "the task needs a kernel and names no buffer");
    ne->kernel_bar = head(d, PR_H_KBASE0);
    for (uint32_t i = 0; i < PR_ENGINES_MAX; i++) {
        ne->stream[i].enabled = pr_image_get_at(d->image, PR_F_COEFF_EN, i);
        ne->stream[i].base = pr_image_get_at(d->image, PR_F_COEFF_ADDR, i) << DRAM_SHIFT;
        ne->stream[i].bytes = pr_image_get_at(d->image, PR_F_COEFF_BYTES, i) << DRAM_SHIFT;
    }
    return true;
}

static bool check_kernel_streams(const struct decoder *d)
{
    const struct pr_ne *ne = &d->task->ne;

    for (uint32_t i = 0; i < ne->engines; i++) {
        uint64_t need = pr_kernel_stream_bytes(d->task, i);

        if (need && !ne->stream[i].enabled)
            return pr_problem_set(
                d->problem, PR_PROBLEM_INCONSISTENT,
                "KernelDMASrc.CoeffDMAConfig[%u].En is 0, but engine %u computes channels and needs %U "
                "kernel bytes.",
                i, i, need);
        if (need > ne->stream[i].bytes)
            return pr_problem_set(
                d->problem, PR_PROBLEM_INCONSISTENT,
                "KernelDMASrc.CoeffBfrSize[%u] holds %u bytes, but the channels of engine %u need %U.", i,
                ne->stream[i].bytes, i, need);
        if (ne->stream[i].enabled && ne->stream[i].bytes > PR_KERNEL_CHUNK_MAX && !get(d, PR_F_SMALL_SOURCE))
            return pr_problem_set(
                d->problem, PR_PROBLEM_LIMIT,
                "KernelDMASrc.CoeffBfrSize[%u] is %x; without SmallSourceMode an engine takes at most %x "
                "kernel bytes per descriptor.",
                i, ne->stream[i].bytes, PR_KERNEL_CHUNK_MAX);
    }
    return true;
}

static bool decode_convolution(const struct decoder *d)
{
    struct pr_ne *ne = &d->task->ne;

    ne->kw = get(d, PR_F_KW);
    ne->kh = get(d, PR_F_KH);
    ne->px = get(d, PR_F_PX);
    ne->py = get(d, PR_F_PY);
    ne->ox = 1;
    ne->sx = get(d, PR_F_SX);
    ne->sy = get(d, PR_F_SY);
    ne->lanes = 1u << get(d, PR_F_OCG_SIZE);
    if (ne->kw == 0 || ne->kw > PR_KERNEL_WIDTH_MAX)
        return refuse(d, PR_PROBLEM_LIMIT, PR_F_KW, "an fp16 kernel is 1 to 13 wide");
    if (ne->kh == 0 || ne->kh > PR_KERNEL_HEIGHT_MAX)
        return refuse(d, PR_PROBLEM_LIMIT, PR_F_KH, "a kernel is 1 to 29 high");
    if (ne->lanes > 32)
        return refuse(d, PR_PROBLEM_UNSUPPORTED, PR_F_OCG_SIZE, "at most 32 lanes (5) are decoded");
    if (!require(d, PR_F_SX, 1, "strided convolution is not run by this model yet") ||
        !require(d, PR_F_SY, 1, "strided convolution is not run by this model yet") ||
        !require(d, PR_F_OX, 1, "several outputs per step are not run by this model yet") ||
        !require(d, PR_F_OY, 1, "several outputs per step are not run by this model yet") ||
        !require(d, PR_F_KD, 1, "convolution over depth is not run") ||
        !require(d, PR_F_SZ, 1, "convolution over depth is not run") ||
        !require(d, PR_F_PZ, 0, "convolution over depth is not run") ||
        !require(d, PR_F_OZ, 1, "convolution over depth is not run") ||
        !require(d, PR_F_DOUT, 1, "convolution over depth is not run"))
        return false;
    return decode_kernel(d) && check_kernel_streams(d);
}

static bool decode_bypass(const struct decoder *d, const uint32_t in[PR_AXES], const uint32_t out[PR_AXES])
{
    if (!require(d, PR_F_KERNEL_MODE, 1, "a bypass has no kernel (KernelMode 1)") ||
        !require(d, PR_F_UNICAST_EN, 1, "a bypass passes each channel to itself (UnicastEn 1)") ||
        !require(d, PR_F_UNICAST_CIN, 1, "a bypass passes each channel to itself (UnicastCin 1)") ||
        !require(d, PR_F_BIAS_MODE, 0, "a bypass has no bias row"))
        return false;
    return same_extents(d, in, out);
}

static bool decode_ne(const struct decoder *d, const uint32_t in[PR_AXES], const uint32_t out[PR_AXES])
{
    struct pr_ne *ne = &d->task->ne;
    uint32_t mode = get(d, PR_F_OP_MODE);

    if (get(d, PR_F_ACTIVE_NE) > 4)
        return refuse(d, PR_PROBLEM_LIMIT, PR_F_ACTIVE_NE, "there are 16 engines (4)");
    if (head(d, PR_H_ENE) != get(d, PR_F_ACTIVE_NE) + 1)
        return refuse_header(d, PR_PROBLEM_INCONSISTENT, PR_H_ENE, "it must be Common.Cfg.ActiveNE + 1");
    ne->engines = 1u << get(d, PR_F_ACTIVE_NE);
    if (get(d, PR_F_NONLINEAR_MODE) > NL_RELU)
        return refuse(d, PR_PROBLEM_UNSUPPORTED, PR_F_NONLINEAR_MODE,
                      "lookup tables are not run by this model yet");
    ne->relu = get(d, PR_F_NONLINEAR_MODE) == NL_RELU;
    ne->bias = get(d, PR_F_BIAS_MODE);
    ne->acc_bias = (uint16_t)get(d, PR_F_ACC_BIAS);
    ne->post_scale = (uint16_t)get(d, PR_F_POST_SCALE);
    if (!require(d, PR_F_MATRIX_BIAS_EN, 0, "matrix bias is not decoded") ||
        !require(d, PR_F_POST_SCALE_MODE, 0, "per-channel post-scale is not decoded") ||
        !require(d, PR_F_ACC_BIAS_SHIFT, 0, "a shifted bias is not decoded") ||
        !require(d, PR_F_POST_RIGHT_SHIFT, 0, "a shifted result is not decoded") ||
        !require(d, PR_F_ELEM_MULT, 0, "products of channels are not run by this model yet") ||
        !require(d, PR_F_PADDING_MODE, 0, "only zero padding (0) is decoded for this task"))
        return false;
    if (get(d, PR_F_NE_OUT_TRANSPOSE))
        transpose(d->task->dst.stride);
    if (mode == MAC_BYPASS) {
        ne->mode = PR_NE_BYPASS;
        return decode_bypass(d, in, out);
    }
    if (mode != MAC_MULTIPLY)
        return refuse(d, PR_PROBLEM_UNSUPPORTED, PR_F_OP_MODE, "only 0 (multiply) and 4 (bypass) are run");
    if (!require(d, PR_F_KERNEL_MODE, 0, "implicit kernels of ones are not run by this model yet"))
        return false;
    ne->mode = PR_NE_MAC;
    return decode_convolution(d);
}

static bool check_l2(const struct decoder *d, const char *what, uint32_t base, uint64_t span)
{
    if (base + span <= PR_L2_BYTES)
        return true;
    return pr_problem_set(d->problem, PR_PROBLEM_LIMIT,
                          "The %s in L2 starts at %x and spans %X bytes; L2 ends at %x.", what, base, span,
                          PR_L2_BYTES);
}

static bool check_l2_tensors(const struct decoder *d)
{
    static const char *const name[2] = {"source 1", "source 2"};
    const struct pr_task *task = d->task;

    for (unsigned i = 0; i < 2; i++) {
        const struct pr_tensor *t = &task->src[i];

        if (t->home == PR_HOME_L2 && !check_l2(d, name[i], t->base, pr_tensor_span(t)))
            return false;
        if (t->keep && !check_l2(d, name[i], t->keep_base, pr_tensor_keep_span(t)))
            return false;
    }
    return task->dst.home != PR_HOME_L2 || check_l2(d, "result", task->dst.base, pr_tensor_span(&task->dst));
}

bool pr_task_decode(const struct pr_td *td, const struct pr_image *image, struct pr_task *task,
                    struct pr_problem *problem)
{
    struct decoder d = {td, image, task, problem};
    uint32_t in[PR_AXES] = {0}, out[PR_AXES] = {0};

    memset(task, 0, sizeof(*task));
    if (head(&d, PR_H_TD_SKIP))
        return refuse_header(&d, PR_PROBLEM_UNSUPPORTED, PR_H_TD_SKIP,
                             "what a skipped descriptor does is not known");
    if (!decode_extents(&d, in, out) || !decode_source1(&d) || !decode_destination(&d))
        return false;
    task->unit = head(&d, PR_H_ENE) ? PR_UNIT_NE : PR_UNIT_PE;
    memcpy(task->dst.extent, out, sizeof(out));
    memcpy(task->src[0].extent, in, sizeof(in));
    if (task->unit == PR_UNIT_NE ? !decode_ne(&d, in, out) : !decode_pe(&d, in, out))
        return false;
    if (task->unit == PR_UNIT_PE) {
        /* Elementwise sources are indexed like the result; a reduction reads all of its source. */
        if (!task->pe.reduce)
            memcpy(task->src[0].extent, out, sizeof(out));
        if (task->pe.two_sources)
            memcpy(task->src[1].extent, out, sizeof(out));
        memcpy(task->dst.extent, out, sizeof(out));
    }
    if (pr_tensor_overlaps(&task->dst, 0))
        return refuse(&d, PR_PROBLEM_INCONSISTENT,
                      task->dst.home == PR_HOME_DRAM ? PR_F_DST_ROW : PR_F_L2_RESULT_ROW,
                      "the result's strides make its elements overlap");
    return check_l2_tensors(&d);
}
