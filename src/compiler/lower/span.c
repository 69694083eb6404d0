/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves of tensors with more axes than a descriptor. The width of the record is the axis that is contiguous
 * in the source; if another one is contiguous in the result, that one is the channel and the result is
 * transposed. The remaining axes go to height, groups and channels. When there are more of them, axes that
 * are one axis in both tensors are merged, and the shortest that are left get a descriptor per element.
 */
#include "compiler/lower/span.h"

#include <string.h>

#include "compiler/half.h"
#include "compiler/lower/emit.h"

static int span_of(struct cc_lowering *l, uint32_t value, const struct pr_e5_operand *at,
                   const struct cc_layout *layout, struct cc_span *span)
{
    const struct cc_value *v = cc_value_of(l, value);
    uint32_t stride = layout->row;

    *span = (struct cc_span){.at = {.place = at->place, .index = at->index, .offset = at->offset},
                             .axes = v->rank ? v->rank : 1,
                             .extent = {1}};
    memcpy(span->extent, v->dim, v->rank * sizeof(v->dim[0]));
    span->stride[span->axes - 1] = CC_ELEMENT;
    for (unsigned i = span->axes - 1; i-- > 0;) {
        span->stride[i] = stride;
        stride *= span->extent[i];
    }
    return 0;
}

int cc_span_source(struct cc_lowering *l, uint32_t value, struct cc_span *span)
{
    struct pr_e5_operand at;
    struct cc_layout layout;
    int status = cc_source(l, value, &at, &layout);

    return status ? status : span_of(l, value, &at, &layout, span);
}

int cc_span_result(struct cc_lowering *l, uint32_t value, struct cc_span *span)
{
    struct pr_e5_operand at;
    struct cc_layout layout;
    int status = cc_result(l, value, &at, &layout);

    return status ? status : span_of(l, value, &at, &layout, span);
}

int cc_span_scratch(struct cc_lowering *l, unsigned axes, const uint32_t *extent, struct cc_span *span)
{
    uint64_t bytes = pr_round_up((uint64_t)extent[axes - 1] * CC_ELEMENT, PR_ROW_ALIGN);

    *span = (struct cc_span){.at = {.place = PR_E5_INTERMEDIATE}, .axes = axes};
    memcpy(span->extent, extent, axes * sizeof(*extent));
    span->stride[axes - 1] = CC_ELEMENT;
    for (unsigned i = axes - 1; i-- > 0;) {
        if (bytes > PR_E5_BYTES_MAX)
            break;
        span->stride[i] = (uint32_t)bytes;
        bytes *= extent[i];
    }
    return cc_scratch(l, bytes, &span->at.index);
}

/*
 * The contiguous axis of the stage is the longest of those that are left, so that little of its rows is
 * padding.
 */
int cc_span_stage(struct cc_lowering *l, const struct cc_span *like, unsigned slow, struct cc_span *stage)
{
    unsigned order[CC_SPAN_AXES], axes = 0, fast = slow;
    uint32_t extent[CC_SPAN_AXES + 1] = {0};
    struct cc_span buffer;
    int status;

    for (unsigned i = 0; i < like->axes; i++)
        if (i != slow && (fast == slow || like->extent[i] >= like->extent[fast]))
            fast = i;
    order[axes++] = slow;
    for (unsigned i = 0; i < like->axes; i++)
        if (i != slow && i != fast)
            order[axes++] = i;
    if (fast != slow)
        order[axes++] = fast;
    for (unsigned i = 0; i < axes; i++)
        extent[i] = like->extent[order[i]];
    if (axes == 1) /* an axis alone: one element per row */
        extent[axes++] = 1;
    status = cc_span_scratch(l, axes, extent, &buffer);
    *stage = *like;
    stage->at = buffer.at;
    for (unsigned i = 0; i < like->axes; i++)
        stage->stride[order[i]] = buffer.stride[i];
    return status;
}

struct cc_span cc_span_part(const struct cc_span *span, unsigned axis, uint32_t begin, uint32_t count,
                            uint32_t step)
{
    struct cc_span part = *span;

    part.at.offset += begin * part.stride[axis];
    part.extent[axis] = count;
    part.stride[axis] *= step;
    return part;
}

