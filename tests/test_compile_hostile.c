/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile models: whatever a folder has in it, the reason comes back and the next compilation works. And
 * users: who a worker is, and what it can read.
 */
#include "compilerig.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compiler/compile.h"
#include "folder.h"
#include "mil_text.h"
#include "service/landlock.h"
#include "service/sandbox.h"
#include "service/syscall_filter.h"

#define MODELS      folder_name()
#define GOOD        "good.mil"
#define OTHER       65534u
#define FIRST_PURGE 61234u /* a user that has no partition yet */
#define THIRD       65533u

static struct compilerig rig;

static void write_text(const char *name, const char *text)
{
    folder_write(name, text, strlen(text));
}

static int set_up_models(void **state)
{
    set_up(state);
    write_text(GOOD, example);
    return 0;
}

static int start(void **state)
{
    (void)state;
    compilerig_start(&rig, NULL, NULL);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    return compilerig_stop(&rig);
}

static void next_works(void)
{
    struct compilerig_reply reply;

    compilerig_compile(&rig, MODELS, GOOD, &reply);
    compilerig_expect_model(&reply, folder_path(GOOD));
    compilerig_reply_end(&reply);
}

static void refused_as(const char *name, IOReturn status, const char *piece)
{
    struct compilerig_reply reply;

    compilerig_compile(&rig, MODELS, name, &reply);
    compilerig_expect(&reply, status, piece);
    next_works();
}

static void random_bytes(void **state)
{
    struct test_rng rng;
    uint8_t bytes[2048];
    struct compilerig_reply reply;

    (void)state;
    test_rng_init(&rng, 1);
    for (unsigned i = 0; i < 40; i++) {
        size_t size = (size_t)test_rng_range(&rng, 0, sizeof(bytes));

        test_rng_bytes(&rng, bytes, size);
        folder_write("random.mil", bytes, size);
        compilerig_compile(&rig, MODELS, "random.mil", &reply);
        compilerig_expect(&reply, kIOReturnBadArgument, "random.mil");
    }
    next_works();
}

/* The example with random bytes changed: anything but an accident. */
static void damaged_text(void **state)
{
    struct test_rng rng;
    char text[sizeof(example)];
    struct compilerig_reply reply;

    (void)state;
    test_rng_init(&rng, 2);
    for (unsigned i = 0; i < 60; i++) {
        memcpy(text, example, sizeof(text));
        for (unsigned j = 0; j < 3; j++)
            text[test_rng_range(&rng, 0, sizeof(text) - 2)] = (char)test_rng_range(&rng, 1, 126);
        write_text("damaged.mil", text);
        compilerig_compile(&rig, MODELS, "damaged.mil", &reply);
        if (reply.status)
            compilerig_expect(&reply, kIOReturnBadArgument, "damaged.mil");
        compilerig_reply_end(&reply);
    }
    next_works();
}

static void nested_text(void **state)
{
    enum { DEEP = 1 << 20 };
    static const char opening[] = "program(1.3)\n[buildInfo = ";
    char *text = malloc(DEEP + sizeof(opening));

    (void)state;
    assert_non_null(text);
    memcpy(text, opening, sizeof(opening) - 1);
    memset(text + sizeof(opening) - 1, '[', DEEP);
    folder_write("nested.mil", text, DEEP + sizeof(opening) - 1);
    memset(text, '(', DEEP);
    folder_write("nested2.mil", text, DEEP);
    free(text);
    refused_as("nested.mil", kIOReturnBadArgument, "nest deeper");
    refused_as("nested2.mil", kIOReturnBadArgument, "nested2.mil");
}

static void huge_shapes(void **state)
{
    static const char *const shape[] = {
        "[1, 8, 65536, 65536]",         "[1, 4294967295, 16, 16]", "[99999999999999999999, 8, 16, 16]",
        "[16384, 16384, 16384, 16384]", "[0, 8, 16, 16]",          "[-1, 8, 16, 16]"};

    (void)state;
    for (unsigned i = 0; i < sizeof(shape) / sizeof(shape[0]); i++) {
        char piece[128];

        snprintf(piece, sizeof(piece), "%s> x)", shape[i]);
        write_text("huge.mil", changed("[1, 8, 16, 16]> x)", piece));
        refused_as("huge.mil", kIOReturnBadArgument, "huge.mil");
    }
}

