/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong with some bytes. Setting a problem changes its kind and text and leaves the place alone. */
#include "protocol/problem.h"

#include <stdarg.h>
#include <string.h>

#include "protocol/text.h"

const char *pr_problem_kind_text(enum pr_problem_kind kind)
{
    switch (kind) {
#define X(id, value, text, outcome, advice) \
    case PR_PROBLEM_##id: return text;
        PR_PROBLEM_KINDS(X)
#undef X
    }
    return "unknown";
}

const char *pr_problem_advice(enum pr_problem_kind kind)
{
    switch (kind) {
#define X(id, value, text, outcome, advice) \
    case PR_PROBLEM_##id: return advice;
        PR_PROBLEM_KINDS(X)
#undef X
    }
    return "";
}

enum pr_outcome pr_problem_outcome(enum pr_problem_kind kind)
{
    switch (kind) {
#define X(id, value, text, outcome, advice) \
    case PR_PROBLEM_##id: return PR_OUTCOME_##outcome;
        PR_PROBLEM_KINDS(X)
#undef X
    }
    return PR_OUTCOME_UNKNOWN;
}

const char *pr_outcome_text(enum pr_outcome outcome)
{
    switch (outcome) {
#define X(id, text) \
    case PR_OUTCOME_##id: return text;
        PR_OUTCOMES(X)
#undef X
    }
    return "unknown";
}

bool pr_problem_set(struct pr_problem *problem, enum pr_problem_kind kind, const char *format, ...)
{
    struct pr_text text;
    va_list args;

    if (!problem)
        return false;
    problem->kind = kind;
    pr_text_init(&text, problem->text, sizeof(problem->text));
    va_start(args, format);
    pr_text_vprintf(&text, format, args);
    va_end(args);
    return false;
}
