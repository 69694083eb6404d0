/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks decoded from descriptors: the real programs, hand-written ones, refusals by name, and the kernel
 * packing rule.
 */
#include "support.h"

#include <stdlib.h>
#include <string.h>

#include "listing/assemble.h"
#include "program/chain.h"
#include "program/hwx.h"
#include "program/kernel.h"
#include "program/task.h"

/* A descriptor and the registers it leaves behind. */
struct decoded {
    struct pr_td td;
    struct pr_image image;
    struct pr_task task;
};

static void decode(struct decoded *d)
{
    struct pr_problem problem;

    if (!pr_task_decode(&d->td, &d->image, &d->task, &problem))
        fail_msg("%s", problem.text);
}

/* The nth descriptor of a shared program, with the image its predecessors leave. */
static void load(const char *file, uint32_t nth, struct decoded *d, struct pr_hwx *hwx)
{
    const char *path = test_program_path(file);
    struct pr_chain_link links[4];
    uint32_t found;
    uint8_t *bytes;
    size_t size;

    if (!path) {
        print_message("# %s is not here\n", file);
        skip();
    }
    bytes = test_file_read(path, &size);
    assert_non_null(bytes);
    assert_true(pr_hwx_read(bytes, size, hwx, NULL));
    assert_true(pr_chain_read(bytes + hwx->text.offset, (size_t)hwx->text.size, hwx->first_td_words,
                              hwx->td_count, links, 4, &found, NULL));
    memset(d, 0, sizeof(*d));
    for (uint32_t i = 0; i <= nth; i++) {
        assert_true(pr_td_read(bytes + hwx->text.offset + links[i].offset, links[i].words, &d->td, NULL));
        pr_td_apply(&d->td, &d->image);
    }
    free(bytes);
    decode(d);
}

static void expect_extent(const struct pr_tensor *t, uint32_t w, uint32_t h, uint32_t c)
{
    assert_int_equal(t->extent[PR_AXIS_W], w);
    assert_int_equal(t->extent[PR_AXIS_H], h);
    assert_int_equal(t->extent[PR_AXIS_C], c);
    assert_int_equal(t->extent[PR_AXIS_D], 1);
    assert_int_equal(t->extent[PR_AXIS_G], 1);
}

static void expect_dram(const struct pr_tensor *t, const struct pr_hwx *hwx, const char *port, uint32_t base)
{
    assert_int_equal(t->home, PR_HOME_DRAM);
    assert_int_equal(t->base, base);
    assert_int_equal(t->stride[PR_AXIS_W], 2);
    for (uint32_t i = 0; i < hwx->port_count; i++)
        if (strcmp(hwx->port[i].name, port) == 0) {
            assert_int_equal(t->bar, hwx->port[i].bar);
            assert_int_equal(t->stride[PR_AXIS_C], hwx->port[i].plane_stride);
            assert_int_equal(t->stride[PR_AXIS_H], hwx->port[i].row_stride);
            return;
        }
    fail();
}

static void decodes_sum(void **state)
{
    struct decoded d;
    struct pr_hwx hwx;

    (void)state;
    load("sum.hwx", 0, &d, &hwx);
    assert_int_equal(d.task.unit, PR_UNIT_PE);
    assert_int_equal(d.task.pe.op, PR_PE_ADD);
    assert_true(d.task.pe.two_sources);
    assert_false(d.task.pe.negate1 || d.task.pe.negate2 || d.task.pe.relu || d.task.pe.abs);
    assert_int_equal(d.task.pe.reduce, PR_PE_REDUCE_NONE);
    assert_int_equal(d.task.pe.scale, 0x3c00);
    assert_int_equal(d.task.pe.bias, 0);
    assert_int_equal(d.task.pe.pre_scale, 0x3c00);
    assert_int_equal(d.task.pe.final_scale, 0x3f800000);
    expect_extent(&d.task.dst, 1, 1, 64);
    expect_extent(&d.task.src[0], 1, 1, 64);
    expect_extent(&d.task.src[1], 1, 1, 64);
    expect_dram(&d.task.src[0], &hwx, "image", 0);
    expect_dram(&d.task.src[1], &hwx, "image2", 0);
    expect_dram(&d.task.dst, &hwx, "probs@output", 0);
    assert_false(d.task.dst.zero_tail);
    assert_int_equal(pr_task_work(&d.task), 64);
}

