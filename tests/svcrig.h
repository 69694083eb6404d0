/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A service in a process of its own, without children, in the test's folder; and a client that speaks the
 * socket's messages itself, where a well-behaved one would send others.
 */
#ifndef TESTS_SVCRIG_H
#define TESTS_SVCRIG_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "protocol/service.h"
#include "protocol/service_ring.h"

#define SVCRIG_PATIENCE_MS 20000u /* against hanging: nothing takes that long */

/* Writes a policy file into a folder of that name; the folder's path. */
const char *svcrig_policy(const char *folder, const char *text);
/* A service at that socket, a name in the folder; ends with this process. What it says goes to `errors`. */
pid_t svcrig_start(const char *socket, const char *policy_folder, int errors);
/* The same, and waits until it answers. */
pid_t svcrig_serve(const char *socket, const char *policy_folder);
/* Sends SIGTERM; the exit status. */
int svcrig_stop(pid_t service);

/* A connection, or -1. */
int svcrig_connect(const char *socket);

struct svcrig_reply {
    struct pr_service_header header;
    union {
        uint8_t bytes[PR_SERVICE_BODY];
        char sentence[PR_SERVICE_SENTENCE];
        struct pr_service_welcome welcome;
        struct pr_service_connect connect;
        struct pr_service_surface surface;
        struct pr_service_status_page status;
        struct pr_service_registry_value registry;
    };
    int file; /* -1: none came */
};
/* Takes one reply; false when the session has ended. */
bool svcrig_take(int socket, struct svcrig_reply *reply);
/* Sends bytes as they are and takes one reply; false when the session has ended. */
bool svcrig_send(int socket, const void *bytes, size_t size, const int *fds, unsigned count,
                 struct svcrig_reply *reply);
/* A message of the format. */
bool svcrig_talk(int socket, uint16_t type, const void *body, uint32_t size, struct svcrig_reply *reply);
/* HELLO; asserts success. `ring`, unless it is NULL, is mapped. */
int svcrig_hello(const char *socket, enum pr_service_role role, struct pr_service_welcome *welcome,
                 uint8_t **ring);
/* True when the other end has closed, which is waited for. */
bool svcrig_is_closed(int socket);

/* What a process has: open descriptors and threads. */
struct svcrig_counts {
    unsigned files, threads;
};
struct svcrig_counts svcrig_counts(pid_t process);
/* Waits until it has no more than that. */
void svcrig_wait_counts(pid_t process, struct svcrig_counts most);

#endif
