/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reservations: ids of programs and processes that the host has asked for ahead. Of the call manager's, which
 * alone gives ids; the execution loop takes those of processes back too. A reserved id is given only to the
 * command that names it.
 */
#ifndef FIRMWARE_RESERVATION_H
#define FIRMWARE_RESERVATION_H

#include "firmware/state.h"

/*
 * The slot of a new program: the one that `wanted` names, which must be reserved and empty, or with PR_NO_ID
 * any that is neither.
 */
enum pr_status fw_reservation_program(struct fw *fw, uint32_t wanted, uint32_t *slot);
/* The same for a process of the program, for which its id must be reserved. */
enum pr_status fw_reservation_process(struct fw *fw, uint32_t program, uint32_t wanted, uint32_t *slot);
/* The id of a process is free again. Any task. */
enum pr_status fw_reservation_return(struct fw *fw, uint32_t program, uint32_t process);
/* The program is gone: process ids that are reserved for it are free. */
void fw_reservation_drop(struct fw *fw, uint32_t program);

/* Control commands; the ids are those of the header. */
enum pr_status fw_reservation_request_program(struct fw *fw, struct pr_command_header *header, void *body);
enum pr_status fw_reservation_return_program(struct fw *fw, struct pr_command_header *header, void *body);
enum pr_status fw_reservation_request_process(struct fw *fw, struct pr_command_header *header, void *body);
enum pr_status fw_reservation_return_process(struct fw *fw, struct pr_command_header *header, void *body);

#endif
