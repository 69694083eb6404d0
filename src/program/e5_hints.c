/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields of a descriptor that this model does not act on, as Apple's compiler writes them in all public
 * programs with such a task (engine facts 1.3 to 1.10, oracle sheet 2.6 and 2.8). They are here so that the
 * words are those of real programs where nothing is known against it: docs/parity.md counts what still
 * differs.
 */
#include "program/e5_expander.h"

enum { CACHE_USUAL = 2, CACHE_REUSE = 0xe, CACHE_NO_REUSE = 0xc, CACHE_RESULT = 3 };
enum { LOG_EVENTS = 0x400, LOG_EVENTS_LAST = 0x42a, DEBUG_EVENTS = 0x68 };
enum { DEBUG_EVENTS_LAST = 0x6a, DEBUG_EVENTS_ONLY = 0xfff86a };
enum { KERNEL_IDLE = 1, NETWORK_NEURAL = 1, PALETTE_IDLE = 8 }; /* an idle stream has 64 bytes */
enum { EXTRA_STREAMS = 4 };
enum { BANKS_BYTES = 0x400 }; /* 64 banks of 16 bytes */
enum { PAD_PLANAR = 0x20, PAD_WEIGHTS = 0x30, STRIP_HEIGHT = 4 };

static void put_field(struct pr_e5_expander *x, enum pr_td_field field, uint32_t value)
{
    pr_image_put(&x->image, field, value);
}

static bool by_dma(const struct pr_e5_operand *operand)
{
    return operand->place != PR_E5_NONE && operand->place != PR_E5_L2;
}

static void hint_source1(struct pr_e5_expander *x)
{
    bool moved = by_dma(&x->record->src[0]);

    put_field(x, PR_F_SRC_HINT, CACHE_USUAL);
    put_field(x, PR_F_SRC_HINT_REUSE, moved ? CACHE_REUSE : CACHE_USUAL);
    put_field(x, PR_F_SRC_HINT_NOREUSE, moved ? CACHE_NO_REUSE : CACHE_USUAL);
    put_field(x, PR_F_SOURCE_ALIAS_CONV_SRC, moved);
    put_field(x, PR_F_SOURCE_ALIAS_CONV_RSLT, moved);
    put_field(x, PR_F_SOURCE_ALIAS_PLANAR_SRC, moved);
    put_field(x, PR_F_SOURCE_ALIAS_PLANAR_RSLT, moved);
}

static void hint_source2(struct pr_e5_expander *x)
{
    bool moved = by_dma(&x->record->src[1]);

    put_field(x, PR_F_SRC2_HINT, CACHE_USUAL);
    put_field(x, PR_F_SRC2_HINT_REUSE, moved ? CACHE_REUSE : CACHE_USUAL);
    put_field(x, PR_F_SRC2_HINT_NOREUSE, moved ? CACHE_NO_REUSE : CACHE_USUAL);
}

static void hint_result(struct pr_e5_expander *x)
{
    bool moved = by_dma(&x->record->dst);

    put_field(x, PR_F_DST_HINT, CACHE_RESULT);
    put_field(x, PR_F_DST_BFR_MODE, moved);
    put_field(x, PR_F_RESULT_BFR_MODE, moved);
    put_field(x, PR_F_RESULT_ALIAS_CONV_SRC, moved);
    put_field(x, PR_F_RESULT_ALIAS_CONV_RSLT, moved);
    put_field(x, PR_F_RESULT_ALIAS_PLANAR_SRC, moved);
    put_field(x, PR_F_RESULT_ALIAS_PLANAR_RSLT, moved);
}

/*
 * Strides along axes of length 1, which no address depends on, are those of a dense tensor: rows on 64 bytes,
 * then planes, depths and groups without gaps. A stride of 0 along a longer axis is a broadcast, and stays.
 */
static void fill_strides(struct pr_e5_operand *o, const uint32_t extent[4], uint32_t depth)
{
    uint64_t row = extent[1] > 1 || o->row ? o->row : pr_round_up(2ull * extent[0], PR_ROW_ALIGN);
    uint64_t plane = extent[2] > 1 || o->plane ? o->plane : row * extent[1], whole = plane * extent[2];

    if (!by_dma(o) || whole > UINT32_MAX || whole * depth > UINT32_MAX)
        return;
    o->row = (uint32_t)row;
    o->plane = (uint32_t)plane;
    o->depth = depth > 1 || o->depth ? o->depth : (uint32_t)whole;
    o->group = extent[3] > 1 || o->group ? o->group : (uint32_t)(whole * depth);
}

void pr_e5_fill_strides(struct pr_e5_record *r)
{
    uint32_t depth = r->depth ? r->depth : 1;

    if (r->flags & (PR_E5_TRANSPOSE1 | PR_E5_TRANSPOSE2 | PR_E5_OUT_TRANSPOSE) || r->broadcast)
        return;
    fill_strides(&r->src[0], r->in, depth);
    fill_strides(&r->src[1], r->in, depth);
    fill_strides(&r->dst, r->out, pr_e5_is_reduction(r) ? 1 : depth);
}

