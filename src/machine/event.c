/* SPDX-License-Identifier: Apache-2.0 */
/* Shared events of iokit.h: each call is one of the driver's, on a connection. */
#include <errno.h>

#include <anemone/iokit.h>

#include "base/array.h"
#include "machine/internal.h"
#include "service/client.h"

static IOReturn refuse_null(const char *what)
{
    base_fail(mach_error(), EINVAL, "%s was given no place for its result.", what);
    return kIOReturnBadArgument;
}

static IOReturn call(io_connect_t connect, enum drv_event_operation operation, const uint64_t *input,
                     uint32_t inputs, uint64_t *output)
{
    struct IOExternalMethodArguments arguments = {.selector = operation,
                                                  .scalarInput = input,
                                                  .scalarInputCount = inputs,
                                                  .scalarOutput = output,
                                                  .scalarOutputCount = output ? 1 : 0};

    return mach_connect_call(drv_event_call, connect, &arguments);
}

IOReturn ane_event_create(io_connect_t connect, uint64_t value, uint32_t *event)
{
    uint64_t number = 0;
    IOReturn status;

    mach_error_begin();
    if (!event)
        return refuse_null("ane_event_create");
    status = call(connect, DRV_EVENT_CREATE, &value, 1, &number);
    if (!status)
        *event = (uint32_t)number;
    return status;
}

IOReturn ane_event_value(io_connect_t connect, uint32_t event, uint64_t *value)
{
    const uint64_t input[] = {event};
    uint64_t now = 0;
    IOReturn status;

    mach_error_begin();
    if (!value)
        return refuse_null("ane_event_value");
    status = call(connect, DRV_EVENT_VALUE, input, BASE_COUNT_OF(input), &now);
    if (!status)
        *value = now;
    return status;
}

IOReturn ane_event_signal(io_connect_t connect, uint32_t event, uint64_t value)
{
    const uint64_t input[] = {event, value};

    mach_error_begin();
    return call(connect, DRV_EVENT_SIGNAL, input, BASE_COUNT_OF(input), NULL);
}

IOReturn ane_event_wait(io_connect_t connect, uint32_t event, uint64_t value, uint64_t timeout_ns)
{
    const uint64_t input[] = {event, value, timeout_ns};

    mach_error_begin();
    return call(connect, DRV_EVENT_WAIT, input, BASE_COUNT_OF(input), NULL);
}

IOReturn ane_event_share(io_connect_t connect, uint32_t event, ane_task_t task)
{
    uint64_t input[] = {event, task};
    struct drv_identity identity;

    mach_error_begin();
    if (!svc_client_has_connect(connect)) {
        if (!mach_task_identity(task, &identity))
            return kIOReturnBadArgument;
        input[1] = identity.task;
    }
    return call(connect, DRV_EVENT_SHARE, input, BASE_COUNT_OF(input), NULL);
}

IOReturn ane_event_release(io_connect_t connect, uint32_t event)
{
    const uint64_t input[] = {event};

    mach_error_begin();
    return call(connect, DRV_EVENT_RELEASE, input, BASE_COUNT_OF(input), NULL);
}
