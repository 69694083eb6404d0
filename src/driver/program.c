/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs. A program is in exactly one state, which only drv_program_set_state() changes. While a command
 * about it is with the firmware (LOADING, UNLOADING) it is not freed, even if its caller has left: the
 * answer, late or not, moves it on. A program is unloaded when it is not needed: no owner, no processes, no
 * call or command under way, no ghosts. It is freed as UNLOADED: until then the firmware may read its
 * container and text. The exceptions are a program the firmware never knew (NEW), and the end of the driver,
 * after the controller has stopped. An instance with its base's slot is LOADED and UNLOADED without a
 * command. load.c has the commands.
 */
#include "driver/program.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "driver/block.h"
#include "driver/client.h"
#include "driver/command.h"
#include "driver/identity.h"
#include "driver/image.h"
#include "driver/instance.h"
#include "driver/lifecycle.h"
#include "driver/load.h"
#include "driver/payload.h"
#include "driver/process.h"
#include "driver/quota.h"
#include "driver/reclaim.h"
#include "driver/surface.h"

#define NEXT(state) (1u << DRV_PROGRAM_##state)
static const struct drv_lifecycle_state states[] = {
    [DRV_PROGRAM_NEW] = {"new", NEXT(LOADING) | NEXT(LOADED) | NEXT(UNLOADED)},
    [DRV_PROGRAM_LOADING] = {"loading", NEXT(LOADED) | NEXT(UNLOADED)},
    [DRV_PROGRAM_LOADED] = {"loaded", NEXT(READY) | NEXT(UNLOADING) | NEXT(UNLOADED)},
    [DRV_PROGRAM_READY] = {"ready", NEXT(LOADED) | NEXT(LOST) | NEXT(UNWIRING)},
    [DRV_PROGRAM_LOST] = {"lost", NEXT(RELOADING) | NEXT(READY) | NEXT(UNWIRED) | NEXT(UNLOADED)},
    [DRV_PROGRAM_RELOADING] = {"reloading", NEXT(READY) | NEXT(LOST)},
    [DRV_PROGRAM_UNWIRING] = {"unwiring", NEXT(READY) | NEXT(LOST)},
    [DRV_PROGRAM_UNWIRED] = {"unwired", NEXT(LOST) | NEXT(UNLOADED)},
    [DRV_PROGRAM_UNLOADING] = {"unloading", NEXT(LOADED) | NEXT(UNLOADED)},
    [DRV_PROGRAM_UNLOADED] = {"unloaded", 0},
};
#undef NEXT
static const struct drv_lifecycle lifecycle = {"program", BASE_COUNT_OF(states), states};

void drv_program_set_state(struct drv_program *program, enum drv_program_state state)
{
    drv_lifecycle_check(&lifecycle, program->state, state);
    program->state = state;
    program->settled = state != DRV_PROGRAM_RELOADING && state != DRV_PROGRAM_UNWIRING;
}

/*
 * Clients find it: one that a restart of the firmware has lost, or that is not wired, is loaded again at its
 * next use.
 */
static bool is_found(const struct drv_program *program)
{
    return !program->destroyed && (program->state == DRV_PROGRAM_READY || drv_load_is_away(program));
}

/* The firmware does not have it, and no command about it is under way. */
static bool is_at_rest(const struct drv_program *program)
{
    return program->state == DRV_PROGRAM_LOST || program->state == DRV_PROGRAM_UNWIRED;
}

IOReturn drv_program_not_found(struct drv *d, uint64_t token)
{
    return drv_refuse(d, kIOReturnNotFound, "There is no program 0x%" PRIx64 " for this client.", token);
}

/* A program without an owner lives for those that have it prepared: also for further clients of these. */
static bool is_kept_by(const struct drv_program *program, const struct drv_client *client)
{
    const struct drv_process *process = program->processes;

    while (process && process->client->identity.task != client->identity.task)
        process = process->next_of_program;
    return process != NULL;
}

/*
 * A second client may use a resident program only with the owner's team and code-directory hash (seeds ch.
 * 27).
 */
