/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that meet: bands and their order, timeouts and what is said of them, clients that close or need
 * each other's domain, the gate.
 */
#include "drvrig.h"

#include <stdio.h>
#include <string.h>

#include "driver/flow.h"
#include "driver/gate.h"

static struct drvrig rig;
static struct drv_client *client;
static uint64_t token;
static uint32_t surface[2];

static void make_driver(bool one_in_flight)
{
    struct base_error error;

    drvrig_make(&rig, false);
    rig.platform.one_in_flight = one_in_flight;
    assert_int_equal(drv_create(&rig.platform, &rig.driver, &error), 0);
    assert_int_equal(drv_start(rig.driver, &error), 0);
}

static int boot_with(bool one_in_flight)
{
    make_driver(one_in_flight);
    client = drvrig_client(&rig, ANE_CLIENT_CONTROL);
    token = drvrig_program(&rig, client, 1, 0, 0);
    surface[0] = drvrig_surface(&rig, 64);
    surface[1] = drvrig_surface(&rig, 64);
    return 0;
}

static int boot(void **state)
{
    (void)state;
    return boot_with(false);
}

static int boot_one_in_flight(void **state)
{
    (void)state;
    return boot_with(true);
}

static int drop(void **state)
{
    (void)state;
    drvrig_drop(&rig);
    return 0;
}

static IOReturn send(struct drv_client *who, uint32_t priority)
{
    struct ane_request_reply reply;
    struct ane_request request;

    drvrig_request(&request, token, 1, 1, surface);
    request.priority = priority;
    return drvrig_send(who, &request, &reply);
}

static void expect_error(const char *text)
{
    if (!strstr(drv_last_error(rig.driver), text))
        fail_msg("\"%s\" does not say \"%s\"", drv_last_error(rig.driver), text);
}

/*
 * Requests sent from inside the waits of others, each at a priority; the
 * innermost lets the controller finish.
 */

static const uint32_t *to_send;
static unsigned left;
static IOReturn results[16];

static void send_next(struct drvrig *r)
{
    unsigned me;

    if (!left) {
        r->admit = NULL;
        r->hold = false;
        return;
    }
    me = --left;
    results[me] = send(client, *to_send++);
}

static void one_of_a_band_in_the_firmware(void **state)
{
    static const uint32_t priorities[] = {5, 7, 1, 2, 5, 0, 2};
    /* The first as it came, then by level, ties by arrival; the realtime band goes by. */
    static const uint32_t expected[] = {6, 2, 2, 5, 5, 7}, realtime[] = {1, 0};
    unsigned seen = 0, seen_realtime = 0;

    (void)state;
    rig.hold = true;
    rig.admit = send_next;
    to_send = priorities;
    left = sizeof(priorities) / sizeof(priorities[0]);
    assert_int_equal(send(client, 6), kIOReturnSuccess);
    for (unsigned i = 0; i < sizeof(priorities) / sizeof(priorities[0]); i++)
        assert_int_equal(results[i], kIOReturnSuccess);
    assert_int_equal(rig.most_normal, 1);
    assert_int_equal(rig.most_realtime, 1);
    assert_int_equal(rig.most_held, 2);
    assert_int_equal(rig.order_count, 8);
    for (unsigned i = 0; i < 8; i++)
        if (rig.order[i] <= 1)
            assert_int_equal(rig.order[i], realtime[seen_realtime++]);
        else
            assert_int_equal(rig.order[i], expected[seen++]);
    assert_int_equal(drv_stats_get(rig.driver).in_flight, 0);
    assert_int_equal(drv_stats_get(rig.driver).completed, 8);
}

static void one_in_the_firmware_at_all(void **state)
{
    static const uint32_t priorities[] = {5, 7, 1, 2, 0};
    /* The first as it came, then the realtime band, by level. */
    static const uint32_t expected[] = {6, 0, 1, 2, 5, 7};

    (void)state;
    rig.hold = true;
    rig.admit = send_next;
    to_send = priorities;
    left = sizeof(priorities) / sizeof(priorities[0]);
    assert_int_equal(send(client, 6), kIOReturnSuccess);
    for (unsigned i = 0; i < sizeof(priorities) / sizeof(priorities[0]); i++)
        assert_int_equal(results[i], kIOReturnSuccess);
    assert_int_equal(rig.most_held, 1);
    assert_int_equal(rig.order_count, 6);
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(rig.order[i], expected[i]);
}

