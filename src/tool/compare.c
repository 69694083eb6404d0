/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `anemone compare`: where a network's numbers are lost. It makes two machines of its own, whatever service
 * there is, and compiles in memory alone. Inputs that are not given are normal numbers from a seed.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/printable.h"
#include "compiler/compile.h"
#include "compiler/half.h"
#include "tool/binding.h"
#include "tool/comparison.h"
#include "tool/inspect_model.h"
#include "tool/named.h"
#include "tool/tensor.h"
#include "tool/tool.h"

const char tool_compare_help[] =
    "anemone compare MODEL [--input NAME=FILE.npy ...] [--shape NAME=1,3,224,224] [--bind NAME=FILE.npy]\n"
    "                [--seed N] [--nodes N] [--threads N] [--html FILE] [--json]\n\n"
    "Runs a network under the numeric policies m1 and m1-exact and beside it the float64 meaning of the\n"
    "same graph, and shows where the numbers are lost: for the whole network, and for every node the error\n"
    "that it adds (the node alone on the engine, with the reference's operands rounded to fp16) and the\n"
    "error that reaches the output (float64 of the rest of the network with that error), worst first, with\n"
    "the elements that saturate (infinite or NaN where the reference is not), overflow (beyond fp16 in the\n"
    "reference) or are flushed (0 where the reference is not).\n\n"
    "MODEL is a .mil or .onnx file. Nothing is read from the cache or written to it.\n\n"
    "  --input NAME=FILE  a .npy file for an input, as `anemone run` takes it; an input without one gets\n"
    "                     random numbers, normal with deviation 1, rounded to fp16\n" TOOL_BINDINGS_HELP
    "  --seed N           of the random numbers, 1 by default\n"
    "  --nodes N          measures the N nodes with the most multiplications alone; 0: only the network\n"
    "  --threads N        threads that compute in each machine, 1 to 64; one for each processor, at most 8,\n"
    "                     unless given; results do not depend on it\n"
    "  --html FILE        one HTML file: the graph shaded by the error that reaches the output, details of\n"
    "                     each node, a table; needs no server and no network\n"
    "  --json             the same as JSON\n\n"
    "  anemone compare net.mil --input x=in.npy --html net.html\n";

struct compare {
    const char *model, *html;
    bool as_json;
    struct tool_named inputs;
    struct tool_bindings bindings;
    uint32_t seed, nodes, threads;
    struct cc_graph *graph;
    struct tool_comparison comparison;
    char text[512]; /* what the inputs are */
};

static bool take_words(struct compare *c, int argc, char **argv)
{
    const char *seed = NULL, *nodes = NULL, *threads = NULL;
    const struct tool_option options[] = {{"json", &c->as_json, NULL}, {"html", NULL, &c->html},
                                          {"seed", NULL, &seed},       {"nodes", NULL, &nodes},
                                          {"threads", NULL, &threads}, {0}};
    unsigned count;

    if (!tool_bindings_take(&argc, argv, &c->bindings) ||
        !tool_named_take(&argc, argv, "input", &c->inputs) ||
        !tool_words(argc, argv, options, &c->model, 1, &count))
        return false;
    if (count != 1) {
        fputs(tool_compare_help, stderr);
        return false;
    }
    return tool_file_named("html", c->html) &&
           (!seed || tool_number("--seed", seed, 0, UINT32_MAX, &c->seed)) &&
           (!nodes || tool_number("--nodes", nodes, 0, UINT32_MAX, &c->nodes)) &&
           (!threads || tool_number("--threads", threads, 1, ANE_THREADS_MAX, &c->threads));
}

/* splitmix64; the number is in (0, 1]. */
static double uniform(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)(((z ^ (z >> 31)) >> 11) + 1) * 0x1p-53;
}

static void fill_random(double *x, uint64_t count, uint64_t *state)
{
    for (uint64_t i = 0; i < count; i++) {
        double radius = sqrt(-2 * log(uniform(state))), turn = 6.283185307179586 * uniform(state);

        x[i] = cc_float_of_half(cc_half_of_float((float)(radius * cos(turn))));
    }
}

static bool fill_from_file(double *x, const struct cc_value *value, const char *file)
{
    struct tool_port port = {.name = value->name,
                             .type = value->type == CC_FP16 ? TOOL_FP16 : TOOL_FP32,
                             .shape = {.rank = value->rank},
                             .elements = cc_value_elements(value)};
    bool good;

    for (uint32_t i = 0; i < value->rank; i++)
        port.shape.dim[i] = value->dim[i];
    port.data = base_alloc_array(port.elements, tool_type_bytes(port.type));
    if (!port.data) {
        tool_say("%s: there is no memory for input %s.", file, value->name);
        return false;
    }
    good = tool_tensor_read(&port, file);
    for (uint64_t i = 0; good && i < port.elements; i++)
        x[i] = port.type == TOOL_FP16 ? cc_float_of_half(((const uint16_t *)port.data)[i])
                                      : ((const float *)port.data)[i];
    base_free(port.data);
    return good;
}

static void __attribute__((format(printf, 2, 3))) describe(struct compare *c, const char *format, ...)
{
    size_t length = strlen(c->text);
    va_list args;

    va_start(args, format);
    vsnprintf(c->text + length, sizeof(c->text) - length, format, args);
    va_end(args);
    base_printable_make(c->text + length, strlen(c->text + length));
}

