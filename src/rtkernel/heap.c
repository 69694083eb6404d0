/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arenas. Blocks cover an arena from end to end, and each has its own size and that of the block below.
 * resize changes both copies of a size together. Two free blocks are never neighbours: freeing joins them on
 * both sides. A block in use has a guard word right before its bytes and one right after them, whatever their
 * number; a free one has another word in place of the first, which a second free of it finds.
 */
#include "rtkernel/heap.h"

#include "rtkernel/format.h"
#include "rtkernel/memory.h"
#include "rtkernel/sched.h"

#define GRAIN  16u
#define IN_USE 1u

#define GUARD_BEFORE 0x65726f6665622d2dull /* in memory: "--before" */
#define GUARD_AFTER  0x2d72657466612d2dull /* "--after-" */
#define GUARD_FREE   0x2d2d656572662d2dull /* "--free--" */

struct block {
    uint64_t size;  /* of the whole block, a multiple of GRAIN; IN_USE in bit 0 */
    uint64_t below; /* size of the block below, 0 for the lowest */
    uint64_t bytes; /* that were asked for */
    uint64_t guard;
};
#define OVERHEAD (sizeof(struct block) + sizeof(uint64_t))
_Static_assert(sizeof(struct block) % GRAIN == 0, "what follows it is aligned");
_Static_assert(sizeof(struct block) == RT_HEAP_BEFORE && OVERHEAD == RT_HEAP_OVERHEAD, "as in heap.h");

static uint64_t size_of(const struct block *block)
{
    return block->size & ~(uint64_t)IN_USE;
}

static uint8_t *end_of(const struct rt_arena *arena)
{
    return arena->base + arena->bytes;
}

/* NULL above the highest. */
static struct block *above(const struct rt_arena *arena, struct block *block)
{
    uint8_t *next = (uint8_t *)block + size_of(block);

    return next < end_of(arena) ? (struct block *)(void *)next : NULL;
}

static void resize(const struct rt_arena *arena, struct block *block, uint64_t size, uint64_t used)
{
    struct block *next;

    block->size = size | used;
    next = above(arena, block);
    if (next)
        next->below = size;
}

void rt_heap_init(struct rt_kernel *kernel, enum rt_arena_id id, void *base, size_t bytes, bool zeroed)
{
    struct rt_arena *arena = &kernel->arena[id];

    *arena = (struct rt_arena){.base = base, .bytes = bytes & ~(size_t)(GRAIN - 1)};
    if (arena->bytes <= sizeof(struct block))
        arena->bytes = 0;
    else
        *(struct block *)base = (struct block){.size = arena->bytes, .guard = GUARD_FREE};
    arena->fresh = zeroed ? sizeof(struct block) : arena->bytes;
}

static struct block *lowest(const struct rt_arena *arena)
{
    return arena->bytes ? (struct block *)(void *)arena->base : NULL;
}

const uint8_t *rt_heap_top(const struct rt_kernel *kernel, enum rt_arena_id id)
{
    const struct rt_arena *arena = &kernel->arena[id];
    const uint8_t *top = arena->base;

    for (struct block *block = lowest(arena); block; block = above(arena, block))
        if (block->size & IN_USE)
            top = (const uint8_t *)block + size_of(block);
    return top;
}

static struct block *first_fit(const struct rt_arena *arena, uint64_t size)
{
    struct block *block = lowest(arena);

    while (block && (block->size & IN_USE || block->size < size))
        block = above(arena, block);
    return block;
}

/* The size of a block for so many bytes. */
static uint64_t size_for(uint64_t bytes)
{
    return sizeof(struct block) + ((bytes + sizeof(uint64_t) + GRAIN - 1) & ~(uint64_t)(GRAIN - 1));
}

static uint8_t *bytes_of(struct block *block)
{
    return (uint8_t *)(block + 1);
}

