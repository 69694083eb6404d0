/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arenas. Blocks cover an arena from end to end, and each has its own size and that of the block below.
 * resize changes both copies of a size together; is_allocation compares them to find a stray pointer or an
 * overrun. Two free blocks are never neighbours: freeing joins them on both sides.
 */
#include "rtkernel/heap.h"

#include "rtkernel/memory.h"
#include "rtkernel/sched.h"

#define GRAIN  16u
#define IN_USE 1u

struct block {
    uint64_t size;  /* of the whole block, a multiple of GRAIN; IN_USE in bit 0 */
    uint64_t below; /* size of the block below, 0 for the lowest */
};
_Static_assert(sizeof(struct block) == GRAIN, "the overhead that heap.h promises");

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

void rt_heap_init(struct rt_kernel *kernel, enum rt_arena_id id, void *base, size_t bytes)
{
    struct rt_arena *arena = &kernel->arena[id];
    struct block *whole = base;

    arena->base = base;
    arena->bytes = bytes & ~(size_t)(GRAIN - 1);
    if (arena->bytes)
        *whole = (struct block){arena->bytes, 0};
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

static void refuse_in_interrupt(struct rt_kernel *kernel, const char *call)
{
    if (kernel->in_interrupt)
        rt_fault_assert(kernel, "%s: called in interrupt context", call);
}

void *rt_heap_alloc(struct rt_kernel *kernel, enum rt_arena_id id, size_t bytes)
{
    const uint32_t previous = rt_sched_enter(kernel);
    const struct rt_arena *arena = &kernel->arena[id];
    struct block *block = NULL;
    uint64_t size, rest;

    refuse_in_interrupt(kernel, __func__);
    if (bytes <= arena->bytes) {
        size = sizeof(*block) + (((uint64_t)(bytes ? bytes : 1) + GRAIN - 1) & ~(uint64_t)(GRAIN - 1));
        block = first_fit(arena, size);
    }
    if (block) {
        rest = block->size - size;
        if (rest > sizeof(*block)) {
            block->size = size;
            *above(arena, block) = (struct block){0, size};
            resize(arena, above(arena, block), rest, 0);
        }
        block->size |= IN_USE;
    }
    rt_sched_leave(kernel, previous);
    return block ? rt_memset(block + 1, 0, bytes) : NULL;
}

static const struct rt_arena *arena_of(const struct rt_kernel *kernel, const void *memory)
{
    for (unsigned i = 0; i < RT_ARENAS; i++) {
        const struct rt_arena *arena = &kernel->arena[i];

        if ((const uint8_t *)memory >= arena->base + sizeof(struct block) &&
            (const uint8_t *)memory < end_of(arena))
            return arena;
    }
    return NULL;
}

/* Both neighbours must agree on the size: a stray pointer or an overrun block does not get past this. */
static bool is_allocation(const struct rt_arena *arena, void *memory)
{
    struct block *block, *next;

    if (!arena || (uintptr_t)memory % GRAIN)
        return false;
    block = (struct block *)memory - 1;
    if (!(block->size & IN_USE) || size_of(block) % GRAIN || size_of(block) < sizeof(*block) ||
        size_of(block) > (uint64_t)(end_of(arena) - (uint8_t *)block) || block->below % GRAIN ||
        block->below > (uint64_t)((uint8_t *)block - arena->base))
        return false;
    next = above(arena, block);
    if (next && next->below != size_of(block))
        return false;
    if (!block->below)
        return (uint8_t *)block == arena->base;
    return size_of((struct block *)(void *)((uint8_t *)block - block->below)) == block->below;
}

void rt_heap_free(struct rt_kernel *kernel, void *memory)
{
    const uint32_t previous = rt_sched_enter(kernel);
    const struct rt_arena *arena = arena_of(kernel, memory);
    struct block *block, *next;

    refuse_in_interrupt(kernel, __func__);
    if (memory) {
        rt_assert(kernel, is_allocation(arena, memory), "rt_heap_free: not an allocation, or overrun");
        block = (struct block *)memory - 1;
        resize(arena, block, size_of(block), 0);
        next = above(arena, block);
        if (next && !(next->size & IN_USE))
            resize(arena, block, block->size + next->size, 0);
        next = block->below ? (struct block *)(void *)((uint8_t *)block - block->below) : NULL;
        if (next && !(next->size & IN_USE))
            resize(arena, next, next->size + block->size, 0);
    }
    rt_sched_leave(kernel, previous);
}

struct rt_heap_info rt_heap_info(struct rt_kernel *kernel, enum rt_arena_id id)
{
    const uint32_t previous = rt_sched_enter(kernel);
    const struct rt_arena *arena = &kernel->arena[id];
    struct rt_heap_info info = {.name = id == RT_ARENA_SYSTEM ? "system" : "framework",
                                .total = arena->bytes};

    for (struct block *block = lowest(arena); block; block = above(arena, block)) {
        if (block->size & IN_USE) {
            info.blocks++;
            continue;
        }
        info.free += block->size;
        if (block->size - sizeof(*block) > info.largest)
            info.largest = block->size - sizeof(*block);
    }
    rt_sched_leave(kernel, previous);
    return info;
}
