/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weight files: one blob at a time, every header word checked against the file before memory is taken for it.
 */
#include "compiler/store/blob.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "protocol/bits.h"

static const struct type {
    const char *name;
    uint32_t code, bits;
} types[] = {
#define X(name, code, bits) {#name, code, bits},
    CC_BLOB_TYPES(X)
#undef X
};

static const struct type *type_of(const char *name)
{
    for (size_t i = 0; i < BASE_COUNT_OF(types); i++)
        if (!strcmp(types[i].name, name))
            return &types[i];
    return NULL;
}

unsigned cc_blob_bits(const char *type)
{
    const struct type *found = type_of(type);

    return found ? found->bits : 0;
}

/* The part after @model_path, or NULL when it is absolute, empty, or has a `..`. */
static const char *inside(const char *path)
{
    size_t prefix = strlen(CC_BLOB_MODEL_PATH);

    if (strncmp(path, CC_BLOB_MODEL_PATH, prefix) == 0) {
        if (path[prefix] != '/')
            return NULL;
        path += prefix + 1;
    }
    if (*path == '/' || *path == '\0')
        return NULL;
    for (const char *part = path; part; part = strchr(part, '/')) {
        part += *part == '/';
        if (part[0] == '.' && part[1] == '.' && (part[2] == '/' || part[2] == '\0'))
            return NULL;
    }
    return path;
}

static int open_file(const char *folder, const char *path, int *file, uint64_t *size,
                     struct base_error *error)
{
    const char *rest = inside(path);
    struct stat facts;
    size_t length;
    char *whole;
    int cause;

