/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completion. In a timed driver the event of a call begins its completion stage, which `ending` of the
 * request describes; the request is ended once, by the end of the stage or by whatever comes before it.
 */
#include "driver/completion.h"

#include <string.h>

#include "driver/bind.h"
#include "driver/command.h"
#include "driver/counters.h"
#include "driver/fault.h"
#include "driver/fence.h"
#include "driver/flow.h"
#include "driver/request.h"
#include "driver/ring.h"
#include "driver/rpc.h"
#include "driver/statistics.h"
#include "protocol/timing.h"

uint64_t drv_completion_charge(const struct drv_request *r, uint32_t status, uint64_t detail)
{
    if (status != PR_STATUS_OK)
        return detail;
    r->client->engine_ns += detail;
    return 0;
}

void drv_completion_end(struct drv *d, struct drv_request *r, uint32_t status, uint64_t detail)
{
    struct drv_ring *ring = &d->ring[PR_CHANNEL_DATA_CHAIN_H2T];

    r->status = status;
    r->detail = detail;
    if (status != PR_STATUS_OK)
        drv_fault_attribute(d, r, status);
    drv_counters_drain(d, r, status);
    drv_fence_release(r);
    if (ring->holder[r->slot] == r)
        ring->holder[r->slot] = NULL;
    d->stats.in_flight--;
    if (r->state == DRV_REQUEST_IN_FIRMWARE)
        r->result = drv_status_return(status);
    if (r->state == DRV_REQUEST_ABANDONED) {
        drv_request_free(d, r);
    } else {
        drv_request_set_state(r, DRV_REQUEST_DONE);
        /*
         * Others may wait for what it holds, and its caller may be slow; to explain a failure takes the
         * process.
         */
        if (status == PR_STATUS_OK)
            drv_bind_release(r);
    }
    drv_flow_returned(d, r);
    drv_request_tell(d, r);
}

/* A request whose event has come is completed, unless that has been done otherwise. */
static void end_request(struct drv *d, struct drv_request *r)
{
    const uint64_t cookie = r->ending.cookie;

    r->ending.cookie = 0;
    if (cookie && cookie == r->cookie && drv_request_in_firmware(r))
        drv_completion_end(d, r, r->ending.status, r->ending.detail);
}

/* The request may be another one by now, whose own time has not come. */
static void end_due(void *context)
{
    struct drv_request *r = context;
    struct drv *d = r->ending.driver;

    if (d->platform.now(d->platform.context) >= r->ending.due)
        end_request(d, r);
}

/* Completion processing takes its time. Until it is over the firmware counts as having the request. */
static void end_later(struct drv *d, struct drv_request *r, uint32_t status, uint64_t detail)
{
    r->ending =
        (struct drv_request_ending){.driver = d,
                                    .cookie = r->cookie,
                                    .due = d->platform.now(d->platform.context) + PR_TIMING_COMPLETE_NS,
                                    .detail = detail,
                                    .status = status};
    if (d->platform.after(d->platform.context, PR_TIMING_COMPLETE_NS, end_due, r))
        end_request(d, r);
}

void drv_completion_event(struct drv *d, const struct pr_program_failure *failure)
{
    const struct pr_program_event *event = &failure->event;
    struct drv_request *r = drv_request_find(d, event->cookie);
    uint64_t detail;

    if (event->state != PR_EVENT_FINISHED)
        return;
    if (!r) {
        SOC_TRACE(d->platform.trace, DRV_EVENT_UNCLAIMED, event->cookie, event->program_id,
                  event->process_id);
        return;
    }
    memcpy(r->error, failure->error, sizeof(r->error));
    drv_statistics_collect(d, r);
    detail = drv_completion_charge(r, event->status, event->detail);
    if (d->platform.timed)
        end_later(d, r, event->status, detail);
    else
        drv_completion_end(d, r, event->status, detail);
}

void drv_completion_settle(struct drv *d)
{
    for (unsigned i = 0; i < DRV_REQUESTS; i++)
        end_request(d, &d->request[i]);
}

/* A slot has come back: accepted, or refused. */
static void take_slot(struct drv *d, struct drv_request *r)
{
    uint16_t status = pr_le16(r->message + offsetof(struct pr_exe_header, status));

    drv_counters_accepted(d, r);
    if (status == PR_STATUS_OK)
        drv_fence_accepted(d, r);
    if (status == PR_STATUS_OK && r->kind == DRV_REQUEST_TRIGGER && !d->platform.one_in_flight)
        drv_flow_leave(d, r);
    if ((status == PR_STATUS_OK && r->kind != DRV_REQUEST_MESSAGE) ||
        (status == PR_STATUS_NO_RESOURCES && drv_flow_park(d, r)))
        return;
    drv_completion_end(d, r, status, 0);
}

void drv_completion_slots(struct drv *d)
{
    struct drv_ring *ring = &d->ring[PR_CHANNEL_DATA_CHAIN_H2T];

    for (uint32_t i = 0; i < ring->slots; i++) {
        struct drv_request *r = ring->holder[i];

        if (!r || !drv_ring_returned(d, PR_CHANNEL_DATA_CHAIN_H2T, i))
            continue;
        ring->holder[i] = NULL;
        if ((const void *)r == drv_rpc_holder(d))
            continue;
        take_slot(d, r);
    }
    drv_rpc_resume(d);
    drv_flow_resume(d);
}
