/* SPDX-License-Identifier: Apache-2.0 */
/* Programs and processes. */
#include "driver/program.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "driver/client.h"
#include "driver/command.h"
#include "driver/domain.h"
#include "driver/image.h"
#include "driver/mapper.h"
#include "driver/surface.h"

#define IMAGE_BYTES_MAX PR_CONTAINER_BYTES_MAX
#define START_TRIES 4u

static IOReturn not_found(struct drv *d, uint64_t token)
{
    return drv_refuse(d, kIOReturnNotFound, "There is no program 0x%" PRIx64 " for this client.", token);
}

/* A second client may use a resident program only with the owner's team and code-directory hash (seeds ch. 27). */
static bool same_identity(const struct drv_identity *a, const struct drv_identity *b)
{
    return !memcmp(a->team, b->team, sizeof(a->team)) && !memcmp(a->cdhash, b->cdhash, sizeof(a->cdhash));
}

static struct drv_program *find_program(struct drv_client *client, uint64_t token)
{
    for (struct drv_program *program = client->driver->programs; program; program = program->next)
        if (program->token == token)
            return program->owner && !program->dying && (program->owner == client || same_identity(&program->identity, &client->identity))
                       ? program
                       : NULL;
    return NULL;
}

static struct drv_process *find_process(const struct drv_client *client, uint64_t token)
{
    struct drv_process *process = client->processes;

    while (process && (process->program->token != token || process->ending))
        process = process->next_of_client;
    return process;
}

/* Create. */

static IOReturn check_args(struct drv_client *client, const struct ane_program_args *args, uint64_t room)
{
    struct drv *d = client->driver;

    if (args->version != 1)
        return drv_refuse(d, kIOReturnBadArgument, "Program create: arguments of version %u; the driver knows 1.", args->version);
    if (args->reserved0 || args->reserved1 || args->reserved2[0] || args->reserved2[1] || args->reserved2[2])
        return drv_refuse(d, kIOReturnBadArgument, "Program create: reserved words of the arguments are not 0.");
    if (args->procedures > 1)
        return drv_refuse(d, kIOReturnBadArgument, "Program create: %u procedures; an image has 1.", args->procedures);
    if (args->image_size == 0 || args->image_size > room || args->image_size > IMAGE_BYTES_MAX)
        return drv_refuse(d, kIOReturnBadArgument, "Program create: an image of %" PRIu64 " bytes; the arguments leave %" PRIu64 ".",
                          args->image_size, room);
    if (args->representation == ANE_PROGRAM_RT)
        return drv_refuse(d, kIOReturnUnsupported, "Program create: bundles are not expanded yet.");
    if (args->representation != ANE_PROGRAM_LEGACY)
        return drv_refuse(d, kIOReturnBadArgument, "Program create: representation %u is neither 1 (image) nor 2 (bundle).",
                          args->representation);
    if (!client->identity.developer)
        return drv_refuse(d, kIOReturnNotPermitted, "Program create: a raw image is not signed for this caller.");
    return kIOReturnSuccess;
}

static void copy_name(char *to, size_t size, const char *from, size_t length)
{
    size_t at = 0;

    for (; at < length && at + 1 < size && from[at]; at++)
        to[at] = from[at] >= 0x20 && from[at] < 0x7f ? from[at] : '.';
    to[at] = '\0';
}

static IOReturn send_load(struct drv *d, struct drv_program *program)
{
    struct pr_body_load body = {program->container.iova, program->container.bytes};
    const struct drv_command_args args = {
        .id = PR_CMD_LOAD_PROGRAM, .program = PR_NO_ID, .process = PR_NO_ID, .body = &body, .bytes = sizeof(body)};
    struct pr_command_header reply;
    IOReturn result = drv_command_run(d, &args, &reply);

    if (result)
        return result;
    if (reply.program_id >= PR_PROGRAMS_MAX)
        return drv_refuse(d, kIOReturnError, "The firmware loaded a program as %u; the limit is %u.", reply.program_id, PR_PROGRAMS_MAX);
    program->id = reply.program_id;
    return kIOReturnSuccess;
}

