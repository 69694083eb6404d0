/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors that the library keeps open. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"

#define FIRST_FREE 3 /* after the standard streams */

/* The same file under a number that is not a standard stream's. -1 with errno set: the file is closed. */
static int above_standard(int file)
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
    file = above_standard(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
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

FILE *base_file_write(const char *path)
{
    int file = above_standard(open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)), code;
    FILE *stream = file < 0 ? NULL : fdopen(file, "w");

    if (file >= 0 && !stream) {
        code = errno;
        close(file);
        errno = code;
    }
    return stream;
}
