/* SPDX-License-Identifier: Apache-2.0 */
/* Refusals of the kernel that a line of a policy file would change: the sentence gets that line. */
#ifndef SERVICE_ADVICE_H
#define SERVICE_ADVICE_H

#include <stdint.h>

#include "base/error.h"

struct svc_peer;

/* Adds the line that grants the first key of a set (enum pr_entitlement) that the session does not hold. */
void svc_advice_add(struct svc_peer *session, uint32_t entitlements, struct base_error *error);
/* The same for the first key that the sentence names and the session does not hold. */
void svc_advice_add_named(struct svc_peer *session, struct base_error *error);

#endif
