/* SPDX-License-Identifier: Apache-2.0 */
/* Custom bars of cache requests. They are checked once, when the request is installed. */
#include "firmware/cachebar.h"

#include "firmware/call.h"
#include "firmware/rule.h"
#include "protocol/dart_regs.h"

static const struct pr_operation *operation_of(const struct fw_program *program, uint32_t procedure)
{
    return &program->container.operation[program->container.procedure[procedure].operation];
}

/* The generic buffer that the operation has at a BAR; NULL: it names no such BAR. */
static const struct pr_generic_buffer *buffer_at(const struct fw_program *program,
                                                 const struct pr_operation *operation, uint32_t bar)
{
    for (uint32_t i = 0; i < operation->bars; i++)
        if (operation->bar[i].bar == bar)
            return &program->container.buffer[program->place[operation->bar[i].buffer]];
    return NULL;
}

static bool value_allowed(const struct pr_custom_bar *bar)
{
    return bar->value < PR_SECTION_LIMIT && bar->bytes <= PR_SECTION_LIMIT - bar->value &&
           bar->value % PR_DMA_GRANULE == 0;
}

static enum pr_status check(struct fw *fw, const struct pr_generic_buffer *buffer,
                            const struct pr_custom_bar *bar, uint32_t mask)
{
    enum pr_status status = fw_rule(fw, PR_RULE_BAR_TYPE, bar->type == PR_CUSTOM_BAR_GENERIC, bar->type);

    if (!status)
        status = fw_rule(fw, PR_RULE_BAR_CONFIG, bar->config == PR_CUSTOM_BAR_HW_32BIT, bar->config);
    if (!status)
        status = fw_rule(fw, PR_RULE_BAR_ID, buffer != NULL, bar->bar_id);
    if (!status)
        status = fw_rule(fw, PR_RULE_BAR_TWICE, !(mask >> bar->bar_id & 1), bar->bar_id);
    if (!status)
        status = fw_rule(fw, PR_RULE_BAR_VALUE, value_allowed(bar), bar->value);
    return status ? status : fw_rule(fw, PR_RULE_BAR_BUFFER_SIZE, bar->bytes >= buffer->bytes, bar->bytes);
}

enum pr_status fw_cachebar_check(struct fw *fw, const struct fw_program *program, uint32_t procedure,
                                 const struct pr_custom_bar *bar, uint32_t count, uint32_t *mask)
{
    const struct pr_operation *operation = operation_of(program, procedure);

    *mask = 0;
    for (uint32_t i = 0; i < count; i++) {
        const enum pr_status status = check(fw, buffer_at(program, operation, bar[i].bar_id), &bar[i], *mask);

        if (status)
            return status;
        *mask |= 1u << bar[i].bar_id;
    }
    return PR_STATUS_OK;
}

/* One that is also at another BAR is bound already, and one of the program's own needs no binding. */
static bool needs_binding(const struct fw *fw, const struct fw_process *process, uint32_t place)
{
    return !process->rebase->own[place] && !(fw->exeloop.bound[place / 64] >> (place % 64) & 1);
}

enum pr_status fw_cachebar_bind(struct fw *fw, const struct fw_cache_request *request)
{
    const struct fw_process *process = &fw->process[request->process];
    const struct fw_program *program = fw->program[process->program];
    const struct pr_operation *operation = operation_of(program, request->procedure);
    enum pr_status status = PR_STATUS_OK;

    for (uint32_t i = 0; !status && i < request->bars; i++) {
        const struct pr_custom_bar *bar = &request->bar[i];
        const struct pr_buffer buffer = {.valid = PR_BUFFER_VALID,
                                         .index = buffer_at(program, operation, bar->bar_id)->index,
                                         .address = bar->value,
                                         .bytes = bar->bytes};

        if (needs_binding(fw, process, program->place[buffer.index]))
            status = fw_call_bind(fw, request->process, &buffer, 1);
    }
    return status;
}

void fw_cachebar_apply(const struct fw_cache_request *request, struct fw_call *draft)
{
    for (uint32_t i = 0; i < request->bars; i++) {
        draft->bar[request->bar[i].bar_id] = (uint32_t)request->bar[i].value;
        draft->wide &= ~(1u << request->bar[i].bar_id);
    }
}
