/* SPDX-License-Identifier: Apache-2.0 */
/* The C library of a bare image: what freestanding rooms may use of it. rtkernel/memory.c defines them. */
#ifndef BARE_LIBC_STRING_H
#define BARE_LIBC_STRING_H

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int byte, size_t bytes);
int memcmp(const void *a, const void *b, size_t bytes);
void *memchr(const void *in, int byte, size_t bytes);

#endif
