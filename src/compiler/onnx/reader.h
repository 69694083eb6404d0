/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model while it is read. Nodes are read in an order in which every operand is known; each adds operations
 * to the graph. What is constant is folded at once, so that shapes that a model computes are numbers when a
 * node needs them. The first refusal is kept in build.status, and calls after it do nothing.
 */
#ifndef COMPILER_ONNX_READER_H
#define COMPILER_ONNX_READER_H

#include "compiler/graph/build.h"
#include "compiler/onnx/model.h"
#include "compiler/onnx/onnx.h"

#define CC_ONNX_OPSET_MIN 1
#define CC_ONNX_OPSET_MAX 24      /* the newest whose changes are known here */
#define CC_ONNX_NODES_MAX 100000u /* read, with those of loops and functions */
#define CC_ONNX_AXES_MAX  8u      /* of a list of lengths or axes */

/* What a name refers to. */
enum cc_onnx_state {
    CC_ONNX_ABSENT,
    CC_ONNX_GRAPH,  /* a value of the graph */
    CC_ONNX_TENSOR, /* a constant that no node has used yet */
    CC_ONNX_EMPTY,  /* a constant without elements, which has no place in the graph */
    /* whole numbers at run time, of which the graph has what they stand for: scale * (number - zero) */
    CC_ONNX_QUANTIZED,
    /* a value of the graph, with more axes than it can have there: between a Reshape and the next one */
    CC_ONNX_WIDE
};
struct cc_onnx_value {
    enum cc_onnx_state state;
    uint32_t value;     /* GRAPH, QUANTIZED, WIDE */
    double scale, zero; /* QUANTIZED */
    int32_t elem;       /* GRAPH that was a tensor: its element type in the file; 0: not known */
    CcTensor *tensor;   /* TENSOR */
    bool read;          /* TENSOR: a node has a copy */
    uint32_t uses;      /* TENSOR of the model's own graph: how often it is named there */
    enum cc_type type;  /* EMPTY, with rank and dim, as WIDE has */
    uint32_t rank;
    uint32_t dim[CC_ONNX_AXES_MAX];
};

/* Names of one graph, and of those around it. Names are not copied. */
struct cc_onnx_names {
    struct cc_onnx_names *outer;
    uint32_t count, capacity, slots;
    struct cc_onnx_name {
        const char *name;
        struct cc_onnx_value value;
    } * name;
    uint32_t *slot;
};
/* NULL: not there. The pointer is valid until the next addition. */
struct cc_onnx_value *cc_onnx_names_find(struct cc_onnx_names *names, const char *name);
/* In this graph alone. */
struct cc_onnx_value *cc_onnx_names_own(struct cc_onnx_names *names, const char *name);
/* -EEXIST when this graph has it, -ENOMEM. */
int cc_onnx_names_add(struct cc_onnx_names *names, const char *name, const struct cc_onnx_value *value);
void cc_onnx_names_release(struct cc_onnx_names *names);

struct cc_onnx {
    struct cc_onnx_model *model;
    const char *folder;
    const struct cc_binding *bindings;
    uint32_t binding_count;
    struct cc_build build;
    struct cc_onnx_names *names;       /* of the graph that is read */
    struct cc_onnx_names used;         /* names of nodes */
    const char *prefix;                /* of names of nodes: the loops and functions around them */
    const struct cc_onnx_node *caller; /* whose function is read; NULL: none */
    int64_t opset;                     /* of the graph or function that is read */
    uint32_t nodes;                    /* read so far */
    unsigned depth;
};

/* One node. */
struct cc_onnx_node {
    struct cc_onnx *reader;
    struct cc_build *b; /* of the reader */
    const CcNode *proto;
    const struct cc_onnx_node *caller;
    int64_t opset;
};

/* onnx.c */
/* A float input that the caller or the model leaves open, an element type and so on, as sentences. */
int cc_onnx_no_memory(struct cc_onnx *reader);

/* order.c: the numbers of nodes in an order in which operands come first. */
int cc_onnx_order(size_t count, CcNode *const *node, uint32_t **order, struct base_error *error);

/* node.c */
/* Reads nodes into reader->names. */
int cc_onnx_nodes(struct cc_onnx *reader, size_t count, CcNode *const *node);
/* The tensors and the nodes of a graph; its inputs are known already. */
int cc_onnx_graph(struct cc_onnx *reader, const CcGraph *graph);
/* A value of this name, made of what it refers to; 0 and a refusal when there is none. */
bool cc_onnx_lookup(struct cc_onnx *reader, const char *name, struct cc_onnx_value *value);
/*
 * Counts a constant that is not only in the file, and refuses what is too much for one graph (eval/eval.h).
 */
int cc_onnx_made(struct cc_onnx *reader, uint64_t bytes);
/* Makes a constant that is not used yet a value of the graph. */
int cc_onnx_settle(struct cc_onnx *reader, const char *name, struct cc_onnx_value *value);

