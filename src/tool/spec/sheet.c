/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The three forms of a spec: JSON and kinds are written at once, text in sheets. In text the values of an
 * array are kept until its end, because the widths of its columns are known only then; so one array is open
 * at a time, and the rows' objects nest no further.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "tool/spec/spec.h"

#define COLUMNS_MAX  16u
#define NAME_WIDTH   30
#define NUMBER_BYTES 24u

struct spec_cell {
    struct spec_cell *next;
    char text[];
};

static const char *const kind_name[] = {[SPEC_KIND_TEXT] = "text",
                                        [SPEC_KIND_NUMBER] = "number",
                                        [SPEC_KIND_HEX] = "hex",
                                        [SPEC_KIND_BOOL] = "bool"};

void spec_begin(struct spec *spec, enum spec_form form)
{
    *spec = (struct spec){.form = form};
    spec->last = &spec->first;
    if (form != SPEC_SHEETS)
        json_begin(&spec->json, stdout);
}

bool spec_end(struct spec *spec)
{
    if (spec->form != SPEC_SHEETS)
        json_end(&spec->json);
    return !spec->failed;
}

static void indent(const struct spec *spec)
{
    printf("%*s", 2 * (int)spec->depth, "");
}

static void heading(struct spec *spec, const char *name)
{
    if (!spec->depth)
        putchar('\n');
    indent(spec);
    puts(name);
}

/* A value as a sheet shows it; `number` is the room for one. */
static const char *shown(enum spec_kind kind, struct spec_value value, char number[NUMBER_BYTES])
{
    if (value.text)
        return value.text;
    if (kind == SPEC_KIND_BOOL)
        return value.number ? "yes" : "no";
    snprintf(number, NUMBER_BYTES, kind == SPEC_KIND_HEX ? "0x%" PRIx64 : "%" PRIu64, value.number);
    return number;
}

static void put_json(struct json *json, const char *name, enum spec_kind kind, struct spec_value value)
{
    if (kind == SPEC_KIND_TEXT || value.text)
        json_string(json, name, value.text);
    else if (kind == SPEC_KIND_BOOL)
        json_bool(json, name, value.number);
    else
        json_number(json, name, value.number);
}

static void put(struct spec *spec, const char *name, enum spec_kind kind, struct spec_value value)
{
    char number[NUMBER_BYTES];

    if (spec->form == SPEC_KINDS) {
        json_string(&spec->json, name, kind_name[kind]);
    } else if (spec->form == SPEC_JSON) {
        put_json(&spec->json, name, kind, value);
    } else {
        indent(spec);
        printf("%-*s  %s\n", NAME_WIDTH, name, shown(kind, value, number));
    }
}

void spec_text(struct spec *spec, const char *name, const char *value)
{
    put(spec, name, SPEC_KIND_TEXT, SPEC_T(value));
}

void spec_number(struct spec *spec, const char *name, uint64_t value)
{
    put(spec, name, SPEC_KIND_NUMBER, SPEC_N(value));
}

void spec_hex(struct spec *spec, const char *name, uint64_t value)
{
    put(spec, name, SPEC_KIND_HEX, SPEC_N(value));
}

void spec_bool(struct spec *spec, const char *name, bool value)
{
    put(spec, name, SPEC_KIND_BOOL, SPEC_N(value));
}

void spec_object(struct spec *spec, const char *name)
{
    if (spec->form != SPEC_SHEETS) {
        json_object(&spec->json, name);
        return;
    }
    heading(spec, name);
    spec->depth++;
}

void spec_object_end(struct spec *spec)
{
    if (spec->form != SPEC_SHEETS)
        json_object_end(&spec->json);
    else
        spec->depth--;
}

/* Plain values, on one line. */
static void print_list(const struct spec *spec, const char *name, enum spec_kind kind,
                       const struct spec_value *values, size_t count)
{
    char number[NUMBER_BYTES];

    indent(spec);
    printf("%-*s  ", NAME_WIDTH, name);
    for (size_t i = 0; i < count; i++)
        printf("%s%s", shown(kind, values[i], number), i + 1 < count ? ", " : "\n");
}

