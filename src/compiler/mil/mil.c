/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MIL text into a graph:
 *
 *     program(1.3) [attributes] {
 *         func NAME<opset>(TYPE name, ...) [attributes] { statements } -> (name, ...);
 *     }
 *
 * A statement is `TYPE name = operation(argument = name or constant, ...)[name = string("..."), ...];`.
 */
#include "compiler/mil/mil.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

/* Everything up to a `,` or the `]` of the attribute list, brackets balanced. */
static int skip_value(struct cc_mil *mil)
{
    static const char opening[] = "([{<", closing[] = ")]}>";
    char open[CC_MIL_NESTING_MAX];
    unsigned depth = 0;

    for (;;) {
        const struct cc_mil_token *token = &mil->token;
        char mark = token->kind == CC_MIL_MARK ? token->text[0] : '\0';
        const char *opens = mark ? strchr(opening, mark) : NULL,
                   *closes = mark ? strchr(closing, mark) : NULL;
        int status;

        if (depth == 0 && (mark == ',' || mark == ']'))
            return 0;
        if (token->kind == CC_MIL_END || (closes && (depth == 0 || mark != open[depth - 1])))
            return cc_mil_expected(mil, "the end of an attribute's value");
        if (opens && depth == CC_MIL_NESTING_MAX)
            return cc_mil_fail(mil, token, EINVAL, "brackets nest deeper than %u.", CC_MIL_NESTING_MAX);
        if (opens)
            open[depth++] = closing[opens - opening];
        else if (closes)
            depth--;
        if ((status = cc_mil_advance(mil)))
            return status;
    }
}

/* `name = string("...")` of a call */
static int read_name_attribute(struct cc_mil *mil, struct cc_mil_call *call)
{
    struct cc_mil_token at = mil->token;
    struct cc_mil_literal literal = {.data = NULL};
    int status = cc_mil_read_constant(mil, &literal);

    if (status == 0 && literal.type.scalar != CC_MIL_TEXT)
        status = cc_mil_fail(mil, &at, EINVAL, "attribute name is %s, expected string.",
                             cc_mil_type_text(&literal.type).text);
    if (status == 0 && call->name)
        status = cc_mil_fail(mil, &at, EINVAL, "attribute name is given twice.");
    if (status) {
        base_free(literal.data);
        return status;
    }
    call->name = literal.data;
    return 0;
}

int cc_mil_read_attributes(struct cc_mil *mil, struct cc_mil_call *call)
{
    struct cc_mil_token name;
    int status = 0;

    while (status == 0 && cc_mil_is(mil, '[')) {
        status = cc_mil_advance(mil);
        for (bool first = true; status == 0 && !cc_mil_is(mil, ']'); first = false) {
            if ((!first && (status = cc_mil_take(mil, ','))) ||
                (status = cc_mil_take_name(mil, "an attribute's name", &name)) ||
                (status = cc_mil_take(mil, '=')))
                return status;
            if (call && name.length == 4 && memcmp(name.text, "name", 4) == 0) {
                status = read_name_attribute(mil, call);
            } else if (call && name.length == 3 && memcmp(name.text, "val", 3) == 0) {
                if (call->has_val)
                    return cc_mil_fail(mil, &name, EINVAL, "attribute val is given twice.");
                status = cc_mil_read_constant(mil, &call->val);
                call->has_val = status == 0;
            } else {
                status = skip_value(mil);
            }
        }
        if (status == 0)
            status = cc_mil_take(mil, ']');
    }
    return status;
}

static int undefined(struct cc_mil *mil, const struct cc_mil_token *name)
{
    return cc_mil_fail(mil, name, EINVAL, "nothing before this line is called `%.*s`.",
                       name->length > 64 ? 64 : (int)name->length, name->text);
}

/* `(a, b)`: names of values */
static int read_list(struct cc_mil *mil, struct cc_mil_argument *argument)
{
    int status = cc_mil_take(mil, '(');

    while (status == 0) {
        struct cc_mil_token name = mil->token;
        const struct cc_mil_symbol *symbol;

        if ((status = cc_mil_take_name(mil, "the name of a value", &name)))
            return status;
        if (argument->items == CC_INPUTS_MAX)
            return cc_mil_fail(mil, &name, EINVAL, "a list has more than %u values.", CC_INPUTS_MAX);
        if (!(symbol = cc_mil_find(mil, &name)))
            return undefined(mil, &name);
        argument->item[argument->items++] = (uint32_t)(symbol - mil->symbol) + 1;
        if (!cc_mil_is(mil, ','))
            return cc_mil_take(mil, ')');
        status = cc_mil_advance(mil);
    }
    return status;
}

