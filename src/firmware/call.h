/* SPDX-License-Identifier: Apache-2.0 */
/* Procedure calls: the checks on the private copy of the message, and the table of accepted ones. */
#ifndef FIRMWARE_CALL_H
#define FIRMWARE_CALL_H

#include "firmware/state.h"

/* All calls free. */
void fw_call_init(struct fw *fw);
/*
 * Checks the message of `length` bytes in exeloop.message, in any form of a call; a sound one is a new call,
 * with all its requests.
 */
enum pr_status fw_call_accept(struct fw *fw, uint64_t length, uint32_t ticket, uint16_t *number);
/*
 * The steps of that, for whoever makes a call: the target is checked, buffers are bound to an empty draft,
 * the draft is filled for a procedure, and entered into the table. Then exeloop.c dispatches it.
 */
enum pr_status fw_call_target(struct fw *fw, uint32_t program_id, uint32_t process_id, uint32_t procedure);
void fw_call_unbind(struct fw *fw);
enum pr_status fw_call_bind(struct fw *fw, uint32_t process_id, const struct pr_buffer *buffer,
                            uint32_t count);
enum pr_status fw_call_draft(struct fw *fw, uint32_t process_id, uint32_t procedure_id, uint32_t priority);
enum pr_status fw_call_enter(struct fw *fw, uint16_t *number);
/* Whether a call may name the procedure, which the program has. */
enum pr_status fw_call_content(struct fw *fw, const struct fw_program *program, uint32_t procedure);
/* Frees the requests behind the first of a call that was not dispatched. */
void fw_call_cut(struct fw *fw, uint16_t lead);
/* The call's event has been sent to the host: the call is free. */
void fw_call_release(struct fw *fw, uint16_t number);

/* Lists of calls, oldest first. */
void fw_call_put(struct fw *fw, struct fw_list *list, uint16_t number);
uint16_t fw_call_take(struct fw *fw, struct fw_list *list);

#endif
