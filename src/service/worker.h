/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service's worker, a thread of its own: gives back memory and power of idle programs, keeps the figures
 * of clients, and ends sessions whose process is no longer the one that connected.
 */
#ifndef SERVICE_WORKER_H
#define SERVICE_WORKER_H

#include "service/service.h"

struct svc_worker {
    struct svc_service *service;
    uint64_t memory; /* bytes of programs that may stay wired while they are idle */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stopping;
    pthread_t thread;
};

/* 0, or a negative errno with a sentence. */
int svc_worker_start(struct svc_worker *worker, struct svc_service *service, uint64_t memory,
                     struct base_error *error);
void svc_worker_stop(struct svc_worker *worker);

#endif
