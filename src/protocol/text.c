/* SPDX-License-Identifier: Apache-2.0 */
/* Text into a caller's buffer, which ends with a NUL after every call if it has room for one. */
#include "protocol/text.h"

void pr_text_init(struct pr_text *text, char *buffer, size_t capacity)
{
    text->buffer = buffer;
    text->capacity = capacity;
    text->length = 0;
    text->full = false;
    if (capacity)
        buffer[0] = '\0';
}

void pr_text_put_char(struct pr_text *text, char c)
{
    if (text->length + 1 >= text->capacity) {
        text->full = true;
        return;
    }
    text->buffer[text->length++] = c;
    text->buffer[text->length] = '\0';
}

void pr_text_put_n(struct pr_text *text, const char *string, size_t length)
{
    for (size_t i = 0; i < length; i++)
        pr_text_put_char(text, string[i]);
}

void pr_text_put(struct pr_text *text, const char *string)
{
    while (*string)
        pr_text_put_char(text, *string++);
}

void pr_text_put_hex(struct pr_text *text, uint64_t value, unsigned digits)
{
    char digit[16];
    unsigned count = 0;

    do {
        digit[count++] = "0123456789abcdef"[value & 15];
        value >>= 4;
    } while (value);
    pr_text_put(text, "0x");
    for (unsigned i = count; i < digits; i++)
        pr_text_put_char(text, '0');
    while (count)
        pr_text_put_char(text, digit[--count]);
}

void pr_text_put_dec(struct pr_text *text, uint64_t value)
{
    char digit[20];
    unsigned count = 0;

    do {
        digit[count++] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    while (count)
        pr_text_put_char(text, digit[--count]);
}

static void put_int(struct pr_text *text, int value)
{
    if (value < 0)
        pr_text_put_char(text, '-');
    pr_text_put_dec(text, value < 0 ? 0u - (unsigned)value : (unsigned)value);
}

/* uint64_t is uintmax_t on every target of this tree; the compiler checks %j against the latter. */
_Static_assert(_Generic((uintmax_t)0, uint64_t : 1, default : 0), "%ju takes a uint64_t");

static void put_wide(struct pr_text *text, char letter, uint64_t value)
{
    if (letter == 'x')
        pr_text_put_hex(text, value, 1);
    else
        pr_text_put_dec(text, value);
}

void pr_text_vprintf(struct pr_text *text, const char *format, va_list args)
{
    for (; *format; format++) {
        if (*format != '%' || !format[1]) {
            pr_text_put_char(text, *format);
            continue;
        }
        switch (*++format) {
        case 's': pr_text_put(text, va_arg(args, const char *)); break;
        case 'u': pr_text_put_dec(text, va_arg(args, unsigned)); break;
        case 'd': put_int(text, va_arg(args, int)); break;
        case 'x': pr_text_put_hex(text, va_arg(args, unsigned), 1); break;
        case 'j':
            put_wide(text, format[1], va_arg(args, uint64_t));
            format += format[1] != '\0';
            break;
        default: pr_text_put_char(text, *format); break;
        }
    }
}

void pr_text_printf(struct pr_text *text, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    pr_text_vprintf(text, format, args);
    va_end(args);
}
