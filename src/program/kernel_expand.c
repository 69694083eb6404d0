/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any kernel into one order. No byte is taken from a stream past its end, and no weight is stored outside the
 * kernel: masks and lengths in the stream are checked before they are used.
 */
#include <string.h>

#include "protocol/half.h"
#include "program/kernel_plane.h"

enum { MASK_SLOTS = 8 };  /* slots of a mask byte */
enum { RECORD_HEAD = 3 }; /* a length of two bytes and a zero byte */
enum { NO_TARGET = -1 };
/* The largest window with its columns of a step, enlarged to the largest strides. */
enum { POSITIONS_MAX = 32 * 48 };

struct reader {
    const struct pr_task *task;
    struct pr_plane plane;
    const uint8_t *bytes;
    uint64_t size, at;
    uint16_t palette;         /* its first value */
    uint16_t *weights, *bias; /* of the group */
    const int32_t *target;    /* of the positions of an input channel, from its first weight on */
    struct pr_problem *problem;
};

static bool ends_early(const struct reader *r)
{
    return pr_problem_set(
        r->problem, PR_PROBLEM_INCONSISTENT,
        "The kernel stream of engine %u ends at byte %ju, inside the plane of output channel %u.",
        r->plane.engine, r->size, r->plane.channel);
}

static bool contradicts(const struct reader *r, const char *why)
{
    return pr_problem_set(r->problem, PR_PROBLEM_INCONSISTENT,
                          "The kernel stream of engine %u, output channel %u: %s.", r->plane.engine,
                          r->plane.channel, why);
}

static bool has(const struct reader *r, uint64_t bytes)
{
    return bytes <= r->size - r->at;
}

static uint16_t take_half(struct reader *r)
{
    uint16_t half = (uint16_t)(r->bytes[r->at] | r->bytes[r->at + 1] << 8);

    r->at += 2;
    return half;
}

/* A stored position: where it is in the kernel's window, and its place in the one order. */
struct position {
    uint32_t width, height; /* of the window, enlarged to whole strides */
    uint32_t sx, sy;
    uint32_t phase_y, phase_x, y, x;
    uint32_t channel;
};

static struct position position_first(const struct pr_task *task)
{
    const struct pr_ne *ne = &task->ne;

    return (struct position){.width = (uint32_t)pr_round_up(pr_kernel_window(task), ne->sx),
                             .height = (uint32_t)pr_round_up(ne->kh, ne->sy),
                             .sx = ne->sx,
                             .sy = ne->sy};
}

static void position_next(struct position *p)
{
    p->x += p->sx;
    if (p->x < p->width)
        return;
    p->x = p->phase_x;
    p->y += p->sy;
    if (p->y < p->height)
        return;
    if (++p->phase_x == p->sx) {
        p->phase_x = 0;
        if (++p->phase_y == p->sy) {
            p->phase_y = 0;
            p->channel++;
        }
    }
    p->x = p->phase_x;
    p->y = p->phase_y;
}

/* Where the weights of a position's slots go; NULL when it is outside the kernel. */
static uint16_t *position_target(const struct reader *r, const struct position *p)
{
    const struct pr_task *task = r->task;
    uint32_t window = pr_kernel_window(task), cout = task->dst.extent[PR_AXIS_C], ox = task->ne.ox;
    uint64_t tap = ((uint64_t)p->channel * task->ne.kh + p->y) * window + p->x;

    if (p->x >= window || p->y >= task->ne.kh)
        return NULL;
    return r->weights + tap * cout * ox + (uint64_t)r->plane.channel * (task->ne.unicast ? ox : 1);
}

/* Slots of a position that have a weight. */
static uint32_t slots_used(const struct reader *r)
{
    return r->task->ne.unicast ? r->task->ne.ox : r->plane.lanes;
}

static bool read_bias(struct reader *r)
{
    const struct pr_ne *ne = &r->task->ne;

    if (!ne->bias)
        return true;
    if (!has(r, (uint64_t)r->plane.lanes * ne->ox * 2))
        return ends_early(r);
    for (uint32_t lane = 0; lane < r->plane.lanes; lane++)
        for (uint32_t column = 0; column < ne->ox; column++) {
            uint16_t half = take_half(r);

            if (column == 0)
                r->bias[r->plane.channel + lane] = half;
        }
    return true;
}

/* The weights of one position of a dense plane, as many as it has slots. */
static void take_row(struct reader *r, uint16_t *to, uint32_t slots)
{
    const uint8_t *from = r->bytes + r->at;

    if (r->task->ne.kernel_format != PR_FP16) {
        r->at += slots;
        for (uint32_t slot = 0; to && slot < slots; slot++)
            to[slot] = pr_half_of_int((int8_t)from[slot]);
        return;
    }
    r->at += 2 * (uint64_t)slots;
    for (uint32_t slot = 0; to && slot < slots; slot++)
        to[slot] = (uint16_t)(from[2 * slot] | from[2 * slot + 1] << 8);
}

static bool read_dense(struct reader *r)
{
    const struct pr_task *task = r->task;
    uint32_t slots = pr_plane_slots(task, r->plane.lanes), size = pr_format_bytes(task->ne.kernel_format);
    uint32_t channels = pr_kernel_channels(task), positions = pr_plane_positions(task);
    uint64_t next = pr_kernel_weights(task) / channels;
    uint16_t *to = position_target(r, &(struct position){0});

    if (!has(r, (uint64_t)channels * positions * slots * size))
        return ends_early(r);
    for (uint32_t c = 0; c < channels; c++, to += next)
        for (uint32_t i = 0; i < positions; i++)
            take_row(r, r->target[i] == NO_TARGET ? NULL : to + r->target[i], slots);
    return true;
}