static bool registry_number(const char *name, struct ane_registry_value *value)
{
    const uint32_t entry = drv_registry_find("H11ANEIn");
    const char *key;

    for (uint32_t i = 0; drv_registry_property(rig.driver, entry, i, &key, value); i++)
        if (!strcmp(key, name))
            return true;
    return false;
}

/* The firmware is full while it has a call: the next one is parked, and sent again when that call returns. */
static void send_to_the_full(struct drvrig *r)
{
    if (left) {
        left--;
        r->call_refusal = PR_STATUS_NO_RESOURCES;
        results[left] = send(client, 1);
        return;
    }
    r->admit = NULL;
    r->call_refusal = 0;
    r->hold = false;
}

static void a_full_firmware_is_waited_for(void **state)
{
    struct pr_trace_record record;

    (void)state;
    rig.hold = true;
    rig.admit = send_to_the_full;
    left = 1;
    results[0] = kIOReturnError;
    assert_int_equal(send(client, 5), kIOReturnSuccess);
    assert_int_equal(results[0], kIOReturnSuccess);
    assert_true(drvrig_traced(&rig, PR_TRACE_DRV_PARKED, 0, &record));
    assert_false(drvrig_traced(&rig, PR_TRACE_DRV_PARKED, 1, &record));
    /* The call that kept the firmware full came first, the parked one after it. */
    assert_int_equal(rig.order_count, 2);
    assert_true(rig.order[0] == 5 && rig.order[1] == 1);
    assert_int_equal(drv_stats_get(rig.driver).completed, 2);
    assert_int_equal(drv_stats_get(rig.driver).in_flight, 0);
}

/*
 * A load that overruns the firmware: each request that finds no room waits, none is lost, and they go on in
 * their order when the firmware has returned what it had.
 */
static void overrun(struct drvrig *r)
{
    static const uint32_t priorities[] = {1, 0, 1, 0};
    unsigned me;

    if (left) {
        me = --left;
        r->call_refusal = PR_STATUS_NO_RESOURCES;
        results[me] = send(client, priorities[me]);
        return;
    }
    assert_int_equal(drv_flow_with_firmware(r->driver), 1);
    r->admit = NULL;
    r->call_refusal = 0;
    r->hold = false;
}

static void an_overrun_firmware_is_throttled(void **state)
{
    static const uint32_t expected[] = {5, 0, 0, 1, 1};
    struct ane_registry_value value;

    (void)state;
    rig.hold = true;
    rig.admit = overrun;
    left = 4;
    assert_int_equal(send(client, 5), kIOReturnSuccess);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(results[i], kIOReturnSuccess);
    assert_int_equal(rig.order_count, 5);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(rig.order[i], expected[i]);
    assert_int_equal(drv_stats_get(rig.driver).parked, 4);
    assert_int_equal(drv_stats_get(rig.driver).woken, 1);
    assert_int_equal(drv_flow_with_firmware(rig.driver), 0);
    assert_true(registry_number("wakePendingRequestsQueueWithFWOverload", &value) && value.number == 1);
    assert_true(registry_number("pendingRequestsWithFirmwareCount", &value) && value.number == 0);
}

/* For as long as its deadline allows. */
static void send_until_late(struct drvrig *r)
{
    r->call_refusal = PR_STATUS_NO_RESOURCES;
    r->admit = NULL; /* nothing more happens in its wait */
    results[0] = send(client, 1);
    expect_error("the firmware had no room for the request");
    r->call_refusal = 0;
    r->hold = false;
}

static void a_firmware_that_stays_full(void **state)
{
    (void)state;
    rig.hold = true;
    rig.admit = send_until_late;
    assert_int_equal(send(client, 5), kIOReturnSuccess);
    assert_int_equal(results[0], kIOReturnTimeout);
    assert_int_equal(rig.order_count, 1);
    /* Its band is free afterwards. */
    assert_int_equal(send(client, 1), kIOReturnSuccess);
    assert_int_equal(drv_stats_get(rig.driver).in_flight, 0);
}

/* Requests of one priority: the order is that of their class, as the controller sees it. */

struct classed {
    uint32_t priority, qos;
};
static const struct classed *classed_left;
static unsigned classed_count;

static void send_classed(struct drvrig *r)
{
    struct ane_request_reply reply;
    struct ane_request request;
    const struct classed *me = classed_left;

    if (!classed_count) {
        r->admit = NULL;
        r->hold = false;
        return;
    }
    classed_count--;
    classed_left++;
    drvrig_request(&request, token, 1, 1, surface);
    request.priority = me->priority;
    request.qos = me->qos;
    results[classed_count] = drvrig_send(client, &request, &reply);
}

