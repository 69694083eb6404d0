/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every selector of the three client classes against everything that is refused before a method runs: sizes,
 * pointers, sessions, ends, classes, entitlements. The arguments are those of a call that would work (the
 * last test shows that), so a check that is missing would be seen in what the call changes. Sizes are written
 * out again from Tables 27.2 and 27.4; codes are those of ch. 27 and of the public IOReturn.h.
 */
#include "support.h"

#include <stdlib.h>
#include <string.h>

#include "driver/state.h"
#include "iorig.h"
#include "machine/internal.h"

#define BAD_ARGUMENT   0xe00002c2u
#define CLOSED         0xe00002c5u
#define UNSUPPORTED    0xe00002c7u
#define NOT_PRIVILEGED 0xe00002c1u
#define NOT_READY      0xe00002d8u

enum { CONTROL = 1, DIRECT, HINTS }; /* chosen numbers */

static const struct row {
    uint32_t type, selector;
    uint32_t size[4];  /* scalars in, bytes in, scalars out, bytes out */
    uint32_t unopened; /* the answer before device open; 0: none, the call itself opens or needs no session */
    const char *key;   /* that it needs beside the open gate */
} rows[] = {
    {CONTROL, 0, {0, 104, 0, 104}, 0, NULL},
    {CONTROL, 1, {0, 0, 0, 0}, NOT_READY, NULL},
    {CONTROL, 2, {1, 2376, 0, 40}, NOT_READY, NULL},
    {CONTROL, 3, {0, 32, 0, 0}, NOT_READY, NULL},
    {CONTROL, 4, {0, 56, 0, 56}, NOT_READY, NULL},
    {CONTROL, 5, {0, 56, 0, 0}, NOT_READY, NULL},
    {CONTROL, 6, {0, 16, 0, 0}, NOT_READY, NULL},
    {CONTROL, 7, {0, 0, 0, 32}, NOT_READY, NULL},
    {CONTROL, 8, {0, 32, 0, 0}, NOT_READY, NULL},
    {CONTROL, 9, {0, 16, 0, 24}, NOT_READY, "com.apple.ane.allow-dataChaining-access"},
    {CONTROL, 10, {0, 0, 1, 0}, NOT_READY, NULL},
    {CONTROL, 11, {0, 24, 0, 0}, NOT_READY, NULL},
    {CONTROL, 12, {0, 0, 0, 0}, NOT_READY, NULL},
    {CONTROL, 13, {2, 0, 0, 0}, NOT_READY, NULL},
    {CONTROL, 14, {2, 0, 0, 0}, NOT_READY, NULL},
    {CONTROL, 15, {0, 0, 0, 0}, NOT_READY, NULL},
    {CONTROL, 16, {3, 0, 0, 0}, UNSUPPORTED, NULL}, /* unconditionally */
    {DIRECT, 0, {0, 104, 0, 104}, 0, NULL},
    {DIRECT, 1, {0, 0, 0, 0}, NOT_READY, NULL},
    {DIRECT, 2, {1, 2376, 0, 40}, NOT_READY, NULL},
    {DIRECT, 3, {0, 40, 0, 0}, NOT_READY, "com.apple.ane.allow-dataChaining-access"},
    {DIRECT, 4, {0, 3104, 0, 0}, NOT_READY, "com.apple.ane.allow-dataChaining-access"},
    {DIRECT, 5, {1, 2080, 1, 0}, NOT_READY, "com.apple.ane.memory"},
    {DIRECT, 6, {0, 2080, 0, 0}, NOT_READY, NULL},
    {DIRECT, 7, {0, 16, 0, 24}, NOT_READY, NULL},
    {DIRECT, 8, {0, 32, 0, 0}, NOT_READY, "com.apple.ane.allow-dataChaining-access"},
    {HINTS, 0, {3, 0, 0, 0}, 0, "com.apple.private.ane.allow-set-client-hints"},
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* The machine, what is on it, and stores of the host since it was made. */
static struct {
    struct ane_machine *machine;
    struct iorig_accumulator sum; /* its client watches; its program is what others name */
    uint32_t image;               /* a surface to create a program from */
    size_t image_bytes;
    struct soc_bus_tap tap;
    uint64_t stores;
} house;

static bool count_store(void *context, struct soc_access *access)
{
    (void)context;
    house.stores += access->write && access->master == SOC_MASTER_HOST;
    return true;
}

static uint32_t surface_with_image(size_t *bytes)
{
    static uint8_t image[1 << 16];
    size_t size = iorig_image_add(image, sizeof(image), 1, 8);
    struct ane_program_args *args;
    uint32_t id;

    *bytes = ANE_PROGRAM_IMAGE + size;
    assert_int_equal(ane_surface_create(0, *bytes, &id), 0);
    args = ane_surface_base(id);
    *args = (struct ane_program_args){.representation = ANE_PROGRAM_LEGACY,
                                      .version = ANE_PROGRAM_ARGS_VERSION,
                                      .image_size = size,
                                      .procedures = 1};
    memcpy((uint8_t *)args + ANE_PROGRAM_IMAGE, image, size);
    return id;
}

static int make(void **state)
{
    struct ane_machine_config config = {.size = sizeof(config), .firmware = 1, .clock = ANE_CLOCK_CLOSED};

    (void)state;
    memset(&house, 0, sizeof(house));
    assert_int_equal(ane_machine_create(&config, &house.machine), 0);
    iorig_accumulator_make(&house.sum, ane_machine_service(house.machine), 1, 8);
    assert_int_equal(iorig_accumulator_step(&house.sum), kIOReturnSuccess);
    house.image = surface_with_image(&house.image_bytes);
    house.tap = (struct soc_bus_tap){.see = count_store};
    soc_bus_tap_add(house.machine->bus, &house.tap);
    return 0;
}

static int drop(void **state)
{
    (void)state;
    if (house.machine) {
        soc_bus_tap_remove(house.machine->bus, &house.tap);
        iorig_accumulator_release(&house.sum);
        ane_machine_destroy(house.machine);
    }
    ane_surface_release(house.image);
    return 0;
}

/* What a refused call may not change. */
struct view {
    struct drv_stats stats;
    struct ane_status status;
    uint64_t stores, serial, token;
    uint32_t cursor[PR_CHANNEL_COUNT];
};

static void look(struct view *view)
{
    const struct drv *d = house.machine->driver;
    size_t size = sizeof(view->status);

    memset(view, 0, sizeof(*view));
    assert_int_equal(
        IOConnectCallMethod(house.sum.client.connect, 7, NULL, 0, NULL, 0, NULL, NULL, &view->status, &size),
        kIOReturnSuccess);
    view->stats = drv_stats_get(d);
    view->stores = house.stores;
    view->serial = d->serial;
    view->token = d->token;
    for (unsigned i = 0; i < PR_CHANNEL_COUNT; i++)
        view->cursor[i] = d->ring[i].cursor;
}

/* One call: what goes in, and from where. The buffers have room for sizes that are too large. */
struct attempt {
    uint64_t scalar_in[8], scalar_out[8];
    union {
        uint8_t bytes[4096];
        struct ane_device_info info;
        struct ane_request request;
        struct ane_program_create create;
        struct ane_program_prepare prepare;
        struct ane_program_destroy destroy;
        struct ane_memory_map map;
        struct ane_session_hint hint;
    } in;
    uint8_t out[4096];
    uint32_t size[4];
    bool null[4];
};

/* A call that works on an open client. */
static void fill(const struct row *row, const struct iorig_client *client, struct attempt *t)
{
    memset(t, 0, sizeof(*t));
    memcpy(t->size, row->size, sizeof(t->size));
    if (row->type == HINTS) {
        t->scalar_in[0] = ANE_HINT_QOS;
        t->scalar_in[1] = 33;
    } else if (row->selector == 0) {
        t->in.info = (struct ane_device_info){.token = ANE_USAGE_STANDARD, .timeout = ANE_TIMEOUT_MS};
    } else if (row->selector == 2) {
        t->scalar_in[0] = ANE_REQUEST_DOORBELL;
        t->in.request = (struct ane_request){.token = house.sum.token,
                                             .priority = ANE_REQUEST_PRIORITY,
                                             .surface = {house.sum.x, house.sum.state, house.sum.state},
                                             .inputs = 2,
                                             .outputs = 1};
    } else if (row->type == CONTROL && row->selector == 3) {
        t->in.create = (struct ane_program_create){.surface = house.image, .size = house.image_bytes};
    } else if (row->type == CONTROL && (row->selector == 4 || row->selector == 5)) {
        t->in.prepare = (struct ane_program_prepare){.token = house.sum.token, .priority = 5};
    } else if (row->type == CONTROL && row->selector == 6) {
        t->in.destroy.token = house.sum.token;
    } else if (row->type == DIRECT && (row->selector == 5 || row->selector == 6)) {
        t->in.map = (struct ane_memory_map){
            .token = client->session, .surface = house.sum.x, .usage = ANE_MAP_INPUT, .size = 64};
    } else if (row->type == DIRECT && row->selector == 7) {
        t->in.hint = (struct ane_session_hint){.hint = ANE_HINT_QUEUE_DEPTH, .value = 1};
    }
}

static uint32_t call(const struct iorig_client *client, uint32_t selector, struct attempt *t)
{
    size_t out_bytes = t->size[3] == UINT32_MAX ? SIZE_MAX : t->size[3];
    size_t in_bytes = t->size[1] == UINT32_MAX ? SIZE_MAX : t->size[1];

    return (uint32_t)IOConnectCallMethod(client->connect, selector, t->null[0] ? NULL : t->scalar_in,
                                         t->size[0], t->null[1] ? NULL : t->in.bytes, in_bytes,
                                         t->null[2] ? NULL : t->scalar_out, &t->size[2],
                                         t->null[3] ? NULL : t->out, &out_bytes);
}

static void refused(const char *why, const struct row *row, const struct iorig_client *client,
                    struct attempt *t, uint32_t expected)
{
    static const uint8_t zeros[sizeof(t->out)];
    struct view before, after;
    uint32_t got;

    look(&before);
    got = call(client, row->selector, t);
    look(&after);
    if (got != expected)
        fail_msg("selector %u of class %u, %s: 0x%x instead of 0x%x (%s)", row->selector, row->type, why, got,
                 expected, drv_last_error(house.machine->driver));
    if (memcmp(&before, &after, sizeof(before)))
        fail_msg("selector %u of class %u, %s: refused, and something has changed", row->selector, row->type,
                 why);
    if (memcmp(t->out, zeros, sizeof(zeros)) || t->scalar_out[0])
        fail_msg("selector %u of class %u, %s: refused, and an output is written", row->selector, row->type,
                 why);
}

static void open_client(const struct row *row, ane_task_t task, bool session, struct iorig_client *client)
{
    if (session && row->type != HINTS) {
        assert_int_equal(iorig_open(ane_machine_service(house.machine), task, row->type, client),
                         kIOReturnSuccess);
        return;
    }
    *client = (struct iorig_client){.task = task};
    assert_int_equal(IOServiceOpen(ane_machine_service(house.machine), task, row->type, &client->connect),
                     kIOReturnSuccess);
}

static void sizes_off_by_one(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ROWS; i++) {
        struct iorig_client client;
        struct attempt t;

        open_client(&rows[i], 0, true, &client);
        for (unsigned which = 0; which < 4; which++)
            for (int by = -1; by <= 1; by += 2) {
                fill(&rows[i], &client, &t);
                t.size[which] += (uint32_t)by;
                refused("a size off by one", &rows[i], &client, &t, BAD_ARGUMENT);
            }
        IOServiceClose(client.connect);
    }
}

