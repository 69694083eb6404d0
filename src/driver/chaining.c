/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains. A chain belongs to the process it was prepared for and ends with it; its client keeps its domain
 * meanwhile, so that the addresses of posted sets stay. A client of the same identity may use the chain; its
 * buffers are surfaces of the task that prepared it, and are mapped in that client's domain. A set's buffers
 * are in use until the set is posted again or the chain ends, those of a trigger while its call lasts.
 *
 * A restart of the firmware ends every chain. One that a call uses is lost first, and ends with that call: no
 * message with the old firmware's name for it may reach the new one, where that may name another chain.
 */
#include "driver/chaining.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "driver/client.h"
#include "driver/command.h"
#include "driver/process.h"
#include "driver/program.h"
#include "driver/request.h"
#include "driver/session.h"
#include "driver/surface.h"
#include "protocol/cache.h"

struct drv_chain {
    struct drv_chain *next;
    uint64_t handle;
    struct drv_process *process;
    uint64_t cache_handler; /* the firmware's name for it */
    uint64_t timestamp;     /* of the last trigger it accepted */
    uint32_t users;         /* calls that use it */
    bool lost;              /* the firmware was restarted and does not know it any more */
    uint32_t sets;
    struct {
        uint32_t count;
        struct drv_mapping *mapping[PR_CALL_BUFFERS_MAX];
    } set[ANE_CHAINING_SETS];
};

/* The largest message of a chain. */
union message {
    struct pr_exe_header head;
    struct pr_cache_request request;
    struct pr_cache_recycle recycle;
    struct pr_cache_trigger trigger;
    struct pr_cache_active active;
    uint8_t bytes[DRV_CELL_BYTES];
};

static IOReturn refuse_lost(const struct drv_chain *chain)
{
    drv_refuse(chain->process->client->driver, kIOReturnNotFound,
               "Chain 0x%" PRIx64 " was lost when the engine was restarted; prepare it again.",
               chain->handle);
    return kIOReturnNotFound;
}

/* The chain of a handle, if the client may use its program. */
static IOReturn find_chain(struct drv_client *client, uint64_t handle, struct drv_chain **found)
{
    struct drv_chain *chain = client->driver->chains;

    while (chain && chain->handle != handle)
        chain = chain->next;
    if (!chain || !drv_program_find(client, chain->process->program->token)) {
        drv_refuse(client->driver, kIOReturnNotFound, "There is no chain 0x%" PRIx64 " for this client.",
                   handle);
        return kIOReturnNotFound;
    }
    if (chain->lost)
        return refuse_lost(chain);
    *found = chain;
    return kIOReturnSuccess;
}

static void unuse_all(struct drv_client *client, struct drv_mapping **mapping, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        drv_surface_unuse(client, mapping[i]);
}

static void drop_chain(struct drv_chain *chain)
{
    struct drv_client *owner = chain->process->client;
    struct drv_chain **link = &owner->driver->chains;

    while (*link != chain)
        link = &(*link)->next;
    *link = chain->next;
    for (uint32_t i = 0; i < chain->sets; i++)
        unuse_all(owner, chain->set[i].mapping, chain->set[i].count);
    owner->pinned--;
    base_free(chain);
}

void drv_chaining_drop(struct drv_process *process)
{
    for (struct drv_chain *chain = process->client->driver->chains, *next; chain; chain = next) {
        next = chain->next;
        if (chain->process == process)
            drop_chain(chain);
    }
}

void drv_chaining_lose(struct drv_process *process)
{
    for (struct drv_chain *chain = process->client->driver->chains, *next; chain; chain = next) {
        next = chain->next;
        if (chain->process != process)
            continue;
        chain->lost = true;
        if (!chain->users)
            drop_chain(chain);
    }
}

