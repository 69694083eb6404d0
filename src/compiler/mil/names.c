/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of a MIL text, what they refer to, and how constants enter the graph. The hash table has twice as
 * many slots as symbols fit, so a search always ends. A constant enters the graph when it is first used as an
 * operand; its data then moves there, and the symbol keeps the type alone.
 */
#include "compiler/mil/mil.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"

#define SLOTS_FIRST 64u

/* FNV-1a. Names come from one file: colliding names can only slow down that file. */
static uint32_t hash(const char *text, size_t length)
{
    uint32_t h = 2166136261u;

    for (size_t i = 0; i < length; i++)
        h = (h ^ (unsigned char)text[i]) * 16777619u;
    return h;
}

/* The slot that holds the name, or the empty one where it belongs. There is always an empty one. */
static uint32_t *slot_of(const struct cc_mil *mil, const char *name, size_t length)
{
    uint32_t at = hash(name, length) & (mil->slots - 1);

    while (mil->slot[at]) {
        const struct cc_mil_symbol *symbol = &mil->symbol[mil->slot[at] - 1];

        if (symbol->length == length && memcmp(symbol->name, name, length) == 0)
            break;
        at = (at + 1) & (mil->slots - 1);
    }
    return &mil->slot[at];
}

static int make_room(struct cc_mil *mil)
{
    uint32_t capacity = mil->symbol_capacity ? 2 * mil->symbol_capacity : SLOTS_FIRST / 2;
    struct cc_mil_symbol *symbols;
    uint32_t *slots;

    if (mil->symbol && mil->symbols < mil->symbol_capacity)
        return 0;
    slots = base_alloc_array(2 * (size_t)capacity, sizeof(*slots));
    if (!slots)
        return cc_mil_no_memory(mil);
    symbols = base_realloc(mil->symbol, capacity * sizeof(*symbols));
    if (!symbols) {
        base_free(slots);
        return cc_mil_no_memory(mil);
    }
    base_free(mil->slot);
    mil->symbol = symbols;
    mil->symbol_capacity = capacity;
    mil->slot = slots;
    mil->slots = 2 * capacity;
    for (uint32_t i = 0; i < mil->symbols; i++)
        *slot_of(mil, symbols[i].name, symbols[i].length) = i + 1;
    return 0;
}

struct cc_mil_symbol *cc_mil_find(struct cc_mil *mil, const struct cc_mil_token *name)
{
    uint32_t number = mil->slots ? *slot_of(mil, name->text, name->length) : 0;

    return number ? &mil->symbol[number - 1] : NULL;
}

int cc_mil_define(struct cc_mil *mil, const struct cc_mil_token *name, struct cc_mil_symbol **symbol)
{
    int status;

    if (cc_mil_find(mil, name))
        return cc_mil_fail(mil, name, EINVAL, "the name `%.*s` is defined twice.", (int)name->length,
                           name->text);
    if ((status = make_room(mil)))
        return status;
    *slot_of(mil, name->text, name->length) = mil->symbols + 1;
    *symbol = &mil->symbol[mil->symbols++];
    **symbol = (struct cc_mil_symbol){.name = name->text, .length = name->length};
    return 0;
}

/*
 * The last name first: a slot that is emptied then ends no search for a name that is older, because those
 * were placed when it was empty.
 */
void cc_mil_names_forget(struct cc_mil *mil, uint32_t count)
{
    while (mil->symbols > count) {
        struct cc_mil_symbol *last = &mil->symbol[--mil->symbols];

        *slot_of(mil, last->name, last->length) = 0;
        base_free(last->literal.data);
    }
}

void cc_mil_names_release(struct cc_mil *mil)
{
    for (uint32_t i = 0; i < mil->symbols; i++)
        base_free(mil->symbol[i].literal.data);
    base_free(mil->symbol);
    base_free(mil->slot);
}

/* For the graph's functions that return an error without a sentence. */
static int graph_fail(struct cc_mil *mil, const struct cc_mil_token *at, int status)
{
    if (status == -ENOMEM)
        return cc_mil_no_memory(mil);
    return cc_mil_fail(mil, at, -status, "the graph grows too large here.");
}

int cc_mil_value(struct cc_mil *mil, struct cc_mil_symbol *symbol, const char *name,
                 const struct cc_mil_token *at, uint32_t *value)
{
    const struct cc_mil_type *type = &symbol->literal.type;
    int made;

    if (!symbol->value) {
        int status = cc_mil_check_rank(mil, at, type);

        if (status)
            return status;
        if (type->scalar > CC_MIL_BOOL)
            return cc_mil_fail(mil, at, EINVAL, "found %s as an operand, expected a tensor of numbers.",
                               cc_mil_type_text(type).text);
        made = cc_graph_add_const(mil->graph, name, (enum cc_type)type->scalar, type->rank, type->dim,
                                  symbol->literal.data);
        if (made < 0)
            return graph_fail(mil, at, made);
        symbol->literal.data = NULL;
        symbol->value = (uint32_t)made + 1;
        mil->graph->op[mil->graph->ops - 1].line = at->line;
        mil->graph->op[mil->graph->ops - 1].column = at->column;
    }
    *value = symbol->value - 1;
    return 0;
}

int cc_mil_add_value(struct cc_mil *mil, const struct cc_mil_token *name, const struct cc_mil_type *type,
                     uint32_t *value)
{
    char *copy = cc_mil_token_copy(name);
    int made;

    if (!copy)
        return cc_mil_no_memory(mil);
    made = cc_graph_add_value(mil->graph, copy, (enum cc_type)type->scalar, type->rank, type->dim);
    base_free(copy);
    if (made < 0)
        return graph_fail(mil, name, made);
    *value = (uint32_t)made;
    return 0;
}

int cc_mil_add_op(struct cc_mil *mil, enum cc_op_kind kind, const char *name, const struct cc_mil_token *at,
                  struct cc_op **op)
{
    int made = cc_graph_add_op(mil->graph, kind, name, at->line);

    if (made < 0)
        return graph_fail(mil, at, made);
    *op = &mil->graph->op[made];
    (*op)->column = at->column;
    (*op)->origin = mil->origin;
    return 0;
}
