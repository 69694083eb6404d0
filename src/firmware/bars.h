/* SPDX-License-Identifier: Apache-2.0 */
/* BARs that a call sets itself, by number (protocol/call.h). The execution loop's. */
#ifndef FIRMWARE_BARS_H
#define FIRMWARE_BARS_H

#include "firmware/state.h"

/*
 * Checks the bars against the requests in exeloop.request, and keeps their values: fw_call_draft takes a BAR
 * of these in place of a buffer, until fw_call_unbind.
 */
enum pr_status fw_bars_bind(struct fw *fw, const struct fw_program *program, const struct pr_custom_bar *bar,
                            uint32_t count);

#endif