void spec_list(struct spec *spec, const char *name, enum spec_kind kind, const struct spec_value *values,
               size_t count)
{
    if (spec->form == SPEC_KINDS) {
        json_string(&spec->json, name, kind_name[kind]);
    } else if (spec->form == SPEC_JSON) {
        json_array(&spec->json, name);
        for (size_t i = 0; i < count; i++)
            put_json(&spec->json, NULL, kind, values[i]);
        json_array_end(&spec->json);
    } else {
        print_list(spec, name, kind, values, count);
    }
}

static void write_columns(struct spec *spec)
{
    json_object(&spec->json, spec->title);
    for (unsigned i = 0; i < spec->width; i++)
        json_string(&spec->json, spec->columns[i].name, kind_name[spec->columns[i].kind]);
    json_object_end(&spec->json);
}

void spec_table_begin(struct spec *spec, const char *name, const struct spec_column *columns)
{
    spec->title = name;
    spec->columns = columns;
    for (spec->width = 0; columns[spec->width].name;)
        if (++spec->width > COLUMNS_MAX)
            abort(); /* a table is wider than this file knows */
    if (spec->form == SPEC_KINDS)
        write_columns(spec);
    else if (spec->form == SPEC_JSON)
        json_array(&spec->json, name);
}

/* Keeps a value of the open table until the table ends. */
static void keep(struct spec *spec, enum spec_kind kind, struct spec_value value)
{
    char number[NUMBER_BYTES];
    const char *text = shown(kind, value, number);
    size_t bytes = strlen(text) + 1;
    struct spec_cell *cell = base_alloc(sizeof(*cell) + bytes);

    if (!cell) {
        spec->failed = true;
        return;
    }
    memcpy(cell->text, text, bytes);
    *spec->last = cell;
    spec->last = &cell->next;
}

static void put_cell(struct spec *spec, const struct spec_column *column, struct spec_value value)
{
    if (column->kind == SPEC_KIND_TEXT && !value.text)
        abort(); /* a number in a column of texts */
    if (spec->form == SPEC_SHEETS) {
        keep(spec, column->kind, value);
    } else if (spec->form == SPEC_JSON) {
        if (!spec->column)
            json_object(&spec->json, NULL);
        put_json(&spec->json, column->name, column->kind, value);
        if (spec->column + 1 == spec->width)
            json_object_end(&spec->json);
    }
}

void spec_put(struct spec *spec, const struct spec_value *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        put_cell(spec, &spec->columns[spec->column], values[i]);
        if (++spec->column == spec->width)
            spec->column = 0;
    }
}

static void print_row(const struct spec *spec, const int *width, const char *const *text)
{
    unsigned last = spec->width;

    while (last && !text[last - 1][0])
        last--;
    indent(spec);
    for (unsigned i = 0; i < last; i++)
        if (i + 1 < last)
            printf("%-*s  ", width[i], text[i]);
        else
            fputs(text[i], stdout);
    putchar('\n');
}

static void print_table(struct spec *spec)
{
    int width[COLUMNS_MAX] = {0};
    const char *text[COLUMNS_MAX];
    const struct spec_cell *cell;
    unsigned i;

    for (i = 0; i < spec->width; i++) {
        text[i] = spec->columns[i].name;
        width[i] = (int)strlen(text[i]);
    }
    for (i = 0, cell = spec->first; cell; cell = cell->next) {
        if ((int)strlen(cell->text) > width[i])
            width[i] = (int)strlen(cell->text);
        if (++i == spec->width)
            i = 0;
    }
    heading(spec, spec->title);
    spec->depth++;
    print_row(spec, width, text);
    for (i = 0, cell = spec->first; cell; cell = cell->next) {
        text[i++] = cell->text;
        if (i == spec->width) {
            print_row(spec, width, text);
            i = 0;
        }
    }
    spec->depth--;
}

void spec_table_end(struct spec *spec)
{
    if (spec->column)
        abort(); /* the values do not fill the columns */
    if (spec->form == SPEC_JSON)
        json_array_end(&spec->json);
    if (spec->first && !spec->failed)
        print_table(spec);
    while (spec->first) {
        struct spec_cell *cell = spec->first;

        spec->first = cell->next;
        base_free(cell);
    }
    spec->last = &spec->first;
}
