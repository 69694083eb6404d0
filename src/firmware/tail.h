/* SPDX-License-Identifier: Apache-2.0 */
/* The tail of a call with bars or with events (protocol/call.h). The execution loop's. */
#ifndef FIRMWARE_TAIL_H
#define FIRMWARE_TAIL_H

#include "firmware/state.h"

/* Checks the tail of a message whose head and buffers are sound: its requests and bars are known then. */
enum pr_status fw_tail_take(struct fw *fw, const struct pr_call *message, uint64_t length);
/* Gives the call of a sound message its events. */
enum pr_status fw_tail_attach(struct fw *fw, const struct pr_call *message, uint16_t number);
/* Whether all cache requests end before the call begins. */
bool fw_tail_disables_cache(const struct pr_call *message);
/* The lines of an accepted call: its shape, bars and events. */
void fw_tail_log(struct fw *fw, const struct pr_call *message);

#endif