static void links(void **state)
{
    (void)state;
    assert_int_equal(symlink("/etc/passwd", folder_path("passwd.mil")), 0);
    assert_int_equal(symlink("loop.mil", folder_path("loop.mil")), 0);
    assert_int_equal(symlink("/", folder_path("root.bundle")), 0);
    refused_as("passwd.mil", kIOReturnBadArgument, svc_landlock_version() > 0 ? "Permission denied" : "");
    refused_as("loop.mil", kIOReturnBadArgument, "Too many levels");
    refused_as("root.bundle", kIOReturnBadArgument, "root.bundle");
}

/* Weights that a link leads out of the folder. */
static void linked_weights(void **state)
{
    uint8_t file[FILE_BYTES];
    char outside[256];

    (void)state;
    if (svc_landlock_version() == 0)
        skip();
    make_weights(file);
    snprintf(outside, sizeof(outside), "%s", folder_path("outside.bin"));
    folder_write("outside.bin", file, sizeof(file));
    assert_int_equal(mkdir(folder_path("inner"), 0755), 0);
    assert_int_equal(symlink(outside, folder_path("inner/linked.bin")), 0);
    write_text("inner/linked.mil", changed("weights/weight.bin", "linked.bin"));
    {
        struct compilerig_reply reply;

        compilerig_compile(&rig, folder_path("inner"), "linked.mil", &reply);
        compilerig_expect(&reply, kIOReturnBadArgument, "Permission denied");
    }
    write_text("above.mil", changed("weights/weight.bin", "../secret.bin"));
    refused_as("above.mil", kIOReturnBadArgument, "leaves the model's folder");
    write_text("itself.mil", changed("weights/weight.bin", "itself.mil"));
    refused_as("itself.mil", kIOReturnBadArgument, "version");
}

static void pipes_and_devices(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(folder_path("pipe.mil"), 0600), 0);
    assert_int_equal(mkfifo(folder_path("pipe"), 0600), 0);
    assert_int_equal(mkfifo(folder_path("weights/pipe.bin"), 0600), 0);
    refused_as("pipe.mil", kIOReturnBadArgument, "not a file");
    refused_as("pipe", kIOReturnBadArgument, "not a file");
    write_text("piped.mil", changed("weights/weight.bin", "weights/pipe.bin"));
    refused_as("piped.mil", kIOReturnBadArgument, "not a regular file");
    assert_int_equal(mkdir(folder_path("folder.mil"), 0700), 0);
    refused_as("folder.mil", kIOReturnBadArgument, "not a bundle");
    refused_as("absent.mil", kIOReturnBadArgument, "No such file");
    if (mknod(folder_path("zero.mil"), S_IFCHR | 0600, makedev(1, 5)))
        return; /* only root makes devices */
    refused_as("zero.mil", kIOReturnBadArgument, "not a file");
    assert_int_equal(unlink(folder_path("zero.mil")), 0);
}

/* A weight file that another process cuts off and writes again, all the time. */
static void changing_weights(void **state)
{
    uint8_t file[FILE_BYTES];
    pid_t pid;

    (void)state;
    make_weights(file);
    folder_write("weights/changing.bin", file, sizeof(file));
    write_text("changing.mil", changed("weights/weight.bin", "weights/changing.bin"));
    fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int open_file = open(folder_path("weights/changing.bin"), O_RDWR | O_CLOEXEC);

        for (;;)
            if (ftruncate(open_file, 100) || pwrite(open_file, file, sizeof(file), 0) < 0)
                _exit(1);
    }
    for (unsigned i = 0; i < 40; i++) {
        struct compilerig_reply reply;

        compilerig_compile(&rig, MODELS, "changing.mil", &reply);
        if (reply.status)
            compilerig_expect(&reply, kIOReturnBadArgument, "changing.bin");
        compilerig_reply_end(&reply);
    }
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    next_works();
}

