/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single operations here beside oneDNN, one thread each. The two take turns in short slices of one run, so
 * that both have the same machine; a time is the shortest of all calls. Ours is the whole call of a user:
 * e5rt_execution_stream_execute_sync with fp16 buffers, packed or in the engine's form. Of two forms the
 * faster one counts, on both sides. The limit is the largest of three: multiply-accumulates at the peak, fp16
 * conversions, and the bytes of surfaces and weights, moved by a plain loop in the same slices.
 *
 *   bench_operations [--seconds S] [--json FILE] [NAME ...]    rows whose name has NAME in it
 */
#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "engine/half.h"
#include "limits.h"
#include "ours.h"
#include "peer.h"
#include "process.h"

#define SAMPLES_MAX  20000u
#define SLICE        0.004 /* seconds */
#define SLICE_CALLS  2u
#define ROUNDS_MIN   5u
#define SECONDS      1.0
#define DRAM_WEIGHTS (16u << 20) /* weights of more bytes are taken to come from DRAM */
#define ERROR_MAX    0.02        /* of the largest value: more, and it was not the same operation */
#define OPEN_FOLDERS 16

/* In the order of their turns. */
enum who { OURS_PACKED, OURS_ENGINE, PEER_PLAIN, PEER_CHOSEN, BYTES, WHO_COUNT };

struct subject {
    bool present;
    unsigned samples;
    double *sample;
    double min, p50, p90; /* seconds */
};

struct row {
    const struct bench_operation *operation;
    struct bench_ours ours;
    struct bench_peer *peer[BENCH_FORMS];
    struct bench_stream stream;
    struct subject subject[WHO_COUNT];
    double limit; /* seconds */
    double error;
};

static bool call(struct row *row, enum who who)
{
    switch (who) {
    case OURS_PACKED: return bench_ours_run(&row->ours, BENCH_PACKED);
    case OURS_ENGINE: return bench_ours_run(&row->ours, BENCH_ENGINE);
    case PEER_PLAIN: return bench_peer_run(row->peer[BENCH_PLAIN]);
    case PEER_CHOSEN: return bench_peer_run(row->peer[BENCH_CHOSEN]);
    default: bench_stream_run(&row->stream); return true;
    }
}