    if (!folder)
        return base_fail(error, EINVAL,
                         "weight file \"%.128s\" cannot be read: the text was given without a folder", path);
    if (!rest)
        return base_fail(error, EINVAL,
                         "weight file \"%.128s\" leaves the model's folder, expected a path below %s", path,
                         CC_BLOB_MODEL_PATH);
    length = strlen(folder) + strlen(rest) + 2;
    whole = base_alloc(length);
    if (!whole)
        return base_fail(error, ENOMEM, "there is no memory for the path of weight file \"%.128s\"", path);
    snprintf(whole, length, "%s/%s", folder, rest);
    /* Non-blocking: a pipe of that name must not block the compiler. */
    *file = open(whole, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    cause = errno;
    base_free(whole);
    if (*file < 0)
        return base_fail(error, cause, "weight file \"%.128s\" cannot be opened: %s", path, strerror(cause));
    if (fstat(*file, &facts) || !S_ISREG(facts.st_mode)) {
        close(*file);
        return base_fail(error, EINVAL, "weight file \"%.128s\" is not a regular file", path);
    }
    *size = (uint64_t)facts.st_size;
    return 0;
}

static int read_at(int file, void *bytes, size_t count, uint64_t offset)
{
    uint8_t *to = bytes;

    while (count) {
        ssize_t got = pread(file, to, count, (off_t)offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got ? -errno : -EIO;
        to += got;
        count -= (size_t)got;
        offset += (uint64_t)got;
    }
    return 0;
}

static int check_file(int file, uint64_t size, const char *path, struct base_error *error)
{
    uint8_t header[CC_BLOB_HEADER];
    int status;

    if (size > CC_BLOB_FILE_MAX)
        return base_fail(error, EFBIG, "weight file \"%.128s\" has %llu bytes, limit %llu", path,
                         (unsigned long long)size, CC_BLOB_FILE_MAX);
    if (size < CC_BLOB_HEADER)
        return base_fail(error, EINVAL,
                         "weight file \"%.128s\" has %llu bytes, shorter than its %u-byte header", path,
                         (unsigned long long)size, CC_BLOB_HEADER);
    if ((status = read_at(file, header, sizeof(header), 0)))
        return base_fail(error, -status, "weight file \"%.128s\" cannot be read: %s", path,
                         strerror(-status));
    if (pr_le32(header + 4) != CC_BLOB_VERSION)
        return base_fail(error, EINVAL, "weight file \"%.128s\" says version %u at byte 4, expected %u", path,
                         pr_le32(header + 4), CC_BLOB_VERSION);
    return 0;
}

static int check_descriptor(const uint8_t descriptor[CC_BLOB_HEADER], uint64_t size, const char *path,
                            uint64_t offset, const struct type *type, uint64_t elements,
                            struct base_error *error)
{
    uint64_t bytes = (elements * type->bits + 7) / 8;
    uint32_t magic = pr_le32(descriptor), code = pr_le32(descriptor + 4);
    uint64_t length = pr_le64(descriptor + 8), start = pr_le64(descriptor + 16);

    if (magic != CC_BLOB_MAGIC)
        return base_fail(
            error, EINVAL,
            "weight file \"%.128s\" has 0x%08x at offset %llu, expected a blob descriptor (0x%08X): "
            "the offset names the descriptor, not the data",
            path, magic, (unsigned long long)offset, CC_BLOB_MAGIC);
    if (code != type->code)
        return base_fail(error, EINVAL,
                         "the blob at offset %llu of \"%.128s\" has type code %u, expected %u (%s)",
                         (unsigned long long)offset, path, code, type->code, type->name);
    if (length != bytes)
        return base_fail(
            error, EINVAL,
            "the blob at offset %llu of \"%.128s\" has %llu bytes, expected %llu (%llu elements of %s)",
            (unsigned long long)offset, path, (unsigned long long)length, (unsigned long long)bytes,
            (unsigned long long)elements, type->name);
    if (start > size || length > size - start)
        return base_fail(error, EINVAL,
                         "the blob at offset %llu of \"%.128s\" has its data at %llu for %llu bytes, "
                         "but the file ends at %llu",
                         (unsigned long long)offset, path, (unsigned long long)start,
                         (unsigned long long)length, (unsigned long long)size);
    return 0;
}

int cc_blob_read(const char *folder, const char *path, uint64_t offset, const char *name, uint64_t elements,
                 void **data, struct base_error *error)
{
    const struct type *type = type_of(name);
    uint8_t descriptor[CC_BLOB_HEADER];
    uint64_t size = 0, bytes;
    void *copy = NULL;
    int file = -1, status;

    if (!type)
        return base_fail(error, EINVAL, "a weight file does not hold %s", name);
    if (elements > CC_BLOB_FILE_MAX)
        return base_fail(error, EFBIG, "a tensor of %llu elements is more than a weight file holds",
                         (unsigned long long)elements);
    bytes = (elements * type->bits + 7) / 8;
    if ((status = open_file(folder, path, &file, &size, error)))
        return status;
    if ((status = check_file(file, size, path, error)))
        goto out;
    if (offset > size || size - offset < CC_BLOB_HEADER) {
        status = base_fail(
            error, EINVAL,
            "offset %llu of weight file \"%.128s\" leaves no room for a descriptor: the file ends at %llu",
            (unsigned long long)offset, path, (unsigned long long)size);
        goto out;
    }
    status = read_at(file, descriptor, sizeof(descriptor), offset);
    if (status == 0 && (status = check_descriptor(descriptor, size, path, offset, type, elements, error)))
        goto out;
    if (status == 0) {
        copy = base_alloc(bytes);
        if (!copy) {
            status = base_fail(error, ENOMEM, "there is no memory for %llu bytes of weights",
                               (unsigned long long)bytes);
            goto out;
        }
        base_expect_writes(copy, bytes);
        status = read_at(file, copy, bytes, pr_le64(descriptor + 16));
    }
    if (status) {
        base_fail(error, -status, "weight file \"%.128s\" cannot be read: %s", path, strerror(-status));
        goto out;
    }
    *data = copy;
    copy = NULL;
out:
    base_free(copy);
    close(file);
    return status;
}
