/* SPDX-License-Identifier: Apache-2.0 */
/* Triggers: one execution of a chain, as a request of the same kind as those of selector 2. */
#ifndef DRIVER_TRIGGER_H
#define DRIVER_TRIGGER_H

#include "driver/chain.h"

/*
 * Direct-path selector 4 on a private copy of the struct, for a chain that the call uses. The execution is
 * that of the chain, or of the active member of its group. Without `wake` it returns when the execution has
 * ended; with it when the trigger is queued or sent, and a message follows.
 */
IOReturn drv_trigger_run(struct drv_client *caller, struct drv_chain *chain,
                         const struct ane_inputs_ready *ready, const struct drv_wake *wake);

#endif
