/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of the ONNX backend tests, read without the compiler's own reader: tensors (.pb), and of a model
 * the names of its inputs and outputs and the kinds of its nodes.
 */
#ifndef TESTS_ONNXFILE_H
#define TESTS_ONNXFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OF_AXES_MAX = 8, OF_NAMES_MAX = 64, OF_NAME_BYTES = 96 };

/* As the format numbers them. */
enum of_type {
    OF_FLOAT = 1,
    OF_UINT8,
    OF_INT8,
    OF_UINT16,
    OF_INT16,
    OF_INT32,
    OF_INT64,
    OF_STRING,
    OF_BOOL,
    OF_FLOAT16,
    OF_DOUBLE,
    OF_UINT32,
    OF_UINT64,
    OF_BFLOAT16 = 16
};

struct of_tensor {
    enum of_type type;
    uint32_t rank, dim[OF_AXES_MAX];
    size_t elements;
    double *x; /* free() it */
};

/* False when the file is missing, or is not a tensor of numbers (a sequence, a string). */
bool of_tensor_read(const char *path, struct of_tensor *tensor);
bool of_type_is_float(enum of_type type);

struct of_model {
    uint32_t inputs, outputs, nodes;
    char input[OF_NAMES_MAX][OF_NAME_BYTES], output[OF_NAMES_MAX][OF_NAME_BYTES];
    char kind[OF_NAMES_MAX][OF_NAME_BYTES]; /* of its first nodes */
    uint8_t *bytes;                         /* the whole file; free() it */
    size_t size;
};
bool of_model_read(const char *path, struct of_model *model);

#endif
