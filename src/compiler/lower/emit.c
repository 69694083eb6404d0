/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records and their way into the program. Every record passes cc_emit, which holds it to the limits of a
 * descriptor; no family appends by itself. cc_emit_cut is only for records whose elements do not depend on
 * each other: a cut moves offsets along one axis and changes nothing else, and pieces begin on 64-byte
 * boundaries.
 */
#include "compiler/lower/emit.h"

#include "compiler/half.h"
#include "compiler/lower/operand.h"
#include "program/td_codes.h"

struct pr_e5_record cc_record(enum pr_e5_kind kind)
{
    return (struct pr_e5_record){.kind = kind,
                                 .scale = PR_HALF_ONE,
                                 .pre_scale = PR_HALF_ONE,
                                 .post_scale = PR_HALF_ONE,
                                 .final_scale = cc_float_bits(1)};
}

int cc_emit(struct cc_lowering *l, const struct pr_e5_record *record)
{
    static const char *const axis[4] = {"a width", "a height", "a number of channels", "a batch"};
    static const uint32_t limit[4] = {PR_WIDTH_MAX, PR_HEIGHT_MAX, PR_CHANNELS_MAX, PR_GROUPS_MAX};
    struct cc_program *p = l->program;
    void *array = p->record;
    int status;

    for (unsigned i = 0; i < 4; i++) {
        uint32_t extent = record->in[i] > record->out[i] ? record->in[i] : record->out[i];

        if (extent > limit[i])
            return cc_refuse(l, "a descriptor would need %s of %u; the engine takes at most %u", axis[i],
                             extent, limit[i]);
    }
    if (p->records == PR_E5_RECORDS_MAX)
        return cc_refuse(l, "the program needs more than %u descriptors", PR_E5_RECORDS_MAX);
    status = cc_grow(l, &array, &p->record_capacity, p->records, 1, sizeof(*p->record));
    p->record = array;
    array = p->maker;
    if (!status)
        status = cc_grow(l, &array, &p->maker_capacity, p->records, 1, sizeof(*p->maker));
    p->maker = array;
    if (status)
        return status;
    p->maker[p->records] = l->under_way;
    p->record[p->records++] = *record;
    return 0;
}

/* The stride of an operand, in bytes, along an axis of the record. */
static uint32_t step_of(const struct pr_e5_operand *o, unsigned axis, bool transposed, uint32_t broadcast)
{
    static const uint32_t bit[4] = {
        [CC_W] = PR_BROADCAST_W, [CC_H] = PR_BROADCAST_H, [CC_C] = PR_BROADCAST_C};

    if (broadcast & bit[axis])
        return 0;
    switch (axis) {
    case CC_W: return transposed ? o->plane : CC_ELEMENT;
    case CC_H: return o->row;
    case CC_C: return transposed ? CC_ELEMENT : o->plane;
    default: return o->group;
    }
}

/* Cuts one axis after the other; `axis` is the next. */
static int emit_from(struct cc_lowering *l, const struct pr_e5_record *record, unsigned axis)
{
    /* Pieces are whole 64-byte granules, whichever axis is contiguous. */
    static const uint32_t limit[4] = {PR_WIDTH_MAX, PR_HEIGHT_MAX, PR_CHANNELS_MAX, CC_GROUPS_CUT};
    uint32_t whole, flags = record->flags;
    int status = 0;

    if (axis == 4)
        return cc_emit(l, record);
    whole = record->out[axis];
    for (uint32_t at = 0; at < whole && !status; at += limit[axis]) {
        struct pr_e5_record part = *record;

        part.in[axis] = part.out[axis] = whole - at < limit[axis] ? whole - at : limit[axis];
        part.src[0].offset +=
            at * step_of(&part.src[0], axis, flags & PR_E5_TRANSPOSE1, part.broadcast & PR_BROADCAST_MASK);
        if (part.src[1].place != PR_E5_NONE)
            part.src[1].offset += at * step_of(&part.src[1], axis, flags & PR_E5_TRANSPOSE2,
                                               part.broadcast >> PR_BROADCAST_SECOND_LO);
        part.dst.offset += at * step_of(&part.dst, axis, flags & PR_E5_OUT_TRANSPOSE, 0);
        status = emit_from(l, &part, axis + 1);
    }
    return status;
}

int cc_emit_cut(struct cc_lowering *l, const struct pr_e5_record *record)
{
    return emit_from(l, record, 0);
}