static IOReturn send_unload(struct drv *d, const struct drv_program *program)
{
    const struct drv_command_args args = {.id = PR_CMD_UNLOAD_PROGRAM, .program = program->id, .process = PR_NO_ID};

    return drv_command_run(d, &args, NULL);
}

static void free_program(struct drv *d, struct drv_program *program)
{
    drv_image_drop(d, program);
    base_free(program);
}

static void link_program(struct drv *d, struct drv_program *program)
{
    program->next = d->programs;
    d->programs = program;
    d->stats.programs++;
}

/* The firmware may still read it, or thinks that it does: the pages stay until the controller stops. */
static void keep_lost(struct drv *d, struct drv_program *program)
{
    program->owner = NULL;
    program->dying = true;
    program->pins = 1;
    link_program(d, program);
    drv_trace(d, "program 0x%" PRIx64 " is kept: the firmware has not let it go", program->token);
}

/* Reads the image from a copy of its own: nothing the client does to the surface meanwhile matters. */
static IOReturn load_copy(struct drv_client *client, const uint8_t *from, const struct ane_program_args *args, struct drv_program **made)
{
    struct drv *d = client->driver;
    struct drv_program *program;
    uint64_t physical;
    IOReturn result;
    void *copy;

    if (drv_pages_take(d, args->image_size, &physical, &copy))
        return drv_refuse(d, kIOReturnNoMemory, "Program create: no memory for a copy of the image.");
    memcpy(copy, from, args->image_size);
    program = base_alloc(sizeof(*program));
    if (program) {
        program->token = ++d->token;
        program->owner = client;
        program->identity = client->identity;
        program->id = PR_NO_ID;
        copy_name(program->name, sizeof(program->name), args->name, sizeof(args->name));
        result = drv_image_load(d, copy, args->image_size, program);
    } else {
        result = drv_refuse(d, kIOReturnNoMemory, "Program create: no memory.");
    }
    drv_pages_give(d, physical, args->image_size);
    if (!result) {
        result = send_load(d, program);
        if (result == kIOReturnTimeout) {
            keep_lost(d, program);
            return result;
        }
    }
    if (result && program)
        free_program(d, program);
    *made = program;
    return result;
}

static IOReturn create_from(struct drv_client *client, const struct ane_program_create *create, uint8_t *surface, uint64_t bytes)
{
    struct drv *d = client->driver;
    struct drv_program *program = NULL;
    struct ane_program_args args;
    IOReturn result;

    if (create->offset % 8 || create->offset > bytes || create->size > bytes - create->offset || create->size < sizeof(args))
        return drv_refuse(d, kIOReturnBadArgument,
                          "Program create: %" PRIu64 " bytes at %" PRIu64 " of a surface of %" PRIu64 "; the arguments alone have %zu.",
                          create->size, create->offset, bytes, sizeof(args));
    memcpy(&args, surface + create->offset, sizeof(args));
    result = check_args(client, &args, create->size - ANE_PROGRAM_IMAGE);
    if (!result)
        result = load_copy(client, surface + create->offset + ANE_PROGRAM_IMAGE, &args, &program);
    if (result)
        return result;
    link_program(d, program);
    memcpy(surface + create->offset, &program->token, sizeof(program->token));
    drv_trace(d, "program 0x%" PRIx64 " \"%s\" loaded as %u: %u in, %u out, %u descriptors", program->token, program->name, program->id,
              program->inputs, program->outputs, program->td_count);
    return kIOReturnSuccess;
}

IOReturn drv_program_create(struct drv_client *client, const struct ane_program_create *create)
{
    struct drv *d = client->driver;
    uint64_t physical, bytes;
    IOReturn result;
    uint8_t *surface;

    if (create->flags || create->reserved)
        return drv_refuse(d, kIOReturnBadArgument, "Program create: flags and reserved words must be 0.");
    if (!create->surface || d->platform.surface_get(d->platform.context, create->surface, &physical, &bytes))
        return drv_refuse(d, kIOReturnBadArgument, "Program create: there is no surface %u.", create->surface);
    surface = d->platform.memory(d->platform.context, physical, bytes);
    result = surface ? create_from(client, create, surface, bytes)
                     : drv_refuse(d, kIOReturnBadArgument, "Program create: surface %u has no memory.", create->surface);
    d->platform.surface_put(d->platform.context, create->surface);
    return result;
}

