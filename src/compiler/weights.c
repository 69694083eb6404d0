/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tensor is replaced once, by the rule of the first operation that uses it as weights. A palette is made of
 * the histogram of all fp16 values, so that its time does not depend on the number of weights and its result
 * on nothing but them.
 */
#include "compiler/weights.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "compiler/graph/graph.h"
#include "compiler/half.h"

enum { PALETTE = 16, HALVES = 1 << 16, ROUNDS_MAX = 100, LEVELS = 127 };

static const char *const names[] = {[CC_WEIGHTS_FP16] = "fp16",
                                    [CC_WEIGHTS_INT8] = "int8",
                                    [CC_WEIGHTS_PALETTE4] = "palette4",
                                    [CC_WEIGHTS_SPARSE] = "sparse"};

bool cc_weights_parse(const char *text, enum cc_weights *form)
{
    for (size_t i = 0; i < BASE_COUNT_OF(names); i++) {
        if (!strcmp(text, names[i])) {
            *form = (enum cc_weights)i;
            return true;
        }
    }
    return false;
}

const char *cc_weights_name(enum cc_weights form)
{
    return names[form];
}

/* A tensor of weights as outer x length x inner, where the axis of output channels has `length`. */
struct tensor {
    struct cc_value *value;
    uint64_t count, length, inner;
};

static float get(const struct tensor *t, uint64_t i)
{
    return (float)cc_value_number(t->value, i);
}

static uint16_t half_at(const struct tensor *t, uint64_t i)
{
    return cc_half_of_float(get(t, i));
}

/* Every weight is an fp16 number in the end; a constant of fp32 keeps its type. */
static void set(struct tensor *t, uint64_t i, uint16_t half)
{
    uint8_t *data = t->value->data;
    float single = cc_float_of_half(half);

    if (t->value->type == CC_FP16)
        cc_put_half(data + 2 * i, half);
    else
        memcpy(data + 4 * i, &single, sizeof(single));
}

struct sums {
    double largest, squares, weights;
    uint64_t zeros;
};

static void replace(struct tensor *t, uint64_t i, uint16_t half, struct sums *sums)
{
    double before = (double)get(t, i), off = fabs((double)cc_float_of_half(half) - before);

    sums->largest = fmax(sums->largest, off);
    sums->squares += off * off;
    sums->weights += before * before;
    sums->zeros += !half;
    set(t, i, half);
}

/* One scale for each output channel. */
static int to_int8(struct tensor *t, struct sums *sums)
{
    float *scale = base_alloc_array(t->length, sizeof(*scale));

    if (!scale)
        return -ENOMEM;
    for (uint64_t i = 0; i < t->count; i++) {
        float *s = &scale[i / t->inner % t->length];

        *s = fmaxf(*s, fabsf(get(t, i)));
    }
    for (uint64_t i = 0; i < t->length; i++)
        scale[i] = cc_float_of_half(cc_half_of_float(scale[i] / LEVELS));
    for (uint64_t i = 0; i < t->count; i++) {
        float s = scale[i / t->inner % t->length];
        float level = s > 0 ? rintf(get(t, i) / s) : 0;

        level = fminf(fmaxf(level, -LEVELS), LEVELS);
        replace(t, i, cc_half_of_float(s * level), sums);
    }
    base_free(scale);
    return 0;
}

/* Numbers whose order is that of the values. */
static uint32_t key_of(uint16_t half)
{
    return half & 0x8000 ? 0xffffu & ~(uint32_t)half : half | 0x8000u;
}

static uint16_t half_of(uint32_t key)
{
    return (uint16_t)(key & 0x8000 ? key & 0x7fff : ~key);
}

/* The different values of a tensor in order, how often each occurs, and what it becomes. */
struct histogram {
    uint64_t times[HALVES]; /* by key */
    uint16_t becomes[HALVES];
    uint32_t used[HALVES];
    uint32_t values;
};

