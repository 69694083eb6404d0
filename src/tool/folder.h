/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of programs, each of them checked: one row per file, and a line with the sums. */
#ifndef TOOL_FOLDER_H
#define TOOL_FOLDER_H

#include "tool/program.h"

/* Folders below a folder that --recursive enters; chosen. */
#define TOOL_FOLDER_DEPTH 32u

struct tool_folder {
    struct tool_asked asked;
    bool recursive;
    bool lenient;
    bool as_json;
    bool tasks; /* rows show the task of the first descriptor */
};

/* Whether a path names a folder; false also when there is nothing there. */
bool tool_folder_is(const char *path);

/*
 * Prints the table. Only regular files are opened, so neither a pipe nor a device can block. The exit status:
 * 1 when a program has a problem or a file could not be read.
 */
int tool_folder_check(const char *path, const struct tool_folder *how);

#endif
