/* SPDX-License-Identifier: Apache-2.0 */
/* Where a process has its program: text, kernel and constants in the domain of its client. */
#ifndef DRIVER_PLACEMENT_H
#define DRIVER_PLACEMENT_H

#include "driver/state.h"

/*
 * All of them, for a client with a domain. kIOReturnNoMemory without page tables, kIOReturnNoResources when
 * they do not fit, with a sentence; nothing is mapped then.
 */
IOReturn drv_placement_map(struct drv_process *process);
/* Does nothing where nothing is mapped. */
void drv_placement_unmap(struct drv_process *process);
/* The body of CREATE_PROCESS: the program's own buffers at these addresses. How long it is. */
uint32_t drv_placement_describe(const struct drv_process *process, struct pr_body_process *body);

#endif
