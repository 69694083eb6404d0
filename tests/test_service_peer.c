/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service's end of sessions, in this process and without their threads: what the broker does for a
 * client, one call of the ring, room for records, limits of users, the log.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "iorig.h"
#include "protocol/entitlement.h"
#include "service/log.h"
#include "service/peer.h"
#include "support.h"
#include "svcrig.h"

static struct ane_machine *machine;
static struct svc_policy *policy;
static struct svc_service service;

static int begin(void **state)
{
    struct base_error error;

    (void)state;
    setenv("ANEMONE_SERVICE", "none", 1);
    machine = iorig_machine((struct ane_machine_config){0});
    return svc_policy_parse("test", "match uid *\ndeny com.apple.aned.private.allow\n", &policy, &error) ||
           svc_service_init(&service, machine, policy, &error);
}

static int end(void **state)
{
    (void)state;
    svc_service_end(&service);
    svc_policy_free(policy);
    ane_machine_destroy(machine);
    return 0;
}

/* A session and the other end of its socket. */
struct party {
    struct svc_peer *peer;
    int socket;
    struct pr_service_welcome welcome;
};

/* One message, and its reply. */
static void talk(struct party *party, uint16_t type, const void *body, uint32_t size,
                 struct svcrig_reply *reply)
{
    struct {
        struct pr_service_header header;
        uint8_t body[PR_SERVICE_BODY];
    } message = {
        .header = {.magic = PR_SERVICE_MAGIC, .version = PR_SERVICE_VERSION, .type = type, .bytes = size}};

    memcpy(message.body, body, size);
    assert_true(svc_peer_message(party->peer, &message, sizeof(message.header) + size, NULL, 0));
    assert_true(svcrig_take(party->socket, reply));
    if (reply->file >= 0)
        close(reply->file);
}

static void make(struct party *party, enum pr_service_role role)
{
    struct base_error error;
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    if (svc_peer_make(&service, pair[0], role, &party->peer, &error))
        fail_msg("%s", error.text);
    party->socket = pair[1];
}

static void greet(struct party *party, enum pr_service_role role)
{
    const struct pr_service_hello hello = {.role = role};
    struct svcrig_reply reply;

    make(party, role);
    talk(party, PR_SERVICE_HELLO, &hello, sizeof(hello), &reply);
    if (reply.header.status)
        fail_msg("%s", reply.sentence);
    party->welcome = reply.welcome;
}

static void leave(struct party *party)
{
    svc_peer_end(party->peer);
    close(party->socket);
}

static IOReturn open_for(struct party *party, uint32_t task, uint32_t type, uint32_t *connect)
{
    const struct pr_service_open open = {
        .entry = ane_machine_service(machine) | PR_SERVICE_ENTRY_BASE, .type = type, .task = task};
    struct svcrig_reply reply;

    talk(party, PR_SERVICE_OPEN, &open, sizeof(open), &reply);
    *connect = reply.connect.connect;
    return reply.header.status;
}

static IOReturn close_connect(struct party *party, uint32_t connect)
{
    const struct pr_service_connect body = {.connect = connect};
    struct svcrig_reply reply;

    talk(party, PR_SERVICE_CLOSE, &body, sizeof(body), &reply);
    return reply.header.status;
}

static uint32_t create_surface(struct party *party, uint32_t task)
{
    const struct pr_service_surface_create create = {.bytes = 4096, .task = task};
    struct svcrig_reply reply;

    talk(party, PR_SERVICE_SURFACE, &create, sizeof(create), &reply);
    assert_int_equal(reply.header.status, 0);
    return reply.surface.surface;
}

