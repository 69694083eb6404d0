/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes. A process is in exactly one state, which only set_state() changes. Text, kernel and constants of
 * its program are mapped in its client's domain (placement.c) while it is STARTING or LIVE, and after a start
 * that failed until its caller has run, or the next start; `id` is its slot while it is LIVE, and none
 * otherwise. A caller that starts or uses a process has it pinned; while it is pinned for
 * that, it is neither parked nor ended.
 *
 * A process the firmware has, or may have, without a client's process for it is a ghost: counted in its
 * program, which is not unloaded before the firmware has confirmed that the last ghost is gone.
 */
#include "driver/process.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/array.h"
#include "driver/chain.h"
#include "driver/client.h"
#include "driver/command.h"
#include "driver/domain.h"
#include "driver/instance.h"
#include "driver/lifecycle.h"
#include "driver/load.h"
#include "driver/placement.h"
#include "driver/program.h"
#include "driver/reclaim.h"
#include "driver/statistics.h"
#include "driver/surface.h"
#include "protocol/qos.h"

#define NEXT(state) (1u << DRV_PROCESS_##state)
static const struct drv_lifecycle_state states[] = {
    [DRV_PROCESS_PARKED] = {"parked", NEXT(STARTING) | NEXT(ENDED)},
    [DRV_PROCESS_STARTING] = {"starting", NEXT(LIVE) | NEXT(PARKED)},
    [DRV_PROCESS_LIVE] = {"live", NEXT(PARKED) | NEXT(ENDED)},
    [DRV_PROCESS_ENDED] = {"ended", 0},
};
#undef NEXT
static const struct drv_lifecycle lifecycle = {"process", BASE_COUNT_OF(states), states};

static void set_state(struct drv_process *process, enum drv_process_state state)
{
    drv_lifecycle_check(&lifecycle, process->state, state);
    process->state = state;
    process->settled = state != DRV_PROCESS_STARTING;
    if (state == DRV_PROCESS_LIVE)
        drv_statistics_forget(process);
}

struct drv_process *drv_process_find(const struct drv_client *client, uint64_t token)
{
    struct drv_process *process = client->processes;

    while (process && (process->program->token != token || process->state == DRV_PROCESS_ENDED))
        process = process->next_of_client;
    return process;
}

IOReturn drv_process_find_prepared(struct drv_client *client, uint64_t token, struct drv_process **found)
{
    struct drv *d = client->driver;

    *found = drv_process_find(client, token);
    if (*found && (*found)->prepares)
        return kIOReturnSuccess;
    return drv_program_find(client, token)
               ? drv_refuse(d, kIOReturnNotReady, "Program 0x%" PRIx64 " is not prepared.", token)
               : drv_program_not_found(d, token);
}

bool drv_process_keeps_wired(const struct drv_client *client)
{
    for (const struct drv_process *process = client->processes; process; process = process->next_of_client)
        if (process->program->flags & ANE_INSTANCE_KEEP_WIRED)
            return true;
    return false;
}

uint32_t drv_process_qos(const struct drv_process *process)
{
    if (process->client->qos != PR_QOS_DEFAULT)
        return process->client->qos;
    if (process->qos)
        return process->qos;
    return process->program->qos ? process->program->qos : PR_QOS_DEFAULT;
}

struct drv_process *drv_process_add(struct drv_client *client, struct drv_program *program)
{
    struct drv_process *process = base_alloc(sizeof(*process));

    if (!process)
        return NULL;
    process->client = client;
    process->program = program;
    process->id = process->old_id = PR_NO_ID;
    process->settled = true;
    process->next_of_client = client->processes;
    client->processes = process;
    process->next_of_program = program->processes;
    program->processes = process;
    return process;
}

void drv_process_remove(struct drv_process *process)
{
    struct drv_process **link = &process->client->processes;

    drv_chain_drop_all(process);
    while (*link != process)
        link = &(*link)->next_of_client;
    *link = process->next_of_client;
    link = &process->program->processes;
    while (*link != process)
        link = &(*link)->next_of_program;
    *link = process->next_of_program;
    base_free(process);
}

static void created(void *context, const struct pr_command_header *reply)
{
    struct drv_process *process = context;

    process->program->ghosts--;
    if (PR_REPLY_STATUS(reply) == PR_STATUS_OK &&
        reply->process_id < process->client->driver->limits.processes) {
        process->id = reply->process_id;
        set_state(process, DRV_PROCESS_LIVE);
    } else {
        set_state(process, DRV_PROCESS_PARKED);
    }
}

