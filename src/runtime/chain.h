/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An operation as a chain of the driver's: its outputs are an output set that stays posted, and each run is a
 * trigger instead of a request. For operations with a buffer that is bound to an output and to an input, when
 * the environment asks for it (ANEMONE_CHAINING=1). Results are those of requests.
 */
#ifndef RUNTIME_CHAIN_H
#define RUNTIME_CHAIN_H

#include "runtime/operation.h"

/*
 * After an operation was arranged: it has a chain if it is to have one. An operation that is bound to other
 * outputs than its chain, and one for which the firmware has no chain left, run by requests.
 */
int64_t e5_chain_arrange(e5rt_execution_stream_operation_t operation);
/* Whether runs of the operation are triggers now. */
bool e5_chain_serves(e5rt_execution_stream_operation_t operation);
/* One run, waited for. A chain that was lost (sleep, a restart of the engine) is made again. */
int64_t e5_chain_run(e5rt_execution_stream_operation_t operation);
/* With the operation; the driver's part ends with the program. */
void e5_chain_end(struct e5_chain *chain);

#endif
