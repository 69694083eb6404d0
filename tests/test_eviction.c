/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens when a client maps more than its device addresses hold: mappings that no request uses are
 * reclaimed, least recently used first, and made again. The rig's domains are made small; the machine's have
 * all of the 3.5 GiB.
 */
#include "drvrig.h"

#include <stdio.h>
#include <string.h>

#include <anemone/machine.h>

#include "driver/mapping.h"
#include "driver/quota.h"
#include "iorig.h"

#define PAGE 0x4000u
#define ROOM 18u /* pages of addresses for surfaces; a surface of n pages takes n + 1 */
#define TEXT 2u  /* pages of addresses of a program's text */

static struct drvrig rig;
static struct drv_client *client;
static uint64_t token;
static uint32_t out;

/* A client with a program of one input or two; of its addresses `room` pages are left. */
static void start(struct drv_client *of, uint32_t inputs, uint32_t room)
{
    client = of;
    token = drvrig_program(&rig, client, inputs, 0, 0);
    client->domain->space.first = 0xe0000000u - (room + TEXT) * PAGE;
    out = drvrig_surface(&rig, 2 * PAGE);
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
    drv_client_close(client);
    assert_int_equal(drv_stats_get(rig.driver).client_pages, 0);
    drvrig_drop(&rig);
    return 0;
}

static uint32_t surface_with(uint32_t word, uint32_t pages)
{
    uint32_t id = drvrig_surface(&rig, pages * PAGE);

    *(uint32_t *)drvrig_surface_base(&rig, id) = word;
    return id;
}

/* One request; the controller writes the sum of the inputs' first words. */
static IOReturn send(const uint32_t *inputs, uint32_t count)
{
    uint32_t surface[3] = {0};
    struct ane_request_reply reply;
    struct ane_request request;

    memcpy(surface, inputs, count * sizeof(*inputs));
    surface[count] = out;
    drvrig_request(&request, token, count, 1, surface);
    return drvrig_send(client, &request, &reply);
}

static void send_well(uint32_t input, uint32_t expected)
{
    if (send(&input, 1))
        fail_msg("%s", drv_last_error(rig.driver));
    assert_int_equal(*(uint32_t *)drvrig_surface_base(&rig, out), expected);
}

static uint64_t evictions(void)
{
    return drv_stats_get(rig.driver).evictions;
}

static bool mapped(uint32_t surface)
{
    return rig.surface[surface].uses;
}

static void the_least_recently_used_goes_first(void **state)
{
    uint32_t in[8];

    (void)state;
    start(drvrig_client(&rig, ANE_CLIENT_CONTROL), 1, ROOM);
    for (uint32_t i = 0; i < 8; i++)
        in[i] = surface_with(100 + i, 2);
    for (uint32_t i = 0; i < 5; i++)
        send_well(in[i], 100 + i);
    assert_int_equal(evictions(), 0); /* five inputs and the output fill the room */
    send_well(in[0], 100);
    send_well(in[5], 105);
    assert_int_equal(evictions(), 1);
    assert_true(mapped(in[0]) && !mapped(in[1]) && mapped(in[2]) && mapped(in[5]) && mapped(out));
    send_well(in[6], 106);
    assert_true(mapped(in[0]) && !mapped(in[2]) && mapped(in[3]));
    /* By turns, several times: every result is right. */
    for (uint32_t i = 0; i < 64; i++)
        send_well(in[i * 3 % 8], 100 + i * 3 % 8);
    assert_true(evictions() > 20);
    assert_int_equal(drv_stats_get(rig.driver).surfaces_mapped, 6);
}

static void the_score_ranks_use_hint_age_and_size(void **state)
{
    struct drv_mapping mapping = {.iova = 0x4000, .bytes = PAGE, .used = 1}, other = mapping;
    uint64_t score;

    (void)state;
    start(drvrig_client(&rig, ANE_CLIENT_CONTROL), 1, ROOM);
    rig.driver->serial = 10;
    score = drv_mapping_free_up_score(client, &mapping);
    other.used = 2;
    assert_true(drv_mapping_free_up_score(client, &other) < score);
    other.used = 1;
    other.bytes = 2 * PAGE;
    assert_true(drv_mapping_free_up_score(client, &other) > score);
    client->resident = true;
    assert_true(drv_mapping_free_up_score(client, &other) < score);
    assert_true(drv_mapping_free_up_score(client, &other) > 0);
    client->resident = false;
    other.uses = 1;
    assert_int_equal(drv_mapping_free_up_score(client, &other), 0);
    other.uses = 0;
    other.pins = 1;
    assert_int_equal(drv_mapping_free_up_score(client, &other), 0);
    other.pins = 0;
    other.iova = 0;
    assert_int_equal(drv_mapping_free_up_score(client, &other), 0);
}

