/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operands of a concatenation are computed where it wants them. That is possible where the operands follow
 * each other in memory: nothing but axes of length 1 comes before the axis, and it is not the row. Operations
 * are taken from last to first, so that a concatenation which is itself an operand has its place already.
 * Operands that have one (ports, constants, one that occurs twice) are copied when the operation is lowered.
 */
#include "compiler/lower/operand.h"
#include "compiler/lower/pass.h"

static bool operands_follow_each_other(const struct cc_lowering *l, const struct cc_op *op)
{
    const struct cc_value *y = cc_value_of(l, op->output);

    if (op->kind != CC_OP_CONCAT || op->a.axis + 1u >= y->rank)
        return false;
    for (unsigned i = 0; i < op->a.axis; i++)
        if (y->dim[i] != 1)
            return false;
    return true;
}

/* The operand's place can still be chosen, and its rows are those of the value that is computed. */
static bool is_free(const struct cc_lowering *l, uint32_t value, const struct cc_layout *layout)
{
    uint32_t root = cc_root(l, value);
    struct cc_layout own;

    return !l->tensor[root].placed && !l->tensor[root].data && l->tensor[root].producer &&
           !cc_layout_of(l, root, &own) && own.bytes == layout->bytes && own.row == layout->row &&
           own.plane == layout->plane && own.batch == layout->batch;
}

static int join(struct cc_lowering *l, struct cc_step *step)
{
    struct pr_e5_operand to;
    struct cc_layout layout;
    bool all = true;
    int status = cc_result(l, step->output, &to, &layout);

    for (uint32_t i = 0; i < step->op->inputs && !status; i++) {
        uint32_t value = step->op->input[i];
        struct cc_tensor *tensor = &l->tensor[cc_root(l, value)];

        status = cc_layout_of(l, value, &layout);
        if (!status && is_free(l, value, &layout)) {
            tensor->at = (struct pr_e5_operand){.place = to.place, .index = to.index, .offset = to.offset};
            tensor->placed = true;
        } else {
            all = false;
        }
        to.offset += layout.bytes;
    }
    step->skip = all;
    return status;
}

int cc_pass_join(struct cc_lowering *l)
{
    int status = 0;

    for (uint32_t i = l->graph->ops; i-- > 0 && !status;) {
        struct cc_step *step = &l->step[l->order[i]];

        if (step->live && !step->skip && operands_follow_each_other(l, step->op))
            status = cc_refusal_locate(l, step->op, join(l, step));
    }
    return status;
}
