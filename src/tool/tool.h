/* SPDX-License-Identifier: Apache-2.0 */
/* The `anemone` command: its verbs and what they share. Results go to stdout, messages to stderr. */
#ifndef TOOL_TOOL_H
#define TOOL_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TOOL_OK = 0, TOOL_FAILURE = 1, TOOL_USAGE = 2 };

struct tool_verb {
    const char *name;
    const char *summary; /* one line, for the list of verbs; NULL: the verb is not in it */
    const char *help;    /* the whole of `anemone VERB --help` */
    int (*run)(int argc, char **argv);
};

/* What an option of a verb is: a flag, or a name that takes a value. */
struct tool_option {
    const char *name; /* without the dashes */
    bool *flag;
    const char **value;
};

/*
 * Reads a verb's words: options of the table (at most 32, ending in a row without name) anywhere before `--`,
 * everything else into `words`. Prints what is wrong and returns false on an unknown option, a missing or
 * needless value, a second value, or too many words.
 */
bool tool_words(int argc, char **argv, const struct tool_option *options, const char **words, unsigned max,
                unsigned *count);

/* A whole number from `least` to `most`; false after saying so. `name` is what the number was given with. */
bool tool_number(const char *name, const char *word, uint32_t least, uint32_t most, uint32_t *number);

/* A message: "anemone: ..." on stderr. */
void tool_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A whole file, at most `limit` bytes, for base_free; NULL after saying why. */
uint8_t *tool_file_read(const char *path, size_t limit, size_t *size);
/* Whether an option names a file: `-` and an empty name do not. False after saying so; NULL: not given. */
bool tool_file_named(const char *option, const char *name);
/* False after saying why. */
bool tool_file_write(const char *path, const void *bytes, size_t size);

/* `compile --list`: every operator that the compiler takes. */
void tool_operators_print(void);
void tool_operators_json(void);

int tool_accel(int argc, char **argv);
int tool_assemble(int argc, char **argv);
int tool_bench(int argc, char **argv);
int tool_broker(int argc, char **argv);
int tool_cache(int argc, char **argv);
int tool_check(int argc, char **argv);
int tool_compare(int argc, char **argv);
int tool_compile(int argc, char **argv);
int tool_compiler(int argc, char **argv);
int tool_demo(int argc, char **argv);
int tool_doctor(int argc, char **argv);
int tool_info(int argc, char **argv);
int tool_inspect(int argc, char **argv);
int tool_run(int argc, char **argv);
int tool_serve(int argc, char **argv);
int tool_spec(int argc, char **argv);
int tool_top(int argc, char **argv);
int tool_trace(int argc, char **argv);

extern const char tool_accel_help[], tool_assemble_help[], tool_bench_help[], tool_broker_help[],
    tool_cache_help[], tool_check_help[], tool_compare_help[], tool_compile_help[], tool_compiler_help[],
    tool_demo_help[], tool_doctor_help[], tool_info_help[], tool_inspect_help[], tool_run_help[],
    tool_serve_help[], tool_spec_help[], tool_top_help[], tool_trace_help[];

#endif
