/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains. A chain belongs to the process it was prepared for and ends with it; its client keeps its domain
 * meanwhile, so that the addresses of posted sets stay. A client of the same identity may use the chain; its
 * buffers are surfaces of the task that prepared it, and are mapped in that client's domain. A set's buffers
 * are in use until the set is posted with others or the chain ends, those of a trigger until its execution
 * has ended.
 *
 * A restart of the firmware ends every chain, and so does sleep: no message with the old firmware's name for
 * it may reach the new one, where that may name another chain.
 */
#include "driver/chain.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "driver/bind.h"
#include "driver/command.h"
#include "driver/completion.h"
#include "driver/diagnosis.h"
#include "driver/flow.h"
#include "driver/process.h"
#include "driver/program.h"
#include "driver/request.h"
#include "driver/surface.h"
#include "protocol/qos.h"

#define INSTALL_BYTES(links) \
    ((uint32_t)(sizeof(struct pr_body_cache_install) + (links) * sizeof(struct pr_cache_link)))

/* Finding. */

static struct drv_chain *chain_of_handle(const struct drv *d, uint64_t handle)
{
    struct drv_chain *chain = d->chains;

    while (chain && chain->handle != handle)
        chain = chain->next;
    return chain;
}

static struct drv_chain *chain_of_handler(const struct drv *d, uint64_t cache_handler)
{
    struct drv_chain *chain = d->chains;

    while (chain && (chain->lost || chain->cache_handler != cache_handler))
        chain = chain->next;
    return chain;
}

static struct drv_chain *chain_of_process(const struct drv_process *process)
{
    struct drv_chain *chain = process->client->driver->chains;

    while (chain && chain->process != process)
        chain = chain->next;
    return chain;
}

IOReturn drv_chain_check(const struct drv_chain *chain)
{
    if (!chain->lost)
        return kIOReturnSuccess;
    return drv_refuse(chain->process->client->driver, kIOReturnNotFound,
                      "Chain 0x%" PRIx64
                      " was lost when the engine was restarted or the device slept; prepare it again.",
                      chain->handle);
}

IOReturn drv_chain_find(struct drv_client *client, uint64_t handle, struct drv_chain **found)
{
    struct drv_chain *chain = handle ? chain_of_handle(client->driver, handle) : NULL;

    if (!chain || chain->invalidated || chain->process->state == DRV_PROCESS_ENDED ||
        !drv_program_find(client, chain->process->program->token)) {
        drv_refuse(client->driver, kIOReturnNotFound, "There is no chain 0x%" PRIx64 " for this client.",
                   handle);
        return kIOReturnNotFound;
    }
    *found = chain;
    return drv_chain_check(chain);
}

/* Ending. */

/* Gives back what it holds. */
static void release_chain(struct drv_chain *chain)
{
    struct drv_client *owner = chain->process->client;

    for (uint32_t i = 0; i < chain->sets; i++) {
        for (uint32_t k = 0; k < chain->set[i].count; k++)
            drv_surface_unuse(owner, chain->set[i].mapping[k]);
        chain->set[i].count = 0;
    }
    if (chain->intermediate)
        drv_surface_unmap(owner, chain->intermediate);
    if (chain->scratch)
        drv_surface_unmap(owner, chain->scratch);
    chain->intermediate = chain->scratch = NULL;
    owner->pinned -= chain->sets != 0;
    chain->sets = 0;
}

static void drop_chain(struct drv_chain *chain)
{
    struct drv *d = chain->process->client->driver;
    struct drv_chain **link = &d->chains;

    while (*link != chain)
        link = &(*link)->next;
    *link = chain->next;
    release_chain(chain);
    base_free(chain);
}

void drv_chain_put(struct drv_chain *chain)
{
    if (!--chain->users && chain->lost)
        release_chain(chain);
}

static void trace_end(const struct drv_chain *chain, const char *why)
{
    SOC_TRACE(chain->process->client->driver->platform.trace, DRV_CHAIN_ENDED, chain->handle, why);
}

