/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A part of printf, without allocation and without a C library. A byte is stored only while one is left for
 * the NUL, which is always written if there is any capacity. An unknown conversion is copied as text and
 * takes no argument, so the arguments after it would be wrong; the format attribute of the header lets the
 * compiler find these.
 */
#include "rtkernel/format.h"

#include <stdbool.h>
#include <stdint.h>

#include "rtkernel/memory.h"
#include "rtkernel/rt_limits.h"

struct output {
    char *buffer;
    size_t capacity, length;
};

struct conversion {
    bool zero;
    bool prefix; /* '#': 0x before a hexadecimal number that is not 0, counted in the width */
    unsigned width;
    size_t precision; /* SIZE_MAX: none */
    unsigned longs;   /* 0 int, 1 long or size_t, 2 long long */
    char letter;
};

static void put_char(struct output *out, char c)
{
    if (out->length + 1 < out->capacity)
        out->buffer[out->length++] = c;
}

static void pad(struct output *out, char c, unsigned width, size_t used)
{
    for (; used < width; used++)
        put_char(out, c);
}

static void put_string(struct output *out, const struct conversion *how, const char *string)
{
    size_t length = 0;

    if (!string)
        string = "(null)";
    while (length < how->precision && string[length])
        length++;
    pad(out, ' ', how->width, length);
    for (size_t i = 0; i < length; i++)
        put_char(out, string[i]);
}

static void put_number(struct output *out, const struct conversion *how, uint64_t value, bool negative)
{
    const char *letters = how->letter == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
    const unsigned base = how->letter == 'x' || how->letter == 'X' ? 16 : 10;
    const bool prefix = how->prefix && base == 16 && value;
    char digit[20];
    unsigned count = 0;

    do {
        digit[count++] = letters[value % base];
        value /= base;
    } while (value);
    if (!how->zero)
        pad(out, ' ', how->width, count + negative + 2u * prefix);
    if (negative)
        put_char(out, '-');
    if (prefix) {
        put_char(out, '0');
        put_char(out, how->letter);
    }
    if (how->zero)
        pad(out, '0', how->width, count + negative + 2u * prefix);
    while (count)
        put_char(out, digit[--count]);
}

static unsigned read_count(const char **format)
{
    unsigned count = 0;

    while (**format >= '0' && **format <= '9')
        count = (count * 10 + (unsigned)(*(*format)++ - '0')) % 1000;
    return count;
}

static struct conversion read_conversion(const char **format)
{
    struct conversion how = {.precision = SIZE_MAX};

    if (**format == '#') {
        how.prefix = true;
        ++*format;
    }
    if (**format == '0') {
        how.zero = true;
        ++*format;
    }
    how.width = read_count(format);
    if (**format == '.') {
        ++*format;
        how.precision = read_count(format);
    }
    while (**format == 'l' || **format == 'z') {
        how.longs++;
        ++*format;
    }
    how.letter = **format;
    return how;
}

static int64_t signed_argument(unsigned longs, va_list *args)
{
    if (!longs)
        return va_arg(*args, int);
    return longs == 1 ? va_arg(*args, long) : va_arg(*args, long long);
}

static uint64_t unsigned_argument(unsigned longs, va_list *args)
{
    if (!longs)
        return va_arg(*args, unsigned);
    return longs == 1 ? va_arg(*args, unsigned long) : va_arg(*args, unsigned long long);
}

/* False when it is not a conversion of this list; it is then copied as text. */
static bool put_conversion(struct output *out, const struct conversion *how, va_list *args)
{
    int64_t value;

    switch (how->letter) {
    case 's': put_string(out, how, va_arg(*args, const char *)); return true;
    case 'c': put_char(out, (char)va_arg(*args, int)); return true;
    case '%': put_char(out, '%'); return true;
    case 'u':
    case 'x':
    case 'X': put_number(out, how, unsigned_argument(how->longs, args), false); return true;
    case 'd':
    case 'i':
        value = signed_argument(how->longs, args);
        put_number(out, how, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, value < 0);
        return true;
    default: return false;
    }
}

size_t rt_format_list(char *buffer, size_t capacity, const char *format, va_list args)
{
    struct output out = {buffer, capacity, 0};
    va_list mine; /* a parameter of this type may be a pointer: its address is not what a helper expects */

    va_copy(mine, args);
    while (*format) {
        const char *begin = format++;
        struct conversion how;

        if (*begin != '%') {
            put_char(&out, *begin);
            continue;
        }
        how = read_conversion(&format);
        if (*format && put_conversion(&out, &how, &mine)) {
            format++;
        } else {
            while (begin < format)
                put_char(&out, *begin++);
        }
    }
    va_end(mine);
    if (capacity)
        buffer[out.length] = '\0';
    return out.length;
}

size_t rt_format(char *buffer, size_t capacity, const char *format, ...)
{
    va_list args;
    size_t length;

    va_start(args, format);
    length = rt_format_list(buffer, capacity, format, args);
    va_end(args);
    return length;
}

void rt_format_line(struct rt_lines *lines, const char *format, ...)
{
    char line[RT_LOG_WIDTH];
    size_t length;
    va_list args;

    va_start(args, format);
    length = rt_format_list(line, sizeof(line), format, args);
    va_end(args);
    lines->full |= lines->bytes - lines->length < length + 2;
    if (!lines->full) {
        rt_memcpy(lines->text + lines->length, line, length);
        lines->length += length;
        lines->text[lines->length++] = '\n';
    }
    lines->text[lines->length] = '\0';
}