static void damage(const char *bundle, const char *name)
{
    char path[512];
    uint8_t byte;
    int file;

    snprintf(path, sizeof(path), "%s/%s", bundle, name);
    file = open(path, O_RDWR | O_CLOEXEC);
    assert_true(file >= 0);
    assert_int_equal(pread(file, &byte, 1, 40), 1);
    byte ^= 1;
    assert_int_equal(pwrite(file, &byte, 1, 40), 1);
    close(file);
}

static void damaged_bundles(void **state)
{
    static const char *const name[] = {"main.e5", "weights.bin", "manifest.json", "signature"};

    (void)state;
    for (unsigned i = 0; i < sizeof(name) / sizeof(name[0]); i++) {
        struct cc_options options = {.cache = folder_path("own-cache"), .output = folder_path("net.bundle")};
        struct base_error error = {{0}};
        struct cc_bundle bundle;

        if (cc_compile(folder_path(GOOD), &options, &bundle, NULL, &error))
            fail_msg("%s", error.text);
        cc_bundle_release(&bundle);
        damage(folder_path("net.bundle"), name[i]);
        refused_as("net.bundle", kIOReturnBadArgument, name[i]);
        for (unsigned j = 0; j < sizeof(name) / sizeof(name[0]); j++) {
            char path[512];

            snprintf(path, sizeof(path), "%s/%s", folder_path("net.bundle"), name[j]);
            assert_int_equal(unlink(path), 0);
        }
        assert_int_equal(rmdir(folder_path("net.bundle")), 0);
    }
}

/* An entry of the partition that was changed is compiled again, and is never what FIND gives. */
static void damaged_partition(void **state)
{
    struct compilerig_reply reply, found;
    char entry[512];

    (void)state;
    compilerig_compile(&rig, MODELS, GOOD, &reply);
    compilerig_expect_model(&reply, folder_path(GOOD));
    snprintf(entry, sizeof(entry), "%s/cache/%u/%s", compilerig_state(), geteuid(), reply.model.model);
    damage(entry, "weights.bin");
    compilerig_find(&rig, geteuid(), reply.model.model, &found);
    compilerig_expect(&found, kIOReturnNotFound, "no such model");
    compilerig_reply_end(&reply);
    next_works();
}

/* A constant for which the limit leaves no memory. */
static void needs_too_much(void **state)
{
    const struct svc_work_limits limits = {60, 120, 256u << 20};
    enum { BLOB = 512 << 20 };
    uint8_t head[128] = {0};
    struct compilerig_reply reply;

    (void)state;
    if (SVC_SANDBOX_SANITIZED)
        skip();
    put_le(head, 1, 4);
    put_le(head + 4, 2, 4);
    put_le(head + 64, 0xdeadbeef, 4);
    put_le(head + 68, 1, 4);
    put_le(head + 72, BLOB, 8);
    put_le(head + 80, 128, 8);
    folder_write("weights/large.bin", head, sizeof(head));
    assert_int_equal(truncate(folder_path("weights/large.bin"), 128 + (off_t)BLOB), 0);
    write_text(
        "large.mil",
        "program(1.3)\n{func main<ios18>(tensor<fp16, [1, 1, 1, 1]> x) {\n"
        "tensor<fp16, [1, 1, 16384, 16384]> W = const()[name = string(\"W\"), val = tensor<fp16, [1, 1, "
        "16384, 16384]>(BLOBFILE(path = string(\"@model_path/weights/large.bin\"), offset = "
        "uint64(64)))];\n"
        "tensor<fp16, [1, 1, 16384, 16384]> y = add(x = x, y = W)[name = string(\"y\")];\n"
        "} -> (y);}\n");
    compilerig_stop(&rig);
    compilerig_start(&rig, NULL, &limits);
    compilerig_compile(&rig, MODELS, "large.mil", &reply);
    compilerig_expect(&reply, kIOReturnAborted, "at most 256 MiB of memory");
    next_works();
}

static int deeper(volatile unsigned *depth)
{
    volatile char room[4096];

    room[0] = 1;
    return ++*depth < 1u << 30 ? deeper(depth) + room[0] : 0;
}

