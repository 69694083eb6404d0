/* SPDX-License-Identifier: Apache-2.0 */
/* How far a compilation is: what a watcher is called with, and the bar on a terminal. */
#include "support.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/progress.h"
#include "compiler/compile.h"
#include "folder.h"
#include "tool/progress.h"

#define WAIT_US    200000u /* longer than the bar stays away */
#define SILENCE_MS 100     /* and no more comes */

static const char text[] =
    "program(1.3)\n{\n    func main<ios18>(tensor<fp16, [1, 4, 6, 8]> x) {\n"
    "        tensor<fp16, [1, 4, 6, 8]> a = relu(x = x);\n        tensor<fp16, [1, 4, 6, 8]> b = sigmoid(x = a);\n"
    "        tensor<fp16, [1, 4, 6, 8]> c = exp(x = b);\n        tensor<fp16, [1, 4, 6, 8]> y = add(x = c, y = a);\n"
    "    } -> (y);\n}\n";

struct seen {
    unsigned calls, steps; /* steps: of phases with more than one */
    char phases[512];      /* their names, each once in a row */
    const char *last;
    bool wrong;
};

static void see(void *context, uint32_t done, uint32_t total, const char *what)
{
    struct seen *seen = context;

    seen->calls++;
    seen->steps += total > 1;
    seen->wrong |= done >= total || !what[0];
    if (seen->last && !strcmp(seen->last, what))
        return;
    seen->last = what;
    assert_true(strlen(seen->phases) + strlen(what) + 2 < sizeof(seen->phases));
    strcat(strcat(seen->phases, what), " ");
}

static void compile(void)
{
    struct cc_options options = {.cache = folder_path("cache"), .force = true};
    struct cc_bundle bundle;
    struct base_error error;

    folder_write("net.mil", text, sizeof(text) - 1);
    if (cc_compile(folder_path("net.mil"), &options, &bundle, NULL, &error))
        fail_msg("%s", error.text);
    cc_bundle_release(&bundle);
}

static void phases_are_seen(void **state)
{
    struct seen seen = {.calls = 0}, after;

    (void)state;
    base_progress_watch(see, &seen);
    compile();
    base_progress_watch(NULL, NULL);
    after = seen;
    compile();
    assert_int_equal(after.calls, seen.calls);
    assert_false(seen.wrong);
    assert_memory_equal(seen.phases, "read fold ", 10);
    assert_non_null(strstr(seen.phases, " lower store "));
    /* The lowering alone has a step for each of the four operations. */
    assert_true(seen.steps >= 4);
}

/* What is on stderr of a bar that begins, moves and ends. */
static void show(int file, bool waits)
{
    int before = dup(STDERR_FILENO);

    assert_true(before >= 0 && dup2(file, STDERR_FILENO) >= 0);
    tool_progress_begin();
    if (waits)
        usleep(WAIT_US);
    base_progress_phase("lower");
    base_progress_step(3, 12); /* too soon after the first */
    tool_progress_end();
    base_progress_step(4, 12);
    fflush(stderr);
    dup2(before, STDERR_FILENO);
    close(before);
}

/* A terminal passes on what was written a little later, in parts. */
static const char *shown(int file)
{
    static char got[1024];
    struct pollfd ready = {.fd = file, .events = POLLIN};
    size_t size = 0;
    ssize_t more;

    while (poll(&ready, 1, SILENCE_MS) > 0 && (more = read(file, got + size, sizeof(got) - 1 - size)) > 0)
        size += (size_t)more;
    got[size] = '\0';
    return got;
}

static int open_terminal(int *master)
{
    *master = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
    if (*master < 0 || grantpt(*master) || unlockpt(*master))
        return -1;
    return open(ptsname(*master), O_RDWR | O_NOCTTY);
}

static void terminal_has_a_bar(void **state)
{
    const char *got, *cells;
    int master, terminal = open_terminal(&master);

    (void)state;
    if (terminal < 0) {
        print_message("no pseudo-terminals here\n");
        skip();
    }
    setenv("TERM", "xterm", 1);
    show(terminal, true);
    got = shown(master);
    assert_non_null(strstr(got, "compiling: lower"));
    cells = strchr(strchr(got, '[') + 1, '['); /* behind that of the escape */
    assert_non_null(cells);
    assert_true(strspn(cells + 1, ".") >= 8);
    /* The last thing is an empty line. */
    assert_string_equal(got + strlen(got) - 4, "\r\033[K");
    /* Work that ends soon shows nothing. */
    show(terminal, false);
    assert_string_equal(shown(master), "");
    setenv("TERM", "dumb", 1);
    show(terminal, true);
    assert_string_equal(shown(master), "");
    close(terminal);
    close(master);
}

static void pipe_has_none(void **state)
{
    int ends[2];

    (void)state;
    assert_return_code(pipe2(ends, O_NONBLOCK), 0);
    show(ends[1], true);
    assert_string_equal(shown(ends[0]), "");
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phases_are_seen),
        cmocka_unit_test(terminal_has_a_bar),
        cmocka_unit_test(pipe_has_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
