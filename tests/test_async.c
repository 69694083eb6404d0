/* SPDX-License-Identifier: Apache-2.0 */
/* Asynchronous requests and wake ports, as a client of iokit.h sees them. */
#include "support.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "iorig.h"
#include "sabotage.h"

#define LONG_NS  60000000000ull /* longer than anything here takes */
#define SHORT_NS 1000000ull
#define ROOM     48u /* messages of a port, and requests of a machine */

static struct ane_machine *make(uint32_t clock)
{
    return iorig_machine((struct ane_machine_config){.trace = 1, .clock = clock});
}

static ane_port_t make_port(void)
{
    ane_port_t port;

    assert_int_equal(ane_port_create(&port), 0);
    assert_true(port != 0);
    return port;
}

static IOReturn post_words(const struct iorig_accumulator *a, uint32_t selector, ane_port_t port,
                           uint64_t sequence, uint64_t *words, uint32_t count,
                           struct ane_request_reply *reply)
{
    const uint32_t surfaces[3] = {a->x, a->state, a->state};
    const uint64_t doorbell = ANE_REQUEST_DOORBELL;
    struct ane_request request = {.token = a->token,
                                  .sequence = sequence,
                                  .priority = ANE_REQUEST_PRIORITY,
                                  .qos = ANE_REQUEST_QOS,
                                  .category = ANE_REQUEST_CATEGORY,
                                  .inputs = 2,
                                  .outputs = 1};
    size_t size = sizeof(*reply);

    memcpy(request.surface, surfaces, sizeof(surfaces));
    return IOConnectCallAsyncMethod(a->client.connect, selector, port, words, count, &doorbell, 1, &request,
                                    sizeof(request), NULL, NULL, reply, &size);
}

/* One more step of the accumulator; its reference is {who, sequence, 3, 4}. */
static IOReturn post(const struct iorig_accumulator *a, ane_port_t port, uint64_t who, uint64_t sequence)
{
    uint64_t words[4] = {who, sequence, 3, 4};
    struct ane_request_reply reply = {0};
    IOReturn status = post_words(a, ANE_CONTROL_ProgramSendRequest, port, sequence, words, 4, &reply);

    if (!status) {
        assert_true(reply.sequence == sequence && reply.token == a->token);
        assert_true(reply.status == ANE_REQUEST_PENDING && reply.detail == 0);
    }
    return status;
}

static void expect_message(ane_port_t port, const struct iorig_accumulator *a, uint64_t who,
                           uint64_t sequence, IOReturn result)
{
    struct ane_port_message message;

    assert_int_equal(ane_port_receive(port, &message, LONG_NS), 0);
    assert_true(message.reference[0] == who && message.reference[1] == sequence);
    assert_true(message.reference[2] == 3 && message.reference[3] == 4);
    assert_int_equal(message.result, result);
    assert_true(message.reply.sequence == sequence && message.reply.token == a->token);
    assert_true(message.reply.status == (uint32_t)result);
}

static void expect_none(ane_port_t port)
{
    struct ane_port_message message;

    assert_int_equal(ane_port_receive(port, &message, 0), -ETIMEDOUT);
}

/* Twenty in one band: their messages come in their order, with either clock. */
static void messages_come_in_order(void **state)
{
    static const uint32_t clocks[] = {ANE_CLOCK_OPEN, ANE_CLOCK_CLOSED};

    (void)state;
    for (unsigned c = 0; c < 2; c++) {
        struct ane_machine *machine = make(clocks[c]);
        ane_port_t port = make_port();
        struct iorig_accumulator a;

        iorig_accumulator_make(&a, ane_machine_service(machine), 2, 16);
        for (unsigned i = 0; i < 20; i++)
            assert_int_equal(post(&a, port, 9, i), kIOReturnSuccess);
        for (unsigned i = 0; i < 20; i++)
            expect_message(port, &a, 9, i, kIOReturnSuccess);
        expect_none(port);
        assert_true(iorig_accumulator_value(&a) == 20);
        iorig_accumulator_release(&a);
        assert_int_equal(ane_port_release(port), 0);
        ane_machine_destroy(machine);
    }
}

