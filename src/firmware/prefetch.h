/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory cache's contents: with a data-set id (DSID_SET), the kernel and the constants of a program are
 * there from its load on, as far as the cache has room (CHOSEN model: sizes are counted, time is not). The
 * tasks that run control commands.
 */
#ifndef FIRMWARE_PREFETCH_H
#define FIRMWARE_PREFETCH_H

#include "firmware/state.h"

/* A program was loaded; and is unloaded. */
void fw_prefetch_load(struct fw *fw, uint32_t slot);
void fw_prefetch_unload(struct fw *fw, struct fw_program *program);
/* The memory cache is switched off and loses everything. */
void fw_prefetch_lose(struct fw *fw);

#endif
