/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `anemone demo`: the whole machine for a newcomer. It boots, keeps a state on the engine across dispatches,
 * runs the small network of the guide's chapter 2, shows where the time of one dispatch goes, and reads
 * digits.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <anemone/iokit.h>

#include "protocol/controller.h"
#include "protocol/trace.h"
#include "tool/demo.h"
#include "tool/model.h"
#include "tool/stages.h"
#include "tool/tool.h"

const char tool_demo_help[] =
    "anemone demo [--bare] [--core native|emulated] [--trace]\n\n"
    "Boots the machine and shows its handshakes, keeps an accumulator on the engine across four\n"
    "dispatches, runs a small network (3x3 convolution, relu, mean) and checks it, shows where the time\n"
    "of a dispatch goes, and reads handwritten digits. Leaves no files behind.\n\n"
    "  --bare       only the silicon: a page table, one assembled descriptor, a task queue\n"
    "  --core CORE  emulated: executes the firmware's image; native (default): as it was compiled in\n"
    "  --trace      also every event of the machine, on stderr\n";

#define STEPS        4
#define DISPATCHES   1000u
#define COMMANDS_MAX 16u
#define NAME_BYTES   48u

/* What the boot says, picked from the trace. */
struct boot {
    unsigned wakes;
    uint64_t first, second, done, ready, last;
    unsigned commands;
    char command[COMMANDS_MAX][NAME_BYTES];
};

static void echo_line(void *context, const char *line, size_t length)
{
    (void)context;
    fwrite(line, 1, length, stderr);
}

static void note_scratch(struct boot *boot, uint64_t ns, uint64_t number, uint64_t value)
{
    if (number == 7 && value == PR_HANDSHAKE_WAKE) {
        *(boot->wakes ? &boot->second : &boot->first) = ns;
        boot->wakes++;
    }
    if (number == 3 && value == PR_HANDSHAKE_DONE)
        boot->done = ns;
}

static void note_command(struct boot *boot, uint64_t ns, const struct pr_trace_value *name)
{
    boot->last = ns;
    if (boot->commands < COMMANDS_MAX)
        snprintf(boot->command[boot->commands++], NAME_BYTES, "%.*s", (int)name->length, name->text);
}

static void take_record(void *context, const void *bytes, size_t length)
{
    struct boot *boot = context;
    struct pr_trace_record record;
    size_t taken;

    if (!pr_trace_decode(bytes, length, &record, &taken, NULL))
        return;
    if (record.event == PR_TRACE_DRV_BOOT_COMMAND)
        note_command(boot, record.ns, &pr_trace_at(&record, DRV_BOOT_COMMAND, name));
    else if (record.event == PR_TRACE_DRV_READY)
        boot->ready = record.ns;
    else if (!boot->ready && record.event == PR_TRACE_ASC_SCRATCH &&
             pr_trace_text_is(&pr_trace_at(&record, ASC_SCRATCH, by), "controller"))
        note_scratch(boot, record.ns, pr_trace_at(&record, ASC_SCRATCH, number).number,
                     pr_trace_at(&record, ASC_SCRATCH, value).number);
}

/* A machine of its own, because tracing costs time that would be seen in the last part. */
static bool boot_machine(struct boot *boot, uint32_t core)
{
    struct ane_machine_config config = {.size = sizeof(config),
                                        .firmware = 1,
                                        .core = core,
                                        .trace = 1,
                                        .trace_record_fn = take_record,
                                        .trace_context = boot};
    struct ane_machine *machine;

    if (ane_machine_create(&config, &machine)) {
        tool_say("%s", ane_machine_error());
        return false;
    }
    ane_machine_destroy(machine);
    printf("1. Boot: the driver maps seven apertures, lets the controller go, and they shake hands\n\n");
    printf("  %8.1f us  scratch 7, first wake: the controller is alive\n", (double)boot->first / 1e3);
    printf("  %8.1f us  scratch 7, second wake: the channel table is published\n",
           (double)boot->second / 1e3);
    printf("  %8.1f us  scratch 3 acknowledged: channels are ready\n", (double)boot->done / 1e3);
    printf("  %8.1f us  interrupts are on, commands may be sent\n", (double)boot->ready / 1e3);
    printf("  %8.1f us  the last of %u commands is sent:", (double)boot->last / 1e3, boot->commands);
    for (unsigned i = 0; i < boot->commands; i++)
        printf("%s %s", i % 3 ? "," : i ? ",\n              " : "\n              ", boot->command[i]);
    printf("\n  (virtual time)\n\n");
    return boot->wakes == 2 && boot->done && boot->ready && boot->commands;
}

static void put_fp16(void *to, float value, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        tool_convert_float(TOOL_FP16, (uint8_t *)to + 2 * i, TOOL_FP32, &value, 1);
}

static float half_at(const void *from, unsigned index)
{
    float value;

    tool_convert_float(TOOL_FP32, &value, TOOL_FP16, (const uint8_t *)from + 2 * index, 1);
    return value;
}

/* Listing 2.3: one buffer at the port that writes the state and at the port that reads it. */
static bool bind_state(struct tool_model *model, void **state)
{
    struct tool_port *in = tool_model_port(model, false, "state_in", 8);
    e5rt_io_port_t port = NULL;
    bool good;

    if (!in) {
        tool_say("the accumulator has lost its port.");
        return false;
    }
    *state = in->data;
    good = tool_e5rt_said(e5rt_execution_stream_reset(model->stream), "accumulator") &&
           tool_e5rt_said(
               e5rt_execution_stream_operation_retain_output_port(model->operation, "state_out", &port),
               "accumulator") &&
           tool_e5rt_said(e5rt_io_port_bind_buffer_object(port, in->buffer), "accumulator");
    if (port)
        e5rt_io_port_release(&port);
    return good;
}

