/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `anemone trace`: a binary trace as text, as JSON or in the viewer's form. The file is not trusted: the
 * reader checks every length, and control characters are not printed. The records before a malformed one are
 * shown, then the place and the reason.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "protocol/trace.h"
#include "tool/json.h"
#include "tool/tool.h"
#include "trace/viewer.h"

const char tool_trace_help[] =
    "anemone trace FILE [--guest-errors] [--json] [--viewer]\n\n"
    "Prints a binary trace (`anemone run --trace FILE.bin`) as text, one line per event: virtual time\n"
    "in ns, layer, event and its fields. docs/trace.md lists the events.\n\n"
    "  --guest-errors  only events that are mistakes of the software which drives the machine\n"
    "  --json          records as JSON, with the fields by name\n"
    "  --viewer        the form that trace viewers open, as of `anemone run --trace FILE.json`\n\n"
    "  anemone run net.mil --input x=in.npy --trace boot.bin && anemone trace boot.bin\n";

#define TRACE_LIMIT ((size_t)1 << 30)

/* A file may hold any byte, so control characters are replaced. */
static void print_record(const struct pr_trace_record *record)
{
    char line[PR_TRACE_LINE_MAX];
    size_t length = pr_trace_print(record, line);

    for (size_t i = 0; i + 1 < length; i++)
        if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
            line[i] = '?';
    fwrite(line, 1, length, stdout);
}

static void json_record(struct json *json, const struct pr_trace_record *record)
{
    const struct pr_trace_event *event = pr_trace_event(record->event);
    char text[PR_TRACE_TEXT_MAX + 1];

    json_object(json, NULL);
    json_number(json, "ns", record->ns);
    json_string(json, "layer", pr_trace_layer_name(event->layer));
    json_string(json, "event", event->id);
    json_string(json, "class", pr_trace_class_name(event->class));
    json_object(json, "fields");
    for (unsigned i = 0; i < event->fields; i++) {
        const struct pr_trace_value *value = &record->value[i];

        if (!value->text) {
            json_number(json, event->field[i].name, value->number);
            continue;
        }
        memcpy(text, value->text, value->length);
        text[value->length] = '\0';
        json_string(json, event->field[i].name, text);
    }
    json_object_end(json);
    json_object_end(json);
}

/* Where records go: one of the two, or as text to standard output. */
struct sink {
    struct json *json;
    struct trace_viewer *viewer;
};

/* Every record; false after saying where the file is wrong. */
static bool show_records(const char *path, struct pr_trace_reader *reader, bool errors,
                         const struct sink *sink)
{
    struct pr_trace_record record;
    struct pr_problem problem;

    while (pr_trace_next(reader, &record, &problem)) {
        if (errors && pr_trace_event(record.event)->class != PR_TRACE_CLASS_GUEST_ERROR)
            continue;
        if (sink->json)
            json_record(sink->json, &record);
        else if (sink->viewer)
            trace_viewer_record(sink->viewer, &record);
        else
            print_record(&record);
    }
    if (problem.kind == PR_PROBLEM_NONE)
        return true;
    tool_say("%s: byte %zu: %s", path, reader->at, problem.text);
    return false;
}

static bool show_json(const char *path, struct pr_trace_reader *reader, bool errors)
{
    struct json json;
    bool good;

    json_begin(&json, stdout);
    json_number(&json, "version", PR_TRACE_VERSION);
    json_array(&json, "records");
    good = show_records(path, reader, errors, &(struct sink){.json = &json});
    json_array_end(&json);
    json_end(&json);
    return good;
}

static bool show_viewer(const char *path, struct pr_trace_reader *reader, bool errors)
{
    struct trace_viewer viewer;
    bool good;

    trace_viewer_begin(&viewer, stdout);
    good = show_records(path, reader, errors, &(struct sink){.viewer = &viewer});
    trace_viewer_end(&viewer);
    return good;
}

int tool_trace(int argc, char **argv)
{
    bool errors = false, as_json = false, as_viewer = false, good;
    const struct tool_option options[] = {
        {"guest-errors", &errors, NULL}, {"json", &as_json, NULL}, {"viewer", &as_viewer, NULL}, {0}};
    struct pr_trace_reader reader;
    struct pr_problem problem;
    const char *path;
    unsigned count;
    uint8_t *bytes;
    size_t size;

    if (!tool_words(argc, argv, options, &path, 1, &count))
        return TOOL_USAGE;
    if (count != 1) {
        fputs(tool_trace_help, stderr);
        return TOOL_USAGE;
    }
    bytes = tool_file_read(path, TRACE_LIMIT, &size);
    if (!bytes)
        return TOOL_FAILURE;
    good = pr_trace_begin(&reader, bytes, size, &problem);
    if (!good)
        tool_say("%s: %s", path, problem.text);
    else
        good = as_json     ? show_json(path, &reader, errors)
               : as_viewer ? show_viewer(path, &reader, errors)
                           : show_records(path, &reader, errors, &(struct sink){0});
    base_free(bytes);
    return good ? TOOL_OK : TOOL_FAILURE;
}
