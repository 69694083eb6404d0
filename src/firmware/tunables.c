/* SPDX-License-Identifier: Apache-2.0 */
/* The tunable-register loader. A set of defaults is taken whole or not at all. */
#include "firmware/tunables.h"

#include "firmware/control.h"
#include "firmware/log.h"
#include "firmware/pump.h"
#include "firmware/queue.h"

#define NS_PER_US 1000u

enum pr_status fw_tunables_set(struct fw *fw, struct pr_command_header *header, void *body)
{
    const struct pr_body_setting *setting = body;
    uint64_t switch_ns = 0;

    (void)header;
    for (uint64_t i = 0; i < setting->count; i++) {
        if (setting->row[i].reg != PR_SETTING_SWITCH_LATENCY) {
            fw_log(fw, RT_LOG_WARNING, "default setting %u = %u: no such setting is known",
                   setting->row[i].reg, setting->row[i].value);
            return PR_STATUS_BAD_ARGUMENT;
        }
        switch_ns = (uint64_t)setting->row[i].value * NS_PER_US;
    }
    fw->tunables.switch_ns = switch_ns;
    fw_log(fw, RT_LOG_INFO, "context-switch latency threshold: %llu ns", (unsigned long long)switch_ns);
    return PR_STATUS_OK;
}

void fw_tunables_run(struct fw *fw, const struct fw_record *record)
{
    switch (record->kind) {
    case FW_RECORD_COMMAND: fw_pump_answer(fw, record, fw_control_execute(fw)); break;
    case FW_RECORD_QUEUES:
        fw_queue_start(fw);
        fw->tunables.loads++;
        fw_pump_answer(fw, record, PR_STATUS_OK);
        break;
    default: break;
    }
}
