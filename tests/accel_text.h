/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program of the Linux clients: y = a + b over [8, 1, 32] halves, channels 64 bytes apart: the values of
 * each tensor are one run of 256. y is in buffer 4, b in buffer 5, a in buffer 6.
 */
#ifndef TESTS_ACCEL_TEXT_H
#define TESTS_ACCEL_TEXT_H

static const char accel_text_add[] = "descriptor\n"
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

#endif
