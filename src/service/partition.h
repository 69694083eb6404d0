/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Partitions of the compile service's cache: STATE/cache/UID, one for each user, mode 0700. STATE/cache
 * belongs to the service's user, also with mode 0700, so no other user reaches anything beneath it. Where the
 * service is root a partition belongs to its user: a worker, which is that user, has it as a descriptor, and
 * other processes of the user cannot open it by its path. So what is in a partition was put there by a
 * compiler.
 */
#ifndef SERVICE_PARTITION_H
#define SERVICE_PARTITION_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

/*
 * A descriptor of the user's partition. With `make` it is made where it is missing; without: -ENOENT. Or a
 * negative errno with a sentence: -EPERM when a folder belongs to another user or is open to others.
 */
int svc_partition_open(const char *state, uid_t uid, gid_t gid, bool make, struct base_error *error);
/* The same for STATE/cache, in which all partitions are. */
int svc_partition_open_all(const char *state, bool make, struct base_error *error);
/* Whether a name in STATE/cache is one of a partition. */
bool svc_partition_is_name(const char *name);

#endif
