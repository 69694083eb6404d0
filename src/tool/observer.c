/* SPDX-License-Identifier: Apache-2.0 */
/* Each question is answered before the next is asked, so a reply with another serial is an error. */
#include "tool/observer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/packet.h"
#include "base/printable.h"

#define ANSWER_SECONDS 10 /* a service that is slower than this does not answer */

struct packet {
    struct pr_service_header head;
    uint8_t body[PR_SERVICE_BODY];
};

/* Text that another process wrote, for a terminal. */
static void clean(char *text, size_t size)
{
    text[size - 1] = '\0';
    base_printable_make(text, strlen(text));
}

static int check(struct packet *packet, long size, const struct pr_service_header *asked, size_t reply,
                 struct base_error *error)
{
    const struct pr_service_header *head = &packet->head;

    if (!size)
        return base_fail(error, ECONNRESET, "The service has ended, or has ended this session.");
    if (size == -EAGAIN)
        return base_fail(error, ETIMEDOUT, "The service has not answered for %d seconds.", ANSWER_SECONDS);
    if (size < 0)
        return base_fail(error, (int)-size, "The service cannot be read: %s.", strerror((int)-size));
    if (size < (long)sizeof(*head) || head->magic != PR_SERVICE_MAGIC || head->type != asked->type ||
        head->serial != asked->serial || head->bytes != (size_t)size - sizeof(*head))
        return base_fail(error, EPROTO, "What listens there does not answer as a service does.");
    if (head->version != PR_SERVICE_VERSION)
        return base_fail(error, EPROTO, "The service speaks version %u of its messages; this command has %u.",
                         head->version, PR_SERVICE_VERSION);
    if (head->status) {
        size_t end = head->bytes < PR_SERVICE_SENTENCE ? head->bytes : PR_SERVICE_SENTENCE - 1;

        packet->body[end] = '\0';
        clean((char *)packet->body, PR_SERVICE_SENTENCE);
        return base_fail(error, EACCES, "%s", (const char *)packet->body);
    }
    if (head->bytes != reply)
        return base_fail(error, EPROTO, "A reply of the service has %u bytes and not %zu.", head->bytes,
                         reply);
    return 0;
}

static int ask(struct tool_observer *observer, enum pr_service_message type, const void *request,
               size_t request_bytes, void *reply, size_t reply_bytes, struct base_error *error)
{
    const struct pr_service_header head = {.magic = PR_SERVICE_MAGIC,
                                           .version = PR_SERVICE_VERSION,
                                           .type = (uint16_t)type,
                                           .serial = ++observer->serial,
                                           .bytes = (uint32_t)request_bytes};
    static struct packet packet;
    int files[BASE_PACKET_FDS];
    unsigned count = 0;
    long size;
    int status = base_packet_send(observer->socket, &head, sizeof(head), request, request_bytes, NULL, 0, 1);

    if (status)
        return base_fail(error, -status, "The service cannot be asked: %s.", strerror(-status));
    size = base_packet_receive(observer->socket, &packet, sizeof(packet), files, BASE_PACKET_FDS, &count);
    base_packet_close(files, count); /* the ring, which an observer does not use */
    status = check(&packet, size, &head, reply_bytes, error);
    if (!status)
        memcpy(reply, packet.body, reply_bytes);
    return status;
}

static int greet(struct tool_observer *observer, struct base_error *error)
{
    const struct pr_service_hello hello = {.role = PR_SERVICE_ROLE_OBSERVER};
    int status = ask(observer, PR_SERVICE_HELLO, &hello, sizeof(hello), &observer->welcome,
                     sizeof(observer->welcome), error);

    clean(observer->welcome.team, sizeof(observer->welcome.team));
    return status;
}

/* -ENOENT, without a sentence, when nothing listens there. */
static int open_path(struct tool_observer *observer, const char *path, struct base_error *error)
{
    const struct timeval patience = {.tv_sec = ANSWER_SECONDS};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(path);
    int status;

    if (length >= sizeof(address.sun_path))
        return base_fail(error, ENAMETOOLONG, "A socket's path has at most %zu characters: %s.",
                         sizeof(address.sun_path) - 1, path);
    memcpy(address.sun_path, path, length + 1);
    memcpy(observer->path, path, length + 1);
    observer->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (observer->socket < 0)
        return base_fail(error, errno, "No socket can be made: %s.", strerror(errno));
    setsockopt(observer->socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    if (connect(observer->socket, (const struct sockaddr *)&address, sizeof(address)))
        status = errno == ENOENT || errno == ECONNREFUSED || errno == ENOTDIR
                     ? -ENOENT
                     : base_fail(error, errno, "%s: %s.", path, strerror(errno));
    else
        status = greet(observer, error);
    if (status)
        tool_observer_close(observer);
    return status;
}

static int open_default(struct tool_observer *observer, struct base_error *error)
{
    const char *folder = getenv("XDG_RUNTIME_DIR");
    char own[sizeof(observer->path)] = "";
    int status = -ENOENT;

    if (folder && folder[0] == '/' &&
        snprintf(own, sizeof(own), "%s/anemone/service", folder) < (int)sizeof(own))
        status = open_path(observer, own, error);
    if (status == -ENOENT)
        status = open_path(observer, "/run/anemone/service", error);
    if (status != -ENOENT)
        return status;
    return base_fail(
        error, ENOENT,
        "no service runs: nothing answers at %s%s/run/anemone/service. `anemone serve` starts one, and "
        "--socket names another place.",
        own, own[0] ? " or " : "");
}

int tool_observer_open(struct tool_observer *observer, const char *path, struct base_error *error)
{
    const char *named = getenv("ANEMONE_SERVICE");
    int status;

    memset(observer, 0, sizeof(*observer));
    observer->socket = -1;
    if (!path && named && !strcmp(named, "none"))
        return base_fail(error, ENOENT,
                         "ANEMONE_SERVICE is none, so no service is used here; --socket names one.");
    if (!path && named && named[0])
        path = named;
    if (!path)
        return open_default(observer, error);
    status = open_path(observer, path, error);
    if (status == -ENOENT)
        base_fail(error, ENOENT, "no service runs: nothing answers at %s.", path);
    return status;
}

void tool_observer_close(struct tool_observer *observer)
{
    if (observer->socket >= 0)
        close(observer->socket);
    observer->socket = -1;
}

int tool_observer_read(struct tool_observer *observer, struct tool_status *status, struct base_error *error)
{
    struct pr_service_status want = {0};
    int result;

    memset(status, 0, sizeof(*status));
    do {
        struct pr_service_status_page *page = &status->page;

        want.first = status->clients;
        result = ask(observer, PR_SERVICE_STATUS, &want, sizeof(want), page, sizeof(*page), error);
        if (result)
            return result;
        if (page->rows > PR_SERVICE_STATUS_ROWS || page->rows > PR_SERVICE_SESSIONS - status->clients)
            return base_fail(error, EPROTO, "The service shows more than %u clients.", PR_SERVICE_SESSIONS);
        for (unsigned i = 0; i < page->rows; i++) {
            clean(page->row[i].executable, sizeof(page->row[i].executable));
            status->client[status->clients++] = page->row[i];
        }
    } while (status->page.rows == PR_SERVICE_STATUS_ROWS && status->clients < PR_SERVICE_SESSIONS);
    return 0;
}