static void decodes_relu(void **state)
{
    struct decoded d;
    struct pr_hwx hwx;

    (void)state;
    load("relu.hwx", 0, &d, &hwx);
    assert_int_equal(d.task.unit, PR_UNIT_NE);
    assert_int_equal(d.task.ne.mode, PR_NE_BYPASS);
    assert_true(d.task.ne.relu);
    assert_int_equal(d.task.ne.engines, 1);
    assert_int_equal(d.task.ne.post_scale, 0x3c00);
    assert_int_equal(d.task.src[1].home, PR_HOME_NONE);
    expect_extent(&d.task.src[0], 77, 1, 1);
    expect_extent(&d.task.dst, 77, 1, 1);
    expect_dram(&d.task.src[0], &hwx, "image", 0);
    expect_dram(&d.task.dst, &hwx, "probs@output", 0);
    assert_true(d.task.dst.zero_tail);
    assert_int_equal(pr_tensor_span(&d.task.src[0]), 154);
    assert_int_equal(pr_tensor_tail_end(&d.task.dst), 192);
    assert_int_equal(pr_tensor_span(&d.task.dst), 192); /* the row is filled up to 64 bytes */
}

static void decodes_concat(void **state)
{
    struct decoded d;
    struct pr_hwx hwx;

    (void)state;
    load("concat.hwx", 0, &d, &hwx);
    assert_int_equal(d.task.ne.mode, PR_NE_BYPASS);
    assert_false(d.task.ne.relu);
    expect_extent(&d.task.dst, 1, 1, 16384);
    expect_dram(&d.task.src[0], &hwx, "input_0", 0);
    expect_dram(&d.task.dst, &hwx, "output@output", 0);
    load("concat.hwx", 1, &d, &hwx);
    expect_extent(&d.task.dst, 1, 1, 16);
    expect_dram(&d.task.src[0], &hwx, "input_1", 0);
    expect_dram(&d.task.dst, &hwx, "output@output", 16384 * 64); /* after the first input's channels */
}

static void decodes_conv(void **state)
{
    struct decoded d;
    struct pr_hwx hwx;

    (void)state;
    load("conv.hwx", 0, &d, &hwx);
    assert_int_equal(d.task.unit, PR_UNIT_NE);
    assert_int_equal(d.task.ne.mode, PR_NE_MAC);
    assert_int_equal(d.task.ne.kw, 1);
    assert_int_equal(d.task.ne.kh, 1);
    assert_int_equal(d.task.ne.lanes, 1);
    assert_int_equal(d.task.ne.engines, 4);
    assert_int_equal(d.task.ne.kernel_bar, 1);
    assert_false(d.task.ne.bias);
    expect_extent(&d.task.src[0], 1, 1, 3);
    expect_extent(&d.task.dst, 1, 1, 3);
    for (uint32_t i = 0; i < 16; i++) {
        assert_int_equal(d.task.ne.stream[i].enabled, i < 3);
        assert_int_equal(d.task.ne.stream[i].bytes, 0x40);
        assert_int_equal(d.task.ne.stream[i].base, i < 3 ? 0x40 * i : 0);
    }
    assert_int_equal(pr_task_work(&d.task), 9);
}

static void decodes_gemm(void **state)
{
    struct decoded d;
    struct pr_hwx hwx;

    (void)state;
    load("gemm.hwx", 0, &d, &hwx);
    assert_int_equal(d.task.ne.mode, PR_NE_MAC);
    assert_int_equal(d.task.ne.lanes, 32);
    assert_int_equal(d.task.ne.engines, 16);
    for (uint32_t i = 0; i < 16; i++) {
        assert_true(d.task.ne.stream[i].enabled);
        assert_int_equal(d.task.ne.stream[i].base, 0x8000 * i);
        assert_int_equal(d.task.ne.stream[i].bytes, 0x8000);
        assert_int_equal(pr_kernel_stream_bytes(&d.task, i), 0x8000);
    }
    assert_int_equal(pr_task_work(&d.task), 512 * 512);
}

