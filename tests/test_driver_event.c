/* SPDX-License-Identifier: Apache-2.0 */
/* Requests with shared events, seen from the controller: the bytes of the call, buffers, and how one ends. */
#include "drvrig.h"

#include <string.h>

#include "driver/command.h"
#include "driver/state.h"
#include "protocol/call.h"

static struct drvrig rig;
static struct drv_client *client;
static uint64_t token;
static uint32_t surface[3];

static int boot(void **state)
{
    (void)state;
    drvrig_make(&rig, true);
    client = drvrig_client(&rig, ANE_CLIENT_CONTROL);
    token = drvrig_program(&rig, client, 2, 0, 0x4000);
    for (unsigned i = 0; i < 3; i++)
        surface[i] = drvrig_surface(&rig, DRVRIG_PORT_BYTES);
    rig.hold = true;
    return 0;
}

static int drop(void **state)
{
    (void)state;
    drvrig_drop(&rig);
    return 0;
}

static uint64_t make_event(uint64_t value)
{
    uint64_t event = 0;
    struct IOExternalMethodArguments args = {
        .scalarInput = &value, .scalarInputCount = 1, .scalarOutput = &event, .scalarOutputCount = 1};

    assert_int_equal(drv_event_call(client, DRV_EVENT_CREATE, &args, NULL), kIOReturnSuccess);
    return event;
}

static void add(struct ane_request *request, bool signal, uint64_t event, uint64_t value, uint32_t mask)
{
    request->event[request->wait_events + request->signal_events] = (struct ane_request_event){
        .type = ANE_EVENT_SHARED, .target_mask = mask, .event = event, .value = value};
    *(signal ? &request->signal_events : &request->wait_events) += 1;
}

static void post(const struct ane_request *request)
{
    if (drvrig_post(client, request))
        fail_msg("%s", drv_last_error(rig.driver));
    drvrig_work(&rig);
}

/* Rows in the place of numbers, and the call's other bytes as ever. A wait alone gets a signal of nothing. */
static void a_call_has_its_events(void **state)
{
    const uint64_t first = make_event(0), second = make_event(0);
    struct ane_request request;

    (void)state;
    drvrig_request(&request, token, 2, 1, surface);
    add(&request, false, second, 5, 0);
    add(&request, false, first, UINT64_MAX, 0);
    add(&request, true, first, 7, 5);
    post(&request);
    assert_true(rig.tail.wait_events == 2 && rig.tail.signal_events == 1);
    assert_memory_equal(&rig.event[0], &((struct pr_event){2, 0, second % 64, 5}), 24);
    assert_memory_equal(&rig.event[1], &((struct pr_event){2, 0, first % 64, UINT64_MAX}), 24);
    assert_memory_equal(&rig.event[2], &((struct pr_event){2, 5, first % 64, 7}), 24);
    drvrig_request(&request, token, 2, 1, surface);
    add(&request, false, first, 1, 0);
    post(&request);
    assert_true(rig.tail.wait_events == 1 && rig.tail.signal_events == 1);
    assert_memory_equal(&rig.event[1], &((struct pr_event){1, 0, 0, 0}), 24);
    /* One that only signals is as any other: it keeps its band. */
    drvrig_request(&request, token, 2, 1, surface);
    add(&request, true, first, 1, 0);
    post(&request);
    assert_true(rig.tail.wait_events == 0 && rig.tail.signal_events == 1);
    assert_int_equal(rig.most_held, 3);
    post(&request);
    assert_int_equal(rig.most_held, 3);
}

/* The device address of the intermediate buffer of a call that the controller has. */
static uint64_t intermediate_of(unsigned i)
{
    assert_true(rig.call[i].there && rig.call[i].buffer[3].type == PR_BUFFER_INTERMEDIATE);
    return rig.call[i].buffer[3].address;
}

