/* SPDX-License-Identifier: Apache-2.0 */
/* A call of MIL text into an operation of the graph: which arguments it takes, what they default to, what becomes of them. */
#include "compiler/mil.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

/* An operation before it enters the graph; of an identity the value that it renames. */
struct draft {
    enum cc_op_kind kind;
    uint32_t inputs;
    uint32_t input[CC_INPUTS_MAX];
    struct cc_attributes a;
    bool alias;
};

static int take_unary(struct cc_mil *mil, struct cc_mil_call *call, struct draft *draft);
static int take_binary(struct cc_mil *mil, struct cc_mil_call *call, struct draft *draft);
static int take_conv(struct cc_mil *mil, struct cc_mil_call *call, struct draft *draft);
static int take_linear(struct cc_mil *mil, struct cc_mil_call *call, struct draft *draft);
static int take_matmul(struct cc_mil *mil, struct cc_mil_call *call, struct draft *draft);
static int take_mean(struct cc_mil *mil, struct cc_mil_call *call, struct draft *draft);
static int take_cast(struct cc_mil *mil, struct cc_mil_call *call, struct draft *draft);
static int take_identity(struct cc_mil *mil, struct cc_mil_call *call, struct draft *draft);

static const struct operation {
    const char *name;
    enum cc_op_kind kind;
    int (*take)(struct cc_mil *mil, struct cc_mil_call *call, struct draft *draft);
    const char *arguments[9];
} operations[] = {
    {"add", CC_OP_ADD, take_binary, {"x", "y"}},
    {"sub", CC_OP_SUB, take_binary, {"x", "y"}},
    {"mul", CC_OP_MUL, take_binary, {"x", "y"}},
    {"maximum", CC_OP_MAXIMUM, take_binary, {"x", "y"}},
    {"minimum", CC_OP_MINIMUM, take_binary, {"x", "y"}},
    {"relu", CC_OP_RELU, take_unary, {"x"}},
    {"conv",
     CC_OP_CONV,
     take_conv,
     {"x", "weight", "bias", "strides", "pad_type", "pad", "dilations", "groups"}},
    {"linear", CC_OP_LINEAR, take_linear, {"x", "weight", "bias"}},
    {"matmul", CC_OP_MATMUL, take_matmul, {"x", "y", "transpose_x", "transpose_y"}},
    {"reduce_mean", CC_OP_REDUCE_MEAN, take_mean, {"x", "axes", "keep_dims"}},
    {"cast", CC_OP_CAST, take_cast, {"x", "dtype"}},
    {"identity", CC_OP_CAST, take_identity, {"x"}},
};
#define OPERATIONS (sizeof(operations) / sizeof(operations[0]))

static bool same(const struct cc_mil_token *token, const char *name)
{
    return token->length == strlen(name) && memcmp(token->text, name, token->length) == 0;
}

static const struct operation *operation_of(const struct cc_mil_token *name)
{
    for (size_t i = 0; i < OPERATIONS; i++)
        if (same(name, operations[i].name))
            return &operations[i];
    return NULL;
}

bool cc_mil_op_known(const struct cc_mil_token *name)
{
    return same(name, "const") || operation_of(name);
}

int cc_mil_op_unknown(struct cc_mil *mil, const struct cc_mil_token *name)
{
    char known[192] = "const";
    size_t at = strlen(known);

    for (size_t i = 0; i < OPERATIONS && at < sizeof(known); i++)
        at += (size_t)snprintf(known + at, sizeof(known) - at, ", %s", operations[i].name);
    return cc_mil_fail(mil, name, EOPNOTSUPP, "operation `%.*s` is not known; known are %s.",
                       name->length > 64 ? 64 : (int)name->length, name->text, known);
}

static int check_arguments(struct cc_mil *mil, const struct cc_mil_call *call,
                           const struct operation *operation)
{
    char takes[128] = "";
    size_t at = 0;

    for (unsigned i = 0; i < call->arguments; i++) {
        const struct cc_mil_token *name = &call->argument[i].name;
        const char *const *known = operation->arguments;

        while (*known && !same(name, *known))
            known++;
        if (*known)
            continue;
        for (known = operation->arguments; *known && at < sizeof(takes); known++)
            at += (size_t)snprintf(takes + at, sizeof(takes) - at, at ? ", %s" : "%s", *known);
        return cc_mil_fail(mil, name, EINVAL, "%s has no argument `%.*s`, expected one of %s.",
                           operation->name, name->length > 64 ? 64 : (int)name->length, name->text, takes);
    }
    return 0;
}

static struct cc_mil_argument *argument(struct cc_mil_call *call, const char *name)
{
    for (unsigned i = 0; i < call->arguments; i++)
        if (same(&call->argument[i].name, name))
            return &call->argument[i];
    return NULL;
}

