/* SPDX-License-Identifier: Apache-2.0 */
/* The driver against a made-up controller: boot, programs, requests. */
#include "drvrig.h"

#include <errno.h>
#include <string.h>

#include "driver/space.h"
#include "driver/state.h"

static struct drvrig rig;

/* Sends; a failure is told in the driver's words. */
static void send_well(struct drv_client *client, const struct ane_request *request)
{
    struct ane_request_reply reply;

    if (drvrig_send(client, request, &reply))
        fail_msg("%s", drv_last_error(rig.driver));
    assert_true(reply.sequence == request->sequence && reply.token == request->token && reply.status == 0);
}

static int boot(void **state)
{
    (void)state;
    drvrig_make(&rig, true);
    return 0;
}

static int drop(void **state)
{
    (void)state;
    drvrig_drop(&rig);
    return 0;
}

static void boots_in_order(void **state)
{
    const uint32_t expected[] = {
#define X(name, text) PR_CMD_##name,
        PR_BOOT_COMMANDS(X) PR_BIND_COMMANDS(X)
#undef X
    };
    struct drv_stats stats = drv_stats_get(rig.driver);

    (void)state;
    assert_int_equal(rig.command_count, sizeof(expected) / sizeof(expected[0]));
    assert_memory_equal(rig.commands, expected, sizeof(expected));
    assert_true(rig.rvbar == (DRVRIG_IMAGE | 1));
    assert_true(stats.boots == 1 && stats.boot_failures == 0);
    assert_int_equal(stats.pages, rig.used);
}

/* Boots that fail. */

static void spoil_name(struct pr_channel_record *record)
{
    strcpy(record[3].name, "BUF_X2T");
}
static void spoil_twice(struct pr_channel_record *record)
{
    memcpy(record[3].name, record[2].name, sizeof(record[3].name));
    record[3].type = record[2].type;
}
static void spoil_endless(struct pr_channel_record *record)
{
    memset(record[0].name, 'A', sizeof(record[0].name));
}
static void spoil_type(struct pr_channel_record *record)
{
    record[1].type = 1;
}
static void spoil_bit(struct pr_channel_record *record)
{
    record[5].bit = 32;
}
static void spoil_same_bit(struct pr_channel_record *record)
{
    record[5].bit = 4;
}
static void spoil_version(struct pr_channel_record *record)
{
    record[6].ring_version = 0x00010000;
}
static void spoil_slots(struct pr_channel_record *record)
{
    record[7].slots = 0x10000000000ull;
}
static void spoil_ring(struct pr_channel_record *record)
{
    record[7].ring += 0x100000;
}
static void spoil_overlap(struct pr_channel_record *record)
{
    record[7].ring = record[6].ring;
}
static void spoil_over_table(struct pr_channel_record *record)
{
    record[1].ring = record[0].ring - 0x100;
}

static void boot_fails(void (*prepare)(void), const char *sentence, unsigned boots)
{
    struct base_error error = {"nothing"};
    struct drv_client *client;
    struct drv_stats stats;

    drvrig_make(&rig, false);
    if (prepare)
        prepare();
    assert_int_equal(drv_create(&rig.platform, &rig.driver, &error), 0);
    assert_true(drv_start(rig.driver, &error) < 0);
    if (!strstr(error.text, sentence))
        fail_msg("\"%s\" does not say \"%s\"", error.text, sentence);
    assert_string_equal(drv_last_error(rig.driver), error.text);
    stats = drv_stats_get(rig.driver);
    assert_int_equal(stats.boots, boots);
    assert_int_equal(stats.pages, 0);
    assert_int_equal(drv_client_open(rig.driver, &drvrig_identity, ANE_CLIENT_CONTROL, &client, NULL),
                     kIOReturnNotReady);
    drvrig_drop(&rig);
}

#define SPOIL(what)                     \
    static void set_##what(void)        \
    {                                   \
        rig.spoil_table = spoil_##what; \
    }
SPOIL(name)
SPOIL(twice)
SPOIL(endless)
SPOIL(type)
SPOIL(bit)
SPOIL(same_bit)
SPOIL(version)
SPOIL(slots)
SPOIL(ring)
SPOIL(overlap)
SPOIL(over_table)

static void set_no_power(void)
{
    rig.no_power = true;
}
static void set_no_first(void)
{
    rig.no_first_wake = true;
}
static void set_no_second(void)
{
    rig.no_second_wakes = 100;
}
static void set_no_third(void)
{
    rig.no_third = true;
}
static void set_refusal(void)
{
    rig.refuse_boot = 6;
}
static void set_magic(void)
{
    rig.refuse_third = 8;
}
static void set_count(void)
{
    rig.channels = 0x21;
}
static void set_missing(void)
{
    rig.channels = 7;
}
static void set_ipc(void)
{
    rig.ipc_less_1 = 0x100;
}
static void set_heap(void)
{
    rig.heap = 0xffffffff;
}
static void set_table(void)
{
    rig.table_offset = 0x100000;
}
static void set_bad_command(void)
{
    rig.bad_command = PR_CMD_CH_PROPERTY_WRITE;
    rig.bad_status = PR_STATUS_BAD_ARGUMENT;
}
static void set_silent(void)
{
    rig.silent_command = PR_CMD_START;
}

