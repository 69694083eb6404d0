/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service's state folder: STATE/service.key, with which programs are signed, and STATE/cache
 * (service/partition.h). Only the service's user can write the folder, and no other user can read the key:
 * who has the key can have any image accepted as a compiled one.
 */
#ifndef SERVICE_STATE_H
#define SERVICE_STATE_H

#include "base/error.h"

#define SVC_STATE_PATH 4096u

/*
 * Finds the folder (`folder`: --state, or NULL for the default), makes what is missing in it, and sets
 * ANEMONE_KEY to its key for this process and its children. 0 with the folder's path from the root, or a
 * negative errno with a sentence. Before the process uses a signing key.
 */
int svc_state_prepare(const char *folder, char path[SVC_STATE_PATH], struct base_error *error);

#endif
