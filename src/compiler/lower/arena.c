/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Placement by lifetime. Buffers come in the order of their first records, so that whatever ended before is
 * gone when a buffer is placed, and only what is alive is looked at. What is alive is a tree: to place a
 * buffer takes the logarithm of how many are.
 */
#include "compiler/lower/arena.h"

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

/*
 * Node 0 is none. The tree is ordered by offset; a node is above those of lower priority, which is a hash of
 * its number, so the same program gives the same tree and its depth is about the logarithm of its size.
 */
struct cc_arena_node {
    struct cc_tenant tenant;
    uint32_t left, right, priority;
    /* Of the node and all below it: */
    uint64_t low, high;         /* first offset, last end */
    uint64_t gap;               /* the largest between two neighbours */
    uint32_t soonest, farthest; /* of their last uses */
};

static uint64_t end_of(const struct cc_arena_node *n)
{
    return n->tenant.offset + n->tenant.bytes;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void update(struct cc_arena *arena, uint32_t at)
{
    struct cc_arena_node *n = &arena->node[at];
    const struct cc_arena_node *left = &arena->node[n->left], *right = &arena->node[n->right];

    n->low = n->tenant.offset;
    n->high = end_of(n);
    n->gap = 0;
    n->soonest = n->farthest = n->tenant.last;
    if (n->left) {
        n->low = left->low;
        n->gap = larger(left->gap, n->tenant.offset - left->high);
        n->soonest = left->soonest < n->soonest ? left->soonest : n->soonest;
        n->farthest = left->farthest > n->farthest ? left->farthest : n->farthest;
    }
    if (n->right) {
        n->high = right->high;
        n->gap = larger(n->gap, larger(right->gap, right->low - end_of(n)));
        n->soonest = right->soonest < n->soonest ? right->soonest : n->soonest;
        n->farthest = right->farthest > n->farthest ? right->farthest : n->farthest;
    }
}

/* One tree of two; everything in `low` is below everything in `high`. */
static uint32_t merge(struct cc_arena *arena, uint32_t low, uint32_t high)
{
    if (!low || !high)
        return low | high;
    if (arena->node[low].priority > arena->node[high].priority) {
        arena->node[low].right = merge(arena, arena->node[low].right, high);
        update(arena, low);
        return low;
    }
    arena->node[high].left = merge(arena, low, arena->node[high].left);
    update(arena, high);
    return high;
}

/* Two trees of one: what begins below `offset`, and the others. */
static void split(struct cc_arena *arena, uint32_t at, uint64_t offset, uint32_t *low, uint32_t *high)
{
    struct cc_arena_node *n = &arena->node[at];

    if (!at) {
        *low = *high = 0;
    } else if (n->tenant.offset < offset) {
        split(arena, n->right, offset, &n->right, high);
        update(arena, at);
        *low = at;
    } else {
        split(arena, n->left, offset, low, &n->left);
        update(arena, at);
        *high = at;
    }
}

/* Takes a node out of the tree; its place is for the next. */
static uint32_t take_out(struct cc_arena *arena, uint32_t at)
{
    struct cc_arena_node *n = &arena->node[at];
    const uint32_t rest = merge(arena, n->left, n->right);

    n->left = arena->vacant;
    arena->vacant = at;
    return rest;
}

static uint32_t expire(struct cc_arena *arena, uint32_t at, uint32_t record)
{
    struct cc_arena_node *n = &arena->node[at];

    if (!at || n->soonest >= record)
        return at;
    n->left = expire(arena, n->left, record);
    n->right = expire(arena, n->right, record);
    if (n->tenant.last < record)
        return take_out(arena, at);
    update(arena, at);
    return at;
}

void cc_arena_expire(struct cc_arena *arena, uint32_t record)
{
    arena->root = expire(arena, arena->root, record);
}

uint64_t cc_arena_find(const struct cc_arena *arena, uint64_t bytes)
{
    const struct cc_arena_node *n = arena->root ? &arena->node[arena->root] : NULL;

    if (!n || n->low >= bytes)
        return 0;
    if (n->gap < bytes)
        return n->high;
    for (;;) {
        const struct cc_arena_node *left = &arena->node[n->left], *right = &arena->node[n->right];

        if (n->left && left->gap >= bytes)
            n = left;
        else if (n->left && n->tenant.offset - left->high >= bytes)
            return left->high;
        else if (right->low - end_of(n) >= bytes)
            return end_of(n);
        else
            n = right;
    }
}

/* The place of a new node; the first of all is node 0. */
static int new_node(struct cc_lowering *l, struct cc_arena *arena, uint32_t *at)
{
    void *array = arena->node;
    int status;

    if (arena->vacant) {
        *at = arena->vacant;
        arena->vacant = arena->node[*at].left;
        return 0;
    }
    status = cc_grow(l, &array, &arena->capacity, arena->nodes, 2, sizeof(*arena->node));
    arena->node = array;
    if (status)
        return status;
    if (!arena->nodes)
        arena->node[arena->nodes++] = (struct cc_arena_node){.left = 0};
    *at = arena->nodes++;
    return 0;
}

/* Multiplicative hashing: neighbours differ in all bits. */
static uint32_t priority_of(uint32_t number)
{
    const uint32_t mixed = (number + 1) * 0x9e3779b1u;

    return (mixed ^ mixed >> 15) * 0x85ebca77u;
}

int cc_arena_add(struct cc_lowering *l, struct cc_arena *arena, const struct cc_tenant *tenant)
{
    uint32_t at = 0, low, high;
    int status = new_node(l, arena, &at);

    if (status)
        return status;
    arena->node[at] = (struct cc_arena_node){.tenant = *tenant, .priority = priority_of(tenant->buffer)};
    update(arena, at);
    split(arena, arena->root, tenant->offset, &low, &high);
    arena->root = merge(arena, merge(arena, low, at), high);
    return 0;
}

static uint32_t remove_farthest(struct cc_arena *arena, uint32_t at, uint32_t last, uint32_t *buffer)
{
    struct cc_arena_node *n = &arena->node[at];

    if (n->left && arena->node[n->left].farthest == last) {
        n->left = remove_farthest(arena, n->left, last, buffer);
    } else if (n->tenant.last == last) {
        *buffer = n->tenant.buffer;
        return take_out(arena, at);
    } else {
        n->right = remove_farthest(arena, n->right, last, buffer);
    }
    update(arena, at);
    return at;
}

bool cc_arena_remove_farthest(struct cc_arena *arena, uint32_t last, uint32_t *buffer)
{
    const uint32_t most = arena->root ? arena->node[arena->root].farthest : 0;

    if (!arena->root || most <= last)
        return false;
    arena->root = remove_farthest(arena, arena->root, most, buffer);
    return true;
}

void cc_arena_end(struct cc_arena *arena)
{
    base_free(arena->node);
}
