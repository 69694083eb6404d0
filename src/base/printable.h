/* SPDX-License-Identifier: Apache-2.0 */
/* Text of another process, for a log or a terminal. */
#ifndef BASE_PRINTABLE_H
#define BASE_PRINTABLE_H

#include <stddef.h>

/*
 * Replaces what a terminal may take for a command: the control characters of ASCII, and those from 0x80 to
 * 0x9f, alone or in UTF-8, where 0xc2 comes before them. Other characters of UTF-8 stay.
 */
static inline void base_printable_make(char *text, size_t size)
{
    unsigned char before = 0;

    for (size_t i = 0; i < size; i++) {
        const unsigned char c = (unsigned char)text[i];

        if (c < ' ' || c == 0x7f || (c >= 0x80 && c <= 0x9f && (before < 0x80 || before == 0xc2)))
            text[i] = '?';
        before = (unsigned char)text[i];
    }
}

#endif
