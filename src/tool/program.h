/* SPDX-License-Identifier: Apache-2.0 */
/* A program read from a file: an image (.hwx), an .anec, or the text form of a stream, by its content. */
#ifndef TOOL_PROGRAM_H
#define TOOL_PROGRAM_H

#include "program/anec.h"

#define TOOL_PROGRAM_BYTES_MAX (512u << 20)

struct tool_program {
    uint8_t *bytes; /* the whole file, or the assembled stream; for base_free */
    size_t size;
    enum pr_program_format format;
    bool listing; /* the text form: it was assembled, and there are no ports and no constants */
    struct pr_hwx hwx;
};

/* False after saying why. */
bool tool_program_read(const char *path, struct tool_program *program);
/* The same for bytes that were read from that file; they become the program's. */
bool tool_program_take(const char *path, uint8_t *bytes, size_t size, struct tool_program *program);

#endif
