/* SPDX-License-Identifier: Apache-2.0 */
#include "onnxrig.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/eval/eval.h"

void *onnxrig_take(struct onnxrig *r, size_t bytes)
{
    void *memory = calloc(1, bytes ? bytes : 1);

    assert_non_null(memory);
    if (r->count == r->capacity) {
        r->capacity = r->capacity ? 2 * r->capacity : 64;
        r->memory = realloc(r->memory, r->capacity * sizeof(*r->memory));
        assert_non_null(r->memory);
    }
    r->memory[r->count++] = memory;
    return memory;
}

static char *text(struct onnxrig *r, const char *from, size_t length)
{
    char *copy = onnxrig_take(r, length + 1);

    memcpy(copy, from, length);
    return copy;
}

/* Appends a pointer to an array of `count` of them. */
static void append(struct onnxrig *r, void *array, size_t *count, void *element)
{
    void ***list = array, **longer = onnxrig_take(r, (*count + 1) * sizeof(*longer));

    if (*count)
        memcpy(longer, *list, *count * sizeof(*longer));
    longer[(*count)++] = element;
    *list = longer;
}

static size_t length_of(const int64_t *list)
{
    size_t count = 0;

    while (list[count] != ONNXRIG_STOP)
        count++;
    return count;
}

CcGraph *onnxrig_graph(struct onnxrig *r)
{
    CcGraph *graph = onnxrig_take(r, sizeof(*graph));

    cc__onnx_graph__init(graph);
    return graph;
}

void onnxrig_begin(struct onnxrig *r, int64_t opset)
{
    Cc__OnnxOpset *set;

    memset(r, 0, sizeof(*r));
    r->model = onnxrig_take(r, sizeof(*r->model));
    cc__onnx_model__init(r->model);
    r->model->ir_version = 8;
    r->model->graph = onnxrig_graph(r);
    set = onnxrig_take(r, sizeof(*set));
    cc__onnx_opset__init(set);
    set->version = opset;
    append(r, &r->model->opset_import, &r->model->n_opset_import, set);
}

void onnxrig_end(struct onnxrig *r)
{
    for (size_t i = 0; i < r->count; i++)
        free(r->memory[i]);
    free(r->memory);
    memset(r, 0, sizeof(*r));
}

static CcPort *port(struct onnxrig *r, const char *name, int32_t type)
{
    CcPort *made = onnxrig_take(r, sizeof(*made));

    cc__onnx_port__init(made);
    made->name = text(r, name, strlen(name));
    made->type = onnxrig_take(r, sizeof(*made->type));
    cc__onnx_type__init(made->type);
    made->type->is_case = CC__ONNX_TYPE__IS_TENSOR;
    made->type->tensor = onnxrig_take(r, sizeof(*made->type->tensor));
    cc__onnx_tensor_type__init(made->type->tensor);
    made->type->tensor->elem_type = type;
    return made;
}

void onnxrig_input(struct onnxrig *r, CcGraph *graph, const char *name, int32_t type, const int64_t *dims)
{
    CcPort *made = port(r, name, type);
    Cc__OnnxShape *shape = onnxrig_take(r, sizeof(*shape));

    cc__onnx_shape__init(shape);
    for (size_t i = 0; i < length_of(dims); i++) {
        Cc__OnnxDim *dim = onnxrig_take(r, sizeof(*dim));

        cc__onnx_dim__init(dim);
        dim->is_case = dims[i] < 0 ? CC__ONNX_DIM__IS_SYMBOL : CC__ONNX_DIM__IS_LENGTH;
        if (dims[i] < 0)
            dim->symbol = text(r, "N", 1);
        else
            dim->length = dims[i];
        append(r, &shape->dim, &shape->n_dim, dim);
    }
    made->type->tensor->shape = shape;
    append(r, &graph->input, &graph->n_input, made);
}

void onnxrig_output(struct onnxrig *r, CcGraph *graph, const char *name, int32_t type)
{
    append(r, &graph->output, &graph->n_output, port(r, name, type));
}

CcTensor *onnxrig_tensor(struct onnxrig *r, const char *name, int32_t type, const int64_t *dims,
                         const void *data, size_t bytes)
{
    CcTensor *tensor = onnxrig_take(r, sizeof(*tensor));

    cc__onnx_tensor__init(tensor);
    tensor->name = text(r, name, strlen(name));
    tensor->data_type = type;
    tensor->n_dims = length_of(dims);
    tensor->dims = onnxrig_take(r, tensor->n_dims * sizeof(*dims));
    memcpy(tensor->dims, dims, tensor->n_dims * sizeof(*dims));
    tensor->raw_data.len = bytes;
    tensor->raw_data.data = onnxrig_take(r, bytes);
    if (bytes)
        memcpy(tensor->raw_data.data, data, bytes);
    return tensor;
}

void onnxrig_initializer(struct onnxrig *r, CcGraph *graph, CcTensor *tensor)
{
    append(r, &graph->initializer, &graph->n_initializer, tensor);
}

static size_t elements(const int64_t *dims)
{
    size_t count = 1;

    for (size_t i = 0; i < length_of(dims); i++)
        count *= (size_t)dims[i];
    return count;
}

void onnxrig_floats(struct onnxrig *r, const char *name, const int64_t *dims, const float *data)
{
    onnxrig_initializer(r, r->model->graph,
                        onnxrig_tensor(r, name, ONNXRIG_FLOAT, dims, data, elements(dims) * sizeof(*data)));
}

