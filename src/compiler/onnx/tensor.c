/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tensor's elements are bytes (raw_data, or a part of another file) or numbers in the field of its type.
 * The count is compared with the shape before memory is taken for it.
 */
#include "compiler/onnx/tensor.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "compiler/half.h"

enum field { FIELD_NONE, FIELD_FLOAT, FIELD_INT32, FIELD_INT64, FIELD_DOUBLE, FIELD_UINT64 };

/* Element types by their numbers in the specification; 0 bits: not taken. */
static const struct {
    const char *name;
    unsigned bits;
    enum cc_type type;
    enum field field;
    double low, high; /* of whole numbers of at most 16 bits */
} types[] = {
    [1] = {"FLOAT", 32, CC_FP32, FIELD_FLOAT, 0, 0},
    [2] = {"UINT8", 8, CC_INT32, FIELD_INT32, 0, 255},
    [3] = {"INT8", 8, CC_INT32, FIELD_INT32, -128, 127},
    [4] = {"UINT16", 16, CC_INT32, FIELD_INT32, 0, 65535},
    [5] = {"INT16", 16, CC_INT32, FIELD_INT32, -32768, 32767},
    [6] = {"INT32", 32, CC_INT32, FIELD_INT32, 0, 0},
    [7] = {"INT64", 64, CC_INT32, FIELD_INT64, 0, 0},
    [8] = {.name = "STRING"},
    [9] = {"BOOL", 8, CC_BOOL, FIELD_INT32, 0, 0},
    [10] = {"FLOAT16", 16, CC_FP16, FIELD_INT32, 0, 0},
    [11] = {"DOUBLE", 64, CC_FP32, FIELD_DOUBLE, 0, 0},
    [12] = {"UINT32", 32, CC_INT32, FIELD_UINT64, 0, 0},
    [13] = {"UINT64", 64, CC_INT32, FIELD_UINT64, 0, 0},
    [14] = {.name = "COMPLEX64"},
    [15] = {.name = "COMPLEX128"},
    [16] = {"BFLOAT16", 16, CC_FP32, FIELD_INT32, 0, 0},
    [17] = {.name = "FLOAT8E4M3FN"},
    [18] = {.name = "FLOAT8E4M3FNUZ"},
    [19] = {.name = "FLOAT8E5M2"},
    [20] = {.name = "FLOAT8E5M2FNUZ"},
    [21] = {"UINT4", 4, CC_INT32, FIELD_INT32, 0, 15},
    [22] = {"INT4", 4, CC_INT32, FIELD_INT32, -8, 7},
    [23] = {.name = "FLOAT4E2M1"},
};

enum {
    FLOAT = 1,
    INT8 = 3,
    INT16 = 5,
    INT32 = 6,
    BOOL = 9,
    FLOAT16 = 10,
    DOUBLE = 11,
    BFLOAT16 = 16,
    INT4 = 22
};

static bool known(int32_t type)
{
    size_t number = type > 0 ? (size_t)type : 0;

    return number < BASE_COUNT_OF(types) && types[number].bits;
}

struct cc_onnx_type_text cc_onnx_type_text(int32_t type)
{
    struct cc_onnx_type_text text;
    size_t number = type > 0 ? (size_t)type : 0;

    if (number && number < BASE_COUNT_OF(types))
        snprintf(text.text, sizeof(text.text), "%s", types[number].name);
    else
        snprintf(text.text, sizeof(text.text), "element type %d", (int)type);
    return text;
}

bool cc_onnx_type(int32_t elem_type, enum cc_type *type)
{
    if (!known(elem_type))
        return false;
    *type = types[elem_type].type;
    return true;
}

bool cc_onnx_port_type(int32_t elem_type, enum cc_type *type)
{
    *type = elem_type == FLOAT16 ? CC_FP16 : CC_FP32;
    return elem_type == FLOAT || elem_type == FLOAT16 || elem_type == DOUBLE || elem_type == BFLOAT16;
}

bool cc_onnx_type_range(int32_t elem_type, double *low, double *high)
{
    if (!known(elem_type) || types[elem_type].high == 0)
        return false;
    *low = types[elem_type].low;
    *high = types[elem_type].high;
    return true;
}