/* The client may not open the device; the broker does so for it, until the client ends. */
static void test_the_broker_acts_for_a_client_until_it_ends(void **state)
{
    struct party broker, one, two;
    uint32_t refused, for_one, for_two, surface;

    (void)state;
    greet(&broker, PR_SERVICE_ROLE_BROKER);
    greet(&one, PR_SERVICE_ROLE_CLIENT);
    greet(&two, PR_SERVICE_ROLE_CLIENT);
    assert_int_equal(open_for(&one, 0, ANE_CLIENT_CONTROL, &refused), kIOReturnUnsupported);
    assert_int_equal(open_for(&broker, one.welcome.task, ANE_CLIENT_CONTROL, &for_one), kIOReturnSuccess);
    assert_int_equal(open_for(&broker, two.welcome.task, ANE_CLIENT_CONTROL, &for_two), kIOReturnSuccess);
    assert_int_equal(open_for(&broker, 0xffffff, ANE_CLIENT_CONTROL, &refused), kIOReturnBadArgument);
    surface = create_surface(&broker, one.welcome.task);
    assert_int_equal(ane_surface_lookup(surface), 4096);
    /* What the broker has opened is not the client's to name. */
    assert_int_equal(close_connect(&one, for_one), kIOReturnBadArgument);

    leave(&one);
    assert_int_equal(ane_surface_lookup(surface), 0);
    assert_int_equal(close_connect(&broker, for_one), ANE_RETURN_CLOSED);
    assert_int_equal(open_for(&broker, one.welcome.task, ANE_CLIENT_CONTROL, &refused), kIOReturnBadArgument);
    assert_int_equal(close_connect(&broker, for_two), kIOReturnSuccess);
    leave(&two);
    leave(&broker);
}

/* The broker's keys in the kernel are not more than it needs, and priorities stay the client's. */
static void test_reserved_priorities_stay_the_clients(void **state)
{
    struct ane_device_info info = {.token = ANE_USAGE_STANDARD, .timeout = 1000};
    struct ane_request request = {.token = 1, .priority = 1};
    struct party broker, client;
    struct pr_ring_slot *slot;
    unsigned hint = 0;
    uint32_t connect;

    (void)state;
    greet(&broker, PR_SERVICE_ROLE_BROKER);
    greet(&client, PR_SERVICE_ROLE_CLIENT);
    assert_int_equal(open_for(&broker, client.welcome.task, ANE_CLIENT_CONTROL, &connect), 0);
    slot = &broker.peer->ring.slot[0];
    slot->operation = PR_RING_METHOD;
    slot->connect = connect;
    slot->selector = ANE_CONTROL_DeviceOpen;
    slot->struct_in = slot->struct_out = sizeof(info);
    memcpy(slot->in, &info, sizeof(info));
    svc_ring_serve(broker.peer, slot, &hint);
    assert_int_equal(slot->result, kIOReturnSuccess);
    slot->selector = ANE_CONTROL_ProgramSendRequest;
    slot->scalars_in = 1;
    slot->scalar_in[0] = ANE_REQUEST_DOORBELL;
    slot->struct_in = sizeof(request);
    slot->struct_out = sizeof(struct ane_request_reply);
    memcpy(slot->in, &request, sizeof(request));
    svc_ring_serve(broker.peer, slot, &hint);
    assert_int_equal(slot->result, kIOReturnNotPrivileged);
    assert_non_null(strstr(slot->sentence, "com.apple.ane.realtime-priority-client"));
    leave(&client);
    leave(&broker);
}

/* ---- One call of the ring ---- */

