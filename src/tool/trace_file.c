/* SPDX-License-Identifier: Apache-2.0 */
/* A machine's trace in a file. */
#include "tool/trace_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tool/tool.h"

/* Tracks of the JSON form: one per layer, then one per task queue. */
#define QUEUE_TRACK 100u
#define QUEUES      8u

static const char *const layers[] = {"bus", "line", "pmu", "dart", "eng", "asc", "fw", "drv", "client"};
#define LAYERS (sizeof(layers) / sizeof(layers[0]))

static void put_string(FILE *file, const char *text, size_t length)
{
    fputc('"', file);
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];

        if (c == '"' || c == '\\')
            fprintf(file, "\\%c", c);
        else if (c < 0x20 || c >= 0x7f)
            fprintf(file, "\\u%04x", c);
        else
            fputc(c, file);
    }
    fputc('"', file);
}

static void event_begin(struct tool_trace *trace, const char *phase, unsigned track)
{
    fprintf(trace->file, "%s{\"ph\": \"%s\", \"pid\": 1, \"tid\": %u", trace->first ? "\n" : ",\n", phase,
            track);
    trace->first = false;
}

static void name_track(struct tool_trace *trace, unsigned track, const char *name)
{
    event_begin(trace, "M", track);
    fprintf(trace->file, ", \"name\": \"thread_name\", \"args\": {\"name\": \"%s\"}}", name);
}

static unsigned layer_track(const char *word, size_t length)
{
    for (unsigned i = 0; i < LAYERS; i++)
        if (strlen(layers[i]) == length && !memcmp(layers[i], word, length))
            return i + 1;
    return LAYERS + 1;
}

/* The number after `key` in a line that ends in a NUL; 0 when it has none. */
static uint64_t number_after(const char *line, const char *key)
{
    const char *at = strstr(line, key);

    return at ? strtoull(at + strlen(key), NULL, 0) : 0;
}

/* A started descriptor is a span on its queue's track; everything else is a moment on its layer's. */
static void put_event(struct tool_trace *trace, const char *line)
{
    char *rest;
    uint64_t ns = strtoull(line, &rest, 10);
    const char *layer = rest + strspn(rest, " "), *what = layer + strcspn(layer, " ");
    unsigned track = layer_track(layer, (size_t)(what - layer));
    bool span = !strncmp(layer, "eng start ", 10);

    what += strspn(what, " ");
    if (span)
        track = QUEUE_TRACK + (unsigned)number_after(line, "queue=");
    event_begin(trace, span ? "X" : "i", track);
    fprintf(trace->file, ", \"ts\": %" PRIu64 ".%03u", ns / 1000, (unsigned)(ns % 1000));
    if (span) {
        uint64_t cost = number_after(line, "cost=");

        fprintf(trace->file, ", \"dur\": %" PRIu64 ".%03u", cost / 1000, (unsigned)(cost % 1000));
    } else {
        fputs(", \"s\": \"t\"", trace->file);
    }
    fputs(", \"name\": ", trace->file);
    put_string(trace->file, what, strcspn(what, " \n"));
    fputs(", \"args\": {\"line\": ", trace->file);
    put_string(trace->file, what, strcspn(what, "\n"));
    fputs("}}", trace->file);
}

static void take_line(void *context, const char *line, size_t length)
{
    struct tool_trace *trace = context;
    char copy[1024];

    if (!trace->file)
        return;
    if (!trace->as_json) {
        fwrite(line, 1, length, trace->file);
        return;
    }
    if (length >= sizeof(copy))
        length = sizeof(copy) - 1;
    memcpy(copy, line, length);
    copy[length] = '\0';
    put_event(trace, copy);
}

bool tool_trace_open(struct tool_trace *trace, const char *path, struct ane_machine_config *config)
{
    size_t length = strlen(path);
    char name[16];

    *trace = (struct tool_trace){
        .path = path, .first = true, .as_json = length > 5 && !strcmp(path + length - 5, ".json")};
    trace->file = fopen(path, "we");
    if (!trace->file) {
        tool_say("%s: %s.", path, strerror(errno));
        return false;
    }
    config->trace = 1;
    config->trace_fn = take_line;
    config->trace_context = trace;
    if (!trace->as_json)
        return true;
    fputs("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [", trace->file);
    for (unsigned i = 0; i < LAYERS; i++)
        name_track(trace, i + 1, layers[i]);
    for (unsigned i = 0; i < QUEUES; i++) {
        snprintf(name, sizeof(name), "queue %u", i);
        name_track(trace, QUEUE_TRACK + i, name);
    }
    return true;
}

bool tool_trace_close(struct tool_trace *trace)
{
    FILE *file = trace->file;
    bool written;

    if (!file)
        return true;
    trace->file = NULL;
    if (trace->as_json)
        fputs("\n]}\n", file);
    written = !ferror(file);
    if (fclose(file))
        written = false;
    if (!written)
        tool_say("%s: writing failed: %s.", trace->path, strerror(errno));
    return written;
}