int cc_onnx_tensor_shape(const CcTensor *tensor, uint32_t most, uint32_t *rank, uint32_t *dims,
                         uint64_t *elements, struct base_error *error)
{
    if (tensor->n_dims > most)
        return base_fail(error, EINVAL, "it has %zu axes, more than %u", tensor->n_dims, most);
    *rank = (uint32_t)tensor->n_dims;
    *elements = 1;
    for (uint32_t i = 0; i < *rank; i++) {
        int64_t length = tensor->dims[i];

        if (length < 0 || length > UINT32_MAX)
            return base_fail(error, EINVAL, "axis %u has length %lld, expected 0 to %u", i, (long long)length,
                             UINT32_MAX);
        dims[i] = (uint32_t)length;
        if (length && *elements > CC_TENSOR_BYTES_MAX / (uint64_t)length)
            return base_fail(error, EINVAL, "it is larger than the limit of %llu bytes for one tensor",
                             CC_TENSOR_BYTES_MAX);
        *elements *= (uint64_t)length;
    }
    return 0;
}

static int32_t saturated(double number)
{
    if (number != number)
        return 0;
    return number >= INT32_MAX ? INT32_MAX : number <= INT32_MIN ? INT32_MIN : (int32_t)number;
}

static float single_of_bits(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* Element i of packed bytes, little-endian; a half stays its bits. */
static double raw_number(int32_t type, const uint8_t *bytes, uint64_t i)
{
    unsigned bits = types[type].bits;
    uint64_t word = 0;
    float single;
    double number;

    if (bits == 4) {
        word = (unsigned)bytes[i / 2] >> (i % 2 * 4) & 0xfu;
        return type == INT4 ? (double)(int)(word ^ 8u) - 8 : (double)word;
    }
    for (unsigned k = 0; k < bits / 8; k++)
        word |= (uint64_t)bytes[i * (bits / 8) + k] << 8 * k;
    switch (type) {
    case FLOAT: single = single_of_bits((uint32_t)word); return (double)single;
    case BFLOAT16: return (double)single_of_bits((uint32_t)word << 16);
    case INT8: return (int8_t)word;
    case INT16: return (int16_t)word;
    case INT32: return (int32_t)word;
    default: break;
    }
    if (types[type].field == FIELD_INT64)
        return (double)(int64_t)word;
    if (types[type].field != FIELD_DOUBLE)
        return (double)word;
    memcpy(&number, &word, sizeof(number));
    return number;
}

static double field_number(int32_t type, const CcTensor *t, uint64_t i)
{
    switch (types[type].field) {
    case FIELD_FLOAT: return (double)t->float_data[i];
    case FIELD_INT64: return (double)t->int64_data[i];
    case FIELD_DOUBLE: return t->double_data[i];
    case FIELD_UINT64: return (double)t->uint64_data[i];
    case FIELD_NONE:
    case FIELD_INT32: break;
    }
    if (type == BFLOAT16)
        return (double)single_of_bits((uint32_t)t->int32_data[i] << 16);
    if (types[type].bits == 4) {
        uint8_t pair = (uint8_t)t->int32_data[i / 2];

        return raw_number(type, &pair, i % 2);
    }
    return t->int32_data[i];
}

static void put(enum cc_type type, void *data, uint64_t i, double number)
{
    switch (type) {
    case CC_FP16: ((uint16_t *)data)[i] = (uint16_t)number; return;
    case CC_FP32: ((float *)data)[i] = (float)number; return;
    case CC_INT32: ((int32_t *)data)[i] = saturated(number); return;
    case CC_BOOL: ((uint8_t *)data)[i] = number != 0; return;
    }
}

static size_t field_count(const CcTensor *t)
{
    switch (types[t->data_type].field) {
    case FIELD_FLOAT: return t->n_float_data;
    case FIELD_INT32: return t->n_int32_data;
    case FIELD_INT64: return t->n_int64_data;
    case FIELD_DOUBLE: return t->n_double_data;
    case FIELD_UINT64: return t->n_uint64_data;
    case FIELD_NONE: break;
    }
    return 0;
}

/* The bytes that the shape asks for, from the message or from another file. */
static int raw_bytes(const CcTensor *t, const char *folder, size_t bytes, const uint8_t **raw, void **owned,
                     struct base_error *error)
{
    int status = 0;

    if (t->data_location)
        status = cc_onnx_external_read(t, folder, bytes, owned, error);
    else if (t->raw_data.len != bytes)
        status = base_fail(error, EINVAL, "it has %zu bytes of data, expected %zu for its shape",
                           t->raw_data.len, bytes);
    *raw = t->data_location ? *owned : t->raw_data.data;
    return status;
}

/* Copies where the bytes are the elements; converts one by one elsewhere. */
static void convert(const CcTensor *t, const uint8_t *raw, uint64_t elements, enum cc_type type, void *data)
{
    if (raw && (t->data_type == FLOAT || t->data_type == FLOAT16 || t->data_type == INT32)) {
        memcpy(data, raw, elements * cc_type_bytes(type));
        return;
    }
    for (uint64_t i = 0; i < elements; i++)
        put(type, data, i, raw ? raw_number(t->data_type, raw, i) : field_number(t->data_type, t, i));
}

static int check_tensor(const CcTensor *t, struct base_error *error)
{
    if (!known(t->data_type))
        return base_fail(error, EINVAL, "its element type is %s, which is not taken",
                         cc_onnx_type_text(t->data_type).text);
    if (t->segment)
        return base_fail(error, EINVAL, "it is a segment of a tensor, which is not taken");
    if (t->data_location != 0 && t->data_location != 1)
        return base_fail(error, EINVAL, "its data location is %d, expected 0 or 1", (int)t->data_location);
    return 0;
}

int cc_onnx_tensor_data(const CcTensor *t, const char *folder, enum cc_type *type, void **data,
                        struct base_error *error)
{
    uint32_t rank, dims[CC_RANK_MAX];
    uint64_t elements, fields;
    const uint8_t *raw = NULL;
    void *owned = NULL;
    int status = check_tensor(t, error);

    *data = NULL;
    if (status || (status = cc_onnx_tensor_shape(t, CC_RANK_MAX, &rank, dims, &elements, error)))
        return status;
    *type = types[t->data_type].type;
    fields = types[t->data_type].bits == 4 ? (elements + 1) / 2 : elements;
    if (t->data_location || t->raw_data.len)
        status = raw_bytes(t, folder, (size_t)((elements * types[t->data_type].bits + 7) / 8), &raw, &owned,
                           error);
    else if (field_count(t) != fields)
        status = base_fail(error, EINVAL, "it has %zu elements of type %s, expected %llu for its shape",
                           field_count(t), types[t->data_type].name, (unsigned long long)fields);
    if (!status && !cc_shape_bytes(*type, rank, dims))
        status =
            base_fail(error, EINVAL, "it is empty, or larger than the limit of %llu bytes for one tensor",
                      CC_TENSOR_BYTES_MAX);
    if (!status && !(*data = base_alloc(cc_shape_bytes(*type, rank, dims))))
        status = base_fail(error, ENOMEM, "there is no memory for its %llu elements",
                           (unsigned long long)elements);
    if (!status)
        convert(t, raw, elements, *type, *data);
    base_free(owned);
    return status;
}

void cc_onnx_tensor_release(struct cc_onnx_model *model, CcTensor *t)
{
    ProtobufCAllocator *a = &model->allocator;

    cc_onnx_model_drop(model, &t->raw_data);
    a->free(a->allocator_data, t->float_data);
    a->free(a->allocator_data, t->int32_data);
    a->free(a->allocator_data, t->int64_data);
    a->free(a->allocator_data, t->double_data);
    a->free(a->allocator_data, t->uint64_data);
    t->float_data = NULL;
    t->int32_data = NULL;
    t->int64_data = NULL;
    t->double_data = NULL;
    t->uint64_data = NULL;
    t->n_float_data = t->n_int32_data = t->n_int64_data = t->n_double_data = t->n_uint64_data = 0;
}
