/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views. A view of a value has the strides of its layout; permuting exchanges axes and moves no element.
 * Every stride is 2 or a multiple of 64, because a descriptor counts in units of 64 bytes; the functions here
 * keep that, and a family that changes a stride must too.
 */
#include "compiler/lower/view.h"

#include <string.h>

#include "compiler/half.h"

struct cc_view cc_view_of(const struct pr_e5_operand *at, const struct cc_layout *layout)
{
    return (struct cc_view){
        .at = {.place = at->place, .index = at->index, .offset = at->offset},
        .extent = {layout->n, layout->c, layout->h, layout->w},
        .stride = {layout->batch, layout->plane, layout->row, CC_ELEMENT},
    };
}

int cc_view_source(struct cc_lowering *l, uint32_t value, struct cc_view *view)
{
    struct pr_e5_operand at;
    struct cc_layout layout;
    int status = cc_source(l, value, &at, &layout);

    if (!status)
        *view = cc_view_of(&at, &layout);
    return status;
}

int cc_view_result(struct cc_lowering *l, uint32_t value, struct cc_view *view)
{
    struct pr_e5_operand at;
    struct cc_layout layout;
    int status = cc_result(l, value, &at, &layout);

    if (!status)
        *view = cc_view_of(&at, &layout);
    return status;
}

int cc_view_scratch(struct cc_lowering *l, const uint32_t extent[CC_AXES], struct cc_view *view)
{
    uint64_t bytes = pr_round_up((uint64_t)extent[CC_AXIS_W] * CC_ELEMENT, PR_ROW_ALIGN);

    *view = (struct cc_view){.at = {.place = PR_E5_INTERMEDIATE}};
    memcpy(view->extent, extent, sizeof(view->extent));
    view->stride[CC_AXIS_W] = CC_ELEMENT;
    for (unsigned i = CC_AXIS_W; i-- > 0;) {
        if (bytes > PR_E5_BYTES_MAX)
            break;
        view->stride[i] = (uint32_t)bytes;
        bytes *= extent[i];
    }
    return cc_scratch(l, bytes, &view->at.index);
}

int cc_view_scalar(struct cc_lowering *l, uint16_t half, struct cc_view *view)
{
    uint8_t bytes[PR_ROW_ALIGN] = {0};

    cc_put_half(bytes, half);
    *view = (struct cc_view){.at = {.place = PR_E5_CONSTANT},
                             .extent = {1, 1, 1, 1},
                             .stride = {PR_ROW_ALIGN, PR_ROW_ALIGN, PR_ROW_ALIGN, CC_ELEMENT}};
    return cc_constant(l, bytes, sizeof(bytes), &view->at.offset);
}

struct cc_view cc_view_permuted(const struct cc_view *view, const uint32_t perm[CC_AXES])
{
    struct cc_view permuted = {.at = view->at};

    for (unsigned i = 0; i < CC_AXES; i++) {
        permuted.extent[i] = view->extent[perm[i]];
        permuted.stride[i] = view->stride[perm[i]];
    }
    return permuted;
}
