/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plain tensors cut into bands. Every element is in exactly one band, and the cut depends on extents and
 * strides alone, never on the number of threads. The axis of the destination's smallest stride is that of the
 * rows' elements: where it is packed, rows are stored as they lie; else a row is one element.
 */
#include "engine/grid.h"

#include <string.h>

enum {
    HALF = 2,
    PIECE = 1 << 15, /* elements that are worth handing to another thread */
    MANY_ROWS = 16,  /* rows that are worth a call */
    TILE_ROWS = 32,
    TURN_ROWS = 1024,  /* most elements of a result's row that are copied at a time */
    TURN_COLUMNS = 32, /* fewest rows of the result */
    NEAR = 3 << 17,    /* elements that are near, source and result together with 1.5 MiB */
    STREAM = 1 << 22,  /* elements of a result that no later task finds in a cache */
    CROWDED = 2048,    /* bytes between rows that meet in few places of the nearest cache */
};

/* Axes of more than one element in rising order of the destination's strides; with tails, rows come first. */
static unsigned sort_axes(const struct eng_view *dst, unsigned order[PR_AXES])
{
    unsigned count = 0;

    for (unsigned axis = 0; axis < PR_AXES; axis++) {
        unsigned at = count;

        if (dst->extent[axis] == 1 && !(axis == PR_AXIS_W && dst->tail))
            continue;
        for (; at > (dst->tail ? 1 : 0) && dst->stride[order[at - 1]] > dst->stride[axis]; at--)
            order[at] = order[at - 1];
        order[at] = axis;
        count++;
    }
    return count;
}

static void set_axis(struct eng_grid *grid, unsigned axis, uint32_t extent, uint32_t step)
{
    grid->extent[axis] = extent;
    for (unsigned view = 0; view < grid->views; view++)
        grid->step[view][axis] = step;
}

/* Whether a step along the view's axis is the step that follows the last one along the grid's newest axis. */
static bool axis_joins(const struct eng_grid *grid, const struct eng_view *const views[], unsigned axis)
{
    unsigned last = grid->axes - 1;
    uint64_t extent = grid->extent[last];

    if (extent * views[0]->extent[axis] > INT32_MAX || (views[0]->tail && last == 0))
        return false;
    for (unsigned view = 0; view < grid->views; view++)
        if (grid->step[view][last] * extent != views[view]->stride[axis])
            return false;
    return true;
}

static void add_axis(struct eng_grid *grid, const struct eng_view *const views[], unsigned axis)
{
    uint32_t extent = views[0]->extent[axis];

    /* Rows of one element, where the destination has no packed axis. */
    if (grid->axes == 0 && views[0]->stride[axis] != HALF)
        set_axis(grid, grid->axes++, 1, HALF);
    if (grid->axes > 0 && axis_joins(grid, views, axis)) {
        grid->extent[grid->axes - 1] *= extent;
        return;
    }
    set_axis(grid, grid->axes, extent, HALF);
    for (unsigned view = 0; extent > 1 && view < grid->views; view++)
        grid->step[view][grid->axes] = views[view]->stride[axis];
    grid->axes++;
}

static void swap_axes(struct eng_grid *grid, unsigned a, unsigned b)
{
    uint32_t extent = grid->extent[a];

    grid->extent[a] = grid->extent[b];
    grid->extent[b] = extent;
    for (unsigned view = 0; view < grid->views; view++) {
        uint32_t step = grid->step[view][a];

        grid->step[view][a] = grid->step[view][b];
        grid->step[view][b] = step;
    }
}

/* The axis along which most elements of a gathered view are side by side, or 0. */
static unsigned packed_axis(const struct eng_grid *grid)
{
    for (unsigned view = 1; view < grid->views; view++)
        for (unsigned axis = 1; grid->gathered >> view & 1 && axis < grid->axes; axis++)
            if (grid->step[view][axis] == HALF && grid->extent[axis] > 1)
                return axis;
    return 0;
}

