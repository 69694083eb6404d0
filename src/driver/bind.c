/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binding. `bindings` counts the mappings in `binding`, each of which has one use for it; the process of a
 * bound request is pinned. A binding that fails halfway leaves both as they are: drv_bind_release gives them
 * back.
 */
#include "driver/bind.h"

#include <inttypes.h>
#include <string.h>

#include "driver/counters.h"
#include "driver/flow.h"
#include "driver/process.h"
#include "driver/surface.h"
#include "protocol/qos.h"
#include "protocol/stats.h"

#define BUFFER_ALIGN 64u

static IOReturn bind_surface(struct drv_request *r, uint32_t position, uint32_t surface, uint64_t offset,
                             uint32_t usage)
{
    struct drv_client *client = r->client;
    struct drv_process *process = r->process;
    struct drv_mapping *mapping = process->recent[position];
    uint64_t least = process->program->bytes[position];

    if (!mapping || mapping->surface != surface) {
        IOReturn result = drv_surface_map(client, surface, usage, false, &mapping);

        if (result)
            return result;
        process->recent[position] = mapping;
    }
    if (offset % BUFFER_ALIGN || offset > mapping->bytes || least > mapping->bytes - offset)
        return drv_refuse(client->driver, kIOReturnBadArgument,
                          "Buffer %u: %" PRIu64 " bytes at offset %" PRIu64
                          " of surface %u, which has %" PRIu64 "; offsets are multiples of %u.",
                          position, least, offset, surface, mapping->bytes, BUFFER_ALIGN);
    mapping->uses++;
    r->binding[r->bindings++] = mapping;
    return kIOReturnSuccess;
}

/* The driver's own, one for each band: of one band only one request is in the firmware. */
static IOReturn bind_intermediate(struct drv_request *r, uint32_t position)
{
    struct drv_process *process = r->process;
    struct drv_mapping **own = &process->intermediate[drv_flow_band(r)];
    IOReturn result = kIOReturnSuccess;

    if (!*own)
        result = drv_surface_make(r->client, PR_USAGE_INTERMEDIATE, process->program->bytes[position], own);
    if (result)
        return result;
    (*own)->uses++;
    r->binding[r->bindings++] = *own;
    return kIOReturnSuccess;
}

static IOReturn bind_all(struct drv_request *r, const struct ane_request *request)
{
    const struct drv_program *program = r->process->program;
    uint32_t given = request->inputs + request->outputs + request->intermediates;
    IOReturn result = kIOReturnSuccess;

    if (r->process->generation != r->client->generation) {
        memset(r->process->recent, 0, sizeof(r->process->recent));
        r->process->generation = r->client->generation;
    }
    for (uint32_t i = 0; i < given && !result; i++)
        result = bind_surface(r, i, request->surface[i], request->offset[i],
                              i < program->inputs                      ? PR_USAGE_INPUT
                              : i < program->inputs + program->outputs ? PR_USAGE_OUTPUT
                                                                       : PR_USAGE_INTERMEDIATE);
    if (!result && program->intermediates && !request->intermediates)
        result = bind_intermediate(r, given);
    return result;
}

/* Statistics are written by the firmware: in the base domain. */
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
    mapping->uses++;
    r->binding[r->bindings++] = mapping;
    *stats = (struct pr_buffer){.valid = 1,
                                .type = PR_BUFFER_OUT,
                                .address = mapping->iova,
                                .bytes = mapping->bytes - drv_counters_room(mapping)};
    if (drv_counters_room(mapping))
        drv_counters_arm(r, mapping, request->sequence);
    return kIOReturnSuccess;
}

static void build_call(struct drv_request *r, const struct ane_request *request)
{
    const struct drv_process *process = r->process;
    const struct drv_program *program = process->program;
    struct pr_call *call = (void *)r->message;
    uint32_t buffers = r->bindings;

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
    for (uint32_t i = 0; i < buffers; i++) {
        uint64_t offset =
            i < request->inputs + request->outputs + request->intermediates ? request->offset[i] : 0;

        call->buffer[i] = (struct pr_buffer){
            .valid = 1,
            .index = i,
            .type = i < program->inputs                      ? PR_BUFFER_IN
                    : i < program->inputs + program->outputs ? PR_BUFFER_OUT
                                                             : PR_BUFFER_INTERMEDIATE,
            .address = r->binding[i]->iova + offset,
            .bytes = r->binding[i]->bytes - offset,
        };
    }
    r->length = PR_CALL_BYTES(buffers);
}
IOReturn drv_bind_request(struct drv_request *r, struct drv_process *process,
                          const struct ane_request *request)
{
    IOReturn result;

    r->process = process;
    r->priority = request->priority;
    r->urgency = pr_qos_queue_index(request->qos ? request->qos : r->client->qos);
    result = bind_all(r, request);
    if (result)
        return result;
    build_call(r, request);
    return bind_stats(r, request, &((struct pr_call *)(void *)r->message)->stats);
}

void drv_bind_release(struct drv_request *r)
{
    if (!r->process)
        return;
    for (uint32_t i = 0; i < r->bindings; i++)
        drv_surface_unuse(r->client, r->binding[i]);
    r->bindings = 0;
    drv_process_unpin(r->process);
    r->process = NULL;
}
