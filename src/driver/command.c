/* SPDX-License-Identifier: Apache-2.0 */
/* Control commands. */
#include "driver/command.h"

#include <errno.h>
#include <string.h>

#include "driver/device.h"
#include "driver/mailbox.h"
#include "driver/ring.h"

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

static struct drv_command *take(struct drv *d)
{
    for (unsigned i = 0; i < DRV_COMMANDS; i++)
        if (!d->command[i].busy)
            return &d->command[i];
    return NULL;
}

/* NULL when every command or slot is under way. */
static struct drv_command *post(struct drv *d, const struct drv_command_args *args)
{
    const struct pr_command_header header = {
        .id = args->id, .size = args->bytes, .program_id = args->program, .process_id = args->process};
    struct drv_command *command = take(d);

    if (!command)
        return NULL;
    memcpy(command->message, &header, sizeof(header));
    if (args->bytes)
        memcpy(command->message + sizeof(header), args->body, args->bytes);
    command->done = command->abandoned = false;
    command->reply = args->reply;
    command->context = args->context;
    if (!drv_ring_post(d, PR_CHANNEL_IO, command->address, sizeof(header) + args->bytes, command,
                       &command->slot))
        return NULL;
    command->busy = true;
    return command;
}

void drv_command_returns(struct drv *d)
{
    struct drv_ring *ring = &d->ring[PR_CHANNEL_IO];

    for (uint32_t i = 0; i < ring->slots; i++) {
        struct drv_command *command = ring->holder[i];

        if (!command || !drv_ring_returned(d, PR_CHANNEL_IO, i))
            continue;
        ring->holder[i] = NULL;
        command->done = true;
        if (command->abandoned) {
            command->busy = false;
            drv_trace(d, "a command that was given up has come back: slot %u of IO", i);
        } else if (command->reply) {
            struct pr_command_header reply;

            memcpy(&reply, command->message, sizeof(reply));
            command->reply(command->context, &reply);
        }
    }
}

/* The answer, copied once. */
static uint32_t finish(struct drv_command *command, const struct drv_command_args *args,
                       struct pr_command_header *header)
{
    struct pr_command_header copy;

    memcpy(&copy, command->message, sizeof(copy));
    if (args->bytes)
        memcpy(args->body, command->message + sizeof(copy), args->bytes);
    command->busy = false;
    if (header)
        *header = copy;
    return PR_REPLY_STATUS(&copy);
}

static IOReturn give_up(struct drv *d, struct drv_command *command, const struct drv_command_args *args)
{
    const char *why = drv_mailbox_recover(d, PR_CHANNEL_IO);

    if (command->done) {
        command->busy = false;
    } else {
        command->abandoned = true;
        why = "no answer came: doorbell lost, or the firmware is stuck";
    }
    return drv_refuse(d, kIOReturnTimeout, "Command %s (0x%x) timed out after %u ms: %s.",
                      pr_command_name(args->id), args->id, DRV_DEFAULT_TIMEOUT_MS, why);
}

IOReturn drv_command_run(struct drv *d, const struct drv_command_args *args, struct pr_command_header *header)
{
    struct drv_command *command = post(d, args);
    uint32_t status;

    if (!command)
        return drv_refuse(d, kIOReturnNoResources,
                          "Command %s found all %u commands or slots of IO under way.",
                          pr_command_name(args->id), DRV_COMMANDS);
    if (drv_wait(d, &command->done, DRV_DEFAULT_TIMEOUT_MS * DRV_MS))
        return give_up(d, command, args);
    status = finish(command, args, header);
    if (status != PR_STATUS_OK)
        return drv_refuse(d, drv_status_return(status),
                          "The firmware refused command %s (0x%x): %s (status %u).",
                          pr_command_name(args->id), args->id, pr_status_text(status), status);
    return kIOReturnSuccess;
}

int drv_command_run_polled(struct drv *d, const struct drv_command_args *args, struct base_error *error)
{
    struct drv_command *command = post(d, args);
    uint32_t status;

    if (!command)
        return base_fail(error, EBUSY, "Boot command %s found no free slot of IO.",
                         pr_command_name(args->id));
    for (unsigned i = 0; i < DRV_POLLS && !command->done; i++) {
        drv_device_pause(d);
        drv_mailbox_poll(d);
    }
    if (!command->done) {
        command->abandoned = true;
        return base_fail(error, ETIMEDOUT, "Boot command %s (0x%x) was not answered within %u ms.",
                         pr_command_name(args->id), args->id, DRV_POLLS_MS);
    }
    status = finish(command, args, NULL);
    if (status != PR_STATUS_OK)
        return base_fail(error, EPROTO, "The firmware refused boot command %s (0x%x): %s.",
                         pr_command_name(args->id), args->id, pr_status_text(status));
    return 0;
}