static void set_no_room(void)
{
    rig.no_room = true;
}
static void set_no_endpoint(void)
{
    static const char *const none[] = {"ANE2Endpoint1", NULL};

    rig.platform.endpoints = none;
}

/* The first name that is registered is enabled, and its handler takes the interrupts. */
static void the_endpoint_is_looked_up(void **state)
{
    static const char *const services[][3] = {
        {"ANEEndpoint1", "ANE1Endpoint1", NULL}, {"ANE1Endpoint1", NULL}, {"ANEEndpoint1", NULL}};
    static const char *const enabled[] = {"ANE1Endpoint1", "ANE1Endpoint1", "ANEEndpoint1"};

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        drvrig_make(&rig, false);
        rig.platform.endpoints = services[i];
        assert_int_equal(drv_create(&rig.platform, &rig.driver, NULL), 0);
        assert_int_equal(drv_start(rig.driver, NULL), 0);
        assert_string_equal(rig.driver->rtbuddy.name, "ANE");
        assert_true(rig.driver->rtbuddy.mailbox == rig.platform.board->container + 0x1840000);
        assert_string_equal(rig.driver->rtbuddy.endpoint, enabled[i]);
        assert_true(drv_stats_get(rig.driver).interrupts >= 9); /* the first commands */
        drvrig_drop(&rig);
    }
}

/* What the replies of the first commands say is kept. */
static void boot_replies_are_used(void **state)
{
    (void)state;
    assert_int_equal(rig.driver->limits.programs, 144);
    assert_int_equal(rig.driver->limits.processes, 288);
    assert_int_equal(rig.driver->sync.count, 1);
    assert_int_equal(rig.driver->cache_bytes, PR_MCACHE_BYTES);
}

static void each_boot_failure_has_a_sentence(void **state)
{
    (void)state;
    boot_fails(set_no_power, "Power domain 0 did not come on", 1);
    boot_fails(set_no_first, "First wake missing", 1);
    boot_fails(set_no_second, "Second wake missing", DRV_BOOT_TRIES);
    boot_fails(set_no_third, "Third handshake missing", 1);
    boot_fails(set_refusal, "initial heap does not exceed twice the framework reservation", 1);
    boot_fails(set_magic, "scratch 3 does not hold the magic number", 1);
    boot_fails(set_count, "33 channels", 1);
    boot_fails(set_missing, "no channel DATA_CHAIN_H2T", 1);
    boot_fails(set_ipc, "IPC surface of 257 bytes", 1);
    boot_fails(set_heap, "bytes of heap", 1);
    boot_fails(set_table, "is not inside the IPC surface", 1);
    boot_fails(set_name, "\"BUF_X2T\", which is none of the eight", 1);
    boot_fails(set_twice, "two channels named DEBUG", 1);
    boot_fails(set_endless, "has no end", 1);
    boot_fails(set_type, "Channel IO has type 1", 1);
    boot_fails(set_bit, "doorbell bit 32", 1);
    boot_fails(set_same_bit, "share doorbell bit 4", 1);
    boot_fails(set_version, "ring-buffer version 0x10000", 1);
    boot_fails(set_slots, "slots", 1);
    boot_fails(set_ring, "The ring of channel DATA_CHAIN_H2T", 1);
    boot_fails(set_overlap, "overlap", 1);
    boot_fails(set_over_table, "lies over the channel table", 1);
    boot_fails(set_bad_command, "refused boot command CH_PROPERTY_WRITE", 1);
    boot_fails(set_no_room, "room for 144 programs and 0 processes", 1);
    boot_fails(set_no_endpoint, "No RTBuddy endpoint 0xe400", 1);
    boot_fails(set_silent, "Boot command START (0x1) was not answered", 1);
}

static void a_second_wake_may_come_late(void **state)
{
    struct drv_stats stats;

    (void)state;
    drvrig_make(&rig, false);
    rig.no_second_wakes = 2;
    assert_int_equal(drv_create(&rig.platform, &rig.driver, NULL), 0);
    assert_int_equal(drv_start(rig.driver, NULL), 0);
    stats = drv_stats_get(rig.driver);
    assert_true(stats.boots == 3 && stats.boot_failures == 2);
    drvrig_drop(&rig);
}

/* Programs and requests. */

