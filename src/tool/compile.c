/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `anemone compile`: a network's file becomes a bundle. All decisions are the compiler's; this file prints
 * its report. A cache that cannot be used is a message on stderr and not a failure.
 */
#include "compiler/compile.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/printable.h"
#include "tool/binding.h"
#include "tool/hwx.h"
#include "tool/json.h"
#include "tool/progress.h"
#include "tool/report.h"
#include "tool/tool.h"

const char tool_compile_help[] =
    "anemone compile MODEL [--output NAME.bundle] [--hwx FILE.hwx] [--report] [--html FILE]\n"
    "                [--shape NAME=1,3,224,224] [--bind NAME=FILE.npy] [--allow-fallback]\n"
    "                [--weights fp16|int8|palette4|sparse] [--force] [--json]\n"
    "anemone compile --list [--json]\n\n"
    "Compiles a .mil or .onnx file into a bundle in the cache and says whether the cache had it already, under\n"
    "which key, and how long it took. MODEL may also be a bundle, which is then checked. A compiled\n"
    "program (.hwx, .anec) is not compiled again: `anemone run` takes it.\n\n"
    "  --output NAME.bundle  also writes the bundle there; a bundle that is there is replaced, anything\n"
    "                        else is refused and stays as it is\n"
    "  --hwx FILE.hwx        also writes the program as an image, which `anemone run` and `anemone inspect`\n"
    "                        take; its ports are fp16 with four axes\n"
    "  --report              a table of the model's nodes: where each runs (engine, fused into another,\n"
    "                        merged into another's weights, alias, folded, host, dead), as which\n"
    "                        descriptors, why, what it costs by the model of an M1 Max, bytes of\n"
    "                        constants; and the sum with the dispatch, on an M1 and an M1 Max\n"
    "  --html FILE           the report as one HTML file: the graph coloured by where and shaded by cost,\n"
    "                        details of each node, a table by cost; needs no server and no network\n" TOOL_BINDINGS_HELP
        TOOL_WEIGHTS_HELP
    "  --allow-fallback      cuts the model where the engine cannot run it: the bundle has programs of the\n"
    "                        engine and host segments between them, which the report names; without it\n"
    "                        nothing runs on the host\n"
    "  --force               compiles even when the cache has it\n"
    "  --list                every operator that is accepted: its form, what it is composed of, its limits\n"
    "  --json                the same as JSON\n\n"
    "The cache is $XDG_CACHE_HOME/anemone, or ~/.cache/anemone; see `anemone cache`. Where it cannot be\n"
    "used the bundle is made in memory, and a message says why it is not kept.\n\n"
    "  anemone compile net.mil --output net.bundle --report\n"
    "  anemone compile net.onnx --shape input=1,3,224,224\n";

static void weights_row(struct json *json, const struct cc_weights_error *row)
{
    json_number(json, "elements", row->elements);
    json_number(json, "zeros", row->zeros);
    json_float(json, "largest", row->largest);
    json_float(json, "rms", row->rms);
    json_float(json, "weights_rms", row->weights_rms);
}

static void weights_json(struct json *json, const struct cc_weights_report *weights)
{
    json_object(json, "weights");
    json_string(json, "form", cc_weights_name(weights->form));
    json_string(json, "stored", weights->form == CC_WEIGHTS_SPARSE ? "streamed" : "folded");
    json_number(json, "tensors", weights->tensors);
    json_number(json, "not_finite", weights->kept);
    weights_row(json, &weights->total);
    json_array(json, "nodes");
    for (uint32_t i = 0; i < weights->tensors; i++) {
        json_object(json, NULL);
        json_string(json, "node", weights->tensor[i].node);
        weights_row(json, &weights->tensor[i]);
        json_object_end(json);
    }
    json_array_end(json);
    json_object_end(json);
}

/* A line for all tensors; with a report also one for each. */
static void print_weights(const struct cc_weights_report *weights, bool each)
{
    const struct cc_weights_error *total = &weights->total;
    bool sparse = weights->form == CC_WEIGHTS_SPARSE;

    if (sparse)
        printf("form          sparse: %" PRIu64 " zeros among %" PRIu64 " weights of %u tensors\n",
               total->zeros, total->elements, weights->tensors);
    else
        printf("form          %s, folded to fp16: %u tensors, largest error %.4g, rms %.4g of %.4g\n",
               cc_weights_name(weights->form), weights->tensors, total->largest, total->rms,
               total->weights_rms);
    if (weights->kept)
        printf("              %u tensors have a weight that is not finite and were left\n", weights->kept);
    for (uint32_t i = 0; each && i < weights->tensors; i++) {
        struct cc_weights_error row = weights->tensor[i];

        base_printable_make(row.node, strlen(row.node));
        if (sparse)
            printf("              zeros %.1f percent  %s\n", 100 * (double)row.zeros / (double)row.elements,
                   row.node);
        else
            printf("              largest %-10.4g rms %-10.4g of %-10.4g  %s\n", row.largest, row.rms,
                   row.weights_rms, row.node);
    }
}