static void what_is_refused(void **state)
{
    struct ane_machine *machine = make(ANE_CLOCK_OPEN), *other = make(ANE_CLOCK_OPEN);
    ane_port_t port = make_port(), stale = make_port();
    struct ane_request_reply reply;
    struct ane_port_message message;
    struct iorig_accumulator a, b;
    uint64_t words[5] = {0};

    (void)state;
    iorig_accumulator_make(&a, ane_machine_service(machine), 2, 16);
    iorig_accumulator_make(&b, ane_machine_service(other), 2, 16);
    assert_int_equal(ane_port_release(stale), 0);
    assert_int_equal(ane_port_release(stale), -EINVAL);
    assert_int_equal(post(&a, 0, 0, 0), kIOReturnBadArgument);
    assert_non_null(strstr(ane_machine_error(), "wake port"));
    assert_int_equal(post(&a, stale, 0, 0), kIOReturnBadArgument);
    assert_non_null(strstr(ane_machine_error(), "released"));
    assert_int_equal(post(&a, 77, 0, 0), kIOReturnBadArgument);
    assert_int_equal(post_words(&a, 2, port, 0, words, 0, &reply), kIOReturnBadArgument);
    assert_int_equal(post_words(&a, 2, port, 0, words, 5, &reply), kIOReturnBadArgument);
    assert_non_null(strstr(ane_machine_error(), "5 reference words"));
    assert_int_equal(post_words(&a, 2, port, 0, NULL, 1, &reply), kIOReturnBadArgument);
    /* No other selector completes at a port; sizes are still checked first. */
    assert_int_equal(IOConnectCallAsyncMethod(a.client.connect, ANE_CONTROL_DeviceClose, port, words, 1, NULL,
                                              0, NULL, 0, NULL, NULL, NULL, NULL),
                     kIOReturnBadArgument);
    assert_non_null(strstr(ane_machine_error(), "only selector 2"));
    /* What selector 2 itself refuses brings no message. */
    b.token += 99;
    assert_int_equal(post(&b, port, 0, 0), kIOReturnNotFound);
    expect_none(port);
    b.token -= 99;
    /* From its first request on a port serves one machine. */
    assert_int_equal(post(&a, port, 0, 0), kIOReturnSuccess);
    assert_int_equal(post(&b, port, 0, 0), kIOReturnBadArgument);
    assert_non_null(strstr(ane_machine_error(), "another machine"));
    expect_message(port, &a, 0, 0, kIOReturnSuccess);
    expect_none(port);
    assert_int_equal(ane_port_receive(stale, &message, 0), -EINVAL);
    assert_int_equal(ane_port_receive(port, NULL, 0), -EINVAL);
    assert_int_equal(ane_port_create(NULL), -EINVAL);
    assert_int_equal(ane_port_descriptor(stale), -EINVAL);
    assert_int_equal(ane_port_release(port), 0);
    ane_machine_destroy(other);
    ane_machine_destroy(machine);
}

/* One word is enough; the others are 0. */
static void a_short_reference(void **state)
{
    struct ane_machine *machine = make(ANE_CLOCK_OPEN);
    ane_port_t port = make_port();
    struct ane_request_reply reply;
    struct ane_port_message message;
    struct iorig_accumulator a;
    uint64_t word = 0x1122334455667788ull;

    (void)state;
    iorig_accumulator_make(&a, ane_machine_service(machine), 2, 16);
    assert_int_equal(post_words(&a, 2, port, 5, &word, 1, &reply), kIOReturnSuccess);
    word = 0;
    assert_int_equal(ane_port_receive(port, &message, UINT64_MAX), 0);
    assert_true(message.reference[0] == 0x1122334455667788ull);
    assert_true(!message.reference[1] && !message.reference[2] && !message.reference[3]);
    assert_int_equal(message.result, kIOReturnSuccess);
    assert_int_equal(ane_port_release(port), 0);
    ane_machine_destroy(machine);
}

/* The first call makes the machine's thread; when it cannot, nothing has changed. */
static void no_thread_for_the_first(void **state)
{
    struct ane_machine *machine = make(ANE_CLOCK_OPEN);
    ane_port_t port = make_port();
    struct iorig_accumulator a;

    (void)state;
    iorig_accumulator_make(&a, ane_machine_service(machine), 2, 16);
    base_alloc_fail_nth(1);
    assert_int_equal(post(&a, port, 1, 0), kIOReturnNoResources);
    base_alloc_fail_nth(0);
    assert_non_null(strstr(ane_machine_error(), "No thread"));
    expect_none(port);
    assert_int_equal(post(&a, port, 1, 0), kIOReturnSuccess);
    expect_message(port, &a, 1, 0, kIOReturnSuccess);
    assert_int_equal(ane_port_release(port), 0);
    ane_machine_destroy(machine);
}

