/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of the service. Signals are blocked in all of them: the main thread waits for those. */
#ifndef SERVICE_THREAD_H
#define SERVICE_THREAD_H

#include <pthread.h>

/* Virtual memory of a stack: a call may drive the machine, which computes on the caller's stack. */
#define SVC_THREAD_STACK (2u << 20)

/* 0 or a negative errno. */
int svc_thread_start(pthread_t *thread, void *(*run)(void *), void *argument);

#endif
