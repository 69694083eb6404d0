/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions of the service, which is a process of its own. This program is a client of iokit.h there, and
 * speaks the socket's messages and writes the ring itself where no well-behaved client would.
 */
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "folder.h"
#include "iorig.h"
#include "protocol/broker.h"
#include "protocol/entitlement.h"
#include "support.h"
#include "svcrig.h"

static pid_t service;

#define DEVICE (PR_SERVICE_ENTRY_BASE | 0x1000u)

static int begin(void **state)
{
    (void)state;
    service = svcrig_serve("socket", svcrig_policy("policy", "match uid *\n"
                                                             "allow com.apple.ane.iokit-user-access\n"
                                                             "allow anemone.raw-images\n"));
    return setenv("ANEMONE_SERVICE", folder_path("socket"), 1);
}

static int end(void **state)
{
    (void)state;
    return svcrig_stop(service);
}

static io_service_t device(void)
{
    io_service_t found = IOServiceGetMatchingService(0, IOServiceMatching("H11ANEIn"));

    if (!found)
        fail_msg("%s", ane_machine_error());
    assert_true(found >= PR_SERVICE_ENTRY_BASE);
    return found;
}

static void test_a_program_runs_in_the_service(void **state)
{
    struct iorig_accumulator sum;

    (void)state;
    iorig_accumulator_make(&sum, device(), 4, 32);
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(iorig_accumulator_step(&sum), kIOReturnSuccess);
    assert_true(iorig_accumulator_value(&sum) == 1000.0);
    iorig_accumulator_release(&sum);
}

/* ---- Asynchronous calls ---- */

static void fill_request(const struct iorig_accumulator *sum, uint64_t sequence, struct ane_request *request)
{
    const uint32_t surfaces[] = {sum->x, sum->state, sum->state};

    *request = (struct ane_request){.token = sum->token,
                                    .sequence = sequence,
                                    .session = sum->client.session,
                                    .priority = ANE_REQUEST_PRIORITY,
                                    .inputs = 2,
                                    .outputs = 1};
    memcpy(request->surface, surfaces, sizeof(surfaces));
}

static IOReturn send_async(const struct iorig_accumulator *sum, ane_port_t port, uint64_t number)
{
    uint64_t doorbell = ANE_REQUEST_DOORBELL, reference[4] = {number, number + 1, number + 2, number + 3};
    struct ane_request_reply reply;
    struct ane_request request;
    size_t size = sizeof(reply);

    fill_request(sum, number, &request);
    return IOConnectCallAsyncMethod(sum->client.connect, ANE_CONTROL_ProgramSendRequest, port, reference, 4,
                                    &doorbell, 1, &request, sizeof(request), NULL, NULL, &reply, &size);
}

/* More than the ring has records, in turns of as many as a port takes at once. */
static void test_asynchronous_requests_complete_at_their_port(void **state)
{
    struct ane_port_message message;
    struct iorig_accumulator sum;
    const unsigned turns = 10, each = 16;
    ane_port_t port;

    (void)state;
    iorig_accumulator_make(&sum, device(), 4, 32);
    assert_int_equal(ane_port_create(&port), 0);
    for (unsigned turn = 0; turn < turns; turn++) {
        for (unsigned i = 0; i < each; i++)
            if (send_async(&sum, port, 100 + i))
                fail_msg("%s", ane_machine_error());
        for (unsigned i = 0; i < each; i++) {
            assert_int_equal(ane_port_receive(port, &message, SVCRIG_PATIENCE_MS * 1000000ull), 0);
            assert_int_equal(message.result, kIOReturnSuccess);
            assert_int_equal(message.reference[0], 100 + i);
            assert_int_equal(message.reference[3], 103 + i);
            assert_int_equal(message.reply.sequence, 100 + i);
        }
    }
    assert_int_equal(ane_port_receive(port, &message, 0), -ETIMEDOUT);
    assert_true(iorig_accumulator_value(&sum) == turns * each);
    assert_int_equal(ane_port_release(port), 0);
    iorig_accumulator_release(&sum);
}

/* ---- Messages that break the format ---- */

