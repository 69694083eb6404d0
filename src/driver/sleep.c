/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sleep. From its beginning to its end the gate is closed and the channels are not ready, as in a recovery,
 * and the caller waits outside the gate: a firmware that fails meanwhile is recovered from, and the sleep has
 * failed. What is unloaded here is kept by the driver and loaded again at its next use.
 */
#include "driver/sleep.h"

#include <errno.h>

#include "base/array.h"
#include "driver/chain.h"
#include "driver/client.h"
#include "driver/command.h"
#include "driver/dump.h"
#include "driver/fence.h"
#include "driver/flow.h"
#include "driver/instance.h"
#include "driver/mailbox.h"
#include "driver/power.h"
#include "driver/program.h"
#include "driver/recovery.h"
#include "driver/request.h"

/* The calls that the firmware has may take as long as its own deadline, and its abort as long again. */
#define QUIESCE_NS (3 * PR_DEADLINE_NS)

/*
 * No recovery has begun since the gate was closed. Once one has, it may be over when this call runs again:
 * the gate was open meanwhile, and clients, processes and programs may be others.
 */
static bool is_undisturbed(const struct drv *d)
{
    return !d->ready && !d->recovery.failed && !drv_recovery_is_active(d);
}

/*
 * Waits for one command. The gate is closed: no other is under way. After a failure nothing that was found
 * before it may be used.
 */
static int run_command(struct drv *d, struct drv_command_args args, struct base_error *error)
{
    struct drv_deadline timer = {.timer = true, .ns = QUIESCE_NS};
    struct drv_answer answer;
    uint32_t status;

    if (!drv_command_post(d, &args, &answer))
        return base_fail(error, EIO, "Sleep: there was no room for command %s.", pr_command_name(args.id));
    d->platform.wait(d->platform.context, &answer.done, &timer);
    if (!answer.done) {
        drv_command_abandon(d, &answer);
        return base_fail(error, EIO, "Sleep: command %s was not answered.", pr_command_name(args.id));
    }
    status = PR_REPLY_STATUS(&answer.header);
    if (!is_undisturbed(d))
        return base_fail(error, EIO, "Sleep: the firmware failed at command %s: %s.",
                         pr_command_name(args.id), drv_dump_reason(d));
    if (status == PR_STATUS_OK)
        return 0;
    return base_fail(error, EIO, "Sleep: the firmware refused command %s: %s.", pr_command_name(args.id),
                     pr_status_text(status));
}

static int run_plain(struct drv *d, uint32_t id, void *body, uint32_t bytes, struct base_error *error)
{
    return run_command(d,
                       (struct drv_command_args){
                           .id = id, .program = PR_NO_ID, .process = PR_NO_ID, .body = body, .bytes = bytes},
                       error);
}

static int terminate(struct drv *d, const struct drv_program *program, uint32_t id, struct base_error *error)
{
    if (id == PR_NO_ID)
        return 0;
    return run_command(
        d, (struct drv_command_args){.id = PR_CMD_TERMINATE_PROCESS, .program = program->id, .process = id},
        error);
}

static int end_processes_of(struct drv *d, const struct drv_client *client, uint32_t *count,
                            struct base_error *error)
{
    for (const struct drv_process *process = client->processes; process; process = process->next_of_client) {
        int status;

        *count += process->id != PR_NO_ID;
        status = terminate(d, process->program, process->id, error);
        if (!status)
            status = terminate(d, process->program, process->old_id, error);
        if (status)
            return status;
    }
    return 0;
}

/* First: a trigger that waits for an output set would never be over. */
static int invalidate_chains(struct drv *d, struct base_error *error)
{
    for (const struct drv_chain *chain = d->chains; chain; chain = chain->next) {
        struct pr_body_cache_invalidate body = {.cache_handler = chain->cache_handler};
        int status = 0;

        if (!chain->lost && !chain->invalidated)
            status =
                run_command(d,
                            (struct drv_command_args){.id = PR_CMD_PROCEDURE_CALL_INVALIDATE_CACHE_REQUEST,
                                                      .program = chain->process->program->id,
                                                      .process = chain->process->id,
                                                      .body = &body,
                                                      .bytes = sizeof(body)},
                            error);
        if (status)
            return status;
    }
    return 0;
}

/* Also those whose slots were to be given back later. */
static int end_processes(struct drv *d, uint32_t *count, struct base_error *error)
{
    int status = 0;

    for (uint32_t id = 0; id < PR_PROCESSES_MAX && !status; id++)
        if (d->stray[id])
            status = terminate(d, d->stray[id], id, error);
    if (status)
        return status;
    for (const struct drv_client *client = d->clients; client; client = client->next) {
        status = end_processes_of(d, client, count, error);
        if (status)
            return status;
    }
    return 0;
}

static bool has_slot(const struct drv_program *program)
{
    return (program->state == DRV_PROGRAM_READY || program->state == DRV_PROGRAM_LOADED) &&
           !drv_instance_adopts(program);
}

static int unload_programs(struct drv *d, uint32_t *count, struct base_error *error)
{
    for (struct drv_program *program = d->programs; program; program = program->next) {
        int status;

        if (!has_slot(program))
            continue;
        ++*count;
        status = run_command(d,
                             (struct drv_command_args){
                                 .id = PR_CMD_UNLOAD_PROGRAM, .program = program->id, .process = PR_NO_ID},
                             error);
        if (status)
            return status;
    }
    return 0;
}

/*
 * The engine's status word gates its clock (seeds ch. 28): 0xa0 is powered and idle. An engine that a fault
 * has stopped is idle too, once the fault is dealt with (CHOSEN).
 */
