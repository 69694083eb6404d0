/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Endpoints (seeds ch. 30): the host binds one before it posts. The execution loop's has the data-chaining
 * type, and names the doorbells that a completion rings: up to three pairs of register and bit. Calls are
 * refused until it is bound. Places and numbers are CHOSEN.
 */
#ifndef PROTOCOL_ENDPOINT_H
#define PROTOCOL_ENDPOINT_H

#include "protocol/execution.h"
#include "protocol/message.h"

/* CSNE_CMD_IPC_ENDPOINT_TYPE_DATA_CHAINING. */
enum pr_endpoint_type { PR_ENDPOINT_DATA_CHAINING = 1 };

/* A doorbell target; mask 0: none. Target 0 is the host's own doorbell, which every endpoint has. */
struct pr_doorbell_target {
    uint64_t reg; /* physical address of the register */
    uint32_t bits;
    uint32_t zero;
};
/*
 * IPC_ENDPOINT_SET and IPC_ENDPOINT_SET2: 0x30 bytes are known of the second (command facts 2), not what they
 * hold. The first form has the ring of the endpoint, which must be that of the channel table; the second
 * form has its doorbell targets. The data-chaining endpoint is bound when it has both.
 */
struct pr_body_endpoint {
    uint32_t endpoint; /* endPointId: enum pr_endpoint_type */
    uint32_t channel;  /* enum pr_channel */
    uint64_t ring, bytes;
};
struct pr_body_endpoint2 {
    uint32_t endpoint;
    uint32_t targets; /* 1 to PR_DOORBELL_TARGETS */
    struct pr_doorbell_target target[PR_DOORBELL_TARGETS];
};
_Static_assert(sizeof(struct pr_body_endpoint) == 0x18 && sizeof(struct pr_body_endpoint2) == 0x38,
               "no padding");
/* What the host sends after the boot commands, before its first call (CHOSEN order). X(command, purpose) */
#define PR_BIND_COMMANDS(X)                               \
    X(IPC_ENDPOINT_SET, "the ring of the execution loop") \
    X(IPC_ENDPOINT_SET2, "the doorbell targets of completions")
/* IPC_ENDPOINT_UNSET and IPC_ENDPOINT_UNSET2: one word, the endpoint. BUSY while calls are in flight. */

#endif
