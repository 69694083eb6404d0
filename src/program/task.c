/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A task decoded from a register image: what both units share. A value that this model does not run is
 * refused here by field and value, so the datapath does not check for it again. Extents are read first, then
 * the operands, then the part of the unit, which gives the tensors their extents; only then can spans and
 * overlap be checked. Of several faults the first in this order is reported.
 */
#include "program/task.h"

#include <string.h>

#include "program/experiment.h"
#include "program/task_decode.h"
#include "protocol/half.h"

static bool set_refusal(const struct pr_decoder *d, struct pr_problem *problem, enum pr_problem_kind kind,
                        enum pr_td_field field, const char *why)
{
    const struct pr_field_info *info = &pr_field_table[field];
    const struct pr_reg_info *reg = &pr_reg_table[info->owner];
    uint32_t word = d->image->word[reg->first];

    if (problem) {
        problem->address = reg->address;
        problem->reg = (uint16_t)(info->owner + 1);
        problem->field = (uint16_t)(field + 1);
        problem->offset = 0;
        problem->bits = pr_decode_get(d, field);
        problem->outcome = pr_experiment_hangs(reg->address, word, !pr_decode_head(d, PR_H_ENE))
                               ? PR_OUTCOME_PUBLISHED_HANG
                               : PR_OUTCOME_UNKNOWN;
    }
    return pr_problem_set(problem, kind, "%s.%s.%s (register %x) is %u: %s.", pr_block_table[reg->block].name,
                          reg->name, info->name, reg->address, pr_decode_get(d, field), why);
}

bool pr_decode_refuse(const struct pr_decoder *d, enum pr_problem_kind kind, enum pr_td_field field,
                      const char *why)
{
    return set_refusal(d, d->problem, kind, field, why);
}

/* True when it was reported and may be ignored. */
static bool may_ignore(const struct pr_decoder *d, const struct pr_problem *found)
{
    if (d->ignore && found->outcome != PR_OUTCOME_PUBLISHED_HANG) {
        d->ignore->report(d->ignore->context, found);
        return true;
    }
    if (d->problem) {
        uint32_t descriptor = d->problem->descriptor;

        *d->problem = *found;
        d->problem->descriptor = descriptor;
    }
    return false;
}

bool pr_decode_ignore(const struct pr_decoder *d, enum pr_td_field field, const char *why)
{
    struct pr_problem found = {0};

    set_refusal(d, &found, PR_PROBLEM_UNSUPPORTED, field, why);
    return may_ignore(d, &found);
}

bool pr_decode_refuse_header(const struct pr_decoder *d, enum pr_problem_kind kind,
                             enum pr_td_header_field field, const char *why)
{
    const struct pr_field_info *info = &pr_header_table[field];

    if (d->problem) {
        d->problem->address = 0;
        d->problem->reg = 0;
        d->problem->field = (uint16_t)(field + 1);
        d->problem->offset = 4u * info->owner;
        d->problem->bits = pr_decode_head(d, field);
    }
    return pr_problem_set(d->problem, kind, "Header word %u field %s is %u: %s.", info->owner, info->name,
                          pr_decode_head(d, field), why);
}

bool pr_decode_refuse_hang(const struct pr_decoder *d, enum pr_td_field field, const char *why)
{
    const struct pr_reg_info *reg = &pr_reg_table[pr_field_table[field].owner];
    bool tried = pr_experiment_hangs(reg->address, d->image->word[reg->first], false);
    char text[160];
    struct pr_text sentence;

    pr_text_init(&sentence, text, sizeof(text));
    pr_text_printf(&sentence, "%s; %s", why,
                   tried ? "this hangs an M1 (published)" : "another value against this rule hangs an M1");
    return pr_decode_refuse(d, PR_PROBLEM_INCONSISTENT, field, text);
}

