/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A compile service in a process of its own, and the broker's end of its socket. Its state is in the test's
 * folder. A reply that does not come within a minute fails the test.
 */
#ifndef TESTS_COMPILERIG_H
#define TESTS_COMPILERIG_H

#include "support.h"

#include <anemone/iokit.h>
#include <sys/types.h>

#include "service/compiler.h"

struct compilerig {
    int socket;
    pid_t pid;
    uint32_t serial;
};

/* Limits of an order in tests: as those of the ordinary service, unless a test needs to reach them. */
extern const struct svc_work_limits compilerig_limits;

/* `body` and `limits` may be NULL. */
void compilerig_start(struct compilerig *rig, svc_work_body body, const struct svc_work_limits *limits);
/* The same by another user, with a state folder of its own; the test is root. */
void compilerig_start_as(struct compilerig *rig, uint32_t uid, const char *state);
/* Closes the socket; the exit status of the service, which is the negative of what it returned. */
int compilerig_stop(struct compilerig *rig);
/* The state folder. */
const char *compilerig_state(void);

struct compilerig_reply {
    uint16_t type;
    uint32_t serial;
    IOReturn status;
    char sentence[PR_SERVICE_SENTENCE];
    struct pr_broker_model model;
    struct pr_broker_purged purged;
    int files[2]; /* -1 unless both came */
};
void compilerig_reply_end(struct compilerig_reply *reply);

/* A message as it is: a header with these words, `bytes` of body, and a descriptor unless it is -1. */
void compilerig_send(struct compilerig *rig, uint16_t type, const void *body, uint32_t bytes, int descriptor);
/* False when the service has closed its end. */
bool compilerig_receive(struct compilerig *rig, struct compilerig_reply *reply);

/* Orders with the user of the test; the number of the order. `folder` is a path. */
uint32_t compilerig_order(struct compilerig *rig, const char *folder, const char *name, uint32_t flags);
uint32_t compilerig_order_as(struct compilerig *rig, const char *folder, const char *name, uint32_t flags,
                             uint32_t uid, uint32_t qos);
/* An order, and its reply. */
void compilerig_compile(struct compilerig *rig, const char *folder, const char *name,
                        struct compilerig_reply *reply);
void compilerig_find(struct compilerig *rig, uint32_t uid, const char *model, struct compilerig_reply *reply);
void compilerig_purge(struct compilerig *rig, uint32_t uid, bool all, const char *model,
                      struct compilerig_reply *reply);
/* The reply is what the compiler makes of that model in this process. */
void compilerig_expect_model(const struct compilerig_reply *reply, const char *model);
/* The reply has that status, and a sentence with that piece in it. */
void compilerig_expect(const struct compilerig_reply *reply, IOReturn status, const char *piece);
/* How many descriptors a process has open, and how many children. */
unsigned compilerig_descriptors(pid_t pid);
unsigned compilerig_children(pid_t pid);

#endif
