/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pumps. A look is posted when the first reason is set, and again only after the task has taken its reasons:
 * a queue never has more than one. The task that asks waits until it has its answer, so a mailbox never has
 * more than one word.
 */
#include "firmware/pump.h"

#include "firmware/channel.h"
#include "firmware/shared.h"
#include "rtkernel/irq.h"
#include "rtkernel/mailbox.h"
#include "rtkernel/queue.h"
#include "rtkernel/task.h"

#define STACK_BYTES     8192u
#define INPUT_DEPTH     8u /* every other task may ask */
#define INTERRUPT_DEPTH 8u /* a look, and a timer whose records may pile up */

bool fw_pump_create(struct fw *fw, enum fw_task number, const char *name, unsigned priority,
                    void (*entry)(void *arg))
{
    struct fw_pump *pump = &fw->pump[number];

    *pump = (struct fw_pump){.fw = fw, .number = (uint8_t)number};
    return !rt_mailbox_create(fw->kernel, &pump->answer) &&
           !rt_task_create(fw->kernel, &pump->task, name, priority, STACK_BYTES, entry, pump) &&
           !rt_task_queues(pump->task, sizeof(struct fw_record), INPUT_DEPTH, INTERRUPT_DEPTH);
}

/* Flat: a switch of tasks inside a function that returns afterwards has its return predicted wrong. */
__attribute__((flatten)) void fw_pump_run(struct fw_pump *pump,
                                          void (*run)(struct fw *fw, const struct fw_record *record))
{
    struct rt_kernel *kernel = pump->fw->kernel;
    struct fw_record record;

    for (;;)
        if (rt_task_wait_any(kernel, &record, sizeof(record), NULL, RT_FOREVER) == (int)sizeof(record))
            run(pump->fw, &record);
}

void fw_pump_want(struct fw *fw, enum fw_task task, uint32_t reasons)
{
    const struct fw_record look = {.kind = FW_RECORD_LOOK};
    struct fw_pump *pump = &fw->pump[task];
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

uint32_t fw_pump_reasons(struct fw *fw, enum fw_task task)
{
    const uint32_t previous = rt_irq_mask(fw->kernel);
    const uint32_t reasons = fw->pump[task].reasons;

    fw->pump[task].reasons = 0;
    rt_irq_restore(fw->kernel, previous);
    return reasons;
}

enum pr_status fw_pump_ask(struct fw *fw, enum fw_task from, enum fw_task to, enum fw_record_kind kind)
{
    const struct fw_record record = {.kind = (uint8_t)kind, .from = (uint8_t)from};
    uint64_t word = PR_STATUS_NO_RESOURCES;

    if (!rt_queue_send(rt_task_input(fw->pump[to].task), &record, sizeof(record), RT_FOREVER))
        (void)rt_mailbox_fetch(fw->pump[from].answer, &word, RT_FOREVER);
    return (enum pr_status)word;
}

void fw_pump_answer(struct fw *fw, const struct fw_record *record, enum pr_status status)
{
    (void)rt_mailbox_post(fw->pump[record->from].answer, status);
}

void fw_pump_channel(struct fw *fw, enum fw_task task, enum pr_channel channel,
                     void (*handle)(struct fw *fw, enum pr_channel channel, const struct pr_slot *slot,
                                    uint32_t number))
{
    struct pr_slot slot;
    uint32_t number;

    for (uint32_t i = 0; i < fw->channel[channel].slots; i++) {
        if (!fw_channel_take(fw, channel, &slot, &number))
            return;
        if (fw->channel[channel].ready)
            handle(fw, channel, &slot, number);
        else
            fw_channel_refuse(fw, channel, &slot, number);
    }
    fw_pump_want(fw, task, 1u << pr_channel_table[channel].bit);
}
