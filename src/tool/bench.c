/* SPDX-License-Identifier: Apache-2.0 */
/* `anemone bench`: what a dispatch costs here, layer by layer. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <anemone/iokit.h>

#include "base/alloc.h"
#include "tool/json.h"
#include "tool/sample.h"
#include "tool/tool.h"

const char tool_bench_help[] =
    "anemone bench dispatch [--count N] [--json]\n\n"
    "Measures a warm request through every layer: a descriptor that adds two small tensors, sent by\n"
    "selector 2, N times (100,000 unless said). Shows the whole call as percentiles of wall time, and\n"
    "how it divides: driver submit, firmware take, engine, firmware complete, driver complete. The\n"
    "stages are measured in a second run, because reading the clock at every wall costs time itself.\n"
    "Virtual time is what the model says, not what this host took.\n";

#define COUNT_DEFAULT 100000u
#define COUNT_MAX 10000000u
#define WARM_UP 1000u
#define IMAGE_BYTES (256u << 10)

struct client {
    struct ane_machine *machine;
    io_connect_t connect;
    struct ane_request request;
};

static bool said(IOReturn status, const char *what)
{
    if (!status)
        return true;
    tool_say("%s failed with 0x%x. %s", what, (unsigned)status, ane_machine_error());
    return false;
}

static bool create_program(struct client *c)
{
    struct ane_program_create create = {.size = IMAGE_BYTES};
    struct ane_program_prepare prepare = {.qos = 21, .priority = 5};
    size_t size = sizeof(prepare);
    struct ane_program_args *args;
    bool good;

    if (ane_surface_create(0, IMAGE_BYTES, &create.surface))
        return said(kIOReturnNoMemory, "making a surface");
    args = ane_surface_base(create.surface);
    *args = (struct ane_program_args){.representation = ANE_PROGRAM_LEGACY, .version = 1, .procedures = 1, .qos = 21, .flags = 0x10};
    args->image_size = tool_sample_image((uint8_t *)args + ANE_PROGRAM_IMAGE, IMAGE_BYTES - ANE_PROGRAM_IMAGE);
    create.size = ANE_PROGRAM_IMAGE + args->image_size;
    good = said(IOConnectCallMethod(c->connect, 3, NULL, 0, &create, sizeof(create), NULL, NULL, NULL, NULL), "program create");
    prepare.token = c->request.token = args->token;
    ane_surface_release(create.surface);
    return good && said(IOConnectCallMethod(c->connect, 4, NULL, 0, &prepare, sizeof(prepare), NULL, NULL, &prepare, &size),
                        "program prepare");
}

static bool open_client(struct client *c)
{
    struct ane_machine_config config = {.size = sizeof(config), .firmware = 1};
    struct ane_device_info info = {.token = ANE_USAGE_STANDARD, .timeout = 0x2710};
    size_t size = sizeof(info);

    if (ane_machine_create(&config, &c->machine)) {
        tool_say("%s", ane_machine_error());
        return false;
    }
    if (!said(IOServiceOpen(ane_machine_service(c->machine), 0, ANE_CLIENT_CONTROL, &c->connect), "opening the device") ||
        !said(IOConnectCallMethod(c->connect, 0, NULL, 0, &info, sizeof(info), NULL, NULL, &info, &size), "device open") ||
        !create_program(c))
        return false;
    c->request.priority = 5;
    c->request.qos = 21;
    c->request.category = 2;
    c->request.inputs = 2;
    c->request.outputs = 1;
    for (unsigned i = 0; i < 3; i++)
        if (ane_surface_create(0, TOOL_SAMPLE_BYTES, &c->request.surface[i]))
            return said(kIOReturnNoMemory, "making a surface");
    return true;
}

static bool dispatch(struct client *c)
{
    const uint64_t doorbell = 7;
    struct ane_request_reply reply;
    size_t size = sizeof(reply);
    IOReturn status =
        IOConnectCallMethod(c->connect, 2, &doorbell, 1, &c->request, sizeof(c->request), NULL, NULL, &reply, &size);

    c->request.sequence++;
    return !status || said(status, "a request");
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

struct result {
    uint32_t count;
    uint32_t p10, p50, p90;
    struct ane_machine_profile profile;
};

static bool measure(struct client *c, uint32_t *times, struct result *r)
{
    for (unsigned i = 0; i < WARM_UP; i++)
        if (!dispatch(c))
            return false;
    for (uint32_t i = 0; i < r->count; i++) {
        uint64_t before = now_ns();

        if (!dispatch(c))
            return false;
        times[i] = (uint32_t)(now_ns() - before);
    }
    qsort(times, r->count, sizeof(*times), by_size);
    r->p10 = times[r->count / 10];
    r->p50 = times[r->count / 2];
    r->p90 = times[r->count - 1 - r->count / 10];
    ane_machine_profile(c->machine, 1, NULL);
    for (uint32_t i = 0; i < r->count / 10 + 1; i++)
        if (!dispatch(c))
            return false;
    ane_machine_profile(c->machine, 0, &r->profile);
    return true;
}

static void print_table(const struct result *r)
{
    printf("warm dispatch, %u requests: p10 %.2f us, p50 %.2f us, p90 %.2f us wall time\n\n", r->count, r->p10 / 1e3, r->p50 / 1e3,
           r->p90 / 1e3);
    printf("  %-20s %12s %14s\n", "stage", "wall ns", "virtual ns");
    for (unsigned i = 0; i < ANE_STAGES; i++)
        printf("  %-20s %12.0f %14.0f\n", ane_machine_stage_name(i), (double)r->profile.wall_ns[i] / (double)r->profile.requests,
               (double)r->profile.virtual_ns[i] / (double)r->profile.requests);
}

static void print_json(const struct result *r)
{
    struct json json;

    json_begin(&json, stdout);
    json_number(&json, "count", r->count);
    json_object(&json, "latency_ns");
    json_number(&json, "p10", r->p10);
    json_number(&json, "p50", r->p50);
    json_number(&json, "p90", r->p90);
    json_object_end(&json);
    json_array(&json, "stages");
    for (unsigned i = 0; i < ANE_STAGES; i++) {
        json_object(&json, NULL);
        json_string(&json, "name", ane_machine_stage_name(i));
        json_number(&json, "wall_ns", r->profile.wall_ns[i] / r->profile.requests);
        json_number(&json, "virtual_ns", r->profile.virtual_ns[i] / r->profile.requests);
        json_object_end(&json);
    }
    json_array_end(&json);
    json_end(&json);
}

int tool_bench(int argc, char **argv)
{
    bool as_json = false, good;
    const char *count_word = NULL, *what;
    const struct tool_option options[] = {{"json", &as_json, NULL}, {"count", NULL, &count_word}, {0}};
    struct client client = {0};
    struct result result = {.count = COUNT_DEFAULT};
    uint32_t *times;
    unsigned words;

    if (!tool_words(argc, argv, options, &what, 1, &words))
        return TOOL_USAGE;
    if (words != 1 || strcmp(what, "dispatch")) {
        fputs(tool_bench_help, stderr);
        return TOOL_USAGE;
    }
    if (count_word)
        result.count = (uint32_t)strtoul(count_word, NULL, 0);
    if (result.count < 10 || result.count > COUNT_MAX) {
        tool_say("--count takes a number from 10 to %u.", COUNT_MAX);
        return TOOL_USAGE;
    }
    times = base_alloc_array(result.count, sizeof(*times));
    good = times && open_client(&client) && measure(&client, times, &result);
    if (good && as_json)
        print_json(&result);
    else if (good)
        print_table(&result);
    ane_machine_destroy(client.machine);
    base_free(times);
    return good ? TOOL_OK : TOOL_FAILURE;
}