static void a_program_goes_round(void **state)
{
    struct drv_client *client = drvrig_client(&rig, ANE_CLIENT_CONTROL);
    const uint64_t pages = drv_stats_get(rig.driver).pages;
    uint64_t token = drvrig_program(&rig, client, 2, 0x5000, 0);
    const uint32_t surface[] = {drvrig_surface(&rig, 0x5000), drvrig_surface(&rig, 64),
                                drvrig_surface(&rig, 64)};
    uint32_t *a = drvrig_surface_base(&rig, surface[0]), *b = drvrig_surface_base(&rig, surface[1]),
             *y = drvrig_surface_base(&rig, surface[2]);
    struct ane_request_reply reply;
    struct ane_request request;

    (void)state;
    drvrig_request(&request, token, 2, 1, surface);
    request.offset[0] = 0x4000;
    a[0x1000] = 30;
    *b = 12;
    send_well(client, &request);
    assert_int_equal(*y, 42);
    assert_int_equal(drv_stats_get(rig.driver).surfaces_mapped, 3);
    assert_int_equal(drv_stats_get(rig.driver).completed, 1);
    assert_int_equal(drvrig_unprepare(client, token), kIOReturnSuccess);
    assert_int_equal(drvrig_send(client, &request, &reply), kIOReturnNotReady);
    assert_int_equal(drvrig_destroy(client, token), kIOReturnSuccess);
    assert_int_equal(drvrig_send(client, &request, &reply), kIOReturnNotFound);
    assert_int_equal(drv_stats_get(rig.driver).programs, 0);
    drv_client_close(client);
    assert_int_equal(drv_stats_get(rig.driver).pages, pages);
    assert_int_equal(drv_stats_get(rig.driver).surfaces_mapped, 0);
}

/* Same pages, two device addresses; a guard page after each. */
static void an_accumulator_is_bound_twice(void **state)
{
    struct drv_client *client = drvrig_client(&rig, ANE_CLIENT_CONTROL);
    uint64_t token = drvrig_program(&rig, client, 2, 0, 0);
    const uint32_t x = drvrig_surface(&rig, 64), sum = drvrig_surface(&rig, 64), surface[] = {x, sum, sum};
    struct ane_request request;

    (void)state;
    *(uint32_t *)drvrig_surface_base(&rig, x) = 3;
    drvrig_request(&request, token, 2, 1, surface);
    for (unsigned i = 1; i <= 4; i++) {
        send_well(client, &request);
        assert_int_equal(*(uint32_t *)drvrig_surface_base(&rig, sum), 3 * i);
    }
    assert_int_equal(drv_stats_get(rig.driver).surfaces_mapped, 3);
    assert_true(rig.surface[sum].uses == 2 && rig.surface[x].uses == 1);
    assert_true(drvrig_walk(&rig, 0, 3, 0x4000) == rig.surface[x].address);
    assert_true(drvrig_walk(&rig, 1, 3, 0x8000) == 0);
    assert_true(drvrig_walk(&rig, 2, 3, 0xc000) == rig.surface[sum].address);
    assert_true(drvrig_walk(&rig, 2, 3, 0x14000) == rig.surface[sum].address);
    assert_true(drvrig_walk(&rig, 0, 4, 0x4000) == 0 &&
                drvrig_walk(&rig, 0, 0, 0x4000) != rig.surface[x].address);
    drv_client_close(client);
    assert_true(drvrig_walk(&rig, 0, 3, 0x4000) == 0);
    assert_true(rig.surface[sum].uses == 0 && rig.surface[x].uses == 0);
    for (unsigned dart = 0; dart < 3; dart++)
        assert_true(rig.invalidates[dart] >> 3 & 1);
}

static void an_intermediate_is_the_drivers_or_the_clients(void **state)
{
    struct drv_client *client = drvrig_client(&rig, ANE_CLIENT_CONTROL);
    uint64_t token = drvrig_program(&rig, client, 1, 0, 0x9000);
    const uint32_t x = drvrig_surface(&rig, 64), y = drvrig_surface(&rig, 64),
                   scratch = drvrig_surface(&rig, 0x9000);
    const uint32_t small = drvrig_surface(&rig, 0x8000), surface[] = {x, y};
    struct ane_request_reply reply;
    struct ane_request request;

    (void)state;
    drvrig_request(&request, token, 1, 1, surface);
    send_well(client, &request);
    uint64_t pages = drv_stats_get(rig.driver).pages;
    send_well(client, &request);
    assert_int_equal(drv_stats_get(rig.driver).pages, pages);
    request.intermediates = 1;
    request.surface[2] = scratch;
    send_well(client, &request);
    request.surface[2] = small;
    assert_int_equal(drvrig_send(client, &request, &reply), kIOReturnBadArgument);
    assert_non_null(strstr(drv_last_error(rig.driver), "Buffer 2"));
    drv_client_close(client);
}

