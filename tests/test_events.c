/* SPDX-License-Identifier: Apache-2.0 */
/* Shared events through iokit.h: the objects, who may name them, and calls that wait for them. */
#include "support.h"

#include <pthread.h>
#include <string.h>

#include "driver/state.h"
#include "iorig.h"
#include "machine/internal.h"
#include "partyrig.h"
#include "rtkernel/fault.h"

#define MS 1000000ull

static struct ane_machine *make(void)
{
    return iorig_machine((struct ane_machine_config){.clock = ANE_CLOCK_CLOSED});
}

static struct iorig_client open_client(struct ane_machine *machine, ane_task_t task)
{
    struct iorig_client client;

    assert_int_equal(iorig_open(ane_machine_service(machine), task, ANE_CLIENT_DIRECT_PATH, &client),
                     kIOReturnSuccess);
    return client;
}

static uint32_t make_event(const struct iorig_client *client, uint64_t value)
{
    uint32_t event = 0;

    assert_int_equal(ane_event_create(client->connect, value, &event), kIOReturnSuccess);
    assert_int_not_equal(event, 0);
    return event;
}

static uint64_t value_of(const struct iorig_client *client, uint32_t event)
{
    uint64_t value = 0;

    assert_int_equal(ane_event_value(client->connect, event, &value), kIOReturnSuccess);
    return value;
}

static void a_value_only_rises(void **state)
{
    struct ane_machine *machine = make();
    struct iorig_client client = open_client(machine, 0);
    const uint32_t event = make_event(&client, 5);
    uint64_t value;

    (void)state;
    assert_int_equal(value_of(&client, event), 5);
    assert_int_equal(ane_event_signal(client.connect, event, 4), kIOReturnSuccess);
    assert_int_equal(value_of(&client, event), 5);
    assert_int_equal(ane_event_signal(client.connect, event, UINT64_MAX), kIOReturnSuccess);
    assert_true(value_of(&client, event) == UINT64_MAX);
    assert_int_equal(ane_event_create(client.connect, 0, NULL), kIOReturnBadArgument);
    assert_int_equal(ane_event_value(client.connect, event, NULL), kIOReturnBadArgument);
    assert_int_equal(ane_event_value(12, event, &value), kIOReturnBadArgument);
    assert_int_equal(ane_event_release(client.connect, event), kIOReturnSuccess);
    assert_int_equal(ane_event_release(client.connect, event), kIOReturnNotFound);
    assert_int_equal(ane_event_value(client.connect, event, &value), kIOReturnNotFound);
    assert_int_equal(ane_event_signal(client.connect, event, 9), kIOReturnNotFound);
    assert_int_equal(ane_event_wait(client.connect, event, 0, 0), kIOReturnNotFound);
    IOServiceClose(client.connect);
    assert_int_equal(ane_event_value(client.connect, event, &value), ANE_RETURN_CLOSED);
    ane_machine_destroy(machine);
}

/* Another task neither reads nor changes an event whose number it guesses, until it was given the event. */
static void an_event_belongs_to_its_task(void **state)
{
    struct ane_machine *machine = make();
    const ane_task_t a = partyrig_task("TEAM", 1), b = partyrig_task("TEAM", 1);
    struct iorig_client one = open_client(machine, a), two = open_client(machine, a);
    struct iorig_client other = open_client(machine, b);
    const uint32_t event = make_event(&one, 1);
    uint64_t value;

    (void)state;
    assert_int_equal(value_of(&two, event), 1);
    assert_int_equal(ane_event_value(other.connect, event, &value), kIOReturnNotFound);
    assert_int_equal(ane_event_signal(other.connect, event, 2), kIOReturnNotFound);
    assert_int_equal(ane_event_wait(other.connect, event, 0, 0), kIOReturnNotFound);
    assert_int_equal(ane_event_share(other.connect, event, b), kIOReturnNotFound);
    assert_int_equal(ane_event_share(one.connect, event, 12345), kIOReturnBadArgument);
    assert_int_equal(ane_event_share(one.connect, event, b), kIOReturnSuccess);
    assert_int_equal(ane_event_share(two.connect, event, b), kIOReturnSuccess);
    assert_int_equal(ane_event_signal(other.connect, event, 2), kIOReturnSuccess);
    assert_int_equal(value_of(&one, event), 2);
    /* What was shared is used, not owned. */
    assert_int_equal(ane_event_share(other.connect, event, 0), kIOReturnNotFound);
    assert_int_equal(ane_event_release(other.connect, event), kIOReturnNotFound);
    /* It ends with the connection that made it. */
    IOServiceClose(one.connect);
    assert_int_equal(ane_event_value(two.connect, event, &value), kIOReturnNotFound);
    assert_int_equal(ane_event_value(other.connect, event, &value), kIOReturnNotFound);
    ane_machine_destroy(machine);
    ane_task_release(a);
    ane_task_release(b);
}

