/* SPDX-License-Identifier: Apache-2.0 */
/* Policy files: the language, who matches, who may write them, and what a refusal advises. */
#include "support.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "folder.h"
#include "protocol/entitlement.h"
#include "service/policy.h"

#define OTHER_USER 54321u
#define HEX        "00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF"
#define KEY_ALLOW  "com.apple.aned.private.allow"
#define KEY_OPEN   "com.apple.ane.iokit-user-access"
#define KEY_SHARE  "com.apple.aned.private.processModelShare.allow"

/* A caller that runs /usr/bin/camera, whose digest is HEX. */
static struct svc_identity caller(uint32_t uid)
{
    struct svc_identity identity = {.pid = 1, .uid = uid, .pidfd = -1, .has_signature = true};

    for (unsigned i = 0; i < sizeof(identity.digest); i++)
        identity.digest[i] = (uint8_t)(i % 16 * 0x11);
    strcpy(identity.executable, "/usr/bin/camera");
    return identity;
}

static struct svc_policy *parse(const char *text)
{
    struct base_error error = {{0}};
    struct svc_policy *policy;

    if (svc_policy_parse("a.policy", text, &policy, &error))
        fail_msg("%s", error.text);
    return policy;
}

static struct svc_grant grant_of(const char *text, const struct svc_identity *identity)
{
    struct svc_policy *policy = parse(text);
    struct svc_grant grant;

    svc_policy_match(policy, identity, &grant);
    svc_policy_free(policy);
    return grant;
}

/* Baseline access through the broker for the service's user, nothing for others. */
static void default_policy(void **state)
{
    struct svc_identity own = caller(geteuid()), other = caller(OTHER_USER);

    (void)state;
    assert_int_equal(grant_of("", &own).entitlements, PR_ENTITLEMENT_BIT(ALLOW));
    assert_string_equal(grant_of("", &own).team, "");
    assert_int_equal(grant_of("", &other).entitlements, 0);
}

