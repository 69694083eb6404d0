/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arguments of a call: values of the graph, and constants of the type and size that an operation expects.
 * An argument that is not given leaves the caller's default unchanged; whether it may be absent is decided by
 * the caller with cc_mil_need. Numbers are checked for their range here, axes also for being given once.
 */
#include "compiler/mil/op.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "protocol/half.h"

struct cc_mil_argument *cc_mil_given(struct cc_mil_call *call, const char *name)
{
    for (unsigned i = 0; i < call->arguments; i++)
        if (call->argument[i].name.length == strlen(name) &&
            memcmp(call->argument[i].name.text, name, strlen(name)) == 0)
            return &call->argument[i];
    return NULL;
}

int cc_mil_need(struct cc_mil *mil, struct cc_mil_call *call, const char *name)
{
    if (cc_mil_given(call, name))
        return 0;
    return cc_mil_fail(mil, &call->operation, EINVAL, "%.*s has no argument `%s`, which it needs.",
                       (int)call->operation.length, call->operation.text, name);
}

int cc_mil_wrong(struct cc_mil *mil, struct cc_mil_call *call, const char *name, int code, const char *format,
                 ...)
{
    struct cc_mil_argument *given = cc_mil_given(call, name);
    int shown = call->result.length > 64 ? 64 : (int)call->result.length;
    char text[320];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return cc_mil_fail(mil, given ? &given->place : &call->operation, code, "%.*s `%.*s`: %s %s.",
                       (int)call->operation.length, call->operation.text, call->name ? 64 : shown,
                       call->name ? call->name : call->result.text, name, text);
}

static struct cc_mil_symbol *symbol_of(struct cc_mil *mil, struct cc_mil_argument *given)
{
    return given->symbol ? &mil->symbol[given->symbol - 1] : &given->constant;
}

int cc_mil_tensor(struct cc_mil *mil, struct cc_mil_call *call, const char *name, uint32_t *value)
{
    struct cc_mil_argument *given = cc_mil_given(call, name);
    char constant[2 * CC_MIL_NAME_MAX + 2];
    struct cc_mil_symbol *symbol;
    int status;

    *value = 0;
    if (!given)
        return 0;
    if (given->items)
        return cc_mil_wrong(mil, call, name, EINVAL, "is a list of values, expected one");
    symbol = symbol_of(mil, given);
    if (given->symbol)
        snprintf(constant, sizeof(constant), "%.*s", (int)symbol->length, symbol->name);
    else
        snprintf(constant, sizeof(constant), "%.*s.%s", (int)call->result.length, call->result.text, name);
    status = cc_mil_value(mil, symbol, constant, &given->place, value);
    *value += status == 0;
    return status;
}

int cc_mil_operand(struct cc_mil *mil, struct cc_mil_call *call, const char *name, struct cc_mil_draft *draft)
{
    uint32_t value;
    int status = cc_mil_need(mil, call, name);

    if (status || (status = cc_mil_tensor(mil, call, name, &value)))
        return status;
    draft->input[draft->inputs++] = value - 1;
    return 0;
}

int cc_mil_operands(struct cc_mil *mil, struct cc_mil_call *call, const char *name,
                    struct cc_mil_draft *draft)
{
    const struct cc_mil_argument *given;
    int status = cc_mil_need(mil, call, name);

    if (status)
        return status;
    given = cc_mil_given(call, name);
    if (!given->items)
        return cc_mil_wrong(mil, call, name, EINVAL, "is one value, expected a list: (a, b)");
    for (unsigned i = 0; i < given->items; i++) {
        struct cc_mil_symbol *symbol = &mil->symbol[given->item[i] - 1];
        char constant[CC_MIL_NAME_MAX + 1];

        snprintf(constant, sizeof(constant), "%.*s", (int)symbol->length, symbol->name);
        status = cc_mil_value(mil, symbol, constant, &given->place, &draft->input[draft->inputs]);
        if (status)
            return status;
        draft->inputs++;
    }
    return 0;
}

const struct cc_value *cc_mil_first(const struct cc_mil *mil, const struct cc_mil_draft *draft)
{
    return &mil->graph->value[draft->input[0]];
}

/* The constant of an argument; NULL when it is not given. */
static int constant_of(struct cc_mil *mil, struct cc_mil_call *call, const char *name,
                       struct cc_mil_symbol **constant)
{
    struct cc_mil_argument *given = cc_mil_given(call, name);