void onnxrig_ints(struct onnxrig *r, const char *name, const int64_t *dims, const int64_t *data)
{
    onnxrig_initializer(r, r->model->graph,
                        onnxrig_tensor(r, name, ONNXRIG_INT64, dims, data, elements(dims) * sizeof(*data)));
}

static void append_words(struct onnxrig *r, void *array, size_t *count, const char *words)
{
    while (*words) {
        size_t length = strcspn(words, " ");

        /* a dash is an operand that is left out */
        append(r, array, count, length == 1 && *words == '-' ? text(r, "", 0) : text(r, words, length));
        words += length + (words[length] == ' ');
    }
}

CcNode *onnxrig_node(struct onnxrig *r, CcGraph *graph, const char *kind, const char *inputs,
                     const char *outputs)
{
    CcNode *node = onnxrig_take(r, sizeof(*node));

    cc__onnx_node__init(node);
    node->op_type = text(r, kind, strlen(kind));
    append_words(r, &node->input, &node->n_input, inputs);
    append_words(r, &node->output, &node->n_output, outputs);
    append(r, &graph->node, &graph->n_node, node);
    return node;
}

CcAttribute *onnxrig_attribute(struct onnxrig *r, CcNode *node, const char *name, int32_t type)
{
    CcAttribute *a = onnxrig_take(r, sizeof(*a));

    cc__onnx_attribute__init(a);
    a->name = text(r, name, strlen(name));
    a->type = type;
    append(r, &node->attribute, &node->n_attribute, a);
    return a;
}

void onnxrig_int(struct onnxrig *r, CcNode *node, const char *name, int64_t value)
{
    onnxrig_attribute(r, node, name, 2)->i = value;
}

void onnxrig_float(struct onnxrig *r, CcNode *node, const char *name, float value)
{
    onnxrig_attribute(r, node, name, 1)->f = value;
}

void onnxrig_list(struct onnxrig *r, CcNode *node, const char *name, const int64_t *values)
{
    CcAttribute *a = onnxrig_attribute(r, node, name, 7);

    a->n_ints = length_of(values);
    a->ints = onnxrig_take(r, a->n_ints * sizeof(*values));
    memcpy(a->ints, values, a->n_ints * sizeof(*values));
}

void onnxrig_word(struct onnxrig *r, CcNode *node, const char *name, const char *value)
{
    CcAttribute *a = onnxrig_attribute(r, node, name, 3);

    a->s.len = strlen(value);
    a->s.data = (uint8_t *)text(r, value, a->s.len);
}

uint8_t *onnxrig_pack(const struct onnxrig *r, size_t *size)
{
    uint8_t *bytes;

    *size = cc__onnx_model__get_packed_size(r->model);
    bytes = malloc(*size + 1);
    assert_non_null(bytes);
    assert_int_equal(cc__onnx_model__pack(r->model, bytes), *size);
    return bytes;
}

int onnxrig_read(const struct onnxrig *r, const struct cc_binding *bindings, uint32_t count,
                 struct cc_graph **graph, struct base_error *error)
{
    size_t size;
    uint8_t *bytes = onnxrig_pack(r, &size);
    int status = cc_onnx_read(bytes, size, NULL, bindings, count, graph, error);

    free(bytes);
    return status;
}

void onnxrig_refused(const struct onnxrig *r, const char *words)
{
    struct base_error error = {{0}};
    struct cc_graph *graph = NULL;

    if (!onnxrig_read(r, NULL, 0, &graph, &error))
        fail_msg("taken, expected a refusal with: %s", words);
    assert_null(graph);
    if (!strstr(error.text, words) || strchr(error.text, '\n'))
        fail_msg("\"%s\" does not have \"%s\"", error.text, words);
}

static void set_inputs(struct cc_eval *eval, const struct cc_graph *graph)
{
    for (uint32_t i = 0; i < graph->inputs; i++) {
        uint64_t count = cc_value_elements(&graph->value[graph->input[i]]);
        double *numbers = malloc(count * sizeof(*numbers));

        assert_non_null(numbers);
        for (uint64_t k = 0; k < count; k++)
            numbers[k] = (double)k + 1;
        assert_int_equal(cc_eval_set(eval, graph->input[i], numbers, NULL), 0);
        free(numbers);
    }
}

void onnxrig_gives(const struct onnxrig *r, const double *wanted, size_t count, double allowed)
{
    struct base_error error = {{0}};
    struct cc_graph *graph = NULL;
    struct cc_eval eval;

    if (onnxrig_read(r, NULL, 0, &graph, &error) || cc_graph_check(graph, &error))
        fail_msg("%s", error.text);
    assert_int_equal(graph->outputs, 1);
    assert_int_equal(cc_value_elements(&graph->value[graph->output[0]]), count);
    assert_int_equal(cc_eval_open(&eval, graph, &error), 0);
    set_inputs(&eval, graph);
    if (cc_eval_run(&eval, 0, &error))
        fail_msg("%s", error.text);
    for (size_t i = 0; i < count; i++)
        if (!(fabs(eval.value[graph->output[0]][i] - wanted[i]) <= allowed))
            fail_msg("element %zu is %.9g, expected %.9g", i, eval.value[graph->output[0]][i], wanted[i]);
    cc_eval_close(&eval);
    cc_graph_destroy(graph);
}
