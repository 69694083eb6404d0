/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The debug work processor. An item is WAITING from the firmware's call until selector 13, FETCHED until
 * selector 14, and its call is answered exactly once: then, or when it is dropped. Numbers of items are never
 * used again, so that one of an earlier registration or an earlier boot is recognised.
 */
#include "driver/debug_work.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "driver/command.h"
#include "driver/rpc.h"
#include "driver/session.h"
#include "driver/surface.h"
#include "protocol/control_bodies.h"

static struct drv_debug_item *find_number(struct drv *d, uint64_t number)
{
    for (uint32_t i = 0; i < ANE_DEBUG_ITEMS; i++)
        if (d->debug_work.item[i].state != DRV_DEBUG_FREE && d->debug_work.item[i].number == number)
            return &d->debug_work.item[i];
    return NULL;
}

/* Of those that wait, and with `fetched` of all. */
static struct drv_debug_item *find_oldest(struct drv *d, bool fetched)
{
    struct drv_debug_item *oldest = NULL;

    for (uint32_t i = 0; i < ANE_DEBUG_ITEMS; i++) {
        struct drv_debug_item *item = &d->debug_work.item[i];

        if ((item->state == DRV_DEBUG_WAITING || (fetched && item->state == DRV_DEBUG_FETCHED)) &&
            (!oldest || item->number < oldest->number))
            oldest = item;
    }
    return oldest;
}

static void trace_item(struct drv *d, const struct drv_debug_item *item, const char *state)
{
    char text[PR_RPC_TEXT_BYTES + 1];

    for (uint32_t i = 0; i < item->bytes; i++)
        text[i] = isprint((unsigned char)item->text[i]) ? item->text[i] : '.';
    text[item->bytes] = '\0';
    SOC_TRACE(d->platform.trace, DRV_DEBUG_ITEM, d->debug_work.client->number, item->number, state, text);
}

static void end_item(struct drv *d, struct drv_debug_item *item, enum pr_status status, const char *state)
{
    trace_item(d, item, state);
    item->state = DRV_DEBUG_FREE;
    drv_rpc_answer(d, item->slot, status, item->number);
}

static void drop_items(struct drv *d, bool fetched)
{
    struct drv_debug_item *item;

    while ((item = find_oldest(d, fetched)))
        end_item(d, item, PR_STATUS_ABORTED, "dropped");
}

static struct drv_command_args enable(struct pr_body_u32 *body, bool calls)
{
    *body = (struct pr_body_u32){PR_RPC_LINES | (calls ? PR_RPC_CALLS : 0)};
    return (struct drv_command_args){.id = PR_CMD_RPC_ENABLE,
                                     .program = PR_NO_ID,
                                     .process = PR_NO_ID,
                                     .body = body,
                                     .bytes = sizeof(*body)};
}

/* Without waiting: when no command is free, calls that come are answered as without a processor. */
static void post_enable(struct drv *d, bool calls)
{
    struct pr_body_u32 body;
    const struct drv_command_args args = enable(&body, calls);

    (void)drv_command_post(d, &args, NULL);
}

static IOReturn run_enable(struct drv *d, bool calls)
{
    struct pr_body_u32 body;
    const struct drv_command_args args = enable(&body, calls);

    return drv_command_run(d, &args, NULL);
}

static IOReturn refuse_other(const struct drv_client *client, const char *method)
{
    if (client->driver->debug_work.client == client)
        return kIOReturnSuccess;
    return drv_refuse(client->driver, kIOReturnNotReady,
                      "%s: client %u is not registered as the debug work processor.", method, client->number);
}

/* Selectors. */

static IOReturn check_processor(struct drv_client *client, const struct ane_debug_processor *processor)
{
    struct drv *d = client->driver;
    const IOReturn result = drv_session_check(client, processor->session);

    if (result)
        return result;
    if (processor->items == 0 || processor->items > ANE_DEBUG_ITEMS || processor->flags ||
        processor->reserved)
        return drv_refuse(d, kIOReturnBadArgument,
                          "ANE_RegisterDebugWorkProcessor: %u items; 1 to %u are possible, and flags and "
                          "reserved bytes are 0.",
                          processor->items, ANE_DEBUG_ITEMS);
    if (d->debug_work.client)
        return drv_refuse(d, kIOReturnBusy,
                          "ANE_RegisterDebugWorkProcessor: client %u is registered; unregister it first.",
                          d->debug_work.client->number);
    return kIOReturnSuccess;
}

/* The place is taken before the firmware is asked, which takes time. */
IOReturn drv_debug_work_register(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    struct ane_debug_processor processor;
    struct drv *d = client->driver;
    IOReturn result;

    memcpy(&processor, args->structureInput, sizeof(processor));
    result = check_processor(client, &processor);
    if (result)
        return result;
    d->debug_work.client = client;
    d->debug_work.items = processor.items;
    d->debug_work.before = d->debug_work.number;
    result = run_enable(d, true);
    if (result)
        drv_debug_work_leave(client); /* calls may have come before the answer, or without one */
    return result;
}

IOReturn drv_debug_work_unregister(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    const IOReturn result = refuse_other(client, "ANE_UnregisterDebugWorkProcessor");

    (void)args;
    if (result)
        return result;
    drop_items(client->driver, true);
    client->driver->debug_work.client = NULL;
    return run_enable(client->driver, false);
}

