/* SPDX-License-Identifier: Apache-2.0 */
/* The check of a program that has been read, with the remarks about its file. */
#ifndef TOOL_JUDGE_H
#define TOOL_JUDGE_H

#include "listing/finding.h"
#include "tool/program.h"

struct tool_verdict {
    unsigned problems, remarks;
    enum pr_outcome worst; /* of the problems; HARMLESS when there is none */
};

/*
 * Calls `show` for every finding, the file's own remarks first: those are of kind NONE. `lenient`: what a
 * lenient machine ignores is a remark.
 */
struct tool_verdict tool_judge(const struct tool_program *program, bool lenient, pr_check_report show,
                               void *context);

/* The outcome in a word or two, for a column: "hangs". */
const char *tool_outcome_word(enum pr_outcome outcome);

#endif