static const struct {
    const char *what, *text;
    uint32_t keys;
    const char *team;
} matches[] = {
    {"by number", "match uid 54321\nallow " KEY_ALLOW "\n", PR_ENTITLEMENT_BIT(ALLOW), ""},
    {"another number", "match uid 54322\nallow " KEY_ALLOW "\n", 0, ""},
    {"every user", "match uid *\nallow " KEY_ALLOW, PR_ENTITLEMENT_BIT(ALLOW), ""},
    {"root by name", "match uid root\nallow " KEY_ALLOW "\n", 0, ""},
    {"by path", "match path /usr/bin/camera\nallow " KEY_ALLOW "\n", PR_ENTITLEMENT_BIT(ALLOW), ""},
    {"a path that begins so", "match path /usr/bin/cam\nallow " KEY_ALLOW "\n", 0, ""},
    {"a quoted path", "match path \"/usr/bin/camera\"\nallow " KEY_ALLOW "\n", PR_ENTITLEMENT_BIT(ALLOW), ""},
    {"a path with a space", "match path \"/usr/bin/a camera\"\nallow " KEY_ALLOW "\n", 0, ""},
    {"by digest", "match digest sha256:" HEX "\nallow " KEY_ALLOW "\n", PR_ENTITLEMENT_BIT(ALLOW), ""},
    {"another digest",
     "match digest sha256:10"
     "112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
     "\nallow " KEY_ALLOW "\n",
     0, ""},
    {"all three", "match uid 54321 path /usr/bin/camera digest sha256:" HEX "\nallow " KEY_ALLOW "\n",
     PR_ENTITLEMENT_BIT(ALLOW), ""},
    {"all but the user", "match uid 1 path /usr/bin/camera digest sha256:" HEX "\nallow " KEY_ALLOW "\n", 0,
     ""},
    {"all but the path", "match digest sha256:" HEX " path /bin/x uid 54321\nallow " KEY_ALLOW "\n", 0, ""},
    {"two keys", "match uid *\n\tallow " KEY_ALLOW "\n\tallow " KEY_OPEN "\n",
     PR_ENTITLEMENT_BIT(ALLOW) | PR_ENTITLEMENT_BIT(OPEN), ""},
    {"two blocks", "match uid *\nallow " KEY_ALLOW "\nmatch uid 54321\nallow " KEY_OPEN,
     PR_ENTITLEMENT_BIT(ALLOW) | PR_ENTITLEMENT_BIT(OPEN), ""},
    {"a later deny",
     "match uid *\nallow " KEY_ALLOW "\nallow " KEY_OPEN "\nmatch uid 54321\ndeny " KEY_OPEN "\n",
     PR_ENTITLEMENT_BIT(ALLOW), ""},
    {"an earlier deny", "match uid *\ndeny " KEY_OPEN "\nmatch uid *\nallow " KEY_OPEN "\n",
     PR_ENTITLEMENT_BIT(OPEN), ""},
    {"deny and allow in one block", "match uid *\ndeny " KEY_OPEN "\nallow " KEY_OPEN "\n",
     PR_ENTITLEMENT_BIT(OPEN), ""},
    {"allow and deny in one block", "match uid *\nallow " KEY_OPEN "\ndeny " KEY_OPEN "\n", 0, ""},
    {"a deny for another", "match uid *\nallow " KEY_OPEN "\nmatch uid 1\ndeny " KEY_OPEN "\n",
     PR_ENTITLEMENT_BIT(OPEN), ""},
    {"a team", "match uid *\nteam ABCDE12345\n", 0, "ABCDE12345"},
    {"the last team", "match uid *\nteam A\nmatch uid *\nteam B-2._c\n", 0, "B-2._c"},
    {"a team of 31", "match uid *\nteam 1234567890123456789012345678901", 0,
     "1234567890123456789012345678901"},
    {"comments", "# one\n\n  # two\nmatch uid * # three\n  allow " KEY_ALLOW " # four\n",
     PR_ENTITLEMENT_BIT(ALLOW), ""},
    {"the chosen keys", "match uid *\nallow anemone.raw-images\nallow privileged-virtual-machine-access\n",
     PR_ENTITLEMENT_BIT(RAW_IMAGES) | PR_ENTITLEMENT_BIT(RAW_ACCESS), ""},
};

static void who_matches(void **state)
{
    struct svc_identity identity = caller(OTHER_USER);

    (void)state;
    for (unsigned i = 0; i < BASE_COUNT_OF(matches); i++) {
        struct svc_grant grant = grant_of(matches[i].text, &identity);

        if (grant.entitlements != matches[i].keys || strcmp(grant.team, matches[i].team))
            fail_msg("%s: keys 0x%x, team \"%s\"", matches[i].what, grant.entitlements, grant.team);
    }
}

/* A deny takes away the default, too. */
static void default_is_denied(void **state)
{
    struct svc_identity own = caller(geteuid());

    (void)state;
    assert_int_equal(grant_of("match uid *\ndeny " KEY_ALLOW "\n", &own).entitlements, 0);
}

/* Neither path nor digest holds for a caller whose executable could not be read. */
static void without_signature(void **state)
{
    struct svc_identity identity = {.uid = OTHER_USER, .pidfd = -1};

    (void)state;
    assert_int_equal(grant_of("match path /usr/bin/camera\nallow " KEY_OPEN "\n", &identity).entitlements, 0);
    assert_int_equal(grant_of("match digest sha256:"
                              "0000000000000000000000000000000000000000000000000000000000000000"
                              "\nallow " KEY_OPEN "\n",
                              &identity)
                         .entitlements,
                     0);
    assert_int_equal(grant_of("match uid 54321\nallow " KEY_OPEN "\n", &identity).entitlements,
                     PR_ENTITLEMENT_BIT(OPEN));
}

