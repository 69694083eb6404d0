/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control commands. A cell is busy from a successful post until its slot comes back, and never longer: the
 * answer is copied out of shared memory once, at that moment. `answer`, `body` and `context` are the caller's
 * and are used only while it waits; one that gives up is taken out of its cell first, and `late` gets the
 * answer. After boot, a caller that finds every cell or slot busy waits in one line, first come, first
 * served.
 */
#include "driver/command.h"

#include <string.h>

#include "driver/dump.h"
#include "driver/fence.h"
#include "driver/mailbox.h"
#include "driver/recovery.h"
#include "driver/ring.h"
#include "driver/secure.h"

static const enum pr_channel rings[DRV_COMMAND_CHANNELS] = {
    [DRV_COMMAND_IO] = PR_CHANNEL_IO,
    [DRV_COMMAND_DEBUG] = PR_CHANNEL_DEBUG,
    [DRV_COMMAND_BUFFERS] = PR_CHANNEL_BUF_H2T,
};

IOReturn drv_status_return(uint32_t status)
{
    switch (status) {
    case PR_STATUS_OK: return kIOReturnSuccess;
    case PR_STATUS_BAD_SIZE:
    case PR_STATUS_UNKNOWN_COMMAND:
    case PR_STATUS_BAD_ARGUMENT:
    case PR_STATUS_NO_PROGRAM:
    case PR_STATUS_NO_PROCESS:
    case PR_STATUS_BAD_CONTAINER: return kIOReturnBadArgument;
    case PR_STATUS_NO_RESOURCES: return kIOReturnNoResources;
    case PR_STATUS_NOT_READY:
    case PR_STATUS_WRONG_STATE: return kIOReturnNotReady;
    case PR_STATUS_ABORTED: return kIOReturnAborted;
    case PR_STATUS_BUSY: return kIOReturnBusy;
    default: return kIOReturnError;
    }
}

static struct drv_command *find_free_command(struct drv *d)
{
    for (unsigned i = 0; i < DRV_COMMANDS; i++)
        if (!d->command[i].busy)
            return &d->command[i];
    return NULL;
}

bool drv_command_post(struct drv *d, const struct drv_command_args *args, struct drv_answer *answer)
{
    const struct pr_command_header header = {.id = args->id,
                                             .size = args->bytes,
                                             .priority = args->priority,
                                             .program_id = args->program,
                                             .process_id = args->process,
                                             .procedure_id = args->procedure};
    struct drv_command *command = find_free_command(d);

    if (!command)
        return false;
    memcpy(command->message, &header, sizeof(header));
    if (args->bytes)
        memcpy(command->message + sizeof(header), args->body, args->bytes);
    command->answer = answer;
    command->quiet = !answer;
    command->body = args->body;
    command->bytes = args->bytes;
    command->reply = args->reply;
    command->late = args->late;
    command->context = args->context;
    command->late_context = args->late_context;
    command->serial = ++d->command_serial;
    if (answer)
        answer->done = answer->cancelled = false;
    command->busy = drv_ring_post(d, rings[args->channel], command->address, sizeof(header) + args->bytes,
                                  command, &command->slot);
    return command->busy;
}

/* What a command is answered with that a restart of the firmware has cancelled. */
static void answer_aborted(drv_reply reply, void *context, struct pr_command_header *header)
{
    PR_REPLY_STATUS(header) = PR_STATUS_ABORTED;
    if (reply)
        reply(context, header);
}

/*
 * First come, first served. One that a restart finds in the line names slots that are gone: it is not sent.
 */
static bool post_command_in_turn(struct drv *d, const struct drv_command_args *args,
                                 struct drv_answer *answer)
{
    struct drv_deadline patience = {.ns = DRV_DEFAULT_TIMEOUT_MS * DRV_MS};
    struct drv_waiter waiter = {0};
    bool posted, in_time = true;

    if (d->ready && !d->command_waiters && drv_command_post(d, args, answer))
        return true;
    if (d->asleep)
        drv_recovery_wake(d); /* it fell asleep while this call waited for something else */
    drv_waiter_append(&d->command_waiters, &waiter);
    do {
        posted = d->ready && d->command_waiters == &waiter && drv_command_post(d, args, answer);
        waiter.done = false;
        if (!posted)
            in_time = !drv_wait(d, &waiter.done, &patience);
    } while (!posted && in_time && !waiter.cancelled);
    drv_waiter_remove(&d->command_waiters, &waiter);
    drv_waiter_wake_first(&d->command_waiters);
    if (posted || !waiter.cancelled)
        return posted;
    *answer = (struct drv_answer){.done = true, .cancelled = true};
    answer_aborted(args->reply, args->context, &answer->header);
    return true;
}

