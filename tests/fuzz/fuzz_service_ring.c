/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes in a slot of a session's ring: the call has an outcome, a refusal has a sentence, and a good call
 * in the next slot is served. The connection is a control client's or a direct-path client's.
 *
 * Input: calls, each of a byte that says what is set right (a mask), then 92 bytes over the slot's words,
 * then two bytes of a length and as many over its input struct.
 */
#include "service.h"

#include <anemone/iokit.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WORDS_AT offsetof(struct pr_ring_slot, operation)
#define WORDS    92u
#define CALLS    16u /* of one input */

enum {
    RIGHT_CONNECT = 1 << 0, /* bits: which */
    CONTROL = 1 << 1,
    RIGHT_OPERATION = 1 << 2,
    RIGHT_COUNTS = 1 << 3,
    SAME_SLOT = 1 << 4, /* what the last call left in it stays */
};

static struct fuzz_session session;
static uint32_t connects[2];
static unsigned hint;

static uint32_t open_client(uint32_t type)
{
    struct pr_service_registry find = {.step = PR_SERVICE_REGISTRY_FIND, .key = "H11ANEIn"};
    struct pr_service_open request = {.type = type};
    struct pr_service_registry_value found;
    struct pr_service_connect connect;
    uint8_t reply[PR_SERVICE_BODY];

    fuzz_session_call(&session, PR_SERVICE_REGISTRY, &find, sizeof(find), reply);
    memcpy(&found, reply, sizeof(found));
    request.entry = found.entry;
    fuzz_session_call(&session, PR_SERVICE_OPEN, &request, sizeof(request), reply);
    memcpy(&connect, reply, sizeof(connect));
    return connect.connect;
}

static void serve(struct pr_ring_slot *slot)
{
    slot->state = PR_RING_POSTED;
    svc_ring_serve(session.peer, slot, &hint);
    require(slot->state == PR_RING_DONE);
    require(memchr(slot->sentence, '\0', sizeof(slot->sentence)) || !slot->result);
}

static void begin(void)
{
    const struct pr_service_hello hello = {.role = PR_SERVICE_ROLE_CLIENT};
    uint8_t reply[PR_SERVICE_BODY];

    fuzz_session_begin(&session);
    fuzz_session_call(&session, PR_SERVICE_HELLO, &hello, sizeof(hello), reply);
    connects[0] = open_client(ANE_CLIENT_DIRECT_PATH);
    connects[1] = open_client(ANE_CLIENT_CONTROL);
}

/* GetVersion on a new connection: 96 (Table 27.9). */
static void serve_good(void)
{
    const struct ane_device_info info = {.token = ANE_USAGE_STANDARD};
    struct pr_ring_slot *slot = &session.peer->ring.slot[1];
    uint32_t connect = open_client(ANE_CLIENT_CONTROL);

    *slot = (struct pr_ring_slot){.operation = PR_RING_METHOD,
                                  .connect = connect,
                                  .selector = ANE_CONTROL_DeviceOpen,
                                  .struct_in = sizeof(info),
                                  .struct_out = sizeof(info)};
    memcpy(slot->in, &info, sizeof(info));
    serve(slot);
    require(slot->result == kIOReturnSuccess);
    *slot = (struct pr_ring_slot){.operation = PR_RING_METHOD,
                                  .connect = connect,
                                  .selector = ANE_CONTROL_GetVersion,
                                  .scalars_out = 1};
    serve(slot);
    require(slot->result == kIOReturnSuccess && slot->scalar_out[0] == 96);
}

/* The counts of a selector of either client, where it is one. */
static void set_counts(struct pr_ring_slot *slot, bool control)
{
    static const struct {
        uint32_t scalars_in, struct_in, scalars_out, struct_out;
    } counts[2][32] = {
#define ROW(with, number, name, scalars_in, struct_in, scalars_out, struct_out) \
    [with][number] = {scalars_in, struct_in, scalars_out, struct_out},
        ANE_CONTROL_METHODS(ROW, 1) ANE_DIRECT_METHODS(ROW, 0)
#undef ROW
    };
    uint32_t number = slot->selector % 20;

    slot->selector = number;
    slot->scalars_in = counts[control][number].scalars_in;
    slot->struct_in = counts[control][number].struct_in;
    slot->scalars_out = counts[control][number].scalars_out;
    slot->struct_out = counts[control][number].struct_out;
    slot->absent = 0;
}

/* No call may wait for what this process alone could do. */
static void bound_wait(struct pr_ring_slot *slot)
{
    if (slot->operation == PR_RING_EVENT && slot->selector == PR_RING_EVENT_WAIT)
        slot->scalar_in[2] %= 1000;
}

static size_t call(const uint8_t *data, size_t size)
{
    struct pr_ring_slot *slot = &session.peer->ring.slot[0];
    size_t words = size - 1 < WORDS ? size - 1 : WORDS, rest = size - 1 - words, length = 0;
    const uint8_t *at = data + 1 + words;

    if (!(data[0] & SAME_SLOT))
        memset(slot, 0, sizeof(*slot));
    memcpy((uint8_t *)slot + WORDS_AT, data + 1, words);
    if (rest >= 2) {
        length = (at[0] | (size_t)at[1] << 8) % (PR_RING_DATA + 1);
        rest -= 2;
        length = length > rest ? rest : length;
        memcpy(slot->in, at + 2, length);
        length += 2;
    }
    if (data[0] & RIGHT_CONNECT)
        slot->connect = connects[!!(data[0] & CONTROL)];
    if (data[0] & RIGHT_OPERATION)
        slot->operation = 1 + slot->operation % PR_RING_EVENT;
    if (data[0] & RIGHT_COUNTS)
        set_counts(slot, data[0] & CONTROL);
    bound_wait(slot);
    serve(slot);
    return 1 + words + length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unsigned descriptors;

    if (!fuzz_service.machine) {
        fuzz_service_make();
        begin();
        fuzz_session_end(&session);
        descriptors = fuzz_descriptors();
    }
    begin();
    for (unsigned i = 0; i < CALLS && size > 1; i++) {
        size_t used = call(data, size);

        data += used;
        size -= used;
    }
    serve_good();
    fuzz_session_end(&session);
    require(fuzz_descriptors_are(descriptors) && fuzz_service.sessions == 0);
    return 0;
}
