/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One axis of a tensor brought to the channels: [outer, length, middle, row] with all other axes around it,
 * so that a task along any axis is one of rank 4 in which the axis is never the contiguous one.
 */
#ifndef COMPILER_PASS_LANE_H
#define COMPILER_PASS_LANE_H

#include "compiler/graph/build.h"

struct cc_lane {
    uint32_t value;             /* [outer, length, middle, row] */
    uint32_t length;            /* of the axis; what works on the lane changes it */
    uint32_t rank, place;       /* of x in its turned order; where the axis is there */
    uint32_t dim[CC_RANK_MAX];  /* of x in its turned order */
    uint32_t back[CC_RANK_MAX]; /* from the turned order to that of x */
    bool line;                  /* x has this axis alone, and a second one of length 1 here */
};

/*
 * Opens the lane of an axis of x. With `few`, only the first axis stays before it, because every index of
 * the outer axis costs a descriptor.
 */
void cc_lane_open(struct cc_build *b, uint32_t x, uint32_t axis, bool few, struct cc_lane *lane);
/* The lane's value with the axes of x, of which that one has the lane's length. */
uint32_t cc_lane_close(struct cc_build *b, const struct cc_lane *lane);

/* Elements of the lane at these indices. */
void cc_lane_gather(struct cc_build *b, struct cc_lane *lane, uint32_t count, const int32_t *index);
/* Every element `factor` times. */
void cc_lane_repeat(struct cc_build *b, struct cc_lane *lane, uint32_t factor);
/* The lane times a constant matrix [rows, length]; takes the matrix (from base_alloc). */
void cc_lane_multiply(struct cc_build *b, struct cc_lane *lane, uint32_t rows, float *matrix);

#endif
