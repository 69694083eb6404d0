/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that take a part of x, or put something around it. */
#include <string.h>

#include "base/alloc.h"
#include "compiler/onnx/op.h"

struct cut {
    uint32_t begin[CC_RANK_MAX], size[CC_RANK_MAX], step[CC_RANK_MAX];
    uint32_t turned; /* axes that are taken from the end to the beginning */
    bool empty;
};

static int64_t limited(int64_t number, int64_t low, int64_t high)
{
    return number < low ? low : number > high ? high : number;
}

/* One axis from start to end, both as the model has them. */
static void cut_axis(struct cut *cut, uint32_t axis, int64_t length, int64_t start, int64_t end, int64_t step)
{
    int64_t count, first, last;

    start = start < 0 ? start + length : start;
    end = end < 0 ? end + length : end;
    if (step > 0) {
        first = limited(start, 0, length);
        last = limited(end, 0, length);
        count = last > first ? (last - first + step - 1) / step : 0;
    } else {
        first = limited(start, -1, length - 1);
        last = limited(end, -1, length - 1);
        count = first > last ? (first - last - step - 1) / -step : 0;
    }
    cut->size[axis] = (uint32_t)count;
    cut->empty |= count == 0;
    if (step < 0 && count) {
        cut->turned |= 1u << axis;
        first += (count - 1) * step;
        step = -step;
    }
    cut->begin[axis] = (uint32_t)limited(first, 0, length);
    cut->step[axis] = (uint32_t)(step > length ? length : step);
}

static uint32_t sliced(const struct cc_onnx_node *n, uint32_t x, const struct cut *cut)
{
    x = cc_onnx_fold(n, cc_build_slice(n->b, x, cut->begin, cut->size, cut->step));
    if (cut->turned && !n->b->status)
        x = cc_onnx_unary(n, CC_OP_REVERSE, x, &(struct cc_attributes){.axes = cut->turned});
    return x;
}

static void whole(const struct cc_value *v, struct cut *cut)
{
    *cut = (struct cut){0};
    for (uint32_t i = 0; i < v->rank; i++) {
        cut->size[i] = v->dim[i];
        cut->step[i] = 1;
    }
}

/* Starts, ends, axes and steps are attributes before version 10. */
static bool slice_lists(const struct cc_onnx_node *n, struct cc_onnx_list list[4], uint32_t rank)
{
    static const char *const names[4] = {"starts", "ends", "axes", "steps"};

    for (uint32_t i = 0; i < 4; i++) {
        bool given =
            i == 3 && n->opset < 10 ? false : cc_onnx_axes_or_input(n, 10, names[i], 1 + i, &list[i]);

        if (n->b->status)
            return false;
        if (!given) {
            list[i].count = list[0].count;
            for (uint32_t k = 0; k < list[i].count; k++)
                list[i].number[k] = i == 2 ? k : 1;
        }
        if ((i < 2 && !given) || list[i].count != list[0].count || list[i].count > rank) {
            cc_build_refuse(n->b, "%s has %u numbers, expected one for each of at most %u axes", names[i],
                            list[i].count, rank);
            return false;
        }
    }
    return true;
}

void cc_onnx_op_slice(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    uint32_t x = cc_onnx_operand(n, 0);
    struct cc_value v = *cc_onnx_shape(n, x);
    struct cc_onnx_list list[4];
    struct cut cut;

    (void)kind;
    if (n->b->status || !slice_lists(n, list, v.rank))
        return;
    whole(&v, &cut);
    cc_onnx_axes(n, &list[2], v.rank);
    for (uint32_t i = 0; i < list[0].count && !n->b->status; i++) {
        uint32_t axis = cc_onnx_axis(n, list[2].number[i], v.rank);

        if (list[3].number[i] == 0)
            cc_build_refuse(n->b, "the step of axis %u is 0", axis);
        else
            cut_axis(&cut, axis, v.dim[axis], list[0].number[i], list[1].number[i], list[3].number[i]);
    }
    if (n->b->status)
        return;
    if (cut.empty)
        cc_onnx_result_empty(n, 0, v.type, v.rank, cut.size);
    else
        cc_onnx_result(n, 0, sliced(n, x, &cut));
}

/* The lengths of the parts: given, or equal ones, of which the last may be shorter. */
static uint32_t part_length(const struct cc_onnx_node *n, const struct cc_value *given, uint32_t i,
                            uint64_t length)
{
    uint64_t parts = n->proto->n_output, part = (length + parts - 1) / parts;

    if (given)
        return (uint32_t)limited((int64_t)cc_value_number(given, i), 0, INT32_MAX);
    if (length <= part * i)
        return 0;
    return (uint32_t)(length - part * i < part ? length - part * i : part);
}