static int read_argument(struct cc_mil *mil, struct cc_mil_call *call)
{
    struct cc_mil_argument *argument = &call->argument[call->arguments];
    const struct cc_mil_symbol *symbol;
    int status;

    if (call->arguments == CC_MIL_ARGUMENTS_MAX)
        return cc_mil_fail(mil, &mil->token, EINVAL, "a call has more than %u arguments.",
                           CC_MIL_ARGUMENTS_MAX);
    *argument = (struct cc_mil_argument){.symbol = 0};
    if ((status = cc_mil_take_name(mil, "an argument's name", &argument->name)))
        return status;
    for (unsigned i = 0; i < call->arguments; i++)
        if (call->argument[i].name.length == argument->name.length &&
            memcmp(call->argument[i].name.text, argument->name.text, argument->name.length) == 0)
            return cc_mil_fail(mil, &argument->name, EINVAL, "argument `%.*s` is given twice.",
                               (int)argument->name.length, argument->name.text);
    if ((status = cc_mil_take(mil, '=')))
        return status;
    argument->place = mil->token;
    if (cc_mil_is(mil, '(')) {
        call->arguments++;
        return read_list(mil, argument);
    }
    if (mil->token.kind != CC_MIL_NAME)
        return cc_mil_expected(mil, "the name of a value, or a typed constant");
    symbol = cc_mil_find(mil, &mil->token);
    if (symbol) {
        argument->symbol = (uint32_t)(symbol - mil->symbol) + 1;
        call->arguments++;
        return cc_mil_advance(mil);
    }
    /* a type's name is followed by its shape or value; anything else is a name that nothing defined */
    if ((status = cc_mil_advance(mil)))
        return status;
    if (!cc_mil_is(mil, '<') && !cc_mil_is(mil, '('))
        return undefined(mil, &argument->place);
    mil->at = (size_t)(argument->place.text - mil->text);
    mil->line = argument->place.line;
    mil->column = argument->place.column;
    if ((status = cc_mil_advance(mil)) || (status = cc_mil_read_constant(mil, &argument->constant.literal)))
        return status;
    argument->constant.constant = true;
    call->arguments++;
    return 0;
}

static int read_arguments(struct cc_mil *mil, struct cc_mil_call *call)
{
    int status = cc_mil_take(mil, '(');

    while (status == 0 && !cc_mil_is(mil, ')')) {
        if (call->arguments && (status = cc_mil_take(mil, ',')))
            return status;
        status = read_argument(mil, call);
    }
    return status ? status : cc_mil_take(mil, ')');
}

/* A constant is a name and bytes until an operation takes it as an operand. */
static int build_const(struct cc_mil *mil, struct cc_mil_call *call)
{
    struct cc_mil_literal *from = &call->val;
    struct cc_mil_symbol *symbol;
    int status;

    for (unsigned i = 0; !call->has_val && i < call->arguments; i++) {
        if (call->argument[i].name.length == 3 && memcmp(call->argument[i].name.text, "val", 3) == 0 &&
            !call->argument[i].symbol && !call->argument[i].items) {
            from = &call->argument[i].constant.literal;
            call->has_val = true;
        }
    }
    if (!call->has_val)
        return cc_mil_fail(mil, &call->operation, EINVAL,
                           "const `%.*s` has no attribute `val`, which it needs.",
                           call->result.length > 64 ? 64 : (int)call->result.length, call->result.text);
    if (!cc_mil_type_equal(&from->type, &call->type))
        return cc_mil_fail(mil, &call->operation, EINVAL,
                           "const `%.*s`: its value is %s, but %s is declared.",
                           call->result.length > 64 ? 64 : (int)call->result.length, call->result.text,
                           cc_mil_type_text(&from->type).text, cc_mil_type_text(&call->type).text);
    if ((status = cc_mil_define(mil, &call->result, &symbol)))
        return status;
    symbol->literal = *from;
    symbol->constant = true;
    from->data = NULL;
    return 0;
}

static void release_call(struct cc_mil_call *call)
{
    for (unsigned i = 0; i < call->arguments; i++)
        base_free(call->argument[i].constant.literal.data);
    base_free(call->val.data);
    base_free(call->name);
}

