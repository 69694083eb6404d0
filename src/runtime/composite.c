/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/composite.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "compiler/host.h"

struct segment {
    e5rt_program_library_t program; /* kept; NULL: on the host */
    struct cc_host *host;
    uint32_t ports;
    uint32_t *wire; /* per port: inputs, then outputs */
};

struct e5_composite {
    uint32_t segments;
    struct segment *segment;
    uint32_t wires;
    uint64_t *bytes; /* per wire */
    uint32_t *port;  /* the wire of each port of the model */
};

struct e5_relay {
    uint32_t segments, wires;
    e5rt_buffer_object_t *wire;
    e5rt_execution_stream_operation_t *operation; /* per segment; NULL: on the host */
    void **elements;                              /* room for the ports of one segment */
};

void e5_composite_end(struct e5_composite *composite)
{
    if (!composite)
        return;
    for (uint32_t i = 0; composite->segment && i < composite->segments; i++) {
        e5_handle_drop(composite->segment[i].program);
        cc_host_close(composite->segment[i].host);
        base_free(composite->segment[i].wire);
    }
    base_free(composite->segment);
    base_free(composite->bytes);
    base_free(composite->port);
    base_free(composite);
}

/* Making. */

/* A host segment's port as a layout of the runtime. */
static bool host_layout(const struct segment *s, uint32_t port, struct e5_layout *layout,
                        struct pr_problem *problem)
{
    static const enum e5_type types[] = {
        [CC_HOST_FP16] = E5_FP16, [CC_HOST_FP32] = E5_FP32, [CC_HOST_INT32] = E5_INT32};
    struct cc_host_port p = cc_host_port(s->host, port);

    return e5_layout_packed(layout, p.name, types[p.type], p.rank, p.dim, problem);
}

static bool port_layout(const struct segment *s, uint32_t port, struct e5_layout *layout,
                        struct pr_problem *problem)
{
    const struct e5_layout *l;
    uint32_t dim[E5_RANK_MAX];

    if (s->host)
        return host_layout(s, port, layout, problem);
    l = &s->program->port[port];
    for (uint32_t i = 0; i < E5_RANK_MAX; i++)
        dim[i] = (uint32_t)l->dim[i];
    return e5_layout_packed(layout, l->name, l->type, l->rank, dim, problem);
}

static int64_t open_segment(const char *path, struct cc_part *part, struct segment *s)
{
    struct base_error error = {{0}};
    int64_t status = E5RT_OK;

    s->ports = part->ports;
    s->wire = part->wire;
    part->wire = NULL;
    if (!part->program)
        return e5_fail_errno(cc_host_open(part->graph, part->graph_bytes, &s->host, &error), &error);
    status = e5_library_from_bundle(path, part->program, &s->program);
    memset(part->program, 0, sizeof(*part->program)); /* taken over */
    return status;
}

static int64_t open_segments(const char *path, struct cc_bundle *bundle, struct e5_composite *c)
{
    int64_t status = E5RT_OK;

    c->segment = base_alloc_array(bundle->parts, sizeof(*c->segment));
    if (!c->segment)
        return e5_fail_memory("the segments of a bundle");
    c->segments = bundle->parts;
    for (uint32_t i = 0; i < bundle->parts && !status; i++) {
        status = open_segment(path, &bundle->part[i], &c->segment[i]);
        c->wires += c->segment[i].ports; /* their numbers are below this */
    }
    c->bytes = base_alloc_array(c->wires ? c->wires : 1, sizeof(*c->bytes));
    c->port = bundle->wire;
    bundle->wire = NULL;
    return status ? status : c->bytes ? E5RT_OK : e5_fail_memory("the wires of a bundle");
}

/* The bytes of every wire, and the layouts of those that are ports of the model. */
static bool describe(struct e5_composite *c, e5rt_program_library_t library, struct pr_problem *problem)
{
    const uint32_t ports = library->inputs + library->outputs;

    for (uint32_t i = 0; i < c->segments; i++)
        for (uint32_t k = 0; k < c->segment[i].ports; k++) {
            const uint32_t wire = c->segment[i].wire[k];
            struct e5_layout layout;

            if (!port_layout(&c->segment[i], k, &layout, problem))
                return false;
            c->bytes[wire] = layout.packed;
            for (uint32_t p = 0; p < ports; p++)
                if (c->port[p] == wire) {
                    library->port[p] = layout;
                    library->port[p].input = p < library->inputs;
                    library->port[p].buffer = p;
                }
        }
    return true;
}

static int64_t make(const char *path, struct cc_bundle *bundle, e5rt_program_library_t library)
{
    struct pr_problem problem = {0};
    int64_t status = open_segments(path, bundle, library->composite);

    if (status)
        return status;
    library->inputs = bundle->inputs;
    library->outputs = bundle->outputs;
    snprintf(library->function, sizeof(library->function), "main");
    if (!describe(library->composite, library, &problem))
        return e5_fail(E5RT_INVALID_DATA_TYPE, "%s: %s", path, problem.text);
    return E5RT_OK;
}

