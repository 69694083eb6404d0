/* SPDX-License-Identifier: Apache-2.0 */
/* The cache: keys, hits, broken entries, bounds, and several processes at once. */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "compiler/store/cache.h"
#include "folder.h"
#include "graphrig.h"

static char cache[96];

static int name_cache(void **state)
{
    (void)state;
    snprintf(cache, sizeof(cache), "%s", folder_path("deep/er"));
    return 0;
}

/* y = x + c, c of `width` halfs. */
static void graph(struct gr *g, uint32_t width, uint64_t stream)
{
    uint32_t x;

    gr_open(g, stream, GR_WHOLE);
    x = gr_input(g, "x", CC_FP16, GR(2, width));
    gr_output(g, gr_binary(g, CC_OP_ADD, x, gr_const(g, GR(width))));
}

static void make_bundle(uint32_t width, char key[CC_KEY_BYTES], struct cc_bundle *bundle)
{
    struct cc_program *program;
    struct base_error error;
    struct gr g;

    graph(&g, width, 1);
    cc_cache_key(g.graph, key);
    program = gr_lower(&g);
    if (cc_bundle_of(program, key, true, bundle, &error))
        fail_msg("%s", error.text);
    cc_program_destroy(program);
    gr_close(&g);
}

static void add(uint32_t width, char key[CC_KEY_BYTES])
{
    struct cc_bundle bundle;
    struct base_error error;

    make_bundle(width, key, &bundle);
    if (cc_cache_add(cache, key, &bundle, &error))
        fail_msg("%s", error.text);
    cc_bundle_release(&bundle);
}

static bool find(const char *key)
{
    struct cc_bundle bundle;
    struct base_error error;
    int found = cc_cache_find(cache, key, true, &bundle, &error);

    if (found < 0)
        fail_msg("%s", error.text);
    if (found)
        cc_bundle_release(&bundle);
    return found == 1;
}

static void file_of(const char *key, const char *name, char path[512])
{
    snprintf(path, 512, "%s/%s/%s", cache, key, name);
}

static void the_key_is_the_content(void **state)
{
    char first[CC_KEY_BYTES], other[CC_KEY_BYTES];
    struct gr g;

    (void)state;
    graph(&g, 8, 1);
    cc_cache_key(g.graph, first);
    assert_int_equal(strlen(first), 64);
    base_free(g.graph->op[0].name);
    g.graph->op[0].name = base_strdup("another");
    g.graph->op[0].line = 77;
    cc_cache_key(g.graph, other);
    assert_string_equal(first, other);
#define DIFFERS(change)                        \
    do {                                       \
        change;                                \
        cc_cache_key(g.graph, other);          \
        assert_string_not_equal(first, other); \
        strcpy(first, other);                  \
    } while (0)
    DIFFERS(((uint8_t *)g.graph->value[1].data)[3] ^= 1);
    DIFFERS(g.graph->op[0].kind = CC_OP_MUL);
    DIFFERS(g.graph->op[0].a.keep_dims = true);
    DIFFERS(g.graph->op[0].a.mean = 1);
    DIFFERS(g.graph->op[0].a.variance = 1);
    DIFFERS(g.graph->op[0].a.axis = 1);
    DIFFERS(g.graph->op[0].a.gelu = CC_GELU_TANH);
    DIFFERS(g.graph->op[0].a.kernel[1] = 1);
    DIFFERS(g.graph->op[0].a.stride[1] = 1);
    DIFFERS(g.graph->op[0].a.dilation[1] = 1);
    DIFFERS(g.graph->op[0].a.pad[3] = 1);
    DIFFERS(g.graph->op[0].a.perm[CC_RANK_MAX - 1] = 1);
    DIFFERS(g.graph->op[0].a.begin[CC_RANK_MAX - 1] = 1);
    DIFFERS(g.graph->op[0].a.size[CC_RANK_MAX - 1] = 1);
    DIFFERS(g.graph->op[0].a.reps[CC_RANK_MAX - 1] = 1);
    DIFFERS(g.graph->op[0].a.alpha = 0x1p-30f);
    DIFFERS(g.graph->op[0].a.beta = 0x1p-30f);
    DIFFERS(g.graph->op[0].a.epsilon = 0x1p-30f);
    DIFFERS(g.graph->value[0].dim[0] = 3);
    DIFFERS(g.graph->value[0].type = CC_FP32);
    DIFFERS(g.graph->value[0].name[0] = 'u');
#undef DIFFERS
    gr_close(&g);
}