/* A port has room for as many messages as there are requests, and loses none. */
static void a_port_that_is_full(void **state)
{
    struct ane_machine *machine = make(ANE_CLOCK_OPEN);
    ane_port_t port = make_port();
    struct iorig_accumulator a;

    (void)state;
    iorig_accumulator_make(&a, ane_machine_service(machine), 2, 16);
    for (unsigned i = 0; i < ROOM; i++)
        assert_int_equal(post(&a, port, 1, i), kIOReturnSuccess);
    assert_int_equal(post(&a, port, 1, ROOM), kIOReturnNoResources);
    assert_non_null(strstr(ane_machine_error(), "48"));
    expect_message(port, &a, 1, 0, kIOReturnSuccess);
    assert_int_equal(post(&a, port, 1, ROOM), kIOReturnSuccess);
    for (unsigned i = 1; i <= ROOM; i++)
        expect_message(port, &a, 1, i, kIOReturnSuccess);
    assert_true(iorig_accumulator_value(&a) == ROOM + 1);
    assert_int_equal(ane_port_release(port), 0);
    ane_machine_destroy(machine);
}

/* Four threads, one port. */
#define POSTERS 4u
#define EACH    250u

struct crowd {
    pthread_mutex_t lock;
    ane_port_t port;
    unsigned received, seen[POSTERS][EACH];
};

struct poster {
    struct crowd *crowd;
    struct iorig_accumulator a;
    unsigned number;
    const char *wrong;
};

static void note(struct poster *p, const struct ane_port_message *message)
{
    struct crowd *crowd = p->crowd;

    if (message->reference[0] >= POSTERS || message->reference[1] >= EACH)
        p->wrong = "a reference that no request had";
    else if (message->result || message->reply.status || message->reply.sequence != message->reference[1])
        p->wrong = "a result that is not the request's";
    pthread_mutex_lock(&crowd->lock);
    crowd->received++;
    if (!p->wrong)
        crowd->seen[message->reference[0]][message->reference[1]]++;
    pthread_mutex_unlock(&crowd->lock);
}

static bool all_received(struct crowd *crowd)
{
    bool all;

    pthread_mutex_lock(&crowd->lock);
    all = crowd->received >= POSTERS * EACH;
    pthread_mutex_unlock(&crowd->lock);
    return all;
}

static void *post_many(void *context)
{
    struct poster *p = context;
    struct ane_port_message message;

    for (unsigned i = 0; i < EACH && !p->wrong;) {
        IOReturn status = post(&p->a, p->crowd->port, p->number, i);

        i += status == kIOReturnSuccess;
        if (status && status != kIOReturnNoResources)
            p->wrong = "a request was refused";
        if (status && !ane_port_receive(p->crowd->port, &message, SHORT_NS))
            note(p, &message);
    }
    while (!p->wrong && !all_received(p->crowd))
        if (!ane_port_receive(p->crowd->port, &message, SHORT_NS))
            note(p, &message);
    return NULL;
}

static void a_thousand_requests_of_four_threads(void **state)
{
    static struct crowd crowd = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct ane_machine *machine = make(ANE_CLOCK_OPEN);
    struct poster poster[POSTERS];
    pthread_t thread[POSTERS];

    (void)state;
    crowd.port = make_port();
    for (unsigned i = 0; i < POSTERS; i++) {
        poster[i] = (struct poster){.crowd = &crowd, .number = i};
        iorig_accumulator_make(&poster[i].a, ane_machine_service(machine), 2, 16);
    }
    for (unsigned i = 0; i < POSTERS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, post_many, &poster[i]), 0);
    for (unsigned i = 0; i < POSTERS; i++)
        pthread_join(thread[i], NULL);
    for (unsigned i = 0; i < POSTERS; i++) {
        if (poster[i].wrong)
            fail_msg("thread %u: %s", i, poster[i].wrong);
        assert_true(iorig_accumulator_value(&poster[i].a) == EACH);
        for (unsigned k = 0; k < EACH; k++)
            assert_int_equal(crowd.seen[i][k], 1);
    }
    expect_none(crowd.port);
    assert_int_equal(ane_port_release(crowd.port), 0);
    ane_machine_destroy(machine);
}

