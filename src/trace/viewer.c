/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The viewer's form. Everything comes from the fields of records: a call is a span of its client, a
 * descriptor and a push are spans of their queue, an execution a span of the chains, everything else a moment
 * on the track of its layer or task. One event is written for each record. What is written in addition is of
 * the category "derived", or has none: the ends of descriptors, and the waits of a queue that was
 * interrupted.
 *
 * Spans of one track follow each other or are nested; viewers show other ones wrongly. The end of a span has
 * the name and the category of its begin, or neither: viewers that compare them would not find it.
 */
#include "trace/viewer.h"

#include <inttypes.h>
#include <string.h>

#include "base/quote.h"

/* Groups of tracks, in the order in which a viewer shows them. */
enum group { CLIENTS = 1, DRIVER, FIRMWARE, ENGINE, BOARD };
#define GROUPS 5u

/* Tracks, in the order within their group: one per layer, then these. A queue has two: jobs, descriptors. */
#define SIGNPOST_TRACK 90u
#define CHAIN_TRACK    91u
#define SCHEDULE_TRACK 92u
#define QUEUE_TRACK    100u
#define TASK_TRACK     200u
#define CLIENT_TRACK   300u
#define CLIENTS_MAX    (1u << 20) /* a file may hold any number */

static enum group layer_group(enum pr_trace_layer layer)
{
    switch (layer) {
    case PR_TRACE_LAYER_CLIENT: return CLIENTS;
    case PR_TRACE_LAYER_DRIVER: return DRIVER;
    case PR_TRACE_LAYER_FIRMWARE: return FIRMWARE;
    case PR_TRACE_LAYER_ENGINE: return ENGINE;
    default: return BOARD;
    }
}

static enum group track_group(unsigned track)
{
    if (track >= CLIENT_TRACK)
        return CLIENTS;
    if (track >= TASK_TRACK || track == SCHEDULE_TRACK)
        return FIRMWARE;
    if (track >= QUEUE_TRACK)
        return ENGINE;
    return track >= SIGNPOST_TRACK ? DRIVER : layer_group((enum pr_trace_layer)(track - 1));
}

static void event_begin(struct trace_viewer *viewer, const char *phase, unsigned track)
{
    fprintf(viewer->file, "%s{\"ph\": \"%s\", \"pid\": %u, \"tid\": %u", viewer->first ? "\n" : ",\n", phase,
            (unsigned)track_group(track), track);
    viewer->first = false;
}

/* The track, with its name and its place when it is seen first; those of late clients have them repeated. */
static unsigned track_of(struct trace_viewer *viewer, unsigned track, const char *name)
{
    if (track < TRACE_VIEWER_TRACKS) {
        if (viewer->named[track / 8] >> (track % 8) & 1)
            return track;
        viewer->named[track / 8] |= (uint8_t)(1u << (track % 8));
    }
    event_begin(viewer, "M", track);
    fputs(", \"name\": \"thread_name\", \"args\": {\"name\": ", viewer->file);
    base_quote_json(viewer->file, name, strlen(name));
    fputs("}}", viewer->file);
    event_begin(viewer, "M", track);
    fprintf(viewer->file, ", \"name\": \"thread_sort_index\", \"args\": {\"sort_index\": %u}}", track);
    return track;
}

static unsigned layer_track(struct trace_viewer *viewer, enum pr_trace_layer layer)
{
    return track_of(viewer, (unsigned)layer + 1, pr_trace_layer_name(layer));
}

/* The track of a task by its name. */
static unsigned task_track(struct trace_viewer *viewer, const struct pr_trace_value *name)
{
    size_t length = name->length < TRACE_VIEWER_NAME ? name->length : TRACE_VIEWER_NAME - 1;
    unsigned i;

    for (i = 0; i < viewer->tasks; i++)
        if (strlen(viewer->task[i]) == length && !memcmp(viewer->task[i], name->text, length))
            return TASK_TRACK + i;
    if (i == TRACE_VIEWER_TASKS)
        return layer_track(viewer, PR_TRACE_LAYER_FIRMWARE);
    memcpy(viewer->task[i], name->text, length);
    viewer->task[i][length] = '\0';
    viewer->tasks++;
    return track_of(viewer, TASK_TRACK + i, viewer->task[i]);
}