static void the_class_decides_within_a_priority(void **state)
{
    /* 0 is the default class, 0x15; a number between two classes has the place of the lower one. */
    static const struct classed rows[] = {{5, 0x09}, {5, 0x15}, {5, 0},    {5, 0x21}, {3, 0x09},
                                          {5, 0x11}, {5, 0x19}, {5, 0x18}, {5, 1}};
    /* Places in `rows`, by priority, then class, then arrival. */
    static const unsigned expected[] = {4, 3, 6, 1, 2, 7, 5, 0, 8};
    const unsigned count = sizeof(rows) / sizeof(rows[0]);

    (void)state;
    rig.hold = true;
    rig.admit = send_classed;
    classed_left = rows;
    classed_count = count;
    assert_int_equal(send(client, 5), kIOReturnSuccess);
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(results[i], kIOReturnSuccess);
    assert_int_equal(rig.order_count, count + 1);
    /* Cookies rise with arrival: the first call's is the smallest. */
    for (unsigned i = 0; i < count; i++)
        assert_int_equal((rig.cookie[i + 1] >> 8) - (rig.cookie[0] >> 8), expected[i] + 1);
}

/* Timeouts. */

static void a_lost_doorbell(void **state)
{
    (void)state;
    rig.deaf = true;
    assert_int_equal(send(client, 5), kIOReturnTimeout);
    expect_error("never took the command: doorbell lost?");
    assert_int_equal(drv_stats_get(rig.driver).in_flight, 1);
    assert_int_equal(drvrig_unprepare(client, token), kIOReturnBusy);
    assert_int_equal(drvrig_destroy(client, token), kIOReturnBusy);
    /* The next doorbell brings the firmware to both. */
    rig.deaf = false;
    assert_int_equal(send(client, 5), kIOReturnSuccess);
    drvrig_work(&rig);
    assert_int_equal(drv_stats_get(rig.driver).in_flight, 0);
    assert_int_equal(drvrig_destroy(client, token), kIOReturnSuccess);
}

static void a_lost_completion(void **state)
{
    uint32_t number = drv_client_number(client);
    struct pr_trace_record record;

    (void)state;
    rig.no_events = true;
    assert_int_equal(send(client, 5), kIOReturnTimeout);
    expect_error("completion never arrived");
    rig.no_events = false;
    assert_int_equal(send(client, 5), kIOReturnSuccess);
    assert_int_equal(drv_stats_get(rig.driver).in_flight, 1);
    /* Its client closes: the handle goes, what the firmware has stays, until the driver goes. */
    drv_client_close(client);
    assert_true(drvrig_traced(&rig, PR_TRACE_DRV_CLIENT_KEPT, 0, &record));
    assert_int_equal(pr_trace_at(&record, DRV_CLIENT_KEPT, client).number, number);
    assert_int_equal(drv_stats_get(rig.driver).clients, 1);
}

static void a_lost_interrupt(void **state)
{
    (void)state;
    rig.masked = true;
    assert_int_equal(send(client, 5), kIOReturnTimeout);
    expect_error("interrupt lost");
    assert_int_equal(drv_stats_get(rig.driver).in_flight, 0);
    /* The line was acknowledged, so it can rise again. */
    rig.masked = false;
    assert_int_equal(send(client, 5), kIOReturnSuccess);
}

static void a_lost_host_doorbell(void **state)
{
    (void)state;
    rig.mute = true;
    assert_int_equal(send(client, 5), kIOReturnTimeout);
    expect_error("the controller's doorbell was lost");
    rig.scratch[5] = 3;
    assert_int_equal(send(client, 5), kIOReturnTimeout);
    expect_error("the fabric rejected the controller's doorbell");
    rig.mute = false;
    assert_int_equal(send(client, 5), kIOReturnSuccess);
}

static void a_band_that_is_taken(void **state)
{
    static const uint32_t priorities[] = {5};

    (void)state;
    rig.no_events = true;
    rig.admit = send_next;
    rig.hold = true;
    to_send = priorities;
    left = 1;
    assert_int_equal(send(client, 5), kIOReturnTimeout);
    rig.no_events = false;
    assert_int_equal(results[0], kIOReturnTimeout);
    expect_error("completion never arrived");
    assert_int_equal(drv_stats_get(rig.driver).failed, 2);
    rig.hold = false;
    drvrig_work(&rig);
}

