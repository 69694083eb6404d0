/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The virtual time of one dispatch (ch. 2): the stages of Table 2.3, measured on an M1 with a tiny network in
 * a loop. With timing m1 each layer spends its own stage; with timing none only the delays at the end of this
 * file and the engine's cost remain. `anemone spec` prints the first table.
 */
#ifndef PROTOCOL_TIMING_H
#define PROTOCOL_TIMING_H

/* X(id, stage, from, to), tenths of a microsecond */
#define PR_TIMING_TENTHS_PER_US 10
#define PR_TIMING_STAGES(X)                                                               \
    X(BIND, "user-space binding, runtime, and host fp16 input and output copy", 250, 250) \
    X(BUILD, "building the firmware request", 160, 160)                                   \
    X(KICK, "firmware kick: the doorbell, which returns asynchronously", 20, 30)          \
    X(ROUND_TRIP, "firmware round trip", 1300, 1300)                                      \
    X(COMPLETE, "kernel-side completion processing", 100, 100)

enum pr_timing_stage {
#define X(id, stage, from, to) PR_TIMING_##id,
    PR_TIMING_STAGES(X)
#undef X
        PR_TIMING_STAGE_COUNT
};

/* A stage takes the middle of its range. */
enum {
#define X(id, stage, from, to) PR_TIMING_##id##_NS = ((from) + (to)) * (500 / PR_TIMING_TENTHS_PER_US),
    PR_TIMING_STAGES(X)
#undef X
};

/* Measured as wholes: the call, and the send-request method in it from entry to return. */
#define PR_TIMING_CALL_US   190
#define PR_TIMING_METHOD_US 163

enum {
    /* What the stages leave of the method and of the call: the table does not divide it. */
    PR_TIMING_METHOD_REST_NS = PR_TIMING_METHOD_US * 1000 - PR_TIMING_BUILD_NS - PR_TIMING_KICK_NS -
                               PR_TIMING_ROUND_TRIP_NS - PR_TIMING_COMPLETE_NS,
    PR_TIMING_CALL_REST_NS = (PR_TIMING_CALL_US - PR_TIMING_METHOD_US) * 1000 - PR_TIMING_BIND_NS,
    /* What the user-space side of a call spends. */
    PR_TIMING_USER_NS = PR_TIMING_BIND_NS + PR_TIMING_CALL_REST_NS,

    /* Delays of every timing. */
    PR_TIMING_CONTROLLER_NS = 400, /* CHOSEN: from a line to the first instruction of the controller */
    PR_TIMING_HOST_NS = 100,       /* CHOSEN: from a line to the host's handler */

    /*
     * The engine's time for the network that was measured (3x3 convolution from 8 channels to 8, relu, mean,
     * over 16x16, the result of the first descriptor in L2), by the cost model of the M1 Max, on which it was
     * measured.
     */
    PR_TIMING_NETWORK_NS = 750,

    /*
     * The rest of the round trip: the controller wakes and picks the command up. It is the same for every
     * program, so that a program whose descriptors take longer has a longer round trip.
     */
    PR_TIMING_PICK_UP_NS =
        PR_TIMING_ROUND_TRIP_NS - 2 * PR_TIMING_CONTROLLER_NS - PR_TIMING_HOST_NS - PR_TIMING_NETWORK_NS,

    /* What timing m1 adds to a call, of the method alone and with its user-space side. */
    PR_TIMING_METHOD_ADDS_NS = PR_TIMING_METHOD_US * 1000 - PR_TIMING_ROUND_TRIP_NS + PR_TIMING_PICK_UP_NS,
    PR_TIMING_CALL_ADDS_NS = PR_TIMING_METHOD_ADDS_NS + PR_TIMING_USER_NS,
};

_Static_assert(PR_TIMING_METHOD_REST_NS >= 0 && PR_TIMING_CALL_REST_NS >= 0 && PR_TIMING_PICK_UP_NS > 0,
               "the stages are within what was measured");

#endif
