/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `anemone bench`: what a dispatch costs here, layer by layer; and what the model says the M1 takes. `add` is
 * sent by selectors alone and `network` through the runtime, so their difference includes the runtime.
 * stages.c measures whole calls and stages in separate runs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <anemone/iokit.h>

#include "protocol/timing.h"
#include "tool/bench.h"
#include "tool/bench_served.h"
#include "tool/demo.h"
#include "tool/model.h"
#include "tool/sample.h"
#include "tool/stages.h"
#include "tool/tool.h"

const char tool_bench_help[] =
    "anemone bench dispatch [--count N] [--timing m1|none] [--embedded-only] [--json]\n"
    "anemone bench threads [--json]\n"
    "anemone bench accel [--count N] [--json]\n"
    "anemone bench m1 [--json]\n"
    "anemone bench network MODEL [--descriptors] [--count N] [--threads N] [--numerics POLICY] [--json]\n\n"
    "dispatch measures warm dispatches on this host through every layer, N times each (100,000 unless\n"
    "given; 10 at least):\n\n"
    "  add       a descriptor that adds two small tensors, sent by selector 2 without the runtime\n"
    "  network   the tiny network of the guide's chapter 2 (3x3 convolution from 8 channels to 8, relu,\n"
    "            mean over 16x16), through the runtime\n\n"
    "It shows the whole call as percentiles of wall time, and how it divides: binding and casts, driver\n"
    "submit, firmware take, engine, firmware complete, driver complete. The stages are measured in a\n"
    "second run, because reading the clock at every boundary costs time itself. Virtual time is what\n"
    "the model computes, not what this host took; with --timing m1 it passes as a dispatch takes it on\n"
    "an M1 (none is the default, because the events of the clock for it take wall time).\n\n"
    "Then it starts a service in a folder of its own (anemone serve) and measures `add` from other\n"
    "processes: on a direct-path connection and through the broker, warm and after a second without a\n"
    "dispatch, beside the same on a machine of its own; and how many dispatches a second 1, 2, 4, 8 and 16\n"
    "client processes get together, of `add` and of a convolution of about a millisecond (`work`, through\n"
    "the runtime). --embedded-only leaves this part out. (`bench client` is one of these processes; it is\n"
    "of no use by itself.)\n\n"
    "threads sends the request of `add` with timing m1 and one request in the firmware at a time, from\n"
    "one thread and from two, and prints what two gain in virtual time beside what was measured on an M1.\n\n"
    "accel sends a request that adds two small tensors, N times (20,000 unless given), as programs of the\n"
    "Linux driver do: by a driver on machine.h in this process, from a process with the preloaded library,\n"
    "and from one under `anemone accel`; and measures what an open and a stat of another file take there.\n"
    "(`bench submit` is such a process; it is of no use by itself.)\n\n"
    "m1 prints, for published latencies of convolutions and matrix products on M1 machines, what the\n"
    "cost model behind virtual time gives, row by row, and the median error. Its constants are published\n"
    "ones and none of them was fitted to a row of the table.\n\n"
    "network runs a model (.onnx, .mil or a bundle) with made-up inputs through the runtime, N times (100\n"
    "unless given, 10 seconds at most), and prints the shortest and the median run, and what compiling,\n"
    "loading and the first run took; with --descriptors the wall time of each descriptor, longest first,\n"
    "with its multiply-accumulates or bytes a second.\n\n"
    "  anemone bench dispatch --count 10000\n"
    "  anemone bench network net.onnx --descriptors\n";

#define COUNT_DEFAULT 100000u
#define COUNT_ACCEL   20000u
#define COUNT_NETWORK 100u
#define IMAGE_BYTES   (256u << 10)

static bool said(IOReturn status, const char *what)
{
    if (!status)
        return true;
    tool_say("%s failed with 0x%x. %s", what, (unsigned)status, ane_machine_error());
    return false;
}

