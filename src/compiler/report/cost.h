/* SPDX-License-Identifier: Apache-2.0 */
/* What the descriptors of a program cost by the model of program/cost.h, one by one. */
#ifndef COMPILER_REPORT_COST_H
#define COMPILER_REPORT_COST_H

#include "compiler/lower/lower.h"
#include "program/cost.h"

/*
 * Nanoseconds of each record, in `ns`. The records are expanded as the driver does it, and the descriptors
 * decoded as the engine does it.
 */
int cc_cost_records(const struct cc_program *program, const struct pr_cost_model *model, uint64_t *ns,
                    struct base_error *error);

#endif
