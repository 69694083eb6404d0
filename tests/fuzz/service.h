/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A service in the fuzzer's own process, without its processes and threads: a machine, a policy that grants
 * every key, and sessions of socket pairs whose messages the target gives to svc_peer_message itself.
 */
#ifndef TESTS_FUZZ_SERVICE_H
#define TESTS_FUZZ_SERVICE_H

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/packet.h"
#include "protocol/entitlement.h"
#include "require.h"
#include "service/client.h"
#include "service/log.h"
#include "service/peer.h"

/* Instead of the service's own: a line for each message would be all that a fuzzer does. */
void svc_log(const char *format, ...)
{
    (void)format;
}
void svc_log_client(const char *format, ...)
{
    (void)format;
}

static struct svc_service fuzz_service;

static inline void fuzz_service_make(void)
{
    struct ane_machine_config config = {
        .size = sizeof(config), .firmware = 1, .dram_bytes = 128u << 20, .clock = ANE_CLOCK_CLOSED};
    struct ane_machine *machine;
    struct svc_policy *policy;
    struct base_error error;
    char text[4096] = "match uid *\n";

#define X(id, key, capability, holders, kind) strcat(text, "    allow " key "\n");
    PR_ENTITLEMENTS(X)
#undef X
    svc_client_is_service();
    require(ane_machine_create(&config, &machine) == 0);
    require(svc_policy_parse("fuzz", text, &policy, &error) == 0);
    require(svc_service_init(&fuzz_service, machine, policy, &error) == 0);
}

struct fuzz_session {
    struct svc_peer *peer;
    int client; /* the other end of its socket, which does not block */
};

static inline void fuzz_session_begin(struct fuzz_session *session)
{
    struct base_error error;
    int pair[2];

    require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    require(fcntl(pair[0], F_SETFL, O_NONBLOCK) == 0);
    require(svc_peer_make(&fuzz_service, pair[1], PR_SERVICE_ROLE_CLIENT, &session->peer, &error) == 0);
    session->client = pair[0];
}

static inline void fuzz_session_end(struct fuzz_session *session)
{
    close(session->client);
    svc_peer_end(session->peer);
}

/* The reply that is there, whose form must be right; false when there is none. Its descriptors are closed. */
static inline bool fuzz_session_reply(const struct fuzz_session *session, struct pr_service_header *head,
                                      uint8_t body[PR_SERVICE_BODY])
{
    uint8_t bytes[sizeof(*head) + PR_SERVICE_BODY];
    int fds[PR_SERVICE_FDS];
    unsigned count = 0;
    long size = base_packet_receive(session->client, bytes, sizeof(bytes), fds, PR_SERVICE_FDS, &count);

    if (size <= 0)
        return false;
    require((size_t)size >= sizeof(*head));
    memcpy(head, bytes, sizeof(*head));
    require(head->magic == PR_SERVICE_MAGIC && head->bytes == (size_t)size - sizeof(*head));
    memcpy(body, bytes + sizeof(*head), head->bytes);
    /* A refusal is a sentence. */
    if (head->status)
        require(head->bytes > 1 && body[head->bytes - 1] == '\0' && head->bytes <= PR_SERVICE_SENTENCE);
    base_packet_close(fds, count);
    return true;
}

/* A message in its right form, whose reply is a success. */
static inline void fuzz_session_call(const struct fuzz_session *session, uint16_t type, const void *body,
                                     size_t size, uint8_t reply[PR_SERVICE_BODY])
{
    struct pr_service_header head = {
        .magic = PR_SERVICE_MAGIC, .version = PR_SERVICE_VERSION, .type = type, .bytes = (uint32_t)size};
    uint8_t bytes[sizeof(head) + PR_SERVICE_BODY];

    memcpy(bytes, &head, sizeof(head));
    memcpy(bytes + sizeof(head), body, size);
    require(svc_peer_message(session->peer, bytes, sizeof(head) + size, NULL, 0));
    require(fuzz_session_reply(session, &head, reply) && head.status == 0 && head.type == type);
}

/* But for pipes: the service makes none, and the fuzzer's symbolizer has some from its first report on. */
static inline unsigned fuzz_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    const struct dirent *entry;
    unsigned count = 0;

    require(folder);
    while ((entry = readdir(folder))) {
        char target[8] = "";
        ssize_t size = readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1);

        count += size > 0 && strncmp(target, "pipe:", 5) != 0;
    }
    closedir(folder);
    return count;
}

/* As many as before. A thread of the fuzzer's looks into /proc now and then. */
static inline bool fuzz_descriptors_are(unsigned count)
{
    for (unsigned i = 0; i < 100; i++) {
        if (fuzz_descriptors() == count)
            return true;
        usleep(1000);
    }
    return false;
}

#endif
