/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The viewer's form. Everything comes from the fields of records: a call is a span of its client, a
 * descriptor a span of its queue, everything else a moment on the track of its layer or task.
 */
#include "trace/viewer.h"

#include <inttypes.h>
#include <string.h>

#include <anemone/abi.h>

#include "base/quote.h"

/*
 * Tracks of the JSON form: one per layer, then one per task queue, per task of the firmware and per client.
 */
#define QUEUE_TRACK    100u
#define QUEUES         8u
#define TASK_TRACK     200u
#define CLIENT_TRACK   300u
#define SIGNPOST_TRACK 90u

#define REQUEST_SELECTOR ANE_CONTROL_ProgramSendRequest

static void event_begin(struct trace_viewer *viewer, const char *phase, unsigned track)
{
    fprintf(viewer->file, "%s{\"ph\": \"%s\", \"pid\": 1, \"tid\": %u", viewer->first ? "\n" : ",\n", phase,
            track);
    viewer->first = false;
}

static void name_track(struct trace_viewer *viewer, unsigned track, const char *name)
{
    event_begin(viewer, "M", track);
    fprintf(viewer->file, ", \"name\": \"thread_name\", \"args\": {\"name\": \"%s\"}}", name);
}

static unsigned layer_track(enum pr_trace_layer layer)
{
    return (unsigned)layer + 1;
}

/* The track of a task by its name, named when it is first seen. */
static unsigned task_track(struct trace_viewer *viewer, const struct pr_trace_value *name)
{
    size_t length = name->length < TRACE_VIEWER_NAME ? name->length : TRACE_VIEWER_NAME - 1;
    unsigned i;

    for (i = 0; i < viewer->tasks; i++)
        if (strlen(viewer->task[i]) == length && !memcmp(viewer->task[i], name->text, length))
            return TASK_TRACK + i;
    if (i == TRACE_VIEWER_TASKS)
        return layer_track(PR_TRACE_LAYER_FIRMWARE);
    memcpy(viewer->task[i], name->text, length);
    viewer->task[i][length] = '\0';
    viewer->tasks++;
    name_track(viewer, TASK_TRACK + i, viewer->task[i]);
    return TASK_TRACK + i;
}

static unsigned client_track(struct trace_viewer *viewer, const struct pr_trace_value *client)
{
    unsigned number = (unsigned)client->number;
    char name[24];

    if (number > viewer->clients) {
        snprintf(name, sizeof(name), "client %u", number);
        name_track(viewer, CLIENT_TRACK + number, name);
        viewer->clients = number;
    }
    return CLIENT_TRACK + number;
}

/* Named when the first signpost is seen. */
static unsigned signpost_track(struct trace_viewer *viewer)
{
    if (!viewer->signposts)
        name_track(viewer, SIGNPOST_TRACK, "signposts");
    viewer->signposts = true;
    return SIGNPOST_TRACK;
}

/* A signpost is older than its message: the firmware says when it was, unless that is not past. */
static uint64_t moment(const struct pr_trace_record *record)
{
    if (record->event == PR_TRACE_DRV_SIGNPOST && pr_trace_at(record, DRV_SIGNPOST, time).number < record->ns)
        return pr_trace_at(record, DRV_SIGNPOST, time).number;
    return record->ns;
}

static void put_time(FILE *file, const char *key, uint64_t ns)
{
    fprintf(file, ", \"%s\": %" PRIu64 ".%03u", key, ns / 1000, (unsigned)(ns % 1000));
}

/*
 * What the viewer shows on the event: its name, or its id where the name is a sentence with fields. An event
 * without a name shows its text, or its id when it does not begin with one.
 */
static void put_name(FILE *file, const struct pr_trace_event *event, const struct pr_trace_record *record)
{
    fputs(", \"name\": ", file);
    if (record->event == PR_TRACE_DRV_SIGNPOST || (!event->name[0] && event->field[0].kind == PR_TRACE_BARE))
        base_quote_json(file, record->value[0].text, record->value[0].length);
    else if (event->name[0] && !strchr(event->name, '{'))
        base_quote_json(file, event->name, strlen(event->name));
    else
        base_quote_json(file, event->id, strlen(event->id));
}

