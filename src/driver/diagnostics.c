/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Diagnostics of the catalogue: records of what belongs to the caller's task. Other tasks' clients are
 * shown to callers with the second access property alone, as numbers; their programs and addresses to none.
 */
#include <string.h>

#include "driver/catalogue.h"
#include "driver/client.h"
#include "driver/identity.h"

/* Which of the records that are found go into the answer. */
struct window {
    uint64_t first;
    uint32_t count, total;
};

/* The place of the next record in the answer, or -1 when it is outside. */
static int next_place(struct window *window)
{
    uint32_t at = window->total++;

    return at >= window->first && window->count < ANE_DIAGNOSTIC_RECORDS ? (int)window->count++ : -1;
}

static uint64_t mapped_bytes(const struct drv_client *client)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < DRV_BUCKETS; i++)
        for (const struct drv_mapping *mapping = client->bucket[i]; mapping; mapping = mapping->next)
            bytes += mapping->bytes;
    return bytes;
}

static uint32_t owned_programs(const struct drv_client *client)
{
    uint32_t count = 0;

    for (const struct drv_program *program = client->driver->programs; program; program = program->next)
        count += program->owner == client;
    return count;
}

static struct ane_client_record describe_client(const struct drv_client *client)
{
    return (struct ane_client_record){
        .number = client->number,
        .type = client->type,
        .task = client->identity.task,
        .flags = (client->state == DRV_CLIENT_OPEN ? ANE_CLIENT_IS_OPEN : 0u) |
                 (client->persistent ? ANE_CLIENT_IS_PERSISTENT : 0u) |
                 (drv_identity_has(client, PR_ENTITLEMENT_BIT(RAW_ACCESS)) ? ANE_CLIENT_HAS_RAW_ACCESS : 0u),
        .programs = owned_programs(client),
        .requests = client->requests,
        .bytes = mapped_bytes(client),
    };
}

IOReturn drv_diagnostics_clients(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    struct window window = {.first = args->scalarInput[0]};
    struct ane_clients_info info = {.count = 0};

    for (const struct drv_client *other = client->driver->clients; other; other = other->next) {
        int at;

        if (drv_client_is_released(other) || (!drv_identity_has(client, PR_ENTITLEMENT_BIT(RAW_ACCESS)) &&
                                              other->identity.task != client->identity.task))
            continue;
        at = next_place(&window);
        if (at >= 0)
            info.record[at] = describe_client(other);
    }
    info.count = window.count;
    info.total = window.total;
    memcpy(args->structureOutput, &info, sizeof(info));
    return kIOReturnSuccess;
}

static void list_mappings(const struct drv_client *client, struct window *window, struct ane_allocations *to)
{
    for (unsigned i = 0; i < DRV_BUCKETS; i++)
        for (const struct drv_mapping *mapping = client->bucket[i]; mapping; mapping = mapping->next) {
            int at = next_place(window);

            if (at >= 0)
                to->record[at] =
                    (struct ane_allocation_record){mapping->surface, mapping->usage, mapping->iova,
                                                   mapping->bytes,   mapping->uses,  mapping->pins};
        }
}

IOReturn drv_diagnostics_allocations(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    struct window window = {.first = args->scalarInput[0]};
    struct ane_allocations allocations = {.count = 0};

    for (const struct drv_client *other = client->driver->clients; other; other = other->next)
        if (other->identity.task == client->identity.task)
            list_mappings(other, &window, &allocations);
    allocations.count = window.count;
    allocations.total = window.total;
    memcpy(args->structureOutput, &allocations, sizeof(allocations));
    return kIOReturnSuccess;
}

static uint32_t count_processes(const struct drv_program *program)
{
    uint32_t count = 0;

    for (const struct drv_process *process = program->processes; process; process = process->next_of_program)
        count++;
    return count;
}

IOReturn drv_diagnostics_models(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    struct window window = {.first = args->scalarInput[0]};
    struct ane_models models = {.count = 0};

    for (const struct drv_program *program = client->driver->programs; program; program = program->next) {
        int at;

        if (!program->owner || program->identity.task != client->identity.task)
            continue;
        at = next_place(&window);
        if (at >= 0)
            models.record[at] = (struct ane_model_record){
                .token = program->token,
                .bytes = program->state == DRV_PROGRAM_UNWIRED ? 0 : program->residency.bytes,
                .engine = program->residency.engine,
                .processes = count_processes(program),
                .descriptors = program->td_count};
    }
    models.count = window.count;
    models.total = window.total;
    memcpy(args->structureOutput, &models, sizeof(models));
    return kIOReturnSuccess;
}