static void test_a_call_of_the_ring_is_checked(void **state)
{
    static const struct {
        const char *name;
        uint32_t operation, selector, scalars_in, scalars_out, struct_in, struct_out, absent;
        IOReturn result;
    } rows[] = {
        {"version", PR_RING_METHOD, ANE_CONTROL_GetVersion, 0, 1, 0, 0, 0, kIOReturnNotReady},
        {"no operation", 0, 0, 0, 0, 0, 0, 0, kIOReturnBadArgument},
        {"operation 99", 99, 0, 0, 0, 0, 0, 0, kIOReturnBadArgument},
        {"selector", PR_RING_METHOD, 12345, 0, 0, 0, 0, 0, kIOReturnBadArgument},
        {"scalars", PR_RING_METHOD, ANE_CONTROL_GetVersion, 17, 1, 0, 0, 0, kIOReturnBadArgument},
        {"all scalars", PR_RING_METHOD, ANE_CONTROL_GetVersion, UINT32_MAX, UINT32_MAX, 0, 0, 0,
         kIOReturnBadArgument},
        {"bytes", PR_RING_METHOD, ANE_CONTROL_DeviceOpen, 0, 0, PR_RING_DATA + 1, 104, 0,
         kIOReturnBadArgument},
        {"all bytes", PR_RING_METHOD, ANE_CONTROL_DeviceOpen, 0, 0, UINT32_MAX, UINT32_MAX, 0,
         kIOReturnBadArgument},
        {"absent", PR_RING_METHOD, ANE_CONTROL_DeviceOpen, 0, 0, sizeof(struct ane_device_info),
         sizeof(struct ane_device_info), PR_RING_NO_STRUCT_IN, kIOReturnBadArgument},
        {"event", PR_RING_EVENT, 5, 1, 0, 0, 0, 0, kIOReturnBadArgument},
        {"event scalars", PR_RING_EVENT, PR_RING_EVENT_SIGNAL, 1, 0, 0, 0, 0, kIOReturnBadArgument},
        {"event absent", PR_RING_EVENT, PR_RING_EVENT_CREATE, 1, 1, 0, 0, PR_RING_NO_SCALARS_OUT,
         kIOReturnBadArgument},
        {"no port", PR_RING_ASYNC, ANE_CONTROL_ProgramSendRequest, 0, 0, 0, 0, 0, kIOReturnBadArgument},
    };
    struct party broker, client;
    uint32_t connect;

    (void)state;
    greet(&broker, PR_SERVICE_ROLE_BROKER);
    greet(&client, PR_SERVICE_ROLE_CLIENT);
    assert_int_equal(open_for(&broker, client.welcome.task, ANE_CLIENT_CONTROL, &connect), 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pr_ring_slot *slot = &broker.peer->ring.slot[1];
        unsigned hint = 7;

        memset(slot, 0, sizeof(*slot));
        slot->operation = rows[i].operation;
        slot->connect = connect;
        slot->selector = rows[i].selector;
        slot->scalars_in = rows[i].scalars_in;
        slot->scalars_out = rows[i].scalars_out;
        slot->struct_in = rows[i].struct_in;
        slot->struct_out = rows[i].struct_out;
        slot->absent = rows[i].absent;
        slot->out[0] = 0x5a;
        slot->state = PR_RING_POSTED;
        svc_ring_serve(broker.peer, slot, &hint);
        if (slot->state != PR_RING_DONE || slot->result != rows[i].result || !slot->sentence[0])
            fail_msg("%s: %08x %s", rows[i].name, (unsigned)slot->result, slot->sentence);
        if (slot->out[0] != 0x5a)
            fail_msg("%s: an output that was not written is not as it was.", rows[i].name);
    }
    leave(&client);
    leave(&broker);
}

/* ---- A call that is late ---- */

#define REOPENINGS 5000u /* a number comes again after 4,096 */
#define WAIT_MS    500u  /* more than these take */

struct lateness {
    struct party one, two;
    uint32_t connect;   /* of the first, which has a call inside */
    atomic_bool inside; /* the call has not left */
    atomic_bool met, done;
};

static void *close_first(void *argument)
{
    struct lateness *late = argument;
    struct base_error error;

    svc_kernel_close(late->one.peer, late->connect, &error);
    return NULL;
}

static void *reopen_second(void *argument)
{
    const struct pr_service_open open = {.entry = ane_machine_service(machine) | PR_SERVICE_ENTRY_BASE,
                                         .type = ANE_CLIENT_CONTROL};
    struct lateness *late = argument;
    struct base_error error;

    for (unsigned i = 0; i < REOPENINGS; i++) {
        uint32_t connect;

        if (svc_kernel_open(late->two.peer, &open, &connect, &error))
            break;
        if (connect == late->connect && atomic_load(&late->inside))
            atomic_store(&late->met, true);
        svc_kernel_close(late->two.peer, connect, &error);
    }
    atomic_store(&late->done, true);
    return NULL;
}

/* The thread of a slot stands between its look at the table and its call, while the connection is closed. */
static void test_a_late_call_meets_no_other_connection(void **state)
{
    static struct lateness late;
    struct svc_policy *opening;
    pthread_t closer, opener;
    struct base_error error;
    unsigned hint = 0, again = 0;
    io_connect_t number;

    (void)state;
    assert_int_equal(
        svc_policy_parse("test", "match uid *\nallow com.apple.ane.iokit-user-access\n", &opening, &error),
        0);
    service.policy = opening;
    greet(&late.one, PR_SERVICE_ROLE_CLIENT);
    greet(&late.two, PR_SERVICE_ROLE_CLIENT);
    assert_int_equal(open_for(&late.one, 0, ANE_CLIENT_CONTROL, &late.connect), 0);
    assert_int_equal(svc_kernel_enter(late.one.peer, late.connect, &number, &hint, &error), 0);
    atomic_store(&late.inside, true);
    assert_int_equal(pthread_create(&closer, NULL, close_first, &late), 0);
    while (!svc_kernel_enter(late.one.peer, late.connect, &number, &again, &error))
        svc_kernel_leave(late.one.peer, again);
    assert_int_equal(pthread_create(&opener, NULL, reopen_second, &late), 0);
    for (unsigned ms = 0; ms < WAIT_MS && !atomic_load(&late.done); ms++)
        usleep(1000);
    atomic_store(&late.inside, false);
    svc_kernel_leave(late.one.peer, hint);
    pthread_join(closer, NULL);
    pthread_join(opener, NULL);
    assert_false(late.met);
    leave(&late.one);
    leave(&late.two);
    service.policy = policy;
    svc_policy_free(opening);
}

