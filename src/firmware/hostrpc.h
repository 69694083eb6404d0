/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon of the host's remote procedure calls: what the firmware asks of the host (SHAREDMALLOC), sends
 * it (TERMINAL) and gets back from it (BUF_H2T).
 */
#ifndef FIRMWARE_HOSTRPC_H
#define FIRMWARE_HOSTRPC_H

#include "firmware/state.h"

/* Makes the queue of log lines. False when a pool or the arena is exhausted. */
bool fw_hostrpc_create(struct fw *fw);
/* Before its first record: asks for the log buffer. */
void fw_hostrpc_first(struct fw *fw);
void fw_hostrpc_run(struct fw *fw, const struct fw_record *record);

#endif
