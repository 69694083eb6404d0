/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions: the open handshake, its end, and what a client may ask about the device. */
#include "driver/session.h"

#include <inttypes.h>
#include <string.h>

#include "driver/client.h"
#include "driver/mailbox.h"
#include "driver/surface.h"
#include "protocol/controller.h"
#include "protocol/device.h"

static IOReturn check_info(const struct drv_client *client, const struct ane_device_info *info)
{
    struct drv *d = client->driver;
    uint32_t usage = info->token & 0xff;

    if (usage == ANE_USAGE_UNSUPPORTED)
        return drv_refuse(d, ANE_RETURN_USAGE_REFUSED, "Device open: usage 2 is not supported.");
    if (usage != ANE_USAGE_STANDARD)
        return drv_refuse(d, kIOReturnBadArgument, "Device open: usage %u is neither 1 nor 2.", usage);
    if (info->timeout > DRV_TIMEOUT_MS_MAX)
        return drv_refuse(d, kIOReturnBadArgument,
                          "Device open: a timeout of %" PRIu64 " ms; the limit is %u.", info->timeout,
                          DRV_TIMEOUT_MS_MAX);
    if (client->state != DRV_CLIENT_NEW)
        return drv_refuse(d, kIOReturnBusy, "Device open: the client is open already.");
    return kIOReturnSuccess;
}

IOReturn drv_session_open(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    struct drv *d = client->driver;
    struct ane_device_info info;
    IOReturn result;

    memcpy(&info, args->structureInput, sizeof(info));
    result = check_info(client, &info);
    if (result)
        return result;
    client->token = ++d->token;
    client->timeout_ns = (info.timeout ? info.timeout : DRV_DEFAULT_TIMEOUT_MS) * DRV_MS;
    drv_client_opened(client);
    info.token = client->token;
    memset(info.reserved0, 0, sizeof(info.reserved0));
    info.version[0] = PR_DEVICE_INFO_VERSION;
    info.version[1] = PR_DEVICE_INFO_VERSION_HI;
    info.engines = d->platform.engines;
    info.reserved1 = 0;
    info.cpu_subtype = PR_DEVICE_CPU_SUBTYPE;
    memcpy(args->structureOutput, &info, sizeof(info));
    return kIOReturnSuccess;
}

/* The session ends; the handle stays, closed, until it is given back. */
IOReturn drv_session_close(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    (void)args;
    if (client->calls > 1 || client->busy)
        return drv_refuse(client->driver, kIOReturnBusy, "Device close: the client has calls under way.");
    drv_client_end_session(client);
    return kIOReturnSuccess;
}

static uint32_t device_state(struct drv *d)
{
    if (drv_mailbox_read(d, PR_CTRL_CPU_STATUS) != PR_CPU_STATUS_RUNNING)
        return ANE_DEVICE_STOPPED;
    return d->fault.latched ? ANE_DEVICE_FAULTED : ANE_DEVICE_RUNNING;
}

static uint32_t open_sessions(const struct drv *d)
{
    uint32_t count = 0;

    for (const struct drv_client *client = d->clients; client; client = client->next)
        count += client->state == DRV_CLIENT_OPEN;
    return count;
}

IOReturn drv_session_status(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    struct drv *d = client->driver;
    struct ane_status status = {.state = device_state(d),
                                .engines = d->platform.engines,
                                .clients = open_sessions(d),
                                .programs = d->stats.programs,
                                .requests = client->requests,
                                .pages = drv_surface_pages(client)};

    for (const struct drv_process *process = client->processes; process; process = process->next_of_client)
        status.processes++;
    memcpy(args->structureOutput, &status, sizeof(status));
    return kIOReturnSuccess;
}

IOReturn drv_session_version(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    (void)client;
    args->scalarOutput[0] = PR_DEVICE_VERSION;
    return kIOReturnSuccess;
}

/* Inactive on this build (ch. 27): the firmware is loaded when the driver starts. */
IOReturn drv_session_load_firmware(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    (void)args;
    return drv_refuse(client->driver, kIOReturnUnsupported,
                      "ANE_LoadFirmware is inactive: the driver loads the firmware when it starts.");
}

IOReturn drv_session_check(const struct drv_client *client, uint64_t session)
{
    if (!session || session == client->token)
        return kIOReturnSuccess;
    return drv_refuse(client->driver, kIOReturnBadArgument,
                      "Session 0x%" PRIx64 " is not this connection's; device open gave 0x%" PRIx64 ".",
                      session, client->token);
}
