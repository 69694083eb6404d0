/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The buffers of load reports: which are free, and what happens when none is. The load monitor takes them; a
 * buffer that the host has is free again when it is returned, or with automatic recycling when it is needed.
 */
#ifndef FIRMWARE_LOADPOOL_H
#define FIRMWARE_LOADPOOL_H

#include "firmware/state.h"

/* All are free and in use. False when the kernel's pool of semaphores is exhausted. */
bool fw_loadpool_create(struct fw *fw);
/* The device address of a buffer for the report of that sequence; 0: the host has all of them. */
uint64_t fw_loadpool_take(struct fw *fw, uint32_t sequence);
/* CH_BUFFER_RETURN: BAD_ARGUMENT for a buffer that the host does not have. */
enum pr_status fw_loadpool_return(struct fw *fw, const struct pr_body_buffer_return *body);

/* Control commands, run by the load monitor. */
enum pr_status fw_loadpool_get(struct fw *fw, struct pr_command_header *header, void *body);
/* BUSY while the host has a buffer. */
enum pr_status fw_loadpool_set(struct fw *fw, struct pr_command_header *header, void *body);
/* WRONG_STATE between start and stop. */
enum pr_status fw_loadpool_mode(struct fw *fw, struct pr_command_header *header, void *body);
/* WRONG_STATE unless the mode is automatic and recycling is stopped, or started. */
enum pr_status fw_loadpool_start(struct fw *fw, struct pr_command_header *header, void *body);
enum pr_status fw_loadpool_stop(struct fw *fw, struct pr_command_header *header, void *body);

#endif
