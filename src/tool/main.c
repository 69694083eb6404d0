/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The `anemone` command: choosing the verb, reading its words. Stdout is for results alone; messages go
 * through tool_say. The exit status also depends on the last flush of stdout, so a verb returns and never
 * calls exit.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/tool.h"

#include "base/array.h"

static const struct tool_verb verbs[] = {
    {"info", "what machine this is: every base address and register block", tool_info_help, tool_info},
    {"spec", "every number of the machine: selectors, registers, commands, limits", tool_spec_help,
     tool_spec},
    {"compile", "a network becomes a bundle, in the cache", tool_compile_help, tool_compile},
    {"compare", "where a network's numbers are lost, node by node", tool_compare_help, tool_compare},
    {"run", "a model with tensors in and tensors out", tool_run_help, tool_run},
    {"accel", "a Linux program for the engine's driver, unmodified", tool_accel_help, tool_accel},
    {"serve", "one machine for many processes: the service with its broker", tool_serve_help, tool_serve},
    {"top", "who uses the engine of a service, live", tool_top_help, tool_top},
    {"cache", "what the compiler keeps on disk", tool_cache_help, tool_cache},
    {"inspect", "a program image decoded: ports, buffers, every descriptor by name", tool_inspect_help,
     tool_inspect},
    {"check", "what is wrong with a program image, and what the engine would do with it", tool_check_help,
     tool_check},
    {"assemble", "a descriptor stream from its text form", tool_assemble_help, tool_assemble},
    {"trace", "a binary trace as text or JSON", tool_trace_help, tool_trace},
    {"bench", "what a dispatch costs on this host, layer by layer", tool_bench_help, tool_bench},
    {"demo", "boots the machine, runs a small network and shows where the time goes", tool_demo_help,
     tool_demo},
    {"doctor", "whether this host can run the machine well", tool_doctor_help, tool_doctor},
    {"broker", NULL, tool_broker_help, tool_broker},
    {"compiler", NULL, tool_compiler_help, tool_compiler},
};

#define VERBS BASE_COUNT_OF(verbs)

void tool_say(const char *format, ...)
{
    va_list args;

    fputs("anemone: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

static const struct tool_option *find_option(const struct tool_option *options, const char *name,
                                             size_t length)
{
    for (; options->name; options++)
        if (strlen(options->name) == length && !memcmp(options->name, name, length))
            return options;
    return NULL;
}

/*
 * One --option; `next` is the word after it, `given` has a bit for each that has a value. Returns how many
 * words it took, 0 when it is wrong.
 */
static int take_option(const char *word, const char *next, const struct tool_option *options, uint32_t *given)
{
    const char *name = word + 2, *equals = strchr(name, '=');
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    const struct tool_option *option = find_option(options, name, length);

    if (!option) {
        tool_say("there is no option %s here; --help lists them.", word);
        return 0;
    }
    if (option->flag && equals) {
        tool_say("--%s takes no value.", option->name);
        return 0;
    }
    if (option->flag) {
        *option->flag = true;
        return 1;
    }
    if (*given & 1u << (option - options)) {
        tool_say("--%s is given twice.", option->name);
        return 0;
    }
    *given |= 1u << (option - options);
    if (!equals && !next) {
        tool_say("%s needs a value.", word);
        return 0;
    }
    *option->value = equals ? equals + 1 : next;
    return equals ? 1 : 2;
}

bool tool_words(int argc, char **argv, const struct tool_option *options, const char **words, unsigned max,
                unsigned *count)
{
    bool ended = false;
    uint32_t given = 0;

    *count = 0;
    for (int i = 0; i < argc;) {
        int taken = 1;

        if (!ended && !strcmp(argv[i], "--")) {
            ended = true;
        } else if (!ended && !strncmp(argv[i], "--", 2)) {
            taken = take_option(argv[i], i + 1 < argc ? argv[i + 1] : NULL, options, &given);
            if (!taken)
                return false;
        } else if (*count == max) {
            tool_say("%s is one word too many; --help shows what is taken.", argv[i]);
            return false;
        } else {
            words[(*count)++] = argv[i];
        }
        i += taken;
    }
    return true;
}

bool tool_number(const char *name, const char *word, uint32_t least, uint32_t most, uint32_t *number)
{
    char *end;
    unsigned long value;

    errno = 0;
    value = strtoul(word, &end, 10);
    if (errno || *end || word[0] < '0' || word[0] > '9' || value < least || value > most) {
        tool_say("%s takes a number from %u to %u, not '%s'.", name, least, most, word);
        return false;
    }
    *number = (uint32_t)value;
    return true;
}

static void print_help(FILE *file)
{
    fputs("anemone - the M1 neural engine as software\n\n"
          "  anemone VERB [words] [options]\n"
          "  anemone VERB --help\n\n"
          "Verbs:\n",
          file);
    for (size_t i = 0; i < VERBS; i++)
        if (verbs[i].summary)
            fprintf(file, "  %-10s %s\n", verbs[i].name, verbs[i].summary);
    fputs("\nOptions may be anywhere before `--`, which ends them: what follows is a word, also when it\n"
          "begins with dashes. --option VALUE and --option=VALUE are the same.\n"
          "Results go to stdout, messages to stderr. Exit status: 0 ok, 1 failure, 2 wrong usage.\n"
          "Begin with `anemone demo`, then `anemone inspect FILE`; anemone(1) has the rest.\n",
          file);
}

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
            return true;
    return false;
}

static int run_verb(const struct tool_verb *verb, int argc, char **argv)
{
    if (!asks_for_help(argc, argv))
        return verb->run(argc, argv);
    fputs(verb->help, stdout);
    return TOOL_OK;
}

/*
 * The next file that is opened would take the number of a standard descriptor that is closed, and receive
 * what is meant for it. /dev/null takes it instead, opened so that reading stdin and writing the others fails
 * as it would on a closed one.
 */
static void keep_standard_descriptors(void)
{
    for (int file = STDIN_FILENO; file <= STDERR_FILENO; file++)
        if (fcntl(file, F_GETFD) < 0)
            (void)open("/dev/null", file == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

static int run(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return TOOL_USAGE;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
        print_help(stdout);
        return TOOL_OK;
    }
    if (!strcmp(argv[1], "--version")) {
        puts("anemone " ANEMONE_VERSION);
        return TOOL_OK;
    }
    for (size_t i = 0; i < VERBS; i++)
        if (!strcmp(argv[1], verbs[i].name))
            return run_verb(&verbs[i], argc - 2, argv + 2);
    tool_say("there is no verb %s; `anemone --help` lists them.", argv[1]);
    return TOOL_USAGE;
}

/* What is still in stdout's buffer may be all there is, so its last write decides too. */
int main(int argc, char **argv)
{
    bool failed;
    int status;

    keep_standard_descriptors();
    status = run(argc, argv);
    failed = ferror(stdout);
    errno = 0;
    if (fflush(stdout) || failed) {
        tool_say("writing to stdout failed%s%s.", errno ? ": " : "", errno ? strerror(errno) : "");
        return TOOL_FAILURE;
    }
    return status;
}
