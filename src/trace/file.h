/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine's trace in a file, in the form that the file's name asks for: the viewer's when it ends in .json,
 * records when it ends in .bin (docs/trace.md), lines of text otherwise.
 */
#ifndef TRACE_FILE_H
#define TRACE_FILE_H

#include <anemone/machine.h>

#include "trace/viewer.h"

struct trace_file {
    FILE *file; /* NULL when it is not open */
    bool as_json, ended;
    struct trace_viewer viewer;
};

/* 0, or a negative errno. Sets the trace fields of the configuration; its machine uses *trace to the end. */
int trace_file_open(struct trace_file *trace, const char *path, struct ane_machine_config *config);
/* What was traced is in the file. No effect on one that is not open, here and below. */
void trace_file_flush(struct trace_file *trace);
/*
 * Completes the file, also while a machine is traced: events that come later are lost. 0, or a negative errno
 * when not everything could be written.
 */
int trace_file_end(struct trace_file *trace);
/* The same, and closes it: no machine may use it any more. */
int trace_file_close(struct trace_file *trace);

#endif
