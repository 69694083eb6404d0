/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of our own for tests. */
#include "programs.h"

#include <stdio.h>
#include <string.h>

#include "listing/assemble.h"
#include "support.h"

#define KERNEL_DMA                           \
    "  write KernelDMASrc\n"                 \
    "    CoeffDMAConfig[0-15] CacheHint=2\n" \
    "    CoeffBfrSize[0-15] 0x40\n"
#define COMMON(extra)                             \
    "  write Common\n"                            \
    "    InDim Win=1 Hin=1\n"                     \
    "    InDepth Din=1\n"                         \
    "    Cin Cin=1\n"                             \
    "    Cout Cout=1\n"                           \
    "    OutDim Wout=1 Hout=1\n"                  \
    "    OutDepth Dout=1\n"                       \
    "    ConvCfg Kw=1 Kh=1 Sx=1 Sy=1 Ox=1 Oy=1\n" \
    "    ConvCfg3D Kd=1 Sz=1 Oz=1\n"              \
    "    TileCfg TileHeight=1\n" extra
#define SOURCE(extra)                  \
    "  write TileDMASrc\n"             \
    "    DMAConfig En=1 CacheHint=2\n" \
    "    Fmt FmtMode=1 Truncate=3 MemFmt=2 Interleave=1\n" extra
#define L2(source)                                                     \
    "  write L2\n"                                                     \
    "    SourceCfg SourceType=2 DMAFmt=1 DMAInterleave=1 " source "\n" \
    "    SourceChannelStride 0x100\n"                                  \
    "    ResultCfg ResultType=2 DMAFmt=1 DMAInterleave=1\n"
#define PLANAR(cfg)                  \
    "  write PE\n"                   \
    "    PECfg " cfg "\n"            \
    "    BiasScale Scale=0x3c00\n"   \
    "    PreScale PreScale=0x3c00\n" \
    "    FinalScale 0x3f800000\n"
#define NEURAL(kernel, mac)                         \
    "  write NE\n"                                  \
    "    KernelCfg PalettizedBits=8 " kernel "\n"   \
    "    MACCfg BinaryPoint=0x1c Bit20=1 " mac "\n" \
    "    PostScale PostScale=0x3c00\n"
#define RESULT                         \
    "  write TileDMADst\n"             \
    "    DMAConfig En=1 CacheHint=3\n" \
    "    Fmt FmtMode=1 Truncate=3 MemFmt=2 Interleave=1\n"

const char test_text_add[] = "descriptor\n"
                             "  EON=1 SrcLoc=1 DstLoc=1 RBase0=6 RBE0=1 RBase1=5 RBE1=1 WBase=4 WBE=1\n"
                             "  write KernelDMASrc\n" COMMON("    ChCfg InFmt=2 Src2InFmt=2 OutFmt=2\n"
                                                             "    GroupConvCfg NumGroups=1\n"
                                                             "    Cfg Sources=3 TaskType=3\n")
                                 SOURCE("    Src2DMAConfig CacheHint=2\n    Src2Fmt Truncate=3 MemFmt=2\n")
                                     L2("Source2ByDMA=1") PLANAR("Src2Mode=2") "  write NE\n" RESULT;

const char test_text_relu[] =
    "descriptor\n"
    "  EON=1 SrcLoc=1 DstLoc=1 RBase0=5 RBE0=1 WBase=4 WBE=1 ENE=1\n" KERNEL_DMA COMMON(
        "    ChCfg InFmt=2 OutFmt=2\n"
        "    GroupConvCfg NumGroups=1 UnicastEn=1 UnicastCin=1\n"
        "    Cfg Sources=1\n") SOURCE("    Src2DMAConfig CacheHint=2\n")
        L2("") "  write PE\n" NEURAL("", "OpMode=4 KernelMode=1 NonlinearMode=1") RESULT;

const char test_text_conv[] =
    "descriptor\n"
    "  EON=1 SrcLoc=1 DstLoc=1 RBase0=5 RBE0=1 WBase=4 WBE=1 KBase0=1 KBE0=1\n" KERNEL_DMA COMMON(
        "    ChCfg InFmt=2 OutFmt=2\n"
        "    GroupConvCfg NumGroups=1 UnicastCin=1\n"
        "    Cfg Sources=1 SmallSourceMode=1\n") SOURCE("    Src2DMAConfig CacheHint=2\n")
        L2("") "  write PE\n" NEURAL("KernelFmt=2", "") RESULT;

void test_assemble(struct test_program *program, const char *format, ...)
{
    static _Thread_local char text[64 << 10];
    struct pr_assembly assembly;
    struct pr_problem problem;
    va_list args;

    memset(program, 0, sizeof(*program));
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (!pr_assemble(text, strlen(text), program->bytes, sizeof(program->bytes), &assembly, &problem))
        fail_msg("%s", problem.text);
    assert_true(assembly.size <= sizeof(program->bytes));
    program->size = (uint32_t)assembly.size;
    program->first_words = assembly.first_words;
    program->count = assembly.descriptors;
}

