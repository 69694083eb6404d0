/* SPDX-License-Identifier: Apache-2.0 */
/* A program image read from a file. */
#ifndef TOOL_PROGRAM_H
#define TOOL_PROGRAM_H

#include "protocol/hwx.h"

#define TOOL_PROGRAM_BYTES_MAX (512u << 20)

struct tool_program {
    uint8_t *bytes; /* the whole file, for base_free */
    size_t size;
    struct pr_hwx hwx;
};

/* False after saying why. */
bool tool_program_read(const char *path, struct tool_program *program);

#endif
