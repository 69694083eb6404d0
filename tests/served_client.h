/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program that rigs of the service start as its clients. Each mode is a function of its arguments. A mode
 * that fails prints a sentence to standard error and ends the process with status 1; what a mode has to say
 * it prints as lines to standard output.
 */
#ifndef TESTS_SERVED_CLIENT_H
#define TESTS_SERVED_CLIENT_H

#include <stdint.h>

#include <anemone/abi.h>

#include "served_models.h"

_Noreturn void served_client_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints one line at once. */
void served_client_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Fails unless a call of iokit.h or broker.h succeeded, with the library's sentence. */
void served_client_good(IOReturn status, const char *call);
double served_client_clock(void); /* seconds */
/*
 * True for the answer to a request that waited for its whole timeout while more urgent ones had the engine:
 * by the rule of quality of service that may be, and everything is made anew. Other failures are failures.
 */
bool served_client_is_starved(IOReturn status, const char *call);

/* A submission with its answer checked; what is under test is behind `context`. */
struct served_work {
    /* False: starved. */
    bool (*step)(void *context, const struct served_model *model, uint64_t *random);
    void (*end)(void *context);
    void *context;
};
/* The ways to the engine, by name; `folder` has the models. */
struct served_way {
    const char *name;
    void (*make)(struct served_work *work, const char *folder, const struct served_model *model,
                 uint32_t qos);
};
extern const struct served_way served_runtime_ways[];
extern const struct served_way served_broker_ways[];

/* The modes of other files; each says its arguments. */
int served_client_hostile(int argc, char **argv);
int served_client_victim(int argc, char **argv);
int served_client_attack(int argc, char **argv);
int served_client_ordered(int argc, char **argv);
int served_client_share(int argc, char **argv);
int served_client_grants(int argc, char **argv);
int served_client_exec(int argc, char **argv);
int served_client_kept(int argc, char **argv);

#endif
