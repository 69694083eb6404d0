/* SPDX-License-Identifier: Apache-2.0 */
/* The operators that the front ends accept: names, arguments, what becomes of them, limits. */
#ifndef COMPILER_OPERATORS_H
#define COMPILER_OPERATORS_H

#include "compiler/graph/graph.h"

/* X(id, name): see operators.def. */
#define CC_FORMS(X)         \
    X(NONE, "none")         \
    X(DECODED, "decoded")   \
    X(COMPOSED, "composed") \
    X(CHOSEN, "chosen")     \
    X(HOST, "host")

enum cc_form {
#define X(id, name) CC_FORM_##id,
    CC_FORMS(X)
#undef X
};

enum cc_dialect { CC_DIALECT_MIL, CC_DIALECT_ONNX, CC_DIALECTS };

struct cc_operator {
    const char *name;
    enum cc_op_kind kind;  /* of the operation that it becomes, or of the main one of several */
    bool same;             /* it becomes that operation, and its row is that of the kind */
    const char *arguments; /* names with commas between; of ONNX: the attributes */
    enum cc_form form;
    const char *composed_of; /* "" unless the form is COMPOSED */
    const char *limits;
};

const char *cc_form_name(enum cc_form form);
const char *cc_dialect_name(enum cc_dialect dialect);
/* Operator `number` of a dialect, by its order in the front end; false behind the last one. */
#define CC_OPERATOR_ARGUMENTS_BYTES 256u
bool cc_operator_at(enum cc_dialect dialect, unsigned number, struct cc_operator *operator,
                    char arguments[CC_OPERATOR_ARGUMENTS_BYTES]);
/* What holds for every tensor: one line each, NULL behind the last. */
const char *cc_operator_rule(unsigned number, char *text, size_t capacity);

#endif