static void test_a_broken_message_ends_its_session_by_name(void **state)
{
    static const struct {
        const char *name;
        bool greeted;
        struct pr_service_header header;
        uint32_t body; /* bytes that are sent */
        unsigned fds;
        const char *says;
    } rows[] = {
#define HEAD(type, bytes) {PR_SERVICE_MAGIC, PR_SERVICE_VERSION, type, 5, 0, bytes, 0}
        {"magic", true, {1, PR_SERVICE_VERSION, PR_SERVICE_STATUS, 5, 0, 8, 0}, 8, 0, "begin"},
        {"version", true, {PR_SERVICE_MAGIC, 9, PR_SERVICE_STATUS, 5, 0, 8, 0}, 8, 0, "version 9"},
        {"status", true, {PR_SERVICE_MAGIC, PR_SERVICE_VERSION, 9, 5, 1, 8, 0}, 8, 0, "not 0"},
        {"reserved", true, {PR_SERVICE_MAGIC, PR_SERVICE_VERSION, 9, 5, 0, 8, 7}, 8, 0, "not 0"},
        {"type 0", true, HEAD(0, 0), 0, 0, "no message 0"},
        {"type 77", true, HEAD(77, 8), 8, 0, "no message 77"},
        {"short body", true, HEAD(PR_SERVICE_OPEN, 8), 8, 0, "OPEN"},
        {"long body", true, HEAD(PR_SERVICE_CLOSE, 64), 64, 0, "CLOSE"},
        {"announced", true, HEAD(PR_SERVICE_CLOSE, 8), 16, 0, "CLOSE"},
        {"header alone", true, HEAD(PR_SERVICE_STATUS, 8), 0, 0, "STATUS"},
        {"too long", true, HEAD(PR_SERVICE_STATUS, 4096), 8000, 0, "bytes"},
        {"a descriptor", true, HEAD(PR_SERVICE_STATUS, 8), 8, 1, "descriptors"},
        {"four descriptors", true, HEAD(PR_SERVICE_BROKER, 0), 0, 4, "descriptors"},
        {"second HELLO", true, HEAD(PR_SERVICE_HELLO, 8), 8, 0, "once"},
        {"before HELLO", false, HEAD(PR_SERVICE_OPEN, 16), 16, 0, "before HELLO"},
        {"role", false, HEAD(PR_SERVICE_HELLO, 8), 8, 0, "role"},
#undef HEAD
    };
    struct svcrig_counts before = svcrig_counts(service);

    (void)state;
    for (size_t i = 0; i < BASE_COUNT_OF(rows); i++) {
        int file = rows[i].greeted ? svcrig_hello("socket", PR_SERVICE_ROLE_CLIENT, NULL, NULL)
                                   : svcrig_connect("socket");
        int fds[PR_SERVICE_FDS] = {STDERR_FILENO, STDERR_FILENO, STDERR_FILENO, STDERR_FILENO};
        struct svcrig_reply reply;
        uint8_t bytes[9000] = {0};

        memcpy(bytes, &rows[i].header, sizeof(rows[i].header));
        bytes[sizeof(rows[i].header)] = PR_SERVICE_ROLE_BROKER; /* the first byte of a body */
        if (!svcrig_send(file, bytes, sizeof(rows[i].header) + rows[i].body, fds, rows[i].fds, &reply))
            fail_msg("%s: there was no reply.", rows[i].name);
        if (reply.header.status != kIOReturnBadArgument || !strstr(reply.sentence, rows[i].says))
            fail_msg("%s: %08x %s", rows[i].name, (unsigned)reply.header.status, reply.sentence);
        if (!svcrig_is_closed(file))
            fail_msg("%s: the session goes on.", rows[i].name);
        close(file);
    }
    svcrig_wait_counts(service, before);
}

/* ---- What belongs to whom ---- */

static uint32_t open_client(int session)
{
    const struct pr_service_open open = {.entry = DEVICE, .type = ANE_CLIENT_CONTROL};
    struct svcrig_reply reply;

    assert_true(svcrig_talk(session, PR_SERVICE_OPEN, &open, sizeof(open), &reply));
    if (reply.header.status)
        fail_msg("%s", reply.sentence);
    return reply.connect.connect;
}

static void expect_close(int session, uint32_t connect, IOReturn expected, const char *sentence)
{
    const struct pr_service_connect body = {.connect = connect};
    struct svcrig_reply reply;

    assert_true(svcrig_talk(session, PR_SERVICE_CLOSE, &body, sizeof(body), &reply));
    assert_int_equal(reply.header.status, expected);
    if (expected)
        assert_string_equal(reply.sentence, sentence);
}