/* Hand-written tasks: an addition of 4 channels of 3 x 5, and a convolution of 3 x 3 with bias. */
#define SURFACES                                                                                \
    "write TileDMASrc\nDMAConfig En=1\nRowStride 0x40\nPlaneStride 0x140\n"                     \
    "DepthStride 0x500\nGroupStride 0x500\n"                                                    \
    "Src2RowStride 0x40\nSrc2PlaneStride 0x140\nSrc2DepthStride 0x500\nSrc2GroupStride 0x500\n" \
    "Fmt 0x01002031\nSrc2Fmt 0x2030\n"                                                          \
    "write L2\nSourceCfg 0x01500172\nSourceChannelStride 0x10\nResultCfg 0x0050017a\n"          \
    "write TileDMADst\nDMAConfig En=1\nRowStride 0x40\nPlaneStride 0x140\n"                     \
    "DepthStride 0x500\nGroupStride 0x500\n"                                                    \
    "Fmt 0x01302031\n"
#define COMMON                                                                \
    "write Common\nInDim Win=3 Hin=5\nInDepth 1\nChCfg 0x2a\nCin 4\nCout 4\n" \
    "OutDim Wout=3 Hout=5\nOutDepth 1\n"                                      \
    "ConvCfg3D 0x2041\nTileCfg 5\n"

static const char addition[] = "descriptor\nRBase0=6 RBE0=1 RBase1=5 RBE1=1 WBase=4 WBE=1\n" COMMON
                               "ConvCfg 0x5000a021\nGroupConvCfg 0x10001\nCfg 0x33\n" SURFACES
                               "write PE\nPECfg 0x80000\nBiasScale 0x3c000000\nPreScale 0x3c000000\n"
                               "FinalScale 0x3f800000\n";
static const char convolution[] = "descriptor\nRBase0=5 RBE0=1 WBase=4 WBE=1 ENE=3 KBase0=1 KBE0=1\n" COMMON
                                  "ConvCfg 0x5042a063\nGroupConvCfg 0x10001\nCfg ActiveNE=2\n" SURFACES
                                  "write 0x1f808 48\nCoeffDMAConfig[0-3] En=1\nCoeffBaseAddr[1-3] 0x80\n"
                                  "CoeffBfrSize[0-3] 0x80\n"
                                  "write NE\nKernelCfg 0x82\nMACCfg 0x101c10\nPostScale 0x3c00\n";

static void write_task(const char *text, struct decoded *d)
{
    uint8_t bytes[4 * PR_TD_WORDS_MAX];
    struct pr_assembly result;
    struct pr_problem problem;

    if (!pr_assemble(text, strlen(text), bytes, sizeof(bytes), &result, &problem))
        fail_msg("%s", problem.text);
    memset(d, 0, sizeof(*d));
    assert_true(pr_td_read(bytes, result.first_words, &d->td, NULL));
    pr_td_apply(&d->td, &d->image);
    decode(d);
}

static void hand_written(void **state)
{
    struct decoded d;

    (void)state;
    write_task(addition, &d);
    assert_int_equal(d.task.unit, PR_UNIT_PE);
    expect_extent(&d.task.dst, 3, 5, 4);
    assert_int_equal(d.task.src[0].bar, 6);
    assert_int_equal(d.task.src[1].bar, 5);
    assert_int_equal(d.task.dst.bar, 4);
    assert_int_equal(pr_tensor_span(&d.task.src[1]), 3 * 0x140 + 4 * 0x40 + 6);
    assert_int_equal(pr_tensor_span(&d.task.dst), 3 * 0x140 + 4 * 0x40 + 0x40);
    write_task(convolution, &d);
    assert_int_equal(d.task.ne.kw, 3);
    assert_int_equal(d.task.ne.kh, 3);
    assert_int_equal(d.task.ne.px, 1);
    assert_int_equal(d.task.ne.py, 1);
    assert_true(d.task.ne.bias);
    assert_int_equal(pr_kernel_stream_bytes(&d.task, 3), 0x80); /* 37 halfwords */
    assert_int_equal(pr_task_work(&d.task), 3 * 5 * 4 * 4 * 9);
}

