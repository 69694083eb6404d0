/* SPDX-License-Identifier: Apache-2.0 */
/* Whole programs with the preloaded library: each is a process of its own, with LD_PRELOAD set. */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "accel_text.h"
#include "folder.h"
#include "programs.h"

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

static char output[OUTPUT_MAX];
static const char *text_path;

static int setup(void **state)
{
    struct test_program program;

    (void)state;
    test_assemble(&program, "%s", accel_text_add);
    folder_write("add.td", program.bytes, program.size);
    text_path = folder_path("add.td");
    return 0;
}

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

static void test_generation_a(void **state)
{
    static const char *const modes[] = {"run", "swapped", "two", "errors", "fork", "threads"};

    (void)state;
    for (unsigned i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
        expect(WORDS(TEST_CLIENT_A, text_path, modes[i]));
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
        skip();
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
                 {"ANEMONE_THREADS", "65"}};
    static const struct {
        const char *name, *value;
    } right[] = {{"ANEMONE_ACCEL_CHIP", "t6000"},
                 {"ANEMONE_ACCEL_LENIENT", "1"},
                 {"ANEMONE_NUMERICS", "ieee"},
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

/* What programs ask about a path. */
static void test_paths(void **state)
{
    if (SANITIZED)
        skip();
    (void)state;
    expect(
        WORDS("sh", "-c",
              "test -c /dev/accel/accel0 && test -r /dev/accel/accel0 && test -w /dev/dri/renderD129 &&"
              "! test -x /dev/accel/accel0 && ! test -e /dev/accel/accel63 && ! test -d /dev/accel/accel0"));
    expect(WORDS("ls", "-l", "/dev/accel/accel0"));
    assert_non_null(strstr(output, "261,"));
}

static const char script[] =
    "import fcntl, mmap, os, struct, sys\n"
    "TILE = 0x4000\n"
    "def iowr(number, size): return 3 << 30 | size << 16 | ord('d') << 8 | number\n"
    "assert os.path.exists('/dev/accel/accel0') and os.access('/dev/accel/accel0', os.R_OK | os.W_OK)\n"
    "text = open(sys.argv[1], 'rb').read()\n"
    "node = os.open('/dev/accel/accel0', os.O_RDWR)\n"
    "def buffer():\n"
    "    answer = fcntl.ioctl(node, iowr(0x41, 24), struct.pack('<IIQQ', 0, 0, TILE, 0))\n"
    "    handle, pad, size, offset = struct.unpack('<IIQQ', answer)\n"
    "    return handle, mmap.mmap(node, TILE, offset=offset)\n"
    "tiles = {i: buffer() for i in (0, 4, 5, 6, 32)}\n"
    "tiles[0][1][:len(text)] = text\n"
    "tiles[32][1][:len(text)] = text\n"
    "tiles[6][1][:512] = struct.pack('<256e', *range(256))\n"
    "tiles[5][1][:512] = struct.pack('<256e', *[7] * 256)\n"
    "handles = [tiles[i][0] if i in tiles else 0 for i in range(33)]\n"
    "fcntl.ioctl(node, iowr(0x43, 152), struct.pack('<QII33II', len(text), 1, len(text), *handles, 0))\n"
    "os.close(node)\n"
    "assert struct.unpack('<256e', tiles[4][1][:512]) == tuple(i + 7 for i in range(256))\n"
    "print('right')\n";

static void test_python(void **state)
{
    int status;

    (void)state;
    if (SANITIZED)
        skip();
    folder_write("client.py", script, sizeof(script) - 1);
    status = run_with(NULL, NULL, WORDS("python3", folder_path("client.py"), text_path));
    if (status == NO_SUCH)
        skip();
    if (status)
        fail_msg("the script exited with %d:\n%s", status, output);
    assert_non_null(strstr(output, "right"));
}

/* The debugger itself runs without the library. */
static void test_debugger(void **state)
{
    const char *const words[] = {
        "env",     "-u",     "LD_PRELOAD", "gdb",
        "-nx",     "-batch", "-ex",        "set environment LD_PRELOAD " TEST_PRELOAD,
        "-ex",     "run",    "--args",     TEST_CLIENT_A,
        text_path, "run",    NULL};
    int status;

    (void)state;
    if (SANITIZED)
        skip();
    status = run_with(NULL, NULL, words);
    if (status == NO_SUCH || strstr(output, "ptrace"))
        skip();
    if (!strstr(output, "exited normally"))
        fail_msg("the debugger says:\n%s", output);
}

/* Nothing but the names that take the place of the C library's is visible. */
static void test_names(void **state)
{
    int status = run_with("LD_PRELOAD", "", WORDS("nm", "-D", "--defined-only", TEST_PRELOAD));

    (void)state;
    if (status == NO_SUCH)
        skip();
    assert_int_equal(status, 0);
    assert_non_null(strstr(output, " T ioctl\n"));
    assert_non_null(strstr(output, " T __open64_2\n"));
    assert_null(strstr(output, "ane_"));
    assert_null(strstr(output, "acc_"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_generation_a),  cmocka_unit_test(test_hang),
        cmocka_unit_test(test_inherited),     cmocka_unit_test(test_exec),
        cmocka_unit_test(test_configuration), cmocka_unit_test(test_paths),
        cmocka_unit_test(test_python),        cmocka_unit_test(test_debugger),
        cmocka_unit_test(test_names),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
