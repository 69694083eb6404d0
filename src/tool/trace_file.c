/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine's trace in a file. Tracks of the JSON form are numbered in ranges that must not overlap: layers
 * from 1, queues from 100, tasks of the firmware from 200, clients from 300. Tasks and clients get their
 * track when they are first seen.
 */
#include "tool/trace_file.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <anemone/abi.h>

#include "protocol/trace.h"
#include "tool/json.h"
#include "tool/tool.h"

/*
 * Tracks of the JSON form: one per layer, then one per task queue, per task of the firmware and per client.
 */
#define QUEUE_TRACK  100u
#define QUEUES       8u
#define TASK_TRACK   200u
#define CLIENT_TRACK 300u

#define REQUEST_SELECTOR ANE_CONTROL_ProgramSendRequest

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

static unsigned layer_track(enum pr_trace_layer layer)
{
    return (unsigned)layer + 1;
}

/* The track of a task by its name, named when it is first seen. */
static unsigned task_track(struct tool_trace *trace, const struct pr_trace_value *name)
{
    size_t length = name->length < TOOL_TRACE_NAME ? name->length : TOOL_TRACE_NAME - 1;
    unsigned i;

    for (i = 0; i < trace->tasks; i++)
        if (strlen(trace->task[i]) == length && !memcmp(trace->task[i], name->text, length))
            return TASK_TRACK + i;
    if (i == TOOL_TRACE_TASKS)
        return layer_track(PR_TRACE_LAYER_FIRMWARE);
    memcpy(trace->task[i], name->text, length);
    trace->task[i][length] = '\0';
    trace->tasks++;
    name_track(trace, TASK_TRACK + i, trace->task[i]);
    return TASK_TRACK + i;
}

static unsigned client_track(struct tool_trace *trace, const struct pr_trace_value *client)
{
    unsigned number = (unsigned)client->number;
    char name[24];

    if (number > trace->clients) {
        snprintf(name, sizeof(name), "client %u", number);
        name_track(trace, CLIENT_TRACK + number, name);
        trace->clients = number;
    }
    return CLIENT_TRACK + number;
}

/* A line of the firmware's log, `info exeloop: ...`, belongs to the task it names. */
static unsigned log_track(struct tool_trace *trace, const struct pr_trace_value *text)
{
    const char *end = text->text + text->length, *space = memchr(text->text, ' ', text->length), *colon;
    struct pr_trace_value name = {0};

    if (!space)
        return layer_track(PR_TRACE_LAYER_FIRMWARE);
    name.text = space + 1;
    colon = memchr(name.text, ':', (size_t)(end - name.text));
    name.length = colon ? (size_t)(colon - name.text) : 0;
    if (!colon || memchr(name.text, ' ', name.length))
        return layer_track(PR_TRACE_LAYER_FIRMWARE);
    return task_track(trace, &name);
}

static void put_time(FILE *file, const char *key, uint64_t ns)
{
    fprintf(file, ", \"%s\": %" PRIu64 ".%03u", key, ns / 1000, (unsigned)(ns % 1000));
}

/* What the viewer shows on the event: its name, or the first word that is printed when it has none. */
static void put_name(FILE *file, const struct pr_trace_event *event, const struct pr_trace_record *record)
{
    const char *name = event->name[0] ? event->name : event->id;
    size_t length = strlen(name);

    if (!event->name[0] && event->field[0].kind == PR_TRACE_BARE) {
        const char *space = memchr(record->value[0].text, ' ', record->value[0].length);

        name = record->value[0].text;
        length = space ? (size_t)(space - name) : record->value[0].length;
    }
    fputs(", \"name\": ", file);
    json_quote(file, name, length);
}