/* 8 other tasks, 32 events of a task, 64 of a machine; each limit, and one more. */
static void events_are_limited(void **state)
{
    struct ane_machine *machine = make();
    ane_task_t task[9];
    struct iorig_client client, other;
    uint32_t event[32], last;

    (void)state;
    for (unsigned i = 0; i < 9; i++)
        task[i] = partyrig_task("TEAM", (uint8_t)(i + 1));
    client = open_client(machine, 0);
    for (unsigned i = 0; i < 32; i++)
        event[i] = make_event(&client, i);
    assert_int_equal(ane_event_create(client.connect, 0, &last), kIOReturnNoResources);
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(ane_event_share(client.connect, event[0], task[i]), kIOReturnSuccess);
    assert_int_equal(ane_event_share(client.connect, event[0], task[8]), kIOReturnNoResources);
    assert_int_equal(ane_event_share(client.connect, event[0], task[7]), kIOReturnSuccess);
    other = open_client(machine, task[0]);
    for (unsigned i = 0; i < 32; i++)
        last = make_event(&other, 0);
    IOServiceClose(other.connect);
    /* All rows were used once; a number does not come again with its row. */
    for (unsigned i = 0; i < 32; i++)
        assert_int_equal(value_of(&client, event[i]), i);
    assert_int_equal(ane_event_release(client.connect, event[31]), kIOReturnSuccess);
    for (unsigned i = 0; i < 200; i++) {
        const uint32_t fresh = make_event(&client, 1000);

        for (unsigned j = 0; j < 32; j++)
            assert_true(fresh != event[j] && fresh != last);
        assert_int_equal(ane_event_release(client.connect, fresh), kIOReturnSuccess);
    }
    ane_machine_destroy(machine);
    for (unsigned i = 0; i < 9; i++)
        ane_task_release(task[i]);
}

/* A thread that waits, and what it was told. */
struct waiter {
    pthread_t thread;
    io_connect_t connect;
    uint32_t event;
    uint64_t value, timeout;
    IOReturn result;
};

static void *run_waiter(void *arg)
{
    struct waiter *waiter = arg;

    waiter->result = ane_event_wait(waiter->connect, waiter->event, waiter->value, waiter->timeout);
    return NULL;
}

static void begin(struct waiter *waiter, const struct iorig_client *client, uint32_t event, uint64_t value)
{
    *waiter = (struct waiter){
        .connect = client->connect, .event = event, .value = value, .timeout = UINT64_MAX, .result = 1};
    assert_int_equal(pthread_create(&waiter->thread, NULL, run_waiter, waiter), 0);
}

static void ends_with(struct waiter *waiter, IOReturn result)
{
    pthread_join(waiter->thread, NULL);
    assert_int_equal(waiter->result, result);
}

static void a_call_waits_for_a_value(void **state)
{
    struct ane_machine *machine = iorig_machine((struct ane_machine_config){0});
    struct iorig_client client = open_client(machine, 0), second = open_client(machine, 0);
    struct waiter waiter[4];
    const uint32_t event = make_event(&client, 0), gone = make_event(&client, 0);

    (void)state;
    assert_int_equal(ane_event_wait(client.connect, event, 0, 0), kIOReturnSuccess);
    assert_int_equal(ane_event_wait(client.connect, event, 1, 0), kIOReturnTimeout);
    assert_int_equal(ane_event_wait(client.connect, event, 1, MS), kIOReturnTimeout);
    begin(&waiter[0], &client, event, 1);
    begin(&waiter[1], &second, event, 2);
    begin(&waiter[2], &second, gone, 1);
    assert_int_equal(ane_event_signal(client.connect, event, 1), kIOReturnSuccess);
    ends_with(&waiter[0], kIOReturnSuccess);
    assert_int_equal(ane_event_signal(client.connect, event, 3), kIOReturnSuccess);
    ends_with(&waiter[1], kIOReturnSuccess);
    /* Whether it waits already or not: the number names nothing any more. */
    assert_int_equal(ane_event_release(client.connect, gone), kIOReturnSuccess);
    pthread_join(waiter[2].thread, NULL);
    assert_true(waiter[2].result == kIOReturnAborted || waiter[2].result == kIOReturnNotFound);
    begin(&waiter[3], &second, event, 9);
    IOServiceClose(second.connect);
    pthread_join(waiter[3].thread, NULL);
    assert_true(waiter[3].result == kIOReturnAborted || waiter[3].result == ANE_RETURN_CLOSED);
    ane_machine_destroy(machine);
}