/* One field changed: the task is refused, and the sentence names the field. */
static const struct {
    const char *text;
    enum pr_td_field field;
    uint32_t value;
    enum pr_problem_kind kind;
    const char *says;
} refusals[] = {
    {addition, PR_F_WIN, 0, PR_PROBLEM_INCONSISTENT, "Common.InDim.Win"},
    {addition, PR_F_HOUT, 6, PR_PROBLEM_INCONSISTENT, "Common.OutDim.Hout"},
    {addition, PR_F_WIN, 16385, PR_PROBLEM_LIMIT, "Common.InDim.Win"},
    {addition, PR_F_CIN, 65537, PR_PROBLEM_LIMIT, "Common.Cin.Cin"},
    {addition, PR_F_NUM_GROUPS, 0, PR_PROBLEM_INCONSISTENT, "Common.GroupConvCfg.NumGroups"},
    {addition, PR_F_IN_FMT, 3, PR_PROBLEM_UNSUPPORTED, "Common.ChCfg.InFmt"},
    {addition, PR_F_IN_FMT, 0, PR_PROBLEM_UNSUPPORTED, "TileDMASrc.Fmt.MemFmt"},
    {addition, PR_F_SRC2_IN_FMT, 3, PR_PROBLEM_UNSUPPORTED, "Common.ChCfg.Src2InFmt"},
    {addition, PR_F_OUT_FMT, 3, PR_PROBLEM_UNSUPPORTED, "Common.ChCfg.OutFmt"},
    {addition, PR_F_SRC_EN, 0, PR_PROBLEM_INCONSISTENT, "TileDMASrc.DMAConfig.En"},
    {addition, PR_F_DST_EN, 0, PR_PROBLEM_INCONSISTENT, "TileDMADst.DMAConfig.En"},
    {addition, PR_F_SRC_INTERLEAVE, 4, PR_PROBLEM_INCONSISTENT, "L2.SourceCfg.DMAInterleave"},
    {addition, PR_F_SOURCE_DMA_FMT, 2, PR_PROBLEM_INCONSISTENT, "L2.SourceCfg.DMAFmt"},
    {addition, PR_F_SRC_CMP_VEC, 1, PR_PROBLEM_UNSUPPORTED, "TileDMASrc.Fmt.CmpVec"},
    {addition, PR_F_SRC2_MEM_FMT, 0, PR_PROBLEM_UNSUPPORTED, "TileDMASrc.Src2Fmt.MemFmt"},
    {addition, PR_F_DST_MEM_FMT, 0, PR_PROBLEM_UNSUPPORTED, "TileDMADst.Fmt.MemFmt"},
    {addition, PR_F_PIXEL_OFFSET, 9, PR_PROBLEM_UNSUPPORTED, "TileDMASrc.PixelOffset[0].Offset is 9"},
    {addition, PR_F_TASK_TYPE, 7, PR_PROBLEM_UNSUPPORTED, "Common.Cfg.TaskType"},
    {addition, PR_F_TASK_TYPE, 2, PR_PROBLEM_INCONSISTENT, "PE.PECfg.Src2Mode"},
    {addition, PR_F_PE_SRC2, 1, PR_PROBLEM_INCONSISTENT, "PE.PECfg.Src2Mode"},
    {addition, PR_F_PE_OP, 5, PR_PROBLEM_UNSUPPORTED, "PE.PECfg.ElementwiseOp"},
    {addition, PR_F_PE_COND, 5, PR_PROBLEM_UNSUPPORTED, "PE.PECfg.Cond"},
    {addition, PR_F_PE_FUNCTION, 3, PR_PROBLEM_UNSUPPORTED, "PE.PECfg.Function"},
    {addition, PR_F_PE_REDUCE, 2, PR_PROBLEM_UNSUPPORTED, "PE.PECfg.ReduceOp"},
    {addition, PR_F_PE_EPSILON, 1, PR_PROBLEM_UNSUPPORTED, "PE.PreScale.Epsilon"},
    {convolution, PR_F_ACTIVE_NE, 3, PR_PROBLEM_INCONSISTENT, "ENE"},
    {convolution, PR_F_NONLINEAR_MODE, 3, PR_PROBLEM_UNSUPPORTED, "NE.MACCfg.NonlinearMode"},
    {convolution, PR_F_OP_MODE, 5, PR_PROBLEM_UNSUPPORTED, "NE.MACCfg.OpMode"},
    {convolution, PR_F_OP_MODE, 3, PR_PROBLEM_UNSUPPORTED, "NE.MACCfg.KernelMode"},
    {convolution, PR_F_ELEM_MULT, 1, PR_PROBLEM_UNSUPPORTED, "Common.GroupConvCfg.ElemMultMode"},
    {convolution, PR_F_KERNEL_MODE, 1, PR_PROBLEM_INCONSISTENT, "NE.MACCfg.BiasMode"},
    {convolution, PR_F_KERNEL_FMT, 0, PR_PROBLEM_UNSUPPORTED, "NE.KernelCfg.KernelFmt"},
    {convolution, PR_F_PALETTIZED_EN, 1, PR_PROBLEM_UNSUPPORTED, "NE.KernelCfg.PalettizedEn"},
    {convolution, PR_F_KW, 14, PR_PROBLEM_LIMIT, "Common.ConvCfg.Kw"},
    {convolution, PR_F_KH, 0, PR_PROBLEM_LIMIT, "Common.ConvCfg.Kh"},
    {convolution, PR_F_SX, 0, PR_PROBLEM_INCONSISTENT, "Common.ConvCfg.Sx"},
    {convolution, PR_F_OX, 2, PR_PROBLEM_UNSUPPORTED, "Common.ConvCfg.Ox"},
    {convolution, PR_F_KD, 2, PR_PROBLEM_UNSUPPORTED, "Common.ConvCfg3D.Kd"},
    {convolution, PR_F_OCG_SIZE, 6, PR_PROBLEM_UNSUPPORTED, "Common.ConvCfg.OCGSize"},
    {convolution, PR_F_OY, 2, PR_PROBLEM_UNSUPPORTED, "Common.ConvCfg.Oy"},
    {convolution, PR_F_POST_RIGHT_SHIFT, 1, PR_PROBLEM_UNSUPPORTED, "NE.PostScale.PostRightShift"},
    {convolution, PR_F_MATRIX_BIAS_EN, 1, PR_PROBLEM_UNSUPPORTED, "NE.MACCfg.MatrixBiasEn"},
    {convolution, PR_F_PADDING_MODE, 1, PR_PROBLEM_UNSUPPORTED, "L2.L2Cfg.PaddingMode"},
    {convolution, PR_F_COEFF_EN, 0, PR_PROBLEM_INCONSISTENT, "KernelDMASrc.CoeffDMAConfig[0].En is 0"},
    {convolution, PR_F_COEFF_BYTES, 1, PR_PROBLEM_INCONSISTENT,
     "KernelDMASrc.CoeffBfrSize[0] holds 64 bytes"},
    {convolution, PR_F_EXTRA_EN, 1, PR_PROBLEM_UNSUPPORTED, "KernelDMASrc.ExtraDMAConfig[0].En"},
};

