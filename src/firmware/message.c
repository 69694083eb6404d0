/* SPDX-License-Identifier: Apache-2.0 */
/* Control messages. A reply never goes past the room that the host left for it. */
#include "firmware/message.h"

#include "firmware/disposition.h"
#include "firmware/log.h"
#include "firmware/retained.h"
#include "firmware/rule.h"
#include "firmware/shared.h"
#include "rtkernel/irq.h"

/* The slot's length and the header's `size` name the same bytes, and the copy has all of them. */
static enum pr_status check_size(struct fw *fw, const struct pr_slot *slot,
                                 const struct pr_command_header *header, size_t capacity)
{
    const uint64_t most = slot->length < capacity ? slot->length : capacity;
    const uint64_t bytes = sizeof(*header) + (uint64_t)header->size;
    const enum pr_status status = fw_rule(fw, PR_RULE_MESSAGE_SIZE, most >= bytes, header->size);

    if (status || bytes == slot->length)
        return status;
    fw_log(fw, RT_LOG_WARNING, "a message of 0x%llx bytes is refused: its header is for 0x%llx",
           (unsigned long long)slot->length, (unsigned long long)bytes);
    return PR_STATUS_BAD_SIZE;
}

bool fw_message_fetch(struct fw *fw, const struct pr_slot *slot, void *copy, size_t capacity,
                      enum pr_status *status)
{
    struct pr_command_header *header = copy;
    const bool whole = slot->length <= capacity;

    if (slot->length < sizeof(*header) ||
        !fw_shared_in(fw, header, slot->address, whole ? (size_t)slot->length : sizeof(*header))) {
        fw_log(fw, RT_LOG_WARNING, "a message of 0x%llx bytes at 0x%llx cannot be read",
               (unsigned long long)slot->length, (unsigned long long)slot->address);
        return false;
    }
    *status = check_size(fw, slot, header, capacity);
    return true;
}

size_t fw_message_capacity(const struct pr_slot *slot)
{
    return slot->reply > slot->length && slot->reply < PR_MESSAGE_BYTES_MAX ? (size_t)slot->reply
                                                                            : (size_t)slot->length;
}

void fw_message_answer(struct fw *fw, const struct pr_slot *slot, struct pr_command_header *header,
                       enum pr_status status, size_t reply)
{
    if (reply > header->size)
        header->size = (uint32_t)reply;
    PR_REPLY_STATUS(header) = status;
    (void)fw_shared_out(fw, slot->address, header, sizeof(*header) + reply);
}

uint32_t fw_message_record(struct fw *fw, enum pr_channel channel, const struct pr_command_header *header)
{
    const uint32_t previous = rt_irq_mask(fw->kernel);
    const uint32_t ticket = fw_retained_take(fw, channel, header->id, header->program_id, header->process_id,
                                             header->procedure_id);

    rt_irq_restore(fw->kernel, previous);
    return ticket;
}

void fw_message_end(struct fw *fw, uint32_t ticket, enum pr_status status)
{
    const uint32_t previous = rt_irq_mask(fw->kernel);

    fw_retained_end(fw, ticket, status);
    fw_disposition_count(fw, status);
    rt_irq_restore(fw->kernel, previous);
}
