/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages of a model file, decoded. Decoding is bounded: depth of messages, and memory as a multiple of
 * the file's size.
 */
#ifndef COMPILER_ONNX_MODEL_H
#define COMPILER_ONNX_MODEL_H

#include <model.pb-c.h>

#include "base/error.h"

typedef Cc__OnnxAttribute CcAttribute;
typedef Cc__OnnxFunction CcFunction;
typedef Cc__OnnxGraph CcGraph;
typedef Cc__OnnxModel CcModel;
typedef Cc__OnnxNode CcNode;
typedef Cc__OnnxPort CcPort;
typedef Cc__OnnxTensor CcTensor;

#define CC_ONNX_NESTING_MAX     64u         /* of messages; a graph in an attribute of a node takes three */
#define CC_ONNX_MEMORY_FACTOR   16u         /* memory of the decoded file: this many times its size, and */
#define CC_ONNX_MEMORY_CONSTANT (64u << 20) /* this many bytes */

struct cc_onnx_model {
    CcModel *file;
    const uint8_t *bytes; /* of the file, which tensors lead to */
    size_t size;
    uint8_t *owned; /* the same, if they are the model's */
    ProtobufCAllocator allocator;
    uint64_t used, limit; /* bytes */
};

/* Gives the bytes of a tensor back, and those of the file if the model owns them. */
void cc_onnx_model_drop(struct cc_onnx_model *model, ProtobufCBinaryData *data);

#endif
