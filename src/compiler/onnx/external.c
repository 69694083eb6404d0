/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data of a tensor in a file beside the model. The path is walked folder by folder without following a link,
 * so it cannot leave the model's folder; offset and length are compared with the file before it is read.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "compiler/onnx/tensor.h"

#define PART_BYTES 256u

struct place {
    const char *location;
    uint64_t offset, length;
    bool has_length;
};

static bool whole_number(const char *text, uint64_t *number)
{
    char *end;

    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    *number = strtoull(text, &end, 10);
    return !errno && !*end;
}

static int read_place(const CcTensor *tensor, struct place *place, struct base_error *error)
{
    *place = (struct place){0};
    for (size_t i = 0; i < tensor->n_external_data; i++) {
        const char *key = tensor->external_data[i]->key, *value = tensor->external_data[i]->value;
        bool good = true;

        if (!strcmp(key, "location"))
            place->location = value;
        else if (!strcmp(key, "offset"))
            good = whole_number(value, &place->offset);
        else if (!strcmp(key, "length"))
            good = place->has_length = whole_number(value, &place->length);
        if (!good)
            return base_fail(error, EINVAL, "its external data has %.32s \"%.32s\", expected a whole number",
                             key, value);
    }
    if (!place->location || !place->location[0])
        return base_fail(error, EINVAL, "its external data names no file");
    return 0;
}

/* The next part of a path; false when it is not one that stays below. */
static bool next_part(const char **path, char part[PART_BYTES])
{
    size_t length = strcspn(*path, "/");

    if (length == 0 || length >= PART_BYTES)
        return false;
    memcpy(part, *path, length);
    part[length] = '\0';
    *path += length;
    while (**path == '/')
        ++*path;
    return strcmp(part, "..") != 0;
}

static int open_below(const char *folder, const char *location, struct base_error *error)
{
    int at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), next;
    const char *rest = location;
    char part[PART_BYTES];

    if (at < 0)
        return base_fail(error, errno, "the model's folder cannot be opened: %s", strerror(errno));
    do {
        if (!next_part(&rest, part)) {
            close(at);
            return base_fail(error, EINVAL,
                             "its external data is in \"%.128s\", expected a path below the model's folder",
                             location);
        }
        /* Non-blocking: a pipe of that name must not block the compiler. */
        next = openat(at, part,
                      O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | (*rest ? O_DIRECTORY : O_NONBLOCK));
        close(at);
        at = next;
    } while (at >= 0 && *rest);
    if (at >= 0)
        return at;
    if (errno == ELOOP || errno == ENOTDIR)
        return base_fail(error, errno,
                         "its external data is in \"%.128s\", which is a link or has one in its path; links "
                         "are not followed",
                         location);
    return base_fail(error, errno, "its external data \"%.128s\" cannot be opened: %s", location,
                     strerror(errno));
}

static int read_at(int file, const struct place *place, size_t length, uint8_t *bytes,
                   struct base_error *error)
{
    uint64_t offset = place->offset;

    while (length) {
        ssize_t got = pread(file, bytes, length, (off_t)offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return base_fail(error, got ? errno : EIO, "its external data \"%.128s\" cannot be read: %s",
                             place->location, got ? strerror(errno) : "it became shorter");
        bytes += got;
        length -= (size_t)got;
        offset += (uint64_t)got;
    }
    return 0;
}

int cc_onnx_external_read(const CcTensor *tensor, const char *folder, size_t length, void **bytes,
                          struct base_error *error)
{
    struct place place;
    struct stat facts;
    int status = read_place(tensor, &place, error), file;

    if (status)
        return status;
    if (!folder)
        return base_fail(error, EINVAL, "its data is in \"%.128s\", but the model was given without a folder",
                         place.location);
    if (place.has_length && place.length != length)
        return base_fail(error, EINVAL, "its external data has %llu bytes, expected %zu for its shape",
                         (unsigned long long)place.length, length);
    file = open_below(folder, place.location, error);
    if (file < 0)
        return file;
    if (fstat(file, &facts) || !S_ISREG(facts.st_mode))
        status =
            base_fail(error, EINVAL, "its external data \"%.128s\" is not a regular file", place.location);
    else if (place.offset > (uint64_t)facts.st_size || length > (uint64_t)facts.st_size - place.offset)
        status = base_fail(
            error, EINVAL, "its external data is %zu bytes at offset %llu of \"%.128s\", which ends at %llu",
            length, (unsigned long long)place.offset, place.location, (unsigned long long)facts.st_size);
    else if (!(*bytes = base_alloc(length)))
        status = base_fail(error, ENOMEM, "there is no memory for its %zu bytes", length);
    else
        status = read_at(file, &place, length, *bytes, error);
    close(file);
    return status;
}
