/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's key is read or made once in a process, under a lock. A new key is written to a file of its own
 * and linked into place: of several processes that make one at the same time, all use the one that was first.
 */
#include "base/signing.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#define PATH_BYTES  4096u
#define SEED_BYTES  32u
#define CHUNK_BYTES 65536u /* of a file that is hashed */
/* What is signed begins with this, so that a signature for anything else is none for a program. */
static const char subject[16] = "anemone program2";

_Static_assert(BASE_KEY_BYTES == crypto_sign_PUBLICKEYBYTES, "Ed25519");
_Static_assert(BASE_SIGNATURE_BYTES == crypto_sign_BYTES && SEED_BYTES == crypto_sign_SEEDBYTES, "Ed25519");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    bool there, in_memory;
    uint8_t public_key[BASE_KEY_BYTES], secret[crypto_sign_SECRETKEYBYTES];
    struct base_error warning;
} user;

static int key_path(char path[PATH_BYTES], struct base_error *error)
{
    const char *given = getenv("ANEMONE_KEY"), *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    int length;

    if (given && given[0])
        length = snprintf(path, PATH_BYTES, "%s", given);
    else if (data && data[0] == '/')
        length = snprintf(path, PATH_BYTES, "%s/anemone/signing.key", data);
    else if (home && home[0] == '/')
        length = snprintf(path, PATH_BYTES, "%s/.local/share/anemone/signing.key", home);
    else
        return base_fail(error, ENOENT, "none of ANEMONE_KEY, XDG_DATA_HOME and HOME names a place for it");
    if (length >= (int)PATH_BYTES)
        return base_fail(error, ENAMETOOLONG, "its path has more than %u bytes", PATH_BYTES - 1);
    return 0;
}

static int read_seed(const char *path, uint8_t seed[SEED_BYTES], struct base_error *error)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY), status;
    struct stat info;

    if (file < 0)
        return errno == ENOENT ? -ENOENT : base_fail(error, errno, "%s: %s", path, strerror(errno));
    if (fstat(file, &info))
        status = base_fail(error, errno, "%s: %s", path, strerror(errno));
    else if (!S_ISREG(info.st_mode) || info.st_size != SEED_BYTES)
        status = base_fail(error, EBADMSG, "%s is not a file of %u bytes", path, SEED_BYTES);
    else
        status =
            base_file_fill(file, seed, SEED_BYTES) ? base_fail(error, EIO, "%s cannot be read", path) : 0;
    close(file);
    return status;
}

static void make_folders(const char *path)
{
    char part[PATH_BYTES];

    for (size_t i = 1; path[i]; i++)
        if (path[i] == '/') {
            memcpy(part, path, i);
            part[i] = '\0';
            mkdir(part, 0700);
        }
}

static int write_seed(const char *temporary, const uint8_t seed[SEED_BYTES])
{
    int file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), status = 0;

    if (file < 0)
        return -errno;
    if (write(file, seed, SEED_BYTES) != (ssize_t)SEED_BYTES || fsync(file))
        status = errno ? -errno : -EIO;
    close(file);
    if (status)
        unlink(temporary);
    return status;
}

static int make_seed(const char *path, uint8_t seed[SEED_BYTES], struct base_error *error)
{
    char temporary[PATH_BYTES + 32];
    int status;

    randombytes_buf(seed, SEED_BYTES);
    make_folders(path);
    snprintf(temporary, sizeof(temporary), "%s.%ld-%08x", path, (long)getpid(), randombytes_random());
    status = write_seed(temporary, seed);
    if (status)
        return base_fail(error, -status, "%s cannot be made: %s", path, strerror(-status));
    if (link(temporary, path) && errno != EEXIST)
        status = base_fail(error, errno, "%s cannot be made: %s", path, strerror(errno));
    unlink(temporary);
    /* The first that was linked counts. */
    return status ? status : read_seed(path, seed, error);
}

static void load_user(void)
{
    struct base_error why = {{0}};
    uint8_t seed[SEED_BYTES];
    char path[PATH_BYTES] = "";
    int status =
        sodium_init() < 0 ? base_fail(&why, EIO, "there is no source of randomness") : key_path(path, &why);

    if (!status) {
        status = read_seed(path, seed, &why);
        if (status == -ENOENT)
            status = make_seed(path, seed, &why);
    }
    if (status) {
        randombytes_buf(seed, sizeof(seed));
        user.in_memory = true;
        base_fail(&user.warning, 0,
                  "The signing key is in memory only, and what this process signs is refused in others: %s.",
                  why.text);
    }
    crypto_sign_seed_keypair(user.public_key, user.secret, seed);
    sodium_memzero(seed, sizeof(seed));
    user.there = true;
}

/* Returns with the lock held. */
static int take_user(struct base_error *warning)
{
    pthread_mutex_lock(&lock);
    if (!user.there)
        load_user();
    if (user.in_memory && warning)
        *warning = user.warning;
    return user.in_memory;
}

int base_signing_key(uint8_t key[BASE_KEY_BYTES], struct base_error *warning)
{
    int status = take_user(warning);

    memcpy(key, user.public_key, BASE_KEY_BYTES);
    pthread_mutex_unlock(&lock);
    return status;
}

static void write_message(uint8_t message[sizeof(subject) + 2 * BASE_HASH_BYTES],
                          const struct base_hashes *hashes)
{
    memcpy(message, subject, sizeof(subject));
    memcpy(message + sizeof(subject), hashes->part[0], BASE_HASH_BYTES);
    memcpy(message + sizeof(subject) + BASE_HASH_BYTES, hashes->part[1], BASE_HASH_BYTES);
}

int base_signing_sign(const struct base_hashes *hashes, struct base_signature *signature,
                      struct base_error *warning)
{
    uint8_t message[sizeof(subject) + 2 * BASE_HASH_BYTES];
    int status = take_user(warning);

    write_message(message, hashes);
    memcpy(signature->key, user.public_key, BASE_KEY_BYTES);
    crypto_sign_detached(signature->signature, NULL, message, sizeof(message), user.secret);
    pthread_mutex_unlock(&lock);
    return status;
}

bool base_signing_verify(const struct base_hashes *hashes, const struct base_signature *signature)
{
    uint8_t message[sizeof(subject) + 2 * BASE_HASH_BYTES];

    write_message(message, hashes);
    return !crypto_sign_verify_detached(signature->signature, message, sizeof(message), signature->key);
}

void base_signing_hash(const void *bytes, size_t size, uint8_t hash[BASE_HASH_BYTES])
{
    base_hash_of(bytes, size, hash);
}

int base_signing_hash_file(int file, uint64_t most, uint8_t hash[BASE_HASH_BYTES])
{
    struct base_hash state;
    uint8_t part[CHUNK_BYTES];
    uint64_t at = 0;
    ssize_t got;

    base_hash_begin(&state);
    while ((got = pread(file, part, sizeof(part), (off_t)at))) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        at += (uint64_t)got;
        if (at > most)
            return -EFBIG;
        base_hash_add(&state, part, (size_t)got);
    }
    base_hash_end(&state, hash);
    return 0;
}
