/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The codes of descriptor fields: what the decoder reads, the expander writes and td_values.def names.
 * Sources are those of the fields, in td_regs.def; a code that is not here has no public meaning.
 */
#ifndef PROGRAM_TD_CODES_H
#define PROGRAM_TD_CODES_H

/* ChCfg, MemFmt and KernelFmt. */
enum { PR_CODE_U8 = 0, PR_CODE_I8 = 1, PR_CODE_FP16 = 2 };
/* DMAFmt of SourceCfg and ResultCfg. */
enum { PR_STAGING_8_BIT = 0, PR_STAGING_FP16 = 1 };
/* SourceType and ResultType. */
enum { PR_TYPE_RESIDENT = 0, PR_TYPE_KEPT = 1, PR_TYPE_STAGED = 2, PR_TYPE_STREAM = 3 };
/* TaskType, of the planar engine. */
enum {
    PR_TASK_ONE_SOURCE = 2,
    PR_TASK_TWO_SOURCES = 3,
    PR_TASK_AFFINE = 4,
    PR_TASK_REDUCTION = 5,
    PR_TASK_REDUCTION_OF_TWO = 6,
};
/* PECfg: Src2Mode, Cond, ReduceOp. */
enum { PR_SRC2_NONE = 0, PR_SRC2_ADDED = 2, PR_SRC2_SUBTRACTED = 3 };
enum {
    PR_COND_NONE = 0,
    PR_COND_ABS = 1,
    PR_COND_EQUAL = 2,
    PR_COND_GREATER = 3,
    PR_COND_GREATER_EQUAL = 4,
};
enum { PR_REDUCE_SUM = 0, PR_REDUCE_MAX = 2, PR_REDUCE_MIN = 3 };
/* MACCfg: OpMode, NonlinearMode. */
enum { PR_OP_MULTIPLY = 0, PR_OP_PRODUCT = 2, PR_OP_MAX = 3, PR_OP_BYPASS = 4 };
enum { PR_NL_NONE = 0, PR_NL_RELU = 1, PR_NL_TABLE = 2 };
/* Src1 and Src2 broadcast bits; a record has those of source 1 in its low bits, then those of source 2. */
enum {
    PR_BROADCAST_W = 1,
    PR_BROADCAST_H = 2,
    PR_BROADCAST_D = 4,
    PR_BROADCAST_C = 8,
    PR_BROADCAST_MASK = 0xf,
    PR_BROADCAST_SECOND_LO = 4,
};
/* L2Cfg: PaddingMode. */
enum { PR_PADDING_ZERO = 0, PR_PADDING_LOWEST = 1 };

#endif
