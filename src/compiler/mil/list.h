/* SPDX-License-Identifier: Apache-2.0 */
/* The operators of MIL text that are read. */
#ifndef COMPILER_MIL_LIST_H
#define COMPILER_MIL_LIST_H

#include "compiler/graph/graph.h"

/* Operator `number`, its kind and its arguments, which end with a NULL; NULL behind the last one. */
const char *cc_mil_op_at(unsigned number, enum cc_op_kind *kind, const char *const **arguments);

#endif
