/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controller of a driver's rig: cache requests. A trigger runs as a call with its own inputs and the
 * oldest posted set; links are kept and not followed.
 */
#include "drvrig.h"

#include <string.h>

static struct drvrig_chain *chain_of(struct drvrig *rig, uint64_t handler)
{
    const uint64_t number = handler - DRVRIG_CHAIN;

    assert_true(number < rig->chain_count);
    return &rig->chain[number];
}

uint32_t drvrig_chain_install(struct drvrig *rig, const struct pr_command_header *header, void *body)
{
    struct pr_body_cache_install *install = body;
    struct drvrig_chain *chain = &rig->chain[rig->chain_count];

    assert_int_equal(header->size, 0x40 + 16 * install->links);
    rig->install_header = *header;
    memcpy(rig->install, body, header->size);
    if (!rig->chains)
        return PR_STATUS_UNKNOWN_COMMAND;
    assert_true(rig->chain_count < DRVRIG_CHAINS);
    assert_true(header->process_id < DRVRIG_PROCESSES && rig->process[header->process_id].there &&
                rig->process[header->process_id].program == header->program_id);
    *chain =
        (struct drvrig_chain){.there = true, .program = header->program_id, .process = header->process_id};
    install->cache_handler = DRVRIG_CHAIN + rig->chain_count++;
    return PR_STATUS_OK;
}

uint32_t drvrig_chain_invalidate(struct drvrig *rig, const struct pr_command_header *header, void *body)
{
    struct pr_body_cache_invalidate *invalidate = body;
    struct drvrig_chain *chain = chain_of(rig, invalidate->cache_handler);

    /* The process is still there: what the request uses is mapped. */
    assert_true(chain->there && chain->process == header->process_id && rig->process[chain->process].there);
    chain->there = false;
    invalidate->in_flight = rig->invalidated_in_flight;
    rig->invalidated[rig->invalidated_count++] = invalidate->cache_handler;
    for (unsigned i = 0; i < DRVRIG_CALLS; i++) {
        struct drvrig_call *call = &rig->call[i];

        if (!call->there || call->handler != invalidate->cache_handler || call->set != PR_NO_ID)
            continue;
        call->there = false;
        drvrig_chain_event(rig, call, PR_STATUS_ABORTED, PR_CACHE_INVALIDATING);
    }
    return PR_STATUS_OK;
}

static struct drvrig_call *oldest_waiting(struct drvrig *rig, uint64_t handler)
{
    struct drvrig_call *oldest = NULL;

    for (unsigned i = 0; i < DRVRIG_CALLS; i++) {
        struct drvrig_call *call = &rig->call[i];

        if (call->there && call->handler == handler && call->set == PR_NO_ID &&
            (!oldest || call->cookie < oldest->cookie))
            oldest = call;
    }
    return oldest;
}

/* The triggers that wait take the sets that are posted. */
static void serve(struct drvrig *rig, uint64_t handler)
{
    struct drvrig_chain *chain = chain_of(rig, handler);
    struct drvrig_call *call;

    while (chain->posted_count && (call = oldest_waiting(rig, handler))) {
        call->set = chain->posted[0];
        memmove(chain->posted, chain->posted + 1, --chain->posted_count * sizeof(chain->posted[0]));
        memcpy(call->buffer + call->buffers, chain->set[call->set].buffer,
               0x30ull * chain->set[call->set].buffers);
        call->buffers += chain->set[call->set].buffers;
    }
}

static uint32_t post(struct drvrig *rig, const struct pr_cache_recycle *recycle)
{
    struct drvrig_chain *chain = chain_of(rig, recycle->cache_handler);

    assert_true(chain->there && recycle->set < PR_CACHE_SETS_MAX && recycle->buffers <= 8);
    if (recycle->buffers) {
        chain->set[recycle->set].buffers = recycle->buffers;
        memcpy(chain->set[recycle->set].buffer, recycle->buffer, 0x30ull * recycle->buffers);
    }
    assert_true(chain->set[recycle->set].buffers && chain->posted_count < PR_CACHE_SETS_MAX);
    chain->posted[chain->posted_count++] = recycle->set;
    serve(rig, recycle->cache_handler);
    return PR_STATUS_OK;
}

static uint32_t trigger(struct drvrig *rig, const struct pr_cache_trigger *message)
{
    struct drvrig_chain *chain = chain_of(rig, message->cache_handler);
    struct drvrig_call *call = rig->call;

    assert_true(chain->there && rig->process[chain->process].there);
    while (call->there)
        call++;
    assert_true(call < rig->call + DRVRIG_CALLS);
    *call = (struct drvrig_call){.there = true,
                                 .cookie = message->cookie,
                                 .program = chain->program,
                                 .process = chain->process,
                                 .stream = rig->process[chain->process].stream,
                                 .priority = rig->install_header.priority,
                                 .buffers = message->buffers,
                                 .handler = message->cache_handler,
                                 .timestamp = message->timestamp,
                                 .set = PR_NO_ID};
    memcpy(call->buffer, message->buffer, 0x30ull * message->buffers);
    serve(rig, message->cache_handler);
    return PR_STATUS_OK;
}

uint32_t drvrig_chain_message(struct drvrig *rig, const void *message, uint64_t length)
{
    assert_true(length <= sizeof(rig->chained.bytes));
    memset(&rig->chained, 0, sizeof(rig->chained));
    memcpy(rig->chained.bytes, message, length);
    rig->chained_bytes = (uint32_t)length;
    if (!rig->chains)
        return PR_STATUS_UNKNOWN_COMMAND;
    if (rig->call_refusal)
        return rig->call_refusal;
    switch (rig->chained.head.id) {
    case 0x209: return trigger(rig, &rig->chained.trigger);
    case 0x20a: return post(rig, &rig->chained.recycle);
    case 0x212: return PR_STATUS_OK;
    default: fail_msg("message 0x%x", rig->chained.head.id);
    }
    return PR_STATUS_UNKNOWN_COMMAND;
}

void drvrig_chain_event(struct drvrig *rig, const struct drvrig_call *call, uint32_t status, uint32_t state)
{
    uint64_t cell = rig->args.heap + 64ull * rig->cursor[PR_CHANNEL_IO_T2H];
    const struct pr_notify_chaining event = {.head = {rig->sequence++, PR_CMD_DATA_CHAINING_EVENT},
                                             .cache_handler = call->handler,
                                             .timestamp = call->timestamp,
                                             .cookie = call->cookie,
                                             .set = call->set,
                                             .status = status,
                                             .state = state,
                                             .following = rig->following};

    rig->following = 0;
    memcpy(drvrig_base_at(rig, cell, sizeof(event)), &event, sizeof(event));
    assert_true(drvrig_send_slot(rig, PR_CHANNEL_IO_T2H, cell, sizeof(event), 0));
}
