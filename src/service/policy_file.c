/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line is split into words at spaces and tabs. A word may be in double quotes, for paths with spaces; it
 * ends at the next quote. The first word of a line is one of `match`, `team`, `allow` and `deny`.
 */
#include "service/policy_file.h"

#include <ctype.h>
#include <errno.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "protocol/entitlement.h"

#define WORDS_MAX  8u /* `match` and three conditions need seven */
#define LINE_BYTES 2048u
#define KEY_BYTES  80u /* an unknown key that is longer is compared by its beginning */

struct reader {
    struct svc_policy *policy;
    const char *name;
    unsigned line, match_line; /* match_line: of the block that is read; 0 before the first */
    struct base_error *error;
    char text[LINE_BYTES];
    char *word[WORDS_MAX];
    unsigned words;
};

#define REFUSE(reader, ...) refuse(reader, EINVAL, __VA_ARGS__)
static int refuse(struct reader *reader, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static int refuse(struct reader *reader, int code, const char *format, ...)
{
    struct base_error what;
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(what.text, sizeof(what.text), format, arguments);
    va_end(arguments);
    return base_fail(reader->error, code, "%s:%u: %s", reader->name, reader->line, what.text);
}

static struct svc_policy_block *last_block(struct reader *reader)
{
    return &reader->policy->blocks[reader->policy->count - 1];
}

/* ---- Conditions ---- */

static int read_uid(struct reader *reader, struct svc_policy_block *block, const char *word)
{
    const struct passwd *user;
    char *end;
    unsigned long long number;

    if (block->has_uid)
        return REFUSE(reader, "`uid` stands twice in one match; write a second match instead.");
    block->has_uid = true;
    block->any_user = !strcmp(word, "*");
    if (block->any_user)
        return 0;
    if (isdigit((unsigned char)word[0])) {
        errno = 0;
        number = strtoull(word, &end, 10);
        if (*end || errno || number >= UINT32_MAX)
            return REFUSE(reader, "`%.64s` is not a user's number; the largest is %u.", word, UINT32_MAX - 1);
        block->uid = (uint32_t)number;
        return 0;
    }
    user = getpwnam(word); /* only the thread that starts the service is here */
    if (!user)
        return REFUSE(reader, "there is no user `%.64s`; write a name, a number or *.", word);
    block->uid = user->pw_uid;
    return 0;
}

static int read_path(struct reader *reader, struct svc_policy_block *block, const char *word)
{
    if (block->path)
        return REFUSE(reader, "`path` stands twice in one match; write a second match instead.");
    if (word[0] != '/')
        return REFUSE(reader, "`path` needs the whole path of an executable, from /, not `%.64s`.", word);
    block->path = base_strdup(word);
    return block->path ? 0 : refuse(reader, ENOMEM, "no memory for a path.");
}

static int hex_digit(char c)
{
    const char *const digits = "0123456789abcdef";
    const char *at = c ? strchr(digits, tolower((unsigned char)c)) : NULL;

    return at ? (int)(at - digits) : -1;
}

static int read_digest(struct reader *reader, struct svc_policy_block *block, const char *word)
{
    static const char kind[] = "sha256:";
    const char *hex = word + sizeof(kind) - 1;

    if (block->has_digest)
        return REFUSE(reader, "`digest` stands twice in one match; write a second match instead.");
    block->has_digest = true;
    if (strncmp(word, kind, sizeof(kind) - 1) != 0 || strlen(hex) != 2 * BASE_HASH_BYTES)
        goto refused;
    for (unsigned i = 0; i < BASE_HASH_BYTES; i++) {
        int high = hex_digit(hex[2 * i]), low = hex_digit(hex[2 * i + 1]);

        if (high < 0 || low < 0)
            goto refused;
        block->digest[i] = (uint8_t)(high << 4 | low);
    }
    return 0;
refused:
    return REFUSE(reader,
                  "`digest` needs sha256: and the %u hexadecimal digits that `sha256sum FILE` prints.",
                  2 * BASE_HASH_BYTES);
}

static int add_block(struct reader *reader)
{
    struct svc_policy *policy = reader->policy;
    struct svc_policy_block *blocks;

    if (policy->count == SVC_POLICY_BLOCKS)
        return refuse(reader, ENOSPC, "the policy has %u matches already, which is the limit.",
                      SVC_POLICY_BLOCKS);
    blocks = base_realloc(policy->blocks, (policy->count + 1) * sizeof(*blocks));
    if (!blocks)
        return refuse(reader, ENOMEM, "no memory for a match.");
    policy->blocks = blocks;
    memset(&blocks[policy->count++], 0, sizeof(*blocks));
    return 0;
}

/* A match that changes nothing is a mistake. */
static int end_block(struct reader *reader)
{
    const struct svc_policy_block *block;

    if (!reader->match_line)
        return 0;
    block = last_block(reader);
    if (block->allow || block->deny || block->team[0])
        return 0;
    reader->line = reader->match_line;
    return REFUSE(reader, "no allow, deny or team stands below this match.");
}

static int read_match(struct reader *reader)
{
    static const struct {
        const char *word;
        int (*read)(struct reader *, struct svc_policy_block *, const char *);
    } conditions[] = {{"uid", read_uid}, {"path", read_path}, {"digest", read_digest}};
    int status = end_block(reader);

    if (!status)
        status = add_block(reader);
    if (status)
        return status;
    reader->match_line = reader->line;
    if (reader->words < 3 || reader->words % 2 == 0)
        return REFUSE(reader, "`match` needs pairs of words: uid USER, path FILE or digest sha256:HEX.");
    for (unsigned i = 1; i < reader->words && !status; i += 2) {
        unsigned c = 0;

        while (c < BASE_COUNT_OF(conditions) && strcmp(reader->word[i], conditions[c].word) != 0)
            c++;
        status =
            c < BASE_COUNT_OF(conditions)
                ? conditions[c].read(reader, last_block(reader), reader->word[i + 1])
                : REFUSE(reader, "`%.64s` is not a condition; use uid, path or digest.", reader->word[i]);
    }
    return status;
}

/* ---- Lines below a match ---- */

/* Characters to insert, remove or change until one is the other. */
static unsigned count_edits(const char *a, const char *b)
{
    unsigned row[KEY_BYTES + 1];
    unsigned length = (unsigned)strnlen(b, KEY_BYTES);

    for (unsigned j = 0; j <= length; j++)
        row[j] = j;
    for (unsigned i = 0; i < KEY_BYTES && a[i]; i++) {
        unsigned diagonal = row[0];

        row[0] = i + 1;
        for (unsigned j = 0; j < length; j++) {
            unsigned best = diagonal + (a[i] != b[j]);

            diagonal = row[j + 1];
            if (best > row[j] + 1)
                best = row[j] + 1;
            if (best > diagonal + 1)
                best = diagonal + 1;
            row[j + 1] = best;
        }
    }
    return row[length];
}

/* The nearest key, other than `skip`. */
static unsigned nearest_key(const char *word, unsigned skip)
{
    unsigned best = PR_ENTITLEMENT_COUNT, least = UINT32_MAX;

    for (unsigned i = 0; i < PR_ENTITLEMENT_COUNT; i++) {
        unsigned edits = count_edits(word, pr_entitlement_key(i));

        if (i != skip && edits < least) {
            least = edits;
            best = i;
        }
    }
    return best;
}

static int read_key(struct reader *reader, uint32_t *bit)
{
    const char *word = reader->word[1];
    unsigned i = 0, first;

    while (i < PR_ENTITLEMENT_COUNT && strcmp(word, pr_entitlement_key(i)) != 0)
        i++;
    if (i < PR_ENTITLEMENT_COUNT) {
        *bit = 1u << i;
        return 0;
    }
    first = nearest_key(word, PR_ENTITLEMENT_COUNT);
    return REFUSE(reader, "there is no key `%.80s`; the nearest are %s and %s. docs/abi.md lists all.", word,
                  pr_entitlement_key(first), pr_entitlement_key(nearest_key(word, first)));
}

static int read_allow(struct reader *reader)
{
    struct svc_policy_block *block = last_block(reader);
    uint32_t bit = 0;
    int status = read_key(reader, &bit);

    block->allow |= bit;
    block->deny &= ~bit;
    return status;
}

static int read_deny(struct reader *reader)
{
    struct svc_policy_block *block = last_block(reader);
    uint32_t bit = 0;
    int status = read_key(reader, &bit);

    block->deny |= bit;
    block->allow &= ~bit;
    return status;
}

static int read_team(struct reader *reader)
{
    const char *word = reader->word[1];
    size_t length = strlen(word);

    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)word[i]) && !strchr("._-", word[i]))
            return REFUSE(reader, "a team has letters, digits, `.`, `_` and `-` only, not `%c`.", word[i]);
    if (!length || length > SVC_POLICY_TEAM)
        return REFUSE(reader, "a team has 1 to %u characters, not %zu.", SVC_POLICY_TEAM, length);
    memcpy(last_block(reader)->team, word, length + 1);
    return 0;
}

