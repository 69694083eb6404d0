/* SPDX-License-Identifier: Apache-2.0 */
/* What a check reports: one finding at a time, with its sentence. */
#ifndef LISTING_FINDING_H
#define LISTING_FINDING_H

#include "protocol/problem.h"

/* A remark is worth knowing but is not a reason to refuse. */
enum pr_finding { PR_FINDING_PROBLEM, PR_FINDING_REMARK };
typedef void (*pr_check_report)(void *context, enum pr_finding finding, const struct pr_problem *problem);

#endif
