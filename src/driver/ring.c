/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Channels and slots. The owner bit of a slot's address word says whose the slot is; it is written last and
 * read first, with release and acquire. Of a host-to-controller ring, `holder` is not NULL from a post until
 * the slot is seen to have come back or the message it carried is completed: a slot is reused only when both
 * owner bit and holder say it is free. Rings are checked once, at boot: inside the IPC surface, apart from
 * each other, with doorbell bits of their own.
 */
#include "driver/ring.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "driver/mailbox.h"

#define SLOTS_MAX 0x1000u

static int check_name(const struct pr_channel_record *record, uint32_t number, uint32_t *channel,
                      struct base_error *error)
{
    if (!memchr(record->name, '\0', sizeof(record->name)))
        return base_fail(error, EPROTO, "The name of channel %u in the firmware's table has no end.", number);
    for (*channel = 0; *channel < PR_CHANNEL_COUNT; ++*channel)
        if (!strcmp(record->name, pr_channel_table[*channel].name))
            return 0;
    return base_fail(error, EPROTO,
                     "Channel %u of the firmware's table is named \"%s\", which is none of the eight.",
                     number, record->name);
}

static int check_record(const struct drv *d, const struct pr_channel_record *record, uint32_t channel,
                        struct base_error *error)
{
    const struct pr_channel_info *info = &pr_channel_table[channel];
    uint64_t offset = record->ring - d->ipc.iova;
    uint64_t limit = info->type == PR_CHANNEL_H2T ? DRV_HOLDERS : SLOTS_MAX;

    if (d->ring[channel].slot)
        return base_fail(error, EPROTO, "The firmware's table has two channels named %s.", info->name);
    if (record->type != (uint32_t)info->type || record->bit >= PR_DOORBELL_CRASH)
        return base_fail(
            error, EPROTO,
            "Channel %s has type %u and doorbell bit %u; it should be of type %d with a bit below %u.",
            info->name, record->type, record->bit, (int)info->type, PR_DOORBELL_CRASH);
    if (record->ring_version != PR_RING_VERSION)
        return base_fail(error, EPROTO, "Channel %s has ring-buffer version 0x%x; the driver speaks 0x%x.",
                         info->name, record->ring_version, PR_RING_VERSION);
    if (record->slots == 0 || record->slots > limit)
        return base_fail(error, EPROTO, "Channel %s has %" PRIu64 " slots; 1 to %" PRIu64 " are possible.",
                         info->name, record->slots, limit);
    if (record->ring < d->ipc.iova || record->ring % PR_SLOT_BYTES || offset > d->ipc.bytes ||
        record->slots * PR_SLOT_BYTES > d->ipc.bytes - offset)
        return base_fail(error, EPROTO,
                         "The ring of channel %s, %" PRIu64 " slots at 0x%" PRIx64
                         ", is not inside the IPC surface at 0x%" PRIx64 ", 0x%" PRIx64 " bytes.",
                         info->name, record->slots, record->ring, d->ipc.iova, d->ipc.bytes);
    return 0;
}

static bool ranges_overlap(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes)
{
    return a < b + b_bytes && b < a + a_bytes;
}

static int check_overlap(const struct drv *d, uint32_t channel, uint64_t table, uint64_t table_bytes,
                         struct base_error *error)
{
    const struct drv_ring *ring = &d->ring[channel];
    uint64_t at = (uint64_t)((const uint8_t *)ring->slot - (const uint8_t *)d->ipc.host),
             bytes = ring->slots * PR_SLOT_BYTES;

    if (ranges_overlap(at, bytes, table, table_bytes))
        return base_fail(error, EPROTO, "The ring of channel %s lies over the channel table.",
                         pr_channel_table[channel].name);
    for (uint32_t i = 0; i < PR_CHANNEL_COUNT; i++) {
        const struct drv_ring *other = &d->ring[i];

        if (i == channel || !other->slot)
            continue;
        if (ranges_overlap(at, bytes, (uint64_t)((const uint8_t *)other->slot - (const uint8_t *)d->ipc.host),
                           other->slots * PR_SLOT_BYTES))
            return base_fail(error, EPROTO, "The rings of channels %s and %s overlap.",
                             pr_channel_table[channel].name, pr_channel_table[i].name);
        if (ring->bit == other->bit)
            return base_fail(error, EPROTO, "Channels %s and %s share doorbell bit %u.",
                             pr_channel_table[channel].name, pr_channel_table[i].name, ring->bit);
    }
    return 0;
}

