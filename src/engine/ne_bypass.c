/* SPDX-License-Identifier: Apache-2.0 */
/* The neural engines: tasks without a kernel, which finish every element of the source. */
#include "engine/ne.h"

#include "engine/finish.h"
#include "engine/grid.h"
#include "engine/lines.h"

enum { CHUNK = 256 };

static void reference_bypass_row(const struct eng_ne *ne, uint32_t index[PR_AXES])
{
    uint32_t width = ne->operands.dst.extent[PR_AXIS_W];
    float a[CHUNK];

    for (uint32_t x = 0; x < width; x += CHUNK) {
        uint32_t n = width - x < CHUNK ? width - x : CHUNK;

        index[PR_AXIS_W] = x;
        eng_view_load_row(&ne->operands.src[0], index, a, n, ne->rules->load);
        for (uint32_t i = 0; i < n; i++)
            a[i] = eng_finish_value(&ne->finish, a[i], -0.0f);
        eng_view_store_row(&ne->operands.dst, index, a, n, ne->finish.store);
    }
}

static void reference_bypass(const struct eng_ne *ne)
{
    const uint32_t *extent = ne->operands.dst.extent;
    uint32_t index[PR_AXES];

    for (index[PR_AXIS_G] = 0; index[PR_AXIS_G] < extent[PR_AXIS_G]; index[PR_AXIS_G]++)
        for (index[PR_AXIS_C] = 0; index[PR_AXIS_C] < extent[PR_AXIS_C]; index[PR_AXIS_C]++)
            for (index[PR_AXIS_D] = 0; index[PR_AXIS_D] < extent[PR_AXIS_D]; index[PR_AXIS_D]++)
                for (index[PR_AXIS_H] = 0; index[PR_AXIS_H] < extent[PR_AXIS_H]; index[PR_AXIS_H]++)
                    reference_bypass_row(ne, index);
}

struct bypass {
    const struct eng_kernels *kernels;
    const struct eng_finish *finish;
    struct eng_load load;
    struct eng_grid grid;
    /* Other formats: */
    struct eng_view src, dst; /* with their axes joined */
    struct eng_lines lines;
};

static void bypass_bands(void *context, size_t piece, unsigned worker)
{
    const struct bypass *b = context;
    struct eng_grid_tiles tiles;
    struct eng_grid_place place;
    struct eng_band band;
    uint64_t count = eng_grid_first(&b->grid, piece, &place);

    (void)worker;
    for (; count; count--, eng_grid_next(&b->grid, &place)) {
        eng_grid_band(&b->grid, &place, &band, &tiles);
        b->kernels->finish_band(&band, &b->load, b->finish);
    }
}

static void bypass_turned(void *context, size_t piece, unsigned worker)
{
    const struct bypass *b = context;
    struct eng_grid_place place;
    struct eng_turn turn;
    uint64_t count = eng_grid_first(&b->grid, piece, &place);

    (void)worker;
    for (; count; count--, eng_grid_next(&b->grid, &place)) {
        eng_grid_turned(&b->grid, &place, &turn);
        b->kernels->turn(&turn, &b->load, b->finish);
    }
}

static void bypass_lines(void *context, size_t piece, unsigned worker)
{
    const struct bypass *b = context;
    uint8_t from[ENG_LINE_BYTES], to[ENG_LINE_BYTES];
    struct eng_line line;
    uint64_t count = eng_lines_first(&b->lines, piece, &line);

    (void)worker;
    for (; count; count--, eng_lines_next(&b->lines, &line)) {
        struct eng_band band = {.in = {{.at = eng_view_line(&b->src, &line, from)}},
                                .out = eng_view_line_target(&b->dst, &line, to),
                                .n = line.n,
                                .rows = 1};

        b->kernels->finish_band(&band, &b->load, b->finish);
        eng_view_line_put(&b->dst, &line, band.out);
    }
}

void eng_ne_bypass(const struct eng_ne *ne, enum eng_path path)
{
    const struct eng_view *src = &ne->operands.src[0], *dst = &ne->operands.dst;
    struct bypass b;

    if (path == ENG_PATH_REFERENCE || eng_view_overlaps_itself(dst)) {
        reference_bypass(ne);
        return;
    }
    b.kernels = eng_kernels_get();
    b.finish = &ne->finish;
    b.load = (struct eng_load){.rules = eng_view_rules(src, ne->rules->load), .relu = src->relu, .scale = 1};
    if (eng_grid_cut(&b.grid, (const struct eng_view *const[]){dst, src}, 2)) {
        bool copies = !b.finish->table && eng_finish_is_identity(&b.load, b.finish);
        bool turns = copies && eng_grid_turn(&b.grid);

        eng_pool_run(ne->pool, eng_grid_pieces(&b.grid), turns ? bypass_turned : bypass_bands, &b);
        return;
    }
    b.src = *src;
    b.dst = *dst;
    eng_lines_cut(&b.lines, (struct eng_view *const[]){&b.dst, &b.src}, 2);
    eng_pool_run(ne->pool, eng_lines_pieces(&b.lines), bypass_lines, &b);
}
