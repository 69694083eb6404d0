/* SPDX-License-Identifier: Apache-2.0 */
/* The channels' slots. The store of the address word hands a slot over and is the last one to the slot. */
#include "firmware/channel.h"

#include "firmware/doorbell.h"
#include "firmware/log.h"
#include "firmware/shared.h"

static uint64_t slot_address(const struct fw_channel *c, uint32_t number)
{
    return c->ring + (uint64_t)number * PR_SLOT_BYTES;
}

static void advance(struct fw_channel *c)
{
    c->cursor = c->cursor + 1 == c->slots ? 0 : c->cursor + 1;
}

/* The word that hands a slot over: one store, between barriers. */
static void store_owner(struct fw *fw, struct pr_slot *slot, uint64_t address)
{
    rt_port_barrier(fw->port);
    *(volatile uint64_t *)&slot->address = address;
    rt_port_barrier(fw->port);
}

static void publish_record(struct fw *fw, uint64_t ipc, enum pr_channel channel)
{
    const struct pr_channel_info *info = &pr_channel_table[channel];
    struct fw_channel *c = &fw->channel[channel];
    struct pr_channel_record record = {.type = info->type,
                                       .bit = info->bit,
                                       .slots = info->slots,
                                       .ring = ipc + pr_ipc_ring_offset(channel),
                                       .ring_version = PR_RING_VERSION};

    rt_memory_copy_name(record.name, sizeof(record.name), info->name);
    (void)fw_shared_out(fw, ipc + channel * PR_CHANNEL_RECORD_BYTES, &record, sizeof(record));
    *c = (struct fw_channel){.ring = record.ring, .slots = info->slots};
}

void fw_channel_publish(struct fw *fw, uint64_t ipc)
{
    const struct pr_slot idle = {.address = PR_SLOT_OWNER};

    for (unsigned i = 0; i < PR_CHANNEL_COUNT; i++) {
        publish_record(fw, ipc, (enum pr_channel)i);
        for (uint32_t n = 0; n < fw->channel[i].slots; n++)
            (void)fw_shared_out(fw, slot_address(&fw->channel[i], n), &idle, sizeof(idle));
    }
}

bool fw_channel_look(struct fw *fw, enum pr_channel channel, uint32_t number, struct pr_slot *slot)
{
    return fw_shared_in(fw, slot, slot_address(&fw->channel[channel], number), sizeof(*slot));
}

bool fw_channel_take(struct fw *fw, enum pr_channel channel, struct pr_slot *slot, uint32_t *number)
{
    struct fw_channel *c = &fw->channel[channel];

    *number = c->cursor;
    if (!fw_channel_look(fw, channel, c->cursor, slot) || slot->address & PR_SLOT_OWNER)
        return false;
    advance(c);
    return true;
}

void fw_channel_return(struct fw *fw, enum pr_channel channel, const struct pr_slot *slot, uint32_t number)
{
    struct pr_slot *shared =
        rt_port_window(fw->port, slot_address(&fw->channel[channel], number), sizeof(*shared));

    if (shared)
        store_owner(fw, shared, slot->address | PR_SLOT_OWNER);
}

void fw_channel_status(struct fw *fw, enum pr_channel channel, const struct pr_slot *slot,
                       enum pr_status status)
{
    const uint16_t half = (uint16_t)status;
    const uint32_t word = status;

    if (channel == PR_CHANNEL_DATA_CHAIN_H2T) {
        if (slot->length >= sizeof(struct pr_exe_header))
            (void)fw_shared_out(fw, slot->address + offsetof(struct pr_exe_header, status), &half,
                                sizeof(half));
    } else if (slot->length >= sizeof(struct pr_command_header)) {
        (void)fw_shared_out(fw, slot->address + offsetof(struct pr_command_header, priority), &word,
                            sizeof(word));
    }
}

void fw_channel_refuse(struct fw *fw, enum pr_channel channel, const struct pr_slot *slot, uint32_t number)
{
    fw_log_quiet(fw, RT_LOG_WARNING, "a message on channel %s is refused: the channel is not ready",
                 pr_channel_table[channel].name);
    fw_channel_status(fw, channel, slot, PR_STATUS_NOT_READY);
    fw_channel_return(fw, channel, slot, number);
    fw_doorbell_ring(fw, channel);
}

void fw_channel_open(struct fw *fw, enum pr_channel channel)
{
    struct fw_channel *c = &fw->channel[channel];
    struct pr_slot slot;
    uint32_t number;

    for (uint32_t i = 0; pr_channel_table[channel].type == PR_CHANNEL_H2T && i < c->slots; i++)
        if (fw_channel_take(fw, channel, &slot, &number))
            fw_channel_refuse(fw, channel, &slot, number);
    c->ready = true;
    fw_log_quiet(fw, RT_LOG_INFO, "channel %s is ready", pr_channel_table[channel].name);
}

bool fw_channel_room(struct fw *fw, enum pr_channel channel, uint32_t *number)
{
    struct fw_channel *c = &fw->channel[channel];
    struct pr_slot slot;

    *number = c->cursor;
    return c->ready && fw_channel_look(fw, channel, c->cursor, &slot) && slot.address & PR_SLOT_OWNER;
}

void fw_channel_send(struct fw *fw, enum pr_channel channel, uint64_t address, uint64_t length, uint64_t tag)
{
    struct fw_channel *c = &fw->channel[channel];
    struct pr_slot *shared = rt_port_window(fw->port, slot_address(c, c->cursor), sizeof(*shared));

    if (!shared)
        return;
    shared->length = length;
    shared->reply = tag;
    store_owner(fw, shared, address & ~PR_SLOT_OWNER);
    advance(c);
}