/* ---- Records ---- */

/* Every call that is accepted has room for its record, whatever the client writes about what it has read. */
static void test_records_have_room(void **state)
{
    const struct pr_ring_slot call = {.port = 3, .references = 1, .reference = {9}};
    struct base_error error;
    struct party client;
    ane_port_t port;
    uint64_t index;

    (void)state;
    greet(&client, PR_SERVICE_ROLE_CLIENT);
    for (unsigned i = 0; i < PR_RING_COMPLETIONS; i++)
        assert_int_equal(svc_completions_begin(client.peer, &call, &index, &port, &error), 0);
    assert_int_equal(svc_completions_begin(client.peer, &call, &index, &port, &error), kIOReturnNoResources);
    svc_completions_cancel(client.peer, 17);
    assert_int_equal(svc_completions_begin(client.peer, &call, &index, &port, &error), 0);
    assert_int_equal(index, 17);
    for (unsigned i = 2; i < PR_RING_COMPLETIONS; i++)
        svc_completions_cancel(client.peer, i);
    /* It has read more than there was, while two calls are under way. */
    client.peer->ring.head->consumed = 1;
    assert_int_equal(svc_completions_begin(client.peer, &call, &index, &port, &error), kIOReturnNoResources);
    client.peer->ring.head->consumed = 0x80000000u;
    assert_int_equal(svc_completions_begin(client.peer, &call, &index, &port, &error), kIOReturnNoResources);
    client.peer->ring.head->consumed = 0;
    assert_int_equal(svc_completions_begin(client.peer, &call, &index, &port, &error), 0);
    for (unsigned i = 0; i < 3; i++)
        svc_completions_cancel(client.peer, i);
    leave(&client);
}

/* ---- The log ---- */

/* A client chooses the path of its executable; the log's reader may be a terminal. */
static void test_a_line_of_the_log_has_no_commands(void **state)
{
    const char *const end = " a?b?[2Jc\302?2Jd?2Je\u201c\u00fcf\n"; /* after the time */
    int files[2], before = dup(STDERR_FILENO);
    char line[256] = "";
    ssize_t size;

    (void)state;
    assert_int_equal(pipe(files), 0);
    dup2(files[1], STDERR_FILENO);
    svc_log("%s", "a\nb\033[2Jc\302\2332Jd\2332Je\u201c\u00fcf");
    dup2(before, STDERR_FILENO);
    size = read(files[0], line, sizeof(line) - 1);
    close(files[0]);
    close(files[1]);
    close(before);
    assert_true(size > (ssize_t)strlen(end));
    assert_string_equal(line + size - strlen(end), end);
}

/* A pager that is not moved on, or a terminal that is held: calls return, and the gap is stated later. */
static void test_a_log_that_is_not_read_stops_nothing(void **state)
{
    int files[2], before = dup(STDERR_FILENO);
    char text[32768] = "";
    ssize_t size;

    (void)state;
    assert_int_equal(pipe(files), 0);
    assert_true(fcntl(files[1], F_SETPIPE_SZ, 16384) > 0);
    dup2(files[1], STDERR_FILENO);
    alarm(20); /* against hanging */
    for (unsigned i = 0; i < 400; i++)
        svc_log("line %u of a service whose log is not read by any process at the moment", i);
    size = read(files[0], text, sizeof(text));
    svc_log("the last line");
    alarm(0);
    dup2(before, STDERR_FILENO);
    assert_true(size > 0);
    size = read(files[0], text, sizeof(text) - 1);
    close(files[0]);
    close(files[1]);
    close(before);
    assert_true(size > 0);
    text[size] = '\0';
    assert_non_null(strstr(text, "lines were left out\n"));
    assert_non_null(strstr(text, "the last line\n"));
}

