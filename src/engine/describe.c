/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/describe.h"

#include <stdio.h>

#include "program/kernel.h"
#include "program/task.h"

#define SHAPE_TEXT 40u

static const char *shape_text(const struct pr_tensor *t, char text[SHAPE_TEXT])
{
    int length = 0;

    if (t->extent[PR_AXIS_G] > 1)
        length += snprintf(text + length, SHAPE_TEXT, "%ux", t->extent[PR_AXIS_G]);
    length += snprintf(text + length, SHAPE_TEXT - (size_t)length, "%u", t->extent[PR_AXIS_C]);
    if (t->extent[PR_AXIS_D] > 1)
        length += snprintf(text + length, SHAPE_TEXT - (size_t)length, "x%u", t->extent[PR_AXIS_D]);
    snprintf(text + length, SHAPE_TEXT - (size_t)length, "x%ux%u", t->extent[PR_AXIS_H],
             t->extent[PR_AXIS_W]);
    return text;
}

static void ne_text(const struct pr_ne *ne, char *text, size_t capacity)
{
    static const char *const mode[] = {
        [PR_NE_BYPASS] = "bypass", [PR_NE_MAC] = "mac", [PR_NE_MAX] = "max", [PR_NE_PRODUCT] = "product"};
    const char *table = ne->table ? " table" : "", *relu = ne->relu ? " relu" : "";

    if (ne->mode == PR_NE_BYPASS || ne->mode == PR_NE_PRODUCT)
        snprintf(text, capacity, "%s%s%s", mode[ne->mode], table, relu);
    else
        snprintf(text, capacity, "%s%s %ux%u/%u%s%s", mode[ne->mode], ne->unicast ? " unicast" : "", ne->kh,
                 ne->kw, ne->sx, table, relu);
}

static const char *pe_text(const struct pr_pe *pe)
{
    static const char *const op[] = {[PR_PE_ADD] = "add",
                                     [PR_PE_MUL] = "mul",
                                     [PR_PE_MAX] = "larger",
                                     [PR_PE_MIN] = "smaller",
                                     [PR_PE_SQUARE_OF_SUM] = "square",
                                     [PR_PE_AFFINE] = "affine"};
    static const char *const reduce[] = {
        [PR_PE_REDUCE_SUM] = "sum of", [PR_PE_REDUCE_MAX] = "largest of", [PR_PE_REDUCE_MIN] = "smallest of"};

    if (pe->reduce)
        return reduce[pe->reduce];
    return pe->op == PR_PE_ADD && !pe->two_sources ? "scale" : op[pe->op];
}

static uint64_t operand_bytes(const struct pr_tensor *t)
{
    return t->home == PR_HOME_NONE ? 0 : pr_tensor_elements(t) * pr_format_bytes(t->format);
}

void eng_describe(const struct pr_task *task, struct eng_description *description)
{
    char kind[32], src[SHAPE_TEXT], dst[SHAPE_TEXT];

    *description = (struct eng_description){
        .work = pr_task_work(task),
        .bytes = operand_bytes(&task->src[0]) + operand_bytes(&task->src[1]) + operand_bytes(&task->dst),
        .multiplies = task->unit == PR_UNIT_NE && task->ne.mode == PR_NE_MAC};
    if (task->unit == PR_UNIT_NE) {
        ne_text(&task->ne, kind, sizeof(kind));
        for (uint32_t i = 0; i < task->ne.engines; i++)
            description->bytes += pr_kernel_stream_bytes(task, i);
    } else {
        snprintf(kind, sizeof(kind), "%s", pe_text(&task->pe));
    }
    snprintf(description->text, sizeof(description->text), "%s %s -> %s", kind,
             shape_text(&task->src[0], src), shape_text(&task->dst, dst));
}
