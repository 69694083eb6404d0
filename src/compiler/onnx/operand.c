/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operands and results of a node. A constant becomes a value of the graph when a node first uses it; the
 * bytes in the decoded file are then given back.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "compiler/eval/eval.h"
#include "compiler/half.h"
#include "compiler/onnx/reader.h"
#include "compiler/onnx/tensor.h"

bool cc_onnx_has(const struct cc_onnx_node *n, uint32_t i)
{
    return i < n->proto->n_input && n->proto->input[i][0];
}

bool cc_onnx_value_of(const struct cc_onnx_node *n, uint32_t i, struct cc_onnx_value *value)
{
    *value = (struct cc_onnx_value){0};
    if (n->b->status)
        return false;
    if (!cc_onnx_has(n, i)) {
        cc_build_refuse(n->b, "operand %u is missing", i);
        return false;
    }
    return cc_onnx_lookup(n->reader, n->proto->input[i], value);
}

bool cc_onnx_lookup(struct cc_onnx *reader, const char *name, struct cc_onnx_value *value)
{
    struct cc_onnx_value *found = cc_onnx_names_find(reader->names, name);

    if (!found || found->state == CC_ONNX_ABSENT) {
        cc_build_refuse(&reader->build,
                        "operand `%.64s` is not an input, a tensor or a result of another node", name);
        return false;
    }
    *value = *found;
    return true;
}

int cc_onnx_made(struct cc_onnx *reader, uint64_t bytes)
{
    struct cc_build *b = &reader->build;

    if (b->status)
        return b->status;
    b->graph->folded_bytes += bytes;
    return b->graph->folded_bytes <= CC_FOLD_ALL_BYTES_MAX
               ? 0
               : cc_build_refuse(b,
                                 "the constants that nodes make, or that are read more than once, are "
                                 "more than the limit of %llu bytes",
                                 CC_FOLD_ALL_BYTES_MAX);
}

int cc_onnx_settle(struct cc_onnx *reader, const char *name, struct cc_onnx_value *value)
{
    struct cc_build *b = &reader->build;
    struct base_error why = {{0}};
    uint32_t rank, dims[CC_RANK_MAX];
    uint64_t elements;
    enum cc_type type;
    void *data;
    uint32_t made;

    if (b->status || value->state != CC_ONNX_TENSOR)
        return b->status;
    if (cc_onnx_tensor_shape(value->tensor, CC_RANK_MAX, &rank, dims, &elements, &why) ||
        cc_onnx_tensor_data(value->tensor, reader->folder, &type, &data, &why))
        return cc_build_refuse(b, "tensor `%.64s`: %s", name, why.text);
    if (reader->depth)
        cc_onnx_made(reader, cc_shape_bytes(type, rank, dims));
    made = cc_build_const(b, type, rank, dims, data);
    if (b->status)
        return b->status;
    cc_build_name(b, made, name);
    /* a graph in another may be read again */
    if (reader->depth == 0)
        cc_onnx_tensor_release(reader->model, value->tensor);
    *value = (struct cc_onnx_value){.state = CC_ONNX_GRAPH, .value = made, .elem = value->tensor->data_type};
    return b->status;
}

uint32_t cc_onnx_operand(const struct cc_onnx_node *n, uint32_t i)
{
    struct cc_onnx_value value, *found;

    if (!cc_onnx_value_of(n, i, &value))
        return 0;
    if (value.state == CC_ONNX_TENSOR) {
        found = cc_onnx_names_find(n->reader->names, n->proto->input[i]);
        cc_onnx_settle(n->reader, n->proto->input[i], found);
        value = *found;
    }
    if (value.state == CC_ONNX_EMPTY)
        cc_build_refuse(n->b, "operand `%.64s` has no elements: empty tensors do not exist on this engine",
                        n->proto->input[i]);
    if (value.state == CC_ONNX_WIDE)
        cc_build_refuse(n->b,
                        "operand `%.64s` has rank %u, more than %u; only Reshape, Squeeze, Unsqueeze and "
                        "Transpose take it",
                        n->proto->input[i], value.rank, CC_RANK_MAX);
    if (value.state == CC_ONNX_QUANTIZED)
        cc_build_refuse(n->b,
                        "operand `%.64s` is a result of QuantizeLinear; integers at run time are taken "
                        "only by DequantizeLinear, QLinearConv and QLinearMatMul",
                        n->proto->input[i]);
    return n->b->status ? 0 : value.value;
}

