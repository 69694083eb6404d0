/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings pass through here so that one rule holds for every form: where only a part of a chain is looked
 * at, that it goes on is not a problem of the part.
 */
#include "tool/judge.h"

#include "listing/check.h"

struct judge {
    const struct tool_program *program;
    struct tool_verdict verdict;
    pr_check_report show;
    void *context;
};

/* The outcomes, the worst first. */
static const enum pr_outcome order[] = {PR_OUTCOME_PUBLISHED_HANG, PR_OUTCOME_HANG,    PR_OUTCOME_FAULT,
                                        PR_OUTCOME_FOREIGN,        PR_OUTCOME_STALE,   PR_OUTCOME_PARTIAL,
                                        PR_OUTCOME_UNKNOWN,        PR_OUTCOME_HARMLESS};

const char *tool_outcome_word(enum pr_outcome outcome)
{
    switch (outcome) {
    case PR_OUTCOME_UNKNOWN: return "not known";
    case PR_OUTCOME_HANG: return "hangs";
    case PR_OUTCOME_PUBLISHED_HANG: return "hangs on an M1 (published)";
    case PR_OUTCOME_FAULT: return "faults";
    case PR_OUTCOME_FOREIGN: return "runs with foreign bytes";
    case PR_OUTCOME_STALE: return "runs with stale bytes";
    case PR_OUTCOME_PARTIAL: return "runs in part";
    case PR_OUTCOME_HARMLESS: return "runs";
    }
    return "not known";
}

static enum pr_outcome worse(enum pr_outcome a, enum pr_outcome b)
{
    for (unsigned i = 0; i < sizeof(order) / sizeof(order[0]); i++)
        if (order[i] == a || order[i] == b)
            return order[i];
    return PR_OUTCOME_UNKNOWN;
}

static void take(void *context, enum pr_finding finding, const struct pr_problem *problem)
{
    struct judge *j = context;
    bool at_limit = j->program->limit && problem->descriptor + 1 == j->program->limit &&
                    problem->kind == PR_PROBLEM_CHAIN;

    if (at_limit && j->program->alone)
        return;
    if (at_limit)
        finding = PR_FINDING_REMARK;
    if (finding == PR_FINDING_REMARK) {
        j->verdict.remarks++;
    } else {
        j->verdict.problems++;
        j->verdict.worst = worse(j->verdict.worst, problem->outcome);
    }
    j->show(j->context, finding, problem);
}

struct tool_verdict tool_judge(const struct tool_program *program, bool lenient, pr_check_report show,
                               void *context)
{
    static struct pr_check_program judged;
    static struct pr_flow flow; /* too large for a stack; the command has one thread */
    struct judge j = {.program = program, .show = show, .context = context};

    j.verdict.worst = PR_OUTCOME_HARMLESS;
    for (unsigned i = 0; i < program->notes; i++)
        take(&j, PR_FINDING_REMARK, &program->note[i]);
    pr_check_program_of(&judged, program->bytes, &program->hwx);
    judged.buffers.known = program->buffers;
    judged.lenient = lenient;
    (void)pr_check_program(&judged, &flow, take, &j);
    return j.verdict;
}
