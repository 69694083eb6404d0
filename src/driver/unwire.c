/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mapping is taken back when neither a request nor selector 5 uses it and it is stale, or it has been idle
 * for longer than the time to live and no instance of its client opted out of that. Buffers of the driver's
 * own are kept until they are stale: their process remembers them.
 */
#include "driver/unwire.h"

#include "driver/process.h"
#include "driver/surface.h"

static uint64_t time_now(const struct drv *d)
{
    return d->platform.now(d->platform.context);
}

void drv_unwire_idle(struct drv *d, struct drv_mapping *mapping)
{
    if (mapping->stale)
        d->unwire = true;
    if (d->ttl_ns)
        mapping->idle_since = time_now(d);
}

void drv_unwire_set_ttl(struct drv *d, uint64_t ns)
{
    d->ttl_ns = ns;
}

static bool is_overdue(const struct drv *d, const struct drv_mapping *mapping)
{
    return d->ttl_ns && mapping->surface && time_now(d) - mapping->idle_since >= d->ttl_ns;
}

static void unwire_client(struct drv *d, struct drv_client *client)
{
    const bool keep = drv_process_keeps_wired(client);

    for (unsigned i = 0; i < DRV_BUCKETS; i++)
        for (struct drv_mapping *mapping = client->bucket[i], *next; mapping; mapping = next) {
            next = mapping->next;
            if (!mapping->uses && !mapping->pins && (mapping->stale || (!keep && is_overdue(d, mapping))))
                drv_surface_unmap(client, mapping);
        }
}

void drv_unwire_run(struct drv *d)
{
    if (!d->unwire && !d->ttl_ns)
        return;
    d->unwire = false;
    for (struct drv_client *client = d->clients; client; client = client->next)
        unwire_client(d, client);
}
