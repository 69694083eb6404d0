/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole programs with the preloaded library, and those of generation A under `anemone accel` too: each is a
 * process of its own.
 */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "folder.h"
#include "programs.h"
#include "tdpatch.h"

#define OUTPUT_MAX 16384
#define NO_SUCH    127 /* what a shell, and run() below, exits with when there is no such program */
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* A program of the host has no sanitizer's runtime, which the library would need. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define SANITIZED 0
#endif

/* Of the command, where the kernel or a container does not allow it. */
#define REFUSED         "User notification is refused"
#define UNDER_SANITIZER "programs of the host have no sanitizer in them"

static char output[OUTPUT_MAX], text_words[16];
static const char *text_path;

static void skip_because(const char *why)
{
    print_message("# %s\n", why);
    skip();
}

/* y = a + b over halves; the clients expect one run of 256 of each tensor. */
static const struct td_shape add_shape = {1, 8, 1, 32};

static int setup(void **state)
{
    struct test_program program;

    (void)state;
    test_assemble(&program, "%s", test_text_add);
    td_set_shape(program.bytes, &add_shape);
    folder_write("add.td", program.bytes, program.size);
    text_path = folder_path("add.td");
    snprintf(text_words, sizeof(text_words), "%u", program.first_words);
    return 0;
}

/* A variable of the environment may take another value than what all have. */
static void become(const char *variable, const char *value, const char *const *words, int out)
{
    if (dup2(out, STDOUT_FILENO) < 0 || dup2(out, STDERR_FILENO) < 0 ||
        setenv("LD_PRELOAD", TEST_PRELOAD, 1) || (variable && setenv(variable, value, 1)) ||
        setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 1))
        _exit(1);
    execvp(words[0], (char *const *)words);
    _exit(NO_SUCH);
}

static void read_output(int file)
{
    size_t size = 0;
    ssize_t got;

    while ((got = read(file, output + size, sizeof(output) - 1 - size)) > 0)
        size += (size_t)got;
    output[size] = '\0';
}

/* The exit status, or 128 and more for a signal; what it wrote is in `output`. */
static int run_with(const char *variable, const char *value, const char *const *words)
{
    int status, ends[2];
    pid_t child;

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    fflush(NULL);
    child = fork();
    if (child == 0)
        become(variable, value, words, ends[1]);
    close(ends[1]);
    assert_true(child > 0);
    read_output(ends[0]);
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void expect(const char *const *words)
{
    int status = run_with(NULL, NULL, words);

    if (status)
        fail_msg("%s %s exited with %d:\n%s", words[0], words[1] ? words[1] : "", status, output);
}

static const char *const modes_a[] = {"run", "swapped", "two", "errors", "fork", "threads", "hang"};
#define MODES_A (sizeof(modes_a) / sizeof(modes_a[0]))

static void test_generation_a(void **state)
{
    (void)state;
    for (unsigned i = 0; i < MODES_A; i++)
        expect(WORDS(TEST_CLIENT_A, text_path, modes_a[i]));
}

static void notified(const char *mode, const char *count)
{
    const char *const *words = WORDS(TEST_COMMAND, "accel", "--", TEST_CLIENT_A, text_path, mode, count);
    int status = run_with("LD_PRELOAD", "", words);

    if (strstr(output, REFUSED))
        skip_because(output);
    if (status)
        fail_msg("under the notifier, %s exited with %d:\n%s", mode, status, output);
}

static void test_generation_a_notified(void **state)
{
    (void)state;
    for (unsigned i = 0; i < MODES_A; i++)
        notified(modes_a[i], "20");
    notified("inherit", "0");
}

static void test_generations_b_and_c(void **state)
{
    (void)state;
    expect(WORDS(TEST_CLIENT, "B", text_path, text_words, "1", "once"));
    expect(WORDS(TEST_CLIENT, "C", text_path, text_words, "1", "once"));
    expect(WORDS(TEST_CLIENT, "C", text_path, text_words, "1", "threads", "8"));
}

static void test_hang(void **state)
{
    (void)state;
    expect(WORDS(TEST_CLIENT_A, text_path, "hang"));
    assert_non_null(strstr(output, "descriptor"));
}

/* The machine is the parent's: an error and one sentence, and the parent goes on. */
static void test_inherited(void **state)
{
    char code[16];
    const char *sentence;

    (void)state;
    snprintf(code, sizeof(code), "%d", ENODEV);
    expect(WORDS(TEST_CLIENT_A, text_path, "inherit", code));
    sentence = strstr(output, "inherited");
    assert_non_null(sentence);
    assert_null(strstr(sentence + 1, "inherited"));
}

/* exec loads the library again, with a machine of its own. */
static void test_exec(void **state)
{
    if (SANITIZED)
        skip_because(UNDER_SANITIZER);
    (void)state;
    expect(
        WORDS("sh", "-c", "exec sh -c 'exec \"$0\" \"$1\" run 3' \"$0\" \"$1\"", TEST_CLIENT_A, text_path));
}

static void test_configuration(void **state)
{
    static const struct {
        const char *name, *value;
    } wrong[] = {{"ANEMONE_ACCEL_CHIP", "m7"},
                 {"ANEMONE_ACCEL_LENIENT", "yes"},
                 {"ANEMONE_NUMERICS", "x"},
                 {"ANEMONE_WINOGRAD", "x"},
                 {"ANEMONE_THREADS", "65"}};
    static const struct {
        const char *name, *value;
    } right[] = {{"ANEMONE_ACCEL_CHIP", "t6000"},
                 {"ANEMONE_ACCEL_LENIENT", "1"},
                 {"ANEMONE_NUMERICS", "ieee"},
                 {"ANEMONE_WINOGRAD", "off"},
                 {"ANEMONE_THREADS", "2"}};

    (void)state;
    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(run_with(wrong[i].name, wrong[i].value, WORDS(TEST_CLIENT_A, text_path, "run")), 1);
        assert_non_null(strstr(output, wrong[i].name));
        assert_non_null(strstr(output, strerror(ENODEV)));
    }
    for (unsigned i = 0; i < sizeof(right) / sizeof(right[0]); i++)
        assert_int_equal(run_with(right[i].name, right[i].value, WORDS(TEST_CLIENT_A, text_path, "run")), 0);
}

