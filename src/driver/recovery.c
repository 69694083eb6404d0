/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recovery. From its beginning to its end the channels are not ready and the command gate is closed, so that
 * no call is inside the driver except in a wait; what follows is done by timer events alone. In this order:
 *
 *   RESET    RESET is with the firmware, when it was the firmware that asked
 *   DRAIN    the dump is taken, section by section, by interrupts; a controller that has stopped has none
 *   CANCEL   the gate's last owner has left; the processor is stopped; commands and then requests that the
 *            firmware had are ended, in the order they were sent; slots of programs and processes are
 *            forgotten;
 *            power goes off
 *   LIMIT    PR_RECOVERY_INTERVAL_NS have passed since the last recovery began
 *   BOOT     ANE_Init: cold after a failure, warm after sleep
 *   RESTORE  processes that a call or a queued request uses get slots again, one command at a time
 *
 * A failure in RESTORE begins again with DRAIN, and after DRV_BOOT_TRIES of them nothing is restored. One in
 * BOOT is boot.c's: it boots again. After DRV_BOOT_TRIES boots without success the recovery has failed: the
 * gate opens, calls are refused, and a later call tries again.
 */
#include "driver/recovery.h"

#include <errno.h>

#include "driver/boot.h"
#include "driver/command.h"
#include "driver/completion.h"
#include "driver/debug_work.h"
#include "driver/device.h"
#include "driver/domain.h"
#include "driver/dump.h"
#include "driver/flow.h"
#include "driver/load.h"
#include "driver/mailbox.h"
#include "driver/power.h"
#include "driver/process.h"
#include "driver/request.h"
#include "driver/rpc.h"
#include "driver/secure.h"

#define COMMAND_NS \
    (PR_DEADLINE_NS + (uint64_t)DRV_POLLS * DRV_POLL_NS) /* the firmware may first wait itself */

static uint64_t now(const struct drv *d)
{
    return d->platform.now(d->platform.context);
}

bool drv_recovery_is_active(const struct drv *d)
{
    return d->recovery.phase != DRV_RECOVERY_IDLE;
}

static void step(void *context);

/* Without a timer no step is due: the next call arms it again (drv_recovery_go_on). */
static void arm(struct drv *d, uint64_t ns)
{
    if (!d->recovery.armed && d->platform.after && !d->platform.after(d->platform.context, ns, step, d))
        d->recovery.armed = true;
}

static void enter_phase(struct drv *d, enum drv_recovery_phase phase)
{
    d->recovery.phase = phase;
    d->recovery.posted = false;
}

static void begin(struct drv *d, enum drv_recovery_phase phase, const char *cause)
{
    SOC_TRACE(d->platform.trace, DRV_RECOVERY, cause);
    d->ready = false;
    d->recovery.failed = false;
    d->recovery.boots = d->recovery.restores = 0;
    d->recovery.wake = false;
    drv_gate_close(&d->gate);
    enter_phase(d, phase);
    arm(d, DRV_POLL_NS);
}

/* Beginnings. */

/*
 * The firmware fails, or does not answer, while programs are loaded again. One of them may be the reason:
 * after DRV_BOOT_TRIES times none is, and its client's next use shows.
 */
static void restart_restore(struct drv *d, enum drv_recovery_phase phase)
{
    d->recovery.restores++;
    enter_phase(d, phase);
}

/* The dump of this failure is over: what such a controller stages afterwards is not looked at. */
static bool has_dumped(const struct drv *d)
{
    const bool booting = !d->running || d->recovery.phase == DRV_RECOVERY_BOOT;

    if (d->dump.draining)
        return false;
    return booting ? d->boot.crashed
                   : d->recovery.phase == DRV_RECOVERY_DRAIN || d->recovery.phase == DRV_RECOVERY_CANCEL;
}

