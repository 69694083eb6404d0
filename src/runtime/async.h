/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams that are submitted, and the runtime's one service thread, which is made for the first of them. The
 * thread sends the operations of submitted streams, takes their messages, signals events and calls completion
 * functions; it holds no lock while it does so.
 */
#ifndef RUNTIME_ASYNC_H
#define RUNTIME_ASYNC_H

#include "runtime/stream.h"

/* The lock over events and submissions. `changed`: what waits for either looks again. */
void e5_async_lock(void);
void e5_async_unlock(void);
void e5_async_unlock_changed(void);

/* The calling thread is the service thread. */
bool e5_async_is_service(void);
/* With the lock: the value will not be reached by what is submitted, because work has failed. */
bool e5_async_is_lost(const struct e5_event *event, uint64_t value);
/* With the lock, which it gives up meanwhile: until the event has the value. False: it will not, or did not
 * in time. */
bool e5_async_wait(const struct e5_event *event, uint64_t value, uint64_t timeout_ns);

/* The stream is submitted; its completion function is called once. `timeout_ns` UINT64_MAX: none. */
int64_t e5_async_submit(e5rt_execution_stream_t stream, e5rt_async_completion_t completion, void *context,
                        uint64_t timeout_ns);

#endif