/* Whether another value of the byte at this place in the attributes gives another key. */
static bool is_in_key(struct cc_graph *g, size_t place)
{
    uint8_t *byte = (uint8_t *)&g->op[0].a + place;
    char first[CC_KEY_BYTES], other[CC_KEY_BYTES];

    cc_cache_key(g, first);
    *byte ^= 1;
    cc_cache_key(g, other);
    *byte ^= 1;
    return strcmp(first, other) != 0;
}

/* Every member, also those that are added later: a word that is not in the key is one that was forgotten. */
static void every_attribute_is_in_the_key(void **state)
{
    static const size_t bools[] = {
        offsetof(struct cc_attributes, ceil),        offsetof(struct cc_attributes, exclude_padding),
        offsetof(struct cc_attributes, transpose_x), offsetof(struct cc_attributes, transpose_y),
        offsetof(struct cc_attributes, keep_dims),   offsetof(struct cc_attributes, exclusive),
        offsetof(struct cc_attributes, reverse),
    };
    struct gr g;

    (void)state;
    graph(&g, 8, 1);
    for (size_t word = 0; word < sizeof(struct cc_attributes); word += sizeof(uint32_t)) {
        bool any = false;

        for (size_t i = 0; i < sizeof(uint32_t); i++)
            any |= is_in_key(g.graph, word + i);
        if (!any)
            fail_msg("the member at byte %zu of struct cc_attributes is not in the key", word);
    }
    for (size_t i = 0; i < sizeof(bools) / sizeof(bools[0]); i++)
        assert_true(is_in_key(g.graph, bools[i]));
    gr_close(&g);
}

static void entries_are_found(void **state)
{
    char key[CC_KEY_BYTES];
    struct cc_cache_entry entry[2];
    struct base_error error;

    (void)state;
    assert_int_equal(cc_cache_list(cache, entry, 2, &error), 0);
    add(8, key);
    assert_true(find(key));
    assert_int_equal(cc_cache_list(cache, entry, 2, &error), 1);
    assert_string_equal(entry[0].key, key);
    assert_true(entry[0].bytes > 256 && entry[0].used > 0);
    assert_int_equal(folder_count(cache), 1);
    add(8, key); /* again: the one that is there stays */
    assert_int_equal(folder_count(cache), 1);
    assert_int_equal(cc_cache_remove(cache, key, &error), 0);
    assert_false(find(key));
    assert_int_equal(cc_cache_remove(cache, key, &error), -ENOENT);
    assert_int_equal(cc_cache_remove(cache, "../../etc", &error), -EINVAL);
    assert_int_equal(folder_count(cache), 0);
}

static void broken_entries_go(void **state)
{
    static const char *const name[] = {"main.e5", "weights.bin", "manifest.json", "signature"};

    (void)state;
    for (unsigned i = 0; i < 8; i++) {
        char key[CC_KEY_BYTES], path[512];

        add(8, key);
        file_of(key, name[i % 4], path);
        if (i < 4)
            assert_int_equal(truncate(path, 5), 0);
        else
            assert_int_equal(unlink(path), 0);
        assert_false(find(key));
        assert_int_equal(folder_count(cache), 0);
    }
}

/* The entry as an earlier version wrote it: a bundle without a signature can be read, and is no hit. */
static void an_unsigned_entry_goes(void **state)
{
    char key[CC_KEY_BYTES], path[512], signature[512], *text, *from, *to, hash[65];
    uint8_t digest[crypto_hash_sha256_BYTES];
    struct cc_bundle bundle;
    struct base_error error;
    size_t size, head;

    (void)state;
    add(8, key);
    file_of(key, "signature", signature);
    file_of(key, "manifest.json", path);
    text = (char *)test_file_read(path, &size);
    text = realloc(text, size + 1);
    assert_non_null(text);
    text[size] = '\0';
    from = strstr(text, ",\n  \"signature\"");
    to = strstr(text, ",\n  \"sha256\"");
    assert_true(from && to && from < to);
    head = (size_t)(from - text) + strlen(",\n  \"sha256\": \"");
    memmove(from, to, strlen(to) + 1);
    crypto_hash_sha256(digest, (uint8_t *)text, head);
    cc_hex(digest, sizeof(digest), hash);
    memcpy(text + head, hash, 64);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(unlink(signature), 0);
    assert_int_equal(cc_file_write(path, text, strlen(text), &error), 0);
    free(text);
    path[strlen(path) - strlen("/manifest.json")] = '\0';
    if (cc_bundle_read(path, &bundle, &error))
        fail_msg("%s", error.text);
    assert_false(bundle.is_signed);
    cc_bundle_release(&bundle);
    assert_false(find(key));
    assert_int_equal(folder_count(cache), 0);
}