/* Processes. */

static struct drv_process *add_process(struct drv_client *client, struct drv_program *program)
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

static void remove_process(struct drv_process *process)
{
    struct drv_process **link = &process->client->processes;

    while (*link != process)
        link = &(*link)->next_of_client;
    *link = process->next_of_client;
    link = &process->program->processes;
    while (*link != process)
        link = &(*link)->next_of_program;
    *link = process->next_of_program;
    base_free(process);
}

/* Text and kernel stand at the address they have in the base domain. */
static int map_program(struct drv *d, struct drv_domain *domain, const struct drv_program *program)
{
    const struct drv_block *text = &program->text, *kernel = &program->kernel;
    int status = drv_mapper_map(d, domain, text->usage, text->iova, text->physical, text->bytes);

    if (status || !kernel->bytes)
        return status;
    status = drv_mapper_map(d, domain, kernel->usage, kernel->iova, kernel->physical, kernel->bytes);
    if (status)
        drv_mapper_unmap(d, domain, text->iova, text->bytes);
    return status;
}

static void unmap_program(struct drv *d, struct drv_domain *domain, const struct drv_program *program)
{
    drv_mapper_unmap(d, domain, program->text.iova, program->text.bytes);
    if (program->kernel.bytes)
        drv_mapper_unmap(d, domain, program->kernel.iova, program->kernel.bytes);
}

static void created(void *context, const struct pr_command_header *reply)
{
    struct drv_process *process = context;

    process->status = PR_REPLY_STATUS(reply);
    if (process->status == PR_STATUS_OK && reply->process_id < PR_PROCESSES_MAX) {
        process->id = reply->process_id;
        process->state = DRV_PROCESS_LIVE;
    } else {
        process->state = DRV_PROCESS_PARKED;
    }
    process->settled = true;
}

/* With a domain: text and kernel mapped there, and a slot of the firmware's for its stream. */
static IOReturn start(struct drv_process *process)
{
    struct drv *d = process->client->driver;
    struct drv_domain *domain = process->client->domain;
    struct pr_body_process body = {.stream = drv_domain_stream(domain)};
    const struct drv_command_args args = {.id = PR_CMD_CREATE_PROCESS,
                                          .program = process->program->id,
                                          .process = PR_NO_ID,
                                          .body = &body,
                                          .bytes = sizeof(body),
                                          .reply = created,
                                          .context = process};
    IOReturn result;

    if (map_program(d, domain, process->program))
        return drv_refuse(d, kIOReturnNoMemory, "Program prepare: no memory for page tables.");
    process->state = DRV_PROCESS_STARTING;
    process->settled = false;
    result = drv_command_run(d, &args, NULL);
    if (!result && process->state != DRV_PROCESS_LIVE)
        result = drv_refuse(d, kIOReturnError, "The firmware gave a process number of %u or more.", PR_PROCESSES_MAX);
    if (result) {
        /* It may have come to life unnoticed: an answer without an interrupt. */
        process->old_id = process->id;
        process->id = PR_NO_ID;
        process->state = DRV_PROCESS_PARKED;
        process->settled = true;
        unmap_program(d, domain, process->program);
    }
    return result;
}

static IOReturn send_terminate(struct drv *d, const struct drv_program *program, uint32_t id)
{
    const struct drv_command_args args = {.id = PR_CMD_TERMINATE_PROCESS, .program = program->id, .process = id};

    return drv_command_run(d, &args, NULL);
}

static void pin(struct drv_process *process)
{
    process->pins++;
    process->program->pins++;
    process->client->busy++;
}

