/* SPDX-License-Identifier: Apache-2.0 */
/* The execution loop: the task behind DATA_CHAIN_H2T and the engine. */
#ifndef FIRMWARE_EXELOOP_H
#define FIRMWARE_EXELOOP_H

#include "firmware/state.h"

/* Events of its machine (Table 29.8; those of the secure phase come with it). */
enum fw_exeloop_event { FW_EVENT_START, FW_EVENT_DISPATCH, FW_EVENT_DRAIN, FW_EVENTS };

/* Makes the task, its machine and its timer. False when a pool or the arena is exhausted. */
bool fw_exeloop_create(struct fw *fw);
/* The server's START: arms the loop. More urgent than the server, it has done so when this returns. */
enum pr_status fw_exeloop_start(struct fw *fw);

#endif
