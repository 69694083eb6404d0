/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two heap arenas. First fit, blocks joined when freed. Each block has a guard word before and after its
 * bytes; they are looked at when it is freed, and by rt_heap_check. Meant for bring-up and for loading
 * programs, not for warm paths. Allocating and freeing in interrupt context is a fault.
 */
#ifndef RTKERNEL_HEAP_H
#define RTKERNEL_HEAP_H

#include <stddef.h>
#include <stdint.h>

struct rt_kernel;

enum rt_arena_id {
    RT_ARENA_SYSTEM,    /* stacks, queue rings, and what the application asks for */
    RT_ARENA_FRAMEWORK, /* the reservation of rt_boot.framework_bytes */
    RT_ARENAS,
};

/* Bytes of a block that are not its user's: sizes and a guard before, a guard after. */
#define RT_HEAP_BEFORE   32
#define RT_HEAP_OVERHEAD 40

struct rt_heap_info {
    const char *name;
    uint64_t total;    /* bytes of the arena */
    uint64_t free;     /* bytes of its free blocks */
    uint64_t largest;  /* the largest allocation that would succeed */
    uint64_t used;     /* bytes of blocks in use, with their overhead */
    uint64_t peak;     /* the most that was ever used */
    uint64_t failures; /* allocations that returned NULL */
    uint32_t blocks;   /* in use */
};

/* Cleared and aligned to 16 bytes; NULL when there is no such block. */
void *rt_heap_alloc(struct rt_kernel *kernel, enum rt_arena_id arena, size_t bytes);
/*
 * What rt_heap_alloc gave, from either arena, or NULL. Anything else is a fault, and so are a block that was
 * freed before and one whose guards were overwritten.
 */
void rt_heap_free(struct rt_kernel *kernel, void *memory);
struct rt_heap_info rt_heap_info(struct rt_kernel *kernel, enum rt_arena_id arena);
/* Looks at every block of both arenas. A broken one is a fault that names it. Any context. */
void rt_heap_check(struct rt_kernel *kernel);
/*
 * Both arenas as text, for reports: a line of column names and a line per arena, in whole lines as far as
 * `bytes`, at least 1, allows. Its length, without the end. Any context.
 */
size_t rt_heap_text(struct rt_kernel *kernel, char *text, size_t bytes);

#endif
