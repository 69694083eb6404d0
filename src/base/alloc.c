/* SPDX-License-Identifier: Apache-2.0 */
/* The allocation seam. Every acquisition is counted once, and the count decides which one is made to fail. */
#include "base/alloc.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static atomic_ulong acquisitions;
static atomic_ulong fail_at; /* acquisition number that fails; 0 = none */

bool base_alloc_allowed(void)
{
    unsigned long number = atomic_fetch_add(&acquisitions, 1) + 1;

    return number != atomic_load(&fail_at);
}

void base_alloc_fail_nth(unsigned long n)
{
    atomic_store(&fail_at, n ? atomic_load(&acquisitions) + n : 0);
}

unsigned long base_alloc_count(void)
{
    return atomic_load(&acquisitions);
}

void *base_alloc(size_t bytes)
{
    return base_alloc_array(1, bytes ? bytes : 1);
}

void *base_alloc_array(size_t count, size_t size)
{
    return base_alloc_allowed() ? calloc(count, size) : NULL;
}

void *base_alloc_aligned(size_t alignment, size_t bytes)
{
    void *memory;

    if (!base_alloc_allowed() || posix_memalign(&memory, alignment, bytes ? bytes : 1))
        return NULL;
    return memset(memory, 0, bytes);
}

void *base_realloc(void *memory, size_t bytes)
{
    return base_alloc_allowed() ? realloc(memory, bytes) : NULL;
}

char *base_strdup(const char *string)
{
    size_t bytes = strlen(string) + 1;
    char *copy = base_alloc(bytes);

    return copy ? memcpy(copy, string, bytes) : NULL;
}

void base_free(void *memory)
{
    free(memory);
}
