/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binding. `bindings` counts the mappings in `binding`, each of which has one use for it; the process of a
 * bound request is pinned. A binding that fails halfway leaves both as they are: drv_bind_release gives them
 * back.
 */
#include "driver/bind.h"

#include <inttypes.h>
#include <string.h>

#include "driver/chain.h"
#include "driver/client.h"
#include "driver/counters.h"
#include "driver/fence.h"
#include "driver/flow.h"
#include "driver/mapping.h"
#include "driver/process.h"
#include "driver/reclaim.h"
#include "driver/statistics.h"
#include "driver/surface.h"
#include "protocol/qos.h"
#include "protocol/stats.h"

/* Of the totals in a record, which has one engine. */
#define TOTALS_OFFSET PR_STATS_TOTALS_OFFSET(1u)

void drv_bind_add(struct drv_request *r, struct drv_mapping *mapping)
{
    mapping->uses++;
    mapping->used = r->cookie >> DRV_COOKIE_SHIFT;
    r->binding[r->bindings++] = mapping;
}

static IOReturn bind_surface(struct drv_request *r, uint32_t position, uint32_t surface, uint64_t offset,
                             uint32_t usage, uint64_t least)
{
    struct drv_client *client = r->client;
    struct drv_process *process = r->process;
    struct drv_mapping *mapping;

    /* Mapping a buffer may have reclaimed those that were remembered for later positions. */
    if (process->generation != client->generation) {
        memset(process->recent, 0, sizeof(process->recent));
        process->generation = client->generation;
    }
    /* A position is an input of one procedure and may be an output of another. */
    mapping = process->recent[position];
    if (!mapping || mapping->surface != surface || mapping->usage != usage) {
        IOReturn result = drv_surface_map(client, surface, usage, false, &mapping);

        if (result)
            return result;
        process->recent[position] = mapping;
    }
    if (offset % PR_DMA_GRANULE || offset > mapping->bytes || least > mapping->bytes - offset)
        return drv_refuse(client->driver, kIOReturnBadArgument,
                          "Buffer %u: %" PRIu64 " bytes at offset %" PRIu64
                          " of surface %u, which has %" PRIu64 "; offsets are multiples of %u.",
                          position, least, offset, surface, mapping->bytes, PR_DMA_GRANULE);
    drv_bind_add(r, mapping);
    return kIOReturnSuccess;
}

/* Of a request that waits in the firmware, while others of its band run: a buffer that goes with it. */
static IOReturn bind_private(struct drv_request *r, uint32_t usage, uint64_t bytes)
{
    struct drv_mapping *mapping;
    IOReturn result = drv_surface_make(r->client, usage, bytes, &mapping);

    if (result)
        return result;
    mapping->stale = true;
    drv_bind_add(r, mapping);
    return kIOReturnSuccess;
}

/* The driver's own, one for each band: of one band only one request is in the firmware that does not wait. */
static IOReturn bind_own(struct drv_request *r, struct drv_mapping *bands[DRV_BANDS], uint32_t usage,
                         uint64_t bytes)
{
    const unsigned band = drv_flow_band(r);
    struct drv_mapping **own = &bands[band];
    IOReturn result = kIOReturnSuccess;

    if (r->waits)
        return bind_private(r, usage, bytes);
    if (!*own && usage == PR_USAGE_INTERMEDIATE)
        *own = drv_process_sibling_buffer(r->process, band);
    if (!*own)
        result = drv_surface_make(r->client, usage, bytes, own);
    else if (!(*own)->iova)
        result = drv_surface_place(r->client, *own);
    if (result)
        return result;
    drv_bind_add(r, *own);
    return kIOReturnSuccess;
}

static IOReturn bind_all(struct drv_request *r, const struct ane_request *request)
{
    const struct drv_program *program = r->process->program;
    const struct drv_procedure *p = &program->procedure[request->procedure];
    uint32_t given = request->inputs + request->outputs + request->intermediates;
    IOReturn result = kIOReturnSuccess;

    for (uint32_t i = 0; i < given && !result; i++)
        result = bind_surface(r, i, request->surface[i], request->offset[i],
                              i < p->inputs                ? PR_USAGE_INPUT
                              : i < p->inputs + p->outputs ? PR_USAGE_OUTPUT
                                                           : PR_USAGE_INTERMEDIATE,
                              p->bytes[i]);
    if (!result && p->intermediates && !request->intermediates)
        result = bind_own(r, r->process->intermediate, PR_USAGE_INTERMEDIATE, program->intermediate_bytes);
    if (!result && p->scratch_bytes)
        result = bind_own(r, r->process->scratch, PR_USAGE_CONSTANTS, program->scratch_bytes);
    return result;
}

/*
 * Statistics are written by the firmware: in the base domain. May wait for the firmware to map them, before
 * the call names the slot of the process.
 */
