/* SPDX-License-Identifier: Apache-2.0 */
/* A task of the neural engines, decoded. What the model does not run is refused here, by field and value. */
#include <string.h>

#include "program/experiment.h"
#include "program/task_decode.h"

enum { PALETTE_ONE_BIT = 1 };
enum { LANES_MAX = 32, OUTPUTS_MAX = 2 };

/* An extent is not a mode: a lenient decoder does not guess another one. */
static bool check_depth(const struct pr_decoder *d, enum pr_td_field field)
{
    return pr_decode_get(d, field) == 1 ||
           pr_decode_refuse(d, PR_PROBLEM_UNSUPPORTED, field, "convolution over depth is not decoded");
}

static bool decode_window(const struct pr_decoder *d)
{
    struct pr_ne *ne = &d->task->ne;

    ne->kw = pr_decode_get(d, PR_F_KW);
    ne->kh = pr_decode_get(d, PR_F_KH);
    ne->px = pr_decode_get(d, PR_F_PX);
    ne->py = pr_decode_get(d, PR_F_PY);
    ne->sx = pr_decode_get(d, PR_F_SX);
    ne->sy = pr_decode_get(d, PR_F_SY);
    ne->ox = pr_decode_get(d, PR_F_OX);
    if (ne->kw == 0 || ne->kw > PR_KERNEL_WIDTH_MAX)
        return pr_decode_refuse(d, PR_PROBLEM_LIMIT, PR_F_KW, "an fp16 kernel is 1 to 13 wide");
    if (ne->kh == 0 || ne->kh > PR_KERNEL_HEIGHT_MAX)
        return pr_decode_refuse(d, PR_PROBLEM_LIMIT, PR_F_KH, "a kernel is 1 to 29 high");
    if (ne->sx == 0)
        return pr_decode_refuse(d, PR_PROBLEM_INCONSISTENT, PR_F_SX, "a step is at least 1");
    if (ne->sy == 0)
        return pr_decode_refuse(d, PR_PROBLEM_INCONSISTENT, PR_F_SY, "a step is at least 1");
    if (ne->ox == 0 || ne->ox > OUTPUTS_MAX)
        return pr_decode_refuse(d, PR_PROBLEM_UNSUPPORTED, PR_F_OX,
                                "1 or 2 output columns for each step are decoded");
    if (ne->ox > 1 && (ne->mode != PR_NE_MAC || ne->ones))
        return pr_decode_refuse(d, PR_PROBLEM_UNSUPPORTED, PR_F_OX,
                                "several output columns for each step are decoded with kernel data only");
    if (ne->ox > 1 && d->task->dst.transposed)
        return pr_decode_refuse(
            d, PR_PROBLEM_UNSUPPORTED, PR_F_OX,
            "several output columns for each step of a transposed result are not decoded");
    if (ne->ox > 1 && !ne->unicast)
        return pr_decode_refuse(d, PR_PROBLEM_UNSUPPORTED, PR_F_OX,
                                "several output columns for each step are decoded for unicast kernels only");
    return pr_decode_require(d, PR_F_OY, 1, "several output rows for each step are not decoded") &&
           pr_decode_require(d, PR_F_KD, 1, "convolution over depth is not decoded") &&
           pr_decode_require(d, PR_F_SZ, 1, "convolution over depth is not decoded") &&
           pr_decode_require(d, PR_F_PZ, 0, "convolution over depth is not decoded") &&
           pr_decode_require(d, PR_F_OZ, 1, "convolution over depth is not decoded") &&
           check_depth(d, PR_F_DIN) && check_depth(d, PR_F_DOUT);
}

static bool decode_unicast(const struct pr_decoder *d)
{
    struct pr_ne *ne = &d->task->ne;

    if (!pr_decode_get(d, PR_F_UNICAST_EN))
        return true;
    ne->unicast = pr_decode_get(d, PR_F_UNICAST_CIN);
    if (ne->unicast == 0 || (uint64_t)ne->unicast * d->out[PR_AXIS_C] != d->in[PR_AXIS_C])
        return pr_decode_refuse(
            d, PR_PROBLEM_INCONSISTENT, PR_F_UNICAST_CIN,
            "Cin must be Cout times the input channels that each output channel has for itself");
    return true;
}

