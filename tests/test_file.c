/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that has closed its standard descriptors: what the library opens and keeps never becomes
 * descriptor 0, 1 or 2, where the process's own messages would be written into it.
 */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "folder.h"
#include "iorig.h"

#define STANDARD 3u

/* 0 when none of the closed descriptors is open. */
static int reopened(unsigned closed)
{
    for (int file = 0; file < (int)STANDARD; file++)
        if (closed >> file & 1 && fcntl(file, F_GETFD) >= 0)
            return 10 + file;
    return 0;
}

static void close_some(unsigned closed)
{
    for (int file = 0; file < (int)STANDARD; file++)
        if (closed >> file & 1)
            close(file);
}

/*
 * In the child: DRAM, a program and surfaces bound to the machine are
 * all in use while the descriptors are looked at.
 */
static int use_a_machine(unsigned closed)
{
    struct ane_machine_config config = {.size = sizeof(config), .firmware = 1};
    struct ane_machine *machine;
    struct iorig_accumulator a;
    int found;

    close_some(closed);
    if (ane_machine_create(&config, &machine))
        return 1;
    iorig_accumulator_make(&a, ane_machine_service(machine), 2, 33);
    if (iorig_accumulator_step(&a))
        return 2;
    found = reopened(closed);
    if (found)
        return found;
    if (closed & 4 && write(2, "a message", 9) >= 0)
        return 3;
    if (iorig_accumulator_step(&a))
        return 4;
    if (iorig_accumulator_value(&a) != 2)
        return 5;
    iorig_accumulator_release(&a);
    ane_machine_destroy(machine);
    return 0;
}

/* In the child: the default machine keeps its trace file open. */
static int trace_the_default_machine(unsigned closed)
{
    struct ane_machine *machine;

    setenv("ANEMONE_TRACE", folder_path("trace"), 1);
    close_some(closed);
    if (ane_machine_default(NULL, &machine))
        return 1;
    return reopened(closed);
}

static void run_in_child(int (*work)(unsigned closed), unsigned closed)
{
    int status;
    pid_t child = fork();

    assert_true(child >= 0);
    if (!child)
        _exit(work(closed));
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status))
        fail_msg("with descriptors 0x%x closed the child ended with status 0x%x", closed, status);
}

static void closed_descriptors_stay_closed(void **state)
{
    (void)state;
    for (unsigned closed = 1; closed < 1u << STANDARD; closed++)
        run_in_child(use_a_machine, closed);
}

static void a_trace_file_takes_none(void **state)
{
    char line[64];
    FILE *file;

    (void)state;
    folder_write("trace", "", 0);
    for (unsigned closed = 1; closed < 1u << STANDARD; closed++)
        run_in_child(trace_the_default_machine, closed);
    file = fopen(folder_path("trace"), "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof(line), file));
    fclose(file);
}

static void a_memory_file_is_sealed_and_has_its_size(void **state)
{
    int file = base_file_memory("anemone-test", 0x8000);

    (void)state;
    assert_true(file >= (int)STANDARD);
    assert_int_equal(lseek(file, 0, SEEK_END), 0x8000);
    assert_true(fcntl(file, F_GETFD) & FD_CLOEXEC);
    assert_int_not_equal(ftruncate(file, 0x4000), 0);
    assert_int_not_equal(ftruncate(file, 0x10000), 0);
    close(file);
}

static void refusals_are_error_codes(void **state)
{
    (void)state;
    base_alloc_fail_nth(1);
    assert_int_equal(base_file_memory("anemone-test", 0x8000), -ENOMEM);
    base_alloc_fail_nth(0);
    assert_null(base_file_write("/nowhere/at/all"));
    assert_int_equal(errno, ENOENT);
}

/* A file that is filled and then never changes. */
static void sealed_files(void **state)
{
    int file = base_file_growing("test");
    void *map;

    (void)state;
    assert_true(file >= (int)STANDARD);
    assert_int_equal(base_file_put(file, "abc", 3), 0);
    map = mmap(NULL, 3, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    assert_true(map != MAP_FAILED);
    assert_int_equal(base_file_seal(file, 3), -EBUSY);
    munmap(map, 3);
    assert_int_equal(base_file_put(file, "d", 1), 0);
    assert_int_equal(base_file_seal(file, 4), 0);
    assert_int_equal(base_file_put(file, "e", 1), -EPERM);
    assert_int_not_equal(ftruncate(file, 0), 0);
    close(file);

    file = base_file_growing("test");
    assert_int_equal(base_file_seal(file, 1), -EBADMSG);
    close(file);
    base_alloc_fail_nth(1);
    assert_int_equal(base_file_growing("test"), -ENOMEM);
    base_alloc_fail_nth(0);
    assert_int_equal(base_file_seal(-1, 0), -EBADF);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_descriptors_stay_closed),
        cmocka_unit_test(a_trace_file_takes_none),
        cmocka_unit_test(a_memory_file_is_sealed_and_has_its_size),
        cmocka_unit_test(refusals_are_error_codes),
        cmocka_unit_test(sealed_files),
    };

    return cmocka_run_group_tests_name("file", tests, NULL, NULL);
}
