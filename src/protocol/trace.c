/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trace records: the table, text and binary form. Numbers, and the order and kinds of fields, are the binary
 * form itself (see trace_events.def before changing a row). The text form is what is hashed and what golden
 * traces contain: a change of print_field or of a name changes every hash. The reader trusts no length of a
 * file, and text in a decoded record points into the caller's bytes.
 */
#include "protocol/trace.h"

#include <string.h>

static const struct {
    const char *name, *meaning;
} layer_table[PR_TRACE_LAYERS] = {
#define PR_TRACE_LAYER(id, name, meaning) [PR_TRACE_LAYER_##id] = {name, meaning},
#include "protocol/trace_events.def"
};

static const char *const class_name[] = {
#define X(id, name, meaning) [PR_TRACE_CLASS_##id] = name,
    PR_TRACE_CLASSES(X)
#undef X
};

static const struct {
    const char *name;
    bool text;
} kind_table[] = {
#define X(id, text, meaning) [PR_TRACE_##id] = {#id, text},
    PR_TRACE_KINDS(X)
#undef X
};

/* clang-format off */
/* Every list ends in a row without name, so that an event without fields has one too. */
#define PR_TRACE_EVENT(number, id, layer, class, name) static const struct pr_trace_field fields_##id[] = {
#define PR_TRACE_FIELD(event, kind, name)              {#name, PR_TRACE_##kind},
#define PR_TRACE_END(event)                            {0} };
#include "protocol/trace_events.def"
/* clang-format on */

