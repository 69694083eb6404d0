/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared events. Values are in the table in DRAM, where the firmware changes them too: each is read when it
 * is needed, and a value is all that is taken from there. A row is free when its event is not live and has no
 * uses. Waiters are on the stacks of their calls.
 */
#include "driver/event.h"

#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "driver/client.h"
#include "driver/mailbox.h"

/* A call that waits for a value. */
struct drv_event_waiter {
    struct drv_event_waiter *next;
    const struct drv_client *client;
    const struct drv_event *event;
    uint64_t value;
    bool done, aborted;
};

uint32_t drv_event_row(const struct drv *d, const struct drv_event *event)
{
    return (uint32_t)(event - d->event);
}

static uint32_t number_of(const struct drv *d, const struct drv_event *event)
{
    return event->turn * PR_SHARED_EVENT_ROWS + drv_event_row(d, event);
}

static uint8_t *place_of(const struct drv *d, const struct drv_event *event)
{
    return (uint8_t *)d->events.host + (size_t)drv_event_row(d, event) * PR_SHARED_EVENT_BYTES;
}

static uint64_t read_value(const struct drv *d, const struct drv_event *event)
{
    struct pr_shared_event row;

    memcpy(&row, place_of(d, event), sizeof(row));
    return row.value;
}

static void write_value(const struct drv *d, const struct drv_event *event, uint64_t value)
{
    const struct pr_shared_event row = {.value = value, .time = d->platform.now(d->platform.context)};

    memcpy(place_of(d, event), &row, sizeof(row));
}

static bool is_shared_with(const struct drv_event *event, uint32_t task)
{
    for (uint32_t i = 0; i < event->shares; i++)
        if (event->share[i] == task)
            return true;
    return false;
}

struct drv_event *drv_event_find(const struct drv_client *client, uint64_t number)
{
    struct drv *d = client->driver;
    struct drv_event *event = &d->event[number % PR_SHARED_EVENT_ROWS];

    if (!event->live || number_of(d, event) != number)
        return NULL;
    return event->task == client->identity.task || is_shared_with(event, client->identity.task) ? event
                                                                                                : NULL;
}

static IOReturn refuse_number(const struct drv_client *client, uint64_t number)
{
    return drv_refuse(client->driver, kIOReturnNotFound,
                      "There is no shared event %" PRIu64 " that task %u may name here.", number,
                      client->identity.task);
}

static struct drv_event *find_owned(const struct drv_client *client, uint64_t number)
{
    struct drv_event *event = drv_event_find(client, number);

    return event && event->task == client->identity.task ? event : NULL;
}

void drv_event_retain(struct drv_event *event)
{
    event->uses++;
}

void drv_event_unuse(struct drv_event *event)
{
    event->uses--;
}

void drv_event_changed(struct drv *d)
{
    for (struct drv_event_waiter *waiter = d->event_waiters; waiter; waiter = waiter->next)
        if (!waiter->done && read_value(d, waiter->event) >= waiter->value)
            waiter->done = true;
}

static void abort_waiters(struct drv *d, const struct drv_client *client, const struct drv_event *event)
{
    for (struct drv_event_waiter *waiter = d->event_waiters; waiter; waiter = waiter->next)
        if (!waiter->done && (waiter->client == client || waiter->event == event))
            waiter->aborted = waiter->done = true;
}

static void release(struct drv *d, struct drv_event *event)
{
    SOC_TRACE(d->platform.trace, DRV_SHARED_EVENT, event->client->number, number_of(d, event),
              drv_event_row(d, event), "released");
    event->live = false;
    event->client = NULL;
    abort_waiters(d, NULL, event);
}

void drv_event_close(struct drv_client *client)
{
    struct drv *d = client->driver;

    abort_waiters(d, client, NULL);
    for (uint32_t i = 0; i < PR_SHARED_EVENT_ROWS; i++)
        if (d->event[i].live && d->event[i].client == client)
            release(d, &d->event[i]);
}

/* The operations of drv_event_call. */

static uint32_t count_of(const struct drv *d, uint32_t task)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < PR_SHARED_EVENT_ROWS; i++)
        count += d->event[i].live && d->event[i].task == task;
    return count;
}

/* Rows are used in turn, so that the number of an event that has ended stays unused for long. */
static struct drv_event *take_row(struct drv *d)
{
    for (uint32_t i = 0; i < PR_SHARED_EVENT_ROWS; i++) {
        struct drv_event *event = &d->event[d->event_next++ % PR_SHARED_EVENT_ROWS];

        if (!event->live && !event->uses)
            return event;
    }
    return NULL;
}