static bool slice(struct row *row, enum who who)
{
    struct subject *s = &row->subject[who];
    const double begin = bench_now();

    /* The first finds the caches as the others left them. */
    if (!call(row, who))
        return false;
    for (unsigned i = 0; i < SLICE_CALLS || bench_now() - begin < SLICE; i++) {
        double before = bench_now();

        if (!call(row, who))
            return false;
        if (s->samples < SAMPLES_MAX)
            s->sample[s->samples++] = bench_now() - before;
    }
    return true;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void sum_up(struct subject *s)
{
    if (!s->samples)
        return;
    qsort(s->sample, s->samples, sizeof(*s->sample), by_size);
    s->min = s->sample[0];
    s->p50 = s->sample[s->samples / 2];
    s->p90 = s->sample[s->samples - 1 - s->samples / 10];
}

/* The largest difference of the two results, as a part of the largest value. */
static double compare(const struct row *row)
{
    const uint16_t *ours = bench_ours_result(&row->ours);
    const float *peer = bench_peer_result(row->peer[BENCH_PLAIN]);
    double largest = 1e-9, error = 0;
    uint32_t out[4];

    bench_operation_out(row->operation, out);
    for (uint64_t i = 0; i < bench_elements(out); i++) {
        double difference = fabs((double)eng_half_to_float(ours[i]) - (double)peer[i]);

        largest = fmax(largest, fabs((double)peer[i]));
        error = difference > error || isnan(difference) ? difference : error;
    }
    return error / largest;
}

/* Of two forms of the same operation the faster one; either may be absent. */
static const struct subject *faster(const struct row *row, enum who a, enum who b)
{
    const struct subject *first = &row->subject[a], *second = &row->subject[b];

    return second->min > 0 && (first->min <= 0 || second->min < first->min) ? second : first;
}

static const struct subject *ours_of(const struct row *row)
{
    return faster(row, OURS_PACKED, OURS_ENGINE);
}

static const struct subject *peer_of(const struct row *row)
{
    return faster(row, PEER_PLAIN, PEER_CHOSEN);
}

static void find_limit(struct row *row, const struct bench_limits *limits)
{
    const struct bench_operation *o = row->operation;
    const uint64_t weights = bench_operation_weights(o);
    uint32_t out[4];
    uint64_t elements;

    bench_operation_out(o, out);
    elements = bench_elements(o->in) * bench_operation_inputs(o) + bench_elements(out);
    row->limit = row->subject[BYTES].min;
    if (2 * weights > DRAM_WEIGHTS)
        row->limit = fmax(row->limit, 2.0 * (double)weights / limits->read);
    if (limits->macs > 0)
        row->limit = fmax(row->limit, (double)bench_operation_work(o) / limits->macs);
    if (limits->conversions > 0 && bench_operation_computes(o))
        row->limit = fmax(row->limit, (double)elements / limits->conversions);
}

static bool open_row(struct row *row, const char *folder)
{
    const struct bench_operation *o = row->operation;
    const uint64_t weights = 2 * bench_operation_weights(o);
    uint32_t out[4];
    bool good;

    bench_operation_out(o, out);
    if (!bench_ours_open(&row->ours, o, folder))
        return false;
    for (unsigned form = 0; form < BENCH_FORMS; form++)
        row->peer[form] = bench_peer_make(o, form);
    good = bench_stream_make(&row->stream,
                             bench_surface_bytes(o->in) * bench_operation_inputs(o) +
                                 (weights > DRAM_WEIGHTS ? 0 : weights),
                             bench_surface_bytes(out));
    row->subject[OURS_PACKED].present = row->subject[BYTES].present = true;
    row->subject[OURS_ENGINE].present = row->ours.engine;
    row->subject[PEER_PLAIN].present = row->peer[BENCH_PLAIN] != NULL;
    row->subject[PEER_CHOSEN].present = row->peer[BENCH_CHOSEN] != NULL;
    for (unsigned i = 0; i < WHO_COUNT && good; i++) {
        row->subject[i].sample = base_alloc_array(SAMPLES_MAX, sizeof(double));
        good = row->subject[i].sample != NULL;
    }
    return good;
}

static void close_row(struct row *row)
{
    bench_ours_close(&row->ours);
    for (unsigned form = 0; form < BENCH_FORMS; form++)
        bench_peer_free(row->peer[form]);
    bench_stream_free(&row->stream);
    for (unsigned i = 0; i < WHO_COUNT; i++)
        base_free(row->subject[i].sample);
}

static bool measure(struct row *row, double seconds, struct bench_limits *limits)
{
    const double begin = bench_now();

    for (unsigned round = 0; round < ROUNDS_MIN || bench_now() - begin < seconds; round++) {
        bench_limits_measure(limits);
        for (unsigned who = 0; who < WHO_COUNT; who++)
            if (row->subject[who].present && !slice(row, who))
                return false;
    }
    for (unsigned who = 0; who < WHO_COUNT; who++)
        sum_up(&row->subject[who]);
    find_limit(row, limits);
    row->error = row->peer[BENCH_PLAIN] ? compare(row) : 0;
    return true;
}

static void print_limits(const struct bench_limits *limits)
{
    printf("\nlimits of this run: %.1f GMAC/s, %.1f G fp16 conversions/s, %.1f GB/s read from DRAM\n",
           limits->macs / 1e9, limits->conversions / 1e9, limits->read / 1e9);
}

static void print_head(void)
{
    printf("one thread, microseconds: the shortest call / the median, each library with buffers in its\n"
           "faster form. ratio: %s / ours. packed: ours with packed buffers\n\n",
           bench_peer_name() ? bench_peer_name() : "no oneDNN in this build");
    printf("%-26s %19s %10s %19s %7s %7s %10s %8s\n", "operation", "ours", "packed", "oneDNN", "ratio",
           "target", "limit", "of limit");
}

static void print_row(const struct row *row)
{
    const struct subject *ours = ours_of(row), *peer = peer_of(row);
    char target[16] = "";

    if (row->operation->target > 0)
        snprintf(target, sizeof(target), "%.2f", row->operation->target);
    else
        snprintf(target, sizeof(target), "%.0f %%", 100 * row->operation->share);
    printf("%-26s %9.1f /%8.1f %10.1f %9.1f /%8.1f %7.2f %7s %10.1f %6.0f %%", row->operation->name,
           1e6 * ours->min, 1e6 * ours->p50, 1e6 * row->subject[OURS_PACKED].min, 1e6 * peer->min,
           1e6 * peer->p50, peer->min / ours->min, target, 1e6 * row->limit, 100 * row->limit / ours->min);
    printf(row->error > ERROR_MAX ? "  results differ by %.1f %%\n" : "\n", 100 * row->error);
    fflush(stdout);
}

static void json_subject(FILE *json, const char *name, const struct subject *s)
{
    if (s->samples)
        fprintf(json, ", \"%s\": {\"min_us\": %.3f, \"p50_us\": %.3f, \"p90_us\": %.3f, \"calls\": %u}", name,
                1e6 * s->min, 1e6 * s->p50, 1e6 * s->p90, s->samples);
}

static void json_row(FILE *json, const struct row *row, bool first)
{
    static const char *const name[] = {"ours_packed", "ours_engine_form", "onednn_plain", "onednn_own_form",
                                       "bytes"};
    const struct subject *ours = ours_of(row), *peer = peer_of(row);

    fprintf(json, "%s\n  {\"name\": \"%s\"", first ? "" : ",", row->operation->name);
    for (unsigned who = 0; who < WHO_COUNT; who++)
        json_subject(json, name[who], &row->subject[who]);
    json_subject(json, "ours", ours);
    json_subject(json, "onednn", peer);
    if (peer->min > 0)
        fprintf(json, ", \"ratio\": %.4f", peer->min / ours->min);
    if (row->operation->target > 0)
        fprintf(json, ", \"target_ratio\": %.4f", row->operation->target);
    if (row->operation->share > 0)
        fprintf(json, ", \"target_of_limit\": %.4f", row->operation->share);
    fprintf(json, ", \"limit_us\": %.3f, \"of_limit\": %.4f, \"difference\": %.5f}", 1e6 * row->limit,
            row->limit / ours->min, row->error);
}

static void json_head(FILE *json)
{
    fprintf(json, "{\"threads\": 1, \"peer\": \"%s\", \"rows\": [",
            bench_peer_name() ? bench_peer_name() : "");
}

static void json_tail(FILE *json, const struct bench_limits *limits)
{
    fprintf(json, "\n], \"gmac_per_s\": %.2f, \"g_conversions_per_s\": %.2f, \"dram_read_gb_per_s\": %.2f}\n",
            limits->macs / 1e9, limits->conversions / 1e9, limits->read / 1e9);
}

static int remove_one(const char *path, const struct stat *about, int flag, struct FTW *ftw)
{
    (void)about, (void)flag, (void)ftw;
    remove(path);
    return 0;
}

static bool run_row(const struct bench_operation *o, double seconds, struct bench_limits *limits, FILE *json,
                    bool first)
{
    struct row row = {.operation = o};
    char folder[] = "/tmp/anemone-bench-XXXXXX";
    bool good = mkdtemp(folder) && open_row(&row, folder) && measure(&row, seconds, limits);

    if (good) {
        print_row(&row);
        if (json)
            json_row(json, &row, first);
    } else {
        printf("%-26s failed\n", o->name);
    }
    close_row(&row);
    nftw(folder, remove_one, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
    return good;
}

static bool wanted(const struct bench_operation *o, int names, char **name)
{
    for (int i = 0; i < names; i++)
        if (strstr(o->name, name[i]))
            return true;
    return names == 0;
}

/* The other library's threads are set before it is loaded, which is before main. */
static void one_thread(char **argv)
{
    const char *threads = getenv("OMP_NUM_THREADS");

    setenv("ANEMONE_THREADS", "1", 1);
    setenv("ANEMONE_SERVICE", "none", 1);
    if (threads && !strcmp(threads, "1"))
        return;
    setenv("OMP_NUM_THREADS", "1", 1);
    execv("/proc/self/exe", argv);
}

int main(int argc, char **argv)
{
    struct bench_limits limits;
    double seconds = SECONDS;
    FILE *json = NULL;
    bool good = true, first = true;
    int at = 1;

    one_thread(argv);
    for (; at + 1 < argc && !strncmp(argv[at], "--", 2); at += 2) {
        if (!strcmp(argv[at], "--seconds"))
            seconds = strtod(argv[at + 1], NULL);
        else if (!strcmp(argv[at], "--json"))
            json = fopen(argv[at + 1], "w");
    }
    bench_limits_make(&limits);
    print_head();
    if (json)
        json_head(json);
    for (unsigned i = 0; i < bench_operations_count; i++) {
        const struct bench_operation *o = &bench_operations[i];

        if (!wanted(o, argc - at, argv + at))
            continue;
        good = run_row(o, seconds, &limits, json, first) && good;
        first = false;
    }
    if (json)
        json_tail(json, &limits);
    print_limits(&limits);
    bench_limits_free(&limits);
    return (!json || !fclose(json)) && good ? 0 : 1;
}