bool pr_decode_ignore_at(const struct pr_decoder *d, enum pr_td_field field, uint32_t element,
                         const char *why)
{
    const struct pr_field_info *info = &pr_field_table[field];
    const struct pr_reg_info *reg = &pr_reg_table[info->owner];
    uint32_t value = pr_image_get_at(d->image, field, element);
    struct pr_problem found = {.address = reg->address + 4 * element,
                               .bits = value,
                               .reg = (uint16_t)(info->owner + 1),
                               .field = (uint16_t)(field + 1)};

    pr_problem_set(&found, PR_PROBLEM_UNSUPPORTED, "%s.%s[%u].%s is %u: %s.", pr_block_table[reg->block].name,
                   reg->name, element, info->name, value, why);
    return may_ignore(d, &found);
}

bool pr_decode_require(const struct pr_decoder *d, enum pr_td_field field, uint32_t value, const char *why)
{
    return pr_decode_get(d, field) == value || pr_decode_ignore(d, field, why);
}

bool pr_decode_format(uint32_t code, enum pr_format *format)
{
    *format = code == PR_CODE_U8 ? PR_U8 : code == PR_CODE_I8 ? PR_I8 : PR_FP16;
    return code <= PR_CODE_FP16;
}

const struct pr_axis_field pr_axis_fields[PR_AXIS_FIELDS] = {
    {PR_F_WIN, PR_WIDTH_MAX, PR_AXIS_W, true, false},
    {PR_F_HIN, PR_HEIGHT_MAX, PR_AXIS_H, true, false},
    {PR_F_DIN, PR_DEPTH_MAX, PR_AXIS_D, true, false},
    {PR_F_CIN, PR_CHANNELS_MAX, PR_AXIS_C, true, false},
    {PR_F_WOUT, PR_WIDTH_MAX, PR_AXIS_W, false, true},
    {PR_F_HOUT, PR_HEIGHT_MAX, PR_AXIS_H, false, true},
    {PR_F_DOUT, PR_DEPTH_MAX, PR_AXIS_D, false, true},
    {PR_F_COUT, PR_CHANNELS_MAX, PR_AXIS_C, false, true},
    {PR_F_NUM_GROUPS, PR_GROUPS_MAX, PR_AXIS_G, true, true},
};

static bool decode_extents(struct pr_decoder *d)
{
    for (unsigned i = 0; i < PR_AXIS_FIELDS; i++) {
        const struct pr_axis_field *axis = &pr_axis_fields[i];
        uint32_t value = pr_decode_get(d, axis->field);

        if (value == 0)
            return pr_decode_refuse(d, PR_PROBLEM_INCONSISTENT, axis->field,
                                    "a tensor has no axis of length 0");
        if (value > axis->limit)
            return pr_decode_refuse(d, PR_PROBLEM_LIMIT, axis->field, "the axis limit of the M1 is smaller");
        if (axis->input)
            d->in[axis->axis] = value;
        if (axis->output)
            d->out[axis->axis] = value;
    }
    return true;
}

/* Fields of a tensor's strides in registers: row, plane or channel, depth, group. */
typedef const enum pr_td_field stride_fields[4];

static void take_strides(const struct pr_decoder *d, stride_fields field, unsigned shift,
                         const struct pr_tensor *t, uint32_t stride[PR_AXES])
{
    stride[PR_AXIS_W] = pr_format_bytes(t->format);
    stride[PR_AXIS_H] = pr_decode_get(d, field[0]) << shift;
    stride[PR_AXIS_C] = pr_decode_get(d, field[1]) << shift;
    stride[PR_AXIS_D] = pr_decode_get(d, field[2]) << shift;
    stride[PR_AXIS_G] = pr_decode_get(d, field[3]) << shift;
}

/* In DRAM channels may be contiguous, and a column then steps over all of them; in L2 they never are. */
static void take_dram_strides(const struct pr_decoder *d, stride_fields field, struct pr_tensor *t)
{
    take_strides(d, field, PR_DRAM_SHIFT, t, t->stride);
    if (t->interleave > 1)
        t->stride[PR_AXIS_W] *= t->interleave;
}

