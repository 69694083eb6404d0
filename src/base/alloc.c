/* SPDX-License-Identifier: Apache-2.0 */
/* The allocation seam. Every acquisition is counted once, and the count decides which one is made to fail. */
#include "base/alloc.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LARGE_PAGE ((uintptr_t)2 << 20)

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

/* The bytes in whole pages, and one more without access. */
static size_t pages_of(size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return (bytes + page - 1) / page * page + page;
}

void *base_pages(size_t bytes)
{
    const size_t all = pages_of(bytes), page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *memory;

    if (!base_alloc_allowed() || bytes > SIZE_MAX / 2)
        return NULL;
    memory = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    if (all > page && mprotect(memory, all - page, PROT_READ | PROT_WRITE)) {
        munmap(memory, all);
        return NULL;
    }
    return memory;
}

void base_pages_free(void *memory, size_t bytes)
{
    if (memory)
        munmap(memory, pages_of(bytes));
}

void base_clear(void *memory, size_t bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)memory;
    const size_t before = (size_t)(-at & (page - 1));
    size_t whole = bytes > before ? (bytes - before) / page * page : 0;

    if (!whole || madvise((uint8_t *)memory + before, whole, MADV_REMOVE)) {
        memset(memory, 0, bytes);
        return;
    }
    memset(memory, 0, before);
    memset((uint8_t *)memory + before + whole, 0, bytes - before - whole);
}

void base_expect_writes(void *memory, size_t bytes)
{
    const uintptr_t from = ((uintptr_t)memory + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
    const uintptr_t to = ((uintptr_t)memory + bytes) / LARGE_PAGE * LARGE_PAGE;

    if (memory && from < to)
        (void)madvise((void *)from, to - from, MADV_HUGEPAGE); /* without large pages it works as well */
}

void base_discard(void *memory, size_t bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t from = ((uintptr_t)memory + page - 1) / page * page;
    const uintptr_t to = ((uintptr_t)memory + bytes) / page * page;

    if (from < to)
        (void)madvise((void *)from, to - from, MADV_DONTNEED); /* what stays is freed with the rest */
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
