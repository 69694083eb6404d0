/* SPDX-License-Identifier: Apache-2.0 */
/* What a call failed with: a status of e5rt.h and, for the calling thread, one sentence. */
#ifndef RUNTIME_ERROR_H
#define RUNTIME_ERROR_H

#include <anemone/e5rt.h>
#include <anemone/iokit.h>

#include "base/error.h"

/* Keeps the sentence and returns the status, so that a check can end with `return e5_fail(...)`. */
int64_t e5_fail(int64_t status, const char *format, ...) __attribute__((format(printf, 2, 3)));
int64_t e5_fail_memory(const char *what);
/* Keeps the sentence about a problem that was worked around; "": there was none. */
void e5_warn(const char *text);
/* From a negative errno and its sentence; 0 stays 0. */
int64_t e5_fail_errno(int code, const struct base_error *error);
/* From what the driver answered, with its own sentence after `what`. */
int64_t e5_fail_driver(IOReturn code, const char *what);
/* The same from what the broker answered. */
int64_t e5_fail_broker(IOReturn code, const char *what);

/* An argument that may not be NULL. `call` is the function's name. */
int64_t e5_check_given(const void *argument, const char *what, const char *call);

#endif
