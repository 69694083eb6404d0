/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The neural engines: the largest of windows of one element, with steps. Every output is the element at its
 * place, finished. The elements of some rows are gathered, then finished as those of a bypass.
 *
 * Windows on the padding, surfaces that are not packed fp16 in host memory, and rules other than those of m1
 * are left to ne_columns.c.
 */
#include "engine/ne.h"

#include <errno.h>
#include <string.h>

enum {
    BUFFER_BYTES = 8192,
    PIECE_ELEMENTS = 1 << 14, /* that are worth handing to another thread; it changes only the speed */
};

struct selection {
    const struct eng_ne *ne;
    struct eng_mac_setup setup;
    uint32_t channels, per_piece;
    uint32_t rows; /* that the buffer holds */
    size_t row;    /* bytes of one of them */
};

static bool is_selection(const struct eng_ne *ne)
{
    const struct eng_view *src = &ne->operands.src[0], *dst = &ne->operands.dst;
    const struct pr_ne *n = &ne->task->ne;

    if (n->mode != PR_NE_MAX || n->kw != 1 || n->kh != 1 || n->unicast != 1 || n->px || n->py)
        return false;
    if ((uint64_t)(dst->extent[PR_AXIS_W] - 1) * n->sx >= src->extent[PR_AXIS_W] ||
        (uint64_t)(dst->extent[PR_AXIS_H] - 1) * n->sy >= src->extent[PR_AXIS_H])
        return false;
    return ne->rules->load == ENG_RULE_NAN_IS_INFINITY && !src->relu && !src->slice &&
           eng_view_is_packed(src, PR_AXIS_W) && eng_view_is_packed(dst, PR_AXIS_W);
}

static void gather(const uint8_t *from, uint8_t *to, uint32_t count, size_t step)
{
    for (uint32_t i = 0; i < count; i++)
        memcpy(to + 2 * (size_t)i, from + i * step, 2);
}

static void select_rows(const struct selection *s, uint32_t channel, uint32_t first, uint32_t rows)
{
    const struct eng_view *src = &s->ne->operands.src[0], *dst = &s->ne->operands.dst;
    const struct pr_ne *n = &s->ne->task->ne;
    const uint8_t *from = src->host + channel * src->stride[PR_AXIS_C];
    _Alignas(64) uint8_t buffer[BUFFER_BYTES];
    const struct eng_band band = {
        .in = {{.at = buffer, .row = s->row}},
        .out = dst->host + channel * dst->stride[PR_AXIS_C] + first * dst->stride[PR_AXIS_H],
        .out_row = dst->stride[PR_AXIS_H],
        .n = dst->extent[PR_AXIS_W],
        .rows = rows,
        .tail = dst->tail - dst->tail_begin,
    };

    for (uint32_t i = 0; i < rows; i++)
        gather(from + (uint64_t)(first + i) * n->sy * src->stride[PR_AXIS_H], buffer + i * s->row,
               dst->extent[PR_AXIS_W], 2 * (size_t)n->sx);
    s->setup.kernels->finish_band(&band, &s->setup.input, &s->setup.finish);
}

static void select_piece(void *context, size_t piece, unsigned worker)
{
    const struct selection *s = context;
    uint32_t hout = s->ne->operands.dst.extent[PR_AXIS_H], c = (uint32_t)piece * s->per_piece;
    uint32_t end = eng_least((uint64_t)c + s->per_piece, s->channels);

    (void)worker;
    for (; c < end; c++)
        for (uint32_t y = 0; y < hout; y += s->rows)
            select_rows(s, c, y, eng_least(s->rows, hout - y));
}

int eng_ne_select(const struct eng_ne *ne)
{
    const uint32_t *out = ne->operands.dst.extent;
    struct selection s = {
        .ne = ne, .channels = out[PR_AXIS_C], .row = pr_round_up(2 * (uint64_t)out[PR_AXIS_W], 64)};
    uint64_t elements = (uint64_t)out[PR_AXIS_W] * out[PR_AXIS_H];

    if (!is_selection(ne) || s.row > BUFFER_BYTES)
        return -ENOTSUP;
    s.setup = eng_mac_setup(ne);
    s.rows = (uint32_t)(BUFFER_BYTES / s.row);
    s.per_piece = elements < PIECE_ELEMENTS ? (uint32_t)(PIECE_ELEMENTS / elements) : 1;
    eng_pool_run(ne->pool, eng_ne_blocks(s.channels, s.per_piece), select_piece, &s);
    return 0;
}