static bool decode_weights(const struct pr_decoder *d)
{
    struct pr_ne *ne = &d->task->ne;

    ne->lanes = 1u << pr_decode_get(d, PR_F_OCG_SIZE);
    if (ne->lanes > LANES_MAX)
        return pr_decode_refuse(d, PR_PROBLEM_UNSUPPORTED, PR_F_OCG_SIZE, "at most 32 lanes (5) are decoded");
    if (ne->unicast && ne->lanes != 1)
        return pr_decode_refuse(d, PR_PROBLEM_UNSUPPORTED, PR_F_OCG_SIZE,
                                "a unicast kernel is decoded with one lane (0) only");
    if (!pr_decode_format(pr_decode_get(d, PR_F_KERNEL_FMT), &ne->kernel_format) ||
        ne->kernel_format == PR_U8)
        return pr_decode_refuse(d, PR_PROBLEM_UNSUPPORTED, PR_F_KERNEL_FMT,
                                "kernels of 1 (int8) and 2 (fp16) are decoded");
    ne->sparse = pr_decode_get(d, PR_F_SPARSE_FMT);
    ne->small = pr_decode_get(d, PR_F_SMALL_SOURCE);
    ne->palette = pr_decode_get(d, PR_F_PALETTIZED_EN);
    ne->reuse = pr_decode_get(d, PR_F_GROUP_KERNEL_REUSE);
    if (ne->palette && !ne->sparse)
        return pr_decode_refuse(d, PR_PROBLEM_UNSUPPORTED, PR_F_PALETTIZED_EN,
                                "a palette is decoded together with SparseFmt only");
    if (ne->palette && pr_decode_get(d, PR_F_PALETTIZED_BITS) != PALETTE_ONE_BIT)
        return pr_decode_refuse(
            d, PR_PROBLEM_UNSUPPORTED, PR_F_PALETTIZED_BITS,
            "only palettes of 1 bit are decoded; the index order of larger ones is not public");
    if (ne->kernel_format == PR_I8 && (ne->sparse || ne->bias))
        return pr_decode_refuse(d, PR_PROBLEM_UNSUPPORTED, PR_F_KERNEL_FMT,
                                "an int8 kernel is decoded dense and without a bias row only");
    return true;
}

/* A kernel that is not used in place is unpacked; so is one of ones. */
static bool check_size(const struct pr_decoder *d)
{
    uint64_t weights = pr_kernel_weights(d->task);
    uint32_t groups = pr_kernel_groups(d->task);

    return pr_kernel_is_plain(d->task) || weights <= PR_KERNEL_HALF_MAX / groups ||
           pr_problem_set(d->problem, PR_PROBLEM_LIMIT,
                          "The kernel has %ju weights in each of %u groups; at most %u in all are unpacked.",
                          weights, groups, PR_KERNEL_HALF_MAX);
}

static bool decode_streams(const struct pr_decoder *d)
{
    struct pr_ne *ne = &d->task->ne;

    for (unsigned i = 0; i < 4; i++)
        if (pr_image_get_at(d->image, PR_F_EXTRA_EN, i) &&
            !pr_decode_ignore_at(d, PR_F_EXTRA_EN, i, "the extra kernel streams are not decoded"))
            return false;
    if (!pr_decode_head(d, PR_H_KBE0))
        return pr_decode_refuse_header(d, PR_PROBLEM_INCONSISTENT, PR_H_KBE0,
                                       "the task needs a kernel and names no buffer");
    ne->kernel_bar = pr_decode_head(d, PR_H_KBASE0);
    for (uint32_t i = 0; i < PR_ENGINES_MAX; i++) {
        ne->stream[i].enabled = pr_image_get_at(d->image, PR_F_COEFF_EN, i);
        ne->stream[i].base = pr_image_get_at(d->image, PR_F_COEFF_ADDR, i) << PR_DRAM_SHIFT;
        ne->stream[i].bytes = pr_image_get_at(d->image, PR_F_COEFF_BYTES, i) << PR_DRAM_SHIFT;
    }
    return true;
}