static void print_json(const char *model, const struct cc_bundle *bundle, const struct cc_report *report)
{
    struct json json;

    json_begin(&json, stdout);
    json_string(&json, "model", model);
    json_string(&json, "cache", report->hit ? "hit" : "miss");
    json_string(&json, "key", report->key);
    json_string(&json, "bundle", bundle->path ? bundle->path : "");
    json_real(&json, "compile_ms", (double)report->compile_ns / 1e6);
    json_number(&json, "operations", report->operations);
    json_number(&json, "descriptors", report->descriptors);
    json_number(&json, "weights_bytes", report->weights_bytes);
    json_number(&json, "intermediate_bytes", report->intermediate_bytes);
    json_number(&json, "engine_segments", report->host_segments ? report->engine_segments : 1);
    json_number(&json, "host_segments", report->host_segments);
    if (report->weights)
        weights_json(&json, report->weights);
    if (report->placement)
        tool_report_json(&json, report->placement);
    json_end(&json);
}

static void print_text(const struct cc_bundle *bundle, const struct cc_report *report)
{
    printf("cache         %s, %.3f ms\n", report->hit ? "hit" : "miss", (double)report->compile_ns / 1e6);
    printf("key           %s\n", report->key);
    printf("bundle        %s\n", bundle->path ? bundle->path : "in memory, not kept");
    printf("operations    %u\n", report->operations);
    printf("descriptors   %u\n", report->descriptors);
    printf("weights       %" PRIu64 " bytes\n", report->weights_bytes);
    if (report->weights)
        print_weights(report->weights, report->placement != NULL);
    printf("intermediate  %" PRIu64 " bytes\n", report->intermediate_bytes);
    if (report->host_segments)
        printf("segments      %u on the engine, %u on the host\n", report->engine_segments,
               report->host_segments);
    if (report->placement) {
        putchar('\n');
        tool_report_print(report->placement);
    }
}

static int compile(int argc, char **argv, struct tool_bindings *bindings)
{
    struct cc_options wanted = {0};
    const char *model, *hwx = NULL, *html = NULL, *weights = NULL;
    bool as_json = false, list = false, other, good;
    const struct tool_option options[] = {{"json", &as_json, NULL},
                                          {"report", &wanted.report, NULL},
                                          {"force", &wanted.force, NULL},
                                          {"allow-fallback", &wanted.allow_fallback, NULL},
                                          {"output", NULL, &wanted.output},
                                          {"hwx", NULL, &hwx},
                                          {"list", &list, NULL},
                                          {"html", NULL, &html},
                                          {"weights", NULL, &weights},
                                          {0}};
    struct base_error error = {{0}};
    struct cc_bundle bundle = {0};
    struct cc_report report = {0};
    unsigned count;
    int status;

    if (!tool_bindings_take(&argc, argv, bindings) || !tool_words(argc, argv, options, &model, 1, &count))
        return TOOL_USAGE;
    other = wanted.report || wanted.force || wanted.output || hwx || html || bindings->count;
    if (list && !count && !other) {
        if (as_json)
            tool_operators_json();
        else
            tool_operators_print();
        return TOOL_OK;
    }
    if (list) {
        tool_say("--list takes no model, and no option but --json.");
        return TOOL_USAGE;
    }
    if (count != 1) {
        fputs(tool_compile_help, stderr);
        return TOOL_USAGE;
    }
    if (!tool_file_named("hwx", hwx) || !tool_file_named("html", html))
        return TOOL_USAGE;
    if (!tool_weights_parse(weights, &wanted.weights))
        return TOOL_USAGE;
    if (!tool_bindings_read(bindings))
        return TOOL_FAILURE;
    wanted.report |= html != NULL;
    wanted.bindings = bindings->row;
    wanted.binding_count = bindings->count;
    tool_progress_begin();
    status = cc_compile(model, &wanted, &bundle, &report, &error);
    tool_progress_end();
    if (status) {
        tool_say("%s", error.text);
        if (report.refused && !wanted.allow_fallback && !strstr(error.text, "--allow-fallback"))
            tool_say("--allow-fallback runs on the host what the engine cannot run.");
        return TOOL_FAILURE;
    }
    if (report.trouble.text[0])
        tool_say("%s", report.trouble.text);
    good = !hwx || tool_hwx_write(&bundle, hwx);
    if (good && as_json)
        print_json(model, &bundle, &report);
    else if (good)
        print_text(&bundle, &report);
    if (good && wanted.report && !report.placement) {
        tool_say("%s: it is compiled already, and a bundle does not say what its nodes were; give the model.",
                 model);
        good = false;
    }
    if (good && html)
        good = tool_report_html(html, model, report.placement);
    if (good && wanted.weights && !report.weights)
        tool_say("%s: it is compiled already, and its weights stay as they are; give the model.", model);
    cc_placement_destroy(report.placement);
    cc_weights_report_destroy(report.weights);
    cc_bundle_release(&bundle);
    return good ? TOOL_OK : TOOL_FAILURE;
}

int tool_compile(int argc, char **argv)
{
    struct tool_bindings bindings;
    int status = compile(argc, argv, &bindings);

    tool_bindings_release(&bindings);
    return status;
}
