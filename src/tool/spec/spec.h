/* SPDX-License-Identifier: Apache-2.0 */
/* `anemone spec`: one description of the machine's tables, written as JSON or as sheets of text. */
#ifndef TOOL_SPEC_H
#define TOOL_SPEC_H

#include "tool/json.h"

/* The kind of a value: hex is a number that text shows in base 16. */
enum spec_kind { SPEC_KIND_TEXT, SPEC_KIND_NUMBER, SPEC_KIND_HEX, SPEC_KIND_BOOL };

/* A column of a table. An array of columns ends with SPEC_END. */
struct spec_column {
    const char *name;
    enum spec_kind kind;
};

/* clang-format off */
#define SPEC_TEXT(name)   {name, SPEC_KIND_TEXT}
#define SPEC_NUMBER(name) {name, SPEC_KIND_NUMBER}
#define SPEC_HEX(name)    {name, SPEC_KIND_HEX}
#define SPEC_BOOL(name)   {name, SPEC_KIND_BOOL}
#define SPEC_END          {NULL, SPEC_KIND_TEXT}
/* clang-format on */

/* A value of a table: a text, or a number. A text in a column of numbers is a word in place of the number. */
struct spec_value {
    const char *text;
    uint64_t number;
};

#define SPEC_T(words) ((struct spec_value){.text = (words)})
#define SPEC_N(value) ((struct spec_value){.number = (value)})

/* The kinds are JSON of the same shape: in place of a value is its kind, in place of a table its columns. */
enum spec_form { SPEC_SHEETS, SPEC_JSON, SPEC_KINDS };

struct spec_cell;

/* Where a section writes to. */
struct spec {
    enum spec_form form;
    struct json json;
    const char *section; /* the name of the one that is being written */

    unsigned depth;    /* of the objects that are open in a sheet */
    const char *title; /* of the open table; the rest is about it too */
    const struct spec_column *columns;
    unsigned width;                  /* the number of its columns */
    unsigned column;                 /* of its next value */
    struct spec_cell *first, **last; /* its values so far, row after row: a sheet needs their widths first */
    bool failed;
};

void spec_begin(struct spec *spec, enum spec_form form);
/* False when memory ran out. */
bool spec_end(struct spec *spec);

/* Objects hold plain values, lists, tables and objects. */
void spec_object(struct spec *spec, const char *name);
void spec_object_end(struct spec *spec);
void spec_text(struct spec *spec, const char *name, const char *value);
void spec_number(struct spec *spec, const char *name, uint64_t value);
void spec_hex(struct spec *spec, const char *name, uint64_t value);
void spec_bool(struct spec *spec, const char *name, bool value);

/* An array of plain values. */
void spec_list(struct spec *spec, const char *name, enum spec_kind kind, const struct spec_value *values,
               size_t count);

/* An array of objects of the same columns. Values fill the columns, row after row; the last row is whole. */
void spec_table_begin(struct spec *spec, const char *name, const struct spec_column *columns);
void spec_put(struct spec *spec, const struct spec_value *values, size_t count);
void spec_table_end(struct spec *spec);

/* Values as two arguments: an array, and how many it holds. They are written twice: no side effects. */
#define SPEC_VALUES(...)                      \
    (const struct spec_value[]){__VA_ARGS__}, \
        sizeof((const struct spec_value[]){__VA_ARGS__}) / sizeof(struct spec_value)
#define SPEC_PUT(spec, ...)              spec_put(spec, SPEC_VALUES(__VA_ARGS__))
#define SPEC_LIST(spec, name, kind, ...) spec_list(spec, name, kind, SPEC_VALUES(__VA_ARGS__))
#define SPEC_TABLE(spec, name, columns, ...)   \
    do {                                       \
        spec_table_begin(spec, name, columns); \
        SPEC_PUT(spec, __VA_ARGS__);           \
        spec_table_end(spec);                  \
    } while (0)

/* The sections, each the value of the name it has in the table of spec.c. */
void spec_selectors(struct spec *spec);
void spec_return_codes(struct spec *spec);
void spec_abi(struct spec *spec);
void spec_driver(struct spec *spec);
void spec_entitlements(struct spec *spec);
void spec_service(struct spec *spec);
void spec_device(struct spec *spec);
void spec_dispatch(struct spec *spec);

void spec_dart(struct spec *spec);
void spec_usage_codes(struct spec *spec);
void spec_addressing(struct spec *spec);

void spec_apertures(struct spec *spec);
void spec_task_states(struct spec *spec);
void spec_execution_states(struct spec *spec);
void spec_execution(struct spec *spec);
void spec_scheduler(struct spec *spec);
void spec_stats(struct spec *spec);
void spec_fabric(struct spec *spec);
void spec_handshakes(struct spec *spec);
void spec_boot_commands(struct spec *spec);
void spec_boot(struct spec *spec);
void spec_faults(struct spec *spec);

void spec_channels(struct spec *spec);
void spec_commands(struct spec *spec);
/* A table of the section of messages. */
void spec_bodies(struct spec *spec);
void spec_exeloop(struct spec *spec);
void spec_limits(struct spec *spec);
void spec_messages(struct spec *spec);
void spec_rules(struct spec *spec);

void spec_task_queue(struct spec *spec);
void spec_descriptor(struct spec *spec);
void spec_experiments(struct spec *spec);
void spec_boards(struct spec *spec);
void spec_power(struct spec *spec);

#endif
