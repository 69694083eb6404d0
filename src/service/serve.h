/* SPDX-License-Identifier: Apache-2.0 */
/* `anemone serve`: the service as a process, from its start to its stop. */
#ifndef SERVICE_SERVE_H
#define SERVICE_SERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Idle programs have this many bytes wired at most, unless --memory says otherwise (chosen). */
#define SVC_SERVE_MEMORY (2ull << 30)

struct svc_options {
    const char *socket;     /* NULL: the default */
    const char *state;      /* NULL: the default */
    const char *policy;     /* NULL: the two folders of service/policy.h */
    const char *dumps;      /* a folder for dumps of the firmware; NULL: as ane_machine_config says */
    uint32_t numerics;      /* enum ane_numerics */
    uint32_t winograd;      /* enum ane_winograd */
    uint32_t timing;        /* enum ane_timing */
    uint32_t threads;       /* of the engine; 0: 1 */
    uint64_t memory;        /* bytes of idle programs that stay wired */
    const char *executable; /* of the children; NULL: this one */
    bool without_children;  /* for tests: neither broker nor compile services */
};

/*
 * Serves until SIGTERM, SIGINT or SIGHUP, then stops: 0. Or a negative errno with a sentence when it could
 * not start. The caller's process has no other thread, and does not use the library otherwise.
 */
int svc_serve(const struct svc_options *options, struct base_error *error);

#endif
