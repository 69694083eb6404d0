/* SPDX-License-Identifier: Apache-2.0 */
/* Shared events through iokit.h: the objects, who may name them, and calls that wait for them. */
#include "support.h"

#include <pthread.h>
#include <string.h>

#include "iorig.h"
#include "partyrig.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_only_rises),
        cmocka_unit_test(an_event_belongs_to_its_task),
        cmocka_unit_test(events_are_limited),
        cmocka_unit_test(a_call_waits_for_a_value),
    };

    return cmocka_run_group_tests(tests, partyrig_compile, partyrig_forget);
}