/* Requests. A party is a task with a program y = a + b; its requests complete at a port. */

struct party {
    struct partyrig rig;
    ane_port_t port;
    uint64_t sequence;
};

static void join(struct party *p, struct ane_machine *machine, uint8_t hash, uint64_t timeout_ms)
{
    const ane_task_t task = partyrig_task("TEAM", hash);

    p->rig = (struct partyrig){.task = task};
    p->sequence = 0;
    assert_int_equal(iorig_open(ane_machine_service(machine), task, ANE_CLIENT_CONTROL, &p->rig.control),
                     kIOReturnSuccess);
    assert_int_equal(iorig_open_timed(ane_machine_service(machine), task, ANE_CLIENT_DIRECT_PATH, timeout_ms,
                                      &p->rig.direct),
                     kIOReturnSuccess);
    partyrig_load(&p->rig, "events");
    partyrig_surfaces(&p->rig, PARTYRIG_ONE, PARTYRIG_ONE);
    assert_int_equal(ane_port_create(&p->port), 0);
}

static void part(struct party *p)
{
    partyrig_close(&p->rig);
    assert_int_equal(ane_port_release(p->port), 0);
}

static struct ane_request request_of(const struct party *p)
{
    return (struct ane_request){.token = p->rig.token,
                                .priority = ANE_REQUEST_PRIORITY,
                                .inputs = 2,
                                .outputs = 1,
                                .surface = {p->rig.a, p->rig.b, p->rig.y}};
}

/* Waits first. */
static void add(struct ane_request *request, bool signal, uint32_t event, uint64_t value)
{
    request->event[request->wait_events + request->signal_events] =
        (struct ane_request_event){.type = ANE_EVENT_SHARED, .event = event, .value = value};
    *(signal ? &request->signal_events : &request->wait_events) += 1;
}

static IOReturn post(struct party *p, struct ane_request *request)
{
    const uint64_t doorbell = ANE_REQUEST_DOORBELL;
    struct ane_request_reply reply;
    uint64_t reference = ++p->sequence;
    size_t size = sizeof(reply);

    return IOConnectCallAsyncMethod(p->rig.direct.connect, ANE_DIRECT_ProgramSendRequest, p->port, &reference,
                                    1, &doorbell, 1, request, sizeof(*request), NULL, NULL, &reply, &size);
}

static IOReturn run(struct party *p, const struct ane_request *request)
{
    const uint64_t doorbell = ANE_REQUEST_DOORBELL;
    struct ane_request_reply reply;
    size_t size = sizeof(reply);

    return IOConnectCallMethod(p->rig.direct.connect, ANE_DIRECT_ProgramSendRequest, &doorbell, 1, request,
                               sizeof(*request), NULL, NULL, &reply, &size);
}

/* A posted request that waits for one event and signals another; 0 is none. */
static uint64_t post_pair(struct party *p, uint32_t wait, uint64_t at, uint32_t signal, uint64_t to)
{
    struct ane_request request = request_of(p);

    if (wait)
        add(&request, false, wait, at);
    if (signal)
        add(&request, true, signal, to);
    if (post(p, &request))
        fail_msg("%s", ane_machine_error());
    return p->sequence;
}

static bool arrived(struct party *p, uint64_t ns, uint64_t *reference, IOReturn *result)
{
    struct ane_port_message message;

    if (ane_port_receive(p->port, &message, ns))
        return false;
    *reference = message.reference[0];
    *result = message.result;
    return true;
}

static void expect_message(struct party *p, uint64_t reference, IOReturn result)
{
    uint64_t got = 0;
    IOReturn code = 0;

    assert_true(arrived(p, 1000 * MS, &got, &code));
    assert_int_equal(got, reference);
    if (code != result)
        fail_msg("0x%x is not 0x%x: %s", (unsigned)code, (unsigned)result, ane_machine_error());
}

static void expect_silence(struct party *p)
{
    uint64_t reference;
    IOReturn result;

    assert_false(arrived(p, 20 * MS, &reference, &result));
}

