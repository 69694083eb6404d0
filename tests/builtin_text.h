/* SPDX-License-Identifier: Apache-2.0 */
/* The assembler's text of the built-in network `copy`, whose words src/firmware/builtin.c has. */
#ifndef TESTS_BUILTIN_TEXT_H
#define TESTS_BUILTIN_TEXT_H

static const char builtin_text_copy[] =
    "descriptor\n"
    "  EON=1 SrcLoc=1 DstLoc=1 RBase0=5 RBE0=1 WBase=4 WBE=1 ENE=1\n"
    "  write KernelDMASrc\n"
    "    CoeffDMAConfig[0-15] CacheHint=2\n"
    "    CoeffBfrSize[0-15] 0x40\n"
    "  write Common\n"
    "    InDim Win=32 Hin=1\n"
    "    InDepth Din=1\n"
    "    Cin Cin=1\n"
    "    Cout Cout=1\n"
    "    OutDim Wout=32 Hout=1\n"
    "    OutDepth Dout=1\n"
    "    ConvCfg Kw=1 Kh=1 Sx=1 Sy=1 Ox=1 Oy=1\n"
    "    ConvCfg3D Kd=1 Sz=1 Oz=1\n"
    "    ChCfg InFmt=2 OutFmt=2\n"
    "    GroupConvCfg NumGroups=1 UnicastEn=1 UnicastCin=1\n"
    "    Cfg Sources=1\n"
    "  write TileDMASrc\n"
    "    DMAConfig En=1 CacheHint=2\n"
    "    RowStride 0x40\n"
    "    PlaneStride 0x40\n"
    "    DepthStride 0x40\n"
    "    GroupStride 0x40\n"
    "    Fmt FmtMode=1 Truncate=3 MemFmt=2 Interleave=1\n"
    "    Src2DMAConfig CacheHint=2\n"
    "  write L2\n"
    "    SourceCfg SourceType=2 DMAFmt=1 DMAInterleave=1\n"
    "    ResultCfg ResultType=2 DMAFmt=1 DMAInterleave=1\n"
    "  write PE\n"
    "  write NE\n"
    "    KernelCfg PalettizedBits=8\n"
    "    MACCfg BinaryPoint=0x1c Bit20=1 OpMode=4 KernelMode=1 NonlinearMode=0\n"
    "    PostScale PostScale=0x3c00\n"
    "  write TileDMADst\n"
    "    DMAConfig En=1 CacheHint=3\n"
    "    RowStride 0x40\n"
    "    PlaneStride 0x40\n"
    "    DepthStride 0x40\n"
    "    GroupStride 0x40\n"
    "    Fmt FmtMode=1 Truncate=3 MemFmt=2 Interleave=1\n";

#endif