static void a_silent_command(void **state)
{
    struct ane_program_prepare prepare;
    uint64_t pages;

    (void)state;
    assert_int_equal(drvrig_unprepare(client, token), kIOReturnSuccess);
    pages = drv_stats_get(rig.driver).pages;
    rig.silent_command = PR_CMD_CREATE_PROCESS;
    assert_int_equal(drvrig_prepare(client, token, &prepare), kIOReturnTimeout);
    expect_error("Command CREATE_PROCESS");
    assert_int_equal(drv_stats_get(rig.driver).pages, pages);
    rig.silent_command = 0xffffffff;
    rig.bad_command = PR_CMD_CREATE_PROCESS;
    rig.bad_status = PR_STATUS_NO_RESOURCES;
    assert_int_equal(drvrig_prepare(client, token, &prepare), kIOReturnNoResources);
    expect_error("a table of the firmware is full");
    rig.bad_status = 0;
    assert_int_equal(drvrig_prepare(client, token, &prepare), kIOReturnSuccess);
    assert_int_equal(send(client, 5), kIOReturnSuccess);
}

#define CELLS 16u /* control commands under way at once, one for each slot of IO */

/* Takes every command cell: the controller keeps the slots and does not answer. */
static void fill_cells(struct drv_client *other)
{
    struct ane_program_prepare prepare;

    rig.silent_command = PR_CMD_CREATE_PROCESS;
    for (unsigned i = 0; i < CELLS; i++) {
        assert_int_equal(drvrig_prepare(other, token, &prepare), kIOReturnTimeout);
        expect_error("Command CREATE_PROCESS (0x203) timed out");
    }
    rig.silent_command = 0xffffffff;
}

/* The controller answers all of them: no process was created. */
static void empty_cells(void)
{
    for (unsigned i = 0; i < CELLS; i++) {
        struct pr_slot *slot = drvrig_base_at(
            &rig, rig.args.ipc + pr_ipc_ring_offset(PR_CHANNEL_IO) + i * sizeof(*slot), sizeof(*slot));
        struct pr_command_header *header = drvrig_base_at(&rig, slot->address, sizeof(*header));

        assert_int_equal(header->id, PR_CMD_CREATE_PROCESS);
        header->priority = PR_STATUS_NO_RESOURCES;
        slot->address |= 1;
    }
    rig.host_pending |= 1u << 1;
    drvrig_work(&rig);
}

static bool process_lives(void)
{
    for (unsigned i = 0; i < DRVRIG_PROCESSES; i++)
        if (rig.process[i].there)
            return true;
    return false;
}

/* A command that finds no cell in time is a timeout, and the firmware is not thought to have it. */
static void a_command_that_is_not_sent(void **state)
{
    static uint8_t image[0x10000];
    size_t size = drvrig_image(image, sizeof(image), 1, 0, 0);
    struct drv_client *other = drvrig_client(&rig, ANE_CLIENT_CONTROL);
    struct ane_program_prepare prepare;
    struct drv_stats before;
    uint64_t lost;

    (void)state;
    fill_cells(other);
    before = drv_stats_get(rig.driver);
    assert_int_equal(drvrig_prepare(other, token, &prepare), kIOReturnTimeout);
    expect_error("Command CREATE_PROCESS (0x203) was not sent: all 16 commands");
    /* Of a load that was not sent nothing is kept; one without an answer would be. */
    assert_int_equal(drvrig_create(&rig, client, image, size, &lost), kIOReturnTimeout);
    expect_error("Command LOAD_PROGRAM");
    assert_int_equal(drv_stats_get(rig.driver).programs, before.programs);
    assert_int_equal(drv_stats_get(rig.driver).pages, before.pages);
    /* A termination that was not sent is sent by the next call that finds a cell. */
    assert_int_equal(drvrig_unprepare(client, token), kIOReturnSuccess);
    assert_true(process_lives());
    empty_cells();
    drv_client_close(other);
    assert_false(process_lives());
    /* No command is counted as still with the firmware: the program can be unloaded. */
    assert_int_equal(drvrig_destroy(client, token), kIOReturnSuccess);
    assert_int_equal(drv_stats_get(rig.driver).programs, 0);
}

