/* SPDX-License-Identifier: Apache-2.0 */
/* The passes, in their order. They change the lowering's state and never the graph. */
#ifndef COMPILER_LOWER_PASS_H
#define COMPILER_LOWER_PASS_H

#include "compiler/lower/context.h"

/* Casts become aliases, constants become fp16; any other operand must be fp16 or bool. */
int cc_pass_casts(struct cc_lowering *l);
/* Finds the operations that an output depends on, and counts how often each value is used. */
int cc_pass_live(struct cc_lowering *l);
/* Fuses a ReLU or an activation table into the operation before it. */
int cc_pass_fuse(struct cc_lowering *l);
/* Chooses the order in which operations are lowered, so that intermediates are alive for a short time. */
int cc_pass_schedule(struct cc_lowering *l);
/* After ports are placed: operands of concatenations get places inside the result. */
int cc_pass_join(struct cc_lowering *l);
/*
 * After the lowering of all operations: moves intermediates to L2, as many as find room there. Results do not
 * change.
 */
int cc_pass_resident(struct cc_lowering *l);
/*
 * After that: gives each other intermediate an offset. Buffers whose lifetimes are
 * disjoint share memory.
 */
int cc_pass_plan(struct cc_lowering *l);

#endif
