/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files. A path is opened without waiting: a pipe without a writer is refused at once.
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

#define FIRST_FREE 3 /* after the standard streams */

int base_file_above_standard(int file)
{
    int moved, code;

    if (file < 0 || file >= FIRST_FREE)
        return file;
    moved = fcntl(file, F_DUPFD_CLOEXEC, FIRST_FREE);
    code = errno;
    close(file);
    errno = code;
    return moved;
}

int base_file_memory(const char *name, uint64_t bytes)
{
    int file;

    if (!base_alloc_allowed())
        return -ENOMEM;
    file = base_file_above_standard(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (file < 0)
        return -errno;
    if (ftruncate(file, (off_t)bytes) ||
        fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) {
        int code = errno;

        close(file);
        return -code;
    }
    return file;
}

int base_file_growing(const char *name)
{
    int file;

    if (!base_alloc_allowed())
        return -ENOMEM;
    file = base_file_above_standard(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
    return file < 0 ? -errno : file;
}

int base_file_seal(int file, uint64_t size)
{
    struct stat info;

    /* Sealed first: what is measured then is what it stays. */
    if (fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) ||
        fstat(file, &info))
        return -errno;
    return (uint64_t)info.st_size == size ? 0 : -EBADMSG;
}

int base_file_put(int file, const void *bytes, size_t size)
{
    const uint8_t *from = bytes;

    while (size) {
        ssize_t put = write(file, from, size);

        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return put ? -errno : -EIO;
        from += put;
        size -= (size_t)put;
    }
    return 0;
}

FILE *base_file_write(const char *path)
{
    int file = base_file_above_standard(open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)), code;
    FILE *stream = file < 0 ? NULL : fdopen(file, "w");

    if (file >= 0 && !stream) {
        code = errno;
        close(file);
        errno = code;
    }
    return stream;
}

int base_file_fill(int file, void *bytes, size_t size)
{
    size_t at = 0;

    while (at < size) {
        ssize_t got = read(file, (uint8_t *)bytes + at, size - at);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got ? -errno : -ENODATA;
        at += (size_t)got;
    }
    return 0;
}

static int read_regular(int file, const char *path, size_t most, uint8_t **bytes, size_t *size,
                        struct base_error *error)
{
    struct stat info;
    int status;

    if (fstat(file, &info))
        return base_fail(error, errno, "%s: cannot be read: %s.", path, strerror(errno));
    if (!S_ISREG(info.st_mode))
        return base_fail(error, EINVAL, "%s: not a file.", path);
    if ((uint64_t)info.st_size > most)
        return base_fail(error, EFBIG, "%s: it has %lld bytes; the limit is %zu.", path,
                         (long long)info.st_size, most);
    *size = (size_t)info.st_size;
    *bytes = base_alloc(*size + 1);
    if (!*bytes)
        return base_fail(error, ENOMEM, "%s: there is no memory to read it.", path);
    status = base_file_fill(file, *bytes, *size);
    if (status == -ENODATA)
        return base_fail(error, ENODATA, "%s: it became shorter than its %zu bytes while it was read.", path,
                         *size);
    return status ? base_fail(error, -status, "%s: cannot be read: %s.", path, strerror(-status)) : 0;
}

int base_file_read(const char *path, size_t most, uint8_t **bytes, size_t *size, struct base_error *error)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), status;

    *bytes = NULL;
    if (file < 0)
        return base_fail(error, errno, "%s: cannot be opened: %s.", path, strerror(errno));
    status = read_regular(file, path, most, bytes, size, error);
    close(file);
    if (status) {
        base_free(*bytes);
        *bytes = NULL;
    }
    return status;
}
