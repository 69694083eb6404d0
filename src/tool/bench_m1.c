/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `anemone bench m1`: the cost model beside published latencies of M1 machines. No row may be the source of a
 * constant of the model: a row that becomes one leaves the table, or the error would be fitted.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "program/cost.h"
#include "program/kernel.h"
#include "tool/bench.h"
#include "tool/json.h"

/*
 * A published latency: `layers` convolutions, one after the other. A matrix product is one of 1x1 over rows
 * of M.
 */
struct row {
    const char *name, *source;
    const struct pr_cost_model *model;
    double ms;
    uint32_t layers, kernel, channels_in, channels_out, width, height, batch;
};

#define MAX  &pr_cost_m1_max
#define BASE &pr_cost_m1

#define GEMM(model, ms, m, k, n, source)                                 \
    {                                                                    \
        "GEMM " #m "x" #k "x" #n, source, model, ms, 1, 1, k, n, m, 1, 1 \
    }
#define CONV(model, ms, kernel, channels, side, source)                                               \
    {                                                                                                 \
        "conv " #kernel "x" #kernel " C" #channels " " #side "x" #side, source, model, ms, 1, kernel, \
            channels, channels, side, side, 1                                                         \
    }
#define BATCH(ms, channels, batch, source)                                                                  \
    {                                                                                                       \
        "conv 3x3 C" #channels " 64x64 B" #batch, source, BASE, ms, 1, 3, channels, channels, 64, 64, batch \
    }

/* None of these is where a constant of the model comes from. */
static const struct row rows[] = {
    GEMM(MAX, 0.164, 64, 256, 256, "device comparison"),
    GEMM(MAX, 0.405, 128, 1024, 1024, "device comparison"),
    GEMM(MAX, 2.394, 256, 4096, 4096, "device comparison"),
    CONV(MAX, 0.191, 3, 64, 32, "device comparison"),
    {"16 x conv 3x3 C256 32x32", "device comparison", MAX, 1.918, 16, 3, 256, 256, 32, 32, 1},
    CONV(MAX, 0.507, 3, 256, 28, "guide, chapter 18"),
    CONV(MAX, 0.444, 1, 512, 32, "guide, chapter 18"),
    CONV(MAX, 0.832, 3, 512, 14, "guide, chapter 18"),
    CONV(MAX, 0.686, 1, 1024, 16, "guide, chapter 18"),
    CONV(MAX, 1.047, 1, 2048, 8, "guide, chapter 18"),
    CONV(MAX, 0.231, 3, 64, 16, "guide, chapters 11, 13"),
    CONV(MAX, 0.248, 3, 64, 32, "guide, chapters 11, 13"),
    CONV(MAX, 0.395, 3, 64, 64, "guide, chapters 11, 13"),
    CONV(MAX, 1.062, 3, 64, 128, "guide, chapters 11, 13"),
    CONV(MAX, 3.814, 3, 64, 256, "guide, chapters 11, 13"),
    GEMM(BASE, 0.332, 512, 512, 512, "roofline, base M1"),
    GEMM(BASE, 0.993, 1024, 1024, 1024, "roofline, base M1"),
    GEMM(BASE, 4.961, 2048, 2048, 2048, "roofline, base M1"),
    GEMM(BASE, 31.74, 4096, 4096, 4096, "roofline, base M1"),
    BATCH(1.581, 64, 8, "roofline, base M1"),
    BATCH(3.489, 128, 8, "roofline, base M1"),
    BATCH(4.564, 256, 4, "roofline, base M1"),
    BATCH(7.094, 512, 2, "roofline, base M1"),
};
#define ROWS BASE_COUNT_OF(rows)

enum { ENGINES = 16, LANES = 32, FIRST_PORT_BAR = 4, INTERMEDIATE_BAR = 3 };

static struct pr_tensor tensor_of(const struct row *r, uint32_t channels, uint32_t bar)
{
    uint32_t row = 2 * r->width, plane = row * r->height;

    return (struct pr_tensor){
        .home = PR_HOME_DRAM,
        .bar = bar,
        .extent = {r->width, r->height, 1, channels, r->batch},
        .stride = {2, row, plane * channels, plane, plane * channels},
    };
}

/*
 * One layer as one descriptor. Layers hand over through DRAM; the first reads an input, the last writes an
 * output.
 */
static struct pr_task task_of(const struct row *r, uint32_t layer)
{
    bool first = layer == 0, last = layer + 1 == r->layers;

    return (struct pr_task){
        .unit = PR_UNIT_NE,
        .src = {tensor_of(r, r->channels_in, first ? FIRST_PORT_BAR : INTERMEDIATE_BAR)},
        .dst = tensor_of(r, r->channels_out, last ? FIRST_PORT_BAR : INTERMEDIATE_BAR),
        .ne = {.mode = PR_NE_MAC,
               .kw = r->kernel,
               .kh = r->kernel,
               .px = r->kernel / 2,
               .py = r->kernel / 2,
               .sx = 1,
               .sy = 1,
               .ox = 1,
               .lanes = LANES,
               .engines = ENGINES,
               .reuse = true},
    };
}

static double model_ms(const struct row *r)
{
    double ns = r->model->floor_ns;

    for (uint32_t layer = 0; layer < r->layers; layer++) {
        struct pr_task task = task_of(r, layer);

        ns += (double)pr_cost_ns(r->model, &task);
    }
    return ns / 1e6;
}

static double error_percent(const struct row *r)
{
    return 100 * (model_ms(r) / r->ms - 1);
}

static int smaller_first(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median_error(void)
{
    double errors[ROWS];

    for (size_t i = 0; i < ROWS; i++)
        errors[i] = fabs(error_percent(&rows[i]));
    qsort(errors, ROWS, sizeof(errors[0]), smaller_first);
    return ROWS % 2 ? errors[ROWS / 2] : (errors[ROWS / 2 - 1] + errors[ROWS / 2]) / 2;
}

static void print_json(void)
{
    struct json json;

    json_begin(&json, stdout);
    json_array(&json, "rows");
    for (size_t i = 0; i < ROWS; i++) {
        json_object(&json, NULL);
        json_string(&json, "name", rows[i].name);
        json_string(&json, "machine", rows[i].model->machine);
        json_string(&json, "source", rows[i].source);
        json_real(&json, "published_ms", rows[i].ms);
        json_real(&json, "model_ms", model_ms(&rows[i]));
        json_real(&json, "error_percent", error_percent(&rows[i]));
        json_object_end(&json);
    }
    json_array_end(&json);
    json_real(&json, "median_error_percent", median_error());
    json_end(&json);
}

void tool_bench_m1(bool as_json)
{
    if (as_json) {
        print_json();
        return;
    }
    printf("%-28s %-8s %12s %10s %8s   %s\n", "workload", "machine", "published ms", "model ms", "error",
           "source");
    for (size_t i = 0; i < ROWS; i++)
        printf("%-28s %-8s %12.3f %10.3f %+7.0f%%   %s\n", rows[i].name, rows[i].model->machine, rows[i].ms,
               model_ms(&rows[i]), error_percent(&rows[i]), rows[i].source);
    printf("\nMedian error without sign: %.0f%% over %zu rows.\n", median_error(), ROWS);
}
