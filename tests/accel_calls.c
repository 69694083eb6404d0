/* SPDX-License-Identifier: Apache-2.0 */
/* Single system calls of a client: what the kernel answers for a character device, and for wrong pointers. */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "accel_client.h"

#define NODE   "/dev/accel/accel0"
#define RENDER "/dev/dri/renderD129"

static void expect(long result, int code, const char *what)
{
    client_check(result < 0 && errno == code, what);
}

/* It can be opened, and is the engine's. */
static void expect_node(int node, const char *what)
{
    struct client_version version = {0};

    client_check(node >= 0, what);
    client_check(!ioctl(node, CLIENT_VERSION, &version) && version.name_length == 3, what);
    close(node);
}

static void open_flags(void)
{
    struct open_how how = {.flags = O_RDWR | O_CLOEXEC};
    int node = open(NODE, O_RDWR), other = open(NODE, O_RDWR | O_CLOEXEC);

    client_check(fcntl(node, F_GETFD) == 0, "a descriptor that stays open on exec");
    client_check(fcntl(other, F_GETFD) == FD_CLOEXEC, "a descriptor that closes on exec");
    expect_node(node, "open");
    expect_node(other, "open, O_CLOEXEC");
    node = (int)syscall(SYS_openat2, AT_FDCWD, NODE, &how, sizeof(how));
    client_check(fcntl(node, F_GETFD) == FD_CLOEXEC, "openat2 with O_CLOEXEC");
    expect_node(node, "openat2");
    expect_node(open(NODE, O_RDONLY), "open, O_RDONLY");
    node = open(NODE, O_RDWR);
    client_check(read(node, &how, sizeof(how)) <= 0, "read, which no program uses, and which ends");
    expect_node(node, "open before a read");
    expect_node(open(NODE, O_RDWR | O_CREAT, 0666), "open, O_CREAT");
    expect(open(NODE, O_RDWR | O_CREAT | O_EXCL, 0666), EEXIST, "open, O_EXCL");
    expect(open(NODE, O_RDONLY | O_DIRECTORY), ENOTDIR, "open, O_DIRECTORY");
    expect(open("/dev/accel/accel1", O_RDWR), ENOENT, "a node that does not exist");
}

static void other_names(void)
{
    int folder = open("/dev", O_RDONLY | O_DIRECTORY);

    expect_node(open("//dev///accel/./accel0", O_RDWR), "slashes");
    expect_node(openat(folder, "accel/accel0", O_RDWR), "openat");
    expect_node(openat(folder, NODE, O_RDWR), "openat of an absolute path");
    client_check(!chdir("/dev"), "chdir");
    expect_node(open("dri/renderD129", O_RDWR), "a relative path");
    expect_node(openat(-1, RENDER, O_RDWR), "an absolute path and no folder");
    expect(openat(-1, "dri/renderD129", O_RDWR), EBADF, "a relative path and no folder");
    close(folder);
}

static void stats(void)
{
    struct statx full;
    struct stat plain, link, at;

    client_check(!stat(NODE, &plain) && !lstat(RENDER, &link), "stat");
    client_check(S_ISCHR(plain.st_mode) && plain.st_rdev == makedev(261, 0), "stat of accel0");
    client_check(S_ISCHR(link.st_mode) && link.st_rdev == makedev(226, 129), "lstat of renderD129");
    client_check(!fstatat(AT_FDCWD, RENDER, &at, 0) && at.st_rdev == link.st_rdev, "fstatat");
    client_check(!statx(AT_FDCWD, NODE, 0, STATX_BASIC_STATS, &full), "statx");
    client_check(S_ISCHR(full.stx_mode) && full.stx_rdev_major == 261 && full.stx_rdev_minor == 0,
                 "statx of accel0");
    client_check(!stat("/dev/accel", &plain) && S_ISDIR(plain.st_mode), "stat of the folder");
    client_check(!access(NODE, R_OK | W_OK) && !access(NODE, F_OK), "access");
    client_check(!faccessat(AT_FDCWD, RENDER, R_OK | W_OK, AT_EACCESS), "faccessat2");
    expect(access(NODE, X_OK), EACCES, "access, X_OK");
    expect(access("/dev/accel/accel9", F_OK), ENOENT, "access of another name");
#ifdef SYS_stat
    client_check(!syscall(SYS_stat, NODE, &plain) && !syscall(SYS_lstat, NODE, &link), "the old calls");
    expect_node((int)syscall(SYS_open, NODE, O_RDWR), "the old open");
#endif
}