#define TURNS (UINT32_MAX / PR_SHARED_EVENT_ROWS)
static IOReturn create(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    struct drv *d = client->driver;
    struct drv_event *event;

    if (count_of(d, client->identity.task) >= DRV_EVENTS_PER_TASK)
        return drv_refuse(d, kIOReturnNoResources, "Task %u has %u shared events; release one.",
                          client->identity.task, DRV_EVENTS_PER_TASK);
    event = take_row(d);
    if (!event)
        return drv_refuse(d, kIOReturnNoResources, "All %u shared events are in use.", PR_SHARED_EVENT_ROWS);
    *event = (struct drv_event){
        .turn = event->turn % (TURNS - 1) + 1, .live = true, .task = client->identity.task, .client = client};
    write_value(d, event, args->scalarInput[0]);
    args->scalarOutput[0] = number_of(d, event);
    SOC_TRACE(d->platform.trace, DRV_SHARED_EVENT, client->number, number_of(d, event),
              drv_event_row(d, event), "created");
    return kIOReturnSuccess;
}

static IOReturn value(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    const struct drv_event *event = drv_event_find(client, args->scalarInput[0]);

    if (!event)
        return refuse_number(client, args->scalarInput[0]);
    args->scalarOutput[0] = read_value(client->driver, event);
    return kIOReturnSuccess;
}

/* The firmware looks at the calls that it holds. */
static IOReturn signal(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    struct drv *d = client->driver;
    const struct drv_event *event = drv_event_find(client, args->scalarInput[0]);

    if (!event)
        return refuse_number(client, args->scalarInput[0]);
    if (args->scalarInput[1] <= read_value(d, event))
        return kIOReturnSuccess;
    write_value(d, event, args->scalarInput[1]);
    SOC_TRACE(d->platform.trace, DRV_SIGNAL, client->number, args->scalarInput[0], args->scalarInput[1]);
    if (event->uses && d->ready)
        drv_mailbox_ring(d, PR_DOORBELL_SHARED_EVENT);
    drv_event_changed(d);
    return kIOReturnSuccess;
}

static void remove_waiter(struct drv *d, const struct drv_event_waiter *waiter)
{
    struct drv_event_waiter **link = &d->event_waiters;

    while (*link != waiter)
        link = &(*link)->next;
    *link = waiter->next;
}

static IOReturn wait(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    struct drv *d = client->driver;
    struct drv_deadline deadline = {.ns = args->scalarInput[2]};
    struct drv_event_waiter waiter = {.next = d->event_waiters,
                                      .client = client,
                                      .event = drv_event_find(client, args->scalarInput[0]),
                                      .value = args->scalarInput[1]};

    if (!waiter.event)
        return refuse_number(client, args->scalarInput[0]);
    waiter.done = read_value(d, waiter.event) >= waiter.value;
    if (!waiter.done && deadline.ns) {
        d->event_waiters = &waiter;
        drv_wait(d, &waiter.done, deadline.ns == UINT64_MAX ? NULL : &deadline);
        remove_waiter(d, &waiter);
    }
    if (waiter.aborted)
        return drv_refuse(d, kIOReturnAborted,
                          "Shared event %" PRIu64 " or client %u ended while the client waited.",
                          args->scalarInput[0], client->number);
    if (waiter.done)
        return kIOReturnSuccess;
    return drv_refuse(d, kIOReturnTimeout, "Shared event %" PRIu64 " did not reach %" PRIu64 " in time.",
                      args->scalarInput[0], waiter.value);
}

static IOReturn share(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    struct drv_event *event = find_owned(client, args->scalarInput[0]);
    const uint32_t task = (uint32_t)args->scalarInput[1];

    if (!event)
        return refuse_number(client, args->scalarInput[0]);
    if (task == event->task || is_shared_with(event, task))
        return kIOReturnSuccess;
    if (event->shares == DRV_EVENT_SHARES)
        return drv_refuse(client->driver, kIOReturnNoResources,
                          "Shared event %" PRIu64 " is shared with %u tasks already.", args->scalarInput[0],
                          DRV_EVENT_SHARES);
    event->share[event->shares++] = task;
    return kIOReturnSuccess;
}

static IOReturn end(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    struct drv_event *event = find_owned(client, args->scalarInput[0]);

    if (!event)
        return refuse_number(client, args->scalarInput[0]);
    release(client->driver, event);
    return kIOReturnSuccess;
}

static IOReturn dispatch(struct drv_client *client, uint32_t operation,
                         struct IOExternalMethodArguments *args)
{
    static IOReturn (*const operations[])(struct drv_client * client,
                                          struct IOExternalMethodArguments * args) = {create, value, signal,
                                                                                      wait,   share, end};

    _Static_assert(BASE_COUNT_OF(operations) == DRV_EVENT_OPERATIONS - DRV_EVENT_FIRST, "one each");
    return operations[operation - DRV_EVENT_FIRST](client, args);
}

IOReturn drv_event_call(struct drv_client *client, uint32_t operation,
                        struct IOExternalMethodArguments *arguments, struct base_error *error)
{
    return drv_client_run(client, dispatch, operation, true, arguments, error);
}
