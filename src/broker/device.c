/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The number of the connection is written under the lock. Its owner reads it without: a number that was
 * taken out names a closed connection, whose calls are refused, for thousands of later connections.
 */
#include "broker/device.h"

#include <stdio.h>

static IOReturn fail(struct base_error *error, IOReturn code, const char *what)
{
    const char *sentence = ane_machine_error();

    return sentence[0] ? brk_refuse(error, code, "%s: %s", what, sentence)
                       : brk_refuse(error, code, "%s: the driver answered 0x%x.", what, (unsigned)code);
}

void brk_device_init(struct brk_device *device)
{
    atomic_init(&device->connect, 0);
    device->ended = false;
    device->session = 0;
    pthread_mutex_init(&device->lock, NULL);
}

static IOReturn begin_session(io_connect_t connect, uint64_t *session, struct base_error *error)
{
    struct ane_device_info info = {
        .token = ANE_USAGE_STANDARD, .callback = ANE_DEVICE_INFO_BOARD, .timeout = ANE_TIMEOUT_MS};
    size_t size = sizeof(info);
    IOReturn result = IOConnectCallMethod(connect, ANE_CONTROL_DeviceOpen, NULL, 0, &info, sizeof(info), NULL,
                                          NULL, &info, &size);

    *session = info.token;
    return result ? fail(error, result, "Device open for a client") : kIOReturnSuccess;
}

IOReturn brk_device_open(struct brk_device *device, uint32_t task, struct base_error *error)
{
    io_service_t service;
    io_connect_t connect;
    IOReturn result;
    bool ended;

    if (device->connect)
        return kIOReturnSuccess;
    service = IOServiceGetMatchingService(0, IOServiceMatching("H11ANEIn"));
    if (!service)
        return fail(error, kIOReturnNoDevice, "The neural engine is not there");
    result = IOServiceOpen(service, task, ANE_CLIENT_CONTROL, &connect);
    if (result)
        return fail(error, result, "The device could not be opened for a client");
    result = begin_session(connect, &device->session, error);
    if (result) {
        IOServiceClose(connect);
        return result;
    }
    pthread_mutex_lock(&device->lock);
    ended = device->ended;
    if (!ended)
        device->connect = connect;
    pthread_mutex_unlock(&device->lock);
    if (!ended)
        return kIOReturnSuccess;
    IOServiceClose(connect);
    return brk_refuse(error, kIOReturnAborted, "The client has left.");
}

static io_connect_t take(struct brk_device *device, bool ended)
{
    io_connect_t connect;

    pthread_mutex_lock(&device->lock);
    connect = device->connect;
    device->connect = 0;
    device->ended |= ended;
    pthread_mutex_unlock(&device->lock);
    return connect;
}

io_connect_t brk_device_end(struct brk_device *device)
{
    return take(device, true);
}

void brk_device_close(struct brk_device *device)
{
    io_connect_t connect = take(device, false);

    if (connect)
        IOServiceClose(connect);
}

void brk_device_destroy(struct brk_device *device)
{
    brk_device_close(device);
    pthread_mutex_destroy(&device->lock);
}

IOReturn brk_device_call(const struct brk_device *device, uint32_t selector, const void *in, size_t size,
                         const char *what, struct base_error *error)
{
    IOReturn result =
        IOConnectCallMethod(device->connect, selector, NULL, 0, in, size, NULL, NULL, NULL, NULL);

    return result ? fail(error, result, what) : kIOReturnSuccess;
}

IOReturn brk_device_prepare(const struct brk_device *device, uint64_t token, uint32_t qos,
                            struct ane_program_prepare *prepared, struct base_error *error)
{
    size_t size = sizeof(*prepared);
    IOReturn result;

    *prepared = (struct ane_program_prepare){
        .token = token, .qos = qos, .priority = pr_qos_program_priority(qos), .session = device->session};
    result = IOConnectCallMethod(device->connect, ANE_CONTROL_ProgramPrepare, NULL, 0, prepared,
                                 sizeof(*prepared), NULL, NULL, prepared, &size);
    return result ? fail(error, result, "The program could not be prepared") : kIOReturnSuccess;
}

void brk_device_unprepare(const struct brk_device *device, uint64_t token)
{
    const struct ane_program_prepare prepare = {.token = token, .session = device->session};

    brk_device_call(device, ANE_CONTROL_ProgramUnprepare, &prepare, sizeof(prepare), "Unprepare", NULL);
}

IOReturn brk_device_destroy_program(const struct brk_device *device, uint64_t token, struct base_error *error)
{
    const struct ane_program_destroy destroy = {.token = token, .session = device->session};

    return brk_device_call(device, ANE_CONTROL_ProgramDestroy, &destroy, sizeof(destroy), "Release", error);
}
