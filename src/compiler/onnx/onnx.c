/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model around its nodes: versions, inputs and outputs. Value 0 of the graph is a constant that nothing
 * uses: what a call returns after a failure is then a value too. Constants and operations that no output
 * needs are left behind at the end.
 */
#include "compiler/onnx/onnx.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "compiler/graph/rewrite.h"
#include "compiler/onnx/reader.h"
#include "compiler/onnx/tensor.h"

#define IR_VERSION_MIN 3
#define PORTS_MAX      4096u /* inputs, and outputs; the engine's own limit is lower */

static const struct cc_binding *binding_of(const struct cc_onnx *reader, const char *name)
{
    for (uint32_t i = 0; i < reader->binding_count; i++)
        if (!strcmp(reader->bindings[i].name, name))
            return &reader->bindings[i];
    return NULL;
}

/* The option that gives an input its shape, with what the model says of it. */
static void option_text(const CcPort *port, char *text, size_t size)
{
    const Cc__OnnxShape *shape = port->type->tensor->shape;
    size_t used = (size_t)snprintf(text, size, "--shape %.40s=", port->name);

    for (size_t i = 0; shape && i < shape->n_dim && i < CC_RANK_MAX && used < size; i++) {
        const Cc__OnnxDim *dim = shape->dim[i];
        bool open = dim->is_case != CC__ONNX_DIM__IS_LENGTH || dim->length <= 0;

        /* 1 is what an open first axis, the batch, has as a rule */
        if (open && i)
            used += (size_t)snprintf(text + used, size - used, ",%.16s",
                                     dim->is_case == CC__ONNX_DIM__IS_SYMBOL && dim->symbol[0] ? dim->symbol
                                                                                               : "LENGTH");
        else
            used += (size_t)snprintf(text + used, size - used, "%s%lld", i ? "," : "",
                                     open ? 1ll : (long long)dim->length);
    }
    if (!shape)
        snprintf(text + used, used < size ? size - used : 0, "LENGTH,...");
}

/* One axis of an input, from the model or the binding. */
static int dim_of(const struct cc_onnx *reader, const CcPort *port, uint32_t i,
                  const struct cc_binding *binding, uint32_t *length)
{
    const Cc__OnnxDim *dim = port->type->tensor->shape ? port->type->tensor->shape->dim[i] : NULL;
    bool open = !dim || dim->is_case != CC__ONNX_DIM__IS_LENGTH || dim->length <= 0;
    bool symbol = dim && dim->is_case == CC__ONNX_DIM__IS_SYMBOL;
    struct base_error *error = reader->build.error;
    char option[160];

    if (binding && binding->rank) {
        *length = binding->dim[i];
        if (open || dim->length == binding->dim[i])
            return 0;
        return base_fail(error, EINVAL, "Input `%.64s`: axis %u was given as %u, and the model says %lld.",
                         port->name, i, binding->dim[i], (long long)dim->length);
    }
    if (open) {
        option_text(port, option, sizeof(option));
        return base_fail(error, EINVAL,
                         "Input `%.64s`: axis %u has no fixed length%s%.32s%s; shapes are static on this "
                         "engine. Give it with `%s`.",
                         port->name, i, symbol ? " (`" : "", symbol ? dim->symbol : "", symbol ? "`)" : "",
                         option);
    }
    if (dim->length > UINT32_MAX)
        return base_fail(error, EINVAL, "Input `%.64s`: axis %u has length %lld, more than %u.", port->name,
                         i, (long long)dim->length, UINT32_MAX);
    *length = (uint32_t)dim->length;
    return 0;
}