static int check_idle(struct drv *d, struct base_error *error)
{
    const uint32_t word = drv_mailbox_read(d, PR_ENGINE_STATUS);

    if (word == PR_ENGINE_STATUS_IDLE || (word == PR_ENGINE_STATUS_FAULTED && !d->fault.latched))
        return 0;
    return base_fail(
        error, EIO,
        "Sleep: the engine's clock is not gated: its status is 0x%x, and that of an idle engine 0x%x.", word,
        PR_ENGINE_STATUS_IDLE);
}

static int empty_firmware(struct drv *d, struct base_error *error)
{
    struct pr_body_quiesce quiesce = {0};
    uint32_t processes = 0, programs = 0;
    int status = invalidate_chains(d, error);

    if (!status)
        status = run_plain(d, PR_CMD_QUIESCE_STATE, &quiesce, sizeof(quiesce), error);
    if (!status)
        status = check_idle(d, error);
    if (!status)
        status = end_processes(d, &processes, error);
    if (!status)
        status = unload_programs(d, &programs, error);
    if (!status)
        status = run_plain(d, PR_CMD_SUSPEND, NULL, 0, error);
    if (!status)
        status = run_plain(d, PR_CMD_POWER_DOWN, NULL, 0, error);
    if (!status)
        SOC_TRACE(d->platform.trace, DRV_ASLEEP, processes, programs);
    return status;
}

/* The oldest that was not sent and names a chain; or NULL. */
static struct drv_request *find_chained(struct drv *d)
{
    struct drv_request *oldest = NULL;

    for (unsigned i = 0; i < DRV_REQUESTS; i++) {
        struct drv_request *r = &d->request[i];

        if (r->state == DRV_REQUEST_QUEUED && r->kind != DRV_REQUEST_CALL &&
            (!oldest || r->cookie < oldest->cookie))
            oldest = r;
    }
    return oldest;
}

/* Calls that are queued run after the next boot. Messages of chains end: no firmware knows those any more. */
static void end_chained(struct drv *d)
{
    struct drv_request *r;

    while ((r = find_chained(d))) {
        r->slept = true;
        drv_request_fail_queued(d, r, PR_STATUS_ABORTED);
    }
}

/* The controller has halted; what it could reach may be given back. */
static void power_down(struct drv *d)
{
    d->interrupts = false;
    drv_mailbox_write(d, PR_CTRL_CPU_CONTROL, 0);
    drv_mailbox_write(d, PR_CTRL_HOST_ACK, ~0u);
    end_chained(d);
    drv_recovery_forget(d);
    drv_power_off(d);
    d->asleep = true;
}

/* Requests that were queued meanwhile have nothing else that would wake the device. */
static void let_others_in(struct drv *d)
{
    if (drv_flow_is_waiting(d))
        drv_recovery_wake(d);
    else
        drv_gate_open(&d->gate);
}

static bool commands_are_under_way(const struct drv *d)
{
    for (unsigned i = 0; i < DRV_COMMANDS; i++)
        if (d->command[i].busy)
            return true;
    return d->command_waiters;
}

/* Commands of others name slots that are about to go: they are waited for. */
static int await_commands(struct drv *d, struct base_error *error)
{
    const bool never = false;

    for (uint64_t waited = 0; commands_are_under_way(d); waited += DRV_MS) {
        struct drv_deadline timer = {.timer = true, .ns = DRV_MS};

        if (waited >= QUIESCE_NS)
            return base_fail(error, EBUSY, "Sleep: commands of other calls stayed under way.");
        drv_wait(d, &never, &timer);
    }
    return 0;
}

int drv_sleep_enter(struct drv *d, struct base_error *error)
{
    struct base_error *of_call = d->error;
    int status;

    drv_program_reap(d);
    status = await_commands(d, error);
    if (status)
        return status;
    if (!d->ready)
        return d->asleep ? 0 : base_fail(error, EBUSY, "Sleep: the device is being restarted.");
    if (d->secure.begun)
        return base_fail(error, EBUSY,
                         "Sleep: a client owns the engine in secure mode, and must end it first.");
    /* QUIESCE_STATE waits for calls that run, and ends those that wait for events. */
    if (drv_fence_is_held(d))
        return base_fail(error, EBUSY,
                         "Sleep: requests are held in the firmware until shared events are signalled.");
    d->ready = false;
    d->error = NULL; /* others run before this call goes on */
    drv_gate_close(&d->gate);
    drv_gate_leave(&d->gate);
    status = empty_firmware(d, error);
    if (!status)
        power_down(d);
    else if (is_undisturbed(d))
        drv_recovery_restart(d, "the firmware did not go to sleep");
    if (!status)
        let_others_in(d);
    drv_enter(d, NULL);
    d->error = of_call;
    return status;
}

int drv_sleep(struct drv *d, struct base_error *error)
{
    int status;

    drv_enter(d, NULL);
    status = d->running ? drv_sleep_enter(d, error) : base_fail(error, ENODEV, "The device has not started.");
    drv_gate_leave(&d->gate);
    return status;
}

int drv_wake(struct drv *d, struct base_error *error)
{
    int status = 0;

    drv_enter(d, NULL);
    if (!d->running)
        status = base_fail(error, ENODEV, "The device has not started.");
    else if (!d->ready)
        drv_recovery_rouse(d, NULL);
    if (!status && !d->ready)
        status = base_fail(error, ENODEV, "The device does not run: %s", d->recovery.why.text);
    drv_gate_leave(&d->gate);
    return status;
}
