/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays. This header does not depend on the host, so freestanding rooms may include it too. */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The number of elements of an array, never of a pointer. */
#define BASE_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Whether all bytes are zero; true for none. */
static inline bool base_is_zero(const void *bytes, size_t size)
{
    const unsigned char *b = bytes;

    /* The first is 0, and each equals the one before it; memcmp is faster than a loop over bytes. */
    return !size || (!b[0] && !memcmp(b, b + 1, size - 1));
}

#endif
