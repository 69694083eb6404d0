/* SPDX-License-Identifier: Apache-2.0 */
/* What happens to a message that breaks a rule of protocol/rule.def. */
#ifndef FIRMWARE_RULE_H
#define FIRMWARE_RULE_H

#include "firmware/state.h"
#include "protocol/rule.h"

/* Logs the rule with the value that breaks it and counts it; the status of the rule. Any task. */
enum pr_status fw_rule_broken(struct fw *fw, enum pr_rule rule, uint64_t value) __attribute__((cold));

/* The status of a rule: OK when it holds. */
static inline enum pr_status fw_rule(struct fw *fw, enum pr_rule rule, bool holds, uint64_t value)
{
    return holds ? PR_STATUS_OK : fw_rule_broken(fw, rule, value);
}

#endif
