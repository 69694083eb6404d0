/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions beyond what a descriptor can express. In this order, one per round:
 *
 * - A stride above the limit: the phases of x become channels, and the kernel's taps go to the channel of the
 *   phase that they read, with a stride of 1.
 * - A dilation: zeros between the taps, where that is at most TAPS_RATIO times as many and the kernel stays
 *   within its limit. Otherwise the phases of x are put below each other with their padding between them, so
 *   that one convolution without dilation computes all of them; what its windows compute across a boundary is
 *   cut off. With a stride too, the elements between are computed and left out.
 * - Padding above the limit is added to x.
 * - A kernel above the limit: turned, H for W, if that needs fewer pieces; cut into pieces, whose results are
 *   added. Each sum is rounded to fp16 once.
 * - A kernel of one tap with a stride: a kernel in memory has all phases of its stride, and only one of them
 *   has a tap. Where those zeros are more bytes than the elements of x, the elements that are read are
 *   selected first, and the stride is 1. The numbers are the same.
 */
#include <string.h>

#include "base/alloc.h"
#include "compiler/pass/phases.h"
#include "compiler/pass/window.h"

enum { TAPS_RATIO = 4 }; /* zeros cost multiplications, phases cost six moves */
enum { TURN_ROWS = 8 };  /* fewer rows than this would fill the 64-byte rows of a turned x badly */

/* A convolution of the graph that is rewritten. */
struct conv {
    struct cc_rewrite *r;
    const struct cc_op *op;
    const struct cc_value *x, *y, *weight;
};

/* The phases of an axis: as many as its stride, if that is above the limit; else 1. */
static uint32_t phases_of(const struct cc_attributes *a, unsigned axis)
{
    return a->stride[axis] > CC_STRIDE_MAX ? a->stride[axis] : 1;
}

/* Fewer phases: what is left of the stride stays with the convolution. */
static uint32_t fewer_phases(uint32_t phases)
{
    for (uint32_t rest = CC_STRIDE_MAX; rest > 1; rest--)
        if (phases % rest == 0)
            return phases / rest;
    return phases;
}

/* The phases of both axes; false if x would have more channels than the engine takes. */
static bool choose_phases(const struct cc_attributes *a, uint32_t channels, uint32_t s[2])
{
    for (unsigned i = 0; i < 2; i++)
        s[i] = phases_of(a, i);
    for (unsigned i = 0; i < 2 && (uint64_t)channels * s[0] * s[1] > PR_CHANNELS_MAX; i++)
        s[i] = fewer_phases(s[i]);
    return (uint64_t)channels * s[0] * s[1] <= PR_CHANNELS_MAX;
}

/*
 * The taps of an axis that a phase reads: tap u is at element s (q + first) + phase + before, if it exists.
 */
static bool tap_of(const struct cc_attributes *a, unsigned axis, uint32_t taps, int64_t element,
                   uint32_t *tap)
{
    if (element < 0 || element % a->dilation[axis] || element / a->dilation[axis] >= taps)
        return false;
    *tap = (uint32_t)(element / a->dilation[axis]);
    return true;
}

static int64_t floor_div(int64_t x, int64_t y)
{
    return x / y - (x % y < 0);
}

/* An axis of the convolution over phases; one whose stride is within the limit stays as it is. */
static struct cc_reach phase_reach(const struct conv *c, unsigned axis, uint32_t s)
{
    const struct cc_attributes *a = &c->op->a;
    int64_t before = a->pad[2 * axis],
            extent = (int64_t)cc_window_extent(c->weight->dim[2 + axis], a->dilation[axis]);

    if (s == 1)
        return (struct cc_reach){.taps = c->weight->dim[2 + axis],
                                 .before = a->pad[2 * axis],
                                 .after = a->pad[2 * axis + 1],
                                 .length = c->x->dim[2 + axis]};
    return cc_window_reach(floor_div(-before, s), floor_div(extent - 1 - before, s), a->stride[axis] / s,
                           c->y->dim[2 + axis], (c->x->dim[2 + axis] + s - 1) / s);
}

