/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Back-off: a process on whose models the compiler has ended, several times in a row, waits before its next
 * compilation. Others never do. A model that the compiler refuses with a reason does not count.
 */
#ifndef BROKER_BACKOFF_H
#define BROKER_BACKOFF_H

#include "broker/state.h"

/* kIOReturnBusy with the time that is left. */
IOReturn brk_backoff_check(struct brk_backoffs *backoffs, const struct pr_broker_client *who,
                           struct base_error *error);
void brk_backoff_failed(struct brk_backoffs *backoffs, const struct pr_broker_client *who);
void brk_backoff_worked(struct brk_backoffs *backoffs, const struct pr_broker_client *who);

#endif