/* Says that it has 4096 bytes, and ends after a number: what a reader meets when a file is cut meanwhile. */
#define ENDS_EARLY "/sys/kernel/uevent_seqnum"

static void a_file_that_ends_early_is_broken(void **state)
{
    char key[CC_KEY_BYTES], path[512];
    struct stat info;

    (void)state;
    if (stat(ENDS_EARLY, &info) || info.st_size != 4096 || access(ENDS_EARLY, R_OK)) {
        print_message("# no file here states more bytes than it has\n");
        skip();
    }
    add(4096, key); /* its weights have more than 4096 bytes */
    file_of(key, "weights.bin", path);
    assert_true(!unlink(path) && !symlink(ENDS_EARLY, path));
    assert_false(find(key));
    assert_int_equal(folder_count(cache), 0);
}

/* Another program's bundle under this key is no hit. */
static void a_swapped_entry_goes(void **state)
{
    char a[CC_KEY_BYTES], b[CC_KEY_BYTES], from[512], to[512];

    (void)state;
    add(8, a);
    memset(b, '0', 64);
    b[64] = '\0';
    file_of(a, "", from);
    file_of(b, "", to);
    from[strlen(from) - 1] = to[strlen(to) - 1] = '\0';
    assert_int_equal(rename(from, to), 0);
    assert_false(find(b));
    assert_int_equal(folder_count(cache), 0);
}

static void the_least_recently_used_goes_first(void **state)
{
    char key[4][CC_KEY_BYTES];
    struct cc_cache_entry entry[4];
    struct base_error error;
    uint64_t each = 0;

    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        const struct timespec long_ago[2] = {{1000 + i, 0}, {1000 + i, 0}};
        char path[512];

        add(8 + i, key[i]);
        file_of(key[i], "", path);
        assert_int_equal(utimensat(AT_FDCWD, path, long_ago, 0), 0);
    }
    assert_true(find(key[0])); /* used now */
    assert_int_equal(cc_cache_list(cache, entry, 4, &error), 4);
    assert_string_equal(entry[0].key, key[0]);
    assert_string_equal(entry[1].key, key[3]);
    assert_string_equal(entry[2].key, key[2]);
    assert_string_equal(entry[3].key, key[1]);
    for (unsigned i = 0; i < 4; i++)
        each = entry[i].bytes > each ? entry[i].bytes : each;
    assert_int_equal(cc_cache_trim(cache, 2 * each, &error), 0);
    assert_true(find(key[0]) && find(key[3]));
    assert_false(find(key[1]) || find(key[2]));
    assert_int_equal(cc_cache_remove(cache, NULL, &error), 0);
    assert_int_equal(folder_count(cache), 0);
}

/* Enough entries that their list is allocated twice. */
enum { MANY = 100 };

static void fill(void)
{
    for (unsigned i = 0; i < MANY; i++) {
        char path[512];

        snprintf(path, sizeof(path), "%s/%064x", cache, i);
        assert_true(!mkdir(path, 0777) || errno == EEXIST);
    }
}

static long list_cache(struct base_error *error)
{
    struct cc_cache_entry entry[MANY];

    return cc_cache_list(cache, entry, MANY, error);
}

static long trim_cache(struct base_error *error)
{
    return cc_cache_trim(cache, UINT64_MAX, error);
}

static long clear_cache(struct base_error *error)
{
    return cc_cache_remove(cache, NULL, error);
}

/* Whatever the cache is asked, each of its allocations may fail. */
static void memory_may_run_out(void **state)
{
    long (*const call[])(struct base_error * error) = {list_cache, trim_cache, clear_cache};

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        unsigned long n = 0;
        long status;

        do {
            struct base_error error = {{0}};

            fill();
            base_alloc_fail_nth(++n);
            status = call[i](&error);
            base_alloc_fail_nth(0);
            if (status < 0) {
                assert_int_equal(status, -ENOMEM);
                assert_non_null(strstr(error.text, cache));
            }
        } while (status < 0);
        assert_true(n > 2); /* two failures at least: the list is allocated, and allocated again */
    }
    assert_int_equal(folder_count(cache), 0);
}

