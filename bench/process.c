/* SPDX-License-Identifier: Apache-2.0 */
#include "process.h"

#include <stdio.h>
#include <time.h>

double bench_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

unsigned long bench_peak_kb(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    unsigned long kb = 0;
    char line[128];

    while (file && fgets(line, sizeof(line), file))
        if (sscanf(line, "VmHWM: %lu", &kb) == 1)
            break;
    if (file)
        fclose(file);
    return kb;
}