static const struct {
    const char *text, *sentence; /* sentence: after the file's name and a colon */
} refusals[] = {
    {"grant all\n", "1: `grant` is not known; a line begins with match, team, allow, deny or #."},
    {"\n\nallow " KEY_ALLOW "\n", "3: `allow` stands before the first match, so it is for no caller."},
    {"match\nallow " KEY_ALLOW "\n",
     "1: `match` needs pairs of words: uid USER, path FILE or digest sha256:HEX."},
    {"match uid\n", "1: `match` needs pairs of words: uid USER, path FILE or digest sha256:HEX."},
    {"match uid 1 path\n", "1: `match` needs pairs of words: uid USER, path FILE or digest sha256:HEX."},
    {"match pid 1\n", "1: `pid` is not a condition; use uid, path or digest."},
    {"match uid 1 uid 2\n", "1: `uid` stands twice in one match; write a second match instead."},
    {"match path /a path /b\n", "1: `path` stands twice in one match; write a second match instead."},
    {"match uid 4294967295\n", "1: `4294967295` is not a user's number; the largest is 4294967294."},
    {"match uid 99999999999999999999\n",
     "1: `99999999999999999999` is not a user's number; the largest is 4294967294."},
    {"match uid 1x\n", "1: `1x` is not a user's number; the largest is 4294967294."},
    {"match uid no-such-user-here\n",
     "1: there is no user `no-such-user-here`; write a name, a number or *."},
    {"match path bin/x\n", "1: `path` needs the whole path of an executable, from /, not `bin/x`."},
    {"match digest " HEX "\n",
     "1: `digest` needs sha256: and the 64 hexadecimal digits that `sha256sum FILE` prints."},
    {"match digest sha256:00\n",
     "1: `digest` needs sha256: and the 64 hexadecimal digits that `sha256sum FILE` prints."},
    {"match digest sha256:g0112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n",
     "1: `digest` needs sha256: and the 64 hexadecimal digits that `sha256sum FILE` prints."},
    {"match uid *\nallow\n", "2: `allow` needs exactly one word after it."},
    {"match uid *\nallow " KEY_ALLOW " " KEY_OPEN "\n", "2: `allow` needs exactly one word after it."},
    {"match uid *\nteam a/b\n", "2: a team has letters, digits, `.`, `_` and `-` only, not `/`."},
    {"match uid *\nteam 12345678901234567890123456789012\n", "2: a team has 1 to 31 characters, not 32."},
    {"match uid *\nmatch uid 1\nallow " KEY_ALLOW "\n", "1: no allow, deny or team stands below this match."},
    {"match uid *\nallow " KEY_ALLOW "\n\nmatch uid 1\n",
     "4: no allow, deny or team stands below this match."},
    {"match path \"/a b\nallow " KEY_ALLOW "\n", "1: a quote is not closed."},
    {"match uid *\rallow " KEY_ALLOW "\n", "1: character 0x0d does not belong into a policy file."},
    {"a b c d e f g h i\n", "1: the line has more than 8 words."},
    {"match uid *\nallow com.apple.aned.private.alow\n",
     "2: there is no key `com.apple.aned.private.alow`; the nearest are com.apple.aned.private.allow and "
     "com.apple.aned.private.ANEAccess.allow. docs/abi.md lists all."},
    {"match uid *\ndeny com.apple.ane.allow-dataChaining-acces\n",
     "2: there is no key `com.apple.ane.allow-dataChaining-acces`; the nearest are "
     "com.apple.ane.allow-dataChaining-access and com.apple.ane.allow-data. docs/abi.md lists all."},
};

static void mistakes(void **state)
{
    (void)state;
    for (unsigned i = 0; i < BASE_COUNT_OF(refusals); i++) {
        struct svc_policy *policy = (struct svc_policy *)&i;
        struct base_error error = {{0}};

        assert_int_equal(svc_policy_parse("a.policy", refusals[i].text, &policy, &error), -EINVAL);
        assert_null(policy);
        assert_memory_equal(error.text, "a.policy:", 9);
        assert_string_equal(error.text + 9, refusals[i].sentence);
    }
}

