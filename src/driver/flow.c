/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flow of requests to the firmware. A band's queue is by priority, quality of service, arrival. Of one
 * band at most one request runs in the firmware, or one of both together, unless its caller has given it up
 * (drv_flow_leave). A trigger of a chain leaves its band as soon as the firmware has accepted it: it may wait
 * there for an output set. Output sets are sent beside what the band runs.
 *
 * A request that the firmware has no room for goes back to its place in the queue, and its band is parked
 * until the firmware has returned another one: it is not failed, and not sent again for nothing.
 */
#include "driver/flow.h"

#include "driver/counters.h"
#include "driver/request.h"
#include "driver/ring.h"

unsigned drv_flow_band(const struct drv_request *r)
{
    return r->priority <= PR_PRIORITY_REALTIME_MAX;
}

static struct drv_band *band_of(struct drv *d, const struct drv_request *r)
{
    return &d->band[drv_flow_band(r)];
}

/* The slots of program and process may be others than when the call was written. */
static void address_call(struct drv_request *r)
{
    struct pr_call *call = (void *)r->message;

    if (r->kind != DRV_REQUEST_CALL)
        return;
    call->program_id = r->process->program->id;
    call->process_id = r->process->id;
}

static bool send_request(struct drv *d, struct drv_request *r)
{
    address_call(r);
    if (!d->ready || d->fault.parked ||
        !drv_ring_post(d, PR_CHANNEL_DATA_CHAIN_H2T, r->address, r->length, r, &r->slot))
        return false;
    drv_request_set_state(r, DRV_REQUEST_IN_FIRMWARE);
    drv_counters_sent(d, r);
    if (!r->beside)
        band_of(d, r)->running = r;
    return true;
}

/* By priority, then quality of service, then arrival. */
static bool comes_first(const struct drv_request *a, const struct drv_request *b)
{
    if (a->priority != b->priority)
        return a->priority < b->priority;
    if (a->urgency != b->urgency)
        return a->urgency < b->urgency;
    return a->cookie < b->cookie;
}

static void enqueue_request(struct drv *d, struct drv_request *r)
{
    struct drv_request **link = &band_of(d, r)->queue;

    while (*link && comes_first(*link, r))
        link = &(*link)->next;
    r->next = *link;
    *link = r;
    drv_request_set_state(r, DRV_REQUEST_QUEUED);
}

/* A place in the firmware is free: of the band, or with `one_in_flight` of both. */
static bool may_send(const struct drv *d, const struct drv_band *band)
{
    if (d->platform.one_in_flight)
        for (unsigned i = 0; i < DRV_BANDS; i++)
            if (d->band[i].running)
                return false;
    return !band->running && !band->parked;
}

/* Sends what can be sent; the realtime band first. */
static void advance_bands(struct drv *d)
{
    for (unsigned i = DRV_BANDS; i-- > 0;) {
        struct drv_band *band = &d->band[i];
        struct drv_request *r = band->queue;

        if (r && may_send(d, band) && send_request(d, r))
            band->queue = r->next;
    }
}

void drv_flow_leave(struct drv *d, const struct drv_request *r)
{
    struct drv_band *band = band_of(d, r);

    if (band->running != r)
        return;
    band->running = NULL;
    advance_bands(d);
}

void drv_flow_returned(struct drv *d, const struct drv_request *r)
{
    struct drv_band *band = band_of(d, r);

    if (band->running == r)
        band->running = NULL;
    for (unsigned i = 0; i < DRV_BANDS; i++) {
        d->stats.woken += d->band[i].parked;
        d->band[i].parked = false;
    }
    advance_bands(d);
}

uint32_t drv_flow_with_firmware(const struct drv *d)
{
    uint32_t count = 0;

    for (unsigned i = 0; i < DRV_REQUESTS; i++)
        count += drv_request_in_firmware(&d->request[i]);
    return count;
}

bool drv_flow_is_waiting(const struct drv *d)
{
    for (unsigned i = 0; i < DRV_BANDS; i++)
        if (d->band[i].queue)
            return true;
    return false;
}

void drv_flow_resume(struct drv *d)
{
    advance_bands(d);
}

/* The firmware has another request of the driver's: something will come back. */
static bool others_return(const struct drv *d, const struct drv_request *r)
{
    for (unsigned i = 0; i < DRV_REQUESTS; i++)
        if (&d->request[i] != r && drv_request_in_firmware(&d->request[i]))
            return true;
    return false;
}

bool drv_flow_park(struct drv *d, struct drv_request *r)
{
    struct drv_band *band = band_of(d, r);

    if (r->state != DRV_REQUEST_IN_FIRMWARE || !others_return(d, r))
        return false;
    SOC_TRACE(d->platform.trace, DRV_PARKED, r->client->number, r->cookie);
    if (band->running == r)
        band->running = NULL;
    band->parked = true;
    r->parked = true;
    d->stats.parked++;
    enqueue_request(d, r);
    advance_bands(d);
    return true;
}

void drv_flow_leave_all(const struct drv_client *client)
{
    struct drv *d = client->driver;

    for (unsigned i = 0; i < DRV_BANDS; i++)
        if (d->band[i].running && d->band[i].running->client == client)
            drv_flow_leave(d, d->band[i].running);
}

void drv_flow_remove(struct drv *d, struct drv_request *r)
{
    struct drv_request **link = &band_of(d, r)->queue;

    while (*link != r)
        link = &(*link)->next;
    *link = r->next;
    d->stats.in_flight--;
}

void drv_flow_submit(struct drv *d, struct drv_request *r)
{
    struct drv_band *band = band_of(d, r);

    d->stats.requests++;
    d->stats.in_flight++;
    band->parked = false; /* what the firmware has may be lost: a new request tries again */
    if ((r->beside || (!band->queue && may_send(d, band))) && send_request(d, r))
        return;
    enqueue_request(d, r);
    advance_bands(d);
}
