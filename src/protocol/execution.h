/* SPDX-License-Identifier: Apache-2.0 */
/* The execution loop and its scheduler (seeds Tables 29.6 and 29.8): states, bands, deadline, network ids. */
#ifndef PROTOCOL_EXECUTION_H
#define PROTOCOL_EXECUTION_H

#include "protocol/message.h"
#include "protocol/tm_regs.h"

/*
 * States of the loop (Table 29.8). PAUSE is a named transient, whose number no source gives (CHOSEN).
 * EXEC_SECURE lasts as long as the secure phase does, also while nothing is in flight: the table has no other
 * state for that. X(id, number, name, meaning)
 */
#define PR_EXECUTION_STATES(X)                                                                               \
    X(INIT, 0, "INIT",                                                                                       \
      "the start node, after the loop is constructed but before it is armed; no hardware work dispatches")   \
    X(RUN, 1, "RUN", "non-secure and runnable, the engine is powered and owned but nothing is in flight")    \
    X(EXEC, 2, "EXEC", "a task-descriptor partition is in flight, non-secure; a handler may touch hardware") \
    X(EXEC_SECURE, 3, "EXEC-SECURE",                                                                         \
      "in flight while the secure phase is asserted, the engine owned by the secure tenant")                 \
    X(PAUSE, 4, "PAUSE", "fully quiesced for a secure-mode boundary, rejects all events")
enum pr_execution_state {
#define X(id, number, name, meaning) PR_EXECUTION_##id = (number),
    PR_EXECUTION_STATES(X)
#undef X
        PR_EXECUTION_COUNT
};

/* The events that drive it (seeds ch. 29). X(id, name, meaning) */
#define PR_EXECUTION_EVENTS(X)                                         \
    X(DISPATCH, "dispatch", "a procedure call or trigger is accepted") \
    X(DRAIN, "drain", "toward idle")                                   \
    X(ENTER_SECURE, "enter-secure", "into the secure phase")           \
    X(EXIT_SECURE, "exit-secure", "out of the secure phase")

/* Levels are strict, 0 first: the system's band up to PR_PRIORITY_REALTIME_MAX, then the applications'. */
_Static_assert(PR_PRIORITY_REALTIME_MAX == 1 && PR_PRIORITIES == 8, "Table 29.6");

#define PR_DEADLINE_MS 2000u /* an unretired request is not waited for longer */
#define PR_DEADLINE_NS (PR_DEADLINE_MS * 1000000ull)

/* So long the firmware waits in PAUSE for the host's SECURE_MODE_RESUME_TRANSITION (CHOSEN: as a queue). */
#define PR_SECURE_RESUME_NS PR_DEADLINE_NS

/*
 * Recovery is rate-limited (seeds ch. 29 gives no number; CHOSEN): one begins so much virtual time after the
 * last began, at the earliest. Until then the channels are not ready.
 */
#define PR_RECOVERY_INTERVAL_NS 20000000ull

/*
 * The key that a submission is queued under (seeds ch. 30). What each part is here is CHOSEN: userId is the
 * client of the process, jobId the number of the command in the ring of recent ones. A level has a hardware
 * queue and a slot of schedule info of its own number, so fwPriority, hwqId and queueId are the same.
 * X(id, name)
 */
#define PR_SCHEDULER_KEY(X)   \
    X(USER, "userId")         \
    X(JOB, "jobId")           \
    X(PRIORITY, "fwPriority") \
    X(HWQ, "hwqId")           \
    X(TQ, "tqId")             \
    X(QUEUE, "queueId")
enum pr_key_part {
#define X(id, name) PR_KEY_##id,
    PR_SCHEDULER_KEY(X)
#undef X
        PR_KEY_PARTS
};
#define PR_SCHEDULE_SLOTS PR_PRIORITIES /* priorityQCount */

/* What the firmware marks at its port for who watches it from outside (CHOSEN). */
enum pr_mark {
    PR_MARK_SCHEDULE = 1, /* a push; the words are the key's */
};

/* A running call has a network id of its own. */
#define PR_NETWORK_ID_MIN 1u
#define PR_NETWORK_ID_MAX 255u

/* Words of the queue's register file that a push writes: the BARs, network id, size and address. */
#define PR_TQ_SUBMIT_WORDS (PR_TQ_BARS + 3)
_Static_assert(PR_TQ_SUBMIT_WORDS == 35, "Table 29.6");

#define PR_DOORBELL_TARGETS 3u /* host doorbells of one completion */

#endif