static void refusals_name_the_field(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        struct pr_problem problem = {0};
        struct decoded d;

        write_task(refusals[i].text, &d);
        pr_image_put(&d.image, refusals[i].field, refusals[i].value);
        if (pr_task_decode(&d.td, &d.image, &d.task, &problem))
            fail_msg("accepted; expected a refusal of %s", refusals[i].says);
        if (problem.kind != refusals[i].kind || !strstr(problem.text, refusals[i].says))
            fail_msg("kind %d: %s\nexpected kind %d: %s", problem.kind, problem.text, refusals[i].kind,
                     refusals[i].says);
        assert_false(pr_task_decode(&d.td, &d.image, &d.task, NULL));
    }
}

/*
 * A kernel of ones is the same for all groups, and has no more weights than any that is unpacked: what does
 * not fit is reported before it is run.
 */
static void kernels_of_ones(void **state)
{
    struct pr_problem problem = {0};
    struct decoded d;

    (void)state;
    write_task(convolution, &d);
    pr_image_put(&d.image, PR_F_KERNEL_MODE, 1);
    pr_image_put(&d.image, PR_F_BIAS_MODE, 0);
    pr_image_put(&d.image, PR_F_NUM_GROUPS, 0x1fff);
    decode(&d);
    assert_int_equal(pr_kernel_groups(&d.task), 1);
    assert_int_equal(pr_kernel_weights(&d.task), 9 * 4 * 4);
    pr_image_put(&d.image, PR_F_CIN, 65536);
    pr_image_put(&d.image, PR_F_COUT, 65536);
    pr_image_put(&d.image, PR_F_NUM_GROUPS, 1);
    assert_false(pr_task_decode(&d.td, &d.image, &d.task, &problem));
    assert_int_equal(problem.kind, PR_PROBLEM_LIMIT);
    assert_non_null(strstr(problem.text, "The kernel has 38654705664 weights in each of 1 groups"));
}