/* Where an item goes: the room from an offset of a surface on. */
static IOReturn copy_item(struct drv_client *client, const struct drv_pages *pages, uint64_t offset,
                          struct drv_debug_item *item)
{
    const struct ane_debug_item head = {
        .item = item ? item->number : 0, .kind = item ? item->kind : 0, .bytes = item ? item->bytes : 0};

    if (offset % 8 || offset > pages->bytes || sizeof(head) + head.bytes > pages->bytes - offset)
        return drv_refuse(client->driver, kIOReturnBadArgument,
                          "ANE_GetDebugWorkProcessorItem: an item of %zu bytes does not fit at %" PRIu64
                          " of a surface of %" PRIu64 " bytes, or the offset is not a multiple of 8.",
                          sizeof(head) + head.bytes, offset, pages->bytes);
    memcpy((uint8_t *)pages->host + offset, &head, sizeof(head));
    if (!item)
        return kIOReturnSuccess;
    memcpy((uint8_t *)pages->host + offset + sizeof(head), item->text, item->bytes);
    item->state = DRV_DEBUG_FETCHED;
    trace_item(client->driver, item, "fetched");
    return kIOReturnSuccess;
}

IOReturn drv_debug_work_get(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    const uint64_t surface = args->scalarInput[0];
    struct drv *d = client->driver;
    struct drv_pages pages;
    IOReturn result = refuse_other(client, "ANE_GetDebugWorkProcessorItem");

    if (!result && (!surface || surface > UINT32_MAX))
        result = drv_refuse(d, kIOReturnBadArgument,
                            "ANE_GetDebugWorkProcessorItem: %" PRIu64 " does not name a surface.", surface);
    if (!result)
        result = drv_surface_get(client, (uint32_t)surface, &pages);
    if (result)
        return result;
    result = copy_item(client, &pages, args->scalarInput[1], find_oldest(d, false));
    d->platform.surface_put(d->platform.context, (uint32_t)surface);
    return result;
}

/* Why there is no such item. */
static IOReturn refuse_number(struct drv *d, uint64_t number)
{
    const char *why = number == 0 || number > d->debug_work.number ? "there was none of that number"
                      : number <= d->debug_work.before             ? "it is of an earlier registration"
                      : number <= d->debug_work.booted             ? "the firmware was restarted since"
                                                                   : "it is completed or dropped";

    return drv_refuse(d, kIOReturnNotFound, "ANE_CompleteDebugWorkProcessorItem: item %" PRIu64 ": %s.",
                      number, why);
}

IOReturn drv_debug_work_complete(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    const uint64_t number = args->scalarInput[0], status = args->scalarInput[1];
    struct drv *d = client->driver;
    struct drv_debug_item *item;
    const IOReturn result = refuse_other(client, "ANE_CompleteDebugWorkProcessorItem");

    if (result)
        return result;
    item = find_number(d, number);
    if (!item)
        return refuse_number(d, number);
    if (item->state != DRV_DEBUG_FETCHED || status > UINT32_MAX)
        return drv_refuse(d, kIOReturnBadArgument,
                          "ANE_CompleteDebugWorkProcessorItem: item %" PRIu64
                          " was not fetched, or its status 0x%" PRIx64 " has more than 32 bits.",
                          number, status);
    end_item(d, item, (enum pr_status)status, "completed");
    return kIOReturnSuccess;
}

IOReturn drv_debug_work_release(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    const IOReturn result = refuse_other(client, "ANE_ReleaseDebugWorkProcessorBuffers");

    (void)args;
    if (!result)
        drop_items(client->driver, false);
    return result;
}

/* The firmware. */

/* A free place, when fewer items than the processor asked for are kept. */
static struct drv_debug_item *find_free(struct drv_debug_work *work)
{
    struct drv_debug_item *found = NULL;
    uint32_t used = 0;

    for (uint32_t i = 0; i < ANE_DEBUG_ITEMS; i++) {
        if (work->item[i].state != DRV_DEBUG_FREE)
            used++;
        else if (!found)
            found = &work->item[i];
    }
    return used < work->items ? found : NULL;
}

void drv_debug_work_add(struct drv *d, uint32_t slot, const char *text, uint32_t bytes)
{
    struct drv_debug_work *work = &d->debug_work;
    struct drv_debug_item *item = work->client ? find_free(work) : NULL;

    if (!item) {
        drv_rpc_answer(d, slot, work->client ? PR_STATUS_NO_RESOURCES : PR_STATUS_NOT_READY, 0);
        return;
    }
    *item = (struct drv_debug_item){.state = DRV_DEBUG_WAITING,
                                    .number = ++work->number,
                                    .slot = slot,
                                    .kind = PR_RPC_DEBUG,
                                    .bytes = bytes};
    memcpy(item->text, text, bytes);
    trace_item(d, item, "arrived");
}

void drv_debug_work_leave(struct drv_client *client)
{
    struct drv *d = client->driver;

    if (d->debug_work.client != client)
        return;
    drop_items(d, true);
    d->debug_work.client = NULL;
    if (d->ready)
        post_enable(d, false);
}

void drv_debug_work_forget(struct drv *d)
{
    for (uint32_t i = 0; i < ANE_DEBUG_ITEMS; i++)
        d->debug_work.item[i].state = DRV_DEBUG_FREE;
    d->debug_work.booted = d->debug_work.number;
}

void drv_debug_work_booted(struct drv *d)
{
    if (d->debug_work.client)
        post_enable(d, true);
}
