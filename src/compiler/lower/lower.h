/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a checked graph to a program: ports, one parametric record per descriptor, constants in the engine's
 * layout.
 */
#ifndef COMPILER_LOWER_LOWER_H
#define COMPILER_LOWER_LOWER_H

#include "compiler/graph/graph.h"
#include "program/e5.h"

#define CC_HASH_BYTES 32u

struct cc_blob {
    uint32_t offset, bytes;
    uint8_t hash[CC_HASH_BYTES]; /* SHA-256 */
};

/* What became of an operation of the graph. */
enum cc_fate {
    CC_FATE_NONE,    /* nothing: no output depends on it, or it is an input or a constant */
    CC_FATE_RECORDS, /* records of its own */
    CC_FATE_FUSED,   /* a stage of another operation's records */
    CC_FATE_ALIAS,   /* its value is that of its operand, at the same place */
};
struct cc_outcome {
    enum cc_fate fate;
    uint32_t into; /* FUSED: the number of the other operation */
};

struct cc_program {
    char function[PR_E5_NAME_BYTES];
    uint32_t ports;
    struct pr_e5_port port[PR_E5_PORTS_MAX];
    uint32_t records, record_capacity;
    struct pr_e5_record *record;
    uint32_t maker_capacity;
    uint32_t *maker; /* per record: the operation that it is of, number + 1; 0: the copy of an output */
    uint32_t constant_bytes, constant_capacity;
    uint8_t *constant;
    uint32_t blobs, blob_capacity;
    struct cc_blob *blob;
    uint32_t intermediate_bytes;
    uint32_t operations;
    struct cc_outcome *outcome; /* per operation of the graph, when asked for; NULL otherwise */
    const char *model;          /* the name that its bundle states, not owned; NULL: none */
};

/* How to lower, a set. Results are the same whatever it is. */
enum cc_lower_flag {
    CC_LOWER_REPORT = 1,   /* with the outcomes */
    CC_LOWER_DRAM = 2,     /* keep every intermediate in DRAM */
    CC_LOWER_IN_ORDER = 4, /* keep the graph's order of operations */
    CC_LOWER_SPARSE = 8,   /* kernels leave zeros out where that makes them smaller */
};

int cc_lower(const struct cc_graph *graph, unsigned flags, struct cc_program **program,
             struct base_error *error);
void cc_program_destroy(struct cc_program *program);

#endif
