/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cond and while_loop. The blocks behind such a call are passed over when it is read; when it is built, the
 * reader returns to the block that is taken, as often as it is taken, with names of its own each time. The
 * condition is a constant by then, or the call is refused: the engine has no branches. A block is
 *
 *     name(TYPE name, ...) { statements } -> (name, ...)
 *
 * where the name, and the inputs and their types, may be absent.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "compiler/mil/op.h"

enum { BLOCK_TRUE, BLOCK_FALSE };            /* of cond */
enum { BLOCK_CONDITION, BLOCK_BODY };        /* of while_loop */
enum { VARIABLES_MAX = CC_MIL_RESULTS_MAX }; /* of a loop, or results of a block */

/* What goes into a block, and what comes out of it: values of the graph. */
struct variables {
    unsigned count;
    uint32_t value[VARIABLES_MAX];
};

static struct cc_mil_place place_of(const struct cc_mil *mil)
{
    return (struct cc_mil_place){mil->at, mil->line, mil->column, mil->token};
}

static void go_to(struct cc_mil *mil, const struct cc_mil_place *place)
{
    mil->at = place->at;
    mil->line = place->line;
    mil->column = place->column;
    mil->token = place->token;
}

static int refuse(struct cc_mil *mil, const struct cc_mil_call *call, int code, const char *why)
{
    int shown = call->result.length > 64 ? 64 : (int)call->result.length;

    return cc_mil_fail(mil, &call->operation, code, "%.*s `%.*s`: %s.", (int)call->operation.length,
                       call->operation.text, call->name ? 64 : shown,
                       call->name ? call->name : call->result.text, why);
}

static int refuse_data(struct cc_mil *mil, const struct cc_mil_call *call)
{
    return refuse(mil, call, EOPNOTSUPP,
                  "its condition depends on data at run time: the engine has no branches (data-dependent "
                  "control flow)");
}

/* From the next `open` to the `close` that belongs to it. */
static int pass_over(struct cc_mil *mil, char open, char close)
{
    const char what[] = {'`', open, '`', '\0'};
    unsigned depth = 0;
    int status;

    do {
        if (mil->token.kind == CC_MIL_END || (!depth && cc_mil_is(mil, ';')))
            return cc_mil_expected(mil, what);
        if (cc_mil_is(mil, open))
            depth++;
        if (cc_mil_is(mil, close) && !depth--)
            return cc_mil_expected(mil, what);
        if (cc_mil_is(mil, close) && !depth)
            return cc_mil_advance(mil);
        if ((status = cc_mil_advance(mil)))
            return status;
    } while (1);
}

int cc_mil_control_read(struct cc_mil *mil, struct cc_mil_call *call)
{
    int status = 0;

    for (; call->blocks < CC_MIL_BLOCKS && !status; call->blocks++) {
        struct cc_mil_block *block = &call->block[call->blocks];

        if (call->blocks && cc_mil_is(mil, ',') && (status = cc_mil_advance(mil)))
            return status;
        block->start = place_of(mil);
        if ((status = pass_over(mil, '{', '}')))
            return status;
        if (mil->token.kind != CC_MIL_ARROW)
            return cc_mil_expected(mil, "`-> (results)` of the block");
        if ((status = cc_mil_advance(mil)) || (status = pass_over(mil, '(', ')')))
            return status;
        block->bytes = mil->at - block->start.at;
    }
    return cc_mil_read_attributes(mil, call);
}

/* The next input of a block: `TYPE name`, or the name alone. */
static int read_input(struct cc_mil *mil, uint32_t value)
{
    const struct cc_value *source = &mil->graph->value[value];
    struct cc_mil_type declared, type = {.scalar = (enum cc_mil_scalar)source->type, .rank = source->rank};
    struct cc_mil_place start = place_of(mil);
    struct cc_mil_symbol *symbol;
    struct cc_mil_token name;
    int status = cc_mil_take_name(mil, "an input of the block", &name);

    memcpy(type.dim, source->dim, sizeof(source->dim));
    if (status)
        return status;
    if (!cc_mil_is(mil, ',') && !cc_mil_is(mil, ')')) {
        go_to(mil, &start);
        if ((status = cc_mil_read_type(mil, &declared)) ||
            (status = cc_mil_check_rank(mil, &start.token, &declared)) ||
            (status = cc_mil_take_name(mil, "an input of the block", &name)))
            return status;
        if (!cc_mil_type_equal(&declared, &type))
            return cc_mil_fail(mil, &name, EINVAL, "input `%.*s` of the block is %s, but %s is declared.",
                               name.length > 64 ? 64 : (int)name.length, name.text,
                               cc_mil_type_text(&type).text, cc_mil_type_text(&declared).text);
    }
    if ((status = cc_mil_define(mil, &name, &symbol)))
        return status;
    symbol->value = value + 1;
    symbol->constant = symbol->folded = source->data != NULL;
    symbol->literal.type = type;
    return 0;
}