const struct cc_value *cc_onnx_shape(const struct cc_onnx_node *n, uint32_t value)
{
    return cc_build_value(n->b, value);
}

bool cc_onnx_is_constant(const struct cc_onnx_node *n, uint32_t value)
{
    return cc_build_value(n->b, value)->data != NULL;
}

uint32_t cc_onnx_constant(const struct cc_onnx_node *n, uint32_t i, const char *what)
{
    uint32_t value = cc_onnx_operand(n, i);

    if (!n->b->status && !cc_onnx_is_constant(n, value))
        cc_build_refuse(n->b, "%s `%.64s` is computed at run time, expected a constant", what,
                        n->proto->input[i]);
    return n->b->status ? 0 : value;
}

bool cc_onnx_list(const struct cc_onnx_node *n, uint32_t i, const char *what, struct cc_onnx_list *list)
{
    struct cc_onnx_value given;
    const struct cc_value *value;

    *list = (struct cc_onnx_list){0};
    if (!cc_onnx_value_of(n, i, &given))
        return false;
    if (given.state == CC_ONNX_EMPTY)
        return true;
    value = cc_onnx_shape(n, cc_onnx_constant(n, i, what));
    if (n->b->status)
        return false;
    if (value->rank > 1 || cc_value_elements(value) > 2 * CC_ONNX_AXES_MAX || value->type != CC_INT32) {
        cc_build_refuse(n->b, "%s is %s, expected a list of at most %u whole numbers", what,
                        cc_shape_text(value->type, value->rank, value->dim).text, 2 * CC_ONNX_AXES_MAX);
        return false;
    }
    list->count = (uint32_t)cc_value_elements(value);
    for (uint32_t k = 0; k < list->count; k++)
        list->number[k] = (int64_t)cc_value_number(value, k);
    return true;
}

double cc_onnx_number(const struct cc_onnx_node *n, uint32_t i, const char *what)
{
    const struct cc_value *value = cc_onnx_shape(n, cc_onnx_constant(n, i, what));

    if (n->b->status)
        return 0;
    if (cc_value_elements(value) == 1)
        return cc_value_number(value, 0);
    cc_build_refuse(n->b, "%s is %s, expected one number", what,
                    cc_shape_text(value->type, value->rank, value->dim).text);
    return 0;
}

/* dest[c][r] = source[r][c], in blocks that stay in the processor's cache. */
static void exchange(const float *source, float *dest, uint32_t rows, uint32_t columns)
{
    const uint32_t block = 32;

    for (uint32_t r0 = 0; r0 < rows; r0 += block)
        for (uint32_t c = 0; c < columns; c++)
            for (uint32_t r = r0; r < rows && r < r0 + block; r++)
                dest[(size_t)c * rows + r] = source[(size_t)r * columns + c];
}

/* The elements of a constant as new floats. */
static float *floats_of(const void *data, enum cc_type type, size_t elements)
{
    struct cc_value value = {.type = type, .data = (void *)(uintptr_t)data};
    float *copy = base_alloc_array(elements, sizeof(*copy));

    for (size_t i = 0; copy && i < elements; i++)
        copy[i] = type == CC_FP32 ? ((const float *)data)[i] : (float)cc_value_number(&value, i);
    return copy;
}

/* A tensor of the file that several nodes read has a copy for each; the first one is not counted. */
static void count_copy(const struct cc_onnx_node *n, uint32_t i, uint64_t elements)
{
    struct cc_onnx_value *found = cc_onnx_names_find(n->reader->names, n->proto->input[i]);

    if (found->read)
        cc_onnx_made(n->reader, elements * sizeof(float));
    found->read = true;
}

