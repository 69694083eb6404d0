/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service's socket: a file that clients connect to, and beside it a lock file with the service's process
 * number, which keeps a second service from the same socket. Under a service manager the socket may be
 * inherited (LISTEN_FDS), and readiness is reported (NOTIFY_SOCKET).
 */
#ifndef SERVICE_LISTENER_H
#define SERVICE_LISTENER_H

#include <stdbool.h>
#include <sys/un.h>

#include "base/error.h"

#define SVC_LISTENER_PATH sizeof(((struct sockaddr_un *)0)->sun_path)

struct svc_listener {
    int socket, lock; /* -1: none */
    bool inherited;   /* the socket's file is the service manager's */
    char path[SVC_LISTENER_PATH];
    char lock_path[SVC_LISTENER_PATH + 8];
};

/*
 * `path`: --socket, or NULL for the default. 0, or a negative errno with a sentence: -EBUSY when a service
 * runs there already.
 */
int svc_listener_open(struct svc_listener *listener, const char *path, struct base_error *error);
/* Removes both files. */
void svc_listener_close(struct svc_listener *listener);

/* Reports a state ("READY=1") to the service manager, if there is one. */
void svc_listener_notify(const char *state);

#endif
