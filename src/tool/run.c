/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `anemone run`: a model, tensors in, tensors out. Everything that can be wrong with the words, the inputs
 * and the names of outputs is reported before the first dispatch; outputs are written only after the last
 * one. The struct of the run is static because the default machine outlives the verb and refers to its trace.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <anemone/broker.h>

#include "base/alloc.h"
#include "protocol/timing.h"
#include "tool/binding.h"
#include "tool/fault.h"
#include "tool/image_input.h"
#include "tool/latency.h"
#include "tool/model.h"
#include "tool/ranking.h"
#include "tool/stages.h"
#include "tool/tensor.h"
#include "tool/tool.h"
#include "trace/file.h"

const char tool_run_help[] =
    "anemone run MODEL --input NAME=FILE.npy ... --output NAME=FILE.npy ...\n"
    "anemone run MODEL --image PICTURE [--labels FILE] [--top N] ...\n"
    "            [--shape NAME=1,3,224,224] [--bind NAME=FILE.npy] [--allow-fallback]\n"
    "            [--weights fp16|int8|palette4|sparse]\n"
    "            [--repeat N] [--numerics m1|m1-exact|ieee] [--winograd on|off] [--threads N]\n"
    "            [--core native|emulated] [--firmware FILE] [--timing m1|none] [--trace FILE] [--json]\n\n"
    "Runs a model, writes its outputs, and shows what a classifier says. MODEL is a .mil or .onnx file, a\n"
    "bundle or a compiled program (.hwx or .anec, whose ports are x0, x1, ... and y0, y1, ...). Tensors are\n"
    ".npy files of fp16, fp32, uint8, int8 or bool, in C order, of the port's shape (with or without its\n"
    "ones); they are converted to the port's type, without loss when that is an integer.\n\n"
    "  --input NAME=FILE   once for every input of the model; - is stdin\n"
    "  --output NAME=FILE  for each output that is wanted; - is stdout\n"
    "  --image FILE        a PNG or JPEG for the only input that is left; NAME=FILE for the input NAME\n"
    "  --fit FIT           stretch (default): all of the picture; crop: its centre, in proportion\n"
    "  --range RANGE       what white becomes, before mean and std: 1 (default; 255 for integers) or 255\n"
    "  --mean M[,M,M]      subtracted, for all channels or for each, in the input's order; 0\n"
    "  --std S[,S,S]       then divided by; 1\n"
    "  --layout LAYOUT     auto (default: by the input's shape), nchw or nhwc\n"
    "  --bgr               blue first\n" TOOL_BINDINGS_HELP
    "  --weights FORM      fp16 (default), int8, palette4 or sparse; see anemone compile --help\n"
    "  --allow-fallback    what the engine cannot run, the host computes, between programs of the engine;\n"
    "                      without it such a model is refused\n"
    "  --labels FILE       one name per class, a line each\n"
    "  --top N             the N largest values of the output that has one per class, with bars; 5 with\n"
    "                      --image or --labels\n"
    "  --repeat N          dispatches N times and measures: compiling, loading, the first dispatch, and the\n"
    "                      warm ones after it, apart; the outputs are those of the last\n"
    "  --numerics POLICY   m1 (default): the engine's edges; ieee: without them; m1-exact: with the\n"
    "                      engine's accumulator too, slow\n"
    "  --winograd SETTING  on (default): m1 computes convolutions of 3x3 by Winograd's algorithm where that\n"
    "                      is faster; off: always by the chain\n"
    "  --threads N         worker threads of the engine, 1 to 64; results do not depend on it\n"
    "  --core CORE         native (default): the firmware as it was compiled into the library; emulated:\n"
    "                      its image, executed on an emulated AArch64 core, slower\n"
    "  --firmware FILE     another firmware image, for the emulated core\n"
    "  --timing TIMING     m1 (default): virtual time passes as a dispatch takes it on an M1; none: only\n"
    "                      the engine's cost and the delays of interrupts\n"
    "  --trace FILE        every event of the machine; FILE.json opens in a trace viewer, FILE.bin is\n"
    "                      read by `anemone trace`\n"
    "  --json              what happened, with compile_ms, load_ms, first_dispatch_us, latency_us (of the\n"
    "                      warm dispatches; of the only one without --repeat), stages, m1_estimate_us\n\n"
    "ANEMONE_NUMERICS, ANEMONE_WINOGRAD, ANEMONE_THREADS, ANEMONE_CORE, ANEMONE_FIRMWARE, ANEMONE_TIMING\n"
    "and ANEMONE_TRACE are used for options that are not given.\n\n"
    "Where a service runs (anemone serve) the model runs there, and options about the machine are refused;\n"
    "ANEMONE_SERVICE=none in the environment gives the run a machine of its own.\n\n"
    "  anemone run net.mil --input x=in.npy --output y=out.npy --repeat 100 --json\n"
    "  anemone run net.onnx --image cat.png --labels names.txt --mean 0.485,0.456,0.406 --std "
    "0.229,0.224,0.225\n";