/* A section of a dump that is being taken is not another crash. */
void drv_recovery_crash(struct drv *d)
{
    if (has_dumped(d))
        return;
    d->stats.crashes += !d->dump.draining;
    drv_dump_take(d);
    if (!d->running || d->recovery.phase == DRV_RECOVERY_BOOT)
        d->boot.crashed = true;
    else if (!drv_recovery_is_active(d))
        begin(d, DRV_RECOVERY_DRAIN, "the firmware failed");
    else if (d->recovery.phase == DRV_RECOVERY_RESET)
        enter_phase(d, DRV_RECOVERY_DRAIN);
    else if (d->recovery.phase == DRV_RECOVERY_RESTORE)
        restart_restore(d, DRV_RECOVERY_DRAIN);
}

void drv_recovery_reset(struct drv *d, uint32_t first_queue, uint32_t last_queue)
{
    const struct drv_command_args args = {.id = PR_CMD_RESET,
                                          .program = PR_NO_ID,
                                          .process = PR_NO_ID,
                                          .body = &d->recovery.reset,
                                          .bytes = sizeof(d->recovery.reset)};

    if (!d->ready)
        return;
    drv_dump_skip(d, "an abort did not clear its task queues");
    begin(d, DRV_RECOVERY_RESET, "the firmware asks for a reset");
    d->recovery.reset = (struct pr_body_reset){first_queue, last_queue};
    d->recovery.posted = drv_command_post(d, &args, &d->recovery.answer);
    d->recovery.deadline = now(d) + COMMAND_NS;
}

void drv_recovery_suspect(struct drv *d)
{
    if (!d->ready)
        return;
    if (drv_dump_is_staged(d)) {
        drv_recovery_crash(d);
    } else if (drv_mailbox_read(d, PR_CTRL_CPU_STATUS) != PR_CPU_STATUS_RUNNING) {
        drv_recovery_restart(d, "the controller has stopped without a dump");
    }
}

void drv_recovery_restart(struct drv *d, const char *cause)
{
    drv_dump_skip(d, cause);
    begin(d, DRV_RECOVERY_CANCEL, cause);
}

void drv_recovery_wake(struct drv *d)
{
    begin(d, DRV_RECOVERY_BOOT, "wake");
    d->recovery.wake = true;
    d->asleep = false;
    drv_boot_begin(d, !d->forgotten);
    d->forgotten = false;
}

bool drv_recovery_rouse(struct drv *d, struct drv_deadline *deadline)
{
    if (d->asleep)
        drv_recovery_wake(d);
    else if (d->recovery.failed && now(d) >= d->recovery.began + PR_RECOVERY_INTERVAL_NS)
        begin(d, DRV_RECOVERY_LIMIT, "another try");
    if (!drv_recovery_is_active(d))
        return true;
    drv_gate_leave(&d->gate);
    return drv_enter(d, deadline);
}

void drv_recovery_go_on(struct drv *d)
{
    if (drv_recovery_is_active(d))
        arm(d, DRV_POLL_NS);
}

/* RESET and DRAIN. The firmware ends the calls of the queues itself, then answers. */

static bool reset_is_over(struct drv *d)
{
    return !d->recovery.posted || d->recovery.answer.done || now(d) >= d->recovery.deadline;
}

/* CANCEL. */

/* The oldest that the firmware has, or that names a chain which the firmware has forgotten. */
static struct drv_request *find_oldest(struct drv *d)
{
    struct drv_request *oldest = NULL;
    uint64_t cookie = UINT64_MAX;

    for (unsigned i = 0; i < DRV_REQUESTS; i++) {
        struct drv_request *r = &d->request[i];

        if (r->cookie >= cookie ||
            !(drv_request_in_firmware(r) || (r->state == DRV_REQUEST_QUEUED && r->kind != DRV_REQUEST_CALL)))
            continue;
        oldest = r;
        cookie = r->cookie;
    }
    return oldest;
}

static unsigned cancel_requests(struct drv *d)
{
    struct drv_request *r;
    unsigned count = 0;

    drv_completion_settle(d);
    for (; (r = find_oldest(d)); count++) {
        r->restarted = true;
        if (r->state == DRV_REQUEST_QUEUED)
            drv_request_fail_queued(d, r, PR_STATUS_ABORTED);
        else
            drv_completion_end(d, r, PR_STATUS_ABORTED, 0);
    }
    return count;
}

