/* SPDX-License-Identifier: Apache-2.0 */
/* The tunable-register loader. A set of defaults, or a file of registers, is taken whole or not at all. */
#include "firmware/tunables.h"

#include "firmware/control.h"
#include "firmware/log.h"
#include "firmware/pump.h"
#include "firmware/queue.h"
#include "firmware/shared.h"
#include "protocol/control_bodies.h"

#define NS_PER_US 1000u

void fw_tunables_init(struct fw *fw)
{
    rt_memcpy(fw->tunables.weight, pr_tq_priority, sizeof(fw->tunables.weight));
}

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

/* The queue whose PRTY is at that offset of the container; PR_TQ_COUNT when it is another register. */
static unsigned find_queue(uint32_t reg)
{
    unsigned queue = 0;

    while (queue < PR_TQ_COUNT && reg != PR_ENGINE_TQ + queue * PR_TQ_STRIDE + PR_TQ_PRTY)
        queue++;
    return queue;
}

static const char *row_wrong(uint32_t reg, uint32_t value)
{
    if (find_queue(reg) == PR_TQ_COUNT)
        return "the register is not in the allow list, which has PRTY of the task queues";
    if (value < PR_TQ_PRIORITY_MIN || value > PR_TQ_PRIORITY_MAX)
        return "the weight of a queue is 1 to 31";
    return NULL;
}

enum pr_status fw_tunables_load(struct fw *fw, struct pr_command_header *header, void *body)
{
    const struct pr_body_reg_file *file = body;

    if (file->count > PR_REG_FILE_ROWS ||
        header->size != offsetof(struct pr_body_reg_file, row) + file->count * sizeof(file->row[0])) {
        fw_log(fw, RT_LOG_WARNING,
               "a register file of %u rows does not have 0x%x bytes; the limit is %u rows", file->count,
               header->size, PR_REG_FILE_ROWS);
        return PR_STATUS_BAD_SIZE;
    }
    if (fw->server.loads) {
        fw_log(fw, RT_LOG_WARNING, "a register file is refused: %llu programs were loaded before",
               (unsigned long long)fw->server.loads);
        return PR_STATUS_WRONG_STATE;
    }
    for (uint32_t i = 0; i < file->count; i++) {
        const char *wrong = row_wrong(file->row[i].reg, file->row[i].value);

        if (wrong) {
            fw_log(fw, RT_LOG_WARNING, "row %u of the register file, 0x%x = 0x%x: %s", i, file->row[i].reg,
                   file->row[i].value, wrong);
            return PR_STATUS_BAD_ARGUMENT;
        }
    }
    for (uint32_t i = 0; i < file->count; i++)
        fw->tunables.weight[find_queue(file->row[i].reg)] = (uint8_t)file->row[i].value;
    /* Islands that are off get the registers when they are on again. */
    if (fw->power.on >> PR_POWER_ISLANDS & 1)
        for (uint32_t i = 0; i < file->count; i++)
            fw_register_write(fw, file->row[i].reg, file->row[i].value);
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