static void pointers_missing(void **state)
{
    unsigned tried = 0;

    (void)state;
    for (unsigned i = 0; i < ROWS; i++) {
        struct iorig_client client;
        struct attempt t;

        open_client(&rows[i], 0, true, &client);
        for (unsigned which = 0; which < 4; which++) {
            if (!rows[i].size[which])
                continue;
            fill(&rows[i], &client, &t);
            t.null[which] = true;
            refused("a pointer is NULL", &rows[i], &client, &t, BAD_ARGUMENT);
            tried++;
        }
        IOServiceClose(client.connect);
    }
    assert_int_equal(tried, 34); /* sizes of the tables that are not 0 */
}

static void before_device_open(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ROWS; i++) {
        struct iorig_client client;
        struct attempt t;

        if (!rows[i].unopened)
            continue;
        open_client(&rows[i], 0, false, &client);
        fill(&rows[i], &client, &t);
        refused("before device open", &rows[i], &client, &t, rows[i].unopened);
        IOServiceClose(client.connect);
    }
}

/* By selector 1, by IOServiceClose, and by the end of the machine. */
static void after_the_end(void **state)
{
    struct iorig_client dead[ROWS];

    (void)state;
    for (unsigned i = 0; i < ROWS; i++) {
        struct iorig_client client;
        struct attempt t;

        open_client(&rows[i], 0, true, &client);
        if (rows[i].type != HINTS) {
            assert_int_equal(IOConnectCallMethod(client.connect, 1, NULL, 0, NULL, 0, NULL, NULL, NULL, NULL),
                             kIOReturnSuccess);
            fill(&rows[i], &client, &t);
            refused("after device close", &rows[i], &client, &t, CLOSED);
            t.size[1]++; /* a client that is closed has no sizes */
            refused("after device close, with a wrong size", &rows[i], &client, &t, CLOSED);
        }
        IOServiceClose(client.connect);
        fill(&rows[i], &client, &t);
        refused("on a closed connection", &rows[i], &client, &t, CLOSED);
        open_client(&rows[i], 0, true, &dead[i]);
    }
    soc_bus_tap_remove(house.machine->bus, &house.tap);
    ane_machine_destroy(house.machine);
    house.machine = NULL;
    for (unsigned i = 0; i < ROWS; i++) {
        struct attempt t;

        fill(&rows[i], &dead[i], &t);
        assert_int_equal(call(&dead[i], rows[i].selector, &t), CLOSED);
    }
    ane_surface_release(house.sum.x);
    ane_surface_release(house.sum.state);
}

