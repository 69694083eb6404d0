/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cache folder, shared by processes without a daemon. An entry appears and disappears by one rename; work
 * on it happens in a locked folder beside it. A folder with the name of such work and without a lock was left
 * by a process that ended, and is removed. A broken entry is removed and counts as absent; a failure of the
 * host says nothing about an entry, which then stays.
 */
#include "compiler/store/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"

#define BUILDING      ".building-" /* and six letters: an entry that is being written */
#define LEAVING       ".leaving-"  /* one that is being removed */
#define STALE_SECONDS 3600         /* the age of a leftover on a file system without locks */
enum { KEY_DIGITS = 64, ATTEMPTS = 16 };

int cc_cache_folder(const char *wanted, char *path, size_t capacity, struct base_error *error)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length;

    if (wanted)
        length = snprintf(path, capacity, "%s", wanted);
    else if (xdg && xdg[0] == '/')
        length = snprintf(path, capacity, "%s/anemone", xdg);
    else if (home && home[0] == '/')
        length = snprintf(path, capacity, "%s/.cache/anemone", home);
    else
        return base_fail(
            error, ENOENT,
            "There is no folder for the cache: neither XDG_CACHE_HOME nor HOME is set to a folder.");
    if (length <= 0 || (size_t)length >= capacity)
        return base_fail(error, ENAMETOOLONG, "The path of the cache is empty or has more than %zu bytes.",
                         capacity - 1);
    return 0;
}

static bool is_key(const char *name)
{
    return strlen(name) == KEY_DIGITS && strspn(name, "0123456789abcdef") == KEY_DIGITS;
}

/* A folder in the cache that this process works in, locked until the work ends. */
struct work {
    char path[CC_PATH_BYTES];
    int lock;
};