struct cc_span cc_span_of_view(const struct cc_view *view)
{
    struct cc_span span = {.at = view->at, .axes = CC_AXES};

    memcpy(span.extent, view->extent, sizeof(view->extent));
    memcpy(span.stride, view->stride, sizeof(view->stride));
    return span;
}

/* What moves together: axes of more than one element, with a stride in each tensor, the slowest first. */
struct move {
    unsigned axes;
    struct {
        uint32_t extent, from, to;
    } axis[CC_SPAN_AXES];
    unsigned place[CC_RECORD_AXES]; /* the axis of the record's W, H, C, G; NONE where there is none */
    unsigned room;                  /* axes of the record besides the contiguous ones */
    bool transposed;                /* the result's channels are contiguous */
};

enum { NONE = CC_SPAN_AXES };

static void take_axes(struct move *m, const struct cc_span *from, const struct cc_span *to)
{
    *m = (struct move){.place = {NONE, NONE, NONE, NONE}};
    for (unsigned i = 0; i < from->axes; i++) {
        if (from->extent[i] == 1)
            continue;
        m->axis[m->axes].extent = from->extent[i];
        m->axis[m->axes].from = from->stride[i];
        m->axis[m->axes++].to = to->stride[i];
    }
}

static void find_contiguous(struct move *m)
{
    for (unsigned i = 0; i < m->axes; i++) {
        if (m->place[CC_W] == NONE && m->axis[i].from == CC_ELEMENT)
            m->place[CC_W] = i;
        if (m->place[CC_C] == NONE && m->axis[i].to == CC_ELEMENT)
            m->place[CC_C] = i;
    }
    m->transposed = m->place[CC_W] != m->place[CC_C];
    if (!m->transposed)
        m->place[CC_C] = NONE;
    m->room = m->transposed ? 2 : 3;
}

/* Axes that need a place besides the contiguous ones. */
static unsigned others(const struct move *m)
{
    return m->axes - (m->place[CC_W] != NONE) - (m->transposed && m->place[CC_C] != NONE);
}

/* Two neighbours that are one axis in both tensors. */
static bool merge_one(struct move *m)
{
    for (unsigned i = 0; i + 1 < m->axes; i++) {
        uint64_t extent = (uint64_t)m->axis[i].extent * m->axis[i + 1].extent;

        if ((uint64_t)m->axis[i + 1].from * m->axis[i + 1].extent != m->axis[i].from ||
            (uint64_t)m->axis[i + 1].to * m->axis[i + 1].extent != m->axis[i].to || extent > UINT32_MAX)
            continue;
        m->axis[i].extent = (uint32_t)extent;
        m->axis[i].from = m->axis[i + 1].from;
        m->axis[i].to = m->axis[i + 1].to;
        m->axes--;
        memmove(&m->axis[i + 1], &m->axis[i + 2], (m->axes - i - 1) * sizeof(m->axis[0]));
        return true;
    }
    return false;
}

/* Gives the longest of the other axes a place, the fastest first as long as there is room for all. */
static void find_places(struct move *m)
{
    static const unsigned order[3] = {CC_H, CC_G, CC_C}; /* a transposed result has its channel already */
    bool skipped[CC_SPAN_AXES] = {false};
    unsigned next = 0;

    for (unsigned over = others(m); over > m->room; over--) {
        unsigned shortest = NONE;

        for (unsigned i = 0; i < m->axes; i++)
            if (i != m->place[CC_W] && !(m->transposed && i == m->place[CC_C]) && !skipped[i] &&
                (shortest == NONE || m->axis[i].extent < m->axis[shortest].extent))
                shortest = i;
        if (shortest != NONE)
            skipped[shortest] = true;
    }
    for (unsigned i = m->axes; i-- > 0;)
        if (i != m->place[CC_W] && !(m->transposed && i == m->place[CC_C]) && !skipped[i] && next < m->room)
            m->place[order[next++]] = i;
}

