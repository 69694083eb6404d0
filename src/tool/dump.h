/* SPDX-License-Identifier: Apache-2.0 */
/* A post-mortem dump of the firmware as text, for `anemone inspect`. */
#ifndef TOOL_DUMP_H
#define TOOL_DUMP_H

#include <stdbool.h>
#include <stddef.h>

/* Prints every section; false after saying why the file is not a dump. `path` is for messages. */
bool tool_dump_print(const char *path, const void *bytes, size_t size);

#endif
