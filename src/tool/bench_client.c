/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `anemone bench client`: one client process of `anemone bench dispatch`, which starts it. It loads the
 * program through the broker of the service that ANEMONE_SERVICE names, writes the line `ready`, waits until
 * its standard input ends, measures, and writes one line of numbers.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <anemone/broker.h>

#include "tool/bench.h"
#include "tool/latency.h"
#include "tool/model.h"
#include "tool/sample.h"
#include "tool/tool.h"

enum way { WAY_DIRECT, WAY_BROKER, WAY_MODEL, WAYS };

static const char *const way_name[WAYS] = {
    [WAY_DIRECT] = TOOL_BENCH_DIRECT,
    [WAY_BROKER] = TOOL_BENCH_BROKER,
    [WAY_MODEL] = TOOL_BENCH_MODEL,
};

struct client {
    struct tool_bench_client bench; /* its connection is a direct-path one */
    struct ane_broker *broker;
    uint64_t instance;
    struct tool_model model;
};

static bool said(IOReturn status, const char *what)
{
    if (!status)
        return true;
    tool_say("%s failed with 0x%x. %s", what, (unsigned)status, ane_machine_error());
    return false;
}

static bool load_image(struct client *c, const char *image)
{
    const struct ane_broker_arguments arguments = {
        .size = sizeof(arguments), .image = image, .qos = ANE_REQUEST_QOS};
    struct ane_broker_instance instance = {.size = sizeof(instance)};

    if (!said(ane_broker_connect(&c->broker), "connecting to the broker") ||
        !said(ane_broker_load(c->broker, &arguments, &instance), "loading the program"))
        return false;
    c->instance = instance.instance;
    c->bench.request = (struct ane_request){.token = instance.program,
                                            .priority = instance.priority,
                                            .qos = instance.qos,
                                            .category = ANE_REQUEST_CATEGORY,
                                            .inputs = 2,
                                            .outputs = 1};
    for (unsigned i = 0; i < 3; i++)
        if (ane_surface_create(0, TOOL_SAMPLE_BYTES, &c->bench.request.surface[i]))
            return said(kIOReturnNoMemory, "making a surface");
    return true;
}

static bool open_direct(struct client *c)
{
    struct ane_device_info info = {.token = ANE_USAGE_STANDARD, .timeout = ANE_TIMEOUT_MS};
    size_t size = sizeof(info);
    io_service_t service = IOServiceGetMatchingService(0, IOServiceMatching("H11ANEIn"));

    return said(IOServiceOpen(service, 0, ANE_CLIENT_DIRECT_PATH, &c->bench.connect),
                "opening a direct-path connection") &&
           said(IOConnectCallMethod(c->bench.connect, ANE_DIRECT_DeviceOpen, NULL, 0, &info, sizeof(info),
                                    NULL, NULL, &info, &size),
                "device open");
}

static bool send_through_broker(void *context)
{
    struct client *c = context;
    struct ane_request_reply reply;
    IOReturn status = ane_broker_submit(c->broker, c->instance, &c->bench.request, &reply);

    c->bench.request.sequence++;
    return !status || said(status, "a request through the broker");
}

/* The others are ready too when the input ends. */
static void wait_for_start(void)
{
    char byte;

    puts("ready");
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        continue;
}

static bool measure_latency(tool_dispatch send, struct client *c, uint32_t count)
{
    struct tool_latency latency;
    double idle;

    if (!tool_latency_measure(send, c, count, &latency) ||
        !tool_latency_after_idling(send, c, tool_bench_rounds(count), &idle))
        return false;
    printf("%.3f %.3f %.3f %.3f\n", latency.p10, latency.p50, latency.p90, idle);
    return true;
}

static bool measure_rate(tool_dispatch send, struct client *c, uint32_t milliseconds)
{
    double rate;

    if (!tool_latency_rate(send, c, milliseconds, &rate))
        return false;
    printf("%.3f\n", rate);
    return true;
}

static bool send_model(void *context)
{
    struct client *c = context;

    return tool_model_run(&c->model);
}

static bool load(struct client *c, const char *image, enum way way)
{
    if (way == WAY_MODEL)
        return tool_model_open(image, false, &c->model);
    return load_image(c, image) && (way != WAY_DIRECT || open_direct(c));
}

static bool run(const char *image, enum way way, uint32_t count, uint32_t milliseconds)
{
    static const tool_dispatch sends[WAYS] = {
        [WAY_DIRECT] = tool_bench_send, [WAY_BROKER] = send_through_broker, [WAY_MODEL] = send_model};
    const unsigned warm_up = way == WAY_MODEL ? TOOL_BENCH_COUNT_MIN : TOOL_BENCH_WARM_UP;
    struct client c = {0};
    bool good = load(&c, image, way);

    for (unsigned i = 0; good && i < warm_up; i++)
        good = sends[way](&c);
    if (good) {
        wait_for_start();
        good = milliseconds ? measure_rate(sends[way], &c, milliseconds)
                            : measure_latency(sends[way], &c, count);
    }
    tool_model_close(&c.model);
    if (c.bench.connect)
        IOServiceClose(c.bench.connect);
    ane_broker_disconnect(c.broker);
    return good;
}

int tool_bench_client(const char *image, const char *way, uint32_t count, uint32_t milliseconds)
{
    unsigned number = 0;

    while (way && number < WAYS && strcmp(way, way_name[number]) != 0)
        number++;
    if (!image || !way || number == WAYS) {
        tool_say("bench client needs --image FILE and --way " TOOL_BENCH_DIRECT "|" TOOL_BENCH_BROKER
                 "|" TOOL_BENCH_MODEL ".");
        return TOOL_USAGE;
    }
    return run(image, (enum way)number, count, milliseconds) ? TOOL_OK : TOOL_FAILURE;
}
