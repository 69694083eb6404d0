/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A part of printf: %% %c %s %d %i %u %x %X, with l, ll and z, a width, 0 for zero padding, and a precision
 * for %s. Anything else is copied unchanged.
 */
#ifndef RTKERNEL_FORMAT_H
#define RTKERNEL_FORMAT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Writes at most `capacity` bytes, the end included, and returns the length of what it wrote: a long text is
 * cut.
 */
size_t rt_format(char *buffer, size_t capacity, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
size_t rt_format_list(char *buffer, size_t capacity, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

/*
 * A text of whole lines. A line that does not fit, with its line end and the end of the text, is left out,
 * and so is every later one; `text` always has an end. A line is cut to RT_LOG_WIDTH - 1 bytes.
 */
struct rt_lines {
    char *text;
    size_t bytes;  /* at least 1 */
    size_t length; /* 0 to begin with; without the end */
    bool full;
};
void rt_format_line(struct rt_lines *lines, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
