/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sandbox of a compilation: each row is one thing that a confined process tries, and what becomes of it.
 * Rows for a part that this kernel or build lacks are skipped by name.
 */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#if ANEMONE_SECCOMP
#include <seccomp.h>
#endif

#include "folder.h"
#include "service/landlock.h"
#include "service/sandbox.h"
#include "service/syscall_filter.h"

#define OTHER 65534u

/* What the confined process says about itself, on a pipe. */
struct word {
    enum { DONE, FORBIDDEN, REFUSED } kind;
    int value; /* errno or 0; the number of the call; errno of the sandbox */
};
static int pipe_in[2], pipe_out[2];

static void say(int kind, int value)
{
    struct word word = {kind, value};

    if (write(pipe_out[1], &word, sizeof(word)) != (ssize_t)sizeof(word))
        _exit(2);
}

static void forbidden(int number)
{
    say(FORBIDDEN, number);
}

static int outside; /* a descriptor that the process has, for calls that need one */

static int try_open(const char *path, int flags)
{
    int file = open(path, flags | O_CLOEXEC, 0600);

    if (file < 0)
        return errno;
    close(file);
    return 0;
}

static int result(long value)
{
    return value < 0 ? errno : 0;
}

/* What is allowed. */
static int read_model(void)
{
    return try_open("model", O_RDONLY);
}
static int read_below(void)
{
    return try_open("deep/model", O_RDONLY);
}
static int write_output(void)
{
    int status = try_open("../out/new", O_RDWR | O_CREAT | O_EXCL);

    return status ? status : result(unlink("../out/new"));
}
static int replace_output(void)
{
    if (mkdir("../out/a", 0700) || mkdir("../out/b", 0700) || try_open("../out/a/x", O_CREAT | O_WRONLY))
        return errno;
    if (rename("../out/a", "../out/b/a"))
        return svc_landlock_version() < 2 ? 0 : errno;
    return result(unlink("../out/b/a/x") || rmdir("../out/b/a") || rmdir("../out/b") ? -1 : 0);
}

/* What Landlock denies. */
static int write_model(void)
{
    return try_open("model", O_WRONLY);
}
static int create_beside(void)
{
    return try_open("new", O_CREAT | O_WRONLY);
}
static int remove_model(void)
{
    return result(unlink("model"));
}
static int read_outside(void)
{
    return try_open("../secret", O_RDONLY);
}
static int read_absolute(void)
{
    return try_open("/etc/passwd", O_RDONLY);
}
static int read_link(void)
{
    return try_open("link", O_RDONLY);
}
static int read_root(void)
{
    return try_open("/", O_RDONLY | O_DIRECTORY);
}
static int read_process(void)
{
    return try_open("/proc/self/mem", O_RDONLY);
}
static int write_outside(void)
{
    return try_open("../new", O_CREAT | O_WRONLY);
}
static int move_out(void)
{
    /* REFER is what lets a file leave its folder: EXDEV is its refusal. */
    int status = result(rename("../out/kept", "../taken"));

    return status == EXDEV ? EACCES : status;
}