/* Pinned, with a slot of the firmware's, until it is unpinned; not at all on failure. */
static IOReturn pin_running(struct drv_process *process)
{
    struct drv_deadline deadline = {.ns = process->client->timeout_ns};
    IOReturn result;

    drv_process_pin(process);
    result = drv_process_run(process, &deadline);
    if (result)
        drv_process_unpin(process);
    return result;
}

/* Ends the use of a chain. */
static void put_chain(struct drv_chain *chain)
{
    if (!--chain->users && chain->lost)
        drop_chain(chain);
}

/* A call uses the chain until it gives it back: its process is pinned and has a slot. */
static IOReturn use_chain(struct drv_chain *chain)
{
    IOReturn result;

    chain->users++;
    result = pin_running(chain->process);
    if (result)
        put_chain(chain);
    return result;
}

static void unuse_chain(struct drv_chain *chain)
{
    drv_process_unpin(chain->process);
    put_chain(chain);
}

/* Sends one message of a chain's and waits for the slot, which is the answer. The process is pinned. */
static IOReturn send_message(struct drv_process *process, uint32_t id, union message *message, uint32_t bytes)
{
    struct drv *d = process->client->driver;
    struct drv_deadline deadline = {.ns = process->client->timeout_ns};
    uint32_t status = PR_STATUS_OK;
    IOReturn result;

    message->head = (struct pr_exe_header){.id = (uint16_t)id};
    result = drv_request_message(process, message, bytes, &deadline, &status);
    if (result || status == PR_STATUS_OK)
        return result;
    return drv_refuse(
        d, status == PR_STATUS_UNKNOWN_COMMAND ? kIOReturnUnsupported : drv_status_return(status),
        "The firmware refused command 0x%x of a chain: %s (status %u)%s.", id, pr_status_text(status), status,
        status == PR_STATUS_UNKNOWN_COMMAND ? "; it does not serve data chaining yet" : "");
}

/* Buffers. */

/* A caller cannot name a surface of the owner's that it may not use itself. */
static IOReturn check_surface(const struct drv_client *caller, uint32_t surface)
{
    const struct drv_platform *platform = &caller->driver->platform;
    struct drv_pages pages;
    IOReturn result = drv_surface_get(caller, surface, &pages);

    if (!result)
        platform->surface_put(platform->context, surface);
    return result;
}

struct binding {
    const struct drv_client *caller; /* may use each surface itself */
    struct drv_client *owner;        /* for whom they are mapped */
    uint32_t usage, type;
    const uint64_t *least;
    const struct ane_chained_buffer *buffer;
    uint32_t count;
    struct drv_mapping *mapping[PR_CALL_BUFFERS_MAX];
};

static IOReturn bind_buffer(struct binding *b, uint32_t i, struct pr_buffer *to)
{
    const struct ane_chained_buffer *buffer = &b->buffer[i];
    struct drv *d = b->owner->driver;
    struct drv_mapping *mapping = NULL;
    IOReturn result;

    if (buffer->value)
        return drv_refuse(d, kIOReturnUnsupported, "Chaining: buffer %u waits for a shared event.", i);
    if (buffer->reserved || buffer->offset % PR_DMA_GRANULE)
        return drv_refuse(d, kIOReturnBadArgument,
                          "Chaining: buffer %u has an offset that is not a multiple of %u, or reserved bytes "
                          "that are not 0.",
                          i, PR_DMA_GRANULE);
    result = check_surface(b->caller, buffer->surface);
    if (!result)
        result = drv_surface_map(b->owner, buffer->surface, b->usage, false, &mapping);
    if (result)
        return result;
    if (buffer->offset > mapping->bytes || b->least[i] > mapping->bytes - buffer->offset)
        return drv_refuse(d, kIOReturnBadArgument,
                          "Chaining: buffer %u needs %" PRIu64 " bytes at %" PRIu64
                          " of surface %u, which has %" PRIu64 ".",
                          i, b->least[i], buffer->offset, buffer->surface, mapping->bytes);
    mapping->uses++;
    b->mapping[i] = mapping;
    *to = (struct pr_buffer){.valid = 1,
                             .index = i,
                             .type = b->type,
                             .address = mapping->iova + buffer->offset,
                             .bytes = mapping->bytes - buffer->offset};
    return kIOReturnSuccess;
}

