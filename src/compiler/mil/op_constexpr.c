/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compressed weights: each call becomes a dense constant of the type of its scale or table. Operands are
 * checked to fit each other before memory is taken; elements are computed in double precision and rounded
 * once. With `shape`, indices and masks are packed bits in a list of uint8 (the operators of iOS 16); without
 * it they are tensors of small whole numbers (iOS 18).
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "compiler/half.h"
#include "compiler/mil/op.h"

static uint64_t elements_of(const struct cc_mil_type *type)
{
    uint64_t count = 1;

    for (uint32_t i = 0; i < type->rank; i++)
        count *= type->dim[i];
    return count;
}

static bool is_float(const struct cc_mil_type *type)
{
    return type->scalar == CC_MIL_FP16 || type->scalar == CC_MIL_FP32;
}

static bool is_small(const struct cc_mil_type *type)
{
    return type->scalar >= CC_MIL_INT8;
}

static double number_at(const struct cc_mil_literal *from, uint64_t i)
{
    const uint8_t *bytes = from->data;
    uint16_t half;
    int32_t whole;
    float single;

    switch (from->type.scalar) {
    case CC_MIL_FP16: memcpy(&half, bytes + 2 * i, sizeof(half)); return (double)cc_float_of_half(half);
    case CC_MIL_FP32: memcpy(&single, bytes + 4 * i, sizeof(single)); return (double)single;
    case CC_MIL_INT32: memcpy(&whole, bytes + 4 * i, sizeof(whole)); return whole;
    case CC_MIL_INT8:
    case CC_MIL_INT4: return (int8_t)bytes[i];
    default: return bytes[i];
    }
}

/* A dense constant that is being made. */
struct dense {
    struct cc_mil_type type;
    uint64_t count;
    uint8_t *data;
};

static int open_dense(struct cc_mil *mil, struct cc_mil_call *call, struct dense *dense)
{
    struct base_error limit;
    size_t bytes;
    int status = cc_mil_declared(mil, call, &dense->type);

    if (status)
        return status;
    if (cc_shape_check((enum cc_type)dense->type.scalar, dense->type.rank, dense->type.dim, true, &limit))
        return cc_mil_fail(mil, &call->type_at, EINVAL, "%.400s.", limit.text);
    bytes = cc_shape_bytes((enum cc_type)dense->type.scalar, dense->type.rank, dense->type.dim);
    if (mil->weight_bytes + bytes > CC_TENSOR_BYTES_MAX)
        return cc_mil_fail(mil, &call->operation, EFBIG,
                           "the weights of this program are more than the limit of %llu bytes.",
                           CC_TENSOR_BYTES_MAX);
    mil->weight_bytes += bytes;
    dense->count = elements_of(&dense->type);
    dense->data = base_alloc(bytes);
    return dense->data ? 0 : cc_mil_no_memory(mil);
}

static void put(struct dense *dense, uint64_t i, double value)
{
    float single = (float)value;

    if (dense->type.scalar == CC_MIL_FP16)
        cc_put_half(dense->data + 2 * i, cc_mil_half(value));
    else
        memcpy(dense->data + 4 * i, &single, sizeof(single));
}

static int needed(struct cc_mil *mil, struct cc_mil_call *call, const char *name,
                  struct cc_mil_literal *literal)
{
    int status = cc_mil_need(mil, call, name);

    return status ? status : cc_mil_constant(mil, call, name, literal);
}

static int wrong_type(struct cc_mil *mil, struct cc_mil_call *call, const char *name,
                      const struct cc_mil_type *type, const char *expected)
{
    return cc_mil_wrong(mil, call, name, EINVAL, "is %s, expected %s", cc_mil_type_text(type).text, expected);
}

/* One number, or one for each element of the axis. */
static int along_axis(struct cc_mil *mil, struct cc_mil_call *call, const char *name,
                      const struct cc_mil_type *type, uint32_t length)
{
    if (type->rank == 0 || (type->rank == 1 && (type->dim[0] == length || type->dim[0] == 1)))
        return 0;
    return cc_mil_wrong(mil, call, name, EINVAL, "is %s, expected one number or %u, as long as the axis",
                        cc_mil_type_text(type).text, length);
}