static stride_fields source_dram[2] = {
    {PR_F_SRC_ROW, PR_F_SRC_PLANE, PR_F_SRC_DEPTH, PR_F_SRC_GROUP},
    {PR_F_SRC2_ROW, PR_F_SRC2_PLANE, PR_F_SRC2_DEPTH, PR_F_SRC2_GROUP},
};
static stride_fields source_l2[2] = {
    {PR_F_L2_SRC_ROW, PR_F_L2_SRC_CHANNEL, PR_F_L2_SRC_DEPTH, PR_F_L2_SRC_GROUP},
    {PR_F_L2_SRC2_ROW, PR_F_L2_SRC2_CHANNEL, PR_F_L2_SRC2_DEPTH, PR_F_L2_SRC2_GROUP},
};

static void dram_source(const struct pr_decoder *d, struct pr_tensor *t, unsigned which)
{
    t->home = PR_HOME_DRAM;
    t->bar = pr_decode_head(d, which ? PR_H_RBASE1 : PR_H_RBASE0);
    t->base = pr_decode_get(d, which ? PR_F_SRC2_ADDR : PR_F_SRC_ADDR) << PR_DRAM_SHIFT;
    take_dram_strides(d, source_dram[which], t);
}

/* A stream has no strides of its own: any will do that are not those of a broadcast. */
static void stream_strides(struct pr_tensor *t)
{
    for (unsigned axis = 0; axis < PR_AXES; axis++)
        t->stride[axis] = pr_format_bytes(t->format);
}

static void l2_source(const struct pr_decoder *d, struct pr_tensor *t, unsigned which)
{
    t->home = PR_HOME_L2;
    t->base = pr_decode_get(d, which ? PR_F_L2_SRC2_BASE : PR_F_L2_SRC_BASE) << PR_L2_SHIFT;
    take_strides(d, source_l2[which], PR_L2_SHIFT, t, t->stride);
}

/*
 * The staging codes that go with a format. Apple's compiler gives fp16 tensors 1; a published program that
 * gives them 0 ran on an M1 with the right result (allbilly examples/concat.py).
 */
static bool staging_fits(uint32_t staging, enum pr_format format)
{
    return staging == PR_STAGING_8_BIT || (staging == PR_STAGING_FP16 && format == PR_FP16);
}

/* What must agree in registers when a tensor is in DRAM, and what must be zero. */
struct memory_fields {
    enum pr_td_field format, memory_format;
    enum pr_td_field staging;
    enum pr_td_field interleave, staged_interleave;
    const char *conversion, *staging_codes, *interleave_rule; /* the reasons of refusals */
    struct {
        enum pr_td_field field;
        const char *why;
    } zero[7]; /* the last row is empty */
};

static const struct memory_fields source1_memory = {
    .format = PR_F_IN_FMT,
    .memory_format = PR_F_SRC_MEM_FMT,
    .staging = PR_F_SOURCE_DMA_FMT,
    .interleave = PR_F_SRC_INTERLEAVE,
    .staged_interleave = PR_F_SOURCE_DMA_INTERLEAVE,
    .conversion = "a conversion between memory and ChCfg.InFmt is not decoded",
    .staging_codes = "staging is 1 or 0 for fp16 sources and 0 for 8-bit ones",
    .interleave_rule = "it must be the Interleave of the source's Fmt, 1 or more",
    .zero = {{PR_F_SRC_SHIFT, "a shifted source is not decoded"},
             {PR_F_SRC_OFFSET_CH, "a channel offset is not decoded"},
             {PR_F_SRC_CMP_VEC, "compressed vectors are not decoded"},
             {PR_F_SOURCE_DMA_CMP_VEC, "compressed vectors are not decoded"},
             {PR_F_SOURCE_DMA_OFFSET_CH, "a channel offset is not decoded"}},
};