static void statistics_are_the_firmwares(void **state)
{
    struct drv_client *client = drvrig_client(&rig, ANE_CLIENT_CONTROL);
    uint64_t token = drvrig_program(&rig, client, 1, 0, 0);
    const uint32_t surface[] = {drvrig_surface(&rig, 64), drvrig_surface(&rig, 64)},
                   stats = drvrig_surface(&rig, 0x1000);
    struct ane_request_reply reply;
    struct ane_request request;

    (void)state;
    drvrig_request(&request, token, 1, 1, surface);
    request.stats_surface = stats;
    send_well(client, &request);
    assert_int_equal(*(uint16_t *)drvrig_surface_base(&rig, stats), 0x0101);
    request.stats_surface = drvrig_surface(&rig, 16);
    assert_int_equal(drvrig_send(client, &request, &reply), kIOReturnBadArgument);
    drv_client_close(client);
    assert_int_equal(rig.surface[stats].uses, 0);
}

static void check_totals(uint64_t valid, uint64_t log, uint64_t events)
{
    const struct drv_stats stats = drv_stats_get(rig.driver);

    assert_true(stats.stats_valid == valid && stats.stats_log == log && stats.stats_events == events);
}

/*
 * The firmware maps a statistics buffer once for a process. Its totals run: what was added since is counted,
 * and totals that have become smaller start from 0 again.
 */
static void statistics_are_mapped_and_read_back(void **state)
{
    struct drv_client *client = drvrig_client(&rig, ANE_CLIENT_CONTROL);
    uint64_t token = drvrig_program(&rig, client, 1, 0, 0);
    const uint32_t surface[] = {drvrig_surface(&rig, 64), drvrig_surface(&rig, 64)};
    const struct pr_body_premap *map = &rig.premap[0];
    struct ane_request_reply reply;
    struct ane_request request;

    (void)state;
    drvrig_request(&request, token, 1, 1, surface);
    send_well(client, &request);
    assert_int_equal(rig.premap_count, 0);
    request.stats_surface = drvrig_surface(&rig, 0x1000);
    memcpy(rig.totals, (uint32_t[]){1, 2, 3}, sizeof(rig.totals));
    send_well(client, &request);
    assert_int_equal(rig.premap_count, 1);
    assert_true(map->operations == 1 && map->buffers == 1 && map->pool == 2 && map->zero == 0);
    assert_int_equal(map->buffer.valid, 1);
    /* The end of the surface is the driver's own. */
    assert_true(map->buffer.address && map->buffer.bytes == 0x1000 - 0x40);
    check_totals(1, 2, 3);
    memcpy(rig.totals, (uint32_t[]){11, 22, 33}, sizeof(rig.totals));
    send_well(client, &request);
    assert_int_equal(rig.premap_count, 1);
    check_totals(11, 22, 33);
    memcpy(rig.totals, (uint32_t[]){5, 22, 34}, sizeof(rig.totals));
    send_well(client, &request);
    check_totals(16, 22, 34);
    /* Another surface is another map. */
    request.stats_surface = drvrig_surface(&rig, 0x48);
    send_well(client, &request);
    assert_int_equal(rig.premap_count, 2);
    assert_int_equal(rig.premap[1].buffer.bytes, 0x48);
    check_totals(16, 22, 34); /* there is no room for totals in it */
    /* The firmware refuses a map: the request is not sent. */
    request.stats_surface = drvrig_surface(&rig, 0x2000);
    rig.bad_command = PR_CMD_PREMAP_BUFFER;
    rig.bad_status = PR_STATUS_BAD_ARGUMENT;
    assert_int_equal(drvrig_send(client, &request, &reply), kIOReturnBadArgument);
    assert_non_null(strstr(drv_last_error(rig.driver), "PREMAP_BUFFER"));
    rig.bad_status = 0;
    send_well(client, &request);
    drv_client_close(client);
    assert_int_equal(drv_stats_get(rig.driver).surfaces_mapped, 0);
}

static void mappings_stay_until_the_surface_goes(void **state)
{
    struct drv_client *client = drvrig_client(&rig, ANE_CLIENT_CONTROL);
    uint64_t token = drvrig_program(&rig, client, 1, 0, 0);
    const uint32_t surface[] = {drvrig_surface(&rig, 64), drvrig_surface(&rig, 64)};
    struct ane_request request;

    (void)state;
    drvrig_request(&request, token, 1, 1, surface);
    send_well(client, &request);
    drv_surface_released(rig.driver, surface[0]);
    assert_true(rig.surface[surface[0]].uses == 0 && rig.surface[surface[1]].uses == 1);
    assert_true(drvrig_walk(&rig, 0, 3, 0x4000) == 0);
    send_well(client, &request);
    drv_client_close(client);
}

/* A surface that is released while a request uses it. */
static uint32_t released;
static uint64_t mapped_at_completion;

