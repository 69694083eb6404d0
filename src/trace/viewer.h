/* SPDX-License-Identifier: Apache-2.0 */
/* The form that trace viewers open: records as Chrome trace events, in JSON (ui.perfetto.dev reads it). */
#ifndef TRACE_VIEWER_H
#define TRACE_VIEWER_H

#include <stdbool.h>
#include <stdio.h>

#include "protocol/trace.h"

#define TRACE_VIEWER_TASKS 32u
#define TRACE_VIEWER_NAME  32u

struct trace_viewer {
    FILE *file;
    bool first;                /* no event is written yet */
    unsigned clients, request; /* highest client seen; requests so far */
    bool signposts;            /* one was seen */
    unsigned tasks;
    char task[TRACE_VIEWER_TASKS][TRACE_VIEWER_NAME];
};

void trace_viewer_begin(struct trace_viewer *viewer, FILE *file);
void trace_viewer_record(struct trace_viewer *viewer, const struct pr_trace_record *record);
void trace_viewer_end(struct trace_viewer *viewer);

#endif
