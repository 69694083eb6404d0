/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The back channel. A place of RPCEventMap is taken from the call until its answer, in turn; the number that
 * the host sees also has how often the place was used, so that a late answer is not taken for a newer call's.
 * Places are changed with interrupts masked, since any task calls.
 */
#include "firmware/rpc.h"

#include "firmware/channel.h"
#include "firmware/log.h"
#include "firmware/notify.h"
#include "firmware/rule.h"
#include "firmware/shared.h"
#include "rtkernel/irq.h"

#define USES_MAX    (PR_NO_ID / PR_RPC_SLOTS) /* a number never is PR_NO_ID */
#define CHUNK_BYTES 64u

/* Calls. */

uint32_t fw_rpc_available(struct fw *fw)
{
    const struct fw_channel *c = &fw->channel[PR_CHANNEL_IO_T2H];
    uint32_t returned = 0;
    struct pr_slot slot;

    for (uint32_t i = 0; c->ready && i < c->slots; i++)
        returned += fw_channel_look(fw, PR_CHANNEL_IO_T2H, i, &slot) && slot.address & PR_SLOT_OWNER;
    return returned > fw->notify.count ? returned - fw->notify.count : 0;
}

/* The line is of level info: a warning would be a debug call itself. */
static void report_dirty(struct fw *fw, uint32_t place)
{
    const struct pr_notify_error message = {.head.id = PR_CMD_CH_ERROR_NOTIFICATION,
                                            .error = PR_CHANNEL_ERROR_RPC,
                                            .channel = PR_CHANNEL_IO_T2H,
                                            .address = place,
                                            .time = fw_shared_host_time(fw)};

    fw_log(fw, RT_LOG_INFO, PR_LINE_RPC_DIRTY, (int)place);
    fw_notify_post(fw, &message, sizeof(message));
}

/* The next place, whether it was answered or not. Its number for the host. */
static uint32_t take_place(struct fw *fw, enum pr_rpc_kind kind, bool *dirty)
{
    const uint32_t previous = rt_irq_mask(fw->kernel);
    struct fw_rpc *r = &fw->rpc;
    const uint32_t place = r->next;

    r->next = (r->next + 1) % PR_RPC_SLOTS;
    *dirty = r->slot[place].used;
    r->slot[place].used = true;
    r->slot[place].kind = (uint8_t)kind;
    r->slot[place].uses = (r->slot[place].uses + 1) % USES_MAX;
    r->slot[place].called = rt_port_now(fw->port);
    r->calls++;
    r->dirty += *dirty;
    rt_irq_restore(fw->kernel, previous);
    return r->slot[place].uses * PR_RPC_SLOTS + place;
}

static bool refuse_call(struct fw *fw)
{
    const uint32_t previous = rt_irq_mask(fw->kernel);

    fw->rpc.unsent++;
    rt_irq_restore(fw->kernel, previous);
    return false;
}

bool fw_rpc_call(struct fw *fw, enum pr_rpc_kind kind, const char *text, size_t bytes)
{
    struct pr_notify_rpc message = {.head.id = PR_CMD_BACK_CHANNEL_RPC,
                                    .kind = kind,
                                    .magic = PR_RPC_MAGIC,
                                    .value = rt_port_now(fw->port)};
    uint64_t cell;
    bool dirty;

    if (fw_rpc_available(fw) < PR_RPC_POOL_LEAST)
        return refuse_call(fw);
    message.slot = take_place(fw, kind, &dirty);
    if (dirty)
        report_dirty(fw, PR_RPC_PLACE(message.slot));
    cell = fw->heap + FW_RPC_OFFSET + PR_RPC_PLACE(message.slot) * (uint64_t)PR_RPC_TEXT_BYTES;
    bytes = bytes < PR_RPC_TEXT_BYTES ? bytes : PR_RPC_TEXT_BYTES;
    if (bytes && fw_shared_out(fw, cell, text, bytes)) {
        message.address = cell;
        message.length = (uint32_t)bytes;
    }
    fw_notify_post(fw, &message, sizeof(message));
    return true;
}

/* Answers. */