/* Nothing of a client is in the driver or the firmware, and every row of the table is free but those live. */
static void expect_nothing_left(struct ane_machine *machine, unsigned live)
{
    const struct drv *d = machine->driver;

    for (unsigned i = 0; i < DRV_REQUESTS; i++)
        assert_int_equal(d->request[i].state, DRV_REQUEST_FREE);
    assert_int_equal(d->stats.in_flight, 0);
    for (unsigned i = 0; i < PR_SHARED_EVENT_ROWS; i++) {
        assert_int_equal(d->event[i].uses, 0);
        live -= d->event[i].live;
    }
    assert_int_equal(live, 0);
    for (unsigned i = 0; i < DRV_BANDS; i++)
        assert_true(!d->band[i].running && !d->band[i].queue);
}

/* One waits for what the other's request signals, in both orders; the value is there before the message. */
static void clients_wait_for_each_other(void **state)
{
    struct ane_machine *machine = make();
    struct party a, b;
    uint32_t event;
    uint64_t first;

    (void)state;
    join(&a, machine, 1, 0);
    join(&b, machine, 2, 0);
    event = make_event(&a.rig.direct, 0);
    assert_int_equal(ane_event_share(a.rig.direct.connect, event, b.rig.task), kIOReturnSuccess);
    /* The waiter first: it is held until the other has ended. */
    first = post_pair(&b, event, 1, 0, 0);
    expect_silence(&b);
    partyrig_expect("held", b.rig.y, PARTYRIG_NOT_WRITTEN);
    (void)post_pair(&a, 0, 0, event, 1);
    expect_message(&a, 1, kIOReturnSuccess);
    assert_int_equal(value_of(&b.rig.direct, event), 1);
    expect_message(&b, first, kIOReturnSuccess);
    partyrig_expect("released", b.rig.y, 0x4000);
    /* The signal first. */
    (void)post_pair(&a, 0, 0, event, 2);
    (void)post_pair(&b, event, 2, 0, 0);
    expect_message(&a, 2, kIOReturnSuccess);
    expect_message(&b, 2, kIOReturnSuccess);
    /* A caller waits for a request's signal; a request for a caller's. */
    (void)post_pair(&a, event, 3, event, 4);
    assert_int_equal(ane_event_wait(b.rig.direct.connect, event, 4, MS), kIOReturnTimeout);
    assert_int_equal(ane_event_signal(b.rig.direct.connect, event, 3), kIOReturnSuccess);
    assert_int_equal(ane_event_wait(b.rig.direct.connect, event, 4, 1000 * MS), kIOReturnSuccess);
    expect_message(&a, 3, kIOReturnSuccess);
    expect_nothing_left(machine, 1);
    part(&a);
    part(&b);
    expect_nothing_left(machine, 0);
    ane_machine_destroy(machine);
}

/* What a request may not say; and the same without it goes through. */
static void requests_are_checked(void **state)
{
    struct ane_machine *machine = make();
    struct party a, b;
    uint32_t event[3], theirs;
    struct ane_request good, bad;

    (void)state;
    join(&a, machine, 1, 0);
    join(&b, machine, 2, 0);
    for (unsigned i = 0; i < 3; i++)
        event[i] = make_event(&a.rig.direct, 9);
    theirs = make_event(&b.rig.direct, 9);
    good = request_of(&a);
    add(&good, false, event[0], 9);
    for (unsigned i = 0; i < 16; i++)
        add(&good, true, event[i % 2], i);
#define REFUSED(change, code, words)                        \
    do {                                                    \
        bad = good;                                         \
        change;                                             \
        assert_int_equal(run(&a, &bad), code);              \
        if (!strstr(ane_machine_error(), words))            \
            fail_msg("%s: %s", words, ane_machine_error()); \
        expect_nothing_left(machine, 4);                    \
    } while (0)
    REFUSED(bad.event[0].type = 1, kIOReturnBadArgument, "has type 1");
    REFUSED(bad.event[0].type = 3, kIOReturnBadArgument, "has type 3");
    REFUSED(bad.event[0].target_mask = 1, kIOReturnBadArgument, "target mask 0x1");
    REFUSED(bad.event[1].target_mask = 8, kIOReturnBadArgument, "target mask 0x8");
    REFUSED(bad.event[1].target_mask = 2, kIOReturnBadArgument, "outside its bounds"); /* it is not bound */
    REFUSED(bad.event[5].event = event[2], kIOReturnBadArgument, "more than 2 different");
    REFUSED(bad.event[5].event = theirs, kIOReturnNotFound, "no shared event");
    REFUSED(bad.event[0].event = 0, kIOReturnNotFound, "no shared event");
    REFUSED(bad.event[0].event += 1ull << 32, kIOReturnNotFound, "no shared event");
    REFUSED(bad.signal_events = 17, kIOReturnBadArgument, "signals 17");
    REFUSED(bad.wait_events = 33, kIOReturnBadArgument, "waits for 33");
    REFUSED(bad.wait_events = 17, kIOReturnBadArgument, "waits for 17");
    REFUSED(bad.wait_events = UINT32_MAX, kIOReturnBadArgument, "waits for 4294967295");
#undef REFUSED
    assert_int_equal(run(&a, &good), kIOReturnSuccess);
    /* 32 records, all of them waits. */
    bad = request_of(&a);
    for (unsigned i = 0; i < 32; i++)
        add(&bad, false, event[i % 2], 9);
    assert_int_equal(run(&a, &bad), kIOReturnSuccess);
    expect_nothing_left(machine, 4);
    part(&a);
    part(&b);
    ane_machine_destroy(machine);
}

