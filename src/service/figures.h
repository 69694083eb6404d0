/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What clients have used. The machine has figures of its open clients alone; here they are added up by task
 * and outlive a connection: what a client had when it was last seen is kept with its session, and with the
 * service when that has ended.
 */
#ifndef SERVICE_FIGURES_H
#define SERVICE_FIGURES_H

#include <stdint.h>

struct ane_machine_client;
struct svc_service;

struct svc_figures {
    uint64_t requests, engine_ns; /* these only rise */
    uint64_t bytes;
    uint32_t programs, queue_depth, in_flight;
};

struct svc_figures_table {
    struct ane_machine_client *seen; /* at the last update */
    unsigned count;
};

/* Looks at the machine's clients. Any thread, often. */
void svc_figures_update(struct svc_service *service);
/* Those of one task, with its closed connections, or with task 0 of all. With the service's lock held. */
struct svc_figures svc_figures_locked(const struct svc_service *service, uint32_t task);
void svc_figures_end(struct svc_figures_table *table);

#endif
