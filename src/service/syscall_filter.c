/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list is what cc_compile and the C library need for it: files by path, since Landlock decides which;
 * memory that is never executable; time; the end of the process. A call that only ends a process may name
 * this process alone, so that abort() works.
 */
#include "service/syscall_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"

#if ANEMONE_SECCOMP
#include <linux/seccomp.h>
#include <seccomp.h>

#define FORBIDDEN_EXIT 97

static const int allowed[] = {
    /* descriptors */
    SCMP_SYS(read),
    SCMP_SYS(pread64),
    SCMP_SYS(pwrite64),
    SCMP_SYS(readv),
    SCMP_SYS(write),
    SCMP_SYS(writev),
    SCMP_SYS(close),
    SCMP_SYS(lseek),
    SCMP_SYS(fsync),

    SCMP_SYS(flock),
    /* paths */
    SCMP_SYS(open),
    SCMP_SYS(openat),
    SCMP_SYS(stat),
    SCMP_SYS(lstat),
    SCMP_SYS(fstat),
    SCMP_SYS(newfstatat),
    SCMP_SYS(statx),
    SCMP_SYS(access),
    SCMP_SYS(faccessat),
    SCMP_SYS(faccessat2),
    SCMP_SYS(fchdir),
    SCMP_SYS(getdents64),
    SCMP_SYS(mkdir),
    SCMP_SYS(mkdirat),
    SCMP_SYS(rmdir),
    SCMP_SYS(unlink),
    SCMP_SYS(unlinkat),
    SCMP_SYS(rename),
    SCMP_SYS(renameat),
    SCMP_SYS(renameat2),
    SCMP_SYS(utimensat),
    /* memory; mmap and mprotect are below */
    SCMP_SYS(brk),
    SCMP_SYS(munmap),
    SCMP_SYS(mremap),
    SCMP_SYS(madvise),
    /* the process */
    SCMP_SYS(futex),
    SCMP_SYS(clock_gettime),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(time),
    SCMP_SYS(getrandom),
    SCMP_SYS(getpid),
    SCMP_SYS(gettid),
    SCMP_SYS(getuid),
    SCMP_SYS(geteuid),
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(sigaltstack),
    SCMP_SYS(sched_yield),
    SCMP_SYS(sysinfo), /* qsort asks how much memory there is */
    SCMP_SYS(restart_syscall),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
};

/* Of fcntl: not those that send signals. */
static const int allowed_fcntl[] = {F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC};

static void (*report)(int number);

static void on_forbidden(int signal_number, siginfo_t *info, void *context)
{
    (void)signal_number, (void)context;
    if (report)
        report(info->si_syscall);
    _exit(FORBIDDEN_EXIT);
}

/* The call, where argument `index` has exactly `value` in the bits of `mask`. */
static int allow_where(scmp_filter_ctx filter, int call, unsigned index, uint64_t mask, uint64_t value)
{
    const struct scmp_arg_cmp where = {
        .arg = index, .op = SCMP_CMP_MASKED_EQ, .datum_a = mask, .datum_b = value};

    return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, call, 1, &where);
}

static int add_rules(scmp_filter_ctx filter, int socket)
{
    int status = 0;

    for (size_t i = 0; i < BASE_COUNT_OF(allowed) && !status; i++)
        status = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, allowed[i], 0, NULL);
    for (size_t i = 0; i < BASE_COUNT_OF(allowed_fcntl) && !status; i++)
        status = allow_where(filter, SCMP_SYS(fcntl), 1, UINT32_MAX, (uint32_t)allowed_fcntl[i]);
    if (!status)
        status = allow_where(filter, SCMP_SYS(mmap), 2, PROT_EXEC, 0);
    if (!status)
        status = allow_where(filter, SCMP_SYS(mprotect), 2, PROT_EXEC, 0);
    if (!status)
        status = allow_where(filter, SCMP_SYS(tgkill), 0, UINT32_MAX, (uint32_t)getpid());
    if (!status && socket >= 0)
        status = allow_where(filter, SCMP_SYS(sendmsg), 0, UINT32_MAX, (uint32_t)socket);
    return status;
}

const char *svc_syscall_filter_missing(void)
{
    uint32_t action = SECCOMP_RET_TRAP;

    return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action)
               ? "This kernel has no seccomp filters: a compilation can make every system call. "
               : "";
}

int svc_syscall_filter_enter(int socket, void (*forbidden)(int number))
{
    struct sigaction action = {.sa_sigaction = on_forbidden, .sa_flags = SA_SIGINFO | SA_NODEFER};
    scmp_filter_ctx filter;
    int status;

    if (svc_syscall_filter_missing()[0])
        return -ENOSYS;
    report = forbidden;
    if (sigaction(SIGSYS, &action, NULL))
        return -errno;
    filter = seccomp_init(SCMP_ACT_TRAP);
    if (!filter)
        return -ENOMEM;
    status = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    if (!status)
        status = add_rules(filter, socket);
    if (!status)
        status = seccomp_load(filter);
    seccomp_release(filter);
    return status;
}

void svc_syscall_filter_name(int number, char *name, size_t size)
{
    char *found = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);

    snprintf(name, size, "%s", found ? found : "");
    free(found);
}

#else

int svc_syscall_filter_enter(int socket, void (*forbidden)(int number))
{
    (void)socket, (void)forbidden;
    return -ENOSYS;
}

const char *svc_syscall_filter_missing(void)
{
    return "This build has no libseccomp: a compilation can make every system call. ";
}

void svc_syscall_filter_name(int number, char *name, size_t size)
{
    (void)number;
    snprintf(name, size, "%s", "");
}

#endif