static int input_shape(const struct cc_onnx *reader, const CcPort *port, const struct cc_binding *binding,
                       uint32_t *rank, uint32_t dims[CC_RANK_MAX])
{
    const Cc__OnnxShape *shape = port->type->tensor->shape;
    bool given = binding && (binding->rank || binding->data);
    uint32_t given_rank = given ? binding->rank : 0;
    struct base_error *error = reader->build.error;
    char option[160];
    int status = 0;

    if (!shape && !given) {
        option_text(port, option, sizeof(option));
        return base_fail(error, EINVAL,
                         "Input `%.64s` has no shape; shapes are static on this engine. Give it with `%s`.",
                         port->name, option);
    }
    *rank = shape ? (uint32_t)(shape->n_dim < UINT32_MAX ? shape->n_dim : UINT32_MAX) : given_rank;
    if (*rank > CC_RANK_MAX)
        return base_fail(error, EINVAL, "Input `%.64s` has rank %u, more than %u.", port->name, *rank,
                         CC_RANK_MAX);
    if (given && given_rank != *rank)
        return base_fail(error, EINVAL, "Input `%.64s` was given rank %u, and the model says %u.", port->name,
                         given_rank, *rank);
    for (uint32_t i = 0; i < *rank && !status; i++)
        status = dim_of(reader, port, i, binding, &dims[i]);
    return status;
}

/* Only floats come from outside at run time. */
static int port_type(const struct cc_onnx *reader, const CcPort *port, const char *what, enum cc_type *type)
{
    int32_t elem = port->type->tensor->elem_type;

    if (cc_onnx_port_type(elem, type))
        return 0;
    return base_fail(reader->build.error, EINVAL,
                     "%s `%.64s` has element type %s, expected FLOAT, FLOAT16, BFLOAT16 or DOUBLE: the "
                     "engine computes in fp16%s.",
                     what, port->name, cc_onnx_type_text(elem).text,
                     what[0] == 'I'
                         ? ", and other inputs can only be constants. Give it with --bind NAME=FILE.npy"
                         : ". Cast it to FLOAT in the model");
}

static bool same_kind(enum cc_type a, enum cc_type b)
{
    bool float_a = a == CC_FP16 || a == CC_FP32, float_b = b == CC_FP16 || b == CC_FP32;

    return float_a == float_b && (float_a || (a == CC_BOOL) == (b == CC_BOOL));
}

/* An input that the caller gives as a constant; whole numbers may be bools. */
static int bind_constant(struct cc_onnx *reader, const CcPort *port, const struct cc_binding *binding,
                         uint32_t rank, const uint32_t *dims, struct cc_onnx_value *value)
{
    struct cc_build *b = &reader->build;
    size_t bytes = cc_shape_bytes(binding->type, rank, dims);
    int32_t elem = port->type->tensor->elem_type;
    enum cc_type wanted;
    void *copy;

    if (!cc_onnx_type(elem, &wanted) ||
        (!same_kind(wanted, binding->type) && !(wanted == CC_BOOL && binding->type == CC_INT32)))
        return base_fail(b->error, EINVAL, "Input `%.64s` has element type %s, and the constant given is %s.",
                         port->name, cc_onnx_type_text(elem).text, cc_type_name(binding->type));
    for (uint32_t i = 0; i < rank; i++)
        if (dims[i] == 0) {
            *value = (struct cc_onnx_value){.state = CC_ONNX_EMPTY, .type = wanted, .rank = rank};
            memcpy(value->dim, dims, rank * sizeof(*dims));
            return 0;
        }
    copy = bytes ? base_alloc(bytes) : NULL;
    if (copy)
        memcpy(copy, binding->data, bytes);
    for (size_t i = 0; copy && wanted == CC_BOOL && binding->type == CC_INT32 && i < bytes / sizeof(int32_t);
         i++)
        ((uint8_t *)copy)[i] = ((const int32_t *)binding->data)[i] != 0;
    value->elem = elem;
    value->value = cc_build_const(b, wanted == CC_BOOL ? CC_BOOL : binding->type, rank, dims, copy);
    cc_build_name(b, value->value, port->name);
    return b->status;
}