/* All or none. The owner has a domain and is busy. */
static IOReturn bind_buffers(struct binding *b, uint32_t first, uint32_t wanted, struct pr_buffer *to)
{
    for (b->count = 0; b->count < wanted; b->count++) {
        IOReturn result = bind_buffer(b, b->count, &to[b->count]);

        if (result) {
            unuse_all(b->owner, b->mapping, b->count);
            b->count = 0;
            return result;
        }
        to[b->count].index += first;
    }
    return kIOReturnSuccess;
}

/* The same for a chain that exists: while the call waited it may have been lost. */
static IOReturn send_chained(struct drv_chain *chain, uint32_t id, union message *message, uint32_t bytes)
{
    return chain->lost ? refuse_lost(chain) : send_message(chain->process, id, message, bytes);
}

/* Prepare. */

static IOReturn install(struct drv_chain *chain, uint32_t procedure)
{
    const struct drv_process *process = chain->process;
    union message message = {.request = {.program_id = process->program->id,
                                         .process_id = process->id,
                                         .procedure = procedure,
                                         .priority = ANE_REQUEST_PRIORITY,
                                         .output_sets = chain->sets,
                                         .partitions = 1}};
    IOReturn result =
        send_message(chain->process, PR_EXE_CACHE_REQUEST_INSTALL, &message, sizeof(message.request));

    chain->cache_handler = message.request.cache_handler;
    return result;
}

static IOReturn make_chain(struct drv_process *process, const struct ane_chaining_prepare *prepare,
                           struct drv_chain **made)
{
    struct drv *d = process->client->driver;
    struct drv_chain *chain = base_alloc(sizeof(*chain));
    uint64_t boots;
    IOReturn result;

    if (!chain) {
        drv_refuse(d, kIOReturnNoMemory, "Chaining prepare: no memory.");
        return kIOReturnNoMemory;
    }
    chain->process = process;
    chain->sets = prepare->sets;
    result = pin_running(process);
    if (!result) {
        boots = d->stats.boots;
        result = install(chain, prepare->procedure);
        drv_process_unpin(process);
        if (!result && d->stats.boots != boots)
            result = drv_refuse(d, kIOReturnAborted,
                                "Chaining prepare: the chain was made and lost: the engine was restarted.");
    }
    if (result) {
        base_free(chain);
        return result;
    }
    chain->handle = ++d->token;
    chain->next = d->chains;
    d->chains = chain;
    process->client->pinned++;
    *made = chain;
    return kIOReturnSuccess;
}

IOReturn drv_chaining_prepare(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    struct drv *d = client->driver;
    struct ane_chaining_prepare prepare;
    struct ane_chaining_reply reply;
    struct drv_process *process;
    struct drv_chain *chain = NULL;
    IOReturn result;

    memcpy(&prepare, args->structureInput, sizeof(prepare));
    if (prepare.procedure || !prepare.sets || prepare.sets > ANE_CHAINING_SETS)
        return drv_refuse(d, kIOReturnBadArgument,
                          "Chaining prepare: procedure %u and %u output sets; a program has procedure 0, a "
                          "chain 1 to %u sets.",
                          prepare.procedure, prepare.sets, ANE_CHAINING_SETS);
    process = drv_process_find(client, prepare.token);
    if (!process || !process->prepares)
        return drv_program_find(client, prepare.token)
                   ? drv_refuse(d, kIOReturnNotReady, "Program 0x%" PRIx64 " is not prepared.", prepare.token)
                   : drv_program_not_found(d, prepare.token);
    result = make_chain(process, &prepare, &chain);
    if (result)
        return result;
    reply = (struct ane_chaining_reply){.handle = chain->handle,
                                        .inputs = process->program->procedure->inputs,
                                        .outputs = process->program->procedure->outputs,
                                        .sets = chain->sets};
    memcpy(args->structureOutput, &reply, sizeof(reply));
    return kIOReturnSuccess;
}