static void test_anothers_connection_never_existed(void **state)
{
    int one = svcrig_hello("socket", PR_SERVICE_ROLE_CLIENT, NULL, NULL);
    int two = svcrig_hello("socket", PR_SERVICE_ROLE_CLIENT, NULL, NULL);
    uint32_t connect = open_client(one);

    (void)state;
    expect_close(two, connect, kIOReturnBadArgument, "There is no such connection.");
    expect_close(two, connect + 1, kIOReturnBadArgument, "There is no such connection.");
    expect_close(two, PR_SERVICE_CONNECT_BASE, kIOReturnBadArgument, "There is no such connection.");
    expect_close(two, 0, kIOReturnBadArgument, "There is no such connection.");
    expect_close(one, connect, kIOReturnSuccess, NULL);
    expect_close(one, connect, ANE_RETURN_CLOSED, "The connection is closed.");
    expect_close(two, connect, kIOReturnBadArgument, "There is no such connection.");
    close(one);
    close(two);
}

static void test_only_the_broker_names_tasks(void **state)
{
    struct pr_service_welcome other;
    int one = svcrig_hello("socket", PR_SERVICE_ROLE_CLIENT, &other, NULL);
    int two = svcrig_hello("socket", PR_SERVICE_ROLE_CLIENT, NULL, NULL);
    const struct pr_service_open open = {.entry = DEVICE, .type = ANE_CLIENT_CONTROL, .task = other.task};
    const struct pr_service_surface_create create = {.bytes = 4096, .task = other.task};
    struct svcrig_reply reply;

    (void)state;
    assert_true(svcrig_talk(two, PR_SERVICE_OPEN, &open, sizeof(open), &reply));
    assert_int_equal(reply.header.status, kIOReturnBadArgument);
    assert_true(svcrig_talk(two, PR_SERVICE_SURFACE, &create, sizeof(create), &reply));
    assert_int_equal(reply.header.status, -EINVAL);
    assert_int_equal(reply.file, -1);
    close(one);
    close(two);
}

static void test_an_observer_reads_the_status_alone(void **state)
{
    struct pr_service_welcome welcome;
    int client = svcrig_hello("socket", PR_SERVICE_ROLE_CLIENT, &welcome, NULL);
    int observer = svcrig_hello("socket", PR_SERVICE_ROLE_OBSERVER, NULL, NULL);
    const struct pr_service_open open = {.entry = DEVICE, .type = ANE_CLIENT_CONTROL};
    const struct pr_service_surface_create create = {.bytes = 10000};
    const struct pr_service_status first = {0}, beyond = {.first = 1000};
    struct svcrig_reply reply;
    bool found = false;

    (void)state;
    open_client(client);
    assert_true(svcrig_talk(client, PR_SERVICE_SURFACE, &create, sizeof(create), &reply));
    close(reply.file);
    assert_true(svcrig_talk(observer, PR_SERVICE_OPEN, &open, sizeof(open), &reply));
    assert_int_equal(reply.header.status, kIOReturnNotPermitted);
    assert_true(svcrig_talk(observer, PR_SERVICE_STATUS, &first, sizeof(first), &reply));
    assert_int_equal(reply.header.status, 0);
    assert_int_equal(reply.status.pid, service);
    for (unsigned i = 0; i < reply.status.rows; i++) {
        const struct pr_service_client *row = &reply.status.row[i];

        if (row->task != welcome.task)
            continue;
        found = true;
        assert_int_equal(row->pid, getpid());
        assert_int_equal(row->uid, getuid());
        assert_int_equal(row->connects, 1);
        assert_int_equal(row->surfaces, 1);
        assert_int_equal(row->tier, PR_BROKER_TIERS);
        assert_non_null(strstr(row->executable, "test_service"));
    }
    assert_true(found);
    assert_true(svcrig_talk(observer, PR_SERVICE_STATUS, &beyond, sizeof(beyond), &reply));
    assert_int_equal(reply.status.rows, 0);
    assert_true(reply.status.sessions >= 1);
    close(client);
    close(observer);
}

/* ---- Rings and ends ---- */

static void announce(int session, uint32_t slot)
{
    const struct pr_service_slot body = {.slot = slot};
    struct svcrig_reply reply;

    assert_true(svcrig_talk(session, PR_SERVICE_SLOT, &body, sizeof(body), &reply));
    assert_int_equal(reply.header.status, 0);
}

static struct pr_ring_slot *slot_of(uint8_t *ring, unsigned slot)
{
    return (void *)(ring + PR_RING_SLOTS_AT + slot * sizeof(struct pr_ring_slot));
}

