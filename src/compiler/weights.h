/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Smaller forms of weights, chosen by a flag. With int8 and palette4, constants of convolutions and matrix
 * products are replaced, in the graph as a front end made it, by what the form can hold; each stays a dense
 * constant, so the program and its speed are those of fp16 weights. The key of the cache is made after that,
 * of the new constants. Palettes are not streamed: only those of one bit are decoded (program/task_ne.c).
 *
 * With sparse no weight is changed: the lowering leaves zeros out of kernels where that makes them smaller,
 * and the engine reads fewer bytes.
 */
#ifndef COMPILER_WEIGHTS_H
#define COMPILER_WEIGHTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct cc_graph;

/* Tensors of fewer elements keep their values: the default threshold of coremltools' optimize module. */
#define CC_WEIGHTS_ELEMENTS_MIN 2048u
#define CC_WEIGHTS_NAME_BYTES   96u

enum cc_weights {
    CC_WEIGHTS_FP16,
    CC_WEIGHTS_INT8,     /* -127 to 127 times an fp16 scale per output channel, max|w| / 127 */
    CC_WEIGHTS_PALETTE4, /* 16 fp16 values per tensor, by k-means */
    CC_WEIGHTS_SPARSE,   /* fp16 without zeros */
};

bool cc_weights_parse(const char *text, enum cc_weights *form);
const char *cc_weights_name(enum cc_weights form);

/* How far the new weights are from the old ones. */
struct cc_weights_error {
    char node[CC_WEIGHTS_NAME_BYTES]; /* of the source, the first that uses the tensor; empty: the sum */
    uint64_t elements, zeros;         /* zeros of the new weights */
    double largest, rms;
    double weights_rms; /* of the old weights */
};

struct cc_weights_report {
    enum cc_weights form;
    struct cc_weights_error total;
    uint32_t tensors, kept; /* replaced; of enough elements, but with one that is not finite */
    struct cc_weights_error *tensor;
};

/* *report is NULL for fp16, and the caller's otherwise. The same graph gives the same weights. */
int cc_weights_apply(struct cc_graph *graph, enum cc_weights form, struct cc_weights_report **report,
                     struct base_error *error);
void cc_weights_report_destroy(struct cc_weights_report *report);

#endif