/* The host read its clock somewhere between the call and now. */
static void take_time(struct fw *fw, uint64_t host, uint64_t called)
{
    const uint32_t previous = rt_irq_mask(fw->kernel);
    const uint64_t now = rt_port_now(fw->port);

    fw->server.host_time_offset = (int64_t)(host - (called + (now - called) / 2));
    fw->rpc.synchronised++;
    rt_irq_restore(fw->kernel, previous);
}

static enum pr_status take_answer(struct fw *fw, const struct pr_body_rpc *rpc)
{
    const uint32_t previous = rt_irq_mask(fw->kernel);
    struct fw_rpc_slot *slot = &fw->rpc.slot[PR_RPC_PLACE(rpc->slot)];
    const bool outstanding = slot->used && slot->uses == rpc->slot / PR_RPC_SLOTS;
    const struct fw_rpc_slot call = *slot;

    slot->used = slot->used && !outstanding;
    fw->rpc.answered += outstanding;
    rt_irq_restore(fw->kernel, previous);
    if (!outstanding)
        return fw_rule_broken(fw, PR_RULE_RPC_SLOT, rpc->slot);
    if (call.kind == PR_RPC_TIME && rpc->status == PR_STATUS_OK)
        take_time(fw, rpc->value, call.called);
    return PR_STATUS_OK;
}

/* A payload of the host's own: copied piece by piece and checked, so that the host sees what arrived. */
static enum pr_status take_payload(struct fw *fw, const struct pr_body_rpc *rpc, uint64_t *checksum)
{
    uint8_t chunk[CHUNK_BYTES];
    uint32_t sum = PR_FNV_BASIS, previous;

    for (uint32_t at = 0; at < rpc->length; at += CHUNK_BYTES) {
        const uint32_t left = rpc->length - at, bytes = left < CHUNK_BYTES ? left : CHUNK_BYTES;

        if (rpc->address > PR_SECTION_LIMIT || !fw_shared_in(fw, chunk, rpc->address + at, bytes)) {
            fw_log(fw, RT_LOG_WARNING, "back channel: 0x%x bytes at 0x%llx are not mapped", rpc->length,
                   (unsigned long long)rpc->address);
            return PR_STATUS_BAD_ARGUMENT;
        }
        for (uint32_t i = 0; i < bytes; i++)
            sum = (sum ^ chunk[i]) * PR_FNV_PRIME;
    }
    previous = rt_irq_mask(fw->kernel); /* the server's payloads, and those of the execution loop */
    fw->rpc.payloads++;
    *checksum = fw->rpc.checksum = sum;
    rt_irq_restore(fw->kernel, previous);
    fw_log(fw, RT_LOG_INFO, "back channel: 0x%x bytes with checksum 0x%x", rpc->length, sum);
    return PR_STATUS_OK;
}

/* Length and magic come before anything else (seeds ch. 30). */
static enum pr_status take(struct fw *fw, const struct pr_body_rpc *rpc, uint64_t *checksum)
{
    enum pr_status status = fw_rule(fw, PR_RULE_RPC_LENGTH, rpc->length <= PR_RPC_BYTES_MAX, rpc->length);

    if (!status)
        status = fw_rule(fw, PR_RULE_RPC_MAGIC, rpc->magic == PR_RPC_MAGIC, rpc->magic);
    if (status)
        return status;
    return rpc->slot == PR_NO_ID ? take_payload(fw, rpc, checksum) : take_answer(fw, rpc);
}

enum pr_status fw_rpc_message(struct fw *fw, uint64_t length)
{
    const struct pr_exe_rpc *message = (const void *)fw->exeloop.message;
    const enum pr_status status = fw_rule(fw, PR_RULE_CALL_SIZE, length == sizeof(*message), length);
    uint64_t checksum;

    return status ? status
                  : take(fw,
                         &(struct pr_body_rpc){message->magic, message->length, message->slot,
                                               message->status, message->address, message->value},
                         &checksum);
}

enum pr_status fw_rpc_command(struct fw *fw, struct pr_command_header *header, void *body)
{
    struct pr_body_rpc *rpc = body;

    (void)header;
    return take(fw, rpc, &rpc->value);
}
