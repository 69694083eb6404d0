/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The default policy is no text: it is what a grant begins with. A policy does not change once it is loaded,
 * so any number of threads may match with it.
 */
#include "service/policy.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "protocol/entitlement.h"
#include "service/policy_file.h"
#include "service/policy_folder.h"

#define SYSTEM_FOLDER "/etc/anemone/policy.d"
#define DEFAULT_KEYS  PR_ENTITLEMENT_BIT(ALLOW)
#define ADVICE_PATH   200u /* a longer path would leave no room for the rest of a sentence */

_Static_assert(sizeof(((struct svc_grant *)0)->team) == SVC_POLICY_TEAM + 1, "a team fits");

/* "" when the user has none. */
static void user_folder(char path[PATH_MAX])
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

    path[0] = '\0';
    if (config && config[0] == '/')
        snprintf(path, PATH_MAX, "%s/anemone/policy.d", config);
    else if (home && home[0] == '/')
        snprintf(path, PATH_MAX, "%s/.config/anemone/policy.d", home);
}

static struct svc_policy *make_policy(const char *folder, struct base_error *error)
{
    struct svc_policy *policy = base_alloc(sizeof(*policy));

    if (policy)
        policy->folder = base_strdup(folder);
    if (!policy || !policy->folder) {
        base_free(policy);
        base_fail(error, ENOMEM, "No memory for a policy.");
        return NULL;
    }
    return policy;
}

static int end_load(struct svc_policy *made, int status, struct svc_policy **policy)
{
    *policy = status ? NULL : made;
    if (status)
        svc_policy_free(made);
    return status;
}

int svc_policy_load(const char *folder, struct svc_policy **policy, struct base_error *error)
{
    char own[PATH_MAX];
    struct svc_policy *made;
    int status;

    *policy = NULL;
    user_folder(own);
    made = make_policy(folder ? folder : geteuid() && own[0] ? own : SYSTEM_FOLDER, error);
    if (!made)
        return -ENOMEM;
    status = svc_policy_folder_add(made, folder ? folder : SYSTEM_FOLDER, folder, error);
    if (!status && !folder && own[0])
        status = svc_policy_folder_add(made, own, false, error);
    return end_load(made, status, policy);
}

int svc_policy_parse(const char *name, const char *text, struct svc_policy **policy, struct base_error *error)
{
    struct svc_policy *made = make_policy(SYSTEM_FOLDER, error);

    *policy = NULL;
    if (!made)
        return -ENOMEM;
    return end_load(made, svc_policy_file_add(made, name, text, error), policy);
}

void svc_policy_free(struct svc_policy *policy)
{
    if (!policy)
        return;
    for (unsigned i = 0; i < policy->count; i++)
        base_free(policy->blocks[i].path);
    base_free(policy->blocks);
    base_free(policy->folder);
    base_free(policy);
}

static bool holds(const struct svc_policy_block *block, const struct svc_identity *identity)
{
    if (block->has_uid && !block->any_user && block->uid != identity->uid)
        return false;
    if (block->path && (!identity->has_signature || strcmp(block->path, identity->executable) != 0))
        return false;
    return !block->has_digest ||
           (identity->has_signature && !memcmp(block->digest, identity->digest, sizeof(block->digest)));
}

void svc_policy_match(const struct svc_policy *policy, const struct svc_identity *identity,
                      struct svc_grant *grant)
{
    memset(grant, 0, sizeof(*grant));
    if (identity->uid == geteuid())
        grant->entitlements = DEFAULT_KEYS;
    for (unsigned i = 0; i < policy->count; i++) {
        const struct svc_policy_block *block = &policy->blocks[i];

        if (!holds(block, identity))
            continue;
        grant->entitlements = (grant->entitlements | block->allow) & ~block->deny;
        if (block->team[0])
            memcpy(grant->team, block->team, sizeof(grant->team));
    }
}

/* A word of a policy file, without quotes. */
static bool is_word(const char *path)
{
    size_t length = strlen(path);

    for (size_t i = 0; i < length; i++)
        if (!isgraph((unsigned char)path[i]) || strchr("\"#`", path[i]))
            return false;
    return length && length <= ADVICE_PATH;
}

static void write_match(const struct svc_identity *identity, char *text, size_t size)
{
    int used = snprintf(text, size, "match uid %u", (unsigned)identity->uid);

    if (used < 0 || (size_t)used >= size || !identity->has_signature)
        return;
    if (is_word(identity->executable)) {
        snprintf(text + used, size - (size_t)used, " path %s", identity->executable);
        return;
    }
    used += snprintf(text + used, size - (size_t)used, " digest sha256:");
    for (unsigned i = 0; i < sizeof(identity->digest) && (size_t)used < size; i++)
        used += snprintf(text + used, size - (size_t)used, "%02x", identity->digest[i]);
}

void svc_policy_advice(const struct svc_policy *policy, const struct svc_identity *identity,
                       unsigned entitlement, char *text, size_t size)
{
    char match[ADVICE_PATH + 64];

    write_match(identity, match, sizeof(match));
    snprintf(text, size, "These lines of %s/local.policy grant it: \"%s\", \"allow %s\".", policy->folder,
             match, entitlement < PR_ENTITLEMENT_COUNT ? pr_entitlement_key(entitlement) : "?");
}