/* The taps of one output and input channel. `s` is 1 for an axis that stays as it is. */
static void spread_taps(const struct conv *c, const struct cc_kernel *from, uint32_t out, uint32_t in,
                        const uint32_t s[2], const struct cc_reach reach[2], struct cc_kernel *to)
{
    const struct cc_attributes *a = &c->op->a;

    for (uint32_t phase = 0; phase < s[0] * s[1]; phase++)
        for (uint32_t y = 0; y < to->dim[2]; y++)
            for (uint32_t x = 0; x < to->dim[3]; x++) {
                uint32_t at[2] = {y, x}, of[2] = {phase / s[1], phase % s[1]}, tap[2] = {y, x};
                bool exists = true;

                for (unsigned i = 0; i < 2 && exists; i++)
                    if (s[i] > 1)
                        exists = tap_of(a, i, from->dim[2 + i],
                                        s[i] * (at[i] + reach[i].first) + of[i] + a->pad[2 * i], &tap[i]);
                if (exists)
                    *cc_kernel_at(to, out, in * s[0] * s[1] + phase, y, x) =
                        *cc_kernel_at(from, out, in, tap[0], tap[1]);
            }
}

/* `s` phases of each axis. */
static void conv_phases(const struct conv *c, const uint32_t s[2])
{
    struct cc_build *b = &c->r->to;
    struct cc_attributes a = c->op->a;
    const struct cc_reach reach[2] = {phase_reach(c, 0, s[0]), phase_reach(c, 1, s[1])};
    const uint32_t length[2] = {reach[0].length * s[0], reach[1].length * s[1]};
    const uint32_t wide[4] = {c->weight->dim[0], c->weight->dim[1] * s[0] * s[1], reach[0].taps,
                              reach[1].taps};
    struct cc_kernel from = {.w = NULL}, to = {.w = NULL};
    uint32_t x = cc_rewrite_value(c->r, c->op->input[0]);

    if (!cc_kernel_of(b, c->weight, &from) || !cc_kernel_make(b, wide, &to)) {
        base_free(from.w);
        return;
    }
    for (uint32_t out = 0; out < from.dim[0]; out++)
        for (uint32_t in = 0; in < from.dim[1]; in++)
            spread_taps(c, &from, out, in, s, reach, &to);
    base_free(from.w);
    x = cc_phases_fit(b, x, (uint32_t[2]){0, 0}, length, 0);
    x = cc_phases_split(b, x, s[0], s[1]);
    x = cc_build_reshape(
        b, x, 4, (uint32_t[4]){c->x->dim[0], c->x->dim[1] * s[0] * s[1], reach[0].length, reach[1].length});
    for (unsigned i = 0; i < 2; i++) {
        a.pad[2 * i] = reach[i].before;
        a.pad[2 * i + 1] = reach[i].after;
        a.stride[i] /= s[i];
        if (s[i] > 1)
            a.dilation[i] = 1;
    }
    a.bias = cc_rewrite_parameter(c->r, a.bias);
    a.weight = cc_kernel_put(b, &to);
    cc_rewrite_put(c->r, c->op->output, cc_build_op(b, CC_OP_CONV, 1, &x, &a));
}

static void conv_strided(const struct conv *c)
{
    uint32_t s[2];

    if (choose_phases(&c->op->a, c->x->dim[1], s))
        conv_phases(c, s);
    else
        cc_build_refuse(&c->r->to,
                        "its strides %u and %u and %u input channels need more channels than the engine's %u",
                        c->op->a.stride[0], c->op->a.stride[1], c->x->dim[1], PR_CHANNELS_MAX);
}

/* The same convolution with another kernel and other attributes. */
static void put_conv(const struct conv *c, struct cc_kernel *kernel, struct cc_attributes a)
{
    struct cc_build *b = &c->r->to;
    uint32_t x = cc_rewrite_value(c->r, c->op->input[0]);

    a.bias = cc_rewrite_parameter(c->r, a.bias);
    a.weight = cc_kernel_put(b, kernel);
    cc_rewrite_put(c->r, c->op->output, cc_build_op(b, CC_OP_CONV, 1, &x, &a));
}