/* Of many rows near each other, if there are such; else of most rows. */
static unsigned best_rows(const struct eng_grid *grid)
{
    unsigned best = packed_axis(grid);

    for (unsigned axis = 1; !best && axis < grid->axes; axis++)
        if (grid->extent[axis] >= MANY_ROWS)
            best = axis;
    if (best)
        return best;
    best = 1;
    for (unsigned axis = 2; axis < grid->axes; axis++)
        if (grid->extent[axis] > grid->extent[best])
            best = axis;
    return best;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t parts(uint32_t whole, uint32_t part)
{
    return (whole + part - 1) / part;
}

/* Of bands of n elements and `rows` rows. */
static void count_bands(struct eng_grid *grid)
{
    grid->bands = (uint64_t)parts(grid->extent[0], grid->n) * parts(grid->extent[1], grid->rows);
    for (unsigned axis = 2; axis < grid->axes; axis++)
        grid->bands *= grid->extent[axis];
    grid->per_piece = grid->bands == 1 ? 1 : PIECE / (grid->n * grid->rows);
}

static uint64_t elements_of(const struct eng_grid *grid)
{
    uint64_t elements = 1;

    for (unsigned axis = 0; axis < grid->axes; axis++)
        elements *= grid->extent[axis];
    return elements;
}

static void set_bands(struct eng_grid *grid)
{
    uint32_t most = grid->gathered ? ENG_GRID_TILE : PIECE;

    grid->rows = smaller(grid->extent[1], grid->gathered ? TILE_ROWS : PIECE);
    grid->n = smaller(grid->extent[0], grid->gathered ? most / grid->rows : most);
    if (!grid->gathered)
        grid->rows = smaller(grid->rows, most / grid->n);
    count_bands(grid);
}

bool eng_grid_cut(struct eng_grid *grid, const struct eng_view *const views[], unsigned count)
{
    unsigned order[PR_AXES], axes;

    grid->views = count;
    grid->axes = grid->gathered = 0;
    grid->tail = views[0]->tail - views[0]->tail_begin;
    for (unsigned view = 0; view < count; view++) {
        if (!eng_view_is_plain(views[view]))
            return false;
        grid->base[view] = views[view]->host;
    }
    axes = sort_axes(views[0], order);
    for (unsigned i = 0; i < axes; i++)
        add_axis(grid, views, order[i]);
    while (grid->axes < 2)
        set_axis(grid, grid->axes++, 1, HALF);
    for (unsigned view = 1; view < count; view++)
        if (grid->extent[0] > 1 && grid->step[view][0] != 0 && grid->step[view][0] != HALF)
            grid->gathered |= 1u << view;
    if (grid->axes > 2)
        swap_axes(grid, 1, best_rows(grid));
    grid->stream = elements_of(grid) >= STREAM;
    set_bands(grid);
    return true;
}

size_t eng_grid_pieces(const struct eng_grid *grid)
{
    return (grid->bands + grid->per_piece - 1) / grid->per_piece;
}

uint64_t eng_grid_first(const struct eng_grid *grid, size_t piece, struct eng_grid_place *place)
{
    uint64_t number = (uint64_t)piece * grid->per_piece, left = grid->bands - number;
    uint32_t count[2] = {parts(grid->extent[0], grid->n), parts(grid->extent[1], grid->rows)};

    memset(place, 0, sizeof(*place));
    if (number) {
        place->index[0] = (uint32_t)(number % count[0]) * grid->n;
        number /= count[0];
        place->index[1] = (uint32_t)(number % count[1]) * grid->rows;
        number /= count[1];
        for (unsigned axis = 2; axis < grid->axes; axis++) {
            place->index[axis] = (uint32_t)(number % grid->extent[axis]);
            number /= grid->extent[axis];
        }
    }
    return left < grid->per_piece ? left : grid->per_piece;
}

void eng_grid_next(const struct eng_grid *grid, struct eng_grid_place *place)
{
    for (unsigned axis = 0; axis < grid->axes; axis++) {
        place->index[axis] += axis == 0 ? grid->n : axis == 1 ? grid->rows : 1;
        if (place->index[axis] < grid->extent[axis])
            return;
        place->index[axis] = 0;
    }
}

static uint8_t *address(const struct eng_grid *grid, unsigned view, const struct eng_grid_place *place)
{
    uint8_t *at = grid->base[view];

    for (unsigned axis = 0; axis < grid->axes; axis++)
        at += (size_t)place->index[axis] * grid->step[view][axis];
    return at;
}

/* A source whose elements are not side by side along the rows is brought into rows. */
static void gather(const struct eng_grid *grid, unsigned view, const uint8_t *from, struct eng_band *band,
                   uint8_t *tile)
{
    const struct eng_kernels *kernels = eng_kernels_get();
    size_t row = grid->step[view][1], step = grid->step[view][0];

    band->in[view - 1] = (struct eng_band_source){.at = tile, .row = band->n * HALF};
    if (row == HALF) {
        kernels->transpose(from, step, tile, band->n * HALF, band->n, band->rows);
        return;
    }
    for (size_t r = 0; r < band->rows; r++)
        kernels->transpose(from + r * row, step, tile + r * band->n * HALF, band->n * HALF, band->n, 1);
}

void eng_grid_band(const struct eng_grid *grid, const struct eng_grid_place *place, struct eng_band *band,
                   struct eng_grid_tiles *tiles)
{
    uint32_t left = grid->extent[0] - place->index[0];

    band->n = smaller(left, grid->n);
    band->rows = smaller(grid->extent[1] - place->index[1], grid->rows);
    band->out = address(grid, 0, place);
    band->out_row = grid->step[0][1];
    band->tail = band->n == left ? grid->tail : 0;
    band->stream = grid->stream;
    for (unsigned view = 1; view < grid->views; view++) {
        const uint8_t *from = address(grid, view, place);

        if (grid->gathered >> view & 1)
            gather(grid, view, from, band, tiles->bytes[view - 1]);
        else
            band->in[view - 1] = (struct eng_band_source){
                .at = from, .row = grid->step[view][1], .one = grid->step[view][0] == 0};
    }
}

static enum eng_turn_way turn_way(const struct eng_grid *grid)
{
    uint64_t elements = elements_of(grid);

    if (elements <= NEAR && grid->step[1][0] % CROWDED)
        return ENG_TURN_NEAR;
    return elements < STREAM ? ENG_TURN_FAR : ENG_TURN_STREAM;
}

bool eng_grid_turn(struct eng_grid *grid)
{
    if (grid->views != 2 || !grid->gathered || grid->step[1][1] != HALF)
        return false;
    grid->way = turn_way(grid);
    grid->n = smaller(grid->extent[0], TURN_ROWS);
    grid->rows = PIECE / grid->n / TURN_COLUMNS * TURN_COLUMNS;
    grid->rows = smaller(grid->extent[1], grid->rows);
    count_bands(grid);
    return true;
}

void eng_grid_turned(const struct eng_grid *grid, const struct eng_grid_place *place, struct eng_turn *turn)
{
    uint32_t left = grid->extent[0] - place->index[0];

    *turn = (struct eng_turn){
        .from = address(grid, 1, place),
        .to = address(grid, 0, place),
        .from_row = grid->step[1][0],
        .to_row = grid->step[0][1],
        .rows = smaller(left, grid->n),
        .columns = smaller(grid->extent[1] - place->index[1], grid->rows),
        .tail = left <= grid->n ? grid->tail : 0,
        .way = grid->way,
    };
}

bool eng_grid_copy(const struct eng_view *from, const struct eng_view *to)
{
    struct eng_grid grid;
    struct eng_grid_place place = {{0}};
    struct eng_grid_tiles tiles;
    struct eng_band band;

    if (!eng_grid_cut(&grid, (const struct eng_view *const[]){to, from}, 2) || grid.step[1][0] == 0)
        return false;
    for (uint64_t i = 0; i < grid.bands; i++, eng_grid_next(&grid, &place)) {
        eng_grid_band(&grid, &place, &band, &tiles);
        for (size_t row = 0; row < band.rows; row++)
            memcpy(band.out + row * band.out_row, band.in[0].at + row * band.in[0].row, band.n * HALF);
    }
    return true;
}