static const struct memory_fields destination_memory = {
    .format = PR_F_OUT_FMT,
    .memory_format = PR_F_DST_MEM_FMT,
    .staging = PR_F_RESULT_DMA_FMT,
    .interleave = PR_F_DST_INTERLEAVE,
    .staged_interleave = PR_F_RESULT_DMA_INTERLEAVE,
    .conversion = "a conversion between ChCfg.OutFmt and memory is not decoded",
    .staging_codes = "staging is 1 or 0 for fp16 results and 0 for 8-bit ones",
    .interleave_rule = "it must be the Interleave of the result's Fmt, 1 or more",
    .zero = {{PR_F_DST_SHIFT, "a shifted result is not decoded"},
             {PR_F_DST_OFFSET_CH, "a channel offset is not decoded"},
             {PR_F_DST_CMP_VEC_FILL, "compressed vectors are not decoded"},
             {PR_F_DST_CMP_VEC, "compressed vectors are not decoded"},
             {PR_F_RESULT_DMA_CMP_VEC, "compressed vectors are not decoded"},
             {PR_F_RESULT_DMA_OFFSET_CH, "a channel offset is not decoded"}},
};

/*
 * SourceCfg 0 says "resident in L2", but a published experiment shows that a neural task with the source's
 * DMA enabled reads its source by DMA all the same. Apple's compiler never writes it so.
 */
static bool source_cfg_is_zero(const struct pr_decoder *d)
{
    uint32_t word = d->image->word[pr_reg_table[PR_REG_SOURCE_CFG].first];

    return word == 0 && pr_decode_get(d, PR_F_SRC_EN) && pr_decode_head(d, PR_H_ENE) &&
           pr_experiment_explains(pr_reg_table[PR_REG_SOURCE_CFG].address, word, false);
}

static bool check_memory(const struct pr_decoder *d, const struct memory_fields *fields, struct pr_tensor *t)
{
    uint32_t interleave = pr_decode_get(d, fields->interleave);
    /* SourceCfg 0 was published to run, for a source that is not interleaved. */
    bool plain = fields == &source1_memory && source_cfg_is_zero(d) && interleave == 1;

    if (pr_decode_get(d, fields->memory_format) != pr_decode_get(d, fields->format) && !d->raw &&
        !pr_decode_ignore(d, fields->memory_format, fields->conversion))
        return false;
    for (unsigned i = 0; fields->zero[i].why; i++)
        if (!pr_decode_require(d, fields->zero[i].field, 0, fields->zero[i].why))
            return false;
    if (!staging_fits(pr_decode_get(d, fields->staging), t->format))
        return pr_decode_refuse(d, PR_PROBLEM_INCONSISTENT, fields->staging, fields->staging_codes);
    if (!plain && (interleave == 0 || interleave != pr_decode_get(d, fields->staged_interleave)))
        return pr_decode_refuse(d, PR_PROBLEM_INCONSISTENT, fields->staged_interleave,
                                fields->interleave_rule);
    t->interleave = interleave;
    return true;
}

/* Whether PixelOffset has the meaning that we chose for it. */
static bool offset_is_chosen(const struct pr_decoder *d, unsigned which, bool by_dma)
{
    return which == 0 && by_dma && pr_image_get_at(d->image, PR_F_CHOSEN_MARK, 0) == PR_CHOSEN_MARK;
}

/* A row read from an offset inside it. */
static bool source1_offset(const struct pr_decoder *d, struct pr_tensor *t, bool by_dma)
{
    uint32_t offset = offset_is_chosen(d, 0, by_dma) ? pr_image_get_at(d->image, PR_F_PIXEL_OFFSET, 0) : 0;

    for (unsigned i = 0; i < 4; i++)
        if (pr_image_get_at(d->image, PR_F_PIXEL_OFFSET, i) && !offset_is_chosen(d, i, by_dma) &&
            !pr_decode_ignore_at(
                d, PR_F_PIXEL_OFFSET, i,
                "what it means is not public; only the first one is read, of a DMA source, in "
                "descriptors that carry our own mark"))
            return false;
    if (offset && t->interleave > 1)
        return pr_problem_set(d->problem, PR_PROBLEM_UNSUPPORTED,
                              "TileDMASrc.PixelOffset[0] is %u, and the source is interleaved.", offset);
    if (offset * pr_format_bytes(t->format) > UINT32_MAX - t->base)
        return pr_problem_set(
            d->problem, PR_PROBLEM_LIMIT,
            "TileDMASrc.PixelOffset[0] is %u, and BaseAddr %x: the sum has more than 32 bits.", offset,
            t->base);
    t->base += offset * pr_format_bytes(t->format);
    t->slice = offset != 0;
    return true;
}