static bool set_input(struct compare *c, uint32_t i, uint64_t *state)
{
    const struct cc_value *value = &c->graph->value[c->graph->input[i]];
    const struct tool_named_row *given = tool_named_find(&c->inputs, value->name);
    double *x = base_alloc_array(cc_value_elements(value), sizeof(*x));
    bool good = x != NULL;

    if (!x)
        tool_say("there is no memory for input %s.", value->name);
    if (good && given)
        good = fill_from_file(x, value, given->value);
    else if (good)
        fill_random(x, cc_value_elements(value), state);
    describe(c, "%s%s ", i ? ", " : "", value->name);
    if (given)
        describe(c, "from %s", given->value);
    else
        describe(c, "random (normal, seed %u)", c->seed);
    if (good && !tool_comparison_input(&c->comparison, i, x)) {
        tool_say("%s", c->comparison.error->text);
        good = false;
    }
    base_free(x);
    return good;
}

/* Every name that was given is an input. */
static bool check_names(const struct compare *c)
{
    for (unsigned i = 0; i < c->inputs.count; i++) {
        const struct tool_named_row *row = &c->inputs.row[i];
        bool found = false;

        for (uint32_t k = 0; k < c->graph->inputs && !found; k++) {
            const char *name = c->graph->value[c->graph->input[k]].name;

            found = strlen(name) == row->length && !memcmp(name, row->name, row->length);
        }
        if (!found) {
            tool_say("the model has no input %.*s.", (int)row->length, row->name);
            return false;
        }
    }
    return true;
}

struct candidate {
    uint32_t row;
    uint64_t work;
};

static int most_work_first(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;

    if (x->work != y->work)
        return x->work < y->work ? 1 : -1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static void show_progress(const struct compare *c, uint32_t done, uint32_t total, uint32_t row)
{
    char name[41];

    if (!isatty(STDERR_FILENO))
        return;
    snprintf(name, sizeof(name), "%s", c->comparison.rows->row[row].name);
    base_printable_make(name, strlen(name));
    fprintf(stderr, "\r\033[Kcomparing: %u of %u nodes, %s", done, total, name);
    fflush(stderr);
}

static void end_progress(void)
{
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
}

static bool measure_nodes(struct compare *c)
{
    const uint32_t first = c->graph->inputs, count = c->graph->origins;
    struct candidate *list = base_alloc_array(count ? count : 1, sizeof(*list));
    bool good = list != NULL;

    if (!good)
        tool_say("there is no memory for %u nodes.", count);
    for (uint32_t i = 0; good && i < count; i++)
        list[i] = (struct candidate){first + i, tool_comparison_work(&c->comparison, first + i)};
    if (good && c->nodes < count)
        qsort(list, count, sizeof(*list), most_work_first);
    for (uint32_t i = 0; good && i < count; i++) {
        uint32_t row = list[i].row;

        if (i >= c->nodes) {
            snprintf(c->comparison.node[row].note, sizeof(c->comparison.node[row].note), "beyond --nodes %u",
                     c->nodes);
            continue;
        }
        show_progress(c, i, c->nodes < count ? c->nodes : count, row);
        good = tool_comparison_node(&c->comparison, row);
        if (!good) {
            end_progress();
            tool_say("%s: %s", c->comparison.rows->row[row].name, c->comparison.error->text);
        }
    }
    end_progress();
    base_free(list);
    return good;
}

/* There is no host segment here, so the advice to allow one is of no use. */
static void say_refusal(const struct compare *c, const struct base_error *error)
{
    const char *advice = strstr(error->text, "; --allow-fallback");
    int length = advice ? (int)(advice - error->text) : (int)strlen(error->text);

    tool_say("%s: %.*s%s", c->model, length, error->text,
             advice ? "; compare takes networks that run on the engine as a whole." : "");
}

static bool measure(struct compare *c, struct base_error *error)
{
    uint64_t state = c->seed;

    if (!tool_comparison_open(&c->comparison, c->graph, c->threads, error)) {
        tool_say("%s", error->text);
        return false;
    }
    for (uint32_t i = 0; i < c->graph->inputs; i++)
        if (!set_input(c, i, &state))
            return false;
    if (!tool_comparison_network(&c->comparison)) {
        say_refusal(c, error);
        return false;
    }
    return measure_nodes(c);
}

static bool show(const struct compare *c)
{
    const struct tool_comparison_head head = {c->model, c->text};

    if (c->as_json) {
        struct json json;

        json_begin(&json, stdout);
        tool_comparison_json(&json, &c->comparison, &head);
        json_end(&json);
    } else {
        tool_comparison_print(&c->comparison, &head);
    }
    return !c->html || tool_comparison_html(c->html, &c->comparison, &head);
}

/* A graph is needed, which a bundle and a compiled program do not have. */
static bool read_model(struct compare *c)
{
    struct base_error error = {{0}};

    if (!tool_inspect_is_model(c->model)) {
        tool_say("%s: compare takes the model itself, a .mil or .onnx file.", c->model);
        return false;
    }
    if (!tool_bindings_read(&c->bindings))
        return false;
    if (!cc_model_read(c->model, c->bindings.row, c->bindings.count, &c->graph, &error))
        return true;
    tool_say("%s", error.text);
    return false;
}

int tool_compare(int argc, char **argv)
{
    struct compare *c = base_alloc(sizeof(*c));
    struct base_error error = {{0}};
    bool good;

    if (!c) {
        tool_say("there is no memory.");
        return TOOL_FAILURE;
    }
    *c = (struct compare){.seed = 1, .nodes = UINT32_MAX};
    if (!take_words(c, argc, argv)) {
        tool_bindings_release(&c->bindings);
        base_free(c);
        return TOOL_USAGE;
    }
    setenv("ANEMONE_SERVICE", "none", 1); /* surfaces are this process's own */
    good = read_model(c) && check_names(c) && measure(c, &error) && show(c);
    if (c->comparison.graph)
        tool_comparison_close(&c->comparison);
    cc_graph_destroy(c->graph);
    tool_bindings_release(&c->bindings);
    base_free(c);
    return good ? TOOL_OK : TOOL_FAILURE;
}
