/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes. In a hosted build these are the C library's functions; in a freestanding one memory.c defines them
 * under their own names, because compilers call memcpy, memmove, memset and memcmp by themselves.
 */
#ifndef RTKERNEL_MEMORY_H
#define RTKERNEL_MEMORY_H

#include <stddef.h>

static inline void *rt_memcpy(void *to, const void *from, size_t bytes)
{
    return __builtin_memcpy(to, from, bytes);
}

static inline void *rt_memmove(void *to, const void *from, size_t bytes)
{
    return __builtin_memmove(to, from, bytes);
}

static inline void *rt_memset(void *to, int byte, size_t bytes)
{
    return __builtin_memset(to, byte, bytes);
}

static inline int rt_memcmp(const void *a, const void *b, size_t bytes)
{
    return __builtin_memcmp(a, b, bytes);
}

/* Copies a string, cut to fit; `capacity` is at least 1. */
void rt_memory_copy_name(char *to, size_t capacity, const char *from);

#endif
