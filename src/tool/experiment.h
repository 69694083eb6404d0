/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the published experiments on bare machines, for `anemone spec experiments`. */
#ifndef TOOL_EXPERIMENT_H
#define TOOL_EXPERIMENT_H

#include "program/experiment.h"

struct tool_experiment {
    enum pr_experiment_did did;
    uint16_t y[PR_EXPERIMENT_OUTPUTS]; /* unless it hangs */
};

/*
 * Runs every experiment of the table; result i is that of row i. False when no machine can be made or used,
 * which has been said.
 */
bool tool_experiments_run(struct tool_experiment *results);
/* Whether the machine did what was published. */
bool tool_experiment_agrees(const struct pr_experiment *experiment, const struct tool_experiment *result);

#endif