static int add_input(struct cc_onnx *reader, const CcPort *port, uint32_t rank, const uint32_t *dims,
                     struct cc_onnx_value *value)
{
    struct cc_build *b = &reader->build;
    struct base_error limit;
    enum cc_type type;
    int made, op, status = port_type(reader, port, "Input", &type);

    if (status)
        return status;
    if (cc_shape_check(type, rank, dims, false, &limit))
        return base_fail(b->error, EINVAL, "Input `%.64s`: %s.", port->name, limit.text);
    made = cc_graph_add_value(b->graph, port->name, type, rank, dims);
    op = made < 0 ? made : cc_graph_add_op(b->graph, CC_OP_INPUT, port->name, 0);
    if (op < 0)
        return base_fail(b->error, -op, "There is no memory for input `%.64s`.", port->name);
    b->graph->op[op].output = (uint32_t)made;
    if (cc_graph_add_input(b->graph, (uint32_t)made))
        return base_fail(b->error, ENOMEM, "There is no memory for input `%.64s`.", port->name);
    b->name = port->name;
    value->value = type == CC_FP32 ? cc_build_cast(b, (uint32_t)made, CC_FP16) : (uint32_t)made;
    return b->status;
}

/* An input that has a tensor too is a constant, unless the caller gives it a value. */
static int read_input(struct cc_onnx *reader, const CcPort *port)
{
    struct cc_onnx_value value = {.state = CC_ONNX_GRAPH};
    const struct cc_binding *binding = binding_of(reader, port->name);
    struct base_error *error = reader->build.error;
    uint32_t rank = 0, dims[CC_RANK_MAX] = {0};
    int status;

    if (!port->name[0] || cc_onnx_names_own(reader->names, port->name))
        return base_fail(error, EINVAL, "Input `%.64s`: the name is empty, or is that of another input.",
                         port->name);
    if (!port->type || port->type->is_case != CC__ONNX_TYPE__IS_TENSOR)
        return base_fail(error, EINVAL,
                         "Input `%.64s` is not a tensor: sequences, maps and the like are not "
                         "taken.",
                         port->name);
    status = input_shape(reader, port, binding, &rank, dims);
    if (status)
        return status;
    status = binding && binding->data ? bind_constant(reader, port, binding, rank, dims, &value)
                                      : add_input(reader, port, rank, dims, &value);
    if (status)
        return status;
    return cc_onnx_names_add(reader->names, port->name, &value) ? cc_onnx_no_memory(reader) : 0;
}

static bool has_tensor(const CcGraph *graph, struct cc_onnx_names *tensors, const char *name)
{
    return graph->n_initializer && cc_onnx_names_own(tensors, name);
}

static int read_inputs(struct cc_onnx *reader, const CcGraph *graph)
{
    struct cc_onnx_names tensors = {0};
    struct cc_onnx_value there = {0};
    int status = 0;

    for (size_t i = 0; i < graph->n_initializer && !status; i++) {
        status = cc_onnx_names_add(&tensors, graph->initializer[i]->name, &there);
        status = status == -EEXIST ? 0 : status;
    }
    if (status)
        status =
            base_fail(reader->build.error, ENOMEM, "There is no memory for %zu names.", graph->n_initializer);
    for (size_t i = 0; i < graph->n_input && !status; i++)
        if (!has_tensor(graph, &tensors, graph->input[i]->name))
            status = read_input(reader, graph->input[i]);
    for (uint32_t i = 0; i < reader->binding_count && !status; i++)
        if (!cc_onnx_names_own(reader->names, reader->bindings[i].name))
            status = base_fail(
                reader->build.error, EINVAL, "`%.64s` is not an input of the model%s.",
                reader->bindings[i].name,
                has_tensor(graph, &tensors, reader->bindings[i].name) ? ": it is a constant of it" : "");
    cc_onnx_names_release(&tensors);
    return status;
}

static bool is_input(const struct cc_graph *graph, uint32_t value)
{
    for (uint32_t i = 0; i < graph->inputs; i++)
        if (graph->input[i] == value)
            return true;
    return false;
}

