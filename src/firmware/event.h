/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events that calls wait for and signal (protocol/call.h): counters of the firmware's, rows of the host's
 * table, and signals that are notifications. The execution loop's, except for the command of the table.
 */
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
/* The rule about all records of one call: shared events, of which two different ones may be active. */
enum pr_status fw_event_check_shared(struct fw *fw, const struct pr_event *event, uint32_t count);
/*
 * Whether a call that has waits has to wait. Then it is held: in flight, on no queue, and dispatched when its
 * last wait holds.
 */
bool fw_event_hold(struct fw *fw, uint16_t number);
/* The call has ended well: its signals. */
void fw_event_signal(struct fw *fw, const struct fw_call *call);
/* Values may have changed, or the loop was opened: held calls whose waits hold are dispatched. */
void fw_event_look(struct fw *fw);

/* Held calls that match in everything end with ABORTED; how many there were. */
uint32_t fw_event_end(struct fw *fw, const struct fw_event_match *match);
/* The same, and what ended is reported. */
uint32_t fw_event_cancel(struct fw *fw, const struct fw_event_match *match);
bool fw_event_matches(struct fw *fw, uint16_t number, const struct fw_event_match *match);
/* The same from another task, which waits for it. */
uint32_t fw_event_ask_cancel(struct fw *fw, enum fw_task from, const struct fw_event_match *match);
/* Every held call, and every one outside of the machine. */
#define FW_EVENT_MATCH_ALL                                                    \
    (struct fw_event_match)                                                   \
    {                                                                         \
        .process = PR_NO_ID, .last_level = PR_PRIORITIES - 1, .outside = true \
    }

/* INIT_SHARED_EVENT_INFO, by the server. */
enum pr_status fw_event_table(struct fw *fw, struct pr_command_header *header, void *body);

#endif