/* What the filter forbids. */
static int make_socket(void)
{
    return result(socket(AF_INET, SOCK_STREAM, 0));
}
static int make_local_socket(void)
{
    return result(socket(AF_UNIX, SOCK_STREAM, 0));
}
static int run_program(void)
{
    char *words[] = {(char *)(uintptr_t) "true", NULL};

    return result(execve("/bin/true", words, NULL));
}
static int make_process(void)
{
    return result(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
}
static int trace(void)
{
    return result(syscall(SYS_ptrace, 16, 1, 0, 0));
}
static int read_other(void)
{
    return result(syscall(SYS_process_vm_readv, 1, NULL, 0, NULL, 0, 0));
}
static int kill_parent(void)
{
    return result(syscall(SYS_kill, 1, 0));
}
static int kill_thread(void)
{
    return result(syscall(SYS_tgkill, 1, 1, 0));
}
static int change_user(void)
{
    return result(syscall(SYS_setresuid, 0, 0, 0));
}
static int set_limit(void)
{
    return result(syscall(SYS_prlimit64, 0, 0, NULL, NULL));
}
static int control_process(void)
{
    return result(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
}
static int new_namespace(void)
{
    return result(syscall(SYS_unshare, CLONE_NEWUSER));
}
static int make_link(void)
{
    return result(syscall(SYS_symlinkat, "/etc/passwd", AT_FDCWD, "../out/link"));
}
static int change_mode(void)
{
    return result(syscall(SYS_fchmodat, AT_FDCWD, "../out/kept", 04777));
}
static int control_device(void)
{
    return result(syscall(SYS_ioctl, outside, 0, 0));
}
static int send_elsewhere(void)
{
    struct msghdr message = {0};

    return result(sendmsg(outside, &message, 0));
}
static int ask_for_signals(void)
{
    return result(fcntl(outside, F_SETOWN, 1));
}
static int map_code(void)
{
    return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? errno
                                                                                                     : 0;
}
static int make_code(void)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return result(mprotect(page, 4096, PROT_READ | PROT_EXEC));
}
static int make_ring(void)
{
    return result(syscall(425 /* io_uring_setup */, 1, NULL));
}

enum part { NONE, LANDLOCK, FILTER };
static const struct row {
    const char *name;
    int (*act)(void);
    enum part part; /* what refuses it */
    int number;     /* FILTER: the call */
} rows[] = {
    {"reads the model", read_model, NONE, 0},
    {"reads beneath the model's folder", read_below, NONE, 0},
    {"writes its output", write_output, NONE, 0},
    {"moves its output", replace_output, NONE, 0},
    {"changes the model", write_model, LANDLOCK, 0},
    {"creates beside the model", create_beside, LANDLOCK, 0},
    {"removes the model", remove_model, LANDLOCK, 0},
    {"reads above the folder", read_outside, LANDLOCK, 0},
    {"reads by an absolute path", read_absolute, LANDLOCK, 0},
    {"reads through a link", read_link, LANDLOCK, 0},
    {"lists the root", read_root, LANDLOCK, 0},
    {"opens its own memory", read_process, LANDLOCK, 0},
    {"writes above the folder", write_outside, LANDLOCK, 0},
    {"moves its output out", move_out, LANDLOCK, 0},
    {"socket", make_socket, FILTER, SYS_socket},
    {"local socket", make_local_socket, FILTER, SYS_socket},
    {"exec", run_program, FILTER, SYS_execve},
    {"fork", make_process, FILTER, SYS_clone},
    {"ptrace", trace, FILTER, SYS_ptrace},
    {"another's memory", read_other, FILTER, SYS_process_vm_readv},
    {"kill", kill_parent, FILTER, SYS_kill},
    {"tgkill of another", kill_thread, FILTER, SYS_tgkill},
    {"setresuid", change_user, FILTER, SYS_setresuid},
    {"limits", set_limit, FILTER, SYS_prlimit64},
    {"prctl", control_process, FILTER, SYS_prctl},
    {"unshare", new_namespace, FILTER, SYS_unshare},
    {"symbolic link", make_link, FILTER, SYS_symlinkat},
    {"mode of a file", change_mode, FILTER, SYS_fchmodat},
    {"ioctl", control_device, FILTER, SYS_ioctl},
    {"message on another descriptor", send_elsewhere, FILTER, SYS_sendmsg},
    {"signals by a descriptor", ask_for_signals, FILTER, SYS_fcntl},
    {"executable mapping", map_code, FILTER, SYS_mmap},
    {"memory made executable", make_code, FILTER, SYS_mprotect},
    {"io_uring", make_ring, FILTER, 425},
};

static int set_up(void **state)
{
    (void)state;
    assert_int_equal(mkdir(folder_path("model-folder"), 0755), 0);
    assert_int_equal(mkdir(folder_path("model-folder/deep"), 0755), 0);
    assert_int_equal(mkdir(folder_path("out"), 0700), 0);
    folder_write("secret", "x", 1);
    folder_write("model-folder/model", "x", 1);
    folder_write("model-folder/deep/model", "x", 1);
    folder_write("out/kept", "x", 1);
    assert_int_equal(symlink(folder_path("secret"), folder_path("model-folder/link")), 0);
    return 0;
}

static struct svc_sandbox sandbox(int read_folder, int write_folder)
{
    return (struct svc_sandbox){.uid = geteuid(),
                                .gid = getegid(),
                                .read = read_folder,
                                .write = write_folder,
                                .seconds = 30,
                                .memory = 1ull << 30,
                                .file_bytes = 1u << 20,
                                .files = 64,
                                .socket = -1,
                                .forbidden = forbidden};
}

/* In a forked process: enters the sandbox, acts, and says what came of it. */
static pid_t confine(struct svc_sandbox box, int (*act)(void))
{
    pid_t parent = getpid(), pid;

    assert_int_equal(pipe2(pipe_out, O_CLOEXEC), 0);
    assert_int_equal(pipe2(pipe_in, O_CLOEXEC), 0);
    fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct base_error error = {{0}};
        int status;

        close(pipe_in[1]);
        signal(SIGXFSZ, SIG_DFL);
        box.parent = parent;
        status = fchdir(box.read) ? -errno : svc_sandbox_enter(&box, &error);
        if (status)
            say(REFUSED, -status);
        else
            say(DONE, act());
        _exit(0);
    }
    close(pipe_out[1]);
    close(pipe_in[0]);
    return pid;
}