static const struct pr_trace_event event_table[PR_TRACE_EVENTS_END] = {
#define PR_TRACE_EVENT(number, id, layer, class, name) \
    [number] = {#id, name, PR_TRACE_LAYER_##layer, PR_TRACE_CLASS_##class, PR_TRACE_COUNT_##id, fields_##id},
#include "protocol/trace_events.def"
};

#define PR_TRACE_END(event) \
    _Static_assert((unsigned)PR_TRACE_COUNT_##event <= PR_TRACE_FIELDS_MAX, #event " has too many fields");
#include "protocol/trace_events.def"

const struct pr_trace_event *pr_trace_event(unsigned number)
{
    return number < PR_TRACE_EVENTS_END && event_table[number].id ? &event_table[number] : NULL;
}

const char *pr_trace_layer_name(enum pr_trace_layer layer)
{
    return layer_table[layer].name;
}

const char *pr_trace_layer_meaning(enum pr_trace_layer layer)
{
    return layer_table[layer].meaning;
}

const char *pr_trace_class_name(enum pr_trace_class class)
{
    return class_name[class];
}

const char *pr_trace_kind_name(enum pr_trace_kind kind)
{
    return kind_table[kind].name;
}

bool pr_trace_kind_is_text(enum pr_trace_kind kind)
{
    return kind_table[kind].text;
}

bool pr_trace_text_is(const struct pr_trace_value *value, const char *text)
{
    return value->length == pr_string_length(text) && !memcmp(value->text, text, value->length);
}

static void print_value(enum pr_trace_kind kind, const struct pr_trace_value *value, struct pr_text *text)
{
    switch (kind) {
    case PR_TRACE_DEC: pr_text_put_dec(text, value->number); break;
    case PR_TRACE_HEX: pr_text_put_hex(text, value->number, 1); break;
    case PR_TRACE_QUOTED:
        pr_text_put_char(text, '"');
        pr_text_put_n(text, value->text, value->length);
        pr_text_put_char(text, '"');
        break;
    case PR_TRACE_TEXT:
    case PR_TRACE_BARE: pr_text_put_n(text, value->text, value->length); break;
    }
}

static void print_field(const struct pr_trace_field *field, const struct pr_trace_value *value,
                        struct pr_text *text)
{
    if (field->kind != PR_TRACE_BARE) {
        pr_text_put(text, field->name);
        pr_text_put_char(text, '=');
    }
    print_value(field->kind, value, text);
}

/* The field that is named behind a brace and the length of its name; the number of fields for none. */
static unsigned braced_field(const struct pr_trace_event *event, const char *name, size_t *length)
{
    for (*length = 0; name[*length] && name[*length] != '}'; ++*length)
        ;
    for (unsigned i = 0; i < event->fields; i++)
        if (name[*length] && pr_string_length(event->field[i].name) == *length &&
            !memcmp(event->field[i].name, name, *length))
            return i;
    return event->fields;
}

/* The name with the fields it holds: a bit for each of them. */
static unsigned print_name(const struct pr_trace_event *event, const struct pr_trace_record *record,
                           struct pr_text *text)
{
    unsigned held = 0;

    for (const char *at = event->name; *at; at++) {
        size_t length = 0;
        unsigned i = *at == '{' ? braced_field(event, at + 1, &length) : event->fields;

        if (i == event->fields) {
            pr_text_put_char(text, *at);
            continue;
        }
        print_value(event->field[i].kind, &record->value[i], text);
        held |= 1u << i;
        at += length + 1;
    }
    return held;
}

void pr_trace_print_event(const struct pr_trace_record *record, struct pr_text *text)
{
    const struct pr_trace_event *event = pr_trace_event(record->event);
    const char *space = event->name[0] ? " " : "";
    unsigned held = print_name(event, record, text);

    for (unsigned i = 0; i < event->fields; i++) {
        if (held & 1u << i)
            continue;
        pr_text_put(text, space);
        print_field(&event->field[i], &record->value[i], text);
        space = " ";
    }
}

size_t pr_trace_print(const struct pr_trace_record *record, char line[PR_TRACE_LINE_MAX])
{
    struct pr_text text;

    pr_text_init(&text, line, PR_TRACE_LINE_MAX - 1); /* the newline has its place in any case */
    pr_text_put_dec(&text, record->ns);
    pr_text_put_char(&text, ' ');
    pr_text_put(&text, pr_trace_layer_name(pr_trace_event(record->event)->layer));
    pr_text_put_char(&text, ' ');
    pr_trace_print_event(record, &text);
    line[text.length] = '\n';
    line[text.length + 1] = '\0';
    return text.length + 1;
}

static void put_le16(uint8_t *bytes, size_t value)
{
    bytes[0] = (uint8_t)value;
    bytes[1] = (uint8_t)(value >> 8);
}

void pr_trace_write_header(uint8_t header[PR_TRACE_HEADER_BYTES])
{
    for (unsigned i = 0; i < PR_TRACE_MAGIC_BYTES; i++)
        header[i] = (uint8_t)PR_TRACE_MAGIC[i];
    pr_put_le32(header + PR_TRACE_MAGIC_BYTES, PR_TRACE_VERSION);
}

static size_t encode_field(bool is_text, const struct pr_trace_value *value, uint8_t *bytes)
{
    size_t length = value->length < PR_TRACE_TEXT_MAX ? value->length : PR_TRACE_TEXT_MAX;

    if (!is_text) {
        pr_put_le64(bytes, value->number);
        return 8;
    }
    put_le16(bytes, length);
    if (length)
        memcpy(bytes + 2, value->text, length);
    return 2 + length;
}

size_t pr_trace_encode(const struct pr_trace_record *record, uint8_t bytes[PR_TRACE_RECORD_MAX])
{
    const struct pr_trace_event *event = pr_trace_event(record->event);
    size_t at = PR_TRACE_HEAD_BYTES;

    for (unsigned i = 0; i < event->fields; i++)
        at += encode_field(kind_table[event->field[i].kind].text, &record->value[i], bytes + at);
    pr_put_le64(bytes, record->ns);
    put_le16(bytes + 8, record->event);
    put_le16(bytes + 10, at - PR_TRACE_HEAD_BYTES);
    return at;
}

/* One value out of `left` bytes: how many it takes; 0 when it does not fit. */
static size_t decode_field(bool is_text, const uint8_t *bytes, size_t left, struct pr_trace_value *value)
{
    size_t length;

    *value = (struct pr_trace_value){0};
    if (!is_text) {
        if (left < 8)
            return 0;
        value->number = pr_le64(bytes);
        return 8;
    }
    if (left < 2)
        return 0;
    length = pr_le16(bytes);
    if (length > PR_TRACE_TEXT_MAX || length > left - 2 || memchr(bytes + 2, 0, length))
        return 0;
    value->text = (const char *)bytes + 2;
    value->length = length;
    return 2 + length;
}

bool pr_trace_decode(const uint8_t *bytes, size_t size, struct pr_trace_record *record, size_t *taken,
                     struct pr_problem *problem)
{
    const struct pr_trace_event *event;
    size_t end, at = PR_TRACE_HEAD_BYTES;

    if (size >= PR_TRACE_MAGIC_BYTES && !memcmp(bytes, PR_TRACE_MAGIC, PR_TRACE_MAGIC_BYTES))
        return pr_problem_set(problem, PR_PROBLEM_FORMAT,
                              "The header of a trace file is where a record should be.");
    if (size < PR_TRACE_HEAD_BYTES)
        return pr_problem_set(problem, PR_PROBLEM_TRUNCATED,
                              "A trace record begins with %u bytes; only %ju are left.", PR_TRACE_HEAD_BYTES,
                              (uint64_t)size);
    *record = (struct pr_trace_record){.ns = pr_le64(bytes), .event = pr_le16(bytes + 8)};
    end = at + pr_le16(bytes + 10);
    event = pr_trace_event(record->event);
    if (!event)
        return pr_problem_set(problem, PR_PROBLEM_UNSUPPORTED,
                              "Trace event %u is unknown; the last one known here is %u.",
                              (unsigned)record->event, (unsigned)PR_TRACE_EVENTS_END - 1);
    if (end > size)
        return pr_problem_set(problem, PR_PROBLEM_TRUNCATED,
                              "The fields of trace event %s have %ju bytes; only %ju are left.", event->id,
                              (uint64_t)end - PR_TRACE_HEAD_BYTES, (uint64_t)size - PR_TRACE_HEAD_BYTES);
    for (unsigned i = 0; i < event->fields; i++) {
        size_t used =
            decode_field(kind_table[event->field[i].kind].text, bytes + at, end - at, &record->value[i]);

        if (!used)
            return pr_problem_set(
                problem, PR_PROBLEM_LIMIT,
                "Field %s of trace event %s does not fit its record of %ju bytes, or is text "
                "with a NUL or of more than %u bytes.",
                event->field[i].name, event->id, (uint64_t)end, PR_TRACE_TEXT_MAX);
        at += used;
    }
    if (at != end)
        return pr_problem_set(problem, PR_PROBLEM_OVER_DECLARED,
                              "A record of trace event %s has %ju bytes; its fields end at %ju.", event->id,
                              (uint64_t)end, (uint64_t)at);
    *taken = end;
    return true;
}

bool pr_trace_begin(struct pr_trace_reader *reader, const uint8_t *bytes, size_t size,
                    struct pr_problem *problem)
{
    uint32_t version;

    *reader = (struct pr_trace_reader){bytes, size, PR_TRACE_HEADER_BYTES};
    if (size < PR_TRACE_HEADER_BYTES || memcmp(bytes, PR_TRACE_MAGIC, PR_TRACE_MAGIC_BYTES) != 0)
        return pr_problem_set(problem, PR_PROBLEM_FORMAT,
                              "This is not a binary trace: it does not begin with " PR_TRACE_MAGIC
                              " and a version.");
    version = pr_le32(bytes + PR_TRACE_MAGIC_BYTES);
    if (version != PR_TRACE_VERSION)
        return pr_problem_set(problem, PR_PROBLEM_UNSUPPORTED,
                              "This trace has version %u of the format; only version %u can be read here.",
                              version, PR_TRACE_VERSION);
    return true;
}

bool pr_trace_next(struct pr_trace_reader *reader, struct pr_trace_record *record, struct pr_problem *problem)
{
    size_t taken = 0;

    if (problem)
        *problem = (struct pr_problem){.kind = PR_PROBLEM_NONE};
    if (reader->at == reader->size ||
        !pr_trace_decode(reader->bytes + reader->at, reader->size - reader->at, record, &taken, problem))
        return false;
    reader->at += taken;
    return true;
}
