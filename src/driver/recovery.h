/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recovery: from a firmware that has failed to one that is ready. The same steps, without the first, wake a
 * device that sleeps. It runs from timer events, behind the closed command gate: docs/recovery.md.
 */
#ifndef DRIVER_RECOVERY_H
#define DRIVER_RECOVERY_H

#include "driver/state.h"

/* The controller rang PR_DOORBELL_CRASH: a section of its dump is staged. */
void drv_recovery_crash(struct drv *driver);
/* CH_RESET_NOTIFICATION: an abort did not clear these queues. RESET is sent, and recovery follows. */
void drv_recovery_reset(struct drv *driver, uint32_t first_queue, uint32_t last_queue);
/* Something was not answered in time: recovery begins if the controller has stopped or has staged a dump. */
void drv_recovery_suspect(struct drv *driver);
/* The firmware has stopped: the driver forgets what it had there. Power is on. */
void drv_recovery_forget(struct drv *driver);
/* From its beginning to its end. */
bool drv_recovery_is_active(const struct drv *driver);
/* Its next step is due again, if there was no timer for it when it was to be set. */
void drv_recovery_go_on(struct drv *driver);
/* The firmware does not obey: it is stopped without a dump. */
void drv_recovery_restart(struct drv *driver, const char *cause);
/* A device that sleeps wakes. */
void drv_recovery_wake(struct drv *driver);

/*
 * The gate is held and the channels are not ready: wakes a device that sleeps, and recovers again after a
 * recovery that failed, if the last one began PR_RECOVERY_INTERVAL_NS ago. Without a deadline it waits until
 * that is over. False, without the gate, when the
 * deadline passed first; the channels may still not be ready when it returns true.
 */
bool drv_recovery_rouse(struct drv *driver, struct drv_deadline *deadline);

#endif