static void links(void)
{
    char text[PATH_MAX];

    expect(readlink(NODE, text, sizeof(text)), EINVAL, "readlink");
    client_check(realpath(NODE, text) && !strcmp(text, NODE), "realpath");
}

void client_paths(void)
{
    open_flags();
    stats();
    links();
    other_names();
}

/* A path whose NUL is the last byte that can be read; and one that runs into what cannot be. */
static void path_at_edge(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *end = memory + page;

    client_check(memory != MAP_FAILED && !mprotect(end, page, PROT_NONE), "mmap");
    memcpy(end - sizeof(NODE), NODE, sizeof(NODE));
    expect_node(open(end - sizeof(NODE), O_RDWR), "a path at the end of a mapping");
    memcpy(end - strlen(NODE), NODE, strlen(NODE));
    expect(open(end - strlen(NODE), O_RDWR), EFAULT, "a path without an end");
    munmap(memory, 2 * page);
}

static void long_path(void)
{
    char path[PATH_MAX + 64];

    memset(path, '/', sizeof(path));
    memcpy(path + sizeof(path) - sizeof("dev/accel/accel0"), "dev/accel/accel0", sizeof("dev/accel/accel0"));
    expect(open(path, O_RDWR), ENAMETOOLONG, "a path that is too long");
}

static void *address(uintptr_t value)
{
    return (void *)value;
}

void client_pointers(int node)
{
    static const struct client_bo_init constant = {.size = 0x4000};
    struct client_bo_init bo = {.size = 0x4000};
    void *wall = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    path_at_edge();
    long_path();
    expect(syscall(SYS_openat, AT_FDCWD, NULL, O_RDWR), EFAULT, "open of no path");
    expect(syscall(SYS_openat2, AT_FDCWD, NODE, wall, sizeof(struct open_how)), EFAULT,
           "openat2 without how");
    expect(fstatat(AT_FDCWD, NODE, wall, 0), EFAULT, "stat into nothing");
    expect(ioctl(node, CLIENT_BO_INIT, address(0)), EFAULT, "BO_INIT of nothing");
    expect(ioctl(node, CLIENT_BO_INIT, wall), EFAULT, "BO_INIT of what cannot be read");
    expect(ioctl(node, CLIENT_BO_INIT, address(UINTPTR_MAX - 3)), EFAULT, "BO_INIT at the last address");
    expect(ioctl(node, CLIENT_BO_INIT, &constant), EFAULT, "BO_INIT of what cannot be written");
    expect(ioctl(node, CLIENT_SUBMIT, wall), EFAULT, "SUBMIT of what cannot be read");
    expect(ioctl(STDIN_FILENO, CLIENT_BO_INIT, &bo), ENOTTY, "BO_INIT on another file");
    expect(ioctl(-1, CLIENT_BO_INIT, &bo), EBADF, "BO_INIT on no file");
    client_check(ioctl(node, 0xc0186477u, &bo) < 0 && errno != EFAULT, "a call that does not exist");
    client_check(!ioctl(node, CLIENT_BO_INIT, &bo), "BO_INIT after all of these");
}

void client_refuse(char **argv)
{
    unsigned call = !strcmp(argv[0], "seccomp") ? SYS_seccomp : SYS_process_vm_readv;
    unsigned code = (unsigned)strtoul(argv[1], NULL, 10);
    struct sock_filter filter[] = {
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr)},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, call},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | code},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
    };
    struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

    client_check(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "PR_SET_NO_NEW_PRIVS");
    client_check(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), "PR_SET_SECCOMP");
    execv(argv[2], argv + 2);
    client_fail("exec");
}
