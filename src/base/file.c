/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files. A path is opened without waiting: a pipe without a writer is refused at once.
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/alloc.h"

#define FIRST_FREE 3            /* after the standard streams */
#define COPIED     (256u << 10) /* at a time: what stays in a cache */
#define PROBED     (64u << 10)  /* what is in memory together, nearly always */

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

int base_file_put_at(int file, const void *bytes, size_t size, off_t at)
{
    const uint8_t *from = bytes;

    while (size) {
        ssize_t put = pwrite(file, from, size, at);

        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return put ? -errno : -EIO;
        from += put;
        at += put;
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

int base_file_fill_at(int file, void *bytes, size_t size, off_t at)
{
    size_t done = 0;

    while (done < size) {
        ssize_t got = pread(file, (uint8_t *)bytes + done, size - done, at + (off_t)done);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got ? -errno : -ENODATA;
        done += (size_t)got;
    }
    return 0;
}

static int check_regular(int file, const char *path, uint64_t most, uint64_t *size, struct base_error *error)
{
    struct stat info;

    if (fstat(file, &info))
        return base_fail(error, errno, "%s: cannot be read: %s.", path, strerror(errno));
    if (!S_ISREG(info.st_mode))
        return base_fail(error, EINVAL, "%s: not a file.", path);
    if ((uint64_t)info.st_size > most)
        return base_fail(error, EFBIG, "%s: it has %lld bytes; the limit is %" PRIu64 ".", path,
                         (long long)info.st_size, most);
    *size = (uint64_t)info.st_size;
    return 0;
}

int base_file_open(const char *path, uint64_t most, uint64_t *size, struct base_error *error)
{
    int file = base_file_above_standard(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)), status;

    if (file < 0)
        return base_fail(error, errno, "%s: cannot be opened: %s.", path, strerror(errno));
    status = check_regular(file, path, most, size, error);
    if (!status)
        return file;
    close(file);
    return status;
}

static int read_all(int file, const char *path, size_t size, uint8_t **bytes, struct base_error *error)
{
    int status;

    *bytes = base_alloc(size + 1);
    if (!*bytes)
        return base_fail(error, ENOMEM, "%s: there is no memory to read it.", path);
    base_expect_writes(*bytes, size);
    status = base_file_fill(file, *bytes, size);
    if (status == -ENODATA)
        return base_fail(error, ENODATA, "%s: it became shorter than its %zu bytes while it was read.", path,
                         size);
    return status ? base_fail(error, -status, "%s: cannot be read: %s.", path, strerror(-status)) : 0;
}

int base_file_read(const char *path, size_t most, uint8_t **bytes, size_t *size, struct base_error *error)
{
    uint64_t found = 0;
    int file, status;

    *bytes = NULL;
    file = base_file_open(path, most, &found, error);
    if (file < 0)
        return file;
    *size = (size_t)found;
    status = read_all(file, path, *size, bytes, error);
    close(file);
    if (status) {
        base_free(*bytes);
        *bytes = NULL;
    }
    return status;
}

/* One byte, if it is in memory. */
static bool is_cached(int file, uint64_t at)
{
    uint8_t byte;
    struct iovec one = {&byte, sizeof(byte)};

    return preadv2(file, &one, 1, (off_t)at, RWF_NOWAIT) == 1;
}

void base_file_fetch(int file, uint64_t size)
{
    uint8_t *part = NULL;

    for (uint64_t at = 0; at < size;) {
        ssize_t got = is_cached(file, at) ? (ssize_t)PROBED : 0;

        if (!got && !part)
            part = base_alloc(COPIED);
        if (!got)
            got = part ? pread(file, part, COPIED, (off_t)at) : -1;
        if (got <= 0)
            break;
        at += (uint64_t)got;
    }
    base_free(part);
}

int base_file_copy(int from, int to, uint64_t size, off_t at)
{
    const size_t most = size < COPIED ? (size_t)size : COPIED;
    uint8_t *part = base_alloc(most);
    uint64_t done = 0;
    int status = part ? 0 : -ENOMEM;

    while (done < size && !status) {
        const size_t wanted = size - done < most ? (size_t)(size - done) : most;
        ssize_t got = pread(from, part, wanted, (off_t)done);

        if (got < 0 && errno == EINTR)
            continue;
        status = got > 0 ? base_file_put_at(to, part, (size_t)got, at + (off_t)done)
                 : got   ? -errno
                         : -ENODATA;
        done += got > 0 ? (uint64_t)got : 0;
    }
    base_free(part);
    return status;
}
