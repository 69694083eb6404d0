/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/quote.h"

static void quote(FILE *file, const char *string)
{
    base_quote_json(file, string, strlen(string));
}

/* Comma, line, indentation and name of the next value. */
static void lead(struct json *json, const char *name)
{
    if (!json->first[json->depth])
        fputc(',', json->file);
    json->first[json->depth] = false;
    fprintf(json->file, "\n%*s", 2 * (int)json->depth, "");
    if (name) {
        quote(json->file, name);
        fputs(": ", json->file);
    }
}

static void open_level(struct json *json, char bracket)
{
    fputc(bracket, json->file);
    json->depth++;
    json->first[json->depth] = true;
}

static void close_level(struct json *json, char bracket)
{
    bool empty = json->first[json->depth];

    json->depth--;
    if (!empty)
        fprintf(json->file, "\n%*s", 2 * (int)json->depth, "");
    fputc(bracket, json->file);
}

void json_begin(struct json *json, FILE *file)
{
    *json = (struct json){.file = file};
    open_level(json, '{');
}

void json_end(struct json *json)
{
    close_level(json, '}');
    fputc('\n', json->file);
}

void json_object(struct json *json, const char *name)
{
    lead(json, name);
    open_level(json, '{');
}

void json_object_end(struct json *json)
{
    close_level(json, '}');
}

void json_array(struct json *json, const char *name)
{
    lead(json, name);
    open_level(json, '[');
}

void json_array_end(struct json *json)
{
    close_level(json, ']');
}

void json_string(struct json *json, const char *name, const char *value)
{
    lead(json, name);
    quote(json->file, value);
}

void json_number(struct json *json, const char *name, uint64_t value)
{
    lead(json, name);
    fprintf(json->file, "%" PRIu64, value);
}

void json_real(struct json *json, const char *name, double value)
{
    lead(json, name);
    fprintf(json->file, "%.3f", value);
}

void json_float(struct json *json, const char *name, double value)
{
    lead(json, name);
    if (isfinite(value))
        fprintf(json->file, "%.9g", value);
    else
        fputs("null", json->file);
}

void json_bool(struct json *json, const char *name, bool value)
{
    lead(json, name);
    fputs(value ? "true" : "false", json->file);
}
