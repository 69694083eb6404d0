/* SPDX-License-Identifier: Apache-2.0 */
/* The channels' slots: who owns one, taking it, giving it back. */
#ifndef FIRMWARE_CHANNEL_H
#define FIRMWARE_CHANNEL_H

#include "firmware/state.h"

/* Writes the channel table and the rings, all slots idle, into the IPC surface, which is mapped. */
void fw_channel_publish(struct fw *fw, uint64_t ipc);
/*
 * The host has acknowledged the table: the channel may be used from here on. What is in its ring already came
 * too early and is refused.
 */
void fw_channel_open(struct fw *fw, enum pr_channel channel);
/* Writes a status into the message, where its form of header has it; not when it is too short for that. */
void fw_channel_status(struct fw *fw, enum pr_channel channel, const struct pr_slot *slot,
                       enum pr_status status);
/* The answer of a channel that is not ready: NOT_READY in the message, the slot, a ring. */
void fw_channel_refuse(struct fw *fw, enum pr_channel channel, const struct pr_slot *slot, uint32_t number);

/*
 * Host to controller: the one copy of the next slot, when the controller owns it. The cursor moves on.
 */
bool fw_channel_take(struct fw *fw, enum pr_channel channel, struct pr_slot *slot, uint32_t *number);
/* Gives that slot back; what was written to its message before is seen before. */
void fw_channel_return(struct fw *fw, enum pr_channel channel, const struct pr_slot *slot, uint32_t number);

/* Controller to host: the number of the next slot; false while the host has not returned it. */
bool fw_channel_room(struct fw *fw, enum pr_channel channel, uint32_t *number);
/* Fills that slot and hands it over. The caller rings. */
void fw_channel_send(struct fw *fw, enum pr_channel channel, uint64_t address, uint64_t length, uint64_t tag);
/* A copy of any slot; false when its ring is not mapped. */
bool fw_channel_look(struct fw *fw, enum pr_channel channel, uint32_t number, struct pr_slot *slot);

#endif