/* The format of a tensor that passes unchanged is that of memory. */
static bool take_format(const struct pr_decoder *d, enum pr_td_field field, struct pr_tensor *t)
{
    if (!pr_decode_format(pr_decode_get(d, field), &t->format) &&
        !pr_decode_ignore(d, field, "formats are 0 (uint8), 1 (int8) and 2 (fp16)"))
        return false;
    if (d->raw)
        t->format = PR_FP16;
    return true;
}

static bool decode_source1(const struct pr_decoder *d)
{
    struct pr_tensor *t = &d->task->src[0];
    uint32_t type = source_cfg_is_zero(d) ? PR_TYPE_STAGED : pr_decode_get(d, PR_F_SOURCE_TYPE);

    if (!take_format(d, PR_F_IN_FMT, t))
        return false;
    t->relu = pr_decode_get(d, PR_F_INPUT_RELU);
    if (type == PR_TYPE_RESIDENT || type == PR_TYPE_STREAM) {
        l2_source(d, t, 0);
        if (type == PR_TYPE_STREAM) {
            t->home = PR_HOME_STREAM;
            stream_strides(t);
        }
        return source1_offset(d, t, false);
    }
    if (!pr_decode_get(d, PR_F_SRC_EN))
        return pr_decode_refuse(d, PR_PROBLEM_INCONSISTENT, PR_F_SRC_EN,
                                "SourceCfg says the source comes by DMA");
    if (!pr_decode_head(d, PR_H_RBE0))
        return pr_decode_refuse_header(d, PR_PROBLEM_INCONSISTENT, PR_H_RBE0,
                                       "the source comes by DMA and needs its buffer");
    if (!check_memory(d, &source1_memory, t))
        return false;
    dram_source(d, t, 0);
    if (type == PR_TYPE_KEPT) {
        t->keep = true;
        t->keep_base = pr_decode_get(d, PR_F_L2_SRC_BASE) << PR_L2_SHIFT;
        take_strides(d, source_l2[0], PR_L2_SHIFT, t, t->keep_stride);
    }
    return source1_offset(d, t, true);
}

bool pr_decode_source2(const struct pr_decoder *d)
{
    struct pr_tensor *t = &d->task->src[1];

    if (!take_format(d, PR_F_SRC2_IN_FMT, t))
        return false;
    t->relu = pr_decode_get(d, PR_F_INPUT_RELU2);
    if (!pr_decode_get(d, PR_F_SOURCE2_BY_DMA)) {
        l2_source(d, t, 1);
        return true;
    }
    if (!pr_decode_head(d, PR_H_RBE1))
        return pr_decode_refuse_header(d, PR_PROBLEM_INCONSISTENT, PR_H_RBE1,
                                       "source 2 comes by DMA and needs its buffer");
    if (pr_decode_get(d, PR_F_SRC2_MEM_FMT) != pr_decode_get(d, PR_F_SRC2_IN_FMT) &&
        !pr_decode_ignore(d, PR_F_SRC2_MEM_FMT,
                          "a conversion between memory and ChCfg.Src2InFmt is not decoded"))
        return false;
    if (!pr_decode_require(d, PR_F_SRC2_SHIFT, 0, "a shifted source is not decoded"))
        return false;
    /* There is one Interleave, and it is for both sources. */
    t->interleave = pr_decode_get(d, PR_F_SRC_INTERLEAVE);
    dram_source(d, t, 1);
    return true;
}

