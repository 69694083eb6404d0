/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Casts. The engine computes in fp16, and ports convert. Casts and reshapes that move nothing become aliases;
 * constants are converted to fp16; any other operand must be fp16 or bool. Arithmetic in another type is
 * refused.
 */
#include "base/alloc.h"
#include "compiler/half.h"
#include "compiler/lower/operand.h"
#include "compiler/lower/pass.h"

/* Numbers and booleans become fp16; integers are never operands of the engine. */
static int take_constant(struct cc_lowering *l, uint32_t value)
{
    const struct cc_value *v = cc_value_of(l, value);
    struct cc_tensor *tensor = &l->tensor[value];
    uint64_t count = cc_value_elements(v);

    if (v->type == CC_FP16)
        tensor->data = v->data;
    if (v->type != CC_FP32 && v->type != CC_BOOL)
        return 0;
    tensor->owned = base_alloc_array(count, sizeof(*tensor->owned));
    if (!tensor->owned)
        return cc_no_memory(l);
    for (uint64_t i = 0; i < count; i++)
        tensor->owned[i] = cc_half_of_float((float)cc_value_number(v, i));
    tensor->data = tensor->owned;
    return 0;
}

static uint32_t row_of(const struct cc_value *v)
{
    return v->rank ? v->dim[v->rank - 1] : 1;
}

/* A reshape needs no copy if it keeps the rows, or if neither shape has padding behind its rows. */
static bool is_alias(const struct cc_lowering *l, const struct cc_op *op)
{
    const struct cc_value *x, *y;

    if (op->kind != CC_OP_RESHAPE && op->kind != CC_OP_EXPAND_DIMS && op->kind != CC_OP_SQUEEZE)
        return false;
    x = cc_value_of(l, op->input[0]);
    y = cc_value_of(l, op->output);
    return (x->type == CC_FP16 || x->type == CC_BOOL || cc_is_constant(l, op->input[0])) &&
           (row_of(x) == row_of(y) ||
            (row_of(x) * CC_ELEMENT % PR_ROW_ALIGN == 0 && row_of(y) * CC_ELEMENT % PR_ROW_ALIGN == 0));
}

static int check_types(const struct cc_lowering *l, const struct cc_op *op)
{
    for (uint32_t i = 0; i < op->inputs; i++) {
        const struct cc_value *v = cc_value_of(l, op->input[i]);

        if (v->type != CC_FP16 && v->type != CC_BOOL && !l->tensor[op->input[i]].data)
            return cc_refuse_at(l, op, "`%.64s` is %s and the engine computes in fp16; cast it first",
                                v->name, cc_type_name(v->type));
    }
    return 0;
}

/* Integers and the operations of CC_OPS_HOST exist on the host alone. */
static int check_engine(const struct cc_lowering *l, const struct cc_op *op)
{
    bool integer = !cc_value_of(l, op->output)->data && cc_value_of(l, op->output)->type == CC_INT32;

    for (uint32_t i = 0; i < op->inputs; i++)
        integer |= !cc_value_of(l, op->input[i])->data && cc_value_of(l, op->input[i])->type == CC_INT32;
    if (cc_op_is_host(op->kind))
        return cc_refuse_at(l, op, "the engine has no such operation; --allow-fallback runs it on the host");
    if (integer && op->kind != CC_OP_INPUT)
        return cc_refuse_at(l, op,
                            "the engine computes in fp16 and has no integers; --allow-fallback runs it on "
                            "the host");
    return 0;
}

/*
 * An fp32 output must be the cast of an fp16 value, or a constant, which is rounded once. Any other fp32
 * value that is only an alias would be rounded to fp16 without a cast in the program.
 */
static int check_output(const struct cc_lowering *l, uint32_t output)
{
    uint32_t value = output;
    const struct cc_op *op;

    while (cc_value_of(l, value)->type == CC_FP32 && !cc_value_of(l, value)->data) {
        op = cc_producer(l, value);
        if (!op || op->kind != CC_OP_CAST)
            return cc_refuse_at(
                l, cc_producer(l, output),
                "`%.64s` is fp32 and reaches this output unchanged, and the engine computes in "
                "fp16; cast it first, to fp16 and back",
                cc_value_of(l, value)->name);
        value = op->input[0];
    }
    return 0;
}

int cc_pass_casts(struct cc_lowering *l)
{
    int status = 0;

    for (uint32_t i = 0; i < l->graph->values && !status; i++) {
        l->tensor[i].root = i;
        if (cc_value_of(l, i)->data)
            status = take_constant(l, i);
    }
    for (uint32_t i = 0; i < l->graph->ops && !status; i++) {
        const struct cc_op *op = &l->graph->op[i];

        l->step[i].op = op;
        l->step[i].output = op->output;
        l->tensor[op->output].producer = i + 1;
        status = check_engine(l, op);
        if (op->kind == CC_OP_CAST || is_alias(l, op)) {
            l->tensor[op->output].root = cc_root(l, op->input[0]);
            l->step[i].skip = true;
        } else if (op->kind == CC_OP_INPUT || op->kind == CC_OP_CONST) {
            l->step[i].skip = true;
        } else if (!status) {
            status = check_types(l, op);
        }
    }
    for (uint32_t i = 0; i < l->graph->outputs && !status; i++)
        status = check_output(l, l->graph->output[i]);
    return status;
}
