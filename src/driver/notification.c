/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notifications. Each is counted and traced; what follows from one is in its row. A message may hold
 * anything: numbers without a name are shown as unknown.
 */
#include "driver/notification.h"

#include "base/array.h"
#include "driver/chain.h"
#include "driver/recovery.h"
#include "driver/rpc.h"
#include "driver/signpost.h"
#include "protocol/rule.h"
#include "driver/secure.h"

static void take_reset(struct drv *d, const union drv_notification *message)
{
    drv_recovery_reset(d, message->reset.first_queue, message->reset.last_queue);
}

static void take_chaining(struct drv *d, const union drv_notification *message)
{
    drv_chain_event(d, &message->chaining);
}

static void take_secure(struct drv *d, const union drv_notification *message)
{
    drv_secure_step(d, &message->secure);
}

static void take_error(struct drv *d, const union drv_notification *message)
{
    const uint32_t error = message->error.error;
    const char *text = error == PR_CHANNEL_ERROR_UNREADABLE ? "a message could not be read"
                       : error == PR_CHANNEL_ERROR_LOST     ? "notifications were lost"
                       : error == PR_CHANNEL_ERROR_RPC      ? "a call was not answered"
                                                            : "an error without a name";

    SOC_TRACE(d->platform.trace, DRV_CHANNEL_ERROR, message->error.channel, text, message->error.address,
              message->error.length);
}

static void take_load(struct drv *d, const union drv_notification *message)
{
    const struct pr_notify_load *load = &message->load;

    d->stats.load_score = load->score;
    SOC_TRACE(d->platform.trace, DRV_LOAD,
              load->above ? "above its high watermark" : "below its low watermark", load->score,
              load->busy_ns, load->span_ns);
}

static void take_sync(struct drv *d, const union drv_notification *message)
{
    const struct pr_notify_sync *sync = &message->sync;
    const uint32_t dma = pr_bits_get(sync->error[0], PR_TM_ERROR1_DMA_LO, PR_TM_ERROR1_DMA_WIDTH);
    const char *transfer = pr_tm_dma_text(dma);

    SOC_TRACE(d->platform.trace, DRV_SYNC_ERROR, sync->queue, sync->network, sync->program_id,
              transfer ? transfer : "unknown", sync->error[0], sync->error[1], sync->error[2]);
}

static void take_debug(struct drv *d, const union drv_notification *message)
{
    const struct pr_notify_debug *debug = &message->debug;
    const char *text = debug->rule < PR_RULES    ? pr_rule_table[debug->rule].text
                       : debug->rule == PR_NO_ID ? "a command was refused"
                                                 : "a rule without a name";

    SOC_TRACE(d->platform.trace, DRV_DIAGNOSTIC, text, debug->count, debug->value);
}

static void take_prefetch(struct drv *d, const union drv_notification *message)
{
    const struct pr_notify_prefetch *prefetch = &message->prefetch;
    const char *event = prefetch->event == PR_PREFETCH_DONE      ? "are in the memory cache"
                        : prefetch->event == PR_PREFETCH_DROPPED ? "are not in the memory cache"
                                                                 : "have an event without a name";

    SOC_TRACE(d->platform.trace, DRV_PREFETCH, prefetch->dsid, prefetch->program_id, prefetch->bytes, event);
}

static void take_rpc(struct drv *d, const union drv_notification *message)
{
    drv_rpc_take(d, &message->rpc);
}

static const struct {
    uint32_t id;
    void (*take)(struct drv *d, const union drv_notification *message);
} rows[] = {
    {PR_CMD_CH_RESET_NOTIFICATION, take_reset},
    {PR_CMD_DATA_CHAINING_EVENT, take_chaining},
    {PR_CMD_SECURE_MODE_EVENT, take_secure},
    {PR_CMD_CH_ERROR_NOTIFICATION, take_error},
    {PR_CMD_CH_SIGNPOST_NOTIFICATION, drv_signpost_take},
    {PR_CMD_CH_SIGNPOST_NOTIFICATION_GROUP, drv_signpost_take_group},
    {PR_CMD_CH_SIGNPOST64_NOTIFICATION, drv_signpost_take64},
    {PR_CMD_CH_SIGNPOST64_NOTIFICATION_GROUP, drv_signpost_take_group64},
    {PR_CMD_CPU_LOAD_NOTIFICATION, take_load},
    {PR_CMD_TM_SYNC_ERR_NOTIFICATION, take_sync},
    {PR_CMD_DBG_EVENT, take_debug},
    {PR_CMD_PREFETCH_DSID_EVENT, take_prefetch},
    {PR_CMD_BACK_CHANNEL_RPC, take_rpc},
};

static void count(struct drv *d, uint32_t id)
{
    static const uint32_t ids[PR_NOTIFICATION_COUNT] = {
#define X(command, name) PR_CMD_##command,
        PR_NOTIFICATIONS(X)
#undef X
    };

    for (size_t i = 0; i < BASE_COUNT_OF(ids); i++)
        if (ids[i] == id)
            d->stats.notified[i]++;
}

void drv_notification_take(struct drv *d, const union drv_notification *message)
{
    const char *name = pr_command_name(message->head.id);

    SOC_TRACE(d->platform.trace, DRV_NOTIFICATION, message->head.id, name ? name : "of an unknown kind");
    count(d, message->head.id);
    for (size_t i = 0; i < BASE_COUNT_OF(rows); i++)
        if (rows[i].id == message->head.id)
            rows[i].take(d, message);
}
