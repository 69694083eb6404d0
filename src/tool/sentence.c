/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/sentence.h"

#include <stdio.h>
#include <string.h>

#include "protocol/half.h"

#define SINGLE_ONE 0x3f800000u

static void put_real(struct pr_text *text, const char *name, uint32_t single)
{
    char number[32];
    float value;

    memcpy(&value, &single, sizeof(value));
    snprintf(number, sizeof(number), "%.6g", (double)value);
    pr_text_printf(text, ", %s %s", name, number);
}

static void put_half(struct pr_text *text, const char *name, uint16_t half, uint16_t usual)
{
    if (half != usual)
        put_real(text, name, pr_single_of_half(half));
}

/* 64x16x16, and what is beside channels, rows and columns. */
static void put_shape(struct pr_text *text, const struct pr_tensor *t)
{
    static const char *const format[] = {"", " uint8", " int8"};

    pr_text_printf(text, "%ux", t->extent[PR_AXIS_C]);
    if (t->extent[PR_AXIS_D] != 1)
        pr_text_printf(text, "%ux", t->extent[PR_AXIS_D]);
    pr_text_printf(text, "%ux%u", t->extent[PR_AXIS_H], t->extent[PR_AXIS_W]);
    if (t->extent[PR_AXIS_G] != 1)
        pr_text_printf(text, " in %u groups", t->extent[PR_AXIS_G]);
    pr_text_put(text, format[t->format]);
    if (t->interleave > 1)
        pr_text_printf(text, " interleaved by %u", t->interleave);
}

static void put_place(struct pr_text *text, const struct pr_tensor *t, bool result)
{
    switch (t->home) {
    case PR_HOME_NONE: break;
    case PR_HOME_DRAM:
        pr_text_printf(text, result ? " to buffer %u" : " from buffer %u", t->bar);
        if (t->base)
            pr_text_printf(text, " at %x", t->base);
        break;
    case PR_HOME_L2: pr_text_printf(text, result ? " to L2 at %x" : " from L2 at %x", t->base); break;
    case PR_HOME_STREAM:
        pr_text_put(text, result ? " streamed to the next" : " streamed from the one before");
        break;
    }
    if (t->keep)
        pr_text_printf(text, ", kept in L2 at %x", t->keep_base);
}

static void put_source(struct pr_text *text, const struct pr_tensor *t)
{
    static const char axis_name[PR_AXES + 1] = "WHDCG";
    bool broadcast = false;

    put_shape(text, t);
    put_place(text, t, false);
    if (t->relu)
        pr_text_put(text, " cut at zero");
    if (t->slice)
        pr_text_put(text, " from an offset in its rows");
    if (t->home == PR_HOME_STREAM)
        return;
    for (unsigned axis = 0; axis < PR_AXES; axis++)
        if (t->extent[axis] > 1 && t->stride[axis] == 0) {
            pr_text_put(text, broadcast ? "" : " broadcast over ");
            pr_text_put_char(text, axis_name[axis]);
            broadcast = true;
        }
}

static void put_operands(struct pr_text *text, const struct pr_task *task)
{
    pr_text_put(text, ": ");
    put_source(text, &task->src[0]);
    if (task->src[1].home != PR_HOME_NONE) {
        pr_text_put(text, " and ");
        put_source(text, &task->src[1]);
    }
    pr_text_put(text, " -> ");
    put_shape(text, &task->dst);
    put_place(text, &task->dst, true);
}

static void put_planar_name(struct pr_text *text, const struct pr_task *task)
{
    static const char *const one[] = {"copy", "copy", "copy", "copy", "square", "affine by two rows"};
    static const char *const two[] = {"add", "multiply",          "max",
                                      "min", "square of the sum", "affine by two rows"};
    static const char *const reduce[] = {"", "sum", "max", "min"};
    const struct pr_pe *pe = &task->pe;
    bool subtracts = pe->two_sources && (pe->negate1 || pe->negate2);

    pr_text_put(text, "PE ");
    if (pe->reduce)
        pr_text_printf(text, "%s over W, H and D", reduce[pe->reduce]);
    if (pe->reduce && (pe->two_sources || pe->op == PR_PE_SQUARE_OF_SUM))
        pr_text_put(text, " of ");
    if (pe->reduce && !pe->two_sources && pe->op != PR_PE_SQUARE_OF_SUM)
        return;
    if (subtracts && pe->op == PR_PE_ADD)
        pr_text_put(text, pe->negate1 ? "subtract source 1 from source 2" : "subtract");
    else if (subtracts)
        pr_text_put(text, pe->op == PR_PE_AFFINE ? "(a - row 0) * row 1" : "square of the difference");
    else
        pr_text_put(text, (pe->two_sources ? two : one)[pe->op]);
}