void drv_process_unpin(struct drv_process *process)
{
    process->pins--;
    process->program->pins--;
    drv_client_idle(process->client);
}

/* Pinned: its client keeps the domain, and nobody takes the process away. */
static IOReturn run(struct drv_process *process)
{
    struct drv_client *client = process->client;
    IOReturn result = kIOReturnSuccess;

    for (unsigned i = 0; process->state != DRV_PROCESS_LIVE && !result; i++) {
        if (i == START_TRIES)
            return drv_refuse(client->driver, kIOReturnBusy, "Program 0x%" PRIx64 " could not be started %u times.", process->program->token,
                              START_TRIES);
        if (process->state == DRV_PROCESS_STARTING)
            drv_wait(client->driver, &process->settled, client->timeout_ns);
        else if (!client->domain)
            result = drv_domain_lend(client);
        else
            result = start(process);
    }
    return result;
}

/* Ends a process that nobody uses: nothing of it is in flight. */
static void end_process(struct drv_process *process)
{
    struct drv_client *client = process->client;
    struct drv *d = client->driver;
    uint32_t id = process->state == DRV_PROCESS_LIVE ? process->id : process->old_id;

    process->ending = true;
    if (process->state == DRV_PROCESS_LIVE)
        unmap_program(d, client->domain, process->program);
    process->state = DRV_PROCESS_PARKED;
    process->id = process->old_id = PR_NO_ID;
    for (unsigned band = 0; band < DRV_BANDS; band++)
        if (process->intermediate[band])
            drv_surface_unmap(client, process->intermediate[band]);
    process->program->pins++;
    if (id != PR_NO_ID)
        send_terminate(d, process->program, id);
    process->program->pins--;
}

void drv_program_park_all(struct drv_client *client)
{
    for (struct drv_process *process = client->processes; process; process = process->next_of_client)
        if (process->state == DRV_PROCESS_LIVE) {
            process->state = DRV_PROCESS_PARKED;
            process->old_id = process->id;
            process->id = PR_NO_ID;
        }
}

/* The last to leave a program without an owner unloads it. */
static void unload_orphan(struct drv *d, struct drv_program *program)
{
    struct drv_program **link = &d->programs;

    if (program->owner || program->processes || program->pins)
        return;
    while (*link != program)
        link = &(*link)->next;
    *link = program->next;
    d->stats.programs--;
    if (send_unload(d, program))
        keep_lost(d, program);
    else
        free_program(d, program);
}

void drv_program_terminate_parked(struct drv_client *client)
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
        program->pins++;
        send_terminate(client->driver, program, id);
        program->pins--;
        unload_orphan(client->driver, program);
    }
}

IOReturn drv_program_prepare(struct drv_client *client, struct ane_program_prepare *prepare)
{
    struct drv *d = client->driver;
    struct drv_process *process = find_process(client, prepare->token);
    struct drv_program *program = find_program(client, prepare->token);
    IOReturn result;

    if (prepare->flags || prepare->reserved || prepare->priority >= PR_PRIORITIES)
        return drv_refuse(d, kIOReturnBadArgument, "Program prepare: flags and reserved words must be 0, the priority below %u.",
                          PR_PRIORITIES);
    if (!program)
        return not_found(d, prepare->token);
    if (!process)
        process = add_process(client, program);
    if (!process)
        return drv_refuse(d, kIOReturnNoMemory, "Program prepare: no memory.");
    process->prepares++;
    pin(process);
    result = run(process);
    drv_process_unpin(process);
    if (result) {
        if (--process->prepares == 0 && !process->pins)
            remove_process(process);
        return result;
    }
    prepare->inputs = program->inputs;
    prepare->outputs = program->outputs;
    prepare->intermediates = program->intermediates;
    prepare->procedures = 1;
    prepare->intermediate_bytes = program->intermediates ? program->bytes[program->inputs + program->outputs] : 0;
    return kIOReturnSuccess;
}

