/* SPDX-License-Identifier: Apache-2.0 */
/* The firmware's container of a program (protocol/container.h), written from checked values. */
#ifndef DRIVER_CONTAINER_H
#define DRIVER_CONTAINER_H

#include "driver/state.h"

/*
 * Writes the container of a program whose procedures, text, kernel and constants are known, and says in each
 * procedure which of its buffers are the procedure's. The reason of a failure is the driver's last error.
 */
IOReturn drv_container_make(struct drv *driver, struct drv_program *program);

#endif