static bool create_program(struct tool_bench_client *c)
{
    struct ane_program_create create = {.size = IMAGE_BYTES};
    struct ane_program_prepare prepare = {.qos = ANE_REQUEST_QOS, .priority = ANE_REQUEST_PRIORITY};
    size_t size = sizeof(prepare);
    struct ane_program_args *args;
    bool good;

    if (ane_surface_create(0, IMAGE_BYTES, &create.surface))
        return said(kIOReturnNoMemory, "making a surface");
    args = ane_surface_base(create.surface);
    if (!args)
        return said(kIOReturnNoMemory, "reaching a surface");
    *args = (struct ane_program_args){.representation = ANE_PROGRAM_LEGACY,
                                      .version = ANE_PROGRAM_ARGS_VERSION,
                                      .procedures = 1,
                                      .qos = ANE_REQUEST_QOS,
                                      .flags = ANE_PROGRAM_ARGS_FLAGS};
    args->image_size =
        tool_sample_image((uint8_t *)args + ANE_PROGRAM_IMAGE, IMAGE_BYTES - ANE_PROGRAM_IMAGE);
    create.size = ANE_PROGRAM_IMAGE + args->image_size;
    good = said(IOConnectCallMethod(c->connect, ANE_CONTROL_ProgramCreate, NULL, 0, &create, sizeof(create),
                                    NULL, NULL, NULL, NULL),
                "program create");
    prepare.token = c->request.token = args->token;
    ane_surface_release(create.surface);
    return good && said(IOConnectCallMethod(c->connect, ANE_CONTROL_ProgramPrepare, NULL, 0, &prepare,
                                            sizeof(prepare), NULL, NULL, &prepare, &size),
                        "program prepare");
}

bool tool_bench_open(struct tool_bench_client *c, const struct ane_machine_config *config)
{
    struct ane_device_info info = {.token = ANE_USAGE_STANDARD, .timeout = ANE_TIMEOUT_MS};
    size_t size = sizeof(info);

    if (ane_machine_create(config, &c->machine)) {
        tool_say("%s", ane_machine_error());
        return false;
    }
    if (!said(IOServiceOpen(ane_machine_service(c->machine), 0, ANE_CLIENT_CONTROL, &c->connect),
              "opening the device") ||
        !said(IOConnectCallMethod(c->connect, ANE_CONTROL_DeviceOpen, NULL, 0, &info, sizeof(info), NULL,
                                  NULL, &info, &size),
              "device open") ||
        !create_program(c))
        return false;
    c->request.priority = ANE_REQUEST_PRIORITY;
    c->request.qos = ANE_REQUEST_QOS;
    c->request.category = ANE_REQUEST_CATEGORY;
    c->request.inputs = 2;
    c->request.outputs = 1;
    for (unsigned i = 0; i < 3; i++)
        if (ane_surface_create(0, TOOL_SAMPLE_BYTES, &c->request.surface[i]))
            return said(kIOReturnNoMemory, "making a surface");
    return true;
}

bool tool_bench_send(void *context)
{
    struct tool_bench_client *c = context;
    const uint64_t doorbell = ANE_REQUEST_DOORBELL;
    struct ane_request_reply reply;
    size_t size = sizeof(reply);
    IOReturn status = IOConnectCallMethod(c->connect, ANE_CONTROL_ProgramSendRequest, &doorbell, 1,
                                          &c->request, sizeof(c->request), NULL, NULL, &reply, &size);

    c->request.sequence++;
    return !status || said(status, "a request");
}

/* The raw request, on a machine of its own. */
static bool measure_add(uint32_t count, uint32_t timing, struct tool_stages *stages)
{
    const struct ane_machine_config config = {.size = sizeof(config), .firmware = 1, .timing = timing};
    struct tool_bench_client client = {0};
    bool good = tool_bench_open(&client, &config);

    for (unsigned i = 0; good && i < TOOL_BENCH_WARM_UP; i++)
        good = tool_bench_send(&client);
    good = good && tool_stages_measure(client.machine, timing ? 0 : PR_TIMING_METHOD_ADDS_NS, tool_bench_send,
                                       &client, count, stages);
    ane_machine_destroy(client.machine);
    return good;
}