struct pr_hwx_port test_program_port(const char *name, enum pr_hwx_direction direction, uint32_t bar,
                                     uint32_t element, const struct td_shape *shape)
{
    uint32_t bytes = element == PR_HWX_ELEMENT_FLOAT16 ? 2 : 1, row = (bytes * shape->w + 63) / 64 * 64;
    uint32_t tensor = row * shape->h * shape->c;
    struct pr_hwx_port port = {.direction = direction,
                               .bar = bar,
                               .bytes = (uint64_t)shape->n * tensor,
                               .element = element,
                               .n = shape->n,
                               .c = shape->c,
                               .h = shape->h,
                               .w = shape->w,
                               .d = 1,
                               .batch_stride = tensor,
                               .plane_stride = row * shape->h,
                               .row_stride = row,
                               .element_stride = bytes};

    assert_true(strlen(name) < sizeof(port.name));
    strcpy(port.name, name);
    return port;
}

size_t test_program_image(const struct test_program *program, const struct pr_hwx_program *rest,
                          uint8_t *bytes, size_t capacity)
{
    struct pr_hwx_program image = *rest;
    size_t size;

    image.text = program->bytes;
    image.text_bytes = program->size;
    image.td_count = program->count;
    image.first_td_words = program->first_words;
    size = pr_hwx_write(&image, bytes, capacity);
    assert_true(size > 0 && size <= capacity);
    return size;
}

struct td_shape test_conv_out(const struct test_conv *c)
{
    return (struct td_shape){1, c->cout, c->h + 2 * c->pad + 1 - c->k, c->w + 2 * c->pad + 1 - c->k};
}

/* Bytes of one plane: an optional bias row and a row per tap, `lanes` halfwords each. */
static uint32_t plane(const struct test_conv *c, uint32_t lanes)
{
    return (c->cin * c->k * c->k + (c->bias ? 1 : 0)) * lanes * 2;
}

/* Channel by channel along the published rule, pass after pass: no formula shared with the engine. */
static void locate(const struct test_conv *c, uint32_t o, uint32_t *engine, uint32_t *offset, uint32_t *lane,
                   uint32_t *lanes)
{
    uint32_t engines = 1u << c->engines_log2, first = 0;

    *lanes = 1u << c->lanes_log2;
    *offset = 0;
    for (;;) {
        while (*lanes > 1 && *lanes * engines > c->cout - first)
            *lanes /= 2;
        for (uint32_t e = 0; e < engines; e++)
            for (uint32_t l = 0; l < *lanes; l++)
                if (first + e * *lanes + l == o) {
                    *engine = e;
                    *lane = l;
                    return;
                }
        first += engines * *lanes;
        *offset += plane(c, *lanes);
    }
}

static uint32_t chunk(const struct test_conv *c)
{
    uint32_t most = 0, engine, offset, lane, lanes;

    for (uint32_t o = 0; o < c->cout; o++) {
        locate(c, o, &engine, &offset, &lane, &lanes);
        if (offset + plane(c, lanes) > most)
            most = offset + plane(c, lanes);
    }
    return (most + 63) / 64 * 64;
}

uint32_t test_conv_kernel_bytes(const struct test_conv *c)
{
    return chunk(c) << c->engines_log2;
}

static uint32_t row(const struct test_conv *c, uint32_t o, uint32_t r)
{
    uint32_t engine, offset, lane, lanes;

    locate(c, o, &engine, &offset, &lane, &lanes);
    return engine * chunk(c) + offset + (r * lanes + lane) * 2;
}

uint32_t test_conv_weight(const struct test_conv *c, uint32_t o, uint32_t i, uint32_t ky, uint32_t kx)
{
    return row(c, o, (c->bias ? 1 : 0) + (i * c->k + ky) * c->k + kx);
}

uint32_t test_conv_bias(const struct test_conv *c, uint32_t o)
{
    return row(c, o, 0);
}

void test_program_conv(struct test_program *program, const struct test_conv *c)
{
    struct td_shape in = {1, c->cin, c->h, c->w}, out = test_conv_out(c);
    uint8_t *td = program->bytes;

    test_assemble(program, "%s", test_text_conv);
    td_set(td, TD_IN_DIM, in.h << 16 | in.w);
    td_set(td, TD_OUT_DIM, out.h << 16 | out.w);
    td_set(td, TD_CIN, c->cin);
    td_set(td, TD_COUT, c->cout);
    td_set_strides(td, TD_SRC_ROW, &in);
    td_set_strides(td, TD_DST_ROW, &out);
    td_set(td, TD_CONV,
           c->k | c->k << 5 | c->lanes_log2 << 10 | 1 << 13 | 1 << 15 | c->pad << 17 | c->pad << 22 |
               0x50000000u);
    td_set(td, TD_CFG, td_get(td, TD_CFG) | c->engines_log2 << 19);
    td_set(td, TD_W8, td_get(td, TD_W8) | (c->engines_log2 + 1) << 24);
    if (c->bias)
        td_set(td, TD_MAC_CFG, td_get(td, TD_MAC_CFG) | 1 << 4);
    for (uint32_t e = 0; e < 1u << c->engines_log2; e++) {
        td_set(td, 0x34 + 4 * e, 0x81);
        td_set(td, 0x74 + 4 * e, e * chunk(c));
        td_set(td, 0xb4 + 4 * e, chunk(c));
    }
}