/* What the firmware was given and has not unloaded is kept, and unloaded in the end. */
static void programs_the_firmware_keeps(void **state)
{
    static uint8_t image[0x10000];
    size_t size = drvrig_image(image, sizeof(image), 1, 0, 0);
    uint64_t lost, pages = drv_stats_get(rig.driver).pages;
    struct pr_trace_record record;

    (void)state;
    rig.silent_command = PR_CMD_LOAD_PROGRAM;
    assert_int_equal(drvrig_create(&rig, client, image, size, &lost), kIOReturnTimeout);
    assert_int_equal(drv_stats_get(rig.driver).programs, 2);
    assert_true(drv_stats_get(rig.driver).pages > pages);
    rig.silent_command = 0xffffffff;
    rig.bad_command = PR_CMD_UNLOAD_PROGRAM;
    rig.bad_status = PR_STATUS_BUSY;
    assert_int_equal(drvrig_destroy(client, token), kIOReturnSuccess);
    assert_true(drvrig_traced(&rig, PR_TRACE_DRV_PROGRAM_KEPT, 0, &record));
    assert_true(pr_trace_at(&record, DRV_PROGRAM_KEPT, token).number == token);
    assert_int_equal(drv_stats_get(rig.driver).programs, 2);
    assert_int_equal(send(client, 5), kIOReturnNotFound);
    /*
     * Busy for once: the next call that ends something tries again. The load that was never answered stays.
     */
    rig.bad_status = 0;
    drv_client_close(client);
    assert_int_equal(drv_stats_get(rig.driver).clients, 0);
    assert_int_equal(drv_stats_get(rig.driver).programs, 1);
}

#define LIMIT 24u /* requests of one client */

static unsigned sent, refused;

/*
 * Each call is made while the one before waits; the one past the limit finds no
 * request, and its callers cannot give one back.
 */
static void send_until_refused(struct drvrig *r)
{
    if (++sent == LIMIT) {
        r->admit = NULL;
        r->hold = false;
    }
    if (send(client, 5) != kIOReturnTimeout)
        return;
    expect_error("24 requests under way");
    refused++;
}

static void one_client_cannot_take_every_cell(void **state)
{
    (void)state;
    sent = refused = 0;
    rig.hold = true;
    rig.admit = send_until_refused;
    assert_int_equal(send(client, 5), kIOReturnSuccess);
    assert_int_equal(refused, 1);
    assert_int_equal(rig.order_count, LIMIT);
    assert_int_equal(rig.most_normal, 1);
}

/* What the firmware says. */

static void statuses(void **state)
{
    static const struct {
        uint32_t status;
        IOReturn result;
    } row[] = {
        {PR_STATUS_BAD_SIZE, kIOReturnBadArgument},
        {PR_STATUS_BAD_ARGUMENT, kIOReturnBadArgument},
        {PR_STATUS_NO_PROGRAM, kIOReturnBadArgument},
        {PR_STATUS_NO_PROCESS, kIOReturnBadArgument},
        {PR_STATUS_NO_RESOURCES, kIOReturnNoResources},
        {PR_STATUS_NOT_READY, kIOReturnNotReady},
        {PR_STATUS_TRANSLATION, kIOReturnError},
        {PR_STATUS_ABORTED, kIOReturnAborted},
        {PR_STATUS_STUCK, kIOReturnError},
        {PR_STATUS_BUSY, kIOReturnBusy},
        {77, kIOReturnError},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        rig.call_status = row[i].status;
        assert_int_equal(send(client, 5), row[i].result);
        expect_error(pr_status_text(row[i].status));
        rig.call_status = 0;
        rig.call_refusal = row[i].status;
        assert_int_equal(send(client, 5), row[i].result);
        rig.call_refusal = 0;
        assert_int_equal(send(client, 5), kIOReturnSuccess);
    }
}

static void a_fault_is_named(void **state)
{
    struct ane_request_reply reply;
    struct ane_request request;
    char expected[80];

    (void)state;
    drvrig_request(&request, token, 1, 1, surface);
    rig.fault = true;
    rig.call_status = PR_STATUS_TRANSLATION;
    rig.call_error[0] = 2u << 16 | 2; /* source 1 was not translated */
    rig.call_error[1] = (uint32_t)rig.process[0].text;
    rig.call_error[2] = 0x1230000;
    assert_int_equal(drvrig_send(client, &request, &reply), kIOReturnError);
    assert_true(reply.status == PR_STATUS_TRANSLATION && (uint32_t)reply.detail == rig.call_error[0] &&
                reply.detail >> 32 == rig.call_error[1]);
    snprintf(expected, sizeof(expected), "Client 1, program 0x%llx \"sum\", descriptor 0",
             (unsigned long long)token);
    expect_error(expected);
    expect_error("DART 1 error 0x83000004: stream 3, read of 0x1234000, no page");
    assert_int_equal(rig.dart[1][0x40 / 4], 0);
    /*
     * An event without the task manager's words names no descriptor; the host does not look for one itself.
     */
    rig.short_events = true;
    assert_int_equal(drvrig_send(client, &request, &reply), kIOReturnError);
    assert_null(strstr(drv_last_error(rig.driver), "descriptor"));
}