/* ---- Limits of the service ---- */

/* One more than there may be; after one has left there is room again, and for the broker always. */
static void test_clients_have_a_limit(void **state)
{
    static struct party client[PR_SERVICE_SESSIONS];
    const struct {
        struct pr_service_header header;
        struct pr_service_hello hello;
    } hello = {.header = {.magic = PR_SERVICE_MAGIC,
                          .version = PR_SERVICE_VERSION,
                          .type = PR_SERVICE_HELLO,
                          .bytes = sizeof(hello.hello)}};
    struct party refused, broker;
    struct svcrig_reply reply;
    uint32_t connect;

    (void)state;
    for (unsigned i = 0; i < PR_SERVICE_SESSIONS; i++)
        greet(&client[i], PR_SERVICE_ROLE_CLIENT);
    make(&refused, PR_SERVICE_ROLE_CLIENT);
    assert_false(svc_peer_message(refused.peer, &hello, sizeof(hello), NULL, 0));
    assert_true(svcrig_take(refused.socket, &reply));
    assert_int_equal(reply.header.status, kIOReturnNoResources);
    assert_non_null(strstr(reply.sentence, "128 clients"));
    leave(&refused);
    greet(&broker, PR_SERVICE_ROLE_BROKER);
    for (unsigned i = 0; i < PR_SERVICE_SESSIONS; i++)
        assert_int_equal(open_for(&broker, client[i].welcome.task, ANE_CLIENT_CONTROL, &connect), 0);
    leave(&broker);
    leave(&client[0]);
    greet(&client[0], PR_SERVICE_ROLE_CLIENT);
    for (unsigned i = 0; i < PR_SERVICE_SESSIONS; i++)
        leave(&client[i]);
    assert_int_equal(service.sessions, 0);
}

/* ---- Limits of a user ---- */

#define CROWD    12u
#define SOMEBODY 4321u /* a user, not the service's own */
#define ANOTHER  4322u

static void greet_as(struct party *party, uid_t uid)
{
    greet(party, PR_SERVICE_ROLE_CLIENT);
    party->peer->uid = uid;
}

/* One thing more of a kind that has a limit; `reply` is the answer. */
static bool take_one(struct party *party, enum pr_service_share share, uint64_t each, unsigned number,
                     struct svcrig_reply *reply)
{
    const struct pr_service_open open = {.entry = ane_machine_service(machine) | PR_SERVICE_ENTRY_BASE,
                                         .type = ANE_CLIENT_CONTROL};
    const struct pr_service_surface_create create = {.bytes = each};
    const struct pr_service_slot slot = {.slot = number};

    if (share == PR_SERVICE_SHARE_SLOTS)
        talk(party, PR_SERVICE_SLOT, &slot, sizeof(slot), reply);
    else if (share == PR_SERVICE_SHARE_CONNECTS)
        talk(party, PR_SERVICE_OPEN, &open, sizeof(open), reply);
    else
        talk(party, PR_SERVICE_SURFACE, &create, sizeof(create), reply);
    return !reply->header.status;
}