float *cc_onnx_floats(const struct cc_onnx_node *n, uint32_t i, uint32_t *rank, uint32_t dims[CC_RANK_MAX])
{
    struct base_error why = {{0}};
    struct cc_onnx_value given;
    const struct cc_value *value;
    enum cc_type type;
    uint64_t elements;
    void *data;
    float *copy;

    if (!cc_onnx_value_of(n, i, &given))
        return NULL;
    if (given.state == CC_ONNX_TENSOR) {
        if (cc_onnx_tensor_shape(given.tensor, CC_RANK_MAX, rank, dims, &elements, &why) ||
            cc_onnx_tensor_data(given.tensor, n->reader->folder, &type, &data, &why)) {
            cc_build_refuse(n->b, "tensor `%.64s`: %s", n->proto->input[i], why.text);
            return NULL;
        }
        count_copy(n, i, elements);
        if (type == CC_FP32)
            return data;
        copy = floats_of(data, type, elements);
        base_free(data);
    } else {
        value = cc_onnx_shape(n, cc_onnx_constant(n, i, "a weight"));
        if (n->b->status)
            return NULL;
        *rank = value->rank;
        memcpy(dims, value->dim, sizeof(value->dim));
        cc_onnx_made(n->reader, cc_value_elements(value) * sizeof(*copy));
        copy = floats_of(value->data, value->type, cc_value_elements(value));
    }
    if (!copy)
        cc_onnx_no_memory(n->reader);
    return copy;
}

static void release_only_use(const struct cc_onnx_node *n, uint32_t i)
{
    const struct cc_onnx_value *found = cc_onnx_names_find(n->reader->names, n->proto->input[i]);

    if (found->state == CC_ONNX_TENSOR && found->uses == 1 && !n->reader->depth)
        cc_onnx_tensor_release(n->reader->model, found->tensor);
}

uint32_t cc_onnx_matrix(const struct cc_onnx_node *n, uint32_t i, bool turn, float factor)
{
    uint32_t rank = 0, dims[CC_RANK_MAX] = {0}, turned[2];
    float *data = cc_onnx_floats(n, i, &rank, dims), *result = data;

    if (!data)
        return 0;
    release_only_use(n, i);
    if (rank != 2) {
        base_free(data);
        cc_build_refuse(n->b, "the weight has rank %u, expected 2", rank);
        return 0;
    }
    if (turn) {
        result = base_alloc_array((size_t)dims[0] * dims[1], sizeof(*result));
        if (result)
            exchange(data, result, dims[0], dims[1]);
        base_free(data);
    }
    if (!result) {
        cc_onnx_no_memory(n->reader);
        return 0;
    }
    for (size_t k = 0; factor != 1 && k < (size_t)dims[0] * dims[1]; k++)
        result[k] *= factor;
    turned[0] = dims[turn];
    turned[1] = dims[!turn];
    return cc_build_const(n->b, CC_FP32, 2, turned, result);
}

void cc_onnx_result_value(const struct cc_onnx_node *n, uint32_t i, const struct cc_onnx_value *value)
{
    int status;

    if (n->b->status || i >= n->proto->n_output || !n->proto->output[i][0])
        return;
    status = cc_onnx_names_add(n->reader->names, n->proto->output[i], value);
    if (status == -EEXIST)
        cc_build_refuse(n->b, "its result `%.64s` has the name of another value", n->proto->output[i]);
    else if (status)
        cc_onnx_no_memory(n->reader);
}

void cc_onnx_result(const struct cc_onnx_node *n, uint32_t i, uint32_t value)
{
    cc_onnx_result_value(n, i, &(struct cc_onnx_value){.state = CC_ONNX_GRAPH, .value = value});
}

void cc_onnx_result_empty(const struct cc_onnx_node *n, uint32_t i, enum cc_type type, uint32_t rank,
                          const uint32_t *dims)
{
    struct cc_onnx_value value = {.state = CC_ONNX_EMPTY, .type = type, .rank = rank};

    if (rank > CC_ONNX_AXES_MAX) {
        cc_build_refuse(n->b, "its result has %u axes, more than %u", rank, CC_ONNX_AXES_MAX);
        return;
    }
    memcpy(value.dim, dims, rank * sizeof(*dims));
    cc_onnx_result_value(n, i, &value);
}
