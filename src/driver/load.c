/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Load and unload. A command about a program is sent once, and its answer counts whenever it comes. One that
 * a restart of the firmware has cancelled is answered with PR_STATUS_ABORTED: the firmware does not have the
 * program then, whatever the command was.
 */
#include "driver/load.h"

#include <inttypes.h>

#include "driver/block.h"
#include "driver/command.h"
#include "driver/instance.h"
#include "driver/program.h"
#include "driver/reclaim.h"
#include "driver/wiring.h"

/* Sent once; the answer counts whenever it comes. */
static void load_answered(void *context, const struct pr_command_header *reply)
{
    struct drv_program *program = context;

    if (PR_REPLY_STATUS(reply) == PR_STATUS_OK) {
        program->id = reply->program_id;
        drv_program_set_state(program, DRV_PROGRAM_LOADED);
    } else {
        drv_program_set_state(program, DRV_PROGRAM_UNLOADED);
    }
    program->driver->reap = true;
}

/* What an unload says. */
static bool is_gone(const struct pr_command_header *reply)
{
    const uint32_t status = PR_REPLY_STATUS(reply);

    return status == PR_STATUS_OK || status == PR_STATUS_NO_PROGRAM || status == PR_STATUS_ABORTED;
}

static void unload_answered(void *context, const struct pr_command_header *reply)
{
    struct drv_program *program = context;

    drv_program_set_state(program, is_gone(reply) ? DRV_PROGRAM_UNLOADED : DRV_PROGRAM_LOADED);
    program->driver->reap = true;
}

void drv_load_hold(struct drv_program *program)
{
    program->holds++;
    program->unheld = false;
}

void drv_load_unhold(struct drv_program *program)
{
    program->unheld = --program->holds == 0;
}

/*
 * Sends a load or an unload. `under_way` is the program's state until the answer comes; a command that was
 * not sent leaves it in state `unsent`.
 */
static IOReturn send_command(struct drv_program *program, struct drv_command_args args, drv_reply answered,
                             enum drv_program_state under_way, enum drv_program_state unsent)
{
    enum drv_command_end end;
    IOReturn result;

    args.process = PR_NO_ID;
    args.reply = args.late = answered;
    args.context = args.late_context = program;
    drv_program_set_state(program, under_way);
    drv_load_hold(program);
    result = drv_command_run(program->driver, &args, &end);
    drv_load_unhold(program);
    if (end == DRV_COMMAND_NOT_SENT)
        drv_program_set_state(program, unsent);
    return result;
}

static uint64_t own_bytes(const struct drv_program *program)
{
    const struct drv_block *block[DRV_PROGRAM_BLOCKS];
    unsigned count = drv_program_blocks(program, block);
    uint64_t bytes = 0;

    for (unsigned i = 0; i < count; i++)
        bytes += drv_block_own_bytes(block[i]);
    return bytes;
}

static struct drv_command_args load_args(const struct drv_program *program, struct pr_body_load *body)
{
    *body = (struct pr_body_load){program->container.iova, program->container.bytes, program->working.iova,
                                  program->working.bytes};
    return (struct drv_command_args){
        .id = PR_CMD_LOAD_PROGRAM, .program = PR_NO_ID, .body = body, .bytes = sizeof(*body)};
}

static bool has_slot(const struct drv_program *program)
{
    switch (program->state) {
    case DRV_PROGRAM_NEW:
    case DRV_PROGRAM_LOST:
    case DRV_PROGRAM_UNWIRED:
    case DRV_PROGRAM_UNLOADED: return false;
    default: return !drv_instance_adopts(program);
    }
}

static bool is_full(const struct drv *d)
{
    uint32_t slots = 0;

    for (const struct drv_program *program = d->programs; program; program = program->next)
        slots += has_slot(program);
    return slots >= d->limits.programs;
}

/* Idle programs leave the firmware for one that is used; without one the firmware refuses. */
static void make_slot(struct drv *d)
{
    while (is_full(d) && drv_reclaim_slot(d))
        ;
}

IOReturn drv_load_send(struct drv_program *program)
{
    struct drv *d = program->driver;
    struct pr_body_load body;
    IOReturn result;

    make_slot(d);
    drv_balancer_place(&d->balancer, &program->residency, own_bytes(program));
    result = send_command(program, load_args(program, &body), load_answered, DRV_PROGRAM_LOADING,
                          DRV_PROGRAM_UNLOADED);
    if (!result && program->state == DRV_PROGRAM_LOADED && program->id >= d->limits.programs)
        result = drv_refuse(d, kIOReturnError, "The firmware loaded a program as %u; the limit is %u.",
                            program->id, d->limits.programs);
    return result;
}

