/* SPDX-License-Identifier: Apache-2.0 */
#include "service/thread.h"

#include <errno.h>

#include "base/alloc.h"

int svc_thread_start(pthread_t *thread, void *(*run)(void *), void *argument)
{
    pthread_attr_t attributes;
    int status;

    if (!base_alloc_allowed())
        return -EAGAIN;
    status = pthread_attr_init(&attributes);
    if (status)
        return -status;
    status = pthread_attr_setstacksize(&attributes, SVC_THREAD_STACK);
    if (!status)
        status = pthread_create(thread, &attributes, run, argument);
    pthread_attr_destroy(&attributes);
    return -status;
}