static bool check_stream(const struct pr_decoder *d, uint32_t i, bool weights)
{
    const struct pr_kernel_stream *stream = &d->task->ne.stream[i];
    uint64_t need = pr_kernel_stream_bytes(d->task, i);

    if (weights && !stream->enabled && pr_kernel_engine_works(d->task, i))
        return pr_problem_set(
            d->problem, PR_PROBLEM_INCONSISTENT,
            "KernelDMASrc.CoeffDMAConfig[%u].En is 0, but engine %u computes channels and needs its kernel.",
            i, i);
    if (need > stream->bytes)
        return pr_problem_set(
            d->problem, PR_PROBLEM_INCONSISTENT,
            "KernelDMASrc.CoeffBfrSize[%u] holds %u bytes, but the channels of engine %u need %ju.", i,
            stream->bytes, i, need);
    return true;
}

static bool check_streams(const struct pr_decoder *d, bool weights)
{
    const struct pr_ne *ne = &d->task->ne;
    bool any = false;

    for (uint32_t i = 0; i < ne->engines; i++) {
        if (!check_stream(d, i, weights))
            return false;
        any |= ne->stream[i].enabled;
    }
    return any || pr_problem_set(
                      d->problem, PR_PROBLEM_INCONSISTENT,
                      "MACCfg.NonlinearMode asks for a table, and no CoeffDMAConfig is enabled to bring it.");
}

static bool decode_kernel(const struct pr_decoder *d)
{
    struct pr_ne *ne = &d->task->ne;
    bool weights = ne->mode == PR_NE_MAC && !ne->ones;

    ne->lanes = 1;
    if (weights && !decode_weights(d))
        return false;
    if (ne->mode == PR_NE_MAC && !check_size(d))
        return false;
    if (!weights && ne->bias)
        return pr_decode_refuse(d, PR_PROBLEM_INCONSISTENT, PR_F_BIAS_MODE,
                                "a task without kernel data has no bias row");
    if (!weights && !ne->table)
        return true;
    return decode_streams(d) && check_streams(d, weights);
}

/*
 * A bypass does not add AccBias: published experiments change it and the result stays the same, while
 * programs of Apple's compiler that add one have another OpMode.
 */
static bool decode_biases(const struct pr_decoder *d)
{
    struct pr_ne *ne = &d->task->ne;

    ne->bias = pr_decode_get(d, PR_F_BIAS_MODE);
    if (ne->mode == PR_NE_BYPASS)
        return true;
    ne->acc_bias = (uint16_t)pr_decode_get(d, PR_F_ACC_BIAS);
    return pr_decode_require(d, PR_F_ACC_BIAS_SHIFT, 0, "a shifted bias is not decoded");
}

static bool decode_nonlinear(const struct pr_decoder *d)
{
    struct pr_ne *ne = &d->task->ne;
    uint32_t mode = pr_decode_get(d, PR_F_NONLINEAR_MODE);

    if (mode > PR_NL_TABLE &&
        !pr_decode_ignore(d, PR_F_NONLINEAR_MODE, "0 (none), 1 (ReLU) and 2 (table) are decoded"))
        return false;
    ne->relu = mode == PR_NL_RELU && !d->raw;
    ne->table = mode == PR_NL_TABLE;
    ne->post_scale = (uint16_t)pr_decode_get(d, PR_F_POST_SCALE);
    return decode_biases(d) && pr_decode_require(d, PR_F_MATRIX_BIAS_EN, 0, "matrix bias is not decoded") &&
           pr_decode_require(d, PR_F_POST_SCALE_MODE, 0, "per-channel post-scale is not decoded") &&
           pr_decode_require(d, PR_F_POST_RIGHT_SHIFT, 0, "a shifted result is not decoded");
}

