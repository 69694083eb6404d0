/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is at the other end of a socket. The other end is a child that connects and then begins a copy of the
 * shell, which stands for any program: it keeps the socket, and does what its script says, a line at a time.
 */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "folder.h"
#include "service/identity.h"

#define NOBODY  65534u
#define ROUNDS  3000 /* of 10 ms: against hanging */
#define PROGRAM "program"

struct peer {
    pid_t pid;
    int socket; /* the service's end */
    int line;   /* a byte there ends a `read` of the script */
};

static void copy_file(const char *from, const char *to, const char *tail)
{
    size_t size;
    uint8_t *bytes = test_file_read(from, &size);
    int file = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

    assert_non_null(bytes);
    assert_true(file >= 0);
    assert_int_equal(write(file, bytes, size), (ssize_t)size);
    assert_int_equal(write(file, tail, strlen(tail)), (ssize_t)strlen(tail));
    close(file);
    free(bytes);
}

static int listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    strcpy(address.sun_path, path);
    unlink(path);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(chmod(path, 0777), 0);
    assert_int_equal(listen(listener, 4), 0);
    return listener;
}

/* As the user `peer_user` where that is not 0. */
static uid_t peer_user;
static void connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int end = socket(AF_UNIX, SOCK_SEQPACKET, 0);

    strcpy(address.sun_path, path);
    if (peer_user && setresuid(peer_user, peer_user, peer_user))
        _exit(4);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* which a change of user takes back */
    if (connect(end, (struct sockaddr *)&address, sizeof(address)))
        _exit(3);
}

/* A child that connects and runs `program -c script`; without a program it is unreadable and waits. */
static struct peer start(const char *program, const char *script)
{
    const char *path = folder_path("socket");
    int listener = listen_at(path), lines[2];
    struct peer peer;

    assert_int_equal(pipe2(lines, O_CLOEXEC), 0);
    peer.pid = fork();
    if (!peer.pid) {
        dup2(lines[0], 0);
        if (!program)
            prctl(PR_SET_DUMPABLE, 0);
        connect_to(path);
        if (program)
            execl(program, program, "-c", script, NULL);
        pause();
        _exit(1);
    }
    close(lines[0]);
    peer.line = lines[1];
    peer.socket = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(peer.socket >= 0);
    close(listener);
    return peer;
}

static void finish(struct peer *peer)
{
    if (peer->pid) {
        kill(peer->pid, SIGKILL);
        waitpid(peer->pid, NULL, 0);
    }
    close(peer->socket);
    close(peer->line);
}

/* Waits until the process runs that file. */
static void await_executable(pid_t pid, const char *path)
{
    char name[64];
    struct stat wanted, now;

    assert_int_equal(stat(path, &wanted), 0);
    snprintf(name, sizeof(name), "/proc/%d/exe", (int)pid);
    for (int i = 0; i < ROUNDS; i++) {
        if (!stat(name, &now) && now.st_dev == wanted.st_dev && now.st_ino == wanted.st_ino)
            return;
        usleep(10000);
    }
    fail_msg("%s does not run.", path);
}

static struct svc_identity take(const struct peer *peer)
{
    struct base_error error = {{0}};
    struct svc_identity identity;

    if (svc_identity_take(peer->socket, &identity, &error))
        fail_msg("%s", error.text);
    return identity;
}