/* A row that is read from an offset inside it begins where 32 bits can say. */
static void offsets_of_rows(void **state)
{
    struct pr_problem problem = {0};
    struct decoded d;

    (void)state;
    write_task(addition, &d);
    pr_image_put_at(&d.image, PR_F_CHOSEN_MARK, 0, PR_CHOSEN_MARK);
    pr_image_put_at(&d.image, PR_F_PIXEL_OFFSET, 0, 3);
    pr_image_put(&d.image, PR_F_SRC_ADDR, 0x1000);
    decode(&d);
    assert_int_equal(d.task.src[0].base, 0x40006);
    pr_image_put(&d.image, PR_F_SRC_ADDR, 0x3ffffff);
    decode(&d);
    assert_int_equal(d.task.src[0].base, 0xffffffc6);
    pr_image_put_at(&d.image, PR_F_PIXEL_OFFSET, 0, 32);
    assert_false(pr_task_decode(&d.td, &d.image, &d.task, &problem));
    assert_int_equal(problem.kind, PR_PROBLEM_LIMIT);
    assert_non_null(strstr(problem.text, "PixelOffset[0] is 32, and BaseAddr 0xffffffc0"));
}

/* Header bits cleared: the buffer that the registers need has no base. */
static void missing_buffers(void **state)
{
    static const struct {
        const char *text;
        uint32_t word, bits;
        const char *says;
    } cases[] = {
        {addition, 8, 1u << 5, "RBE0"},    {addition, 8, 1u << 11, "RBE1"},   {addition, 8, 1u << 17, "WBE"},
        {convolution, 9, 1u << 5, "KBE0"}, {convolution, 8, 1u << 24, "ENE"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct pr_problem problem = {0};
        struct decoded d;

        write_task(cases[i].text, &d);
        d.td.word[cases[i].word] &= ~cases[i].bits;
        assert_false(pr_task_decode(&d.td, &d.image, &d.task, &problem));
        assert_int_equal(problem.kind, PR_PROBLEM_INCONSISTENT);
        assert_non_null(strstr(problem.text, cases[i].says));
        assert_int_equal(problem.offset, 4 * cases[i].word);
    }
}

/* L2 has 2 MiB: a resident tensor past its end is refused, one that just fits is not. */
static void set_extents(struct pr_image *image, uint32_t w, uint32_t h, uint32_t c)
{
    pr_image_put(image, PR_F_WIN, w);
    pr_image_put(image, PR_F_WOUT, w);
    pr_image_put(image, PR_F_HIN, h);
    pr_image_put(image, PR_F_HOUT, h);
    pr_image_put(image, PR_F_CIN, c);
    pr_image_put(image, PR_F_COUT, c);
}

static void resident_tensors(void **state)
{
    struct pr_problem problem = {0};
    struct decoded d;

    (void)state;
    write_task(addition, &d);
    pr_image_put(&d.image, PR_F_RESULT_TYPE, 0);
    pr_image_put(&d.image, PR_F_L2_RESULT_BASE, 0x1ffff);
    set_extents(&d.image, 1, 1, 1);
    decode(&d);
    assert_int_equal(d.task.dst.home, PR_HOME_L2);
    assert_int_equal(d.task.dst.base, 0x1ffff0);
    set_extents(&d.image, 1, 2, 1); /* two rows on the same place */
    assert_false(pr_task_decode(&d.td, &d.image, &d.task, &problem));
    assert_int_equal(problem.kind, PR_PROBLEM_INCONSISTENT);
    assert_non_null(strstr(problem.text, "overlap"));
    pr_image_put(&d.image, PR_F_L2_RESULT_ROW, 1);
    assert_false(pr_task_decode(&d.td, &d.image, &d.task, &problem));
    assert_int_equal(problem.kind, PR_PROBLEM_LIMIT);
    assert_non_null(strstr(problem.text, "L2 ends at 0x200000"));
}

/* Row tails and transposed rows: what a store may touch is never stated too small. */
static void spans(void **state)
{
    struct pr_tensor t = {.home = PR_HOME_DRAM, .extent = {77, 2, 1, 3, 1}, .stride = {2, 192, 0, 384, 0}};

    (void)state;
    assert_int_equal(pr_tensor_span(&t), 2 * 384 + 192 + 154);
    t.zero_tail = true;
    assert_int_equal(pr_tensor_span(&t), 3 * 384);
    t.stride[PR_AXIS_H] = 160; /* rows closer than 64-byte granules: the fill stops at the next row */
    assert_int_equal(pr_tensor_tail_end(&t), 160);
    t = (struct pr_tensor){.home = PR_HOME_DRAM,
                           .zero_tail = true,
                           .extent = {16384, 1, 1, 1, 1},
                           .stride = {0x80000, 64, 64, 2, 64}};
    assert_int_equal(pr_tensor_span(&t), 16383ull * 0x80000 + 2); /* more than 32 bits hold */
    t.home = PR_HOME_NONE;
    assert_int_equal(pr_tensor_span(&t), 0);
}

static struct pr_task kernel_task(uint32_t cin, uint32_t cout, uint32_t kernel, uint32_t lanes,
                                  uint32_t engines, bool bias)
{
    struct pr_task task = {.unit = PR_UNIT_NE};

    task.src[0].extent[PR_AXIS_C] = cin;
    task.dst.extent[PR_AXIS_C] = cout;
    task.dst.extent[PR_AXIS_G] = 1;
    task.ne = (struct pr_ne){.mode = PR_NE_MAC,
                             .kw = kernel,
                             .kh = kernel,
                             .sx = 1,
                             .sy = 1,
                             .ox = 1,
                             .lanes = lanes,
                             .engines = engines,
                             .bias = bias};
    return task;
}

static void expect_place(const struct pr_task *task, uint32_t channel, uint32_t engine, uint32_t offset,
                         uint32_t lane, uint32_t lanes)
{
    struct pr_kernel_place place;

    assert_true(pr_kernel_place(task, 0, channel, &place));
    assert_int_equal(place.engine, engine);
    assert_int_equal(place.offset, offset);
    assert_int_equal(place.lane, lane);
    assert_int_equal(place.lanes, lanes);
}

/*
 * The rule the oracles give: slot p is engine p div passes, pass p mod passes, and holds the channels
 * (pass * engines + engine) * lanes + lane.
 */
static void dense_kernels(void **state)
{
    static const struct {
        uint32_t cin, cout, lanes, engines;
    } cases[] = {
        {512, 512, 32, 16}, {1024, 256, 16, 16}, {1024, 2048, 16, 16}, {8, 64, 4, 4}, {3, 16, 1, 16}};
    struct pr_kernel_place place;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct pr_task task =
            kernel_task(cases[i].cin, cases[i].cout, 1, cases[i].lanes, cases[i].engines, false);
        uint32_t passes = cases[i].cout / cases[i].lanes / cases[i].engines;
        uint32_t plane = (cases[i].cin * cases[i].lanes * 2 + 63) / 64 * 64;

        for (uint32_t slot = 0; slot < passes * cases[i].engines; slot++)
            for (uint32_t lane = 0; lane < cases[i].lanes; lane++) {
                uint32_t engine = slot / passes, pass = slot % passes;

                expect_place(&task, (pass * cases[i].engines + engine) * cases[i].lanes + lane, engine,
                             pass * plane, lane, cases[i].lanes);
            }
        for (uint32_t engine = 0; engine < cases[i].engines; engine++)
            assert_int_equal(pr_kernel_stream_bytes(&task, engine), (uint64_t)passes * plane);
        assert_false(pr_kernel_place(&task, 0, cases[i].cout, &place));
    }
}

