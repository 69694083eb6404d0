/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine's trace in a file: its lines as they are, Chrome trace events when the file's name ends in .json
 * (ui.perfetto.dev opens it), or its records when it ends in .bin (docs/trace.md).
 */
#ifndef TOOL_TRACE_FILE_H
#define TOOL_TRACE_FILE_H

#include <anemone/machine.h>

#include <stdbool.h>
#include <stdio.h>

#define TOOL_TRACE_TASKS 32u
#define TOOL_TRACE_NAME  32u

struct tool_trace {
    const char *path;
    FILE *file;
    bool as_json, first;
    unsigned clients, request; /* highest client seen; requests so far */
    unsigned tasks;
    char task[TOOL_TRACE_TASKS][TOOL_TRACE_NAME];
};

/* False after saying why. Sets the trace fields of the configuration. */
bool tool_trace_open(struct tool_trace *trace, const char *path, struct ane_machine_config *config);
/*
 * Ends the file; false after saying why. No effect on one that was never opened. Events that come later
 * are lost.
 */
bool tool_trace_close(struct tool_trace *trace);

#endif