/* The tiny network, on the default machine as any application has it. */
static bool measure_network(uint32_t count, uint32_t timing, struct tool_stages *stages)
{
    struct tool_demo_models models;
    struct ane_machine *machine;
    struct tool_model model = {0};
    bool good;

    if (!tool_demo_models_write(&models))
        return false;
    good = !ane_machine_default(NULL, &machine);
    if (!good)
        tool_say("%s", ane_machine_error());
    good = good && tool_model_open(models.network, false, &model);
    for (unsigned i = 0; good && i < TOOL_BENCH_WARM_UP; i++)
        good = tool_model_run(&model);
    good = good && tool_stages_measure(machine, timing ? 0 : PR_TIMING_CALL_ADDS_NS, tool_model_run, &model,
                                       count, stages);
    tool_model_close(&model);
    tool_demo_models_remove(&models);
    return good;
}

static void print_table(const char *name, const struct tool_stages *s)
{
    printf("%s: p10 %.2f us, p50 %.2f us, p90 %.2f us wall time\n\n", name, s->p10, s->p50, s->p90);
    printf("  %-20s %12s %14s\n", "stage", "wall us", "virtual us");
    for (unsigned i = 0; i < TOOL_STAGES; i++)
        printf("  %-20s %12.3f %14.3f\n", tool_stage_name(i), s->wall_us[i], s->virtual_us[i]);
    printf("\n");
}

static void print_json(uint32_t count, const struct tool_stages *add, const struct tool_stages *network,
                       const struct tool_served *served)
{
    struct json json;

    json_begin(&json, stdout);
    json_number(&json, "count", count);
    json_object(&json, "add");
    tool_stages_json(&json, add);
    json_object_end(&json);
    json_object(&json, "network");
    tool_stages_json(&json, network);
    json_object_end(&json);
    if (served) {
        json_object(&json, "service");
        tool_served_json(&json, served);
        json_object_end(&json);
    }
    json_end(&json);
}

/* The default machine, too, has it from the environment. */
static bool take_timing(const char *given, uint32_t *timing)
{
    const char *word = given ? given : getenv("ANEMONE_TIMING");
    int named = word && word[0] ? ane_timing_named(word) : ANE_TIMING_NONE;

    if (named < 0) {
        tool_say("%s: there is no timing %s; %s are known.", given ? "--timing" : "ANEMONE_TIMING", word,
                 ANE_TIMING_NAMES);
        return false;
    }
    *timing = (uint32_t)named;
    return !given || !setenv("ANEMONE_TIMING", given, 1);
}

static int dispatch(uint32_t count, uint32_t timing, bool embedded_only, bool as_json)
{
    struct tool_stages add, network;
    struct tool_served served;

    /* The machine of this process is measured, also where a service runs. */
    if (setenv("ANEMONE_SERVICE", "none", 1) || !measure_add(count, timing, &add) ||
        !measure_network(count, timing, &network) || (!embedded_only && !tool_served_measure(count, &served)))
        return TOOL_FAILURE;
    if (as_json) {
        print_json(count, &add, &network, embedded_only ? NULL : &served);
        return TOOL_OK;
    }
    print_table("add, selector 2", &add);
    print_table("network of chapter 2, through the runtime", &network);
    if (!embedded_only)
        tool_served_print(&served);
    return TOOL_OK;
}

