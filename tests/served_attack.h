/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one client of the service has numbers for, and what another tries with them: every message of the
 * socket and of the broker, and every call of the ring, that takes a number.
 */
#ifndef TESTS_SERVED_ATTACK_H
#define TESTS_SERVED_ATTACK_H

#include <stdbool.h>
#include <stdint.h>

#include <anemone/abi.h>

#include "served_wire.h"

enum served_number {
    SERVED_SURFACE,
    SERVED_PROGRAM,
    SERVED_INTERMEDIATE,
    SERVED_INSTANCE,
    SERVED_EVENT,
    SERVED_CONNECT,
    SERVED_SESSION,
    SERVED_TASK,
    SERVED_CHAIN,
    SERVED_NUMBERS
};

struct served_attack_numbers {
    char model[PR_BROKER_KEY];
    uint64_t number[SERVED_NUMBERS];
};

/* The attacker: a session with things of its own, and the answer to the last call. */
struct served_attack {
    struct served_wire wire;
    int broker;
    uint32_t device; /* the registry's entry */
    uint32_t direct, control;
    uint64_t session;
    uint32_t surface; /* with the operands of requests, and a place for arguments */
    uint8_t *base;
    struct pr_broker_instance instance;
    char model[PR_BROKER_KEY];
    struct pr_ring_slot call;
    struct served_reply reply;
    char sentence[512];
};

/* One try with one number; the status. */
struct served_trial {
    const char *name;
    enum served_number kind;
    int32_t (*attempt)(struct served_attack *a, uint64_t number);
    bool own_differs; /* the answer for one of the attacker's own is another */
};
extern const struct served_trial served_trials[];
extern const unsigned served_trial_count;

/* The calls that trials are made of; a session that ends is a failure of the process. */
int32_t served_attack_message(struct served_attack *a, uint16_t type, const void *body, size_t size);
/* `folder` is a descriptor that goes with it; -1: none. */
int32_t served_attack_broker(struct served_attack *a, uint16_t type, const void *body, size_t size,
                             int folder);
int32_t served_attack_call(struct served_attack *a, uint32_t operation, uint32_t connect, uint32_t selector,
                           const uint64_t *scalars, uint32_t scalars_in, const void *in, uint32_t struct_in,
                           uint32_t scalars_out, uint32_t struct_out);

#define SERVED_ATTACK_PLACE 0x1000u /* between operands, result and arguments in the surface */

#endif
