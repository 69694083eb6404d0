/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process's default machine: what the environment says about it, when it can be configured. One process,
 * so the order of the tests counts.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <string.h>
#include <unistd.h>

#include <anemone/iokit.h>

#include "folder.h"
#include "support.h"

static void refused(const char *name, const char *value, const char *words)
{
    struct ane_machine *machine = NULL;

    setenv(name, value, 1);
    assert_int_equal(IOServiceGetMatchingService(0, IOServiceMatching("H11ANEIn")), 0);
    assert_true(ane_machine_default(NULL, &machine) < 0);
    assert_null(machine);
    if (!strstr(ane_machine_error(), words))
        fail_msg("said \"%s\", expected \"%s\"", ane_machine_error(), words);
    unsetenv(name);
}

static void refuses_what_it_does_not_know(void **state)
{
    struct ane_machine_config bad = {.size = sizeof(bad), .numerics = 99, .firmware = 1};
    struct ane_machine *machine = NULL;

    (void)state;
    refused("ANEMONE_NUMERICS", "exact", "ANEMONE_NUMERICS is \"exact\"; m1, ieee and m1-exact are known.");
    refused("ANEMONE_WINOGRAD", "yes", "ANEMONE_WINOGRAD is \"yes\"; on and off are known.");
    refused("ANEMONE_THREADS", "two", "ANEMONE_THREADS is \"two\"; it is a number from 1 to 64.");
    refused("ANEMONE_THREADS", "-1", "it is a number from 1 to 64.");
    refused("ANEMONE_THREADS", "4 cores", "it is a number from 1 to 64.");
    refused("ANEMONE_TIMING", "fast", "ANEMONE_TIMING is \"fast\"; m1 and none are known.");
    refused("ANEMONE_CORE", "fast", "ANEMONE_CORE is \"fast\"; native and emulated are known.");
    refused("ANEMONE_FIRMWARE", "/nowhere/at/all", "/nowhere/at/all");
    refused("ANEMONE_SCATTER", "yes", "ANEMONE_SCATTER is \"yes\"; it is a number from 0 to 4294967295.");
    refused("ANEMONE_SCATTER", "4294967296", "it is a number from 0 to 4294967295.");
    refused("ANEMONE_TRACE", "/nowhere/at/all", "ANEMONE_TRACE: /nowhere/at/all cannot be written");
    assert_true(ane_machine_default(&bad, &machine) < 0);
    assert_null(machine);
}

static void follows_the_environment(void **state)
{
    struct ane_machine *machine = NULL, *again = NULL;
    char text[4096] = "";
    FILE *file;

    (void)state;
    setenv("ANEMONE_NUMERICS", "ieee", 1);
    setenv("ANEMONE_WINOGRAD", "off", 1);
    setenv("ANEMONE_THREADS", "2", 1);
    setenv("ANEMONE_TRACE", folder_path("trace"), 1);
    assert_int_equal(ane_machine_default(NULL, &machine), 0);
    assert_non_null(machine);
    assert_int_equal(ane_machine_default(NULL, &again), 0);
    assert_ptr_equal(machine, again);
    assert_int_equal(IOServiceGetMatchingService(0, IOServiceMatching("H11ANEIn")),
                     ane_machine_service(machine));
    assert_int_not_equal(ane_machine_service(machine), 0);
    assert_int_not_equal(ane_machine_trace_hash(machine), 0);
    file = fopen(folder_path("trace"), "r");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
    fclose(file);
    assert_non_null(strstr(text, " drv aperture 1 ANE "));
}

static void is_made_once(void **state)
{
    struct ane_machine_config config = {.size = sizeof(config), .firmware = 1};
    struct ane_machine *machine = NULL;

    (void)state;
    assert_int_equal(ane_machine_default(&config, &machine), -EBUSY);
    assert_null(machine);
    assert_non_null(strstr(ane_machine_error(), "in use"));
}

static unsigned lines_of(const char *path)
{
    FILE *file = fopen(path, "r");
    unsigned lines = 0;
    int byte;

    assert_non_null(file);
    while ((byte = fgetc(file)) != EOF)
        lines += byte == '\n';
    fclose(file);
    return lines;
}

/* A child that ends with exit() has the parent's buffers, and must find nothing of the trace in them. */
static void a_child_writes_no_line_again(void **state)
{
    const char *path = folder_path("child-trace");
    pid_t child, grandchild;
    int status;

    (void)state;
    child = fork();
    if (child == 0) {
        struct ane_machine *machine;
        uint64_t lines;

        setenv("ANEMONE_TRACE", path, 1);
        if (ane_machine_default(NULL, &machine))
            _exit(2);
        lines = ane_machine_counter(machine, "trace.lines");
        grandchild = fork();
        if (grandchild == 0)
            exit(0);
        waitpid(grandchild, &status, 0);
        fflush(NULL);
        _exit(lines_of(path) == lines ? 0 : 3);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_writes_no_line_again),
        cmocka_unit_test(refuses_what_it_does_not_know),
        cmocka_unit_test(follows_the_environment),
        cmocka_unit_test(is_made_once),
    };

    unsetenv("ANEMONE_NUMERICS");
    unsetenv("ANEMONE_WINOGRAD");
    unsetenv("ANEMONE_THREADS");
    unsetenv("ANEMONE_TRACE");
    return cmocka_run_group_tests_name("default_machine", tests, NULL, NULL);
}