static bool decode_destination(const struct pr_decoder *d)
{
    static stride_fields dram = {PR_F_DST_ROW, PR_F_DST_PLANE, PR_F_DST_DEPTH, PR_F_DST_GROUP};
    static stride_fields l2 = {PR_F_L2_RESULT_ROW, PR_F_L2_RESULT_CHANNEL, PR_F_L2_RESULT_DEPTH,
                               PR_F_L2_RESULT_GROUP};
    struct pr_tensor *t = &d->task->dst;
    uint32_t type = pr_decode_get(d, PR_F_RESULT_TYPE);

    if (!take_format(d, PR_F_OUT_FMT, t))
        return false;
    if (type == PR_TYPE_RESIDENT || type == PR_TYPE_STREAM) {
        t->home = type == PR_TYPE_STREAM ? PR_HOME_STREAM : PR_HOME_L2;
        t->base = pr_decode_get(d, PR_F_L2_RESULT_BASE) << PR_L2_SHIFT;
        take_strides(d, l2, PR_L2_SHIFT, t, t->stride);
        if (type == PR_TYPE_STREAM)
            stream_strides(t);
        return true;
    }
    if (!pr_decode_get(d, PR_F_DST_EN))
        return pr_decode_refuse(d, PR_PROBLEM_INCONSISTENT, PR_F_DST_EN,
                                "ResultCfg says the result goes out by DMA");
    if (!pr_decode_head(d, PR_H_WBE))
        return pr_decode_refuse_header(d, PR_PROBLEM_INCONSISTENT, PR_H_WBE,
                                       "the result goes out by DMA and needs its buffer");
    if (!check_memory(d, &destination_memory, t))
        return false;
    t->home = PR_HOME_DRAM;
    t->bar = pr_decode_head(d, PR_H_WBASE);
    t->base = pr_decode_get(d, PR_F_DST_ADDR) << PR_DRAM_SHIFT;
    t->zero_tail = pr_decode_get(d, PR_F_DST_ZERO_PAD_LAST) || pr_decode_get(d, PR_F_DST_ZERO_PAD_FIRST);
    take_dram_strides(d, dram, t);
    if (type == PR_TYPE_KEPT) {
        t->keep = true;
        t->keep_base = pr_decode_get(d, PR_F_L2_RESULT_BASE) << PR_L2_SHIFT;
        take_strides(d, l2, PR_L2_SHIFT, t, t->keep_stride);
    }
    return true;
}

/* `element` becomes the stride of the channels. */
static void swap_strides(uint32_t element, uint32_t stride[PR_AXES])
{
    stride[PR_AXIS_W] = stride[PR_AXIS_C];
    stride[PR_AXIS_C] = element;
}

bool pr_decode_transpose(const struct pr_decoder *d, struct pr_tensor *tensor, enum pr_td_field field)
{
    if (!pr_decode_get(d, field) || tensor->home == PR_HOME_NONE)
        return true;
    if (tensor->home == PR_HOME_STREAM)
        return pr_decode_refuse(d, PR_PROBLEM_UNSUPPORTED, field, "a transposed stream is not decoded");
    tensor->transposed = true;
    swap_strides(tensor->stride[PR_AXIS_W], tensor->stride);
    swap_strides(pr_format_bytes(tensor->format), tensor->keep_stride);
    return true;
}

bool pr_decode_same_extents(const struct pr_decoder *d, const uint32_t in[PR_AXES],
                            const uint32_t out[PR_AXES])
{
    static const enum pr_td_field field[] = {PR_F_WOUT, PR_F_HOUT, PR_F_DOUT, PR_F_COUT};

    for (unsigned axis = PR_AXIS_W; axis <= PR_AXIS_C; axis++)
        if (in[axis] != out[axis])
            return pr_decode_refuse(d, PR_PROBLEM_INCONSISTENT, field[axis],
                                    "this task keeps the extents of its source");
    return true;
}

static bool check_l2(const struct pr_decoder *d, const char *what, uint32_t base, uint64_t span)
{
    if (base + span <= PR_L2_BYTES)
        return true;
    return pr_problem_set(d->problem, PR_PROBLEM_LIMIT,
                          "The %s in L2 starts at %x and spans %jx bytes; L2 ends at %x.", what, base, span,
                          PR_L2_BYTES);
}