/* What is left above becomes a free block, if it can hold anything. */
static void split(const struct rt_arena *arena, struct block *block, uint64_t size)
{
    const uint64_t rest = block->size - size;

    if (rest <= sizeof(*block))
        return;
    block->size = size;
    *above(arena, block) = (struct block){.below = size, .guard = GUARD_FREE};
    resize(arena, above(arena, block), rest, 0);
}

static void occupy(struct rt_arena *arena, struct block *block, uint64_t bytes)
{
    const uint64_t guard = GUARD_AFTER;

    split(arena, block, size_for(bytes));
    arena->used += block->size;
    if (arena->used > arena->peak)
        arena->peak = arena->used;
    block->size |= IN_USE;
    block->bytes = bytes;
    block->guard = GUARD_BEFORE;
    rt_memcpy(bytes_of(block) + bytes, &guard, sizeof(guard));
}

/*
 * How many of the block's bytes may be other than 0. From now on that is all of it, and the head of the block
 * above, which may become a part of another block.
 */
static size_t dirty_bytes(struct rt_arena *arena, struct block *block, size_t bytes)
{
    const uint64_t begin = (uint64_t)(bytes_of(block) - arena->base), fresh = arena->fresh;
    const uint64_t end = begin + size_of(block);

    if (end > fresh)
        arena->fresh = end < arena->bytes ? end : arena->bytes;
    if (fresh <= begin)
        return 0;
    return fresh - begin < bytes ? (size_t)(fresh - begin) : bytes;
}

void *rt_heap_alloc(struct rt_kernel *kernel, enum rt_arena_id id, size_t bytes)
{
    const uint32_t previous = rt_sched_enter(kernel);
    struct rt_arena *arena = &kernel->arena[id];
    struct block *block = NULL;
    size_t dirty = 0;

    rt_sched_check_context(kernel, __func__);
    if (bytes <= arena->bytes)
        block = first_fit(arena, size_for(bytes));
    if (block) {
        occupy(arena, block, bytes);
        dirty = dirty_bytes(arena, block, bytes);
    } else {
        arena->failures++;
    }
    rt_sched_leave(kernel, previous);
    return block ? rt_memset(bytes_of(block), 0, dirty) : NULL;
}

static struct rt_arena *arena_of(struct rt_kernel *kernel, const void *memory)
{
    for (unsigned i = 0; i < RT_ARENAS; i++) {
        struct rt_arena *arena = &kernel->arena[i];

        if ((const uint8_t *)memory >= arena->base + sizeof(struct block) &&
            (const uint8_t *)memory < end_of(arena))
            return arena;
    }
    return NULL;
}

/* Its sizes are possible, and the neighbour below agrees. */
static bool fits(const struct rt_arena *arena, const struct block *block)
{
    const uint64_t below = (uint64_t)((const uint8_t *)block - arena->base), size = size_of(block);

    if (size % GRAIN || size <= sizeof(*block) || size > arena->bytes - below || block->below % GRAIN ||
        block->below > below)
        return false;
    if (!block->below)
        return !below;
    return size_of((const struct block *)(const void *)((const uint8_t *)block - block->below)) ==
           block->below;
}

static bool is_overrun(const struct rt_arena *arena, struct block *block)
{
    const uint64_t guard = GUARD_AFTER;
    const struct block *next = above(arena, block);

    return block->bytes > size_of(block) - OVERHEAD ||
           rt_memcmp(bytes_of(block) + block->bytes, &guard, sizeof(guard)) ||
           (next && next->below != size_of(block));
}

/* What is wrong with a block, or NULL. */
static const char *fault_of(const struct rt_arena *arena, struct block *block)
{
    if (!fits(arena, block) || (block->guard == GUARD_BEFORE && !(block->size & IN_USE)))
        return "is not an allocation";
    if (block->guard != (block->size & IN_USE ? GUARD_BEFORE : GUARD_FREE))
        return "was written below its start";
    return block->size & IN_USE && is_overrun(arena, block) ? "was overrun" : NULL;
}

