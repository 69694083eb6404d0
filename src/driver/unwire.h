/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unwire worker: takes back mappings that no request needs, at the end of a client's call. Completions
 * only say that there is work, so that an interrupt never changes page tables.
 */
#ifndef DRIVER_UNWIRE_H
#define DRIVER_UNWIRE_H

#include "driver/state.h"

/* A mapping has lost its last use. */
void drv_unwire_idle(struct drv *driver, struct drv_mapping *mapping);
/* With the gate held, and no wait under way in the call that runs it. */
void drv_unwire_run(struct drv *driver);

#endif
