/* SPDX-License-Identifier: Apache-2.0 */
#include "protocol/rule.h"

const struct pr_rule_row pr_rule_table[PR_RULES] = {
#define PR_RULE(id, text, status, source) {#id, text, PR_STATUS_##status, source},
#include "protocol/rule.def"
};