static int read_inputs(struct cc_mil *mil, const struct cc_mil_call *call, const struct variables *in)
{
    char why[80];
    unsigned count = 0;
    int status = 0;

    if (mil->token.kind == CC_MIL_NAME)
        status = cc_mil_advance(mil);
    if (status || (!in->count && !cc_mil_is(mil, '(')))
        return status;
    for (status = cc_mil_take(mil, '('); !status && !cc_mil_is(mil, ')'); count++) {
        if (count == in->count)
            break;
        if (count && (status = cc_mil_take(mil, ',')))
            return status;
        status = read_input(mil, in->value[count]);
    }
    if (status)
        return status;
    if (count == in->count && cc_mil_is(mil, ')'))
        return cc_mil_advance(mil);
    snprintf(why, sizeof(why), "its block does not have %u inputs, one for each variable of the loop",
             in->count);
    return refuse(mil, call, EINVAL, why);
}

/* `-> (name, ...)`; a constant of the block becomes a value, because its name ends with the block. */
static int read_results(struct cc_mil *mil, const struct cc_mil_call *call, struct variables *out)
{
    char copy[CC_MIL_NAME_MAX + 1];
    int status;

    if ((status = cc_mil_advance(mil)))
        return status;
    do {
        struct cc_mil_symbol *symbol;
        struct cc_mil_token name;

        if ((status = cc_mil_advance(mil)) ||
            (status = cc_mil_take_name(mil, "a result of the block", &name)))
            return status;
        symbol = cc_mil_find(mil, &name);
        if (!symbol)
            return cc_mil_fail(mil, &name, EINVAL, "nothing before this line is called `%.*s`.",
                               name.length > 64 ? 64 : (int)name.length, name.text);
        if (out->count == VARIABLES_MAX)
            return refuse(mil, call, EINVAL, "its block has too many results");
        snprintf(copy, sizeof(copy), "%.*s", (int)name.length, name.text);
        if ((status = cc_mil_value(mil, symbol, copy, &name, &out->value[out->count])))
            return status;
        out->count++;
    } while (cc_mil_is(mil, ','));
    return cc_mil_take(mil, ')');
}

static int read_inside(struct cc_mil *mil, const struct cc_mil_call *call, const struct variables *in,
                       struct variables *out)
{
    int status = read_inputs(mil, call, in);

    if (status || (status = cc_mil_read_attributes(mil, NULL)) || (status = cc_mil_take(mil, '{')))
        return status;
    while (!cc_mil_is(mil, '}'))
        if ((status = cc_mil_read_statement(mil)))
            return status;
    status = cc_mil_advance(mil);
    return status ? status : read_results(mil, call, out);
}

/* Reads a block with these inputs. `round` is part of the names of its nodes. */
static int read_block(struct cc_mil *mil, const struct cc_mil_call *call, unsigned number, const char *round,
                      const struct variables *in, struct variables *out)
{
    const struct cc_mil_block *block = &call->block[number];
    int status, shown = call->result.length > 64 ? 64 : (int)call->result.length;
    char prefix[CC_MIL_PREFIX_BYTES], why[96];
    uint32_t names = mil->symbols;

    *out = (struct variables){0};
    mil->reread += block->bytes;
    if (mil->depth == CC_NESTED_MAX || mil->reread > CC_MIL_REREAD_MAX) {
        if (mil->depth == CC_NESTED_MAX)
            snprintf(why, sizeof(why), "blocks are more than %u deep in each other", CC_NESTED_MAX);
        else
            snprintf(why, sizeof(why), "the text of blocks is read for more than %u bytes, the limit",
                     CC_MIL_REREAD_MAX);
        return refuse(mil, call, EFBIG, why);
    }
    memcpy(prefix, mil->prefix, sizeof(prefix));
    snprintf(mil->prefix, sizeof(mil->prefix), "%.40s%.*s%.16s/", prefix, call->name ? 64 : shown,
             call->name ? call->name : call->result.text, round);
    mil->depth++;
    go_to(mil, &block->start);
    status = read_inside(mil, call, in, out);
    mil->depth--;
    memcpy(mil->prefix, prefix, sizeof(prefix));
    cc_mil_names_forget(mil, names);
    return status;
}