/* With a closed clock nothing moves until a call waits: these requests are under way for certain. */

static void a_close_with_ten_outstanding(void **state)
{
    struct ane_machine *machine = make(ANE_CLOCK_CLOSED);
    ane_port_t port = make_port();
    struct iorig_accumulator a, b;

    (void)state;
    iorig_accumulator_make(&a, ane_machine_service(machine), 2, 16);
    iorig_accumulator_make(&b, ane_machine_service(machine), 2, 16);
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(post(&a, port, 1, i), kIOReturnSuccess);
    assert_int_equal(IOServiceClose(a.client.connect), kIOReturnSuccess);
    for (unsigned i = 0; i < 10; i++)
        expect_message(port, &a, 1, i, kIOReturnAborted);
    expect_none(port);
    /* The port and the machine go on. */
    assert_int_equal(post(&b, port, 2, 0), kIOReturnSuccess);
    expect_message(port, &b, 2, 0, kIOReturnSuccess);
    assert_true(iorig_accumulator_value(&b) == 1);
    ane_machine_destroy(machine);
    assert_int_equal(ane_port_release(port), 0);
}

static void a_session_with_requests_is_busy(void **state)
{
    struct ane_machine *machine = make(ANE_CLOCK_CLOSED);
    ane_port_t port = make_port();
    struct iorig_accumulator a;

    (void)state;
    iorig_accumulator_make(&a, ane_machine_service(machine), 2, 16);
    assert_int_equal(post(&a, port, 1, 0), kIOReturnSuccess);
    assert_int_equal(IOConnectCallMethod(a.client.connect, ANE_CONTROL_DeviceClose, NULL, 0, NULL, 0, NULL,
                                         NULL, NULL, NULL),
                     kIOReturnBusy);
    expect_message(port, &a, 1, 0, kIOReturnSuccess);
    assert_int_equal(ane_port_release(port), 0);
    ane_machine_destroy(machine);
}

static void a_machine_ends_with_requests_outstanding(void **state)
{
    static const uint32_t clocks[] = {ANE_CLOCK_CLOSED, ANE_CLOCK_OPEN};

    (void)state;
    for (unsigned c = 0; c < 2; c++) {
        struct ane_machine *machine = make(clocks[c]);
        ane_port_t port = make_port();
        struct ane_port_message message;
        struct iorig_accumulator a;

        iorig_accumulator_make(&a, ane_machine_service(machine), 2, 16);
        for (unsigned i = 0; i < 10; i++)
            assert_int_equal(post(&a, port, 1, i), kIOReturnSuccess);
        ane_machine_destroy(machine);
        for (unsigned i = 0; i < 10; i++) {
            assert_int_equal(ane_port_receive(port, &message, 0), 0);
            assert_true(message.reference[1] == i);
            /* With an open clock some had ended before. */
            if (c == 0 || message.result)
                assert_int_equal(message.result, ANE_RETURN_CLOSED);
            assert_true(message.reply.status == (uint32_t)message.result);
        }
        expect_none(port);
        /* It serves the next machine. */
        machine = make(clocks[c]);
        iorig_accumulator_make(&a, ane_machine_service(machine), 2, 16);
        assert_int_equal(post(&a, port, 2, 0), kIOReturnSuccess);
        expect_message(port, &a, 2, 0, kIOReturnSuccess);
        assert_int_equal(ane_port_release(port), 0);
        ane_machine_destroy(machine);
    }
}

static void a_port_released_with_requests_outstanding(void **state)
{
    struct ane_machine *machine = make(ANE_CLOCK_CLOSED);
    ane_port_t port = make_port(), next;
    struct iorig_accumulator a;

    (void)state;
    iorig_accumulator_make(&a, ane_machine_service(machine), 2, 16);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(post(&a, port, 1, i), kIOReturnSuccess);
    assert_int_equal(ane_port_release(port), 0);
    next = make_port();
    assert_true(next != port);
    assert_int_equal(ane_machine_run(machine, LONG_NS), 0);
    assert_true(iorig_accumulator_value(&a) == 3); /* they ran */
    expect_none(next);                             /* and went nowhere */
    iorig_accumulator_release(&a);
    assert_int_equal(ane_port_release(next), 0);
    ane_machine_destroy(machine);
}

