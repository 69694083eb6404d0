/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pre-maps through the whole stack: what the firmware counted when a process ended, as its log line in the
 * trace says.
 */
#include "support.h"

#include <anemone/machine.h>
#include <stdio.h>
#include <string.h>

#include "iorig.h"

#define BYTES 64u /* of each port: one channel, at the least row of a surface */

/* The last line of the firmware about a process that ended. */
static void keep_end(void *context, const char *line, size_t length)
{
    const char *found = strstr(line, " ends: ");

    (void)length;
    if (found)
        (void)snprintf(context, 128, "%s", found);
}

static IOReturn map_for(const struct iorig_client *client, uint32_t surface, uint32_t usage, uint64_t program)
{
    const struct ane_memory_map map = {
        .token = client->session, .surface = surface, .usage = usage, .size = BYTES, .program = program};
    uint64_t zero = 0, address = 0;
    uint32_t one = 1;

    return IOConnectCallMethod(client->connect, ANE_DIRECT_MemoryMapRequest, &zero, 1, &map, sizeof(map),
                               &address, &one, NULL, NULL);
}

/* A request of a client of its own, with all three surfaces pre-mapped or none. */
static void run_one(io_service_t service, uint64_t token, const uint32_t *surfaces, bool premap)
{
    struct ane_request_reply reply;
    struct iorig_client direct;

    assert_int_equal(iorig_open(service, 0, ANE_CLIENT_DIRECT_PATH, &direct), kIOReturnSuccess);
    if (premap) {
        assert_int_equal(map_for(&direct, surfaces[0], ANE_MAP_INPUT, token), kIOReturnSuccess);
        assert_int_equal(map_for(&direct, surfaces[1], ANE_MAP_INPUT, token), kIOReturnSuccess);
        assert_int_equal(map_for(&direct, surfaces[2], ANE_MAP_OUTPUT, token), kIOReturnSuccess);
    }
    assert_int_equal(iorig_request(&direct, token, 1, 4, surfaces, 2, 1, &reply), kIOReturnSuccess);
    IOServiceClose(direct.connect);
}

/*
 * The text is rebased with the process. Without pre-maps the request rebases its three buffers; with them it
 * finds all, of which the two inputs were each pre-mapped for both input ports.
 */
static void the_first_request_finds_what_was_premapped(void **state)
{
    char end[128] = "";
    struct ane_machine_config config = {
        .size = sizeof(config), .firmware = 1, .trace = 1, .trace_fn = keep_end, .trace_context = end};
    static uint8_t image[1 << 16];
    struct ane_machine *machine;
    struct iorig_client owner;
    uint32_t surfaces[3];
    uint64_t token;

    (void)state;
    assert_int_equal(ane_machine_create(&config, &machine), 0);
    assert_int_equal(iorig_open(ane_machine_service(machine), 0, ANE_CLIENT_CONTROL, &owner),
                     kIOReturnSuccess);
    assert_int_equal(iorig_create(&owner, image, iorig_image_add(image, sizeof(image), 1, 8), &token),
                     kIOReturnSuccess);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(ane_surface_create(0, BYTES, &surfaces[i]), 0);
    run_one(ane_machine_service(machine), token, surfaces, false);
    assert_non_null(strstr(end, "1 calls, 4 buffers rebased, 0 pre-mapped"));
    run_one(ane_machine_service(machine), token, surfaces, true);
    assert_non_null(strstr(end, "1 calls, 6 buffers rebased, 5 pre-mapped"));
    /* A program that is not there. */
    assert_int_equal(iorig_open(ane_machine_service(machine), 0, ANE_CLIENT_DIRECT_PATH, &owner),
                     kIOReturnSuccess);
    assert_int_equal(map_for(&owner, surfaces[0], ANE_MAP_INPUT, token + 77), kIOReturnNotFound);
    ane_machine_destroy(machine);
    for (unsigned i = 0; i < 3; i++)
        ane_surface_release(surfaces[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_request_finds_what_was_premapped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
