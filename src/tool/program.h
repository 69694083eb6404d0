/* SPDX-License-Identifier: Apache-2.0 */
/* A program read from a file: an image (.hwx) or an .anec, by its content. */
#ifndef TOOL_PROGRAM_H
#define TOOL_PROGRAM_H

#include "protocol/anec.h"

#define TOOL_PROGRAM_BYTES_MAX (512u << 20)

struct tool_program {
    uint8_t *bytes; /* the whole file, for base_free */
    size_t size;
    enum pr_program_format format;
    struct pr_hwx hwx;
};

/* False after saying why. */
bool tool_program_read(const char *path, struct tool_program *program);

#endif
