/* SPDX-License-Identifier: Apache-2.0 */
/*
 * INFERENCE_CALL and the built-in networks. From the seeds, ch. 30: bufNbr == 1 + numIoBuffers, a pre-mapped
 * property buffer, CANE_SUB_PACKET_CMD_PROCEDURE_CALL, progProcInfo[builtinProgramId] with valid, progId and
 * procId, builtinProgramId < maxProgramServerSupported, id < CAneBuiltInNetworkId::ANE_NET_TOT. All places,
 * numbers and what the networks compute are CHOSEN.
 */
#ifndef PROTOCOL_INFERENCE_H
#define PROTOCOL_INFERENCE_H

#include "protocol/message.h"

/*
 * INFERENCE_CALL: program, process and procedure in the header. The first buffer is the property buffer,
 * whose address is one of the firmware's and which PREMAP_BUFFER has mapped for the process in
 * PR_POOL_PROPERTY; the others are the procedure's, as in a call. It is answered when its calls are accepted,
 * all of them or none; each ends with a PROGRAM_EVENT, whose cookie has the index of its sub-packet in the
 * last byte.
 *
 * With program_id PR_NO_ID the program and process are those of a built-in network, which is loaded at its
 * first use; the reply has both ids. With no buffers nothing is called.
 */
struct pr_body_inference {
    uint32_t buffers;  /* bufNbr */
    uint32_t built_in; /* builtinProgramId; 0 when the header names a program */
    uint32_t network;  /* enum pr_built_in_network, likewise */
    uint32_t zero;
    uint64_t cookie; /* its last byte is 0 */
    struct pr_buffer buffer[];
};
#define PR_INFERENCE_BYTES(buffers)        (0x18u + 0x30u * (buffers))
#define PR_INFERENCE_BUFFERS_MAX           (1u + PR_CALL_BUFFERS_MAX)
#define PR_INFERENCE_COOKIE(cookie, index) ((cookie) | (index))
_Static_assert(sizeof(struct pr_body_inference) == PR_INFERENCE_BYTES(0), "the buffers start at 0x18");
_Static_assert(PR_INFERENCE_BYTES(PR_INFERENCE_BUFFERS_MAX) + sizeof(struct pr_command_header) <
                   PR_MESSAGE_BYTES_MAX,
               "an inference call is a message");

/* What the property buffer holds: sub-packets, each of which is a procedure call with the same buffers. */
#define PR_SUB_PACKETS_MAX 16u
enum { PR_SUB_PACKET_PROCEDURE_CALL = 1 };
struct pr_sub_packet {
    uint32_t command; /* PR_SUB_PACKET_PROCEDURE_CALL */
    uint32_t procedure;
    uint32_t priority; /* below 8 */
    uint32_t flags;    /* 0 */
};
struct pr_inference_properties {
    uint32_t packets; /* 1 to PR_SUB_PACKETS_MAX */
    uint32_t zero;
    struct pr_sub_packet packet[PR_SUB_PACKETS_MAX];
};
#define PR_PROPERTIES_BYTES(packets) (8u + 16u * (packets))
_Static_assert(sizeof(struct pr_inference_properties) == PR_PROPERTIES_BYTES(PR_SUB_PACKETS_MAX),
               "sub-packets follow each other");
#define PR_PROPERTY_MAPS 4u /* property buffers that a process has at once; the oldest goes first */

/* Rows of progProcInfo; the host says which row has which network. */
#define PR_BUILT_IN_PROGRAMS_MAX 4u
/*
 * X(id, number, name, what it computes). A built-in network has one procedure. Its buffers have the indices
 * 0 (input) and 1 (output) and addresses of the base domain.
 */
#define PR_BUILT_IN_NETWORKS(X) X(COPY, 0, "copy", "y = x, one row of 32 fp16 values")
enum pr_built_in_network {
#define X(id, number, name, text) PR_NET_##id = number,
    PR_BUILT_IN_NETWORKS(X)
#undef X
        PR_NET_TOT
};
#define PR_NET_COPY_BYTES  64u
#define PR_BUILT_IN_STREAM 0u /* that of the base domain */

#endif