#define SHAPE_TEXT 128u

/* NAME=FILE, as given. */
struct binding {
    const char *name, *file;
    size_t length; /* of the name */
};

struct bindings {
    unsigned count;
    struct binding row[TOOL_MODEL_PORTS_MAX];
};

struct run {
    bool as_json;
    bool fallback; /* host segments are allowed */
    uint32_t repeat;
    struct bindings in, out;
    struct tool_bindings given; /* of the model's inputs, before it is compiled */
    struct tool_image_input image;
    uint32_t top;            /* 0: no ranking */
    const char *labels_file; /* NULL: none */
    struct tool_labels labels;
    bool ranked;
    struct tool_ranking ranking;
    struct ane_machine_config config;
    struct ane_machine *machine;
    const char *own_option; /* one that concerns a machine of this process; NULL: none is given */
    const char *service;    /* that serves this process; NULL: it has a machine of its own */
    struct trace_file trace;
    struct tool_model model;
    double first_us;           /* wall time of the first dispatch */
    struct tool_stages stages; /* of the warm ones; in a served process the percentiles alone */
};

static bool add_binding(struct bindings *bindings, const char *option, const char *word)
{
    const char *equals = strchr(word, '=');

    if (!equals || equals == word || !equals[1]) {
        tool_say("--%s takes NAME=FILE, not %s.", option, word);
        return false;
    }
    if (bindings->count == TOOL_MODEL_PORTS_MAX) {
        tool_say("more than %u times --%s.", TOOL_MODEL_PORTS_MAX, option);
        return false;
    }
    bindings->row[bindings->count++] = (struct binding){word, equals + 1, (size_t)(equals - word)};
    return true;
}

/* Takes the words of --input or --output, as far as `--`, out of argv. */
static bool take_bindings(int *argc, char **argv, const char *option, struct bindings *bindings)
{
    size_t length = strlen(option);
    bool ended = false;
    int kept = 0;

    for (int i = 0; i < *argc; i++) {
        const char *word = argv[i];

        ended = ended || !strcmp(word, "--");
        if (ended || strncmp(word, "--", 2) != 0 || strncmp(word + 2, option, length) != 0 ||
            (word[length + 2] && word[length + 2] != '=')) {
            argv[kept++] = argv[i];
        } else if (word[length + 2]) {
            if (!add_binding(bindings, option, word + length + 3))
                return false;
        } else if (i + 1 == *argc) {
            tool_say("--%s needs a value.", option);
            return false;
        } else if (!add_binding(bindings, option, argv[++i])) {
            return false;
        }
    }
    *argc = kept;
    return true;
}

/* An option, and the variable used when it is not given; an empty variable counts as unset. */
struct setting {
    const char *option, *variable; /* their names */
    const char *given;             /* with the option */
};

static const char *setting_value(const struct setting *setting)
{
    const char *value = setting->given ? setting->given : getenv(setting->variable);

    return setting->given || (value && value[0]) ? value : NULL;
}

/* The name that a message about the value begins with. */
static const char *setting_name(const struct setting *setting)
{
    return setting->given ? setting->option : setting->variable;
}

