/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that change the shape or the order of elements. Constants without elements pass through some. */
#include <string.h>

#include "base/alloc.h"
#include "compiler/onnx/op.h"
#include "compiler/onnx/tensor.h"

struct shape {
    uint32_t rank;
    uint32_t dim[CC_ONNX_AXES_MAX];
    bool empty; /* a constant without elements, of this type */
    enum cc_type type;
    uint32_t value;
};

/* Operand 0 with its shape, elements or not. */
static bool shape_of(const struct cc_onnx_node *n, struct shape *x)
{
    struct cc_onnx_value given;
    const struct cc_value *v;

    *x = (struct shape){0};
    if (!cc_onnx_value_of(n, 0, &given))
        return false;
    x->empty = given.state == CC_ONNX_EMPTY;
    if (x->empty) {
        x->rank = given.rank;
        x->type = given.type;
        memcpy(x->dim, given.dim, sizeof(x->dim));
        return true;
    }
    if (given.state == CC_ONNX_WIDE) {
        x->rank = given.rank;
        x->type = cc_onnx_shape(n, given.value)->type;
        x->value = given.value;
        memcpy(x->dim, given.dim, sizeof(x->dim));
        return true;
    }
    x->value = cc_onnx_operand(n, 0);
    v = cc_onnx_shape(n, x->value);
    x->rank = v->rank;
    x->type = v->type;
    memcpy(x->dim, v->dim, sizeof(v->dim));
    return !n->b->status;
}

static uint64_t elements_of(const struct shape *x)
{
    uint64_t elements = 1;

    for (uint32_t i = 0; i < x->rank; i++)
        elements *= x->dim[i];
    return elements;
}

/* The elements of x in another shape; with more axes than the graph has, the shape is kept beside it. */
static void give(const struct cc_onnx_node *n, const struct shape *x, uint32_t rank, const uint32_t *dims)
{
    struct cc_onnx_value wide = {.state = CC_ONNX_WIDE, .value = x->value, .rank = rank};
    struct shape to = {.rank = rank};

    if (n->b->status)
        return;
    memcpy(to.dim, dims, rank * sizeof(*dims));
    memcpy(wide.dim, dims, rank * sizeof(*dims));
    if (x->empty)
        cc_onnx_result_empty(n, 0, x->type, rank, dims);
    else if (rank > CC_RANK_MAX && elements_of(&to) == elements_of(x))
        cc_onnx_result_value(n, 0, &wide);
    else
        cc_onnx_result(n, 0, cc_onnx_reshape(n, x->value, rank, dims));
}

/* The one length that is -1 is what the others leave. */
static void fill_open(const struct cc_onnx_node *n, const struct shape *x, uint32_t open, struct shape *to)
{
    uint64_t rest = 1;

    for (uint32_t i = 0; i < to->rank; i++)
        rest *= i == open ? 1 : to->dim[i];
    if (rest == 0 || elements_of(x) % rest || elements_of(x) / rest > UINT32_MAX)
        cc_build_refuse(n->b, "the %llu elements of x cannot be cut into parts of %llu",
                        (unsigned long long)elements_of(x), (unsigned long long)rest);
    else
        to->dim[open] = (uint32_t)(elements_of(x) / rest);
}

void cc_onnx_op_reshape(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    struct shape x, to = {0};
    struct cc_onnx_list list;
    bool zeros = cc_onnx_int(n, "allowzero", 0) != 0;
    uint32_t open = UINT32_MAX;

    (void)kind;
    if (!shape_of(n, &x) || !cc_onnx_list(n, 1, "the shape", &list))
        return;
    if (list.count > CC_ONNX_AXES_MAX)
        cc_build_refuse(n->b, "the shape has %u axes, more than %u", list.count, CC_ONNX_AXES_MAX);
    to.rank = list.count;
    for (uint32_t i = 0; i < to.rank && !n->b->status; i++) {
        int64_t length = list.number[i];

        if (length == -1 && open == UINT32_MAX)
            open = i;
        else if (length < 0 || (length == 0 && !zeros && i >= x.rank))
            cc_build_refuse(n->b, "the shape has %lld at place %u", (long long)length, i);
        else
            to.dim[i] = length == 0 && !zeros ? x.dim[i] : (uint32_t)length;
    }
    if (open != UINT32_MAX && !n->b->status)
        fill_open(n, &x, open, &to);
    if (!n->b->status && x.empty && elements_of(&to))
        cc_build_refuse(n->b, "x has no elements, and the shape asks for %llu",
                        (unsigned long long)elements_of(&to));
    give(n, &x, to.rank, to.dim);
}

