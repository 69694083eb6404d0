/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two heap arenas. First fit, blocks joined when freed; 16 bytes of overhead per block. Meant for
 * bring-up and for loading programs, not for warm paths. Not for interrupt context: that is a fault.
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

struct rt_heap_info {
    const char *name;
    uint64_t total;   /* bytes of the arena */
    uint64_t free;    /* bytes of its free blocks */
    uint64_t largest; /* the largest allocation that would succeed */
    uint32_t blocks;  /* in use */
};

/* Cleared and aligned to 16 bytes; NULL when there is no such block. */
void *rt_heap_alloc(struct rt_kernel *kernel, enum rt_arena_id arena, size_t bytes);
/* What rt_heap_alloc gave, from either arena, or NULL. Anything else is a fault. */
void rt_heap_free(struct rt_kernel *kernel, void *memory);
struct rt_heap_info rt_heap_info(struct rt_kernel *kernel, enum rt_arena_id arena);

#endif
