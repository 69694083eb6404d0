/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two forms of a spec: JSON is written at once, text in sheets. In text the values of an array are kept
 * until its end, because the widths of its columns are known only then; so one array is open at a time, and
 * the rows' objects nest no further.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "tool/spec/spec.h"

#define COLUMNS_MAX 16u
#define NAME_WIDTH  30

struct spec_cell {
    struct spec_cell *next;
    unsigned row;
    const char *name; /* of its column; a literal */
    char text[];
};

void spec_begin(struct spec *spec, bool as_json)
{
    *spec = (struct spec){.as_json = as_json};
    spec->last = &spec->first;
    if (as_json)
        json_begin(&spec->json, stdout);
}

bool spec_end(struct spec *spec)
{
    if (spec->as_json)
        json_end(&spec->json);
    return !spec->failed;
}

static bool in_array(const struct spec *spec)
{
    return spec->depth && spec->array[spec->depth - 1];
}

static void indent(const struct spec *spec)
{
    printf("%*s", 2 * (int)spec->depth, "");
}

static void push(struct spec *spec, bool array)
{
    if (spec->depth == SPEC_DEPTH)
        abort(); /* a section nests deeper than this file knows */
    spec->array[spec->depth++] = array;
}

static void heading(struct spec *spec, const char *name)
{
    if (!spec->depth)
        putchar('\n');
    indent(spec);
    puts(name);
}

/* Keeps a value of the open array for the table that ends it. */
static void keep(struct spec *spec, const char *name, const char *text)
{
    struct spec_cell *cell = base_alloc(sizeof(*cell) + strlen(text) + 1);

    if (!cell) {
        spec->failed = true;
        return;
    }
    cell->row = spec->row;
    cell->name = name ? name : "";
    memcpy(cell->text, text, strlen(text) + 1);
    *spec->last = cell;
    spec->last = &cell->next;
}

void spec_object(struct spec *spec, const char *name)
{
    if (spec->as_json) {
        json_object(&spec->json, name);
        return;
    }
    if (in_array(spec)) {
        spec->in_row = true;
        return;
    }
    heading(spec, name);
    push(spec, false);
}

void spec_object_end(struct spec *spec)
{
    if (spec->as_json) {
        json_object_end(&spec->json);
    } else if (spec->in_row) {
        spec->in_row = false;
        spec->row++;
    } else {
        spec->depth--;
    }
}

void spec_array(struct spec *spec, const char *name)
{
    if (spec->as_json) {
        json_array(&spec->json, name);
        return;
    }
    spec->title = name;
    push(spec, true);
    spec->row = 0;
}

struct columns {
    unsigned count;
    const char *name[COLUMNS_MAX];
    int width[COLUMNS_MAX];
};

static unsigned column_of(struct columns *columns, const char *name)
{
    unsigned i = 0;

    while (i < columns->count && strcmp(columns->name[i], name) != 0)
        i++;
    if (i == COLUMNS_MAX)
        abort(); /* a table is wider than this file knows */
    if (i == columns->count) {
        columns->name[columns->count++] = name;
        columns->width[i] = (int)strlen(name);
    }
    return i;
}

static void print_row(const struct spec *spec, struct columns *columns, const char *const *text)
{
    unsigned last = columns->count;

    while (last && !text[last - 1][0])
        last--;
    indent(spec);
    for (unsigned i = 0; i < last; i++)
        if (i + 1 < last)
            printf("%-*s  ", columns->width[i], text[i]);
        else
            fputs(text[i], stdout);
    putchar('\n');
}

static void print_table(struct spec *spec)
{
    struct columns columns = {0};
    const char *text[COLUMNS_MAX];
    const struct spec_cell *cell;

    for (cell = spec->first; cell; cell = cell->next) {
        unsigned i = column_of(&columns, cell->name);

        if ((int)strlen(cell->text) > columns.width[i])
            columns.width[i] = (int)strlen(cell->text);
    }
    heading(spec, spec->title);
    spec->depth++;
    print_row(spec, &columns, columns.name);
    for (cell = spec->first; cell;) {
        unsigned row = cell->row;

        for (unsigned i = 0; i < COLUMNS_MAX; i++)
            text[i] = "";
        for (; cell && cell->row == row; cell = cell->next)
            text[column_of(&columns, cell->name)] = cell->text;
        print_row(spec, &columns, text);
    }
    spec->depth--;
}

/* Plain values, on one line. */
static void print_list(const struct spec *spec)
{
    indent(spec);
    printf("%-*s  ", NAME_WIDTH, spec->title);
    for (const struct spec_cell *cell = spec->first; cell; cell = cell->next)
        printf("%s%s", cell->text, cell->next ? ", " : "\n");
}

void spec_array_end(struct spec *spec)
{
    if (spec->as_json) {
        json_array_end(&spec->json);
        return;
    }
    spec->depth--;
    if (spec->first && spec->first->name[0])
        print_table(spec);
    else if (spec->first)
        print_list(spec);
    while (spec->first) {
        struct spec_cell *cell = spec->first;

        spec->first = cell->next;
        base_free(cell);
    }
    spec->last = &spec->first;
}

static void put_text(struct spec *spec, const char *name, const char *text)
{
    if (in_array(spec)) {
        keep(spec, name, text);
        return;
    }
    indent(spec);
    printf("%-*s  %s\n", NAME_WIDTH, name, text);
}

void spec_text(struct spec *spec, const char *name, const char *value)
{
    if (spec->as_json)
        json_string(&spec->json, name, value);
    else
        put_text(spec, name, value);
}

void spec_number(struct spec *spec, const char *name, uint64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRIu64, value);
    if (spec->as_json)
        json_number(&spec->json, name, value);
    else
        put_text(spec, name, text);
}

void spec_hex(struct spec *spec, const char *name, uint64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "0x%" PRIx64, value);
    if (spec->as_json)
        json_number(&spec->json, name, value);
    else
        put_text(spec, name, text);
}

void spec_bool(struct spec *spec, const char *name, bool value)
{
    if (spec->as_json)
        json_bool(&spec->json, name, value);
    else
        put_text(spec, name, value ? "yes" : "no");
}