static struct cc_mil_symbol *symbol_of(struct cc_mil *mil, struct cc_mil_argument *given)
{
    return given->symbol ? &mil->symbol[given->symbol - 1] : &given->constant;
}

static int missing(struct cc_mil *mil, const struct cc_mil_call *call, const char *name)
{
    return cc_mil_fail(mil, &call->operation, EINVAL, "%.*s has no argument `%s`, which it needs.",
                       (int)call->operation.length, call->operation.text, name);
}

/* The value of an argument, index + 1; 0 when it is not given and need not be. */
static int optional_operand(struct cc_mil *mil, struct cc_mil_call *call, const char *name, uint32_t *value)
{
    struct cc_mil_argument *given = argument(call, name);
    char constant[2 * CC_MIL_NAME_MAX + 2];
    struct cc_mil_symbol *symbol;
    int status;

    *value = 0;
    if (!given)
        return 0;
    symbol = symbol_of(mil, given);
    if (given->symbol)
        snprintf(constant, sizeof(constant), "%.*s", (int)symbol->length, symbol->name);
    else
        snprintf(constant, sizeof(constant), "%.*s.%s", (int)call->result.length, call->result.text, name);
    status = cc_mil_value(mil, symbol, constant, &given->place, value);
    *value += status == 0;
    return status;
}

static int operand(struct cc_mil *mil, struct cc_mil_call *call, const char *name, struct draft *draft)
{
    uint32_t value;
    int status = optional_operand(mil, call, name, &value);

    if (status)
        return status;
    if (!value)
        return missing(mil, call, name);
    draft->input[draft->inputs++] = value - 1;
    return 0;
}

/* A parameter: a constant of this type; *literal is NULL when it is not given. */
static int parameter(struct cc_mil *mil, struct cc_mil_call *call, const char *name,
                     enum cc_mil_scalar scalar, const struct cc_mil_literal **literal)
{
    static const char *const names[] = {"fp16", "fp32", "int32", "bool", "string", "uint64"};
    struct cc_mil_argument *given = argument(call, name);
    struct cc_mil_symbol *symbol;

    *literal = NULL;
    if (!given)
        return 0;
    symbol = symbol_of(mil, given);
    if (!symbol->constant)
        return cc_mil_fail(mil, &given->place, EINVAL,
                           "%s is a tensor computed at run time, expected a constant.", name);
    if (symbol->literal.type.scalar != scalar)
        return cc_mil_fail(mil, &given->place, EINVAL, "%s is %s, expected a constant of %s.", name,
                           cc_mil_type_text(&symbol->literal.type).text, names[scalar]);
    *literal = &symbol->literal;
    return 0;
}

static int bool_parameter(struct cc_mil *mil, struct cc_mil_call *call, const char *name, bool *value)
{
    const struct cc_mil_literal *literal;
    int status = parameter(mil, call, name, CC_MIL_BOOL, &literal);

    if (status || !literal)
        return status;
    if (literal->type.rank)
        return cc_mil_fail(mil, &argument(call, name)->place, EINVAL, "%s is %s, expected bool.", name,
                           cc_mil_type_text(&literal->type).text);
    *value = *(const uint8_t *)literal->data != 0;
    return 0;
}

static int string_parameter(struct cc_mil *mil, struct cc_mil_call *call, const char *name,
                            const char **value)
{
    const struct cc_mil_literal *literal;
    int status = parameter(mil, call, name, CC_MIL_TEXT, &literal);

    if (status == 0 && literal)
        *value = literal->data;
    return status;
}

/* Exactly `count` numbers from `least` to `most`, or none: then `values` stay as they were. */
static int int_parameter(struct cc_mil *mil, struct cc_mil_call *call, const char *name, uint32_t count,
                         int32_t least, int32_t most, uint32_t *values)
{
    const struct cc_mil_literal *literal;
    const int32_t *word;
    int status = parameter(mil, call, name, CC_MIL_INT32, &literal);

    if (status || !literal)
        return status;
    if (literal->type.rank > 1 || (literal->type.rank ? literal->type.dim[0] : 1) != count)
        return cc_mil_fail(mil, &argument(call, name)->place, EINVAL,
                           "%s is %s, expected %u number%s of int32.", name,
                           cc_mil_type_text(&literal->type).text, count, count == 1 ? "" : "s");
    word = literal->data;
    for (uint32_t i = 0; i < count; i++) {
        if (word[i] < least || word[i] > most)
            return cc_mil_fail(mil, &argument(call, name)->place, ERANGE,
                               "%s has %" PRId32 ", expected %" PRId32 " to %" PRId32 ".", name, word[i],
                               least, most);
        values[i] = (uint32_t)word[i];
    }
    return 0;
}

