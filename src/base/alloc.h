/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The allocation seam: every host allocation, mapping and memory file passes here, so that a test can make
 * the Nth fail. All functions are thread-safe.
 */
#ifndef BASE_ALLOC_H
#define BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

/* Zeroed memory, or NULL. A zero size gives one byte. */
void *base_alloc(size_t bytes);
/*
 * All of this memory will be written soon. The host may give it large pages, which takes a fifth of the time
 * for each byte; only ranges of at least 2 MiB gain by it.
 */
void base_expect_writes(void *memory, size_t bytes);
/* Zeroed array; NULL when count * size overflows. */
void *base_alloc_array(size_t count, size_t size);
/* Zeroed memory on a boundary (a power of two, at least 8), or NULL. Freed with base_free. */
void *base_alloc_aligned(size_t alignment, size_t bytes);
/*
 * Zeroed pages that cost nothing until they are touched, for large memory that may stay unused; an access
 * behind them faults. Or NULL. Freed with base_pages_free, with the same size.
 */
void *base_pages(size_t bytes);
void base_pages_free(void *memory, size_t bytes);
/*
 * Zeros. Whole pages of a mapped memory file are given back to the host, which takes no time for those that
 * were never used.
 */
void base_clear(void *memory, size_t bytes);
/*
 * These bytes of an allocation are not read any more: the host gets their whole pages back, until they are
 * written again.
 */
void base_discard(void *memory, size_t bytes);
/* Like realloc; new bytes are not cleared. */
void *base_realloc(void *memory, size_t bytes);
char *base_strdup(const char *string);
void base_free(void *memory);

/*
 * For acquisitions that are not malloc (mmap, memfd, threads): call before acquiring; false means "behave as
 * if it had failed".
 */
bool base_alloc_allowed(void);

/* Test seam: the nth acquisition from now fails (1 = the next one), once. 0 switches it off. */
void base_alloc_fail_nth(unsigned long n);
/* Acquisitions since the process began: what must not move on a warm path. */
unsigned long base_alloc_count(void);

#endif
