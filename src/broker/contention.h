/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule of queue depths. A party is a process with connections to the broker. When several of them have
 * sent requests lately, each gets its part of the depth (pr_broker_depth), by a hint for its task; when they
 * stop, it is raised again. A party without instances has no hints client.
 */
#ifndef BROKER_CONTENTION_H
#define BROKER_CONTENTION_H

#include "broker/state.h"

/* A connection of the task; NULL: no memory. */
struct brk_party *brk_contention_join(struct brk_contention *contention, uint32_t task);
void brk_contention_leave(struct brk_contention *contention, struct brk_party *party);
/* The connection has its first instance, or has none any more. */
void brk_contention_resident(struct brk_contention *contention, struct brk_party *party, bool resident);
/* A request was sent. True: the process was idle, so depths may change. */
bool brk_contention_note(struct brk_contention *contention, struct brk_party *party);
/* The same for a task; false also when it has no connection to the broker. */
bool brk_contention_note_task(struct brk_contention *contention, uint32_t task);
/* The depth in force for the party, and how many are active. */
uint32_t brk_contention_depth(struct brk_contention *contention, const struct brk_party *party,
                              uint32_t *active);
/* Sets depths by the rule. True: some party is active, so look again. Called by the monitor. */
bool brk_contention_apply(struct brk_contention *contention);

#endif
