/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system calls of a worker: a list, and everything else is refused with SIGSYS. Made by libseccomp; a
 * build without it has no filter.
 */
#ifndef SERVICE_SYSCALL_FILTER_H
#define SERVICE_SYSCALL_FILTER_H

#include <stddef.h>

/*
 * For this process from now on. `socket` is the one descriptor for sendmsg. `forbidden` is called in a signal
 * handler with the number of a call that is not on the list; then the process ends. Needs no_new_privs. 0,
 * -ENOSYS where the build or the kernel has no filter, or a negative errno.
 */
int svc_syscall_filter_enter(int socket, void (*forbidden)(int number));
/* A sentence when the build or the kernel has none; else "". A constant. */
const char *svc_syscall_filter_missing(void);
/* The name of a call; "" when it has none here. */
void svc_syscall_filter_name(int number, char *name, size_t size);

#endif
