/* SPDX-License-Identifier: Apache-2.0 */
/* A multiply-accumulate task in tiles: what ne_tile.c computes with and ne_tile_input.c fills. */
#ifndef ENGINE_NE_TILE_H
#define ENGINE_NE_TILE_H

#include "engine/ne.h"

#define ENG_TILE_LINES 16u /* that are converted before their columns are sorted by phase */

/*
 * A task and how it is cut: into blocks of output channels, rows and columns, the input channels of a block
 * into chunks whose input is converted at once, and a chunk into steps whose weights are a panel.
 */
struct eng_tile_plan {
    const struct eng_ne *ne;
    struct eng_mac_setup mac;
    uint32_t cin, hin, win, cout, hout, wout;
    /* A kernel of one tap without padding: the block's input is its pixels, row after row. */
    bool flat;
    bool padded;                      /* some tap of some output may be on the padding */
    uint32_t channels, rows, columns; /* of a block */
    uint32_t blocks[3];               /* along columns, rows, channels */
    uint32_t group;                   /* channels of a panel */
    uint32_t chunk, step;             /* input channels */
    /*
     * Input in floats: [channel][row][phase of the step][column]. A flat one has the rows and columns of the
     * output alone.
     */
    uint32_t in_rows;
    size_t in_phase, in_row, in_channel;
    size_t line_row;  /* of a line before its columns are sorted by phase, with what vectors read beyond */
    size_t stage_row; /* bytes of a channel's row where several tiles make a row of outputs, else 0 */
    size_t acc_floats, in_floats, line_floats, panel_floats, bias_floats, stage_floats, worker_floats;
    uint32_t *offset; /* of each tap of a step in the input */
    float *memory;
};

/* One block, and where its memory is. */
struct eng_tile_block {
    uint32_t c0, channels, y0, rows, x0, columns;
    uint32_t cin, chunk; /* input channels of the present chunk */
    float *acc, *in, *line, *panel, *bias;
    uint8_t *panel_fp16, *stage;
};

/* The input of the present chunk. */
void eng_tile_load_input(const struct eng_tile_plan *m, const struct eng_tile_block *b);

#endif
