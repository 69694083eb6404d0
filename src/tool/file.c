/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files in and out; - is stdin or stdout. Every failure is reported here. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "tool/tool.h"

static uint8_t *read_all(FILE *file, const char *path, size_t limit, size_t *size)
{
    size_t capacity = 1 << 16, length = 0;
    uint8_t *bytes = base_alloc(capacity), *grown;

    while (bytes) {
        length += fread(bytes + length, 1, capacity - length, file);
        if (length < capacity || length > limit)
            break;
        grown = base_realloc(bytes, capacity *= 2);
        if (!grown)
            base_free(bytes);
        bytes = grown;
    }
    if (!bytes) {
        tool_say("%s: no memory to read it.", path);
        return NULL;
    }
    if (ferror(file) || length > limit) {
        if (ferror(file) && errno == EISDIR)
            tool_say("%s: it is a folder; a file is needed here.", path);
        else if (ferror(file))
            tool_say("%s: reading failed: %s.", path, strerror(errno));
        else
            tool_say("%s: larger than %zu bytes, the limit for this.", path, limit);
        base_free(bytes);
        return NULL;
    }
    *size = length;
    return bytes;
}

uint8_t *tool_file_read(const char *path, size_t limit, size_t *size)
{
    FILE *file = strcmp(path, "-") ? fopen(path, "rb") : stdin;
    uint8_t *bytes;

    if (!file) {
        tool_say("%s: %s.", path, strerror(errno));
        return NULL;
    }
    bytes = read_all(file, path, limit, size);
    if (file != stdin)
        fclose(file);
    return bytes;
}

bool tool_file_named(const char *option, const char *name)
{
    if (!name || (name[0] && strcmp(name, "-") != 0))
        return true;
    tool_say("--%s takes the name of a file%s.", option, name[0] ? ": stdout is for the results" : "");
    return false;
}

bool tool_file_write(const char *path, const void *bytes, size_t size)
{
    FILE *file = strcmp(path, "-") ? fopen(path, "wb") : stdout;
    bool written;

    if (!file) {
        tool_say("%s: %s.", path, strerror(errno));
        return false;
    }
    written = fwrite(bytes, 1, size, file) == size;
    if (file != stdout && fclose(file))
        written = false;
    if (!written)
        tool_say("%s: writing failed: %s.", path, strerror(errno));
    return written;
}