/* `type name, type name, ... =` */
static int read_results(struct cc_mil *mil, struct cc_mil_call *call)
{
    int status;

    do {
        struct cc_mil_result *result = &call->each[call->results];

        if (call->results && (status = cc_mil_advance(mil)))
            return status;
        if (call->results == CC_MIL_RESULTS_MAX)
            return cc_mil_fail(mil, &mil->token, EINVAL, "a call has more than %u results.",
                               CC_MIL_RESULTS_MAX);
        result->type_at = mil->token;
        if ((status = cc_mil_read_type(mil, &result->type)) ||
            (status = cc_mil_take_name(mil, "the name of the result", &result->name)))
            return status;
        call->results++;
    } while (cc_mil_is(mil, ','));
    call->type = call->each[0].type;
    call->type_at = call->each[0].type_at;
    call->result = call->each[0].name;
    return cc_mil_take(mil, '=');
}

static bool is_const(const struct cc_mil_call *call)
{
    return call->operation.length == 5 && memcmp(call->operation.text, "const", 5) == 0;
}

static int read_call(struct cc_mil *mil, struct cc_mil_call *call)
{
    int status;

    /* A write has no result: its name is where a type would be. */
    if (cc_mil_op_has_state(&mil->token))
        return cc_mil_op_refuse_state(mil, &mil->token);
    if ((status = read_results(mil, call)) ||
        (status = cc_mil_take_name(mil, "an operation", &call->operation)))
        return status;
    if (cc_mil_op_has_state(&call->operation))
        return cc_mil_op_refuse_state(mil, &call->operation);
    if (!cc_mil_op_known(&call->operation))
        return cc_mil_op_unknown(mil, &call->operation);
    for (unsigned i = 0; i < call->results && !is_const(call); i++)
        if ((status = cc_mil_check_rank(mil, &call->each[i].type_at, &call->each[i].type)))
            return status;
    if (call->results > 1 && !cc_mil_op_splits(&call->operation))
        return cc_mil_fail(mil, &call->result, EINVAL, "%.*s gives one result, expected one name before `=`.",
                           (int)call->operation.length, call->operation.text);
    if ((status = read_arguments(mil, call)) || (status = cc_mil_read_attributes(mil, call)))
        return status;
    if (cc_mil_op_has_blocks(&call->operation) && (status = cc_mil_control_read(mil, call)))
        return status;
    return cc_mil_take(mil, ';');
}

int cc_mil_read_statement(struct cc_mil *mil)
{
    struct cc_mil_call call = {.arguments = 0};
    int status = read_call(mil, &call);

    if (status == 0 && is_const(&call))
        status = build_const(mil, &call);
    else if (status == 0)
        status = cc_mil_op_has_blocks(&call.operation) ? cc_mil_control_build(mil, &call)
                                                       : cc_mil_op_build(mil, &call);
    mil->origin = 0;
    release_call(&call);
    return status;
}

static int read_input(struct cc_mil *mil)
{
    struct cc_mil_token type_at = mil->token, name;
    struct cc_mil_symbol *symbol;
    struct cc_mil_type type;
    struct base_error limit;
    struct cc_op *op;
    uint32_t value;
    int status;

    if (cc_mil_is_name(mil, "state"))
        return cc_mil_fail(
            mil, &mil->token, EOPNOTSUPP,
            "a `state` input is read with `read_state`, whose data-movement form is not supported "
            "on this architecture; give the state as an input and as an output, and bind both to "
            "one buffer.");
    if ((status = cc_mil_read_type(mil, &type)) || (status = cc_mil_check_rank(mil, &type_at, &type)) ||
        (status = cc_mil_take_name(mil, "the name of an input", &name)))
        return status;
    if ((type.scalar != CC_MIL_FP16 && type.scalar != CC_MIL_FP32) || type.rank == 0)
        return cc_mil_fail(mil, &type_at, EINVAL,
                           "an input is %s, expected a tensor of fp16 or fp32 with 1 to %u axes.",
                           cc_mil_type_text(&type).text, CC_RANK_MAX);
    if (cc_shape_check((enum cc_type)type.scalar, type.rank, type.dim, false, &limit))
        return cc_mil_fail(mil, &type_at, EINVAL, "%.400s.", limit.text);
    if (mil->graph->inputs == CC_MIL_PORTS_MAX)
        return cc_mil_fail(mil, &type_at, EINVAL, "a function has more than %u inputs.", CC_MIL_PORTS_MAX);
    if ((status = cc_mil_define(mil, &name, &symbol)) ||
        (status = cc_mil_add_value(mil, &name, &type, &value)) ||
        (status = cc_mil_add_op(mil, CC_OP_INPUT, mil->graph->value[value].name, &name, &op)))
        return status;
    op->output = value;
    symbol->value = value + 1;
    return cc_graph_add_input(mil->graph, value) ? cc_mil_no_memory(mil) : 0;
}

