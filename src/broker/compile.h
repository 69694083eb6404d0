/* SPDX-License-Identifier: Apache-2.0 */
/* Models by way of the compile services: compiled, found in a partition, removed. */
#ifndef BROKER_COMPILE_H
#define BROKER_COMPILE_H

#include "broker/state.h"

/* The methods of PR_BROKER_METHODS. */
IOReturn brk_compile_model(struct brk_call *call);
IOReturn brk_compile_purge(struct brk_call *call);
/*
 * A model of the client's partition, for brk_model_give. kIOReturnNotFound: the partition does not have it.
 */
IOReturn brk_compile_find(struct brk_client *client, const char *model, struct brk_model **found,
                          struct base_error *error);

#endif
