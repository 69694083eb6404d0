/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs whose surfaces hold bytes, made by hand: tasks that copy one surface to another,
 * with or without ReLU, in the form that the public facts give for tasks with 8-bit
 * operands. Written as images and as .anec files.
 */
#ifndef TESTS_BYTES_PROGRAM_H
#define TESTS_BYTES_PROGRAM_H

#include "support.h"

#include <stdio.h>
#include <string.h>

#include "anec_file.h"
#include "programs.h"

/* The codes of ChCfg and MemFmt. */
enum { CODE_U8 = 0, CODE_I8 = 1, CODE_FP16 = 2 };

struct surface {
    uint32_t bar, code, n, c, h, w;
};

static inline uint32_t surface_element(const struct surface *s)
{
    return s->code == CODE_FP16 ? 2 : 1;
}

static inline uint32_t surface_row(const struct surface *s)
{
    return (surface_element(s) * s->w + 63) / 64 * 64;
}

static inline uint32_t surface_plane(const struct surface *s)
{
    return surface_row(s) * s->h;
}

static inline uint32_t surface_tensor(const struct surface *s)
{
    return surface_plane(s) * s->c;
}

static inline size_t surface_count(const struct surface *s)
{
    return (size_t)s->n * s->c * s->h * s->w;
}

/* The text of a task to = from, or to = relu(from); every one but the last of a chain needs `more`. */
static inline const char *copy_text(char text[4096], const struct surface *from, const struct surface *to,
                                    bool relu, bool more)
{
    bool bytes = from->code != CODE_FP16 || to->code != CODE_FP16;

    snprintf(text, 4096,
             "descriptor\n"
             "  EON=1 SrcLoc=1 DstLoc=1 RBase0=%u RBE0=1 WBase=%u WBE=1 ENE=1 TBE=%u\n"
             "  write KernelDMASrc\n"
             "    CoeffDMAConfig[0-15] CacheHint=2\n"
             "  write Common\n"
             "    InDim Win=%u Hin=%u\n"
             "    InDepth Din=1\n"
             "    ChCfg InFmt=%u OutFmt=%u\n"
             "    Cin Cin=%u\n"
             "    Cout Cout=%u\n"
             "    OutDim Wout=%u Hout=%u\n"
             "    OutDepth Dout=1\n"
             "    ConvCfg Kw=1 Kh=1 Sx=1 Sy=1 Ox=1 Oy=1\n"
             "    ConvCfg3D Kd=1 Sz=1 Oz=1\n"
             "    GroupConvCfg NumGroups=%u UnicastEn=1 UnicastCin=1\n"
             "    TileCfg TileHeight=1\n"
             "    Cfg Sources=1\n"
             "  write TileDMASrc\n"
             "    DMAConfig En=1 CacheHint=2\n"
             "    RowStride %u\n    PlaneStride %u\n    DepthStride %u\n    GroupStride %u\n"
             "    Fmt FmtMode=%u MemFmt=%u Interleave=1\n"
             "  write L2\n"
             "    SourceCfg SourceType=2 DMAFmt=%u DMAInterleave=1\n"
             "    SourceChannelStride 0x100\n"
             "    ResultCfg ResultType=2 DMAFmt=%u DMAInterleave=1\n"
             "  write PE\n"
             "  write NE\n"
             "    KernelCfg PalettizedBits=8\n"
             "    MACCfg BinaryPoint=%u Bit20=1 OpMode=4 KernelMode=1 NonlinearMode=%u\n"
             "    PostScale PostScale=0x3c00\n"
             "  write TileDMADst\n"
             "    DMAConfig En=1 CacheHint=3\n"
             "    RowStride %u\n    PlaneStride %u\n    DepthStride %u\n    GroupStride %u\n"
             "    Fmt FmtMode=%u MemFmt=%u Interleave=1\n",
             from->bar, to->bar, more, from->w, from->h, from->code, to->code, from->c, to->c, to->w, to->h,
             to->n, surface_row(from), surface_plane(from), surface_tensor(from), surface_tensor(from),
             from->code == CODE_FP16, from->code, from->code == CODE_FP16, to->code == CODE_FP16,
             bytes ? 0 : 0x1c, relu, surface_row(to), surface_plane(to), surface_tensor(to),
             surface_tensor(to), to->code == CODE_FP16, to->code);
    return text;
}

static inline struct pr_hwx_port surface_port(const char *name, enum pr_hwx_direction direction,
                                              const struct surface *s)
{
    static const uint32_t elements[] = {PR_HWX_ELEMENT_UINT8, PR_HWX_ELEMENT_INT8, PR_HWX_ELEMENT_FLOAT16};
    const struct td_shape shape = {s->n, s->c, s->h, s->w};

    return test_program_port(name, direction, s->bar, elements[s->code], &shape);
}

/* The image of a program without constants; its size. */
static inline size_t bytes_image(uint8_t *bytes, size_t capacity, const struct test_program *program,
                                 const struct pr_hwx_port *ports, uint32_t count, uint32_t scratch)
{
    const struct pr_hwx_program rest = {.intermediate_bytes = scratch, .port_count = count, .port = ports};

    return test_program_image(program, &rest, bytes, capacity);
}

static inline void bytes_anec_surface(struct anec_file *file, bool output, const struct surface *s)
{
    const uint64_t nchw[6] = {s->n, s->c, s->h, s->w, surface_plane(s), surface_row(s)};
    uint32_t count = output ? ANEC_DST_COUNT : ANEC_SRC_COUNT;

    anec_put32(file, count, pr_le32(file->bytes + count) + 1);
    anec_put32(file, ANEC_TILES + 4 * s->bar, (s->n * surface_tensor(s) + 0x3fff) / 0x4000);
    for (unsigned i = 0; i < 6; i++)
        anec_put64(file, ANEC_NCHW + 48 * s->bar + 8 * i, nchw[i]);
}

/* One copy as an .anec. */
static inline void bytes_anec(struct anec_file *file, uint32_t content, const struct surface *from,
                              const struct surface *to, bool relu)
{
    static struct test_program program;
    char text[4096];

    test_assemble(&program, "%s", copy_text(text, from, to, relu, false));
    anec_begin(file, content, program.bytes, program.size, 4 * program.first_words, 1, NULL, 0);
    bytes_anec_surface(file, false, from);
    bytes_anec_surface(file, true, to);
}

/* Elements by value. */
static inline int surface_get(const struct surface *s, const void *data, size_t index)
{
    uint16_t half;

    if (s->code == CODE_U8)
        return ((const uint8_t *)data)[index];
    if (s->code == CODE_I8)
        return ((const int8_t *)data)[index];
    memcpy(&half, (const uint8_t *)data + 2 * index, 2);
    return (int)test_half_to_double(half);
}

static inline void surface_put(const struct surface *s, void *data, size_t index, int value)
{
    uint16_t half = test_half_from_double((double)value);

    if (s->code == CODE_FP16)
        memcpy((uint8_t *)data + 2 * index, &half, 2);
    else
        ((uint8_t *)data)[index] = (uint8_t)value;
}

#endif