static void release_and_finish(struct drvrig *r)
{
    r->admit = NULL;
    drv_surface_released(r->driver, released);
    r->hold = false;
    drvrig_work(r);
    /* The request has ended; its caller has not run yet, and neither has the worker. */
    assert_int_equal(drv_stats_get(r->driver).in_flight, 0);
    mapped_at_completion = drvrig_walk(r, 0, 3, 0x4000);
}

static void completions_do_not_unwire(void **state)
{
    struct drv_client *client = drvrig_client(&rig, ANE_CLIENT_CONTROL);
    uint64_t token = drvrig_program(&rig, client, 1, 0, 0);
    const uint32_t surface[] = {drvrig_surface(&rig, 64), drvrig_surface(&rig, 64)};
    struct ane_request request;

    (void)state;
    drvrig_request(&request, token, 1, 1, surface);
    released = surface[0];
    rig.hold = true;
    rig.admit = release_and_finish;
    send_well(client, &request);
    assert_true(mapped_at_completion == rig.surface[surface[0]].address);
    /* The end of the call has taken it back, and left the other. */
    assert_true(drvrig_walk(&rig, 0, 3, 0x4000) == 0);
    assert_true(rig.surface[surface[0]].uses == 0 && rig.surface[surface[1]].uses == 1);
    drv_client_close(client);
}

static void idle_mappings_live_for_their_time(void **state)
{
    struct drv_client *client = drvrig_client(&rig, ANE_CLIENT_CONTROL);
    uint64_t token = drvrig_program(&rig, client, 1, 0, 0x4000);
    const uint32_t surface[] = {drvrig_surface(&rig, 64), drvrig_surface(&rig, 64)},
                   other[] = {drvrig_surface(&rig, 64), drvrig_surface(&rig, 64)};
    struct ane_request request;

    (void)state;
    drv_unwire_set_ttl(rig.driver, 1000);
    drvrig_request(&request, token, 1, 1, surface);
    send_well(client, &request);
    rig.now += 999;
    drvrig_request(&request, token, 1, 1, other);
    send_well(client, &request);
    assert_true(rig.surface[surface[0]].uses == 1 && rig.surface[surface[1]].uses == 1);
    rig.now += 1;
    send_well(client, &request);
    assert_true(rig.surface[surface[0]].uses == 0 && rig.surface[surface[1]].uses == 0);
    assert_true(rig.surface[other[0]].uses == 1 && rig.surface[other[1]].uses == 1);
    drvrig_request(&request, token, 1, 1, surface);
    send_well(client, &request); /* mapped anew */
    drv_client_close(client);
}

/* An instance that opted out keeps its client's mappings, however long they are idle. */
static void an_opt_out_keeps_idle_mappings(void **state)
{
    struct drv_client *client = drvrig_client(&rig, ANE_CLIENT_CONTROL);
    uint64_t token = drvrig_program(&rig, client, 1, 0, 0);
    const uint32_t surface[] = {drvrig_surface(&rig, 64), drvrig_surface(&rig, 64)},
                   other[] = {drvrig_surface(&rig, 64), drvrig_surface(&rig, 64)};
    struct ane_request request;

    (void)state;
    drv_unwire_set_ttl(rig.driver, 1000);
    rig.driver->programs->flags |= ANE_INSTANCE_KEEP_WIRED;
    for (unsigned i = 0; i < 2; i++) {
        drvrig_request(&request, token, 1, 1, i ? other : surface);
        send_well(client, &request);
        rig.now += 5000;
    }
    assert_true(rig.surface[surface[0]].uses == 1 && rig.surface[surface[1]].uses == 1);
    rig.driver->programs->flags &= ~(uint32_t)ANE_INSTANCE_KEEP_WIRED;
    send_well(client, &request);
    assert_true(rig.surface[surface[0]].uses == 0 && rig.surface[surface[1]].uses == 0);
    drv_client_close(client);
}

static void a_warm_request_costs_little(void **state)
{
    struct drv_client *client = drvrig_client(&rig, ANE_CLIENT_CONTROL);
    uint64_t token = drvrig_program(&rig, client, 2, 0, 0x4000), mmio;
    const uint32_t surface[] = {drvrig_surface(&rig, 64), drvrig_surface(&rig, 64), drvrig_surface(&rig, 64)};
    struct ane_request request;
    uint32_t allocs;
    uint64_t lines;

    (void)state;
    drvrig_request(&request, token, 2, 1, surface);
    send_well(client, &request);
    allocs = rig.alloc_calls;
    lines = rig.trace.lines;
    mmio = rig.mmio;
    send_well(client, &request);
    assert_true(rig.alloc_calls == allocs && rig.trace.lines == lines);
    /* Doorbell; pending, acknowledgement, doorbell of the slot that goes back. */
    assert_int_equal(rig.mmio - mmio, 4);
    drv_client_close(client);
}

