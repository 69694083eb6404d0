/* SPDX-License-Identifier: Apache-2.0 */
/* A bundle: what its manifest states, its ports as the engine has them, and a line for each record. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/printable.h"
#include "compiler/compile.h"
#include "program/e5.h"
#include "tool/inspect_model.h"
#include "tool/json.h"
#include "tool/tool.h"

#define PATH_BYTES    4096u
#define PLACE_BYTES   176u
#define ELEMENT_BYTES 2u
enum { W, H, C, G }; /* places in a record's extents */

bool tool_inspect_is_bundle(const char *path)
{
    char manifest[PATH_BYTES];
    int length = snprintf(manifest, sizeof(manifest), "%s/manifest.json", path);

    return length > 0 && (size_t)length < sizeof(manifest) && !access(manifest, F_OK);
}

static const char *kind_name(uint32_t kind)
{
    static const char *const names[] = {[PR_E5_ELEMENTWISE1] = "elementwise",
                                        [PR_E5_ELEMENTWISE2] = "elementwise of two",
                                        [PR_E5_REDUCE] = "reduction",
                                        [PR_E5_BYPASS] = "bypass",
                                        [PR_E5_CONV] = "convolution",
                                        [PR_E5_MAX] = "largest of a window",
                                        [PR_E5_PRODUCT] = "product",
                                        [PR_E5_REDUCE2] = "reduction of two",
                                        [PR_E5_AFFINE] = "affine"};

    return kind < BASE_COUNT_OF(names) && names[kind] ? names[kind] : "unknown";
}

static const char *type_name(const struct pr_e5_port *port)
{
    return port->type ? "fp32" : "fp16";
}

static const char *direction(const struct pr_e5_port *port)
{
    return port->direction == PR_HWX_INPUT ? "input" : "output";
}

static const char *place_text(const struct pr_e5 *e5, const struct pr_e5_operand *o, char text[PLACE_BYTES])
{
    switch (o->place) {
    case PR_E5_PORT: snprintf(text, PLACE_BYTES, "%s+%u", e5->port[o->index].name, o->offset); break;
    case PR_E5_INTERMEDIATE: snprintf(text, PLACE_BYTES, "intermediate+%u", o->offset); break;
    case PR_E5_CONSTANT: snprintf(text, PLACE_BYTES, "constants+%u", o->offset); break;
    case PR_E5_L2: snprintf(text, PLACE_BYTES, "L2+%u", o->offset); break;
    default: text[0] = '\0'; break;
    }
    return text;
}

static void print_extents(const uint32_t extent[4])
{
    printf("[%u, %u, %u, %u]", extent[G], extent[C], extent[H], extent[W]);
}

static void print_record(const struct pr_e5 *e5, uint32_t index)
{
    struct pr_e5_record r;
    char source[PLACE_BYTES], second[PLACE_BYTES], result[PLACE_BYTES];

    pr_e5_record(e5, index, &r);
    place_text(e5, &r.src[0], source);
    place_text(e5, &r.src[1], second);
    place_text(e5, &r.dst, result);
    printf("  %5u  %-20s ", index, kind_name(r.kind));
    print_extents(r.in);
    printf(" -> ");
    print_extents(r.out);
    if (r.kw > 1 || r.kh > 1)
        printf(", window %ux%u", r.kh, r.kw);
    if (r.sx > 1 || r.sy > 1)
        printf(", step %ux%u", r.sy ? r.sy : 1, r.sx ? r.sx : 1);
    printf("%s%s%s", r.flags & PR_E5_RELU ? ", relu" : "", r.flags & PR_E5_TABLE ? ", table" : "",
           r.flags & PR_E5_BIAS ? ", bias" : "");
    printf("  %s%s%s -> %s\n", source, second[0] ? ", " : "", second, result);
}

static void json_extents(struct json *json, const char *name, const uint32_t extent[4])
{
    json_array(json, name);
    for (unsigned i = 4; i-- > 0;)
        json_number(json, NULL, extent[i]);
    json_array_end(json);
}

static void json_record(struct json *json, const struct pr_e5 *e5, uint32_t index)
{
    char text[PLACE_BYTES];
    struct pr_e5_record r;

    pr_e5_record(e5, index, &r);
    json_object(json, NULL);
    json_number(json, "index", index);
    json_string(json, "kind", kind_name(r.kind));
    json_extents(json, "in", r.in);
    json_extents(json, "out", r.out);
    json_array(json, "sources");
    for (unsigned i = 0; i < BASE_COUNT_OF(r.src); i++)
        if (r.src[i].place)
            json_string(json, NULL, place_text(e5, &r.src[i], text));
    json_array_end(json);
    json_string(json, "result", place_text(e5, &r.dst, text));
    json_number(json, "window_height", r.kh);
    json_number(json, "window_width", r.kw);
    json_bool(json, "relu", r.flags & PR_E5_RELU);
    json_bool(json, "table", r.flags & PR_E5_TABLE);
    json_bool(json, "bias", r.flags & PR_E5_BIAS);
    json_number(json, "kernel_bytes", r.kernel_bytes);
    json_object_end(json);
}

