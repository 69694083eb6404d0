/* SPDX-License-Identifier: Apache-2.0 */
/* Control messages, with the 24-byte header: copied in once, answered in place. */
#ifndef FIRMWARE_MESSAGE_H
#define FIRMWARE_MESSAGE_H

#include "firmware/state.h"

/*
 * Copies a message of at most `capacity` bytes. False when there is none to answer to. `status` is BAD_SIZE
 * when its length and its header contradict each other, or it is larger.
 */
bool fw_message_fetch(struct fw *fw, const struct pr_slot *slot, void *copy, size_t capacity,
                      enum pr_status *status);
/* What the host left room for: the longer of the message and the reply it expects. */
size_t fw_message_capacity(const struct pr_slot *slot);
/* Writes header, status and `reply` bytes of body where the message was. */
void fw_message_answer(struct fw *fw, const struct pr_slot *slot, struct pr_command_header *header,
                       enum pr_status status, size_t reply);
/* Enters the command into the ring of recent ones; its ticket. */
uint32_t fw_message_record(struct fw *fw, enum pr_channel channel, const struct pr_command_header *header);
/* Its end: the ring, and the counter of how it was disposed of. */
void fw_message_end(struct fw *fw, uint32_t ticket, enum pr_status status);

#endif
