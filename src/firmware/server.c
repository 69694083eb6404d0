/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server. A control message is copied once; the command works on the copy, and the reply goes where the
 * message was, never past the room that the host left for it. Every slot goes back and is rung for, also when
 * its message cannot be read.
 */
#include "firmware/server.h"

#include "base/array.h"
#include "firmware/channel.h"
#include "firmware/control.h"
#include "firmware/doorbell.h"
#include "firmware/log.h"
#include "firmware/pump.h"
#include "firmware/shared.h"
#include "firmware/terminal.h"
#include "rtkernel/task.h"

/* False when there is no message to answer to. */
static bool fetch(struct fw *fw, const struct pr_slot *slot, enum pr_status *status)
{
    struct pr_command_header *header = (void *)fw->server.message;
    const bool whole = slot->length <= PR_MESSAGE_BYTES_MAX;

    if (slot->length < sizeof(*header) ||
        !fw_shared_in(fw, header, slot->address, whole ? (size_t)slot->length : sizeof(*header))) {
        fw_log(fw, RT_LOG_WARNING, "a message of 0x%llx bytes at 0x%llx cannot be read",
               (unsigned long long)slot->length, (unsigned long long)slot->address);
        return false;
    }
    *status = whole && header->size == slot->length - sizeof(*header) ? PR_STATUS_OK : PR_STATUS_BAD_SIZE;
    return true;
}

/* What the host left room for: the longer of the message and the reply it expects. */
static size_t capacity(const struct pr_slot *slot)
{
    return slot->reply > slot->length && slot->reply <= PR_MESSAGE_BYTES_MAX ? (size_t)slot->reply
                                                                             : (size_t)slot->length;
}

static void handle(struct fw *fw, enum pr_channel channel, const struct pr_slot *slot, uint32_t number)
{
    struct pr_command_header *header = (void *)fw->server.message;
    enum pr_status status;
    size_t reply = 0;

    if (fetch(fw, slot, &status)) {
        if (!status)
            status = fw_control_run(fw, channel, capacity(slot), &reply);
        if (reply > header->size)
            header->size = (uint32_t)reply;
        PR_REPLY_STATUS(header) = status;
        (void)fw_shared_out(fw, slot->address, header, sizeof(*header) + reply);
    }
    fw_channel_return(fw, channel, slot, number);
    fw_doorbell_ring(fw, channel);
}

static void look(struct fw *fw)
{
    static const enum pr_channel channels[] = {PR_CHANNEL_IO, PR_CHANNEL_DEBUG, PR_CHANNEL_BUF_H2T};
    const uint32_t reasons = fw_pump_reasons(fw, &fw->server.pump);

    if (reasons >> pr_channel_table[PR_CHANNEL_SHAREDMALLOC].bit & 1)
        fw_terminal_answer(fw);
    for (unsigned i = 0; i < BASE_COUNT_OF(channels); i++)
        if (reasons >> pr_channel_table[channels[i]].bit & 1)
            fw_pump_channel(fw, &fw->server.pump, channels[i], handle);
}

static void entry(void *arg)
{
    struct fw *fw = arg;
    struct fw_record record;

    fw_terminal_request(fw);
    for (;;)
        if (rt_task_wait_any(fw->kernel, &record, sizeof(record), NULL, RT_FOREVER) == (int)sizeof(record))
            look(fw);
}

bool fw_server_create(struct fw *fw)
{
    return fw_pump_create(fw, &fw->server.pump, "server", FW_SERVER_PRIORITY, entry);
}