/* No caller waits for the process any more: the next reap terminates it. */
static void created_late(void *context, const struct pr_command_header *reply)
{
    struct drv_program *program = context;
    struct drv *d = program->driver;

    if (PR_REPLY_STATUS(reply) == PR_STATUS_OK && reply->process_id < d->limits.processes)
        d->stray[reply->process_id] = program;
    else
        program->ghosts--;
    d->reap = true;
}

/* Aborted: the firmware was restarted. */
static bool is_gone(uint32_t status)
{
    return status == PR_STATUS_OK || status == PR_STATUS_ABORTED || status == PR_STATUS_NO_PROCESS ||
           status == PR_STATUS_NO_PROGRAM;
}

/* One that the firmware keeps is terminated with the next reap, or forgotten by a restart. */
static void terminated(void *context, const struct pr_command_header *reply)
{
    struct drv_program *program = context;
    struct drv *d = program->driver;

    if (is_gone(PR_REPLY_STATUS(reply)))
        program->ghosts--;
    else if (reply->process_id < PR_PROCESSES_MAX && !d->stray[reply->process_id])
        d->stray[reply->process_id] = program;
    d->reap = true;
}

/*
 * An answer that comes too late still counts: the program stays until the firmware has let go of all its
 * processes.
 */
static void terminate_process(struct drv *d, struct drv_program *program, uint32_t id)
{
    const struct drv_command_args args = {.id = PR_CMD_TERMINATE_PROCESS,
                                          .program = program->id,
                                          .process = id,
                                          .reply = terminated,
                                          .context = program,
                                          .late = terminated,
                                          .late_context = program};
    enum drv_command_end end;

    program->ghosts++;
    drv_load_hold(program);
    drv_command_run(d, &args, &end);
    if (end == DRV_COMMAND_NOT_SENT) {
        d->stray[id] = program;
        d->reap = true;
    }
    drv_load_unhold(program);
}

void drv_process_reap(struct drv *d)
{
    for (uint32_t id = 0; id < PR_PROCESSES_MAX; id++) {
        struct drv_program *program = d->stray[id];

        if (!program)
            continue;
        d->stray[id] = NULL;
        program->ghosts--;
        terminate_process(d, program, id);
    }
}

/* The start failed, whatever the firmware may have done. */
static void undo_start(struct drv_process *process)
{
    struct drv *d = process->client->driver;
    uint32_t unnoticed = process->id; /* an answer without an interrupt: the firmware did create it */

    process->id = PR_NO_ID;
    if (process->state != DRV_PROCESS_PARKED)
        set_state(process, DRV_PROCESS_PARKED);
    drv_placement_unmap(process);
    if (unnoticed != PR_NO_ID)
        terminate_process(d, process->program, unnoticed);
}

/* The firmware said that it has the process; `boots` is from before it was asked. */
static IOReturn refuse_unstarted(const struct drv_process *process, uint64_t boots)
{
    struct drv *d = process->client->driver;

    if (d->stats.boots != boots)
        return drv_refuse(d, kIOReturnAborted,
                          "Program 0x%" PRIx64 " was started and lost: the engine was restarted.",
                          process->program->token);
    return drv_refuse(d, kIOReturnError, "The firmware gave a process number of %u or more.",
                      d->limits.processes);
}

/* With a domain: text and kernel mapped there, and a slot of the firmware's for its stream. */
static IOReturn start_process(struct drv_process *process)
{
    struct drv *d = process->client->driver;
    struct drv_program *program = process->program;
    _Alignas(8) uint8_t bytes[DRV_PROCESS_BYTES];
    struct pr_body_process *body = (void *)bytes;
    struct drv_command_args args = {.id = PR_CMD_CREATE_PROCESS,
                                    .program = program->id,
                                    .process = PR_NO_ID,
                                    .body = body,
                                    .reply = created,
                                    .context = process,
                                    .late = created_late,
                                    .late_context = program};
    enum drv_command_end end;
    uint64_t boots;
    uint32_t attempt;
    IOReturn result;

    drv_placement_unmap(process); /* of an attempt that has failed, whose caller has not run since */
    result = drv_placement_map(process);
    if (result)
        return result;
    args.bytes = drv_placement_describe(process, body);
    set_state(process, DRV_PROCESS_STARTING);
    attempt = ++process->attempts;
    program->ghosts++;
    boots = d->stats.boots;
    result = drv_command_run(d, &args, &end);
    if (end == DRV_COMMAND_NOT_SENT)
        program->ghosts--;
    if (process->attempts != attempt)
        return result; /* this one was over, and another caller has started the process */
    if (!result && process->state == DRV_PROCESS_PARKED && d->asleep)
        return result; /* it was started, and the device fell asleep: the caller starts it again */
    if (!result && process->state != DRV_PROCESS_LIVE)
        result = refuse_unstarted(process, boots);
    if (result)
        undo_start(process);
    return result;
}

