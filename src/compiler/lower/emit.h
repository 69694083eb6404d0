/* SPDX-License-Identifier: Apache-2.0 */
/* Records, one per descriptor, and their way into the program. */
#ifndef COMPILER_LOWER_EMIT_H
#define COMPILER_LOWER_EMIT_H

#include "compiler/lower/context.h"

/* The axes of a record's `in` and `out`. */
enum { CC_W, CC_H, CC_C, CC_G, CC_RECORD_AXES };
/*
 * The groups of one piece when groups are cut: a multiple of 32, so that pieces begin on 64-byte boundaries.
 */
#define CC_GROUPS_CUT (PR_GROUPS_MAX & ~31u)

/* A record whose factors are all 1. */
struct pr_e5_record cc_record(enum pr_e5_kind kind);
/* Appends a record to the program after a check of its extents. */
int cc_emit(struct cc_lowering *l, const struct pr_e5_record *record);
/*
 * The same for a record of equal extents in and out, which is cut where an axis is longer than a descriptor
 * takes.
 */
int cc_emit_cut(struct cc_lowering *l, const struct pr_e5_record *record);

#endif
