/* SPDX-License-Identifier: Apache-2.0 */
/* The `anemone` command: choosing the verb, reading its words. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tool/tool.h"

static const struct tool_verb verbs[] = {
    {"info", "what machine this is: every base address and register block", tool_info_help, tool_info},
    {"spec", "every number of the machine: selectors, registers, commands, limits", tool_spec_help,
     tool_spec},
    {"compile", "a network becomes a bundle, in the cache", tool_compile_help, tool_compile},
    {"run", "a model with tensors in and tensors out", tool_run_help, tool_run},
    {"cache", "what the compiler keeps on disk", tool_cache_help, tool_cache},
    {"inspect", "a program image decoded: ports, buffers, every descriptor by name", tool_inspect_help,
     tool_inspect},
    {"check", "what is wrong with a program image, and what the engine would do with it", tool_check_help,
     tool_check},
    {"assemble", "a descriptor stream from its text form", tool_assemble_help, tool_assemble},
    {"bench", "what a dispatch costs on this host, layer by layer", tool_bench_help, tool_bench},
    {"demo", "boots the machine, runs a small network and shows where the time goes", tool_demo_help,
     tool_demo},
    {"doctor", "whether this host can run the machine well", tool_doctor_help, tool_doctor},
};

#define VERBS (sizeof(verbs) / sizeof(verbs[0]))

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

/* One --option; `next` is the word after it. Returns how many words it took, 0 when it is wrong. */
static int take_option(const char *word, const char *next, const struct tool_option *options)
{
    const char *name = word + 2, *equals = strchr(name, '=');
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    const struct tool_option *option = find_option(options, name, length);

    if (!option) {
        tool_say("there is no option %s here; --help lists them.", word);
        return 0;
    }
    if (option->flag) {
        *option->flag = true;
        return 1;
    }
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
    *count = 0;
    for (int i = 0; i < argc;) {
        int taken = 1;

        if (!strncmp(argv[i], "--", 2) && argv[i][2]) {
            taken = take_option(argv[i], i + 1 < argc ? argv[i + 1] : NULL, options);
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

static void print_help(FILE *file)
{
    fputs("anemone - the M1 neural engine as software\n\n"
          "  anemone VERB [words] [options]\n"
          "  anemone VERB --help\n\n"
          "Verbs:\n",
          file);
    for (size_t i = 0; i < VERBS; i++)
        fprintf(file, "  %-10s %s\n", verbs[i].name, verbs[i].summary);
    fputs("\nResults go to stdout, messages to stderr. Exit status: 0 ok, 1 failure, 2 wrong usage.\n"
          "Begin with `anemone demo`, then `anemone inspect FILE`; anemone(1) has the rest.\n",
          file);
}

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
            return true;
    return false;
}

static int run_verb(const struct tool_verb *verb, int argc, char **argv)
{
    int status;

    if (asks_for_help(argc, argv)) {
        fputs(verb->help, stdout);
        return TOOL_OK;
    }
    status = verb->run(argc, argv);
    if (fflush(stdout) || ferror(stdout)) {
        tool_say("the results could not be written to stdout.");
        return TOOL_FAILURE;
    }
    return status;
}

/*
 * The next file that is opened would take the number of a standard descriptor that is closed, and receive what is meant for it. /dev/null
 * takes it instead, opened so that reading stdin and writing the others fails as it would on a closed one.
 */
static void keep_standard_descriptors(void)
{
    for (int file = STDIN_FILENO; file <= STDERR_FILENO; file++)
        if (fcntl(file, F_GETFD) < 0)
            (void)open("/dev/null", file == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv)
{
    keep_standard_descriptors();
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
