/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics: the profiler's table of engines, and the record of a call in its statistics buffer
 * (protocol/stats.h). Only calls with such a buffer are profiled: others cost nothing.
 */
#ifndef FIRMWARE_STATS_H
#define FIRMWARE_STATS_H

#include "firmware/state.h"

/* One engine, whose counters are 0. */
void fw_stats_init(struct fw *fw);
/* A call with a statistics buffer has ended, with its status set: counts it, and writes its record. */
void fw_stats_write(struct fw *fw, uint16_t number);

#endif
