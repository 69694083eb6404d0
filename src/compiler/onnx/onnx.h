/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX models (IR version 3 and newer, operator sets 7 and newer) into a graph. */
#ifndef COMPILER_ONNX_ONNX_H
#define COMPILER_ONNX_ONNX_H

#include "compiler/graph/graph.h"

/* What the caller says of an input. */
struct cc_binding {
    const char *name;
    uint32_t rank; /* of a shape that the model leaves open */
    uint32_t dim[CC_RANK_MAX];
    const void *data; /* the input is this constant, packed row-major; NULL: it is not */
    enum cc_type type;
};

/*
 * Reads a model. `folder` is where its external data files are; they are read from there and from nowhere
 * else. Float tensors are computed in fp16; inputs and outputs keep their type, behind casts. On a failure
 * *graph is NULL.
 */
int cc_onnx_read(const void *bytes, size_t size, const char *folder, const struct cc_binding *bindings,
                 uint32_t binding_count, struct cc_graph **graph, struct base_error *error);

/*
 * The same in two steps: the bytes are needed until the close. The second releases tensors as it converts
 * them, so it is done once.
 */
struct cc_onnx_model;
int cc_onnx_open(const void *bytes, size_t size, struct cc_onnx_model **model, struct base_error *error);
/* The bytes, from base_alloc, are the model's from now on: their memory goes with the tensors in it. */
void cc_onnx_give(struct cc_onnx_model *model, uint8_t *bytes);
int cc_onnx_import(struct cc_onnx_model *model, const char *folder, const struct cc_binding *bindings,
                   uint32_t binding_count, struct cc_graph **graph, struct base_error *error);
void cc_onnx_close(struct cc_onnx_model *model);

/*
 * The operators that are read, by name: NULL behind the last one. `kind` is that of the main operation that
 * it becomes, `attributes` their names with a space between two.
 */
const char *cc_onnx_op_at(unsigned number, enum cc_op_kind *kind, const char **attributes);

#endif