/* The digest as sha256sum prints it. */
static void check_digest(const char *path, const uint8_t digest[32])
{
    char command[512], text[65] = "", hex[65];
    FILE *pipe;

    snprintf(command, sizeof(command), "sha256sum '%s'", path);
    pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_int_equal(fread(text, 1, 64, pipe), 64);
    pclose(pipe);
    for (unsigned i = 0; i < 32; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    assert_string_equal(hex, text);
}

static struct peer start_program(const char *script)
{
    const char *program = folder_path(PROGRAM);
    struct peer peer;

    unlink(program); /* a process of an earlier test may not have ended yet */
    copy_file("/bin/sh", program, "");
    peer = start(program, script);
    await_executable(peer.pid, program);
    return peer;
}

static void what_is_seen(void **state)
{
    struct peer peer = start_program("read line");
    struct svc_identity identity = take(&peer);

    (void)state;
    assert_int_equal(identity.pid, peer.pid);
    assert_int_equal(identity.uid, getuid());
    assert_int_equal(identity.gid, getgid());
    assert_true(identity.has_signature);
    assert_true(identity.started > 0);
    assert_string_equal(identity.executable, folder_path(PROGRAM));
    check_digest(folder_path(PROGRAM), identity.digest);
    assert_int_equal(svc_identity_check(&identity), SVC_IDENTITY_SAME);
    svc_identity_end(&identity);
    assert_int_equal(identity.pidfd, -1);
    finish(&peer);
}

/* The hash is that of the program for one user: two processes have the same, two users have not. */
static void hash_of_a_user(void **state)
{
    struct svc_identity seen[3];

    (void)state;
    if (geteuid()) {
        print_message("only root can become another user\n");
        skip();
    }
    folder_remove();
    assert_int_equal(chmod(folder_name(), 0755), 0);
    for (unsigned i = 0; i < 3; i++) {
        struct peer peer;

        peer_user = i < 2 ? NOBODY : NOBODY - 1;
        peer = start("/bin/sh", "read line");
        peer_user = 0;
        await_executable(peer.pid, "/bin/sh");
        seen[i] = take(&peer);
        assert_int_equal(seen[i].uid, i < 2 ? NOBODY : NOBODY - 1);
        svc_identity_end(&seen[i]);
        finish(&peer);
    }
    assert_memory_equal(seen[0].cdhash, seen[1].cdhash, sizeof(seen[0].cdhash));
    assert_memory_equal(seen[0].digest, seen[2].digest, sizeof(seen[0].digest));
    assert_memory_not_equal(seen[0].cdhash, seen[2].cdhash, sizeof(seen[0].cdhash));
}

/* Another process may hold the socket of one that has ended. */
static void ended(void **state)
{
    struct peer peer = start_program("sleep 5 >/dev/null 2>&1 & read line");
    struct svc_identity identity = take(&peer), other;
    struct base_error error = {{0}};

    (void)state;
    kill(peer.pid, SIGKILL);
    waitpid(peer.pid, NULL, 0);
    peer.pid = 0;
    assert_int_equal(svc_identity_check(&identity), SVC_IDENTITY_ENDED);
    svc_identity_end(&identity);
    assert_int_equal(svc_identity_check(&identity), SVC_IDENTITY_ENDED); /* without a pidfd, too */
    assert_int_equal(svc_identity_take(peer.socket, &other, &error), -ESRCH);
    assert_non_null(strstr(error.text, "has ended"));
    assert_int_equal(other.pidfd, -1);
    finish(&peer);
}

/* One that has ended and was not waited for yet. */
static void zombie(void **state)
{
    struct peer peer = start_program("read line");
    struct svc_identity identity = take(&peer);
    siginfo_t info;

    (void)state;
    kill(peer.pid, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)peer.pid, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(svc_identity_check(&identity), SVC_IDENTITY_ENDED);
    svc_identity_end(&identity);
    assert_int_equal(svc_identity_check(&identity), SVC_IDENTITY_ENDED);
    finish(&peer);
}

/* A pid that belongs to another process by now. */
static void pid_used_again(void **state)
{
    struct peer peer = start_program("read line");
    struct svc_identity identity = take(&peer);

    (void)state;
    svc_identity_end(&identity);
    assert_int_equal(svc_identity_check(&identity), SVC_IDENTITY_SAME);
    identity.started--;
    assert_int_equal(svc_identity_check(&identity), SVC_IDENTITY_ENDED);
    finish(&peer);
}

static void exec_after_connecting(void **state)
{
    struct peer peer = start_program("read line; exec /bin/sh -c 'read line'");
    struct svc_identity identity = take(&peer);

    (void)state;
    assert_int_equal(svc_identity_check(&identity), SVC_IDENTITY_SAME);
    assert_int_equal(write(peer.line, "\n", 1), 1);
    await_executable(peer.pid, "/bin/sh");
    assert_int_equal(svc_identity_check(&identity), SVC_IDENTITY_REPLACED);
    svc_identity_end(&identity);
    finish(&peer);
}

/* The same inode with other bytes, begun by exec. */
static void rewritten_in_place(void **state)
{
    const char *program = folder_path(PROGRAM);
    char script[256];
    struct svc_identity identity, later;
    struct peer peer;

    (void)state;
    snprintf(script, sizeof(script), "read a; exec /bin/sh -c 'read b; exec %s -c \"read c\"'", program);
    peer = start_program(script);
    identity = take(&peer);
    assert_int_equal(write(peer.line, "\n", 1), 1);
    await_executable(peer.pid, "/bin/sh");
    copy_file("/bin/sh", program, "x");
    assert_int_equal(write(peer.line, "\n", 1), 1);
    await_executable(peer.pid, program);
    assert_int_equal(svc_identity_check(&identity), SVC_IDENTITY_REPLACED);
    later = take(&peer);
    assert_int_equal(later.inode, identity.inode);
    assert_memory_not_equal(later.digest, identity.digest, sizeof(later.digest));
    check_digest(program, later.digest);
    svc_identity_end(&identity);
    svc_identity_end(&later);
    finish(&peer);
}

/*
 * Another file in the place of an executable that runs: the process is what it was, but has no path, so the
 * new file's path and digest are not its own.
 */
static void replaced_file(void **state)
{
    struct peer peer = start_program("read line");
    struct svc_identity identity = take(&peer), later;

    (void)state;
    copy_file("/bin/sh", folder_path("new"), "x");
    assert_int_equal(rename(folder_path("new"), folder_path(PROGRAM)), 0);
    copy_file("/bin/sh", folder_path(PROGRAM " (deleted)"), "x"); /* the name that /proc shows now */
    assert_int_equal(svc_identity_check(&identity), SVC_IDENTITY_SAME);
    assert_int_equal(chmod(folder_path(PROGRAM), 0711), 0);
    assert_int_equal(svc_identity_check(&identity), SVC_IDENTITY_SAME);
    later = take(&peer);
    assert_string_equal(later.executable, "");
    assert_true(later.has_signature);
    assert_memory_equal(later.digest, identity.digest, sizeof(later.digest));
    check_digest("/bin/sh", later.digest);
    svc_identity_end(&identity);
    svc_identity_end(&later);
    finish(&peer);
}

/* An executable that the service may not read: no signature, but the kernel's word on process and user. */
static void unreadable(void **state)
{
    bool root = !geteuid();
    struct peer peer;
    struct svc_identity identity;

    (void)state;
    peer = start(NULL, NULL);
    if (root) /* who can read it all the same */
        assert_int_equal(seteuid(NOBODY), 0);
    identity = take(&peer);
    assert_int_equal(svc_identity_check(&identity), SVC_IDENTITY_SAME);
    if (root)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(identity.pid, peer.pid);
    assert_int_equal(identity.uid, getuid());
    assert_false(identity.has_signature);
    assert_string_equal(identity.executable, "");
    svc_identity_end(&identity);
    finish(&peer);
}

/* The same for a service of root, which could read the program: of another user, and closed to it. */
static void closed_to_its_user(void **state)
{
    struct peer peer;
    struct svc_identity identity;

    (void)state;
    if (geteuid()) {
        print_message("only root can become another user\n");
        skip();
    }
    folder_remove();
    assert_int_equal(chmod(folder_name(), 0755), 0);
    peer_user = NOBODY;
    peer = start(NULL, NULL);
    peer_user = 0;
    identity = take(&peer);
    assert_int_equal(identity.uid, NOBODY);
    assert_false(identity.has_signature);
    assert_string_equal(identity.executable, "");
    svc_identity_end(&identity);
    finish(&peer);
}

static void became_unreadable(void **state)
{
    struct peer peer = start_program("read line");
    struct svc_identity identity = take(&peer);

    (void)state;
    if (geteuid()) {
        svc_identity_end(&identity);
        finish(&peer);
        print_message("only root can drop its rights\n");
        skip();
    }
    assert_int_equal(seteuid(NOBODY), 0);
    assert_int_equal(svc_identity_check(&identity), SVC_IDENTITY_REPLACED);
    assert_int_equal(seteuid(0), 0);
    svc_identity_end(&identity);
    finish(&peer);
}

/* A file that would take long to read. */
static void too_large(void **state)
{
    const char *program = folder_path(PROGRAM);
    struct peer peer;
    struct svc_identity identity;

    (void)state;
    unlink(program); /* a process of an earlier test may not have ended yet */
    copy_file("/bin/sh", program, "");
    assert_int_equal(truncate(program, (off_t)SVC_EXECUTABLE_BYTES + 1), 0);
    peer = start(program, "read line");
    await_executable(peer.pid, program);
    identity = take(&peer);
    assert_false(identity.has_signature);
    svc_identity_end(&identity);
    finish(&peer);
}

static void not_a_socket(void **state)
{
    struct base_error error = {{0}};
    struct svc_identity identity;

    (void)state;
    assert_int_equal(svc_identity_take(0, &identity, &error), -ENOTSOCK);
    assert_true(error.text[0] != '\0');
}

/* As many takes as one likes: no descriptor stays. */
static void descriptors(void **state)
{
    struct peer peer = start_program("read line");
    unsigned before = folder_count("/proc/self/fd");

    (void)state;
    for (unsigned i = 0; i < 200; i++) {
        struct svc_identity identity = take(&peer);

        svc_identity_end(&identity);
    }
    assert_int_equal(folder_count("/proc/self/fd"), before);
    finish(&peer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_seen),
        cmocka_unit_test(ended),
        cmocka_unit_test(zombie),
        cmocka_unit_test(pid_used_again),
        cmocka_unit_test(exec_after_connecting),
        cmocka_unit_test(rewritten_in_place),
        cmocka_unit_test(replaced_file),
        cmocka_unit_test(unreadable),
        cmocka_unit_test(became_unreadable),
        cmocka_unit_test(closed_to_its_user),
        cmocka_unit_test(too_large),
        cmocka_unit_test(hash_of_a_user),
        cmocka_unit_test(not_a_socket),
        cmocka_unit_test(descriptors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