/* Selector 5 has given an address out: it stays, whatever the pressure. */
static void a_pinned_mapping_stays(void **state)
{
    struct drv_client *owner = drvrig_client(&rig, ANE_CLIENT_CONTROL);
    struct ane_memory_map map = {.usage = ANE_MAP_INPUT, .size = PAGE};
    struct ane_device_info info = {.token = 1};
    uint64_t zero = 0, address = 0;
    uint32_t pinned = surface_with(77, 2);

    (void)state;
    start(owner, 1, ROOM);
    assert_int_equal(drv_client_open(rig.driver, &drvrig_identity, ANE_CLIENT_DIRECT_PATH, &client, NULL), 0);
    assert_int_equal(drvrig_call(client, 0, NULL, 0, &info, sizeof(info), NULL, 0, &info, sizeof(info)), 0);
    map.token = info.token;
    map.surface = pinned;
    rig.driver->domain[2].space.first = 0x100000;
    assert_int_equal(drvrig_call(client, 5, &zero, 1, &map, sizeof(map), &address, 1, NULL, 0), 0);
    client->domain->space.first = address - 8 * PAGE; /* the pinned one in the middle */
    client->domain->space.end = address + 11 * PAGE;
    for (uint32_t i = 0; i < 12; i++)
        send_well(surface_with(500 + i, 2), 500 + i);
    assert_true(evictions() >= 8 && mapped(pinned));
    assert_true(drvrig_walk(&rig, 1, 4, address) == rig.surface[pinned].address);
    send_well(pinned, 77);
    map.address = address;
    assert_int_equal(drvrig_call(client, 6, NULL, 0, &map, sizeof(map), NULL, 0, NULL, 0), 0);
    assert_false(mapped(pinned));
    drv_client_close(owner);
}

static void what_does_not_fit_at_once_is_refused(void **state)
{
    uint32_t large[2] = {surface_with(1, 9), surface_with(2, 9)};
    uint32_t fits[2] = {surface_with(3, 7), surface_with(4, 6)};
    char words[160];

    (void)state;
    start(drvrig_client(&rig, ANE_CLIENT_CONTROL), 2, ROOM);
    assert_int_equal(send(large, 2), kIOReturnNoResources);
    /* The text with its guard page and the first input with its own are there. */
    snprintf(words, sizeof(words),
             "%u bytes do not fit: what must be mapped at once takes %u of the %u bytes", 9 * PAGE,
             (TEXT + 10) * PAGE, (ROOM + TEXT) * PAGE);
    if (!strstr(drv_last_error(rig.driver), words))
        fail_msg("\"%s\", not \"%s\"", drv_last_error(rig.driver), words);
    assert_int_equal(rig.surface[large[0]].uses, 1); /* mapped still, and bound by nothing */
    assert_int_equal(send(fits, 2), kIOReturnSuccess);
    assert_int_equal(*(uint32_t *)drvrig_surface_base(&rig, out), 7);
}

/* 3 + 12 + 3 pages fill the room, but the first of them is in the middle: all are placed once more. */
static void a_request_that_fits_is_placed_compactly(void **state)
{
    uint32_t in[6], pair[2];

    (void)state;
    start(drvrig_client(&rig, ANE_CLIENT_CONTROL), 2, ROOM);
    for (uint32_t i = 0; i < 6; i++)
        in[i] = surface_with(10 + i, 2);
    for (uint32_t i = 0; i < 4; i += 2)
        assert_int_equal(send(&in[i], 2), kIOReturnSuccess);
    pair[0] = in[2]; /* at the fourth of six places */
    pair[1] = surface_with(1000, 11);
    assert_int_equal(send(pair, 2), kIOReturnSuccess);
    assert_int_equal(*(uint32_t *)drvrig_surface_base(&rig, out), 1012);
}

static uint32_t second[1];
static IOReturn second_result;
static unsigned step;

/* Inside the wait of a first request: a second one, which has to wait; then the first one ends. */
static void send_second(struct drvrig *r)
{
    if (step++ == 0) {
        second_result = send(second, 1);
        return;
    }
    assert_int_equal(second_result, 0xff); /* it has not come back */
    r->admit = NULL;
    r->hold = false;
}

static void a_request_waits_for_another_of_its_client(void **state)
{
    uint32_t first = surface_with(5, 12);

    (void)state;
    start(drvrig_client(&rig, ANE_CLIENT_CONTROL), 1, ROOM);
    second[0] = surface_with(6, 12);
    second_result = 0xff;
    step = 0;
    rig.hold = true;
    rig.admit = send_second;
    assert_int_equal(send(&first, 1), kIOReturnSuccess);
    assert_int_equal(second_result, kIOReturnSuccess);
    assert_int_equal(*(uint32_t *)drvrig_surface_base(&rig, out), 6);
    assert_null(rig.driver->address_waiters);
}