/* Output sets. */

/* The list of buffers in the caller's surface, copied once. */
static IOReturn copy_list(struct drv_client *client, const struct ane_output_set *set,
                          struct ane_chained_buffer *list)
{
    struct drv *d = client->driver;
    const uint64_t size = (uint64_t)set->outputs * sizeof(*list);
    struct drv_pages pages;
    IOReturn result = drv_surface_get(client, set->surface, &pages);

    if (result)
        return result;
    if (set->offset % 8 || set->offset > pages.bytes || size > pages.bytes - set->offset)
        result = drv_refuse(d, kIOReturnBadArgument,
                            "Output set: %u buffers at %" PRIu64 " of surface %u, which has %" PRIu64
                            " bytes; the list is at a multiple of 8.",
                            set->outputs, set->offset, set->surface, pages.bytes);
    else
        memcpy(list, (const uint8_t *)pages.host + set->offset, size);
    d->platform.surface_put(d->platform.context, set->surface);
    return result;
}

/* With the process pinned: the set's buffers are those of the list once the firmware has taken them. */
static IOReturn post_set(const struct drv_client *caller, struct drv_chain *chain, uint32_t index,
                         const struct ane_chained_buffer *list)
{
    struct drv_process *process = chain->process;
    const struct drv_program *program = process->program;
    struct binding b = {.caller = caller,
                        .owner = process->client,
                        .usage = PR_USAGE_OUTPUT,
                        .type = PR_BUFFER_OUT,
                        .least = program->procedure->bytes + program->procedure->inputs,
                        .buffer = list};
    union message message = {.recycle = {.cache_handler = chain->cache_handler,
                                         .set = index,
                                         .buffers = program->procedure->outputs}};
    IOReturn result =
        bind_buffers(&b, program->procedure->inputs, program->procedure->outputs, message.recycle.buffer);

    if (result)
        return result;
    result = send_chained(chain, PR_EXE_CACHE_REQUEST_SUBMIT, &message,
                          PR_CACHE_RECYCLE_BYTES(program->procedure->outputs));
    if (result) {
        unuse_all(b.owner, b.mapping, b.count);
        return result;
    }
    unuse_all(b.owner, chain->set[index].mapping, chain->set[index].count);
    chain->set[index].count = b.count;
    for (uint32_t i = 0; i < b.count; i++)
        chain->set[index].mapping[i] = b.mapping[i];
    return kIOReturnSuccess;
}

IOReturn drv_chaining_enqueue(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    struct ane_chained_buffer list[PR_CALL_BUFFERS_MAX];
    struct drv *d = client->driver;
    struct ane_output_set set;
    struct drv_process *process;
    struct drv_chain *chain = NULL;
    IOReturn result;

    memcpy(&set, args->structureInput, sizeof(set));
    result = drv_session_check(client, set.session);
    if (!result)
        result = find_chain(client, set.handle, &chain);
    if (result)
        return result;
    process = chain->process;
    if (set.set >= chain->sets || set.outputs != process->program->procedure->outputs || set.reserved)
        return drv_refuse(d, kIOReturnBadArgument,
                          "Output set %u of %u with %u buffers; the chain has %u outputs, and reserved bytes "
                          "are 0.",
                          set.set, chain->sets, set.outputs, process->program->procedure->outputs);
    result = copy_list(client, &set, list);
    if (result)
        return result;
    result = use_chain(chain);
    if (result)
        return result;
    result = post_set(client, chain, set.set, list);
    unuse_chain(chain);
    return result;
}

/* Triggers. */