static void put_fields(FILE *file, const struct pr_trace_event *event, const struct pr_trace_record *record)
{
    fputs(", \"args\": {", file);
    for (unsigned i = 0; i < event->fields; i++) {
        const struct pr_trace_value *value = &record->value[i];

        fprintf(file, "%s\"%s\": ", i ? ", " : "", event->field[i].name);
        if (value->text)
            base_quote_json(file, value->text, value->length);
        else if (event->field[i].kind == PR_TRACE_HEX)
            fprintf(file, "\"0x%" PRIx64 "\"", value->number);
        else
            fprintf(file, "%" PRIu64, value->number);
    }
    fputs("}}", file);
}

/* From a request to its descriptors and back to its return: arrows between the tracks. */
static void put_flow(struct trace_viewer *viewer, const char *phase, unsigned track, uint64_t ns)
{
    event_begin(viewer, phase, track);
    put_time(viewer->file, "ts", ns);
    fprintf(viewer->file, ", \"cat\": \"request\", \"name\": \"request\", \"id\": %u%s}", viewer->request,
            *phase == 'f' ? ", \"bp\": \"e\"" : "");
}

/* What an event is in the viewer: its phase, the track it belongs to, and the flow it takes part in. */
struct shape {
    const char *phase, *flow;
    unsigned track;
};

static struct shape call_shape(struct trace_viewer *viewer, const struct pr_trace_record *record)
{
    bool request = pr_trace_at(record, CLIENT_CALL, selector).number == REQUEST_SELECTOR;

    viewer->request += request;
    return (struct shape){"B", request ? "s" : NULL,
                          client_track(viewer, &pr_trace_at(record, CLIENT_CALL, client))};
}

static struct shape return_shape(struct trace_viewer *viewer, const struct pr_trace_record *record)
{
    bool request = pr_trace_at(record, CLIENT_RETURN, selector).number == REQUEST_SELECTOR;

    return (struct shape){"E", request ? "f" : NULL,
                          client_track(viewer, &pr_trace_at(record, CLIENT_RETURN, client))};
}

static struct shape shape_of(struct trace_viewer *viewer, const struct pr_trace_record *record)
{
    struct shape shape = {"i", NULL, layer_track(pr_trace_event(record->event)->layer)};

    if (record->event == PR_TRACE_ENG_START)
        shape =
            (struct shape){"X", "t", QUEUE_TRACK + (unsigned)pr_trace_at(record, ENG_START, queue).number};
    else if (record->event == PR_TRACE_CLIENT_CALL)
        shape = call_shape(viewer, record);
    else if (record->event == PR_TRACE_CLIENT_RETURN)
        shape = return_shape(viewer, record);
    else if (record->event == PR_TRACE_DRV_SIGNPOST)
        shape.track = signpost_track(viewer);
    else if (record->event == PR_TRACE_FW_RUN)
        shape.track = task_track(viewer, &pr_trace_at(record, FW_RUN, task));
    else if (record->event == PR_TRACE_FW_LOG)
        shape.track = task_track(viewer, &pr_trace_at(record, FW_LOG, origin));
    return shape;
}

void trace_viewer_record(struct trace_viewer *viewer, const struct pr_trace_record *record)
{
    const struct pr_trace_event *event = pr_trace_event(record->event);
    struct shape shape = shape_of(viewer, record);

    if (shape.flow && *shape.flow == 'f')
        put_flow(viewer, shape.flow, shape.track, record->ns);
    event_begin(viewer, shape.phase, shape.track);
    put_time(viewer->file, "ts", moment(record));
    if (*shape.phase == 'X')
        put_time(viewer->file, "dur", pr_trace_at(record, ENG_START, cost).number);
    if (*shape.phase == 'i')
        fputs(", \"s\": \"t\"", viewer->file);
    fprintf(viewer->file, ", \"cat\": \"%s\"", pr_trace_class_name(event->class));
    put_name(viewer->file, event, record);
    put_fields(viewer->file, event, record);
    if (shape.flow && *shape.flow != 'f')
        put_flow(viewer, shape.flow, shape.track, record->ns);
}

void trace_viewer_begin(struct trace_viewer *viewer, FILE *file)
{
    char name[16];

    *viewer = (struct trace_viewer){.file = file, .first = true};
    fputs("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [", file);
    for (unsigned i = 0; i < PR_TRACE_LAYERS; i++)
        name_track(viewer, layer_track((enum pr_trace_layer)i), pr_trace_layer_name((enum pr_trace_layer)i));
    for (unsigned i = 0; i < QUEUES; i++) {
        snprintf(name, sizeof(name), "queue %u", i);
        name_track(viewer, QUEUE_TRACK + i, name);
    }
}

void trace_viewer_end(struct trace_viewer *viewer)
{
    fputs("\n]}\n", viewer->file);
}
