/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workers of the compile service: one that crashes, loops or lies is an error of one order; several run at
 * once, the most urgent first; and none is left.
 */
#include "compilerig.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "folder.h"
#include "mil_text.h"

#define MODELS folder_name()
#define GOOD   "good.mil"

static void write_model(const char *name, const char *text)
{
    folder_write(name, text, strlen(text));
}

static int set_up_models(void **state)
{
    set_up(state);
    write_model(GOOD, example);
    return 0;
}

static void expect_good(const struct compilerig_reply *reply)
{
    compilerig_expect_model(reply, folder_path(GOOD));
}

static const char *partition_path(uint32_t uid)
{
    static char path[256];

    snprintf(path, sizeof(path), "%s/cache/%u", compilerig_state(), uid);
    return path;
}

static int try_write(int file)
{
    return pwrite(file, "x", 1, 0) < 0 ? errno : 0;
}

/* Workers other than the compiler. */

/* Past the handlers of cmocka and of a sanitizer. */
static void segv(void)
{
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
}

static void crash(const struct svc_work *work, struct svc_work_result *result)
{
    if (work->kind == SVC_WORK_COMPILE && !strcmp(work->name, "crash.mil"))
        segv();
    if (work->kind == SVC_WORK_COMPILE && !strcmp(work->name, "abort.mil"))
        abort();
    if (work->kind == SVC_WORK_COMPILE && !strcmp(work->name, "exit.mil"))
        _exit(3);
    svc_work_do(work, result);
}

/* Whatever belonged to earlier orders is closed: the next message is answered after that. */
static void settle(struct compilerig *rig)
{
    struct compilerig_reply reply;

    compilerig_find(rig, geteuid(), "x", &reply);
    compilerig_expect(&reply, kIOReturnBadArgument, "64 hexadecimal digits");
}

static void one_crash_is_one_error(void **state)
{
    static const struct {
        const char *name, *piece;
    } row[] = {{"crash.mil", "signal 11"}, {"abort.mil", "signal 6"}, {"exit.mil", "exit status was 3"}};
    struct compilerig rig;
    struct compilerig_reply reply;
    unsigned descriptors;

    (void)state;
    compilerig_start(&rig, crash, NULL);
    compilerig_compile(&rig, MODELS, GOOD, &reply);
    compilerig_reply_end(&reply);
    settle(&rig);
    descriptors = compilerig_descriptors(rig.pid);
    for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        compilerig_compile(&rig, MODELS, row[i].name, &reply);
        compilerig_expect(&reply, kIOReturnAborted, row[i].piece);
        compilerig_expect(&reply, kIOReturnAborted, row[i].name);
        compilerig_compile(&rig, MODELS, GOOD, &reply);
        expect_good(&reply);
        compilerig_reply_end(&reply);
    }
    settle(&rig);
    assert_int_equal(compilerig_descriptors(rig.pid), descriptors);
    assert_int_equal(compilerig_children(rig.pid), 0);
    assert_int_equal(compilerig_stop(&rig), 0);
}

/* Ends while an entry is being written: a folder is left until the order is answered. */
static void crash_half_way(const struct svc_work *work, struct svc_work_result *result)
{
    if (work->kind == SVC_WORK_COMPILE) {
        if (mkdir("/proc/self/fd/5/.building-abcdef", 0700))
            _exit(9);
        segv();
    }
    svc_work_do(work, result);
}

static void nothing_is_left(void **state)
{
    struct compilerig rig;
    struct compilerig_reply reply;

    (void)state;
    compilerig_start(&rig, crash_half_way, NULL);
    compilerig_purge(&rig, geteuid(), false, "", &reply);
    compilerig_compile(&rig, MODELS, GOOD, &reply);
    compilerig_expect(&reply, kIOReturnAborted, "signal 11");
    assert_int_equal(folder_count(partition_path(geteuid())), 0);
    assert_int_equal(compilerig_stop(&rig), 0);
}

static volatile unsigned long turns;