/* The client's timeout ends a held request; the firmware's call ends too, and nothing is left. */
static void a_held_request_times_out(void **state)
{
    struct ane_machine *machine = make();
    struct party a;
    uint32_t event;
    struct ane_request request;

    (void)state;
    join(&a, machine, 1, 50);
    event = make_event(&a.rig.direct, 0);
    request = request_of(&a);
    add(&request, false, event, 1);
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(run(&a, &request), kIOReturnTimeout);
        assert_non_null(strstr(ane_machine_error(), "may still wait for one of its 1 wait events"));
        (void)post_pair(&a, event, 1, event, 2);
        expect_message(&a, i + 1, kIOReturnTimeout);
        (void)ane_machine_run(machine, MS);
        expect_nothing_left(machine, 1);
    }
    assert_int_equal(value_of(&a.rig.direct, event), 0);
    assert_int_equal(partyrig_run(&a.rig, &a.rig.direct, a.rig.token), kIOReturnSuccess);
    part(&a);
    ane_machine_destroy(machine);
}

/* A connection is closed with requests held: each has its message, and the other client goes on. */
static void a_client_closes_with_requests_held(void **state)
{
    struct ane_machine *machine = make();
    struct party a, b;
    uint32_t event;

    (void)state;
    join(&b, machine, 2, 0);
    for (unsigned round = 0; round < 5; round++) {
        join(&a, machine, 1, 0);
        event = make_event(&b.rig.direct, 0);
        assert_int_equal(ane_event_share(b.rig.direct.connect, event, a.rig.task), kIOReturnSuccess);
        for (unsigned i = 0; i < 6; i++)
            (void)post_pair(&a, event, i + 1, 0, 0);
        (void)ane_machine_run(machine, MS);
        assert_int_equal(partyrig_run(&b.rig, &b.rig.direct, b.rig.token), kIOReturnSuccess);
        IOServiceClose(a.rig.direct.connect);
        for (unsigned i = 0; i < 6; i++)
            expect_message(&a, i + 1, kIOReturnAborted);
        part(&a);
        expect_nothing_left(machine, 1);
        assert_int_equal(ane_event_release(b.rig.direct.connect, event), kIOReturnSuccess);
    }
    part(&b);
    ane_machine_destroy(machine);
}

/* The firmware fails with requests held: they end, and values are what they were. */
static void the_engine_restarts_with_requests_held(void **state)
{
    struct ane_machine *machine = make();
    struct party a;
    uint32_t event;

    (void)state;
    join(&a, machine, 1, 0);
    event = make_event(&a.rig.direct, 7);
    for (unsigned round = 0; round < 3; round++) {
        const uint64_t base = a.sequence;

        for (unsigned i = 0; i < 4; i++)
            (void)post_pair(&a, event, 100, event, 200);
        (void)ane_machine_run(machine, MS);
        assert_true(mach_enter(machine));
        mach_cpu_inject(machine, RT_FAULT_SYNC, "a fault of the test's");
        mach_leave(machine);
        for (unsigned i = 0; i < 4; i++)
            expect_message(&a, base + i + 1, kIOReturnAborted);
        (void)ane_machine_run(machine, 1000 * MS);
        expect_nothing_left(machine, 1);
        assert_int_equal(value_of(&a.rig.direct, event), 7 + round);
        /* The new firmware knows the table. */
        (void)post_pair(&a, event, 8 + round, 0, 0);
        assert_int_equal(ane_event_signal(a.rig.direct.connect, event, 8 + round), kIOReturnSuccess);
        expect_message(&a, base + 5, kIOReturnSuccess);
    }
    assert_int_equal(ane_machine_counter(machine, "driver.recoveries"), 3);
    part(&a);
    ane_machine_destroy(machine);
}