IOReturn drv_program_unprepare(struct drv_client *client, const struct ane_program_prepare *prepare)
{
    struct drv *d = client->driver;
    struct drv_process *process = find_process(client, prepare->token);
    struct drv_program *program;

    if (prepare->flags || prepare->reserved)
        return drv_refuse(d, kIOReturnBadArgument, "Program unprepare: flags and reserved words must be 0.");
    if (!process || !process->prepares)
        return find_program(client, prepare->token) ? drv_refuse(d, kIOReturnNotReady, "Program 0x%" PRIx64 " is not prepared.", prepare->token)
                                                    : not_found(d, prepare->token);
    if (process->prepares > 1) {
        process->prepares--;
        return kIOReturnSuccess;
    }
    if (process->pins)
        return drv_refuse(d, kIOReturnBusy, "Program 0x%" PRIx64 " has requests under way.", prepare->token);
    program = process->program;
    process->prepares = 0;
    pin(process);
    end_process(process);
    drv_process_unpin(process);
    remove_process(process);
    unload_orphan(d, program);
    return kIOReturnSuccess;
}

IOReturn drv_program_destroy(struct drv_client *client, const struct ane_program_destroy *destroy)
{
    struct drv *d = client->driver;
    struct drv_program *program = find_program(client, destroy->token);
    struct drv_process *process = find_process(client, destroy->token);

    if (destroy->flags)
        return drv_refuse(d, kIOReturnBadArgument, "Program destroy: flags must be 0.");
    if (!program || program->owner != client)
        return not_found(d, destroy->token);
    if (program->pins)
        return drv_refuse(d, kIOReturnBusy, "Program 0x%" PRIx64 " has requests under way.", destroy->token);
    if (program->processes && (program->processes != process || process->next_of_program))
        return drv_refuse(d, kIOReturnBusy, "Program 0x%" PRIx64 " is prepared by another client.", destroy->token);
    program->dying = true;
    if (process) {
        pin(process);
        end_process(process);
        drv_process_unpin(process);
        remove_process(process);
    }
    program->owner = NULL;
    unload_orphan(d, program);
    return kIOReturnSuccess;
}

IOReturn drv_process_get(struct drv_client *client, uint64_t token, struct drv_process **found)
{
    struct drv *d = client->driver;
    struct drv_process *process = find_process(client, token);
    IOReturn result;

    if (!process || (!process->prepares && client->type != ANE_CLIENT_DIRECT_PATH)) {
        struct drv_program *program = find_program(client, token);

        if (!program)
            return not_found(d, token);
        if (client->type != ANE_CLIENT_DIRECT_PATH)
            return drv_refuse(d, kIOReturnNotReady, "Program 0x%" PRIx64 " is not prepared.", token);
        process = add_process(client, program);
        if (!process)
            return drv_refuse(d, kIOReturnNoMemory, "Program 0x%" PRIx64 ": no memory to attach.", token);
    }
    pin(process);
    if (process->state == DRV_PROCESS_LIVE) {
        *found = process;
        return kIOReturnSuccess;
    }
    result = run(process);
    if (result)
        drv_process_unpin(process);
    *found = process;
    return result;
}

static void leave_program(struct drv *d, struct drv_client *client, bool tell)
{
    for (struct drv_program *program = d->programs, *next; program; program = next) {
        next = program->next;
        if (program->owner != client)
            continue;
        program->owner = NULL;
        if (tell) {
            unload_orphan(d, program);
            next = d->programs; /* the list may be another one after the wait */
        }
    }
}

void drv_program_leave_all(struct drv_client *client)
{
    while (client->processes) {
        struct drv_process *process = client->processes;
        struct drv_program *program = process->program;

        end_process(process);
        remove_process(process);
        unload_orphan(client->driver, program);
    }
    leave_program(client->driver, client, true);
}

void drv_program_forget_all(struct drv_client *client)
{
    while (client->processes)
        remove_process(client->processes);
    leave_program(client->driver, client, false);
}

void drv_program_drop_all(struct drv *d)
{
    while (d->programs) {
        struct drv_program *program = d->programs;

        d->programs = program->next;
        d->stats.programs--;
        free_program(d, program);
    }
}
