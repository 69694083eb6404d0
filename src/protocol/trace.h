/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trace records: an event of trace_events.def with its time and field values, as one line of text and in the
 * binary form of docs/trace.md. A file of records is not trusted: the reader checks every length.
 */
#ifndef PROTOCOL_TRACE_H
#define PROTOCOL_TRACE_H

#include "protocol/problem.h"
#include "protocol/text.h"

#define PR_TRACE_MAGIC        "ANETRACE"
#define PR_TRACE_MAGIC_BYTES  8u
#define PR_TRACE_VERSION      2u
#define PR_TRACE_HEADER_BYTES (PR_TRACE_MAGIC_BYTES + 4u) /* magic, version */

#define PR_TRACE_FIELDS_MAX 7u   /* fields of one event */
#define PR_TRACE_TEXT_MAX   512u /* bytes of a text field; longer text is cut when it is recorded */
#define PR_TRACE_LINE_MAX   512u /* a line of text with its newline and NUL; longer lines are cut */
#define PR_TRACE_HEAD_BYTES 12u  /* of a record: time, event, bytes of the fields */
#define PR_TRACE_RECORD_MAX (PR_TRACE_HEAD_BYTES + PR_TRACE_FIELDS_MAX * (2u + PR_TRACE_TEXT_MAX))

/* Kinds of field: X(ID, is it text, meaning) */
#define PR_TRACE_KINDS(X)                           \
    X(DEC, 0, "number, printed name=decimal")       \
    X(HEX, 0, "number, printed name=0xhexadecimal") \
    X(TEXT, 1, "text, printed name=text")           \
    X(QUOTED, 1, "text, printed name=\"text\"")     \
    X(BARE, 1, "text, printed without its name")

enum pr_trace_kind {
#define X(id, text, meaning) PR_TRACE_##id,
    PR_TRACE_KINDS(X)
#undef X
};
enum {
#define X(id, text, meaning) PR_TRACE_IS_TEXT_##id = text,
    PR_TRACE_KINDS(X)
#undef X
};

/*
 * Classes of event: X(ID, name, meaning). A guest error is a mistake of the software that drives the machine,
 * which the machine ignores or answers with a stop; an event that hardware defines for legal use, such as a
 * DART fault, is plain.
 */
#define PR_TRACE_CLASSES(X)                              \
    X(PLAIN, "plain", "what a working machine does too") \
    X(GUEST_ERROR, "guest-error", "the software made a mistake")

enum pr_trace_class {
#define X(id, name, meaning) PR_TRACE_CLASS_##id,
    PR_TRACE_CLASSES(X)
#undef X
};

enum pr_trace_layer {
#define PR_TRACE_LAYER(id, name, meaning) PR_TRACE_LAYER_##id,
#include "protocol/trace_events.def"
    PR_TRACE_LAYERS
};

enum pr_trace_event_id {
#define PR_TRACE_EVENT(number, id, layer, class, name) PR_TRACE_##id = number,
#include "protocol/trace_events.def"
    PR_TRACE_EVENTS_END /* one past the last number */
};

/* clang-format off */
/* For each event: PR_TRACE_AT_<event>_<field>, the index of a field, and PR_TRACE_COUNT_<event>. */
#define PR_TRACE_EVENT(number, id, layer, class, name) enum {
#define PR_TRACE_FIELD(event, kind, name)              PR_TRACE_AT_##event##_##name,
#define PR_TRACE_END(event)                            PR_TRACE_COUNT_##event };
#include "protocol/trace_events.def"

/* PR_TRACE_TEXTS_<event>: bit i is set when field i is text. */
#define PR_TRACE_EVENT(number, id, layer, class, name) enum { PR_TRACE_TEXTS_##id = 0
#define PR_TRACE_FIELD(event, kind, name) | PR_TRACE_IS_TEXT_##kind << PR_TRACE_AT_##event##_##name
#define PR_TRACE_END(event)                            };
#include "protocol/trace_events.def"
/* clang-format on */

struct pr_trace_field {
    const char *name;
    enum pr_trace_kind kind;
};

struct pr_trace_event {
    const char *id;   /* as in the table: unique, never empty */
    const char *name; /* as printed; {field} is where the value of that field is printed */
    enum pr_trace_layer layer;
    enum pr_trace_class class;
    unsigned fields;
    const struct pr_trace_field *field;
};

struct pr_trace_value {
    uint64_t number;
    const char *text; /* `length` bytes without a NUL; NULL for a number */
    size_t length;
};

struct pr_trace_record {
    uint64_t ns;
    uint16_t event; /* enum pr_trace_event_id */
    struct pr_trace_value value[PR_TRACE_FIELDS_MAX];
};

/* The value of a field by name: pr_trace_at(&record, ENG_START, cost).number */
#define pr_trace_at(record, event, field) ((record)->value[PR_TRACE_AT_##event##_##field])

bool pr_trace_text_is(const struct pr_trace_value *value, const char *text);

/* NULL for a number the table does not have. */
const struct pr_trace_event *pr_trace_event(unsigned number);
const char *pr_trace_layer_name(enum pr_trace_layer layer);
const char *pr_trace_layer_meaning(enum pr_trace_layer layer);
const char *pr_trace_class_name(enum pr_trace_class class);
const char *pr_trace_kind_name(enum pr_trace_kind kind);
bool pr_trace_kind_is_text(enum pr_trace_kind kind);

/* The record's line: time, layer, name, fields, newline; at most PR_TRACE_LINE_MAX bytes with the NUL. */
size_t pr_trace_print(const struct pr_trace_record *record, char line[PR_TRACE_LINE_MAX]);
/* The same without time and layer, and without the newline. */
void pr_trace_print_event(const struct pr_trace_record *record, struct pr_text *text);

void pr_trace_write_header(uint8_t header[PR_TRACE_HEADER_BYTES]);
/* Bytes written. The record's event is one of the table. Text past PR_TRACE_TEXT_MAX is cut. */
size_t pr_trace_encode(const struct pr_trace_record *record, uint8_t bytes[PR_TRACE_RECORD_MAX]);

/*
 * The record at the beginning of `bytes`, and how many bytes it has; false with a problem when it is not
 * whole, not of the table, or the header of a file. Its texts point into `bytes` and have no NUL inside.
 */
bool pr_trace_decode(const uint8_t *bytes, size_t size, struct pr_trace_record *record, size_t *taken,
                     struct pr_problem *problem);

/* A file: header, then records. */
struct pr_trace_reader {
    const uint8_t *bytes;
    size_t size, at;
};

bool pr_trace_begin(struct pr_trace_reader *reader, const uint8_t *bytes, size_t size,
                    struct pr_problem *problem);
/* False at the end, with PR_PROBLEM_NONE, and at the first record that cannot be read. */
bool pr_trace_next(struct pr_trace_reader *reader, struct pr_trace_record *record,
                   struct pr_problem *problem);

#endif