    *constant = NULL;
    if (!given)
        return 0;
    if (given->items)
        return cc_mil_wrong(mil, call, name, EINVAL, "is a list of values, expected a constant");
    *constant = symbol_of(mil, given);
    if (!(*constant)->constant)
        return cc_mil_wrong(mil, call, name, EINVAL, "is a tensor computed at run time, expected a constant");
    return 0;
}

/* Where a constant's elements are: in the graph when it has become a value. */
static void *data_of(const struct cc_mil *mil, const struct cc_mil_symbol *symbol)
{
    return symbol->value ? mil->graph->value[symbol->value - 1].data : symbol->literal.data;
}

int cc_mil_constant(struct cc_mil *mil, struct cc_mil_call *call, const char *name,
                    struct cc_mil_literal *literal)
{
    struct cc_mil_symbol *symbol;
    int status = constant_of(mil, call, name, &symbol);

    *literal = (struct cc_mil_literal){.data = NULL};
    if (status || !symbol)
        return status;
    literal->type = symbol->literal.type;
    literal->data = data_of(mil, symbol);
    return 0;
}

/* A constant of this type; its data is NULL when it is not given. */
static int parameter(struct cc_mil *mil, struct cc_mil_call *call, const char *name,
                     enum cc_mil_scalar scalar, struct cc_mil_literal *literal)
{
    static const char *const names[] = {"fp16", "fp32", "int32", "bool", "string", "uint64"};
    int status = cc_mil_constant(mil, call, name, literal);

    if (status || !literal->data)
        return status;
    if (literal->type.scalar != scalar)
        return cc_mil_wrong(mil, call, name, EINVAL, "is %s, expected a constant of %s",
                            cc_mil_type_text(&literal->type).text, names[scalar]);
    return 0;
}

int cc_mil_bool(struct cc_mil *mil, struct cc_mil_call *call, const char *name, bool *value)
{
    struct cc_mil_literal literal;
    int status = parameter(mil, call, name, CC_MIL_BOOL, &literal);

    if (status || !literal.data)
        return status;
    if (literal.type.rank)
        return cc_mil_wrong(mil, call, name, EINVAL, "is %s, expected bool",
                            cc_mil_type_text(&literal.type).text);
    *value = *(const uint8_t *)literal.data != 0;
    return 0;
}

int cc_mil_string(struct cc_mil *mil, struct cc_mil_call *call, const char *name, const char **value)
{
    struct cc_mil_literal literal;
    int status = parameter(mil, call, name, CC_MIL_TEXT, &literal);

    if (status == 0 && literal.data)
        *value = literal.data;
    return status;
}

int cc_mil_float(struct cc_mil *mil, struct cc_mil_call *call, const char *name, float *value)
{
    struct cc_mil_symbol *symbol;
    const void *data;
    uint16_t half;
    uint32_t bits;
    int status = constant_of(mil, call, name, &symbol);

    if (status || !symbol)
        return status;
    if (symbol->literal.type.scalar > CC_MIL_FP32 || symbol->literal.type.rank)
        return cc_mil_wrong(mil, call, name, EINVAL, "is %s, expected one constant of fp16 or fp32",
                            cc_mil_type_text(&symbol->literal.type).text);
    data = data_of(mil, symbol);
    memcpy(&half, data, sizeof(half));
    bits = pr_single_of_half(half);
    memcpy(value, symbol->literal.type.scalar == CC_MIL_FP16 ? (const void *)&bits : data, sizeof(*value));
    return 0;
}

int cc_mil_list(struct cc_mil *mil, struct cc_mil_call *call, const char *name, const int32_t **values,
                uint32_t *count)
{
    struct cc_mil_literal literal;
    int status = parameter(mil, call, name, CC_MIL_INT32, &literal);

    *values = NULL;
    *count = 0;
    if (status || !literal.data)
        return status;
    if (literal.type.rank > 1)
        return cc_mil_wrong(mil, call, name, EINVAL, "is %s, expected one list of int32",
                            cc_mil_type_text(&literal.type).text);
    *values = literal.data;
    *count = literal.type.rank ? literal.type.dim[0] : 1;
    return 0;
}

