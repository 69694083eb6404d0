/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Placement by lifetime. Buffers come in the order of their first records, so that whatever ended before is
 * gone when a buffer is placed, and only what is alive is looked at: the time is that of the buffers times
 * the most that are alive at once.
 */
#include "compiler/lower/arena.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static void touch(struct cc_lowering *l, uint32_t place, uint32_t index, uint32_t record)
{
    struct cc_buffer *b;

    if (place != PR_E5_INTERMEDIATE)
        return;
    b = &l->buffer[index];
    if (!b->touched)
        b->first = record;
    b->last = record;
    b->touched = true;
}

void cc_buffers_trace(struct cc_lowering *l)
{
    for (uint32_t i = 0; i < l->buffers; i++)
        l->buffer[i].touched = false;
    for (uint32_t i = 0; i < l->program->records; i++) {
        const struct pr_e5_record *r = &l->program->record[i];

        touch(l, r->src[0].place, r->src[0].index, i);
        touch(l, r->src[1].place, r->src[1].index, i);
        touch(l, r->dst.place, r->dst.index, i);
        touch(l, r->kernel_place, r->kernel_index, i);
    }
}

/* Buffers by their first records: the heads of lists, and the next of each list. */
uint32_t *cc_buffers_sort(const struct cc_lowering *l, uint32_t *count)
{
    uint32_t records = l->program->records;
    uint32_t *sorted = base_alloc_array(l->buffers + 1, sizeof(*sorted));
    uint32_t *at = base_alloc_array(records + 1, sizeof(*at));

    *count = 0;
    if (!sorted || !at) {
        base_free(sorted);
        base_free(at);
        return NULL;
    }
    for (uint32_t i = 0; i < l->buffers; i++)
        if (l->buffer[i].touched)
            at[l->buffer[i].first + 1]++;
    for (uint32_t i = 0; i < records; i++)
        at[i + 1] += at[i];
    for (uint32_t i = 0; i < l->buffers; i++)
        if (l->buffer[i].touched) {
            sorted[at[l->buffer[i].first]++] = i;
            ++*count;
        }
    base_free(at);
    return sorted;
}

void cc_arena_expire(struct cc_arena *arena, uint32_t record)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < arena->count; i++)
        if (arena->tenant[i].last >= record)
            arena->tenant[kept++] = arena->tenant[i];
    arena->count = kept;
}

uint64_t cc_arena_find(const struct cc_arena *arena, uint64_t bytes)
{
    uint64_t offset = 0;

    for (uint32_t i = 0; i < arena->count && arena->tenant[i].offset < offset + bytes; i++)
        offset = arena->tenant[i].offset + arena->tenant[i].bytes;
    return offset;
}

int cc_arena_add(struct cc_lowering *l, struct cc_arena *arena, const struct cc_tenant *tenant)
{
    void *array = arena->tenant;
    int status = cc_grow(l, &array, &arena->capacity, arena->count, 1, sizeof(*arena->tenant));
    uint32_t i = arena->count;

    arena->tenant = array;
    if (status)
        return status;
    for (; i > 0 && arena->tenant[i - 1].offset > tenant->offset; i--)
        arena->tenant[i] = arena->tenant[i - 1];
    arena->tenant[i] = *tenant;
    arena->count++;
    return 0;
}

void cc_arena_remove(struct cc_arena *arena, uint32_t index)
{
    arena->count--;
    memmove(&arena->tenant[index], &arena->tenant[index + 1],
            (arena->count - index) * sizeof(*arena->tenant));
}

void cc_arena_end(struct cc_arena *arena)
{
    base_free(arena->tenant);
}