int cc_mil_take_affine(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    struct cc_mil_literal data, zero, scale;
    struct dense dense = {0};
    uint64_t inner = 1;
    uint32_t axis = 0, length;
    int status;

    if ((status = needed(mil, call, "quantized_data", &data)) ||
        (status = needed(mil, call, "zero_point", &zero)) || (status = needed(mil, call, "scale", &scale)))
        return status;
    if (data.type.scalar != CC_MIL_INT8 && data.type.scalar != CC_MIL_UINT8)
        return wrong_type(mil, call, "quantized_data", &data.type, "int8 or uint8");
    if (zero.type.scalar != data.type.scalar)
        return wrong_type(mil, call, "zero_point", &zero.type, "the type of quantized_data");
    if (!is_float(&scale.type))
        return wrong_type(mil, call, "scale", &scale.type, "fp16 or fp32");
    if ((status = cc_mil_axis(mil, call, "axis", data.type.rank, &axis)))
        return status;
    length = data.type.dim[axis];
    if ((status = along_axis(mil, call, "scale", &scale.type, length)) ||
        (status = along_axis(mil, call, "zero_point", &zero.type, length)))
        return status;
    dense.type = data.type;
    dense.type.scalar = scale.type.scalar;
    if ((status = open_dense(mil, call, &dense)))
        return status;
    for (uint32_t i = axis + 1; i < data.type.rank; i++)
        inner *= data.type.dim[i];
    for (uint64_t i = 0; i < dense.count; i++) {
        uint64_t at = i / inner % length;

        put(&dense, i,
            number_at(&scale, elements_of(&scale.type) > 1 ? at : 0) *
                (number_at(&data, i) - number_at(&zero, elements_of(&zero.type) > 1 ? at : 0)));
    }
    return cc_mil_make_constant(mil, call, draft, &dense.type, dense.data);
}

/*
 * Where element i of a tensor falls in one that has a whole number of its elements per element there: of a
 * scale, or of a table, whose further axes are not counted.
 */
static uint64_t block_of(const struct cc_mil_type *type, const struct cc_mil_type *blocks, uint64_t i)
{
    uint64_t at = 0, stride = 1;

    for (uint32_t axis = type->rank; axis-- > 0;) {
        at += i % type->dim[axis] / (type->dim[axis] / blocks->dim[axis]) * stride;
        stride *= blocks->dim[axis];
        i /= type->dim[axis];
    }
    return at;
}

/* The first axes of `blocks`, and `further` ones. */
static int divides(struct cc_mil *mil, struct cc_mil_call *call, const char *name,
                   const struct cc_mil_type *type, const struct cc_mil_type *blocks, uint32_t further)
{
    if (blocks->rank != type->rank + further)
        return cc_mil_wrong(mil, call, name, EINVAL, "is %s, expected %u axes", cc_mil_type_text(blocks).text,
                            type->rank + further);
    for (uint32_t i = 0; i < type->rank; i++)
        if (type->dim[i] % blocks->dim[i])
            return cc_mil_wrong(mil, call, name, EINVAL, "is %s: axis %u does not divide the %u of the data",
                                cc_mil_type_text(blocks).text, i, type->dim[i]);
    return 0;
}

int cc_mil_take_blockwise(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    struct cc_mil_literal data, scale, offset;
    struct dense dense = {0};
    int status;

    if ((status = needed(mil, call, "data", &data)) || (status = needed(mil, call, "scale", &scale)) ||
        (status = cc_mil_constant(mil, call, "offset", &offset)))
        return status;
    if (!is_small(&data.type) && !is_float(&data.type))
        return wrong_type(mil, call, "data", &data.type, "int4, uint4, int8, uint8, fp16 or fp32");
    if (!is_float(&scale.type))
        return wrong_type(mil, call, "scale", &scale.type, "fp16 or fp32");
    if ((status = divides(mil, call, "scale", &data.type, &scale.type, 0)))
        return status;
    if (offset.data && (offset.type.rank != scale.type.rank ||
                        memcmp(offset.type.dim, scale.type.dim, scale.type.rank * sizeof(scale.type.dim[0]))))
        return wrong_type(mil, call, "offset", &offset.type, "the lengths of scale");
    if (offset.data && !is_small(&offset.type) && !is_float(&offset.type))
        return wrong_type(mil, call, "offset", &offset.type, "the type of data, fp16 or fp32");
    dense.type = data.type;
    dense.type.scalar = scale.type.scalar;
    if ((status = open_dense(mil, call, &dense)))
        return status;
    for (uint64_t i = 0; i < dense.count; i++) {
        uint64_t at = block_of(&data.type, &scale.type, i);

        put(&dense, i,
            number_at(&scale, at) * (number_at(&data, i) - (offset.data ? number_at(&offset, at) : 0)));
    }
    return cc_mil_make_constant(mil, call, draft, &dense.type, dense.data);
}