/* Requests that wait may run beside any other: no two of them share an intermediate buffer. */
static void buffers_are_not_shared(void **state)
{
    const uint64_t event = make_event(0);
    struct ane_request waits, plain;
    uint64_t pages;

    (void)state;
    drvrig_request(&waits, token, 2, 1, surface);
    plain = waits;
    add(&waits, false, event, 1, 0);
    /* One round, so that everything that stays is there. */
    post(&plain);
    assert_true(drvrig_finish_one(&rig, 0));
    drvrig_work(&rig);
    pages = drv_stats_get(rig.driver).pages;
    post(&waits);
    post(&waits);
    post(&plain);
    post(&waits); /* stays behind it in its band */
    assert_true(!rig.call[3].there);
    for (unsigned i = 0; i < 3; i++)
        for (unsigned j = 0; j < i; j++)
            assert_true(intermediate_of(i) != intermediate_of(j));
    for (unsigned i = 0; i < 4; i++) {
        assert_true(drvrig_finish_one(&rig, 0));
        drvrig_work(&rig);
    }
    assert_int_equal(rig.messages, 5);
    (void)make_event(0); /* a call's end frees what has no use left */
    assert_int_equal(drv_stats_get(rig.driver).pages, pages);
    assert_int_equal(drv_stats_get(rig.driver).in_flight, 0);
}

/* The index of the request that the controller has in a place. */
static uint32_t index_of(unsigned i)
{
    return rig.call[i].cookie & 0xff;
}

static void expect_message(unsigned number, IOReturn result)
{
    assert_true(rig.messages > number);
    assert_int_equal(rig.message[number].result, result);
}

/* Its time is over: the controller is asked once to end it, and it is gone. */
static void one_that_is_given_up_is_ended(void **state)
{
    const uint64_t event = make_event(0);
    struct ane_request request;

    (void)state;
    drvrig_request(&request, token, 2, 1, surface);
    add(&request, false, event, 1, 0);
    for (unsigned i = 0; i < 60; i++) {
        post(&request);
        drv_request_expire(rig.driver, index_of(0));
        expect_message(i % 60, kIOReturnTimeout);
        assert_int_equal(rig.driver->request[index_of(0)].state, DRV_REQUEST_ABANDONED);
        drvrig_work(&rig);
        assert_int_equal(rig.cancels, i + 1);
        assert_int_equal(drv_stats_get(rig.driver).in_flight, 0);
    }
    assert_int_equal(rig.driver->event[event % 64].uses, 0);
}

/* Without a free command it is asked when one has come back. */
static void it_is_asked_when_there_is_room(void **state)
{
    struct drv_command_args ping = {.id = PR_CMD_PING, .program = PR_NO_ID, .process = PR_NO_ID};
    const uint64_t event = make_event(0);
    struct ane_request request;

    (void)state;
    drvrig_request(&request, token, 2, 1, surface);
    add(&request, false, event, 1, 0);
    post(&request);
    for (unsigned i = 0; i < DRV_COMMANDS; i++)
        assert_true(drv_command_post(rig.driver, &ping, NULL));
    drv_request_expire(rig.driver, index_of(0));
    assert_true(rig.driver->fence_retry);
    assert_int_equal(rig.cancels, 0);
    drvrig_work(&rig);
    assert_false(rig.driver->fence_retry);
    assert_int_equal(rig.cancels, 1);
    assert_int_equal(drv_stats_get(rig.driver).in_flight, 0);
}

/* A request that the controller has not taken yet when it is given up is ended once it has. */
static void one_that_is_taken_late_is_ended(void **state)
{
    const uint64_t event = make_event(0);
    struct ane_request request;

    (void)state;
    drvrig_request(&request, token, 2, 1, surface);
    add(&request, false, event, 1, 0);
    if (drvrig_post(client, &request))
        fail_msg("%s", drv_last_error(rig.driver));
    for (uint32_t i = 0; i < DRV_REQUESTS; i++)
        drv_request_expire(rig.driver, i);
    expect_message(0, kIOReturnTimeout);
    drvrig_work(&rig);
    assert_int_equal(rig.cancels, 1);
    assert_int_equal(drv_stats_get(rig.driver).in_flight, 0);
    assert_int_equal(rig.driver->event[event % 64].uses, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, boot, drop)
        T(a_call_has_its_events),           T(buffers_are_not_shared),
        T(one_that_is_given_up_is_ended),   T(it_is_asked_when_there_is_room),
        T(one_that_is_taken_late_is_ended),
    };

    return cmocka_run_group_tests_name("driver_event", tests, NULL, NULL);
}
