/* SPDX-License-Identifier: Apache-2.0 */
/* A machine's trace in a file. */
#include "tool/trace_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "tool/json.h"
#include "tool/tool.h"

/*
 * Tracks of the JSON form: one per layer, then one per task queue, per task of the firmware and per client.
 */
#define QUEUE_TRACK  100u
#define QUEUES       8u
#define TASK_TRACK   200u
#define CLIENT_TRACK 300u

static const char *const layers[] = {"bus", "line", "pmu", "dart", "eng", "asc", "fw", "drv", "client"};
#define LAYERS BASE_COUNT_OF(layers)

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

/* The track of a task by its name, named when it is first seen. */
static unsigned task_track(struct tool_trace *trace, const char *name, size_t length)
{
    unsigned i;

    if (length >= TOOL_TRACE_NAME)
        length = TOOL_TRACE_NAME - 1;
    for (i = 0; i < trace->tasks; i++)
        if (strlen(trace->task[i]) == length && !memcmp(trace->task[i], name, length))
            return TASK_TRACK + i;
    if (i == TOOL_TRACE_TASKS)
        return layer_track("fw", 2);
    memcpy(trace->task[i], name, length);
    trace->task[i][length] = '\0';
    trace->tasks++;
    name_track(trace, TASK_TRACK + i, trace->task[i]);
    return TASK_TRACK + i;
}

static unsigned client_track(struct tool_trace *trace, const char *line)
{
    unsigned number = (unsigned)number_after(line, "client=");
    char name[24];

    if (number > trace->clients) {
        snprintf(name, sizeof(name), "client %u", number);
        name_track(trace, CLIENT_TRACK + number, name);
        trace->clients = number;
    }
    return CLIENT_TRACK + number;
}

/* `info exeloop: ...` and `run task=exeloop` belong to that task. */
static unsigned firmware_track(struct tool_trace *trace, const char *what)
{
    const char *second = what + strcspn(what, " ");

    second += strspn(second, " ");
    if (!strncmp(what, "run task=", 9))
        return task_track(trace, what + 9, strcspn(what + 9, "\n"));
    if (second[strcspn(second, " :\n")] == ':')
        return task_track(trace, second, strcspn(second, ":"));
    return layer_track("fw", 2);
}

static void put_time(FILE *file, const char *key, uint64_t ns)
{
    fprintf(file, ", \"%s\": %" PRIu64 ".%03u", key, ns / 1000, (unsigned)(ns % 1000));
}

static void put_text(FILE *file, const char *what)
{
    fputs(", \"name\": ", file);
    json_quote(file, what, strcspn(what, " \n"));
    fputs(", \"args\": {\"line\": ", file);
    json_quote(file, what, strcspn(what, "\n"));
    fputs("}}", file);
}

/* From a request to its descriptors and back to its return: arrows between the tracks. */
static void put_flow(struct tool_trace *trace, const char *phase, unsigned track, uint64_t ns)
{
    event_begin(trace, phase, track);
    put_time(trace->file, "ts", ns);
    fprintf(trace->file, ", \"cat\": \"request\", \"name\": \"request\", \"id\": %u%s}", trace->request,
            *phase == 'f' ? ", \"bp\": \"e\"" : "");
}

/* What a line is: its phase, the track it belongs to, and the flow it takes part in. */
struct shape {
    const char *phase, *flow;
    unsigned track;
};

static struct shape shape_of(struct tool_trace *trace, const char *layer, const char *what)
{
    size_t length = strcspn(layer, " ");
    struct shape shape = {"i", NULL, layer_track(layer, length)};

    if (!strncmp(layer, "eng start ", 10)) {
        shape = (struct shape){"X", "t", QUEUE_TRACK + (unsigned)number_after(layer, "queue=")};
    } else if (!strncmp(layer, "client call ", 12)) {
        shape = (struct shape){"B", strstr(layer, "selector=2 ") ? "s" : NULL, client_track(trace, layer)};
        trace->request += shape.flow != NULL;
    } else if (!strncmp(layer, "client return ", 14)) {
        shape = (struct shape){"E", strstr(layer, "selector=2 ") ? "f" : NULL, client_track(trace, layer)};
    } else if (!strncmp(layer, "fw ", 3)) {
        shape.track = firmware_track(trace, what);
    }
    return shape;
}

/* A call is a span of its client, a descriptor a span of its queue; everything else is a moment. */
static void put_event(struct tool_trace *trace, const char *line)
{
    char *rest;
    uint64_t ns = strtoull(line, &rest, 10);
    const char *layer = rest + strspn(rest, " "), *what = layer + strcspn(layer, " ");
    struct shape shape;

    what += strspn(what, " ");
    shape = shape_of(trace, layer, what);
    if (shape.flow && *shape.flow == 'f')
        put_flow(trace, shape.flow, shape.track, ns);
    event_begin(trace, shape.phase, shape.track);
    put_time(trace->file, "ts", ns);
    if (*shape.phase == 'X')
        put_time(trace->file, "dur", number_after(line, "cost="));
    if (*shape.phase == 'i')
        fputs(", \"s\": \"t\"", trace->file);
    put_text(trace->file, what);
    if (shape.flow && *shape.flow != 'f')
        put_flow(trace, shape.flow, shape.track, ns);
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