static void misbehave(const struct svc_work *work, struct svc_work_result *result)
{
    if (work->kind == SVC_WORK_COMPILE && !strcmp(work->name, "loop.mil"))
        for (;;)
            turns++;
    if (work->kind == SVC_WORK_COMPILE && !strcmp(work->name, "sleep.mil"))
        for (struct timespec now; !clock_gettime(CLOCK_MONOTONIC, &now);)
            sched_yield();
    svc_work_do(work, result);
}

static void processor_time_is_bounded(void **state)
{
    const struct svc_work_limits limits = {1, 60, 8ull << 30};
    struct compilerig rig;
    struct compilerig_reply reply;

    (void)state;
    compilerig_start(&rig, misbehave, &limits);
    compilerig_compile(&rig, MODELS, "loop.mil", &reply);
    compilerig_expect(&reply, kIOReturnAborted, "1 s of processor time");
    compilerig_compile(&rig, MODELS, GOOD, &reply);
    expect_good(&reply);
    compilerig_reply_end(&reply);
    assert_int_equal(compilerig_stop(&rig), 0);
}

static void wall_time_is_bounded(void **state)
{
    const struct svc_work_limits limits = {60, 4, 8ull << 30};
    struct compilerig rig;
    struct compilerig_reply reply;

    (void)state;
    compilerig_start(&rig, misbehave, &limits);
    compilerig_compile(&rig, MODELS, "sleep.mil", &reply);
    compilerig_expect(&reply, kIOReturnAborted, "it took 4 s");
    compilerig_compile(&rig, MODELS, GOOD, &reply);
    expect_good(&reply);
    compilerig_reply_end(&reply);
    assert_int_equal(compilerig_children(rig.pid), 0);
    assert_int_equal(compilerig_stop(&rig), 0);
}

/* A worker that lies: what it says is passed on only if it is well-formed. */
static void lie(const struct svc_work *work, struct svc_work_result *result)
{
    if (work->kind == SVC_WORK_FIND) {
        svc_work_do(work, result);
        result->model.model[0] = result->model.model[0] == '0' ? '1' : '0';
    } else if (!strcmp(work->name, "text.mil")) {
        result->status = kIOReturnBadArgument;
        memset(result->sentence, 'x', sizeof(result->sentence));
    } else if (!strcmp(work->name, "lines.mil")) {
        result->status = kIOReturnBadArgument;
        snprintf(result->sentence, sizeof(result->sentence), "One\nanemone compiler: two\x1b[2J.");
    } else if (!strcmp(work->name, "nofiles.mil")) {
        memset(result->model.model, '0', sizeof(result->model.model) - 1);
    } else {
        svc_work_do(work, result);
        if (!strcmp(work->name, "size.mil"))
            result->model.main_bytes++;
        if (!strcmp(work->name, "key.mil"))
            result->model.model[3] = '/';
        if (!strcmp(work->name, "mapped.mil") &&
            mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, work->files[0], 0) == MAP_FAILED)
            _exit(1);
        if (!strcmp(work->name, "longer.mil") && write(work->files[1], "x", 1) != 1)
            _exit(1);
    }
}

static void results_are_checked(void **state)
{
    static const char *const name[] = {"text.mil", "nofiles.mil", "size.mil", "key.mil", "longer.mil"};
    struct compilerig rig;
    struct compilerig_reply reply;
    char key[PR_BROKER_KEY];

    (void)state;
    compilerig_start(&rig, lie, NULL);
    for (unsigned i = 0; i < sizeof(name) / sizeof(name[0]); i++) {
        write_model(name[i], example);
        compilerig_compile(&rig, MODELS, name[i], &reply);
        compilerig_expect(&reply, kIOReturnAborted, "a result that cannot be used");
    }
    /* The worker has ended, and its mapping with it, before its files are sealed. */
    write_model("mapped.mil", example);
    compilerig_compile(&rig, MODELS, "mapped.mil", &reply);
    expect_good(&reply);
    assert_int_equal(try_write(reply.files[0]), EPERM);
    compilerig_reply_end(&reply);
    compilerig_compile(&rig, MODELS, "lines.mil", &reply);
    compilerig_expect(&reply, kIOReturnBadArgument, "One anemone compiler: two [2J.");
    compilerig_compile(&rig, MODELS, GOOD, &reply);
    expect_good(&reply);
    compilerig_reply_end(&reply);
    memcpy(key, reply.model.model, sizeof(key));
    compilerig_find(&rig, geteuid(), key, &reply);
    compilerig_expect(&reply, kIOReturnAborted, "a result that cannot be used");
    assert_int_equal(compilerig_stop(&rig), 0);
}

