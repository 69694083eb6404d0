/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `anemone cache`: what the compiler keeps on disk. After a change the folder is read again, so that what is
 * printed is what is there. Another process may change the cache between the two calls that list it, so the
 * second count is the one that is used.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/array.h"
#include "compiler/compile.h"
#include "tool/json.h"
#include "tool/tool.h"

const char tool_cache_help[] =
    "anemone cache ls|rm|gc [words] [--json]\n\n"
    "Compiled bundles are kept under the SHA-256 of their network, their weights and the compiler.\n\n"
    "  ls                  every entry, the last used first: key, bytes, last use, and the file that was\n"
    "                      compiled, where the entry states it\n"
    "  rm KEY ...          drops these entries; the first characters of a key are enough\n"
    "  rm --all            drops all entries, and what has the name of one and is not one\n"
    "  gc [--limit BYTES]  drops the least recently used until at most BYTES are kept; suffixes K, M, G.\n"
    "                      Without --limit the cache's own limit\n\n"
    "list, remove KEY, clear and trim BYTES are older words for ls, rm KEY, rm --all and gc --limit\n"
    "BYTES.\n\n"
    "rm --all and gc also drop folders that an interrupted compilation left. The cache only saves time:\n"
    "where it cannot be read or written, models are compiled in memory, with a message. It is in\n"
    "$XDG_CACHE_HOME/anemone, or in ~/.cache/anemone. After a compilation it is trimmed to its limit, which\n"
    "is 2 GiB or what ANEMONE_CACHE_BYTES says (a number of bytes; suffixes K, M, G).\n\n"
    "  anemone cache gc --limit 500M\n";

#define PATH_BYTES 4096u
#define KEY_MIN    4u
#define WORDS_MAX  256u

enum action { LIST, REMOVE, REMOVE_ALL, TRIM };

/* The words that choose an action; of `least` to `most` words that follow. */
static const struct {
    const char *word;
    enum action action;
    unsigned least, most;
    const char *takes;
} actions[] = {
    {"ls", LIST, 0, 0, "nothing but --json"},
    {"list", LIST, 0, 0, "nothing but --json"},
    {"rm", REMOVE, 0, WORDS_MAX, "keys of entries, or --all"}, /* no keys with --all */
    {"remove", REMOVE, 1, WORDS_MAX, "keys of entries"},
    {"clear", REMOVE_ALL, 0, 0, "nothing but --json"},
    {"gc", TRIM, 0, 0, "--limit BYTES or nothing"},
    {"trim", TRIM, 1, 1, "a number of bytes"},
};

struct order {
    enum action action;
    const char *const *keys;
    unsigned key_count;
    uint64_t limit;
    bool as_json;
};

struct cache {
    char folder[PATH_BYTES];
    struct cc_cache_entry *entry;
    size_t count;
    uint64_t bytes;
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
    for (size_t i = 0; i < cache->count; i++)
        cache->bytes += cache->entry[i].bytes;
    return true;
}

static void print_json(const struct cache *cache, uint64_t removed)
{
    struct json json;

    json_begin(&json, stdout);
    json_string(&json, "folder", cache->folder);
    json_array(&json, "entries");
    for (size_t i = 0; i < cache->count; i++) {
        const struct cc_cache_entry *entry = &cache->entry[i];

        json_object(&json, NULL);
        json_string(&json, "key", entry->key);
        json_number(&json, "bytes", entry->bytes);
        json_number(&json, "used", entry->used > 0 ? (uint64_t)entry->used : 0);
        json_string(&json, "model", entry->model);
        json_object_end(&json);
    }
    json_array_end(&json);
    json_number(&json, "bytes", cache->bytes);
    json_number(&json, "limit", cc_cache_limit(NULL));
    json_number(&json, "removed_bytes", removed);
    json_end(&json);
}