static int take_unary(struct cc_mil *mil, struct cc_mil_call *call, struct draft *draft)
{
    return operand(mil, call, "x", draft);
}

static int take_binary(struct cc_mil *mil, struct cc_mil_call *call, struct draft *draft)
{
    int status = operand(mil, call, "x", draft);

    return status ? status : operand(mil, call, "y", draft);
}

static int take_weights(struct cc_mil *mil, struct cc_mil_call *call, struct draft *draft)
{
    int status = operand(mil, call, "x", draft);

    if (status || (status = optional_operand(mil, call, "weight", &draft->a.weight)))
        return status;
    if (!draft->a.weight)
        return missing(mil, call, "weight");
    return optional_operand(mil, call, "bias", &draft->a.bias);
}

/* As much padding as makes ceil(length / stride) outputs; the odd one goes behind, or before with same_lower. */
static void same_padding(const struct cc_mil *mil, struct draft *draft, bool lower)
{
    const struct cc_value *x = &mil->graph->value[draft->input[0]],
                          *weight = &mil->graph->value[draft->a.weight - 1];

    if (x->rank != 4 || weight->rank != 4)
        return; /* refused when the operation is checked */
    for (unsigned i = 0; i < 2; i++) {
        uint64_t stride = draft->a.stride[i], length = x->dim[2 + i];
        uint64_t extent = (uint64_t)(weight->dim[2 + i] - 1) * draft->a.dilation[i] + 1;
        uint64_t covered = ((length + stride - 1) / stride - 1) * stride + extent;
        uint64_t total = covered > length ? covered - length : 0;
        uint32_t less = (uint32_t)(total / 2), more = (uint32_t)(total - less);

        draft->a.pad[2 * i] = lower ? more : less;
        draft->a.pad[2 * i + 1] = lower ? less : more;
    }
}

static int take_conv(struct cc_mil *mil, struct cc_mil_call *call, struct draft *draft)
{
    struct cc_attributes *a = &draft->a;
    const char *padding = "valid";
    const struct cc_mil_literal *unused;
    int status = take_weights(mil, call, draft);

    a->stride[0] = a->stride[1] = a->dilation[0] = a->dilation[1] = a->groups = 1;
    if (status || (status = int_parameter(mil, call, "strides", 2, 1, CC_WIDTH_MAX, a->stride)) ||
        (status = int_parameter(mil, call, "dilations", 2, 1, CC_WIDTH_MAX, a->dilation)) ||
        (status = int_parameter(mil, call, "groups", 1, 1, CC_CHANNEL_MAX, &a->groups)) ||
        (status = string_parameter(mil, call, "pad_type", &padding)))
        return status;
    if (strcmp(padding, "custom") == 0)
        return argument(call, "pad") ? int_parameter(mil, call, "pad", 4, 0, CC_WIDTH_MAX, a->pad)
                                     : missing(mil, call, "pad");
    if (strcmp(padding, "same") == 0 || strcmp(padding, "same_lower") == 0)
        same_padding(mil, draft, padding[4] != '\0');
    else if (strcmp(padding, "valid") != 0)
        return cc_mil_fail(mil, &argument(call, "pad_type")->place, EINVAL,
                           "pad_type is \"%.40s\", expected valid, same, same_lower or custom.", padding);
    return parameter(mil, call, "pad", CC_MIL_INT32, &unused);
}

static int take_linear(struct cc_mil *mil, struct cc_mil_call *call, struct draft *draft)
{
    return take_weights(mil, call, draft);
}

static int take_matmul(struct cc_mil *mil, struct cc_mil_call *call, struct draft *draft)
{
    int status = take_binary(mil, call, draft);

    if (status || (status = bool_parameter(mil, call, "transpose_x", &draft->a.transpose_x)))
        return status;
    return bool_parameter(mil, call, "transpose_y", &draft->a.transpose_y);
}