void drv_load_unload(struct drv_program *program)
{
    const struct drv_command_args args = {.id = PR_CMD_UNLOAD_PROGRAM, .program = program->id};

    send_command(program, args, unload_answered, DRV_PROGRAM_UNLOADING, DRV_PROGRAM_LOADED);
}

/* Away, and again. */

static void left_answered(void *context, const struct pr_command_header *reply)
{
    struct drv_program *program = context;
    const bool gone = is_gone(reply);

    if (gone)
        program->id = PR_NO_ID;
    drv_program_set_state(program, gone ? DRV_PROGRAM_LOST : DRV_PROGRAM_READY);
    program->driver->reap = true;
}

void drv_load_leave(struct drv_program *program)
{
    const struct drv_command_args args = {.id = PR_CMD_UNLOAD_PROGRAM, .program = program->id};

    send_command(program, args, left_answered, DRV_PROGRAM_UNWIRING, DRV_PROGRAM_READY);
}

static void reload_answered(void *context, const struct pr_command_header *reply)
{
    struct drv_program *program = context;
    bool loaded =
        PR_REPLY_STATUS(reply) == PR_STATUS_OK && reply->program_id < program->driver->limits.programs;

    if (loaded)
        program->id = reply->program_id;
    drv_program_set_state(program, loaded ? DRV_PROGRAM_READY : DRV_PROGRAM_LOST);
    program->driver->reap = true;
}

/* Whose slot in the firmware it is. */
static struct drv_program *holder_of(struct drv_program *program)
{
    while (drv_instance_adopts(program))
        program = program->base;
    return program;
}

static void adopt_again(struct drv_program *program)
{
    for (; drv_instance_adopts(program); program = program->base) {
        program->id = holder_of(program)->id;
        if (program->state == DRV_PROGRAM_LOST)
            drv_program_set_state(program, DRV_PROGRAM_READY);
    }
}

IOReturn drv_load_again(struct drv_program *program, struct drv_deadline *deadline)
{
    struct drv_program *holder = holder_of(program);
    struct drv *d = program->driver;
    struct pr_body_load body;
    IOReturn result = kIOReturnSuccess;

    while (!result && drv_load_is_away(holder)) {
        if (holder->state == DRV_PROGRAM_UNWIRED)
            result = drv_wiring_wire(holder);
        else if (holder->state == DRV_PROGRAM_LOST && is_full(d) && drv_reclaim_slot(d))
            continue; /* it may have changed meanwhile */
        else if (holder->state == DRV_PROGRAM_LOST)
            result = send_command(holder, load_args(holder, &body), reload_answered, DRV_PROGRAM_RELOADING,
                                  DRV_PROGRAM_LOST);
        else if (drv_wait(d, &holder->settled, deadline))
            result = drv_refuse(d, kIOReturnTimeout,
                                "Program 0x%" PRIx64 " was still being loaded or unloaded.", holder->token);
    }
    if (!result)
        adopt_again(program);
    return result;
}

bool drv_load_post(struct drv_program *program, struct pr_body_load *body, struct drv_answer *answer)
{
    struct drv_program *holder = holder_of(program);
    struct drv_command_args args = load_args(holder, body);

    if (holder->state != DRV_PROGRAM_LOST) {
        adopt_again(program);
        return false;
    }
    args.process = PR_NO_ID;
    args.reply = args.late = reload_answered;
    args.context = args.late_context = holder;
    if (!drv_command_post(program->driver, &args, answer))
        return false;
    drv_program_set_state(holder, DRV_PROGRAM_RELOADING);
    return true;
}

bool drv_load_is_away(const struct drv_program *program)
{
    switch (program->state) {
    case DRV_PROGRAM_LOST:
    case DRV_PROGRAM_RELOADING:
    case DRV_PROGRAM_UNWIRING:
    case DRV_PROGRAM_UNWIRED: return true;
    default: return false;
    }
}

bool drv_load_is_there(struct drv_program *program)
{
    return holder_of(program)->state == DRV_PROGRAM_READY;
}

/* One that is just loaded, or about to be unloaded, is found by no client: it ends. */
void drv_load_lose_all(struct drv *d)
{
    for (uint32_t id = 0; id < PR_PROCESSES_MAX; id++) {
        if (d->stray[id])
            d->stray[id]->ghosts--;
        d->stray[id] = NULL;
    }
    for (struct drv_program *program = d->programs; program; program = program->next) {
        program->id = PR_NO_ID;
        if (program->state == DRV_PROGRAM_READY)
            drv_program_set_state(program, DRV_PROGRAM_LOST);
        else if (program->state == DRV_PROGRAM_LOADED)
            drv_program_set_state(program, DRV_PROGRAM_UNLOADED);
    }
    d->reap = true;
}
