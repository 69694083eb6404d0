/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mailbox. What the controller wrote is hostile: the bytes behind a slot are used only when they all are
 * in memory that the controller may see, and copied first where more than a log line depends on them. Every
 * slot taken is given back, and a ring of which slots were given back is rung once. One pass takes no more
 * slots than the ring has, so that a controller that always has one more cannot keep the driver here.
 */
#include "driver/mailbox.h"

#include <ctype.h>
#include <string.h>

#include "driver/block.h"
#include "driver/command.h"
#include "driver/completion.h"
#include "driver/debug.h"
#include "driver/notification.h"
#include "driver/recovery.h"
#include "driver/request.h"
#include "driver/ring.h"
#include "driver/rtbuddy.h"
#include "protocol/timing.h"

#define LINE_BYTES       160u
#define SHARED_BYTES_MAX 0x200000u /* what the public driver grants at most (command facts 5.1) */

uint32_t drv_mailbox_read(struct drv *d, uint32_t reg)
{
    return soc_bus_read32(d->platform.bus, SOC_MASTER_HOST, d->aperture[0].base + reg);
}

void drv_mailbox_write(struct drv *d, uint32_t reg, uint32_t value)
{
    soc_bus_write32(d->platform.bus, SOC_MASTER_HOST, d->aperture[0].base + reg, value);
}

static void kick(void *context)
{
    struct drv_kick *k = context;

    k->rung = false;
    if (k->driver->powered)
        drv_mailbox_write(k->driver, PR_CTRL_DOORBELL, 1u << (k - k->driver->kick));
}

/* The caller does not wait for the store; the same bit rung again meanwhile is one store. */
static void kick_later(struct drv *d, struct drv_kick *k)
{
    if (k->rung)
        return;
    *k = (struct drv_kick){.driver = d, .rung = true};
    if (d->platform.after(d->platform.context, PR_TIMING_KICK_NS, kick, k))
        kick(k);
}

void drv_mailbox_ring(struct drv *d, uint32_t index)
{
    if (index >= PR_DOORBELL_INDEX_LIMIT)
        return;
    if (d->platform.timed)
        kick_later(d, &d->kick[index]);
    else
        drv_mailbox_write(d, PR_CTRL_DOORBELL, 1u << index);
}

/* Slots of one ring were given back. */
static void ring_back(struct drv *d, enum pr_channel channel, bool any)
{
    if (any)
        drv_mailbox_ring(d, d->ring[channel].bit);
}

/* The short form of an event says nothing of the engine. */
static bool read_event(struct drv *d, uint64_t address, uint64_t length, struct pr_program_failure *event)
{
    size_t bytes = length >= sizeof(*event) ? sizeof(*event) : sizeof(event->event);
    const void *payload = length >= bytes ? drv_block_find(d, address, bytes) : NULL;

    for (unsigned i = 0; i < PR_TM_ERRORS; i++)
        event->error[i] = PR_TM_ERROR_FINE;
    event->status = 0;
    if (payload)
        memcpy(event, payload, bytes);
    else
        SOC_TRACE(d->platform.trace, DRV_EVENT_UNREADABLE, length, address);
    return payload;
}

/* What is not the event of a call: copied whole, as long as it says it is. */
static void take_notification(struct drv *d, uint64_t address, uint64_t length)
{
    union drv_notification message = {.bytes = {0}};
    const size_t bytes = length < sizeof(message) ? (size_t)length : sizeof(message);
    const void *payload = drv_block_find(d, address, bytes);

    if (!payload)
        return;
    memcpy(&message, payload, bytes);
    drv_notification_take(d, &message);
}

static void take_events(struct drv *d)
{
    struct pr_slot *slot;
    unsigned taken = 0;

    while (taken < d->ring[PR_CHANNEL_IO_T2H].slots && (slot = drv_ring_take(d, PR_CHANNEL_IO_T2H))) {
        uint64_t address = slot->address & ~PR_SLOT_OWNER, length = slot->length;
        struct pr_program_failure event;
        bool good = read_event(d, address, length, &event);

        taken++;
        if (good && event.event.id != PR_CMD_PROGRAM_EVENT)
            take_notification(d, address, length);
        drv_ring_give(d, PR_CHANNEL_IO_T2H, address);
        if (good && event.event.id == PR_CMD_PROGRAM_EVENT)
            drv_completion_event(d, &event);
    }
    ring_back(d, PR_CHANNEL_IO_T2H, taken);
}

static void print_text(struct drv *d, const uint8_t *text, uint64_t length)
{
    char line[LINE_BYTES];
    size_t at = 0;

    for (uint64_t i = 0; i < length && text[i] && at + 1 < sizeof(line); i++)
        if (text[i] != '\n')
            line[at++] = isprint(text[i]) ? (char)text[i] : '.';
    line[at] = '\0';
    SOC_TRACE(d->platform.trace, DRV_FIRMWARE_LINE, line);
}

static void take_log_lines(struct drv *d)
{
    struct pr_slot *slot;
    unsigned taken = 0;

    while (taken < d->ring[PR_CHANNEL_TERMINAL].slots && (slot = drv_ring_take(d, PR_CHANNEL_TERMINAL))) {
        uint64_t address = slot->address & ~PR_SLOT_OWNER, length = slot->length;
        const uint8_t *text = drv_block_find(d, address, length);

        taken++;
        if (text)
            print_text(d, text, length);
        else
            SOC_TRACE(d->platform.trace, DRV_TERMINAL_UNREADABLE, length, address);
        drv_ring_give(d, PR_CHANNEL_TERMINAL, address);
    }
    ring_back(d, PR_CHANNEL_TERMINAL, taken);
}