static void conv_expanded(const struct conv *c)
{
    struct cc_attributes a = c->op->a;
    const uint32_t wide[4] = {c->weight->dim[0], c->weight->dim[1],
                              (uint32_t)cc_window_extent(c->weight->dim[2], a.dilation[0]),
                              (uint32_t)cc_window_extent(c->weight->dim[3], a.dilation[1])};
    struct cc_kernel from = {.w = NULL}, to = {.w = NULL};

    if (!cc_kernel_of(&c->r->to, c->weight, &from) || !cc_kernel_make(&c->r->to, wide, &to)) {
        base_free(from.w);
        return;
    }
    for (uint32_t out = 0; out < from.dim[0]; out++)
        for (uint32_t in = 0; in < from.dim[1]; in++)
            for (uint32_t y = 0; y < from.dim[2]; y++)
                for (uint32_t x = 0; x < from.dim[3]; x++)
                    *cc_kernel_at(&to, out, in, y * a.dilation[0], x * a.dilation[1]) =
                        *cc_kernel_at(&from, out, in, y, x);
    base_free(from.w);
    a.dilation[0] = a.dilation[1] = 1;
    put_conv(c, &to, a);
}

static void conv_stacked(const struct conv *c)
{
    struct cc_build *b = &c->r->to;
    struct cc_attributes a = c->op->a;
    uint32_t x = cc_rewrite_value(c->r, c->op->input[0]), y;

    a.bias = cc_rewrite_parameter(c->r, a.bias);
    a.weight = cc_rewrite_parameter(c->r, a.weight);
    if (a.stride[0] != 1 || a.stride[1] != 1) {
        a.stride[0] = a.stride[1] = 1;
        y = cc_build_op(b, CC_OP_CONV, 1, &x, &a);
        cc_rewrite_put(c->r, c->op->output, cc_window_every(b, y, c->op->a.stride, c->y->dim));
        return;
    }
    y = cc_window_stacked(b, CC_OP_CONV, x, c->weight->dim + 2, &a, c->y->dim, 0);
    cc_rewrite_put(c->r, c->op->output, y);
}

static void conv_padded(const struct conv *c, bool all)
{
    struct cc_build *b = &c->r->to;
    struct cc_attributes a = c->op->a;
    uint32_t front[2] = {0, 0}, length[2] = {c->x->dim[2], c->x->dim[3]};
    uint32_t x = cc_rewrite_value(c->r, c->op->input[0]);

    for (unsigned i = 0; i < 2; i++) {
        if (!all && a.pad[2 * i] <= CC_PAD_MAX)
            continue;
        front[i] = a.pad[2 * i];
        length[i] += front[i] + a.pad[2 * i + 1];
        a.pad[2 * i] = a.pad[2 * i + 1] = 0;
    }
    x = cc_phases_fit(b, x, front, length, 0);
    a.bias = cc_rewrite_parameter(c->r, a.bias);
    a.weight = cc_rewrite_parameter(c->r, a.weight);
    cc_rewrite_put(c->r, c->op->output, cc_build_op(b, CC_OP_CONV, 1, &x, &a));
}

static void turn_pair(uint32_t pair[2])
{
    uint32_t first = pair[0];

    pair[0] = pair[1];
    pair[1] = first;
}

static void conv_turned(const struct conv *c)
{
    static const uint32_t perm[4] = {0, 1, 3, 2};
    struct cc_build *b = &c->r->to;
    struct cc_attributes a = c->op->a;
    const uint32_t turned[4] = {c->weight->dim[0], c->weight->dim[1], c->weight->dim[3], c->weight->dim[2]};
    struct cc_kernel from = {.w = NULL}, to = {.w = NULL};
    uint32_t x = cc_rewrite_value(c->r, c->op->input[0]), y;

    if (!cc_kernel_of(b, c->weight, &from) || !cc_kernel_make(b, turned, &to)) {
        base_free(from.w);
        return;
    }
    for (uint32_t out = 0; out < from.dim[0]; out++)
        for (uint32_t in = 0; in < from.dim[1]; in++)
            for (uint32_t v = 0; v < from.dim[2]; v++)
                for (uint32_t u = 0; u < from.dim[3]; u++)
                    *cc_kernel_at(&to, out, in, u, v) = *cc_kernel_at(&from, out, in, v, u);
    base_free(from.w);
    turn_pair(a.stride);
    for (unsigned i = 0; i < 2; i++) {
        a.pad[i] = c->op->a.pad[2 + i];
        a.pad[2 + i] = c->op->a.pad[i];
    }
    a.bias = cc_rewrite_parameter(c->r, a.bias);
    x = cc_build_transpose(b, x, perm);
    a.weight = cc_kernel_put(b, &to);
    y = cc_build_op(b, CC_OP_CONV, 1, &x, &a);
    cc_rewrite_put(c->r, c->op->output, b->status ? 0 : cc_build_transpose(b, y, perm));
}