struct drv_program *drv_program_find(struct drv_client *client, uint64_t token)
{
    for (struct drv_program *program = client->driver->programs; program; program = program->next)
        if (program->token == token)
            return (program->owner || is_kept_by(program, client)) && program->residency.placed &&
                           is_found(program) &&
                           (program->owner == client ||
                            drv_identity_equal(&program->identity, &client->identity))
                       ? program
                       : NULL;
    return NULL;
}

/* Create. */

unsigned drv_program_blocks(const struct drv_program *program,
                            const struct drv_block *block[DRV_PROGRAM_BLOCKS])
{
    const struct drv_block *all[DRV_PROGRAM_BLOCKS] = {&program->text, &program->kernel, &program->constants,
                                                       &program->working, &program->container};
    unsigned count = 0;

    for (unsigned i = 0; i < DRV_PROGRAM_BLOCKS; i++)
        if (all[i]->bytes && !drv_instance_shares(program, all[i]))
            block[count++] = all[i];
    return count;
}

IOReturn drv_program_check_quota(const struct drv_client *client)
{
    struct drv *d = client->driver;

    if (client->programs < drv_quota_programs(d))
        return kIOReturnSuccess;
    d->stats.over_quota++;
    return drv_refuse(d, kIOReturnNoResources,
                      "Client %u has %u programs; the limit is %u per client. Destroy one.", client->number,
                      client->programs, drv_quota_programs(d));
}

static void copy_name(char *to, size_t size, const char *from, size_t length)
{
    size_t at = 0;

    for (; at < length && at + 1 < size && from[at]; at++)
        to[at] = from[at] >= 0x20 && from[at] < 0x7f ? from[at] : '.';
    to[at] = '\0';
}

static void disown_program(struct drv_program *program)
{
    program->owner->programs--;
    program->owner = NULL;
}

void drv_program_free(struct drv *d, struct drv_program *program)
{
    if (program->owner)
        disown_program(program);
    drv_balancer_remove(&d->balancer, &program->residency);
    if (program->base) {
        program->base->instances--;
        drv_instance_unshare(program);
    }
    drv_image_drop(d, program);
    base_free(program);
}

static void link_program(struct drv *d, struct drv_program *program)
{
    program->next = d->programs;
    d->programs = program;
    d->stats.programs++;
}

static void unlink_program(struct drv *d, struct drv_program *program)
{
    struct drv_program **link = &d->programs;

    while (*link != program)
        link = &(*link)->next;
    *link = program->next;
    d->stats.programs--;
}

/* In use, or perhaps in use by the firmware. */
static bool is_needed(const struct drv_program *program)
{
    return program->owner || program->instances || program->processes || program->pins || program->holds ||
           program->ghosts || !program->settled || program->state == DRV_PROGRAM_LOADING ||
           program->state == DRV_PROGRAM_UNLOADING;
}

void drv_program_touch(struct drv_program *program)
{
    program->used = program->driver->pass;
    program->turn = ++program->driver->turn;
}

struct drv_program *drv_program_make(struct drv_client *client)
{
    struct drv_program *program = base_alloc(sizeof(*program));

    if (!program)
        return NULL;
    program->driver = client->driver;
    program->token = ++client->driver->token;
    program->owner = client;
    client->programs++;
    program->identity = client->identity;
    program->id = PR_NO_ID;
    program->settled = true;
    drv_program_touch(program);
    return program;
}

static IOReturn adopt_slot(struct drv_program *program)
{
    struct drv_deadline deadline = {.ns = program->owner->timeout_ns};
    IOReturn result = drv_load_again(program->base, &deadline);

    if (result) {
        drv_program_set_state(program, DRV_PROGRAM_UNLOADED);
        return result;
    }
    program->id = program->base->id;
    drv_balancer_join(&program->driver->balancer, &program->residency, &program->base->residency);
    drv_program_set_state(program, DRV_PROGRAM_LOADED);
    return kIOReturnSuccess;
}

