/* SPDX-License-Identifier: Apache-2.0 */
/* Life cycles of the driver's objects: which transitions a table allows, and what any other does. */
#include "support.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver/lifecycle.h"

static const struct drv_lifecycle_state lamp_states[] = {
    {"off", 1u << 1}, {"on", 1u << 0 | 1u << 2}, {"broken", 0}};
static const struct drv_lifecycle lamp = {"lamp", 3, lamp_states};

static void only_listed_transitions_are_allowed(void **state)
{
    const bool allowed[3][3] = {{false, true, false}, {true, false, true}, {false, false, false}};

    (void)state;
    for (unsigned from = 0; from < 3; from++)
        for (unsigned to = 0; to < 3; to++)
            assert_int_equal(drv_lifecycle_allows(&lamp, from, to), allowed[from][to]);
    assert_false(drv_lifecycle_allows(&lamp, 0, 3));
    assert_false(drv_lifecycle_allows(&lamp, 3, 0));
    assert_false(drv_lifecycle_allows(&lamp, 1, 32));
    drv_lifecycle_check(&lamp, 0, 1);
}

/* The message of the child is kept out of the log: a reader would take it for a failure. */
static void any_other_ends_the_process(void **state)
{
    char text[256] = "";
    int end[2], status;
    pid_t child;

    (void)state;
    assert_int_equal(pipe(end), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        dup2(end[1], STDERR_FILENO);
        drv_lifecycle_check(&lamp, 2, 1);
        _exit(0);
    }
    close(end[1]);
    assert_true(read(end[0], text, sizeof(text) - 1) > 0);
    close(end[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_non_null(strstr(text, "a lamp from state 2 (broken) to state 1 (on)"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_listed_transitions_are_allowed),
        cmocka_unit_test(any_other_ends_the_process),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
