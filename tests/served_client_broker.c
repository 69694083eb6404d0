/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ways to the engine by broker.h and iokit.h: a model that the broker has loaded, with requests through the
 * broker or on a direct-path connection of the process, one at a time or several under way.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <anemone/broker.h>

#include "served_client.h"

#define PLACE  0x1000u /* between operands and result in a surface */
#define FLIGHT 4u      /* asynchronous requests at once */

struct loaded {
    struct ane_broker *broker;
    struct ane_broker_instance instance;
    io_connect_t connect; /* 0: through the broker */
    uint64_t session;
    ane_port_t port;
    uint32_t surface[FLIGHT];
    uint8_t *base[FLIGHT];
    uint64_t sequence;
};

static void load(struct loaded *l, const char *folder, const struct served_model *model, uint32_t qos)
{
    char path[512];
    const struct ane_broker_compile compile = {.size = sizeof(compile), .path = path, .qos = qos};
    struct ane_broker_arguments arguments = {.size = sizeof(arguments), .qos = qos, .token = 0x5e5e};
    struct ane_broker_model compiled = {.size = sizeof(compiled)};

    snprintf(path, sizeof(path), "%s/%s.mil", folder, model->name);
    served_client_good(ane_broker_connect(&l->broker), "ane_broker_connect");
    served_client_good(ane_broker_compile(l->broker, &compile, &compiled), "ane_broker_compile");
    close(compiled.main);
    arguments.model = compiled.model;
    l->instance.size = sizeof(l->instance);
    served_client_good(ane_broker_load(l->broker, &arguments, &l->instance), "ane_broker_load");
    if (l->instance.inputs != 2 || l->instance.outputs != 1 || l->instance.token != 0x5e5e)
        served_client_fail("%s was loaded with %u inputs and %u outputs.", model->name, l->instance.inputs,
                           l->instance.outputs);
}

static struct loaded *loaded_make(const char *folder, const struct served_model *model, uint32_t qos)
{
    struct loaded *l = calloc(1, sizeof(*l));

    if (!l)
        served_client_fail("No memory for a model.");
    load(l, folder, model, qos);
    for (unsigned i = 0; i < FLIGHT; i++) {
        if (ane_surface_create(0, 3 * PLACE, &l->surface[i]))
            served_client_fail("ane_surface_create: %s", ane_machine_error());
        l->base[i] = ane_surface_base(l->surface[i]);
    }
    return l;
}

static void open_direct(struct loaded *l)
{
    struct ane_device_info info = {.token = ANE_USAGE_STANDARD};
    io_service_t service = IOServiceGetMatchingService(0, IOServiceMatching("H11ANEIn"));
    size_t size = sizeof(info);

    served_client_good(IOServiceOpen(service, 0, ANE_CLIENT_DIRECT_PATH, &l->connect), "IOServiceOpen");
    served_client_good(IOConnectCallMethod(l->connect, ANE_DIRECT_DeviceOpen, NULL, 0, &info, sizeof(info),
                                           NULL, NULL, &info, &size),
                       "selector 0");
    l->session = info.token;
}

static void loaded_end(void *context)
{
    struct loaded *l = context;

    if (l->port)
        ane_port_release(l->port);
    if (l->connect)
        served_client_good(IOServiceClose(l->connect), "IOServiceClose");
    served_client_good(ane_broker_release(l->broker, l->instance.instance), "ane_broker_release");
    ane_broker_disconnect(l->broker);
    for (unsigned i = 0; i < FLIGHT; i++)
        ane_surface_release(l->surface[i]);
    free(l);
}

/* A request over one of the surfaces, with operands of its own. */
static void request_make(struct loaded *l, unsigned i, struct ane_request *request,
                         struct served_operands *operands, uint64_t *random)
{
    *request = (struct ane_request){.token = l->connect ? l->instance.program : 0,
                                    .sequence = ++l->sequence,
                                    .priority = l->instance.priority,
                                    .qos = l->instance.qos,
                                    .category = ANE_REQUEST_CATEGORY,
                                    .inputs = 2,
                                    .outputs = 1,
                                    .surface = {l->surface[i], l->surface[i], l->surface[i]},
                                    .offset = {0, PLACE, 2 * PLACE}};
    served_operands_make(operands, random);
    served_operands_put(operands, l->base[i], l->base[i] + PLACE);
    memset(l->base[i] + 2 * PLACE, 0xff, SERVED_BYTES);
}

