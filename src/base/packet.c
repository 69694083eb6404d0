/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors of a message that is refused are closed here: a sender cannot fill the table of the receiver.
 */
#include "base/packet.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

union control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(BASE_PACKET_FDS * sizeof(int))];
};

int base_packet_send(int socket, const void *head, size_t head_size, const void *body, size_t body_size,
                     const int *fds, unsigned count, int wait)
{
    struct iovec part[2] = {{.iov_base = (void *)head, .iov_len = head_size},
                            {.iov_base = (void *)body, .iov_len = body_size}};
    struct msghdr message = {.msg_iov = part, .msg_iovlen = body_size ? 2 : 1};
    union control control;
    ssize_t sent;

    if (count > BASE_PACKET_FDS)
        return -EINVAL;
    if (count) {
        struct cmsghdr *rights;

        memset(&control, 0, sizeof(control));
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(rights), fds, count * sizeof(int));
    }
    do
        sent = sendmsg(socket, &message, MSG_NOSIGNAL | (wait ? 0 : MSG_DONTWAIT));
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : 0;
}

/* How many came; those above `most` are closed. */
static unsigned take_descriptors(struct msghdr *message, int *fds, unsigned most)
{
    unsigned count = 0;

    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
        size_t bytes = part->cmsg_len - CMSG_LEN(0);

        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t i = 0; i < bytes / sizeof(int); i++) {
            int fd;

            memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(fd));
            if (count < most)
                fds[count] = fd;
            else
                close(fd);
            count++;
        }
    }
    return count;
}

long base_packet_receive(int socket, void *bytes, size_t room, int *fds, unsigned most, unsigned *count)
{
    struct iovec part = {.iov_base = bytes, .iov_len = room};
    union control control;
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    unsigned came;
    ssize_t size;

    *count = 0;
    do
        size = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (size < 0 && errno == EINTR);
    if (size < 0)
        return -errno;
    came = take_descriptors(&message, fds, most);
    /* A message without a byte reads like the end, which brings no descriptors. */
    if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC) || came > most || (size == 0 && came)) {
        base_packet_close(fds, came < most ? came : most);
        return size == 0 ? 0 : -EMSGSIZE;
    }
    *count = came;
    return size;
}

void base_packet_close(const int *fds, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}
