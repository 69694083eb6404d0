/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rewriting a graph: a new one is built operation by operation from the live operations of the old one. The
 * function of a pass replaces an operation by what it adds with the builder, or leaves it to be copied. Data
 * of constants is handed over, not copied, and a constant that is not used any more is left behind. Names of
 * inputs and outputs stay.
 */
#ifndef COMPILER_GRAPH_REWRITE_H
#define COMPILER_GRAPH_REWRITE_H

#include "compiler/graph/build.h"

/*
 * New constants of one rewrite: at most this many bytes and CC_REWRITE_BYTES_EACH for each byte of the
 * constants before it, because many operations may share one constant and get one of their own each. Chosen.
 */
#define CC_REWRITE_BYTES_MAX  (1ull << 30)
#define CC_REWRITE_BYTES_EACH 4u

struct cc_rewrite {
    const struct cc_graph *from;
    struct cc_build to; /* its name, line and origin are those of the operation that is replaced */
    uint32_t *map;      /* per value of `from`: the value of `to`, number + 1; 0: not there yet */
    const uint32_t
        *uses; /* per value of `from`: by live operations and as an output; a parameter counts too */
    const uint32_t *maker; /* per value of `from`: the operation that computes it, number + 1; 0: none */
    const void *context;
};

/*
 * Replaces one operation of `from`. Sets *done and maps its output with cc_rewrite_put, or leaves both
 * alone. A failure is r->to.status.
 */
typedef void cc_rewrite_op(struct cc_rewrite *r, const struct cc_op *op, bool *done);

/*
 * Replaces *graph. On a failure *graph is unchanged, and `error` has a sentence. `changed`, which may be
 * NULL, is whether any operation was replaced.
 */
int cc_rewrite(struct cc_graph **graph, cc_rewrite_op *replace, const void *context, bool *changed,
               struct base_error *error);

/* The new value of an old one. A constant is added at its first use. */
uint32_t cc_rewrite_value(struct cc_rewrite *r, uint32_t old);
/* The same for a parameter: number + 1, 0 for none. */
uint32_t cc_rewrite_parameter(struct cc_rewrite *r, uint32_t old);
/* The old value is this new one from here on. */
void cc_rewrite_put(struct cc_rewrite *r, uint32_t old, uint32_t new_value);
/* Copies an operation as it is. */
void cc_rewrite_copy(struct cc_rewrite *r, const struct cc_op *op);

/* Of `from`: the operation that computes a value, or NULL; whether only one operation uses it. */
const struct cc_op *cc_rewrite_maker(const struct cc_rewrite *r, uint32_t old);
bool cc_rewrite_single(const struct cc_rewrite *r, uint32_t old);

#endif
