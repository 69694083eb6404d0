/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors cut into lines. Every element is on exactly one line, and the cut depends on extents and strides
 * alone, never on the number of threads.
 */
#include "engine/lines.h"

#include <string.h>

enum {
    NARROW = 16,     /* rows shorter than this are not worth a line of their own */
    PIECE_LOG2 = 15, /* elements that are worth handing to another thread */
};

/*
 * Whether a step along `outer` is the step that follows the last one along `inner`, so that both are one
 * axis. A row that has a tail keeps its length, and interleaved elements are not at equal distances.
 */
static bool axes_join(struct eng_view *const views[], unsigned count, unsigned inner, unsigned outer)
{
    const uint32_t *extent = views[0]->extent;

    /*
     * An axis of length 1 absorbs only a higher one; otherwise two of them would move a third to and fro for
     * ever.
     */
    if (inner == outer || extent[outer] == 1 || (extent[inner] == 1 && inner > outer) ||
        (uint64_t)extent[inner] * extent[outer] > INT32_MAX)
        return false;
    for (unsigned i = 0; i < count; i++) {
        if (views[i]->tail && (inner == PR_AXIS_W || outer == PR_AXIS_W))
            return false;
        if (views[i]->interleave > 1 && (inner == views[i]->bundled || outer == views[i]->bundled))
            return false;
        if ((uint64_t)views[i]->stride[inner] * extent[inner] != views[i]->stride[outer])
            return false;
    }
    return true;
}

static bool join_any(struct eng_view *const views[], unsigned count)
{
    for (unsigned inner = 0; inner < PR_AXES; inner++) {
        for (unsigned outer = 0; outer < PR_AXES; outer++) {
            if (!axes_join(views, count, inner, outer))
                continue;
            for (unsigned i = 0; i < count; i++) {
                views[i]->extent[inner] *= views[i]->extent[outer];
                views[i]->extent[outer] = 1;
            }
            return true;
        }
    }
    return false;
}

/* Along rows, unless they are narrow, and then along the longest axis. */
static enum pr_axis best_axis(const uint32_t extent[PR_AXES])
{
    enum pr_axis longest = PR_AXIS_W;

    for (unsigned axis = 0; axis < PR_AXES; axis++)
        if (extent[axis] > extent[longest])
            longest = (enum pr_axis)axis;
    return extent[PR_AXIS_W] >= NARROW ? PR_AXIS_W : longest;
}

void eng_lines_cut(struct eng_lines *lines, struct eng_view *const views[], unsigned count)
{
    uint32_t length;

    while (join_any(views, count))
        ;
    memcpy(lines->extent, views[0]->extent, sizeof(lines->extent));
    lines->axis = best_axis(lines->extent);
    lines->step = 1u << PIECE_LOG2;
    for (unsigned i = 0; i < count; i++)
        if (!eng_view_is_packed(views[i], lines->axis))
            lines->step = ENG_LINE_MAX;
    length = lines->extent[lines->axis];
    lines->lines = (length + lines->step - 1) / lines->step;
    for (unsigned axis = 0; axis < PR_AXES; axis++)
        if (axis != lines->axis)
            lines->lines *= lines->extent[axis];
    lines->per_piece = (1u << PIECE_LOG2) / (length < lines->step ? length : lines->step);
    if (lines->per_piece == 0)
        lines->per_piece = 1;
}

size_t eng_lines_pieces(const struct eng_lines *lines)
{
    return (lines->lines + lines->per_piece - 1) / lines->per_piece;
}

static void set_length(const struct eng_lines *lines, struct eng_line *line)
{
    uint32_t left = lines->extent[lines->axis] - line->index[lines->axis];

    line->n = left < lines->step ? left : lines->step;
}

uint64_t eng_lines_first(const struct eng_lines *lines, size_t piece, struct eng_line *line)
{
    uint64_t first = (uint64_t)piece * lines->per_piece, left = lines->lines - first, number = first;
    uint32_t per_row = (lines->extent[lines->axis] + lines->step - 1) / lines->step;

    line->axis = lines->axis;
    line->index[lines->axis] = (uint32_t)(number % per_row) * lines->step;
    number /= per_row;
    for (unsigned axis = 0; axis < PR_AXES; axis++) {
        if (axis == lines->axis)
            continue;
        line->index[axis] = (uint32_t)(number % lines->extent[axis]);
        number /= lines->extent[axis];
    }
    set_length(lines, line);
    return left < lines->per_piece ? left : lines->per_piece;
}

void eng_lines_next(const struct eng_lines *lines, struct eng_line *line)
{
    line->index[lines->axis] += line->n;
    if (line->index[lines->axis] == lines->extent[lines->axis]) {
        line->index[lines->axis] = 0;
        for (unsigned axis = 0; axis < PR_AXES; axis++) {
            if (axis == lines->axis)
                continue;
            if (++line->index[axis] < lines->extent[axis])
                break;
            line->index[axis] = 0;
        }
    }
    set_length(lines, line);
}
