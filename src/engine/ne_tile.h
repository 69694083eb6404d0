/* SPDX-License-Identifier: Apache-2.0 */
/* A multiply-accumulate task in tiles: what ne_tile.c computes with and ne_tile_input.c fills. */
#ifndef ENGINE_NE_TILE_H
#define ENGINE_NE_TILE_H

#include "engine/ne_panel.h"

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
    bool strips;                      /* whole vectors of outputs of a line are computed as strips */
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
    size_t stage_row; /* bytes of a channel's line where several tiles or a strip make it, else 0 */
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

/* A group's step, and the tile that is being computed. */
struct eng_tile_step {
    const struct eng_tile_plan *m;
    const struct eng_tile_block *b;
    uint32_t channel, count; /* the group, from the block's first channel on */
    unsigned vectors;
    uint32_t cin, channels;       /* input channels, from the chunk's first on */
    bool begin, end;              /* of the sums */
    bool careful;                 /* a weight is not finite, and taps may be on the padding */
    uint32_t x, y, columns, rows; /* the tile, in the block */
    float *acc;
    const struct eng_panel *next; /* the next group's, or NULL */
    uint8_t *row;                 /* destination of the group's first channel, for a line of several tiles */
};

/* The input of the present chunk. */
void eng_tile_load_input(const struct eng_tile_plan *m, const struct eng_tile_block *b);

/*
 * Stores of a tile's sums: into the destination, where its channels or columns are packed; to `to` in bytes
 * of packed columns, channels `channel` apart, with `tail` bytes of zeros; into any destination.
 */
void eng_tile_store(const struct eng_tile_step *s);
void eng_tile_store_to(const struct eng_tile_step *s, uint8_t *to, size_t channel, size_t tail);
void eng_tile_store_pixels(const struct eng_tile_step *s);
/* Where the destination's rows are packed: the place of the block's column 0 of row s->y. */
uint8_t *eng_tile_row(const struct eng_tile_step *s);
/* Brings the part of a row that a tile will be stored to. */
void eng_tile_prefetch(const struct eng_tile_step *s);
/* Rows of the block from s->row on, out of the stage, and the zeros after them. */
void eng_tile_store_rows(const struct eng_tile_step *s, uint32_t rows);
void eng_tile_zero_tails(const struct eng_tile_step *s);

#endif