static void a_direct_client_attaches(void **state)
{
    struct drv_client *owner = drvrig_client(&rig, ANE_CLIENT_CONTROL),
                      *direct = drvrig_client(&rig, ANE_CLIENT_DIRECT_PATH), *stranger;
    const struct drv_identity other = {
        .entitlements = PR_ENTITLEMENT_BIT(OPEN), .developer = true, .task = 1, .team = "ABCDE"};
    struct ane_device_info info = {.token = 1};
    uint64_t token = drvrig_program(&rig, owner, 1, 0, 0);
    const uint32_t surface[] = {drvrig_surface(&rig, 64), drvrig_surface(&rig, 64)};
    struct ane_program_prepare prepare;
    struct ane_request_reply reply;
    struct ane_request request;

    (void)state;
    /* It has no selector to give a program back with, and does not keep the owner from destroying it. */
    drvrig_request(&request, token, 1, 1, surface);
    send_well(direct, &request);
    assert_int_equal(drvrig_destroy(owner, token), kIOReturnSuccess);
    assert_int_equal(drvrig_send(direct, &request, &reply), kIOReturnNotFound);
    token = drvrig_program(&rig, owner, 1, 0, 0);
    drvrig_request(&request, token, 1, 1, surface);
    send_well(direct, &request);
    assert_int_equal(drv_client_open(rig.driver, &other, ANE_CLIENT_DIRECT_PATH, &stranger, NULL),
                     kIOReturnSuccess);
    assert_int_equal(drvrig_call(stranger, 0, NULL, 0, &info, sizeof(info), NULL, 0, &info, sizeof(info)),
                     kIOReturnSuccess);
    assert_int_equal(drvrig_send(stranger, &request, &reply), kIOReturnNotFound);
    /* Its owner goes first: the program stays for who uses it, and only clients of that task find it. */
    drv_client_close(owner);
    assert_int_equal(drv_stats_get(rig.driver).programs, 1);
    send_well(direct, &request);
    assert_int_equal(drvrig_send(stranger, &request, &reply), kIOReturnNotFound);
    drv_client_close(stranger);
    owner = drvrig_client(&rig, ANE_CLIENT_CONTROL);
    assert_int_equal(drvrig_prepare(owner, token, &prepare), kIOReturnSuccess);
    assert_int_equal(drvrig_destroy(owner, token), kIOReturnNotFound); /* it is not its owner */
    drv_client_close(owner);
    drv_client_close(direct);
    assert_int_equal(drv_stats_get(rig.driver).programs, 0);
    assert_int_equal(drv_stats_get(rig.driver).clients, 0);
}

static void explicit_mappings(void **state)
{
    struct drv_client *direct = drvrig_client(&rig, ANE_CLIENT_DIRECT_PATH);
    const uint32_t surface = drvrig_surface(&rig, 0x6000);
    struct ane_device_info info = {.token = 1};
    struct ane_memory_map map = {.surface = surface, .usage = 1, .offset = 0x100, .size = 0x5000};
    struct drv_client *fresh;
    uint64_t zero = 0, address = 0;

    (void)state;
    assert_int_equal(drvrig_call(direct, 5, &zero, 1, &map, sizeof(map), &address, 1, NULL, 0),
                     kIOReturnBadArgument);
    assert_int_equal(drv_client_open(rig.driver, &drvrig_identity, ANE_CLIENT_DIRECT_PATH, &fresh, NULL),
                     kIOReturnSuccess);
    assert_int_equal(drvrig_call(fresh, 5, &zero, 1, &map, sizeof(map), &address, 1, NULL, 0),
                     kIOReturnNotReady);
    assert_int_equal(drvrig_call(fresh, 0, NULL, 0, &info, sizeof(info), NULL, 0, &info, sizeof(info)),
                     kIOReturnSuccess);
    map.token = info.token;
    assert_int_equal(drvrig_call(fresh, 5, &zero, 1, &map, sizeof(map), &address, 1, NULL, 0),
                     kIOReturnSuccess);
    assert_int_equal(address, 0x4100);
    assert_true(drvrig_walk(&rig, 1, 3, address) == rig.surface[surface].address + 0x100);
    map.usage = 9;
    assert_int_equal(drvrig_call(fresh, 5, &zero, 1, &map, sizeof(map), &address, 1, NULL, 0),
                     kIOReturnBadArgument);
    map.usage = 1;
    map.size = 0x6000;
    assert_int_equal(drvrig_call(fresh, 5, &zero, 1, &map, sizeof(map), &address, 1, NULL, 0),
                     kIOReturnBadArgument);
    map.address = address + 0x10000;
    assert_int_equal(drvrig_call(fresh, 6, NULL, 0, &map, sizeof(map), NULL, 0, NULL, 0),
                     kIOReturnBadArgument);
    map.address = address;
    assert_int_equal(drvrig_call(fresh, 6, NULL, 0, &map, sizeof(map), NULL, 0, NULL, 0), kIOReturnSuccess);
    assert_true(drvrig_walk(&rig, 1, 3, address) == 0);
    assert_int_equal(drvrig_call(fresh, 6, NULL, 0, &map, sizeof(map), NULL, 0, NULL, 0),
                     kIOReturnBadArgument);
    drv_client_close(fresh);
    drv_client_close(direct);
}