static void post(struct pr_ring_slot *slot)
{
    __atomic_store_n(&slot->state, PR_RING_POSTED, __ATOMIC_SEQ_CST);
    if (__atomic_exchange_n(&slot->service_asleep, 0, __ATOMIC_SEQ_CST))
        syscall(SYS_futex, &slot->service_asleep, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void wait_done(struct pr_ring_slot *slot)
{
    for (unsigned ms = 0; __atomic_load_n(&slot->state, __ATOMIC_SEQ_CST) != PR_RING_DONE; ms++) {
        assert_true(ms < SVCRIG_PATIENCE_MS);
        usleep(1000);
    }
}

/* A ring full of random bytes, posted again and again; afterwards a program of another session runs. */
static void test_a_ring_of_random_bytes_harms_no_other(void **state)
{
    struct svcrig_counts before = svcrig_counts(service);
    struct test_rng rng;
    uint8_t *ring;
    int session = svcrig_hello("socket", PR_SERVICE_ROLE_CLIENT, NULL, &ring);
    uint32_t connect = open_client(session);
    const unsigned slots = 4;

    test_rng_init(&rng, 1);
    for (unsigned i = 0; i < slots; i++)
        announce(session, i);
    for (unsigned turn = 0; turn < 300; turn++) {
        for (unsigned i = 0; i < slots; i++) {
            struct pr_ring_slot *slot = slot_of(ring, i);
            uint32_t *word = &slot->operation;

            for (size_t k = 0; k < (offsetof(struct pr_ring_slot, out) - 0xc) / 4; k++)
                word[k] = test_rng_u32(&rng);
            slot->operation = test_rng_u32(&rng) % 6;
            slot->selector %= 20;
            if (turn % 2)
                slot->connect = connect;
            if (turn % 3)
                slot->absent = slot->scalars_in = slot->scalars_out = slot->struct_in = slot->struct_out = 0;
            post(slot);
        }
        for (unsigned i = 0; i < slots; i++)
            wait_done(slot_of(ring, i));
    }
    memset(ring, 0xff, PR_RING_BYTES);
    close(session);
    munmap(ring, PR_RING_BYTES);
    svcrig_wait_counts(service, before);
    test_a_program_runs_in_the_service(state);
}

/* Runs in a process of its own that is killed while threads of the service are in its calls. */
static void be_killed(int ready)
{
    const struct pr_service_surface_create create = {.bytes = 1 << 20};
    uint8_t *ring;
    int session = svcrig_hello("socket", PR_SERVICE_ROLE_CLIENT, NULL, &ring);
    uint32_t connect = open_client(session);
    struct svcrig_reply reply;

    for (unsigned i = 0; i < 3; i++) {
        struct pr_ring_slot *slot = slot_of(ring, i);

        announce(session, i);
        assert_true(svcrig_talk(session, PR_SERVICE_SURFACE, &create, sizeof(create), &reply));
        close(reply.file);
        slot->operation = PR_RING_EVENT;
        slot->connect = connect;
        slot->selector = PR_RING_EVENT_CREATE;
        slot->scalars_in = slot->scalars_out = 1;
        post(slot);
        wait_done(slot);
        assert_int_equal(slot->result, 0);
        slot->selector = PR_RING_EVENT_WAIT;
        slot->scalar_in[0] = slot->scalar_out[0];
        slot->scalar_in[1] = 1;
        slot->scalar_in[2] = UINT64_MAX;
        slot->scalars_in = 3;
        slot->scalars_out = 0;
        post(slot);
    }
    assert_int_equal(write(ready, "", 1), 1);
    for (;;)
        pause();
}

static void test_a_killed_client_leaves_nothing(void **state)
{
    struct svcrig_counts before = svcrig_counts(service);

    (void)state;
    for (unsigned turn = 0; turn < 5; turn++) {
        int ready[2];
        pid_t child;
        char byte;

        assert_int_equal(pipe(ready), 0);
        child = fork();
        assert_true(child >= 0);
        if (!child)
            be_killed(ready[1]);
        close(ready[1]);
        assert_int_equal(read(ready[0], &byte, 1), 1);
        close(ready[0]);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        svcrig_wait_counts(service, before);
    }
}

/* Beyond the limits of one session; what was refused took nothing. */
static void test_a_session_has_limits(void **state)
{
    struct svcrig_counts before = svcrig_counts(service);
    const struct pr_service_surface_create create = {.bytes = 1};
    const struct pr_service_open open = {.entry = DEVICE, .type = ANE_CLIENT_CONTROL};
    int session = svcrig_hello("socket", PR_SERVICE_ROLE_CLIENT, NULL, NULL);
    struct svcrig_reply reply;

    (void)state;
    for (unsigned i = 0; i < PR_SERVICE_CONNECTS; i++)
        open_client(session);
    assert_true(svcrig_talk(session, PR_SERVICE_OPEN, &open, sizeof(open), &reply));
    assert_int_equal(reply.header.status, kIOReturnNoResources);
    for (unsigned i = 0; i < PR_SERVICE_SURFACES; i++) {
        assert_true(svcrig_talk(session, PR_SERVICE_SURFACE, &create, sizeof(create), &reply));
        assert_int_equal(reply.header.status, 0);
        assert_true(reply.surface.surface & PR_SERVICE_SURFACE_BIT);
        close(reply.file);
    }
    assert_true(svcrig_talk(session, PR_SERVICE_SURFACE, &create, sizeof(create), &reply));
    assert_int_equal(reply.header.status, -ENOSPC);
    close(session);
    svcrig_wait_counts(service, before);
}

static int create_surface(int session, uint64_t bytes)
{
    const struct pr_service_surface_create create = {.bytes = bytes};
    struct svcrig_reply reply;

    assert_true(svcrig_talk(session, PR_SERVICE_SURFACE, &create, sizeof(create), &reply));
    if (reply.file >= 0)
        close(reply.file);
    return reply.header.status;
}

static void test_surfaces_have_a_sum(void **state)
{
    int session = svcrig_hello("socket", PR_SERVICE_ROLE_CLIENT, NULL, NULL);
    const uint64_t most = 1ull << 32; /* of one surface */

    (void)state;
    for (uint64_t sum = 0; sum < PR_SERVICE_BYTES_MAX; sum += most)
        assert_int_equal(create_surface(session, most), 0);
    assert_int_equal(create_surface(session, 1), -ENOSPC);
    assert_int_equal(create_surface(session, UINT64_MAX), -EINVAL);
    assert_int_equal(create_surface(session, 0), -EINVAL);
    close(session);
}

/* Kilobytes of shared memory that the service has touched. */
static unsigned long shared_memory(void)
{
    unsigned long kilobytes = 0;
    char path[64], line[256];
    FILE *status;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)service);
    status = fopen(path, "r");
    assert_non_null(status);
    while (fgets(line, sizeof(line), status))
        sscanf(line, "RssShmem: %lu", &kilobytes);
    fclose(status);
    return kilobytes;
}