static void do_nothing(struct drvrig *r)
{
    r->admit = NULL;
}

static void send_second_in_vain(struct drvrig *r)
{
    r->admit = do_nothing;
    second_result = send(second, 1);
    r->hold = false;
}

static void a_wait_for_addresses_ends_in_time(void **state)
{
    uint32_t first = surface_with(5, 12);

    (void)state;
    start(drvrig_client(&rig, ANE_CLIENT_CONTROL), 1, ROOM);
    second[0] = surface_with(6, 12);
    rig.hold = true;
    rig.admit = send_second_in_vain;
    assert_int_equal(send(&first, 1), kIOReturnSuccess);
    assert_int_equal(second_result, kIOReturnTimeout);
    assert_int_equal(*(uint32_t *)drvrig_surface_base(&rig, out), 5);
    assert_null(rig.driver->address_waiters);
}

/* The driver's own buffer loses its address and keeps its pages. */
static void an_intermediate_keeps_its_pages(void **state)
{
    uint64_t plain, pages;
    const struct drv_mapping *own;

    (void)state;
    start(drvrig_client(&rig, ANE_CLIENT_CONTROL), 1, ROOM);
    plain = token;
    token = drvrig_program(&rig, client, 1, 0, 2 * PAGE);
    client->domain->space.first -= TEXT * PAGE;
    send_well(surface_with(1, 2), 1);
    own = client->processes->intermediate[0];
    assert_true(own && own->iova);
    pages = own->pages.extent->physical;
    for (uint32_t i = 0; i < 8; i++) {
        uint64_t with = token;

        token = plain;
        send_well(surface_with(20 + i, 2), 20 + i);
        token = with;
    }
    assert_int_equal(own->iova, 0);
    send_well(surface_with(2, 2), 2);
    assert_true(client->processes->intermediate[0] == own && own->iova);
    assert_int_equal(own->pages.extent->physical, pages);
    assert_int_equal(drvrig_walk(&rig, 2, 3, own->iova), pages);
}

/* A page for a second-level table is missing: another mapping goes, and the next try has it. */
static void short_tables_reclaim_a_mapping(void **state)
{
    uint32_t in = surface_with(1, 2), next = surface_with(2, 2);

    (void)state;
    start(drvrig_client(&rig, ANE_CLIENT_CONTROL), 1, ROOM);
    client->domain->space.first = 0x2000000 - 6 * PAGE; /* six pages of the first table */
    send_well(in, 1);
    rig.alloc_fails_at = rig.alloc_calls + 1;
    send_well(next, 2);
    assert_int_equal(evictions(), 1);
    assert_true(!mapped(in) && mapped(next));
    rig.alloc_fails_at = 0;
}

static void a_client_has_a_quota_of_pages(void **state)
{
    uint32_t small = surface_with(1, 2), large = surface_with(2, 9);
    uint64_t before;

    (void)state;
    start(drvrig_client(&rig, ANE_CLIENT_CONTROL), 1, 40);
    before = drv_quota_pages(client);
    assert_int_equal(before, 3); /* text, working set and container */
    send_well(small, 1);
    assert_int_equal(drv_quota_pages(client), before + 4);
    assert_int_equal(drv_stats_get(rig.driver).client_pages, before + 4);
    rig.driver->page_quota = before + 10;
    assert_int_equal(send(&large, 1), kIOReturnNoResources);
    assert_non_null(strstr(drv_last_error(rig.driver), "wants 2 more; the limit is 13."));
    /* What no request uses goes first. */
    rig.driver->page_quota = before + 11;
    send_well(large, 2);
    assert_false(mapped(small));
    assert_int_equal(drv_quota_pages(client), before + 11);
}

/* The machine. */

#define CHANNELS 1u
#define WIDTH    32u
#define MIB      (1ull << 20)

struct adder {
    struct ane_machine *machine;
    struct iorig_client client;
    uint64_t token, sequence;
};

static void adder_start(struct adder *a, uint32_t scatter)
{
    struct ane_machine_config config = {.size = sizeof(config), .firmware = 1, .scatter = scatter};
    static uint8_t image[1 << 16];
    struct ane_program_prepare prepare;
    size_t size = iorig_image_add(image, sizeof(image), CHANNELS, WIDTH);

    memset(a, 0, sizeof(*a));
    if (ane_machine_create(&config, &a->machine))
        fail_msg("%s", ane_machine_error());
    assert_int_equal(iorig_open(ane_machine_service(a->machine), 0, ANE_CLIENT_CONTROL, &a->client), 0);
    assert_int_equal(iorig_create(&a->client, image, size, &a->token), 0);
    assert_int_equal(iorig_prepare(&a->client, a->token, &prepare), 0);
}

static void adder_end(struct adder *a)
{
    IOServiceClose(a->client.connect);
    ane_machine_destroy(a->machine);
}

