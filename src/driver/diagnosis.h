/* SPDX-License-Identifier: Apache-2.0 */
/* What went wrong with a request, in words: the client, the program, the descriptor, the DART's registers. */
#ifndef DRIVER_DIAGNOSIS_H
#define DRIVER_DIAGNOSIS_H

#include "driver/state.h"

/* The firmware said so. Returns the request's result. */
IOReturn drv_diagnosis_failure(struct drv *driver, const struct drv_request *request);
/*
 * The firmware has not answered in time. Each place where an answer can get lost has its own sentence; an
 * answer that is in the ring is taken. Returns kIOReturnTimeout.
 */
IOReturn drv_diagnosis_timeout(struct drv *driver, const struct drv_request *request);

#endif