static IOReturn check_ready(struct drv *d, const struct drv_chain *chain,
                            const struct ane_inputs_ready *ready)
{
    const uint32_t inputs = chain->process->program->procedure->inputs,
                   bit = d->ring[PR_CHANNEL_DATA_CHAIN_H2T].bit;

    if (ready->doorbell >= PR_DOORBELL_INDEX_LIMIT || ready->doorbell != bit)
        return drv_refuse(d, kIOReturnBadArgument,
                          "Inputs ready: doorbell %u; the limit is %u, and that of DATA_CHAIN_H2T is %u.",
                          ready->doorbell, PR_DOORBELL_INDEX_LIMIT, bit);
    if (ready->inputs != inputs || inputs > PR_TRIGGER_INPUTS_MAX)
        return drv_refuse(d, kIOReturnBadArgument,
                          "Inputs ready: %u inputs; the chain has %u, and a trigger %u at most.",
                          ready->inputs, inputs, PR_TRIGGER_INPUTS_MAX);
    if (ready->timestamp <= chain->timestamp)
        return drv_refuse(d, kIOReturnBadArgument,
                          "Inputs ready: timestamp %" PRIu64 " does not come after %" PRIu64 ".",
                          ready->timestamp, chain->timestamp);
    if (!base_is_zero(&ready->input[inputs], (ANE_INPUTS_READY_BUFFERS - inputs) * sizeof(ready->input[0])))
        return drv_refuse(d, kIOReturnBadArgument, "Inputs ready: buffers after input %u are not 0.", inputs);
    return kIOReturnSuccess;
}

static IOReturn trigger(const struct drv_client *caller, struct drv_chain *chain,
                        const struct ane_inputs_ready *ready)
{
    struct drv_process *process = chain->process;
    const struct drv_program *program = process->program;
    struct binding b = {.caller = caller,
                        .owner = process->client,
                        .usage = PR_USAGE_INPUT,
                        .type = PR_BUFFER_IN,
                        .least = program->procedure->bytes,
                        .buffer = ready->input};
    union message message = {.trigger = {.cache_handler = chain->cache_handler,
                                         .timestamp = ready->timestamp,
                                         .buffers = program->procedure->inputs}};
    IOReturn result = bind_buffers(&b, 0, program->procedure->inputs, message.trigger.buffer);

    if (result)
        return result;
    result = send_chained(chain, PR_EXE_CACHE_REQUEST_TRIGGER, &message,
                          PR_CACHE_TRIGGER_BYTES(program->procedure->inputs));
    unuse_all(b.owner, b.mapping, b.count);
    if (!result && ready->timestamp > chain->timestamp)
        chain->timestamp = ready->timestamp;
    return result;
}

IOReturn drv_chaining_ready(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    struct ane_inputs_ready ready;
    struct drv_chain *chain = NULL;
    IOReturn result;

    memcpy(&ready, args->structureInput, sizeof(ready));
    result = drv_session_check(client, ready.session);
    if (!result)
        result = find_chain(client, ready.handle, &chain);
    if (!result)
        result = check_ready(client->driver, chain, &ready);
    if (result)
        return result;
    result = use_chain(chain);
    if (result)
        return result;
    result = trigger(client, chain, &ready);
    unuse_chain(chain);
    return result;
}

IOReturn drv_chaining_activate(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    struct ane_active_procedure active;
    struct drv_chain *chain = NULL;
    union message message = {{0}};
    IOReturn result;

    memcpy(&active, args->structureInput, sizeof(active));
    result = drv_session_check(client, active.session);
    if (!result)
        result = find_chain(client, active.handle, &chain);
    if (result)
        return result;
    if (active.procedure || active.flags || active.reserved)
        return drv_refuse(client->driver, kIOReturnBadArgument,
                          "Active procedure %u: a program has procedure 0; flags and reserved bytes are 0.",
                          active.procedure);
    message.active.group = message.active.active = chain->cache_handler;
    result = use_chain(chain);
    if (result)
        return result;
    result = send_chained(chain, PR_EXE_PROCEDURE_CALL_VARIANT, &message, sizeof(message.active));
    unuse_chain(chain);
    return result;
}