static void take_buffers(struct drv *d)
{
    struct pr_slot *slot;
    unsigned taken = 0;

    while (taken < d->ring[PR_CHANNEL_BUF_T2H].slots && (slot = drv_ring_take(d, PR_CHANNEL_BUF_T2H))) {
        uint64_t address = slot->address & ~PR_SLOT_OWNER, length = slot->length, tag = slot->reply;

        taken++;
        drv_ring_give(d, PR_CHANNEL_BUF_T2H, address);
        drv_debug_take_buffer(d, address, length, tag);
    }
    ring_back(d, PR_CHANNEL_BUF_T2H, taken);
}

/* The device address of new memory for the firmware, or 0. */
static uint64_t shared_alloc(struct drv *d, uint64_t bytes, uint32_t *index)
{
    for (*index = 0; *index < DRV_SHARED_BLOCKS; ++*index)
        if (!d->shared_block[*index].bytes)
            break;
    if (*index == DRV_SHARED_BLOCKS || bytes > SHARED_BYTES_MAX ||
        drv_block_make(d, PR_USAGE_FIRMWARE_HEAP, bytes, &d->shared_block[*index])) {
        SOC_TRACE(d->platform.trace, DRV_SHARED_REFUSED, bytes);
        *index = 0;
        return 0;
    }
    SOC_TRACE(d->platform.trace, DRV_SHARED_ALLOCATED, bytes, d->shared_block[*index].iova);
    return d->shared_block[*index].iova;
}

static void shared_free(struct drv *d, uint64_t address)
{
    for (unsigned i = 0; i < DRV_SHARED_BLOCKS; i++)
        if (d->shared_block[i].bytes && d->shared_block[i].iova == address) {
            drv_block_drop(d, &d->shared_block[i]);
            return;
        }
    SOC_TRACE(d->platform.trace, DRV_SHARED_UNKNOWN, address);
}

/* Address 0 asks for `length` bytes; any other address is given back. */
static void take_memory_requests(struct drv *d)
{
    struct pr_slot *slot;
    unsigned taken = 0;

    while (taken < d->ring[PR_CHANNEL_SHAREDMALLOC].slots &&
           (slot = drv_ring_take(d, PR_CHANNEL_SHAREDMALLOC))) {
        uint64_t address = slot->address & ~PR_SLOT_OWNER, length = slot->length;
        uint32_t index = 0;

        taken++;
        if (address)
            shared_free(d, address);
        else
            address = shared_alloc(d, length, &index);
        slot->length = 0;
        slot->reply = index;
        drv_ring_give(d, PR_CHANNEL_SHAREDMALLOC, address);
    }
    ring_back(d, PR_CHANNEL_SHAREDMALLOC, taken);
}

static bool channel_rang(const struct drv *d, uint32_t pending, enum pr_channel channel)
{
    return pending >> d->ring[channel].bit & 1;
}

static void handle_channels(struct drv *d, uint32_t pending)
{
    if (channel_rang(d, pending, PR_CHANNEL_IO_T2H))
        take_events(d);
    if (channel_rang(d, pending, PR_CHANNEL_DATA_CHAIN_H2T))
        drv_completion_slots(d);
    if (channel_rang(d, pending, PR_CHANNEL_IO))
        drv_command_returns(d, DRV_COMMAND_IO);
    if (channel_rang(d, pending, PR_CHANNEL_SHAREDMALLOC))
        take_memory_requests(d);
    if (channel_rang(d, pending, PR_CHANNEL_TERMINAL))
        take_log_lines(d);
    if (channel_rang(d, pending, PR_CHANNEL_BUF_T2H))
        take_buffers(d);
    if (channel_rang(d, pending, PR_CHANNEL_DEBUG))
        drv_command_returns(d, DRV_COMMAND_DEBUG);
    if (channel_rang(d, pending, PR_CHANNEL_BUF_H2T))
        drv_command_returns(d, DRV_COMMAND_BUFFERS);
}

void drv_mailbox_poll(struct drv *d)
{
    handle_channels(d, ~0u);
}

const char *drv_mailbox_recover(struct drv *d, enum pr_channel channel)
{
    uint32_t pending = drv_mailbox_read(d, PR_CTRL_HOST_PENDING);
    const char *why = "the controller's doorbell was lost";

    if (channel_rang(d, pending, channel))
        why = "interrupt lost, the controller had rung";
    else if (drv_mailbox_read(d, PR_CTRL_SCRATCH(PR_SCRATCH_REJECTED)))
        why = "the fabric rejected the controller's doorbell";
    if (pending)
        drv_mailbox_write(d, PR_CTRL_HOST_ACK, pending);
    drv_mailbox_poll(d);
    drv_completion_settle(d);
    return why;
}

/* What came before the firmware failed is taken first. */
void drv_mailbox_inbound(struct drv *d, uint32_t rang)
{
    handle_channels(d, rang);
    if (rang >> PR_DOORBELL_CRASH & 1)
        drv_recovery_crash(d);
}

/* The line is a level: what rings after the acknowledgement raises it again. */
void drv_interrupt(struct drv *d)
{
    uint32_t pending;

    if (!d->interrupts)
        return;
    pending = drv_mailbox_read(d, PR_CTRL_HOST_PENDING);
    if (!pending)
        return;
    drv_mailbox_write(d, PR_CTRL_HOST_ACK, pending);
    d->stats.interrupts++;
    drv_rtbuddy_inbound(d, pending);
}