static uint64_t is_powered(const struct party *p)
{
    uint64_t powered = 2;
    uint32_t one = 1;

    assert_int_equal(ane_catalogue_call(p->rig.direct.connect, ANE_CATALOGUE_IsPowered, NULL, 0, NULL, 0,
                                        &powered, &one, NULL, NULL),
                     kIOReturnSuccess);
    return powered;
}

static IOReturn power_off(const struct party *p)
{
    return ane_catalogue_call(p->rig.direct.connect, ANE_CATALOGUE_PowerOff, NULL, 0, NULL, 0, NULL, NULL,
                              NULL, NULL);
}

/* A device with a request held does not sleep; one that sleeps is not woken for a value, and keeps it. */
static void values_outlive_sleep(void **state)
{
    struct ane_machine *machine = make();
    struct party a;
    uint32_t event;

    (void)state;
    join(&a, machine, 1, 0);
    event = make_event(&a.rig.direct, 3);
    (void)post_pair(&a, event, 4, 0, 0);
    (void)ane_machine_run(machine, MS);
    assert_int_equal(power_off(&a), kIOReturnBusy);
    assert_int_equal(ane_event_signal(a.rig.direct.connect, event, 4), kIOReturnSuccess);
    expect_message(&a, 1, kIOReturnSuccess);
    assert_int_equal(power_off(&a), kIOReturnSuccess);
    assert_int_equal(value_of(&a.rig.direct, event), 4);
    assert_int_equal(ane_event_signal(a.rig.direct.connect, event, 5), kIOReturnSuccess);
    assert_int_equal(is_powered(&a), 0);
    (void)post_pair(&a, event, 5, event, 6);
    expect_message(&a, 2, kIOReturnSuccess);
    assert_int_equal(is_powered(&a), 1);
    assert_int_equal(value_of(&a.rig.direct, event), 6);
    expect_nothing_left(machine, 1);
    part(&a);
    ane_machine_destroy(machine);
}

/* Twelve of a client may wait and twenty-four of all; none of them keeps another client out. */
static void waiting_requests_are_limited(void **state)
{
    struct ane_machine *machine = make();
    struct party p[3];
    uint32_t event[3];
    struct ane_request request;

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        join(&p[i], machine, (uint8_t)(i + 1), 0);
        event[i] = make_event(&p[i].rig.direct, 0);
    }
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned k = 0; k < 12; k++)
            (void)post_pair(&p[i], event[i], k + 1, 0, 0);
        request = request_of(&p[i]);
        add(&request, false, event[i], 1);
        assert_int_equal(post(&p[i], &request), kIOReturnNoResources);
        p[i].sequence--;
    }
    request = request_of(&p[2]);
    add(&request, false, event[2], 0);
    assert_int_equal(run(&p[2], &request), kIOReturnNoResources);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(partyrig_run(&p[i].rig, &p[i].rig.direct, p[i].rig.token), kIOReturnSuccess);
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned k = 0; k < 12; k++) {
            assert_int_equal(ane_event_signal(p[i].rig.direct.connect, event[i], k + 1), kIOReturnSuccess);
            expect_message(&p[i], k + 1, kIOReturnSuccess);
        }
    }
    assert_int_equal(run(&p[2], &request), kIOReturnSuccess);
    expect_nothing_left(machine, 3);
    for (unsigned i = 0; i < 3; i++)
        part(&p[i]);
    ane_machine_destroy(machine);
}

/* An event that is released while a request uses it keeps its row until the request has ended. */
static void a_request_keeps_its_events(void **state)
{
    struct ane_machine *machine = make();
    struct party a, b;
    uint32_t event;
    uint64_t first;

    (void)state;
    join(&a, machine, 1, 0);
    join(&b, machine, 2, 0);
    event = make_event(&a.rig.direct, 0);
    assert_int_equal(ane_event_share(a.rig.direct.connect, event, b.rig.task), kIOReturnSuccess);
    first = post_pair(&b, event, 1, 0, 0);
    (void)post_pair(&a, event, 1, 0, 0);
    (void)ane_machine_run(machine, MS);
    /* Both wait; the one who made the event goes, and takes its own request along. */
    IOServiceClose(a.rig.direct.connect);
    expect_message(&a, 1, kIOReturnAborted);
    assert_int_equal(ane_event_signal(b.rig.direct.connect, event, 1), kIOReturnNotFound);
    for (unsigned i = 0; i < 32; i++)
        (void)make_event(&b.rig.direct, 1000);
    expect_silence(&b); /* the row was not given to one of those */
    assert_int_equal(machine->driver->stats.in_flight, 1);
    part(&a);
    IOServiceClose(b.rig.direct.connect);
    expect_message(&b, first, kIOReturnAborted);
    part(&b);
    expect_nothing_left(machine, 0);
    ane_machine_destroy(machine);
}