static bool take_numerics(const struct setting *setting, struct run *run)
{
    const char *value = setting_value(setting);
    int policy = value ? ane_numerics_named(value) : ANE_NUMERICS_M1;

    if (policy < 0) {
        tool_say("%s: there is no numeric policy %s; %s are known.", setting_name(setting), value,
                 ANE_NUMERICS_NAMES);
        return false;
    }
    run->config.numerics = (uint32_t)policy;
    return true;
}

static bool take_winograd(const struct setting *setting, struct run *run)
{
    const char *value = setting_value(setting);
    int winograd = value ? ane_winograd_named(value) : ANE_WINOGRAD_ON;

    if (winograd < 0) {
        tool_say("%s is %s; %s are known.", setting_name(setting), value, ANE_WINOGRAD_NAMES);
        return false;
    }
    run->config.winograd = (uint32_t)winograd;
    return true;
}

static bool take_core(const struct setting *setting, struct run *run)
{
    const char *value = setting_value(setting);
    int core = value ? ane_core_named(value) : ANE_CORE_NATIVE;

    if (core < 0) {
        tool_say("%s: there is no core %s; %s are known.", setting_name(setting), value, ANE_CORE_NAMES);
        return false;
    }
    run->config.core = (uint32_t)core;
    return true;
}

static bool take_timing(const struct setting *setting, struct run *run)
{
    const char *value = setting_value(setting);
    int timing = value ? ane_timing_named(value) : ANE_TIMING_M1;

    if (timing < 0) {
        tool_say("%s: there is no timing %s; %s are known.", setting_name(setting), value, ANE_TIMING_NAMES);
        return false;
    }
    run->config.timing = (uint32_t)timing;
    return true;
}

static bool take_threads(const struct setting *setting, struct run *run)
{
    const char *value = setting_value(setting);

    return !value || tool_number(setting_name(setting), value, 1, ANE_THREADS_MAX, &run->config.threads);
}

static const char *first_given(const struct setting *const *settings)
{
    while (*settings && !(*settings)->given)
        settings++;
    return *settings ? (*settings)->option : NULL;
}

static bool check_stdout(const struct run *run)
{
    for (unsigned i = 0; i < run->out.count; i++)
        if (run->as_json && !strcmp(run->out.row[i].file, "-")) {
            tool_say("--json and an output on stdout exclude each other.");
            return false;
        }
    return true;
}

/* Labels and a picture mean that the largest values are wanted. */
static bool take_ranking(struct run *run, const struct tool_image_words *image, const char *labels,
                         const char *top)
{
    if (!tool_image_input_take(image, &run->image) ||
        (top && !tool_number("--top", top, 1, TOOL_RANKING_MAX, &run->top)))
        return false;
    if (!run->top && (labels || image->image))
        run->top = TOOL_RANKING_DEFAULT;
    run->labels_file = labels;
    return true;
}

static bool take_words(struct run *run, int argc, char **argv, const char **model, const char **trace)
{
    struct setting numerics = {"--numerics", "ANEMONE_NUMERICS", NULL},
                   winograd = {"--winograd", "ANEMONE_WINOGRAD", NULL},
                   threads = {"--threads", "ANEMONE_THREADS", NULL}, core = {"--core", "ANEMONE_CORE", NULL},
                   firmware = {"--firmware", "ANEMONE_FIRMWARE", NULL},
                   timing = {"--timing", "ANEMONE_TIMING", NULL}, traced = {"--trace", "ANEMONE_TRACE", NULL};
    const struct setting *const own[] = {&numerics, &winograd, &threads, &core,
                                         &firmware, &timing,   &traced,  NULL};
    struct tool_image_words image = {0};
    const char *repeat = NULL, *labels = NULL, *top = NULL, *weights = NULL;
    const struct tool_option options[] = {{"json", &run->as_json, NULL},
                                          {"allow-fallback", &run->fallback, NULL},
                                          {"image", NULL, &image.image},
                                          {"fit", NULL, &image.fit},
                                          {"range", NULL, &image.range},
                                          {"mean", NULL, &image.mean},
                                          {"std", NULL, &image.std},
                                          {"layout", NULL, &image.layout},
                                          {"bgr", &image.bgr, NULL},
                                          {"labels", NULL, &labels},
                                          {"top", NULL, &top},
                                          {"repeat", NULL, &repeat},
                                          {"numerics", NULL, &numerics.given},
                                          {"winograd", NULL, &winograd.given},
                                          {"threads", NULL, &threads.given},
                                          {"core", NULL, &core.given},
                                          {"firmware", NULL, &firmware.given},
                                          {"timing", NULL, &timing.given},
                                          {"trace", NULL, &traced.given},
                                          {"weights", NULL, &weights},
                                          {0}};
    unsigned count;

    if (!tool_bindings_take(&argc, argv, &run->given) || !take_bindings(&argc, argv, "input", &run->in) ||
        !take_bindings(&argc, argv, "output", &run->out) ||
        !tool_words(argc, argv, options, model, 1, &count))
        return false;
    if (count != 1) {
        fputs(tool_run_help, stderr);
        return false;
    }
    if (!tool_weights_parse(weights, &run->given.weights))
        return false;
    run->own_option = run->fallback ? "--allow-fallback" : first_given(own);
    *trace = setting_value(&traced);
    run->config.firmware_image = setting_value(&firmware);
    return take_numerics(&numerics, run) && take_winograd(&winograd, run) && take_core(&core, run) &&
           take_timing(&timing, run) && check_stdout(run) && take_threads(&threads, run) &&
           take_ranking(run, &image, labels, top) &&
           (!repeat || tool_number("--repeat", repeat, 1, TOOL_REPEAT_MAX, &run->repeat));
}