static const char *fault_of_free(const struct rt_arena *arena, void *memory)
{
    struct block *block = (struct block *)memory - 1;

    if (!arena || (uintptr_t)memory % GRAIN)
        return "is not an allocation";
    if (block->guard == GUARD_FREE)
        return "was freed before";
    return block->size & IN_USE ? fault_of(arena, block) : "is not an allocation";
}

static void release(struct rt_arena *arena, struct block *block)
{
    struct block *next, *lower;

    arena->used -= size_of(block);
    block->guard = GUARD_FREE;
    resize(arena, block, size_of(block), 0);
    next = above(arena, block);
    if (next && !(next->size & IN_USE))
        resize(arena, block, block->size + next->size, 0);
    lower = block->below ? (struct block *)(void *)((uint8_t *)block - block->below) : NULL;
    if (lower && !(lower->size & IN_USE))
        resize(arena, lower, lower->size + block->size, 0);
}

void rt_heap_free(struct rt_kernel *kernel, void *memory)
{
    const uint32_t previous = rt_sched_enter(kernel);
    struct rt_arena *arena = arena_of(kernel, memory);
    const char *fault;

    rt_sched_check_context(kernel, __func__);
    if (memory) {
        fault = fault_of_free(arena, memory);
        if (fault)
            rt_fault_assert(kernel, "%s: the block %s", __func__, fault);
        release(arena, (struct block *)memory - 1);
    }
    rt_sched_leave(kernel, previous);
}

static const char *name_of(enum rt_arena_id id)
{
    return id == RT_ARENA_SYSTEM ? "system" : "framework";
}

static void check_arena(struct rt_kernel *kernel, enum rt_arena_id id)
{
    const struct rt_arena *arena = &kernel->arena[id];
    unsigned number = 0;

    for (struct block *block = lowest(arena); block; block = above(arena, block), number++) {
        const char *fault = fault_of(arena, block);

        if (fault)
            rt_fault_assert(kernel, "rt_heap_check: block %u of the %s arena %s", number, name_of(id), fault);
    }
}

void rt_heap_check(struct rt_kernel *kernel)
{
    const uint32_t previous = rt_sched_enter(kernel);

    for (unsigned i = 0; i < RT_ARENAS; i++)
        check_arena(kernel, (enum rt_arena_id)i);
    rt_sched_leave(kernel, previous);
}

struct rt_heap_info rt_heap_info(struct rt_kernel *kernel, enum rt_arena_id id)
{
    const uint32_t previous = rt_sched_enter(kernel);
    const struct rt_arena *arena = &kernel->arena[id];
    struct rt_heap_info info = {.name = name_of(id),
                                .total = arena->bytes,
                                .used = arena->used,
                                .peak = arena->peak,
                                .failures = arena->failures};

    for (struct block *block = lowest(arena); block; block = above(arena, block)) {
        if (block->size & IN_USE) {
            info.blocks++;
            continue;
        }
        info.free += block->size;
        if (block->size - OVERHEAD > info.largest)
            info.largest = block->size - OVERHEAD;
    }
    rt_sched_leave(kernel, previous);
    return info;
}

size_t rt_heap_text(struct rt_kernel *kernel, char *text, size_t bytes)
{
    struct rt_lines lines = {.text = text, .bytes = bytes};

    rt_format_line(&lines, "arena total used peak largest blocks failures");
    for (unsigned i = 0; i < RT_ARENAS; i++) {
        const struct rt_heap_info info = rt_heap_info(kernel, (enum rt_arena_id)i);

        rt_format_line(&lines, "%s %llu %llu %llu %llu %u %llu", info.name, (unsigned long long)info.total,
                       (unsigned long long)info.used, (unsigned long long)info.peak,
                       (unsigned long long)info.largest, info.blocks, (unsigned long long)info.failures);
    }
    return lines.length;
}