static bool step(struct tool_model *model)
{
    return tool_e5rt_said(e5rt_execution_stream_operation_prepare_op_for_encode(model->operation),
                          "accumulator") &&
           tool_e5rt_said(e5rt_execution_stream_encode_operation(model->stream, model->operation),
                          "accumulator") &&
           tool_e5rt_said(e5rt_execution_stream_execute_sync(model->stream), "accumulator") &&
           tool_e5rt_said(e5rt_execution_stream_reset(model->stream), "accumulator");
}

static bool accumulate(struct tool_model *model)
{
    struct tool_port *x = tool_model_port(model, false, "x", 1);
    void *state;

    if (!x || !bind_state(model, &state))
        return false;
    put_fp16(state, 0, DEMO_STATE);
    put_fp16(x->data, 1, DEMO_STATE);
    printf("2. A resident state: state_out = state_in + x, one buffer at both ports, "
           "the state is not sent again\n\n"
           "  state after each dispatch:");
    for (int i = 1; i <= STEPS; i++) {
        if (!step(model))
            return false;
        printf(" %g", (double)half_at(state, 0));
        for (unsigned at = 0; at < DEMO_STATE; at++)
            if (half_at(state, at) != (float)i) {
                printf("\n");
                tool_say("element %u is %g after step %d.", at, (double)half_at(state, at), i);
                return false;
            }
    }
    printf("\n\n");
    return true;
}

static bool judge_network(const struct tool_port *y)
{
    printf("  channel means:");
    for (unsigned i = 0; i < DEMO_CHANNELS; i++)
        printf(" %g", (double)half_at(y->data, i));
    printf("\n");
    for (unsigned i = 0; i < DEMO_CHANNELS; i++) {
        float exact = (float)tool_demo_expected(i) / DEMO_PIXELS, wanted;
        uint16_t rounded;

        tool_convert_float(TOOL_FP16, &rounded, TOOL_FP32, &exact, 1);
        tool_convert_float(TOOL_FP32, &wanted, TOOL_FP16, &rounded, 1);
        if (half_at(y->data, i) != wanted) {
            tool_say("channel %u is %g and should be %g.", i, (double)half_at(y->data, i), (double)wanted);
            return false;
        }
    }
    printf("  equal, bit for bit, to sums of whole numbers computed by this command\n\n");
    return true;
}

static bool infer(struct tool_model *model, struct ane_machine *machine)
{
    struct tool_port *x = tool_model_port(model, false, "x", 1), *y = tool_model_port(model, true, "y", 1);
    struct tool_stages stages;

    if (!x || !y)
        return false;
    for (unsigned i = 0; i < DEMO_CHANNELS * DEMO_PIXELS; i++)
        put_fp16((uint8_t *)x->data + 2 * i,
                 (float)tool_demo_input(i / DEMO_PIXELS, i % DEMO_PIXELS / DEMO_SIDE, i % DEMO_SIDE), 1);
    printf("3. The network of chapter 2: 3x3 convolution from 8 channels to 8, relu, mean over 16x16\n\n");
    if (!tool_model_run(model) || !judge_network(y))
        return false;
    if (!tool_stages_measure(machine, 0, tool_model_run, model, DISPATCHES, &stages))
        return false;
    printf("4. Where one dispatch goes (%u of them: p50 %.1f us wall time)\n\n", DISPATCHES, stages.p50);
    tool_stages_print(&stages);
    return true;
}

static bool show(const struct tool_demo_models *models, uint32_t core, bool trace)
{
    struct ane_machine_config config = {.size = sizeof(config),
                                        .firmware = 1,
                                        .core = core,
                                        .timing = ANE_TIMING_M1,
                                        .trace = trace,
                                        .trace_fn = trace ? echo_line : NULL};
    static struct tool_model model;
    struct boot boot = {0};
    struct ane_machine *machine;
    bool good;

    if (!boot_machine(&boot, core))
        return false;
    if (ane_machine_default(&config, &machine)) {
        tool_say("%s", ane_machine_error());
        return false;
    }
    good = tool_model_open(models->accumulator, false, &model) && accumulate(&model);
    tool_model_close(&model);
    if (!good)
        return false;
    good = tool_model_open(models->network, false, &model) && infer(&model, machine);
    tool_model_close(&model);
    return good && tool_demo_digits(models->folder);
}

int tool_demo(int argc, char **argv)
{
    bool trace = false, bare = false, good;
    const char *core = "native";
    const struct tool_option options[] = {
        {"trace", &trace, NULL}, {"bare", &bare, NULL}, {"core", NULL, &core}, {0}};
    struct tool_demo_models models;
    unsigned count;

    if (!tool_words(argc, argv, options, NULL, 0, &count))
        return TOOL_USAGE;
    if (ane_core_named(core) < 0) {
        tool_say("--core: there is no core %s; %s are known.", core, ANE_CORE_NAMES);
        return TOOL_USAGE;
    }
    /* It shows a machine from its boot on, so it has one of its own also where a service runs. */
    if (setenv("ANEMONE_SERVICE", "none", 1))
        return TOOL_FAILURE;
    if (bare)
        return tool_demo_bare(trace ? echo_line : NULL);
    good = tool_demo_models_write(&models);
    if (good) {
        /* What it compiles goes when the demo goes. */
        setenv("XDG_CACHE_HOME", models.folder, 1);
        good = show(&models, (uint32_t)ane_core_named(core), trace);
    }
    tool_demo_models_remove(&models);
    return good ? TOOL_OK : TOOL_FAILURE;
}