static void say_ports(struct tool_model *model, bool output)
{
    char shape[SHAPE_TEXT];

    for (unsigned i = 0; i < model->ports; i++)
        if (model->port[i].output == output)
            tool_say("  %s %s %s %s", output ? "output" : "input", model->port[i].name,
                     tool_type_name(model->port[i].type),
                     tool_shape_text(&model->port[i].shape, shape, sizeof(shape)));
}

static struct tool_port *find_port(struct tool_model *model, bool output, const struct binding *binding)
{
    struct tool_port *port = tool_model_port(model, output, binding->name, binding->length);

    if (!port) {
        tool_say("the model has no %s %.*s:", output ? "output" : "input", (int)binding->length,
                 binding->name);
        say_ports(model, output);
    }
    return port;
}

static bool read_image(struct run *run, bool *given)
{
    const char *file;
    struct tool_port *port = tool_image_input_port(&run->image, &run->model, given, &file);

    if (!port)
        return false;
    given[port - run->model.port] = true;
    return tool_image_input_fill(&run->image, port, file);
}

static bool read_inputs(struct run *run)
{
    bool given[TOOL_MODEL_PORTS_MAX] = {0};
    unsigned missing = 0;

    for (unsigned i = 0; i < run->in.count; i++) {
        struct tool_port *port = find_port(&run->model, false, &run->in.row[i]);

        if (!port)
            return false;
        if (given[port - run->model.port]) {
            tool_say("input %s is given twice.", port->name);
            return false;
        }
        given[port - run->model.port] = true;
        if (!tool_tensor_read(port, run->in.row[i].file))
            return false;
    }
    if (run->image.image && !read_image(run, given))
        return false;
    for (unsigned i = 0; i < run->model.ports; i++) {
        const struct tool_port *port = &run->model.port[i];
        char shape[SHAPE_TEXT];

        if (port->output || given[i])
            continue;
        tool_say("no --input for %s, %s %s.", port->name, tool_type_name(port->type),
                 tool_shape_text(&port->shape, shape, sizeof(shape)));
        missing++;
    }
    return !missing;
}

/* The file of an output; NULL when it was not asked for. */
static const char *file_of(struct run *run, const struct tool_port *port)
{
    for (unsigned i = 0; i < run->out.count; i++)
        if (tool_model_port(&run->model, true, run->out.row[i].name, run->out.row[i].length) == port)
            return run->out.row[i].file;
    return NULL;
}

/* Labels were asked for, so a model without classes is a failure; with a picture alone it is not. */
static bool rank(struct run *run)
{
    const struct tool_port *port = run->top ? tool_ranking_port(&run->model) : NULL;

    if (port)
        run->ranked =
            tool_ranking_make(port, run->top, run->labels_file ? &run->labels : NULL, &run->ranking);
    return run->ranked || !run->labels_file;
}

