/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `anemone bench accel`: the same small request through a driver on machine.h in this process, through the
 * preloaded library, and through `anemone accel`. The last two are processes (`anemone bench submit`), which
 * have ended when this returns and end with this process if that is killed.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "accel/device.h"
#include "base/file.h"
#include "tool/bench.h"
#include "tool/json.h"
#include "tool/preload.h"
#include "tool/sample.h"
#include "tool/tool.h"

#define LINE       128u
#define PATH_ROOM  4096
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Pages of the request: text, the first descriptor, and the tensors. */
enum { PAGE_TEXT, PAGE_FIRST, PAGE_TENSORS, PAGES = PAGE_TENSORS + TOOL_SAMPLE_TENSORS };

enum way { WAY_MACHINE, WAY_PLAIN, WAY_PRELOAD, WAY_NOTIFY, WAYS };

struct result {
    bool is_measured;
    double submit_p50, submit_p99, other_p50, other_p99; /* microseconds; 0: not measured */
};

/* In this process. */

struct own {
    struct acc_device *device;
    struct acc_request request;
};

static bool submit(void *context)
{
    struct own *own = context;

    return acc_device_submit(own->device, &own->request) == 0;
}

/* The pages of the request in a memory file, in device addresses from `iova` on. */
static bool fill_request(struct own *own, int file, uint32_t iova)
{
    const size_t bytes = PAGES * ACC_TILE_BYTES;
    uint8_t *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    uint32_t words;

    if (memory == MAP_FAILED) {
        tool_say("The request's memory cannot be mapped: %s.", strerror(errno));
        return false;
    }
    words = tool_sample_text(memory, ACC_TILE_BYTES);
    memcpy(memory + PAGE_FIRST * ACC_TILE_BYTES, memory, 4 * words);
    munmap(memory, bytes);
    own->request = (struct acc_request){.first = iova + PAGE_FIRST * ACC_TILE_BYTES,
                                        .td_count = 1,
                                        .td_size = 4 * words,
                                        .process = getpid()};
    own->request.bar[ACC_TILE_TEXT] = iova;
    own->request.bar[ACC_TILE_KERNEL] = iova + 4 * words;
    for (unsigned i = 0; i < TOOL_SAMPLE_TENSORS; i++)
        own->request.bar[TOOL_SAMPLE_FIRST_BAR + i] = iova + (PAGE_TENSORS + i) * ACC_TILE_BYTES;
    return words != 0;
}

static bool measure_own(struct own *own, uint32_t count, struct result *result)
{
    struct tool_latency latency;

    for (unsigned i = 0; i < TOOL_BENCH_WARM_UP; i++)
        if (!submit(own))
            return false;
    if (!tool_latency_measure(submit, own, count, &latency))
        return false;
    *result = (struct result){.is_measured = true, .submit_p50 = latency.p50, .submit_p99 = latency.p99};
    return true;
}

static bool measure_machine(uint32_t count, struct result *result)
{
    const struct ane_machine_config machine = {.size = sizeof(machine), .chip = ANE_CHIP_T8103};
    const struct acc_device_config config = {.machine = &machine};
    struct base_error error = {"The request did not end."};
    struct own own = {0};
    uint32_t iova;
    bool good = false;
    int file = base_file_memory("anemone-bench", PAGES * ACC_TILE_BYTES);

    if (file < 0) {
        tool_say("No memory file could be made: %s.", strerror(-file));
        return false;
    }
    if (acc_device_create(&config, &own.device, &error) ||
        acc_device_map(own.device, file, 0, PAGES * ACC_TILE_BYTES, &iova, &error))
        tool_say("%s", error.text);
    else
        good = fill_request(&own, file, iova) && measure_own(&own, count, result);
    if (own.device)
        acc_device_destroy(own.device);
    close(file);
    return good;
}

/* In others. */

static void become(const char *const *words, const char *preload, int out)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (dup2(out, STDOUT_FILENO) < 0 || (preload && setenv("LD_PRELOAD", preload, 1)))
        _exit(TOOL_FAILURE);
    execv("/proc/self/exe", (char *const *)words);
    _exit(TOOL_FAILURE);
}

