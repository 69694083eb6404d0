/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The broker in a thread of the test, with the service's side of its control socket, and a compile service
 * that the test controls. Its kernel is the default machine of the process; its clients are tasks there.
 */
#ifndef TESTS_BROKERRIG_H
#define TESTS_BROKERRIG_H

#include <anemone/broker.h>

#include "protocol/broker.h"
#include "protocol/entitlement.h"

void brokerrig_start(void);
/* Ends the broker, and the compile service. Asserts that the machine has no client then. */
void brokerrig_stop(void);

/* What the service says of a client. */
struct brokerrig_who {
    uint32_t keys; /* a set of enum pr_entitlement */
    uint32_t uid;  /* 0: the service's own user */
    uint32_t pid;  /* 0: 100 */
    const char *team;
    uint8_t hash;    /* of its signature; 0: none */
    ane_task_t task; /* 0: a new one, which is returned here */
};
/* A socket to the broker, as the service gives it to a client. */
int brokerrig_socket(struct brokerrig_who *who);
/* A connection; asserts that it is made. */
struct ane_broker *brokerrig_connect(struct brokerrig_who *who);
/* A connection of a new task with these keys. */
struct ane_broker *brokerrig_connect_with(uint32_t keys);
/* The service's notice that a task has sent requests. */
void brokerrig_active(ane_task_t task);
/* The next notice TIER of the broker. */
struct pr_broker_tier_notice brokerrig_tier(void);

/*
 * Compile service `number`, whose socket goes to the broker; one that runs is replaced. A model's file name
 * decides: crash* ends the service, abort* is answered with kIOReturnAborted, hold* waits for
 * brokerrig_release (hold_abort* is then answered as abort*), open* is answered with files that are not
 * sealed; others are compiled. A model that BROKERRIG_LIED_TO looks for is answered with one of another key.
 */
#define BROKERRIG_LIED_TO 1999u
void brokerrig_compiler(unsigned number);
void brokerrig_compiler_end(unsigned number);
/* Answers the oldest hold* order; waits for one. */
void brokerrig_release(void);
/* Waits until that many orders have come; the name of the nth, from 0. */
const char *brokerrig_order(unsigned number);
/* Orders so far. */
unsigned brokerrig_orders(void);

/* Writes NAME.mil: y = w x over 8 halves, of one channel. Its path. */
const char *brokerrig_model(const char *name, double w);
/* weights.bin of such a model, for free. */
uint8_t *brokerrig_weights(double w, size_t *size);
/* Compiles it; asserts that it works. The identifier is good until the next call. */
const char *brokerrig_compile(struct ane_broker *broker, const char *path);

/* What an instance makes of 3 in each element, by ane_broker_submit, for surfaces of the task. */
IOReturn brokerrig_run(struct ane_broker *broker, ane_task_t task, uint64_t instance, double *value);

#endif
