/* SPDX-License-Identifier: Apache-2.0 */
#include "graphtext.h"

#include <stdio.h>

#include "compiler/graph/build.h"

static void print_list(const char *name, const uint32_t *list, unsigned count)
{
    bool any = false;

    for (unsigned i = 0; i < count; i++)
        any |= list[i] != 0;
    if (!any)
        return;
    fprintf(stderr, " %s", name);
    for (unsigned i = 0; i < count; i++)
        fprintf(stderr, "%c%u", i ? ',' : ' ', list[i]);
}

static void print_attributes(const struct cc_attributes *a, uint32_t rank)
{
    print_list("weight", &a->weight, 1);
    print_list("bias", &a->bias, 1);
    print_list("kernel", a->kernel, 2);
    print_list("stride", a->stride, 2);
    print_list("dilation", a->dilation, 2);
    print_list("pad", a->pad, 4);
    print_list("groups", &a->groups, 1);
    print_list("block", a->block, 2);
    print_list("axes", &a->axes, 1);
    print_list("axis", &a->axis, 1);
    print_list("perm", a->perm, rank);
    print_list("begin", a->begin, rank);
    print_list("end", a->end, rank);
    print_list("size", a->size, rank);
    print_list("step", a->step, rank);
    print_list("reps", a->reps, rank);
    fprintf(stderr, "%s%s%s%s%s", a->ceil ? " ceil" : "", a->exclude_padding ? " exclude_padding" : "",
            a->transpose_x ? " transpose_x" : "", a->transpose_y ? " transpose_y" : "",
            a->keep_dims ? " keep_dims" : "");
    fprintf(stderr, "%s%s", a->exclusive ? " exclusive" : "", a->reverse ? " reverse" : "");
    if (a->alpha != 0 || a->beta != 0 || a->epsilon != 0)
        fprintf(stderr, " alpha %g beta %g gamma %g epsilon %g", (double)a->alpha, (double)a->beta,
                (double)a->gamma, (double)a->epsilon);
    if (a->gelu || a->pad_mode || a->resize || a->coordinate || a->nearest || a->order)
        fprintf(stderr, " gelu %d pad_mode %d resize %d coordinate %d nearest %d order %d", a->gelu,
                a->pad_mode, a->resize, a->coordinate, a->nearest, a->order);
}

void graphtext_print(const struct cc_graph *graph)
{
    for (uint32_t i = 0; i < graph->inputs; i++)
        fprintf(stderr, "# v%u: input %s\n", graph->input[i],
                cc_shape_text(CC_FP16, graph->value[graph->input[i]].rank, graph->value[graph->input[i]].dim)
                    .text);
    for (uint32_t i = 0; i < graph->ops; i++) {
        const struct cc_op *op = &graph->op[i];
        const struct cc_value *v = &graph->value[op->output];

        fprintf(stderr, "# v%u: %s %s", op->output, cc_op_name(op->kind),
                cc_shape_text(v->type, v->rank, v->dim).text);
        for (uint32_t k = 0; k < op->inputs; k++)
            fprintf(stderr, "%s v%u", k ? "," : " of", op->input[k]);
        if (v->data && cc_value_elements(v) == 1)
            fprintf(stderr, " = %g", cc_value_number(v, 0));
        print_attributes(&op->a, CC_RANK_MAX);
        fprintf(stderr, "\n");
    }
    for (uint32_t i = 0; i < graph->outputs; i++)
        fprintf(stderr, "# output v%u (%s)\n", graph->output[i], graph->value[graph->output[i]].name);
}
