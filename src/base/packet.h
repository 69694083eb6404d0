/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages with descriptors on a SOCK_SEQPACKET socket: each is whole or absent. A call that is interrupted
 * by a signal goes on. No call raises SIGPIPE.
 */
#ifndef BASE_PACKET_H
#define BASE_PACKET_H

#include <stddef.h>

#define BASE_PACKET_FDS 4u

/*
 * Sends head and body as one message, with `count` descriptors, which stay the caller's. `body` may be NULL
 * where its size is 0. 0, or a negative errno: -EPIPE when the other end is closed, -EINVAL for more than
 * BASE_PACKET_FDS descriptors. Blocks while the socket's buffer is full; with `wait` 0: -EAGAIN.
 */
int base_packet_send(int socket, const void *head, size_t head_size, const void *body, size_t body_size,
                     const int *fds, unsigned count, int wait);

/*
 * Receives one message. The size, or 0 when the other end is closed; or a negative errno, and no descriptor
 * is kept: -EMSGSIZE for a message above `room` or with more descriptors than `most`. Descriptors close on
 * exec and are the caller's; *count says how many came.
 */
long base_packet_receive(int socket, void *bytes, size_t room, int *fds, unsigned most, unsigned *count);

/* Closes descriptors; -1 is skipped. */
void base_packet_close(const int *fds, unsigned count);

#endif
