/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interrupt manager: the handlers of all lines, which record, post and return; and the task that logs
 * lines without an owner, drives the abort of stuck queues, and asks the host for a reset when an abort does
 * not clear.
 */
#ifndef FIRMWARE_INTMGR_H
#define FIRMWARE_INTMGR_H

#include "firmware/state.h"

/* Makes its timer and the reset mutex. False when a pool is exhausted. */
bool fw_intmgr_create(struct fw *fw);
/* A timer that raises the timeout interrupt. */
bool fw_intmgr_timeout(struct fw *fw, struct rt_timer **timer);
/* Attaches the handlers. */
void fw_intmgr_attach(struct fw *fw);
void fw_intmgr_run(struct fw *fw, const struct fw_record *record);
/* The execution loop has looked at the aborted queues: some are not vacant yet, or none is left. */
void fw_intmgr_checked(struct fw *fw, bool left);

#endif
