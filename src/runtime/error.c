/* SPDX-License-Identifier: Apache-2.0 */
/* What a call failed with. The sentence is the calling thread's and stays until its next failure. */
#include "runtime/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/array.h"

static _Thread_local char sentence[768], warning[768];

const char *e5rt_get_last_error_message(void)
{
    return sentence;
}

const char *e5rt_get_last_warning_message(void)
{
    return warning;
}

void e5_warn(const char *text)
{
    snprintf(warning, sizeof(warning), "%s", text);
}

/* Guide facts 1.1. */
const char *e5rt_error_code_get_string(int64_t code)
{
    static const char *const text[] = {
        [E5RT_OK] = "OK",
        [E5RT_INVALID_ARGUMENT] = "INVALID FUNCTION ARGUMENT",
        [E5RT_INVALID_OPERATION] = "INVALID OPERATION",
        [E5RT_NO_MEMORY] = "MEM ALLOC FAILURE",
        [E5RT_OUT_OF_BOUNDS] = "OUT OF BOUNDS ACCESS",
        [E5RT_INVALID_TYPE] = "INVALID TYPE PARAMETER",
        [E5RT_INVALID_DATA_TYPE] = "INVALID DATA TYPE",
    };

    return code >= 0 && code < (int64_t)BASE_COUNT_OF(text) ? text[code] : "UNKNOWN ERROR CODE";
}

int64_t e5_fail(int64_t status, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(sentence, sizeof(sentence), format, args);
    va_end(args);
    return status;
}

int64_t e5_fail_memory(const char *what)
{
    return e5_fail(E5RT_NO_MEMORY, "There is no memory for %s.", what);
}

int64_t e5_fail_errno(int code, const struct base_error *error)
{
    if (!code)
        return E5RT_OK;
    return e5_fail(code == -ENOMEM ? E5RT_NO_MEMORY
                   : code == -EINVAL || code == -ENOENT || code == -EACCES || code == -ENOTDIR
                       ? E5RT_INVALID_ARGUMENT
                       : E5RT_INVALID_OPERATION,
                   "%s", error->text);
}

static int64_t fail_answer(IOReturn code, const char *what, const char *who)
{
    const char *why = ane_machine_error();

    return e5_fail(code == kIOReturnNoMemory      ? E5RT_NO_MEMORY
                   : code == kIOReturnBadArgument ? E5RT_INVALID_ARGUMENT
                                                  : E5RT_INVALID_OPERATION,
                   "%s: the %s answered 0x%x%s%s", what, who, (unsigned)code, why[0] ? ": " : ".", why);
}

int64_t e5_fail_driver(IOReturn code, const char *what)
{
    return fail_answer(code, what, "driver");
}

int64_t e5_fail_broker(IOReturn code, const char *what)
{
    return fail_answer(code, what, "broker");
}

int64_t e5_check_given(const void *argument, const char *what, const char *call)
{
    return argument ? E5RT_OK : e5_fail(E5RT_INVALID_ARGUMENT, "%s: %s is NULL.", call, what);
}