int cc_mil_ints(struct cc_mil *mil, struct cc_mil_call *call, const char *name, uint32_t count, int32_t low,
                int32_t high, uint32_t *values)
{
    struct cc_mil_literal literal;
    const int32_t *word;
    int status = parameter(mil, call, name, CC_MIL_INT32, &literal);

    if (status || !literal.data)
        return status;
    if (literal.type.rank > 1 || (literal.type.rank ? literal.type.dim[0] : 1) != count)
        return cc_mil_wrong(mil, call, name, EINVAL, "is %s, expected %u number%s of int32",
                            cc_mil_type_text(&literal.type).text, count, count == 1 ? "" : "s");
    word = literal.data;
    for (uint32_t i = 0; i < count; i++) {
        if (word[i] < low || word[i] > high)
            return cc_mil_wrong(mil, call, name, ERANGE, "has %" PRId32 ", expected %" PRId32 " to %" PRId32,
                                word[i], low, high);
        values[i] = (uint32_t)word[i];
    }
    return 0;
}

int cc_mil_mask(struct cc_mil *mil, struct cc_mil_call *call, const char *name, uint32_t count,
                uint32_t *mask)
{
    struct cc_mil_literal literal;
    const uint8_t *boolean;
    int status = parameter(mil, call, name, CC_MIL_BOOL, &literal);

    *mask = 0;
    if (status || !literal.data)
        return status;
    if (literal.type.rank != 1 || literal.type.dim[0] != count)
        return cc_mil_wrong(mil, call, name, EINVAL, "is %s, expected %u of bool",
                            cc_mil_type_text(&literal.type).text, count);
    boolean = literal.data;
    for (uint32_t i = 0; i < count; i++)
        *mask |= (uint32_t)(boolean[i] != 0) << i;
    return 0;
}

static int resolve(struct cc_mil *mil, struct cc_mil_call *call, const char *name, uint32_t rank,
                   int32_t axis, uint32_t *place)
{
    int64_t from_front = axis < 0 ? (int64_t)axis + rank : axis;

    if (from_front < 0 || from_front >= rank)
        return cc_mil_wrong(mil, call, name, ERANGE, "has %" PRId32 ", expected -%u to %d", axis, rank,
                            (int)rank - 1);
    *place = (uint32_t)from_front;
    return 0;
}

int cc_mil_axis(struct cc_mil *mil, struct cc_mil_call *call, const char *name, uint32_t rank, uint32_t *axis)
{
    struct cc_mil_literal literal;
    int status = cc_mil_need(mil, call, name);

    if (status || (status = parameter(mil, call, name, CC_MIL_INT32, &literal)) || !literal.data)
        return status;
    if (literal.type.rank)
        return cc_mil_wrong(mil, call, name, EINVAL, "is %s, expected one int32",
                            cc_mil_type_text(&literal.type).text);
    return resolve(mil, call, name, rank, *(const int32_t *)literal.data, axis);
}

int cc_mil_axes(struct cc_mil *mil, struct cc_mil_call *call, const char *name, uint32_t rank, uint32_t *axes)
{
    const int32_t *axis;
    uint32_t count, place = 0, mask = 0;
    int status = cc_mil_list(mil, call, name, &axis, &count);

    if (status || !count)
        return status;
    for (uint32_t i = 0; i < count; i++) {
        if ((status = resolve(mil, call, name, rank, axis[i], &place)))
            return status;
        if (mask >> place & 1)
            return cc_mil_wrong(mil, call, name, EINVAL, "has axis %u twice", place);
        mask |= 1u << place;
    }
    *axes = mask;
    return 0;
}

int cc_mil_number(struct cc_mil *mil, struct cc_mil_call *call, const char *name, float *value)
{
    struct cc_mil_argument *given = cc_mil_given(call, name);
    const struct cc_mil_symbol *symbol;
    const int32_t *list;
    uint32_t count;
    int status;

    if (!given || given->items)
        return cc_mil_float(mil, call, name, value);
    symbol = given->symbol ? &mil->symbol[given->symbol - 1] : &given->constant;
    if (symbol->literal.type.scalar != CC_MIL_INT32)
        return cc_mil_float(mil, call, name, value);
    status = cc_mil_list(mil, call, name, &list, &count);
    if (!status && count == 1)
        *value = (float)list[0];
    return status;
}
