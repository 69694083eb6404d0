/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about messages, from rule.def. */
#ifndef PROTOCOL_RULE_H
#define PROTOCOL_RULE_H

#include "protocol/message.h"

enum pr_rule {
#define PR_RULE(id, text, status, source) PR_RULE_##id,
#include "protocol/rule.def"
    PR_RULES
};

struct pr_rule_row {
    const char *name, *text;
    enum pr_status status; /* of a message that breaks it */
    const char *source;
};
extern const struct pr_rule_row pr_rule_table[PR_RULES];

#endif
