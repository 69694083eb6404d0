/* SPDX-License-Identifier: Apache-2.0 */
/* Who may connect, and who may call what: ALLOW or ACCESS for a connection, a key for a method. */
#ifndef BROKER_ADMISSION_H
#define BROKER_ADMISSION_H

#include "broker/state.h"

/* A row of PR_BROKER_METHODS. */
struct brk_method {
    uint32_t number;
    const char *name;
    size_t in, out; /* bytes of the bodies */
    unsigned descriptors_in, descriptors_out;
    uint32_t keys; /* a set of enum pr_entitlement */
};

/* NULL: there is no such method. */
const struct brk_method *brk_admission_method(uint32_t number);

enum pr_broker_tier brk_admission_tier(const struct pr_broker_client *who);
/* kIOReturnNotPrivileged with a sentence that says which key, and which line of a policy grants it. */
IOReturn brk_admission_connect(const struct pr_broker_client *who, struct base_error *error);
/* The helper of every method: the caller holds all of a set of keys. */
IOReturn brk_admission_require(const struct pr_broker_client *who, uint32_t keys, const char *what,
                               struct base_error *error);

#endif
