/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The buffers of load reports. The credits and the buffers that the host has add up to those in use. A buffer
 * that is recycled stays the host's: its credit was taken when it was sent first.
 */
#include "firmware/loadpool.h"

#include "firmware/log.h"
#include "firmware/shared.h"
#include "protocol/control_bodies.h"
#include "rtkernel/irq.h"
#include "rtkernel/semaphore.h"

bool fw_loadpool_create(struct fw *fw)
{
    fw->loadmon.buffers = PR_LOAD_BUFFERS;
    return !rt_semaphore_create(fw->kernel, &fw->loadmon.credits, PR_LOAD_BUFFERS, PR_LOAD_BUFFERS);
}

static uint64_t buffer_address(const struct fw *fw, unsigned number)
{
    return fw->heap + number * FW_LOAD_CELL_BYTES;
}

/* A credit says that there is one. */
static unsigned find_free(const struct fw_loadmon *m)
{
    unsigned number = 0;

    while (m->held >> number & 1)
        number++;
    return number;
}

/* The host has all of them. Sequences may wrap; the buffers in use are within a few of each other. */
static unsigned find_oldest(const struct fw_loadmon *m)
{
    unsigned oldest = 0;

    for (unsigned i = 1; i < m->buffers; i++)
        if ((int32_t)(m->sent[i] - m->sent[oldest]) < 0)
            oldest = i;
    return oldest;
}

uint64_t fw_loadpool_take(struct fw *fw, uint32_t sequence)
{
    struct fw_loadmon *m = &fw->loadmon;
    const bool credit = !rt_semaphore_take(m->credits, RT_NO_WAIT);
    uint32_t previous;
    unsigned number;

    if (!credit && !m->recycling)
        return 0;
    previous = rt_irq_mask(fw->kernel);
    number = credit ? find_free(m) : find_oldest(m);
    m->held |= 1u << number;
    m->sent[number] = sequence;
    rt_irq_restore(fw->kernel, previous);
    return buffer_address(fw, number);
}

enum pr_status fw_loadpool_return(struct fw *fw, const struct pr_body_buffer_return *body)
{
    struct fw_loadmon *m = &fw->loadmon;

    for (unsigned i = 0; i < PR_LOAD_BUFFERS; i++) {
        uint32_t previous;

        if (body->address != buffer_address(fw, i) || body->tag != PR_BUFFER_LOAD_REPORT ||
            !(m->held >> i & 1))
            continue;
        previous = rt_irq_mask(fw->kernel);
        m->held &= ~(1u << i);
        rt_irq_restore(fw->kernel, previous);
        (void)rt_semaphore_give(m->credits);
        return PR_STATUS_OK;
    }
    fw_log(fw, RT_LOG_WARNING, "a buffer at 0x%llx, tag %u, is returned: the host has no such buffer",
           (unsigned long long)body->address, body->tag);
    return PR_STATUS_BAD_ARGUMENT;
}

static bool has_buffers(struct fw *fw, uint32_t channel)
{
    if (channel == PR_CHANNEL_BUF_T2H)
        return true;
    fw_log(fw, RT_LOG_WARNING, "channel %u has no buffers of the firmware's: BUF_T2H, %u, has", channel,
           PR_CHANNEL_BUF_T2H);
    return false;
}

enum pr_status fw_loadpool_get(struct fw *fw, struct pr_command_header *header, void *body)
{
    struct pr_body_pool *pool = body;

    (void)header;
    if (!has_buffers(fw, pool->channel))
        return PR_STATUS_BAD_ARGUMENT;
    pool->buffers = fw->loadmon.buffers;
    pool->bytes = FW_LOAD_CELL_BYTES;
    pool->held = (uint32_t)__builtin_popcount(fw->loadmon.held);
    return PR_STATUS_OK;
}

enum pr_status fw_loadpool_set(struct fw *fw, struct pr_command_header *header, void *body)
{
    const struct pr_body_pool *pool = body;
    struct fw_loadmon *m = &fw->loadmon;

    (void)header;
    if (!has_buffers(fw, pool->channel))
        return PR_STATUS_BAD_ARGUMENT;
    if (!pool->buffers || pool->buffers > PR_LOAD_BUFFERS) {
        fw_log(fw, RT_LOG_WARNING, "%u buffers of BUF_T2H are refused: 1 to %u can be in use", pool->buffers,
               PR_LOAD_BUFFERS);
        return PR_STATUS_BAD_ARGUMENT;
    }
    if (m->held) {
        fw_log(fw, RT_LOG_WARNING, "the buffers of BUF_T2H are not changed: the host must return them first");
        return PR_STATUS_BUSY;
    }
    for (; m->buffers > pool->buffers; m->buffers--)
        (void)rt_semaphore_take(m->credits, RT_NO_WAIT);
    for (; m->buffers < pool->buffers; m->buffers++)
        (void)rt_semaphore_give(m->credits);
    return PR_STATUS_OK;
}

static enum pr_status wrong_state(struct fw *fw, const char *what)
{
    fw_log(fw, RT_LOG_WARNING, "%s is refused: the mode is %s, and recycling is %s", what,
           fw->loadmon.mode == PR_RECYCLE_AUTOMATIC ? "automatic" : "by return",
           fw->loadmon.recycling ? "started" : "stopped");
    return PR_STATUS_WRONG_STATE;
}

enum pr_status fw_loadpool_mode(struct fw *fw, struct pr_command_header *header, void *body)
{
    const struct pr_body_recycle_mode *arguments = body;

    (void)header;
    if (!has_buffers(fw, arguments->channel))
        return PR_STATUS_BAD_ARGUMENT;
    if (arguments->mode >= PR_RECYCLE_MODES) {
        fw_log(fw, RT_LOG_WARNING, "recycle mode %u is refused: it must be below %u", arguments->mode,
               PR_RECYCLE_MODES);
        return PR_STATUS_BAD_ARGUMENT;
    }
    if (fw->loadmon.recycling)
        return wrong_state(fw, "a change of the recycle mode");
    fw->loadmon.mode = arguments->mode;
    return PR_STATUS_OK;
}

enum pr_status fw_loadpool_start(struct fw *fw, struct pr_command_header *header, void *body)
{
    (void)header;
    (void)body;
    if (fw->loadmon.mode != PR_RECYCLE_AUTOMATIC || fw->loadmon.recycling)
        return wrong_state(fw, "the start of recycling");
    fw->loadmon.recycling = true;
    return PR_STATUS_OK;
}

enum pr_status fw_loadpool_stop(struct fw *fw, struct pr_command_header *header, void *body)
{
    (void)header;
    (void)body;
    if (!fw->loadmon.recycling)
        return wrong_state(fw, "the stop of recycling");
    fw->loadmon.recycling = false;
    return PR_STATUS_OK;
}