IOReturn drv_program_enter(struct drv_program *program)
{
    struct drv *d = program->driver;
    IOReturn result;

    link_program(d, program);
    result = drv_instance_adopts(program) ? adopt_slot(program) : drv_load_send(program);
    /* Lost between the answer and now. */
    if (!result && program->state != DRV_PROGRAM_LOADED)
        result = drv_refuse(d, kIOReturnAborted,
                            "Program \"%s\" was loaded and lost: the engine was restarted.", program->name);
    if (result) {
        disown_program(program);
        drv_program_unload_orphan(d, program);
        return result;
    }
    drv_program_set_state(program, DRV_PROGRAM_READY);
    SOC_TRACE(d->platform.trace, DRV_PROGRAM_LOADED, program->token, program->name, program->id,
              program->procedure->inputs, program->procedure->outputs, program->td_count);
    return kIOReturnSuccess;
}

static IOReturn load_program(struct drv_client *client, const struct drv_payload *payload, uint64_t *token)
{
    struct drv *d = client->driver;
    struct drv_program *program;
    const struct ane_program_args *args = &payload->args;
    IOReturn result = drv_quota_check(client, drv_payload_bytes(payload));

    if (result)
        return result;
    program = drv_program_make(client);
    if (!program)
        return drv_refuse(d, kIOReturnNoMemory, "Program create: no memory.");
    copy_name(program->name, sizeof(program->name), args->name, sizeof(args->name));
    program->qos = args->qos;
    do
        result = drv_payload_load(client, payload, program);
    while (result == kIOReturnNoMemory && drv_reclaim_one(d));
    if (result) {
        drv_program_free(d, program);
        return result;
    }
    *token = program->token;
    return drv_program_enter(program);
}

static IOReturn create_from(struct drv_client *client, const struct ane_program_create *create,
                            uint8_t *surface, uint64_t bytes)
{
    struct drv *d = client->driver;
    struct drv_payload payload;
    IOReturn result;
    uint64_t token = 0;

    if (create->offset % 8 || create->offset > bytes || create->size > bytes - create->offset ||
        create->size < sizeof(payload.args))
        return drv_refuse(d, kIOReturnBadArgument,
                          "Program create: %" PRIu64 " bytes at %" PRIu64 " of a surface of %" PRIu64
                          "; the arguments alone have %zu.",
                          create->size, create->offset, bytes, sizeof(payload.args));
    memcpy(&payload.args, surface + create->offset, sizeof(payload.args));
    payload.image = surface + create->offset + ANE_PROGRAM_IMAGE;
    payload.surface = create->surface;
    payload.offset = create->offset + ANE_PROGRAM_IMAGE;
    payload.bytes = create->size - ANE_PROGRAM_IMAGE;
    result = drv_payload_check(d, &payload);
    if (!result)
        result = drv_program_check_quota(client);
    if (!result)
        result = load_program(client, &payload, &token);
    if (!result)
        memcpy(surface + create->offset, &token, sizeof(token));
    return result;
}

IOReturn drv_program_create(struct drv_client *client, const struct ane_program_create *create)
{
    struct drv *d = client->driver;
    struct drv_pages pages;
    IOReturn result;

    if (create->flags)
        return drv_refuse(d, kIOReturnBadArgument, "Program create: flags must be 0.");
    result = drv_surface_get(client, create->surface, &pages);
    if (result)
        return result;
    result = create_from(client, create, pages.host, pages.bytes);
    d->platform.surface_put(d->platform.context, create->surface);
    return result;
}

void drv_program_unload_orphan(struct drv *d, struct drv_program *program)
{
    if (is_needed(program))
        return;
    if (program->state == DRV_PROGRAM_READY)
        drv_program_set_state(program, DRV_PROGRAM_LOADED);
    if ((program->state == DRV_PROGRAM_LOADED && drv_instance_adopts(program)) || is_at_rest(program))
        drv_program_set_state(program, DRV_PROGRAM_UNLOADED);
    else if (program->state == DRV_PROGRAM_LOADED)
        drv_load_unload(program);
    if (program->state == DRV_PROGRAM_UNLOADED) {
        struct drv_program *base = program->base;

        unlink_program(d, program);
        drv_program_free(d, program);
        if (base)
            drv_program_unload_orphan(d, base);
        return;
    }
    d->reap = true;
    SOC_TRACE(d->platform.trace, DRV_PROGRAM_KEPT, program->token);
}