/* A copy where the value has another use as a port, so that every port has a value of its own. */
static bool needs_copy(const struct cc_graph *graph, uint32_t value)
{
    if (is_input(graph, value))
        return true;
    for (uint32_t i = 0; i < graph->outputs; i++)
        if (graph->output[i] == value)
            return true;
    return graph->value[value].data != NULL;
}

/* The name of an output is the output's alone. */
static void leave_name(struct cc_build *b, uint32_t value, const char *name)
{
    char other[160];

    if (strcmp(b->graph->value[value].name, name) != 0 || is_input(b->graph, value))
        return;
    snprintf(other, sizeof(other), "%.120s.%s", name, cc_type_name(b->graph->value[value].type));
    cc_build_name(b, value, other);
}

/* Integers that are computed, on the host; int64 becomes int32. */
static bool is_integer(const struct cc_graph *graph, const struct cc_onnx_value *value)
{
    return value->state == CC_ONNX_GRAPH && graph->value[value->value].type == CC_INT32 &&
           !graph->value[value->value].data;
}

static int read_output(struct cc_onnx *reader, const CcPort *port)
{
    struct cc_build *b = &reader->build;
    struct cc_onnx_value *found = cc_onnx_names_own(reader->names, port->name);
    enum cc_type type = CC_FP32;
    uint32_t value;
    int status;

    if (!found || found->state == CC_ONNX_ABSENT)
        return base_fail(b->error, EINVAL, "Output `%.64s`: no node computes it.", port->name);
    for (uint32_t i = 0; i < b->graph->outputs; i++)
        if (!strcmp(b->graph->value[b->graph->output[i]].name, port->name))
            return base_fail(b->error, EINVAL, "Output `%.64s` is listed twice.", port->name);
    if (port->type && port->type->is_case != CC__ONNX_TYPE__IS_TENSOR &&
        port->type->is_case != CC__ONNX_TYPE__IS__NOT_SET)
        return base_fail(b->error, EINVAL, "Output `%.64s` is not a tensor.", port->name);
    if (port->type && port->type->tensor && port->type->is_case == CC__ONNX_TYPE__IS_TENSOR &&
        port->type->tensor->elem_type && !is_integer(b->graph, found) &&
        (status = port_type(reader, port, "Output", &type)))
        return status;
    if (found->state == CC_ONNX_WIDE || found->state == CC_ONNX_QUANTIZED)
        return base_fail(b->error, EINVAL, "Output `%.64s` %s, which an output cannot.", port->name,
                         found->state == CC_ONNX_WIDE ? "has more than 5 axes" : "is whole numbers");
    if (found->state == CC_ONNX_EMPTY)
        return base_fail(b->error, EINVAL,
                         "Output `%.64s` has no elements: empty tensors do not exist on this "
                         "engine.",
                         port->name);
    if (cc_onnx_settle(reader, port->name, found))
        return b->status;
    value = found->value;
    if (is_integer(b->graph, found))
        type = CC_INT32;
    else if (b->graph->value[value].type == CC_BOOL || b->graph->value[value].type == CC_INT32)
        return base_fail(b->error, EINVAL,
                         "Output `%.64s` is %s, expected a float. Cast it to FLOAT in the "
                         "model.",
                         port->name, cc_type_name(b->graph->value[value].type));
    b->name = port->name;
    if (b->graph->value[value].type != type || needs_copy(b->graph, value)) {
        leave_name(b, value, port->name);
        value = cc_build_cast(b, value, type);
    }
    if (!b->status)
        cc_build_name(b, value, port->name);
    if (!b->status && cc_graph_add_output(b->graph, value))
        return cc_onnx_no_memory(reader);
    return b->status;
}

int64_t cc_onnx_opset_of(size_t count, Cc__OnnxOpset *const *set)
{
    int64_t version = 0;

    for (size_t i = 0; i < count; i++)
        if (!set[i]->domain[0] || !strcmp(set[i]->domain, "ai.onnx"))
            version = set[i]->version;
    return version;
}

