/* SPDX-License-Identifier: Apache-2.0 */
#include "firmware/rule.h"

#include "firmware/log.h"
#include "firmware/notify.h"

enum pr_status fw_rule_broken(struct fw *fw, enum pr_rule rule, uint64_t value)
{
    const struct pr_rule_row *row = &pr_rule_table[rule];

    fw->broken[rule]++;
    fw_log(fw, RT_LOG_WARNING, "%s does not hold: 0x%llx", row->text, (unsigned long long)value);
    fw_notify_broken(fw, rule, value);
    return row->status;
}