/*
 * The firmware forgets the chain. An execution that another chain's end has triggered may still be under way:
 * its buffers stay until it has ended.
 */
static void invalidate(struct drv_chain *chain, uint32_t process_id)
{
    struct drv *d = chain->process->client->driver;
    struct drv_deadline timer = {.timer = true, .ns = chain->process->client->timeout_ns};
    struct pr_body_cache_invalidate body = {.cache_handler = chain->cache_handler};
    const struct drv_command_args args = {.id = PR_CMD_PROCEDURE_CALL_INVALIDATE_CACHE_REQUEST,
                                          .program = chain->process->program->id,
                                          .process = process_id,
                                          .body = &body,
                                          .bytes = sizeof(body)};
    IOReturn result;

    chain->users++;
    chain->invalidated = true;
    result = drv_command_run(d, &args, NULL);
    chain->ended |= result || !body.in_flight;
    if (!chain->ended)
        drv_wait(d, &chain->ended, &timer);
    drv_chain_put(chain);
}

/* One whose trigger may wait in the firmware; or NULL. */
static struct drv_chain *find_in_use(const struct drv_client *client)
{
    struct drv_chain *chain = client->driver->chains;

    while (chain &&
           !(chain->process->client == client && chain->users && !chain->lost && !chain->invalidated))
        chain = chain->next;
    return chain;
}

void drv_chain_abort_all(struct drv_client *client)
{
    struct drv_chain *chain;

    while ((chain = find_in_use(client)))
        invalidate(chain, chain->process->id);
}

/* The latest is the first: members of a group go before its first one, and what follows before its leader. */
void drv_chain_end_all(struct drv_process *process)
{
    struct drv_chain *chain;

    while ((chain = chain_of_process(process))) {
        if (!chain->lost && !chain->invalidated)
            invalidate(chain, process->old_id);
        if (!chain->lost)
            trace_end(chain, "its process ends");
        drop_chain(chain);
    }
}

void drv_chain_drop_all(struct drv_process *process)
{
    struct drv_chain *chain;

    while ((chain = chain_of_process(process)))
        drop_chain(chain);
}

void drv_chain_lose_all(struct drv_process *process)
{
    for (struct drv_chain *chain = process->client->driver->chains; chain; chain = chain->next) {
        if (chain->process != process || chain->lost)
            continue;
        trace_end(chain, "the firmware has forgotten it");
        chain->lost = chain->ended = true;
        if (!chain->users)
            release_chain(chain);
    }
}

/* A process with a new chain: handles of those that were lost are forgotten. */
static void forget_lost(const struct drv_process *process)
{
    for (struct drv_chain *chain = process->client->driver->chains, *next; chain; chain = next) {
        next = chain->next;
        if (chain->process == process && chain->lost && !chain->users)
            drop_chain(chain);
    }
}

/* Using. */

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

IOReturn drv_chain_use(struct drv_chain *chain)
{
    IOReturn result;

    chain->users++;
    result = pin_running(chain->process);
    if (result)
        drv_chain_put(chain);
    return result;
}

void drv_chain_unuse(struct drv_chain *chain)
{
    drv_process_unpin(chain->process);
    drv_chain_put(chain);
}

/* Why a message that was under way has no answer; or none. */
static IOReturn judge_message(struct drv *d, const struct drv_request *r, bool late)
{
    if (late)
        return drv_refuse(d, kIOReturnTimeout, "A message of program 0x%" PRIx64 " was not answered in time.",
                          r->process->program->token);
    if (r->restarted)
        return drv_diagnosis_failure(d, r);
    if (r->result == kIOReturnAborted)
        return drv_refuse(d, kIOReturnAborted, "Client %u was closed while its message was under way.",
                          r->client->number);
    return kIOReturnSuccess;
}

