/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The post-mortem dump (protocol/dump.h): staged section by section, each taken by the host before the next.
 */
#ifndef FIRMWARE_DUMP_H
#define FIRMWARE_DUMP_H

#include "firmware/state.h"

/* From here on a fault is dumped. The extra heap is mapped. */
void fw_dump_install(struct fw *fw);

#endif
