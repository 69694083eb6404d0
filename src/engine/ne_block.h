/* SPDX-License-Identifier: Apache-2.0 */
/* One block of a multiply-accumulate task: what ne_fast.c computes with and ne_block.c fills. */
#ifndef ENGINE_NE_BLOCK_H
#define ENGINE_NE_BLOCK_H

#include "engine/ne.h"

/* A task and how it is cut. */
struct eng_mac_plan {
    const struct eng_ne *ne;
    struct eng_mac_setup mac;
    uint32_t cin, hin, win, cout, hout, wout;
    uint32_t channels, rows, columns; /* of a block */
    uint32_t step;                    /* input channels */
    uint32_t in_rows, in_columns;     /* of a block's input, the latter with what vectors read beyond */
    uint32_t blocks[3];               /* along columns, rows, channels */
    uint32_t group;                   /* channels of a panel */
    size_t acc_row, acc_floats, in_floats, panel_floats, worker_floats;
    float *memory;
};

/* One block, and where its memory is. */
struct eng_block {
    uint32_t c0, channels, y0, rows, x0, columns;
    int64_t ix; /* input column of the first one in memory; those outside the input are zeros */
    uint32_t iy, iy_end;
    uint32_t cin, step; /* input channels of the present step */
    float *acc, *in, *panel, *bias;
    uint8_t *panel_fp16; /* the panel before its conversion to floats */
};

/* Input rows of the present step, as fp32. */
void eng_block_load_input(const struct eng_mac_plan *m, const struct eng_block *b);

#endif
