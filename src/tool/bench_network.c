/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `anemone bench network`: warm runs of a model through the runtime, as an application has them, and with
 * --descriptors what each descriptor of it takes. The descriptors are measured in runs of their own, because
 * reading the clock around each costs time itself.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/held.h"
#include "tool/bench.h"
#include "tool/json.h"
#include "tool/model.h"
#include "tool/tool.h"

#define WARM_UP         2u
#define DESCRIPTOR_RUNS 10u
#define SECONDS_MAX     10u /* of timed runs */

struct network {
    const struct tool_bench_network *asked;
    struct ane_machine *machine;
    struct tool_model model;
    double first_us, least_us, median_us;
    uint32_t runs;
    struct ane_machine_descriptor *row;
    uint32_t rows;
    struct base_held held;
};

static bool time_run(struct network *n, double *us)
{
    uint64_t before = tool_latency_now_ns();
    bool good = tool_model_run(&n->model);

    *us = (double)(tool_latency_now_ns() - before) / 1e3;
    return good;
}

/* Values between 0 and 1, as pictures have them; whole numbers are left at 0. */
static void fill(struct tool_port *port)
{
    for (uint64_t i = 0; i < port->elements; i++) {
        float value = (float)((uint32_t)(i * 2654435761u) >> 16 & 255u) / 256;

        if (port->type == TOOL_FP16 || port->type == TOOL_FP32)
            tool_convert_float(port->type, (uint8_t *)port->data + i * tool_type_bytes(port->type), TOOL_FP32,
                               &value, 1);
    }
}

