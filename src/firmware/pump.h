/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pumps: tasks that wait for a record, run it to completion and wait again. Handlers and other tasks record
 * why a task is wanted and post a look to its interrupt queue; the pump takes the reasons. A task that needs
 * an answer asks, and waits for one word in its mailbox.
 */
#ifndef FIRMWARE_PUMP_H
#define FIRMWARE_PUMP_H

#include "firmware/state.h"

/* Makes a task, with its two queues and its mailbox. False when a pool or the arena is exhausted. */
bool fw_pump_create(struct fw *fw, enum fw_task number, const char *name, unsigned priority,
                    void (*entry)(void *arg));
/* Runs the calling pump: `run` is called with each record. */
_Noreturn void fw_pump_run(struct fw_pump *pump, void (*run)(struct fw *fw, const struct fw_record *record));

/* Adds reasons to look. Any context. */
void fw_pump_want(struct fw *fw, enum fw_task task, uint32_t reasons);
/* Takes what has come together. */
uint32_t fw_pump_reasons(struct fw *fw, enum fw_task task);

/*
 * Sends a record from one task to another and waits for the answer. Blocks; `from` is the caller. No two
 * tasks ask each other.
 */
enum pr_status fw_pump_ask(struct fw *fw, enum fw_task from, enum fw_task to, enum fw_record_kind kind);
void fw_pump_answer(struct fw *fw, const struct fw_record *record, enum pr_status status);

/*
 * Handles up to a ring's worth of slots of a channel, one at a time; when there are more, the pump will look
 * again. The slot is the one copy. Messages of a channel that is not ready are refused.
 */
void fw_pump_channel(struct fw *fw, enum fw_task task, enum pr_channel channel,
                     void (*handle)(struct fw *fw, enum pr_channel channel, const struct pr_slot *slot,
                                    uint32_t number));

#endif
