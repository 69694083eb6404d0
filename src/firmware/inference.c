/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inference calls. The property buffer is copied once, and the copy is checked and used. Every sub-packet is
 * checked before the first call is entered, so that a command is accepted whole or refused whole.
 */
#include "firmware/inference.h"

#include "firmware/builtin.h"
#include "firmware/call.h"
#include "firmware/exeloop.h"
#include "firmware/log.h"
#include "firmware/process.h"
#include "firmware/program.h"
#include "firmware/pump.h"
#include "firmware/retained.h"
#include "firmware/rule.h"
#include "firmware/shared.h"
#include "protocol/inference.h"
#include "protocol/log_line.h"
#include "rtkernel/irq.h"

static uint32_t count_maps(const struct fw_rebase *rebase)
{
    return rebase->properties < PR_PROPERTY_MAPS ? rebase->properties : PR_PROPERTY_MAPS;
}

static bool is_mapped(const struct fw_rebase *rebase, const struct pr_buffer *buffer)
{
    for (uint32_t i = 0; i < count_maps(rebase); i++)
        if (rebase->property[i].address == buffer->address && buffer->bytes <= rebase->property[i].bytes)
            return true;
    return false;
}

enum pr_status fw_inference_premap(struct fw *fw, struct fw_rebase *rebase, const struct pr_body_premap *body)
{
    const struct pr_buffer *buffer = &body->buffer;
    enum pr_status status = fw_rule(fw, PR_RULE_PREMAP_BUFFERS, body->buffers == 1, body->buffers);
    uint32_t previous;

    if (status)
        return status;
    if (body->operations != 1 || body->zero || !(buffer->valid & PR_BUFFER_VALID) || !buffer->address ||
        buffer->bytes < PR_PROPERTIES_BYTES(1) || !rt_port_window(fw->port, buffer->address, buffer->bytes)) {
        fw_log(fw, RT_LOG_WARNING,
               "a pre-map of a property buffer, 0x%llx bytes at 0x%llx, is not one operation with one mapped "
               "buffer of at least 0x%x bytes",
               (unsigned long long)buffer->bytes, (unsigned long long)buffer->address,
               PR_PROPERTIES_BYTES(1));
        return PR_STATUS_BAD_ARGUMENT;
    }
    if (is_mapped(rebase, buffer))
        return PR_STATUS_OK;
    /* The execution loop may preempt this task. */
    previous = rt_irq_mask(fw->kernel);
    rebase->property[rebase->properties % PR_PROPERTY_MAPS].address = buffer->address;
    rebase->property[rebase->properties++ % PR_PROPERTY_MAPS].bytes = buffer->bytes;
    rt_irq_restore(fw->kernel, previous);
    return PR_STATUS_OK;
}

/* The server's part. */

static enum pr_status refuse_body(struct fw *fw, const struct pr_body_inference *body, enum pr_status status)
{
    fw_log(
        fw, RT_LOG_WARNING,
        "inference call: %u buffers, built-in program %u, network %u, cookie 0x%llx: the size of the body, "
        "a reserved word, or a part that does not belong to it is wrong",
        body->buffers, body->built_in, body->network, (unsigned long long)body->cookie);
    return status;
}

enum pr_status fw_inference_call(struct fw *fw, struct pr_command_header *header, void *body)
{
    const struct pr_body_inference *call = body;
    const bool built_in = header->program_id == PR_NO_ID;
    enum pr_status status = PR_STATUS_OK;

    if (call->buffers > PR_INFERENCE_BUFFERS_MAX || header->size != PR_INFERENCE_BYTES(call->buffers))
        return refuse_body(fw, call, PR_STATUS_BAD_SIZE);
    if (call->zero || call->cookie & 0xff || (!built_in && (call->built_in || call->network)))
        return refuse_body(fw, call, PR_STATUS_BAD_ARGUMENT);
    if (built_in)
        status = fw_builtin_find(fw, call->built_in, call->network, &header->program_id, &header->process_id);
    if (status || (built_in && !call->buffers))
        return status;
    return fw_pump_ask(fw, FW_TASK_SERVER, FW_TASK_EXELOOP, FW_RECORD_INFERENCE);
}

/* The execution loop's part. */

/* Where a command came from, and what its property buffer says. */
struct expansion {
    const struct pr_command_header *header;
    const struct pr_body_inference *body;
    struct pr_inference_properties properties;
};

static enum pr_status check_target(struct fw *fw, const struct pr_command_header *header)
{
    const enum pr_status status =
        fw_call_target(fw, header->program_id, header->process_id, header->procedure_id);

    if (status == PR_STATUS_NO_PROGRAM || status == PR_STATUS_NO_PROCESS)
        fw_log(fw, RT_LOG_WARNING, PR_LINE_INFERENCE, (int)header->program_id, (int)header->process_id);
    return status;
}

