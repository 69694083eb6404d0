/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of arguments that come from a client: texts, flags, limits, and what only its own may be. */
#ifndef BROKER_ARGUMENTS_H
#define BROKER_ARGUMENTS_H

#include "broker/state.h"

/* struct pr_broker_load of any method; the keys of its flags too. */
IOReturn brk_arguments_load(const struct brk_client *client, uint32_t method,
                            const struct pr_broker_load *load, struct base_error *error);
/* The weight files of an adapter, in a memory file of `bytes`. */
IOReturn brk_arguments_adapter(const struct pr_broker_adapter *adapter, uint64_t bytes,
                               struct base_error *error);
IOReturn brk_arguments_compile(const struct brk_client *client, const struct pr_broker_compile *compile,
                               struct base_error *error);
IOReturn brk_arguments_purge(const struct pr_broker_purge *purge, struct base_error *error);
/* The name of a user's cache partition. */
void brk_arguments_partition(const struct brk_client *client, char name[64]);

#endif