static double value_of(const struct histogram *h, uint32_t i)
{
    return (double)cc_float_of_half(half_of(h->used[i]));
}

/* At equal shares of the weights, no two the same. There are more values than the palette has. */
static void first_palette(const struct histogram *h, uint64_t count, double palette[PALETTE])
{
    uint64_t seen = 0;
    unsigned made = 0;

    for (uint32_t i = 0; i < h->values && made < PALETTE; i++) {
        seen += h->times[h->used[i]];
        if (seen * 2 * PALETTE >= count * (2 * made + 1) || h->values - i == PALETTE - made)
            palette[made++] = value_of(h, i);
    }
}

/* A step of Lloyd's: each value goes to the nearest of the palette, which becomes the mean. */
static bool improve(const struct histogram *h, double palette[PALETTE])
{
    double sum[PALETTE] = {0}, weight[PALETTE] = {0};
    unsigned nearest = 0;
    bool changed = false;

    for (uint32_t i = 0; i < h->values; i++) {
        double value = value_of(h, i), times = (double)h->times[h->used[i]];

        while (nearest + 1 < PALETTE && value > (palette[nearest] + palette[nearest + 1]) / 2)
            nearest++;
        sum[nearest] += value * times;
        weight[nearest] += times;
    }
    for (unsigned k = 0; k < PALETTE; k++) {
        double mean = weight[k] > 0 ? sum[k] / weight[k] : palette[k];

        changed |= mean != palette[k];
        palette[k] = mean;
    }
    return changed;
}

static void choose(struct histogram *h, uint64_t count)
{
    double palette[PALETTE] = {0};
    unsigned nearest = 0;

    for (uint32_t key = 0; key < HALVES; key++)
        if (h->times[key])
            h->used[h->values++] = key;
    if (h->values <= PALETTE) {
        for (uint32_t i = 0; i < h->values; i++)
            h->becomes[h->used[i]] = half_of(h->used[i]);
        return;
    }
    first_palette(h, count, palette);
    for (unsigned round = 0; round < ROUNDS_MAX && improve(h, palette); round++)
        ;
    for (unsigned k = 0; k < PALETTE; k++)
        palette[k] = (double)cc_float_of_half(cc_half_of_float((float)palette[k]));
    for (uint32_t i = 0; i < h->values; i++) {
        while (nearest + 1 < PALETTE && value_of(h, i) > (palette[nearest] + palette[nearest + 1]) / 2)
            nearest++;
        h->becomes[h->used[i]] = cc_half_of_float((float)palette[nearest]);
    }
}

static int to_palette(struct tensor *t, struct sums *sums)
{
    struct histogram *h = base_alloc(sizeof(*h));

    if (!h)
        return -ENOMEM;
    for (uint64_t i = 0; i < t->count; i++)
        h->times[key_of(half_at(t, i))]++;
    choose(h, t->count);
    for (uint64_t i = 0; i < t->count; i++)
        replace(t, i, h->becomes[key_of(half_at(t, i))], sums);
    base_free(h);
    return 0;
}

static int change(struct tensor *t, enum cc_weights form, struct sums *sums)
{
    switch (form) {
    case CC_WEIGHTS_INT8: return to_int8(t, sums);
    case CC_WEIGHTS_PALETTE4: return to_palette(t, sums);
    default: break;
    }
    for (uint64_t i = 0; i < t->count; i++) {
        sums->weights += (double)get(t, i) * (double)get(t, i);
        sums->zeros += !half_at(t, i);
    }
    return 0;
}