/*
 * The taps of a piece along an axis. The last piece ends where the kernel does and is as long as the others;
 * the taps that it shares with the one before it are zeros.
 */
struct piece {
    uint32_t first, taps, zeros; /* zeros: the first taps that another piece has */
};

static struct piece piece_of(uint32_t taps, uint32_t limit, uint32_t i)
{
    uint32_t at = i * limit;

    if (taps <= limit)
        return (struct piece){0, taps, 0};
    if (at + limit <= taps)
        return (struct piece){at, limit, 0};
    return (struct piece){taps - limit, limit, at - (taps - limit)};
}

/* The part of x that a piece reads along an axis, and its padding. False if it reads padding alone. */
static bool piece_window(const struct conv *c, unsigned axis, const struct piece *p, uint32_t *begin,
                         uint32_t *size, uint32_t pad[2])
{
    const struct cc_attributes *a = &c->op->a;
    uint32_t before = a->pad[2 * axis], length = c->x->dim[2 + axis];
    int64_t end = (int64_t)a->stride[axis] * (c->y->dim[2 + axis] - 1) + p->first + p->taps - before;

    *begin = p->first > before ? p->first - before : 0;
    if (end <= 0 || *begin >= length)
        return false;
    pad[0] = p->first > before ? 0 : before - p->first;
    *size = (uint32_t)(end < length ? end : length) - *begin;
    pad[1] = (uint32_t)(end > length ? end - length : 0);
    return true;
}

static uint32_t conv_piece(const struct conv *c, const struct cc_kernel *from, const struct piece p[2],
                           bool first)
{
    struct cc_build *b = &c->r->to;
    struct cc_attributes a = c->op->a;
    const uint32_t dim[4] = {from->dim[0], from->dim[1], p[0].taps, p[1].taps};
    uint32_t begin[4] = {0}, size[4] = {c->x->dim[0], c->x->dim[1]};
    uint32_t x = cc_rewrite_value(c->r, c->op->input[0]);
    struct cc_kernel part = {.w = NULL};

    if (!cc_kernel_make(b, dim, &part))
        return 0;
    for (uint32_t out = 0; out < dim[0]; out++)
        for (uint32_t in = 0; in < dim[1]; in++)
            for (uint32_t v = p[0].zeros; v < dim[2]; v++)
                for (uint32_t u = p[1].zeros; u < dim[3]; u++)
                    *cc_kernel_at(&part, out, in, v, u) =
                        *cc_kernel_at(from, out, in, p[0].first + v, p[1].first + u);
    for (unsigned i = 0; i < 2; i++)
        piece_window(c, i, &p[i], &begin[2 + i], &size[2 + i], &a.pad[2 * i]);
    x = cc_build_slice(b, x, begin, size, NULL);
    a.weight = cc_kernel_put(b, &part);
    a.bias = first ? cc_rewrite_parameter(c->r, a.bias) : 0;
    return cc_build_op(b, CC_OP_CONV, 1, &x, &a);
}

static uint32_t pieces_of(uint32_t taps, uint32_t limit)
{
    return (taps + limit - 1) / limit;
}

/* Whether a piece would read padding alone. */
static bool has_empty_piece(const struct conv *c)
{
    uint32_t begin, size, pad[2];

    for (unsigned axis = 0; axis < 2; axis++) {
        uint32_t taps = c->weight->dim[2 + axis], limit = cc_window_limit[axis];

        for (uint32_t i = 0; i < pieces_of(taps, limit); i++) {
            struct piece p = piece_of(taps, limit, i);

            if (!piece_window(c, axis, &p, &begin, &size, pad))
                return true;
        }
    }
    return false;
}

static void conv_pieces(const struct conv *c)
{
    struct cc_build *b = &c->r->to;
    uint32_t rows = pieces_of(c->weight->dim[2], cc_window_limit[0]);
    uint32_t columns = pieces_of(c->weight->dim[3], cc_window_limit[1]);
    struct cc_kernel from;
    uint32_t sum = 0;

    if (!cc_kernel_of(b, c->weight, &from))
        return;
    for (uint32_t i = 0; i < rows * columns && !b->status; i++) {
        const struct piece p[2] = {piece_of(from.dim[2], cc_window_limit[0], i / columns),
                                   piece_of(from.dim[3], cc_window_limit[1], i % columns)};
        uint32_t part = conv_piece(c, &from, p, i == 0);

        sum = i && !b->status ? cc_build_binary(b, CC_OP_ADD, sum, part) : part;
    }
    base_free(from.w);
    cc_rewrite_put(c->r, c->op->output, sum);
}

