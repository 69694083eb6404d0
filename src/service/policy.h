/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policy files: which caller has which team and entitlements. The folders are /etc/anemone/policy.d and
 * $XDG_CONFIG_HOME/anemone/policy.d (else $HOME/.config/...) of the service's user, or those of --policy
 * alone. Files are read in the order of their names, those that end in .policy. A file or folder that anyone
 * but root and the service's user can write is refused by name, and the service does not start.
 *
 *     # comment
 *     match uid 1000 path /usr/bin/camera digest sha256:6b1f...   one or more conditions; all must hold
 *         team ABCDE12345
 *         allow com.apple.aned.private.allow
 *         allow com.apple.security.temporary-exception.iokit-user-client-class
 *     match uid *
 *         deny com.apple.aned.private.allow
 *
 * Every block that matches applies, in order: `allow` adds a key, `deny` takes it away again, the last `team`
 * counts. USER is a number, a name or `*`; a path with spaces stands in double quotes. A path is that of the
 * file that runs, without symbolic links. A caller whose executable cannot be read matches by uid alone. A
 * word that is not known is an error with file and line. The default policy comes first (chosen):
 * the service's user has com.apple.aned.private.allow, which is baseline access through the broker, and opens
 * nothing in the kernel; others have nothing.
 */
#ifndef SERVICE_POLICY_H
#define SERVICE_POLICY_H

#include <stddef.h>

#include "base/error.h"
#include "service/identity.h"

struct svc_policy;

struct svc_grant {
    uint32_t entitlements; /* a set of enum pr_entitlement */
    char team[32];
};

/* `folder`: --policy, or NULL for the two folders. 0, or a negative errno with a sentence. */
int svc_policy_load(const char *folder, struct svc_policy **policy, struct base_error *error);
/* A policy from text, for tests; `name` is the file's in messages. */
int svc_policy_parse(const char *name, const char *text, struct svc_policy **policy,
                     struct base_error *error);
void svc_policy_free(struct svc_policy *policy);
void svc_policy_match(const struct svc_policy *policy, const struct svc_identity *identity,
                      struct svc_grant *grant);
/*
 * The lines that would grant a key (enum pr_entitlement) to that caller, with the file to put them into, as a
 * sentence: These lines of FOLDER/local.policy grant it: "match uid 1000 path /usr/bin/x", "allow KEY".
 * A path that is no plain word is replaced by the digest. At most 450 characters where the folder has 80.
 */
void svc_policy_advice(const struct svc_policy *policy, const struct svc_identity *identity,
                       unsigned entitlement, char *text, size_t size);

#endif
