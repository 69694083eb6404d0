/* SPDX-License-Identifier: Apache-2.0 */
/* The counters are the driver's until they are drained: nothing is read back from the client's memory. */
#include "driver/counters.h"

#include <string.h>

#include "protocol/stats.h"

static uint64_t time_now(const struct drv *d)
{
    return d->platform.now(d->platform.context);
}

uint64_t drv_counters_room(const struct drv_mapping *mapping)
{
    uint64_t least = PR_STATS_HEADER_BYTES + PR_STATS_ENGINE_BYTES + PR_COUNTERS_BYTES;

    return mapping->bytes >= least ? PR_COUNTERS_BYTES : 0;
}

void drv_counters_arm(struct drv_request *r, const struct drv_mapping *mapping, uint64_t sequence)
{
    const struct drv *d = r->client->driver;

    r->counters_at = (uint8_t *)mapping->pages.host + mapping->bytes - PR_COUNTERS_BYTES;
    r->counters =
        (struct pr_counters){.magic = PR_COUNTERS_MAGIC, .sequence = sequence, .armed = time_now(d)};
}

void drv_counters_sent(const struct drv *d, struct drv_request *r)
{
    if (r->counters_at)
        r->counters.sent = time_now(d);
}

void drv_counters_accepted(const struct drv *d, struct drv_request *r)
{
    if (r->counters_at)
        r->counters.accepted = time_now(d);
}

void drv_counters_drain(const struct drv *d, struct drv_request *r, uint32_t status)
{
    if (!r->counters_at)
        return;
    r->counters.completed = time_now(d);
    r->counters.status = status;
    memcpy(r->counters_at, &r->counters, sizeof(r->counters));
    r->counters_at = NULL;
}