static struct word hear(pid_t pid, int *status)
{
    struct word word = {REFUSED, -1};
    ssize_t got = read(pipe_out[0], &word, sizeof(word));

    assert_true(got == 0 || got == (ssize_t)sizeof(word));
    close(pipe_in[1]);
    close(pipe_out[0]);
    assert_int_equal(waitpid(pid, status, 0), pid);
    return word;
}

static void each_row(void **state)
{
    int read_folder = open(folder_path("model-folder"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int write_folder = open(folder_path("out"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool has[] = {true, svc_landlock_version() > 0, !svc_syscall_filter_missing()[0]};

    (void)state;
    outside = write_folder;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *row = &rows[i];
        struct word word, expected = {DONE, row->part == LANDLOCK ? EACCES : 0};
        int status;

        if (!has[row->part]) {
            print_message("skipped: %s: this host lacks what refuses it\n", row->name);
            continue;
        }
        if (row->part == FILTER)
            expected = (struct word){FORBIDDEN, row->number};
        word = hear(confine(sandbox(read_folder, write_folder), row->act), &status);
        if (word.kind != expected.kind || word.value != expected.value)
            fail_msg("%s: kind %d value %d, expected kind %d value %d", row->name, (int)word.kind, word.value,
                     (int)expected.kind, expected.value);
    }
    close(read_folder);
    close(write_folder);
}

static int use_memory(void)
{
    void *volatile block = malloc(2ull << 30); /* a compiler may leave out a block that is not used */
    int status = block ? 0 : errno;

    free(block);
    return status;
}

static int write_much(void)
{
    char block[4096] = {0};
    int file = open("../out/much", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

    for (unsigned i = 0; i < 512 && write(file, block, sizeof(block)) > 0; i++)
        ;
    return errno;
}

static int open_many(void)
{
    while (open("model", O_RDONLY | O_CLOEXEC) >= 0)
        ;
    return errno;
}

static void limits_hold(void **state)
{
    int folder = open(folder_path("model-folder"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int write_folder = open(folder_path("out"), O_RDONLY | O_DIRECTORY | O_CLOEXEC), status;

    (void)state;
    if (!SVC_SANDBOX_SANITIZED)
        assert_int_equal(hear(confine(sandbox(folder, write_folder), use_memory), &status).value, ENOMEM);
    assert_int_equal(hear(confine(sandbox(folder, write_folder), open_many), &status).value, EMFILE);
    hear(confine(sandbox(folder, write_folder), write_much), &status);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGXFSZ);
    close(folder);
    close(write_folder);
}

/* Stays until the parent has looked. */
static int wait_for_parent(void)
{
    char byte;

    say(DONE, 77);
    return read(pipe_in[0], &byte, 1) < 0 ? errno : 0;
}

/* A line of /proc/PID/status, without its name. */
static void status_line(pid_t pid, const char *name, char *text, size_t size)
{
    char path[64], line[256];
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%ld/status", (long)pid);
    file = fopen(path, "re");
    assert_non_null(file);
    text[0] = '\0';
    while (fgets(line, sizeof(line), file))
        if (!strncmp(line, name, strlen(name)) && line[strlen(name)] == ':')
            snprintf(text, size, "%s", line + strlen(name) + 1);
    fclose(file);
}

static void check_status(pid_t pid, uint32_t uid, unsigned long long capabilities)
{
    char text[256];
    unsigned id[4];

    status_line(pid, "Uid", text, sizeof(text));
    assert_int_equal(sscanf(text, "%u %u %u %u", &id[0], &id[1], &id[2], &id[3]), 4);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(id[i], uid);
    status_line(pid, "CapPrm", text, sizeof(text));
    assert_int_equal(strtoull(text, NULL, 16) & ~capabilities, 0);
    status_line(pid, "CapEff", text, sizeof(text));
    assert_int_equal(strtoull(text, NULL, 16) & ~capabilities, 0);
    status_line(pid, "NoNewPrivs", text, sizeof(text));
    assert_int_equal(atoi(text), 1);
    status_line(pid, "Seccomp", text, sizeof(text));
    if (!svc_syscall_filter_missing()[0])
        assert_int_equal(atoi(text), 2);
}

static void becomes(uint32_t uid, unsigned long long capabilities)
{
    int folder = open(folder_path("model-folder"), O_RDONLY | O_DIRECTORY | O_CLOEXEC), status;
    struct svc_sandbox box = sandbox(folder, -1);
    struct word word;
    char groups[256];
    pid_t pid;

    box.uid = box.gid = uid;
    pid = confine(box, wait_for_parent);
    assert_int_equal(read(pipe_out[0], &word, sizeof(word)), sizeof(word));
    assert_int_equal(word.kind, DONE);
    assert_int_equal(word.value, 77);
    check_status(pid, uid, capabilities);
    status_line(pid, "Groups", groups, sizeof(groups));
    if (geteuid() == 0)
        assert_int_equal(strspn(groups, " \t\n"), strlen(groups));
    assert_int_equal(write(pipe_in[1], "", 1), 1);
    hear(pid, &status);
    close(folder);
}

static void gives_up_its_user(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    becomes(OTHER, 0);
}

static void gives_up_the_rights_of_root(void **state)
{
    (void)state;
    /* CAP_DAC_READ_SEARCH: root reads models as it is used to, and has nothing else. */
    becomes(geteuid(), geteuid() == 0 ? 1ull << 2 : 0);
}

#if ANEMONE_SECCOMP
/* A kernel without Landlock, for this process and what it forks. */
static bool hide_landlock(void)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    int status = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);

    if (!status)
        status = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), 444, 0);
    if (!status)
        status = seccomp_load(filter);
    seccomp_release(filter);
    return !status;
}

/* By what a process that is `uid` and has no Landlock is answered for the order of `client`. */
static struct word without_landlock(uint32_t uid, uint32_t client)
{
    int folder = open(folder_path("model-folder"), O_RDONLY | O_DIRECTORY | O_CLOEXEC), relay[2], status;
    struct svc_sandbox box = sandbox(folder, -1);
    struct word word;
    pid_t pid;

    box.uid = box.gid = client;
    assert_int_equal(pipe2(relay, O_CLOEXEC), 0);
    fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if ((uid != geteuid() &&
             (setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid))) ||
            !hide_landlock())
            _exit(1);
        word = hear(confine(box, read_model), &status);
        _exit(write(relay[1], &word, sizeof(word)) != (ssize_t)sizeof(word));
    }
    close(folder);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(read(relay[0], &word, sizeof(word)), sizeof(word));
    close(relay[0]);
    close(relay[1]);
    return word;
}
#endif