/* ---- Lines ---- */

/* Cuts the line into words, in place. */
static int split_words(struct reader *reader)
{
    char *at = reader->text;

    reader->words = 0;
    for (at += strspn(at, " \t"); *at && *at != '#'; at += strspn(at, " \t")) {
        bool quoted = *at == '"';
        char *end;

        if (reader->words == WORDS_MAX)
            return REFUSE(reader, "the line has more than %u words.", WORDS_MAX);
        at += quoted;
        end = at + strcspn(at, quoted ? "\"" : " \t");
        if (quoted && !*end)
            return REFUSE(reader, "a quote is not closed.");
        reader->word[reader->words++] = at;
        at = end + (*end != '\0');
        *end = '\0';
    }
    return 0;
}

static int read_words(struct reader *reader)
{
    static const struct {
        const char *word;
        int (*read)(struct reader *);
    } statements[] = {{"allow", read_allow}, {"deny", read_deny}, {"team", read_team}};

    if (!strcmp(reader->word[0], "match"))
        return read_match(reader);
    for (unsigned i = 0; i < BASE_COUNT_OF(statements); i++) {
        if (strcmp(reader->word[0], statements[i].word) != 0)
            continue;
        if (!reader->match_line)
            return REFUSE(reader, "`%s` stands before the first match, so it is for no caller.",
                          reader->word[0]);
        if (reader->words != 2)
            return REFUSE(reader, "`%s` needs exactly one word after it.", reader->word[0]);
        return statements[i].read(reader);
    }
    return REFUSE(reader, "`%.64s` is not known; a line begins with match, team, allow, deny or #.",
                  reader->word[0]);
}

static int take_line(struct reader *reader, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < ' ' && text[i] != '\t')
            return REFUSE(reader, "character 0x%02x does not belong into a policy file.",
                          (unsigned)(unsigned char)text[i]);
    if (length >= sizeof(reader->text))
        return REFUSE(reader, "the line has more than %u characters.", LINE_BYTES - 1);
    memcpy(reader->text, text, length);
    reader->text[length] = '\0';
    return split_words(reader);
}

int svc_policy_file_add(struct svc_policy *policy, const char *name, const char *text,
                        struct base_error *error)
{
    struct reader reader = {.policy = policy, .name = name, .error = error};
    int status = 0;

    while (*text && !status) {
        size_t length = strcspn(text, "\n");

        reader.line++;
        status = take_line(&reader, text, length);
        if (!status && reader.words)
            status = read_words(&reader);
        text += length + (text[length] != '\0');
    }
    return status ? status : end_block(&reader);
}
