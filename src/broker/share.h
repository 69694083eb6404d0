/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that processes use together: those with the same team and code-directory hash, both with a
 * signature. The program is on a connection of its own, for the task that loaded it first, and lives until
 * its last user has given it back: its first one may leave earlier. The driver checks the identity again.
 */
#ifndef BROKER_SHARE_H
#define BROKER_SHARE_H

#include "broker/payload.h"

/* The share of that model which the caller may attach to, for brk_share_give; NULL: there is none. */
struct brk_share *brk_share_find(struct brk_shares *shares, const struct pr_broker_client *who,
                                 const char *model);
/* Loads the program, for others to find. */
IOReturn brk_share_make(struct brk_shares *shares, const struct pr_broker_client *who, const char *model,
                        const struct brk_payload *payload, struct brk_share **share,
                        struct base_error *error);
/* The kernel does not have it any more: not found from now on. */
void brk_share_lost(struct brk_shares *shares, struct brk_share *share);
void brk_share_give(struct brk_shares *shares, struct brk_share *share);

#endif
