/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reclaiming. Passes count time: `used` of a program is the pass before its last use, so one that was used
 * since the last pass is 1 behind the pass that begins now. A use of an instance is a use of its base.
 *
 * A program is idle while neither a request, a call, a chain nor a command uses it or a process of it. To
 * unwire it takes commands, during which others run: what was found before a wait is looked at again after
 * it, and the program is held meanwhile.
 */
#include "driver/reclaim.h"

#include <errno.h>

#include "driver/chain.h"
#include "driver/client.h"
#include "driver/flow.h"
#include "driver/instance.h"
#include "driver/load.h"
#include "driver/process.h"
#include "driver/program.h"
#include "driver/sleep.h"
#include "driver/wiring.h"

static bool has_chain(const struct drv_process *process)
{
    const struct drv_chain *chain = process->client->driver->chains;

    while (chain && chain->process != process)
        chain = chain->next;
    return chain;
}

static bool is_process_idle(const struct drv_process *process)
{
    return process->old_id == PR_NO_ID && !has_chain(process) &&
           (process->state == DRV_PROCESS_LIVE || process->state == DRV_PROCESS_PARKED);
}

/* `holds` are the caller's own. */
static bool is_idle(const struct drv_program *program, uint32_t holds)
{
    if (program->flags & ANE_INSTANCE_KEEP_WIRED || program->pins || program->requests || program->ghosts ||
        program->holds != holds ||
        (program->state != DRV_PROGRAM_READY && program->state != DRV_PROGRAM_LOST))
        return false;
    for (const struct drv_process *process = program->processes; process; process = process->next_of_program)
        if (!is_process_idle(process))
            return false;
    return true;
}

/* Idle, and its instances leave it: those with weights are unwired, the others idle too. */
static bool may_unwire(const struct drv_program *program, uint32_t holds)
{
    const struct drv *d = program->driver;

    if (drv_instance_adopts(program) || !is_idle(program, holds) ||
        (program->state == DRV_PROGRAM_READY && (!d->ready || d->secure.begun)))
        return false;
    for (const struct drv_program *other = d->programs; other; other = other->next) {
        if (other->base != program)
            continue;
        if (other->weighted ? other->state != DRV_PROGRAM_UNWIRED : !is_idle(other, 0))
            return false;
    }
    return true;
}

/* The program, or the instance of it, that was used last. */
static const struct drv_program *last_used(const struct drv_program *program)
{
    const struct drv_program *last = program;

    for (const struct drv_program *other = program->driver->programs; other; other = other->next)
        if (other->base == program && other->turn > last->turn)
            last = other;
    return last;
}

/* The one that has been idle longest, of those that are so many passes behind; or NULL. */
static struct drv_program *find_idlest(struct drv *d, uint64_t behind, bool loaded)
{
    struct drv_program *idlest = NULL;
    uint64_t turn = UINT64_MAX;

    for (struct drv_program *program = d->programs; program; program = program->next) {
        const struct drv_program *used = last_used(program);

        if (!may_unwire(program, 0) || d->pass - used->used < behind || used->turn >= turn ||
            (loaded && program->state != DRV_PROGRAM_READY))
            continue;
        idlest = program;
        turn = used->turn;
    }
    return idlest;
}

/* An instance with the slot of `program`; or NULL. */
static struct drv_program *next_adopter(const struct drv_program *program, const struct drv_program *after)
{
    struct drv_program *other = after ? after->next : program->driver->programs;

    while (other && !(other->base == program && drv_instance_adopts(other)))
        other = other->next;
    return other;
}

/* One process that the firmware still has, of the program or of an adopter. May wait. */
static bool terminate_one(struct drv_program *program)
{
    if (drv_process_terminate_rested(program))
        return true;
    for (struct drv_program *other = NULL; (other = next_adopter(program, other));)
        if (drv_process_terminate_rested(other))
            return true; /* the list may be another one after the wait */
    return false;
}

static bool has_live(const struct drv_program *program)
{
    const struct drv_process *process = program->processes;

    while (process && process->state != DRV_PROCESS_LIVE)
        process = process->next_of_program;
    return process;
}

/* After a wait: it is still idle, and the firmware has no process of it or of an adopter. */
static bool is_at_rest(const struct drv_program *program)
{
    bool live = has_live(program);

    for (const struct drv_program *other = NULL; (other = next_adopter(program, other));)
        live |= has_live(other);
    return !live && may_unwire(program, 1);
}