static unsigned call_track(struct trace_viewer *viewer, const struct trace_call *call)
{
    char name[48];

    snprintf(name, sizeof(name), call->lane ? "client %u, call %u" : "client %u", call->client,
             call->lane + 1);
    return track_of(viewer, CLIENT_TRACK + call->client % CLIENTS_MAX * TRACE_LANES + call->lane, name);
}

/* What was pushed to a queue; its descriptors are on the track below. */
static unsigned push_track(struct trace_viewer *viewer, unsigned queue, uint64_t priority)
{
    char name[48];

    snprintf(name, sizeof(name), "queue %u jobs, priority %" PRIu64, queue, priority);
    return track_of(viewer, QUEUE_TRACK + 2 * queue, name);
}

static unsigned queue_track(struct trace_viewer *viewer, unsigned queue)
{
    char name[48];

    snprintf(name, sizeof(name), "queue %u", queue);
    return track_of(viewer, QUEUE_TRACK + 2 * queue + 1, name);
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
    if (record->event == PR_TRACE_DRV_SIGNPOST || (!event->name[0] && event->field[0].kind == PR_TRACE_BARE))
        base_quote_json(file, record->value[0].text, record->value[0].length);
    else if (event->name[0] && !strchr(event->name, '{'))
        base_quote_json(file, event->name, strlen(event->name));
    else
        base_quote_json(file, event->id, strlen(event->id));
}

static void put_fields(FILE *file, const struct pr_trace_event *event, const struct pr_trace_record *record)
{
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
}

/* What an event is in the viewer. */
struct shape {
    const char *phase, *flow; /* flow: from a call to its descriptors and back to its return, or NULL */
    unsigned track;
    uint64_t since, request; /* begin of a span that is written at its end; number of its flow */
    char name[64];           /* "": that of the event */
};

/* Arrows between the tracks. They begin and end in a span, so that of a return is written before its end. */
static void put_flow(struct trace_viewer *viewer, const struct shape *shape, uint64_t ns)
{
    if (!shape->request)
        return;
    event_begin(viewer, shape->flow, shape->track);
    put_time(viewer->file, "ts", ns);
    fprintf(viewer->file, ", \"cat\": \"request\", \"name\": \"request\", \"id\": %" PRIu64 "%s}",
            shape->request, *shape->flow == 'f' ? ", \"bp\": \"e\"" : "");
}

static void call_shape(struct trace_viewer *viewer, const struct pr_trace_record *record, struct shape *shape)
{
    const struct trace_call *call = trace_call_begin(&viewer->calls, record);

    if (!call)
        return;
    shape->phase = "B";
    shape->track = call_track(viewer, call);
    snprintf(shape->name, sizeof(shape->name), "%s", call->name);
    if (call->kind == TRACE_CALL_REQUEST || call->kind == TRACE_CALL_TRIGGER) {
        shape->flow = "s";
        shape->request = call->order;
    }
}

static void return_shape(struct trace_viewer *viewer, const struct pr_trace_record *record,
                         struct shape *shape)
{
    struct trace_call *call = trace_call_find(&viewer->calls, record);

    if (!call)
        return;
    shape->phase = "E";
    shape->track = call_track(viewer, call);
    snprintf(shape->name, sizeof(shape->name), "%s", call->name);
    shape->flow = "f";
    shape->request = call->scheduled ? call->order : 0;
    call->name = NULL;
}

static void schedule_shape(struct trace_viewer *viewer, const struct pr_trace_record *record,
                           struct shape *shape)
{
    const uint64_t client = pr_trace_at(record, FW_SCHEDULE, user).number,
                   queue = pr_trace_at(record, FW_SCHEDULE, hwq).number;
    const struct trace_call *call = trace_call_schedule(&viewer->calls, client);

    shape->track = track_of(viewer, SCHEDULE_TRACK, "schedule");
    if (queue < TRACE_QUEUES)
        viewer->queues.queue[queue].next =
            (struct trace_push){.client = client,
                                .job = pr_trace_at(record, FW_SCHEDULE, job).number,
                                .flow = call ? call->order : 0,
                                .trigger = call && call->kind == TRACE_CALL_TRIGGER};
}