/* `bench network` has words and options of its own. */
static int network(int argc, char **argv)
{
    struct tool_bench_network asked = {.count = COUNT_NETWORK, .threads = 1};
    const char *count = NULL, *threads = NULL, *numerics = NULL, *words[2] = {NULL, NULL};
    const struct tool_option options[] = {
        {"json", &asked.as_json, NULL}, {"descriptors", &asked.descriptors, NULL},
        {"count", NULL, &count},        {"threads", NULL, &threads},
        {"numerics", NULL, &numerics},  {0}};
    unsigned given;
    int policy;

    if (!tool_words(argc, argv, options, words, 2, &given))
        return TOOL_USAGE;
    if (given != 2) {
        fputs(tool_bench_help, stderr);
        return TOOL_USAGE;
    }
    policy = ane_numerics_named(numerics ? numerics : "m1");
    if (policy < 0) {
        tool_say("--numerics: there is no numeric policy %s; %s are known.", numerics, ANE_NUMERICS_NAMES);
        return TOOL_USAGE;
    }
    asked.numerics = (uint32_t)policy;
    asked.model = words[1];
    if ((count && !tool_number("--count", count, 1, TOOL_REPEAT_MAX, &asked.count)) ||
        (threads && !tool_number("--threads", threads, 1, ANE_THREADS_MAX, &asked.threads)))
        return TOOL_USAGE;
    return tool_bench_network(&asked);
}

/* Its name is among the words, before or after options. */
static bool is_network(int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        if (!strcmp(argv[i], "network"))
            return true;
    return false;
}

int tool_bench(int argc, char **argv)
{
    bool as_json = false, embedded_only = false;
    const char *count_word = NULL, *timing_word = NULL, *image = NULL, *way = NULL, *time_word = NULL;
    const char *what = "";
    const struct tool_option options[] = {{"json", &as_json, NULL},
                                          {"embedded-only", &embedded_only, NULL},
                                          {"count", NULL, &count_word},
                                          {"timing", NULL, &timing_word},
                                          {"image", NULL, &image},
                                          {"way", NULL, &way},
                                          {"milliseconds", NULL, &time_word},
                                          {0}};
    uint32_t count, milliseconds = 0, timing;
    bool plain, is_client, is_submit, is_accel;
    unsigned words;

    if (is_network(argc, argv))
        return network(argc, argv);
    if (!tool_words(argc, argv, options, &what, 1, &words))
        return TOOL_USAGE;
    is_client = !strcmp(what, "client");
    is_submit = !strcmp(what, "submit") && !image && !time_word && !timing_word && !embedded_only;
    is_accel = !strcmp(what, "accel") && !image && !way && !time_word && !timing_word && !embedded_only;
    plain = !count_word && !timing_word && !embedded_only && !image && !way && !time_word;
    if (!strcmp(what, "m1") && plain) {
        tool_bench_m1(as_json);
        return TOOL_OK;
    }
    if (!strcmp(what, "threads") && plain)
        return tool_bench_threads(as_json) ? TOOL_OK : TOOL_FAILURE;
    if (!is_client && !is_submit && !is_accel &&
        (strcmp(what, "dispatch") != 0 || image || way || time_word)) {
        fputs(tool_bench_help, stderr);
        return TOOL_USAGE;
    }
    count = is_accel || is_submit ? COUNT_ACCEL : COUNT_DEFAULT;
    if (count_word && !tool_number("--count", count_word, TOOL_BENCH_COUNT_MIN, TOOL_REPEAT_MAX, &count))
        return TOOL_USAGE;
    if (time_word && !tool_number("--milliseconds", time_word, 0, TOOL_BENCH_MS_MAX, &milliseconds))
        return TOOL_USAGE;
    if (is_submit)
        return tool_bench_submit(way, count);
    if (is_accel)
        return tool_bench_accel(count, as_json) ? TOOL_OK : TOOL_FAILURE;
    if (is_client)
        return tool_bench_client(image, way, count, milliseconds);
    if (!take_timing(timing_word, &timing))
        return TOOL_USAGE;
    return dispatch(count, timing, embedded_only, as_json);
}