/* A compiler that was taken over. */
static void taken_over(const struct svc_work *work, struct svc_work_result *result)
{
    volatile unsigned depth = 0;

    if (!strcmp(work->name, "socket.mil"))
        result->status = socket(AF_INET, SOCK_STREAM, 0) < 0;
    if (!strcmp(work->name, "stack.mil") && work->kind == SVC_WORK_COMPILE) {
        signal(SIGSEGV, SIG_DFL);
        result->status = deeper(&depth);
    }
    if (!strcmp(work->name, "silent.mil") && work->kind == SVC_WORK_COMPILE)
        close(3);
    if (!strcmp(work->name, "open.mil")) {
        size_t at = 0;

        result->status = kIOReturnBadArgument;
        for (int i = 0; i < 1024; i++)
            if (fcntl(i, F_GETFD) >= 0)
                at += (size_t)snprintf(result->sentence + at, sizeof(result->sentence) - at, "%d ", i);
        snprintf(result->sentence + at, sizeof(result->sentence) - at, "are open.");
        return;
    }
    svc_work_do(work, result);
}

static void compiler_is_taken_over(void **state)
{
    (void)state;
    compilerig_stop(&rig);
    compilerig_start(&rig, taken_over, NULL);
    if (!svc_syscall_filter_missing()[0])
        refused_as("socket.mil", kIOReturnAborted, "system call socket");
    refused_as("stack.mil", kIOReturnAborted, "signal 11");
    refused_as("silent.mil", kIOReturnAborted, "sent no result");
    refused_as("open.mil", kIOReturnBadArgument, "0 1 2 3 4 5 6 7 are open.");
}

/* Users. */

/* A folder of a user, with a model in it. */
static const char *folder_of(uint32_t uid, const char *name, mode_t mode)
{
    char file[256];
    uint8_t weights[FILE_BYTES];

    make_weights(weights);
    assert_int_equal(mkdir(folder_path(name), 0700), 0);
    snprintf(file, sizeof(file), "%s/weights", name);
    assert_int_equal(mkdir(folder_path(file), 0755), 0);
    snprintf(file, sizeof(file), "%s/weights/weight.bin", name);
    folder_write(file, weights, sizeof(weights));
    snprintf(file, sizeof(file), "%s/" GOOD, name);
    write_text(file, example);
    assert_int_equal(chown(folder_path(name), uid, uid), 0);
    assert_int_equal(chmod(folder_path(name), mode), 0);
    return folder_path(name);
}

static void order_as(uint32_t uid, const char *folder, struct compilerig_reply *reply)
{
    compilerig_order_as(&rig, folder, GOOD, 0, uid, 0);
    assert_true(compilerig_receive(&rig, reply));
}

