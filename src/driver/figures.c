/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of clients, for those who show who uses the engine. Nothing is kept for this but two sums. */
#include "driver/client.h"
#include "driver/quota.h"
#include "driver/state.h"

static struct drv_figures describe(const struct drv_client *client)
{
    return (struct drv_figures){.number = client->number,
                                .task = client->identity.task,
                                .type = client->type,
                                .programs = client->programs,
                                .in_flight = client->requests,
                                .queue_depth = client->queue_depth,
                                .completed = client->completed,
                                .engine_ns = client->engine_ns,
                                .bytes = drv_quota_pages(client) * PR_PAGE_BYTES};
}

size_t drv_figures_get(const struct drv *d, struct drv_figures *figures, size_t room)
{
    size_t open = 0, at;

    for (const struct drv_client *client = d->clients; client; client = client->next)
        open += !drv_client_is_released(client);
    /* The list begins with the newest. */
    at = open;
    for (const struct drv_client *client = d->clients; client; client = client->next)
        if (!drv_client_is_released(client) && --at < room)
            figures[at] = describe(client);
    return open;
}
