/* SPDX-License-Identifier: Apache-2.0 */
/* The execution loop: the task behind DATA_CHAIN_H2T and the engine. */
#ifndef FIRMWARE_EXELOOP_H
#define FIRMWARE_EXELOOP_H

#include "firmware/state.h"

/* Events of its machine: START and STOP of the host's, which are ours, and the alphabet of four. */
enum fw_exeloop_event {
    FW_EVENT_START,
    FW_EVENT_STOP,
#define X(id, name, meaning) FW_EVENT_##id,
    PR_EXECUTION_EVENTS(X)
#undef X
        FW_EVENTS
};

/* Makes its machine and its timer. False when a pool is exhausted. */
bool fw_exeloop_create(struct fw *fw);
/* The task: START, STOP and RESET of the server's, which it answers, and looks. */
void fw_exeloop_run(struct fw *fw, const struct fw_record *record);
/*
 * An entered call begins: the dispatch event of the machine. A call that the present mode does not admit
 * waits outside of the machine instead (secure.h).
 */
void fw_exeloop_dispatch(struct fw *fw, uint16_t number);
/* Calls wait, run or are held. */
bool fw_exeloop_busy(const struct fw *fw);
/*
 * Fails when the loop is neither in EXEC nor in EXEC-SECURE: what touches the hardware of a call says so
 * first (seeds ch. 29).
 */
void fw_exeloop_check(struct fw *fw, const char *what);
/* Closes the loop for a reason of FW_CLOSED_*, or takes that reason back. Any context. */
void fw_exeloop_close(struct fw *fw, uint32_t reason);
void fw_exeloop_open(struct fw *fw, uint32_t reason);

#endif