/* Text of any kind is read or refused with a sentence. */
static void random_text(void **state)
{
    static const char *const words[] = {"match", "uid",     "path",   "digest", "allow", "deny", "team",
                                        "*",     "/x",      "1",      "\n",     "\n",    "\n",   "\"",
                                        "#",     KEY_ALLOW, KEY_OPEN, "\x01",   "\xff",  ""};
    struct test_rng rng;
    unsigned read = 0;

    (void)state;
    test_rng_init(&rng, 1);
    for (unsigned round = 0; round < 20000; round++) {
        char text[512] = "";
        struct base_error error = {{0}};
        struct svc_policy *policy;

        for (int64_t i = test_rng_range(&rng, 0, 12); i; i--) {
            strcat(text, words[test_rng_range(&rng, 0, BASE_COUNT_OF(words) - 1)]);
            strcat(text, test_rng_range(&rng, 0, 9) ? " " : "");
        }
        if (svc_policy_parse("r", text, &policy, &error))
            assert_memory_equal(error.text, "r:", 2);
        else
            read++;
        svc_policy_free(policy);
    }
    assert_true(read > 0);
}

/* ---- Folders ---- */

static int load(struct svc_policy **policy, struct base_error *error)
{
    return svc_policy_load(folder_path("policy.d"), policy, error);
}

static void write_file(const char *name, const char *text, mode_t mode)
{
    folder_write(name, text, strlen(text));
    assert_int_equal(chmod(folder_path(name), mode), 0);
}

static void make_folder(void)
{
    folder_remove();
    assert_int_equal(mkdir(folder_path("policy.d"), 0755), 0);
}

static uint32_t loaded_keys(void)
{
    struct svc_identity identity = caller(OTHER_USER);
    struct base_error error = {{0}};
    struct svc_policy *policy;
    struct svc_grant grant;

    if (load(&policy, &error))
        fail_msg("%s", error.text);
    svc_policy_match(policy, &identity, &grant);
    svc_policy_free(policy);
    return grant.entitlements;
}

static void order_of_files(void **state)
{
    (void)state;
    make_folder();
    write_file("policy.d/20-b.policy", "match uid *\nallow " KEY_OPEN "\n", 0644);
    write_file("policy.d/10-a.policy", "match uid *\nallow " KEY_SHARE "\ndeny " KEY_OPEN "\n", 0600);
    write_file("policy.d/30-c.policy~", "this is not read\n", 0644);
    write_file("policy.d/.hidden.policy", "nor is this\n", 0644);
    write_file("policy.d/readme", "nor this\n", 0666);
    assert_int_equal(loaded_keys(), PR_ENTITLEMENT_BIT(OPEN) | PR_ENTITLEMENT_BIT(MODEL_SHARE));
    write_file("policy.d/05-z.policy", "match uid *\nallow " KEY_ALLOW "\n", 0644);
    write_file("policy.d/40-d.policy", "match uid *\ndeny " KEY_ALLOW "\n", 0644);
    assert_int_equal(loaded_keys(), PR_ENTITLEMENT_BIT(OPEN) | PR_ENTITLEMENT_BIT(MODEL_SHARE));
}

static void check_refused(int code, const char *path, const char *part)
{
    struct svc_policy *policy = (struct svc_policy *)&code;
    struct base_error error = {{0}};
    int status = load(&policy, &error);

    if (status != -code || policy || !strstr(error.text, path) || !strstr(error.text, part))
        fail_msg("%s, %s: %d %s", path, part, status, error.text);
}

