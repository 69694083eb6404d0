/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The intermediate buffer: each tensor lives from the first to the last record that touches it; tensors are placed in the order of their birth, each
 * at the lowest offset that no tensor living at the same time overlaps. Records run in sequence, so that is all there is to order.
 */
#include "compiler/lowering.h"

static void touch(struct cc_lowering *l, const struct pr_e5_operand *operand, uint32_t record)
{
    struct cc_buffer *b;

    if (operand->place != PR_E5_INTERMEDIATE)
        return;
    b = &l->buffer[operand->index];
    if (!b->touched)
        b->first = record;
    b->last = record;
    b->touched = true;
}

static bool together(const struct cc_buffer *a, const struct cc_buffer *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* The first living neighbour that [offset, offset + bytes) meets, or NULL. */
static const struct cc_buffer *meets(const struct cc_lowering *l, uint32_t number, uint64_t offset)
{
    const struct cc_buffer *b = &l->buffer[number];

    for (uint32_t i = 0; i < number; i++) {
        const struct cc_buffer *other = &l->buffer[i];

        if (together(b, other) && offset < (uint64_t)other->offset + other->bytes &&
            other->offset < offset + b->bytes)
            return other;
    }
    return NULL;
}

static int place(struct cc_lowering *l, uint32_t number)
{
    struct cc_buffer *b = &l->buffer[number];
    const struct cc_buffer *other;
    uint64_t offset = 0;

    /* Each step goes past the end of a neighbour, of which there are finitely many. */
    while ((other = meets(l, number, offset)))
        offset = (uint64_t)other->offset + other->bytes;
    if (offset + b->bytes > PR_E5_BYTES_MAX)
        return cc_refuse(l, "The intermediate tensors need more than %u bytes at once", PR_E5_BYTES_MAX);
    b->offset = (uint32_t)offset;
    if (offset + b->bytes > l->program->intermediate_bytes)
        l->program->intermediate_bytes = (uint32_t)(offset + b->bytes);
    return 0;
}

static void settle(const struct cc_lowering *l, struct pr_e5_operand *operand)
{
    if (operand->place != PR_E5_INTERMEDIATE)
        return;
    operand->offset += l->buffer[operand->index].offset;
    operand->index = 0;
}

static void settle_kernel(const struct cc_lowering *l, struct pr_e5_record *record)
{
    if (record->kernel_place != PR_E5_INTERMEDIATE)
        return;
    record->kernel += l->buffer[record->kernel_index].offset;
    record->kernel_index = 0;
}

int cc_pass_plan(struct cc_lowering *l)
{
    struct cc_program *p = l->program;
    int status = 0;

    for (uint32_t i = 0; i < p->records; i++) {
        touch(l, &p->record[i].src[0], i);
        touch(l, &p->record[i].src[1], i);
        touch(l, &p->record[i].dst, i);
        touch(l,
              &(struct pr_e5_operand){.place = p->record[i].kernel_place, .index = p->record[i].kernel_index},
              i);
    }
    for (uint32_t i = 0; i < l->buffers && !status; i++)
        status = place(l, i);
    for (uint32_t i = 0; i < p->records && !status; i++) {
        settle(l, &p->record[i].src[0]);
        settle(l, &p->record[i].src[1]);
        settle(l, &p->record[i].dst);
        settle_kernel(l, &p->record[i]);
    }
    return status;
}
