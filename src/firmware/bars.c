/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Custom bars. One bar is for all requests of the call whose operation may have it set; a bar that none of
 * them has is refused.
 */
#include "firmware/bars.h"

#include "firmware/rule.h"
#include "protocol/dart_regs.h"

static uint32_t operation_of(const struct fw_program *program, uint32_t procedure)
{
    return program->container.procedure[procedure].operation;
}

/* The least size of the buffer that an operation has at a BAR which it names. */
static uint64_t bytes_at(const struct fw_program *program, uint32_t operation, uint32_t bar)
{
    const struct pr_operation *o = &program->container.operation[operation];
    uint32_t b = 0;

    while (o->bar[b].bar != bar)
        b++;
    return program->container.buffer[program->place[o->bar[b].buffer]].bytes;
}

/* How many requests may have the BAR set; the largest of their buffers there. */
static uint32_t find_users(const struct fw *fw, const struct fw_program *program, uint32_t bar,
                           uint64_t *bytes)
{
    uint32_t users = 0;

    *bytes = 0;
    for (uint32_t i = 0; i < fw->exeloop.requests && bar < PR_TQ_BARS; i++) {
        const uint32_t operation = operation_of(program, fw->exeloop.request[i]);
        uint64_t least;

        if (!(program->custom[operation] >> bar & 1))
            continue;
        least = bytes_at(program, operation, bar);
        *bytes = least > *bytes ? least : *bytes;
        users++;
    }
    return users;
}

static bool value_allowed(const struct pr_custom_bar *bar)
{
    return bar->value < PR_SECTION_LIMIT && bar->bytes <= PR_SECTION_LIMIT - bar->value &&
           bar->value % PR_DMA_GRANULE == 0;
}

static enum pr_status check(struct fw *fw, const struct fw_program *program, const struct pr_custom_bar *bar)
{
    uint64_t least;
    const uint32_t users = find_users(fw, program, bar->bar_id, &least);
    enum pr_status status = fw_rule(fw, PR_RULE_BAR_TYPE, bar->type == PR_CUSTOM_BAR_GENERIC, bar->type);

    if (!status)
        status = fw_rule(fw, PR_RULE_BAR_CONFIG, bar->config == PR_CUSTOM_BAR_HW_32BIT, bar->config);
    if (!status)
        status = fw_rule(fw, PR_RULE_BAR_ID, users, bar->bar_id);
    if (!status)
        status = fw_rule(fw, PR_RULE_BAR_TWICE, !(fw->exeloop.custom >> bar->bar_id & 1), bar->bar_id);
    if (!status)
        status = fw_rule(fw, PR_RULE_BAR_VALUE, value_allowed(bar), bar->value);
    return status ? status : fw_rule(fw, PR_RULE_BAR_BUFFER_SIZE, bar->bytes >= least, bar->bytes);
}

enum pr_status fw_bars_bind(struct fw *fw, const struct fw_program *program, const struct pr_custom_bar *bar,
                            uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const enum pr_status status = check(fw, program, &bar[i]);

        if (status)
            return status;
        fw->exeloop.custom |= 1u << bar[i].bar_id;
        fw->exeloop.custom_value[bar[i].bar_id] = (uint32_t)bar[i].value;
    }
    return PR_STATUS_OK;
}