/* Several at once. */

/* A model called hold runs until its folder has a file `go`; its worker leaves a sign in the partition. */
static void hold(const struct svc_work *work, struct svc_work_result *result)
{
    if (work->kind == SVC_WORK_COMPILE && !strncmp(work->name, "hold", 4) && !fchdir(work->folder)) {
        close(open("/proc/self/fd/5/held", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
        while (access("go", F_OK))
            sched_yield();
    }
    svc_work_do(work, result);
}

static const char *sign_path(void)
{
    static char path[512];

    snprintf(path, sizeof(path), "%s/held", partition_path(geteuid()));
    return path;
}

static void others_go_on(void **state)
{
    struct compilerig rig;
    struct compilerig_reply reply;
    uint32_t held, quick;

    (void)state;
    unlink(folder_path("go"));
    write_model("hold.mil", example);
    compilerig_start(&rig, hold, NULL);
    held = compilerig_order(&rig, MODELS, "hold.mil", 0);
    quick = compilerig_order(&rig, MODELS, GOOD, 0);
    assert_true(compilerig_receive(&rig, &reply));
    assert_int_equal(reply.serial, quick);
    expect_good(&reply);
    compilerig_reply_end(&reply);
    write_model("go", "");
    assert_true(compilerig_receive(&rig, &reply));
    assert_int_equal(reply.serial, held);
    expect_good(&reply);
    compilerig_reply_end(&reply);
    assert_int_equal(compilerig_stop(&rig), 0);
}

/* Stops the service between two messages. */
static void pause_service(pid_t pid)
{
    char path[64], text[256] = "";

    snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
    kill(pid, SIGSTOP);
    while (!strstr(text, ") T ")) {
        FILE *file = fopen(path, "re");

        assert_non_null(file);
        assert_non_null(fgets(text, sizeof(text), file));
        fclose(file);
    }
}

/* All workers of the user but one are held; that one takes the rest by quality of service. */
static void urgent_first(void **state)
{
    static const uint32_t qos[] = {0x09, 0, 0x21, 0x11};
    static const unsigned expected[] = {2, 1, 3, 0};
    uint32_t serial[4];
    struct compilerig rig;
    struct compilerig_reply reply;

    (void)state;
    unlink(folder_path("go"));
    write_model("hold.mil", example);
    compilerig_start(&rig, hold, NULL);
    for (unsigned i = 0; i + 1 < PR_COMPILE_WORKERS_USER; i++)
        compilerig_order(&rig, MODELS, "hold.mil", 0);
    pause_service(rig.pid);
    for (unsigned i = 0; i < 4; i++)
        serial[i] = compilerig_order_as(&rig, MODELS, GOOD, 0, geteuid(), qos[i]);
    kill(rig.pid, SIGCONT);
    for (unsigned i = 0; i < 4; i++) {
        assert_true(compilerig_receive(&rig, &reply));
        expect_good(&reply);
        assert_int_equal(reply.serial, serial[expected[i]]);
        compilerig_reply_end(&reply);
    }
    write_model("go", "");
    for (unsigned i = 0; i + 1 < PR_COMPILE_WORKERS_USER; i++) {
        assert_true(compilerig_receive(&rig, &reply));
        compilerig_reply_end(&reply);
    }
    assert_int_equal(compilerig_stop(&rig), 0);
}

static void orders_are_bounded(void **state)
{
    struct compilerig rig;
    struct compilerig_reply reply;
    unsigned done = 0, refused_orders = 0;

    (void)state;
    unlink(folder_path("go"));
    write_model("hold.mil", example);
    compilerig_start(&rig, hold, NULL);
    for (unsigned i = 0; i < PR_COMPILE_ORDERS + 3; i++)
        compilerig_order(&rig, MODELS, "hold.mil", 0);
    for (; refused_orders < 3; refused_orders++) {
        assert_true(compilerig_receive(&rig, &reply));
        compilerig_expect(&reply, kIOReturnNoResources, "128 orders");
    }
    write_model("go", "");
    for (; done < PR_COMPILE_ORDERS; done++) {
        assert_true(compilerig_receive(&rig, &reply));
        assert_int_equal(reply.status, 0);
        compilerig_reply_end(&reply);
    }
    assert_int_equal(compilerig_stop(&rig), 0);
}

static pid_t child_of(pid_t pid)
{
    char path[96], text[64] = "";
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%ld/task/%ld/children", (long)pid, (long)pid);
    file = fopen(path, "re");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof(text), file));
    fclose(file);
    return (pid_t)atol(text);
}

