/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TERMINAL: log lines for the host. Their text is in a buffer that the firmware asks the host for over
 * SHAREDMALLOC, one cell per slot; until the answer comes, and while the host holds all slots, lines are only
 * in the kernel's log.
 */
#ifndef FIRMWARE_TERMINAL_H
#define FIRMWARE_TERMINAL_H

#include "firmware/state.h"

#define FW_TERMINAL_TAG          0x474f4cu /* "LOG" */
#define FW_TERMINAL_BUFFER_BYTES 0x20000u

/* Asks for the buffer. */
void fw_terminal_request(struct fw *fw);
/* The host rang on SHAREDMALLOC. */
void fw_terminal_answer(struct fw *fw);
void fw_terminal_line(struct fw *fw, const char *text, size_t length);

#endif