/* Memory of a surface is taken by who touches it, and so within the limits that the host has set for that. */
static void test_a_surface_takes_no_memory_of_the_service(void **state)
{
    int session = svcrig_hello("socket", PR_SERVICE_ROLE_CLIENT, NULL, NULL);
    const unsigned long each = 16384, count = 8, before = shared_memory();

    (void)state;
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(create_surface(session, each << 10), 0);
    assert_true(shared_memory() < before + each);
    close(session);
}

static uint64_t requests_in_all(void)
{
    const struct pr_service_status first = {0};
    int observer = svcrig_hello("socket", PR_SERVICE_ROLE_OBSERVER, NULL, NULL);
    struct svcrig_reply reply;

    assert_true(svcrig_talk(observer, PR_SERVICE_STATUS, &first, sizeof(first), &reply));
    close(observer);
    return reply.status.requests;
}

/* The machine forgets what a closed client has used; the service does not. */
static void test_figures_outlive_a_connection(void **state)
{
    uint64_t before = requests_in_all();

    test_a_program_runs_in_the_service(state);
    assert_int_equal(requests_in_all() - before, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_program_runs_in_the_service),
        cmocka_unit_test(test_asynchronous_requests_complete_at_their_port),
        cmocka_unit_test(test_a_broken_message_ends_its_session_by_name),
        cmocka_unit_test(test_anothers_connection_never_existed),
        cmocka_unit_test(test_only_the_broker_names_tasks),
        cmocka_unit_test(test_an_observer_reads_the_status_alone),
        cmocka_unit_test(test_a_ring_of_random_bytes_harms_no_other),
        cmocka_unit_test(test_a_killed_client_leaves_nothing),
        cmocka_unit_test(test_a_session_has_limits),
        cmocka_unit_test(test_surfaces_have_a_sum),
        cmocka_unit_test(test_a_surface_takes_no_memory_of_the_service),
        cmocka_unit_test(test_figures_outlive_a_connection),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