void cc_onnx_op_flatten(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    int64_t axis = cc_onnx_int(n, "axis", 1);
    uint32_t flat[2] = {1, 1};
    struct shape x;

    (void)kind;
    if (!shape_of(n, &x))
        return;
    axis = axis < 0 ? axis + x.rank : axis;
    if (axis < 0 || axis > x.rank)
        cc_build_refuse(n->b, "axis %lld is not between two of rank %u", (long long)axis, x.rank);
    for (uint32_t i = 0; i < x.rank; i++)
        flat[i >= axis] *= x.dim[i];
    give(n, &x, 2, flat);
}

void cc_onnx_op_squeeze(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    uint32_t axes = 0, dims[CC_ONNX_AXES_MAX], rank = 0;
    struct cc_onnx_list list;
    struct shape x;
    bool given;

    (void)kind;
    if (!shape_of(n, &x))
        return;
    given = cc_onnx_axes_or_input(n, 13, "axes", 1, &list);
    axes = cc_onnx_axes(n, &list, x.rank);
    for (uint32_t i = 0; i < x.rank && !n->b->status; i++) {
        bool leave = given ? axes >> i & 1 : x.dim[i] == 1;

        if (leave && x.dim[i] != 1)
            cc_build_refuse(n->b, "axis %u has length %u, and only an axis of length 1 can be left out", i,
                            x.dim[i]);
        if (!leave)
            dims[rank++] = x.dim[i];
    }
    give(n, &x, rank, dims);
}

void cc_onnx_op_unsqueeze(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    uint32_t axes, dims[2 * CC_ONNX_AXES_MAX], rank, taken = 0;
    struct cc_onnx_list list;
    struct shape x;

    (void)kind;
    if (!shape_of(n, &x))
        return;
    cc_onnx_axes_or_input(n, 13, "axes", 1, &list);
    rank = x.rank + list.count;
    if (!n->b->status && rank > CC_ONNX_AXES_MAX)
        cc_build_refuse(n->b, "the result has %u axes, more than %u", rank, CC_ONNX_AXES_MAX);
    axes = cc_onnx_axes(n, &list, rank);
    for (uint32_t i = 0; i < rank && !n->b->status; i++)
        dims[i] = axes >> i & 1 ? 1 : x.dim[taken++];
    give(n, &x, rank, dims);
}

/*
 * Runs of axes that stay beside each other, those of length 1 left out: group[i] is the first axis of the run
 * at place i of the result. Returns how many there are.
 */
static uint32_t runs_of(const struct shape *x, const uint32_t *perm, uint32_t group[CC_ONNX_AXES_MAX],
                        uint32_t length[CC_ONNX_AXES_MAX])
{
    uint32_t count = 0, expected = UINT32_MAX;

    for (uint32_t i = 0; i < x->rank; i++) {
        uint32_t axis = perm[i], next = axis + 1;

        if (x->dim[axis] == 1)
            continue;
        if (axis == expected) {
            length[count - 1] *= x->dim[axis];
        } else {
            group[count] = axis;
            length[count++] = x->dim[axis];
        }
        while (next < x->rank && x->dim[next] == 1)
            next++;
        expected = next;
    }
    return count;
}

/* A transpose of any rank, by way of its runs. */
static void transpose_wide(const struct cc_onnx_node *n, struct shape *x, const uint32_t *perm)
{
    uint32_t group[CC_ONNX_AXES_MAX], length[CC_ONNX_AXES_MAX], from[CC_RANK_MAX], order[CC_RANK_MAX];
    uint32_t dims[CC_ONNX_AXES_MAX], count = runs_of(x, perm, group, length);

    if (count > CC_RANK_MAX) {
        cc_build_refuse(n->b, "it moves %u axes of rank %u, more than %u", count, x->rank, CC_RANK_MAX);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        order[i] = 0;
        for (uint32_t k = 0; k < count; k++)
            order[i] += group[k] < group[i];
        from[order[i]] = length[i];
    }
    x->value = cc_onnx_reshape(n, x->value, count, from);
    if (!n->b->status)
        x->value = cc_onnx_fold(n, cc_build_transpose(n->b, x->value, order));
    for (uint32_t i = 0; i < x->rank; i++)
        dims[i] = x->dim[perm[i]];
    give(n, x, x->rank, dims);
}

