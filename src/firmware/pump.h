/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interrupt manager: handlers record why a task is wanted, post a look to its interrupt queue and return.
 * The pumps take the reasons.
 */
#ifndef FIRMWARE_PUMP_H
#define FIRMWARE_PUMP_H

#include "firmware/state.h"

/* Makes a task, with its two queues. False when a pool or the arena is exhausted. */
bool fw_pump_create(struct fw *fw, struct fw_pump *pump, const char *name, unsigned priority,
                    void (*entry)(void *arg));
/* Adds reasons to look. Any context. */
void fw_pump_want(struct fw *fw, struct fw_pump *pump, uint32_t reasons);
/* Takes what has come together. */
uint32_t fw_pump_reasons(struct fw *fw, struct fw_pump *pump);

/* Attaches the two handlers. */
void fw_pump_attach(struct fw *fw);

/*
 * Handles up to a ring's worth of slots of a channel, one at a time; when there are more, the pump will look
 * again. The slot is the one copy.
 */
void fw_pump_channel(struct fw *fw, struct fw_pump *pump, enum pr_channel channel,
                     void (*handle)(struct fw *fw, enum pr_channel channel, const struct pr_slot *slot,
                                    uint32_t number));

#endif
