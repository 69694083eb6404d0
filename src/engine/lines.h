/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All elements of some tensors of equal extents, cut into lines that are distributed over the pieces of a
 * pool's run, for tasks that treat every element alike: for tensors that grid.h does not take.
 */
#ifndef ENGINE_LINES_H
#define ENGINE_LINES_H

#include "engine/view.h"

struct eng_lines {
    uint32_t extent[PR_AXES];
    enum pr_axis axis; /* lines run along it */
    uint32_t step;     /* elements in a line, but for the last of its row */
    uint64_t lines;
    uint64_t per_piece; /* lines in a piece */
};

/*
 * Joins neighbouring axes that all views walk as one, so that lines get long; the views are changed
 * accordingly.
 */
void eng_lines_cut(struct eng_lines *lines, struct eng_view *const views[], unsigned count);
size_t eng_lines_pieces(const struct eng_lines *lines);
/* The first line of a piece; returns how many there are. */
uint64_t eng_lines_first(const struct eng_lines *lines, size_t piece, struct eng_line *line);
void eng_lines_next(const struct eng_lines *lines, struct eng_line *line);

#endif
