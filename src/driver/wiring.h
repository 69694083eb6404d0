/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wiring: a program that the firmware does not have may leave DRAM. Text, weights and constants go to host
 * memory; container and working set are written again when it comes back, at whatever addresses it gets then.
 */
#ifndef DRIVER_WIRING_H
#define DRIVER_WIRING_H

#include "driver/state.h"

/* Bytes of a program's own in DRAM, in whole pages; and in host memory. */
uint64_t drv_wiring_wired(const struct drv_program *program);
uint64_t drv_wiring_pageable(const struct drv_program *program);

/*
 * LOST becomes UNWIRED; not an instance with its base's slot, and not a base whose instances with weights are
 * wired. False, and nothing has changed, when the host has no memory.
 */
bool drv_wiring_unwire(struct drv_program *program);
/*
 * A program that is UNWIRED becomes LOST, its base first; one in another state stays. The caller sees to it
 * that the program stays meanwhile: others may be unwired to make room, which waits. kIOReturnNoMemory with a
 * sentence; it stays UNWIRED.
 */
IOReturn drv_wiring_wire(struct drv_program *program);

#endif
