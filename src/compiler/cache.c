/* SPDX-License-Identifier: Apache-2.0 */
/* The cache folder. */
#include "compiler/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"

#define BUILDING      ".building-" /* and of six letters: an entry under way */
#define LEAVING       ".leaving-"  /* one that is being removed */
#define STALE_SECONDS 3600         /* after this nobody works on it any more */
enum { KEY_DIGITS = 64 };

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
            "There is no place for the cache: neither XDG_CACHE_HOME nor HOME is set to a folder.");
    if (length <= 0 || (size_t)length >= capacity)
        return base_fail(error, ENAMETOOLONG, "The path of the cache is empty or has more than %zu bytes.",
                         capacity - 1);
    return 0;
}

static bool is_key(const char *name)
{
    return strlen(name) == KEY_DIGITS && strspn(name, "0123456789abcdef") == KEY_DIGITS;
}

/* Out of sight first, in one step; then gone. */
static int remove_entry(const char *cache, const char *name)
{
    char path[CC_PATH_BYTES], leaving[CC_PATH_BYTES];
    int status = cc_path_join(path, cache, name, NULL);

    if (!status)
        status = cc_path_join(leaving, cache, LEAVING "XXXXXX", NULL);
    if (status)
        return status;
    if (!mkdtemp(leaving))
        return -errno;
    if (rename(path, leaving)) {
        status = errno == ENOENT ? 0 : -errno;
        rmdir(leaving);
        return status;
    }
    return cc_bundle_delete(leaving);
}

int cc_cache_find(const char *cache, const char *key, struct cc_bundle *bundle, struct base_error *error)
{
    char path[CC_PATH_BYTES], stated[CC_KEY_BYTES];
    struct stat info;
    int status = cc_path_join(path, cache, key, error);

    if (status)
        return status;
    if (stat(path, &info))
        return 0;
    status = cc_bundle_open(path, bundle, stated, error);
    if (!status && strcmp(stated, key) != 0) {
        cc_bundle_release(bundle);
        status = -EBADMSG;
    }
    if (status == -ENOMEM)
        return status;
    if (status) {
        /* A broken entry, or one that another process is taking away: the same to us. */
        status = remove_entry(cache, key);
        return status ? base_fail(error, -status, "%s: broken, and cannot be removed: %s.", path,
                                  strerror(-status))
                      : 0;
    }
    utimensat(AT_FDCWD, path, NULL, 0);
    return 1;
}

int cc_cache_add(const char *cache, const char *key, const struct cc_bundle *bundle, struct base_error *error)
{
    char path[CC_PATH_BYTES], building[CC_PATH_BYTES];
    int status = cc_folder_make(cache, error);

    if (!status)
        status = cc_path_join(path, cache, key, error);
    if (!status)
        status = cc_folder_make_beside(path, building, error);
    if (status)
        return status;
    status = cc_bundle_save(building, bundle, error);
    if (!status && rename(building, path)) {
        if (errno != EEXIST && errno != ENOTEMPTY)
            status = base_fail(error, errno, "%s: cannot be put into place: %s.", path, strerror(errno));
        cc_bundle_delete(building);
    } else if (status) {
        cc_bundle_delete(building);
    }
    return status ? status : cc_cache_trim(cache, CC_CACHE_BYTES_DEFAULT, error);
}

/* Looking through the folder. */

static uint64_t entry_bytes(const char *path)
{
    static const char *const name[] = {"main.e5", "weights.bin", "manifest.json"};
    char file[CC_PATH_BYTES];
    struct stat info;
    uint64_t bytes = 0;

    for (unsigned i = 0; i < 3; i++)
        if (!cc_path_join(file, path, name[i], NULL) && !stat(file, &info))
            bytes += (uint64_t)info.st_size;
    return bytes;
}

static bool is_stale(const char *name, time_t changed)
{
    bool ours =
        strncmp(name, BUILDING, strlen(BUILDING)) == 0 || strncmp(name, LEAVING, strlen(LEAVING)) == 0;

    return ours && time(NULL) - changed > STALE_SECONDS;
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
    return strcmp(x->key, y->key);
}

static int look(const char *cache, const char *name, struct list *list)
{
    struct cc_cache_entry entry = {.bytes = 0};
    char path[CC_PATH_BYTES];
    struct stat info;

    if (cc_path_join(path, cache, name, NULL) || lstat(path, &info) || !S_ISDIR(info.st_mode))
        return 0;
    if (is_stale(name, info.st_mtime))
        cc_bundle_delete(path);
    if (!is_key(name))
        return 0;
    memcpy(entry.key, name, KEY_DIGITS + 1);
    entry.bytes = entry_bytes(path);
    entry.used = info.st_mtime;
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
    if (list.count && capacity)
        memcpy(entries, list.entry, (list.count < capacity ? list.count : capacity) * sizeof(*entries));
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

/* Removes from the least recently used on until `bytes` are kept; with `all` also entries of no bytes. */
static int shrink(const char *cache, uint64_t bytes, bool all, struct base_error *error)
{
    struct list list;
    uint64_t kept = 0;
    int status = list_all(cache, &list, error);

    for (size_t i = 0; !status && i < list.count; i++) {
        kept += list.entry[i].bytes;
        if (all || kept > bytes) {
            kept -= list.entry[i].bytes;
            status = remove_named(cache, list.entry[i].key, error);
        }
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
        return base_fail(error, EINVAL, "`%.80s` is no key: a key has 64 hexadecimal digits.", key);
    status = cc_path_join(path, cache, key, error);
    if (!status && stat(path, &info))
        return base_fail(error, ENOENT, "The cache has no entry %s.", key);
    return status ? status : remove_named(cache, key, error);
}

int cc_cache_trim(const char *wanted, uint64_t bytes, struct base_error *error)
{
    char cache[CC_PATH_BYTES];
    int status = cc_cache_folder(wanted, cache, sizeof(cache), error);

    return status ? status : shrink(cache, bytes, false, error);
}
