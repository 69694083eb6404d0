/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Child processes of the service: this executable again, with another verb, inherited sockets from descriptor
 * SVC_CHILD_FIRST on, no other descriptor above the standard streams, and an environment of its own. They are
 * in a process group of their own, so that a ^C for the service does not end them before it.
 */
#ifndef SERVICE_CHILD_H
#define SERVICE_CHILD_H

#include <sys/types.h>

#define SVC_CHILD_FIRST   3
#define SVC_CHILD_SOCKETS 2u

/*
 * `executable` NULL: this one. Sockets stay the caller's; -1 ends the list. Called by the thread with which
 * the child is to end. 0 or a negative errno.
 */
int svc_child_start(const char *executable, const char *const *words, const int sockets[SVC_CHILD_SOCKETS],
                    pid_t *pid);

/* In the child, first: it ends with its parent. Not 0: descriptor SVC_CHILD_FIRST is not a socket. */
int svc_child_begin(void);

#endif