static struct drv_program *find_orphan(struct drv *d)
{
    struct drv_program *program = d->programs;

    while (program && is_needed(program))
        program = program->next;
    return program;
}

void drv_program_reap(struct drv *d)
{
    struct drv_program *orphan;
    bool again;

    if (!d->reap)
        return;
    d->reap = false;
    drv_process_reap(d);
    again = d->reap; /* a process that the firmware keeps does not keep other programs */
    d->reap = false;
    /* One that cannot be unloaded now sets `reap` again, and waits for the next call. */
    while (!d->reap && (orphan = find_orphan(d)))
        drv_program_unload_orphan(d, orphan);
    d->reap |= again;
}

/* What a request of the procedure has to bind. */
static void describe_procedure(const struct drv_program *program, struct ane_program_prepare *prepare)
{
    const struct drv_procedure *p = &program->procedure[prepare->procedure];

    prepare->inputs = p->inputs;
    prepare->outputs = p->outputs;
    prepare->intermediates = p->intermediates;
    prepare->procedures = program->procedures;
    prepare->intermediate_bytes = p->intermediates ? p->bytes[p->inputs + p->outputs] : 0;
}

IOReturn drv_program_prepare(struct drv_client *client, struct ane_program_prepare *prepare)
{
    struct drv *d = client->driver;
    struct drv_process *process = drv_process_find(client, prepare->token);
    struct drv_program *program = drv_program_find(client, prepare->token);
    struct drv_deadline deadline = {.ns = client->timeout_ns};
    IOReturn result;

    if (prepare->flags || prepare->priority >= PR_PRIORITIES)
        return drv_refuse(d, kIOReturnBadArgument, "Program prepare: flags must be 0, the priority below %u.",
                          PR_PRIORITIES);
    result = drv_identity_admit(client, prepare->priority, "Program prepare");
    if (result)
        return result;
    if (!program)
        return drv_program_not_found(d, prepare->token);
    if (prepare->procedure >= program->procedures)
        return drv_refuse(d, kIOReturnBadArgument,
                          "Program prepare: procedure %u; program 0x%" PRIx64 " has %u.", prepare->procedure,
                          prepare->token, program->procedures);
    if (!process)
        process = drv_process_add(client, program);
    if (!process)
        return drv_refuse(d, kIOReturnNoMemory, "Program prepare: no memory.");
    process->prepares++;
    process->qos = prepare->qos;
    drv_process_pin(process);
    result = drv_process_run(process, &deadline);
    drv_process_unpin(process);
    if (result) {
        process->prepares--;
        drv_process_drop_unused(process);
        return result;
    }
    describe_procedure(program, prepare);
    return kIOReturnSuccess;
}

IOReturn drv_program_unprepare(struct drv_client *client, const struct ane_program_prepare *prepare)
{
    struct drv *d = client->driver;
    struct drv_process *process;
    struct drv_program *program;
    IOReturn result;

    if (prepare->flags)
        return drv_refuse(d, kIOReturnBadArgument, "Program unprepare: flags must be 0.");
    result = drv_process_find_prepared(client, prepare->token, &process);
    if (result)
        return result;
    if (process->prepares > 1) {
        process->prepares--;
        return kIOReturnSuccess;
    }
    if (process->pins)
        return drv_refuse(d, kIOReturnBusy, "Program 0x%" PRIx64 " has requests under way.", prepare->token);
    program = process->program;
    process->prepares = 0;
    drv_process_pin(process);
    drv_process_end(process);
    drv_process_unpin(process);
    drv_process_remove(process);
    drv_program_unload_orphan(d, program);
    return kIOReturnSuccess;
}

/*
 * A process that a direct-path client of the owner's task got at its first request: no selector gives it
 * back, so it does not keep the owner from destroying the program.
 */
