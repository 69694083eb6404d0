/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows begin on 64-byte boundaries, so an axis other than the last one can be cut into phases by strides
 * alone, and W can not. W therefore becomes a slower axis in the first transpose and is cut in the second.
 * The axis that is the last one between the two is H, or C where x has a single row.
 */
#include "compiler/pass/phases.h"

#include <string.h>

static uint32_t move(struct cc_build *b, uint32_t x, const uint32_t dim[4], const uint32_t perm[4])
{
    return cc_build_transpose(b, cc_build_reshape(b, x, 4, dim), perm);
}

uint32_t cc_phases_split(struct cc_build *b, uint32_t x, uint32_t u, uint32_t v)
{
    uint32_t n, c, h, w, planes;

    if (b->status)
        return 0;
    n = cc_build_value(b, x)->dim[0];
    c = cc_build_value(b, x)->dim[1];
    h = cc_build_value(b, x)->dim[2];
    w = cc_build_value(b, x)->dim[3];
    planes = n * c;
    if (v == 1)
        return move(b, x, (uint32_t[4]){planes, h / u, u, w}, (uint32_t[4]){0, 2, 1, 3});
    if (h == 1) {
        x = move(b, x, (uint32_t[4]){n, 1, c, w}, (uint32_t[4]){0, 1, 3, 2});
        return move(b, x, (uint32_t[4]){n, w / v, v, c}, (uint32_t[4]){0, 3, 2, 1});
    }
    x = move(b, x, (uint32_t[4]){planes, h / u, u, w}, (uint32_t[4]){0, 2, 3, 1});
    return move(b, x, (uint32_t[4]){planes * u, w / v, v, h / u}, (uint32_t[4]){0, 2, 3, 1});
}

uint32_t cc_phases_join(struct cc_build *b, uint32_t x, const uint32_t dim[4], uint32_t u, uint32_t v)
{
    uint32_t n = dim[0], c = dim[1], h = dim[2], w = dim[3], planes = n * c;

    if (b->status)
        return 0;
    if (v == 1) {
        x = move(b, x, (uint32_t[4]){planes, u, h / u, w}, (uint32_t[4]){0, 2, 1, 3});
    } else if (h == 1) {
        x = move(b, x, (uint32_t[4]){n, c, v, w / v}, (uint32_t[4]){0, 3, 2, 1});
        x = move(b, x, (uint32_t[4]){n, 1, w, c}, (uint32_t[4]){0, 1, 3, 2});
    } else {
        x = move(b, x, (uint32_t[4]){planes * u, v, h / u, w / v}, (uint32_t[4]){0, 3, 1, 2});
        x = move(b, x, (uint32_t[4]){planes, u, w, h / u}, (uint32_t[4]){0, 3, 1, 2});
    }
    return cc_build_reshape(b, x, 4, dim);
}

uint32_t cc_phases_fit(struct cc_build *b, uint32_t x, const uint32_t front[2], const uint32_t length[2],
                       float fill)
{
    struct cc_attributes pad = {.pad_mode = CC_PAD_CONSTANT, .alpha = fill};
    uint32_t size[4], begin[4] = {0};
    bool any = false;

    if (b->status)
        return 0;
    memcpy(size, cc_build_value(b, x)->dim, sizeof(size));
    for (unsigned i = 0; i < 2; i++) {
        uint32_t whole = front[i] + size[2 + i];

        pad.begin[2 + i] = front[i];
        pad.end[2 + i] = length[i] > whole ? length[i] - whole : 0;
        any |= pad.begin[2 + i] || pad.end[2 + i];
        size[2 + i] = length[i];
    }
    if (any)
        x = cc_build_op(b, CC_OP_PAD, 1, &x, &pad);
    return b->status ? 0 : cc_build_slice(b, x, begin, size, NULL);
}