/* A process that is not the client's user opens files with its own rights: not without a wall. */
static void refuses_without_a_wall(void **state)
{
    (void)state;
#if ANEMONE_SECCOMP
    uint32_t own = geteuid() == 0 ? OTHER - 1 : geteuid();
    struct word word = without_landlock(own, OTHER);

    assert_int_equal(word.kind, REFUSED);
    assert_int_equal(word.value, EPERM);
    word = without_landlock(own, own);
    assert_int_equal(word.kind, DONE);
    assert_int_equal(word.value, 0);
#else
    skip();
#endif
}

static void names_what_is_missing(void **state)
{
    char text[512], name[64];

    (void)state;
    svc_sandbox_missing(text, sizeof(text));
    assert_int_equal(strstr(text, "Landlock") != NULL, svc_landlock_version() == 0);
    assert_int_equal(strstr(text, "system call") != NULL, svc_syscall_filter_missing()[0] != '\0');
    svc_sandbox_call_name(SYS_socket, name, sizeof(name));
    assert_string_equal(name, ANEMONE_SECCOMP ? "socket" : "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_row),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(gives_up_its_user),
        cmocka_unit_test(gives_up_the_rights_of_root),
        cmocka_unit_test(refuses_without_a_wall),
        cmocka_unit_test(names_what_is_missing),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}
