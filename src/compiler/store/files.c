/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files and folders. A file is written only where none exists, and is on the disk before the call returns, so
 * that a folder that is renamed afterwards is complete. A path that does not fit its buffer is refused, never
 * cut. Removing a tree does not follow links and does not leave the file system.
 */
#include "compiler/store/files.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

static int failed(struct base_error *error, const char *path, const char *what)
{
    int code = errno;

    return base_fail(error, code, "%s: %s: %s.", path, what, strerror(code));
}

int cc_path_join(char path[CC_PATH_BYTES], const char *folder, const char *name, struct base_error *error)
{
    int length = snprintf(path, CC_PATH_BYTES, "%s/%s", folder, name);

    if (length > 0 && (size_t)length < CC_PATH_BYTES)
        return 0;
    return base_fail(error, ENAMETOOLONG, "%.200s: the path has more than %u bytes.", folder,
                     CC_PATH_BYTES - 1);
}

int cc_file_read(const char *path, size_t limit, uint8_t **bytes, size_t *size, struct base_error *error)
{
    return base_file_read(path, limit, bytes, size, error);
}

int cc_file_create(const char *path, int *file, struct base_error *error)
{
    *file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return *file < 0 ? failed(error, path, "cannot be created") : 0;
}

int cc_file_finish(const char *path, int file, int status, struct base_error *error)
{
    if (status)
        status = base_fail(error, -status, "%s: cannot be written: %s.", path, strerror(-status));
    if (!status && fsync(file))
        status = failed(error, path, "cannot be written");
    if (close(file) && !status)
        status = failed(error, path, "cannot be written");
    return status;
}

int cc_file_write(const char *path, const void *bytes, size_t size, struct base_error *error)
{
    int file, status = cc_file_create(path, &file, error);

    return status ? status : cc_file_finish(path, file, base_file_put(file, bytes, size), error);
}

/* Leaves errno as it is. */
static bool is_folder(const char *path)
{
    int kept = errno;
    struct stat info;
    bool folder = !stat(path, &info) && S_ISDIR(info.st_mode);

    errno = kept;
    return folder;
}

int cc_folder_make(const char *path, struct base_error *error)
{
    char part[CC_PATH_BYTES];
    size_t length = strlen(path);

    if (!length || length >= sizeof(part))
        return base_fail(error, ENAMETOOLONG, "%.200s: a path has 1 to %u bytes.", path, CC_PATH_BYTES - 1);
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        if (mkdir(part, 0777) && (errno != EEXIST || !is_folder(part)))
            return failed(error, part, "the folder cannot be created");
    }
    return 0;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info, (void)kind, (void)walk;
    return remove(path) && errno != ENOENT ? -1 : 0;
}

int cc_tree_remove(const char *path)
{
    enum { DESCRIPTORS = 8 };

    return nftw(path, remove_one, DESCRIPTORS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) && errno != ENOENT ? -errno
                                                                                                    : 0;
}

int cc_folder_make_beside(const char *path, char made[CC_PATH_BYTES], struct base_error *error)
{
    const char *slash = strrchr(path, '/');
    int length = slash ? (int)(slash - path) : 1;
    const char *folder = slash ? path : ".";

    if (snprintf(made, CC_PATH_BYTES, "%.*s/.building-XXXXXX", length, folder) >= (int)CC_PATH_BYTES)
        return base_fail(error, ENAMETOOLONG, "%.200s: the path is too long.", path);
    if (!mkdtemp(made))
        return base_fail(error, errno, "%s: nothing can be created in the folder %.*s: %s.", path,
                         slash == path ? 1 : length, folder, strerror(errno));
    return 0;
}