/* The span of the descriptor that the queue has begun, if it is not ended yet. */
static void end_descriptor(struct trace_viewer *viewer, unsigned queue, uint64_t ns)
{
    const uint64_t end = trace_queue_end(&viewer->queues.queue[queue], ns);

    if (!end)
        return;
    event_begin(viewer, "E", queue_track(viewer, queue));
    put_time(viewer->file, "ts", end);
    fputs("}", viewer->file);
}

static void put_interruption(struct trace_viewer *viewer, unsigned queue, unsigned by, uint64_t since,
                             uint64_t ns)
{
    event_begin(viewer, "X", queue_track(viewer, queue));
    put_time(viewer->file, "ts", since);
    put_time(viewer->file, "dur", ns - since);
    fprintf(viewer->file,
            ", \"cat\": \"derived\", \"name\": \"interrupted by queue %u\", \"args\": {\"queue\": %u}}", by,
            by);
}

static void start_shape(struct trace_viewer *viewer, const struct pr_trace_record *record,
                        struct shape *shape)
{
    const struct pr_trace_value *unit = &pr_trace_at(record, ENG_START, unit);
    const unsigned queue = (unsigned)pr_trace_at(record, ENG_START, queue).number % TRACE_QUEUES;
    const struct trace_push *push;
    unsigned by;
    uint64_t gap;

    end_descriptor(viewer, queue, record->ns);
    push = trace_queue_start(&viewer->queues, queue, record->ns, pr_trace_at(record, ENG_START, cost).number,
                             &gap, &by);
    if (gap)
        put_interruption(viewer, queue, by, gap, record->ns);
    shape->phase = "B";
    shape->track = queue_track(viewer, queue);
    shape->flow = "t";
    shape->request = push ? push->flow : 0;
    snprintf(shape->name, sizeof(shape->name), "%.*s %" PRIu64, (int)unit->length, unit->text,
             pr_trace_at(record, ENG_START, descriptor).number);
}

static void retire_shape(struct trace_viewer *viewer, const struct pr_trace_record *record,
                         struct shape *shape)
{
    const unsigned queue = (unsigned)pr_trace_at(record, ENG_RETIRE, queue).number % TRACE_QUEUES;
    struct trace_push push;

    end_descriptor(viewer, queue, record->ns);
    if (!trace_queue_retire(&viewer->queues.queue[queue], record->ns, &push))
        return;
    shape->phase = "X";
    shape->track = push_track(viewer, queue, push.priority);
    shape->since = push.ns;
    if (push.trigger)
        viewer->execution = push.ns;
    snprintf(shape->name, sizeof(shape->name),
             push.interrupted ? "job %" PRIu64 " of client %" PRIu64 ", interrupted"
                              : "job %" PRIu64 " of client %" PRIu64,
             push.job, push.client);
}

static void chain_shape(struct trace_viewer *viewer, const struct pr_trace_record *record,
                        struct shape *shape)
{
    shape->track = track_of(viewer, CHAIN_TRACK, "chains");
    if (record->event == PR_TRACE_DRV_CHAIN)
        trace_call_chained(&viewer->calls);
    else if (record->event == PR_TRACE_DRV_CHAIN_ENDED)
        viewer->calls.chains -= viewer->calls.chains > 0;
    if (record->event != PR_TRACE_DRV_CHAIN_EVENT)
        return;
    snprintf(shape->name, sizeof(shape->name), "execution %" PRIu64 " writes set %" PRIu64,
             pr_trace_at(record, DRV_CHAIN_EVENT, timestamp).number,
             pr_trace_at(record, DRV_CHAIN_EVENT, set).number);
    if (viewer->execution) {
        shape->phase = "X";
        shape->since = viewer->execution < viewer->reported ? viewer->reported : viewer->execution;
    }
    viewer->execution = 0;
    viewer->reported = record->ns;
}

static void forget_queue(struct trace_viewer *viewer, unsigned queue, uint64_t ns)
{
    end_descriptor(viewer, queue, ns);
    viewer->queues.queue[queue] = (struct trace_queue){.count = 0};
}

static struct shape shape_of(struct trace_viewer *viewer, const struct pr_trace_record *record)
{
    const enum pr_trace_layer layer = pr_trace_event(record->event)->layer;
    struct shape shape = {.phase = "i", .since = record->ns};

