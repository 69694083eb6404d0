/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A place among the requests with wait events that are under way. Until its events are signalled such a
 * request holds a slot of the broker's ring and an address space of the device, of which there are seven; so
 * PR_BROKER_WAITING of them are sent at once, PR_BROKER_WAITING_USER of one user, and the others wait here.
 */
#ifndef BROKER_TURN_H
#define BROKER_TURN_H

#include "broker/state.h"

/* Waits for a place. kIOReturnAborted: the client has left meanwhile. */
IOReturn brk_turn_take(struct brk_client *client, struct base_error *error);
void brk_turn_give(struct brk_client *client);

#endif