/* Left-over channels go to passes of fewer lanes. Sizes from the public samples. */
static void uneven_kernels(void **state)
{
    struct pr_task task = kernel_task(768, 768, 1, 32, 16, true);

    (void)state;
    /* 768 channels: 512 at 32 lanes, then 256 at 16; the chunk has 0x12080 bytes */
    for (uint32_t channel = 0; channel < 768; channel++) {
        uint32_t rest = channel - 512;

        if (channel < 512)
            expect_place(&task, channel, channel / 32, 0, channel % 32, 32);
        else
            expect_place(&task, channel, rest / 16, 769 * 64, rest % 16, 16);
    }
    for (uint32_t engine = 0; engine < 16; engine++)
        assert_int_equal(pr_kernel_stream_bytes(&task, engine), 0x12080);

    /* three channels on four engines: three chunks of 64 bytes, the fourth engine has none */
    task = kernel_task(3, 3, 1, 1, 4, false);
    for (uint32_t channel = 0; channel < 3; channel++)
        expect_place(&task, channel, channel, 0, 0, 1);
    for (uint32_t engine = 0; engine < 4; engine++)
        assert_int_equal(pr_kernel_stream_bytes(&task, engine), engine < 3 ? 64 : 0);

    /* a 1x1 convolution of 256 to 256 with bias: 0x20 bytes of bias, 0x2000 of weights, padded */
    task = kernel_task(256, 256, 1, 16, 16, true);
    assert_int_equal(pr_kernel_stream_bytes(&task, 7), 0x2040);
}