static bool decode_mode(const struct pr_decoder *d)
{
    struct pr_ne *ne = &d->task->ne;
    uint32_t mode = pr_decode_get(d, PR_F_OP_MODE), padding = pr_decode_get(d, PR_F_PADDING_MODE);

    switch (mode) {
    case PR_OP_MULTIPLY: ne->mode = PR_NE_MAC; break;
    case PR_OP_PRODUCT: ne->mode = PR_NE_PRODUCT; break;
    case PR_OP_MAX: ne->mode = PR_NE_MAX; break;
    case PR_OP_BYPASS: ne->mode = PR_NE_BYPASS; break;
    default:
        return pr_decode_refuse(d, PR_PROBLEM_UNSUPPORTED, PR_F_OP_MODE,
                                "0 (multiply), 2 (product), 3 (max) and 4 (bypass) are decoded");
    }
    ne->ones = pr_decode_get(d, PR_F_KERNEL_MODE);
    if (!ne->ones && mode != PR_OP_MULTIPLY) {
        if (!pr_decode_ignore(d, PR_F_KERNEL_MODE,
                              "this OpMode is decoded without a kernel (KernelMode 1) only"))
            return false;
        ne->ones = true;
    }
    ne->pad_lowest = padding == PR_PADDING_LOWEST && mode == PR_OP_MAX;
    if (padding != PR_PADDING_ZERO && !ne->pad_lowest &&
        !pr_decode_ignore(d, PR_F_PADDING_MODE,
                          "0 (zero) is decoded, and 1 (never wins) for the largest element"))
        return false;
    return pr_decode_get(d, PR_F_ELEM_MULT) == (mode == PR_OP_PRODUCT ? 1u : 0u) ||
           pr_decode_ignore(d, PR_F_ELEM_MULT, "it is decoded together with OpMode 2, and only then");
}

/*
 * Rows of a bypass may be shorter or longer than those of its source: columns that the source does not have
 * are zeros, by published experiments with InDim and OutDim. A bypass with more input channels than output
 * channels does the same, for the one value that was tried. A product of one element passes it unchanged,
 * NaN included.
 */
static bool check_bypass_extents(const struct pr_decoder *d)
{
    uint32_t in[PR_AXES], cin = d->in[PR_AXIS_C];
    bool spare =
        d->out[PR_AXIS_C] == 1 && pr_experiment_explains(pr_reg_table[PR_REG_CIN].address, cin, false);

    memcpy(in, d->in, sizeof(in));
    if (spare || in[PR_AXIS_W] != d->out[PR_AXIS_W]) {
        if (in[PR_AXIS_D] != 1)
            return pr_decode_refuse(d, PR_PROBLEM_UNSUPPORTED, PR_F_DIN,
                                    "a bypass whose width or channels differ is decoded for depth 1 only");
        d->task->ne.mode = PR_NE_PRODUCT;
        in[PR_AXIS_W] = d->out[PR_AXIS_W];
        in[PR_AXIS_C] = spare ? 1 : in[PR_AXIS_C];
    }
    return pr_decode_same_extents(d, in, d->out);
}

static bool check_bypass(const struct pr_decoder *d)
{
    return pr_decode_require(d, PR_F_UNICAST_EN, 1, "a bypass passes each channel to itself (UnicastEn 1)") &&
           pr_decode_require(d, PR_F_UNICAST_CIN, 1,
                             "a bypass passes each channel to itself (UnicastCin 1)") &&
           check_bypass_extents(d);
}

static bool check_product(const struct pr_decoder *d)
{
    const struct pr_ne *ne = &d->task->ne;

    if (ne->kw != 1 || ne->kh != 1)
        return pr_decode_refuse(d, PR_PROBLEM_UNSUPPORTED, PR_F_KW,
                                "a product is decoded over channels only, with a window of 1x1");
    return ne->unicast || pr_decode_refuse(d, PR_PROBLEM_UNSUPPORTED, PR_F_UNICAST_EN,
                                           "a product is decoded over the channels of UnicastCin only");
}

