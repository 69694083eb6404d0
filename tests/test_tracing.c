/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ANEMONE_TRACE for machines that a program makes itself: which file a machine has, that it is complete when
 * the machine or the process ends, and what a forked child writes.
 */
#include "support.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <anemone/machine.h>

#include "folder.h"

static struct ane_machine *make(uint32_t trace)
{
    struct ane_machine_config config = {.size = sizeof(config), .dram_bytes = 16u << 20, .trace = trace};
    struct ane_machine *machine;

    assert_int_equal(ane_machine_create(&config, &machine), 0);
    return machine;
}

/* Lines of a file that end in a newline; -1 when there is none. */
static long lines_of(const char *name)
{
    FILE *file = fopen(folder_path(name), "r");
    long lines = 0;
    int byte;

    if (!file)
        return -1;
    while ((byte = getc(file)) != EOF)
        lines += byte == '\n';
    fclose(file);
    return lines;
}

/* A number of traced events: reads that no block answers. */
static uint64_t work(struct ane_machine *machine, unsigned reads)
{
    for (unsigned i = 0; i < reads; i++)
        ane_machine_read32(machine, 0x1000);
    return ane_machine_counter(machine, "trace.lines");
}

static void each_machine_has_a_file(void **state)
{
    struct ane_machine *first, *second, *own;
    uint64_t lines[2];

    (void)state;
    setenv("ANEMONE_TRACE", folder_path("trace"), 1);
    first = make(0);
    second = make(0);
    own = make(1); /* has a trace already, without a function */
    lines[0] = work(first, 10);
    lines[1] = work(second, 20);
    work(own, 30);
    ane_machine_destroy(second);
    ane_machine_destroy(first);
    ane_machine_destroy(own);
    assert_true(lines_of("trace") >= (long)lines[0] && lines[0] >= 10);
    assert_true(lines_of("trace.2") >= (long)lines[1] && lines[1] >= 20);
    assert_int_equal(lines_of("trace.3"), -1);
    ane_machine_destroy(make(0)); /* the number of a machine that has ended is not used again */
    assert_true(lines_of("trace.3") >= 0);
    assert_true(lines_of("trace") >= 10);
}

/* The number comes before the ending, so that all files have the same form. */
static void the_form_is_that_of_the_name(void **state)
{
    static const char *const ending[] = {"json", "bin"};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        char name[32], second[32], beginning[8] = "";
        struct ane_machine *machine;
        FILE *file;

        snprintf(name, sizeof(name), "form.%s", ending[i]);
        snprintf(second, sizeof(second), "form.2.%s", ending[i]);
        setenv("ANEMONE_TRACE", folder_path(name), 1);
        ane_machine_destroy(make(0));
        machine = make(0);
        work(machine, 3);
        ane_machine_destroy(machine);
        file = fopen(folder_path(second), "r");
        assert_non_null(file);
        assert_int_equal(fread(beginning, 1, sizeof(beginning), file), sizeof(beginning));
        if (i == 1)
            assert_memory_equal(beginning, "ANETRACE", 8);
        else
            assert_int_equal(beginning[0], '{');
        if (i == 0) { /* complete */
            assert_int_equal(fseek(file, -2, SEEK_END), 0);
            assert_int_equal(getc(file), '}');
        }
        fclose(file);
    }
}

/* One that cannot be written is said when the machine is made, and has taken no number. */
static void a_file_that_cannot_be_written_is_refused(void **state)
{
    struct ane_machine_config config = {.size = sizeof(config), .chip = 99};
    struct ane_machine *machine;

    (void)state;
    setenv("ANEMONE_TRACE", "/nowhere/at/all", 1);
    assert_int_equal(ane_machine_create(NULL, &machine), -ENOENT);
    assert_null(machine);
    assert_non_null(strstr(ane_machine_error(), "ANEMONE_TRACE: /nowhere/at/all cannot be written"));
    setenv("ANEMONE_TRACE", folder_path("refused"), 1);
    assert_int_equal(ane_machine_create(&config, &machine), -EINVAL);
    assert_int_equal(lines_of("refused"), -1);
    setenv("ANEMONE_TRACE", "", 1);
    ane_machine_destroy(make(0));
    unsetenv("ANEMONE_TRACE");
    ane_machine_destroy(make(0));
}

/* Machines that exist when their process exits: a checker for leaks finds them here. */
static struct ane_machine *kept[2];

/* A process that exits with machines of its own completes their files; its child writes nothing into them. */
static void exit_and_fork_leave_whole_files(void **state)
{
    int status;
    pid_t child;

    (void)state;
    setenv("ANEMONE_TRACE", folder_path("exit"), 1);
    child = fork();
    if (!child) {
        pid_t grandchild;

        kept[0] = make(0);
        work(kept[0], 100);
        grandchild = fork();
        if (!grandchild) {
            kept[1] = make(0);
            work(kept[1], 5);
            exit(0);
        }
        waitpid(grandchild, &status, 0);
        if (status)
            _exit(1);
        exit(work(kept[0], 11) == 111 ? 0 : 2);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(lines_of("exit"), 111);
    assert_int_equal(lines_of("exit.2"), 5);
    unsetenv("ANEMONE_TRACE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_machine_has_a_file),
        cmocka_unit_test(the_form_is_that_of_the_name),
        cmocka_unit_test(a_file_that_cannot_be_written_is_refused),
        cmocka_unit_test(exit_and_fork_leave_whole_files),
    };

    unsetenv("ANEMONE_TRACE");
    return cmocka_run_group_tests_name("tracing", tests, NULL, NULL);
}