static void print_text(const struct cache *cache)
{
    for (size_t i = 0; i < cache->count; i++) {
        time_t used = (time_t)cache->entry[i].used;
        char when[32] = "";
        struct tm tm;

        if (localtime_r(&used, &tm))
            strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
        printf("%s  %12" PRIu64 "  %s  %s\n", cache->entry[i].key, cache->entry[i].bytes, when,
               cache->entry[i].model[0] ? cache->entry[i].model : "-");
    }
    printf("%zu %s, %" PRIu64 " bytes in %s; the limit is %" PRIu64 " bytes\n", cache->count,
           cache->count == 1 ? "entry" : "entries", cache->bytes, cache->folder, cc_cache_limit(NULL));
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

/* All keys are found before the first entry is removed; two words may name one entry. */
static bool remove_keys(const struct cache *cache, const char *const *words, unsigned count)
{
    const char *keys[WORDS_MAX];
    struct base_error error = {{0}};

    for (unsigned i = 0; i < count; i++) {
        keys[i] = find_key(cache, words[i]);
        if (!keys[i])
            return false;
    }
    for (unsigned i = 0; i < count; i++) {
        bool again = false;

        for (unsigned j = 0; j < i; j++)
            again = again || keys[j] == keys[i];
        if (!again && cc_cache_remove(cache->folder, keys[i], &error))
            return fail(&error);
    }
    return true;
}

static bool act(const struct cache *cache, const struct order *order)
{
    struct base_error error = {{0}};

    switch (order->action) {
    case LIST: return true;
    case REMOVE: return remove_keys(cache, order->keys, order->key_count);
    case REMOVE_ALL: return !cc_cache_remove(cache->folder, NULL, &error) || fail(&error);
    case TRIM: return !cc_cache_trim(cache->folder, order->limit, &error) || fail(&error);
    }
    return true;
}

static int go(const struct order *order)
{
    struct cache cache;
    bool good = read_cache(&cache) && act(&cache, order);
    uint64_t before = cache.bytes;

    if (good && order->action != LIST) {
        base_free(cache.entry);
        good = read_cache(&cache);
    }
    if (good && order->as_json)
        print_json(&cache, before > cache.bytes ? before - cache.bytes : 0);
    else if (good)
        print_text(&cache);
    base_free(cache.entry);
    return good ? TOOL_OK : TOOL_FAILURE;
}

static bool refuse(unsigned row)
{
    tool_say("cache %s takes %s; --help shows what the others take.", actions[row].word, actions[row].takes);
    return false;
}

static bool take_limit(struct order *order, const char *word)
{
    struct base_error error = {{0}};

    if (!word) {
        order->limit = cc_cache_limit(&error);
        return !error.text[0] || fail(&error);
    }
    if (cc_cache_bytes(word, &order->limit))
        return true;
    tool_say("%s is not a number of bytes; the suffixes K, M and G are taken.", word);
    return false;
}

/* `words` has the action, then its words. */
static bool take_order(struct order *order, const char *const *words, unsigned count, bool all,
                       const char *limit)
{
    unsigned row = 0, rest = count ? count - 1 : 0;

    while (row < BASE_COUNT_OF(actions) && (!count || strcmp(words[0], actions[row].word) != 0))
        row++;
    if (row == BASE_COUNT_OF(actions)) {
        if (count)
            tool_say("cache takes ls, rm or gc, not %s.", words[0]);
        else
            fputs(tool_cache_help, stderr);
        return false;
    }
    if (rest < actions[row].least || rest > actions[row].most)
        return refuse(row);
    order->action = actions[row].action;
    order->keys = words + 1;
    order->key_count = rest;
    if (order->action == TRIM)
        return !all && !(limit && rest) ? take_limit(order, rest ? words[1] : limit) : refuse(row);
    if (limit || (all && order->action != REMOVE) || (order->action == REMOVE && all == (rest != 0)))
        return refuse(row);
    if (all)
        order->action = REMOVE_ALL;
    return true;
}

int tool_cache(int argc, char **argv)
{
    struct order order = {.as_json = false};
    bool all = false;
    const char *words[WORDS_MAX + 1], *limit = NULL;
    const struct tool_option options[] = {
        {"json", &order.as_json, NULL}, {"all", &all, NULL}, {"limit", NULL, &limit}, {0}};
    unsigned count;

    if (!tool_words(argc, argv, options, words, WORDS_MAX + 1, &count) ||
        !take_order(&order, words, count, all, limit))
        return TOOL_USAGE;
    return go(&order);
}
