/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of names, and the mem* functions of builds without a C library. Each loop has a barrier: without it
 * the compiler recognises the loop and replaces it by a call of the function that it is in. Words are used
 * only where both addresses are aligned to them.
 */
#include "rtkernel/memory.h"

void rt_memory_copy_name(char *to, size_t capacity, const char *from)
{
    size_t i = 0;

    for (; i + 1 < capacity && from[i]; i++)
        to[i] = from[i];
    to[i] = '\0';
}

#if !__STDC_HOSTED__

#include <stdbool.h>
#include <stdint.h>

/* Stops the compiler from seeing the loop around it as the very function that it implements. */
#define KEEP_LOOP() __asm__ volatile("" ::: "memory")

typedef uint64_t __attribute__((may_alias)) word;

void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int byte, size_t bytes);
int memcmp(const void *a, const void *b, size_t bytes);
void *memchr(const void *in, int byte, size_t bytes);

static bool by_words(const void *a, const void *b)
{
    return !(((uintptr_t)a | (uintptr_t)b) & (sizeof(word) - 1));
}

void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    unsigned char *t = to;
    const unsigned char *f = from;

    if (by_words(t, f)) {
        for (; bytes >= sizeof(word); bytes -= sizeof(word), t += sizeof(word), f += sizeof(word)) {
            *(word *)(void *)t = *(const word *)(const void *)f;
            KEEP_LOOP();
        }
    }
    for (; bytes; bytes--) {
        *t++ = *f++;
        KEEP_LOOP();
    }
    return to;
}

void *memmove(void *to, const void *from, size_t bytes)
{
    unsigned char *t = to;
    const unsigned char *f = from;

    /* forwards is safe when the destination begins below, or not inside, the source */
    if ((uintptr_t)t - (uintptr_t)f >= bytes)
        return memcpy(to, from, bytes);
    while (bytes) {
        bytes--;
        t[bytes] = f[bytes];
        KEEP_LOOP();
    }
    return to;
}

void *memset(void *to, int byte, size_t bytes)
{
    unsigned char *t = to;
    const word pattern = (word)(unsigned char)byte * 0x0101010101010101ull;

    if (by_words(t, NULL)) {
        for (; bytes >= sizeof(word); bytes -= sizeof(word), t += sizeof(word)) {
            *(word *)(void *)t = pattern;
            KEEP_LOOP();
        }
    }
    for (; bytes; bytes--) {
        *t++ = (unsigned char)byte;
        KEEP_LOOP();
    }
    return to;
}

int memcmp(const void *a, const void *b, size_t bytes)
{
    const unsigned char *x = a, *y = b;

    for (; bytes; bytes--, x++, y++) {
        if (*x != *y)
            return *x < *y ? -1 : 1;
        KEEP_LOOP();
    }
    return 0;
}

void *memchr(const void *in, int byte, size_t bytes)
{
    const unsigned char *at = in;

    for (; bytes; bytes--, at++) {
        if (*at == (unsigned char)byte)
            return (void *)(uintptr_t)at;
        KEEP_LOOP();
    }
    return NULL;
}

#endif