/* After a restart of the firmware. */

void drv_process_lose_all(struct drv_client *client)
{
    for (struct drv_process *process = client->processes; process; process = process->next_of_client) {
        drv_chain_lose_all(process);
        process->old_id = PR_NO_ID;
        if (process->restore)
            drv_placement_unmap(process); /* it was being started again */
        if (process->state != DRV_PROCESS_LIVE)
            continue;
        drv_placement_unmap(process);
        process->id = PR_NO_ID;
        process->restore = process->pins;
        set_state(process, DRV_PROCESS_PARKED);
    }
}

bool drv_process_post(struct drv_process *process, struct pr_body_process *body, struct drv_answer *answer)
{
    struct drv *d = process->client->driver;
    struct drv_command_args args = {.id = PR_CMD_CREATE_PROCESS,
                                    .program = process->program->id,
                                    .process = PR_NO_ID,
                                    .body = body,
                                    .reply = created,
                                    .context = process};

    if (drv_placement_map(process))
        return false;
    args.bytes = drv_placement_describe(process, body);
    if (!drv_command_post(d, &args, answer)) {
        drv_placement_unmap(process);
        return false;
    }
    set_state(process, DRV_PROCESS_STARTING);
    process->program->ghosts++;
    return true;
}

void drv_process_posted(struct drv_process *process)
{
    if (process->state != DRV_PROCESS_LIVE)
        drv_placement_unmap(process);
}

void drv_process_pin(struct drv_process *process)
{
    process->pins++;
    process->program->pins++;
    drv_program_touch(process->program);
    drv_client_busy(process->client);
}

void drv_process_unpin(struct drv_process *process)
{
    process->pins--;
    process->program->pins--;
    drv_client_idle(process->client);
}

/* The firmware has no slot for another process. */
static bool is_full(const struct drv *d)
{
    uint32_t slots = 0;

    for (const struct drv_client *client = d->clients; client; client = client->next)
        for (const struct drv_process *p = client->processes; p; p = p->next_of_client)
            slots += p->state == DRV_PROCESS_STARTING || p->id != PR_NO_ID || p->old_id != PR_NO_ID;
    return slots >= d->limits.processes;
}

IOReturn drv_process_run(struct drv_process *process, struct drv_deadline *deadline)
{
    struct drv_client *client = process->client;
    IOReturn result = kIOReturnSuccess;
    bool exhausted = false; /* no idle program has left the firmware for this one */

    while (process->state != DRV_PROCESS_LIVE && !result) {
        if (process->state == DRV_PROCESS_STARTING) {
            if (drv_wait(client->driver, &process->settled, deadline))
                result =
                    drv_refuse(client->driver, kIOReturnTimeout,
                               "Program 0x%" PRIx64 " was still being started.", process->program->token);
        } else if (!client->domain) {
            result = drv_domain_lend(client, deadline);
        } else if (drv_load_is_away(process->program)) {
            result = drv_load_again(process->program, deadline);
        } else if (!exhausted && is_full(client->driver)) {
            exhausted = !drv_reclaim_slot(client->driver); /* which waits: others may have started it */
        } else {
            result = start_process(process);
        }
        if (result == kIOReturnNoMemory && drv_reclaim_one(client->driver))
            result = kIOReturnSuccess;
    }
    return result;
}

struct drv_mapping *drv_process_sibling_buffer(const struct drv_process *process, unsigned band)
{
    const struct drv_program *holder = drv_instance_intermediate(process->program);

    for (struct drv_process *p = process->client->processes; p; p = p->next_of_client)
        if (p != process && p->intermediate[band] && drv_instance_intermediate(p->program) == holder)
            return p->intermediate[band];
    return NULL;
}

void drv_process_disown_buffer(struct drv_client *client, const struct drv_mapping *mapping)
{
    for (struct drv_process *p = client->processes; p; p = p->next_of_client)
        for (unsigned band = 0; band < DRV_BANDS; band++) {
            if (p->intermediate[band] == mapping)
                p->intermediate[band] = NULL;
            if (p->scratch[band] == mapping)
                p->scratch[band] = NULL;
        }
}

