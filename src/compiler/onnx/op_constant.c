/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that make constants. A constant that comes from numbers of the file is at most
 * CC_FOLD_BYTES_MAX. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "compiler/eval/eval.h"
#include "compiler/onnx/op.h"
#include "compiler/onnx/tensor.h"

static uint32_t saturated(const struct cc_onnx_node *n, int64_t number)
{
    int32_t whole = number > INT32_MAX ? INT32_MAX : number < INT32_MIN ? INT32_MIN : (int32_t)number;

    return cc_build_ints(n->b, 0, NULL, &whole);
}

/* A list of an attribute: floats, or whole numbers, saturated. */
static void list_constant(const struct cc_onnx_node *n, const CcAttribute *a, bool floats)
{
    uint32_t count = (uint32_t)(floats ? a->n_floats : a->n_ints);
    enum cc_type type = floats ? CC_FP32 : CC_INT32;
    void *data;

    if (count == 0) {
        cc_onnx_result_empty(n, 0, type, 1, &count);
        return;
    }
    data = base_alloc_array(count, cc_type_bytes(type));
    for (uint32_t i = 0; data && i < count; i++) {
        if (floats)
            ((float *)data)[i] = a->floats[i];
        else
            ((int32_t *)data)[i] = a->ints[i] > INT32_MAX   ? INT32_MAX
                                   : a->ints[i] < INT32_MIN ? INT32_MIN
                                                            : (int32_t)a->ints[i];
    }
    cc_onnx_result(n, 0, cc_build_const(n->b, type, 1, &count, data));
}

/* The tensor of an attribute, or an empty one. It is not given back: a loop reads it again. */
static void tensor_constant(const struct cc_onnx_node *n, const CcTensor *tensor)
{
    uint32_t rank, dims[CC_ONNX_AXES_MAX];
    struct base_error why = {{0}};
    uint64_t elements;
    enum cc_type type;
    void *data;

    if (cc_onnx_tensor_shape(tensor, CC_ONNX_AXES_MAX, &rank, dims, &elements, &why)) {
        cc_build_refuse(n->b, "%s", why.text);
    } else if (elements == 0 && cc_onnx_type(tensor->data_type, &type)) {
        cc_onnx_result_empty(n, 0, type, rank, dims);
    } else if (n->reader->depth && cc_onnx_made(n->reader, 4 * elements)) {
        return;
    } else if (cc_onnx_tensor_data(tensor, n->reader->folder, &type, &data, &why)) {
        cc_build_refuse(n->b, "%s", why.text);
    } else {
        cc_onnx_result_value(n, 0,
                             &(struct cc_onnx_value){.state = CC_ONNX_GRAPH,
                                                     .value = cc_build_const(n->b, type, rank, dims, data),
                                                     .elem = tensor->data_type});
    }
}

void cc_onnx_op_constant(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    const CcAttribute *a;

    (void)kind;
    if ((a = cc_onnx_attribute(n, "value")) && a->t)
        tensor_constant(n, a->t);
    else if (cc_onnx_attribute(n, "value_float"))
        cc_onnx_result(n, 0, cc_onnx_scalar(n, cc_onnx_float(n, "value_float", 0)));
    else if ((a = cc_onnx_attribute(n, "value_int")))
        cc_onnx_result(n, 0, saturated(n, a->i));
    else if ((a = cc_onnx_attribute(n, "value_floats")))
        list_constant(n, a, true);
    else if ((a = cc_onnx_attribute(n, "value_ints")))
        list_constant(n, a, false);
    else
        cc_build_refuse(n->b, "it has no value");
}

/* A constant of one number everywhere, of a type; the number is in `element`. */
static void filled(const struct cc_onnx_node *n, enum cc_type type, uint32_t rank, const uint32_t *dims,
                   const void *element)
{
    size_t size = cc_type_bytes(type), bytes = cc_shape_bytes(type, rank, dims);
    uint8_t *data;
    bool zero;

    if (n->b->status)
        return;
    if (rank > CC_RANK_MAX || bytes == 0 || bytes > CC_FOLD_BYTES_MAX) {
        cc_build_refuse(n->b, "a constant of rank %u that has more than %llu bytes or rank %u", rank,
                        CC_FOLD_BYTES_MAX, CC_RANK_MAX);
        return;
    }
    if (cc_onnx_made(n->reader, bytes))
        return;
    data = base_alloc(bytes);
    zero = data && !memcmp(data, element, size); /* the memory is zeros */
    for (size_t i = 0; data && !zero && i < bytes; i += size)
        memcpy(data + i, element, size);
    cc_onnx_result(n, 0, cc_build_const(n->b, type, rank, dims, data));
}