static void plan(struct move *m, const struct cc_span *from, const struct cc_span *to)
{
    take_axes(m, from, to);
    find_contiguous(m);
    while (others(m) > m->room && merge_one(m)) {
        memcpy(m->place, (unsigned[]){NONE, NONE, NONE, NONE}, sizeof(m->place));
        find_contiguous(m);
    }
    find_places(m);
}

static bool placed(const struct move *m, unsigned axis)
{
    for (unsigned i = 0; i < CC_RECORD_AXES; i++)
        if (m->place[i] == axis)
            return true;
    return false;
}

uint64_t cc_span_cost(const struct cc_span *from, const struct cc_span *to)
{
    uint64_t count = 1;
    struct move m;

    plan(&m, from, to);
    for (unsigned i = 0; i < m.axes; i++)
        if (!placed(&m, i))
            count *= m.axis[i].extent;
    return count;
}

static int apply(struct cc_lowering *l, struct pr_e5_record *r, const struct cc_neural *how)
{
    uint8_t bytes[PR_TABLE_VALUES * 2];

    if (!how)
        return 0;
    r->slice = how->slice;
    r->flags |= how->relu ? PR_E5_RELU : 0;
    if (how->scale)
        r->post_scale = how->scale;
    if (how->bias) {
        /* Public programs add before a table with a depthwise 1x1 convolution whose weights are 1. */
        r->kind = PR_E5_CONV;
        r->flags |= PR_E5_ONES;
        r->unicast = r->kw = r->kh = 1;
        r->acc_bias = how->bias;
    }
    if (!how->table)
        return 0;
    for (unsigned i = 0; i < PR_TABLE_VALUES; i++)
        cc_put_half(bytes + 2 * i, how->table->half[i]);
    r->flags |= PR_E5_TABLE;
    r->kernel_bytes = sizeof(bytes);
    return cc_constant(l, bytes, sizeof(bytes), &r->kernel);
}

static void place_axes(const struct move *m, struct pr_e5_record *r)
{
    const unsigned w = m->place[CC_W], h = m->place[CC_H], c = m->place[CC_C], g = m->place[CC_G];

    for (unsigned i = 0; i < CC_RECORD_AXES; i++)
        r->in[i] = r->out[i] = m->place[i] == NONE ? 1 : m->axis[m->place[i]].extent;
    if (h != NONE) {
        r->src[0].row = m->axis[h].from;
        r->dst.row = m->axis[h].to;
    }
    if (g != NONE) {
        r->src[0].group = m->axis[g].from;
        r->dst.group = m->axis[g].to;
    }
    if (c != NONE) {
        r->src[0].plane = m->axis[c].from;
        r->dst.plane = m->axis[c].to;
    }
    if (m->transposed) {
        r->flags |= PR_E5_OUT_TRANSPOSE;
        r->dst.plane = w == NONE ? 0 : m->axis[w].to;
    }
}

/* One record for each element of the axes without a place; `axis` is the next to look at. */
static int emit_from(struct cc_lowering *l, const struct move *m, const struct pr_e5_record *record,
                     unsigned axis)
{
    int status = 0;

    if (axis == m->axes)
        return cc_emit_cut(l, record);
    if (placed(m, axis))
        return emit_from(l, m, record, axis + 1);
    for (uint32_t i = 0; i < m->axis[axis].extent && !status; i++) {
        struct pr_e5_record part = *record;

        part.src[0].offset += i * m->axis[axis].from;
        part.dst.offset += i * m->axis[axis].to;
        status = emit_from(l, m, &part, axis + 1);
    }
    return status;
}

int cc_emit_span(struct cc_lowering *l, const struct cc_span *from, const struct cc_span *to,
                 const struct cc_neural *how)
{
    struct pr_e5_record r = cc_record(PR_E5_BYPASS);
    struct move m;
    int status = apply(l, &r, how);

    if (status)
        return status;
    plan(&m, from, to);
    r.src[0] = from->at;
    r.dst = to->at;
    place_axes(&m, &r);
    return emit_from(l, &m, &r, 0);
}
