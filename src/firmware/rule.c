/* SPDX-License-Identifier: Apache-2.0 */
#include "firmware/rule.h"

#include "firmware/log.h"
#include "firmware/notify.h"
#include "rtkernel/irq.h"

/* A line has the level and the task before the words, and the value behind them, which must not be cut. */
#define WORDS_MAX (RT_LOG_WIDTH - 48u)

static bool fits(const char *text)
{
    for (unsigned i = 0; i <= WORDS_MAX; i++)
        if (!text[i])
            return true;
    return false;
}

enum pr_status fw_rule_broken(struct fw *fw, enum pr_rule rule, uint64_t value)
{
    const struct pr_rule_row *row = &pr_rule_table[rule];
    const uint32_t previous = rt_irq_mask(fw->kernel); /* several tasks count */

    fw->broken[rule]++;
    rt_irq_restore(fw->kernel, previous);
    if (fits(row->text)) {
        fw_log(fw, RT_LOG_WARNING, "%s does not hold: 0x%llx", row->text, (unsigned long long)value);
    } else {
        fw_log(fw, RT_LOG_WARNING, "%s", row->text);
        fw_log(fw, RT_LOG_WARNING, "does not hold: 0x%llx", (unsigned long long)value);
    }
    fw_notify_broken(fw, rule, value);
    return row->status;
}