static void put_fields(FILE *file, const struct pr_trace_event *event, const struct pr_trace_record *record)
{
    fputs(", \"args\": {", file);
    for (unsigned i = 0; i < event->fields; i++) {
        const struct pr_trace_value *value = &record->value[i];

        fprintf(file, "%s\"%s\": ", i ? ", " : "", event->field[i].name);
        if (value->text)
            json_quote(file, value->text, value->length);
        else if (event->field[i].kind == PR_TRACE_HEX)
            fprintf(file, "\"0x%" PRIx64 "\"", value->number);
        else
            fprintf(file, "%" PRIu64, value->number);
    }
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

/* What an event is in the viewer: its phase, the track it belongs to, and the flow it takes part in. */
struct shape {
    const char *phase, *flow;
    unsigned track;
};

static struct shape call_shape(struct tool_trace *trace, const struct pr_trace_record *record)
{
    bool request = pr_trace_at(record, CLIENT_CALL, selector).number == REQUEST_SELECTOR;

    trace->request += request;
    return (struct shape){"B", request ? "s" : NULL,
                          client_track(trace, &pr_trace_at(record, CLIENT_CALL, client))};
}

static struct shape return_shape(struct tool_trace *trace, const struct pr_trace_record *record)
{
    bool request = pr_trace_at(record, CLIENT_RETURN, selector).number == REQUEST_SELECTOR;

    return (struct shape){"E", request ? "f" : NULL,
                          client_track(trace, &pr_trace_at(record, CLIENT_RETURN, client))};
}

static struct shape shape_of(struct tool_trace *trace, const struct pr_trace_record *record)
{
    struct shape shape = {"i", NULL, layer_track(pr_trace_event(record->event)->layer)};

    if (record->event == PR_TRACE_ENG_START)
        shape =
            (struct shape){"X", "t", QUEUE_TRACK + (unsigned)pr_trace_at(record, ENG_START, queue).number};
    else if (record->event == PR_TRACE_CLIENT_CALL)
        shape = call_shape(trace, record);
    else if (record->event == PR_TRACE_CLIENT_RETURN)
        shape = return_shape(trace, record);
    else if (record->event == PR_TRACE_FW_RUN)
        shape.track = task_track(trace, &pr_trace_at(record, FW_RUN, task));
    else if (record->event == PR_TRACE_FW_LOG)
        shape.track = log_track(trace, &pr_trace_at(record, FW_LOG, text));
    return shape;
}

/* A call is a span of its client, a descriptor a span of its queue; everything else is a moment. */
static void put_event(struct tool_trace *trace, const struct pr_trace_record *record)
{
    const struct pr_trace_event *event = pr_trace_event(record->event);
    struct shape shape = shape_of(trace, record);

    if (shape.flow && *shape.flow == 'f')
        put_flow(trace, shape.flow, shape.track, record->ns);
    event_begin(trace, shape.phase, shape.track);
    put_time(trace->file, "ts", record->ns);
    if (*shape.phase == 'X')
        put_time(trace->file, "dur", pr_trace_at(record, ENG_START, cost).number);
    if (*shape.phase == 'i')
        fputs(", \"s\": \"t\"", trace->file);
    fprintf(trace->file, ", \"cat\": \"%s\"", pr_trace_class_name(event->class));
    put_name(trace->file, event, record);
    put_fields(trace->file, event, record);
    if (shape.flow && *shape.flow != 'f')
        put_flow(trace, shape.flow, shape.track, record->ns);
}

static void take_line(void *context, const char *line, size_t length)
{
    struct tool_trace *trace = context;

    if (trace->file)
        fwrite(line, 1, length, trace->file);
}

static void take_bytes(void *context, const void *bytes, size_t length)
{
    struct tool_trace *trace = context;

    if (trace->file)
        fwrite(bytes, 1, length, trace->file);
}

static void take_record(void *context, const void *bytes, size_t length)
{
    struct tool_trace *trace = context;
    struct pr_trace_record record;
    size_t taken;

    /* What cannot be decoded is the header of the binary form. */
    if (trace->file && pr_trace_decode(bytes, length, &record, &taken, NULL))
        put_event(trace, &record);
}

static bool ends_in(const char *path, const char *suffix)
{
    size_t length = strlen(path), tail = strlen(suffix);

    return length > tail && !strcmp(path + length - tail, suffix);
}

static void begin_json(struct tool_trace *trace)
{
    char name[16];

    fputs("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [", trace->file);
    for (unsigned i = 0; i < PR_TRACE_LAYERS; i++)
        name_track(trace, layer_track((enum pr_trace_layer)i), pr_trace_layer_name((enum pr_trace_layer)i));
    for (unsigned i = 0; i < QUEUES; i++) {
        snprintf(name, sizeof(name), "queue %u", i);
        name_track(trace, QUEUE_TRACK + i, name);
    }
}

bool tool_trace_open(struct tool_trace *trace, const char *path, struct ane_machine_config *config)
{
    *trace = (struct tool_trace){.path = path, .first = true, .as_json = ends_in(path, ".json")};
    trace->file = fopen(path, "we");
    if (!trace->file) {
        tool_say("%s: %s.", path, strerror(errno));
        return false;
    }
    config->trace = 1;
    config->trace_context = trace;
    if (trace->as_json)
        config->trace_record_fn = take_record;
    else if (ends_in(path, ".bin"))
        config->trace_record_fn = take_bytes;
    else
        config->trace_fn = take_line;
    if (trace->as_json)
        begin_json(trace);
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