static const struct row *same_tuple(const struct row *row, uint32_t type)
{
    for (unsigned i = 0; i < ROWS; i++)
        if (rows[i].type == type && rows[i].selector == row->selector &&
            !memcmp(rows[i].size, row->size, sizeof(row->size)))
            return &rows[i];
    return NULL;
}

/*
 * A number names another method there, or none. Where the sizes are the same too (0, 1, 2 and 8) nothing can
 * be seen.
 */
static void on_a_client_of_another_class(void **state)
{
    unsigned tried = 0;

    (void)state;
    for (unsigned i = 0; i < ROWS; i++)
        for (uint32_t type = CONTROL; type <= HINTS; type++) {
            const struct row there = {.type = type};
            struct iorig_client client;
            struct attempt t;

            if (same_tuple(&rows[i], type))
                continue;
            open_client(&there, 0, true, &client);
            fill(&rows[i], &client, &t);
            refused("on another class", &rows[i], &client, &t, BAD_ARGUMENT);
            IOServiceClose(client.connect);
            tried++;
        }
    /*
     * 27 rows on two other classes, less the four pairs that control and direct path have in common, both
     * ways.
     */
    assert_int_equal(tried, 27 * 2 - 8);
}

static const char *const open_key[] = {"com.apple.ane.iokit-user-access"};