/* The firmware gives up the program; clients of adopters ask for it again, too. */
static void leave_firmware(struct drv_program *program)
{
    drv_process_rest_all(program);
    for (struct drv_program *other = NULL; (other = next_adopter(program, other));)
        drv_process_rest_all(other);
    while (terminate_one(program))
        ;
    if (program->state != DRV_PROGRAM_READY || !is_at_rest(program))
        return;
    for (struct drv_program *other = NULL; (other = next_adopter(program, other));)
        if (other->state == DRV_PROGRAM_READY)
            drv_program_set_state(other, DRV_PROGRAM_LOST);
    drv_load_leave(program);
}

static bool unwire(struct drv_program *program)
{
    struct drv *d = program->driver;
    bool unwired;

    drv_load_hold(program);
    if (program->state == DRV_PROGRAM_READY)
        leave_firmware(program);
    unwired = program->state == DRV_PROGRAM_LOST && is_at_rest(program) && drv_wiring_unwire(program);
    drv_load_unhold(program);
    drv_program_unload_orphan(d, program);
    return unwired;
}

bool drv_reclaim_one(struct drv *d)
{
    struct drv_program *program = find_idlest(d, 0, false);

    return program && unwire(program);
}

bool drv_reclaim_slot(struct drv *d)
{
    struct drv_program *program = find_idlest(d, 0, true);
    bool left;

    if (!program)
        return false;
    drv_load_hold(program);
    leave_firmware(program);
    left = program->state == DRV_PROGRAM_LOST;
    drv_load_unhold(program);
    drv_program_unload_orphan(d, program);
    return left;
}

static uint64_t wired_bytes(const struct drv *d)
{
    uint64_t bytes = 0;

    for (const struct drv_program *program = d->programs; program; program = program->next)
        bytes += drv_wiring_wired(program);
    return bytes;
}

/* One that cannot be unwired ends the pass: the host has no memory, or the firmware does not answer. */
static void unwire_idle(struct drv *d, uint64_t limit, uint32_t passes)
{
    struct drv_program *program;

    while (wired_bytes(d) > limit && (program = find_idlest(d, passes + 1ull, false)))
        if (!unwire(program))
            return;
}

/* Power saving. */

/* A program lets the device sleep: an instance that asks for that, or the base of one; unused so long. */
static bool lets_sleep(const struct drv_program *program, uint32_t passes)
{
    const uint64_t unused = program->driver->pass - program->used;

    if (program->pins || program->requests)
        return false;
    if (!program->base)
        return program->instances && unused > passes;
    if (program->flags & ANE_INSTANCE_AGGRESSIVE_POWER_SAVING)
        passes = passes < 1 ? passes : 1;
    return program->flags & ANE_INSTANCE_POWER_SAVING && unused > passes;
}

static bool may_sleep(const struct drv *d, uint32_t passes)
{
    if (!d->ready || !d->programs || drv_client_count_persistent(d) || drv_flow_is_waiting(d))
        return false;
    for (const struct drv_program *program = d->programs; program; program = program->next)
        if (!lets_sleep(program, passes))
            return false;
    return true;
}

static void save_power(struct drv *d, uint32_t passes)
{
    struct base_error ignored;

    if (may_sleep(d, passes) && !drv_sleep_enter(d, &ignored))
        d->stats.saving_sleeps++;
}

static struct drv_reclaimed describe(const struct drv *d)
{
    struct drv_reclaimed now = {.wired = wired_bytes(d),
                                .unwired = d->stats.unwired,
                                .rewired = d->stats.rewired,
                                .sleeps = d->stats.saving_sleeps,
                                .programs = d->stats.programs,
                                .asleep = d->asleep};

    for (const struct drv_program *program = d->programs; program; program = program->next)
        now.pageable += drv_wiring_pageable(program);
    return now;
}

int drv_reclaim_pass(struct drv *d, uint64_t limit, uint32_t passes, struct drv_reclaimed *reclaimed,
                     struct base_error *error)
{
    int status = 0;

    drv_enter(d, NULL);
    if (d->running) {
        d->pass++;
        if (d->ready)
            drv_program_reap(d);
        unwire_idle(d, limit, passes);
        save_power(d, passes);
        *reclaimed = describe(d);
    } else {
        status = base_fail(error, ENODEV, "The device has not started.");
    }
    drv_gate_leave(&d->gate);
    return status;
}
