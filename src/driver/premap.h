/* SPDX-License-Identifier: Apache-2.0 */
/* Pre-maps: the firmware rebases a mapped surface ahead of the first request that binds it. */
#ifndef DRIVER_PREMAP_H
#define DRIVER_PREMAP_H

#include "driver/state.h"

/*
 * One PREMAP_BUFFER for each port of the program that has the usage of the map and takes no more bytes than
 * the surface has from the offset on. The process is pinned and live, the mapping is in use. May wait.
 */
IOReturn drv_premap_send(struct drv_process *process, const struct ane_memory_map *map,
                         const struct drv_mapping *mapping);

#endif
