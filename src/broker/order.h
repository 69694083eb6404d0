/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Orders to a compile service: a queue by quality of service, then arrival. At most PR_COMPILE_WORKERS
 * compilations are with the service; searches and purges do not wait behind them. When the service ends, what
 * it had fails with kIOReturnAborted, and what is queued goes to the next one.
 */
#ifndef BROKER_ORDER_H
#define BROKER_ORDER_H

#include "broker/state.h"

void brk_compiler_init(struct brk_compiler *compiler);
/* A service has started; the socket becomes the compiler's. 0 or a negative errno. */
int brk_compiler_start(struct brk_compiler *compiler, int socket);
/* Ends the connection, and waits until its threads have ended. No order is under way. */
void brk_compiler_stop(struct brk_compiler *compiler);

/* An order of that type, with an empty body; NULL: no memory. Given back with brk_order_free. */
struct brk_order *brk_order_make(uint32_t type, uint32_t qos);
/*
 * Sends it when its turn comes, and waits for the reply, whose result it returns. A client whose socket is
 * closed meanwhile has left: kIOReturnAborted, at most 100 ms later. kIOReturnNoDevice when no compile
 * service has started for ten seconds. *order is NULL afterwards when the service still has it.
 */
IOReturn brk_order_run(struct brk_compiler *compiler, struct brk_order **order, int client,
                       struct base_error *error);
/* Also closes the files of the reply that were not taken. NULL is allowed. */
void brk_order_free(struct brk_order *order);

#endif