static bool check_l2_tensor(const struct pr_decoder *d, const struct pr_tensor *t, const char *what)
{
    if (t->home == PR_HOME_L2 && !check_l2(d, what, t->base, pr_tensor_span(t)))
        return false;
    return !t->keep || check_l2(d, what, t->keep_base, pr_tensor_keep_span(t));
}

static bool check_result(const struct pr_decoder *d)
{
    const struct pr_tensor *t = &d->task->dst;

    if (t->home == PR_HOME_STREAM)
        return true;
    if (pr_tensor_overlaps(t))
        return pr_decode_refuse(d, PR_PROBLEM_INCONSISTENT,
                                t->home == PR_HOME_DRAM ? PR_F_DST_ROW : PR_F_L2_RESULT_ROW,
                                "the result's strides make its elements overlap");
    return true;
}

/*
 * The copy of a kept source in L2 is what the DMA read, so it lacks the axes that the source is broadcast
 * along (bits in the order W, H, D, C).
 */
static void set_kept_extents(struct pr_tensor *t, uint32_t broadcast)
{
    for (unsigned axis = 0; axis < PR_AXES; axis++)
        t->keep_extent[axis] = broadcast >> axis & 1 ? 1 : t->extent[axis];
}

/*
 * ChCfg 0 names 8-bit elements. With fp16 memory on both sides a published experiment shows what a bypass
 * then does: elements pass unchanged, without ReLU.
 */
static bool is_raw(const struct pr_decoder *d)
{
    return d->image->word[pr_reg_table[PR_REG_CH_CFG].first] == 0 && pr_decode_head(d, PR_H_ENE) &&
           pr_decode_get(d, PR_F_SRC_MEM_FMT) == PR_CODE_FP16 &&
           pr_decode_get(d, PR_F_DST_MEM_FMT) == PR_CODE_FP16 &&
           pr_decode_get(d, PR_F_SOURCE_TYPE) == PR_TYPE_STAGED &&
           pr_decode_get(d, PR_F_RESULT_TYPE) == PR_TYPE_STAGED &&
           pr_decode_get(d, PR_F_OP_MODE) == PR_OP_BYPASS &&
           pr_decode_get(d, PR_F_NONLINEAR_MODE) <= PR_NL_RELU &&
           pr_decode_get(d, PR_F_POST_SCALE) == PR_HALF_ONE;
}

bool pr_task_decode(const struct pr_td *td, const struct pr_image *image, struct pr_task *task,
                    struct pr_problem *problem)
{
    return pr_task_decode_lenient(td, image, NULL, task, problem);
}

bool pr_task_decode_lenient(const struct pr_td *td, const struct pr_image *image,
                            const struct pr_ignore *ignore, struct pr_task *task, struct pr_problem *problem)
{
    struct pr_decoder d = {.td = td, .image = image, .task = task, .problem = problem, .ignore = ignore};

    memset(task, 0, sizeof(*task));
    d.raw = is_raw(&d);
    if (pr_decode_head(&d, PR_H_TD_SKIP))
        return pr_decode_refuse_header(&d, PR_PROBLEM_UNSUPPORTED, PR_H_TD_SKIP,
                                       "what a skipped descriptor does is not known");
    if (!decode_extents(&d) || !decode_source1(&d) || !decode_destination(&d))
        return false;
    task->unit = pr_decode_head(&d, PR_H_ENE) ? PR_UNIT_NE : PR_UNIT_PE;
    if (task->unit == PR_UNIT_NE ? !pr_decode_ne(&d) : !pr_decode_pe(&d))
        return false;
    set_kept_extents(&task->src[0], task->unit == PR_UNIT_PE ? pr_decode_get(&d, PR_F_SRC1_BCAST) : 0);
    set_kept_extents(&task->dst, 0);
    return check_result(&d) && check_l2_tensor(&d, &task->src[0], "source 1") &&
           check_l2_tensor(&d, &task->src[1], "source 2") && check_l2_tensor(&d, &task->dst, "result");
}
