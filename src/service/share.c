/* SPDX-License-Identifier: Apache-2.0 */
#include "service/share.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>

static const struct {
    uint64_t user, all;
    const char *what;
} limit[PR_SERVICE_SHARE_COUNT] = {
#define X(id, of_user, of_all, what) {of_user, of_all, what},
    PR_SERVICE_SHARES(X)
#undef X
};

void svc_shares_init(struct svc_shares *shares, uid_t own)
{
    *shares = (struct svc_shares){.own = own};
    pthread_mutex_init(&shares->lock, NULL);
}

void svc_shares_end(struct svc_shares *shares)
{
    pthread_mutex_destroy(&shares->lock);
}

static bool has_any(const uint64_t has[PR_SERVICE_SHARE_COUNT])
{
    uint64_t any = 0;

    for (unsigned i = 0; i < PR_SERVICE_SHARE_COUNT; i++)
        any |= has[i];
    return any;
}

/* With the lock held: the counts of a user; a free row where it has none. NULL: there is no row. */
static uint64_t *counts_of(struct svc_shares *shares, uid_t uid)
{
    unsigned row = SVC_SHARE_USERS;

    for (unsigned i = 0; i < SVC_SHARE_USERS; i++) {
        bool used = has_any(shares->user[i].has);

        if (used && shares->user[i].uid == uid)
            return shares->user[i].has;
        if (!used && row == SVC_SHARE_USERS)
            row = i;
    }
    if (row == SVC_SHARE_USERS)
        return NULL;
    shares->user[row].uid = uid;
    return shares->user[row].has;
}

int svc_shares_take(struct svc_shares *shares, uid_t uid, enum pr_service_share share, uint64_t amount,
                    struct base_error *error)
{
    const uint64_t most = uid == shares->own ? limit[share].all : limit[share].user;
    uint64_t *has, all;
    int status = 0;

    pthread_mutex_lock(&shares->lock);
    has = counts_of(shares, uid);
    all = shares->all[share];
    if (!has || amount > limit[share].all - all)
        status = base_fail(error, ENOSPC,
                           "The clients of the service have %" PRIu64 " %s; the limit of all is %" PRIu64 ".",
                           all, limit[share].what, limit[share].all);
    else if (amount > most - has[share])
        status = base_fail(error, ENOSPC,
                           "The processes of user %u have %" PRIu64
                           " %s with the service; the limit of one user is %" PRIu64 ".",
                           (unsigned)uid, has[share], limit[share].what, most);
    if (has && !status) {
        has[share] += amount;
        shares->all[share] += amount;
    }
    pthread_mutex_unlock(&shares->lock);
    return status;
}

void svc_shares_give(struct svc_shares *shares, uid_t uid, enum pr_service_share share, uint64_t amount)
{
    uint64_t *has;

    pthread_mutex_lock(&shares->lock);
    has = counts_of(shares, uid);
    if (has && has[share] >= amount) {
        has[share] -= amount;
        shares->all[share] -= amount;
    }
    pthread_mutex_unlock(&shares->lock);
}
