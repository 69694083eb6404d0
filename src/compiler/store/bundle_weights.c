/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The weights of a bundle on disk. Large ones are hashed as they pass through a small buffer, and are not
 * kept in memory: most readers only copy them to somewhere else.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/tree.h"
#include "compiler/store/bundle.h"
#include "compiler/store/files.h"
#include "compiler/store/manifest.h"

#define IN_MEMORY_MAX (1u << 20) /* weights up to this are read */

int cc_bundle_refuse_part(const char *path, uint64_t found, uint64_t stated, const char *hash,
                          struct base_error *error)
{
    return base_fail(error, EBADMSG,
                     "%s: its %" PRIu64 " bytes are not those the manifest states (%" PRIu64
                     " bytes, hash %s).",
                     path, found, stated, hash);
}

static int check_hash(const char *path, const struct cc_bundle *b, uint64_t stated, const char *hash,
                      struct base_error *error)
{
    char digits[CC_HASH_DIGITS + 1];

    cc_hex(b->hashes.part[1], BASE_HASH_BYTES, digits);
    if (b->weights_bytes == stated && !strcmp(digits, hash))
        return 0;
    return cc_bundle_refuse_part(path, b->weights_bytes, stated, hash, error);
}

/* Large weights: a descriptor, and their size. */
static int open_weights(const char *path, struct cc_bundle *b, uint64_t bytes, struct base_error *error)
{
    uint64_t size = 0;
    int file = base_file_open(path, bytes, &size, error);

    if (file < 0)
        return file;
    b->weights_bytes = (size_t)size;
    b->weights_file = file;
    return 0;
}

static int hash_weights(const char *path, struct cc_bundle *b, uint64_t bytes, struct base_error *error)
{
    int status;

    if (bytes <= IN_MEMORY_MAX) {
        status = cc_file_read(path, bytes, &b->weights, &b->weights_bytes, error);
        if (!status)
            base_tree_of(b->weights, b->weights_bytes, b->hashes.part[1]);
        return status;
    }
    status = open_weights(path, b, bytes, error);
    if (status)
        return status;
    status = base_tree_of_file(b->weights_file, bytes, b->hashes.part[1]);
    return status ? base_fail(error, -status, "%s: cannot be read: %s.", path, strerror(-status)) : 0;
}

int cc_bundle_hold_weights(const char *path, struct cc_bundle *b, uint64_t bytes, const char *hash,
                           struct base_error *error)
{
    int status = hash_weights(path, b, bytes, error);

    return status ? status : check_hash(path, b, bytes, hash, error);
}

int cc_bundle_trust_weights(const char *path, struct cc_bundle *b, uint64_t bytes, const char *hash,
                            struct base_error *error)
{
    int status;

    if (bytes <= IN_MEMORY_MAX)
        return cc_bundle_hold_weights(path, b, bytes, hash, error);
    status = open_weights(path, b, bytes, error);
    if (status)
        return status;
    cc_unhex(hash, b->hashes.part[1], BASE_HASH_BYTES);
    return check_hash(path, b, bytes, hash, error);
}

static int read_weights(const struct cc_bundle *b, uint8_t *to)
{
    uint8_t hash[BASE_HASH_BYTES];
    int status =
        lseek(b->weights_file, 0, SEEK_SET) ? -errno : base_file_fill(b->weights_file, to, b->weights_bytes);

    if (status)
        return status;
    base_tree_of(to, b->weights_bytes, hash);
    return memcmp(hash, b->hashes.part[1], sizeof(hash)) != 0 ? -EBADMSG : 0;
}

int cc_bundle_weights(struct cc_bundle *bundle, struct base_error *error)
{
    uint8_t *bytes;
    int status;

    if (bundle->weights || !bundle->weights_file)
        return 0;
    bytes = base_alloc(bundle->weights_bytes);
    if (!bytes)
        return base_fail(error, ENOMEM, "There is no memory for the weights of a bundle.");
    status = read_weights(bundle, bytes);
    if (status) {
        base_free(bytes);
        return base_fail(error, -status, "%s: its weights were changed while it was used.",
                         bundle->path ? bundle->path : "A bundle");
    }
    bundle->weights = bytes;
    return 0;
}

int cc_bundle_put_weights(const struct cc_bundle *bundle, int file, uint64_t at)
{
    if (bundle->weights)
        return base_file_put_at(file, bundle->weights, bundle->weights_bytes, (off_t)at);
    return bundle->weights_file ? base_file_copy(bundle->weights_file, file, bundle->weights_bytes, (off_t)at)
                                : 0;
}