/* `split` as an attribute, before version 13, becomes a constant too. */
static uint32_t split_lengths(const struct cc_onnx_node *n)
{
    const CcAttribute *a = n->opset < 13 ? cc_onnx_attribute(n, "split") : NULL;
    uint32_t count = a ? (uint32_t)a->n_ints : 0;
    int32_t *data;

    if (n->opset >= 13)
        return cc_onnx_has(n, 1) ? cc_onnx_constant(n, 1, "split") + 1 : 0;
    if (!count)
        return 0;
    data = base_alloc_array(count, sizeof(*data));
    for (uint32_t i = 0; data && i < count; i++)
        data[i] = (int32_t)limited(a->ints[i], -1, INT32_MAX);
    return cc_build_const(n->b, CC_INT32, 1, &count, data) + 1;
}

void cc_onnx_op_split(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    uint32_t x = cc_onnx_operand(n, 0), lengths = n->b->status ? 0 : split_lengths(n), axis;
    struct cc_value v = *cc_onnx_shape(n, x);
    uint64_t at = 0;
    struct cut cut;

    (void)kind;
    axis = cc_onnx_axis(n, cc_onnx_int(n, "axis", 0), v.rank);
    if (!n->b->status && lengths && cc_value_elements(cc_onnx_shape(n, lengths - 1)) != n->proto->n_output)
        cc_build_refuse(n->b, "split has %llu lengths for %zu results",
                        (unsigned long long)cc_value_elements(cc_onnx_shape(n, lengths - 1)),
                        n->proto->n_output);
    whole(&v, &cut);
    for (uint32_t i = 0; i < n->proto->n_output && !n->b->status; i++) {
        uint32_t length = part_length(n, lengths ? cc_onnx_shape(n, lengths - 1) : NULL, i, v.dim[axis]);

        cut.begin[axis] = (uint32_t)at;
        cut.size[axis] = length;
        at += length;
        if (at > v.dim[axis])
            cc_build_refuse(n->b, "the parts reach beyond axis %u of length %u", axis, v.dim[axis]);
        else if (length == 0)
            cc_onnx_result_empty(n, i, v.type, v.rank, cut.size);
        else
            cc_onnx_result(n, i, sliced(n, x, &cut));
    }
    if (!n->b->status && at != v.dim[axis])
        cc_build_refuse(n->b, "the parts have %llu of the %u elements of axis %u", (unsigned long long)at,
                        v.dim[axis], axis);
}

/* Begins of all axes, then ends; from version 18 on for named axes alone. */
static bool pads_of(const struct cc_onnx_node *n, uint32_t rank, int64_t pad[2][CC_RANK_MAX])
{
    struct cc_onnx_list list, axes;
    uint32_t count;

    if (!cc_onnx_axes_or_input(n, 11, "pads", 1, &list)) {
        cc_build_refuse(n->b, "there are no pads");
        return false;
    }
    if (!(n->opset >= 18 && cc_onnx_has(n, 3) && cc_onnx_list(n, 3, "axes", &axes))) {
        axes.count = rank;
        for (uint32_t i = 0; i < rank; i++)
            axes.number[i] = i;
    }
    count = axes.count;
    if (!n->b->status && list.count != 2 * count)
        cc_build_refuse(n->b, "pads has %u numbers, expected %u", list.count, 2 * count);
    cc_onnx_axes(n, &axes, rank);
    for (uint32_t i = 0; i < count && !n->b->status; i++)
        for (uint32_t end = 0; end < 2; end++)
            pad[end][cc_onnx_axis(n, axes.number[i], rank)] = list.number[end * count + i];
    return !n->b->status;
}

/* Negative pads cut off. */
void cc_onnx_op_pad(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    static const char *const modes[] = {"constant", "reflect", "edge", NULL};
    uint32_t x = cc_onnx_operand(n, 0);
    struct cc_value v = *cc_onnx_shape(n, x);
    struct cc_attributes a = {.pad_mode = (enum cc_pad)cc_onnx_choice(n, "mode", modes, "constant")};
    int64_t pad[2][CC_RANK_MAX] = {{0}};
    bool grows = false;
    struct cut cut;

    if (n->opset < 11)
        a.alpha = cc_onnx_float(n, "value", 0);
    else if (cc_onnx_has(n, 2))
        a.alpha = (float)cc_onnx_number(n, 2, "constant_value");
    if (n->b->status || !pads_of(n, v.rank, pad))
        return;
    whole(&v, &cut);
    for (uint32_t i = 0; i < v.rank && !n->b->status; i++) {
        int64_t first = pad[0][i] < 0 ? -pad[0][i] : 0, cuts = first + (pad[1][i] < 0 ? -pad[1][i] : 0);

        if (cuts < 0 || cuts >= v.dim[i] || pad[0][i] > INT32_MAX || pad[1][i] > INT32_MAX) {
            cc_build_refuse(n->b, "padding %lld and %lld of axis %u of length %u", (long long)pad[0][i],
                            (long long)pad[1][i], i, v.dim[i]);
            return;
        }
        cut.begin[i] = (uint32_t)first;
        cut.size[i] = v.dim[i] - (uint32_t)cuts;
        a.begin[i] = pad[0][i] > 0 ? (uint32_t)pad[0][i] : 0;
        a.end[i] = pad[1][i] > 0 ? (uint32_t)pad[1][i] : 0;
        grows |= a.begin[i] || a.end[i];
    }
    x = sliced(n, x, &cut);
    cc_onnx_result(n, 0, grows ? cc_onnx_unary(n, kind, x, &a) : x);
}

