/* SPDX-License-Identifier: Apache-2.0 */
/* Pre-maps. The firmware finds a buffer again when a request describes it with the same address and size. */
#include "driver/premap.h"

#include <inttypes.h>

#include "driver/command.h"

/* The ports of a usage, in the order calls bind them. */
struct ports {
    uint32_t first, end, type;
};

static struct ports find_ports(const struct drv_procedure *p, uint32_t usage)
{
    const uint32_t outputs = p->inputs, intermediates = outputs + p->outputs;

    switch (usage) {
    case PR_USAGE_INPUT: return (struct ports){0, outputs, PR_BUFFER_IN};
    case PR_USAGE_OUTPUT: return (struct ports){outputs, intermediates, PR_BUFFER_OUT};
    default: return (struct ports){intermediates, intermediates + p->intermediates, PR_BUFFER_INTERMEDIATE};
    }
}

static IOReturn send_one(const struct drv_process *process, const struct pr_buffer *buffer)
{
    struct pr_body_premap body = {.operations = 1, .buffers = 1, .pool = PR_POOL_PREMAP, .buffer = *buffer};
    const struct drv_command_args args = {.id = PR_CMD_PREMAP_BUFFER,
                                          .program = process->program->id,
                                          .process = process->id,
                                          .body = &body,
                                          .bytes = sizeof(body)};

    return drv_command_run(process->client->driver, &args, NULL);
}

/* For every port of a procedure that it may be bound to. */
static IOReturn send_ports(const struct drv_process *process, const struct drv_procedure *p, uint32_t usage,
                           struct pr_buffer *buffer, uint32_t *sent)
{
    const struct ports ports = find_ports(p, usage);
    IOReturn result = kIOReturnSuccess;

    buffer->type = ports.type;
    for (uint32_t i = ports.first; i < ports.end && !result; i++)
        if (p->bytes[i] <= buffer->bytes) {
            buffer->index = p->first_buffer + i;
            result = send_one(process, buffer);
            ++*sent;
        }
    return result;
}

IOReturn drv_premap_send(struct drv_process *process, const struct ane_memory_map *map,
                         const struct drv_mapping *mapping)
{
    const struct drv_program *program = process->program;
    struct pr_buffer buffer = {.valid = PR_BUFFER_VALID,
                               .address = mapping->iova + map->offset,
                               .bytes = mapping->bytes - map->offset};
    IOReturn result = kIOReturnSuccess;
    uint32_t sent = 0;

    if (map->offset % PR_DMA_GRANULE)
        return drv_refuse(process->client->driver, kIOReturnBadArgument,
                          "Memory map: offset %" PRIu64 " is not a multiple of %u, so no request of program "
                          "0x%" PRIx64 " can bind it.",
                          map->offset, PR_DMA_GRANULE, map->program);
    for (uint32_t i = 0; i < program->procedures && !result; i++)
        result = send_ports(process, &program->procedure[i], map->usage, &buffer, &sent);
    if (!sent)
        return drv_refuse(process->client->driver, kIOReturnBadArgument,
                          "Memory map: program 0x%" PRIx64 " has no port of usage %u for %" PRIu64 " bytes.",
                          map->program, map->usage, buffer.bytes);
    return result;
}