static int read_opset(struct cc_onnx *reader, size_t count, Cc__OnnxOpset *const *set)
{
    struct base_error *error = reader->build.error;

    reader->opset = cc_onnx_opset_of(count, set);
    if (reader->opset >= CC_ONNX_OPSET_MIN && reader->opset <= CC_ONNX_OPSET_MAX)
        return 0;
    if (reader->opset == 0)
        return base_fail(error, EINVAL, "The model names no operator set of ONNX.");
    return base_fail(error, EINVAL, "The model uses operator set %lld, expected %d to %d.",
                     (long long)reader->opset, CC_ONNX_OPSET_MIN, CC_ONNX_OPSET_MAX);
}

static int read_model(struct cc_onnx *reader, const CcModel *file)
{
    struct cc_build *b = &reader->build;

    if (!file->graph)
        return base_fail(b->error, EINVAL, "The file has no graph: it is damaged, or not an ONNX model.");
    if (file->ir_version < IR_VERSION_MIN)
        return base_fail(b->error, EINVAL, "The model has IR version %lld, expected at least %d.",
                         (long long)file->ir_version, IR_VERSION_MIN);
    if (file->graph->n_output > PORTS_MAX || file->graph->n_input > PORTS_MAX + file->graph->n_initializer)
        return base_fail(b->error, E2BIG, "The model has %zu inputs and %zu outputs, more than %u.",
                         file->graph->n_input, file->graph->n_output, PORTS_MAX);
    b->status = read_opset(reader, file->n_opset_import, file->opset_import);
    cc_build_scalar(b, 0);
    if (!b->status)
        b->status = read_inputs(reader, file->graph);
    cc_onnx_graph(reader, file->graph);
    b->origin = 0;
    b->made = 0;
    if (!b->status && !file->graph->n_output)
        b->status = base_fail(b->error, EINVAL, "The graph has no output.");
    for (size_t i = 0; i < file->graph->n_output && !b->status; i++)
        b->status = read_output(reader, file->graph->output[i]);
    return b->status;
}

static void keep(struct cc_rewrite *r, const struct cc_op *op, bool *done)
{
    (void)r;
    (void)op;
    (void)done;
}

int cc_onnx_import(struct cc_onnx_model *model, const char *folder, const struct cc_binding *bindings,
                   uint32_t binding_count, struct cc_graph **graph, struct base_error *error)
{
    struct base_error unwanted = {{0}};
    struct cc_onnx_names names = {0};
    struct cc_onnx reader = {.model = model,
                             .folder = folder,
                             .bindings = bindings,
                             .binding_count = binding_count,
                             .names = &names,
                             .prefix = ""};
    int status;

    *graph = NULL;
    error = error ? error : &unwanted;
    reader.build = (struct cc_build){.graph = cc_graph_create(), .name = "model", .error = error};
    if (!reader.build.graph || !(reader.build.graph->function = base_strdup("main")))
        status = base_fail(error, ENOMEM, "There is no memory for a graph.");
    else
        status = read_model(&reader, model->file);
    if (!status)
        status = cc_rewrite(&reader.build.graph, keep, NULL, NULL, error);
    cc_onnx_names_release(&names);
    cc_onnx_names_release(&reader.used);
    if (status)
        cc_graph_destroy(reader.build.graph);
    else
        *graph = reader.build.graph;
    return status;
}

int cc_onnx_read(const void *bytes, size_t size, const char *folder, const struct cc_binding *bindings,
                 uint32_t binding_count, struct cc_graph **graph, struct base_error *error)
{
    struct cc_onnx_model *model;
    int status = cc_onnx_open(bytes, size, &model, error);

    *graph = NULL;
    if (!status)
        status = cc_onnx_import(model, folder, bindings, binding_count, graph, error);
    cc_onnx_close(model);
    return status;
}