static void forget_slots(struct drv *d)
{
    for (uint32_t i = 0; i < PR_CHANNEL_COUNT; i++)
        for (uint32_t slot = 0; slot < DRV_HOLDERS; slot++)
            d->ring[i].holder[slot] = NULL;
    for (unsigned i = 0; i < DRV_BANDS; i++) {
        d->band[i].running = NULL;
        d->band[i].parked = false;
    }
    for (struct drv_client *client = d->clients; client; client = client->next)
        drv_process_lose_all(client);
    drv_load_lose_all(d);
    d->load.owed_count = 0;
    drv_rpc_forget(d);
    drv_debug_work_forget(d);
    for (unsigned dart = 0; dart < PR_DART_COUNT; dart++)
        d->fault.capture[dart].held = false;
    d->fault.latched = d->fault.parked = false;
}

/* Power is still on: entries of page tables that go are invalidated. */
static void cancel(struct drv *d)
{
    unsigned commands, requests;

    d->interrupts = false;
    drv_mailbox_write(d, PR_CTRL_CPU_CONTROL, 0);
    drv_mailbox_write(d, PR_CTRL_HOST_ACK, ~0u);
    commands = drv_command_cancel_all(d);
    requests = cancel_requests(d);
    d->stats.cancelled += commands + requests;
    SOC_TRACE(d->platform.trace, DRV_CANCELLED, commands, requests);
    drv_recovery_forget(d);
    drv_power_off(d);
}

void drv_recovery_forget(struct drv *d)
{
    forget_slots(d);
    drv_secure_forget(d);
    drv_boot_drop_shared(d);
}

/* The end. */

static void open_gate(struct drv *d)
{
    enter_phase(d, DRV_RECOVERY_IDLE);
    drv_gate_open(&d->gate);
    drv_waiter_wake_first(&d->command_waiters);
    drv_domain_freed(d);
}

static void succeed(struct drv *d)
{
    d->ready = true;
    d->stats.recoveries += !d->recovery.wake;
    SOC_TRACE(d->platform.trace, DRV_RECOVERED, d->stats.recoveries);
    open_gate(d);
    drv_flow_resume(d);
}

/* The oldest queued request, of a process or, with NULL, of any. */
static struct drv_request *find_queued(struct drv *d, const struct drv_process *process)
{
    struct drv_request *oldest = NULL;
    uint64_t cookie = UINT64_MAX;

    for (unsigned i = 0; i < DRV_REQUESTS; i++) {
        struct drv_request *r = &d->request[i];

        if (r->cookie >= cookie || r->state != DRV_REQUEST_QUEUED || (process && r->process != process))
            continue;
        oldest = r;
        cookie = r->cookie;
    }
    return oldest;
}

static void fail_queued(struct drv *d, const struct drv_process *process)
{
    struct drv_request *r;

    while ((r = find_queued(d, process)))
        drv_request_fail_queued(d, r, PR_STATUS_ABORTED);
}

static void fail_for_good(struct drv *d)
{
    d->recovery.failed = true;
    SOC_TRACE(d->platform.trace, DRV_RECOVERY_FAILED, d->recovery.boots, d->recovery.why.text);
    fail_queued(d, NULL);
    open_gate(d);
}

/* BOOT. Returns false while it is under way. */
static bool boot(struct drv *d)
{
    int status = drv_boot_step(d, &d->recovery.why);

    if (status == 1)
        return false;
    if (!status) {
        enter_phase(d, DRV_RECOVERY_RESTORE);
        return true;
    }
    d->interrupts = false;
    drv_power_off(d);
    d->recovery.boots += d->boot.tries;
    if (d->recovery.boots < DRV_BOOT_TRIES)
        drv_boot_begin(d, false);
    else
        fail_for_good(d);
    return true;
}

/* RESTORE. */

static struct drv_process *find_to_restore(struct drv *d)
{
    for (struct drv_client *client = d->clients; client; client = client->next)
        for (struct drv_process *process = client->processes; process; process = process->next_of_client)
            if (process->restore)
                return process;
    return NULL;
}

