/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All elements of plain tensors (fp16 in host memory, not interleaved) of equal extents, for tasks that treat
 * every element alike: cut into bands of rows that are distributed over the pieces of a pool's run.
 */
#ifndef ENGINE_GRID_H
#define ENGINE_GRID_H

#include "engine/kernels.h"
#include "engine/view.h"

/* The destination, then the lines from which it is made. */
#define ENG_GRID_VIEWS (1 + ENG_PE_LINES)
/* Elements of a source that are brought into rows at a time, when they are not in rows as they lie. */
#define ENG_GRID_TILE 4096u

/* Axes that all views walk as one are joined. Axis 0 is that of a row's elements, axis 1 that of rows. */
struct eng_grid {
    unsigned views, axes;
    uint8_t *base[ENG_GRID_VIEWS];
    uint32_t extent[PR_AXES + 1];
    uint32_t step[ENG_GRID_VIEWS][PR_AXES + 1]; /* bytes */
    uint32_t tail;                              /* bytes of zeros after each row */
    unsigned gathered;                          /* bit i: view i is not in rows */
    uint32_t n, rows;                           /* of a band, but for the last ones of their axes */
    uint64_t bands, per_piece;
    bool stream;           /* the result is too large for any cache */
    enum eng_turn_way way; /* of a grid that turns */
};

/* A band by its first element. */
struct eng_grid_place {
    uint32_t index[PR_AXES + 1];
};

/* Working memory of a piece: the rows of sources that are not in rows as they lie. */
struct eng_grid_tiles {
    uint8_t bytes[ENG_PE_LINES][2 * ENG_GRID_TILE];
};

/*
 * views[0] is the destination, which does not overlap itself. False when a view is not plain. Where a view
 * has fewer elements than the destination, its strides are 0.
 */
bool eng_grid_cut(struct eng_grid *grid, const struct eng_view *const views[], unsigned count);
size_t eng_grid_pieces(const struct eng_grid *grid);
/* The first band of a piece; returns how many there are. */
uint64_t eng_grid_first(const struct eng_grid *grid, size_t piece, struct eng_grid_place *place);
void eng_grid_next(const struct eng_grid *grid, struct eng_grid_place *place);
/* The band at a place, its sources brought into rows. */
void eng_grid_band(const struct eng_grid *grid, const struct eng_grid_place *place, struct eng_band *band,
                   struct eng_grid_tiles *tiles);
/*
 * For a task that copies: whether the result's rows are the source's columns. If so, bands are cut anew, and
 * the other function gives the one at a place.
 */
bool eng_grid_turn(struct eng_grid *grid);
void eng_grid_turned(const struct eng_grid *grid, const struct eng_grid_place *place, struct eng_turn *turn);
/* Copies a tensor to another of the same extents, bits unchanged. False when one of them is not plain. */
bool eng_grid_copy(const struct eng_view *from, const struct eng_view *to);

#endif