/* The model's shape, and the engine's strides of N, C, H and W. */
static void json_port(struct json *json, const struct pr_e5_port *port)
{
    const uint64_t strides[] = {(uint64_t)port->c * port->plane, port->plane, port->row, ELEMENT_BYTES};
    const uint32_t extent[] = {port->n, port->c, port->h, port->w};

    json_object(json, NULL);
    json_string(json, "name", port->name);
    json_string(json, "direction", direction(port));
    json_string(json, "type", type_name(port));
    json_array(json, "shape");
    for (uint32_t i = 0; i < port->rank; i++)
        json_number(json, NULL, port->dim[i]);
    json_array_end(json);
    json_array(json, "strides");
    for (unsigned i = 0; i < BASE_COUNT_OF(strides); i++)
        json_number(json, NULL, strides[i]);
    json_array_end(json);
    json_array(json, "engine_shape");
    for (unsigned i = 0; i < BASE_COUNT_OF(extent); i++)
        json_number(json, NULL, extent[i]);
    json_array_end(json);
    json_number(json, "bar", port->bar);
    json_number(json, "bytes", port->bytes);
    json_object_end(json);
}

static void print_json(const struct cc_bundle *bundle, const struct cc_report *report, const struct pr_e5 *e5)
{
    struct json json;

    json_begin(&json, stdout);
    json_string(&json, "format", "bundle");
    json_string(&json, "key", report->key);
    json_string(&json, "model", bundle->model);
    json_bool(&json, "signed", bundle->is_signed);
    json_string(&json, "function", e5->function);
    json_array(&json, "ports");
    for (uint32_t i = 0; i < e5->ports; i++)
        json_port(&json, &e5->port[i]);
    json_array_end(&json);
    json_number(&json, "main_bytes", bundle->main_bytes);
    json_number(&json, "constant_bytes", e5->constant_bytes);
    json_number(&json, "intermediate_bytes", e5->intermediate_bytes);
    json_array(&json, "records");
    for (uint32_t i = 0; i < e5->records; i++)
        json_record(&json, e5, i);
    json_array_end(&json);
    json_end(&json);
}

static void print_port(const struct pr_e5_port *port)
{
    printf("  %-6s %-20s BAR %-2u %u bytes  %s [", direction(port), port->name, port->bar, port->bytes,
           type_name(port));
    for (uint32_t i = 0; i < port->rank; i++)
        printf("%s%u", i ? ", " : "", port->dim[i]);
    printf("]  engine [%u, %u, %u, %u]  strides %" PRIu64 " %u %u %u\n", port->n, port->c, port->h, port->w,
           (uint64_t)port->c * port->plane, port->plane, port->row, ELEMENT_BYTES);
}

static void print_text(const char *path, const struct cc_bundle *bundle, const struct cc_report *report,
                       const struct pr_e5 *e5)
{
    printf("# %s\n", path);
    printf("key           %s\n", report->key);
    printf("model         %s\n", bundle->model[0] ? bundle->model : "not stated");
    printf("signature     %s\n", bundle->is_signed ? "Ed25519" : "none");
    printf("function      %s\n", e5->function);
    printf("main.e5       %zu bytes, %u records\n", bundle->main_bytes, e5->records);
    printf("constants     %u bytes\n", e5->constant_bytes);
    printf("intermediate  %u bytes\n", e5->intermediate_bytes);
    printf("ports\n");
    for (uint32_t i = 0; i < e5->ports; i++)
        print_port(&e5->port[i]);
    printf("records       extents are groups, C, H, W\n");
    for (uint32_t i = 0; i < e5->records; i++)
        print_record(e5, i);
}

int tool_inspect_bundle(const char *path, bool as_json)
{
    struct pr_e5 *e5 = base_alloc(sizeof(*e5));
    struct base_error error = {{0}};
    struct pr_problem problem = {0};
    struct cc_bundle bundle = {0};
    struct cc_report report = {0};
    bool good = false, composite = false;

    if (!e5)
        tool_say("%s: no memory to read it.", path);
    else if (cc_compile(path, NULL, &bundle, &report, &error))
        tool_say("%s", error.text);
    else if (bundle.parts)
        composite = true;
    else if (!pr_e5_read(bundle.main, bundle.main_bytes, e5, &problem))
        tool_say("%s: %s", path, problem.text);
    else
        good = true;
    if (composite)
        tool_inspect_composite(path, &bundle, &report, as_json);
    for (uint32_t i = 0; good && !as_json && i < e5->ports; i++)
        base_printable_make(e5->port[i].name, strlen(e5->port[i].name));
    if (good && as_json)
        print_json(&bundle, &report, e5);
    else if (good)
        print_text(path, &bundle, &report, e5);
    cc_bundle_release(&bundle);
    base_free(e5);
    return good || composite ? TOOL_OK : TOOL_FAILURE;
}
