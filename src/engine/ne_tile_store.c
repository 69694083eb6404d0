/* SPDX-License-Identifier: Apache-2.0 */
/* What tiles and strips are stored by: whole tiles, rows that were put together in a stage, single pixels. */
#include "engine/ne_tile.h"

#include <string.h>

enum {
    TILE_CHANNELS_MAX = 32, /* of any instruction set */
    CACHE_LINE = 64,        /* bytes */
};

void eng_tile_store(const struct eng_tile_step *s)
{
    const struct eng_view *dst = &s->m->ne->operands.dst;
    struct eng_line line = {.index = {s->b->x0 + s->x, s->b->y0 + s->y, 0, s->b->c0 + s->channel, 0},
                            .axis = eng_view_is_packed(dst, PR_AXIS_W) ? PR_AXIS_W : PR_AXIS_C,
                            .n = 1};
    bool ends = s->b->x0 + s->x + s->columns == s->m->wout;
    struct eng_tile_end end = {
        .acc = s->acc,
        .acc_next = (size_t)s->vectors * s->m->mac.kernels->lanes,
        .bias = s->b->bias + s->channel,
        .rows = s->rows,
        .columns = s->columns,
        .channels = s->count,
        .to = eng_view_line_target(dst, &line, NULL),
        .row = dst->stride[PR_AXIS_H],
        .column = dst->stride[PR_AXIS_W],
        .channel = dst->stride[PR_AXIS_C],
        .tail = ends ? dst->tail - dst->tail_begin : 0,
    };

    s->m->mac.kernels->finish_tile(&end, &s->m->mac.finish);
}

void eng_tile_store_to(const struct eng_tile_step *s, uint8_t *to, size_t channel, size_t tail)
{
    struct eng_tile_end end = {
        .acc = s->acc,
        .acc_next = (size_t)s->vectors * s->m->mac.kernels->lanes,
        .bias = s->b->bias + s->channel,
        .rows = 1,
        .columns = s->columns,
        .channels = s->count,
        .to = to,
        .column = 2,
        .channel = channel,
        .tail = tail,
    };

    s->m->mac.kernels->finish_tile(&end, &s->m->mac.finish);
}

void eng_tile_store_pixels(const struct eng_tile_step *s)
{
    const struct eng_view *dst = &s->m->ne->operands.dst;
    uint8_t buffer[2 * TILE_CHANNELS_MAX];

    for (uint32_t p = 0; p < s->rows * s->columns; p++) {
        uint32_t x = s->x + p % s->columns, y = s->y + p / s->columns;
        struct eng_line line = {.index = {s->b->x0 + x, s->b->y0 + y, 0, s->b->c0 + s->channel, 0},
                                .axis = PR_AXIS_C,
                                .n = s->count};
        uint8_t *to = eng_view_line_target(dst, &line, buffer);

        s->m->mac.kernels->finish(s->acc + (size_t)p * s->vectors * s->m->mac.kernels->lanes,
                                  s->b->bias + s->channel, to, line.n, &s->m->mac.finish);
        eng_view_line_put(dst, &line, to);
    }
}

uint8_t *eng_tile_row(const struct eng_tile_step *s)
{
    struct eng_line line = {.index = {s->b->x0, s->b->y0 + s->y, 0, s->b->c0 + s->channel, 0},
                            .axis = PR_AXIS_W,
                            .n = s->b->columns};

    return eng_view_line_target(&s->m->ne->operands.dst, &line, NULL);
}

/* Each cache line with the first tile that reaches it. */
void eng_tile_prefetch(const struct eng_tile_step *s)
{
    size_t begin = 2 * (size_t)s->x, last = begin + 2 * (size_t)s->columns - 1;
    const uint8_t *at = s->row + last;

    if (begin && (begin - 1) / CACHE_LINE == last / CACHE_LINE)
        return;
    for (uint32_t c = 0; c < s->count; c++, at += s->m->ne->operands.dst.stride[PR_AXIS_C])
        __builtin_prefetch(at, 1);
}

static size_t tail_of(const struct eng_tile_step *s)
{
    const struct eng_view *dst = &s->m->ne->operands.dst;

    return s->b->x0 + s->b->columns == s->m->wout ? dst->tail - dst->tail_begin : 0;
}

void eng_tile_store_rows(const struct eng_tile_step *s, uint32_t rows)
{
    const struct eng_view *dst = &s->m->ne->operands.dst;
    const struct eng_split_rows split = {
        .from = s->b->stage,
        .from_channel = s->m->stage_row,
        .to = s->row,
        .to_row = dst->stride[PR_AXIS_H],
        .to_channel = dst->stride[PR_AXIS_C],
        .rows = rows,
        .channels = s->count,
        .n = s->b->columns,
        .tail = tail_of(s),
    };

    s->m->mac.kernels->split_rows(&split);
}

void eng_tile_zero_tails(const struct eng_tile_step *s)
{
    const struct eng_view *dst = &s->m->ne->operands.dst;
    uint8_t *to = s->row + 2 * (size_t)s->b->columns;
    size_t tail = tail_of(s);

    for (uint32_t c = 0; tail && c < s->count; c++, to += dst->stride[PR_AXIS_C])
        memset(to, 0, tail);
}