/* Receivers that wait when their port or machine goes. */
struct receiver {
    ane_port_t port;
    int status;
};

static void *receive_long(void *context)
{
    struct receiver *receiver = context;
    struct ane_port_message message;

    receiver->status = ane_port_receive(receiver->port, &message, UINT64_MAX);
    return NULL;
}

static unsigned waits_inside(struct ane_machine *machine)
{
    unsigned count = 0;

    assert_true(mach_enter(machine));
    for (const struct mach_waiter *waiter = machine->lock.waiters; waiter; waiter = waiter->next)
        count += !waiter->over;
    mach_leave(machine);
    return count;
}

static void receivers_are_let_go(void **state)
{
    (void)state;
    for (unsigned bound = 0; bound < 2; bound++)
        for (unsigned release = 0; release <= bound; release++) {
            struct ane_machine *machine = make(ANE_CLOCK_OPEN);
            struct receiver receiver[2];
            struct iorig_accumulator a;
            pthread_t thread[2];

            receiver[0].port = receiver[1].port = make_port();
            iorig_accumulator_make(&a, ane_machine_service(machine), 2, 16);
            if (bound) {
                assert_int_equal(post(&a, receiver[0].port, 1, 0), kIOReturnSuccess);
                expect_message(receiver[0].port, &a, 1, 0, kIOReturnSuccess);
            }
            for (unsigned i = 0; i < 2; i++)
                assert_int_equal(pthread_create(&thread[i], NULL, receive_long, &receiver[i]), 0);
            /* After the end of its machine a port waits for the next one: they have to be inside before. */
            while (bound && !release && waits_inside(machine) < 2)
                usleep(100);
            if (bound && !release)
                ane_machine_destroy(machine);
            else
                assert_int_equal(ane_port_release(receiver[0].port), 0);
            for (unsigned i = 0; i < 2; i++)
                pthread_join(thread[i], NULL);
            for (unsigned i = 0; i < 2; i++)
                assert_int_equal(receiver[i].status, bound && !release ? -ENODEV : -EINVAL);
            if (bound && !release)
                assert_int_equal(ane_port_release(receiver[0].port), 0);
            else
                ane_machine_destroy(machine);
        }
}

static void a_receive_that_times_out(void **state)
{
    struct ane_machine *machine = make(ANE_CLOCK_CLOSED);
    ane_port_t port = make_port();
    struct ane_port_message message, before;
    struct iorig_accumulator a;
    uint64_t now;

    (void)state;
    memset(&message, 0x5a, sizeof(message));
    before = message;
    assert_int_equal(ane_port_receive(port, &message, SHORT_NS), -ETIMEDOUT);
    assert_non_null(strstr(ane_machine_error(), "in time"));
    assert_memory_equal(&message, &before, sizeof(message));
    iorig_accumulator_make(&a, ane_machine_service(machine), 2, 16);
    assert_int_equal(post(&a, port, 1, 0), kIOReturnSuccess);
    expect_message(port, &a, 1, 0, kIOReturnSuccess);
    /* With a closed clock the wait is virtual. */
    now = ane_machine_now(machine);
    assert_int_equal(ane_port_receive(port, &message, LONG_NS), -ETIMEDOUT);
    assert_true(ane_machine_now(machine) == now + LONG_NS);
    assert_int_equal(ane_port_release(port), 0);
    ane_machine_destroy(machine);
}

/* The machine works while no thread of the caller's is in the library. */
static void poll_sees_messages(void **state)
{
    struct ane_machine *machine = make(ANE_CLOCK_OPEN);
    ane_port_t port = make_port();
    struct iorig_accumulator a;
    struct pollfd polled = {.events = POLLIN};

    (void)state;
    iorig_accumulator_make(&a, ane_machine_service(machine), 2, 16);
    polled.fd = ane_port_descriptor(port);
    assert_true(polled.fd >= 0 && ane_port_descriptor(port) == polled.fd);
    assert_int_equal(poll(&polled, 1, 0), 0);
    for (unsigned round = 0; round < 3; round++) {
        assert_int_equal(post(&a, port, 1, 2 * round), kIOReturnSuccess);
        assert_int_equal(post(&a, port, 1, 2 * round + 1), kIOReturnSuccess);
        assert_int_equal(poll(&polled, 1, 60000), 1);
        expect_message(port, &a, 1, 2 * round, kIOReturnSuccess);
        assert_int_equal(poll(&polled, 1, 60000), 1);
        expect_message(port, &a, 1, 2 * round + 1, kIOReturnSuccess);
        assert_int_equal(poll(&polled, 1, 0), 0);
    }
    assert_int_equal(ane_port_release(port), 0);
    ane_machine_destroy(machine);
}