/* The DART holds a capture of another stream: neither a failed request nor one that never ends shows it. */
static void a_capture_of_another_client_is_not_shown(void **state)
{
    struct ane_request_reply reply;
    struct ane_request request;

    (void)state;
    drvrig_request(&request, token, 1, 1, surface);
    rig.call_status = PR_STATUS_TRANSLATION;
    rig.short_events = true;
    for (uint32_t stream = 0; stream < 16; stream++) {
        rig.dart[1][0x40 / 4] = 0x80000004u | stream << 24;
        rig.dart[1][0x50 / 4] = 0x1234000;
        assert_int_equal(drvrig_send(client, &request, &reply), kIOReturnError);
        assert_int_equal(strstr(drv_last_error(rig.driver), "0x1234000") != NULL, stream == 3);
        assert_int_equal(drv_fault_last(rig.driver)->info.sid, stream);
        assert_int_equal(drv_fault_last(rig.driver)->client, stream == 3 ? 1 : 0);
    }
    rig.no_events = true;
    rig.dart[1][0x40 / 4] = 0x84000004u;
    rig.dart[1][0x50 / 4] = 0x1234000;
    assert_int_equal(drvrig_send(client, &request, &reply), kIOReturnTimeout);
    assert_null(strstr(drv_last_error(rig.driver), "0x1234000"));
}

/* Closing. */

static void close_it(struct drvrig *r)
{
    r->admit = NULL;
    r->hold = false;
    drv_client_close(client);
}

static void a_client_closes_during_flight(void **state)
{
    (void)state;
    rig.hold = true;
    rig.admit = close_it;
    assert_int_equal(send(client, 5), kIOReturnAborted);
    drvrig_work(&rig);
    assert_int_equal(drv_stats_get(rig.driver).aborted, 1);
    assert_int_equal(drv_stats_get(rig.driver).in_flight, 0);
    assert_int_equal(drv_stats_get(rig.driver).clients, 0);
    assert_int_equal(drv_stats_get(rig.driver).programs, 0);
    assert_true(rig.surface[surface[0]].uses == 0 && rig.surface[surface[1]].uses == 0);
}

static void close_held(struct drvrig *r)
{
    r->admit = NULL;
    drv_client_close(client);
    assert_int_equal(send(client, 5), ANE_RETURN_CLOSED); /* the handle is good while a call is inside */
}

static void what_is_in_the_firmware_stays(void **state)
{
    struct drv_client *other;

    (void)state;
    rig.hold = true;
    rig.admit = close_held;
    assert_int_equal(send(client, 5), kIOReturnAborted);
    assert_int_equal(drv_stats_get(rig.driver).clients, 1);
    assert_int_equal(drv_stats_get(rig.driver).in_flight, 1);
    assert_int_equal(rig.surface[surface[0]].uses, 1);
    assert_true(drvrig_finish_one(&rig, 0));
    drvrig_work(&rig);
    assert_int_equal(drv_stats_get(rig.driver).in_flight, 0);
    /* The next who comes buries it. */
    other = drvrig_client(&rig, ANE_CLIENT_CONTROL);
    assert_int_equal(drv_stats_get(rig.driver).clients, 1);
    assert_int_equal(drv_stats_get(rig.driver).programs, 0);
    assert_int_equal(rig.surface[surface[0]].uses, 0);
    drv_client_close(other);
}

static void close_with_others_pending(struct drvrig *r)
{
    if (left) {
        unsigned me = --left;

        results[me] = send(client, 5);
        return;
    }
    r->admit = NULL;
    r->hold = false;
    drv_client_close(client);
}

static void those_in_line_are_told_too(void **state)
{
    (void)state;
    rig.hold = true;
    rig.admit = close_with_others_pending;
    left = 3;
    assert_int_equal(send(client, 5), kIOReturnAborted);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(results[i], kIOReturnAborted);
    drvrig_work(&rig);
    assert_int_equal(rig.order_count, 1); /* the firmware had one of them */
    assert_int_equal(drv_stats_get(rig.driver).clients, 0);
}

