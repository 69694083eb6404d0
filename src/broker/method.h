/* SPDX-License-Identifier: Apache-2.0 */
/* The methods of the broker (PR_BROKER_METHODS), after admission. */
#ifndef BROKER_METHOD_H
#define BROKER_METHOD_H

#include "broker/state.h"

/* Calls the method of that number, which exists. `out` of SUBMIT is filled in after a failure too. */
IOReturn brk_method_call(struct brk_call *call);

#endif