static void who_may_write(void **state)
{
    static const mode_t file_modes[] = {0664, 0646, 0666}, folder_modes[] = {0775, 0757, 01777};

    (void)state;
    make_folder();
    write_file("policy.d/a.policy", "match uid *\nallow " KEY_OPEN "\n", 0644);
    for (unsigned i = 0; i < BASE_COUNT_OF(file_modes); i++) {
        assert_int_equal(chmod(folder_path("policy.d/a.policy"), file_modes[i]), 0);
        check_refused(EPERM, folder_path("policy.d/a.policy"), "can be written by others (mode 06");
    }
    assert_int_equal(chmod(folder_path("policy.d/a.policy"), 0644), 0);
    for (unsigned i = 0; i < BASE_COUNT_OF(folder_modes); i++) {
        assert_int_equal(chmod(folder_path("policy.d"), folder_modes[i]), 0);
        check_refused(EPERM, folder_path("policy.d"), "can be written by others (mode ");
    }
    assert_int_equal(chmod(folder_path("policy.d"), 0755), 0);
    assert_int_equal(chmod(folder_name(), 0777), 0); /* the folder above */
    check_refused(EPERM, folder_name(), "can be written by others (mode 0777)");
    assert_int_equal(chmod(folder_name(), 01777), 0);
    assert_int_equal(loaded_keys(), PR_ENTITLEMENT_BIT(OPEN));
    assert_int_equal(chmod(folder_name(), 0700), 0);
    assert_int_equal(loaded_keys(), PR_ENTITLEMENT_BIT(OPEN));
}

static void whose_it_is(void **state)
{
    (void)state;
    if (geteuid()) {
        print_message("only root can give a file to another user\n");
        skip();
    }
    make_folder();
    write_file("policy.d/a.policy", "match uid *\nallow " KEY_OPEN "\n", 0644);
    assert_int_equal(chown(folder_path("policy.d/a.policy"), OTHER_USER, 0), 0);
    check_refused(EPERM, folder_path("policy.d/a.policy"), "belongs to user 54321;");
    assert_int_equal(chown(folder_path("policy.d/a.policy"), 0, 0), 0);
    assert_int_equal(chown(folder_path("policy.d"), OTHER_USER, 0), 0);
    check_refused(EPERM, folder_path("policy.d"), "belongs to user 54321;");
    assert_int_equal(chown(folder_path("policy.d"), 0, 0), 0);
    assert_int_equal(chown(folder_name(), OTHER_USER, 0), 0);
    check_refused(EPERM, folder_name(), "belongs to user 54321;");
    assert_int_equal(chown(folder_name(), 0, 0), 0);
    assert_int_equal(loaded_keys(), PR_ENTITLEMENT_BIT(OPEN));
}

static void bad_files(void **state)
{
    static char large[65537];

    (void)state;
    make_folder();
    assert_int_equal(symlink("/etc/passwd", folder_path("policy.d/a.policy")), 0);
    check_refused(ELOOP, folder_path("policy.d/a.policy"), "symbolic link");
    assert_int_equal(unlink(folder_path("policy.d/a.policy")), 0);
    assert_int_equal(mkdir(folder_path("policy.d/a.policy"), 0755), 0);
    check_refused(EINVAL, folder_path("policy.d/a.policy"), "not a file");
    assert_int_equal(rmdir(folder_path("policy.d/a.policy")), 0);
    assert_int_equal(mkfifo(folder_path("policy.d/a.policy"), 0600), 0);
    check_refused(EINVAL, folder_path("policy.d/a.policy"), "not a file");
    assert_int_equal(unlink(folder_path("policy.d/a.policy")), 0);
    folder_write("policy.d/a.policy", "match uid *\n\0allow x", 20);
    assert_int_equal(chmod(folder_path("policy.d/a.policy"), 0600), 0);
    check_refused(EINVAL, folder_path("policy.d/a.policy"), "NUL byte");
    memset(large, '\n', sizeof(large));
    folder_write("policy.d/a.policy", large, sizeof(large));
    check_refused(EFBIG, folder_path("policy.d/a.policy"),
                  "65537 bytes; the limit of a policy file is 65536");
    write_file("policy.d/a.policy", "match uid *\nallow nothing\n", 0644);
    check_refused(EINVAL, folder_path("policy.d/a.policy"), "a.policy:2: there is no key `nothing`");
    folder_remove();
    check_refused(ENOENT, folder_path("policy.d"), "cannot be opened");
}