/* A request whose completion is lost: its message says so after the timeout, in either kind of time. */
static void a_deadline_passes(void **state)
{
    static const uint32_t clocks[] = {ANE_CLOCK_OPEN, ANE_CLOCK_CLOSED};

    (void)state;
    for (unsigned c = 0; c < 2; c++) {
        struct ane_machine *machine = make(clocks[c]);
        ane_port_t port = make_port();
        struct iorig_accumulator a;
        struct sabotage lost;
        uint64_t now;

        iorig_accumulator_make_timed(&a, ane_machine_service(machine), 2, 16, 50);
        sabotage_begin(&lost, machine, SABOTAGE_DROP_DOORBELL);
        now = ane_machine_now(machine);
        assert_int_equal(post(&a, port, 1, 0), kIOReturnSuccess);
        assert_int_equal(post(&a, port, 1, 1), kIOReturnSuccess);
        expect_message(port, &a, 1, 0, kIOReturnTimeout);
        expect_message(port, &a, 1, 1, kIOReturnTimeout);
        if (clocks[c] == ANE_CLOCK_CLOSED)
            assert_true(ane_machine_now(machine) == now + 50000000);
        sabotage_end(&lost);
        assert_int_equal(post(&a, port, 1, 2), kIOReturnSuccess);
        expect_message(port, &a, 1, 2, kIOReturnSuccess);
        expect_none(port);
        assert_int_equal(ane_port_release(port), 0);
        ane_machine_destroy(machine);
    }
}

/* Injected posts. */
struct injected {
    struct iorig_accumulator a;
    ane_port_t port;
    unsigned number;
    IOReturn status;
};

static void post_injected(void *context)
{
    struct injected *call = context;

    call->status = post(&call->a, call->port, call->number, call->number);
}

static uint64_t run_injected(void)
{
    struct ane_machine *machine = make(ANE_CLOCK_CLOSED);
    struct injected call[6];
    ane_port_t port = make_port();
    uint64_t hash, now;

    for (unsigned i = 0; i < 6; i++) {
        call[i] = (struct injected){.port = port, .number = i, .status = kIOReturnError};
        iorig_accumulator_make(&call[i].a, ane_machine_service(machine), 2, 16);
    }
    now = ane_machine_now(machine);
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(ane_machine_call_at(machine, now + 100 + 700 * (i / 2), post_injected, &call[i]), 0);
    assert_int_equal(ane_machine_run(machine, LONG_NS), 0);
    for (unsigned i = 0; i < 6; i++) {
        assert_int_equal(call[i].status, kIOReturnSuccess);
        expect_message(port, &call[i].a, i, i, kIOReturnSuccess);
    }
    hash = ane_machine_trace_hash(machine);
    assert_int_equal(ane_port_release(port), 0);
    ane_machine_destroy(machine);
    return hash;
}

static void injected_posts_have_one_trace(void **state)
{
    uint64_t first = run_injected();

    (void)state;
    for (unsigned i = 0; i < 5; i++)
        assert_true(run_injected() == first);
}

/* The thread sanitizer allows a child no thread of its own; a closed clock needs none. */
#if defined(__SANITIZE_THREAD__)
#define CHILD_CLOCK ANE_CLOCK_CLOSED
#else
#define CHILD_CLOCK ANE_CLOCK_OPEN
#endif

/* 0 when a child can use ports of its own and not those of its parent. */
static int child_uses_ports(ane_port_t inherited, int descriptor)
{
    struct ane_port_message message;
    struct ane_machine *machine;
    struct iorig_accumulator a;
    ane_port_t own;

    if (ane_port_receive(inherited, &message, LONG_NS) != -EINVAL)
        return 2;
    if (write(descriptor, "12345678", 8) != -1 || errno != EBADF)
        return 3;
    machine = make(CHILD_CLOCK);
    own = make_port();
    iorig_accumulator_make(&a, ane_machine_service(machine), 2, 16);
    if (post(&a, own, 7, 0) || ane_port_receive(own, &message, LONG_NS) || message.result)
        return 4;
    ane_machine_destroy(machine);
    return ane_port_release(own) ? 5 : 0;
}

