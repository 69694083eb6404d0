/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The post-mortem dump, drained: the controller stages one section at a time in its heap and rings; each is
 * copied and acknowledged, until the controller says that there are no more. What came is handed to the
 * platform as a file (protocol/dump.h).
 */
#ifndef DRIVER_DUMP_H
#define DRIVER_DUMP_H

#include "driver/state.h"

/* The controller rang PR_DOORBELL_CRASH: takes what is staged. The first section of a dump begins it. */
void drv_dump_take(struct drv *driver);
/*
 * A dump has begun and has not ended. A controller that stages nothing for DRV_DUMP_LIMIT_NS ends it: what
 * came is kept as an incomplete dump.
 */
#define DRV_DUMP_LIMIT_NS (100 * DRV_MS)
bool drv_dump_is_draining(struct drv *driver);
/* A section is staged that was not taken: the doorbell was lost. */
bool drv_dump_is_staged(struct drv *driver);
/* There will be no dump: the controller has stopped without one. */
void drv_dump_skip(struct drv *driver, const char *why);
/* Why the firmware failed, as the last dump says; never NULL. */
const char *drv_dump_reason(const struct drv *driver);

#endif
