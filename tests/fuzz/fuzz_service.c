/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any messages to a session of the service: each is answered by one reply of the right form or ends the
 * session; the next session is served, and no descriptor is left.
 *
 * Input: messages, each of a byte of flags, a byte of type, two bytes of the body's size, and the body.
 */
#include "service.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Flags of a message; the low bits are how many descriptors come with it. */
enum { DESCRIPTORS = 7, WRONG_MAGIC = 1 << 3, WRONG_VERSION = 1 << 4, WRONG_SIZE = 1 << 5, CUT = 1 << 6 };

/* True when the session goes on. */
static bool send_one(const struct fuzz_session *session, const uint8_t *data, size_t body)
{
    struct pr_service_header head = {.magic = PR_SERVICE_MAGIC ^ (data[0] & WRONG_MAGIC),
                                     .version = PR_SERVICE_VERSION + !!(data[0] & WRONG_VERSION),
                                     .type = data[1],
                                     .serial = data[2],
                                     .bytes = (uint32_t)body + !!(data[0] & WRONG_SIZE)};
    uint8_t bytes[sizeof(head) + PR_SERVICE_BODY], reply[PR_SERVICE_BODY];
    unsigned count = (data[0] & DESCRIPTORS) % (PR_SERVICE_FDS + 1);
    struct pr_service_header answer;
    int fds[PR_SERVICE_FDS];
    bool goes_on;

    memcpy(bytes, &head, sizeof(head));
    memcpy(bytes + sizeof(head), data + 4, body);
    for (unsigned i = 0; i < count; i++)
        fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    goes_on = svc_peer_message(session->peer, bytes,
                               data[0] & CUT ? body % sizeof(head) : sizeof(head) + body, fds, count);
    require(fuzz_session_reply(session, &answer, reply));
    require(answer.serial == head.serial || data[0] & CUT);
    require(!fuzz_session_reply(session, &answer, reply));
    return goes_on;
}

/* A client of its own after every input. */
static void serve_another(void)
{
    const struct pr_service_hello hello = {.role = PR_SERVICE_ROLE_CLIENT};
    const struct pr_service_surface_create create = {.bytes = 4096};
    uint8_t reply[PR_SERVICE_BODY];
    struct fuzz_session session;

    fuzz_session_begin(&session);
    fuzz_session_call(&session, PR_SERVICE_HELLO, &hello, sizeof(hello), reply);
    fuzz_session_call(&session, PR_SERVICE_SURFACE, &create, sizeof(create), reply);
    fuzz_session_end(&session);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_session session;
    static unsigned descriptors;

    if (!fuzz_service.machine) {
        fuzz_service_make();
        serve_another();
        descriptors = fuzz_descriptors();
    }
    fuzz_session_begin(&session);
    while (size >= 4) {
        size_t body = (data[2] | (size_t)data[3] << 8) % (PR_SERVICE_BODY + 1);

        if (body > size - 4)
            body = size - 4;
        if (!send_one(&session, data, body))
            break;
        data += 4 + body;
        size -= 4 + body;
    }
    fuzz_session_end(&session);
    serve_another();
    require(fuzz_descriptors_are(descriptors) && fuzz_service.sessions == 0);
    return 0;
}