/* Sessions of one user take all they can: what they get is the limit, and another user still gets some. */
static void test_a_user_leaves_room_for_others(void **state)
{
    static const struct {
        enum pr_service_share share;
        unsigned session; /* what one session may have */
        uint64_t each;    /* bytes of a surface */
        unsigned user;    /* what a user gets of it, beside the slots that are not counted */
        unsigned free;
        const char *says;
    } rows[] = {
        {PR_SERVICE_SHARE_SLOTS, PR_RING_SLOTS, 0, 512, PR_SERVICE_SLOTS_FREE, "512"},
        {PR_SERVICE_SHARE_CONNECTS, PR_SERVICE_CONNECTS, 0, 256, 0, "256"},
        {PR_SERVICE_SHARE_SURFACES, PR_SERVICE_SURFACES, 1, 1024, 0, "1024"},
        {PR_SERVICE_SHARE_BYTES, 2, 4ull << 30, 8, 0, "34359738368"},
    };
    struct party crowd[CROWD], other;
    struct svc_policy *opening;
    struct svcrig_reply reply;
    struct base_error error;

    (void)state;
    assert_int_equal(
        svc_policy_parse("test", "match uid *\nallow com.apple.ane.iokit-user-access\n", &opening, &error),
        0);
    service.policy = opening;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        unsigned got = 0;

        greet_as(&other, ANOTHER);
        for (unsigned k = 0; k < CROWD; k++) {
            unsigned own = 0;

            greet_as(&crowd[k], SOMEBODY);
            while (own < rows[i].session && take_one(&crowd[k], rows[i].share, rows[i].each, own, &reply))
                own++;
            got += own;
            assert_true(own >= rows[i].free);
        }
        assert_int_equal(got, rows[i].user + CROWD * rows[i].free);
        assert_non_null(strstr(reply.sentence, rows[i].says));
        assert_true(reply.header.status == kIOReturnNoResources || reply.header.status == -ENOSPC);
        assert_true(take_one(&other, rows[i].share, rows[i].each, 7, &reply));
        leave(&crowd[0]);
        greet_as(&crowd[0], SOMEBODY);
        assert_true(take_one(&crowd[0], rows[i].share, rows[i].each, 0, &reply));
        for (unsigned k = 0; k < CROWD; k++)
            leave(&crowd[k]);
        leave(&other);
        for (unsigned k = 0; k < PR_SERVICE_SHARE_COUNT; k++)
            assert_int_equal(service.shares.all[k], 0);
    }
    service.policy = policy;
    svc_policy_free(opening);
}

/* What the broker opens for a client is the client's. */
static void test_what_the_broker_has_counts_as_its_clients(void **state)
{
    struct party broker, client, other;
    uint32_t connect;

    (void)state;
    greet(&broker, PR_SERVICE_ROLE_BROKER);
    greet_as(&client, SOMEBODY);
    greet_as(&other, ANOTHER);
    for (unsigned i = 0; i < 256; i++)
        assert_int_equal(open_for(&broker, client.welcome.task, ANE_CLIENT_CONTROL, &connect), 0);
    assert_int_equal(open_for(&broker, client.welcome.task, ANE_CLIENT_CONTROL, &connect),
                     kIOReturnNoResources);
    assert_int_equal(open_for(&broker, other.welcome.task, ANE_CLIENT_CONTROL, &connect), 0);
    leave(&client);
    assert_int_equal(service.shares.all[PR_SERVICE_SHARE_CONNECTS], 1);
    leave(&other);
    leave(&broker);
    assert_int_equal(service.shares.all[PR_SERVICE_SHARE_CONNECTS], 0);
}

static void test_few_clients_are_blessed(void **state)
{
    struct party client[PR_BLESSED_SLOTS + 1];
    struct svc_policy *blessing;
    struct base_error error;

    (void)state;
    assert_int_equal(
        svc_policy_parse("test", "match uid *\nallow com.apple.security.ts.ane-client\n", &blessing, &error),
        0);
    service.policy = blessing;
    for (unsigned i = 0; i <= PR_BLESSED_SLOTS; i++) {
        greet(&client[i], PR_SERVICE_ROLE_CLIENT);
        assert_int_equal(client[i].peer->blessed, i < PR_BLESSED_SLOTS);
    }
    leave(&client[0]);
    greet(&client[0], PR_SERVICE_ROLE_CLIENT);
    assert_true(client[0].peer->blessed);
    for (unsigned i = 0; i <= PR_BLESSED_SLOTS; i++)
        leave(&client[i]);
    service.policy = policy;
    svc_policy_free(blessing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_broker_acts_for_a_client_until_it_ends),
        cmocka_unit_test(test_reserved_priorities_stay_the_clients),
        cmocka_unit_test(test_a_call_of_the_ring_is_checked),
        cmocka_unit_test(test_a_late_call_meets_no_other_connection),
        cmocka_unit_test(test_records_have_room),
        cmocka_unit_test(test_a_line_of_the_log_has_no_commands),
        cmocka_unit_test(test_a_log_that_is_not_read_stops_nothing),
        cmocka_unit_test(test_clients_have_a_limit),
        cmocka_unit_test(test_a_user_leaves_room_for_others),
        cmocka_unit_test(test_what_the_broker_has_counts_as_its_clients),
        cmocka_unit_test(test_few_clients_are_blessed),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
