/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory in which buffers are placed in the order of their lifetimes: those that are alive, sorted by offset.
 * A buffer goes to the lowest gap that has room for it.
 */
#ifndef COMPILER_LOWER_ARENA_H
#define COMPILER_LOWER_ARENA_H

#include "compiler/lower/context.h"

struct cc_tenant {
    uint32_t buffer; /* its number */
    uint32_t last;   /* the last record that touches it */
    uint64_t offset, bytes;
};

struct cc_arena_node;
struct cc_arena {
    uint32_t nodes, capacity;
    uint32_t root, vacant; /* of nodes that are not used: the first of a list */
    struct cc_arena_node *node;
};

/*
 * First and last record of every buffer that a record has as an operand in the intermediate memory. A buffer
 * that none has is not touched.
 */
void cc_buffers_trace(struct cc_lowering *l);
/* The numbers of the touched buffers in the order of their first records; base_free it. NULL: no memory. */
uint32_t *cc_buffers_sort(const struct cc_lowering *l, uint32_t *count);

/* Removes the buffers that no record from this one on touches. */
void cc_arena_expire(struct cc_arena *arena, uint32_t record);
/* The lowest offset at which so many bytes are free. */
uint64_t cc_arena_find(const struct cc_arena *arena, uint64_t bytes);
int cc_arena_add(struct cc_lowering *l, struct cc_arena *arena, const struct cc_tenant *tenant);
/*
 * Removes the buffer whose last use is farthest away, the lowest of several; false when none is used after
 * `last`.
 */
bool cc_arena_remove_farthest(struct cc_arena *arena, uint32_t last, uint32_t *buffer);
void cc_arena_end(struct cc_arena *arena);

#endif