static enum pr_status copy_properties(struct fw *fw, struct expansion *x)
{
    const struct pr_buffer *buffer = &x->body->buffer[0];
    const struct fw_rebase *rebase = fw->process[x->header->process_id].rebase;
    const uint64_t bytes = buffer->bytes < sizeof(x->properties) ? buffer->bytes : sizeof(x->properties);
    enum pr_status status =
        fw_rule(fw, PR_RULE_INFERENCE_PROPERTY, is_mapped(rebase, buffer), buffer->address);

    if (status)
        return status;
    if (bytes < PR_PROPERTIES_BYTES(1) || !fw_shared_in(fw, &x->properties, buffer->address, bytes) ||
        !x->properties.packets || x->properties.packets > PR_SUB_PACKETS_MAX || x->properties.zero ||
        PR_PROPERTIES_BYTES(x->properties.packets) > bytes) {
        fw_log(fw, RT_LOG_WARNING,
               "inference call: the property buffer, 0x%llx bytes at 0x%llx, does not hold 1 to %u "
               "sub-packets",
               (unsigned long long)buffer->bytes, (unsigned long long)buffer->address, PR_SUB_PACKETS_MAX);
        return PR_STATUS_BAD_ARGUMENT;
    }
    return PR_STATUS_OK;
}

static enum pr_status check_packet(struct fw *fw, const struct expansion *x, uint32_t i)
{
    const struct pr_sub_packet *packet = &x->properties.packet[i];
    enum pr_status status = fw_rule(fw, PR_RULE_PRIORITY, packet->priority < PR_PRIORITIES, packet->priority);

    if (status)
        return status;
    if (packet->command != PR_SUB_PACKET_PROCEDURE_CALL || packet->flags) {
        fw_log(fw, RT_LOG_WARNING,
               "inference call: sub-packet %u is command %u with flags 0x%x; %u and 0 are known", i,
               packet->command, packet->flags, PR_SUB_PACKET_PROCEDURE_CALL);
        return PR_STATUS_BAD_ARGUMENT;
    }
    status = fw_call_target(fw, x->header->program_id, x->header->process_id, packet->procedure);
    return status ? status : fw_call_draft(fw, x->header->process_id, packet->procedure, packet->priority);
}

/* Whether so many calls of the process can be entered now. */
static bool has_room(const struct fw *fw, uint32_t process, uint32_t calls)
{
    uint16_t number = fw->exeloop.free.head;
    uint32_t found = 0;

    for (; number != FW_NO_CALL && found < calls; number = fw->call[number].next)
        found++;
    return found == calls && fw->process[process].calls + calls <= PR_IN_FLIGHT_MAX;
}

static enum pr_status check(struct fw *fw, struct expansion *x)
{
    const struct pr_body_inference *body = x->body;
    enum pr_status status = check_target(fw, x->header);
    uint32_t io;

    if (status)
        return status;
    io = fw->program[x->header->program_id]->container.procedure[x->header->procedure_id].io_buffers;
    status = fw_rule(fw, PR_RULE_INFERENCE_BUFFERS, body->buffers == 1 + io, body->buffers);
    if (!status)
        status = copy_properties(fw, x);
    if (status)
        return status;
    fw_call_unbind(fw);
    status = fw_call_bind(fw, x->header->process_id, &body->buffer[1], io);
    for (uint32_t i = 0; i < x->properties.packets && !status; i++)
        status = check_packet(fw, x, i);
    if (!status && !has_room(fw, x->header->process_id, x->properties.packets))
        status = PR_STATUS_NO_RESOURCES;
    return status;
}

/* The same draft once more, which the check has seen to succeed. */
static void enter(struct fw *fw, const struct expansion *x, uint32_t i)
{
    const struct pr_sub_packet *packet = &x->properties.packet[i];
    uint16_t number;

    (void)fw_call_draft(fw, x->header->process_id, packet->procedure, packet->priority);
    fw->exeloop.draft.cookie = PR_INFERENCE_COOKIE(x->body->cookie, i);
    if (fw_call_enter(fw, &number))
        return;
    fw->call[number].ticket =
        fw_retained_take(fw, PR_CHANNEL_IO, PR_CMD_INFERENCE_CALL, x->header->program_id,
                         x->header->process_id, packet->procedure);
    fw->exeloop.packets++;
    fw_exeloop_dispatch(fw, number);
}

enum pr_status fw_inference_expand(struct fw *fw)
{
    const struct pr_command_header *header = (const void *)fw->server.message;
    struct expansion x = {.header = header, .body = (const void *)(header + 1)};
    enum pr_status status;

    if (fw->closed) {
        fw_log(fw, RT_LOG_WARNING, "inference call refused: calls are not accepted now (0x%x)", fw->closed);
        return PR_STATUS_NOT_READY;
    }
    status = check(fw, &x);
    if (status)
        return status;
    for (uint32_t i = 0; i < x.properties.packets; i++)
        enter(fw, &x, i);
    return PR_STATUS_OK;
}
