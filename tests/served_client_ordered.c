/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ordered FOLDER COUNT QOS: requests of one quality of service on the direct path, as many under way as
 * fit. Says "ready", begins when a line has come, and prints for each request "request BEGUN ACCEPTED ENDED":
 * the host's clock in nanoseconds before and after the call that sent it, and its place among all requests of
 * the machine in the order in which they ended, which the firmware writes into the statistics of each.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <anemone/broker.h>

#include "protocol/stats.h"
#include "served_client.h"

#define PLACE    0x1000u
#define FLIGHT   6u
#define REQUESTS 1024u
#define ENDED_AT (PR_STATS_HEADER_BYTES + offsetof(struct pr_stats_engine, quad.calls))

struct sent {
    uint64_t begun, accepted;
    uint32_t ended;
};

struct ordered {
    struct ane_broker *broker;
    struct ane_broker_instance instance;
    io_connect_t connect;
    ane_port_t port;
    uint32_t surface[FLIGHT], statistics[FLIGHT];
    struct served_operands operands[FLIGHT];
    unsigned request[FLIGHT]; /* which is over those surfaces */
    struct sent sent[REQUESTS];
};

static const struct served_model *const model = &served_models[SERVED_LONG];

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void load(struct ordered *o, const char *folder, uint32_t qos)
{
    char path[512];
    const struct ane_broker_compile compile = {.size = sizeof(compile), .path = path, .qos = qos};
    struct ane_broker_arguments arguments = {.size = sizeof(arguments), .qos = qos};
    struct ane_broker_model compiled = {.size = sizeof(compiled)};

    snprintf(path, sizeof(path), "%s/%s.mil", folder, model->name);
    o->instance.size = sizeof(o->instance);
    served_client_good(ane_broker_connect(&o->broker), "ane_broker_connect");
    served_client_good(ane_broker_compile(o->broker, &compile, &compiled), "ane_broker_compile");
    close(compiled.main);
    arguments.model = compiled.model;
    served_client_good(ane_broker_load(o->broker, &arguments, &o->instance), "ane_broker_load");
}

static void open_direct(struct ordered *o)
{
    struct ane_device_info info = {.token = ANE_USAGE_STANDARD};
    io_service_t service = IOServiceGetMatchingService(0, IOServiceMatching("H11ANEIn"));
    size_t size = sizeof(info);

    served_client_good(IOServiceOpen(service, 0, ANE_CLIENT_DIRECT_PATH, &o->connect), "IOServiceOpen");
    served_client_good(IOConnectCallMethod(o->connect, ANE_DIRECT_DeviceOpen, NULL, 0, &info, sizeof(info),
                                           NULL, NULL, &info, &size),
                       "selector 0");
    if (ane_port_create(&o->port))
        served_client_fail("ane_port_create: %s", ane_machine_error());
    for (unsigned i = 0; i < FLIGHT; i++)
        if (ane_surface_create(0, 3 * PLACE, &o->surface[i]) ||
            ane_surface_create(0, PLACE, &o->statistics[i]))
            served_client_fail("ane_surface_create: %s", ane_machine_error());
}

static void send(struct ordered *o, unsigned i, unsigned number, uint64_t *random)
{
    const struct ane_request request = {.token = o->instance.program,
                                        .sequence = number,
                                        .priority = o->instance.priority,
                                        .qos = o->instance.qos,
                                        .category = ANE_REQUEST_CATEGORY,
                                        .inputs = 2,
                                        .outputs = 1,
                                        .surface = {o->surface[i], o->surface[i], o->surface[i]},
                                        .stats_surface = o->statistics[i],
                                        .offset = {0, PLACE, 2 * PLACE}};
    const uint64_t doorbell = ANE_REQUEST_DOORBELL;
    uint8_t *base = ane_surface_base(o->surface[i]);
    struct ane_request_reply reply;
    size_t size = sizeof(reply);
    uint64_t reference = i;

    o->request[i] = number;
    served_operands_make(&o->operands[i], random);
    served_operands_put(&o->operands[i], base, base + PLACE);
    o->sent[number].begun = now_ns();
    served_client_good(IOConnectCallAsyncMethod(o->connect, ANE_DIRECT_ProgramSendRequest, o->port,
                                                &reference, 1, &doorbell, 1, &request, sizeof(request), NULL,
                                                NULL, &reply, &size),
                       "an asynchronous request");
    o->sent[number].accepted = now_ns();
}

/* The next one that ends; which surfaces are free then. */
static unsigned take(struct ordered *o)
{
    struct ane_port_message message;
    unsigned i;

    if (ane_port_receive(o->port, &message, 60000000000u) || message.result || message.reference[0] >= FLIGHT)
        served_client_fail("A request ended with 0x%x: %s", (unsigned)message.result, ane_machine_error());
    i = (unsigned)message.reference[0];
    if (served_model_check(model, &o->operands[i], (uint8_t *)ane_surface_base(o->surface[i]) + 2 * PLACE) <
        SERVED_VALUES)
        served_client_fail("A wrong result of %s.", model->name);
    memcpy(&o->sent[o->request[i]].ended, (uint8_t *)ane_surface_base(o->statistics[i]) + ENDED_AT,
           sizeof(uint32_t));
    return i;
}

int served_client_ordered(int argc, char **argv)
{
    static struct ordered o;
    unsigned count = argc == 3 ? (unsigned)strtoul(argv[1], NULL, 10) : 0, begun = 0;
    uint64_t random = 17;
    char line[16];

    if (!count || count > REQUESTS)
        served_client_fail("ordered FOLDER COUNT QOS, for up to %u requests", REQUESTS);
    load(&o, argv[0], (uint32_t)strtoul(argv[2], NULL, 0));
    open_direct(&o);
    served_client_say("ready %u %u", o.instance.priority, o.instance.queue_index);
    if (!fgets(line, sizeof(line), stdin))
        return 0;
    while (begun < FLIGHT && begun < count)
        send(&o, begun, begun, &random), begun++;
    for (unsigned ended = 0; ended < count; ended++) {
        unsigned i = take(&o);

        if (begun < count)
            send(&o, i, begun++, &random);
    }
    for (unsigned i = 0; i < count; i++)
        served_client_say("request %" PRIu64 " %" PRIu64 " %u", o.sent[i].begun, o.sent[i].accepted,
                          o.sent[i].ended);
    return 0;
}