/*
 * An output set goes beside the triggers, which may wait for it. A selection is sent in its turn, so that it
 * holds for the triggers that come after it.
 */
static IOReturn run_message(struct drv_chain *chain, struct drv_client *caller, const void *message,
                            uint32_t bytes, uint32_t *status)
{
    struct drv_client *owner = chain->process->client;
    struct drv *d = owner->driver;
    struct drv_deadline deadline = {.ns = owner->timeout_ns};
    struct drv_request *r;
    IOReturn result = drv_request_take(chain->process, caller, &deadline, &r);
    bool late;

    if (result)
        return result;
    r->kind = DRV_REQUEST_MESSAGE;
    r->beside = ((const struct pr_exe_header *)message)->id == PR_EXE_CACHE_REQUEST_SUBMIT;
    r->caller = caller;
    r->priority = chain->priority;
    r->procedure = chain->procedure;
    r->qos = drv_process_qos(chain->process);
    r->urgency = pr_qos_queue_index(r->qos);
    memcpy(r->message, message, bytes);
    r->length = bytes;
    drv_flow_submit(d, r);
    late = drv_wait(d, &r->done, &deadline);
    result = judge_message(d, r, late);
    *status = r->status;
    drv_request_leave(d, r, late);
    return result;
}

IOReturn drv_chain_send(struct drv_chain *chain, struct drv_client *caller, uint32_t id, void *message,
                        uint32_t bytes)
{
    const struct pr_exe_header head = {.id = (uint16_t)id};
    uint32_t status = PR_STATUS_OK;
    IOReturn result = drv_chain_check(chain);

    memcpy(message, &head, sizeof(head));
    if (!result)
        result = run_message(chain, caller, message, bytes, &status);
    if (result || status == PR_STATUS_OK)
        return result;
    return drv_refuse(caller->driver, drv_status_return(status),
                      "The firmware refused command 0x%x of chain 0x%" PRIx64 ": %s (status %u).", id,
                      chain->handle, pr_status_text(status), status);
}

bool drv_chain_tensor_at(const struct drv_chain *chain, uint64_t address, char *text, size_t size)
{
    const struct drv_chain *group = chain->group;

    for (uint32_t i = 0; i < group->sets; i++)
        for (uint32_t k = 0; k < group->set[i].count; k++) {
            const struct drv_mapping *mapping = group->set[i].mapping[k];

            if (address < mapping->iova || address - mapping->iova >= mapping->bytes)
                continue;
            snprintf(text, size, "output %u of set %u", k, i);
            return true;
        }
    return false;
}

static IOReturn bind_own(struct drv_request *r, struct drv_mapping **own, uint32_t usage, uint64_t bytes)
{
    IOReturn result = kIOReturnSuccess;

    if (!*own)
        result = drv_surface_make(r->client, usage, bytes, own);
    else if (!(*own)->iova)
        result = drv_surface_place(r->client, *own);
    if (!result)
        drv_bind_add(r, *own);
    return result;
}

IOReturn drv_chain_bind_own(struct drv_chain *chain, struct drv_request *r)
{
    const struct drv_procedure *p = drv_chain_procedure(chain);
    IOReturn result = kIOReturnSuccess;

    if (p->intermediates)
        result = bind_own(r, &chain->intermediate, PR_USAGE_INTERMEDIATE, p->bytes[p->inputs + p->outputs]);
    if (!result && p->scratch_bytes)
        result = bind_own(r, &chain->scratch, PR_USAGE_CONSTANTS, p->scratch_bytes);
    return result;
}

/* Events. */

/*
 * An execution has ended. What follows it has the same cookie: a trigger is over with the last of them, or
 * with a failure. The firmware says how many follow: which member of a group is active there may not be known
 * here yet.
 */
static void end_execution(struct drv *d, struct drv_request *r, const struct pr_notify_chaining *event)
{
    const uint64_t detail = drv_completion_charge(r, event->status, event->detail);

    if (event->status == PR_STATUS_OK)
        r->executions += event->following;
    if (--r->executions == 0 || event->status != PR_STATUS_OK)
        drv_completion_end(d, r, event->status, event->status == PR_STATUS_OK ? event->set : detail);
}