/* It cannot be restored: its callers find it parked. */
static void give_up_process(struct drv *d, struct drv_process *process)
{
    process->restore = false;
    fail_queued(d, process);
}

/*
 * What the answered command was for. An answer that does not say where the firmware has it counts as refused,
 * whatever its status: the same command is not sent again.
 */
static void take_restored(struct drv *d)
{
    struct drv_process *process = d->recovery.restoring;
    bool done;

    d->recovery.posted = false;
    if (d->recovery.starting) {
        drv_process_posted(process);
        done = process->state == DRV_PROCESS_LIVE;
        process->restore = !done;
    } else {
        done = drv_load_is_there(process->program);
    }
    if (!done)
        give_up_process(d, process);
}

static void send_restore(struct drv *d, struct drv_process *process)
{
    struct drv_program *program = process->program;

    d->recovery.restoring = process;
    d->recovery.starting = false;
    if (program->state == DRV_PROGRAM_LOST &&
        drv_load_post(program, &d->recovery.load, &d->recovery.answer)) {
        d->recovery.posted = true;
    } else if (program->state == DRV_PROGRAM_READY && process->state == DRV_PROCESS_PARKED &&
               drv_process_post(process, (void *)d->recovery.process, &d->recovery.answer)) {
        d->recovery.posted = true;
        d->recovery.starting = true;
    } else {
        give_up_process(d, process);
    }
    d->recovery.deadline = now(d) + COMMAND_NS;
}

/* Returns false while a command is under way. */
static bool restore(struct drv *d)
{
    struct drv_process *process = find_to_restore(d);

    if (d->recovery.posted && !d->recovery.answer.done) {
        if (now(d) < d->recovery.deadline)
            return false;
        drv_dump_skip(d, "a program could not be loaded again");
        restart_restore(d, DRV_RECOVERY_CANCEL);
    } else if (d->recovery.posted) {
        take_restored(d);
    } else if (process && d->recovery.restores >= DRV_BOOT_TRIES) {
        give_up_process(d, process);
    } else if (process) {
        send_restore(d, process);
    } else {
        succeed(d);
    }
    return true;
}

/* Steps. */

static bool await_limit(struct drv *d)
{
    if (d->recovery.begun && now(d) < d->recovery.began + PR_RECOVERY_INTERVAL_NS)
        return false;
    d->recovery.begun = true;
    d->recovery.began = now(d);
    drv_boot_begin(d, false);
    enter_phase(d, DRV_RECOVERY_BOOT);
    return true;
}

static bool await_gate(struct drv *d)
{
    if (d->gate.held)
        return false;
    cancel(d);
    enter_phase(d, DRV_RECOVERY_LIMIT);
    return true;
}

static bool await(struct drv *d, bool over, enum drv_recovery_phase next)
{
    if (over)
        enter_phase(d, next);
    return over;
}

/* False: nothing to do before some time has passed. */
static bool advance(struct drv *d)
{
    switch (d->recovery.phase) {
    case DRV_RECOVERY_RESET: return await(d, reset_is_over(d), DRV_RECOVERY_CANCEL);
    case DRV_RECOVERY_DRAIN: return await(d, !drv_dump_is_draining(d), DRV_RECOVERY_CANCEL);
    case DRV_RECOVERY_CANCEL: return await_gate(d);
    case DRV_RECOVERY_LIMIT: return await_limit(d);
    case DRV_RECOVERY_BOOT: return boot(d);
    case DRV_RECOVERY_RESTORE: return restore(d);
    default: return false;
    }
}

static void step(void *context)
{
    struct drv *d = context;

    d->recovery.armed = false;
    if (d->fault.panicked && drv_recovery_is_active(d)) {
        base_fail(&d->recovery.why, EIO, "A DART fault has stopped the machine.");
        fail_for_good(d);
    }
    while (advance(d))
        ;
    if (drv_recovery_is_active(d))
        arm(d, DRV_POLL_NS);
}
