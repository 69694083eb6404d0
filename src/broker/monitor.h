/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The monitor sees a client leave while its thread waits in the kernel, and ends that call: a client that
 * dies mid-request is unwound at once. It also applies the rule of queue depths while clients are active.
 */
#ifndef BROKER_MONITOR_H
#define BROKER_MONITOR_H

#include "broker/state.h"

/* The thread; its argument is the broker. It returns when the broker is ending and has no clients. */
void *brk_monitor_run(void *broker);

#endif
