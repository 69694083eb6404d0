/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trace files. Events are written and the file is ended under the lock of the stream, so that a process may
 * end while another of its threads is inside the machine: nothing is written behind the end.
 */
#include "trace/file.h"

#include <errno.h>
#include <string.h>

#include "base/file.h"

static void write_bytes(struct trace_file *trace, const void *bytes, size_t length)
{
    flockfile(trace->file);
    if (!trace->ended)
        fwrite(bytes, 1, length, trace->file);
    funlockfile(trace->file);
}

static void line_traced(void *context, const char *line, size_t length)
{
    write_bytes(context, line, length);
}

static void bytes_traced(void *context, const void *bytes, size_t length)
{
    write_bytes(context, bytes, length);
}

static void record_traced(void *context, const void *bytes, size_t length)
{
    struct trace_file *trace = context;
    struct pr_trace_record record;
    size_t taken;

    /* What cannot be decoded is the header of the binary form. */
    if (!pr_trace_decode(bytes, length, &record, &taken, NULL))
        return;
    flockfile(trace->file);
    if (!trace->ended)
        trace_viewer_record(&trace->viewer, &record);
    funlockfile(trace->file);
}

static bool ends_in(const char *path, const char *suffix)
{
    size_t length = strlen(path), tail = strlen(suffix);

    return length > tail && !strcmp(path + length - tail, suffix);
}

int trace_file_open(struct trace_file *trace, const char *path, struct ane_machine_config *config)
{
    *trace = (struct trace_file){.file = base_file_write(path), .as_json = ends_in(path, ".json")};
    if (!trace->file)
        return -errno;
    config->trace = 1;
    config->trace_context = trace;
    if (trace->as_json)
        config->trace_record_fn = record_traced;
    else if (ends_in(path, ".bin"))
        config->trace_record_fn = bytes_traced;
    else
        config->trace_fn = line_traced;
    if (trace->as_json)
        trace_viewer_begin(&trace->viewer, trace->file);
    return 0;
}

void trace_file_flush(struct trace_file *trace)
{
    if (trace->file)
        fflush(trace->file);
}

int trace_file_end(struct trace_file *trace)
{
    int result = 0;

    if (!trace->file)
        return 0;
    flockfile(trace->file);
    if (trace->as_json && !trace->ended)
        trace_viewer_end(&trace->viewer);
    trace->ended = true;
    if (fflush(trace->file))
        result = -errno;
    else if (ferror(trace->file))
        result = -EIO;
    funlockfile(trace->file);
    return result;
}

int trace_file_close(struct trace_file *trace)
{
    int result = trace_file_end(trace);

    if (trace->file && fclose(trace->file) && !result)
        result = -errno;
    trace->file = NULL;
    return result;
}
