/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a policy file as blocks. service/policy.h has the language. */
#ifndef SERVICE_POLICY_FILE_H
#define SERVICE_POLICY_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/signing.h"

#define SVC_POLICY_TEAM       31u    /* characters of a team: struct svc_grant has room for its NUL */
#define SVC_POLICY_FILE_BYTES 65536u /* of one file (chosen) */
#define SVC_POLICY_BLOCKS     4096u  /* of all files (chosen) */

/* One `match` with the lines below it. */
struct svc_policy_block {
    bool has_uid, any_user, has_digest;
    uint32_t uid;
    char *path; /* NULL: any */
    uint8_t digest[BASE_HASH_BYTES];
    uint32_t allow, deny; /* sets of enum pr_entitlement; a later line of a block takes from the other set */
    char team[SVC_POLICY_TEAM + 1]; /* "": as it was */
};

struct svc_policy {
    struct svc_policy_block *blocks;
    unsigned count;
    char *folder; /* where a new line belongs, for advice */
};

/*
 * Adds the blocks of a text that ends with a NUL. 0, or a negative errno with a sentence that begins with
 * `name` and the line: -EINVAL, -ENOSPC or -ENOMEM. Blocks that were added stay until svc_policy_free.
 */
int svc_policy_file_add(struct svc_policy *policy, const char *name, const char *text,
                        struct base_error *error);

#endif
