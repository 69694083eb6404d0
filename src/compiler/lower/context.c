/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of one lowering. Aliases are followed to their root for everything that concerns memory; the
 * shape is the value's own. A refusal is a phrase until cc_refusal_locate makes a sentence of it, once.
 */
#include "compiler/lower/context.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"

static void __attribute__((format(printf, 2, 0)))
write_reason(const struct cc_lowering *l, const char *format, va_list args)
{
    vsnprintf(l->reason->text, sizeof(l->reason->text), format, args);
}

int cc_refuse(const struct cc_lowering *l, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    write_reason(l, format, args);
    va_end(args);
    return -EINVAL;
}

int cc_refuse_at(const struct cc_lowering *l, const struct cc_op *op, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    write_reason(l, format, args);
    va_end(args);
    return cc_refusal_locate(l, op, -EINVAL);
}

int cc_refusal_locate(const struct cc_lowering *l, const struct cc_op *op, int status)
{
    char where[48] = "";

    if (status != -EINVAL)
        return status;
    if (!op)
        return base_fail(l->error, EINVAL, "%s.", l->reason->text);
    if (!op->line && op->origin) { /* the node of a model that is not a text */
        const struct cc_origin *origin = &l->graph->origin[op->origin - 1];

        return base_fail(l->error, EINVAL, "%s `%.64s`: %s.", origin->kind, origin->name, l->reason->text);
    }
    if (op->line)
        snprintf(where, sizeof(where), "Line %u, column %u: ", op->line, op->column);
    return base_fail(l->error, EINVAL, "%s%s `%.64s`: %s.", where, cc_op_name(op->kind), op->name,
                     l->reason->text);
}

int cc_no_memory(const struct cc_lowering *l)
{
    return base_fail(l->error, ENOMEM, "There is no memory to compile a graph of %u operations.",
                     l->graph->ops);
}

int cc_grow(const struct cc_lowering *l, void **array, uint32_t *capacity, uint64_t count, uint64_t more,
            size_t size)
{
    uint64_t wanted = *capacity ? *capacity : 16;
    void *larger;

    if (count + more <= *capacity)
        return 0;
    while (wanted < count + more)
        wanted *= 2;
    larger = wanted > UINT32_MAX ? NULL : base_realloc(*array, wanted * size);
    if (!larger)
        return cc_no_memory(l);
    base_expect_writes(larger, wanted * size);
    *array = larger;
    *capacity = (uint32_t)wanted;
    return 0;
}

const struct cc_value *cc_value_of(const struct cc_lowering *l, uint32_t value)
{
    return &l->graph->value[value];
}

uint32_t cc_root(const struct cc_lowering *l, uint32_t value)
{
    while (l->tensor[value].root != value)
        value = l->tensor[value].root;
    return value;
}

const struct cc_op *cc_producer(const struct cc_lowering *l, uint32_t value)
{
    uint32_t producer = l->tensor[value].producer;

    return producer ? &l->graph->op[producer - 1] : NULL;
}

const uint16_t *cc_data(const struct cc_lowering *l, uint32_t value)
{
    return l->tensor[cc_root(l, value)].data;
}

bool cc_is_constant(const struct cc_lowering *l, uint32_t value)
{
    return cc_data(l, value) != NULL;
}

bool cc_is_scalar(const struct cc_lowering *l, uint32_t value)
{
    const struct cc_value *v = cc_value_of(l, value);

    return cc_is_constant(l, value) && v->bytes == cc_type_bytes(v->type);
}
