/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text into a caller's buffer, for a room that has no stdio. A full buffer drops the rest and remembers it.
 */
#ifndef PROTOCOL_TEXT_H
#define PROTOCOL_TEXT_H

#include <stdarg.h>

#include "protocol/bits.h"

/* C strings, for a room that has mem* functions alone. */
static inline size_t pr_string_length(const char *string)
{
    size_t length = 0;

    while (string[length])
        length++;
    return length;
}

static inline bool pr_string_equal(const char *a, const char *b)
{
    for (size_t i = 0; a[i] == b[i]; i++)
        if (!a[i])
            return true;
    return false;
}

struct pr_text {
    char *buffer; /* always NUL-terminated when capacity > 0 */
    size_t capacity;
    size_t length; /* what has been written, without the NUL */
    bool full;     /* something was dropped */
};

void pr_text_init(struct pr_text *text, char *buffer, size_t capacity);
void pr_text_put(struct pr_text *text, const char *string);
void pr_text_put_n(struct pr_text *text, const char *string, size_t length);
void pr_text_put_char(struct pr_text *text, char c);
/* "0x" and at least `digits` hexadecimal digits. */
void pr_text_put_hex(struct pr_text *text, uint64_t value, unsigned digits);
void pr_text_put_dec(struct pr_text *text, uint64_t value);
/*
 * A small printf, with formats that the compiler checks: %s, %u, %d, %ju of a uint64_t, %x and %jx in
 * hexadecimal, %%. Unlike the C library's, %x and %jx begin with "0x".
 */
void pr_text_printf(struct pr_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void pr_text_vprintf(struct pr_text *text, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

#endif
