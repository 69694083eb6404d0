/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of lowering under both numeric policies: a machine and a client of each for a whole group. */
#ifndef TESTS_LOWER_POLICIES_H
#define TESTS_LOWER_POLICIES_H

#include "graphrig.h"
#include "support.h"

enum { POLICIES = 2 };

static const enum ane_numerics policy_of[POLICIES] = {ANE_NUMERICS_M1, ANE_NUMERICS_IEEE};
static const char *const policy_name[POLICIES] = {"m1", "ieee"};
static struct ane_machine *machine[POLICIES];
static struct iorig_client client[POLICIES];

static inline int open_machines(void **state)
{
    (void)state;
    for (unsigned i = 0; i < POLICIES; i++) {
        struct ane_machine_config config = {.size = sizeof(config), .firmware = 1, .numerics = policy_of[i]};

        if (ane_machine_create(&config, &machine[i]))
            fail_msg("%s", ane_machine_error());
        if (iorig_open(ane_machine_service(machine[i]), 0, ANE_CLIENT_CONTROL, &client[i]))
            return 1;
    }
    return 0;
}

static inline int close_machines(void **state)
{
    (void)state;
    for (unsigned i = 0; i < POLICIES; i++) {
        IOServiceClose(client[i].connect);
        ane_machine_destroy(machine[i]);
    }
    return 0;
}

#endif
