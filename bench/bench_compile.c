/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long the compiler takes for a chain of operations that are fused: twice the chain should take twice the
 * time. Prints seconds and the ratio to the chain of half the length.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "compiler/compile.h"

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void write_chain(FILE *file, unsigned operations)
{
    fputs("program(1.3)\n{\n    func main<ios18>(tensor<fp16, [1, 8]> v0) {\n", file);
    for (unsigned i = 0; i < operations; i++)
        fprintf(file, "        tensor<fp16, [1, 8]> v%u = relu(x = v%u)[name = string(\"r%u\")];\n", i + 1, i,
                i);
    fprintf(file, "    } -> (v%u);\n}\n", operations);
}

/* Seconds, or a negative number. */
static double compile(const char *path)
{
    struct cc_options options = {.force = true, .cache = "/dev/null"}; /* in memory alone */
    struct cc_bundle bundle;
    struct cc_report report;
    struct base_error error = {{0}};
    double begin = now();

    if (cc_compile(path, &options, &bundle, &report, &error)) {
        fprintf(stderr, "%s\n", error.text);
        return -1;
    }
    cc_bundle_release(&bundle);
    return now() - begin;
}

int main(void)
{
    char path[] = "/tmp/anemone-chain-XXXXXX.mil";
    double before = 0;

    close(mkstemps(path, 4));
    printf("a chain of relu operations, fused into one\n");
    for (unsigned operations = 25000; operations <= 200000; operations *= 2) {
        FILE *file = fopen(path, "w");
        double seconds;

        if (!file)
            break;
        write_chain(file, operations);
        fclose(file);
        seconds = compile(path);
        if (seconds < 0)
            break;
        printf("%8u operations  %7.3f s", operations, seconds);
        if (before > 0)
            printf("  x %.2f", seconds / before);
        printf("\n");
        before = seconds;
    }
    unlink(path);
    return 0;
}
