/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A service of its own for a test: `anemone serve` with its socket, state and policy in a folder of the test,
 * clients of it as processes, and figures that say what it holds. Every call asserts that it works, and shows
 * the end of the service's log when it does not; none waits without an end.
 */
#ifndef TESTS_SERVEDRIG_H
#define TESTS_SERVEDRIG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct servedrig {
    char folder[96]; /* what is in it: policy/, state/, models/, log, service, and programs */
    char models[112];
    char socket[112];
    pid_t service;
};

/*
 * Writes the models and the policy, in which @ stands for the folder; NULL is the default policy alone.
 * Starts the service and waits until it answers.
 */
void servedrig_start(struct servedrig *rig, const char *policy);
/* SIGTERM: it ends within ten seconds, with status 0, and leaves no socket. Prints its log on failure. */
void servedrig_stop(struct servedrig *rig);
/* For the exit of a test that failed: ends the service, if it runs. */
void servedrig_kill(struct servedrig *rig);

/*
 * A copy of the client program under a name of its own in the folder, for a policy to match by path. Variants
 * are different executables for a digest; equal ones are equal.
 */
const char *servedrig_program(struct servedrig *rig, const char *name, unsigned variant);

struct servedrig_client {
    pid_t pid;
    int in, out; /* its standard input and output */
    char line[512];
    char what[96]; /* for messages */
};
/* Starts a program with arguments that end in NULL. uid 0 is the caller's own. */
void servedrig_spawn(struct servedrig *rig, struct servedrig_client *client, const char *program, uid_t uid,
                     const char *const *arguments);
/* Its next line, in client->line; false at its end. One that does not come in a minute is a failure. */
bool servedrig_line(struct servedrig *rig, struct servedrig_client *client);
/* The next line, which must be this word; what follows the word is the result. */
const char *servedrig_expect(struct servedrig *rig, struct servedrig_client *client, const char *word);
void servedrig_tell(struct servedrig_client *client, const char *line);
/* Waits for its end; its status as waitpid has it. Both descriptors are closed. */
int servedrig_wait(struct servedrig *rig, struct servedrig_client *client);
/* SIGKILL, and waits. */
void servedrig_end(struct servedrig *rig, struct servedrig_client *client);

/* What the service and its broker hold. */
#define SERVEDRIG_FIGURES(X) \
    X(service_descriptors)   \
    X(service_threads)       \
    X(service_children)      \
    X(broker_descriptors)    \
    X(broker_threads)        \
    X(sessions)              \
    X(control_clients)       \
    X(direct_clients)        \
    X(hints_clients)         \
    X(pending_requests)      \
    X(programs)              \
    X(resident_bytes)        \
    X(wired_bytes)           \
    X(pageable_bytes)        \
    X(broker_restarts)       \
    X(compiler_restarts)
struct servedrig_figures {
#define X(figure) uint64_t figure;
    SERVEDRIG_FIGURES(X)
#undef X
    uint64_t resident_memory; /* of the service; not compared */
};
void servedrig_figures(struct servedrig *rig, struct servedrig_figures *figures);
/* Takes them when the service is at rest: when they are the same twice. */
void servedrig_rest(struct servedrig *rig, struct servedrig_figures *figures);
/* Waits until they are what they were before; fails after 20 seconds, and says which are not. */
void servedrig_settle(struct servedrig *rig, const struct servedrig_figures *before);

#endif
