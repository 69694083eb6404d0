/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One deed for each entitlement: what its holder may do, and a caller without it may not. The same deeds run
 * on a machine of the process, for a task with the keys, and in a process whose kernel is the service, for
 * task 0.
 */
#ifndef TESTS_DEEDS_H
#define TESTS_DEEDS_H

#include <anemone/iokit.h>

#include "protocol/entitlement.h"

struct deeds_outcome {
    IOReturn status;
    char sentence[512]; /* "" after a success */
};

struct deeds_row {
    uint32_t others; /* keys that the deed needs beside its own: a set of enum pr_entitlement */
    /* A set-up that fails does not return. */
    void (*run)(io_service_t service, ane_task_t task, struct deeds_outcome *outcome);
    uint32_t missing;  /* the answer without the key */
    const char *words; /* the sentence then begins so, and names the key */
};

/* By enum pr_entitlement; a row without `run` is the broker's or the service's. */
/* The same for the keys of the broker; service and task are not looked at. */
extern const struct deeds_row deeds_broker[PR_ENTITLEMENT_COUNT];
extern const struct deeds_row deeds_kernel[PR_ENTITLEMENT_COUNT];
extern const char *const deeds_key[PR_ENTITLEMENT_COUNT];
/* A set as a list of keys: how many. */
unsigned deeds_list(uint32_t entitlements, const char *list[PR_ENTITLEMENT_COUNT]);
/* The status, and the sentence of the thread's last call. */
void deeds_note(struct deeds_outcome *outcome, IOReturn status);

#endif
