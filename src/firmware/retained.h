/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What survives a reset: the restart count in a register that keeps its value, and the retained block with
 * the ring of recent commands and the position of the log.
 */
#ifndef FIRMWARE_RETAINED_H
#define FIRMWARE_RETAINED_H

#include "firmware/state.h"

/* Counts the restart, and keeps the block when the boot is warm and the block is whole; else clears it. */
void fw_retained_boot(struct fw *fw, const struct fw_reset *reset, bool warm);

/*
 * A command was taken from its channel: where it is in the ring, until it ends. By the execution loop, or
 * with interrupts masked.
 */
uint32_t fw_retained_take(struct fw *fw, enum pr_channel channel, uint32_t id, uint32_t program,
                          uint32_t process, uint32_t procedure);
void fw_retained_end(struct fw *fw, uint32_t ticket, uint32_t status);
/* A log line went to the host. With interrupts masked. */
void fw_retained_line(struct fw *fw);
/* The ring, newest first. */
void fw_retained_list(const struct fw *fw, struct pr_dump_commands *list);

#endif