/* `shape` of iOS 16: a list of uint32. */
static int read_shape(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_type *type)
{
    struct cc_mil_literal shape;
    int status = cc_mil_constant(mil, call, "shape", &shape);

    if (status)
        return status;
    if (shape.type.scalar != CC_MIL_UINT32 || shape.type.rank != 1 || shape.type.dim[0] > CC_RANK_MAX)
        return cc_mil_wrong(mil, call, "shape", EINVAL, "is %s, expected 1 to %u lengths of uint32",
                            cc_mil_type_text(&shape.type).text, CC_RANK_MAX);
    type->rank = shape.type.dim[0];
    memcpy(type->dim, shape.data, type->rank * sizeof(type->dim[0]));
    return 0;
}

/* Bits in a list of uint8, exactly as many bytes as `bits` for each element of the result need. */
static int check_packed(struct cc_mil *mil, struct cc_mil_call *call, const char *name,
                        const struct cc_mil_type *packed, const struct dense *dense, unsigned bits)
{
    uint64_t bytes = (dense->count * bits + 7) / 8;

    if (packed->scalar == CC_MIL_UINT8 && packed->rank == 1 && packed->dim[0] == bytes)
        return 0;
    return cc_mil_wrong(mil, call, name, EINVAL,
                        "is %s, expected %" PRIu64 " of uint8: %u bits for each of %" PRIu64 " elements",
                        cc_mil_type_text(packed).text, bytes, bits, dense->count);
}

static int take_packed_lut(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft,
                           const struct cc_mil_literal *indices, const struct cc_mil_literal *lut)
{
    struct dense dense = {.type = {.scalar = lut->type.scalar}};
    unsigned bits = 0;
    int status;

    while (lut->type.rank == 1 && bits <= 8 && 1u << bits < lut->type.dim[0])
        bits++;
    if (lut->type.rank != 1 || lut->type.dim[0] != 1u << bits || !bits || bits > 8 || bits == 3 ||
        bits == 5 || bits == 7)
        return wrong_type(mil, call, "lut", &lut->type, "2, 4, 16, 64 or 256 values");
    if ((status = read_shape(mil, call, &dense.type)) || (status = open_dense(mil, call, &dense)))
        return status;
    if ((status = check_packed(mil, call, "indices", &indices->type, &dense, bits))) {
        base_free(dense.data);
        return status;
    }
    for (uint64_t i = 0; i < dense.count; i++)
        put(&dense, i, number_at(lut, cc_mil_packed(indices->data, i, bits)));
    return cc_mil_make_constant(mil, call, draft, &dense.type, dense.data);
}

/* A table of vectors of `vector` values for each block; an index names a vector along the axis. */
static int take_tensor_lut(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft,
                           const struct cc_mil_literal *indices, const struct cc_mil_literal *lut)
{
    struct dense dense = {.type = indices->type};
    uint32_t rank = indices->type.rank, axis = 0, vector, values;
    uint64_t inner = 1;
    int status;

    if (!is_small(&indices->type) || indices->type.scalar == CC_MIL_INT8 ||
        indices->type.scalar == CC_MIL_INT4)
        return wrong_type(mil, call, "indices", &indices->type, "uint1, uint2, uint3, uint4, uint6 or uint8");
    if (!rank)
        return wrong_type(mil, call, "indices", &indices->type, "1 axis or more");
    if ((status = divides(mil, call, "lut", &indices->type, &lut->type, 2)))
        return status;
    values = lut->type.dim[rank];
    vector = lut->type.dim[rank + 1];
    if (values != 1u << cc_mil_scalar_bits(indices->type.scalar))
        return cc_mil_wrong(mil, call, "lut", EINVAL, "is %s, expected %u values for indices of %u bits",
                            cc_mil_type_text(&lut->type).text, 1u << cc_mil_scalar_bits(indices->type.scalar),
                            cc_mil_scalar_bits(indices->type.scalar));
    if (vector > 1 && (status = cc_mil_axis(mil, call, "vector_axis", rank, &axis)))
        return status;
    dense.type.scalar = lut->type.scalar;
    if ((uint64_t)dense.type.dim[axis] * vector > CC_TENSOR_BYTES_MAX)
        return wrong_type(mil, call, "lut", &lut->type, "a shorter vector");
    dense.type.dim[axis] *= vector;
    if ((status = open_dense(mil, call, &dense)))
        return status;
    for (uint32_t i = axis + 1; i < rank; i++)
        inner *= dense.type.dim[i];
    for (uint64_t i = 0; i < dense.count; i++) {
        uint64_t along = i / inner % dense.type.dim[axis], outer = i / inner / dense.type.dim[axis];
        uint64_t at = (outer * indices->type.dim[axis] + along / vector) * inner + i % inner;
        uint64_t block = block_of(&indices->type, &lut->type, at);

        put(&dense, i,
            number_at(lut,
                      (block * values + ((const uint8_t *)indices->data)[at]) * vector + along % vector));
    }
    return cc_mil_make_constant(mil, call, draft, &dense.type, dense.data);
}