/* Every channel has a place of its own, inside its engine's stream, whatever the shape. */
static void places_do_not_collide(void **state)
{
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 1);
    for (int round = 0; round < 300; round++) {
        static uint8_t used[16][4096];
        struct pr_task task =
            kernel_task(1, (uint32_t)test_rng_range(&rng, 1, 900), 1, 1u << test_rng_range(&rng, 0, 5),
                        1u << test_rng_range(&rng, 0, 4), false);

        memset(used, 0, sizeof(used));
        for (uint32_t channel = 0; channel < task.dst.extent[PR_AXIS_C]; channel++) {
            struct pr_kernel_place place;
            uint32_t at;

            assert_true(pr_kernel_place(&task, 0, channel, &place));
            assert_true(place.engine < task.ne.engines && place.lane < place.lanes);
            assert_true(place.offset + 2 * place.lanes <= pr_kernel_stream_bytes(&task, place.engine));
            at = place.offset / 2 + place.lane;
            assert_true(at < sizeof(used[0]) * 8);
            assert_false(used[place.engine][at / 8] >> at % 8 & 1);
            used[place.engine][at / 8] |= (uint8_t)(1u << at % 8);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decodes_sum),
        cmocka_unit_test(decodes_relu),
        cmocka_unit_test(decodes_concat),
        cmocka_unit_test(decodes_conv),
        cmocka_unit_test(decodes_gemm),
        cmocka_unit_test(hand_written),
        cmocka_unit_test(refusals_name_the_field),
        cmocka_unit_test(kernels_of_ones),
        cmocka_unit_test(offsets_of_rows),
        cmocka_unit_test(missing_buffers),
        cmocka_unit_test(resident_tensors),
        cmocka_unit_test(spans),
        cmocka_unit_test(dense_kernels),
        cmocka_unit_test(uneven_kernels),
        cmocka_unit_test(places_do_not_collide),
    };

    return cmocka_run_group_tests_name("task", tests, NULL, NULL);
}
