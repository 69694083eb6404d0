/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan of intermediate memory. A buffer is alive from the first to the last record that touches it; each
 * is placed at the lowest offset that is free for all of that time. Records run in sequence, so no other
 * order matters.
 */
#include "base/alloc.h"
#include "compiler/lower/arena.h"
#include "compiler/lower/pass.h"

static int place(struct cc_lowering *l, struct cc_arena *arena, uint32_t number)
{
    struct cc_buffer *b = &l->buffer[number];
    struct cc_tenant tenant = {.buffer = number, .last = b->last, .bytes = b->bytes};

    cc_arena_expire(arena, b->first);
    tenant.offset = cc_arena_find(arena, b->bytes);
    if (tenant.offset + b->bytes > PR_E5_BYTES_MAX)
        return cc_refuse_at(l, NULL, "The intermediate tensors need more than %u bytes at once",
                            PR_E5_BYTES_MAX);
    b->offset = (uint32_t)tenant.offset;
    if (b->offset + b->bytes > l->program->intermediate_bytes)
        l->program->intermediate_bytes = b->offset + b->bytes;
    return cc_arena_add(l, arena, &tenant);
}

static int place_all(struct cc_lowering *l)
{
    struct cc_arena arena = {0};
    uint32_t count;
    uint32_t *sorted = cc_buffers_sort(l, &count);
    int status = 0;

    if (!sorted)
        return cc_no_memory(l);
    for (uint32_t i = 0; i < count && !status; i++)
        status = place(l, &arena, sorted[i]);
    cc_arena_end(&arena);
    base_free(sorted);
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

    cc_buffers_trace(l);
    status = place_all(l);
    for (uint32_t i = 0; i < p->records && !status; i++) {
        resolve(l, &p->record[i].src[0]);
        resolve(l, &p->record[i].src[1]);
        resolve(l, &p->record[i].dst);
        resolve_kernel(l, &p->record[i]);
    }
    return status;
}