static bool write_outputs(struct run *run)
{
    for (unsigned i = 0; i < run->out.count; i++) {
        struct tool_port *port = find_port(&run->model, true, &run->out.row[i]);

        if (!port || !tool_tensor_write(port, run->out.row[i].file))
            return false;
    }
    return true;
}

static bool check_outputs(struct run *run)
{
    for (unsigned i = 0; i < run->out.count; i++)
        if (!find_port(&run->model, true, &run->out.row[i]))
            return false;
    return true;
}

static void print_json(struct run *run, const char *model)
{
    struct json json;

    json_begin(&json, stdout);
    json_string(&json, "model", model);
    json_array(&json, "outputs");
    for (unsigned i = 0; i < run->model.ports; i++) {
        const struct tool_port *port = &run->model.port[i];

        if (!port->output)
            continue;
        json_object(&json, NULL);
        json_string(&json, "name", port->name);
        json_string(&json, "type", tool_type_name(port->type));
        json_array(&json, "shape");
        for (unsigned d = 0; d < port->shape.rank; d++)
            json_number(&json, NULL, port->shape.dim[d]);
        json_array_end(&json);
        if (file_of(run, port))
            json_string(&json, "file", file_of(run, port));
        json_object_end(&json);
    }
    json_array_end(&json);
    if (run->ranked)
        tool_ranking_json(&json, &run->ranking);
    json_number(&json, "repeat", run->repeat);
    json_real(&json, "compile_ms", (double)run->model.compile_ns / 1e6);
    json_real(&json, "load_ms", (double)run->model.load_ns / 1e6);
    json_real(&json, "first_dispatch_us", run->first_us);
    if (run->service) {
        json_string(&json, "service", run->service);
        tool_stages_latency_json(&json, &run->stages);
    } else {
        tool_stages_json(&json, &run->stages);
    }
    json_end(&json);
}

static void print_text(struct run *run)
{
    char shape[SHAPE_TEXT];

    for (unsigned i = 0; i < run->out.count; i++)
        if (!strcmp(run->out.row[i].file, "-"))
            return;
    for (unsigned i = 0; i < run->model.ports; i++) {
        const struct tool_port *port = &run->model.port[i];
        const char *file = file_of(run, port);

        if (port->output)
            printf("%s  %s %s%s%s\n", port->name, tool_type_name(port->type),
                   tool_shape_text(&port->shape, shape, sizeof(shape)), file ? "  -> " : "  not written",
                   file ? file : "");
    }
    if (run->ranked) {
        putchar('\n');
        tool_ranking_print(&run->ranking);
    }
    if (run->repeat > 1) {
        printf("\ncompile %.3f ms, load %.3f ms, first dispatch %.2f us\n",
               (double)run->model.compile_ns / 1e6, (double)run->model.load_ns / 1e6, run->first_us);
        printf("%u warm dispatches: p10 %.2f us, p50 %.2f us, p90 %.2f us wall time\n\n", run->repeat - 1,
               run->stages.p10, run->stages.p50, run->stages.p90);
        if (!run->service)
            tool_stages_print(&run->stages);
    }
}

static bool is_image(const char *path)
{
    const char *dot = strrchr(path, '.');

    return dot && (!strcmp(dot, ".hwx") || !strcmp(dot, ".anec"));
}

/* The driver's sentence has been said; this is what the machine's owner may know beside it. */
static void explain_failure(struct run *run, const char *model)
{
    struct ane_machine_problem problem = {.size = sizeof(problem)};
    struct ane_machine_fault fault;

    if (tool_fault_get(run->machine, &fault)) {
        tool_fault_print(&fault);
        if (run->as_json) {
            struct json json;

            json_begin(&json, stdout);
            json_string(&json, "model", model);
            tool_fault_json(&json, &fault);
            json_end(&json);
        }
    } else if (!ane_machine_problem(run->machine, &problem)) {
        tool_say("descriptor %u: %s", problem.descriptor, problem.text);
    }
    if (is_image(model))
        tool_say("`anemone check %s` reports what is wrong with the program, descriptor by descriptor.",
                 model);
}

