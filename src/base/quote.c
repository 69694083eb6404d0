/* SPDX-License-Identifier: Apache-2.0 */
/* Quoted text. What is written is printable ASCII, whatever the bytes are. */
#include "base/quote.h"

void base_quote_json(FILE *file, const char *text, size_t length)
{
    fputc('"', file);
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];

        if (c == '"' || c == '\\')
            fprintf(file, "\\%c", c);
        else if (c < 0x20 || c >= 0x7f)
            fprintf(file, "\\u%04x", c);
        else
            fputc(c, file);
    }
    fputc('"', file);
}