/* Each result of the call is one of the block. */
static int end(struct cc_mil *mil, struct cc_mil_call *call, const struct variables *out)
{
    char why[96];
    int status = 0;

    if (out->count != call->results) {
        snprintf(why, sizeof(why), "it gives %u results, but %u names are before `=`", out->count,
                 call->results);
        return refuse(mil, call, EINVAL, why);
    }
    for (unsigned i = 0; i < out->count && !status; i++)
        status = cc_mil_op_alias(mil, call, i, out->value[i]);
    return status;
}

/* Whether a condition is known, and which it is. */
static bool is_truth(const struct cc_mil *mil, uint32_t value, bool *truth)
{
    const struct cc_value *v = &mil->graph->value[value];

    if (!v->data || v->type != CC_BOOL || cc_value_elements(v) != 1)
        return false;
    *truth = *(const uint8_t *)v->data != 0;
    return true;
}

static int build_cond(struct cc_mil *mil, struct cc_mil_call *call)
{
    const struct variables none = {0};
    struct variables out;
    bool truth = false;
    uint32_t value;
    int status = cc_mil_need(mil, call, "pred");

    if (status || (status = cc_mil_tensor(mil, call, "pred", &value)))
        return status;
    if (!is_truth(mil, value - 1, &truth))
        return refuse_data(mil, call);
    status = read_block(mil, call, truth ? BLOCK_TRUE : BLOCK_FALSE, "", &none, &out);
    return status ? status : end(mil, call, &out);
}

static int loop_variables(struct cc_mil *mil, struct cc_mil_call *call, struct variables *loop)
{
    struct cc_mil_draft draft = {0};
    int status = cc_mil_need(mil, call, "loop_vars");

    if (status)
        return status;
    status = cc_mil_given(call, "loop_vars")->items ? cc_mil_operands(mil, call, "loop_vars", &draft)
                                                    : cc_mil_operand(mil, call, "loop_vars", &draft);
    if (status)
        return status;
    if (draft.inputs > VARIABLES_MAX)
        return refuse(mil, call, EINVAL, "it has too many variables");
    loop->count = draft.inputs;
    memcpy(loop->value, draft.input, draft.inputs * sizeof(draft.input[0]));
    return 0;
}

/* One round: the condition, and the body when it is true. */
static int do_round(struct cc_mil *mil, struct cc_mil_call *call, unsigned number, struct variables *loop,
                    bool *more)
{
    struct variables out;
    char round[16];
    int status;

    snprintf(round, sizeof(round), "[%u]", number);
    if ((status = read_block(mil, call, BLOCK_CONDITION, round, loop, &out)))
        return status;
    if (out.count != 1 || !is_truth(mil, out.value[0], more))
        return refuse_data(mil, call);
    if (!*more)
        return 0;
    if ((status = read_block(mil, call, BLOCK_BODY, round, loop, &out)))
        return status;
    if (out.count != loop->count)
        return refuse(mil, call, EINVAL, "its body does not have a result for each variable of the loop");
    *loop = out;
    mil->nodes++;
    return 0;
}

static int build_loop(struct cc_mil *mil, struct cc_mil_call *call)
{
    uint32_t before = mil->nodes;
    struct variables loop;
    bool more = true;
    char why[112];
    int status = loop_variables(mil, call, &loop);

    for (unsigned round = 0; !status && more; round++) {
        status = do_round(mil, call, round, &loop, &more);
        if (!status && mil->nodes - before > CC_LOOP_NODES_MAX) {
            snprintf(why, sizeof(why),
                     "it becomes more than %u nodes: a loop is unrolled, and that is the limit",
                     CC_LOOP_NODES_MAX);
            return refuse(mil, call, EFBIG, why);
        }
    }
    return status ? status : end(mil, call, &loop);
}

int cc_mil_control_build(struct cc_mil *mil, struct cc_mil_call *call)
{
    struct cc_mil_place next = place_of(mil);
    int status = cc_mil_op_check(mil, call);

    if (!status)
        status = call->operation.text[0] == 'c' ? build_cond(mil, call) : build_loop(mil, call);
    go_to(mil, &next);
    return status;
}
