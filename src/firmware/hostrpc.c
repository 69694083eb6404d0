/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon of the host's remote procedure calls. Log lines wait in a queue of its own until it runs. */
#include "firmware/hostrpc.h"

#include <stdarg.h>

#include "firmware/channel.h"
#include "firmware/doorbell.h"
#include "firmware/loadpool.h"
#include "firmware/log.h"
#include "firmware/message.h"
#include "firmware/notify.h"
#include "firmware/pump.h"
#include "firmware/rpc.h"
#include "firmware/rule.h"
#include "firmware/shared.h"
#include "firmware/terminal.h"
#include "protocol/log_line.h"
#include "rtkernel/format.h"
#include "rtkernel/irq.h"
#include "rtkernel/queue.h"

#define LINES 64u /* as many as the kernel's own ring has */

bool fw_hostrpc_create(struct fw *fw)
{
    return !rt_queue_create(fw->kernel, &fw->hostrpc.lines, RT_LOG_WIDTH, LINES);
}

void fw_hostrpc_first(struct fw *fw)
{
    fw_terminal_request(fw);
}

static void send_lines(struct fw *fw)
{
    char text[RT_LOG_WIDTH];
    int length;

    while ((length = rt_queue_receive(fw->hostrpc.lines, text, sizeof(text), RT_NO_WAIT)) > 0)
        fw_terminal_line(fw, text, (size_t)length);
}

static enum pr_status run_command(struct fw *fw, const struct pr_command_header *header)
{
    const struct pr_body_buffer_return *body = (const void *)(header + 1);

    if (header->id != PR_CMD_CH_BUFFER_RETURN) {
        const char *name = pr_command_name(header->id);

        fw_log(fw, RT_LOG_WARNING, PR_LINE_COMMAND " is not supported on channel BUF_H2T", header->id,
               name ? name : "unknown");
        return PR_STATUS_UNKNOWN_COMMAND;
    }
    if (header->size != sizeof(*body)) {
        fw_log(fw, RT_LOG_WARNING, PR_LINE_COMMAND ": the body has 0x%x bytes, not 0x%zx", header->id,
               pr_command_name(header->id), header->size, sizeof(*body));
        return PR_STATUS_BAD_SIZE;
    }
    if (fw_rule(fw, PR_RULE_FW_PRIORITY, header->priority < PR_PRIORITIES, header->priority))
        return PR_STATUS_BAD_ARGUMENT;
    return fw_loadpool_return(fw, body);
}

static void log_check(struct fw *fw, const struct pr_command_header *header, enum pr_status status)
{
    const char *name = pr_command_name(header->id);

    fw_log(fw, RT_LOG_INFO, "RPC check: " PR_LINE_COMMAND ", 0x%x bytes: %s", header->id,
           name ? name : "unknown", header->size, pr_status_text(status));
}

static void handle(struct fw *fw, enum pr_channel channel, const struct pr_slot *slot, uint32_t number)
{
    struct pr_command_header *header = (void *)fw->hostrpc.message;
    enum pr_status status;

    if (fw_message_fetch(fw, slot, header, sizeof(fw->hostrpc.message), &status)) {
        const uint32_t ticket = fw_message_record(fw, channel, header);

        if (!status)
            status = run_command(fw, header);
        if (fw->hostrpc.check)
            log_check(fw, header, status);
        fw_message_end(fw, ticket, status);
        fw_notify_refused(fw, header->id, status);
        fw_message_answer(fw, slot, header, status, 0);
    } else {
        fw_notify_unreadable(fw, channel, slot);
    }
    fw_channel_return(fw, channel, slot, number);
    fw_doorbell_ring(fw, channel);
}

void fw_hostrpc_run(struct fw *fw, const struct fw_record *record)
{
    const uint32_t reasons = fw_pump_reasons(fw, FW_TASK_HOSTRPC);

    (void)record;
    if (reasons >> pr_channel_table[PR_CHANNEL_SHAREDMALLOC].bit & 1)
        fw_terminal_answer(fw);
    if (reasons & FW_REASON_LINES)
        send_lines(fw);
    if (reasons >> pr_channel_table[PR_CHANNEL_BUF_H2T].bit & 1)
        fw_pump_channel(fw, FW_TASK_HOSTRPC, PR_CHANNEL_BUF_H2T, handle);
}

static void lose_line(struct fw *fw)
{
    const uint32_t previous = rt_irq_mask(fw->kernel);

    fw->terminal.lost++;
    rt_irq_restore(fw->kernel, previous);
}

/* A line is for the host only while it has asked for lines and given memory for them. */
void fw_log(struct fw *fw, enum rt_log_level level, const char *format, ...)
{
    char text[RT_LOG_WIDTH];
    size_t length;
    va_list args;

    va_start(args, format);
    length = rt_format_list(text, sizeof(text), format, args);
    va_end(args);
    rt_log(fw->kernel, level, "%s", text);
    if (level <= RT_LOG_WARNING && fw->rpc.debug)
        (void)fw_rpc_call(fw, PR_RPC_DEBUG, text, length);
    if (level > RT_LOG_INFO || fw->hostrpc.muted || !fw->terminal.enabled || !fw->terminal.buffer)
        return;
    if (rt_queue_try_send(fw->hostrpc.lines, text, length))
        lose_line(fw);
    else
        fw_pump_want(fw, FW_TASK_HOSTRPC, FW_REASON_LINES);
}
