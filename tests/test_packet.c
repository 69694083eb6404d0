/* SPDX-License-Identifier: Apache-2.0 */
/* Messages with descriptors: what arrives, what is refused, and that no descriptor is kept then. */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/packet.h"
#include "folder.h"

#define ROOM 16

static void a_message_arrives_whole_or_not_at_all(void **state)
{
    static const struct {
        size_t head, body;
        unsigned fds, most;
        long received;
        unsigned kept;
    } rows[] = {
        {4, 8, 0, 4, 12, 0},        {4, 0, 1, 1, 4, 1},         {8, 8, 4, 4, 16, 4},
        {8, 9, 0, 4, -EMSGSIZE, 0}, {8, 9, 4, 4, -EMSGSIZE, 0}, {4, 0, 2, 1, -EMSGSIZE, 0},
        {4, 0, 4, 0, -EMSGSIZE, 0}, {0, 0, 0, 4, 0, 0},         {0, 0, 3, 4, 0, 0},
    };
    const uint8_t bytes[ROOM + 1] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17};
    int pair[2], some[BASE_PACKET_FDS], fds[BASE_PACKET_FDS];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    for (unsigned i = 0; i < BASE_PACKET_FDS; i++)
        some[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        unsigned before = folder_count("/proc/self/fd"), count = 77;
        uint8_t got[ROOM] = {0};

        assert_int_equal(base_packet_send(pair[0], bytes, rows[i].head, bytes + rows[i].head, rows[i].body,
                                          some, rows[i].fds, 1),
                         0);
        if (base_packet_receive(pair[1], got, ROOM, fds, rows[i].most, &count) != rows[i].received ||
            count != rows[i].kept || folder_count("/proc/self/fd") != before + rows[i].kept)
            fail_msg("row %u: %u descriptors came, %u more are open", i, count,
                     folder_count("/proc/self/fd") - before);
        if (rows[i].received > 0)
            assert_memory_equal(got, bytes, (size_t)rows[i].received);
        for (unsigned k = 0; k < count; k++)
            assert_int_equal(fcntl(fds[k], F_GETFD), FD_CLOEXEC);
        base_packet_close(fds, count);
    }
    assert_int_equal(base_packet_send(pair[0], bytes, 1, NULL, 0, some, BASE_PACKET_FDS + 1, 1), -EINVAL);
    base_packet_close(some, BASE_PACKET_FDS);
    close(pair[0]), close(pair[1]);
}

static void the_other_end_closes(void **state)
{
    unsigned count;
    uint8_t byte = 1;
    int pair[2], fd;

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    close(pair[0]);
    assert_int_equal(base_packet_receive(pair[1], &byte, 1, &fd, 1, &count), 0);
    /* Without a signal. */
    assert_int_equal(base_packet_send(pair[1], &byte, 1, NULL, 0, NULL, 0, 1), -EPIPE);
    close(pair[1]);
}

static void a_full_buffer_is_not_waited_for(void **state)
{
    uint8_t bytes[4096] = {0};
    int pair[2], status;
    unsigned sent = 0;

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    while ((status = base_packet_send(pair[0], bytes, sizeof(bytes), NULL, 0, NULL, 0, 0)) == 0)
        assert_true(++sent < 100000);
    assert_int_equal(status, -EAGAIN);
    close(pair[0]), close(pair[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_arrives_whole_or_not_at_all),
        cmocka_unit_test(the_other_end_closes),
        cmocka_unit_test(a_full_buffer_is_not_waited_for),
    };

    return cmocka_run_group_tests_name("packet", tests, NULL, NULL);
}
