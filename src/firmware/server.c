/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server. A control message is copied once; the command works on the copy, and the reply goes where the
 * message was, never past the room that the host left for it. Every slot goes back and is rung for, also when
 * its message cannot be read. A command is answered before the next one is taken.
 */
#include "firmware/server.h"

#include "base/array.h"
#include "firmware/channel.h"
#include "firmware/control.h"
#include "firmware/doorbell.h"
#include "firmware/life.h"
#include "firmware/message.h"
#include "firmware/notify.h"
#include "firmware/power.h"
#include "firmware/pump.h"

static void handle(struct fw *fw, enum pr_channel channel, const struct pr_slot *slot, uint32_t number)
{
    struct pr_command_header *header = (void *)fw->server.message;
    enum pr_status status;
    size_t reply = 0;

    if (fw_message_fetch(fw, slot, header, PR_MESSAGE_BYTES_MAX - 1, &status)) {
        const uint32_t ticket = fw_message_record(fw, channel, header);

        if (!status)
            status = fw_control_run(fw, channel, fw_message_capacity(slot), &reply);
        fw_message_end(fw, ticket, status);
        fw_notify_refused(fw, header->id, status);
        fw_message_answer(fw, slot, header, status, reply);
    } else {
        fw_notify_unreadable(fw, channel, slot);
    }
    fw_channel_return(fw, channel, slot, number);
    fw_doorbell_ring(fw, channel);
    if (fw_life_is_down(fw))
        fw_power_down(fw);
}

void fw_server_run(struct fw *fw, const struct fw_record *record)
{
    static const enum pr_channel channels[] = {PR_CHANNEL_IO, PR_CHANNEL_DEBUG};
    const uint32_t reasons = fw_pump_reasons(fw, FW_TASK_SERVER);

    (void)record;
    for (unsigned i = 0; i < BASE_COUNT_OF(channels); i++)
        if (reasons >> pr_channel_table[channels[i]].bit & 1)
            fw_pump_channel(fw, FW_TASK_SERVER, channels[i], handle);
}