static void says(const char *words)
{
    const char *text = drv_last_error(house.machine->driver);

    if (!strstr(text, words))
        fail_msg("\"%s\" does not say \"%s\"", text, words);
}

static void without_an_entitlement(void **state)
{
    ane_task_t plain = ane_task_create(open_key, 1, NULL, NULL), none = ane_task_create(NULL, 0, NULL, NULL);

    (void)state;
    assert_int_equal((uint32_t)kIOReturnNotPrivileged, NOT_PRIVILEGED);
    for (uint32_t type = CONTROL; type <= HINTS; type++) {
        io_connect_t connect = 1;

        assert_int_equal((uint32_t)IOServiceOpen(ane_machine_service(house.machine), none, type, &connect),
                         UNSUPPORTED);
        assert_int_equal(connect, 0);
        says(open_key[0]);
    }
    for (unsigned i = 0; i < ROWS; i++) {
        struct iorig_client client;
        struct attempt t;

        if (!rows[i].key)
            continue;
        open_client(&rows[i], plain, true, &client);
        fill(&rows[i], &client, &t);
        refused("without its entitlement", &rows[i], &client, &t, NOT_PRIVILEGED);
        says(rows[i].key);
        IOServiceClose(client.connect);
    }
    ane_task_release(plain);
    ane_task_release(none);
}