/* Indices from the front, as a new constant; whether they are neighbours in order. */
static uint32_t front_indices(const struct cc_onnx_node *n, uint32_t indices, uint32_t length, bool *run)
{
    struct cc_value v = *cc_onnx_shape(n, indices);
    uint64_t count = cc_value_elements(&v);
    int32_t *data;

    *run = false;
    if (n->b->status)
        return 0;
    if (v.type != CC_INT32) {
        cc_build_refuse(n->b, "its indices are %s, expected whole numbers", cc_type_name(v.type));
        return 0;
    }
    data = base_alloc_array(count, sizeof(*data));
    *run = data != NULL;
    for (uint64_t i = 0; data && i < count; i++) {
        int32_t index = (int32_t)cc_value_number(&v, i);

        data[i] = index < 0 ? (int32_t)(index + (int64_t)length) : index;
        *run &= data[i] >= 0 && (uint32_t)data[i] < length && (i == 0 || data[i] == data[i - 1] + 1);
    }
    return cc_build_const(n->b, CC_INT32, v.rank, v.dim, data);
}

/* Indices that are computed are whole numbers of the host. The result takes part in fp16 operations. */
static void gather_at(const struct cc_onnx_node *n, uint32_t x, uint32_t indices)
{
    struct cc_attributes a = {.axis = cc_onnx_axis(n, cc_onnx_int(n, "axis", 0), cc_onnx_shape(n, x)->rank)};
    uint32_t made = cc_onnx_add(n, CC_OP_GATHER_AT, 2, (const uint32_t[]){x, indices}, &a);

    if (!n->b->status && cc_onnx_shape(n, made)->type == CC_FP32)
        made = cc_onnx_unary(n, CC_OP_CAST, made, &(struct cc_attributes){.to = CC_FP16});
    cc_onnx_result(n, 0, made);
}

static bool is_computed(const struct cc_onnx_node *n, uint32_t value)
{
    return !n->b->status && cc_onnx_shape(n, value)->type == CC_INT32 && !cc_onnx_is_constant(n, value);
}

/* Neighbours are a slice, in a new shape where the indices are not a list. */
void cc_onnx_op_gather(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    uint32_t x = cc_onnx_operand(n, 0), indices = cc_onnx_operand(n, 1), axis, rank = 0;
    struct cc_value v, list;
    struct cc_attributes a = {0};
    uint32_t dims[2 * CC_RANK_MAX];
    struct cut cut;
    bool run;

    if (is_computed(n, indices)) {
        gather_at(n, x, indices);
        return;
    }
    indices = cc_onnx_constant(n, 1, "the indices");
    v = *cc_onnx_shape(n, x);
    list = *cc_onnx_shape(n, indices);
    axis = cc_onnx_axis(n, cc_onnx_int(n, "axis", 0), v.rank);
    indices = front_indices(n, indices, v.dim[axis], &run);
    if (n->b->status)
        return;
    a.axis = axis;
    a.indices = indices + 1;
    if (!run || v.rank - 1 + list.rank > CC_RANK_MAX) {
        cc_onnx_result(n, 0, cc_onnx_unary(n, kind, x, &a));
        return;
    }
    whole(&v, &cut);
    cut.begin[axis] = (uint32_t)cc_value_number(cc_onnx_shape(n, indices), 0);
    cut.size[axis] = (uint32_t)cc_value_elements(&list);
    for (uint32_t i = 0; i < axis; i++)
        dims[rank++] = v.dim[i];
    for (uint32_t i = 0; i < list.rank; i++)
        dims[rank++] = list.dim[i];
    for (uint32_t i = axis + 1; i < v.rank; i++)
        dims[rank++] = v.dim[i];
    x = sliced(n, x, &cut);
    cc_onnx_result(n, 0, n->b->status ? 0 : cc_onnx_reshape(n, x, rank, dims));
}