int cc_mil_take_lut(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    struct cc_mil_literal indices, lut;
    int status;

    if ((status = needed(mil, call, "indices", &indices)) || (status = needed(mil, call, "lut", &lut)))
        return status;
    if (!is_float(&lut.type))
        return wrong_type(mil, call, "lut", &lut.type, "fp16 or fp32");
    return cc_mil_given(call, "shape") ? take_packed_lut(mil, call, draft, &indices, &lut)
                                       : take_tensor_lut(mil, call, draft, &indices, &lut);
}

int cc_mil_take_sparse(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    bool packed = cc_mil_given(call, "shape") != NULL;
    struct cc_mil_literal values, mask;
    struct dense dense = {0};
    uint64_t used = 0, given;
    int status;

    if ((status = needed(mil, call, "nonzero_data", &values)) || (status = needed(mil, call, "mask", &mask)))
        return status;
    if (!is_float(&values.type) || values.type.rank != 1)
        return wrong_type(mil, call, "nonzero_data", &values.type, "a list of fp16 or fp32");
    if (!packed && mask.type.scalar != CC_MIL_UINT1)
        return wrong_type(mil, call, "mask", &mask.type, "uint1");
    dense.type = mask.type;
    dense.type.scalar = values.type.scalar;
    given = values.type.dim[0];
    if ((packed && (status = read_shape(mil, call, &dense.type))) || (status = open_dense(mil, call, &dense)))
        return status;
    if (packed)
        status = check_packed(mil, call, "mask", &mask.type, &dense, 1);
    for (uint64_t i = 0; !status && i < dense.count; i++) {
        if (packed ? cc_mil_packed(mask.data, i, 1) : ((const uint8_t *)mask.data)[i]) {
            if (used < given)
                put(&dense, i, number_at(&values, used));
            used++;
        }
    }
    if (!status && used != given)
        status = cc_mil_wrong(mil, call, "nonzero_data", EINVAL,
                              "has %" PRIu64 " values, expected the %" PRIu64 " that mask has", given, used);
    if (status) {
        base_free(dense.data);
        return status;
    }
    return cc_mil_make_constant(mil, call, draft, &dense.type, dense.data);
}

int cc_mil_take_constexpr_cast(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    struct cc_mil_literal source;
    struct dense dense = {0};
    const char *to = "";
    int status;

    if ((status = needed(mil, call, "source_val", &source)) ||
        (status = cc_mil_string(mil, call, "output_dtype", &to)))
        return status;
    if (source.type.scalar != CC_MIL_FP16)
        return wrong_type(mil, call, "source_val", &source.type, "fp16");
    if (strcmp(to, "fp32") != 0)
        return cc_mil_wrong(mil, call, "output_dtype", EINVAL, "is \"%.16s\", expected \"fp32\"", to);
    dense.type = source.type;
    dense.type.scalar = CC_MIL_FP32;
    if ((status = open_dense(mil, call, &dense)))
        return status;
    for (uint64_t i = 0; i < dense.count; i++)
        put(&dense, i, number_at(&source, i));
    return cc_mil_make_constant(mil, call, draft, &dense.type, dense.data);
}