/* Whether a process of that user can open a path. */
static bool can_open(uint32_t uid, const char *path)
{
    int status = 0;
    pid_t pid;

    fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(setresgid(uid, uid, uid) || setresuid(uid, uid, uid) ? 2
                                                                   : open(path, O_RDONLY | O_CLOEXEC) < 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
    return WEXITSTATUS(status) == 0;
}

/* A service of root serves each user as that user. */
static void users_of_root(void **state)
{
    struct compilerig_reply mine, theirs, reply;
    char partition[256];
    struct stat info;

    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(chmod(folder_name(), 0711), 0);
    order_as(OTHER, folder_of(OTHER, "theirs", 0700), &theirs);
    compilerig_expect_model(&theirs, folder_path(GOOD));
    snprintf(partition, sizeof(partition), "%s/cache/%u", compilerig_state(), OTHER);
    assert_int_equal(stat(partition, &info), 0);
    assert_int_equal(info.st_uid, OTHER);
    assert_int_equal(info.st_mode & 07777, 0700);
    assert_false(can_open(OTHER, partition));
    assert_false(can_open(THIRD, partition));

    /* Another user's partition has nothing for this one. */
    compilerig_find(&rig, THIRD, theirs.model.model, &reply);
    compilerig_expect(&reply, kIOReturnNotFound, "compiled nothing");
    /* The worker can read what its user can. */
    order_as(THIRD, folder_path("theirs"), &reply);
    compilerig_expect(&reply, kIOReturnBadArgument, "Permission denied");
    order_as(THIRD, folder_of(0, "roots", 0755), &reply);
    compilerig_expect_model(&reply, folder_path(GOOD));
    assert_int_equal(reply.model.hit, 0);
    compilerig_reply_end(&reply);
    compilerig_find(&rig, OTHER, theirs.model.model, &reply);
    compilerig_expect_model(&reply, folder_path(GOOD));
    compilerig_reply_end(&reply);

    order_as(0, folder_path("theirs"), &mine);
    compilerig_expect_model(&mine, folder_path(GOOD));
    compilerig_purge(&rig, THIRD, false, theirs.model.model, &reply);
    assert_int_equal(reply.purged.models, 1);
    compilerig_purge(&rig, 0, true, theirs.model.model, &reply);
    assert_int_equal(reply.status, 0);
    assert_int_equal(reply.purged.models, 2);
    assert_int_equal(reply.purged.partitions, 2);
    compilerig_purge(&rig, 0, true, theirs.model.model, &reply);
    compilerig_expect(&reply, kIOReturnNotFound, "no such model");
    compilerig_purge(&rig, 0, true, "", &reply);
    assert_int_equal(reply.status, 0);
    compilerig_reply_end(&mine);
    compilerig_reply_end(&theirs);
}

/* A partition that a purge makes belongs to the client's group, and so do the workers that use it. */
static void purge_comes_first(void **state)
{
    struct compilerig_reply reply;
    char partition[256];
    struct stat info;

    (void)state;
    if (geteuid() != 0)
        skip();
    compilerig_purge(&rig, FIRST_PURGE, false, "", &reply);
    assert_int_equal(reply.status, 0);
    assert_int_equal(reply.purged.models, 0);
    snprintf(partition, sizeof(partition), "%s/cache/%u", compilerig_state(), FIRST_PURGE);
    assert_int_equal(stat(partition, &info), 0);
    assert_int_equal(info.st_uid, FIRST_PURGE);
    assert_int_equal(info.st_gid, FIRST_PURGE);
}

/* A service of another user cannot become its clients: only folders of their own are read for them. */
static void users_of_a_user(void **state)
{
    struct compilerig_reply reply;
    char served[256];

    (void)state;
    if (geteuid() != 0)
        skip();
    if (svc_landlock_version() == 0)
        skip();
    assert_int_equal(chmod(folder_name(), 0711), 0);
    assert_int_equal(mkdir(folder_path("their-state"), 0700), 0);
    assert_int_equal(chown(folder_path("their-state"), OTHER, OTHER), 0);
    snprintf(served, sizeof(served), "%s", folder_path("their-state"));
    compilerig_stop(&rig);
    compilerig_start_as(&rig, OTHER, served);
    order_as(OTHER, folder_of(OTHER, "served", 0700), &reply);
    compilerig_expect_model(&reply, folder_path(GOOD));
    compilerig_reply_end(&reply);
    order_as(THIRD, folder_path("served"), &reply);
    compilerig_expect(&reply, kIOReturnNotPermitted, "belongs to user 65534");
    order_as(THIRD, folder_of(THIRD, "third", 0755), &reply);
    compilerig_expect_model(&reply, folder_path(GOOD));
    assert_int_equal(reply.model.hit, 0);
    compilerig_reply_end(&reply);
}

/* A state folder that others can use is not used. */
static void partition_of_others(void **state)
{
    struct compilerig_reply reply;
    char cache[256];

    (void)state;
    snprintf(cache, sizeof(cache), "%s/cache", compilerig_state());
    next_works();
    assert_int_equal(chmod(cache, 0755), 0);
    compilerig_compile(&rig, MODELS, GOOD, &reply);
    compilerig_expect(&reply, kIOReturnNoResources, "mode 0755");
    assert_int_equal(chmod(cache, 0700), 0);
    next_works();
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(random_bytes),    CASE(damaged_text),      CASE(nested_text),       CASE(huge_shapes),
        CASE(links),           CASE(linked_weights),    CASE(pipes_and_devices), CASE(changing_weights),
        CASE(damaged_bundles), CASE(damaged_partition), CASE(needs_too_much),    CASE(compiler_is_taken_over),
        CASE(users_of_root),   CASE(purge_comes_first), CASE(users_of_a_user),   CASE(partition_of_others),
    };

    return cmocka_run_group_tests(tests, set_up_models, NULL);
}