    switch (record->event) {
    case PR_TRACE_CLIENT_CALL: call_shape(viewer, record, &shape); break;
    case PR_TRACE_CLIENT_RETURN: return_shape(viewer, record, &shape); break;
    case PR_TRACE_FW_SCHEDULE: schedule_shape(viewer, record, &shape); break;
    case PR_TRACE_FW_RUN: shape.track = task_track(viewer, &pr_trace_at(record, FW_RUN, task)); break;
    case PR_TRACE_FW_LOG: shape.track = task_track(viewer, &pr_trace_at(record, FW_LOG, origin)); break;
    case PR_TRACE_ENG_PUSH:
        trace_queue_push(&viewer->queues.queue[pr_trace_at(record, ENG_PUSH, queue).number % TRACE_QUEUES],
                         record->ns, pr_trace_at(record, ENG_PUSH, priority).number);
        break;
    case PR_TRACE_ENG_START: start_shape(viewer, record, &shape); break;
    case PR_TRACE_ENG_RETIRE: retire_shape(viewer, record, &shape); break;
    case PR_TRACE_ENG_ABORT:
        forget_queue(viewer, (unsigned)pr_trace_at(record, ENG_ABORT, queue).number % TRACE_QUEUES,
                     record->ns);
        break;
    case PR_TRACE_ENG_RESET:
        for (unsigned i = 0; i < TRACE_QUEUES; i++)
            forget_queue(viewer, i, record->ns);
        break;
    case PR_TRACE_DRV_CHAIN:
    case PR_TRACE_DRV_CHAIN_EVENT:
    case PR_TRACE_DRV_CHAIN_ENDED: chain_shape(viewer, record, &shape); break;
    case PR_TRACE_DRV_SIGNPOST:
        shape.track = track_of(viewer, SIGNPOST_TRACK, "signposts");
        /* It is older than its message: the firmware says when it was, unless that is not past. */
        if (pr_trace_at(record, DRV_SIGNPOST, time).number < record->ns)
            shape.since = pr_trace_at(record, DRV_SIGNPOST, time).number;
        break;
    default: break;
    }
    if (!shape.track)
        shape.track = layer_track(viewer, layer);
    return shape;
}

void trace_viewer_record(struct trace_viewer *viewer, const struct pr_trace_record *record)
{
    const struct pr_trace_event *event = pr_trace_event(record->event);
    const struct shape shape = shape_of(viewer, record);

    if (shape.flow && *shape.flow == 'f')
        put_flow(viewer, &shape, record->ns);
    event_begin(viewer, shape.phase, shape.track);
    put_time(viewer->file, "ts", shape.since);
    if (*shape.phase == 'X')
        put_time(viewer->file, "dur", record->ns - shape.since);
    if (*shape.phase == 'i')
        fputs(", \"s\": \"t\"", viewer->file);
    fprintf(viewer->file, ", \"cat\": \"%s\", \"name\": ", pr_trace_class_name(event->class));
    if (shape.name[0])
        base_quote_json(viewer->file, shape.name, strlen(shape.name));
    else
        put_name(viewer->file, event, record);
    fputs(", \"args\": {", viewer->file);
    put_fields(viewer->file, event, record);
    fputs("}}", viewer->file);
    if (shape.flow && *shape.flow != 'f')
        put_flow(viewer, &shape, record->ns);
}

void trace_viewer_begin(struct trace_viewer *viewer, FILE *file)
{
    static const char *const names[] = {[CLIENTS] = "clients",
                                        [DRIVER] = "driver",
                                        [FIRMWARE] = "firmware",
                                        [ENGINE] = "engine",
                                        [BOARD] = "board"};

    *viewer = (struct trace_viewer){.file = file, .first = true};
    fputs("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [", file);
    for (unsigned i = 1; i <= GROUPS; i++) {
        fprintf(file, "%s{\"ph\": \"M\", \"pid\": %u, \"name\": \"process_name\", ", i > 1 ? ",\n" : "\n", i);
        fprintf(file, "\"args\": {\"name\": \"%s\"}},\n", names[i]);
        fprintf(file, "{\"ph\": \"M\", \"pid\": %u, \"name\": \"process_sort_index\", ", i);
        fprintf(file, "\"args\": {\"sort_index\": %u}}", i);
    }
    viewer->first = false;
}

void trace_viewer_end(struct trace_viewer *viewer)
{
    for (unsigned i = 0; i < TRACE_QUEUES; i++)
        end_descriptor(viewer, i, UINT64_MAX);
    fputs("\n]}\n", viewer->file);
}
