/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of H and W that come from or go to the channels or the batch. Between two transpositions the
 * contiguous axis is the channel or H, so that the axes of a block join W and H without a copy:
 *
 *   [N b0, b1, C, H, W] -> [N b0, H, W, b1, C] = [N, b0, H, W b1, C] -> [N, C, H, b0, W b1]
 *
 * and the same from right to left.
 */
#include <string.h>

#include "compiler/pass/compose.h"

/* The sizes of both sides: x or the result is [n, b0 b1 c, h, w], the other one [n, c, h b0, w b1]. */
struct blocks {
    uint32_t n, c, h, w, b0, b1;
    bool channel_first; /* [n, c b0 b1, h, w] */
};

/* Of rows of this length: the part that is padding, less in one than in the other. */
static bool pads_less(uint32_t a, uint32_t b)
{
    uint64_t rows_a = (a + 31u) / 32 * 32, rows_b = (b + 31u) / 32 * 32;

    return rows_a * b <= rows_b * a;
}

static uint32_t step(struct cc_build *b, uint32_t x, const uint32_t before[5], const uint32_t perm[5])
{
    x = cc_build_reshape(b, x, 5, before);
    return b->status ? 0 : cc_build_transpose(b, x, perm);
}

static uint32_t to_space(struct cc_build *b, uint32_t x, const struct blocks *k)
{
    const uint32_t depth[5] = {k->n * k->b0, k->b1, k->c, k->h, k->w};
    const uint32_t depth_first[5] = {k->n * k->c, k->b0, k->b1, k->h, k->w};
    const uint32_t by_channel[5] = {k->n, k->b0, k->h, k->w * k->b1, k->c};
    const uint32_t by_height[5] = {k->n, k->b0, k->c, k->w * k->b1, k->h};
    const uint32_t first_by_height[5] = {k->n * k->c, k->b0, 1, k->w * k->b1, k->h};

    if (k->channel_first) {
        x = step(b, x, depth_first, (uint32_t[]){0, 1, 4, 2, 3});
        x = step(b, x, first_by_height, (uint32_t[]){0, 2, 4, 1, 3});
    } else if (pads_less(k->c, k->h)) {
        x = step(b, x, depth, (uint32_t[]){0, 3, 4, 1, 2});
        x = step(b, x, by_channel, (uint32_t[]){0, 4, 2, 1, 3});
    } else {
        x = step(b, x, depth, (uint32_t[]){0, 2, 4, 1, 3});
        x = step(b, x, by_height, (uint32_t[]){0, 2, 4, 1, 3});
    }
    return b->status ? 0 : cc_build_reshape(b, x, 4, (uint32_t[]){k->n, k->c, k->h * k->b0, k->w * k->b1});
}

static uint32_t from_space(struct cc_build *b, uint32_t x, const struct blocks *k)
{
    const uint32_t space[5] = {k->n, k->c, k->h, k->b0, k->w * k->b1};
    const uint32_t space_first[5] = {k->n * k->c, 1, k->h, k->b0, k->w * k->b1};
    const uint32_t by_channel[5] = {k->n * k->b0, k->h, k->w, k->b1, k->c};
    const uint32_t by_height[5] = {k->n * k->b0, k->c, k->w, k->b1, k->h};
    const uint32_t first_by_height[5] = {k->n * k->c, k->b0, k->w, k->b1, k->h};

    if (k->channel_first) {
        x = step(b, x, space_first, (uint32_t[]){0, 3, 1, 4, 2});
        x = step(b, x, first_by_height, (uint32_t[]){0, 1, 3, 4, 2});
    } else if (pads_less(k->c, k->h)) {
        x = step(b, x, space, (uint32_t[]){0, 3, 2, 4, 1});
        x = step(b, x, by_channel, (uint32_t[]){0, 3, 4, 1, 2});
    } else {
        x = step(b, x, space, (uint32_t[]){0, 3, 1, 4, 2});
        x = step(b, x, by_height, (uint32_t[]){0, 3, 1, 4, 2});
    }
    return b->status ? 0 : cc_build_reshape(b, x, 4, (uint32_t[]){k->n, k->c * k->b0 * k->b1, k->h, k->w});
}

static uint32_t crop(struct cc_build *b, const struct cc_op *op, uint32_t x)
{
    const uint32_t *pad = op->a.pad;
    uint32_t begin[CC_RANK_MAX] = {0, 0, pad[0], pad[2]}, size[CC_RANK_MAX];

    if (b->status)
        return 0;
    memcpy(size, cc_build_value(b, x)->dim, sizeof(size));
    size[2] -= pad[0] + pad[1];
    size[3] -= pad[2] + pad[3];
    return cc_build_slice(b, x, begin, size, NULL);
}

static uint32_t pad_around(struct cc_build *b, const struct cc_op *op, uint32_t x)
{
    const uint32_t *pad = op->a.pad;
    struct cc_attributes a = {.begin = {0, 0, pad[0], pad[2]}, .end = {0, 0, pad[1], pad[3]}};

    return pad[0] || pad[1] || pad[2] || pad[3] ? cc_build_op(b, CC_OP_PAD, 1, &x, &a) : x;
}

/* The batch of a block is [b0, b1, N]: with N and C as one, that is the order of channels. */
uint32_t cc_compose_blocks(struct cc_build *b, const struct cc_op *op, uint32_t x)
{
    bool batch = op->kind == CC_OP_BATCH_TO_SPACE || op->kind == CC_OP_SPACE_TO_BATCH;
    bool opens = op->kind == CC_OP_BATCH_TO_SPACE || op->kind == CC_OP_DEPTH_TO_SPACE;
    struct blocks k = {.b0 = op->a.block[0], .b1 = op->a.block[1]};
    uint32_t dim[CC_RANK_MAX], count = k.b0 * k.b1, channels;

    if (op->kind == CC_OP_SPACE_TO_BATCH)
        x = pad_around(b, op, x);
    if (b->status)
        return 0;
    memcpy(dim, cc_build_value(b, x)->dim, sizeof(dim));
    k.channel_first = !batch && op->a.order == CC_DEPTH_CHANNEL_FIRST;
    k.h = opens ? dim[2] : dim[2] / k.b0;
    k.w = opens ? dim[3] : dim[3] / k.b1;
    channels = dim[1];
    k.n = batch ? 1 : dim[0];
    k.c = batch ? dim[0] * dim[1] : dim[1];
    if (opens)
        k.c /= count;
    x = opens ? to_space(b, x, &k) : from_space(b, x, &k);
    if (!batch || b->status)
        return x;
    x = cc_build_reshape(b, x, 4,
                         (uint32_t[]){opens ? dim[0] / count : dim[0] * count, channels,
                                      opens ? k.h * k.b0 : k.h, opens ? k.w * k.b1 : k.w});
    return opens ? crop(b, op, x) : x;
}
