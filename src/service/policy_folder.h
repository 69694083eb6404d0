/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a policy folder, which only root and the service's user can write. */
#ifndef SERVICE_POLICY_FOLDER_H
#define SERVICE_POLICY_FOLDER_H

#include <stdbool.h>

#include "service/policy_file.h"

#define SVC_POLICY_FILES 256u /* of one folder (chosen) */

/*
 * Adds the blocks of every *.policy file of the folder, in the order of the names. 0, also when the folder is
 * absent and need not be there; or a negative errno with a sentence: -EPERM when somebody else can write a
 * file, the folder, or a folder above it.
 */
int svc_policy_folder_add(struct svc_policy *policy, const char *folder, bool must_exist,
                          struct base_error *error);

#endif