/* The answer is copied once, and the cell is free. */
static void take_answer(struct drv *d, struct drv_command *command)
{
    struct pr_command_header header;

    memcpy(&header, command->message, sizeof(header));
    command->busy = false;
    if (command->answer) {
        if (command->bytes)
            memcpy(command->body, command->message + sizeof(header), command->bytes);
        command->answer->header = header;
        command->answer->done = true;
        if (command->reply)
            command->reply(command->context, &header);
        return;
    }
    if (!command->quiet)
        SOC_TRACE(d->platform.trace, DRV_COMMAND_LATE, command->slot);
    if (command->late)
        command->late(command->late_context, &header);
}

void drv_command_returns(struct drv *d, enum drv_command_channel channel)
{
    struct drv_ring *ring = &d->ring[rings[channel]];

    for (uint32_t i = 0; i < ring->slots; i++) {
        struct drv_command *command = ring->holder[i];

        if (!command || !drv_ring_returned(d, rings[channel], i))
            continue;
        ring->holder[i] = NULL;
        take_answer(d, command);
    }
    if (d->fence_retry)
        drv_fence_retry(d);
    if (d->secure.stop_owed)
        drv_secure_retry(d);
    drv_waiter_wake_first(&d->command_waiters);
}

/* The one that was posted first, or NULL. */
static struct drv_command *find_oldest(struct drv *d)
{
    struct drv_command *oldest = NULL;

    for (unsigned i = 0; i < DRV_COMMANDS; i++)
        if (d->command[i].busy && (!oldest || d->command[i].serial < oldest->serial))
            oldest = &d->command[i];
    return oldest;
}

static void cancel_command(struct drv_command *command)
{
    struct pr_command_header header = {0};

    command->busy = false;
    if (command->answer) {
        answer_aborted(command->reply, command->context, &header);
        *command->answer = (struct drv_answer){.done = true, .cancelled = true, .header = header};
    } else {
        answer_aborted(command->late, command->late_context, &header);
    }
}

unsigned drv_command_cancel_all(struct drv *d)
{
    struct drv_command *command;
    unsigned count = 0;

    while ((command = find_oldest(d))) {
        cancel_command(command);
        count++;
    }
    for (struct drv_waiter *waiter = d->command_waiters; waiter; waiter = waiter->next)
        waiter->cancelled = waiter->done = true;
    return count;
}

void drv_command_abandon(struct drv *d, const struct drv_answer *answer)
{
    for (unsigned i = 0; i < DRV_COMMANDS; i++)
        if (d->command[i].busy && d->command[i].answer == answer)
            d->command[i].answer = NULL;
}

static IOReturn give_up_command(struct drv *d, const struct drv_answer *answer,
                                const struct drv_command_args *args)
{
    const char *why = drv_mailbox_recover(d, rings[args->channel]);

    if (!answer->done) {
        drv_recovery_suspect(d);
        drv_command_abandon(d, answer);
        why = "no answer came: doorbell lost, or the firmware is stuck";
    }
    return drv_refuse(d, kIOReturnTimeout, "Command %s (0x%x) timed out after %u ms: %s.",
                      pr_command_name(args->id), args->id, DRV_DEFAULT_TIMEOUT_MS, why);
}

/* The firmware's own status as a result. */
static IOReturn judge_answer(struct drv *d, const struct drv_answer *answer,
                             const struct drv_command_args *args)
{
    uint32_t status = PR_REPLY_STATUS(&answer->header);

    if (status == PR_STATUS_OK)
        return kIOReturnSuccess;
    if (answer->cancelled)
        return drv_refuse(
            d, kIOReturnAborted,
            "The firmware failed while it had command %s (0x%x): %s. The command was aborted; the "
            "engine has been restarted.",
            pr_command_name(args->id), args->id, drv_dump_reason(d));
    return drv_refuse(d, drv_status_return(status), "The firmware refused command %s (0x%x): %s (status %u).",
                      pr_command_name(args->id), args->id, pr_status_text(status), status);
}

IOReturn drv_command_run(struct drv *d, const struct drv_command_args *args, enum drv_command_end *end)
{
    struct drv_deadline timer = {.timer = true, .ns = DRV_DEFAULT_TIMEOUT_MS * DRV_MS};
    enum drv_command_end unused = DRV_COMMAND_NOT_SENT;
    struct drv_answer answer;
    IOReturn result;

    end = end ? end : &unused;
    *end = DRV_COMMAND_NOT_SENT;
    if (!post_command_in_turn(d, args, &answer))
        return drv_refuse(
            d, kIOReturnTimeout,
            "Command %s (0x%x) was not sent: all %u commands or slots of %s were under way for %u ms.",
            pr_command_name(args->id), args->id, DRV_COMMANDS, pr_channel_table[rings[args->channel]].name,
            DRV_DEFAULT_TIMEOUT_MS);
    if (drv_wait(d, &answer.done, &timer))
        result = give_up_command(d, &answer, args);
    else
        result = judge_answer(d, &answer, args);
    *end = answer.done ? DRV_COMMAND_ANSWERED : DRV_COMMAND_UNANSWERED;
    return result;
}
