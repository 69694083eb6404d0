/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache that cannot be read or written: models are compiled in memory all the same, one sentence says why,
 * and nothing that is in the way of an entry stays there.
 */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compiler/store/bundle.h"
#include "compiler/compile.h"
#include "folder.h"

#define NOBODY 65534u

static const char model_text[] = "program(1.3)\n{\n"
                                 "  func main<ios18>(tensor<fp16, [1, 4, 5, 6]> x) {\n"
                                 "    tensor<fp16, [1, 4, 5, 6]> y = relu(x = x)[name = string(\"y\")];\n"
                                 "  } -> (y);\n}\n";
static char cache[96], model[96], entry[256];

static void run(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void run(const char *format, ...)
{
    char command[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(command, sizeof(command), format, args);
    va_end(args);
    assert_int_equal(system(command), 0);
}

/*
 * A folder of its own for each test, readable for other users, with a
 * model; `entry` is its place in the cache.
 */
static int set_up(void **state)
{
    struct cc_options o = {.cache = cache};
    struct cc_report report;
    struct cc_bundle bundle;
    struct base_error error;

    (void)state;
    if (chmod(folder_name(), 0755))
        return -1;
    snprintf(cache, sizeof(cache), "%s", folder_path("cache"));
    snprintf(model, sizeof(model), "%s", folder_path("m.mil"));
    folder_write("m.mil", model_text, strlen(model_text));
    if (cc_compile(model, &o, &bundle, &report, &error))
        fail_msg("%s", error.text);
    snprintf(entry, sizeof(entry), "%s/%s", cache, report.key);
    assert_string_equal(bundle.path, entry);
    cc_bundle_release(&bundle);
    run("rm -rf '%s'", cache);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    folder_remove();
    return 0;
}

struct outcome {
    int status;
    bool hit, whole;
    char trouble[512], path[256];
};

static struct outcome compile(const char *wanted_cache, const char *output)
{
    struct cc_options o = {.cache = wanted_cache, .output = output};
    struct base_error error = {{0}};
    struct outcome result = {0};
    struct cc_report report;
    struct cc_bundle bundle;

    result.status = cc_compile(model, &o, &bundle, &report, &error);
    if (result.status) {
        snprintf(result.trouble, sizeof(result.trouble), "%s", error.text);
        return result;
    }
    result.hit = report.hit;
    result.whole = bundle.main && bundle.manifest && report.descriptors == 1;
    snprintf(result.trouble, sizeof(result.trouble), "%s", report.trouble.text);
    snprintf(result.path, sizeof(result.path), "%s", bundle.path ? bundle.path : "");
    cc_bundle_release(&bundle);
    return result;
}

/* Compiled, kept nowhere, and the sentence has these words. */
static bool compiled_in_memory(const char *wanted_cache, const char *words)
{
    struct outcome o = compile(wanted_cache, NULL);
    size_t length = strlen(o.trouble);

    if (!o.status && o.whole && !o.hit && !o.path[0] && strstr(o.trouble, words) &&
        strstr(o.trouble, "compiled in memory") && o.trouble[length - 1] == '.')
        return true;
    fprintf(stderr, "# status %d, path \"%s\", trouble \"%s\"\n", o.status, o.path, o.trouble);
    return false;
}

/* Compiled and kept, without a word; and found the next time. */
static void compiled_and_kept(void)
{
    struct outcome o = compile(cache, NULL);

    assert_int_equal(o.status, 0);
    assert_string_equal(o.trouble, "");
    assert_true(o.whole && !o.hit);
    assert_string_equal(o.path, entry);
    o = compile(cache, NULL);
    assert_true(!o.status && o.hit);
}

/*
 * Runs `check` in a process that may write nothing where others may not;
 * root may, so it becomes somebody else.
 */
static void as_somebody_else(bool (*check)(void))
{
    int status;
    pid_t child = fork();

    assert_true(child >= 0);
    if (!child) {
        if (!geteuid() && setuid(NOBODY))
            _exit(77);
        _exit(check() ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(status, 0);
}

static void no_home(void **state)
{
    char *old_home = test_env_save("HOME"), *old_xdg = test_env_save("XDG_CACHE_HOME");
    struct outcome o;
    bool good;

    (void)state;
    unsetenv("HOME");
    unsetenv("XDG_CACHE_HOME");
    good = compiled_in_memory(NULL, "neither XDG_CACHE_HOME nor HOME");
    snprintf(model, sizeof(model), "%s", folder_path("absent.mil"));
    o = compile(NULL, NULL);
    test_env_restore("HOME", old_home);
    test_env_restore("XDG_CACHE_HOME", old_xdg);
    assert_true(good);
    assert_int_equal(o.status, -ENOENT);
    assert_non_null(strstr(o.trouble, "absent.mil"));
    assert_null(strstr(o.trouble, "HOME"));
}

static void a_file_where_the_cache_should_be(void **state)
{
    char below[128];

    (void)state;
    folder_write("cache", "mine", 4);
    snprintf(below, sizeof(below), "%s/deeper", cache);
    assert_true(compiled_in_memory(cache, cache));
    assert_true(compiled_in_memory(below, cache));
}

static bool read_only_is_in_memory(void)
{
    return compiled_in_memory(cache, "Permission denied");
}

static void a_cache_that_cannot_be_written(void **state)
{
    (void)state;
    assert_int_equal(mkdir(cache, 0555), 0);
    as_somebody_else(read_only_is_in_memory);
    assert_int_equal(folder_count(cache), 0);
}

static bool broken_is_in_memory(void)
{
    return compiled_in_memory(cache, "cannot be removed");
}

static void a_broken_entry_that_cannot_be_removed(void **state)
{
    (void)state;
    compiled_and_kept();
    run("printf x >>'%s/main.e5' && chmod -R a+rX,a-w '%s'", entry, cache);
    as_somebody_else(broken_is_in_memory);
    assert_int_equal(folder_count(cache), 1);
}

static bool unreadable_is_in_memory(void)
{
    return compiled_in_memory(cache, "Permission denied");
}

/* What cannot be read may be whole: it is not removed. */
static void an_entry_that_cannot_be_read(void **state)
{
    (void)state;
    compiled_and_kept();
    run("chmod 755 '%s' && chmod 700 '%s'", cache, entry);
    if (geteuid())
        run("chmod 0 '%s'", entry);
    as_somebody_else(unreadable_is_in_memory);
    run("chmod 700 '%s'", entry);
    assert_true(compile(cache, NULL).hit);
}

static bool full_is_in_memory(void)
{
    const struct rlimit none = {0, 0};

    /* No byte can be written to a file, as when there is no space. */
    signal(SIGXFSZ, SIG_IGN);
    return !setrlimit(RLIMIT_FSIZE, &none) && compiled_in_memory(cache, entry) && folder_count(cache) == 0;
}

static void a_full_file_system(void **state)
{
    (void)state;
    assert_int_equal(mkdir(cache, 0777), 0);
    assert_int_equal(chmod(cache, 0777), 0);
    as_somebody_else(full_is_in_memory);
}

/* The output is written although the cache is not. */
static void an_output_without_a_cache(void **state)
{
    char output[128];
    struct outcome o;

    (void)state;
    folder_write("cache", "mine", 4);
    snprintf(output, sizeof(output), "%s", folder_path("out.bundle"));
    o = compile(cache, output);
    assert_int_equal(o.status, 0);
    assert_non_null(strstr(o.trouble, cache));
    assert_string_equal(o.path, output);
    assert_int_equal(cc_bundle_check(output, NULL), 0);
}

/* Whatever has an entry's name, the next compilation replaces it. */
static void what_is_in_the_way_goes(void **state)
{
    static const char *const obstacle[] = {
        "printf mine >\"$entry\"",
        "ln -s \"$elsewhere\" \"$entry\"",
        "ln -s nowhere \"$entry\"",
        "mkdir \"$entry\"",
        "mkdir -p \"$entry/stray/deep\" && printf x >\"$entry/stray/deep/file\"",
        "cp -r \"$elsewhere\" \"$entry\" && printf x >\"$entry/stray\" && rm \"$entry/main.e5\"",
        "mkfifo \"$entry\"",
    };
    char elsewhere[128];

    (void)state;
    snprintf(elsewhere, sizeof(elsewhere), "%s", folder_path("elsewhere"));
    for (unsigned i = 0; i < sizeof(obstacle) / sizeof(obstacle[0]); i++) {
        compile(cache, elsewhere);
        run("rm -rf '%s' && elsewhere='%s' && entry='%s' && %s", entry, elsewhere, entry, obstacle[i]);
        compiled_and_kept();
        assert_int_equal(folder_count(cache), 1);
        assert_int_equal(cc_bundle_check(elsewhere, NULL), 0); /* a link's target is not touched */
    }
}

static void clear_removes_what_is_in_the_way(void **state)
{
    struct cc_cache_entry listed[8];
    struct base_error error = {{0}};
    char kept[128];

    (void)state;
    compiled_and_kept();
    snprintf(kept, sizeof(kept), "%s", folder_path("kept"));
    run("cd '%s' && mkdir ../kept && printf x >../kept/file &&"
        " printf mine >%064x && ln -s ../kept %064x && ln -s nowhere %064x && mkdir %064x && touch %064x/stray",
        cache, 1, 2, 3, 4, 4);
    assert_int_equal(cc_cache_list(cache, listed, 8, &error), 5);
    assert_int_equal(cc_cache_remove(cache, NULL, &error), 0);
    assert_int_equal(folder_count(cache), 0);
    strcat(kept, "/file");
    assert_int_equal(access(kept, F_OK), 0);
}

/* Folders that an earlier process left go at once; the one that a process works in stays. */
static void leftovers_go(void **state)
{
    for (unsigned i = 0; i < 2; i++) {
        char busy[128];
        int lock;

        (void)state;
        run("mkdir -p '%s' && cd '%s' && mkdir -p .leaving-abcdef/entry .building-abcdef mine .building-busy &&"
            " touch .leaving-abcdef/stray .leaving-abcdef/entry/main.e5 .building-abcdef/main.e5",
            cache, cache);
        snprintf(busy, sizeof(busy), "%s/.building-busy", cache);
        lock = open(busy, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_int_equal(flock(lock, LOCK_EX), 0);
        assert_int_equal(i ? cc_cache_remove(cache, NULL, NULL) : cc_cache_trim(cache, UINT64_MAX, NULL), 0);
        assert_int_equal(folder_count(cache), 2);
        assert_int_equal(close(lock), 0);
        assert_int_equal(cc_cache_trim(cache, UINT64_MAX, NULL), 0);
        assert_int_equal(folder_count(cache), 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_home, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_where_the_cache_should_be, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_cache_that_cannot_be_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_broken_entry_that_cannot_be_removed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_entry_that_cannot_be_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_full_file_system, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_output_without_a_cache, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_in_the_way_goes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(clear_removes_what_is_in_the_way, set_up, tear_down),
        cmocka_unit_test_setup_teardown(leftovers_go, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
