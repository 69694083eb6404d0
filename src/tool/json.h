/* SPDX-License-Identifier: Apache-2.0 */
/* JSON on stdout: a writer that keeps commas and indentation, and escapes every string. */
#ifndef TOOL_JSON_H
#define TOOL_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_DEPTH 16

struct json {
    FILE *file;
    unsigned depth;
    bool first[JSON_DEPTH];
};

void json_begin(struct json *json, FILE *file); /* opens the outermost object */
void json_end(struct json *json);
/* `name` is NULL inside arrays. */
void json_object(struct json *json, const char *name);
void json_object_end(struct json *json);
void json_array(struct json *json, const char *name);
void json_array_end(struct json *json);
void json_string(struct json *json, const char *name, const char *value);
void json_number(struct json *json, const char *name, uint64_t value);
void json_real(struct json *json, const char *name, double value);  /* three places; finite */
void json_float(struct json *json, const char *name, double value); /* nine digits; null if not finite */
void json_bool(struct json *json, const char *name, bool value);

#endif
