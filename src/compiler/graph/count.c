/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/graph/count.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"

#define FP16_BYTES 2u

static uint64_t times(uint64_t a, uint64_t b)
{
    return a && b > UINT64_MAX / a ? UINT64_MAX : a * b;
}

static uint64_t plus(uint64_t a, uint64_t b)
{
    return b > UINT64_MAX - a ? UINT64_MAX : a + b;
}

/* Elements of the constant, without its axis `axis`; number + 1 as in attributes. */
static uint64_t elements_without(const struct cc_graph *g, uint32_t parameter, uint32_t axis)
{
    const struct cc_value *value = &g->value[parameter - 1];
    uint64_t count = 1;

    for (uint32_t i = 0; i < value->rank; i++)
        count *= i == axis ? 1 : value->dim[i];
    return count;
}

static uint64_t macs_of(const struct cc_graph *g, const struct cc_op *op)
{
    const struct cc_value *x = &g->value[op->input[0]], *y = &g->value[op->output];

    switch (op->kind) {
    case CC_OP_CONV:
        return times(cc_value_elements(y),
                     elements_without(g, op->inputs == 2 ? op->input[1] + 1 : op->a.weight, 0));
    case CC_OP_LINEAR: return times(cc_value_elements(y), elements_without(g, op->a.weight, 0));
    case CC_OP_CONV_TRANSPOSE: return times(cc_value_elements(x), elements_without(g, op->a.weight, 0));
    case CC_OP_MATMUL: return times(cc_value_elements(y), x->dim[x->rank - (op->a.transpose_x ? 2 : 1)]);
    default: return 0;
    }
}

static void take_value(const struct cc_graph *g, uint32_t number, bool *seen, struct cc_count *count)
{
    const struct cc_value *value = &g->value[number];

    if (!value->data || seen[number])
        return;
    seen[number] = true;
    if (value->type == CC_FP16 || value->type == CC_FP32)
        count->parameters += cc_value_elements(value);
}

static void take_op(const struct cc_graph *g, const struct cc_op *op, bool *seen, struct cc_count *count)
{
    const uint32_t parameter[] = {op->a.weight, op->a.bias, op->a.mean, op->a.variance};

    count->by_kind[op->kind]++;
    if (op->kind == CC_OP_INPUT || op->kind == CC_OP_CONST)
        return;
    count->operations++;
    for (uint32_t i = 0; i < op->inputs; i++)
        take_value(g, op->input[i], seen, count);
    for (unsigned i = 0; i < BASE_COUNT_OF(parameter); i++)
        if (parameter[i])
            take_value(g, parameter[i] - 1, seen, count);
    if (op->inputs)
        count->macs = plus(count->macs, macs_of(g, op));
}

int cc_graph_count(const struct cc_graph *graph, struct cc_count *count)
{
    bool *seen = base_alloc_array(graph->values ? graph->values : 1, sizeof(*seen));

    memset(count, 0, sizeof(*count));
    if (!seen)
        return -ENOMEM;
    for (uint32_t i = 0; i < graph->ops; i++)
        take_op(graph, &graph->op[i], seen, count);
    count->weights_bytes = count->parameters * FP16_BYTES;
    base_free(seen);
    return 0;
}