static bool is_output(const struct cc_graph *graph, uint32_t value)
{
    for (uint32_t i = 0; i < graph->outputs; i++)
        if (graph->output[i] == value)
            return true;
    return false;
}

/* The output `name` is a value that must keep its own: a copy carries the name. */
static int copy_output(struct cc_mil *mil, const struct cc_mil_token *name, uint32_t *value)
{
    const struct cc_value *source = &mil->graph->value[*value];
    struct cc_mil_type type = {.scalar = (enum cc_mil_scalar)source->type, .rank = source->rank};
    struct cc_op *op;
    uint32_t copy;
    int status;

    memcpy(type.dim, source->dim, sizeof(source->dim));
    if ((status = cc_mil_add_value(mil, name, &type, &copy)) ||
        (status = cc_mil_add_op(mil, CC_OP_CAST, mil->graph->value[copy].name, name, &op)))
        return status;
    op->inputs = 1;
    op->input[0] = *value;
    op->output = copy;
    op->a.to = (enum cc_type)type.scalar;
    *value = copy;
    return 0;
}

/* Inputs come first, so a value below their number is one. */
static int name_output(struct cc_mil *mil, const struct cc_mil_token *name, uint32_t *value)
{
    struct cc_value *source = &mil->graph->value[*value];
    bool own = strlen(source->name) == name->length && memcmp(source->name, name->text, name->length) == 0;
    char *renamed;

    if (own && is_output(mil->graph, *value))
        return cc_mil_fail(mil, name, EINVAL, "output `%s` is listed twice.", source->name);
    if (own && *value < mil->graph->inputs)
        return cc_mil_fail(mil, name, EINVAL,
                           "output `%s` is an input, expected a name of its own: identity gives it one.",
                           source->name);
    if (own)
        return 0;
    if (*value < mil->graph->inputs || is_output(mil->graph, *value))
        return copy_output(mil, name, value);
    renamed = cc_mil_token_copy(name);
    if (!renamed)
        return cc_mil_no_memory(mil);
    base_free(source->name);
    source->name = renamed;
    return 0;
}

static int read_output(struct cc_mil *mil)
{
    const struct cc_mil_symbol *symbol;
    struct cc_mil_token name;
    uint32_t value;
    int shown, status = cc_mil_take_name(mil, "the name of an output", &name);

    if (status)
        return status;
    shown = name.length > 64 ? 64 : (int)name.length;
    symbol = cc_mil_find(mil, &name);
    if (!symbol)
        return cc_mil_fail(mil, &name, EINVAL, "output `%.*s` is not defined in the function.", shown,
                           name.text);
    if (!symbol->folded && (symbol->constant || mil->graph->value[symbol->value - 1].data))
        return cc_mil_fail(mil, &name, EINVAL,
                           "output `%.*s` is a constant, expected the result of an operation.", shown,
                           name.text);
    if (mil->graph->outputs == CC_MIL_PORTS_MAX)
        return cc_mil_fail(mil, &name, EINVAL, "a function has more than %u outputs.", CC_MIL_PORTS_MAX);
    value = symbol->value - 1;
    /* Integers that are computed are the host's. */
    if (mil->graph->value[value].type == CC_BOOL ||
        (mil->graph->value[value].type == CC_INT32 && mil->graph->value[value].data))
        return cc_mil_fail(mil, &name, EINVAL,
                           "output `%.*s` is %s, expected fp16 or fp32: a cast converts %s.", shown,
                           name.text, cc_type_name(mil->graph->value[value].type),
                           mil->graph->value[value].type == CC_BOOL ? "it to 0 and 1" : "constants");
    if ((status = name_output(mil, &name, &value)))
        return status;
    return cc_graph_add_output(mil->graph, value) ? cc_mil_no_memory(mil) : 0;
}

