/* SPDX-License-Identifier: Apache-2.0 */
/* Between kernel.c and kernel_expand.c: the planes of an engine's stream. */
#ifndef PROGRAM_KERNEL_PLANE_H
#define PROGRAM_KERNEL_PLANE_H

#include "program/kernel.h"

/* A plane: the weights of `lanes` output channels from `channel` on, on one engine. */
struct pr_plane {
    uint32_t engine;
    uint32_t next; /* how many have been given */
    uint32_t channel, lanes;
};
/* The engine's next plane of a group; begin with {.engine = e}. False when there is none left. */
bool pr_plane_next(const struct pr_task *task, struct pr_plane *plane);

/* Contiguous weights for each input channel and kernel position in a plane of so many lanes. */
uint32_t pr_plane_slots(const struct pr_task *task, uint32_t lanes);
/* Kernel positions that are walked: the window, enlarged to whole strides. */
uint32_t pr_plane_positions(const struct pr_task *task);

#endif