void cc_onnx_op_constant_of_shape(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    const CcAttribute *a = cc_onnx_attribute(n, "value");
    uint32_t dims[2 * CC_ONNX_AXES_MAX] = {0};
    enum cc_type type = CC_FP32;
    struct base_error why = {{0}};
    struct cc_onnx_list list;
    void *element = NULL;
    bool empty = false;
    float zero = 0;

    (void)kind;
    if (!cc_onnx_list(n, 0, "the shape", &list))
        return;
    for (uint32_t i = 0; i < list.count; i++) {
        if (list.number[i] < 0)
            cc_build_refuse(n->b, "the shape has %lld, expected at least 0", (long long)list.number[i]);
        dims[i] = (uint32_t)list.number[i];
        empty |= dims[i] == 0;
    }
    if (a && a->t && cc_onnx_tensor_data(a->t, n->reader->folder, &type, &element, &why))
        cc_build_refuse(n->b, "%s", why.text);
    if (!n->b->status && empty)
        cc_onnx_result_empty(n, 0, type, list.count, dims);
    else
        filled(n, type, list.count, dims, element ? element : &zero);
    base_free(element);
}

/* Lengths of a value with or without elements. */
static bool lengths_of(const struct cc_onnx_node *n, uint32_t *rank, uint32_t dims[CC_ONNX_AXES_MAX])
{
    struct cc_onnx_value given;

    *rank = 0;
    if (!cc_onnx_value_of(n, 0, &given))
        return false;
    if (given.state == CC_ONNX_GRAPH) {
        *rank = cc_onnx_shape(n, given.value)->rank;
        memcpy(dims, cc_onnx_shape(n, given.value)->dim, *rank * sizeof(*dims));
    } else {
        *rank = given.rank;
        memcpy(dims, given.dim, *rank * sizeof(*dims));
    }
    return true;
}

static uint32_t bounded_axis(int64_t axis, uint32_t rank)
{
    axis = axis < 0 ? axis + rank : axis;
    return axis < 0 ? 0 : axis > rank ? rank : (uint32_t)axis;
}

void cc_onnx_op_shape(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    uint32_t rank, dims[CC_ONNX_AXES_MAX], first, last, count;
    int32_t list[CC_ONNX_AXES_MAX];

    (void)kind;
    if (!lengths_of(n, &rank, dims))
        return;
    first = bounded_axis(cc_onnx_int(n, "start", 0), rank);
    last = bounded_axis(cc_onnx_int(n, "end", rank), rank);
    count = last > first ? last - first : 0;
    for (uint32_t i = 0; i < count; i++)
        list[i] = dims[first + i] > INT32_MAX ? INT32_MAX : (int32_t)dims[first + i];
    if (count)
        cc_onnx_result(n, 0, cc_build_ints(n->b, 1, &count, list));
    else
        cc_onnx_result_empty(n, 0, CC_INT32, 1, &count);
}

void cc_onnx_op_size(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    uint32_t rank, dims[CC_ONNX_AXES_MAX];
    uint64_t elements = 1;

    (void)kind;
    if (!lengths_of(n, &rank, dims))
        return;
    for (uint32_t i = 0; i < rank; i++)
        elements *= dims[i];
    cc_onnx_result(n, 0, saturated(n, elements > INT32_MAX ? INT32_MAX : (int64_t)elements));
}

void cc_onnx_op_range(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    double start = cc_onnx_number(n, 0, "start"), limit = cc_onnx_number(n, 1, "limit"),
           delta = cc_onnx_number(n, 2, "delta"), count;
    enum cc_type type = cc_onnx_shape(n, cc_onnx_operand(n, 0))->type == CC_INT32 ? CC_INT32 : CC_FP32;
    uint32_t length = 0;
    void *data;

    (void)kind;
    if (n->b->status)
        return;
    count = delta != 0 ? ceil((limit - start) / delta) : -1;
    if (!(delta != 0) || !(count * 4 <= (double)CC_FOLD_BYTES_MAX)) {
        cc_build_refuse(n->b, "from %g to %g by %g is not a range of at most %llu bytes", start, limit, delta,
                        CC_FOLD_BYTES_MAX);
        return;
    }
    length = count > 0 ? (uint32_t)count : 0;
    if (length == 0) {
        cc_onnx_result_empty(n, 0, type, 1, &length);
        return;
    }
    if (cc_onnx_made(n->reader, 4ull * length))
        return;
    data = base_alloc_array(length, 4);
    for (uint32_t i = 0; data && i < length; i++) {
        if (type == CC_FP32)
            ((float *)data)[i] = (float)(start + i * delta);
        else
            ((int32_t *)data)[i] = (int32_t)(start + i * delta);
    }
    cc_onnx_result(n, 0, cc_build_const(n->b, type, 1, &length, data));
}