static void device_close_ends_the_session(void **state)
{
    uint64_t pages;

    (void)state;
    assert_int_equal(send(client, 5), kIOReturnSuccess);
    assert_int_equal(drvrig_call(client, 1, NULL, 0, NULL, 0, NULL, 0, NULL, 0), kIOReturnSuccess);
    pages = drv_stats_get(rig.driver).pages;
    assert_int_equal(drv_stats_get(rig.driver).programs, 0);
    assert_int_equal(drv_stats_get(rig.driver).surfaces_mapped, 0);
    assert_int_equal(send(client, 5), ANE_RETURN_CLOSED);
    drv_client_close(client);
    assert_int_equal(drv_stats_get(rig.driver).pages, pages);
}

/* Domains. */

#define CLIENTS 10u

static struct drv_client *many[CLIENTS];
static uint64_t tokens[CLIENTS];

static IOReturn send_as(unsigned i, uint32_t priority)
{
    struct ane_request_reply reply;
    struct ane_request request;

    drvrig_request(&request, tokens[i], 1, 1, surface);
    request.priority = priority;
    return drvrig_send(many[i], &request, &reply);
}

static void domains_are_lent_and_taken_back(void **state)
{
    uint64_t pages;

    (void)state;
    drv_client_close(client);
    pages = drv_stats_get(rig.driver).pages;
    for (unsigned i = 0; i < CLIENTS; i++) {
        many[i] = drvrig_client(&rig, ANE_CLIENT_CONTROL);
        tokens[i] = drvrig_program(&rig, many[i], 1, 0, i % 2 ? 0x4000 : 0);
    }
    for (unsigned round = 0; round < 3; round++)
        for (unsigned i = 0; i < CLIENTS; i++) {
            *(uint32_t *)drvrig_surface_base(&rig, surface[0]) = 100 * round + i;
            assert_int_equal(send_as(i, 5), kIOReturnSuccess);
            assert_int_equal(*(uint32_t *)drvrig_surface_base(&rig, surface[1]), 100 * round + i);
        }
    for (unsigned i = 0; i < CLIENTS; i++)
        drv_client_close(many[i]);
    assert_int_equal(drv_stats_get(rig.driver).pages, pages);
    assert_int_equal(drv_stats_get(rig.driver).surfaces_mapped, 0);
    for (unsigned i = 0; i < DRVRIG_PROCESSES; i++)
        assert_false(rig.process[i].there);
}

#define WITH_ONE_WAITING 8u /* clients on seven domains */

static void send_as_next(struct drvrig *r)
{
    unsigned me = WITH_ONE_WAITING - left;

    if (left == 0) {
        r->admit = NULL;
        r->hold = false;
        return;
    }
    left--;
    results[me] = send_as(me, 5);
}

/* All have a request under way at once: the eighth waits until one of the seven is idle. */
static void nobody_is_left_without_a_domain(void **state)
{
    (void)state;
    drv_client_close(client);
    for (unsigned i = 0; i < WITH_ONE_WAITING; i++) {
        many[i] = drvrig_client(&rig, ANE_CLIENT_CONTROL);
        tokens[i] = drvrig_program(&rig, many[i], 1, 0, 0);
    }
    rig.hold = true;
    rig.admit = send_as_next;
    left = WITH_ONE_WAITING - 1;
    results[0] = send_as(0, 5);
    for (unsigned i = 0; i < WITH_ONE_WAITING; i++)
        assert_int_equal(results[i], kIOReturnSuccess);
    assert_int_equal(rig.most_normal, 1);
    for (unsigned i = 0; i < WITH_ONE_WAITING; i++)
        drv_client_close(many[i]);
}

static void a_pinned_domain_is_kept(void **state)
{
    struct ane_device_info info = {.token = 1};
    struct ane_memory_map map = {.surface = surface[0], .usage = 1, .size = 64};
    struct drv_client *direct;
    uint64_t zero = 0, address;

    (void)state;
    drv_client_close(client);
    assert_int_equal(drv_client_open(rig.driver, &drvrig_identity, ANE_CLIENT_DIRECT_PATH, &direct, NULL),
                     kIOReturnSuccess);
    assert_int_equal(drvrig_call(direct, 0, NULL, 0, &info, sizeof(info), NULL, 0, &info, sizeof(info)),
                     kIOReturnSuccess);
    map.token = info.token;
    assert_int_equal(drvrig_call(direct, 5, &zero, 1, &map, sizeof(map), &address, 1, NULL, 0),
                     kIOReturnSuccess);
    for (unsigned i = 0; i < 8; i++) {
        many[i] = drvrig_client(&rig, ANE_CLIENT_CONTROL);
        tokens[i] = drvrig_program(&rig, many[i], 1, 0, 0);
        assert_int_equal(send_as(i, 5), kIOReturnSuccess);
        assert_true(drvrig_walk(&rig, 0, 3, address) == rig.surface[surface[0]].address);
    }
    for (unsigned i = 0; i < 8; i++)
        drv_client_close(many[i]);
    drv_client_close(direct);
}