/*
 * The strip in L2 is shorter than the row that the DMA puts there. Known for one row that is staged whole; a
 * wider source, or one with a minimum strip height (ShMin), has narrower strips in Apple's programs.
 */
static bool strip_is_short(const struct pr_decoder *d)
{
    const struct pr_tensor *t = &d->task->src[0];
    uint32_t row = d->in[PR_AXIS_W] * pr_format_bytes(t->format);

    return t->home == PR_HOME_DRAM && !t->keep && t->format == PR_FP16 && t->interleave == 1 &&
           d->in[PR_AXIS_H] == 1 && row <= PR_STRIP_BYTES && !pr_decode_get(d, PR_F_SH_MIN) &&
           pr_decode_get(d, PR_F_L2_SRC_CHANNEL) << PR_L2_SHIFT < row;
}

/*
 * Published experiments that end in a hang, as rules. Every known task of the neural engines that Apple's
 * compiler made keeps them.
 */
static bool check_hangs(const struct pr_decoder *d)
{
    if (pr_decode_get(d, PR_F_TASK_TYPE))
        return pr_decode_refuse_hang(d, PR_F_TASK_TYPE, "a task of the neural engines has type 0");
    if (!d->image->word[pr_reg_table[PR_REG_CONV_CFG].first])
        return pr_decode_refuse_hang(d, PR_F_KW, "a task of the neural engines has a window and steps");
    if (!pr_decode_get(d, PR_F_TILE_HEIGHT))
        return pr_decode_refuse_hang(d, PR_F_TILE_HEIGHT, "a strip has at least 1 row");
    if (pr_decode_get(d, PR_F_PATCH_WIDTH))
        return pr_decode_refuse_hang(d, PR_F_PATCH_WIDTH, "patches are for the planar engine");
    if (pr_decode_get(d, PR_F_RESULT_TYPE) == PR_TYPE_RESIDENT && pr_decode_get(d, PR_F_DST_EN))
        return pr_decode_refuse_hang(d, PR_F_RESULT_TYPE,
                                     "the result stays in L2, but its DMA is enabled and waits for it");
    if (strip_is_short(d))
        return pr_decode_refuse_hang(d, PR_F_L2_SRC_CHANNEL, "the one row of the source does not fit");
    return true;
}

bool pr_decode_ne(const struct pr_decoder *d)
{
    struct pr_task *task = d->task;
    struct pr_ne *ne = &task->ne;

    if (!check_hangs(d))
        return false;
    if (pr_decode_get(d, PR_F_ACTIVE_NE) > 4)
        return pr_decode_refuse(d, PR_PROBLEM_LIMIT, PR_F_ACTIVE_NE, "there are 16 engines (4)");
    if (pr_decode_head(d, PR_H_ENE) != pr_decode_get(d, PR_F_ACTIVE_NE) + 1)
        return pr_decode_refuse_header(d, PR_PROBLEM_INCONSISTENT, PR_H_ENE,
                                       "it must be Common.Cfg.ActiveNE + 1");
    ne->engines = 1u << pr_decode_get(d, PR_F_ACTIVE_NE);
    memcpy(task->src[0].extent, d->in, sizeof(d->in));
    memcpy(task->dst.extent, d->out, sizeof(d->out));
    if (!decode_mode(d) || !decode_nonlinear(d))
        return false;
    if (!pr_decode_transpose(d, &task->dst, PR_F_NE_OUT_TRANSPOSE))
        return false;
    if (ne->mode == PR_NE_BYPASS) {
        ne->kw = ne->kh = ne->sx = ne->sy = ne->ox = ne->unicast = 1;
        return check_bypass(d) && decode_kernel(d);
    }
    if (!decode_unicast(d) || !decode_window(d))
        return false;
    task->dst.extent[PR_AXIS_W] *= ne->ox;
    return (ne->mode != PR_NE_PRODUCT || check_product(d)) && decode_kernel(d);
}