/* The body of a record: for every eight slots a mask, then the weights of its set bits. */
static bool read_body(struct reader *r, uint64_t end)
{
    const struct pr_task *task = r->task;
    uint32_t slots = pr_plane_slots(task, r->plane.lanes), in_mask = 0, mask = 0;
    uint64_t rows = (uint64_t)pr_kernel_channels(task) * pr_plane_positions(task);
    struct position p = position_first(task);

    for (uint64_t row = 0; row < rows; row++, position_next(&p)) {
        uint16_t *target = position_target(r, &p);

        for (uint32_t slot = 0; slot < slots; slot++, in_mask = (in_mask + 1) % MASK_SLOTS) {
            uint16_t *to = target && slot < slots_used(r) ? target + slot : NULL;

            if (in_mask == 0) {
                if (r->at >= end)
                    return contradicts(r, "its record is shorter than the masks of its weights");
                mask = r->bytes[r->at++];
            }
            if (!(mask >> in_mask & 1))
                continue;
            if (!to)
                return contradicts(r, "a mask claims a weight outside the kernel");
            if (task->ne.palette) {
                *to = r->palette;
                continue;
            }
            if (end - r->at < 2)
                return contradicts(r, "its record is shorter than its weights");
            *to = take_half(r);
        }
    }
    return r->at == end || contradicts(r, "its record is longer than its weights");
}

static bool read_sparse(struct reader *r)
{
    uint32_t length;

    if (!has(r, RECORD_HEAD))
        return ends_early(r);
    length = take_half(r);
    if (r->bytes[r->at++])
        return contradicts(r, "the byte after its record's length is not 0");
    if (!has(r, length))
        return ends_early(r);
    return read_body(r, r->at + length);
}

/* What precedes the planes. */
static bool read_head(struct reader *r)
{
    r->at = r->task->ne.table ? PR_TABLE_BYTES : 0;
    if (r->at > r->size || !has(r, r->task->ne.palette ? PR_PALETTE_BYTES : 0))
        return ends_early(r);
    if (r->task->ne.palette) {
        r->palette = take_half(r);
        r->at += PR_PALETTE_BYTES - 2;
    }
    return true;
}

/*
 * What has been read is filled up to 64 bytes, except in unicast kernels and, perhaps, at the stream's end.
 */
static void fill(struct reader *r)
{
    if (!r->task->ne.unicast)
        r->at = pr_round_up(r->at, PR_ROW_ALIGN);
    if (r->at > r->size)
        r->at = r->size;
}

static bool read_group(struct reader *r)
{
    struct pr_plane *plane = &r->plane;

    plane->next = 0;
    while (pr_plane_next(r->task, plane)) {
        if (!read_bias(r) || !(r->task->ne.sparse ? read_sparse(r) : read_dense(r)))
            return false;
        if (r->task->ne.sparse)
            fill(r);
    }
    fill(r);
    return true;
}

static bool read_stream(struct reader *r, uint16_t *weights, uint16_t *bias)
{
    if (!pr_kernel_engine_works(r->task, r->plane.engine))
        return true;
    if (!read_head(r))
        return false;
    for (uint32_t group = 0; group < pr_kernel_groups(r->task); group++) {
        r->weights = weights + group * pr_kernel_weights(r->task);
        r->bias = bias + (uint64_t)group * r->task->dst.extent[PR_AXIS_C];
        if (!read_group(r))
            return false;
    }
    return true;
}

/* Where the positions of an input channel go in a plane, from where its first weight goes. */
static bool list_targets(const struct pr_task *task, int32_t target[POSITIONS_MAX],
                         struct pr_problem *problem)
{
    uint32_t positions = pr_plane_positions(task), window = pr_kernel_window(task);
    uint32_t next = task->dst.extent[PR_AXIS_C] * task->ne.ox;
    struct position p = position_first(task);

    if (positions > POSITIONS_MAX)
        return pr_problem_set(problem, PR_PROBLEM_LIMIT, "The kernel has %u positions; the limit is %u.",
                              positions, POSITIONS_MAX);
    for (uint32_t i = 0; i < positions; i++, position_next(&p)) {
        bool inside = p.x < window && p.y < task->ne.kh;

        target[i] = inside ? (int32_t)((p.y * window + p.x) * next) : NO_TARGET;
    }
    return true;
}

bool pr_kernel_expand(const struct pr_task *task, const struct pr_kernel_bytes streams[PR_ENGINES_MAX],
                      uint16_t *weights, uint16_t *bias, struct pr_problem *problem)
{
    uint64_t all = pr_kernel_weights(task) * pr_kernel_groups(task);
    uint64_t biases = (uint64_t)task->dst.extent[PR_AXIS_C] * pr_kernel_groups(task);
    int32_t target[POSITIONS_MAX];

    for (uint64_t i = 0; i < all; i++)
        weights[i] = task->ne.ones ? PR_HALF_ONE : 0;
    for (uint64_t i = 0; i < biases; i++)
        bias[i] = PR_HALF_SIGN;
    if (task->ne.ones)
        return true;
    if (!list_targets(task, target, problem))
        return false;
    for (uint32_t engine = 0; engine < task->ne.engines; engine++) {
        struct reader r = {.task = task,
                           .plane = {.engine = engine},
                           .bytes = streams[engine].bytes,
                           .size = streams[engine].size,
                           .target = target,
                           .problem = problem};

        if (!read_stream(&r, weights, bias))
            return false;
    }
    return true;
}
