/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secure mode: one tenant owns the engine (seeds ch. 2 and 29). The execution loop's task runs all of it.
 *
 * Both ways the same steps: no call begins, and what is in flight ends; the queues are disabled (event
 * QUIESCED); the machine is in PAUSE and the engine is power-cycled (PAUSED); the host answers with
 * SECURE_MODE_RESUME_TRANSITION, in time; the queues are enabled and the mode is there (ENTERED, LEFT).
 * Without that answer the engine is not secure, whichever way it went (LEFT).
 *
 * The reply to START and STOP says that the switch has begun; the events say how it goes on. Calls that the
 * present mode does not admit are accepted, and wait here in their order: in a switch all, in secure mode
 * those of processes that are not secure, else those of processes that are. The table of calls bounds them.
 */
#ifndef FIRMWARE_SECURE_H
#define FIRMWARE_SECURE_H

#include "firmware/state.h"

/* Off, no call held. False when the pool of timers is exhausted. */
bool fw_secure_create(struct fw *fw);
/* From the begin of the switch to the end of the switch back. Any task. */
static inline bool fw_secure_is_on(const struct fw *fw)
{
    return fw->secure.phase != FW_SECURE_OFF;
}

/* Whether the call waits here; then it is this file's until the mode admits it. */
bool fw_secure_holds(struct fw *fw, uint16_t number);
/* Calls that wait here and match end with ABORTED; how many there were. */
uint32_t fw_secure_end(struct fw *fw, const struct fw_event_match *match);
/* Whether a trigger of the process is dropped: in the mode or on the way, and not secure. Counts it. */
bool fw_secure_drops(struct fw *fw, const struct fw_process *process);

/* Of the machine: nothing is in flight; PAUSE is entered; the host has not answered in time. */
void fw_secure_drained(struct fw *fw);
void fw_secure_pause(struct fw *fw);
void fw_secure_overdue(struct fw *fw);

/* Commands of control.c's table; the arguments are those of every command. */
enum pr_status fw_secure_start(struct fw *fw, struct pr_command_header *header, void *body);
enum pr_status fw_secure_stop(struct fw *fw, struct pr_command_header *header, void *body);
enum pr_status fw_secure_resume(struct fw *fw, struct pr_command_header *header, void *body);

#endif