/* ( item, item, ... ) with at least one */
static int read_ports(struct cc_mil *mil, int (*read)(struct cc_mil *mil))
{
    int status = cc_mil_take(mil, '(');

    if (status || (status = read(mil)))
        return status;
    while (cc_mil_is(mil, ','))
        if ((status = cc_mil_advance(mil)) || (status = read(mil)))
            return status;
    return cc_mil_take(mil, ')');
}

static int read_header(struct cc_mil *mil)
{
    struct cc_mil_token version;
    int status;

    if (!cc_mil_is_name(mil, "program"))
        return cc_mil_expected(mil, "`program(1.3)`");
    if ((status = cc_mil_advance(mil)) || (status = cc_mil_take(mil, '(')))
        return status;
    version = mil->token;
    if (version.length != 3 || memcmp(version.text, "1.", 2) != 0 || version.text[2] < '0' ||
        version.text[2] > '3')
        return cc_mil_expected(mil, "a version from 1.0 to 1.3");
    if ((status = cc_mil_advance(mil)) || (status = cc_mil_take(mil, ')')) ||
        (status = cc_mil_read_attributes(mil, NULL)))
        return status;
    return cc_mil_take(mil, '{');
}

static int read_function(struct cc_mil *mil)
{
    struct cc_mil_token name, opset;
    int status;

    if (!cc_mil_is_name(mil, "func"))
        return cc_mil_expected(mil, "`func`");
    if ((status = cc_mil_advance(mil)) || (status = cc_mil_take_name(mil, "the name of the function", &name)))
        return status;
    mil->graph->function = cc_mil_token_copy(&name);
    if (!mil->graph->function)
        return cc_mil_no_memory(mil);
    if (cc_mil_is(mil, '<') &&
        ((status = cc_mil_advance(mil)) || (status = cc_mil_take_name(mil, "an opset", &opset)) ||
         (status = cc_mil_take(mil, '>'))))
        return status;
    if ((status = read_ports(mil, read_input)) || (status = cc_mil_read_attributes(mil, NULL)) ||
        (status = cc_mil_take(mil, '{')))
        return status;
    while (!cc_mil_is(mil, '}'))
        if ((status = cc_mil_read_statement(mil)))
            return status;
    if ((status = cc_mil_advance(mil)))
        return status;
    if (mil->token.kind != CC_MIL_ARROW)
        return cc_mil_expected(mil, "`-> (outputs);`");
    if ((status = cc_mil_advance(mil)) || (status = read_ports(mil, read_output)))
        return status;
    return cc_mil_is(mil, ';') ? cc_mil_advance(mil) : 0;
}

static int read_program(struct cc_mil *mil)
{
    struct cc_mil_token name;
    int status;

    if ((status = cc_mil_advance(mil)) || (status = read_header(mil)) || (status = read_function(mil)))
        return status;
    if (cc_mil_is_name(mil, "func")) {
        if ((status = cc_mil_advance(mil)) ||
            (status = cc_mil_take_name(mil, "the name of the function", &name)))
            return status;
        return cc_mil_fail(
            mil, &name, EOPNOTSUPP,
            "found a second function `%.*s` after `%.64s`, expected one function in a program.",
            name.length > 64 ? 64 : (int)name.length, name.text, mil->graph->function);
    }
    if ((status = cc_mil_take(mil, '}')))
        return status;
    if (mil->token.kind != CC_MIL_END)
        return cc_mil_expected(mil, "the end of the text");
    return cc_graph_check(mil->graph, mil->error);
}

int cc_mil_read(const char *text, size_t length, const char *folder, struct cc_graph **graph,
                struct base_error *error)
{
    struct cc_mil mil = {
        .text = text, .length = length, .line = 1, .column = 1, .folder = folder, .error = error};
    int status;

    *graph = NULL;
    if (length > CC_MIL_TEXT_MAX)
        return base_fail(error, EFBIG, "The text has %zu bytes, limit %u.", length, CC_MIL_TEXT_MAX);
    mil.graph = cc_graph_create();
    if (!mil.graph)
        return base_fail(error, ENOMEM, "There is no memory for a graph.");
    status = read_program(&mil);
    cc_mil_names_release(&mil);
    if (status) {
        cc_graph_destroy(mil.graph);
        return status;
    }
    *graph = mil.graph;
    return 0;
}