/* A constant matrix of floats is turned without being computed in double precision. */
static bool is_float_matrix(const struct cc_onnx_node *n)
{
    struct cc_onnx_value given;
    enum cc_type type;

    if (!cc_onnx_value_of(n, 0, &given))
        return false;
    if (given.state == CC_ONNX_TENSOR)
        return given.rank == 2 && cc_onnx_type(given.tensor->data_type, &type) && type == CC_FP32;
    return given.state == CC_ONNX_GRAPH && cc_onnx_is_constant(n, given.value) &&
           cc_onnx_shape(n, given.value)->rank == 2 && cc_onnx_shape(n, given.value)->type == CC_FP32;
}

/* The axes of the result, from the last to the first without the attribute. */
static bool read_perm(const struct cc_onnx_node *n, uint32_t rank, uint32_t perm[CC_ONNX_AXES_MAX])
{
    struct cc_onnx_list list;
    uint32_t seen = 0;

    if (!cc_onnx_ints(n, "perm", &list)) {
        list.count = rank;
        for (uint32_t i = 0; i < rank; i++)
            list.number[i] = rank - 1 - i;
    }
    if (!n->b->status && list.count != rank)
        cc_build_refuse(n->b, "perm has %u numbers, expected %u", list.count, rank);
    for (uint32_t i = 0; i < rank && !n->b->status; i++) {
        perm[i] = cc_onnx_axis(n, list.number[i], rank);
        if (seen >> perm[i] & 1)
            cc_build_refuse(n->b, "perm names axis %u twice", perm[i]);
        seen |= 1u << perm[i];
    }
    return !n->b->status;
}

void cc_onnx_op_transpose(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    uint32_t perm[CC_ONNX_AXES_MAX];
    struct shape x;

    (void)kind;
    if (is_float_matrix(n)) {
        if (read_perm(n, 2, perm))
            cc_onnx_result(n, 0, cc_onnx_matrix(n, 0, perm[0] == 1, 1));
        return;
    }
    if (!shape_of(n, &x) || !read_perm(n, x.rank, perm))
        return;
    if (x.empty)
        cc_build_refuse(n->b, "x has no elements");
    else if (x.rank > CC_RANK_MAX)
        transpose_wide(n, &x, perm);
    else
        cc_onnx_result(n, 0, cc_onnx_fold(n, cc_build_transpose(n->b, x.value, perm)));
}

/* Repeats axes; x itself when every count is 1. */
static uint32_t tiled(const struct cc_onnx_node *n, uint32_t x, const struct cc_attributes *a)
{
    bool any = false;

    for (uint32_t i = 0; i < cc_onnx_shape(n, x)->rank; i++)
        any |= a->reps[i] != 1;
    return any ? cc_onnx_unary(n, CC_OP_TILE, x, a) : x;
}

void cc_onnx_op_expand(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    uint32_t dims[CC_ONNX_AXES_MAX], full[CC_ONNX_AXES_MAX], rank;
    struct cc_attributes a = {0};
    struct cc_onnx_list list;
    bool empty = false;
    struct shape x;

    (void)kind;
    if (!shape_of(n, &x) || !cc_onnx_list(n, 1, "the shape", &list))
        return;
    if (x.rank > CC_RANK_MAX)
        cc_build_refuse(n->b, "x has rank %u, more than %u", x.rank, CC_RANK_MAX);
    rank = list.count > x.rank ? list.count : x.rank;
    if (rank > CC_RANK_MAX)
        cc_build_refuse(n->b, "the result has rank %u, more than %u", rank, CC_RANK_MAX);
    for (uint32_t back = 1; back <= rank && !n->b->status; back++) {
        uint32_t own = back <= x.rank ? x.dim[x.rank - back] : 1;
        int64_t wanted = back <= list.count ? list.number[list.count - back] : 1;

        if (wanted < 0 || (wanted != 1 && own != 1 && wanted != own))
            cc_build_refuse(n->b, "axis %u has length %u, which does not become %lld", rank - back, own,
                            (long long)wanted);
        dims[rank - back] = own;
        full[rank - back] = wanted == 1 ? own : (uint32_t)wanted;
        a.reps[rank - back] = own && own != (uint32_t)wanted && wanted != 1 ? (uint32_t)wanted : 1;
        empty |= full[rank - back] == 0;
    }
    if (n->b->status)
        return;
    if (empty)
        cc_onnx_result_empty(n, 0, x.type, rank, full);
    else
        cc_onnx_result(n, 0, tiled(n, cc_onnx_reshape(n, x.value, rank, dims), &a));
}