static void put_planar(struct pr_text *text, const struct pr_task *task)
{
    static const char *const compare[] = {"", ", == 0", ", > 0", ", >= 0"};
    static const char *const function[] = {"", ", reciprocal", ", reciprocal of the square root"};
    const struct pr_pe *pe = &task->pe;

    put_planar_name(text, task);
    put_operands(text, task);
    put_half(text, "pre-scale", pe->pre_scale, PR_HALF_ONE);
    if (pe->abs)
        pr_text_put(text, ", absolute value");
    pr_text_put(text, compare[pe->compare]);
    if (!pe->reduce) {
        put_half(text, "scale", pe->scale, PR_HALF_ONE);
        put_half(text, "bias", pe->bias, PR_HALF_ZERO);
    }
    if (pe->relu)
        pr_text_put(text, ", ReLU");
    if (pe->final_scale != SINGLE_ONE)
        put_real(text, "final scale", pe->final_scale);
    put_half(text, "epsilon", pe->epsilon, PR_HALF_ZERO);
    pr_text_put(text, function[pe->function]);
}

static void put_pair(struct pr_text *text, const char *name, uint32_t y, uint32_t x)
{
    pr_text_printf(text, y == x ? ", %s %u" : ", %s %ux%u", name, y, x);
}

static void put_neural_name(struct pr_text *text, const struct pr_task *task)
{
    const struct pr_ne *ne = &task->ne;

    switch (ne->mode) {
    case PR_NE_BYPASS: pr_text_put(text, "NE copy"); return;
    case PR_NE_PRODUCT: pr_text_printf(text, "NE product of %u channels", ne->unicast); return;
    case PR_NE_MAX: pr_text_printf(text, "NE max over %ux%u", ne->kh, ne->kw); break;
    case PR_NE_MAC:
        pr_text_printf(text, "NE %ux%u %s%s", ne->kh, ne->kw,
                       ne->unicast == 1                  ? "depthwise "
                       : task->dst.extent[PR_AXIS_G] > 1 ? "grouped "
                                                         : "",
                       ne->ones ? "sum" : "convolution");
        break;
    }
    if (ne->unicast > 1)
        pr_text_printf(text, " of %u channels each", ne->unicast);
    put_pair(text, "stride", ne->sy, ne->sx);
    put_pair(text, "pad", ne->py, ne->px);
    if (ne->ox > 1)
        pr_text_printf(text, ", %u columns a step", ne->ox);
    if (ne->pad_lowest)
        pr_text_put(text, ", padding left out");
}

static void put_kernel(struct pr_text *text, const struct pr_task *task)
{
    static const char *const format[] = {"", ", uint8 kernel", ", int8 kernel"};
    const struct pr_ne *ne = &task->ne;

    if (ne->mode != PR_NE_MAC || ne->ones)
        return;
    pr_text_printf(text, ", kernel in buffer %u", ne->kernel_bar);
    pr_text_put(text, format[ne->kernel_format]);
    if (ne->sparse)
        pr_text_put(text, ", zeros left out");
    if (ne->palette)
        pr_text_put(text, ", palette of 1 bit");
    if (ne->reuse)
        pr_text_put(text, ", one kernel for all groups");
}

static void put_neural(struct pr_text *text, const struct pr_task *task)
{
    const struct pr_ne *ne = &task->ne;

    put_neural_name(text, task);
    put_operands(text, task);
    pr_text_printf(text, ne->engines == 1 ? ", %u engine" : ", %u engines", ne->engines);
    if (ne->mode == PR_NE_MAC && ne->lanes)
        pr_text_printf(text, ne->lanes == 1 ? " x %u lane" : " x %u lanes", ne->lanes);
    put_kernel(text, task);
    if (ne->bias)
        pr_text_put(text, ", bias");
    put_half(text, "accumulator bias", ne->acc_bias, PR_HALF_ZERO);
    put_half(text, "post-scale", ne->post_scale, PR_HALF_ONE);
    if (ne->table)
        pr_text_put(text, ", activation table");
    if (ne->relu)
        pr_text_put(text, ", ReLU");
}

void tool_task_sentence(const struct pr_task *task, struct pr_text *text)
{
    if (task->unit == PR_UNIT_PE)
        put_planar(text, task);
    else
        put_neural(text, task);
}