/* The line that the process writes; false when it writes none. */
static bool line_of(const char *const *words, const char *preload, char line[LINE])
{
    int out[2];
    FILE *output;
    pid_t pid;
    bool good;

    if (pipe2(out, O_CLOEXEC)) {
        tool_say("No pipe could be made: %s.", strerror(errno));
        return false;
    }
    fflush(NULL);
    pid = fork();
    if (pid == 0)
        become(words, preload, out[1]);
    close(out[1]);
    output = fdopen(out[0], "r");
    good = pid > 0 && output && fgets(line, LINE, output);
    if (output)
        fclose(output);
    if (pid > 0)
        waitpid(pid, NULL, 0);
    return good;
}

static bool measure_process(const char *const *words, const char *preload, struct result *result)
{
    char line[LINE];

    result->is_measured = line_of(words, preload, line) &&
                          sscanf(line, "%lf %lf %lf %lf", &result->submit_p50, &result->submit_p99,
                                 &result->other_p50, &result->other_p99) == 4;
    return result->is_measured;
}

/* False when a way that every host has failed. The kernel may refuse the notifier; that row stays empty. */
static bool measure(uint32_t count, struct result results[WAYS])
{
    char path[PATH_ROOM], count_word[16];

    snprintf(count_word, sizeof(count_word), "%" PRIu32, count);
    if (!measure_machine(count, &results[WAY_MACHINE]) || !tool_preload_path(path, sizeof(path)) ||
        !measure_process(
            WORDS("anemone", "bench", "submit", "--way", TOOL_BENCH_PLAIN, "--count", count_word), NULL,
            &results[WAY_PLAIN]) ||
        !measure_process(WORDS("anemone", "bench", "submit", "--way", TOOL_BENCH_NODE, "--count", count_word),
                         path, &results[WAY_PRELOAD]))
        return false;
    measure_process(WORDS("anemone", "accel", "--", "/proc/self/exe", "bench", "submit", "--way",
                          TOOL_BENCH_NODE, "--count", count_word),
                    NULL, &results[WAY_NOTIFY]);
    return true;
}

/* Results. */

static const struct {
    const char *name, *key;
} ways[WAYS] = {
    [WAY_MACHINE] = {"machine.h alone", "machine"},
    [WAY_PLAIN] = {"no node, no library", "plain"},
    [WAY_PRELOAD] = {"preloaded library", "preload"},
    [WAY_NOTIFY] = {"anemone accel", "notify"},
};

static void print_pair(double p50, double p99, double unit)
{
    if (p50 > 0 && unit > 0)
        printf(" %9.2f %9.2f %9.2f", p50, p99, p50 / unit);
    else
        printf(" %9s %9s %9s", "-", "-", "-");
}

static void print_table(const struct result results[WAYS])
{
    printf(
        "a request that adds two small tensors, and an open and a stat of another file: wall time in us\n\n"
        "  %-20s %9s %9s %9s %9s %9s %9s\n",
        "way", "submit", "p99", "machine=1", "open+stat", "p99", "plain=1");
    for (unsigned i = 0; i < WAYS; i++) {
        printf("  %-20s", ways[i].name);
        print_pair(results[i].submit_p50, results[i].submit_p99, results[WAY_MACHINE].submit_p50);
        print_pair(results[i].other_p50, results[i].other_p99, results[WAY_PLAIN].other_p50);
        printf("\n");
    }
    printf("\n");
}

static void print_json(uint32_t count, const struct result results[WAYS])
{
    struct json json;

    json_begin(&json, stdout);
    json_number(&json, "count", count);
    for (unsigned i = 0; i < WAYS; i++) {
        if (!results[i].is_measured)
            continue;
        json_object(&json, ways[i].key);
        if (results[i].submit_p50 > 0) {
            json_real(&json, "submit_p50_us", results[i].submit_p50);
            json_real(&json, "submit_p99_us", results[i].submit_p99);
        }
        if (results[i].other_p50 > 0) {
            json_real(&json, "open_stat_p50_us", results[i].other_p50);
            json_real(&json, "open_stat_p99_us", results[i].other_p99);
        }
        json_object_end(&json);
    }
    json_end(&json);
}

bool tool_bench_accel(uint32_t count, bool as_json)
{
    struct result results[WAYS] = {0};

    if (!measure(count, results)) {
        tool_say("A measurement ended without a result.");
        return false;
    }
    if (as_json)
        print_json(count, results);
    else
        print_table(results);
    return true;
}
