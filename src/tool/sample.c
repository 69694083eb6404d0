/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/sample.h"

#include <string.h>

#include "listing/assemble.h"
#include "program/hwx_write.h"
#include "tool/tool.h"

/* y = a + b over [1, 8, 1, 32] fp16: channels 64 bytes apart, a in buffer 6, b in buffer 5, y in buffer 4. */
static const char program[] = "descriptor\n"
                              "  EON=1 SPL=1 TSR=1 TSE=1 SrcLoc=1 DstLoc=1\n"
                              "  RBase0=6 RBE0=1 RBase1=5 RBE1=1 WBase=4 WBE=1\n"
                              "  write Common\n"
                              "    InDim Win=32 Hin=1\n"
                              "    InDepth Din=1\n"
                              "    ChCfg InFmt=2 Src2InFmt=2 OutFmt=2\n"
                              "    Cin Cin=8\n"
                              "    Cout Cout=8\n"
                              "    OutDim Wout=32 Hout=1\n"
                              "    OutDepth Dout=1\n"
                              "    GroupConvCfg NumGroups=1\n"
                              "    Cfg Sources=3 TaskType=3\n"
                              "  write TileDMASrc\n"
                              "    DMAConfig En=1\n"
                              "    RowStride 64\n"
                              "    PlaneStride 64\n"
                              "    Src2RowStride 64\n"
                              "    Src2PlaneStride 64\n"
                              "    Fmt FmtMode=1 Truncate=3 MemFmt=2 Interleave=1\n"
                              "    Src2Fmt Truncate=3 MemFmt=2\n"
                              "  write L2\n"
                              "    SourceCfg SourceType=2 DMAFmt=1 DMAInterleave=1 Source2ByDMA=1\n"
                              "    ResultCfg ResultType=2 DMAFmt=1 DMAInterleave=1\n"
                              "  write PE\n"
                              "    PECfg Src2Mode=2\n"
                              "    BiasScale Scale=0x3c00\n"
                              "    PreScale PreScale=0x3c00\n"
                              "    FinalScale 0x3f800000\n"
                              "  write TileDMADst\n"
                              "    DMAConfig En=1\n"
                              "    RowStride 64\n"
                              "    PlaneStride 64\n"
                              "    Fmt FmtMode=1 Truncate=3 MemFmt=2 Interleave=1\n";

uint32_t tool_sample_text(uint8_t *bytes, size_t capacity)
{
    struct pr_assembly assembly;
    struct pr_problem problem;

    if (pr_assemble(program, sizeof(program) - 1, bytes, capacity, &assembly, &problem))
        return assembly.first_words;
    tool_say("%s", problem.text);
    return 0;
}

static struct pr_hwx_port port(const char *name, enum pr_hwx_direction direction, uint32_t bar)
{
    struct pr_hwx_port p = {
        .direction = direction,
        .bar = bar,
        .bytes = TOOL_SAMPLE_BYTES,
        .element = PR_HWX_ELEMENT_FLOAT16,
        .n = 1,
        .c = TOOL_SAMPLE_CHANNELS,
        .h = 1,
        .w = TOOL_SAMPLE_WIDTH,
        .d = 1,
        .batch_stride = TOOL_SAMPLE_BYTES,
        .plane_stride = 64,
        .row_stride = 64,
        .element_stride = 2,
    };

    memcpy(p.name, name, strlen(name) + 1);
    return p;
}

size_t tool_sample_image(uint8_t *bytes, size_t capacity)
{
    static uint8_t text[4 * PR_TD_WORDS_MAX];
    struct pr_hwx_port ports[3] = {port("b", PR_HWX_INPUT, 5), port("a", PR_HWX_INPUT, 6),
                                   port("y", PR_HWX_OUTPUT, 4)};
    struct pr_hwx_program image = {.port_count = 3, .port = ports, .td_count = 1, .text = text};

    image.first_td_words = tool_sample_text(text, sizeof(text));
    image.text_bytes = 4 * image.first_td_words;
    return image.first_td_words ? pr_hwx_write(&image, bytes, capacity) : 0;
}