static void check(const struct loaded *l, unsigned i, const struct served_model *model,
                  const struct served_operands *operands, const struct ane_request_reply *reply,
                  uint64_t sequence)
{
    unsigned place = served_model_check(model, operands, l->base[i] + 2 * PLACE);

    if (reply->status || reply->sequence != sequence)
        served_client_fail("A request that succeeded has status %d and sequence %d for %d.",
                           (int)reply->status, (int)reply->sequence, (int)sequence);
    if (place < SERVED_VALUES)
        served_client_fail("A wrong result: %s %s, element %u is 0x%04x.", model->name,
                           l->connect ? "on the direct path" : "through the broker", place,
                           l->base[i][2 * PLACE + 2 * place] | l->base[i][2 * PLACE + 2 * place + 1] << 8);
}

static bool step(void *context, const struct served_model *model, uint64_t *random)
{
    const uint64_t doorbell = ANE_REQUEST_DOORBELL;
    struct ane_request_reply reply = {0};
    struct served_operands operands;
    struct ane_request request;
    struct loaded *l = context;
    size_t size = sizeof(reply);
    IOReturn status;

    request_make(l, 0, &request, &operands, random);
    if (l->connect)
        status = IOConnectCallMethod(l->connect, ANE_DIRECT_ProgramSendRequest, &doorbell, 1, &request,
                                     sizeof(request), NULL, NULL, &reply, &size);
    else
        status = ane_broker_submit(l->broker, l->instance.instance, &request, &reply);
    if (served_client_is_starved(status, l->connect ? "a request on the direct path" : "ane_broker_submit"))
        return false;
    check(l, 0, model, &operands, &reply, request.sequence);
    return true;
}

static void send(struct loaded *l, unsigned i, const struct ane_request *request)
{
    const uint64_t doorbell = ANE_REQUEST_DOORBELL;
    struct ane_request_reply reply;
    size_t size = sizeof(reply);
    uint64_t reference = i;

    served_client_good(IOConnectCallAsyncMethod(l->connect, ANE_DIRECT_ProgramSendRequest, l->port,
                                                &reference, 1, &doorbell, 1, request, sizeof(*request), NULL,
                                                NULL, &reply, &size),
                       "an asynchronous request");
}

/* All that fit, then their messages, in whatever order they come. */
static bool step_async(void *context, const struct served_model *model, uint64_t *random)
{
    struct served_operands operands[FLIGHT];
    struct ane_request request[FLIGHT];
    struct loaded *l = context;
    unsigned seen = 0;
    bool starved = false;

    for (unsigned i = 0; i < FLIGHT; i++) {
        request_make(l, i, &request[i], &operands[i], random);
        send(l, i, &request[i]);
    }
    for (unsigned k = 0; k < FLIGHT; k++) {
        struct ane_port_message message;
        uint64_t i;

        if (ane_port_receive(l->port, &message, 60000000000u))
            served_client_fail("%u of %u messages came: %s", k, FLIGHT, ane_machine_error());
        i = message.reference[0];
        if (i >= FLIGHT || seen >> i & 1)
            served_client_fail("A message for request %d came, or came twice.", (int)i);
        seen |= 1u << i;
        if (message.result == kIOReturnTimeout)
            starved = true;
        else if (message.result)
            served_client_fail("An asynchronous request ended with 0x%x.", (unsigned)message.result);
        else
            check(l, (unsigned)i, model, &operands[i], &message.reply, request[i].sequence);
    }
    return !starved;
}

static void make_brokered(struct served_work *work, const char *folder, const struct served_model *model,
                          uint32_t qos)
{
    *work = (struct served_work){.step = step, .end = loaded_end, .context = loaded_make(folder, model, qos)};
}

static void make_direct(struct served_work *work, const char *folder, const struct served_model *model,
                        uint32_t qos)
{
    make_brokered(work, folder, model, qos);
    open_direct(work->context);
}

static void make_flight(struct served_work *work, const char *folder, const struct served_model *model,
                        uint32_t qos)
{
    make_direct(work, folder, model, qos);
    work->step = step_async;
    if (ane_port_create(&((struct loaded *)work->context)->port))
        served_client_fail("ane_port_create: %s", ane_machine_error());
}

const struct served_way served_broker_ways[] = {
    {"brokered", make_brokered}, {"direct", make_direct}, {"flight", make_flight}, {NULL, NULL}};
