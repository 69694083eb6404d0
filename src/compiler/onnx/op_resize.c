/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resize and Upsample. The graph resizes the last two axes; a model that resizes others is refused. A length
 * is the floor of x times the scale.
 */
#include <math.h>

#include "compiler/onnx/op.h"

struct target {
    uint32_t dim[CC_RANK_MAX];
    float scale[CC_RANK_MAX]; /* 0: that of the lengths */
};

static void target_of(const struct cc_value *v, struct target *t)
{
    *t = (struct target){0};
    for (uint32_t i = 0; i < v->rank; i++)
        t->dim[i] = v->dim[i];
}

/* One axis by a factor. */
static void scale_axis(const struct cc_onnx_node *n, const struct cc_value *v, struct target *t,
                       uint32_t axis, double scale)
{
    double length = floor((double)v->dim[axis] * scale);

    if (!(scale > 0) || length < 1 || length > UINT32_MAX) {
        cc_build_refuse(n->b, "axis %u of length %u is scaled by %g", axis, v->dim[axis], scale);
        return;
    }
    t->dim[axis] = (uint32_t)length;
    t->scale[axis] = scale == length / v->dim[axis] ? 0 : (float)scale;
}

static void add_resize(const struct cc_onnx_node *n, uint32_t x, const struct target *t,
                       struct cc_attributes *a)
{
    struct cc_value v = *cc_onnx_shape(n, x);
    bool same = true;

    for (uint32_t i = 0; i < v.rank && !n->b->status; i++) {
        same &= t->dim[i] == v.dim[i] && t->scale[i] == 0;
        if (i + 2 < v.rank && (t->dim[i] != v.dim[i] || t->scale[i] != 0))
            cc_build_refuse(n->b, "axis %u of %s is resized to %u, expected the last two axes alone", i,
                            cc_shape_text(v.type, v.rank, v.dim).text, t->dim[i]);
    }
    if (n->b->status)
        return;
    if (same) {
        cc_onnx_result(n, 0, x);
        return;
    }
    if (v.rank == 1) {
        cc_build_refuse(n->b, "x has rank 1, expected at least 2");
        return;
    }
    for (unsigned i = 0; i < 2; i++) {
        a->size[i] = t->dim[v.rank - 2 + i];
        a->scale[i] = t->scale[v.rank - 2 + i];
    }
    cc_onnx_result(n, 0, cc_onnx_unary(n, CC_OP_RESIZE, x, a));
}

/* Scales as a constant operand, of all axes or of the named ones. */
static void scales(const struct cc_onnx_node *n, uint32_t i, const struct cc_value *v,
                   const struct cc_onnx_list *axes, struct target *t)
{
    const struct cc_value *list = cc_onnx_shape(n, cc_onnx_constant(n, i, "scales"));

    if (!n->b->status && cc_value_elements(list) != axes->count)
        cc_build_refuse(n->b, "scales has %llu numbers, expected %u",
                        (unsigned long long)cc_value_elements(list), axes->count);
    for (uint32_t k = 0; k < axes->count && !n->b->status; k++)
        scale_axis(n, v, t, cc_onnx_axis(n, axes->number[k], v->rank), cc_value_number(list, k));
}

/* The lengths that keep the proportions: one scale, the smallest or the largest of those asked for. */
static void keep_aspect(const struct cc_onnx_node *n, const struct cc_value *v,
                        const struct cc_onnx_list *axes, struct target *t)
{
    static const char *const policies[] = {"stretch", "not_larger", "not_smaller", NULL};
    unsigned policy = cc_onnx_choice(n, "keep_aspect_ratio_policy", policies, "stretch");
    double scale = 0;

    if (policy == 0)
        return;
    for (uint32_t k = 0; k < axes->count && !n->b->status; k++) {
        uint32_t axis = cc_onnx_axis(n, axes->number[k], v->rank);
        double own = (double)t->dim[axis] / v->dim[axis];

        if (k == 0 || (policy == 1 ? own < scale : own > scale))
            scale = own;
    }
    for (uint32_t k = 0; k < axes->count && !n->b->status; k++) {
        uint32_t axis = cc_onnx_axis(n, axes->number[k], v->rank);
        double length = floor(scale * v->dim[axis] + 0.5);

        if (length < 1 || length > UINT32_MAX)
            cc_build_refuse(n->b, "axis %u would have length %g", axis, length);
        else
            t->dim[axis] = (uint32_t)length;
        t->scale[axis] = (float)scale;
    }
}