/* The first of several dispatches; one alone is measured as if it were warm. */
static bool dispatch_first(struct run *run)
{
    uint64_t begin = tool_latency_now_ns();

    if (run->repeat > 1 && !tool_model_run(&run->model))
        return false;
    run->first_us = (double)(tool_latency_now_ns() - begin) / 1e3;
    return true;
}

static uint32_t warm_count(const struct run *run)
{
    return run->repeat > 1 ? run->repeat - 1 : 1;
}

/* A model whose inputs are given a shape or a value is compiled here, and its bundle opened. */
static bool open_model(struct run *run, const char *model)
{
    uint64_t begin = tool_latency_now_ns(), compiled;
    char *bundle;
    bool good;

    if (!run->given.count && !run->given.weights)
        return tool_model_open(model, run->fallback, &run->model);
    bundle = tool_bindings_compile(&run->given, model, run->fallback);
    compiled = tool_latency_now_ns() - begin;
    good = bundle && tool_model_open(bundle, run->fallback, &run->model);
    run->model.compile_ns += compiled;
    base_free(bundle);
    return good;
}

/* The machine is the service's: its stages and faults are not this process's to see. */
static bool go_served(struct run *run, const char *model)
{
    struct tool_latency whole = {0};

    if (run->own_option) {
        tool_say("%s is for a machine of this process, and %s serves it; ANEMONE_SERVICE=none in the "
                 "environment gives it a machine of its own.",
                 run->own_option, run->service);
        return false;
    }
    if (!open_model(run, model) || !read_inputs(run) || !check_outputs(run) || !dispatch_first(run) ||
        !tool_latency_measure(tool_model_run, &run->model, warm_count(run), &whole))
        return false;
    run->stages = (struct tool_stages){.p10 = whole.p10, .p50 = whole.p50, .p90 = whole.p90};
    if (run->repeat == 1)
        run->first_us = whole.p50;
    return write_outputs(run);
}

static bool go(struct run *run, const char *model)
{
    run->service = ane_service_name();
    if (run->service)
        return go_served(run, model);
    if (ane_machine_error()[0]) {
        tool_say("%s", ane_machine_error());
        return false;
    }
    if (ane_machine_default(&run->config, &run->machine)) {
        tool_say("%s", ane_machine_error());
        return false;
    }
    if (!open_model(run, model) || !read_inputs(run) || !check_outputs(run))
        return false;
    if (dispatch_first(run) &&
        tool_stages_measure(run->machine, run->config.timing ? 0 : PR_TIMING_CALL_ADDS_NS, tool_model_run,
                            &run->model, warm_count(run), &run->stages)) {
        if (run->repeat == 1)
            run->first_us = run->stages.p50;
        return write_outputs(run);
    }
    explain_failure(run, model);
    return false;
}

static bool open_trace(struct run *run, const char *path)
{
    int status = trace_file_open(&run->trace, path, &run->config);

    if (status)
        tool_say("%s: %s.", path, strerror(-status));
    return !status;
}

/* Not closed: the default machine is still there. */
static bool end_trace(struct run *run, const char *path)
{
    int status = trace_file_end(&run->trace);

    if (status)
        tool_say("%s: writing failed: %s.", path, strerror(-status));
    return !status;
}

int tool_run(int argc, char **argv)
{
    static struct run run; /* the default machine keeps a pointer to its trace */
    const char *model, *trace;
    bool good;

    run = (struct run){.repeat = 1, .config = {.size = sizeof(run.config), .firmware = 1}};
    if (!take_words(&run, argc, argv, &model, &trace)) {
        tool_bindings_release(&run.given);
        return TOOL_USAGE;
    }
    if (trace && !open_trace(&run, trace))
        return TOOL_FAILURE;
    good = tool_bindings_read(&run.given) &&
           (!run.labels_file || tool_labels_read(run.labels_file, &run.labels)) && go(&run, model) &&
           rank(&run);
    if (good && run.as_json)
        print_json(&run, model);
    else if (good)
        print_text(&run);
    tool_model_close(&run.model);
    tool_labels_free(&run.labels);
    tool_bindings_release(&run.given);
    good = end_trace(&run, trace) && good;
    return good ? TOOL_OK : TOOL_FAILURE;
}
