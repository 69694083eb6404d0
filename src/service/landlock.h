/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Landlock: the calling thread opens files beneath two folders alone, and makes no TCP connection. The
 * constants are the kernel's and are declared in landlock.c: installed headers are often older than the
 * kernel, which answers which version it has.
 */
#ifndef SERVICE_LANDLOCK_H
#define SERVICE_LANDLOCK_H

/* The version of the kernel's interface; 0 when it has none, or when it is switched off. */
int svc_landlock_version(void);
/*
 * Reads beneath `read`, reads and writes beneath `write`; both are descriptors of folders, -1: none. Needs
 * no_new_privs. 0, -ENOSYS without Landlock, or a negative errno.
 */
int svc_landlock_enter(int read, int write);

#endif
