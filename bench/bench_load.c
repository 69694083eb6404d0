/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What it costs until a program can run: boot of a machine, a load of a bundle, a compile that the cache
 * answers, compiles of many live values and of large weights. A line has what was done, the time (the least
 * of several runs) and what the process that did it held at most (base/held.h); each is a child of its own,
 * so that no peak is another's. Arguments: names of measurements; without any, all.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <anemone/e5rt.h>
#include <anemone/machine.h>

#include "base/array.h"
#include "base/file.h"
#include "base/held.h"
#include "blob.h"
#include "compiler/compile.h"
#include "process.h"

static char folder[] = "/tmp/anemone-load-XXXXXX";

/* What a child measured, for its parent. */
struct figure {
    double seconds; /* negative: it failed */
    double end;     /* of a boot: what the end of the machine takes; 0: not measured */
    double copy;    /* of a load: a plain copy of its weights; 0: not measured */
    uint64_t peak_kib;
};

static struct base_held held; /* of a child */

static const char *in_folder(const char *name)
{
    static char path[128];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static double fail(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    return -1;
}

/* Models. */

static void write_weights(const char *name, unsigned count, size_t numbers)
{
    uint64_t seed = 1;

    if (!bench_blob_write(in_folder(name), count, numbers, bench_blob_random, &seed))
        fail(name, "The weights cannot be written.");
}

static FILE *begin_model(const char *name, unsigned channels, unsigned side)
{
    FILE *file = fopen(in_folder(name), "w");

    if (file)
        fprintf(file, "program(1.3)\n{\n    func main<ios18>(tensor<fp16, [1, %u, %u, %u]> v0) {\n", channels,
                side, side);
    return file;
}

/* A chain of 1x1 convolutions of `channels` channels, with weights of their own. */
static void write_convolutions(const char *name, const char *weights, unsigned layers, unsigned channels,
                               unsigned side)
{
    FILE *file = begin_model(name, channels, side);

    for (unsigned i = 0; file && i < layers; i++) {
        fprintf(file,
                "        tensor<fp16, [%u, %u, 1, 1]> w%u = const()[name = string(\"w%u\"), val = "
                "tensor<fp16, [%u, %u, 1, 1]>(BLOBFILE(path = string(\"@model_path/%s\"), offset = "
                "uint64(%ju)))];\n",
                channels, channels, i, i, channels, channels, weights,
                (uintmax_t)bench_blob_offset(i, (size_t)channels * channels));
        fprintf(file,
                "        tensor<fp16, [1, %u, %u, %u]> v%u = conv(x = v%u, weight = w%u)[name = "
                "string(\"v%u\")];\n",
                channels, side, side, i + 1, i, i, i + 1);
    }
    if (!file)
        return;
    fprintf(file, "    } -> (v%u);\n}\n", layers);
    fclose(file);
}

/* So many values that are alive at once: each is used again after the last is made. */
static void write_live(const char *name, unsigned values)
{
    FILE *file = begin_model(name, 8, 16);

    for (unsigned i = 0; file && i < values; i++)
        fprintf(file, "        tensor<fp16, [1, 8, 16, 16]> v%u = tanh(x = v%u)[name = string(\"v%u\")];\n",
                i + 1, i, i + 1);
    for (unsigned i = 0; file && i < values; i++)
        fprintf(file,
                "        tensor<fp16, [1, 8, 16, 16]> s%u = add(x = %c%u, y = v%u)[name = "
                "string(\"s%u\")];\n",
                i + 1, i ? 's' : 'v', i ? i : values, i + 1, i + 1);
    if (!file)
        return;
    fprintf(file, "    } -> (s%u);\n}\n", values);
    fclose(file);
}

/* Measurements. */

static double boot_once(double *end)
{
    const struct ane_machine_config config = {.size = sizeof(config), .firmware = 1};
    struct ane_machine *machine;
    double begin = bench_now(), seconds;

    if (ane_machine_create(&config, &machine))
        return fail("boot", ane_machine_error());
    seconds = bench_now() - begin;
    begin = bench_now();
    ane_machine_destroy(machine);
    *end = bench_now() - begin;
    return seconds;
}

static struct figure measure_boot(const char *unused, unsigned runs)
{
    struct figure f = {.seconds = 1e9, .end = 1e9};

    (void)unused;
    for (unsigned i = 0; i < runs && f.seconds >= 0; i++) {
        double end = 0, seconds = boot_once(&end);

        f.seconds = seconds < f.seconds ? seconds : f.seconds;
        f.end = end < f.end ? end : f.end;
    }
    return f;
}

/* Compiles a model; `force`: even if the cache has it. The bundle's folder is left in `path`. */
static double compile(const char *model, bool force, const char *cache, char path[256])
{
    struct cc_options options = {.force = force, .cache = cache};
    struct base_error error = {{0}};
    struct cc_bundle bundle;
    struct cc_report report;
    char from[128];
    double begin, seconds;

    snprintf(from, sizeof(from), "%s", in_folder(model));
    begin = bench_now();
    if (cc_compile(from, &options, &bundle, &report, &error))
        return fail(model, error.text);
    seconds = bench_now() - begin;
    base_held_note(&held);
    if (path)
        snprintf(path, 256, "%s", bundle.path ? bundle.path : "");
    cc_bundle_release(&bundle);
    return seconds;
}

static const char *cache_folder(void)
{
    static char path[128];

    snprintf(path, sizeof(path), "%s/cache", folder);
    return path;
}

static struct figure measure_compile(const char *model, unsigned runs)
{
    struct figure f = {.seconds = 1e9};

    for (unsigned i = 0; i < runs && f.seconds >= 0; i++) {
        double seconds = compile(model, true, "/dev/null", NULL);

        f.seconds = seconds < f.seconds ? seconds : f.seconds;
    }
    return f;
}

static struct figure measure_hit(const char *model, unsigned runs)
{
    struct figure f = {.seconds = 1e9};

    for (unsigned i = 0; i < runs && f.seconds >= 0; i++) {
        double seconds = compile(model, false, cache_folder(), NULL);

        f.seconds = seconds < f.seconds ? seconds : f.seconds;
    }
    return f;
}

/* A bundle as a program that can run: the machine is there, as in a process that has loaded another one. */
static double load_once(const char *bundle, bool keep)
{
    e5rt_program_library_t library = NULL;
    e5rt_program_function_t function = NULL;
    double begin = bench_now(), seconds;
    int64_t status = e5rt_program_library_create(&library, bundle);

    if (!status)
        status = e5rt_program_library_retain_program_function(library, "main", &function);
    if (!status)
        status = e5rt_program_function_load_for_execution(function);
    seconds = bench_now() - begin;
    base_held_note(&held);
    if (status)
        return fail(bundle, e5rt_get_last_error_message());
    if (!keep) {
        e5rt_program_function_release(&function);
        e5rt_program_library_release(&library);
    }
    return seconds;
}

/*
 * What a load is compared with: the bytes of its weights from the host's cache of the file to fresh pages of
 * a memory file, which is what the machine's DRAM is, in the same pieces.
 */
static double copy_once(const char *bundle)
{
    static uint8_t piece[1 << 20];
    char path[300];
    double begin, seconds = -1;
    uint64_t size = 0, done = 0;
    int from, to;

    snprintf(path, sizeof(path), "%s/weights.bin", bundle);
    from = base_file_open(path, UINT64_MAX, &size, NULL);
    to = base_file_memory("bench-copy", size);
    begin = bench_now();
    while (from >= 0 && to >= 0 && done < size) {
        const size_t part = size - done < sizeof(piece) ? (size_t)(size - done) : sizeof(piece);

        if (base_file_fill(from, piece, part) || base_file_put_at(to, piece, part, (off_t)done))
            break;
        done += part;
    }
    if (size && done == size)
        seconds = bench_now() - begin;
    if (from >= 0)
        close(from);
    if (to >= 0)
        close(to);
    return seconds;
}

/* The two take turns. */
static struct figure measure_load(const char *model, unsigned runs)
{
    struct figure f = {.seconds = 1e9};
    char bundle[256], tiny[256];

    if (compile("tiny.mil", false, cache_folder(), tiny) < 0 || load_once(tiny, true) < 0)
        return (struct figure){.seconds = -1};
    snprintf(bundle, sizeof(bundle), "%s", in_folder(model));
    for (unsigned i = 0; i < runs && f.seconds >= 0; i++) {
        const double copy = copy_once(bundle), seconds = load_once(bundle, false);

        f.seconds = seconds < f.seconds ? seconds : f.seconds;
        f.copy = copy > 0 && (i == 0 || copy < f.copy) ? copy : f.copy;
    }
    return f;
}

/* Rows. */

static void make_medium(void)
{
    enum { LAYERS = 54, CHANNELS = 256 }; /* 7.1 MB: as MobileNetV2 has */

    write_weights("medium.bin", LAYERS, (size_t)CHANNELS * CHANNELS);
    write_convolutions("medium.mil", "medium.bin", LAYERS, CHANNELS, 7);
}

enum {
    LARGE_LAYERS = 29,
    LARGE_CHANNELS = 4096
}; /* 0.97 GB: the driver takes 1 GiB with all that belongs to it */
static void make_large(void)
{
    write_weights("large.bin", LARGE_LAYERS, (size_t)LARGE_CHANNELS * LARGE_CHANNELS);
    write_convolutions("large.mil", "large.bin", LARGE_LAYERS, LARGE_CHANNELS, 1);
}

static void make_live(unsigned values)
{
    char name[32];

    snprintf(name, sizeof(name), "live%u.mil", values);
    write_live(name, values);
}

static void make_lives(void)
{
    make_live(1250);
    make_live(2500);
    make_live(5000);
}

static void make_nothing(void)
{
}

static const struct row {
    const char *name, *what;
    void (*make)(void);
    struct figure (*measure)(const char *model, unsigned runs);
    const char *model;
    unsigned runs;
    double weights; /* bytes; 0: without */
    const char *output;
} rows[] = {
#define MEDIUM (54.0 * 256 * 256 * 2)
#define LARGE  ((double)LARGE_LAYERS * LARGE_CHANNELS * LARGE_CHANNELS * 2)
    {"boot", "boot of a machine with firmware", make_nothing, measure_boot, NULL, 200, 0, NULL},
    {"live", "compile, 1250 live values", make_lives, measure_compile, "live1250.mil", 3, 0, NULL},
    {"live", "compile, 2500 live values", make_nothing, measure_compile, "live2500.mil", 3, 0, NULL},
    {"live", "compile, 5000 live values", make_nothing, measure_compile, "live5000.mil", 3, 0, NULL},
    {"medium", "compile, 7 MB of weights", make_medium, measure_compile, "medium.mil", 5, MEDIUM,
     "medium.bundle"},
    {"medium", "compile answered by the cache, 7 MB", make_nothing, measure_hit, "medium.mil", 20, MEDIUM,
     NULL},
    {"medium", "load of a bundle, 7 MB", make_nothing, measure_load, "medium.bundle", 50, MEDIUM, NULL},
    {"large", "compile, 1 GB of weights", make_large, measure_compile, "large.mil", 1, LARGE, "large.bundle"},
    {"large", "load of a bundle, 1 GB", make_nothing, measure_load, "large.bundle", 3, LARGE, NULL},
};

static void in_child(const struct row *row, int to)
{
    struct figure f = row->measure(row->model, row->runs);

    base_held_note(&held);
    f.peak_kib = held.peak_kib;
    _exit(write(to, &f, sizeof(f)) != sizeof(f));
}

static struct figure run_row(const struct row *row)
{
    struct figure f = {.seconds = -1};
    int pipes[2];
    pid_t child;

    fflush(NULL);
    if (pipe(pipes))
        return f;
    child = fork();
    if (child == 0)
        in_child(row, pipes[1]);
    close(pipes[1]);
    if (child < 0 || read(pipes[0], &f, sizeof(f)) != sizeof(f))
        f.seconds = -1;
    close(pipes[0]);
    if (child > 0)
        waitpid(child, NULL, 0);
    return f;
}

/* The bundle that later rows load; compiled apart, so that no time or peak has it. */
static void write_bundle(const struct row *row)
{
    struct cc_options options = {.cache = cache_folder()};
    struct base_error error = {{0}};
    struct cc_bundle bundle;
    char from[128], to[128];
    pid_t child = fork();

    if (child == 0) {
        snprintf(from, sizeof(from), "%s", in_folder(row->model));
        snprintf(to, sizeof(to), "%s", in_folder(row->output));
        options.output = to;
        if (cc_compile(from, &options, &bundle, NULL, &error))
            fail(row->model, error.text);
        _exit(0);
    }
    if (child > 0)
        waitpid(child, NULL, 0);
}

static void print_row(const struct row *row, const struct figure *f)
{
    const double peak = (double)f->peak_kib * 1024;

    printf("%-38s %10.3f ms  peak %7.1f MB", row->what, f->seconds * 1e3, peak / 1e6);
    if (row->weights)
        printf("  %5.2f GB/s  %5.2f times the weights", row->weights / f->seconds / 1e9, peak / row->weights);
    if (f->copy > 0)
        printf("  copy %.3f ms", f->copy * 1e3);
    if (f->end > 0)
        printf("  end %.3f ms", f->end * 1e3);
    printf("\n");
}

static bool is_wanted(const struct row *row, int count, char **names)
{
    bool wanted = count < 2;

    for (int i = 1; i < count; i++)
        wanted |= !strcmp(names[i], row->name);
    return wanted;
}

int main(int count, char **names)
{
    char command[160];

    if (!mkdtemp(folder)) {
        perror(folder);
        return 1;
    }
    setenv("ANEMONE_SERVICE", "none", 1);
    setenv("XDG_DATA_HOME", folder, 1);
    write_weights("tiny.bin", 1, 64);
    write_convolutions("tiny.mil", "tiny.bin", 1, 8, 8);
    for (unsigned i = 0; i < BASE_COUNT_OF(rows); i++) {
        struct figure f;

        if (!is_wanted(&rows[i], count, names))
            continue;
        rows[i].make();
        f = run_row(&rows[i]);
        if (f.seconds < 0)
            printf("%-38s failed\n", rows[i].what);
        else
            print_row(&rows[i], &f);
        if (rows[i].output)
            write_bundle(&rows[i]);
    }
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    return system(command) != 0;
}