/* The user's folder counts after the system's, and need not be there. */
static void user_folder(void **state)
{
    struct svc_identity identity = caller(OTHER_USER);
    char *saved = test_env_save("XDG_CONFIG_HOME");
    struct base_error error = {{0}};
    struct svc_policy *policy;
    struct svc_grant grant;

    (void)state;
    folder_remove();
    setenv("XDG_CONFIG_HOME", folder_name(), 1);
    assert_int_equal(svc_policy_load(NULL, &policy, &error), 0);
    svc_policy_free(policy);
    assert_int_equal(mkdir(folder_path("anemone"), 0755), 0);
    assert_int_equal(mkdir(folder_path("anemone/policy.d"), 0755), 0);
    write_file("anemone/policy.d/a.policy", "match uid 54321\nallow " KEY_OPEN "\n", 0644);
    assert_int_equal(svc_policy_load(NULL, &policy, &error), 0);
    svc_policy_match(policy, &identity, &grant);
    assert_true(grant.entitlements & PR_ENTITLEMENT_BIT(OPEN));
    svc_policy_free(policy);
    test_env_restore("XDG_CONFIG_HOME", saved);
}

/* ---- Advice ---- */

/* What a refusal advises is a policy that grants the key. */
static void check_advice(const struct svc_identity *identity, const char *match)
{
    static const char head[] = "These lines of /etc/anemone/policy.d/local.policy grant it: ";

    for (unsigned key = 0; key < PR_ENTITLEMENT_COUNT; key++) {
        struct svc_policy *policy = parse("");
        char text[512], lines[512], *cut;

        svc_policy_advice(policy, identity, key, text, sizeof(text));
        svc_policy_free(policy);
        assert_memory_equal(text, head, strlen(head));
        assert_memory_equal(text + strlen(head), match, strlen(match));
        assert_true(strlen(text) <= 450);
        strcpy(lines, text + strlen(head) + 1); /* match ...", "allow KEY". */
        cut = strstr(lines, "\", \"");
        memcpy(cut, "\n   ", 4);
        strstr(lines, "\".")[0] = '\0';
        assert_int_equal(grant_of(lines, identity).entitlements, 1u << key);
    }
}

static void advice(void **state)
{
    struct svc_identity identity = caller(OTHER_USER);

    (void)state;
    check_advice(&identity, "\"match uid 54321 path /usr/bin/camera\", \"allow ");
    strcpy(identity.executable, "/tmp/a `b\n");
    check_advice(&identity, "\"match uid 54321 digest sha256:00112233");
    identity.executable[0] = '\0'; /* deleted */
    check_advice(&identity, "\"match uid 54321 digest sha256:00112233");
    memset(identity.executable, 'x', sizeof(identity.executable) - 1);
    check_advice(&identity, "\"match uid 54321 digest sha256:00112233");
    identity.has_signature = false;
    check_advice(&identity, "\"match uid 54321\", \"allow ");
}

/* Each acquisition in turn fails: a sentence, and nothing is lost. */
static void no_memory(void **state)
{
    int status = -ENOMEM;
    unsigned long n = 0;

    (void)state;
    make_folder();
    write_file("policy.d/a.policy", "match path /x\nallow " KEY_OPEN "\nmatch path /y\nteam b\n", 0644);
    while (status) {
        struct base_error error = {{0}};
        struct svc_policy *policy;

        base_alloc_fail_nth(++n);
        status = load(&policy, &error);
        base_alloc_fail_nth(0);
        assert_true(status == 0 || status == -ENOMEM);
        assert_true(!status || error.text[0]);
        svc_policy_free(policy);
    }
    assert_true(n > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(default_policy),    cmocka_unit_test(who_matches),
        cmocka_unit_test(default_is_denied), cmocka_unit_test(without_signature),
        cmocka_unit_test(mistakes),          cmocka_unit_test(random_text),
        cmocka_unit_test(order_of_files),    cmocka_unit_test(who_may_write),
        cmocka_unit_test(whose_it_is),       cmocka_unit_test(bad_files),
        cmocka_unit_test(user_folder),       cmocka_unit_test(advice),
        cmocka_unit_test(no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