/* Whether H for W saves more than the two transposes that it costs. */
static bool turning_helps(const struct conv *c)
{
    uint32_t h = c->weight->dim[2], w = c->weight->dim[3];
    uint32_t pieces = pieces_of(h, cc_window_limit[0]) * pieces_of(w, cc_window_limit[1]);
    uint32_t turned = pieces_of(w, cc_window_limit[0]) * pieces_of(h, cc_window_limit[1]);

    return c->x->dim[2] >= TURN_ROWS && turned + 1 < pieces;
}

static void conv_cut(const struct conv *c)
{
    if (turning_helps(c))
        conv_turned(c);
    else if (has_empty_piece(c))
        conv_padded(c, true);
    else
        conv_pieces(c);
}

static bool expanding_helps(const struct conv *c)
{
    const struct cc_attributes *a = &c->op->a;
    uint64_t h = cc_window_extent(c->weight->dim[2], a->dilation[0]);
    uint64_t w = cc_window_extent(c->weight->dim[3], a->dilation[1]);

    if (h > cc_window_limit[0] || w > cc_window_limit[1])
        return !cc_window_stack_fits(c->weight->dim + 2, a, c->y->dim);
    return h * w <= TAPS_RATIO * (uint64_t)c->weight->dim[2] * c->weight->dim[3];
}

/* In units of an input channel's element: x is read and written once more, the zeros of a kernel are not. */
static bool selecting_helps(const struct conv *c)
{
    const struct cc_attributes *a = &c->op->a;
    uint64_t phases = (uint64_t)a->stride[0] * a->stride[1];
    uint64_t moved = (uint64_t)c->x->dim[2] * c->x->dim[3] + (uint64_t)c->y->dim[2] * c->y->dim[3];

    if (c->weight->dim[2] != 1 || c->weight->dim[3] != 1 || a->groups != 1)
        return false;
    if (a->pad[0] || a->pad[1] || a->pad[2] || a->pad[3])
        return false;
    return (phases - 1) * c->weight->dim[0] > moved * c->x->dim[0];
}

/* The largest of one element is that element. */
static void conv_selected(const struct conv *c)
{
    struct cc_build *b = &c->r->to;
    struct cc_attributes a = c->op->a, select = {.kernel = {1, 1}, .dilation = {1, 1}};
    uint32_t x = cc_rewrite_value(c->r, c->op->input[0]);

    for (unsigned i = 0; i < 2; i++) {
        select.stride[i] = a.stride[i];
        a.stride[i] = 1;
    }
    x = cc_build_op(b, CC_OP_MAX_POOL, 1, &x, &select);
    a.bias = cc_rewrite_parameter(c->r, a.bias);
    a.weight = cc_rewrite_parameter(c->r, a.weight);
    cc_rewrite_put(c->r, c->op->output, cc_build_op(b, CC_OP_CONV, 1, &x, &a));
}

void cc_window_conv(struct cc_rewrite *r, const struct cc_op *op, bool *done)
{
    const struct cc_graph *g = r->from;
    const struct cc_attributes *a = &op->a;
    struct conv c = {r, op, &g->value[op->input[0]], &g->value[op->output], NULL};

    if (op->kind != CC_OP_CONV)
        return;
    c.weight = cc_op_weight(g, op);
    *done = true;
    if (op->inputs == 2) {
        cc_window_conv_runtime(r, op);
        return;
    }
    if (phases_of(a, 0) > 1 || phases_of(a, 1) > 1)
        conv_strided(&c);
    else if (a->dilation[0] > 1 || a->dilation[1] > 1)
        expanding_helps(&c) ? conv_expanded(&c) : conv_stacked(&c);
    else if (a->pad[0] > CC_PAD_MAX || a->pad[2] > CC_PAD_MAX)
        conv_padded(&c, false);
    else if (c.weight->dim[2] > cc_window_limit[0] || c.weight->dim[3] > cc_window_limit[1])
        conv_cut(&c);
    else if (selecting_helps(&c))
        conv_selected(&c);
    else
        *done = false;
}