static int take_mean(struct cc_mil *mil, struct cc_mil_call *call, struct draft *draft)
{
    const struct cc_mil_literal *literal;
    const int32_t *axis;
    uint32_t rank, count;
    int status = operand(mil, call, "x", draft);

    if (status || (status = parameter(mil, call, "axes", CC_MIL_INT32, &literal)) ||
        (status = bool_parameter(mil, call, "keep_dims", &draft->a.keep_dims)))
        return status;
    rank = mil->graph->value[draft->input[0]].rank;
    if (!literal) {
        draft->a.axes = (1u << rank) - 1;
        return 0;
    }
    if (literal->type.rank > 1)
        return cc_mil_fail(mil, &argument(call, "axes")->place, EINVAL,
                           "axes is %s, expected one list of int32.", cc_mil_type_text(&literal->type).text);
    axis = literal->data;
    count = literal->type.rank ? literal->type.dim[0] : 1;
    for (uint32_t i = 0; i < count; i++) {
        int64_t place = axis[i] < 0 ? (int64_t)axis[i] + rank : axis[i];

        if (place < 0 || place >= rank)
            return cc_mil_fail(mil, &argument(call, "axes")->place, ERANGE,
                               "axes has %" PRId32 ", expected -%u to %d.", axis[i], rank, (int)rank - 1);
        if (draft->a.axes >> place & 1)
            return cc_mil_fail(mil, &argument(call, "axes")->place, EINVAL, "axes has axis %d twice.",
                               (int)place);
        draft->a.axes |= 1u << place;
    }
    return 0;
}

static int take_cast(struct cc_mil *mil, struct cc_mil_call *call, struct draft *draft)
{
    const char *type = NULL;
    int status = operand(mil, call, "x", draft);

    if (status || (status = string_parameter(mil, call, "dtype", &type)))
        return status;
    if (!type)
        return missing(mil, call, "dtype");
    if (strcmp(type, "fp16") != 0 && strcmp(type, "fp32") != 0)
        return cc_mil_fail(mil, &argument(call, "dtype")->place, EINVAL,
                           "dtype is \"%.40s\", expected fp16 or fp32.", type);
    draft->a.to = strcmp(type, "fp16") == 0 ? CC_FP16 : CC_FP32;
    draft->alias = mil->graph->value[draft->input[0]].type == draft->a.to;
    return 0;
}

static int take_identity(struct cc_mil *mil, struct cc_mil_call *call, struct draft *draft)
{
    draft->alias = true;
    return operand(mil, call, "x", draft);
}

/* Another name for a value: it needs no operation. */
static int build_alias(struct cc_mil *mil, struct cc_mil_call *call, uint32_t value)
{
    const struct cc_value *source = &mil->graph->value[value];
    struct cc_mil_type type = {.scalar = (enum cc_mil_scalar)source->type, .rank = source->rank};
    struct cc_mil_symbol *symbol;
    int status;

    memcpy(type.dim, source->dim, sizeof(type.dim));
    if (!cc_mil_type_equal(&type, &call->type))
        return cc_mil_fail(mil, &call->operation, EINVAL, "%.*s `%.*s`: it gives %s, but %s is declared.",
                           (int)call->operation.length, call->operation.text,
                           (int)call->result.length > 64 ? 64 : (int)call->result.length, call->result.text,
                           cc_mil_type_text(&type).text, cc_mil_type_text(&call->type).text);
    if ((status = cc_mil_define(mil, &call->result, &symbol)) == 0)
        symbol->value = value + 1;
    return status;
}

static int build_op(struct cc_mil *mil, struct cc_mil_call *call, const struct draft *draft)
{
    char *name = call->name ? base_strdup(call->name) : cc_mil_token_copy(&call->result);
    struct cc_mil_symbol *symbol;
    struct cc_op *op;
    uint32_t value;
    int status;

    if (!name)
        return cc_mil_no_memory(mil);
    if ((status = cc_mil_add_value(mil, &call->result, &call->type, &value)) == 0)
        status = cc_mil_add_op(mil, draft->kind, name, &call->operation, &op);
    base_free(name);
    if (status)
        return status;
    op->inputs = draft->inputs;
    memcpy(op->input, draft->input, sizeof(op->input));
    op->a = draft->a;
    op->output = value;
    if ((status = cc_op_check(mil->graph, op, mil->error)) ||
        (status = cc_mil_define(mil, &call->result, &symbol)))
        return status;
    symbol->value = value + 1;
    return 0;
}

int cc_mil_op_build(struct cc_mil *mil, struct cc_mil_call *call)
{
    const struct operation *operation = operation_of(&call->operation);
    struct draft draft = {.kind = operation->kind};
    struct base_error limit;
    int status;

    if (call->type.scalar != CC_MIL_FP16 && call->type.scalar != CC_MIL_FP32)
        return cc_mil_fail(mil, &call->type_at, EINVAL, "%s is declared to give %s, expected fp16 or fp32.",
                           operation->name, cc_mil_type_text(&call->type).text);
    if (cc_shape_check((enum cc_type)call->type.scalar, call->type.rank, call->type.dim, false, &limit))
        return cc_mil_fail(mil, &call->type_at, EINVAL, "%.400s.", limit.text);
    if ((status = check_arguments(mil, call, operation)) || (status = operation->take(mil, call, &draft)))
        return status;
    return draft.alias ? build_alias(mil, call, draft.input[0]) : build_op(mil, call, &draft);
}