#define PROCESSES 6
#define ROUNDS    40

/*
 * One of several: adds, finds, breaks and removes the same few entries.
 * Its exit status says whether all of it worked.
 */
static int quarrel(unsigned number)
{
    struct cc_bundle whole[3];
    char key[3][CC_KEY_BYTES];
    struct base_error error;
    struct test_rng rng;
    int wrong = 0;

    test_rng_init(&rng, 100 + number);
    for (uint32_t i = 0; i < 3; i++)
        make_bundle(8 + i, key[i], &whole[i]);
    for (unsigned round = 0; round < ROUNDS && !wrong; round++) {
        unsigned i = (unsigned)test_rng_range(&rng, 0, 2);
        struct cc_bundle bundle;
        char path[512];
        int found;

        wrong |= cc_cache_add(cache, key[i], &whole[i], &error) != 0;
        found = cc_cache_find(cache, key[i], true, &bundle, &error);
        wrong |= found < 0;
        if (found == 1) {
            wrong |= bundle.weights_bytes != whole[i].weights_bytes ||
                     memcmp(bundle.weights, whole[i].weights, bundle.weights_bytes) != 0;
            cc_bundle_release(&bundle);
        }
        file_of(key[i], "main.e5", path);
        if (round % 4 == 0 && truncate(path, 100) && errno != ENOENT)
            wrong = 1;
        if (round % 7 == 0)
            wrong |= cc_cache_trim(cache, 0, &error) != 0;
    }
    if (wrong)
        fprintf(stderr, "# process %u: %s\n", number, error.text);
    for (unsigned i = 0; i < 3; i++)
        cc_bundle_release(&whole[i]);
    return wrong;
}

static void processes_share_it(void **state)
{
    pid_t child[PROCESSES];
    struct base_error error;

    (void)state;
    for (unsigned i = 0; i < PROCESSES; i++) {
        child[i] = fork();
        assert_true(child[i] >= 0);
        if (child[i] == 0)
            _exit(quarrel(i));
    }
    for (unsigned i = 0; i < PROCESSES; i++) {
        int status;

        assert_int_equal(waitpid(child[i], &status, 0), child[i]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    assert_int_equal(cc_cache_remove(cache, NULL, &error), 0);
    assert_int_equal(folder_count(cache), 0);
}

static void the_folder_follows_the_environment(void **state)
{
    char path[512];
    struct base_error error;
    char *old_home = test_env_save("HOME"), *old_xdg = test_env_save("XDG_CACHE_HOME");

    (void)state;
    setenv("XDG_CACHE_HOME", "/some/cache", 1);
    assert_int_equal(cc_cache_folder(NULL, path, sizeof(path), &error), 0);
    assert_string_equal(path, "/some/cache/anemone");
    setenv("XDG_CACHE_HOME", "relative", 1); /* the specification says to ignore it */
    setenv("HOME", "/home/someone", 1);
    assert_int_equal(cc_cache_folder(NULL, path, sizeof(path), &error), 0);
    assert_string_equal(path, "/home/someone/.cache/anemone");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    assert_int_equal(cc_cache_folder(NULL, path, sizeof(path), &error), -ENOENT);
    assert_int_equal(cc_cache_folder("/given", path, sizeof(path), &error), 0);
    assert_string_equal(path, "/given");
    assert_int_equal(cc_cache_folder("/given", path, 4, &error), -ENAMETOOLONG);
    test_env_restore("HOME", old_home);
    test_env_restore("XDG_CACHE_HOME", old_xdg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_key_is_the_content),
        cmocka_unit_test(every_attribute_is_in_the_key),
        cmocka_unit_test(entries_are_found),
        cmocka_unit_test(broken_entries_go),
        cmocka_unit_test(an_unsigned_entry_goes),
        cmocka_unit_test(a_file_that_ends_early_is_broken),
        cmocka_unit_test(a_swapped_entry_goes),
        cmocka_unit_test(the_least_recently_used_goes_first),
        cmocka_unit_test(memory_may_run_out),
        cmocka_unit_test(processes_share_it),
        cmocka_unit_test(the_folder_follows_the_environment),
    };

    return cmocka_run_group_tests(tests, name_cache, NULL);
}
