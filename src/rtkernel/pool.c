/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots of the fixed pools. `available` is always the number of clear bits below `total`. The lowest free
 * slot is taken, so that slot numbers, and what is logged with them, are the same in every run.
 */
#include "rtkernel/pool.h"

#include "rtkernel/format.h"
#include "rtkernel/sched.h"

#define X(id, member, count, name) _Static_assert((count) > 0 && (count) <= 64, "a pool is one word of bits");
RT_POOLS(X)
#undef X

static const char *pool_name(enum rt_pool_kind kind)
{
    switch (kind) {
#define X(id, member, count, name) \
    case RT_POOL_##id: return name;
        RT_POOLS(X)
#undef X
    default: return "?";
    }
}

/* One of the pool. */
static const char *object_name(enum rt_pool_kind kind)
{
    switch (kind) {
#define X(id, member, count, name) \
    case RT_POOL_##id: return #member;
        RT_POOLS(X)
#undef X
    default: return "?";
    }
}

_Noreturn void rt_pool_refuse(struct rt_kernel *kernel, uint32_t mark, enum rt_pool_kind kind,
                              const char *call)
{
    if (mark)
        rt_fault_assert(kernel, "%s: not a %s, or its memory was overwritten", call, object_name(kind));
    rt_fault_assert(kernel, "%s: the %s was deleted", call, object_name(kind));
}

struct rt_pool_info rt_pool_info(const struct rt_kernel *kernel, enum rt_pool_kind kind)
{
    const struct rt_pool *pool = &kernel->pool[kind];

    return (struct rt_pool_info){pool_name(kind), pool->total, pool->available};
}

size_t rt_pool_text(const struct rt_kernel *kernel, char *text, size_t bytes)
{
    struct rt_lines lines = {.text = text, .bytes = bytes};

    rt_format_line(&lines, "pool total available");
    for (unsigned i = 0; i < RT_POOL_KINDS; i++) {
        const struct rt_pool_info info = rt_pool_info(kernel, (enum rt_pool_kind)i);

        rt_format_line(&lines, "%s %u %u", info.name, info.total, info.available);
    }
    return lines.length;
}

int rt_pool_take(struct rt_kernel *kernel, enum rt_pool_kind kind)
{
    struct rt_pool *pool = &kernel->pool[kind];
    int slot;

    if (!pool->available)
        return RT_ENOSPC;
    slot = __builtin_ctzll(~pool->used);
    pool->used |= 1ull << slot;
    pool->available--;
    return slot;
}

void rt_pool_release(struct rt_kernel *kernel, enum rt_pool_kind kind, size_t slot)
{
    struct rt_pool *pool = &kernel->pool[kind];

    if (slot >= pool->total || !(pool->used >> slot & 1))
        rt_fault_assert(kernel, "%s: a slot was released that is not in use", pool_name(kind));
    pool->used &= ~(1ull << slot);
    pool->available++;
}