/* The gate. */

static struct drv_gate gate;

/* The owner goes while somebody waits. */
static int gate_wait(void *context, const bool *done, struct drv_deadline *deadline)
{
    (void)context;
    assert_null(deadline);
    assert_false(*done);
    drv_gate_leave(&gate);
    assert_true(*done);
    return 0;
}

static void the_gate_is_first_come_first_served(void **state)
{
    struct drv_platform platform = {.wait = gate_wait};
    struct drv_waiter one, two, *line = NULL;

    (void)state;
    drv_waiter_append(&line, &one);
    drv_waiter_append(&line, &two);
    drv_waiter_wake_first(&line);
    assert_true(one.done && !two.done && line == &one); /* it keeps its place */
    drv_waiter_remove(&line, &one);
    drv_waiter_remove(&line, &two);
    assert_null(line);
    drv_waiter_wake_first(&line);

    drv_gate_enter(&gate, &platform, NULL);
    assert_true(gate.held);
    drv_gate_enter(&gate, &platform, NULL);
    assert_true(gate.held && !gate.line);
    drv_gate_leave(&gate);
    assert_false(gate.held);
    /* Owned; `two` and `one` wait: leaving hands it to the first. */
    drv_gate_enter(&gate, &platform, NULL);
    drv_waiter_append(&gate.line, &two);
    drv_waiter_append(&gate.line, &one);
    drv_gate_leave(&gate);
    assert_true(gate.held && two.done && !one.done);
    drv_gate_leave(&gate);
    assert_true(gate.held && one.done && !gate.line);
    drv_gate_leave(&gate);
    assert_false(gate.held);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_of_a_band_in_the_firmware, boot, drop),
        cmocka_unit_test_setup_teardown(one_in_the_firmware_at_all, boot_one_in_flight, drop),
        cmocka_unit_test_setup_teardown(a_full_firmware_is_waited_for, boot, drop),
        cmocka_unit_test_setup_teardown(an_overrun_firmware_is_throttled, boot, drop),
        cmocka_unit_test_setup_teardown(a_firmware_that_stays_full, boot, drop),
        cmocka_unit_test_setup_teardown(the_class_decides_within_a_priority, boot, drop),
        cmocka_unit_test_setup_teardown(a_lost_doorbell, boot, drop),
        cmocka_unit_test_setup_teardown(a_lost_completion, boot, drop),
        cmocka_unit_test_setup_teardown(a_lost_interrupt, boot, drop),
        cmocka_unit_test_setup_teardown(a_lost_host_doorbell, boot, drop),
        cmocka_unit_test_setup_teardown(a_band_that_is_taken, boot, drop),
        cmocka_unit_test_setup_teardown(a_silent_command, boot, drop),
        cmocka_unit_test_setup_teardown(a_command_that_is_not_sent, boot, drop),
        cmocka_unit_test_setup_teardown(programs_the_firmware_keeps, boot, drop),
        cmocka_unit_test_setup_teardown(one_client_cannot_take_every_cell, boot, drop),
        cmocka_unit_test_setup_teardown(statuses, boot, drop),
        cmocka_unit_test_setup_teardown(a_fault_is_named, boot, drop),
        cmocka_unit_test_setup_teardown(a_capture_of_another_client_is_not_shown, boot, drop),
        cmocka_unit_test_setup_teardown(a_client_closes_during_flight, boot, drop),
        cmocka_unit_test_setup_teardown(what_is_in_the_firmware_stays, boot, drop),
        cmocka_unit_test_setup_teardown(those_in_line_are_told_too, boot, drop),
        cmocka_unit_test_setup_teardown(device_close_ends_the_session, boot, drop),
        cmocka_unit_test_setup_teardown(domains_are_lent_and_taken_back, boot, drop),
        cmocka_unit_test_setup_teardown(nobody_is_left_without_a_domain, boot, drop),
        cmocka_unit_test_setup_teardown(a_pinned_domain_is_kept, boot, drop),
        cmocka_unit_test(the_gate_is_first_come_first_served),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
