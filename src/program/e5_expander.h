/* SPDX-License-Identifier: Apache-2.0 */
/* The expansion of one record, for the files that do it: e5_expand.c writes, e5_check.c judges. */
#ifndef PROGRAM_E5_EXPANDER_H
#define PROGRAM_E5_EXPANDER_H

#include "program/e5.h"
#include "program/td_write.h"

/* The bytes of a buffer that an operand may touch. */
struct pr_e5_span {
    uint32_t from, bytes;
};

struct pr_e5_expander {
    const struct pr_e5 *e5;
    struct pr_e5_record *record;       /* a copy, whose offsets become those in the buffers */
    uint32_t index;                    /* of the record */
    const struct pr_e5_record *before; /* the record before, a copy; NULL: none */
    struct pr_td_head head;
    struct pr_image image;
    struct pr_problem *problem;
};

/* Names the record in front of the words; false. */
bool pr_e5_wrong(const struct pr_e5_expander *x, const char *what);
/*
 * Kind, extents, flags and fields that are narrower in a register than in a record. What they mean together
 * is judged on the decoded task.
 */
bool pr_e5_check_record(const struct pr_e5_expander *x);
/* Gives strides along axes of length 1 a value; before anything is written. */
void pr_e5_fill_strides(struct pr_e5_record *record);
/* What has no effect in this model; after everything else is written. */
void pr_e5_write_hints(struct pr_e5_expander *x);

static inline bool pr_e5_is_neural(const struct pr_e5_record *r)
{
    return r->kind >= PR_E5_BYPASS && r->kind <= PR_E5_PRODUCT;
}

static inline bool pr_e5_is_reduction(const struct pr_e5_record *r)
{
    return r->kind == PR_E5_REDUCE || r->kind == PR_E5_REDUCE2;
}

static inline bool pr_e5_has_two_sources(const struct pr_e5_record *r)
{
    return r->kind == PR_E5_ELEMENTWISE2 || r->kind == PR_E5_REDUCE2 || r->kind == PR_E5_AFFINE;
}

/* Weights that have bytes. */
static inline bool pr_e5_has_weights(const struct pr_e5_record *r)
{
    return r->kind == PR_E5_CONV && !(r->flags & PR_E5_ONES);
}

#endif