void drv_chain_event(struct drv *d, const struct pr_notify_chaining *event)
{
    struct drv_chain *chain = chain_of_handler(d, event->cache_handler);
    struct drv_request *r = drv_request_find(d, event->cookie);

    if (!chain) {
        SOC_TRACE(d->platform.trace, DRV_CHAIN_UNKNOWN, event->cache_handler, event->timestamp);
        return;
    }
    SOC_TRACE(d->platform.trace, DRV_CHAIN_EVENT, chain->handle, event->timestamp, event->set, event->status);
    chain->ended |= event->state == PR_CACHE_AVAILABLE;
    if (event->timestamp > chain->timestamp)
        chain->timestamp = event->timestamp;
    if (r && r->kind == DRV_REQUEST_TRIGGER)
        end_execution(d, r, event);
}

/* Making. */

/* Generic buffers of a procedure are numbered in port order: inputs, then outputs. */
static void write_links(struct pr_cache_link *to, const struct drv_chain *chain,
                        const struct ane_chaining_link *link, uint32_t links)
{
    const struct drv *d = chain->process->client->driver;

    for (uint32_t i = 0; i < links; i++) {
        const struct drv_chain *source = link[i].source ? chain_of_handle(d, link[i].source) : chain->group;
        const struct drv_procedure *from = drv_chain_procedure(source->group),
                                   *p = drv_chain_procedure(chain);

        to[i] = (struct pr_cache_link){.source = link[i].source ? source->cache_handler : 0,
                                       .output = from->first_buffer + from->inputs + link[i].output,
                                       .input = p->first_buffer + link[i].input};
    }
}

static IOReturn install(struct drv_chain *chain, const struct ane_chaining_args *args,
                        const struct ane_chaining_link *link)
{
    struct drv *d = chain->process->client->driver;
    _Alignas(8) uint8_t bytes[INSTALL_BYTES(PR_CACHE_LINKS_MAX)] = {0};
    struct pr_body_cache_install *body = (void *)bytes;
    const struct drv_command_args command = {.id = PR_CMD_PROCEDURE_CALL_CACHE_REQUEST,
                                             .program = chain->process->program->id,
                                             .process = chain->process->id,
                                             .procedure = chain->procedure,
                                             .priority = chain->priority,
                                             .body = bytes,
                                             .bytes = INSTALL_BYTES(args->links)};
    const struct drv_chain *follow = chain->follow ? chain_of_handle(d, chain->follow) : NULL;
    IOReturn result;

    body->group = chain->group != chain ? chain->group->cache_handler : 0;
    body->follow = follow ? follow->cache_handler : 0;
    body->output_sets = chain->sets;
    body->partitions = body->requests = 1;
    body->links = args->links;
    body->pool = PR_POOL_CALLS;
    body->flags = args->flags & ANE_CHAINING_AUTO_RECYCLE ? PR_CACHE_AUTO_RECYCLE : 0;
    write_links(body->link, chain, link, args->links);
    result = drv_command_run(d, &command, NULL);
    chain->cache_handler = body->cache_handler;
    return result;
}

static void fill_chain(struct drv_chain *chain, struct drv_process *process,
                       const struct ane_chaining_args *args, const struct ane_chaining_link *link)
{
    struct drv_chain *group = args->group ? chain_of_handle(process->client->driver, args->group) : chain;

    chain->process = process;
    chain->procedure = args->procedure;
    chain->priority = args->priority;
    chain->follow = args->follow;
    chain->group = group;
    chain->active = chain;
    chain->sets = args->sets;
    for (uint32_t i = 0; i < args->links; i++)
        chain->linked |= 1ull << link[i].input;
}