static void a_forked_child_has_no_ports(void **state)
{
    struct ane_machine *machine = make(ANE_CLOCK_OPEN);
    ane_port_t port = make_port();
    struct iorig_accumulator a;
    int status, descriptor;
    pid_t child;

    (void)state;
    iorig_accumulator_make(&a, ane_machine_service(machine), 2, 16);
    descriptor = ane_port_descriptor(port);
    assert_true(descriptor >= 0);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(post(&a, port, 1, i), kIOReturnSuccess);
    child = fork();
    if (child == 0)
        _exit(child_uses_ports(port, descriptor));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    for (unsigned i = 0; i < 5; i++)
        expect_message(port, &a, 1, i, kIOReturnSuccess);
    assert_int_equal(ane_port_release(port), 0);
    ane_machine_destroy(machine);
}

static void ports_run_out(void **state)
{
    ane_port_t port[256], more;

    (void)state;
    for (unsigned i = 0; i < 256; i++)
        assert_int_equal(ane_port_create(&port[i]), 0);
    assert_int_equal(ane_port_create(&more), -ENOSPC);
    assert_int_equal(more, 0);
    for (unsigned i = 0; i < 256; i++)
        assert_int_equal(ane_port_release(port[i]), 0);
}

static void *wake_later(void *context)
{
    usleep(1000);
    assert_int_equal(ane_port_wake(*(ane_port_t *)context), 0);
    return NULL;
}

/* A receiver outside a machine, inside one, and the next one that comes; a message that is there is first. */
static void a_receiver_is_woken(void **state)
{
    struct ane_machine *machine = make(ANE_CLOCK_OPEN);
    ane_port_t port = make_port();
    struct ane_port_message message;
    struct iorig_accumulator a;
    unsigned wakes = 0;
    int status;

    (void)state;
    iorig_accumulator_make(&a, ane_machine_service(machine), 2, 16);
    for (unsigned i = 0; i < 2; i++) {
        pthread_t thread;

        assert_int_equal(pthread_create(&thread, NULL, wake_later, &port), 0);
        assert_int_equal(ane_port_receive(port, &message, LONG_NS), -EINTR);
        pthread_join(thread, NULL);
        assert_int_equal(ane_port_wake(port), 0);
        assert_int_equal(ane_port_wake(port), 0);
        assert_int_equal(post(&a, port, 1, i), kIOReturnSuccess);
        while (ane_port_receive(port, &message, LONG_NS) == -EINTR)
            wakes++;
        assert_int_equal(message.result, kIOReturnSuccess);
        while ((status = ane_port_receive(port, &message, 0)) == -EINTR)
            wakes++;
        assert_int_equal(status, -ETIMEDOUT);
        assert_int_equal(wakes, i + 1);
    }
    assert_int_equal(ane_port_release(port), 0);
    assert_int_equal(ane_port_wake(port), -EINVAL);
    iorig_accumulator_release(&a);
    ane_machine_destroy(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_come_in_order),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(a_short_reference),
        cmocka_unit_test(no_thread_for_the_first),
        cmocka_unit_test(a_port_that_is_full),
        cmocka_unit_test(a_thousand_requests_of_four_threads),
        cmocka_unit_test(a_close_with_ten_outstanding),
        cmocka_unit_test(a_session_with_requests_is_busy),
        cmocka_unit_test(a_machine_ends_with_requests_outstanding),
        cmocka_unit_test(a_port_released_with_requests_outstanding),
        cmocka_unit_test(receivers_are_let_go),
        cmocka_unit_test(a_receive_that_times_out),
        cmocka_unit_test(poll_sees_messages),
        cmocka_unit_test(a_deadline_passes),
        cmocka_unit_test(injected_posts_have_one_trace),
        cmocka_unit_test(a_forked_child_has_no_ports),
        cmocka_unit_test(ports_run_out),
        cmocka_unit_test(a_receiver_is_woken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