static IOReturn map_for(struct drv_client *client, struct ane_memory_map *map, uint64_t *address)
{
    uint64_t zero = 0;

    return drvrig_call(client, 5, &zero, 1, map, sizeof(*map), address, 1, NULL, 0);
}

/* With a program: one command for each port that can take the surface, as a request would bind it. */
static void mappings_ahead_of_a_request(void **state)
{
    static uint8_t image[0x10000];
    const size_t size = drvrig_image(image, sizeof(image), 2, 0, 0);
    struct drv_client *control = drvrig_client(&rig, ANE_CLIENT_CONTROL), *direct;
    struct ane_device_info info = {.token = 1};
    const uint32_t surface = drvrig_surface(&rig, 0x6000);
    struct ane_memory_map map = {.surface = surface, .usage = 1, .offset = 0x100, .size = 0x5000};
    uint64_t address = 0;

    (void)state;
    assert_int_equal(drvrig_create(&rig, control, image, size, &map.program), kIOReturnSuccess);
    assert_int_equal(drv_client_open(rig.driver, &drvrig_identity, ANE_CLIENT_DIRECT_PATH, &direct, NULL),
                     kIOReturnSuccess);
    assert_int_equal(drvrig_call(direct, 0, NULL, 0, &info, sizeof(info), NULL, 0, &info, sizeof(info)),
                     kIOReturnSuccess);
    map.token = info.token;
    rig.premap_count = 0;
    assert_int_equal(map_for(direct, &map, &address), kIOReturnSuccess);
    assert_int_equal(rig.premap_count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(rig.premap[i].operations, 1);
        assert_int_equal(rig.premap[i].buffers, 1);
        assert_int_not_equal(rig.premap[i].pool, 0);
        assert_int_equal(rig.premap[i].buffer.index, i);
        assert_int_equal(rig.premap[i].buffer.valid, 1);
        assert_true(rig.premap[i].buffer.address == address);
        assert_true(rig.premap[i].buffer.bytes == 0x6000 - 0x100);
    }
    map.usage = 2;
    assert_int_equal(map_for(direct, &map, &address), kIOReturnSuccess);
    assert_int_equal(rig.premap_count, 3);
    assert_int_equal(rig.premap[2].buffer.index, 2);

    /* Refused by name; nothing stays pinned. */
    map.usage = 7;
    assert_int_equal(map_for(direct, &map, &address), kIOReturnBadArgument);
    assert_non_null(strstr(drv_last_error(rig.driver), "has no port of usage 7 for 24320 bytes"));
    map.usage = 1;
    map.offset = 0x28;
    assert_int_equal(map_for(direct, &map, &address), kIOReturnBadArgument);
    assert_non_null(strstr(drv_last_error(rig.driver), "offset 40 is not a multiple of 16"));
    map.offset = 0x6000 - 32;
    map.size = 32;
    map.program++;
    assert_int_equal(map_for(direct, &map, &address), kIOReturnNotFound);
    map.program--;
    map.offset = 0;
    rig.bad_command = PR_CMD_PREMAP_BUFFER;
    rig.bad_status = PR_STATUS_BAD_ARGUMENT;
    assert_int_equal(map_for(direct, &map, &address), kIOReturnBadArgument);
    assert_non_null(strstr(drv_last_error(rig.driver), "PREMAP_BUFFER"));
    rig.bad_command = 0;
    map.address = address;
    assert_int_equal(drvrig_call(direct, 6, NULL, 0, &map, sizeof(map), NULL, 0, NULL, 0), kIOReturnSuccess);
    drv_client_close(direct);
    drv_client_close(control);
    assert_int_equal(drv_stats_get(rig.driver).surfaces_mapped, 0);
}