/*
 * Where operands that pass by DMA are staged: one after the other from address 0, a row with all its
 * channels at a time, rows not on the same bank of the 64 (guide, chapter 22). Left at 0 when they would need
 * more than there is for staging, or when rows are wider than a strip.
 */
struct stage {
    uint32_t channel, row, depth, bytes; /* strides, and all of it */
};

/* What a row is lengthened by when all rows would begin on one bank. */
static uint32_t row_pad(const struct pr_e5_record *r)
{
    return !pr_e5_is_neural(r) ? PAD_PLANAR : pr_e5_has_weights(r) ? PAD_WEIGHTS : 0;
}

static struct stage stage_of(const struct pr_e5_operand *o, const uint32_t extent[4], uint32_t pad)
{
    uint64_t channel = pr_round_up(2ull * extent[0], PR_E5_L2_ALIGN), depth = channel * extent[2];
    uint64_t row = depth % BANKS_BYTES ? depth : depth + pad;

    if (!by_dma(o) || channel > PR_STRIP_BYTES || row * extent[1] > PR_E5_L2_STAGING)
        return (struct stage){0};
    return (struct stage){(uint32_t)channel, (uint32_t)row, (uint32_t)depth, (uint32_t)(row * extent[1])};
}

static void hint_staging(struct pr_e5_expander *x)
{
    const struct pr_e5_record *r = x->record;
    struct stage a = stage_of(&r->src[0], r->in, row_pad(r)), b = stage_of(&r->src[1], r->in, row_pad(r)),
                 y = stage_of(&r->dst, r->out, row_pad(r));

    if (a.bytes + b.bytes + y.bytes > PR_E5_L2_STAGING || r->broadcast)
        return;
    if (a.bytes) {
        put_field(x, PR_F_L2_SRC_ROW, a.row >> 4);
        put_field(x, PR_F_L2_SRC_DEPTH, a.depth >> 4);
        put_field(x, PR_F_L2_SRC_GROUP, a.depth >> 4);
    }
    if (b.bytes) {
        put_field(x, PR_F_L2_SRC2_BASE, a.bytes >> 4);
        put_field(x, PR_F_L2_SRC2_CHANNEL, b.channel >> 4);
        put_field(x, PR_F_L2_SRC2_ROW, b.row >> 4);
        put_field(x, PR_F_L2_SRC2_DEPTH, b.depth >> 4);
        put_field(x, PR_F_L2_SRC2_GROUP, b.depth >> 4);
    }
    if (y.bytes)
        put_field(x, PR_F_L2_RESULT_BASE, (a.bytes + b.bytes) >> 4);
}

static void hint_kernel(struct pr_e5_expander *x)
{
    for (uint32_t e = 0; e < PR_ENGINES_MAX; e++) {
        pr_image_put_at(&x->image, PR_F_COEFF_HINT, e, CACHE_USUAL);
        if (pr_e5_is_neural(x->record) && !pr_image_get_at(&x->image, PR_F_COEFF_EN, e))
            pr_image_put_at(&x->image, PR_F_COEFF_BYTES, e, KERNEL_IDLE);
    }
    for (uint32_t i = 0; i < EXTRA_STREAMS; i++) {
        pr_image_put_at(&x->image, PR_F_EXTRA_HINT, i, CACHE_USUAL);
        pr_image_put_at(&x->image, PR_F_EXTRA_BYTES, i, KERNEL_IDLE);
    }
    put_field(x, PR_F_PALETTIZED_BITS, PALETTE_IDLE);
}

void pr_e5_write_hints(struct pr_e5_expander *x)
{
    bool last = x->index + 1 == x->e5->records;
    uint32_t debug = !last ? DEBUG_EVENTS : x->index ? DEBUG_EVENTS_LAST : DEBUG_EVENTS_ONLY;

    pr_td_head_put(&x->head, PR_H_LOG_EVENTS, last ? LOG_EVENTS_LAST : LOG_EVENTS);
    pr_td_head_put(&x->head, PR_H_DEBUG_LOG_EVENTS, debug);
    put_field(x, PR_F_TASK_NID, pr_e5_is_neural(x->record) ? NETWORK_NEURAL : 0);
    if (!pr_e5_is_neural(x->record))
        put_field(x, PR_F_UNICAST_CIN, 1);
    put_field(x, PR_F_SRC_UNKNOWN40, 1);
    put_field(x, PR_F_MAC_BIT20, 1);
    if (pr_e5_has_weights(x->record)) {
        put_field(x, PR_F_SH_PREF, STRIP_HEIGHT);
        put_field(x, PR_F_SH_MIN, STRIP_HEIGHT);
        put_field(x, PR_F_SH_MAX, STRIP_HEIGHT);
    }
    hint_source1(x);
    hint_source2(x);
    hint_result(x);
    hint_staging(x);
    hint_kernel(x);
}
