/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The back channel. A cell is free when the slot of its number is: it is written right before that slot is
 * posted. Answers that wait are in the order of their calls.
 */
#include "driver/rpc.h"

#include <string.h>

#include "base/array.h"
#include "driver/block.h"
#include "driver/debug_work.h"
#include "driver/ring.h"
#include "protocol/call.h"

_Static_assert(sizeof(struct pr_exe_rpc) <= DRV_ANSWER_BYTES, "an answer fits into its cell");

static const char *kind_text(uint32_t kind)
{
    return kind == PR_RPC_TIME ? "time" : kind == PR_RPC_DEBUG ? "debug" : "of an unknown kind";
}

static bool post(struct drv *d, const struct drv_rpc_answer *answer)
{
    const uint32_t number = d->ring[PR_CHANNEL_DATA_CHAIN_H2T].cursor;
    const struct pr_exe_rpc message = {.head.id = PR_EXE_BACK_CHANNEL_RPC,
                                       .magic = PR_RPC_MAGIC,
                                       .slot = answer->slot,
                                       .status = answer->status,
                                       .value = answer->value};
    const uint64_t offset = DRV_ANSWERS_OFFSET + number * (uint64_t)DRV_ANSWER_BYTES;
    uint32_t slot;

    if (!drv_ring_returned(d, PR_CHANNEL_DATA_CHAIN_H2T, number) ||
        d->ring[PR_CHANNEL_DATA_CHAIN_H2T].holder[number])
        return false;
    memcpy((uint8_t *)d->args.host + offset, &message, sizeof(message));
    if (!drv_ring_post(d, PR_CHANNEL_DATA_CHAIN_H2T, d->args.iova + offset, sizeof(message), &d->rpc, &slot))
        return false;
    d->stats.rpc_answered++;
    SOC_TRACE(d->platform.trace, DRV_RPC_ANSWER, answer->slot, pr_status_text(answer->status), answer->value);
    return true;
}

void drv_rpc_resume(struct drv *d)
{
    struct drv_rpc *r = &d->rpc;
    uint32_t sent = 0;

    if (!r->waiting || !d->ready)
        return;
    while (sent < r->waiting && post(d, &r->answer[sent]))
        sent++;
    r->waiting -= sent;
    memmove(r->answer, r->answer + sent, r->waiting * sizeof(r->answer[0]));
}

void drv_rpc_answer(struct drv *d, uint32_t slot, enum pr_status status, uint64_t value)
{
    struct drv_rpc *r = &d->rpc;

    if (!d->ready || r->waiting == BASE_COUNT_OF(r->answer))
        return;
    r->answer[r->waiting++] = (struct drv_rpc_answer){slot, status, value};
    drv_rpc_resume(d);
}

/* The text is in the firmware's heap, which it may change: one copy is used. */
static void take_debug(struct drv *d, const struct pr_notify_rpc *call)
{
    char text[PR_RPC_TEXT_BYTES];
    const void *payload =
        call->length <= sizeof(text) ? drv_block_find(d, call->address, call->length) : NULL;

    if (!call->length)
        payload = text;
    if (!payload) {
        drv_rpc_answer(d, call->slot, PR_STATUS_BAD_ARGUMENT, 0);
        return;
    }
    if (call->length)
        memcpy(text, payload, call->length);
    drv_debug_work_add(d, call->slot, text, call->length);
}

void drv_rpc_take(struct drv *d, const struct pr_notify_rpc *call)
{
    SOC_TRACE(d->platform.trace, DRV_RPC, call->slot, kind_text(call->kind), call->length);
    if (call->magic != PR_RPC_MAGIC)
        drv_rpc_answer(d, call->slot, PR_STATUS_BAD_ARGUMENT, 0);
    else if (call->kind == PR_RPC_TIME)
        drv_rpc_answer(d, call->slot, PR_STATUS_OK, d->platform.now(d->platform.context));
    else if (call->kind == PR_RPC_DEBUG)
        take_debug(d, call);
    else
        drv_rpc_answer(d, call->slot, PR_STATUS_UNKNOWN_COMMAND, 0);
}

void drv_rpc_forget(struct drv *d)
{
    d->rpc.waiting = 0;
}