int64_t e5_composite_make(const char *path, struct cc_bundle *bundle, e5rt_program_library_t *library)
{
    e5rt_program_library_t made = e5_library_make(path, bundle->inputs + bundle->outputs);
    int64_t status;

    if (made)
        made->composite = base_alloc(sizeof(*made->composite));
    status = made && made->composite ? make(path, bundle, made) : e5_fail_memory("the program library");
    cc_bundle_release(bundle);
    if (status)
        e5_handle_drop(made);
    else
        *library = made;
    return status;
}

int64_t e5_composite_load(struct e5_composite *composite)
{
    int64_t status = E5RT_OK;

    for (uint32_t i = 0; i < composite->segments && !status; i++)
        if (composite->segment[i].program)
            status = e5_library_load(composite->segment[i].program);
    return status;
}

/* Operations. */

void e5_relay_end(struct e5_relay *relay)
{
    if (!relay)
        return;
    for (uint32_t i = 0; relay->operation && i < relay->segments; i++)
        e5_handle_drop(relay->operation[i]);
    for (uint32_t i = 0; relay->wire && i < relay->wires; i++)
        e5_handle_drop(relay->wire[i]);
    base_free(relay->operation);
    base_free(relay->wire);
    base_free(relay->elements);
    base_free(relay);
}

static int64_t make_wires(const struct e5_composite *c, struct e5_relay *relay)
{
    int64_t status = E5RT_OK;

    for (uint32_t i = 0; i < c->wires && !status; i++)
        if (c->bytes[i])
            status = e5_buffer_make(c->bytes[i], E5RT_BUFFER_CPU, NULL, &relay->wire[i]);
    return status;
}

static int64_t make_operation(const struct segment *s, const char *name, struct e5_relay *relay,
                              e5rt_execution_stream_operation_t *operation)
{
    int64_t status = e5_operation_make(s->program, name, operation);

    for (uint32_t i = 0; i < s->ports && !status; i++)
        status = e5_operation_bind(*operation, i, relay->wire[s->wire[i]]);
    return status ? status : e5_operation_arrange(*operation);
}

static int64_t fill(const struct e5_composite *c, const char *name, struct e5_relay *relay)
{
    int64_t status;

    relay->segments = c->segments;
    relay->wires = c->wires;
    relay->wire = base_alloc_array(c->wires, sizeof(*relay->wire));
    relay->operation = base_alloc_array(c->segments, sizeof(*relay->operation));
    relay->elements = base_alloc_array(c->wires, sizeof(*relay->elements));
    if (!relay->wire || !relay->operation || !relay->elements)
        return e5_fail_memory("the segments of an operation");
    status = make_wires(c, relay);
    for (uint32_t i = 0; i < c->segments && !status; i++)
        if (c->segment[i].program)
            status = make_operation(&c->segment[i], name, relay, &relay->operation[i]);
    return status;
}

int64_t e5_relay_arrange(e5rt_execution_stream_operation_t operation)
{
    struct e5_relay *relay;
    int64_t status;

    if (operation->relay)
        return E5RT_OK;
    relay = base_alloc(sizeof(*relay));
    status =
        relay ? fill(operation->library->composite, operation->name, relay) : e5_fail_memory("an operation");
    if (status)
        e5_relay_end(relay);
    else
        operation->relay = relay;
    return status;
}

static int64_t run_host(const struct segment *s, struct e5_relay *relay, const char *name)
{
    struct base_error error = {{0}};

    for (uint32_t i = 0; i < s->ports; i++)
        relay->elements[i] = relay->wire[s->wire[i]]->base;
    if (!cc_host_run(s->host, relay->elements, &error))
        return E5RT_OK;
    return e5_fail(E5RT_INVALID_OPERATION, "Op %s: its host segment failed: %s", name, error.text);
}

/* The wire of a port, and how many bytes it has. */
static void *wire_of(e5rt_execution_stream_operation_t operation, uint32_t port)
{
    return operation->relay->wire[operation->library->composite->port[port]]->base;
}

int64_t e5_relay_run(e5rt_execution_stream_operation_t operation)
{
    const struct e5_composite *c = operation->library->composite;
    struct e5_relay *relay = operation->relay;
    int64_t status = E5RT_OK;

    for (uint32_t i = 0; i < operation->library->inputs; i++)
        memcpy(wire_of(operation, i), operation->binding[i].buffer->base, operation->library->port[i].packed);
    for (uint32_t i = 0; i < c->segments && !status; i++)
        status = relay->operation[i] ? e5_operation_run(relay->operation[i])
                                     : run_host(&c->segment[i], relay, operation->name);
    return status;
}

void e5_relay_take(e5rt_execution_stream_operation_t operation)
{
    const uint32_t inputs = operation->library->inputs, ports = inputs + operation->library->outputs;

    for (uint32_t i = inputs; i < ports; i++)
        memcpy(operation->binding[i].buffer->base, wire_of(operation, i), operation->library->port[i].packed);
}
