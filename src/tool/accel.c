/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `anemone accel`: a program that was written for the engine's Linux driver, with the engine of a machine in
 * this process. Its exit status is the program's, so everything that fails here before the program runs has a
 * status that shells and env(1) use for that, or 1.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "accel/notify.h"
#include "accel/repeat.h"
#include "protocol/board.h"
#include "tool/preload.h"
#include "tool/tool.h"
#include "trace/file.h"

const char tool_accel_help[] =
    "anemone accel [--chip t8103|t6000] [--numerics m1|m1-exact|ieee] [--winograd on|off]\n"
    "              [--threads N] [--lenient] [--trace FILE] -- PROGRAM [ARGS]\n"
    "anemone accel --where\n\n"
    "Runs a program that uses the engine through its Linux driver, as it is: the program sees\n"
    "/dev/accel/accel0 and /dev/dri/renderD129, and its calls are answered by a machine in this process.\n"
    "Nothing is installed, and no privilege is needed.\n\n"
    "  anemone accel -- python3 script.py\n"
    "  anemone accel --trace run.txt -- ./program its arguments\n"
    "  anemone accel --lenient -- sh -c './first && ./second'\n\n"
    "Served: the driver's calls of all its generations (networks with the program's own memory, buffers\n"
    "on renderD129, buffers on accel0), for the program and everything that it starts: static programs,\n"
    "forks, threads, scripts. A request that hangs ends with the driver's timeout (ETIMEDOUT), and the\n"
    "reason is on stderr: which descriptor, which word, what to do.\n"
    "Not served: 32-bit programs; listing /dev/accel; programs that supervise system calls themselves.\n"
    "Programs that are set-user-ID run without that privilege. Nodes of these names that this host has are\n"
    "hidden from the program.\n\n"
    "  --chip BOARD        t8103 (default): M1; t6000: M1 Pro and Max\n"
    "  --numerics POLICY   as for `anemone run`; m1\n"
    "  --winograd SETTING  as for `anemone run`; on\n"
    "  --threads N         worker threads of the engine, 1 to 64\n"
    "  --lenient           what no public source explains in a descriptor is ignored instead of refused\n"
    "  --trace FILE        as for `anemone run`\n\n"
    "Where the kernel or a container refuses this, a message says why. --where prints the path of a library\n"
    "that does the same inside the program, without the kernel's help, also under a debugger; for programs\n"
    "that are not static, and not for a node that a child inherits (ANEMONE_ACCEL_CHIP, ANEMONE_NUMERICS,\n"
    "ANEMONE_WINOGRAD, ANEMONE_ACCEL_LENIENT, ANEMONE_THREADS and ANEMONE_TRACE take the place of the options):\n\n"
    "  LD_PRELOAD=$(anemone accel --where) ./program its arguments\n\n"
    "Exit status: the program's; 128 and the signal's number when one killed it; 127 when it is not found,\n"
    "126 when it cannot be executed; 1 when it was not run for another reason, 2 for wrong usage.\n"
    "SIGTERM and SIGHUP are passed on to the program. The command ends with the last process that the\n"
    "program has started; when the command is killed, all of them are. When only those are left, SIGTERM,\n"
    "SIGHUP and SIGINT end them.\n";

enum { STATUS_SIGNAL = 128, STATUS_NOT_EXECUTABLE = 126, STATUS_NOT_FOUND = 127 };

/* Words that are taken before it is said where they belong. */
#define WORDS_MAX 64u

struct accel {
    char **program;
    const char *trace_path;
    struct ane_machine_config config;
    struct trace_file trace;
};

static bool take_machine(struct ane_machine_config *config, const char *chip, const char *numerics,
                         const char *winograd, const char *threads)
{
    const struct pr_board *board = chip ? pr_board_find(chip) : NULL;
    int policy = numerics ? ane_numerics_named(numerics) : ANE_NUMERICS_M1;
    int setting = winograd ? ane_winograd_named(winograd) : ANE_WINOGRAD_ON;

    if (chip && !board) {
        tool_say("there is no board %s; t6000 and t8103 are known.", chip);
        return false;
    }
    if (policy < 0) {
        tool_say("there is no numeric policy %s; %s are known.", numerics, ANE_NUMERICS_NAMES);
        return false;
    }
    if (setting < 0) {
        tool_say("--winograd is %s; %s are known.", winograd, ANE_WINOGRAD_NAMES);
        return false;
    }
    config->chip = board ? (uint32_t)(board - pr_board_table) : ANE_CHIP_T8103;
    config->numerics = (uint32_t)policy;
    config->winograd = (uint32_t)setting;
    return !threads || tool_number("--threads", threads, 1, ANE_THREADS_MAX, &config->threads);
}

