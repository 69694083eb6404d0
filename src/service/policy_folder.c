/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who can write a folder can put another file in the place of one that is safe itself. So the folder and all
 * folders above it are looked at, too, along the path without symbolic links. A folder above it that others
 * can write is accepted where it is sticky: there no other user can rename what belongs to root or to us.
 */
#include "service/policy_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"

static const char suffix[] = ".policy";

static int check_owner(const struct stat *info, const char *path, bool sticky_is_safe,
                       struct base_error *error)
{
    if (info->st_uid && info->st_uid != geteuid())
        return base_fail(error, EPERM,
                         "%s belongs to user %u; a policy has to belong to root or to user %u, who runs the "
                         "service. Change it with chown.",
                         path, (unsigned)info->st_uid, (unsigned)geteuid());
    if (info->st_mode & (S_IWGRP | S_IWOTH) && !(sticky_is_safe && info->st_mode & S_ISVTX))
        return base_fail(error, EPERM,
                         "%s can be written by others (mode %04o); only root and the service's user may "
                         "write a policy. Change it with chmod go-w.",
                         path, (unsigned)info->st_mode & 07777u);
    return 0;
}

/* The folders above `real`, from the root. */
static int check_above(const char *real, struct base_error *error)
{
    char part[PATH_MAX];

    for (size_t i = 0; real[i]; i++) {
        struct stat info;
        int status;

        if (real[i] != '/')
            continue;
        memcpy(part, real, i + 1);
        part[i ? i : 1] = '\0';
        if (stat(part, &info))
            return base_fail(error, errno, "%s: cannot be looked at: %s.", part, strerror(errno));
        status = check_owner(&info, part, true, error);
        if (status)
            return status;
    }
    return 0;
}

static int add_open_file(struct svc_policy *policy, int file, const char *name, struct base_error *error)
{
    struct stat info;
    char *text;
    int status;

    if (fstat(file, &info))
        return base_fail(error, errno, "%s: cannot be read: %s.", name, strerror(errno));
    if (!S_ISREG(info.st_mode))
        return base_fail(error, EINVAL, "%s: not a file.", name);
    status = check_owner(&info, name, false, error);
    if (status)
        return status;
    if (info.st_size > (off_t)SVC_POLICY_FILE_BYTES)
        return base_fail(error, EFBIG, "%s: it has %lld bytes; the limit of a policy file is %u.", name,
                         (long long)info.st_size, SVC_POLICY_FILE_BYTES);
    text = base_alloc((size_t)info.st_size + 1);
    if (!text)
        return base_fail(error, ENOMEM, "%s: there is no memory to read it.", name);
    status = base_file_fill(file, text, (size_t)info.st_size);
    if (status)
        base_fail(error, -status, "%s: cannot be read: %s.", name, strerror(-status));
    else if (strlen(text) != (size_t)info.st_size)
        status = base_fail(error, EINVAL, "%s: it has a NUL byte; a policy file is text.", name);
    else
        status = svc_policy_file_add(policy, name, text, error);
    base_free(text);
    return status;
}

static int add_file(struct svc_policy *policy, int folder, const char *path, const char *entry,
                    struct base_error *error)
{
    char name[PATH_MAX];
    int file, status;

    snprintf(name, sizeof(name), "%.*s/%s", (int)(sizeof(name) - NAME_MAX - 2), path, entry);
    file = openat(folder, entry, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
    if (file < 0)
        return base_fail(error, errno, "%s: cannot be opened: %s.", name,
                         errno == ELOOP ? "it is a symbolic link, and has to be the file itself"
                                        : strerror(errno));
    status = add_open_file(policy, file, name, error);
    close(file);
    return status;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_policy(const char *name)
{
    size_t length = strlen(name);

    return length > sizeof(suffix) - 1 && name[0] != '.' &&
           !strcmp(name + length - sizeof(suffix) + 1, suffix);
}

/* Names of policy files, for base_free each; *count is right after a failure, too. */
static int list_files(DIR *stream, const char *path, char *names[SVC_POLICY_FILES], unsigned *count,
                      struct base_error *error)
{
    const struct dirent *entry;

    *count = 0;
    while ((entry = readdir(stream))) {
        if (!is_policy(entry->d_name))
            continue;
        if (*count == SVC_POLICY_FILES)
            return base_fail(error, ENOSPC, "%s has more than %u policy files; join some.", path,
                             SVC_POLICY_FILES);
        names[*count] = base_strdup(entry->d_name);
        if (!names[*count])
            return base_fail(error, ENOMEM, "%s: no memory for the names of its files.", path);
        ++*count;
    }
    qsort(names, *count, sizeof(names[0]), by_name);
    return 0;
}

static int add_all(struct svc_policy *policy, DIR *stream, const char *path, struct base_error *error)
{
    char *names[SVC_POLICY_FILES] = {NULL};
    unsigned count;
    int status = list_files(stream, path, names, &count, error);

    for (unsigned i = 0; i < count; i++) {
        if (!status)
            status = add_file(policy, dirfd(stream), path, names[i], error);
        base_free(names[i]);
    }
    return status;
}

int svc_policy_folder_add(struct svc_policy *policy, const char *folder, bool must_exist,
                          struct base_error *error)
{
    char real[PATH_MAX];
    struct stat info;
    DIR *stream;
    int status;

    if (!realpath(folder, real)) {
        if (!must_exist && (errno == ENOENT || errno == ENOTDIR))
            return 0;
        return base_fail(error, errno, "The policy folder %s cannot be opened: %s.", folder, strerror(errno));
    }
    stream = opendir(real);
    if (!stream)
        return base_fail(error, errno, "The policy folder %s cannot be opened: %s.", real, strerror(errno));
    if (fstat(dirfd(stream), &info))
        status = base_fail(error, errno, "%s: cannot be looked at: %s.", real, strerror(errno));
    else
        status = check_owner(&info, real, false, error);
    if (!status)
        status = check_above(real, error);
    if (!status)
        status = add_all(policy, stream, real, error);
    closedir(stream);
    return status;
}
