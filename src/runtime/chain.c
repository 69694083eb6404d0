/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/chain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "runtime/device.h"

#define INPUTS_MAX 16u /* of a trigger (seeds Table 30.4) */

struct e5_chain {
    io_connect_t direct; /* a direct-path client: triggers and sets are its selectors */
    uint64_t handle, timestamp;
    uint32_t surface; /* holds arguments and lists */
    void *base;
    uint32_t output[E5_PORTS_MAX]; /* surfaces of the posted set */
    bool serves;
};

bool e5_chain_serves(e5rt_execution_stream_operation_t operation)
{
    return operation->chain && operation->chain->serves;
}

void e5_chain_end(struct e5_chain *chain)
{
    if (!chain)
        return;
    if (chain->direct)
        IOServiceClose(chain->direct);
    if (chain->surface)
        ane_surface_release(chain->surface);
    base_free(chain);
}

/*
 * A chain is prepared on the control connection that has the program. In a served process that is the
 * broker's, which has no method for it: requests serve there.
 */
static bool is_wanted(e5rt_execution_stream_operation_t operation)
{
    const uint32_t inputs = operation->library->inputs, ports = inputs + operation->library->outputs;
    const char *chaining = getenv("ANEMONE_CHAINING");

    if (!chaining || strcmp(chaining, "1") != 0 || operation->library->buffers_in > INPUTS_MAX ||
        operation->library->program.link)
        return false;
    for (uint32_t i = 0; i < inputs; i++)
        for (uint32_t k = inputs; k < ports; k++)
            if (operation->binding[i].buffer == operation->binding[k].buffer)
                return true;
    return false;
}

static IOReturn call(const struct e5_chain *chain, uint32_t selector, const void *in, size_t size)
{
    return IOConnectCallMethod(chain->direct, selector, NULL, 0, in, size, NULL, NULL, NULL, NULL);
}

static IOReturn open_direct(struct e5_chain *chain)
{
    struct ane_device_info info = {
        .token = ANE_USAGE_STANDARD, .callback = ANE_DEVICE_INFO_BOARD, .timeout = ANE_TIMEOUT_MS};
    io_service_t service = IOServiceGetMatchingService(0, IOServiceMatching("H11ANEIn"));
    size_t size = sizeof(info);
    IOReturn result =
        service ? IOServiceOpen(service, 0, ANE_CLIENT_DIRECT_PATH, &chain->direct) : kIOReturnNoDevice;

    return result ? result
                  : IOConnectCallMethod(chain->direct, ANE_DIRECT_DeviceOpen, NULL, 0, &info, sizeof(info),
                                        NULL, NULL, &info, &size);
}

/* One set, which is free again at the end of each run. */
static IOReturn prepare(struct e5_chain *chain, const struct e5_loaded *program)
{
    const struct ane_chaining_prepare in = {.token = program->token, .surface = chain->surface};
    const struct ane_chaining_args args = {.version = ANE_CHAINING_ARGS_VERSION,
                                           .sets = 1,
                                           .flags = ANE_CHAINING_AUTO_RECYCLE,
                                           .priority = ANE_REQUEST_PRIORITY,
                                           .session = program->session};
    struct ane_chaining_reply reply = {0};
    size_t size = sizeof(reply);
    IOReturn result;

    memcpy(chain->base, &args, sizeof(args));
    result = IOConnectCallMethod(program->connection, ANE_CONTROL_ProgramChainingPrepare, NULL, 0, &in,
                                 sizeof(in), NULL, NULL, &reply, &size);
    chain->handle = reply.handle;
    chain->timestamp = 0;
    return result;
}

static IOReturn post_outputs(const struct e5_chain *chain, uint32_t outputs)
{
    const struct ane_output_set set = {
        .handle = chain->handle, .outputs = outputs, .surface = chain->surface};
    struct ane_chained_buffer list[E5_PORTS_MAX] = {{0}};

    for (uint32_t i = 0; i < outputs; i++)
        list[i].surface = chain->output[i];
    memcpy(chain->base, list, outputs * sizeof(list[0]));
    return call(chain, ANE_DIRECT_ProgramOutputSetEnqueue, &set, sizeof(set));
}

/* In the driver, for the outputs of the request as it is now. */
static IOReturn install(e5rt_execution_stream_operation_t operation, struct e5_chain *chain)
{
    const struct ane_request *request = &operation->request;
    IOReturn result = prepare(chain, &operation->library->program);

    for (uint32_t i = 0; i < request->outputs; i++)
        chain->output[i] = request->surface[request->inputs + i];
    return result ? result : post_outputs(chain, request->outputs);
}

static int64_t fail(e5rt_execution_stream_operation_t operation, IOReturn result, const char *what)
{
    char text[160];

    snprintf(text, sizeof(text), "Operation %s %s", operation->name, what);
    return e5_fail_driver(result, text);
}

static int64_t make(e5rt_execution_stream_operation_t operation)
{
    struct e5_chain *chain = base_alloc(sizeof(*chain));
    int64_t status;
    IOReturn result;

    if (!chain)
        return e5_fail_memory("a chain");
    status = e5_device_surface(0x4000, "A chain", &chain->surface, &chain->base);
    if (status) {
        e5_chain_end(chain);
        return status;
    }
    result = open_direct(chain);
    if (!result)
        result = install(operation, chain);
    if (result) {
        e5_chain_end(chain);
        return result == kIOReturnNoResources ? E5RT_OK : fail(operation, result, "could not be chained");
    }
    operation->chain = chain;
    return E5RT_OK;
}

int64_t e5_chain_arrange(e5rt_execution_stream_operation_t operation)
{
    const struct ane_request *request = &operation->request;
    int64_t status = E5RT_OK;

    if (is_wanted(operation) && !operation->chain)
        status = make(operation);
    if (operation->chain)
        operation->chain->serves =
            is_wanted(operation) && !memcmp(operation->chain->output, request->surface + request->inputs,
                                            request->outputs * sizeof(uint32_t));
    return status;
}

static IOReturn trigger(e5rt_execution_stream_operation_t operation)
{
    const struct ane_request *request = &operation->request;
    struct e5_chain *chain = operation->chain;
    struct ane_inputs_ready ready = {.handle = chain->handle,
                                     .timestamp = ++chain->timestamp,
                                     .inputs = request->inputs,
                                     .doorbell = ANE_REQUEST_DOORBELL};

    for (uint32_t i = 0; i < request->inputs; i++)
        ready.input[i].surface = request->surface[i];
    return call(chain, ANE_DIRECT_ProgramInputsReady, &ready, sizeof(ready));
}

int64_t e5_chain_run(e5rt_execution_stream_operation_t operation)
{
    IOReturn result = trigger(operation);

    if (result == kIOReturnNotFound) {
        result = install(operation, operation->chain);
        if (!result)
            result = trigger(operation);
    }
    return result ? fail(operation, result, "failed") : E5RT_OK;
}
