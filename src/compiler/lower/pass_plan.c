/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan of intermediate memory. A buffer lives from the first to the last record that touches it; buffers
 * are placed in the order of their creation, each at the lowest offset at which it overlaps no buffer with an
 * overlapping lifetime. Records run in sequence, so no other order matters.
 */
#include <string.h>

#include "base/alloc.h"
#include "compiler/lower/pass.h"

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

static bool overlap(const struct cc_buffer *a, const struct cc_buffer *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/*
 * The lowest offset at which the buffer overlaps no buffer with an overlapping lifetime. `placed` lists the
 * buffers that have an offset, sorted by it, so one pass over it is enough.
 */
static uint64_t find_offset(const struct cc_lowering *l, const struct cc_buffer *b, const uint32_t *placed,
                            uint32_t count)
{
    uint64_t offset = 0;

    for (uint32_t i = 0; i < count; i++) {
        const struct cc_buffer *other = &l->buffer[placed[i]];
        uint64_t end = (uint64_t)other->offset + other->bytes;

        if (other->offset >= offset + b->bytes)
            break;
        if (overlap(b, other) && end > offset)
            offset = end;
    }
    return offset;
}

/* Keeps the list sorted; after buffers of the same offset. */
static void insert(const struct cc_lowering *l, uint32_t number, uint32_t *placed, uint32_t count)
{
    uint32_t low = 0, high = count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (l->buffer[placed[middle]].offset <= l->buffer[number].offset)
            low = middle + 1;
        else
            high = middle;
    }
    memmove(&placed[low + 1], &placed[low], (count - low) * sizeof(*placed));
    placed[low] = number;
}

static int place(struct cc_lowering *l, uint32_t number, uint32_t *placed)
{
    struct cc_buffer *b = &l->buffer[number];
    uint64_t offset = find_offset(l, b, placed, number);

    if (offset + b->bytes > PR_E5_BYTES_MAX)
        return cc_refuse_at(l, NULL, "The intermediate tensors need more than %u bytes at once",
                            PR_E5_BYTES_MAX);
    b->offset = (uint32_t)offset;
    insert(l, number, placed, number);
    if (offset + b->bytes > l->program->intermediate_bytes)
        l->program->intermediate_bytes = (uint32_t)(offset + b->bytes);
    return 0;
}

static int place_all(struct cc_lowering *l)
{
    uint32_t *placed = base_alloc_array(l->buffers ? l->buffers : 1, sizeof(*placed));
    int status = 0;

    if (!placed)
        return cc_no_memory(l);
    for (uint32_t i = 0; i < l->buffers && !status; i++)
        status = place(l, i, placed);
    base_free(placed);
    return status;
}

static void resolve(const struct cc_lowering *l, struct pr_e5_operand *operand)
{
    if (operand->place != PR_E5_INTERMEDIATE)
        return;
    operand->offset += l->buffer[operand->index].offset;
    operand->index = 0;
}

static void resolve_kernel(const struct cc_lowering *l, struct pr_e5_record *record)
{
    if (record->kernel_place != PR_E5_INTERMEDIATE)
        return;
    record->kernel += l->buffer[record->kernel_index].offset;
    record->kernel_index = 0;
}

int cc_pass_plan(struct cc_lowering *l)
{
    struct cc_program *p = l->program;
    int status;

    for (uint32_t i = 0; i < p->records; i++) {
        touch(l, &p->record[i].src[0], i);
        touch(l, &p->record[i].src[1], i);
        touch(l, &p->record[i].dst, i);
        touch(l,
              &(struct pr_e5_operand){.place = p->record[i].kernel_place, .index = p->record[i].kernel_index},
              i);
    }
    status = place_all(l);
    for (uint32_t i = 0; i < p->records && !status; i++) {
        resolve(l, &p->record[i].src[0]);
        resolve(l, &p->record[i].src[1]);
        resolve(l, &p->record[i].dst);
        resolve_kernel(l, &p->record[i]);
    }
    return status;
}