static bool is_attached(const struct drv_process *process, const struct drv_client *owner)
{
    return process->client->type == ANE_CLIENT_DIRECT_PATH && !process->prepares &&
           process->client->identity.task == owner->identity.task;
}

/* A process that keeps the owner from destroying its program; NULL: none does. */
static const struct drv_process *other_user(const struct drv_program *program, const struct drv_client *owner)
{
    const struct drv_process *process = program->processes;

    while (process && (process->client == owner || is_attached(process, owner)))
        process = process->next_of_program;
    return process;
}

/* Not those of a client that is leaving: its close, which waits for the firmware, ends and removes them. */
static struct drv_process *idle_process(const struct drv_program *program)
{
    struct drv_process *process = program->processes;

    while (process && (process->pins || process->client->leaving || process->state == DRV_PROCESS_ENDED))
        process = process->next_of_program;
    return process;
}

/*
 * The processes of a program that is being destroyed: its owner's, and attached ones, whose clients stay
 * until the wait is over. One that gets a request during a wait keeps the program until its client closes.
 */
static void end_processes(struct drv_program *program)
{
    struct drv_process *process;

    while ((process = idle_process(program))) {
        struct drv_client *client = process->client;

        client->calls++;
        drv_process_pin(process);
        drv_process_end(process);
        drv_process_unpin(process);
        drv_process_remove(process);
        drv_client_leave(client);
    }
}

IOReturn drv_program_destroy(struct drv_client *client, const struct ane_program_destroy *destroy)
{
    struct drv *d = client->driver;
    struct drv_program *program = drv_program_find(client, destroy->token);
    struct drv_deadline timer = {.timer = true, .ns = client->timeout_ns};

    if (!program || program->owner != client)
        return drv_program_not_found(d, destroy->token);
    if (program->instances)
        return drv_refuse(d, kIOReturnBusy, "Program 0x%" PRIx64 " has %u instances; destroy them first.",
                          destroy->token, program->instances);
    if (program->pins)
        return drv_refuse(d, kIOReturnBusy, "Program 0x%" PRIx64 " has requests under way.", destroy->token);
    if (other_user(program, client))
        return drv_refuse(d, kIOReturnBusy, "Program 0x%" PRIx64 " is prepared by another client.",
                          destroy->token);
    program->destroyed = true;
    /* One that is being loaded again, or unwired, is decided by the answer, and goes at the next reap. */
    if (program->settled)
        drv_program_set_state(program, is_at_rest(program) ? DRV_PROGRAM_UNLOADED : DRV_PROGRAM_LOADED);
    end_processes(program);
    /* An eviction may still be ending processes of it. */
    if (program->holds)
        drv_wait(d, &program->unheld, &timer);
    disown_program(program);
    drv_program_unload_orphan(d, program);
    return kIOReturnSuccess;
}

/* The client's programs lose their owner. With `unload` the firmware unloads those that are not needed. */
static void disown_programs(struct drv *d, struct drv_client *client, bool unload)
{
    for (struct drv_program *program = d->programs, *next; program; program = next) {
        next = program->next;
        if (program->owner != client)
            continue;
        disown_program(program);
        if (unload) {
            drv_program_unload_orphan(d, program);
            next = d->programs; /* the list may be another one after the wait */
        }
    }
}

void drv_program_leave_all(struct drv_client *client)
{
    client->leaving = true;
    while (client->processes) {
        struct drv_process *process = client->processes;
        struct drv_program *program = process->program;

        drv_process_end(process);
        drv_process_remove(process);
        drv_program_unload_orphan(client->driver, program);
    }
    disown_programs(client->driver, client, true);
}

void drv_program_forget_all(struct drv_client *client)
{
    while (client->processes)
        drv_process_remove(client->processes);
    disown_programs(client->driver, client, false);
}

void drv_program_drop_all(struct drv *d)
{
    while (d->programs) {
        struct drv_program *program = d->programs;

        d->programs = program->next;
        d->stats.programs--;
        drv_program_free(d, program);
    }
}
