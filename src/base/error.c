/* SPDX-License-Identifier: Apache-2.0 */
/* Errors for the user. The sentence is cut to the size of the struct's text and always ends with a NUL. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

int base_fail(struct base_error *error, int code, const char *format, ...)
{
    va_list args;

    if (error) {
        va_start(args, format);
        vsnprintf(error->text, sizeof(error->text), format, args);
        va_end(args);
    }
    return -code;
}

static _Thread_local struct base_error last;

struct base_error *base_error_of_thread(void)
{
    return &last;
}