static void sizes(const struct cc_onnx_node *n, uint32_t i, const struct cc_value *v,
                  const struct cc_onnx_list *axes, struct target *t)
{
    struct cc_onnx_list list;

    if (!cc_onnx_list(n, i, "sizes", &list))
        return;
    if (list.count != axes->count)
        cc_build_refuse(n->b, "sizes has %u numbers, expected %u", list.count, axes->count);
    for (uint32_t k = 0; k < axes->count && !n->b->status; k++) {
        if (list.number[k] < 1)
            cc_build_refuse(n->b, "sizes has %lld, expected at least 1", (long long)list.number[k]);
        t->dim[cc_onnx_axis(n, axes->number[k], v->rank)] = (uint32_t)list.number[k];
    }
    keep_aspect(n, v, axes, t);
}

/* Whether an operand is there and has elements. */
static bool filled(const struct cc_onnx_node *n, uint32_t i)
{
    struct cc_onnx_value given;

    return cc_onnx_has(n, i) && cc_onnx_value_of(n, i, &given) && given.state != CC_ONNX_EMPTY;
}

static void all_axes(uint32_t rank, struct cc_onnx_list *axes)
{
    axes->count = rank;
    for (uint32_t i = 0; i < rank; i++)
        axes->number[i] = i;
}

/* How coordinates and rounding are said since version 11. */
static void read_modes(const struct cc_onnx_node *n, struct cc_attributes *a)
{
    static const char *const places[] = {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric",
                                         NULL};
    static const char *const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", NULL};

    a->coordinate =
        (enum cc_coordinate)cc_onnx_choice(n, "coordinate_transformation_mode", places, "half_pixel");
    a->nearest = (enum cc_nearest)cc_onnx_choice(n, "nearest_mode", roundings, "round_prefer_floor");
    a->cubic = cc_onnx_float(n, "cubic_coeff_a", -0.75f);
    if (cc_onnx_int(n, "exclude_outside", 0))
        cc_build_refuse(n->b, "exclude_outside is 1, expected 0");
    if (cc_onnx_int(n, "antialias", 0))
        cc_build_refuse(n->b, "antialias is 1, expected 0");
}

void cc_onnx_op_resize(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    static const char *const modes[] = {"nearest", "linear", "cubic", NULL};
    uint32_t x = cc_onnx_operand(n, 0);
    struct cc_value v = *cc_onnx_shape(n, x);
    struct cc_attributes a = {.resize = (enum cc_resize)cc_onnx_choice(n, "mode", modes, "nearest")};
    struct cc_onnx_list axes;
    struct target t;

    (void)kind;
    if (n->b->status)
        return;
    target_of(&v, &t);
    if (n->opset < 11) {
        a.coordinate = CC_ASYMMETRIC;
        a.nearest = CC_ROUND_FLOOR;
        all_axes(v.rank, &axes);
        scales(n, 1, &v, &axes, &t);
    } else {
        read_modes(n, &a);
        if (!(n->opset >= 18 && cc_onnx_ints(n, "axes", &axes)))
            all_axes(v.rank, &axes);
        if (filled(n, 2))
            scales(n, 2, &v, &axes, &t);
        else
            sizes(n, 3, &v, &axes, &t);
    }
    add_resize(n, x, &t, &a);
}

/* Version 7 has the scales as an attribute, version 9 as an operand. */
void cc_onnx_op_upsample(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    static const char *const modes[] = {"nearest", "linear", NULL};
    const CcAttribute *factors = n->opset < 9 ? cc_onnx_attribute(n, "scales") : NULL;
    uint32_t x = cc_onnx_operand(n, 0);
    struct cc_value v = *cc_onnx_shape(n, x);
    struct cc_attributes a = {.resize = (enum cc_resize)cc_onnx_choice(n, "mode", modes, "nearest"),
                              .coordinate = CC_ASYMMETRIC,
                              .nearest = CC_ROUND_FLOOR};
    struct cc_onnx_list axes;
    struct target t;

    (void)kind;
    if (n->b->status)
        return;
    target_of(&v, &t);
    all_axes(v.rank, &axes);
    if (n->opset >= 9)
        scales(n, 1, &v, &axes, &t);
    else if (!factors || factors->n_floats != v.rank)
        cc_build_refuse(n->b, "scales has %zu numbers, expected %u", factors ? factors->n_floats : 0, v.rank);
    for (uint32_t i = 0; n->opset < 9 && i < v.rank && !n->b->status; i++)
        scale_axis(n, &v, &t, i, (double)factors->floats[i]);
    add_resize(n, x, &t, &a);
}