void cc_onnx_op_tile(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    uint32_t x = cc_onnx_operand(n, 0), rank = cc_onnx_shape(n, x)->rank;
    struct cc_attributes a = {0};
    struct cc_onnx_list list;

    (void)kind;
    if (!cc_onnx_list(n, 1, "repeats", &list))
        return;
    if (list.count != rank)
        cc_build_refuse(n->b, "repeats has %u numbers, expected %u", list.count, rank);
    for (uint32_t i = 0; i < rank && !n->b->status; i++) {
        if (list.number[i] < 1)
            cc_build_refuse(n->b, "repeats has %lld, expected at least 1", (long long)list.number[i]);
        a.reps[i] = (uint32_t)list.number[i];
    }
    if (!n->b->status)
        cc_onnx_result(n, 0, tiled(n, x, &a));
}

/* Operands without elements are left out. */
void cc_onnx_op_concat(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    uint32_t *values = base_alloc_array(n->proto->n_input + 1, sizeof(*values)), count = 0, rank = 0;
    struct cc_onnx_value given = {0};

    (void)kind;
    if (!values) {
        cc_onnx_no_memory(n->reader);
        return;
    }
    for (uint32_t i = 0; i < n->proto->n_input && !n->b->status; i++)
        if (cc_onnx_value_of(n, i, &given) && given.state != CC_ONNX_EMPTY)
            values[count++] = cc_onnx_operand(n, i);
    if (!n->b->status && count) {
        rank = cc_onnx_shape(n, values[0])->rank;
        cc_onnx_result(n, 0,
                       cc_onnx_fold(n, cc_build_concat(n->b, count, values,
                                                       cc_onnx_axis(n, cc_onnx_int(n, "axis", 1), rank))));
    } else if (!n->b->status && n->proto->n_input) {
        cc_onnx_result_value(n, 0, &given);
    }
    base_free(values);
}

void cc_onnx_op_depth(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    static const char *const modes[] = {"DCR", "CRD", NULL};
    int64_t block = cc_onnx_int(n, "blocksize", 0);
    struct cc_attributes a = {0};

    if (block < 1 || block > INT32_MAX)
        cc_build_refuse(n->b, "blocksize is %lld, expected at least 1", (long long)block);
    a.block[0] = a.block[1] = (uint32_t)block;
    if (kind == CC_OP_DEPTH_TO_SPACE && cc_onnx_choice(n, "mode", modes, "DCR"))
        a.order = CC_DEPTH_CHANNEL_FIRST;
    cc_onnx_result(n, 0, cc_onnx_unary(n, kind, cc_onnx_operand(n, 0), &a));
}

void cc_onnx_op_cumsum(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    uint32_t x = cc_onnx_operand(n, 0);
    struct cc_attributes a = {.exclusive = cc_onnx_int(n, "exclusive", 0) != 0,
                              .reverse = cc_onnx_int(n, "reverse", 0) != 0};

    a.axis = cc_onnx_axis(n, (int64_t)cc_onnx_number(n, 1, "axis"), cc_onnx_shape(n, x)->rank);
    cc_onnx_result(n, 0, cc_onnx_unary(n, kind, x, &a));
}

/* Where row and column are on the kept side of diagonal k, of the last two axes. */
void cc_onnx_op_trilu(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    bool upper = cc_onnx_int(n, "upper", 1) != 0;
    double k = cc_onnx_has(n, 1) ? cc_onnx_number(n, 1, "k") : 0;
    uint32_t x = cc_onnx_operand(n, 0), operands[3];
    struct cc_value v = *cc_onnx_shape(n, x);
    const uint32_t *dims = v.dim + (v.rank >= 2 ? v.rank - 2 : 0);
    uint8_t *mask;

    if (!n->b->status && v.rank < 2)
        cc_build_refuse(n->b, "x has rank %u, expected at least 2", v.rank);
    /* the engine's bool is an fp16, so the mask is more than its bytes here */
    if (n->b->status || cc_onnx_made(n->reader, (uint64_t)dims[0] * dims[1] * sizeof(float)))
        return;
    mask = base_alloc_array(dims[0], dims[1]);
    for (uint32_t i = 0; mask && i < dims[0]; i++)
        for (uint32_t j = 0; j < dims[1]; j++)
            mask[(size_t)i * dims[1] + j] = upper ? j >= i + k : j <= i + k;
    operands[0] = cc_build_const(n->b, CC_BOOL, 2, dims, mask);
    operands[1] = x;
    operands[2] = cc_onnx_number_like(n, 0, x);
    cc_onnx_result(n, 0, cc_onnx_add(n, kind, 3, operands, NULL));
}
