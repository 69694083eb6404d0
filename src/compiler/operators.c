/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/operators.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "compiler/mil/list.h"
#include "compiler/onnx/onnx.h"

struct row {
    enum cc_form form;
    const char *composed_of, *limits;
};

static const struct row by_kind[CC_OP_COUNT] = {
#define CC_OPERATOR(kind, form, of, limits) [CC_OP_##kind] = {CC_FORM_##form, of, limits},
#define CC_OPERATOR_NAMED(dialect, name, form, of, limits)
#include "compiler/operators.def"
#undef CC_OPERATOR
#undef CC_OPERATOR_NAMED
};

static const struct {
    enum cc_dialect dialect;
    const char *name;
    struct row row;
} by_name[] = {
#define CC_OPERATOR(kind, form, of, limits)
#define CC_OPERATOR_NAMED(dialect, name, form, of, limits) \
    {CC_DIALECT_##dialect, name, {CC_FORM_##form, of, limits}},
#include "compiler/operators.def"
#undef CC_OPERATOR
#undef CC_OPERATOR_NAMED
};

/* Every kind has one row: a kind without one makes these two counts differ. */
enum {
#define CC_OPERATOR(kind, form, of, limits) ROW_##kind,
#define CC_OPERATOR_NAMED(dialect, name, form, of, limits)
#include "compiler/operators.def"
#undef CC_OPERATOR
#undef CC_OPERATOR_NAMED
    ROWS
};
_Static_assert((int)ROWS == (int)CC_OP_COUNT, "operators.def has one row for each kind of graph.h");

static const struct row *row_of(enum cc_dialect dialect, const struct cc_operator *operator)
{
    for (size_t i = 0; i < BASE_COUNT_OF(by_name); i++)
        if (by_name[i].dialect == dialect && !strcmp(by_name[i].name, operator->name))
            return &by_name[i].row;
    return &by_kind[operator->kind];
}

const char *cc_form_name(enum cc_form form)
{
    static const char *const names[] = {
#define X(id, name) [CC_FORM_##id] = name,
        CC_FORMS(X)
#undef X
    };

    return names[form];
}

const char *cc_dialect_name(enum cc_dialect dialect)
{
    return dialect == CC_DIALECT_MIL ? "mil" : "onnx";
}

static bool mil_at(unsigned number, struct cc_operator *operator, char arguments[CC_OPERATOR_ARGUMENTS_BYTES])
{
    const char *const *names;
    size_t at = 0;

    operator->name = cc_mil_op_at(number, &operator->kind, &names);
    if (!operator->name)
        return false;
    arguments[0] = '\0';
    for (; *names && at < CC_OPERATOR_ARGUMENTS_BYTES; names++)
        at += (size_t)snprintf(arguments + at, CC_OPERATOR_ARGUMENTS_BYTES - at, at ? ", %s" : "%s", *names);
    return true;
}

static bool onnx_at(unsigned number, struct cc_operator *operator,
                    char arguments[CC_OPERATOR_ARGUMENTS_BYTES])
{
    const char *names;
    size_t at = 0;

    operator->name = cc_onnx_op_at(number, &operator->kind, &names);
    if (!operator->name)
        return false;
    for (; *names && at + 2 < CC_OPERATOR_ARGUMENTS_BYTES; names++) {
        if (*names == ' ')
            arguments[at++] = ',';
        arguments[at++] = *names;
    }
    arguments[at] = '\0';
    return true;
}

bool cc_operator_at(enum cc_dialect dialect, unsigned number, struct cc_operator *operator,
                    char arguments[CC_OPERATOR_ARGUMENTS_BYTES])
{
    const struct row *row;

    if (dialect == CC_DIALECT_MIL ? !mil_at(number, operator, arguments)
                                  : !onnx_at(number, operator, arguments))
        return false;
    row = row_of(dialect, operator);
    operator->arguments = arguments;
    operator->same = row == & by_kind[operator->kind];
    operator->form = row->form;
    operator->composed_of = row->composed_of;
    operator->limits = row->limits;
    return true;
}

const char *cc_operator_rule(unsigned number, char *text, size_t capacity)
{
    switch (number) {
    case 0:
        snprintf(
            text, capacity,
            "A tensor has 1 to %u axes of at most %u elements. A descriptor takes W and H up to %u and C up "
            "to %u: longer axes are cut, except those of windows and products.",
            CC_RANK_MAX, CC_AXIS_MAX, PR_WIDTH_MAX, PR_CHANNELS_MAX);
        return text;
    case 1:
        snprintf(text, capacity, "A tensor, and all weights together, have at most %llu bytes.",
                 CC_TENSOR_BYTES_MAX);
        return text;
    case 2: return "No tensor is empty, and no shape is dynamic.";
    case 3:
        return "The engine computes in fp16. Inputs and outputs may be fp32, behind a cast; constants of an "
               "fp16 operation may be fp32 and are rounded once.";
    case 4: return "Operands broadcast as in numpy. Weights and parameters are constants.";
    case 5: return "A program has one function.";
    default: return NULL;
    }
}