static uint32_t halfs(uint64_t bytes, uint16_t value)
{
    uint32_t id;

    assert_int_equal(ane_surface_create(0, bytes, &id), 0);
    for (uint32_t i = 0; i < WIDTH; i++)
        ((uint16_t *)ane_surface_base(id))[i] = value;
    return id;
}

static IOReturn add(struct adder *a, uint32_t x, uint32_t y, uint32_t sum)
{
    const uint32_t surfaces[3] = {x, y, sum};
    struct ane_request_reply reply;

    return iorig_request(&a->client, a->token, a->sequence++, ANE_REQUEST_PRIORITY, surfaces, 2, 1, &reply);
}

static void expect_sum(uint32_t sum, double value)
{
    for (uint32_t i = 0; i < WIDTH; i++)
        assert_true(test_half_to_double(((uint16_t *)ane_surface_base(sum))[i]) == value);
}

/* 12.5 GiB of surfaces through one client of 3.5 GiB: each is input and output by turns. */
static void two_hundred_surfaces_by_turns(void **state)
{
    enum { SURFACES = 200 };
    static uint32_t surface[SURFACES];

    (void)state;
    for (uint32_t scatter = 0; scatter < 2; scatter++) {
        struct adder a;
        uint32_t one = halfs(64, 0x3c00);

        adder_start(&a, scatter);
        for (unsigned i = 0; i < SURFACES; i++)
            surface[i] = halfs(64 * MIB, 0);
        /* surface[i] = surface[i - 1] + 1, beginning with 0. */
        for (unsigned i = 1; i < SURFACES; i++)
            if (add(&a, one, surface[i - 1], surface[i]))
                fail_msg("%u: %s", i, ane_machine_error());
        for (unsigned i = 0; i < SURFACES; i++)
            expect_sum(surface[i], i);
        if (add(&a, surface[3], surface[100], surface[7]))
            fail_msg("%s", ane_machine_error());
        expect_sum(surface[7], 103);
        assert_true(ane_machine_counter(a.machine, "driver.evictions") > 100);
        assert_int_equal(ane_machine_counter(a.machine, "dart.missing_invalidates"), 0);
        for (unsigned i = 0; i < SURFACES; i++)
            ane_surface_release(surface[i]);
        ane_surface_release(one);
        adder_end(&a);
    }
}

/* A client may use the whole aperture at once, and not more. */
static void the_whole_aperture_is_a_clients(void **state)
{
    uint32_t third[3], half[2];
    struct adder a;

    (void)state;
    adder_start(&a, 0);
    for (unsigned i = 0; i < 3; i++)
        third[i] = halfs(1190 * MIB, 0x3c00); /* 3570 of 3584 MiB */
    if (add(&a, third[0], third[1], third[2]))
        fail_msg("%s", ane_machine_error());
    expect_sum(third[2], 2);
    for (unsigned i = 0; i < 2; i++)
        half[i] = halfs(2048 * MIB, 0x3c00);
    assert_int_equal(add(&a, half[0], half[1], third[2]), kIOReturnNoResources);
    assert_non_null(strstr(ane_machine_error(), "2147483648 bytes do not fit"));
    assert_non_null(strstr(ane_machine_error(), "of the 3758080000 bytes of device addresses"));
    /* The next request is served. */
    if (add(&a, half[0], half[0], third[0]))
        fail_msg("%s", ane_machine_error());
    expect_sum(third[0], 2);
    for (unsigned i = 0; i < 3; i++)
        ane_surface_release(third[i]);
    for (unsigned i = 0; i < 2; i++)
        ane_surface_release(half[i]);
    adder_end(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_least_recently_used_goes_first, boot, drop),
        cmocka_unit_test_setup_teardown(the_score_ranks_use_hint_age_and_size, boot, drop),
        cmocka_unit_test_setup_teardown(a_pinned_mapping_stays, boot, drop),
        cmocka_unit_test_setup_teardown(what_does_not_fit_at_once_is_refused, boot, drop),
        cmocka_unit_test_setup_teardown(a_request_that_fits_is_placed_compactly, boot, drop),
        cmocka_unit_test_setup_teardown(a_request_waits_for_another_of_its_client, boot, drop),
        cmocka_unit_test_setup_teardown(a_wait_for_addresses_ends_in_time, boot, drop),
        cmocka_unit_test_setup_teardown(an_intermediate_keeps_its_pages, boot, drop),
        cmocka_unit_test_setup_teardown(short_tables_reclaim_a_mapping, boot, drop),
        cmocka_unit_test_setup_teardown(a_client_has_a_quota_of_pages, boot, drop),
        cmocka_unit_test(two_hundred_surfaces_by_turns),
        cmocka_unit_test(the_whole_aperture_is_a_clients),
    };

    return cmocka_run_group_tests_name("eviction", tests, NULL, NULL);
}
