/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What compiling costs. Time: chains of operations that are fused, and of convolutions with weights of their
 * own; twice the chain should take about twice the time. Memory: the peak of a process that compiles a
 * network of large weights, beside the bytes of the weights.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/held.h"
#include "blob.h"
#include "compiler/compile.h"
#include "process.h"

/* What the issue of this bench allows. */
#define RATIO_MAX  2.4
#define MEMORY_MAX "3 times the weights and 200 MB"
enum { MEMORY_TIMES = 3, MEMORY_MORE_MB = 200 };

static char folder[] = "/tmp/anemone-bench-XXXXXX";

static FILE *open_file(const char *name)
{
    char path[64];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return fopen(path, "w");
}

static void remove_file(const char *name)
{
    char path[64];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    unlink(path);
}

static void write_weights(unsigned count, size_t numbers)
{
    char path[64];
    uint64_t seed = 1;

    snprintf(path, sizeof(path), "%s/weights.bin", folder);
    if (!bench_blob_write(path, count, numbers, bench_blob_random, &seed))
        fprintf(stderr, "%s cannot be written\n", path);
}

/* relu after relu: one descriptor. */
static void write_relus(unsigned operations)
{
    FILE *file = open_file("chain.mil");

    if (!file)
        return;
    fputs("program(1.3)\n{\n    func main<ios18>(tensor<fp16, [1, 8]> v0) {\n", file);
    for (unsigned i = 0; i < operations; i++)
        fprintf(file, "        tensor<fp16, [1, 8]> v%u = relu(x = v%u)[name = string(\"r%u\")];\n", i + 1, i,
                i);
    fprintf(file, "    } -> (v%u);\n}\n", operations);
    fclose(file);
}

/* 3x3 convolutions of `channels` channels with a relu each, over side x side. */
static void write_convolutions(unsigned layers, unsigned channels, unsigned side, unsigned window)
{
    const size_t numbers = (size_t)channels * channels * window * window;
    FILE *file = open_file("chain.mil");

    if (!file)
        return;
    fprintf(file, "program(1.3)\n{\n    func main<ios18>(tensor<fp16, [1, %u, %u, %u]> v0) {\n", channels,
            side, side);
    for (unsigned i = 0; i < layers; i++) {
        fprintf(
            file,
            "        tensor<fp16, [%u, %u, %u, %u]> w%u = const()[name = string(\"w%u\"), val = "
            "tensor<fp16, [%u, %u, %u, %u]>(BLOBFILE(path = string(\"@model_path/weights.bin\"), offset = "
            "uint64(%ju)))];\n",
            channels, channels, window, window, i, i, channels, channels, window, window,
            (uintmax_t)bench_blob_offset(i, numbers));
        fprintf(file,
                "        tensor<fp16, [1, %u, %u, %u]> c%u = conv(x = v%u, weight = w%u, pad_type = "
                "string(\"same\"))[name = string(\"c%u\")];\n",
                channels, side, side, i, i, i, i);
        fprintf(file, "        tensor<fp16, [1, %u, %u, %u]> v%u = relu(x = c%u)[name = string(\"v%u\")];\n",
                channels, side, side, i + 1, i, i);
    }
    fprintf(file, "    } -> (v%u);\n}\n", layers);
    fclose(file);
}

/* Seconds, or a negative number. */
static double compile(void)
{
    struct cc_options options = {.force = true, .cache = "/dev/null"}; /* in memory alone */
    struct cc_bundle bundle;
    struct cc_report report;
    struct base_error error = {{0}};
    char path[64];
    double begin = bench_now();

    snprintf(path, sizeof(path), "%s/chain.mil", folder);
    if (cc_compile(path, &options, &bundle, &report, &error)) {
        fprintf(stderr, "%s\n", error.text);
        return -1;
    }
    cc_bundle_release(&bundle);
    return bench_now() - begin;
}

/* The least of some runs: other processes only add to it. */
static double compile_often(unsigned runs)
{
    double best = compile();

    for (unsigned i = 1; i < runs && best >= 0; i++) {
        double seconds = compile();

        best = seconds < best ? seconds : best;
    }
    return best;
}

static void print_time(unsigned count, const char *what, double seconds, double before)
{
    printf("%8u %s  %7.3f s", count, what, seconds);
    if (before > 0)
        printf("  x %.2f%s", seconds / before, seconds / before > RATIO_MAX ? "  ABOVE THE LIMIT" : "");
    printf("\n");
}

static void time_relus(void)
{
    double before = 0;

    printf("a chain of relu operations, fused into one; at most x %.1f for each doubling\n", RATIO_MAX);
    for (unsigned operations = 25000; operations <= 200000; operations *= 2) {
        double seconds;

        write_relus(operations);
        seconds = compile_often(1);
        if (seconds < 0)
            return;
        print_time(operations, "operations", seconds, before);
        before = seconds;
    }
}

static void time_convolutions(void)
{
    double before = 0;

    printf("a chain of 3x3 convolutions of 32 channels with relu; at most x %.1f for each doubling\n",
           RATIO_MAX);
    write_weights(512, (size_t)32 * 32 * 9);
    for (unsigned layers = 16; layers <= 512; layers *= 2) {
        double seconds;

        write_convolutions(layers, 32, 28, 3);
        seconds = compile_often(5);
        if (seconds < 0)
            return;
        print_time(layers, "layers", seconds, before);
        before = seconds;
    }
}

/* The peak of a child that compiles the chain. */
static uint64_t child_peak_kib(void)
{
    struct base_held held = {0};
    int pipes[2];
    pid_t child;

    fflush(NULL);
    if (pipe(pipes))
        return 0;
    child = fork();
    if (child == 0) {
        if (compile() >= 0)
            base_held_note(&held);
        _exit(write(pipes[1], &held, sizeof(held)) != sizeof(held));
    }
    close(pipes[1]);
    if (child < 0 || read(pipes[0], &held, sizeof(held)) != sizeof(held))
        held.peak_kib = 0;
    close(pipes[0]);
    if (child > 0)
        waitpid(child, NULL, 0);
    return held.peak_kib;
}

static void measure_memory(void)
{
    enum { LAYERS = 8, CHANNELS = 4096 };
    const unsigned long weights = LAYERS * 2ul * CHANNELS * CHANNELS / 1000000;
    uint64_t peak;

    write_weights(LAYERS, (size_t)CHANNELS * CHANNELS);
    write_convolutions(LAYERS, CHANNELS, 1, 1);
    peak = child_peak_kib() * 1024 / 1000000;
    printf("memory: %lu MB of weights, peak %" PRIu64 " MB, %.2f times; at most %s%s\n", weights, peak,
           (double)peak / (double)weights, MEMORY_MAX,
           peak > MEMORY_TIMES * weights + MEMORY_MORE_MB ? "  ABOVE THE LIMIT" : "");
}

int main(void)
{
    if (!mkdtemp(folder)) {
        perror(folder);
        return 1;
    }
    measure_memory(); /* first: a child has what its parent has touched */
    time_relus();
    time_convolutions();
    remove_file("chain.mil");
    remove_file("weights.bin");
    rmdir(folder);
    return 0;
}
