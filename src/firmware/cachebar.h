/* SPDX-License-Identifier: Apache-2.0 */
/* BARs that every execution of a cache request sets itself (protocol/cache.h, protocol/call.h). */
#ifndef FIRMWARE_CACHEBAR_H
#define FIRMWARE_CACHEBAR_H

#include "firmware/state.h"

/* Checks the bars of an install; `mask` gets a bit per BAR that they set. */
enum pr_status fw_cachebar_check(struct fw *fw, const struct fw_program *program, uint32_t procedure,
                                 const struct pr_custom_bar *bar, uint32_t count, uint32_t *mask);
/* Binds the buffers of the procedure at these BARs, which no trigger and no set has. */
enum pr_status fw_cachebar_bind(struct fw *fw, const struct fw_cache_request *request);
/* The BARs of the draft. */
void fw_cachebar_apply(const struct fw_cache_request *request, struct fw_call *draft);

#endif