/* The constant that an operation uses as weights, and the axis of its output channels. False: none. */
static bool weights_of(const struct cc_graph *graph, const struct cc_op *op, uint32_t *value, uint32_t *axis)
{
    bool second, transposed;

    switch (op->kind) {
    case CC_OP_CONV:
    case CC_OP_CONV_TRANSPOSE:
    case CC_OP_LINEAR:
        *value = op->a.weight - 1;
        *axis = op->kind == CC_OP_CONV_TRANSPOSE;
        return op->a.weight != 0;
    case CC_OP_MATMUL:
        second = graph->value[op->input[1]].data != NULL;
        *value = op->input[second];
        if (graph->value[*value].rank < 2)
            return false;
        transposed = second ? op->a.transpose_y : op->a.transpose_x;
        /* the columns of y, the rows of x */
        *axis = graph->value[*value].rank - (second != transposed ? 1 : 2);
        return true;
    default: return false;
    }
}

static bool is_finite(const struct tensor *t)
{
    for (uint64_t i = 0; i < t->count; i++)
        if ((half_at(t, i) & 0x7c00) == 0x7c00)
            return false;
    return true;
}

static void fill_row(struct cc_weights_error *row, uint64_t elements, const struct sums *sums)
{
    row->elements = elements;
    row->zeros = sums->zeros;
    row->largest = sums->largest;
    row->rms = elements ? sqrt(sums->squares / (double)elements) : 0;
    row->weights_rms = elements ? sqrt(sums->weights / (double)elements) : 0;
}

/* Replaces the weights of one operation, if it has any that are large enough. */
static int apply_to(struct cc_graph *graph, const struct cc_op *op, bool *done,
                    struct cc_weights_report *report, struct sums *total)
{
    struct cc_weights_error *row, *larger;
    struct sums sums = {0};
    struct tensor t;
    uint32_t value, axis;
    int status;

    if (!weights_of(graph, op, &value, &axis) || done[value] || !graph->value[value].data)
        return 0;
    t = (struct tensor){&graph->value[value], cc_value_elements(&graph->value[value]),
                        graph->value[value].dim[axis], 1};
    for (uint32_t i = axis + 1; i < t.value->rank; i++)
        t.inner *= t.value->dim[i];
    if (t.count < CC_WEIGHTS_ELEMENTS_MIN || (t.value->type != CC_FP16 && t.value->type != CC_FP32))
        return 0;
    done[value] = true;
    if (!is_finite(&t)) {
        report->kept++;
        return 0;
    }
    larger = base_realloc(report->tensor, (report->tensors + 1) * sizeof(*larger));
    if (!larger)
        return -ENOMEM;
    report->tensor = larger;
    status = change(&t, report->form, &sums);
    if (status)
        return status;
    row = &report->tensor[report->tensors++];
    *row = (struct cc_weights_error){.elements = 0};
    snprintf(row->node, sizeof(row->node), "%s", op->origin ? graph->origin[op->origin - 1].name : op->name);
    fill_row(row, t.count, &sums);
    total->largest = fmax(total->largest, sums.largest);
    total->squares += sums.squares;
    total->weights += sums.weights;
    total->zeros += sums.zeros;
    report->total.elements += t.count;
    return 0;
}

int cc_weights_apply(struct cc_graph *graph, enum cc_weights form, struct cc_weights_report **report,
                     struct base_error *error)
{
    struct cc_weights_report *made;
    struct sums total = {0};
    bool *done;
    int status = 0;

    *report = NULL;
    if (form == CC_WEIGHTS_FP16)
        return 0;
    made = base_alloc(sizeof(*made));
    done = base_alloc_array(graph->values + 1, sizeof(*done));
    if (!made || !done)
        status = -ENOMEM;
    if (made)
        made->form = form;
    for (uint32_t i = 0; i < graph->ops && !status; i++)
        status = apply_to(graph, &graph->op[i], done, made, &total);
    base_free(done);
    if (status) {
        cc_weights_report_destroy(made);
        return base_fail(error, -status, "There is no memory for weights of another form.");
    }
    fill_row(&made->total, made->total.elements, &total);
    *report = made;
    return 0;
}

void cc_weights_report_destroy(struct cc_weights_report *report)
{
    if (!report)
        return;
    base_free(report->tensor);
    base_free(report);
}
