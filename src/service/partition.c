/* SPDX-License-Identifier: Apache-2.0 */
#include "service/partition.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES 4096u
#define NAME_BYTES 16u
#define PRIVATE    0700

static int failed(struct base_error *error, const char *path, const char *what)
{
    int code = errno;

    return base_fail(error, code, "%s: %s: %s.", path, what, strerror(code));
}

/* The state folder and those above it; what is there already stays as it is. */
static int make_folders(const char *path, struct base_error *error)
{
    char part[PATH_BYTES];

    if (snprintf(part, sizeof(part), "%s", path) >= (int)sizeof(part))
        return base_fail(error, ENAMETOOLONG, "%.200s: the path has more than %u bytes.", path,
                         PATH_BYTES - 1);
    for (char *at = part + 1; *at; at++)
        if (*at == '/') {
            *at = '\0';
            mkdir(part, PRIVATE);
            *at = '/';
        }
    if (mkdir(part, PRIVATE) && errno != EEXIST)
        return failed(error, path, "the folder cannot be made");
    return 0;
}

/* A folder that `owner` alone can use; the descriptor, or a negative errno. */
static int open_private(int above, const char *name, uid_t owner, const char *path, struct base_error *error)
{
    int folder = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), status = 0;
    struct stat info;

    if (folder < 0)
        return errno == ENOENT ? -ENOENT : failed(error, path, "cannot be opened");
    if (fstat(folder, &info))
        status = failed(error, path, "cannot be read");
    else if (info.st_uid != owner || info.st_mode & (S_IRWXG | S_IRWXO))
        status =
            base_fail(error, EPERM,
                      "%s: it belongs to user %u and has mode %04o; it has to belong to user %u and have "
                      "mode 0700. Remove it, or choose another state folder.",
                      path, (unsigned)info.st_uid, info.st_mode & 07777, (unsigned)owner);
    if (!status)
        return folder;
    close(folder);
    return status;
}

int svc_partition_open_all(const char *state, bool make, struct base_error *error)
{
    char path[PATH_BYTES];
    int status = 0;

    if (snprintf(path, sizeof(path), "%s/cache", state) >= (int)sizeof(path))
        return base_fail(error, ENAMETOOLONG, "%.200s: the path has more than %u bytes.", state,
                         PATH_BYTES - 1);
    if (make)
        status = make_folders(state, error);
    if (!status && make && mkdir(path, PRIVATE) && errno != EEXIST)
        status = failed(error, path, "the folder cannot be made");
    return status ? status : open_private(AT_FDCWD, path, geteuid(), path, error);
}

/* Made beside its place and renamed, so that a partition always belongs to its user. */
static int make_partition(int all, const char *name, uid_t uid, gid_t gid, const char *path,
                          struct base_error *error)
{
    char made[NAME_BYTES + 8];
    int status = 0;

    snprintf(made, sizeof(made), ".%s", name);
    if (mkdirat(all, made, PRIVATE) && errno != EEXIST)
        return failed(error, path, "the folder cannot be made");
    if (geteuid() == 0 && fchownat(all, made, uid, gid, AT_SYMLINK_NOFOLLOW))
        status = failed(error, path, "the folder cannot be given to its user");
    /* A process that was faster has made the same. */
    if (!status && renameat(all, made, all, name) && errno != EEXIST && errno != ENOTEMPTY && errno != ENOENT)
        status = failed(error, path, "the folder cannot be made");
    unlinkat(all, made, AT_REMOVEDIR);
    return status;
}

int svc_partition_open(const char *state, uid_t uid, gid_t gid, bool make, struct base_error *error)
{
    int all = svc_partition_open_all(state, make, error), partition;
    uid_t owner = geteuid() == 0 ? uid : geteuid();
    char name[NAME_BYTES], path[PATH_BYTES + NAME_BYTES];

    if (all < 0)
        return all;
    snprintf(name, sizeof(name), "%u", (unsigned)uid);
    snprintf(path, sizeof(path), "%s/cache/%s", state, name);
    partition = open_private(all, name, owner, path, error);
    if (partition == -ENOENT && make) {
        partition = make_partition(all, name, uid, gid, path, error);
        if (!partition)
            partition = open_private(all, name, owner, path, error);
    }
    close(all);
    return partition;
}

bool svc_partition_is_name(const char *name)
{
    return name[0] && strlen(name) < NAME_BYTES && strspn(name, "0123456789") == strlen(name);
}
