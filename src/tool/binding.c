/* SPDX-License-Identifier: Apache-2.0 */
/* A constant is converted to the types that a graph has: fp16 and fp32 as they are, integers to int32. */
#include "tool/binding.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "tool/named.h"
#include "tool/npy.h"
#include "tool/progress.h"
#include "tool/tool.h"

/* The row of a new binding; NULL after saying why. */
static struct cc_binding *add_row(struct tool_bindings *bindings, const struct tool_named_row *given,
                                  const char *option)
{
    struct cc_binding *row = &bindings->row[bindings->count];
    char *name;

    for (uint32_t i = 0; i < bindings->count; i++)
        if (strlen(bindings->name[i]) == given->length &&
            !memcmp(bindings->name[i], given->name, given->length)) {
            tool_say("--%s: input %s is given twice.", option, bindings->name[i]);
            return NULL;
        }
    if (bindings->count == TOOL_BINDINGS_MAX) {
        tool_say("more than %u inputs with --shape and --bind.", TOOL_BINDINGS_MAX);
        return NULL;
    }
    name = base_alloc(given->length + 1);
    if (!name) {
        tool_say("there is no memory for the options.");
        return NULL;
    }
    memcpy(name, given->name, given->length);
    bindings->name[bindings->count++] = name;
    row->name = name;
    return row;
}

static bool read_shape(const char *text, struct cc_binding *row)
{
    const char *at = text;

    do {
        char *end;
        unsigned long length = strtoul(at, &end, 10);

        if (row->rank == CC_RANK_MAX || end == at || *at == '-' || length == 0 || length > INT32_MAX ||
            (*end && *end != ',')) {
            tool_say("--shape takes NAME=LENGTH,..., at most %u lengths of at least 1, not %s.", CC_RANK_MAX,
                     text);
            return false;
        }
        row->dim[row->rank++] = (uint32_t)length;
        at = *end ? end + 1 : end;
    } while (*at || at[-1] == ',');
    return true;
}

/* Integers that do not fit an int32 become its limits, as they do in a model. */
static void *convert(const struct tool_npy *npy, void *data, enum cc_type *type)
{
    int32_t *whole;

    *type = npy->type == TOOL_FP16 ? CC_FP16 : npy->type == TOOL_FP32 ? CC_FP32 : CC_INT32;
    if (*type != CC_INT32)
        return data;
    whole = base_alloc_array(npy->elements, sizeof(*whole));
    for (uint64_t i = 0; whole && i < npy->elements; i++) {
        int64_t number = tool_integer(npy->type, data, i);

        whole[i] = number > INT32_MAX ? INT32_MAX : number < INT32_MIN ? INT32_MIN : (int32_t)number;
    }
    base_free(data);
    return whole;
}

static int read_file(FILE *file, struct cc_binding *row, void **to, struct base_error *error)
{
    struct tool_npy npy;
    void *data;
    int status = tool_npy_read_header(file, &npy, error);

    if (status)
        return status;
    if (npy.shape.rank > CC_RANK_MAX || npy.elements == 0 || npy.elements > CC_TENSOR_BYTES_MAX / 4)
        return base_fail(error, EINVAL, "it has %u axes and %llu elements, expected at most %u and %llu.",
                         npy.shape.rank, (unsigned long long)npy.elements, CC_RANK_MAX,
                         CC_TENSOR_BYTES_MAX / 4);
    data = base_alloc(npy.bytes);
    if (!data)
        return base_fail(error, ENOMEM, "there is no memory to read it.");
    status = tool_npy_read_data(file, &npy, data, error);
    if (status) {
        base_free(data);
        return status;
    }
    *to = convert(&npy, data, &row->type);
    row->data = *to;
    row->rank = npy.shape.rank;
    for (uint32_t i = 0; i < row->rank; i++)
        row->dim[i] = (uint32_t)npy.shape.dim[i];
    return *to ? 0 : base_fail(error, ENOMEM, "there is no memory to read it.");
}

static bool read_constant(const char *path, struct cc_binding *row, void **to)
{
    FILE *file = fopen(path, "rb");
    struct base_error error = {{0}};
    int status;

    if (!file) {
        tool_say("%s: %s.", path, strerror(errno));
        return false;
    }
    status = read_file(file, row, to, &error);
    fclose(file);
    if (status)
        tool_say("%s: %s", path, error.text);
    return !status;
}

bool tool_bindings_take(int *argc, char **argv, struct tool_bindings *bindings)
{
    struct tool_named shapes = {0}, values = {0};
    struct cc_binding *row;

    memset(bindings, 0, sizeof(*bindings));
    if (!tool_named_take(argc, argv, "shape", &shapes) || !tool_named_take(argc, argv, "bind", &values))
        return false;
    for (unsigned i = 0; i < shapes.count; i++) {
        row = add_row(bindings, &shapes.row[i], "shape");
        if (!row || !read_shape(shapes.row[i].value, row))
            return false;
    }
    for (unsigned i = 0; i < values.count; i++) {
        row = add_row(bindings, &values.row[i], "bind");
        if (!row)
            return false;
        bindings->file[row - bindings->row] = values.row[i].value;
    }
    return true;
}

bool tool_weights_parse(const char *given, enum cc_weights *weights)
{
    if (!given || cc_weights_parse(given, weights))
        return true;
    tool_say("--weights takes fp16, int8, palette4 or sparse, not %s.", given);
    return false;
}

bool tool_bindings_read(struct tool_bindings *bindings)
{
    for (uint32_t i = 0; i < bindings->count; i++)
        if (bindings->file[i] && !read_constant(bindings->file[i], &bindings->row[i], &bindings->data[i]))
            return false;
    return true;
}

void tool_bindings_release(struct tool_bindings *bindings)
{
    for (uint32_t i = 0; i < bindings->count; i++) {
        base_free(bindings->name[i]);
        base_free(bindings->data[i]);
    }
    bindings->count = 0;
}

char *tool_bindings_compile(const struct tool_bindings *bindings, const char *model, bool fallback)
{
    struct cc_options wanted = {.bindings = bindings->row,
                                .binding_count = bindings->count,
                                .allow_fallback = fallback,
                                .weights = bindings->weights};
    struct base_error error = {{0}};
    struct cc_bundle bundle = {0};
    struct cc_report report = {0};
    char *path = NULL;
    int status;

    tool_progress_begin();
    status = cc_compile(model, &wanted, &bundle, &report, &error);
    tool_progress_end();
    if (status)
        tool_say("%s", error.text);
    else if (!bundle.path)
        tool_say(
            "%s: with --shape, --bind or --weights the compiled model is taken from the cache, which cannot "
            "be used. %s",
            model, report.trouble.text);
    else if (!(path = base_strdup(bundle.path)))
        tool_say("%s: there is no memory for a path.", model);
    cc_weights_report_destroy(report.weights);
    cc_bundle_release(&bundle);
    return path;
}