/* The surfaces of a chain need a second key. */
static void chained_surfaces_need_allow_data(void **state)
{
    static const char *const keys[] = {"com.apple.ane.iokit-user-access",
                                       "com.apple.ane.allow-dataChaining-access"};
    ane_task_t chaining = ane_task_create(keys, 2, NULL, NULL);

    (void)state;
    for (unsigned i = 0; i < ROWS; i++) {
        struct iorig_client client;
        struct attempt t;

        if (rows[i].type != DIRECT || (rows[i].selector != 3 && rows[i].selector != 4))
            continue;
        open_client(&rows[i], chaining, true, &client);
        fill(&rows[i], &client, &t);
        refused("without allow-data", &rows[i], &client, &t, NOT_PRIVILEGED);
        says("com.apple.ane.allow-data;");
        IOServiceClose(client.connect);
    }
    ane_task_release(chaining);
}

/* Requests of both clients and prepare, by level. */
static void reserved_levels_without_their_keys(void **state)
{
    ane_task_t plain = ane_task_create(open_key, 1, NULL, NULL);

    (void)state;
    for (unsigned i = 0; i < ROWS; i++)
        for (uint32_t level = 0; level < 2; level++) {
            struct iorig_client client;
            struct attempt t;

            if (rows[i].selector != 2 && (rows[i].type != CONTROL || rows[i].selector != 4))
                continue;
            open_client(&rows[i], plain, true, &client);
            fill(&rows[i], &client, &t);
            if (rows[i].selector == 2)
                t.in.request.priority = level;
            else
                t.in.prepare.priority = level;
            if (rows[i].selector == 4)
                refused("a reserved level", &rows[i], &client, &t, NOT_PRIVILEGED);
            else
                assert_int_equal(call(&client, 2, &t), NOT_PRIVILEGED); /* its reply is written */
            says(level ? "com.apple.ane.realtime-priority-client"
                       : "com.apple.ane.allow-system-reserved-priorities");
            IOServiceClose(client.connect);
        }
    ane_task_release(plain);
}

/* The arguments above are those of calls that work. */
static void the_same_calls_work(void **state)
{
    static const uint32_t in_order[] = {7, 10, 3, 4, 2, 5, 1};
    struct iorig_client client;
    struct attempt t;

    (void)state;
    for (uint32_t type = CONTROL; type <= DIRECT; type++) {
        assert_int_equal(iorig_open(ane_machine_service(house.machine), 0, type, &client), kIOReturnSuccess);
        for (unsigned k = 0; k < sizeof(in_order) / sizeof(in_order[0]); k++)
            for (unsigned i = 0; i < ROWS; i++) {
                const bool served = type == CONTROL || in_order[k] == 7 || in_order[k] == 2 ||
                                    in_order[k] == 5 || in_order[k] == 1;

                if (rows[i].type != type || rows[i].selector != in_order[k] || !served)
                    continue;
                fill(&rows[i], &client, &t);
                if (call(&client, in_order[k], &t))
                    fail_msg("selector %u of class %u: %s", in_order[k], type, ane_machine_error());
            }
        IOServiceClose(client.connect);
    }
    open_client(&rows[ROWS - 1], 0, true, &client);
    fill(&rows[ROWS - 1], &client, &t);
    assert_int_equal(call(&client, 0, &t), 0);
    IOServiceClose(client.connect);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sizes_off_by_one, make, drop),
        cmocka_unit_test_setup_teardown(pointers_missing, make, drop),
        cmocka_unit_test_setup_teardown(before_device_open, make, drop),
        cmocka_unit_test_setup_teardown(after_the_end, make, drop),
        cmocka_unit_test_setup_teardown(on_a_client_of_another_class, make, drop),
        cmocka_unit_test_setup_teardown(without_an_entitlement, make, drop),
        cmocka_unit_test_setup_teardown(chained_surfaces_need_allow_data, make, drop),
        cmocka_unit_test_setup_teardown(reserved_levels_without_their_keys, make, drop),
        cmocka_unit_test_setup_teardown(the_same_calls_work, make, drop),
    };

    return cmocka_run_group_tests_name("selectors", tests, NULL, NULL);
}