/* Another process may take the folder for a leftover and lock it first; then the next one is tried. */
static int try_work(const char *cache, const char *prefix, struct work *work)
{
    int length = snprintf(work->path, sizeof(work->path), "%s/%sXXXXXX", cache, prefix), code;

    if (length <= 0 || (size_t)length >= sizeof(work->path))
        return -ENAMETOOLONG;
    if (!mkdtemp(work->path))
        return -errno;
    work->lock = open(work->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (work->lock >= 0 && (!flock(work->lock, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK) &&
        !access(work->path, F_OK))
        return 0;
    code = work->lock < 0 && errno != ENOENT ? errno : EAGAIN;
    if (work->lock >= 0)
        close(work->lock);
    rmdir(work->path);
    return -code;
}

static int begin_work(const char *cache, const char *prefix, struct work *work)
{
    int status = -EAGAIN;

    for (unsigned i = 0; i < ATTEMPTS && status == -EAGAIN; i++)
        status = try_work(cache, prefix, work);
    return status;
}

static void end_work(struct work *work)
{
    close(work->lock);
}

/* Renames the entry in one step, then removes it. */
static int remove_entry(const char *cache, const char *name)
{
    char path[CC_PATH_BYTES], inside[CC_PATH_BYTES];
    struct work work;
    int status = cc_path_join(path, cache, name, NULL), removed;

    if (status)
        return status;
    /* A full file system may have no space for one more folder. */
    if (begin_work(cache, LEAVING, &work))
        return cc_tree_remove(path);
    status = cc_path_join(inside, work.path, "entry", NULL);
    if (!status && rename(path, inside) && errno != ENOENT)
        /* A sandbox of an older kernel lets nothing be moved from one folder into another. */
        status = errno == EXDEV ? cc_tree_remove(path) : -errno;
    removed = cc_tree_remove(work.path);
    end_work(&work);
    return status ? status : removed;
}

/* Failures of the host, not of the entry: it may be complete. */
static bool says_nothing(int status)
{
    return status == -ENOMEM || status == -EACCES || status == -EPERM || status == -EIO ||
           status == -EMFILE || status == -ENFILE;
}

/* The driver would take it: signed, with the user's key. */
static bool is_ours(const struct cc_bundle *bundle)
{
    uint8_t key[BASE_KEY_BYTES];

    base_signing_key(key, NULL);
    return bundle->is_signed && !memcmp(key, bundle->signature.key, sizeof(key));
}

/* A bundle under another key than its own is broken too, and so is one that is not signed as it has to be. */
static int open_entry(const char *path, const char *key, bool is_signed, struct cc_bundle *bundle,
                      struct base_error *error)
{
    char stated[CC_KEY_BYTES];
    int status = cc_bundle_open(path, bundle, stated, error);

    if (!status && (strcmp(stated, key) != 0 || !(is_signed ? is_ours(bundle) : !bundle->is_signed))) {
        cc_bundle_release(bundle);
        return -EBADMSG;
    }
    return status;
}

int cc_cache_find(const char *cache, const char *key, bool is_signed, struct cc_bundle *bundle,
                  struct base_error *error)
{
    char path[CC_PATH_BYTES];
    struct stat info;
    int status = cc_path_join(path, cache, key, error);

    if (status)
        return status;
    if (lstat(path, &info))
        return errno == ENOENT ? 0
                               : base_fail(error, errno, "%s: cannot be read: %s.", cache, strerror(errno));
    status = S_ISDIR(info.st_mode) ? open_entry(path, key, is_signed, bundle, error) : -EBADMSG;
    if (!status) {
        utimensat(AT_FDCWD, path, NULL, 0);
        return 1;
    }
    if (says_nothing(status))
        return status;
    /* A broken entry, or one that another process is removing. */
    status = remove_entry(cache, key);
    return status
               ? base_fail(error, -status, "%s: broken, and cannot be removed: %s.", path, strerror(-status))
               : 0;
}

int cc_cache_add(const char *cache, const char *key, const struct cc_bundle *bundle, struct base_error *error)
{
    char path[CC_PATH_BYTES];
    struct work work;
    int status = cc_folder_make(cache, error);

    if (!status)
        status = cc_path_join(path, cache, key, error);
    if (status)
        return status;
    status = begin_work(cache, BUILDING, &work);
    if (status)
        return base_fail(error, -status, "%s: cannot be written: %s.", cache, strerror(-status));
    status = cc_bundle_save(work.path, bundle, NULL);
    if (status)
        base_fail(error, -status, "%s: cannot be written: %s.", path, strerror(-status));
    else if (rename(work.path, path) && errno != EEXIST && errno != ENOTEMPTY)
        status = base_fail(error, errno, "%s: cannot be put into place: %s.", path, strerror(errno));
    cc_tree_remove(work.path); /* what was not renamed */
    end_work(&work);
    return status;
}

/* Looking through the folder. */

/* Of a folder and of those directly in it, which are the segments of a composite. */
static uint64_t folder_bytes(const char *path, unsigned depth)
{
    DIR *folder = opendir(path);
    char inside[CC_PATH_BYTES];
    struct dirent *found;
    struct stat info;
    uint64_t bytes = 0;

    while (folder && (found = readdir(folder))) {
        if (!strcmp(found->d_name, ".") || !strcmp(found->d_name, "..") ||
            cc_path_join(inside, path, found->d_name, NULL) || lstat(inside, &info))
            continue;
        if (S_ISREG(info.st_mode))
            bytes += (uint64_t)info.st_size;
        else if (S_ISDIR(info.st_mode) && depth)
            bytes += folder_bytes(inside, depth - 1);
    }
    if (folder)
        closedir(folder);
    return bytes;
}

static uint64_t entry_bytes(const char *path, const struct stat *entry)
{
    return S_ISDIR(entry->st_mode) ? folder_bytes(path, 1) : (uint64_t)entry->st_size;
}

struct list {
    struct cc_cache_entry *entry;
    size_t count, capacity;
};

static int list_add(struct list *list, const struct cc_cache_entry *entry)
{
    struct cc_cache_entry *larger;

    if (list->count == list->capacity) {
        list->capacity = list->capacity ? 2 * list->capacity : 64;
        larger = base_realloc(list->entry, list->capacity * sizeof(*larger));
        if (!larger)
            return -ENOMEM;
        list->entry = larger;
    }
    list->entry[list->count++] = *entry;
    return 0;
}

static int newest_first(const void *a, const void *b)
{
    const struct cc_cache_entry *x = a, *y = b;

    if (x->used != y->used)
        return x->used < y->used ? 1 : -1;
    if (x->used_ns != y->used_ns)
        return x->used_ns < y->used_ns ? 1 : -1;
    return strcmp(x->key, y->key);
}

/* Everything with the name of a key: one that is not a bundle blocks a bundle of that key. */
static int look(const char *cache, const char *name, struct list *list)
{
    struct cc_cache_entry entry = {.bytes = 0};
    char path[CC_PATH_BYTES];
    struct stat info;

    if (!is_key(name) || cc_path_join(path, cache, name, NULL) || lstat(path, &info))
        return 0;
    memcpy(entry.key, name, KEY_DIGITS + 1);
    entry.bytes = entry_bytes(path, &info);
    entry.used = info.st_mtim.tv_sec;
    entry.used_ns = info.st_mtim.tv_nsec;
    return list_add(list, &entry);
}

/* Every entry, the one used last first. A folder that does not exist has none. */
static int list_all(const char *cache, struct list *list, struct base_error *error)
{
    DIR *folder = opendir(cache);
    struct dirent *found;
    int status = 0;

    *list = (struct list){0};
    if (!folder)
        return errno == ENOENT ? 0
                               : base_fail(error, errno, "%s: cannot be read: %s.", cache, strerror(errno));
    while (!status && (found = readdir(folder)))
        status = look(cache, found->d_name, list);
    closedir(folder);
    if (status) {
        base_free(list->entry);
        *list = (struct list){0};
        return base_fail(error, -status, "%s: there is no memory to list it.", cache);
    }
    if (list->count)
        qsort(list->entry, list->count, sizeof(*list->entry), newest_first);
    return 0;
}

long cc_cache_list(const char *wanted, struct cc_cache_entry *entries, size_t capacity,
                   struct base_error *error)
{
    char cache[CC_PATH_BYTES];
    struct list list;
    long count;
    int status = cc_cache_folder(wanted, cache, sizeof(cache), error);

    if (!status)
        status = list_all(cache, &list, error);
    if (status)
        return status;
    for (size_t i = 0; i < list.count && i < capacity; i++) {
        char path[CC_PATH_BYTES];

        entries[i] = list.entry[i];
        if (!cc_path_join(path, cache, entries[i].key, NULL))
            cc_bundle_model(path, entries[i].model);
    }
    count = (long)list.count;
    base_free(list.entry);
    return count;
}

static int remove_named(const char *cache, const char *key, struct base_error *error)
{
    int status = remove_entry(cache, key);

    return status ? base_fail(error, -status, "%s/%s: cannot be removed: %s.", cache, key, strerror(-status))
                  : 0;
}

static bool is_work(const char *name)
{
    return strncmp(name, BUILDING, strlen(BUILDING)) == 0 || strncmp(name, LEAVING, strlen(LEAVING)) == 0;
}

/* Removes the folder unless a process works in it. */
static void remove_leftover(const char *path)
{
    int lock = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat info;
    bool left;

    if (lock < 0)
        return;
    left = !flock(lock, LOCK_EX | LOCK_NB);
    if (!left && errno != EWOULDBLOCK)
        left = !fstat(lock, &info) && time(NULL) - info.st_mtime > STALE_SECONDS;
    if (left)
        cc_tree_remove(path);
    close(lock);
}

static void remove_leftovers(const char *cache)
{
    DIR *folder = opendir(cache);
    char path[CC_PATH_BYTES];
    struct dirent *found;

    if (!folder)
        return;
    while ((found = readdir(folder)))
        if (is_work(found->d_name) && !cc_path_join(path, cache, found->d_name, NULL))
            remove_leftover(path);
    closedir(folder);
}

/*
 * Removes leftovers, and entries from the least recently used on until `bytes` are kept; with `all` every
 * entry. One that cannot be removed does not keep the others.
 */
static int shrink(const char *cache, uint64_t bytes, bool all, struct base_error *error)
{
    struct list list;
    uint64_t kept = 0;
    int status = list_all(cache, &list, error);

    remove_leftovers(cache);
    for (size_t i = 0; i < list.count; i++) {
        int removed = 0;

        kept += list.entry[i].bytes;
        if (all || kept > bytes) {
            kept -= list.entry[i].bytes;
            removed = remove_named(cache, list.entry[i].key, status ? NULL : error);
        }
        status = status ? status : removed;
    }
    base_free(list.entry);
    return status;
}

int cc_cache_remove(const char *wanted, const char *key, struct base_error *error)
{
    char cache[CC_PATH_BYTES], path[CC_PATH_BYTES];
    struct stat info;
    int status = cc_cache_folder(wanted, cache, sizeof(cache), error);

    if (status || !key)
        return status ? status : shrink(cache, 0, true, error);
    if (!is_key(key))
        return base_fail(error, EINVAL, "`%.80s` is not a key: a key has 64 hexadecimal digits.", key);
    status = cc_path_join(path, cache, key, error);
    if (!status && lstat(path, &info))
        return base_fail(error, ENOENT, "The cache has no entry %s.", key);
    return status ? status : remove_named(cache, key, error);
}

int cc_cache_read(const char *cache, const char *key, struct cc_bundle *bundle, struct cc_report *report,
                  struct base_error *error)
{
    int found;

    memset(report, 0, sizeof(*report));
    memset(bundle, 0, sizeof(*bundle));
    if (!is_key(key))
        return base_fail(error, EINVAL, "`%.80s` is not a key: a key has 64 hexadecimal digits.", key);
    found = cc_cache_find(cache, key, false, bundle, error);
    if (found == 1) {
        int status = cc_bundle_measure(bundle, report, error);

        memcpy(report->key, key, sizeof(report->key));
        report->hit = true;
        if (status)
            cc_bundle_release(bundle);
        return status ? status : 1;
    }
    return found;
}

bool cc_cache_bytes(const char *text, uint64_t *bytes)
{
    static const char units[] = "KMG";
    unsigned shift = 0;
    const char *unit;
    char *end;

    if (text[0] < '0' || text[0] > '9')
        return false;
    errno = 0;
    *bytes = strtoull(text, &end, 10);
    unit = *end ? strchr(units, *end) : NULL;
    if (unit) {
        shift = 10 * (unsigned)(unit - units + 1);
        end++;
    }
    if (errno || *end || *bytes > UINT64_MAX >> shift)
        return false;
    *bytes <<= shift;
    return true;
}

uint64_t cc_cache_limit(struct base_error *error)
{
    const char *text = getenv(CC_CACHE_BYTES_VARIABLE);
    uint64_t bytes;

    if (!text || !text[0])
        return CC_CACHE_BYTES_DEFAULT;
    if (cc_cache_bytes(text, &bytes))
        return bytes;
    base_fail(error, EINVAL, "%s is not a number of bytes, `%.40s`; the cache is trimmed to %llu bytes.",
              CC_CACHE_BYTES_VARIABLE, text, CC_CACHE_BYTES_DEFAULT);
    return CC_CACHE_BYTES_DEFAULT;
}

int cc_cache_trim(const char *wanted, uint64_t bytes, struct base_error *error)
{
    char cache[CC_PATH_BYTES];
    int status = cc_cache_folder(wanted, cache, sizeof(cache), error);

    return status ? status : shrink(cache, bytes, false, error);
}
