/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors of a model file as constants of a graph. Floats become fp32, but fp16 stays; whole numbers become
 * int32, saturated, so that an end of a slice like INT64_MAX keeps its meaning. A problem is a phrase, for a
 * caller to put before it where.
 */
#ifndef COMPILER_ONNX_TENSOR_H
#define COMPILER_ONNX_TENSOR_H

#include "compiler/graph/graph.h"
#include "compiler/onnx/model.h"

/* "FLOAT16", or "element type 40". */
struct cc_onnx_type_text {
    char text[32];
};
struct cc_onnx_type_text cc_onnx_type_text(int32_t elem_type);
/* What constants of an element type become. False: nothing, such as strings and complex numbers. */
bool cc_onnx_type(int32_t elem_type, enum cc_type *type);
/* Whether a port may have it: FLOAT, DOUBLE and BFLOAT16, which are CC_FP32, or FLOAT16. */
bool cc_onnx_port_type(int32_t elem_type, enum cc_type *type);
/* The range of a whole number's type, for QuantizeLinear. False: it is not one of at most 16 bits. */
bool cc_onnx_type_range(int32_t elem_type, double *low, double *high);

/* Lengths, at most `most` of them. *elements may be 0. */
int cc_onnx_tensor_shape(const CcTensor *tensor, uint32_t most, uint32_t *rank, uint32_t *dims,
                         uint64_t *elements, struct base_error *error);
/* The elements, in memory of base_alloc. The tensor's own stay. */
int cc_onnx_tensor_data(const CcTensor *tensor, const char *folder, enum cc_type *type, void **data,
                        struct base_error *error);
/* Gives the bytes of a tensor that is not needed again back. */
void cc_onnx_tensor_release(struct cc_onnx_model *model, CcTensor *tensor);

/*
 * external.c: `length` bytes, which is what its shape asks for, of a tensor whose data is in another file.
 * *bytes are for base_free, after a failure too.
 */
int cc_onnx_external_read(const CcTensor *tensor, const char *folder, size_t length, void **bytes,
                          struct base_error *error);

#endif