/* Options are before `--`, and the program after it. */
static bool take_words(struct accel *accel, int argc, char **argv)
{
    const char *chip = NULL, *numerics = NULL, *winograd = NULL, *threads = NULL;
    bool lenient = false, where = false;
    const struct tool_option options[] = {{"chip", NULL, &chip},         {"numerics", NULL, &numerics},
                                          {"winograd", NULL, &winograd}, {"threads", NULL, &threads},
                                          {"lenient", &lenient, NULL},   {"trace", NULL, &accel->trace_path},
                                          {"where", &where, NULL},       {0}};
    const char *words[WORDS_MAX];
    int own = 0;
    unsigned count;

    while (own < argc && strcmp(argv[own], "--") != 0)
        own++;
    if (!tool_words(own, argv, options, words, WORDS_MAX, &count))
        return false;
    if (where) {
        tool_say("--where is used alone: anemone accel --where.");
        return false;
    }
    if (count || own + 1 >= argc) {
        tool_say("the program comes after `--`: anemone accel [options] -- PROGRAM [ARGS].");
        return false;
    }
    accel->program = argv + own + 1;
    accel->config.lenient = lenient;
    return take_machine(&accel->config, chip, numerics, winograd, threads);
}

/* The status is 0 when no process was there to execute the program. */
static int exit_status(int result, int status)
{
    if (result && !status)
        return TOOL_FAILURE;
    if (result == -ENOENT || result == -ENOTDIR)
        return STATUS_NOT_FOUND;
    if (result)
        return STATUS_NOT_EXECUTABLE;
    return WIFSIGNALED(status) ? STATUS_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

/*
 * A limit on the size of files (`ulimit -f`) counts for memory files too, and its signal would end this
 * process without a word: it stays blocked after a failure.
 */
static int make_device(const struct acc_device_config *config, struct acc_device **device,
                       struct base_error *error)
{
    sigset_t set, before;
    int status;

    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &set, &before);
    status = acc_device_create(config, device, error);
    if (!status)
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}

static int run(struct accel *accel)
{
    struct acc_repeat repeat = ACC_REPEAT_INIT;
    const struct acc_device_config config = {
        .machine = &accel->config, .report = acc_repeat_report, .report_context = &repeat};
    struct acc_device *device = NULL;
    struct acc_table *table = NULL;
    int result, status = 0, ended = TOOL_FAILURE;
    struct base_error error;

    if (acc_notify_possible(&error) || make_device(&config, &device, &error) ||
        acc_table_create(device, &table, &error)) {
        tool_say("%s", error.text);
        goto out;
    }
    result = acc_notify_run(table, accel->program, &status, &error);
    if (result)
        tool_say("%s", error.text);
    ended = exit_status(result, status);
    acc_repeat_end(&repeat);
out:
    acc_table_destroy(table);
    acc_device_destroy(device);
    return ended;
}

static int print_where(void)
{
    char path[PATH_MAX];

    if (!tool_preload_path(path, sizeof(path)))
        return TOOL_FAILURE;
    printf("%s\n", path);
    return TOOL_OK;
}

int tool_accel(int argc, char **argv)
{
    struct accel accel = {.config = {.size = sizeof(accel.config)}};
    int status, traced;

    if (argc == 1 && !strcmp(argv[0], "--where"))
        return print_where();
    if (!take_words(&accel, argc, argv))
        return TOOL_USAGE;
    traced = accel.trace_path ? trace_file_open(&accel.trace, accel.trace_path, &accel.config) : 0;
    if (traced) {
        tool_say("the trace %s cannot be written: %s.", accel.trace_path, strerror(-traced));
        return TOOL_FAILURE;
    }
    status = run(&accel);
    traced = trace_file_close(&accel.trace);
    if (!traced)
        return status;
    tool_say("the trace %s was not written whole: %s.", accel.trace_path, strerror(-traced));
    return status ? status : TOOL_FAILURE;
}
