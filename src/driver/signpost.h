/* SPDX-License-Identifier: Apache-2.0 */
/* The firmware's signposts: one trace event for each, also for those of a group. */
#ifndef DRIVER_SIGNPOST_H
#define DRIVER_SIGNPOST_H

#include "driver/notification.h"

void drv_signpost_take(struct drv *driver, const union drv_notification *message);
void drv_signpost_take_group(struct drv *driver, const union drv_notification *message);
void drv_signpost_take64(struct drv *driver, const union drv_notification *message);
void drv_signpost_take_group64(struct drv *driver, const union drv_notification *message);

#endif