/* First fit, a guard page after each range, the same place again after it was given back. */
static void device_addresses(void **state)
{
    struct drv_space space = {.first = 0x4000, .end = 0x4000 * 9};
    uint64_t a, b, c, again;

    (void)state;
    assert_int_equal(drv_space_take(&space, 0, DRV_SPACE_LOW, &a), -ENOSPC);
    assert_int_equal(drv_space_take(&space, 0x4000 * 8, DRV_SPACE_LOW, &a), -ENOSPC);
    assert_int_equal(drv_space_take(&space, ~0ull, DRV_SPACE_LOW, &a), -ENOSPC);
    assert_int_equal(drv_space_take(&space, 1, DRV_SPACE_LOW, &a), 0);
    assert_int_equal(drv_space_take(&space, 0x4001, DRV_SPACE_LOW, &b), 0);
    assert_int_equal(drv_space_take(&space, 0x8000, DRV_SPACE_LOW, &c), 0);
    assert_true(a == 0x4000 && b == 0xc000 && c == 0x18000);
    assert_int_equal(drv_space_take(&space, 1, DRV_SPACE_LOW, &again), -ENOSPC);
    drv_space_give(&space, b);
    assert_int_equal(drv_space_take(&space, 0xc000, DRV_SPACE_LOW, &again), -ENOSPC);
    assert_int_equal(drv_space_take(&space, 0x8000, DRV_SPACE_LOW, &again), 0);
    assert_int_equal(again, b);
    drv_space_clear(&space);
    assert_null(space.ranges);
    assert_int_equal(drv_space_used(&space), 0);
    /* From the high end, with the guard page behind. */
    assert_int_equal(drv_space_take(&space, 1, DRV_SPACE_HIGH, &a), 0);
    assert_int_equal(drv_space_take(&space, 0x8000, DRV_SPACE_HIGH, &b), 0);
    assert_int_equal(drv_space_take(&space, 1, DRV_SPACE_LOW, &c), 0);
    assert_true(a == 0x1c000 && b == 0x10000 && c == 0x4000);
    assert_int_equal(drv_space_used(&space), 0x4000 * 7);
    assert_true(!drv_space_fits(&space, 1) && !drv_space_fits(&space, 0));
    drv_space_give(&space, a);
    assert_true(drv_space_fits(&space, 0x4000) && !drv_space_fits(&space, 0x4001));
    drv_space_clear(&space);
}

/* The same windows in another order of the device tree: the family's fields say which is which. */
static void apertures_are_found_by_index(void **state)
{
    struct pr_board other;
    struct base_error error;

    (void)state;
    drvrig_make(&rig, false);
    other = *rig.platform.board;
    for (unsigned i = 0; i < 7; i++)
        other.reg[(i + 3) % 7] = rig.platform.board->reg[i];
    other.first_index = 3;
    other.hal_index[0] = 0;
    other.hal_index[1] = 1;
    other.hal_index[2] = 2;
    rig.platform.board = &other;
    assert_int_equal(drv_create(&rig.platform, &rig.driver, NULL), 0);
    assert_int_equal(drv_start(rig.driver, NULL), 0);
    assert_true(rig.driver->aperture[PR_APERTURE_PS].base == other.pmu);
    assert_true(rig.driver->aperture[PR_APERTURE_ANEHAL2].base == other.container + 0x1c24000);
    drv_destroy(rig.driver);
    other.hal_index[2] = 7;
    assert_int_equal(drv_create(&rig.platform, &rig.driver, NULL), 0);
    assert_int_equal(drv_start(rig.driver, &error), -ENXIO);
    assert_non_null(strstr(error.text, "Aperture ANEHAL3 is entry 7"));
    drvrig_drop(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(apertures_are_found_by_index),
        cmocka_unit_test_setup_teardown(boots_in_order, boot, drop),
        cmocka_unit_test(each_boot_failure_has_a_sentence),
        cmocka_unit_test(the_endpoint_is_looked_up),
        cmocka_unit_test_setup_teardown(boot_replies_are_used, boot, drop),
        cmocka_unit_test(a_second_wake_may_come_late),
        cmocka_unit_test_setup_teardown(a_program_goes_round, boot, drop),
        cmocka_unit_test_setup_teardown(an_accumulator_is_bound_twice, boot, drop),
        cmocka_unit_test_setup_teardown(an_intermediate_is_the_drivers_or_the_clients, boot, drop),
        cmocka_unit_test_setup_teardown(statistics_are_the_firmwares, boot, drop),
        cmocka_unit_test_setup_teardown(statistics_are_mapped_and_read_back, boot, drop),
        cmocka_unit_test_setup_teardown(mappings_stay_until_the_surface_goes, boot, drop),
        cmocka_unit_test_setup_teardown(completions_do_not_unwire, boot, drop),
        cmocka_unit_test_setup_teardown(idle_mappings_live_for_their_time, boot, drop),
        cmocka_unit_test_setup_teardown(an_opt_out_keeps_idle_mappings, boot, drop),
        cmocka_unit_test_setup_teardown(a_warm_request_costs_little, boot, drop),
        cmocka_unit_test_setup_teardown(a_direct_client_attaches, boot, drop),
        cmocka_unit_test_setup_teardown(explicit_mappings, boot, drop),
        cmocka_unit_test_setup_teardown(mappings_ahead_of_a_request, boot, drop),
        cmocka_unit_test(device_addresses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
