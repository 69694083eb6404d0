/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order matters. Limits and the user come first, since the filter forbids the calls that set them; a
 * change of user clears the signal of the parent's end, so that is set afterwards. Landlock and seccomp need
 * no_new_privs, and the filter comes last, because it forbids Landlock's own calls.
 */
#include "service/sandbox.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "service/landlock.h"
#include "service/syscall_filter.h"

/* Between SIGXCPU and SIGKILL. */
#define LAST_SECONDS 5u

static int failed(struct base_error *error, const char *what)
{
    int code = errno ? errno : EPERM;

    return base_fail(error, code, "The compiler was not started: %s: %s.", what, strerror(code));
}

static int bound(const struct svc_sandbox *s, struct base_error *error)
{
    const struct {
        __rlimit_resource_t what;
        rlim_t soft, hard;
        bool wanted;
    } limit[] = {
        {RLIMIT_CORE, 0, 0, true},
        {RLIMIT_CPU, s->seconds, s->seconds + LAST_SECONDS, true},
        {RLIMIT_AS, s->memory, s->memory, !SVC_SANDBOX_SANITIZED},
        {RLIMIT_FSIZE, s->file_bytes, s->file_bytes, true},
        {RLIMIT_NOFILE, s->files, s->files, true},
        {RLIMIT_NPROC, 0, 0, true},
    };

    for (size_t i = 0; i < BASE_COUNT_OF(limit); i++) {
        struct rlimit now, wanted = {limit[i].soft, limit[i].hard};

        if (!limit[i].wanted)
            continue;
        /* A limit of the service's own that is lower stays. */
        if (getrlimit(limit[i].what, &now))
            return failed(error, "its limits cannot be read");
        if (now.rlim_max < wanted.rlim_max)
            wanted.rlim_max = now.rlim_max;
        if (wanted.rlim_max < wanted.rlim_cur)
            wanted.rlim_cur = wanted.rlim_max;
        if (setrlimit(limit[i].what, &wanted))
            return failed(error, "its limits cannot be set");
    }
    return 0;
}

/*
 * Root keeps what it needs to open files as it is used to: to read, and where `any_owner` says so to change.
 */
static int drop_capabilities(bool any_owner)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    uint32_t kept = 1u << CAP_DAC_READ_SEARCH;

    if (any_owner)
        kept |= 1u << CAP_DAC_OVERRIDE | 1u << CAP_FOWNER;
    if (syscall(SYS_capget, &head, data))
        return -1;
    for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
        data[i].permitted &= i ? 0 : kept;
        data[i].effective = data[i].permitted;
        data[i].inheritable = 0;
    }
    return (int)syscall(SYS_capset, &head, data);
}

static int become(const struct svc_sandbox *s, struct base_error *error)
{
    if (geteuid() == 0 &&
        (setgroups(0, NULL) || setresgid(s->gid, s->gid, s->gid) || setresuid(s->uid, s->uid, s->uid)))
        return failed(error, "it cannot become the client's user");
    if (geteuid() == 0 && drop_capabilities(s->any_owner))
        return failed(error, "it cannot give up the rights of root");
    return 0;
}

/* With the service's own rights for the files of another user there has to be a wall. */
static int check_wall(const struct svc_sandbox *s, struct base_error *error)
{
    bool other = s->uid != geteuid() || (s->any_owner && geteuid() == 0);

    if (!other || svc_landlock_version() > 0)
        return 0;
    return base_fail(error, EPERM,
                     "The compiler was not started: this kernel has no Landlock, and the service, which is "
                     "user %u, cannot become user %u; run the service as root, or as that user.",
                     (unsigned)geteuid(), (unsigned)s->uid);
}

static int restrict_rest(const struct svc_sandbox *s, struct base_error *error)
{
    int status;

    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return failed(error, "it cannot give up privileges");
    status = svc_landlock_enter(s->read, s->write);
    if (status && status != -ENOSYS) {
        errno = -status;
        return failed(error, "Landlock cannot be entered");
    }
    status = svc_syscall_filter_enter(s->socket, s->forbidden);
    if (status && status != -ENOSYS) {
        errno = -status;
        return failed(error, "the filter of system calls cannot be loaded");
    }
    return 0;
}

int svc_sandbox_enter(const struct svc_sandbox *s, struct base_error *error)
{
    int status = become(s, error);

    if (!status)
        status = check_wall(s, error);
    if (!status && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
        status = failed(error, "it cannot be bound to its parent");
    if (!status && getppid() != s->parent)
        status = base_fail(error, ESRCH, "The compiler was not started: its parent has ended.");
    if (!status)
        status = bound(s, error);
    return status ? status : restrict_rest(s, error);
}

void svc_sandbox_missing(char *text, size_t size)
{
    const char *landlock = svc_landlock_version() > 0
                               ? ""
                               : "This kernel has no Landlock: a compilation can open every file that its "
                                 "user can, and other users are served only by a service that is root. ";
    const char *filter = svc_syscall_filter_missing();

    snprintf(text, size, "%s%s", landlock, filter);
}

void svc_sandbox_call_name(int number, char *name, size_t size)
{
    svc_syscall_filter_name(number, name, size);
}
