/* SPDX-License-Identifier: Apache-2.0 */
/* The form that trace viewers open: records as Chrome trace events, in JSON (ui.perfetto.dev reads it). */
#ifndef TRACE_VIEWER_H
#define TRACE_VIEWER_H

#include <stdbool.h>
#include <stdio.h>

#include "protocol/trace.h"
#include "trace/call.h"
#include "trace/queue.h"

#define TRACE_VIEWER_TASKS  32u
#define TRACE_VIEWER_NAME   32u
#define TRACE_VIEWER_TRACKS 65536u

struct trace_viewer {
    FILE *file;
    bool first;                             /* no event is written yet */
    uint8_t named[TRACE_VIEWER_TRACKS / 8]; /* tracks that have their name, by number */
    unsigned tasks;
    char task[TRACE_VIEWER_TASKS][TRACE_VIEWER_NAME];
    struct trace_calls calls;
    struct trace_queues queues;
    uint64_t execution; /* since when the execution ran that has retired and is not reported yet; 0: none */
    uint64_t reported;  /* when the latest execution was */
};

void trace_viewer_begin(struct trace_viewer *viewer, FILE *file);
void trace_viewer_record(struct trace_viewer *viewer, const struct pr_trace_record *record);
void trace_viewer_end(struct trace_viewer *viewer);

#endif
