/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ONNX files made call by call, for tests of the reader: a model with inputs, tensors, nodes and outputs.
 * Memory is the rig's until onnxrig_end. Names are kept, not copied.
 */
#ifndef TESTS_ONNXRIG_H
#define TESTS_ONNXRIG_H

#include "compiler/onnx/model.h"
#include "compiler/onnx/onnx.h"
#include "support.h"

enum {
    ONNXRIG_FLOAT = 1,
    ONNXRIG_UINT8 = 2,
    ONNXRIG_INT8 = 3,
    ONNXRIG_INT32 = 6,
    ONNXRIG_INT64 = 7,
    ONNXRIG_BOOL = 9,
    ONNXRIG_FLOAT16 = 10,
    ONNXRIG_DOUBLE = 11
};

struct onnxrig {
    CcModel *model;
    void **memory;
    size_t count, capacity;
};

void onnxrig_begin(struct onnxrig *r, int64_t opset);
void onnxrig_end(struct onnxrig *r);
/* Zeroed memory that ends with the rig. */
void *onnxrig_take(struct onnxrig *r, size_t bytes);

/* Lists of lengths end with ONNXRIG_STOP. A negative length is an open axis. */
#define ONNXRIG_STOP      INT64_MIN
#define ONNXRIG_DIMS(...) ((const int64_t[]){__VA_ARGS__, ONNXRIG_STOP})
#define ONNXRIG_SCALAR    ((const int64_t[]){ONNXRIG_STOP})

CcGraph *onnxrig_graph(struct onnxrig *r); /* a new one, for an attribute */
void onnxrig_input(struct onnxrig *r, CcGraph *graph, const char *name, int32_t type, const int64_t *dims);
void onnxrig_output(struct onnxrig *r, CcGraph *graph, const char *name, int32_t type);
/* A tensor of raw data. */
CcTensor *onnxrig_tensor(struct onnxrig *r, const char *name, int32_t type, const int64_t *dims,
                         const void *data, size_t bytes);
void onnxrig_initializer(struct onnxrig *r, CcGraph *graph, CcTensor *tensor);
void onnxrig_floats(struct onnxrig *r, const char *name, const int64_t *dims, const float *data);
void onnxrig_ints(struct onnxrig *r, const char *name, const int64_t *dims, const int64_t *data);
/* "a b c" are three operands; `outputs` the same. */
CcNode *onnxrig_node(struct onnxrig *r, CcGraph *graph, const char *kind, const char *inputs,
                     const char *outputs);
void onnxrig_int(struct onnxrig *r, CcNode *node, const char *name, int64_t value);
void onnxrig_float(struct onnxrig *r, CcNode *node, const char *name, float value);
void onnxrig_list(struct onnxrig *r, CcNode *node, const char *name, const int64_t *values);
void onnxrig_word(struct onnxrig *r, CcNode *node, const char *name, const char *value);
CcAttribute *onnxrig_attribute(struct onnxrig *r, CcNode *node, const char *name, int32_t type);

/* The file; free() it. */
uint8_t *onnxrig_pack(const struct onnxrig *r, size_t *size);
int onnxrig_read(const struct onnxrig *r, const struct cc_binding *bindings, uint32_t count,
                 struct cc_graph **graph, struct base_error *error);
/* The model is refused with these words in the sentence, which is one line. */
void onnxrig_refused(const struct onnxrig *r, const char *words);
/* The only output, evaluated in double precision, is this; inputs get 1, 2, 3, ... */
void onnxrig_gives(const struct onnxrig *r, const double *wanted, size_t count, double allowed);

#endif
