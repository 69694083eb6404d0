/* SPDX-License-Identifier: Apache-2.0 */
/* A port as both sides see it. Sizes saturate at SIZE_LIMIT, so that no product of extents overflows. */
#include "runtime/layout.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SIZE_LIMIT (1ull << 32) /* of a surface */

uint32_t e5_type_bytes(enum e5_type type)
{
    return type == E5_FP32 || type == E5_INT32 ? 4 : type == E5_FP16 ? 2 : 1;
}

const char *e5_type_name(enum e5_type type)
{
    static const char *const names[] = {[E5_FP16] = "fp16",
                                        [E5_FP32] = "fp32",
                                        [E5_UINT8] = "uint8",
                                        [E5_INT8] = "int8",
                                        [E5_INT32] = "int32"};

    return names[type];
}

static bool refuse(struct pr_problem *problem, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool refuse(struct pr_problem *problem, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(problem->text, sizeof(problem->text), format, args);
    va_end(args);
    problem->kind = PR_PROBLEM_UNSUPPORTED;
    return false;
}

/* a * b, or SIZE_LIMIT when that is more. */
static uint64_t times(uint64_t a, uint64_t b)
{
    return a && b > SIZE_LIMIT / a ? SIZE_LIMIT : a * b;
}

static uint64_t elements(const struct e5_form *f)
{
    return times(times(f->n, f->c), times(f->h, f->w));
}

static bool is_packed(const struct e5_form *f)
{
    uint64_t row = (uint64_t)f->w * e5_type_bytes(f->type), plane = times(row, f->h),
             batch = times(plane, f->c);

    return (f->h == 1 || f->row == row) && (f->c == 1 || f->plane == plane) &&
           (f->n == 1 || f->batch == batch);
}

/* Where the last element ends. */
static uint64_t reach(const struct e5_form *f)
{
    return times(f->n - 1, f->batch) + times(f->c - 1, f->plane) + times(f->h - 1, f->row) +
           (uint64_t)f->w * e5_type_bytes(f->type);
}

/* The rest of a layout, from name, type, dims and form. */
static bool complete(struct e5_layout *l, struct pr_problem *problem)
{
    const struct e5_form *f = &l->form;
    uint32_t element = e5_type_bytes(f->type);
    uint64_t count = 1;

    if (l->rank > E5_RANK_MAX)
        return refuse(problem, "Port %s has rank %u; the limit is %u.", l->name, l->rank, E5_RANK_MAX);
    for (uint32_t i = 0; i < l->rank; i++)
        count = times(count, l->dim[i]);
    if (!count || count != elements(f) || count >= SIZE_LIMIT / 4)
        return refuse(problem,
                      "Port %s has %" PRIu64 " elements for the model and %" PRIu64 " for the engine.",
                      l->name, count, elements(f));
    if (f->row % element || f->plane % element || f->batch % element || reach(f) > f->bytes ||
        f->bytes > SIZE_LIMIT)
        return refuse(problem, "Port %s reaches %" PRIu64 " of its %" PRIu64 " bytes.", l->name, reach(f),
                      f->bytes);
    l->packed = count * e5_type_bytes(l->type);
    l->same = l->type == f->type && is_packed(f);
    return true;
}

bool e5_layout_from_e5(struct e5_layout *l, const struct pr_e5_port *p, struct pr_problem *problem)
{
    memset(l, 0, sizeof(*l));
    snprintf(l->name, sizeof(l->name), "%s", p->name);
    snprintf(l->symbol, sizeof(l->symbol), "%s", p->name);
    l->input = p->direction == PR_HWX_INPUT;
    if (p->type != E5_FP16 && p->type != E5_FP32)
        return refuse(problem, "Port %s has type %u; a bundle's ports have 0 (fp16) or 1 (fp32).", l->name,
                      p->type);
    l->type = (enum e5_type)p->type;
    l->rank = p->rank;
    for (uint32_t i = 0; i < p->rank && i < E5_RANK_MAX; i++)
        l->dim[i] = p->dim[i];
    l->form = (struct e5_form){.type = E5_FP16,
                               .n = p->n,
                               .c = p->c,
                               .h = p->h,
                               .w = p->w,
                               .batch = (uint64_t)p->c * p->plane,
                               .plane = p->plane,
                               .row = p->row,
                               .bytes = p->bytes};
    return complete(l, problem);
}

/* A surface without a shape is one row. */
static void one_row(struct e5_layout *l, uint64_t bytes)
{
    uint64_t count = bytes / e5_type_bytes(l->type);

    l->rank = 1;
    l->dim[0] = count;
    l->form = (struct e5_form){.type = l->type,
                               .n = 1,
                               .c = 1,
                               .h = 1,
                               .w = (uint32_t)count,
                               .batch = bytes,
                               .plane = bytes,
                               .row = bytes,
                               .bytes = bytes};
}

bool e5_layout_packed(struct e5_layout *l, const char *name, enum e5_type type, uint32_t rank,
                      const uint32_t *dim, struct pr_problem *problem)
{
    uint64_t count = 1;
    uint32_t shown = rank < E5_RANK_MAX ? rank : E5_RANK_MAX;

    memset(l, 0, sizeof(*l));
    snprintf(l->name, sizeof(l->name), "%s", name);
    snprintf(l->symbol, sizeof(l->symbol), "%s", name);
    l->type = type;
    for (uint32_t i = 0; i < shown; i++) {
        l->dim[i] = dim[i];
        count = times(count, dim[i]);
    }
    one_row(l, times(count, e5_type_bytes(type)));
    l->rank = rank;
    for (uint32_t i = 0; i < shown; i++)
        l->dim[i] = dim[i];
    return complete(l, problem);
}

/* False for elements that the engine has, if at all, inside a program only. */
static bool type_of_element(uint32_t element, enum e5_type *type)
{
    switch (element) {
    case PR_HWX_ELEMENT_FLOAT16: *type = E5_FP16; return true;
    case PR_HWX_ELEMENT_UINT8: *type = E5_UINT8; return true;
    case PR_HWX_ELEMENT_INT8: *type = E5_INT8; return true;
    default: return false;
    }
}

bool e5_layout_from_hwx(struct e5_layout *l, const struct pr_hwx_port *p, struct pr_problem *problem)
{
    const char *element = pr_hwx_element_name(p->element);

    memset(l, 0, sizeof(*l));
    snprintf(l->name, sizeof(l->name), "%s", p->short_name);
    snprintf(l->symbol, sizeof(l->symbol), "%s", p->name);
    l->input = p->direction == PR_HWX_INPUT;
    if (p->bytes > SIZE_LIMIT)
        return refuse(problem, "Port %s has %" PRIu64 " bytes; a surface has 4 GiB at most.", l->name,
                      p->bytes);
    if (!type_of_element(p->element, &l->type))
        return refuse(problem, "Port %s has elements of type %s; the runtime binds float16, uint8 and int8.",
                      l->name, element ? element : "unknown");
    if (!p->shaped) {
        one_row(l, p->bytes);
        return complete(l, problem);
    }
    if (p->d > 1 || p->element_stride != e5_type_bytes(l->type))
        return refuse(problem,
                      "Port %s has depth %u and %" PRIu64
                      " bytes between elements of %s; the runtime knows depth 1 and adjacent elements.",
                      l->name, p->d, p->element_stride, element);
    l->rank = 4;
    l->dim[0] = p->n;
    l->dim[1] = p->c;
    l->dim[2] = p->h;
    l->dim[3] = p->w;
    l->form = (struct e5_form){.type = l->type,
                               .n = p->n,
                               .c = p->c,
                               .h = p->h,
                               .w = p->w,
                               .batch = p->batch_stride,
                               .plane = p->plane_stride,
                               .row = p->row_stride,
                               .bytes = p->bytes};
    return complete(l, problem);
}

bool e5_form_equal(const struct e5_form *a, const struct e5_form *b)
{
    return a->type == b->type && a->n == b->n && a->c == b->c && a->h == b->h && a->w == b->w &&
           a->batch == b->batch && a->plane == b->plane && a->row == b->row && a->bytes == b->bytes;
}

bool e5_layout_may_share(const struct e5_layout *input, const struct e5_layout *output)
{
    return input->last_read <= output->first_write;
}

/* Takes `size` elements off the innermost axes that are left; false when they have no single stride. */
static bool take_axes(uint64_t extent[4], uint64_t stride[4], unsigned *axis, uint64_t size)
{
    while (size > 1) {
        while (*axis < 4 && extent[*axis] == 1)
            ++*axis;
        if (*axis == 4)
            return false;
        if (size < extent[*axis]) {
            if (extent[*axis] % size)
                return false;
            extent[*axis] /= size;
            stride[*axis] *= size;
            return true;
        }
        if (size % extent[*axis])
            return false;
        size /= extent[*axis];
        if (size > 1) {
            uint64_t next = stride[*axis] * extent[*axis];
            unsigned outer = *axis + 1;

            while (outer < 4 && extent[outer] == 1)
                outer++;
            if (outer == 4 || stride[outer] != next)
                return false;
        }
        extent[*axis] = 1;
    }
    return true;
}

bool e5_layout_strides(const struct e5_layout *l, uint64_t strides[E5_RANK_MAX])
{
    const struct e5_form *f = &l->form;
    const uint64_t element = e5_type_bytes(f->type);
    uint64_t extent[4] = {f->w, f->h, f->c, f->n}, stride[4] = {element, f->row, f->plane, f->batch};
    unsigned axis = 0;

    if (l->rank == 4 && l->dim[0] == f->n && l->dim[1] == f->c && l->dim[2] == f->h) {
        strides[0] = f->batch, strides[1] = f->plane, strides[2] = f->row, strides[3] = element;
        return true;
    }
    for (uint32_t i = l->rank; i-- > 0;) {
        while (axis < 3 && extent[axis] == 1)
            axis++;
        strides[i] = stride[axis];
        if (!take_axes(extent, stride, &axis, l->dim[i]))
            return false;
    }
    return true;
}
