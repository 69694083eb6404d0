/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interrupt manager and the pumps it wakes. A look is posted when the first reason is set, and again only
 * after the task has taken its reasons.
 */
#include "firmware/pump.h"

#include "firmware/channel.h"
#include "firmware/shared.h"
#include "rtkernel/irq.h"
#include "rtkernel/queue.h"
#include "rtkernel/task.h"

#define STACK_BYTES     8192u
#define INPUT_DEPTH     4u
#define INTERRUPT_DEPTH 4u /* at most one look and one deadline are under way */

#define BIT(channel) (1u << pr_channel_table[PR_CHANNEL_##channel].bit)

bool fw_pump_create(struct fw *fw, struct fw_pump *pump, const char *name, unsigned priority,
                    void (*entry)(void *arg))
{
    return !rt_task_create(fw->kernel, &pump->task, name, priority, STACK_BYTES, entry, fw) &&
           !rt_task_queues(pump->task, sizeof(struct fw_record), INPUT_DEPTH, INTERRUPT_DEPTH);
}

void fw_pump_want(struct fw *fw, struct fw_pump *pump, uint32_t reasons)
{
    const struct fw_record look = {.kind = FW_RECORD_LOOK};
    uint32_t previous;
    bool first;

    if (!reasons)
        return;
    previous = rt_irq_mask(fw->kernel);
    first = !pump->reasons;
    pump->reasons |= reasons;
    if (first)
        (void)rt_queue_try_send(rt_task_interrupts(pump->task), &look, sizeof(look));
    rt_irq_restore(fw->kernel, previous);
}

uint32_t fw_pump_reasons(struct fw *fw, struct fw_pump *pump)
{
    const uint32_t previous = rt_irq_mask(fw->kernel);
    const uint32_t reasons = pump->reasons;

    pump->reasons = 0;
    rt_irq_restore(fw->kernel, previous);
    return reasons;
}

void fw_pump_channel(struct fw *fw, struct fw_pump *pump, enum pr_channel channel,
                     void (*handle)(struct fw *fw, enum pr_channel channel, const struct pr_slot *slot,
                                    uint32_t number))
{
    struct pr_slot slot;
    uint32_t number;

    for (uint32_t i = 0; i < fw->channel[channel].slots; i++) {
        if (!fw_channel_take(fw, channel, &slot, &number))
            return;
        handle(fw, channel, &slot, number);
    }
    fw_pump_want(fw, pump, 1u << pr_channel_table[channel].bit);
}

/* The host's write to scratch 3 or 7 raises the same line; a read of a scratch word lowers it. */
static void on_doorbell(void *arg, unsigned line)
{
    struct fw *fw = arg;
    const uint32_t exeloop = BIT(DATA_CHAIN_H2T) | BIT(IO_T2H);
    const uint32_t rang = fw_register_read(fw, PR_CTRL_DOORBELL_PENDING);

    (void)line;
    if (rang)
        fw_register_write(fw, PR_CTRL_DOORBELL_ACK, rang);
    else
        (void)fw_register_read(fw, PR_CTRL_SCRATCH(7));
    fw_pump_want(fw, &fw->exeloop.pump, rang & exeloop);
    fw_pump_want(fw, &fw->server.pump, rang & (BIT(IO) | BIT(DEBUG) | BIT(BUF_H2T) | BIT(SHAREDMALLOC)));
}

/*
 * Acknowledged here, before the events are read: one that comes later raises the line again, and an asserted
 * line does not repeat.
 */
static void on_engine(void *arg, unsigned line)
{
    struct fw *fw = arg;

    (void)line;
    fw_register_write(fw, PR_ENGINE_TM + PR_TM_IRQ_ACK, PR_TM_IRQ_ACK_0 | PR_TM_IRQ_ACK_1);
    fw_pump_want(fw, &fw->exeloop.pump, FW_REASON_ENGINE);
}

void fw_pump_attach(struct fw *fw)
{
    (void)rt_irq_attach(fw->kernel, FW_LINE_DOORBELL, on_doorbell, fw);
    (void)rt_irq_attach(fw->kernel, FW_LINE_ENGINE, on_engine, fw);
}
