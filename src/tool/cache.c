/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `anemone cache`: what the compiler keeps on disk. After a change the folder is read again, so that what is
 * printed is what is there. Another process may change the cache between the two calls that list it, so the
 * second count is the one that is used.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "compiler/compile.h"
#include "tool/json.h"
#include "tool/tool.h"

const char tool_cache_help[] =
    "anemone cache list|remove KEY|clear|trim BYTES [--json]\n\n"
    "Compiled bundles are kept under the SHA-256 of their network, their weights and the compiler.\n\n"
    "  list         every entry, the last used first\n"
    "  remove KEY   drops one entry; the first characters of its key are enough\n"
    "  clear        drops all entries, and what has the name of one and is not one\n"
    "  trim BYTES   drops the least recently used until at most BYTES are kept; suffixes K, M, G\n\n"
    "clear and trim also drop folders that an interrupted compilation left. The cache only saves time:\n"
    "where it cannot be read or written, models are compiled in memory, with a message. It is in\n"
    "$XDG_CACHE_HOME/anemone, or in ~/.cache/anemone, and is trimmed to 2 GiB by itself.\n\n"
    "  anemone cache trim 500M\n";

#define PATH_BYTES 4096u
#define KEY_MIN    4u

struct cache {
    char folder[PATH_BYTES];
    struct cc_cache_entry *entry;
    size_t count;
};

static bool fail(const struct base_error *error)
{
    tool_say("%s", error->text);
    return false;
}

static bool read_cache(struct cache *cache)
{
    struct base_error error = {{0}};
    long count;

    *cache = (struct cache){0};
    if (cc_cache_folder(NULL, cache->folder, sizeof(cache->folder), &error))
        return fail(&error);
    count = cc_cache_list(cache->folder, NULL, 0, &error);
    if (count < 0)
        return fail(&error);
    cache->entry = base_alloc_array((size_t)count + 1, sizeof(*cache->entry));
    if (!cache->entry) {
        tool_say("no memory for %ld entries.", count);
        return false;
    }
    cache->count = (size_t)count;
    count = cc_cache_list(cache->folder, cache->entry, cache->count, &error);
    if (count < 0)
        return fail(&error);
    if ((size_t)count < cache->count)
        cache->count = (size_t)count;
    return true;
}

static void print_json(const struct cache *cache)
{
    uint64_t bytes = 0;
    struct json json;

    json_begin(&json, stdout);
    json_string(&json, "folder", cache->folder);
    json_array(&json, "entries");
    for (size_t i = 0; i < cache->count; i++) {
        bytes += cache->entry[i].bytes;
        json_object(&json, NULL);
        json_string(&json, "key", cache->entry[i].key);
        json_number(&json, "bytes", cache->entry[i].bytes);
        json_number(&json, "used", cache->entry[i].used > 0 ? (uint64_t)cache->entry[i].used : 0);
        json_object_end(&json);
    }
    json_array_end(&json);
    json_number(&json, "bytes", bytes);
    json_number(&json, "limit", CC_CACHE_BYTES_DEFAULT);
    json_end(&json);
}

static void print_text(const struct cache *cache)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < cache->count; i++) {
        time_t used = (time_t)cache->entry[i].used;
        char when[32] = "";
        struct tm tm;

        if (localtime_r(&used, &tm))
            strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
        printf("%s  %12" PRIu64 "  %s\n", cache->entry[i].key, cache->entry[i].bytes, when);
        bytes += cache->entry[i].bytes;
    }
    printf("%zu %s, %" PRIu64 " bytes in %s\n", cache->count, cache->count == 1 ? "entry" : "entries", bytes,
           cache->folder);
}

/* The one entry whose key begins so. */
static const char *find_key(const struct cache *cache, const char *word)
{
    const char *found = NULL;
    size_t length = strlen(word);

    if (length < KEY_MIN) {
        tool_say("%s is too short for a key; the minimum is %u characters.", word, KEY_MIN);
        return NULL;
    }
    for (size_t i = 0; i < cache->count; i++) {
        if (strncmp(cache->entry[i].key, word, length) != 0)
            continue;
        if (found) {
            tool_say("%s is the beginning of more than one key.", word);
            return NULL;
        }
        found = cache->entry[i].key;
    }
    if (!found)
        tool_say("%s: no such entry in %s.", word, cache->folder);
    return found;
}

static bool take_bytes(const char *word, uint64_t *bytes)
{
    static const char units[] = "KMG";
    const char *unit;
    char *end;

    errno = 0;
    *bytes = strtoull(word, &end, 10);
    unit = *end ? strchr(units, *end) : NULL;
    if (unit && !end[1]) {
        unsigned shift = 10 * (unsigned)(unit - units + 1);

        if (*bytes <= UINT64_MAX >> shift) {
            *bytes <<= shift;
            end++;
        }
    }
    if (!errno && word[0] >= '0' && word[0] <= '9' && !*end)
        return true;
    tool_say("%s is not a number of bytes.", word);
    return false;
}

static bool remove_key(const struct cache *cache, const char *word)
{
    struct base_error error = {{0}};
    const char *key = word ? find_key(cache, word) : NULL;

    if (word && !key)
        return false;
    return !cc_cache_remove(cache->folder, key, &error) || fail(&error);
}

static bool act(const struct cache *cache, const char *const *words, uint64_t bytes)
{
    struct base_error error = {{0}};

    if (!strcmp(words[0], "remove"))
        return remove_key(cache, words[1]);
    if (!strcmp(words[0], "clear"))
        return remove_key(cache, NULL);
    if (!strcmp(words[0], "trim"))
        return !cc_cache_trim(cache->folder, bytes, &error) || fail(&error);
    return true;
}

static int go(const char *const *words, uint64_t bytes, bool as_json)
{
    struct cache cache;
    bool good = read_cache(&cache) && act(&cache, words, bytes);

    if (good && strcmp(words[0], "list") != 0) {
        base_free(cache.entry);
        good = read_cache(&cache);
    }
    if (good && as_json)
        print_json(&cache);
    else if (good)
        print_text(&cache);
    base_free(cache.entry);
    return good ? TOOL_OK : TOOL_FAILURE;
}

int tool_cache(int argc, char **argv)
{
    bool as_json = false, one, two;
    const struct tool_option options[] = {{"json", &as_json, NULL}, {0}};
    const char *words[2];
    uint64_t bytes = 0;
    unsigned count;

    if (!tool_words(argc, argv, options, words, 2, &count))
        return TOOL_USAGE;
    one = count == 1 && (!strcmp(words[0], "list") || !strcmp(words[0], "clear"));
    two = count == 2 && (!strcmp(words[0], "remove") || !strcmp(words[0], "trim"));
    if (!one && !two) {
        fputs(tool_cache_help, stderr);
        return TOOL_USAGE;
    }
    if (two && !strcmp(words[0], "trim") && !take_bytes(words[1], &bytes))
        return TOOL_USAGE;
    return go(words, bytes, as_json);
}
