/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The notifier in the process of the test: what it needs is refused one after the other, and it leaves no
 * descriptor, no process and no changed signal behind. TEST_CLIENT is the client of test_accel_program.
 */
#include "accel/notify.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "folder.h"
#include "programs.h"
#include "support.h"

struct rig {
    struct acc_device *device;
    struct acc_table *table;
    char network[512], words[16];
};

static void start_table(struct rig *rig)
{
    struct base_error error;

    if (acc_table_create(rig->device, &rig->table, &error))
        fail_msg("%s", error.text);
}

static void start(struct rig *rig)
{
    const struct ane_machine_config machine = {.size = sizeof(machine), .chip = ANE_CHIP_T8103};
    const struct acc_device_config config = {.machine = &machine};
    const struct td_shape shape = {1, 8, 1, 32};
    static struct test_program program;
    struct base_error error;

    test_assemble(&program, "%s", test_text_add);
    td_set_shape(program.bytes, &shape);
    folder_write("add.bin", program.bytes, program.size);
    snprintf(rig->network, sizeof(rig->network), "%s", folder_path("add.bin"));
    snprintf(rig->words, sizeof(rig->words), "%u", program.first_words);
    if (acc_device_create(&config, &rig->device, &error))
        fail_msg("%s", error.text);
    start_table(rig);
}

static void stop(struct rig *rig)
{
    acc_table_destroy(rig->table);
    acc_device_destroy(rig->device);
}

/* Its own line on stdout would be one of the test's. */
static int run_client(struct rig *rig, char *mode, int *status, struct base_error *error)
{
    char shell[] = "sh", option[] = "-c", script[] = "exec \"$0\" \"$@\" >/dev/null";
    char client[] = TEST_CLIENT, generation[] = "C", count[] = "1";
    char *argv[] = {shell, option, script, client, generation, rig->network, rig->words, count, mode, NULL};

    return acc_notify_run(rig->table, argv, status, error);
}

static bool refused(void)
{
    struct base_error error;

    if (!acc_notify_possible(&error))
        return false;
    print_message("%s\n", error.text);
    return true;
}

/* Descriptors here, when no file of the device is open. */
static unsigned descriptors(void)
{
    return folder_count("/proc/self/fd");
}

static void assert_no_child(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void assert_same_signals(const sigset_t *before)
{
    sigset_t now;

    pthread_sigmask(SIG_BLOCK, NULL, &now);
    for (int number = 1; number < SIGRTMIN; number++)
        assert_int_equal(sigismember(before, number), sigismember(&now, number));
}

static void right(void **state)
{
    char mode[] = "fork";
    struct base_error error;
    sigset_t before;
    struct rig rig;
    int status = -1;
    unsigned open;

    (void)state;
    if (refused())
        skip();
    start(&rig);
    open = descriptors();
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    assert_int_equal(run_client(&rig, mode, &status, &error), 0);
    assert_int_equal(status, 0);
    assert_no_child();
    assert_same_signals(&before);
    stop(&rig);
    assert_true(descriptors() <= open);
}

/* Each acquisition fails once: the run fails with a sentence, or the client with an error. */
static void acquisitions(void **state)
{
    unsigned failed_runs = 0, failed_clients = 0;
    char mode[] = "once";
    sigset_t before;
    bool whole = false;
    struct rig rig;
    unsigned open;

    (void)state;
    if (refused())
        skip();
    start(&rig);
    open = descriptors();
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    for (unsigned nth = 1; !whole; nth++) {
        struct base_error error = {""};
        unsigned long count = base_alloc_count();
        int status = -1, result;

        base_alloc_fail_nth(nth);
        result = run_client(&rig, mode, &status, &error);
        base_alloc_fail_nth(0);
        whole = base_alloc_count() - count < nth;
        if (result)
            assert_true(result < 0 && error.text[0]);
        failed_runs += result != 0;
        failed_clients += !result && status != 0;
        if (whole)
            assert_true(!result && !status);
        assert_no_child();
        assert_same_signals(&before);
        acc_table_destroy(rig.table);
        assert_int_equal(descriptors(), open);
        start_table(&rig);
    }
    stop(&rig);
    assert_true(failed_runs > 0 && failed_clients > 0);
}

static void not_executed(void **state)
{
    char nowhere[] = "/nowhere/program", folder[512];
    char *argv[] = {nowhere, NULL}, *other[] = {folder, NULL};
    struct base_error error;
    struct rig rig;
    int status;

    (void)state;
    if (refused())
        skip();
    start(&rig);
    snprintf(folder, sizeof(folder), "%s", folder_name());
    assert_int_equal(acc_notify_run(rig.table, argv, &status, &error), -ENOENT);
    assert_non_null(strstr(error.text, nowhere));
    assert_int_equal(acc_notify_run(rig.table, other, &status, &error), -EACCES);
    assert_no_child();
    stop(&rig);
}

/* A parent that has its children reaped by the kernel still learns how the program ended. */
static void children_ignored(void **state)
{
    char shell[] = "sh", option[] = "-c", text[] = "exit 5";
    char *argv[] = {shell, option, text, NULL};
    struct sigaction ignored = {.sa_handler = SIG_IGN}, before, after;
    struct base_error error;
    struct rig rig;
    int status = -1;

    (void)state;
    if (refused())
        skip();
    start(&rig);
    sigaction(SIGCHLD, &ignored, &before);
    assert_int_equal(acc_notify_run(rig.table, argv, &status, &error), 0);
    sigaction(SIGCHLD, &before, &after);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 5);
    assert_ptr_equal(after.sa_handler, SIG_IGN);
    stop(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right),
        cmocka_unit_test(acquisitions),
        cmocka_unit_test(not_executed),
        cmocka_unit_test(children_ignored),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