/* Another agent changes a row and rings: by the method of the catalogue, whose index is the doorbell's. */
static void the_shared_event_doorbell_is_rung(void **state)
{
    struct ane_machine *machine = make();
    struct party a;
    uint32_t event;
    uint64_t index = 7;
    struct pr_shared_event *row;

    (void)state;
    join(&a, machine, 1, 0);
    event = make_event(&a.rig.direct, 0);
    row = (struct pr_shared_event *)machine->driver->events.host + event % PR_SHARED_EVENT_ROWS;
    (void)post_pair(&a, event, 1, 0, 0);
    (void)ane_machine_run(machine, MS);
    row->value = 1;
    assert_int_equal(ane_catalogue_call(a.rig.direct.connect, ANE_CATALOGUE_FWSharedEventDoorbellRing, &index,
                                        1, NULL, 0, NULL, NULL, NULL, NULL),
                     kIOReturnSuccess);
    expect_silence(&a);
    index = PR_DOORBELL_SHARED_EVENT;
    assert_int_equal(ane_catalogue_call(a.rig.direct.connect, ANE_CATALOGUE_FWSharedEventDoorbellRing, &index,
                                        1, NULL, 0, NULL, NULL, NULL, NULL),
                     kIOReturnSuccess);
    expect_message(&a, 1, kIOReturnSuccess);
    part(&a);
    ane_machine_destroy(machine);
}

/* Bound by a raw command, the graphics processor is rung by each completion, and once more by its mask. */
static void targets_are_rung_by_mask(void **state)
{
    struct ane_machine *machine = make();
    struct iorig_accumulator a;
    struct ane_command command = {.id = PR_CMD_IPC_ENDPOINT_SET2, .bytes = sizeof(struct pr_body_endpoint2)};
    struct pr_body_endpoint2 targets = {
        .endpoint = 1,
        .targets = 2,
        .target = {{.reg = machine->board->container + PR_CTRL_HOST_DOORBELL, .bits = 1u << 6},
                   {.reg = 0x206468000ull, .bits = 1}}};
    struct iorig_client direct;
    size_t size = sizeof(command);
    uint64_t rings = 0;
    uint32_t event;

    (void)state;
    iorig_accumulator_make(&a, ane_machine_service(machine), 4, 64);
    direct = open_client(machine, 0);
    event = make_event(&direct, 0);
    memcpy(command.body, &targets, sizeof(targets));
    if (ane_catalogue_call(direct.connect, ANE_CATALOGUE_SendCommand, NULL, 0, &command, sizeof(command),
                           NULL, NULL, &command, &size))
        fail_msg("%s", ane_machine_error());
    for (uint32_t mask = 0; mask < 4; mask++) {
        struct ane_request request = {.token = a.token,
                                      .priority = ANE_REQUEST_PRIORITY,
                                      .inputs = 2,
                                      .outputs = 1,
                                      .surface = {a.x, a.state, a.state}};
        const uint64_t doorbell = ANE_REQUEST_DOORBELL;
        struct ane_request_reply reply;
        size_t bytes = sizeof(reply);

        add(&request, true, event, mask + 1);
        request.event[0].target_mask = mask;
        assert_int_equal(IOConnectCallMethod(a.client.connect, ANE_CONTROL_ProgramSendRequest, &doorbell, 1,
                                             &request, sizeof(request), NULL, NULL, &reply, &bytes),
                         kIOReturnSuccess);
        rings += 1 + (mask >> 1);
        assert_int_equal(ane_machine_counter(machine, "gpu.doorbells"), rings);
    }
    assert_int_equal(ane_machine_counter(machine, "gpu.bad_stores"), 0);
    IOServiceClose(direct.connect);
    iorig_accumulator_release(&a);
    ane_machine_destroy(machine);
}