/* operand.c: operands and results of a node */
bool cc_onnx_has(const struct cc_onnx_node *n, uint32_t i);
bool cc_onnx_value_of(const struct cc_onnx_node *n, uint32_t i, struct cc_onnx_value *value);
/* As a value of the graph. */
uint32_t cc_onnx_operand(const struct cc_onnx_node *n, uint32_t i);
/* The same, refused when it is not a constant. `what` names it in the refusal. */
uint32_t cc_onnx_constant(const struct cc_onnx_node *n, uint32_t i, const char *what);
/* An operand that takes part in arithmetic at run time: fp16, or constant. */
const struct cc_value *cc_onnx_shape(const struct cc_onnx_node *n, uint32_t value);
/* A constant list of whole numbers. */
struct cc_onnx_list {
    uint32_t count;
    int64_t number[2 * CC_ONNX_AXES_MAX];
};
bool cc_onnx_list(const struct cc_onnx_node *n, uint32_t i, const char *what, struct cc_onnx_list *list);
/* A constant of one element. */
double cc_onnx_number(const struct cc_onnx_node *n, uint32_t i, const char *what);
/*
 * The elements of a constant as new floats, for base_free; NULL after a refusal. A tensor that no node has
 * used yet stays so.
 */
float *cc_onnx_floats(const struct cc_onnx_node *n, uint32_t i, uint32_t *rank, uint32_t dims[CC_RANK_MAX]);
/*
 * A constant [rows, columns] of floats with its axes exchanged if `turn`, times `factor`: a new constant. A
 * node that calls this does not use the operand otherwise: a tensor that is named once is given back.
 */
uint32_t cc_onnx_matrix(const struct cc_onnx_node *n, uint32_t i, bool turn, float factor);

void cc_onnx_result(const struct cc_onnx_node *n, uint32_t i, uint32_t value);
void cc_onnx_result_value(const struct cc_onnx_node *n, uint32_t i, const struct cc_onnx_value *value);
void cc_onnx_result_empty(const struct cc_onnx_node *n, uint32_t i, enum cc_type type, uint32_t rank,
                          const uint32_t *dims);

/* attribute.c */
const CcAttribute *cc_onnx_attribute(const struct cc_onnx_node *n, const char *name);
int64_t cc_onnx_int(const struct cc_onnx_node *n, const char *name, int64_t otherwise);
float cc_onnx_float(const struct cc_onnx_node *n, const char *name, float otherwise);
/* Whether it is there; at most the elements of a cc_onnx_list. */
bool cc_onnx_ints(const struct cc_onnx_node *n, const char *name, struct cc_onnx_list *list);
struct cc_onnx_word {
    char text[40];
};
struct cc_onnx_word cc_onnx_string(const struct cc_onnx_node *n, const char *name, const char *otherwise);
/* The number of a word in a list that ends with NULL; refused when it is not in it. */
unsigned cc_onnx_choice(const struct cc_onnx_node *n, const char *name, const char *const *words,
                        const char *otherwise);
/* Counts an axis from the front; refused when it is not one of `rank`. */
uint32_t cc_onnx_axis(const struct cc_onnx_node *n, int64_t axis, uint32_t rank);
/* A bit for each axis of the list; refused when one is there twice. */
uint32_t cc_onnx_axes(const struct cc_onnx_node *n, const struct cc_onnx_list *list, uint32_t rank);
/* A list that is an attribute before version `since` and operand i from it on. */
bool cc_onnx_axes_or_input(const struct cc_onnx_node *n, int64_t since, const char *name, uint32_t i,
                           struct cc_onnx_list *list);

/* add.c: the builder's calls, each followed by folding */
uint32_t cc_onnx_fold(const struct cc_onnx_node *n, uint32_t value);
uint32_t cc_onnx_add(const struct cc_onnx_node *n, enum cc_op_kind kind, uint32_t inputs,
                     const uint32_t *input, const struct cc_attributes *a);
uint32_t cc_onnx_unary(const struct cc_onnx_node *n, enum cc_op_kind kind, uint32_t x,
                       const struct cc_attributes *a);
uint32_t cc_onnx_binary(const struct cc_onnx_node *n, enum cc_op_kind kind, uint32_t x, uint32_t y);
uint32_t cc_onnx_reshape(const struct cc_onnx_node *n, uint32_t x, uint32_t rank, const uint32_t *dims);
uint32_t cc_onnx_scalar(const struct cc_onnx_node *n, float number);
/* A constant vector of one number. */
uint32_t cc_onnx_vector(const struct cc_onnx_node *n, uint32_t length, float number);
/* A constant of the type in which `like` is: 0 and 1 of an int32 are not those of an fp32. */
uint32_t cc_onnx_number_like(const struct cc_onnx_node *n, double number, uint32_t like);
/* x as floats, where it is a constant of another type. */
uint32_t cc_onnx_as_float(const struct cc_onnx_node *n, uint32_t x);
bool cc_onnx_is_constant(const struct cc_onnx_node *n, uint32_t value);

/* op.c: reads one node by the row of its operator. */
void cc_onnx_op(const struct cc_onnx_node *n);

/* control.c, function.c */
void cc_onnx_call(const struct cc_onnx_node *n, const CcFunction *function);
/* The operator set of the domain without a name, in a list of imports; 0: none. */
int64_t cc_onnx_opset_of(size_t count, Cc__OnnxOpset *const *set);

#endif
