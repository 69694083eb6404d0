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
 * else. Float tensors are computed in fp16; inputs and outputs keep their type, behind casts.
 */
int cc_onnx_read(const void *bytes, size_t size, const char *folder, const struct cc_binding *bindings,
                 uint32_t binding_count, struct cc_graph **graph, struct base_error *error);

#endif