static IOReturn bind_stats(struct drv_request *r, const struct ane_request *request, struct pr_buffer *stats)
{
    uint32_t surface = request->stats_surface;
    struct drv_mapping *mapping;
    IOReturn result;

    memset(stats, 0, sizeof(*stats));
    if (!surface)
        return kIOReturnSuccess;
    result = drv_surface_map(r->client, surface, PR_USAGE_OUTPUT, true, &mapping);
    if (result)
        return result;
    if (mapping->bytes < PR_STATS_HEADER_BYTES + PR_STATS_ENGINE_BYTES)
        return drv_refuse(r->client->driver, kIOReturnBadArgument,
                          "Statistics surface %u has %" PRIu64 " bytes; a record has %u.", surface,
                          mapping->bytes, PR_STATS_HEADER_BYTES + PR_STATS_ENGINE_BYTES);
    drv_bind_add(r, mapping);
    *stats = (struct pr_buffer){.valid = 1,
                                .type = PR_BUFFER_OUT,
                                .address = mapping->iova,
                                .bytes = mapping->bytes - drv_counters_room(mapping)};
    result = drv_statistics_map(r->process, stats);
    if (result)
        return result;
    if (drv_client_is_closed(r->client))
        return drv_refuse(r->client->driver, kIOReturnAborted,
                          "Client %u was closed while its statistics surface was mapped.", r->client->number);
    if (stats->bytes >= TOTALS_OFFSET + PR_STATS_TOTALS_BYTES)
        r->totals_at = (const uint8_t *)mapping->pages.host + TOTALS_OFFSET;
    if (drv_counters_room(mapping))
        drv_counters_arm(r, mapping, request->sequence);
    return kIOReturnSuccess;
}

static void build_call(struct drv_request *r, const struct ane_request *request, uint32_t buffers,
                       const struct pr_buffer *stats)
{
    const struct drv_process *process = r->process;
    const struct drv_program *program = process->program;
    const struct drv_procedure *p = &program->procedure[request->procedure];
    struct pr_call *call = (void *)r->message;

    call->head = (struct pr_exe_header){.id = PR_EXE_PROCEDURE_CALL};
    call->program_id = program->id;
    call->process_id = process->id;
    call->procedure = request->procedure;
    call->priority = request->priority;
    call->output_sets = PR_CALL_OUTPUT_SETS;
    call->partitions = 1;
    call->cookie = r->cookie;
    call->buffers = buffers;
    call->zero = 0;
    call->stats = *stats;
    for (uint32_t i = 0; i < buffers; i++) {
        uint64_t offset =
            i < request->inputs + request->outputs + request->intermediates ? request->offset[i] : 0;

        call->buffer[i] = (struct pr_buffer){
            .valid = 1,
            .index = p->first_buffer + i,
            .type = p->type[i],
            .address = r->binding[i]->iova + offset,
            .bytes = r->binding[i]->bytes - offset,
        };
    }
    r->length = PR_CALL_BYTES(buffers);
}

static void release_buffers(struct drv_request *r)
{
    for (uint32_t i = 0; i < r->bindings; i++)
        drv_surface_unuse(r->client, r->binding[i]);
    r->bindings = 0;
}

/* Whether another request of the client has buffers. */
static bool has_bound_request(const struct drv_client *client)
{
    for (unsigned i = 0; i < DRV_REQUESTS; i++)
        if (client->driver->request[i].client == client && client->driver->request[i].bindings)
            return true;
    return false;
}

/*
 * All buffers at their addresses. When they do not fit where others of the request are already, all are
 * placed once more, from the beginning of what is free.
 */
static IOReturn bind_compactly(struct drv_request *r, const struct ane_request *request)
{
    IOReturn result = bind_all(r, request);

    if (result != kIOReturnNoResources)
        return result;
    release_buffers(r);
    drv_mapping_free_up_all(r->client->driver, r->client->domain);
    return bind_all(r, request);
}

/*
 * The same, but a request that does not fit beside others of its client waits until one of them is over.
 * It holds no buffer meanwhile, so two of them never wait for each other.
 */
static IOReturn bind_in_turn(struct drv_request *r, const struct ane_request *request,
                             struct drv_deadline *deadline)
{
    struct drv *d = r->client->driver;
    IOReturn result = bind_compactly(r, request);

    while (result == kIOReturnNoResources) {
        struct drv_waiter waiter = {.client = r->client};
        bool in_time;

        release_buffers(r);
        if (!has_bound_request(r->client))
            break;
        drv_waiter_append(&d->address_waiters, &waiter);
        in_time = !drv_wait(d, &waiter.done, deadline);
        drv_waiter_remove(&d->address_waiters, &waiter);
        if (drv_client_is_closed(r->client))
            return drv_refuse(d, kIOReturnAborted,
                              "Client %u was closed while its request waited for addresses.",
                              r->client->number);
        if (!in_time)
            return drv_refuse(
                d, kIOReturnTimeout,
                "The buffers of the request did not fit beside those of other requests of client "
                "%u in time.",
                r->client->number);
        result = bind_compactly(r, request);
    }
    return result;
}

IOReturn drv_bind_request(struct drv_request *r, const struct ane_request *request,
                          struct drv_deadline *deadline)
{
    struct pr_buffer stats;
    IOReturn result;
    uint32_t buffers;

    r->priority = request->priority;
    r->procedure = request->procedure;
    r->qos = request->qos ? request->qos : drv_process_qos(r->process);
    r->urgency = pr_qos_queue_index(r->qos);
    result = bind_in_turn(r, request, deadline);
    while (result == kIOReturnNoMemory && drv_reclaim_one(r->client->driver)) {
        release_buffers(r);
        result = bind_in_turn(r, request, deadline);
    }
    if (result)
        return result;
    buffers = r->bindings;
    result = bind_stats(r, request, &stats);
    if (!result) {
        build_call(r, request, buffers, &stats);
        drv_fence_write(r, request);
    }
    return result;
}

void drv_bind_release(struct drv_request *r)
{
    if (!r->process)
        return;
    release_buffers(r);
    if (r->chain)
        drv_chain_put(r->chain);
    r->chain = NULL;
    r->process->program->requests--;
    drv_process_unpin(r->process);
    r->process = NULL;
}