int drv_ring_read_table(struct drv *d, uint64_t table, uint32_t count, struct base_error *error)
{
    uint64_t offset = table - d->ipc.iova, bytes = (uint64_t)count * PR_CHANNEL_RECORD_BYTES;
    struct pr_channel_record record;
    int status;

    memset(d->ring, 0, sizeof(d->ring));
    if (table < d->ipc.iova || offset > d->ipc.bytes || bytes > d->ipc.bytes - offset)
        return base_fail(error, EPROTO,
                         "The firmware's table of %u channels at 0x%" PRIx64
                         " is not inside the IPC surface.",
                         count, table);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t channel = 0;

        memcpy(&record, (const uint8_t *)d->ipc.host + offset + i * PR_CHANNEL_RECORD_BYTES, sizeof(record));
        status = check_name(&record, i, &channel, error);
        if (!status)
            status = check_record(d, &record, channel, error);
        if (status)
            return status;
        d->ring[channel].slot = (void *)((uint8_t *)d->ipc.host + (record.ring - d->ipc.iova));
        d->ring[channel].slots = (uint32_t)record.slots;
        d->ring[channel].bit = record.bit;
        status = check_overlap(d, channel, offset, bytes, error);
        if (status)
            return status;
    }
    for (uint32_t i = 0; i < PR_CHANNEL_COUNT; i++)
        if (!d->ring[i].slot)
            return base_fail(error, EPROTO, "The firmware's table has no channel %s.",
                             pr_channel_table[i].name);
    return 0;
}

void drv_ring_init_slots(struct drv *d)
{
    for (uint32_t i = 0; i < PR_CHANNEL_COUNT; i++)
        if (pr_channel_table[i].type == PR_CHANNEL_H2T)
            for (uint32_t s = 0; s < d->ring[i].slots; s++)
                __atomic_store_n(&d->ring[i].slot[s].address, PR_SLOT_OWNER, __ATOMIC_RELEASE);
}

static uint64_t slot_address(const struct pr_slot *slot)
{
    return __atomic_load_n(&slot->address, __ATOMIC_ACQUIRE);
}

bool drv_ring_returned(const struct drv *d, enum pr_channel channel, uint32_t slot)
{
    return slot_address(&d->ring[channel].slot[slot]) & PR_SLOT_OWNER;
}

bool drv_ring_post(struct drv *d, enum pr_channel channel, uint64_t address, uint64_t length, void *holder,
                   uint32_t *slot)
{
    struct drv_ring *ring = &d->ring[channel];
    struct pr_slot *at = &ring->slot[ring->cursor];

    if (ring->holder[ring->cursor] || !(slot_address(at) & PR_SLOT_OWNER))
        return false;
    *slot = ring->cursor;
    ring->holder[ring->cursor] = holder;
    ring->cursor = ring->cursor + 1 == ring->slots ? 0 : ring->cursor + 1;
    at->length = length;
    at->reply = length;
    /* The address word gives the slot away, so it is last; and the doorbell comes after it. */
    __atomic_store_n(&at->address, address, __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    drv_mailbox_ring(d, ring->bit);
    return true;
}

struct pr_slot *drv_ring_take(struct drv *d, enum pr_channel channel)
{
    struct drv_ring *ring = &d->ring[channel];
    struct pr_slot *slot = &ring->slot[ring->cursor];

    uint64_t address = slot_address(slot);

    /* All zero is a slot the controller has never used. */
    return address & PR_SLOT_OWNER || (!address && !slot->length) ? NULL : slot;
}

void drv_ring_give(struct drv *d, enum pr_channel channel, uint64_t address)
{
    struct drv_ring *ring = &d->ring[channel];
    struct pr_slot *slot = &ring->slot[ring->cursor];

    ring->cursor = ring->cursor + 1 == ring->slots ? 0 : ring->cursor + 1;
    __atomic_store_n(&slot->address, address | PR_SLOT_OWNER, __ATOMIC_RELEASE);
}
