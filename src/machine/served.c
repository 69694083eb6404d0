/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls on connections of the service, in the form of those on connections of this process: what the driver
 * would be entered with goes through the ring instead.
 */
#include <errno.h>

#include "machine/internal.h"
#include "protocol/service_ring.h"
#include "service/client.h"

/* What an entry of the driver is in the ring; false for one that a served process does not have. */
static bool name_operation(mach_driver_entry enter, struct svc_call *call)
{
    static const int events[] = {
        [DRV_EVENT_CREATE - DRV_EVENT_FIRST] = PR_RING_EVENT_CREATE,
        [DRV_EVENT_VALUE - DRV_EVENT_FIRST] = PR_RING_EVENT_VALUE,
        [DRV_EVENT_SIGNAL - DRV_EVENT_FIRST] = PR_RING_EVENT_SIGNAL,
        [DRV_EVENT_WAIT - DRV_EVENT_FIRST] = PR_RING_EVENT_WAIT,
        [DRV_EVENT_SHARE - DRV_EVENT_FIRST] = -1,
        [DRV_EVENT_RELEASE - DRV_EVENT_FIRST] = PR_RING_EVENT_RELEASE,
    };
    int event;

    if (enter == drv_client_call) {
        call->operation = call->port ? PR_RING_ASYNC : PR_RING_METHOD;
        return true;
    }
    if (enter == drv_catalogue_call) {
        call->operation = PR_RING_CATALOGUE;
        return true;
    }
    event = events[call->selector - DRV_EVENT_FIRST];
    call->operation = PR_RING_EVENT;
    call->selector = (uint32_t)event;
    return event >= 0;
}

static void deliver(ane_port_t port, const struct ane_port_message *message)
{
    if (message)
        mach_port_deliver_served(port, message);
    else
        mach_port_end_served();
}

static IOReturn call_async(const struct svc_call *call)
{
    IOReturn status;

    switch (mach_port_reserve(NULL, call->port, mach_error())) {
    case 0: break;
    case -ENOSPC: return kIOReturnNoResources;
    default: return kIOReturnBadArgument;
    }
    svc_client_set_delivery(deliver);
    status = svc_client_call(call, mach_error());
    if (status)
        mach_port_cancel(call->port);
    return status;
}

IOReturn mach_served_call(mach_driver_entry enter, io_connect_t connect,
                          const struct IOExternalMethodArguments *arguments)
{
    struct svc_call call = {
        .connect = connect,
        .selector = arguments->selector,
        .port = arguments->asyncWakePort,
        .reference = arguments->asyncReference,
        .references = arguments->asyncReferenceCount,
        .scalar_in = arguments->scalarInput,
        .scalars_in = arguments->scalarInputCount,
        .struct_in = arguments->structureInput,
        .struct_in_bytes = arguments->structureInputSize,
        .scalar_out = arguments->scalarOutput,
        .scalars_out = arguments->scalarOutputCount,
        .struct_out = arguments->structureOutput,
        .struct_out_bytes = arguments->structureOutputSize,
    };

    if (!name_operation(enter, &call)) {
        base_fail(mach_error(), ENOTSUP,
                  "A shared event of the service cannot be shared from here: tasks of other processes have "
                  "no number in this one.");
        return kIOReturnUnsupported;
    }
    return call.operation == PR_RING_ASYNC ? call_async(&call) : svc_client_call(&call, mach_error());
}
