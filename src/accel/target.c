/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory is reached as a debugger does, with the page protections of the program in force: a write to what is
 * read-only there fails. Writes are made only while the call waits, because nothing undoes one that went to
 * another process.
 */
#include "accel/target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* A string is read in parts that do not cross into another page: the next one may not exist. */
#define PART          256u
#define PROC_PATH     64u
#define SMALLEST_PAGE 4096u
_Static_assert(SMALLEST_PAGE % PART == 0, "no part crosses into another page");

bool acc_target_waits(const struct acc_target *target)
{
    return !ioctl(target->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &target->id);
}

int acc_target_read(void *context, uint64_t address, void *to, size_t bytes)
{
    const struct acc_target *target = context;
    struct iovec here = {to, bytes}, there = {(void *)(uintptr_t)address, bytes};

    if (bytes && process_vm_readv(target->thread, &here, 1, &there, 1, 0) != (ssize_t)bytes)
        return -EFAULT;
    return 0;
}

int acc_target_write(void *context, uint64_t address, const void *from, size_t bytes)
{
    const struct acc_target *target = context;
    struct iovec here = {(void *)from, bytes}, there = {(void *)(uintptr_t)address, bytes};

    if (!bytes)
        return 0;
    if (!acc_target_waits(target) ||
        process_vm_writev(target->thread, &here, 1, &there, 1, 0) != (ssize_t)bytes)
        return -EFAULT;
    return 0;
}

int acc_target_string(const struct acc_target *target, uint64_t address, char *text, size_t room)
{
    size_t have = 0;

    while (have < room) {
        size_t part = PART - (size_t)((address + have) % PART);

        if (part > room - have)
            part = room - have;
        if (acc_target_read((void *)target, address + have, text + have, part))
            return -EFAULT;
        if (memchr(text + have, 0, part))
            return 0;
        have += part;
    }
    return -ENAMETOOLONG;
}

int acc_target_absolute(const struct acc_target *target, int folder, char *path, size_t room)
{
    char link[PROC_PATH], base[PATH_MAX];
    size_t length = strlen(path);
    ssize_t size;

    if (path[0] == '/')
        return 0;
    if (folder == AT_FDCWD)
        snprintf(link, sizeof(link), "/proc/%d/cwd", target->thread);
    else
        snprintf(link, sizeof(link), "/proc/%d/fd/%d", target->thread, folder);
    size = readlink(link, base, sizeof(base));
    if (size < 0)
        return -errno;
    if ((size_t)size + 1 + length + 1 > room)
        return -ENAMETOOLONG;
    memmove(path + size + 1, path, length + 1);
    memcpy(path, base, (size_t)size);
    path[size] = '/';
    return 0;
}

int acc_target_descriptor(const struct acc_target *target, int descriptor, dev_t *device, ino_t *inode)
{
    char path[PROC_PATH];
    struct stat stat_of;

    snprintf(path, sizeof(path), "/proc/%d/fd/%d", target->thread, descriptor);
    if (stat(path, &stat_of))
        return -errno;
    *device = stat_of.st_dev;
    *inode = stat_of.st_ino;
    return 0;
}