/* With the process pinned and running. */
static IOReturn install_new(struct drv_chain *chain, struct drv_process *process,
                            const struct ane_chaining_args *args, const struct ane_chaining_link *link)
{
    struct drv *d = process->client->driver;
    const uint64_t boots = d->stats.boots;
    IOReturn result;

    fill_chain(chain, process, args, link);
    result = install(chain, args, link);
    if (!result && (d->stats.boots != boots || d->asleep))
        return drv_refuse(d, kIOReturnAborted,
                          "Chaining prepare: the chain was made and lost: the engine was restarted or the "
                          "device slept. Prepare it again.");
    return result;
}

/* A chain that another one names: of the same process. */
static IOReturn check_named(const struct drv_process *process, uint64_t handle, struct drv_chain **found)
{
    IOReturn result = drv_chain_find(process->client, handle, found);

    if (result || (*found)->process == process)
        return result;
    drv_refuse(process->client->driver, kIOReturnBadArgument,
               "Chaining prepare: chain 0x%" PRIx64
               " is one of another program or client; a chain can name those of its own.",
               handle);
    return kIOReturnBadArgument;
}

static IOReturn check_link(struct drv_process *process, const struct ane_chaining_args *args,
                           const struct ane_chaining_link *link, uint64_t *linked)
{
    const struct drv_procedure *p = &process->program->procedure[args->procedure], *from = p;
    const uint64_t handle = link->source ? link->source : args->group;
    struct drv_chain *source;
    IOReturn result = handle ? check_named(process, handle, &source) : kIOReturnSuccess;

    if (result)
        return result;
    if (handle)
        from = drv_chain_procedure(source->group);
    if (link->input < p->inputs && !(*linked >> link->input & 1) && link->output < from->outputs) {
        *linked |= 1ull << link->input;
        return kIOReturnSuccess;
    }
    return drv_refuse(process->client->driver, kIOReturnBadArgument,
                      "Chaining prepare: a link from output %u to input %u; the source has %u outputs, the "
                      "chain %u inputs, each with one link at most.",
                      link->output, link->input, from->outputs, p->inputs);
}

/* What the arguments name by handles and ports. Nothing waits until the install command is written. */
static IOReturn check_plan(struct drv_process *process, const struct ane_chaining_args *args,
                           const struct ane_chaining_link *link)
{
    struct drv_chain *named = NULL;
    uint64_t linked = 0;
    IOReturn result = args->group ? check_named(process, args->group, &named) : kIOReturnSuccess;

    if (!result && named && (named->group != named || named->sets != args->sets))
        result = drv_refuse(process->client->driver, kIOReturnBadArgument,
                            "Chaining prepare: chain 0x%" PRIx64
                            " is not the first of a group with %u output sets.",
                            args->group, args->sets);
    if (!result && args->follow)
        result = check_named(process, args->follow, &named);
    for (uint32_t i = 0; i < args->links && !result; i++)
        result = check_link(process, args, &link[i], &linked);
    return result;
}

IOReturn drv_chain_make(struct drv_process *process, const struct ane_chaining_args *args,
                        const struct ane_chaining_link *link, struct drv_chain **made)
{
    struct drv *d = process->client->driver;
    struct drv_chain *chain = base_alloc(sizeof(*chain));
    IOReturn result;

    if (!chain)
        return drv_refuse(d, kIOReturnNoMemory, "Chaining prepare: no memory.");
    result = pin_running(process);
    if (!result) {
        result = check_plan(process, args, link);
        if (!result)
            result = install_new(chain, process, args, link);
        drv_process_unpin(process);
    }
    if (result) {
        base_free(chain);
        return result;
    }
    forget_lost(process);
    chain->handle = ++d->token;
    chain->next = d->chains;
    d->chains = chain;
    process->client->pinned++;
    SOC_TRACE(d->platform.trace, DRV_CHAIN, chain->handle, process->program->token, chain->procedure,
              chain->sets, args->links);
    *made = chain;
    return kIOReturnSuccess;
}