/* A new constant, zeros, of this type; NULL and a refusal when it is too large. */
static void *zeros(const struct cc_onnx_node *n, enum cc_type type, uint32_t rank, const uint32_t *dims)
{
    size_t bytes = rank <= CC_RANK_MAX ? cc_shape_bytes(type, rank, dims) : 0;
    void *data;

    if (n->b->status)
        return NULL;
    if (bytes == 0 || bytes > CC_FOLD_BYTES_MAX) {
        cc_build_refuse(n->b, "its result is empty, has more than %llu bytes or more than %u axes",
                        CC_FOLD_BYTES_MAX, CC_RANK_MAX);
        return NULL;
    }
    if (cc_onnx_made(n->reader, bytes))
        return NULL;
    data = base_alloc(bytes);
    if (!data)
        cc_onnx_no_memory(n->reader);
    return data;
}

static void put(enum cc_type type, void *data, uint64_t i, double number)
{
    switch (type) {
    case CC_FP16:
    case CC_FP32: ((float *)data)[i] = (float)number; return;
    case CC_INT32: ((int32_t *)data)[i] = (int32_t)number; return;
    case CC_BOOL: ((uint8_t *)data)[i] = number != 0; return;
    }
}

void cc_onnx_op_eye(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    uint32_t rank, dims[CC_ONNX_AXES_MAX];
    int64_t k = cc_onnx_int(n, "k", 0), wanted = cc_onnx_int(n, "dtype", 1);
    enum cc_type type = CC_FP32;
    void *data;

    (void)kind;
    if (!lengths_of(n, &rank, dims))
        return;
    if (rank != 2 || wanted < 0 || wanted > INT32_MAX || !cc_onnx_type((int32_t)wanted, &type))
        cc_build_refuse(n->b, "x has rank %u and dtype is %lld, expected rank 2 and a number", rank,
                        (long long)wanted);
    type = type == CC_FP16 ? CC_FP32 : type;
    data = zeros(n, type, rank, dims);
    for (int64_t i = 0; data && i < dims[0]; i++)
        if (i + k >= 0 && i + k < dims[1])
            put(type, data, (uint64_t)(i * dims[1] + i + k), 1);
    if (data)
        cc_onnx_result(n, 0, cc_build_const(n->b, type, rank, dims, data));
}

/* Indices of the elements of a constant that are not 0: [rank, count]. */
void cc_onnx_op_nonzero(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    struct cc_value v = *cc_onnx_shape(n, cc_onnx_constant(n, 0, "x"));
    uint32_t dims[2] = {v.rank, 0}, at = 0;
    int32_t *data;

    (void)kind;
    if (n->b->status)
        return;
    for (uint64_t i = 0; i < cc_value_elements(&v); i++)
        dims[1] += cc_value_number(&v, i) != 0;
    if (v.rank == 0 || dims[1] == 0) {
        cc_onnx_result_empty(n, 0, CC_INT32, 2, dims);
        return;
    }
    data = zeros(n, CC_INT32, 2, dims);
    for (uint64_t i = 0; data && i < cc_value_elements(&v); i++) {
        uint64_t rest = i;

        if (cc_value_number(&v, i) == 0)
            continue;
        for (uint32_t axis = v.rank; axis-- > 0; rest /= v.dim[axis])
            data[(size_t)axis * dims[1] + at] = (int32_t)(rest % v.dim[axis]);
        at++;
    }
    if (data)
        cc_onnx_result(n, 0, cc_build_const(n->b, CC_INT32, 2, dims, data));
}

/* Of constant indices: one of `depth` elements on a new axis is on, the others are off. */
void cc_onnx_op_one_hot(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    struct cc_value x = *cc_onnx_shape(n, cc_onnx_constant(n, 0, "the indices")),
                    pair = *cc_onnx_shape(n, cc_onnx_constant(n, 2, "the values"));
    double depth = cc_onnx_number(n, 1, "depth");
    uint32_t rank = x.rank + 1, axis = cc_onnx_axis(n, cc_onnx_int(n, "axis", -1), rank),
             dims[CC_RANK_MAX + 1];
    enum cc_type type = pair.type == CC_FP16 ? CC_FP32 : pair.type;
    uint64_t inner = 1;
    void *data;

    (void)kind;
    if (!n->b->status && (cc_value_elements(&pair) != 2 || !(depth >= 1 && depth <= INT32_MAX)))
        cc_build_refuse(n->b, "depth is %g and there are %llu values, expected at least 1 and 2", depth,
                        (unsigned long long)cc_value_elements(&pair));
    if (n->b->status)
        return;
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = i < axis ? x.dim[i] : i == axis ? (uint32_t)depth : x.dim[i - 1];
    for (uint32_t i = axis + 1; i < rank; i++)
        inner *= dims[i];
    data = zeros(n, type, rank, dims);
    for (uint64_t i = 0; data && i < cc_value_elements(&x) * (uint64_t)depth; i++) {
        uint64_t place = i / inner % (uint64_t)depth, outer = i / inner / (uint64_t)depth;
        double index = cc_value_number(&x, outer * inner + i % inner);

        index = index < 0 ? index + depth : index;
        put(type, data, i, cc_value_number(&pair, index == (double)place));
    }
    if (data)
        cc_onnx_result(n, 0, cc_build_const(n->b, type, rank, dims, data));
}
