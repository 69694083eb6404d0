/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the sessions of one user have together, and all sessions (PR_SERVICE_SHARES of protocol/service.h), so
 * that no user takes what the others need. The service's own user has the limit of all alone.
 */
#ifndef SERVICE_SHARE_H
#define SERVICE_SHARE_H

#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "protocol/service.h"

/* Users that have anything: each has a session as a client, or is the service's own. */
#define SVC_SHARE_USERS (PR_SERVICE_SESSIONS + 1u)

struct svc_shares {
    pthread_mutex_t lock; /* the last that a thread takes */
    uid_t own;            /* the service's user */
    uint64_t all[PR_SERVICE_SHARE_COUNT];
    struct {
        uid_t uid; /* with every count 0 the row is free */
        uint64_t has[PR_SERVICE_SHARE_COUNT];
    } user[SVC_SHARE_USERS];
};

void svc_shares_init(struct svc_shares *shares, uid_t own);
void svc_shares_end(struct svc_shares *shares);

/* 0, or -ENOSPC with a sentence that names the limit. */
int svc_shares_take(struct svc_shares *shares, uid_t uid, enum pr_service_share share, uint64_t amount,
                    struct base_error *error);
void svc_shares_give(struct svc_shares *shares, uid_t uid, enum pr_service_share share, uint64_t amount);

#endif