/*
 * A thousand random waits and signals of two clients over three events, by requests and by calls, against a
 * model: a request has ended exactly when its waits hold in the model, and values are the model's.
 */
#define MODEL_EVENTS   3u
#define MODEL_REQUESTS 8u
struct model_request {
    bool posted;
    uint64_t reference;
    unsigned wait, signal;
    uint64_t at, to;
};

/* What ends, ends: until nothing changes. */
static void model_settle(uint64_t *value, struct model_request request[2][MODEL_REQUESTS])
{
    bool again = true;

    while (again) {
        again = false;
        for (unsigned p = 0; p < 2; p++)
            for (unsigned i = 0; i < MODEL_REQUESTS; i++) {
                struct model_request *r = &request[p][i];

                if (!r->posted || value[r->wait] < r->at)
                    continue;
                if (value[r->signal] < r->to)
                    value[r->signal] = r->to;
                r->posted = false;
                again = true;
            }
    }
}

static void random_waits_and_signals(void **state)
{
    struct ane_machine *machine = make();
    struct model_request request[2][MODEL_REQUESTS] = {0};
    uint64_t value[MODEL_EVENTS] = {0}, posted = 0, ended = 0;
    struct party party[2];
    uint32_t event[MODEL_EVENTS];
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 11);
    for (unsigned p = 0; p < 2; p++)
        join(&party[p], machine, (uint8_t)(p + 1), 3600000);
    for (unsigned i = 0; i < MODEL_EVENTS; i++) {
        event[i] = make_event(&party[0].rig.direct, 0);
        assert_int_equal(ane_event_share(party[0].rig.direct.connect, event[i], party[1].rig.task),
                         kIOReturnSuccess);
    }
    for (unsigned step = 0; step < 1000; step++) {
        const unsigned p = (unsigned)test_rng_range(&rng, 0, 1), slot = step % MODEL_REQUESTS;
        const unsigned wait = (unsigned)test_rng_range(&rng, 0, 2),
                       signal = (unsigned)test_rng_range(&rng, 0, 2);
        struct model_request *r = &request[p][slot];

        if (!r->posted && test_rng_range(&rng, 0, 3)) {
            *r = (struct model_request){.posted = true,
                                        .wait = wait,
                                        .signal = signal,
                                        .at = value[wait] + test_rng_range(&rng, 0, 3),
                                        .to = value[signal] + test_rng_range(&rng, 0, 2)};
            r->reference = post_pair(&party[p], event[wait], r->at, event[signal], r->to);
            posted++;
        } else {
            value[signal]++;
            assert_int_equal(ane_event_signal(party[p].rig.direct.connect, event[signal], value[signal]),
                             kIOReturnSuccess);
        }
        model_settle(value, request);
        (void)ane_machine_run(machine, 10 * MS);
        for (unsigned q = 0; q < 2; q++) {
            uint64_t reference;
            IOReturn result;

            while (arrived(&party[q], 0, &reference, &result)) {
                assert_int_equal(result, kIOReturnSuccess);
                ended++;
                for (unsigned i = 0; i < MODEL_REQUESTS; i++)
                    assert_true(!request[q][i].posted || request[q][i].reference != reference);
            }
        }
        for (unsigned i = 0; i < MODEL_EVENTS; i++)
            assert_int_equal(value_of(&party[1].rig.direct, event[i]), value[i]);
        assert_int_equal(machine->driver->stats.in_flight, posted - ended);
    }
    assert_true(posted > 300);
    for (unsigned p = 0; p < 2; p++)
        part(&party[p]);
    expect_nothing_left(machine, 0);
    ane_machine_destroy(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_only_rises),
        cmocka_unit_test(an_event_belongs_to_its_task),
        cmocka_unit_test(events_are_limited),
        cmocka_unit_test(a_call_waits_for_a_value),
        cmocka_unit_test(clients_wait_for_each_other),
        cmocka_unit_test(requests_are_checked),
        cmocka_unit_test(a_held_request_times_out),
        cmocka_unit_test(a_client_closes_with_requests_held),
        cmocka_unit_test(the_engine_restarts_with_requests_held),
        cmocka_unit_test(values_outlive_sleep),
        cmocka_unit_test(waiting_requests_are_limited),
        cmocka_unit_test(a_request_keeps_its_events),
        cmocka_unit_test(the_shared_event_doorbell_is_rung),
        cmocka_unit_test(targets_are_rung_by_mask),
        cmocka_unit_test(random_waits_and_signals),
    };

    return cmocka_run_group_tests(tests, partyrig_compile, partyrig_forget);
}