/* It has ended, even if nobody has waited for it. */
static bool has_ended(pid_t pid)
{
    char path[64], text[256] = "";
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
    file = fopen(path, "re");
    if (!file)
        return true;
    if (!fgets(text, sizeof(text), file))
        text[0] = '\0';
    fclose(file);
    return !text[0] || strstr(text, ") Z ");
}

/*
 * A worker that is killed and does not end keeps no other order waiting. A tracer keeps it from its parent.
 */
static void worker_that_does_not_end(void **state)
{
    const struct svc_work_limits limits = {60, 2, 8ull << 30};
    struct compilerig rig;
    struct compilerig_reply reply;
    pid_t worker;

    (void)state;
    unlink(folder_path("go"));
    unlink(sign_path());
    write_model("hold.mil", example);
    compilerig_start(&rig, hold, &limits);
    compilerig_order(&rig, MODELS, "hold.mil", 0);
    while (access(sign_path(), F_OK))
        sched_yield();
    worker = child_of(rig.pid);
    if (ptrace(PTRACE_SEIZE, worker, NULL, NULL)) {
        assert_true(compilerig_receive(&rig, &reply));
        compilerig_stop(&rig);
        skip(); /* it has given up that its user can trace it */
    }
    assert_true(compilerig_receive(&rig, &reply));
    compilerig_expect(&reply, kIOReturnAborted, "could not be ended");
    compilerig_compile(&rig, MODELS, GOOD, &reply);
    expect_good(&reply);
    compilerig_reply_end(&reply);
    assert_int_equal(waitpid(worker, NULL, __WALL), worker);
    for (unsigned i = 0; compilerig_children(rig.pid); i++) {
        assert_true(i < 20000);
        usleep(1000);
    }
    assert_int_equal(compilerig_stop(&rig), 0);
    unlink(sign_path());
}

/* The broker ends, or the service is killed: no worker stays. */
static void workers_end_with_the_service(void **state)
{
    enum { PATIENCE_MS = 20000 };
    struct compilerig rig;

    (void)state;
    write_model("hold.mil", example);
    for (unsigned killed = 0; killed < 2; killed++) {
        pid_t worker;

        unlink(folder_path("go"));
        unlink(sign_path());
        compilerig_start(&rig, hold, NULL);
        compilerig_order(&rig, MODELS, "hold.mil", 0);
        while (access(sign_path(), F_OK))
            sched_yield();
        worker = child_of(rig.pid);
        assert_true(worker > 0);
        assert_false(has_ended(worker));
        if (killed) {
            kill(rig.pid, SIGKILL);
            assert_int_equal(waitpid(rig.pid, NULL, 0), rig.pid);
            close(rig.socket);
        } else {
            assert_int_equal(compilerig_stop(&rig), 0);
        }
        for (unsigned i = 0; i < PATIENCE_MS && !has_ended(worker); i++)
            usleep(1000);
        assert_true(has_ended(worker));
    }
    unlink(sign_path());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_crash_is_one_error),
        cmocka_unit_test(nothing_is_left),
        cmocka_unit_test(processor_time_is_bounded),
        cmocka_unit_test(wall_time_is_bounded),
        cmocka_unit_test(results_are_checked),
        cmocka_unit_test(others_go_on),
        cmocka_unit_test(urgent_first),
        cmocka_unit_test(orders_are_bounded),
        cmocka_unit_test(worker_that_does_not_end),
        cmocka_unit_test(workers_end_with_the_service),
    };

    return cmocka_run_group_tests(tests, set_up_models, NULL);
}
