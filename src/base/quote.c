/* SPDX-License-Identifier: Apache-2.0 */
/* Quoted text. What is written is printable ASCII, whatever the bytes are. */
#include "base/quote.h"

#include <stdint.h>

enum { REPLACEMENT = 0xfffd, PLANE = 0x10000, POINT_MAX = 0x10ffff };

/* The character of UTF-8 at a place, and how many bytes it has; the replacement, of one byte, if none is. */
static uint32_t take_character(const unsigned char *text, size_t length, size_t *bytes)
{
    size_t more = text[0] < 0x80 ? 0 : text[0] < 0xe0 ? 1 : text[0] < 0xf0 ? 2 : 3;
    const uint32_t least[] = {0, 0x80, 0x800, PLANE};
    uint32_t point = more ? text[0] & (0x3fu >> more) : text[0];

    *bytes = 1;
    if (more && (text[0] < 0xc0 || text[0] >= 0xf8 || more >= length))
        return REPLACEMENT;
    for (size_t i = 1; i <= more; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return REPLACEMENT;
        point = point << 6 | (text[i] & 0x3f);
    }
    if (point < least[more] || point > POINT_MAX || (point >= 0xd800 && point < 0xe000))
        return REPLACEMENT;
    *bytes = 1 + more;
    return point;
}

/* A character beyond the first plane is two of JSON's escapes. */
static void put_escape(FILE *file, uint32_t point)
{
    if (point >= PLANE)
        fprintf(file, "\\u%04x\\u%04x", 0xd800 + (point - PLANE) / 0x400, 0xdc00 + (point - PLANE) % 0x400);
    else
        fprintf(file, "\\u%04x", point);
}

void base_quote_json(FILE *file, const char *text, size_t length)
{
    size_t bytes;

    fputc('"', file);
    for (size_t i = 0; i < length; i += bytes) {
        uint32_t c = take_character((const unsigned char *)text + i, length - i, &bytes);

        if (c == '"' || c == '\\')
            fprintf(file, "\\%c", (int)c);
        else if (c < 0x20 || c >= 0x7f)
            put_escape(file, c);
        else
            fputc((int)c, file);
    }
    fputc('"', file);
}
