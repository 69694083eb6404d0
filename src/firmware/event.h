/* SPDX-License-Identifier: Apache-2.0 */
/* Events that calls wait for and signal (protocol/call.h). The execution loop's. */
#ifndef FIRMWARE_EVENT_H
#define FIRMWARE_EVENT_H

#include "firmware/state.h"

/* The events of a call: the waits, then the signals. A block of the system arena, freed with the call. */
struct fw_call_events {
    uint32_t waits, signals;
    struct pr_event event[];
};

/* No event has a value yet, and no call is held. */
void fw_event_init(struct fw *fw);
/* Whether a record is sound: its rule when it is not. `signal`: the call signals it, else it waits. */
enum pr_status fw_event_check(struct fw *fw, const struct pr_event *event, bool signal);
/* Whether a call that has waits has to wait. Then it is kept, and dispatched when its last wait holds. */
bool fw_event_hold(struct fw *fw, uint16_t number);
/* The call has ended well: its signals. */
void fw_event_signal(struct fw *fw, const struct fw_call *call);

#endif