static bool open_model(struct network *n)
{
    const struct ane_machine_config config = {.size = sizeof(config),
                                              .firmware = 1,
                                              .threads = n->asked->threads,
                                              .numerics = n->asked->numerics,
                                              .timing = ANE_TIMING_NONE};

    if (setenv("ANEMONE_SERVICE", "none", 1) || ane_machine_default(&config, &n->machine)) {
        tool_say("%s", ane_machine_error());
        return false;
    }
    if (!tool_model_compile(n->asked->model, false, &n->model))
        return false;
    base_held_note(&n->held);
    if (!tool_model_load(n->asked->model, &n->model))
        return false;
    base_held_note(&n->held);
    for (unsigned i = 0; i < n->model.ports; i++)
        if (!n->model.port[i].output)
            fill(&n->model.port[i]);
    return true;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static bool measure_runs(struct network *n)
{
    double *us = base_alloc_array(n->asked->count, sizeof(*us)), ignored;
    uint64_t begin;
    bool good = us && time_run(n, &n->first_us);

    for (unsigned i = 1; good && i < WARM_UP; i++)
        good = time_run(n, &ignored);
    begin = tool_latency_now_ns();
    while (good && n->runs < n->asked->count &&
           (n->runs < 3 || tool_latency_now_ns() - begin < SECONDS_MAX * 1000000000ull))
        good = time_run(n, &us[n->runs++]);
    if (good) {
        qsort(us, n->runs, sizeof(*us), by_size);
        n->least_us = us[0];
        n->median_us = us[n->runs / 2];
    }
    base_free(us);
    base_held_note(&n->held);
    return good;
}

static int by_time(const void *a, const void *b)
{
    const struct ane_machine_descriptor *x = a, *y = b;

    return x->least_ns < y->least_ns ? 1 : x->least_ns > y->least_ns ? -1 : (int)x->index - (int)y->index;
}

static bool measure_descriptors(struct network *n)
{
    const uint32_t runs = n->runs < DESCRIPTOR_RUNS ? n->runs : DESCRIPTOR_RUNS;
    bool good = !ane_machine_profile(n->machine, ANE_PROFILE_DESCRIPTORS, NULL);

    for (uint32_t i = 0; good && i < runs; i++)
        good = tool_model_run(&n->model);
    good = good && !ane_machine_profile_descriptors(n->machine, NULL, 0, &n->rows);
    n->row = good ? base_alloc_array(n->rows, sizeof(*n->row)) : NULL;
    good = n->row && !ane_machine_profile_descriptors(n->machine, n->row, n->rows, &n->rows);
    ane_machine_profile(n->machine, 0, NULL);
    if (good)
        qsort(n->row, n->rows, sizeof(*n->row), by_time);
    return good;
}

/* GMAC/s, or GB/s of a descriptor that multiplies nothing. */
static double rate(const struct ane_machine_descriptor *row)
{
    return (double)(row->multiplies ? row->work : row->bytes) / (double)(row->least_ns ? row->least_ns : 1);
}

static uint64_t multiplies(const struct network *n)
{
    uint64_t work = 0;

    for (uint32_t i = 0; i < n->rows; i++)
        work += n->row[i].multiplies ? n->row[i].work : 0;
    return work;
}

static void print_descriptors(const struct network *n)
{
    double all = 0;

    for (uint32_t i = 0; i < n->rows; i++)
        all += (double)n->row[i].least_ns / 1e3;
    printf("\n%" PRIu32
           " descriptors, %.1f us together, %.1f million multiply-accumulates; the shortest run of each:\n\n",
           n->rows, all, (double)multiplies(n) / 1e6);
    printf("  %5s %10s %7s %10s %-7s %s\n", "index", "us", "share", "", "", "descriptor");
    for (uint32_t i = 0; i < n->rows; i++) {
        const struct ane_machine_descriptor *row = &n->row[i];

        printf("  %5" PRIu32 " %10.2f %5.1f %% %10.2f %-7s %s\n", row->index, (double)row->least_ns / 1e3,
               (double)row->least_ns / 10 / all, rate(row), row->multiplies ? "GMAC/s" : "GB/s", row->text);
    }
}

static void print(const struct network *n)
{
    printf("%s, %" PRIu32 " thread%s: shortest %.1f us, median %.1f us of %" PRIu32 " warm runs\n",
           n->asked->model, n->asked->threads, n->asked->threads == 1 ? "" : "s", n->least_us, n->median_us,
           n->runs);
    printf("compile or read %.3f ms, load %.3f ms, first run %.1f us, at most %" PRIu64 " KiB of memory\n",
           (double)n->model.compile_ns / 1e6, (double)n->model.load_ns / 1e6, n->first_us, n->held.peak_kib);
    if (n->asked->descriptors)
        print_descriptors(n);
}

static void print_json(const struct network *n)
{
    struct json json;

    json_begin(&json, stdout);
    json_string(&json, "model", n->asked->model);
    json_number(&json, "threads", n->asked->threads);
    json_number(&json, "runs", n->runs);
    json_real(&json, "compile_ms", (double)n->model.compile_ns / 1e6);
    json_real(&json, "load_ms", (double)n->model.load_ns / 1e6);
    json_real(&json, "first_us", n->first_us);
    json_real(&json, "min_us", n->least_us);
    json_real(&json, "p50_us", n->median_us);
    json_number(&json, "peak_resident_kib", n->held.peak_kib);
    if (n->asked->descriptors) {
        json_array(&json, "descriptors");
        for (uint32_t i = 0; i < n->rows; i++) {
            const struct ane_machine_descriptor *row = &n->row[i];

            json_object(&json, NULL);
            json_number(&json, "index", row->index);
            json_string(&json, "text", row->text);
            json_real(&json, "us", (double)row->least_ns / 1e3);
            json_number(&json, row->multiplies ? "macs" : "elements", row->work);
            json_number(&json, "bytes", row->bytes);
            json_object_end(&json);
        }
        json_array_end(&json);
    }
    json_end(&json);
}

int tool_bench_network(const struct tool_bench_network *asked)
{
    static struct network network; /* the default machine outlives the verb */
    bool good;

    network = (struct network){.asked = asked};
    good = open_model(&network) && measure_runs(&network) &&
           (!asked->descriptors || measure_descriptors(&network));
    if (good && asked->as_json)
        print_json(&network);
    else if (good)
        print(&network);
    base_free(network.row);
    tool_model_close(&network.model);
    return good ? TOOL_OK : TOOL_FAILURE;
}