/* The buffers that no sibling uses go with the process. */
static void drop_buffers(struct drv_process *process)
{
    for (unsigned band = 0; band < DRV_BANDS; band++) {
        struct drv_mapping *own = process->intermediate[band];

        process->intermediate[band] = NULL;
        if (own && drv_process_sibling_buffer(process, band) != own)
            drv_surface_unmap(process->client, own);
        if (process->scratch[band])
            drv_surface_unmap(process->client, process->scratch[band]);
        process->scratch[band] = NULL;
    }
}

void drv_process_end(struct drv_process *process)
{
    struct drv_client *client = process->client;
    struct drv *d = client->driver;
    const bool live = process->state == DRV_PROCESS_LIVE;
    uint32_t id = live ? process->id : process->old_id;

    set_state(process, DRV_PROCESS_ENDED);
    process->id = PR_NO_ID;
    process->old_id = id;
    drv_chain_end_all(process);
    id = process->old_id; /* none, if the firmware was restarted meanwhile */
    process->old_id = PR_NO_ID;
    if (live)
        drv_placement_unmap(process);
    drop_buffers(process);
    if (id != PR_NO_ID)
        terminate_process(d, process->program, id);
}

void drv_process_drop_unused(struct drv_process *process)
{
    struct drv_program *program = process->program;
    struct drv *d = process->client->driver;

    if (process->prepares || process->pins || process->state != DRV_PROCESS_PARKED)
        return;
    drv_process_pin(process);
    drv_process_end(process);
    drv_process_unpin(process);
    drv_process_remove(process);
    drv_program_unload_orphan(d, program);
}

void drv_process_park_all(struct drv_client *client)
{
    for (struct drv_process *process = client->processes; process; process = process->next_of_client)
        if (process->state == DRV_PROCESS_LIVE) {
            set_state(process, DRV_PROCESS_PARKED);
            process->old_id = process->id;
            process->id = PR_NO_ID;
            process->text = process->kernel = process->constants = 0; /* they go with the domain */
        }
}

void drv_process_rest_all(struct drv_program *program)
{
    for (struct drv_process *process = program->processes; process; process = process->next_of_program)
        if (process->state == DRV_PROCESS_LIVE) {
            set_state(process, DRV_PROCESS_PARKED);
            process->old_id = process->id;
            process->id = PR_NO_ID;
            drv_placement_unmap(process);
            drop_buffers(process);
        }
}

bool drv_process_terminate_rested(struct drv_program *program)
{
    struct drv_process *process = program->processes;
    uint32_t id;

    while (process && process->old_id == PR_NO_ID)
        process = process->next_of_program;
    if (!process)
        return false;
    id = process->old_id;
    process->old_id = PR_NO_ID;
    terminate_process(program->driver, program, id);
    return true;
}

void drv_process_terminate_parked(struct drv_client *client)
{
    for (;;) {
        struct drv_process *process = client->processes;
        struct drv_program *program;
        uint32_t id;

        while (process && process->old_id == PR_NO_ID)
            process = process->next_of_client;
        if (!process)
            return;
        /* The list may be another one after the wait. */
        id = process->old_id;
        program = process->program;
        process->old_id = PR_NO_ID;
        terminate_process(client->driver, program, id);
        drv_program_unload_orphan(client->driver, program);
    }
}

IOReturn drv_process_get(struct drv_client *client, uint64_t token, struct drv_deadline *deadline,
                         struct drv_process **found)
{
    struct drv *d = client->driver;
    struct drv_process *process;
    IOReturn result = client->yielding ? drv_domain_await_turn(client, deadline) : kIOReturnSuccess;

    if (result)
        return result;
    process = drv_process_find(client, token);
    if (!process || (!process->prepares && client->type != ANE_CLIENT_DIRECT_PATH)) {
        struct drv_program *program = drv_program_find(client, token);

        if (!program)
            return drv_program_not_found(d, token);
        if (client->type != ANE_CLIENT_DIRECT_PATH)
            return drv_refuse(d, kIOReturnNotReady, "Program 0x%" PRIx64 " is not prepared.", token);
        process = drv_process_add(client, program);
        if (!process)
            return drv_refuse(d, kIOReturnNoMemory, "Program 0x%" PRIx64 ": no memory to attach.", token);
    }
    drv_process_pin(process);
    if (process->state == DRV_PROCESS_LIVE) {
        *found = process;
        return kIOReturnSuccess;
    }
    result = drv_process_run(process, deadline);
    *found = process;
    if (result) {
        drv_process_unpin(process);
        drv_process_drop_unused(process);
    }
    return result;
}