static void test_trace(void **state)
{
    const char *path = folder_path("trace.txt");
    uint8_t *bytes;
    size_t size;

    (void)state;
    assert_int_equal(run_with("ANEMONE_TRACE", path, WORDS(TEST_CLIENT_A, text_path, "run")), 0);
    bytes = test_file_read(path, &size);
    assert_non_null(bytes);
    assert_non_null(memmem(bytes, size, "dart invalidate", strlen("dart invalidate")));
    free(bytes);
}

/* What programs ask about a path. */
static void test_paths(void **state)
{
    if (SANITIZED)
        skip_because(UNDER_SANITIZER);
    (void)state;
    expect(
        WORDS("sh", "-c",
              "test -c /dev/accel/accel0 && test -r /dev/accel/accel0 && test -w /dev/dri/renderD129 &&"
              "! test -x /dev/accel/accel0 && ! test -e /dev/accel/accel63 && ! test -d /dev/accel/accel0"));
    expect(WORDS("ls", "-l", "/dev/accel/accel0"));
    assert_non_null(strstr(output, "261,"));
}

static void test_python(void **state)
{
    int status;

    (void)state;
    if (SANITIZED)
        skip_because(UNDER_SANITIZER);
    status = run_with(
        NULL, NULL, WORDS("python3", TEST_SOURCE_ROOT "/tests/accel_client.py", text_path, text_words, "1"));
    if (status == NO_SUCH)
        skip_because("python3 is not here");
    if (status)
        fail_msg("the script exited with %d:\n%s", status, output);
    assert_non_null(strstr(output, "right"));
}

/* The debugger itself runs without the library. */
static void test_debugger(void **state)
{
    const char *const words[] = {"env",        "-u",
                                 "LD_PRELOAD", "gdb",
                                 "-nx",        "-batch",
                                 "-iex",       "set auto-solib-add off",
                                 "-ex",        "set environment LD_PRELOAD " TEST_PRELOAD,
                                 "-ex",        "run",
                                 "--args",     TEST_CLIENT_A,
                                 text_path,    "run",
                                 NULL};
    int status;

    (void)state;
    if (SANITIZED)
        skip_because(UNDER_SANITIZER);
    status = run_with(NULL, NULL, words);
    if (status == NO_SUCH)
        skip_because("gdb is not here");
    if (strstr(output, "ptrace"))
        skip_because(output);
    if (!strstr(output, "exited normally"))
        fail_msg("the debugger says:\n%s", output);
}

/* Nothing but the names that take the place of the C library's is visible. */
static void test_names(void **state)
{
    int status = run_with("LD_PRELOAD", "", WORDS("nm", "-D", "--defined-only", TEST_PRELOAD));

    (void)state;
    if (status == NO_SUCH)
        skip_because("nm is not here");
    assert_int_equal(status, 0);
    assert_non_null(strstr(output, " T ioctl\n"));
    assert_non_null(strstr(output, " T __open64_2\n"));
    assert_null(strstr(output, "ane_"));
    assert_null(strstr(output, "acc_"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_generation_a),
        cmocka_unit_test(test_generation_a_notified),
        cmocka_unit_test(test_generations_b_and_c),
        cmocka_unit_test(test_hang),
        cmocka_unit_test(test_inherited),
        cmocka_unit_test(test_exec),
        cmocka_unit_test(test_configuration),
        cmocka_unit_test(test_trace),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_python),
        cmocka_unit_test(test_debugger),
        cmocka_unit_test(test_names),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
