/* SPDX-License-Identifier: Apache-2.0 */
/*
 * User clients: exact sizes of all selectors, every argument that is refused,
 * memory that runs out anywhere, and random bytes.
 */
#include "drvrig.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "driver/dispatch.h"
#include "driver/state.h"
#include "program/hwx.h"
#include "protocol/channel.h"

/* The public names of values that the tables below the ABI have too. */
enum {
#define X(id, type, bit, slots) BIT_##id = (bit),
    PR_CHANNELS(X)
#undef X
};
_Static_assert(ANE_REQUEST_DOORBELL == BIT_DATA_CHAIN_H2T, "requests travel on DATA_CHAIN_H2T");
_Static_assert((int)ANE_MAP_INPUT == (int)PR_USAGE_INPUT && (int)ANE_MAP_OUTPUT == (int)PR_USAGE_OUTPUT &&
                   (int)ANE_MAP_INTERMEDIATE == (int)PR_USAGE_INTERMEDIATE,
               "Table 28.5");

static struct drvrig rig;

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

static void expect_error(const char *text)
{
    if (!strstr(drv_last_error(rig.driver), text))
        fail_msg("\"%s\" does not say \"%s\"", drv_last_error(rig.driver), text);
}

/* Written out again from Tables 27.2 and 27.4. */
static const uint32_t control_sizes[17][4] = {
    {0, 104, 0, 104}, {0, 0, 0, 0},  {1, 2376, 0, 40}, {0, 32, 0, 0},  {0, 56, 0, 56}, {0, 56, 0, 0},
    {0, 16, 0, 0},    {0, 0, 0, 32}, {0, 32, 0, 0},    {0, 16, 0, 24}, {0, 0, 1, 0},   {0, 24, 0, 0},
    {0, 0, 0, 0},     {2, 0, 0, 0},  {2, 0, 0, 0},     {0, 0, 0, 0},   {3, 0, 0, 0},
};
static const uint32_t direct_sizes[9][4] = {
    {0, 104, 0, 104}, {0, 0, 0, 0},    {1, 2376, 0, 40}, {0, 40, 0, 0}, {0, 3104, 0, 0},
    {1, 2080, 1, 0},  {0, 2080, 0, 0}, {0, 16, 0, 24},   {0, 32, 0, 0},
};

static uint8_t in[4096], out[4096];
static uint64_t scalar_in[16], scalar_out[16];

static IOReturn call_sizes(struct drv_client *client, uint32_t selector, const uint32_t sizes[4])
{
    return drvrig_call(client, selector, scalar_in, sizes[0], in, sizes[1], scalar_out, sizes[2], out,
                       sizes[3]);
}

static void check_sizes(uint32_t type, const uint32_t (*table)[4], uint32_t count)
{
    struct drv_client *client = drvrig_client(&rig, type), *fresh;

    assert_int_equal(drv_client_open(rig.driver, &drvrig_identity, type, &fresh, NULL), kIOReturnSuccess);
    for (uint32_t selector = 0; selector < count; selector++) {
        const bool load_firmware = type == ANE_CLIENT_CONTROL && selector == 16;

        for (unsigned which = 0; which < 4; which++)
            for (int by = -1; by <= 1; by += 2) {
                uint32_t sizes[4];

                memcpy(sizes, table[selector], sizeof(sizes));
                sizes[which] += (uint32_t)by;
                assert_int_equal(call_sizes(client, selector, sizes), kIOReturnBadArgument);
                sizes[which] = 0xffffffff;
                assert_int_equal(call_sizes(client, selector, sizes), kIOReturnBadArgument);
            }
        if (table[selector][0])
            assert_int_equal(drvrig_call(client, selector, NULL, table[selector][0], in, table[selector][1],
                                         scalar_out, table[selector][2], out, table[selector][3]),
                             kIOReturnBadArgument);
        if (table[selector][1])
            assert_int_equal(drvrig_call(client, selector, scalar_in, table[selector][0], NULL,
                                         table[selector][1], scalar_out, table[selector][2], out,
                                         table[selector][3]),
                             kIOReturnBadArgument);
        if (table[selector][2])
            assert_int_equal(drvrig_call(client, selector, scalar_in, table[selector][0], in,
                                         table[selector][1], NULL, table[selector][2], out,
                                         table[selector][3]),
                             kIOReturnBadArgument);
        if (table[selector][3])
            assert_int_equal(drvrig_call(client, selector, scalar_in, table[selector][0], in,
                                         table[selector][1], scalar_out, table[selector][2], NULL,
                                         table[selector][3]),
                             kIOReturnBadArgument);
        if (selector != 0)
            assert_int_equal(call_sizes(fresh, selector, table[selector]),
                             load_firmware ? kIOReturnUnsupported : kIOReturnNotReady);
    }
    assert_int_equal(call_sizes(client, count, table[0]), kIOReturnBadArgument);
    assert_int_equal(call_sizes(client, 0xffffffff, table[0]), kIOReturnBadArgument);
    assert_int_equal(drv_client_call(client, 0, NULL, NULL), kIOReturnBadArgument);
    drv_client_close(fresh);
    drv_client_close(client);
}

/* Listing 27.4, read as bytes at its offsets: the arrays have no wildcard, and 11 to 15 are marked. */
static void check_array(uint32_t type, const uint32_t (*table)[4], uint32_t count)
{
    uint32_t records;
    const uint8_t *array = (const uint8_t *)drv_dispatch_array(type, &records);

    assert_int_equal(records, count);
    for (uint32_t selector = 0; selector < count; selector++) {
        const uint8_t *record = array + (size_t)selector * 40;
        const bool debug = type == ANE_CLIENT_CONTROL && selector >= 11 && selector <= 15;
        uint64_t function;

        memcpy(&function, record, 8);
        assert_true(function != 0);
        for (unsigned i = 0; i < 4; i++)
            assert_int_equal(pr_le32(record + 8 + 4 * i), table[selector][i]);
        assert_true((record[0x18] != 0) == debug);
        for (unsigned i = 0x19; i < 40; i++)
            assert_int_equal(record[i], 0);
    }
}

static void dispatch_arrays_have_forty_byte_records(void **state)
{
    static const uint32_t hints_sizes[1][4] = {{3, 0, 0, 0}};
    uint32_t count;

    (void)state;
    check_array(ANE_CLIENT_CONTROL, control_sizes, 17);
    check_array(ANE_CLIENT_DIRECT_PATH, direct_sizes, 9);
    check_array(ANE_CLIENT_HINTS, hints_sizes, 1);
    assert_null(drv_dispatch_array(0, &count));
    assert_null(drv_dispatch_array(4, &count));
}

static void sizes_are_exact(void **state)
{
    struct drv_client *hints = drvrig_client(&rig, ANE_CLIENT_HINTS);

    (void)state;
    check_sizes(ANE_CLIENT_CONTROL, control_sizes, 17);
    check_sizes(ANE_CLIENT_DIRECT_PATH, direct_sizes, 9);
    assert_int_equal(call_sizes(hints, 0, control_sizes[0]), kIOReturnBadArgument);
    drv_client_close(hints);
}

static void opening(void **state)
{
    const struct drv_identity nobody = {.developer = true};
    struct ane_device_info info = {.token = 2,
                                   .callback = 0x1111222233334444ull,
                                   .receiver = 5,
                                   .timeout = 10000},
                           reply;
    struct drv_client *client;

    (void)state;
    assert_int_equal((uint32_t)drv_client_open(rig.driver, &nobody, ANE_CLIENT_CONTROL, &client, NULL),
                     0xe00002c7u);
    assert_null(client);
    assert_int_equal(drv_client_open(rig.driver, &drvrig_identity, 0, &client, NULL), kIOReturnBadArgument);
    assert_int_equal(drv_client_open(rig.driver, &drvrig_identity, 4, &client, NULL), kIOReturnBadArgument);
    assert_int_equal(drv_client_open(rig.driver, &drvrig_identity, ANE_CLIENT_CONTROL, &client, NULL),
                     kIOReturnSuccess);
    assert_int_equal(drvrig_call(client, 0, NULL, 0, &info, 104, NULL, 0, &reply, 104),
                     ANE_RETURN_USAGE_REFUSED);
    info.token = 3;
    assert_int_equal(drvrig_call(client, 0, NULL, 0, &info, 104, NULL, 0, &reply, 104), kIOReturnBadArgument);
    info.token = 1;
    info.timeout = 3600001;
    assert_int_equal(drvrig_call(client, 0, NULL, 0, &info, 104, NULL, 0, &reply, 104), kIOReturnBadArgument);
    info.timeout = 10000;
    assert_int_equal(drvrig_call(client, 0, NULL, 0, &info, 104, NULL, 0, &reply, 104), kIOReturnSuccess);
    assert_true(reply.token > 0xffffffffull && reply.callback == info.callback && reply.receiver == 5 &&
                reply.timeout == 10000);
    assert_true(reply.version[0] == 32 && reply.version[1] == 256 && reply.engines == 1 &&
                reply.cpu_subtype == 4);
    assert_int_equal(drvrig_call(client, 0, NULL, 0, &info, 104, NULL, 0, &reply, 104), kIOReturnBusy);
    drv_client_close(client);
}

/* Create. */

static uint8_t image[0x20000];
static size_t image_size;

struct attempt {
    struct ane_program_create create;
    struct ane_program_args args;
};

static IOReturn try_create(struct drv_client *client, void (*change)(struct attempt *))
{
    struct attempt attempt = {
        .create = {.surface = drvrig_surface(&rig, 0x10000),
                   .offset = 0x40,
                   .size = ANE_PROGRAM_IMAGE + image_size},
        .args = {.representation = 1, .version = 1, .image_size = image_size, .procedures = 1}};
    uint32_t surface = attempt.create.surface;
    uint8_t *base = drvrig_surface_base(&rig, surface);
    IOReturn result;

    memcpy(base + 0x40 + ANE_PROGRAM_IMAGE, image, image_size);
    if (change)
        change(&attempt);
    memcpy(base + 0x40, &attempt.args, sizeof(attempt.args));
    result = drvrig_call(client, 3, NULL, 0, &attempt.create, 32, NULL, 0, NULL, 0);
    assert_int_equal(rig.surface[surface].uses, 0);
    drvrig_surface_end(&rig, surface);
    return result;
}

#define CHANGE(name, what)                       \
    static void change_##name(struct attempt *t) \
    {                                            \
        what;                                    \
    }
CHANGE(surface, t->create.surface = 60)
CHANGE(no_surface, t->create.surface = 0)
CHANGE(flags, t->create.flags = 1)
CHANGE(session, t->create.session = UINT64_MAX)
CHANGE(offset, t->create.offset = 0x10001000)
CHANGE(odd_offset, t->create.offset = 0x41)
CHANGE(wrap, t->create.offset = 0xfffffffffffffff8ull)
CHANGE(size, t->create.size = 0x10000)
CHANGE(small, t->create.size = 0xff)
CHANGE(huge, t->create.size = ~0ull)
CHANGE(version, t->args.version = 2)
CHANGE(reserved0, t->args.reserved0 = 1)
CHANGE(weights, t->args.weights = 1)
CHANGE(reserved2, t->args.reserved2[2] = 1)
CHANGE(procedures, t->args.procedures = ANE_PROGRAM_PROCEDURES + 1)
CHANGE(table, t->args.procedures = 2) /* the image's first words are not a table */
CHANGE(no_table, (t->args.procedures = 2, t->args.image_size = 31))
CHANGE(image_size, t->args.image_size = image_size + 1)
CHANGE(no_image, t->args.image_size = 0)
CHANGE(huge_image, t->args.image_size = ~0ull)
CHANGE(cut_image, t->args.image_size = image_size / 2)
CHANGE(representation, t->args.representation = 3)
CHANGE(bundle, t->args.representation = 2)

static void create_refuses(void **state)
{
    static const struct {
        void (*change)(struct attempt *t);
        const char *text;
    } row[] = {
        {change_surface, "no surface 60"},
        {change_no_surface, "no surface 0"},
        {change_flags, "must be 0"},
        {change_session, "is not this connection"},
        {change_offset, "the arguments alone have"},
        {change_odd_offset, "the arguments alone have"},
        {change_wrap, "the arguments alone have"},
        {change_size, "the arguments alone have"},
        {change_small, "the arguments alone have"},
        {change_huge, "the arguments alone have"},
        {change_version, "version 2"},
        {change_reserved0, "reserved words"},
        {change_weights, "only a bundle of one procedure"},
        {change_reserved2, "reserved words"},
        {change_procedures, "129 procedures; the limit is 128"},
        {change_table, "Program create: procedure 0 has "},
        {change_no_table, "31 bytes have no room for 2 procedures"},
        {change_image_size, "the arguments leave"},
        {change_no_image, "an image of 0 bytes"},
        {change_huge_image, "the arguments leave"},
        {change_cut_image, "Program create: "},
        {change_representation, "representation 3"},
        {change_bundle, "the two parts of the bundle"},
    };
    const struct drv_identity plain = {.entitlements = PR_ENTITLEMENT_BIT(OPEN)};
    struct drv_client *client = drvrig_client(&rig, ANE_CLIENT_CONTROL), *other;
    struct ane_device_info info = {.token = 1};
    const uint64_t pages = drv_stats_get(rig.driver).pages;

    (void)state;
    image_size = drvrig_image(image, sizeof(image), 2, 0x40, 0);
    for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        assert_int_equal(try_create(client, row[i].change), kIOReturnBadArgument);
        expect_error(row[i].text);
        assert_int_equal(drv_stats_get(rig.driver).pages, pages);
    }
    assert_int_equal(drv_client_open(rig.driver, &plain, ANE_CLIENT_CONTROL, &other, NULL), kIOReturnSuccess);
    assert_int_equal(drvrig_call(other, 0, NULL, 0, &info, 104, NULL, 0, &info, 104), kIOReturnSuccess);
    assert_int_equal(try_create(other, NULL), kIOReturnNotPermitted);
    drv_client_close(other);
    assert_int_equal(try_create(client, NULL), kIOReturnSuccess);
    rig.bad_command = PR_CMD_LOAD_PROGRAM;
    rig.bad_status = PR_STATUS_BAD_CONTAINER;
    assert_int_equal(try_create(client, NULL), kIOReturnBadArgument);
    expect_error("the program container failed its checks");
    drv_client_close(client);
    assert_int_equal(drv_stats_get(rig.driver).pages, pages);
}

/* A descriptor that no source explains is refused with the checker's words. */
static void a_bad_descriptor_is_named(void **state)
{
    struct drv_client *client = drvrig_client(&rig, ANE_CLIENT_CONTROL);
    struct pr_hwx *hwx = malloc(sizeof(*hwx));

    (void)state;
    image_size = drvrig_image(image, sizeof(image), 2, 0, 0);
    assert_true(hwx && pr_hwx_read(image, image_size, hwx, NULL));
    image[hwx->text.offset + 0x20] ^= 0x80;
    image[hwx->text.offset + 0x12b] ^= 0x80;
    assert_int_equal(try_create(client, NULL), kIOReturnBadArgument);
    expect_error("Program create: descriptor 0: ");
    free(hwx);
    drv_client_close(client);
}

static void tokens_are_never_the_same(void **state)
{
    struct drv_client *client = drvrig_client(&rig, ANE_CLIENT_CONTROL);
    uint64_t last = 0;

    (void)state;
    image_size = drvrig_image(image, sizeof(image), 1, 0, 0);
    for (unsigned i = 0; i < 40; i++) {
        uint64_t token;

        assert_int_equal(drvrig_create(&rig, client, image, image_size, &token), kIOReturnSuccess);
        assert_true(token > last);
        last = token;
        assert_int_equal(drvrig_destroy(client, token), kIOReturnSuccess);
    }
    assert_int_equal(drv_stats_get(rig.driver).programs, 0);
    drv_client_close(client);
}

/* Prepare, unprepare, destroy. */

static void lifecycle_refuses(void **state)
{
    struct drv_client *client = drvrig_client(&rig, ANE_CLIENT_CONTROL);
    struct ane_program_destroy destroy = {0};
    struct ane_program_prepare prepare;
    uint64_t token, pages;

    (void)state;
    image_size = drvrig_image(image, sizeof(image), 1, 0, 0);
    assert_int_equal(drvrig_create(&rig, client, image, image_size, &token), kIOReturnSuccess);
    assert_int_equal(drvrig_prepare(client, token + 1, &prepare), kIOReturnNotFound);
    assert_int_equal(drvrig_unprepare(client, token + 1), kIOReturnNotFound);
    assert_int_equal(drvrig_unprepare(client, token), kIOReturnNotReady);
    assert_int_equal(drvrig_destroy(client, token + 1), kIOReturnNotFound);
    destroy = (struct ane_program_destroy){.token = token, .session = UINT64_MAX};
    assert_int_equal(drvrig_call(client, 6, NULL, 0, &destroy, 16, NULL, 0, NULL, 0), kIOReturnBadArgument);
    prepare = (struct ane_program_prepare){.token = token, .flags = 1};
    assert_int_equal(drvrig_call(client, 4, NULL, 0, &prepare, 56, NULL, 0, &prepare, 56),
                     kIOReturnBadArgument);
    assert_int_equal(drvrig_call(client, 5, NULL, 0, &prepare, 56, NULL, 0, NULL, 0), kIOReturnBadArgument);
    prepare = (struct ane_program_prepare){.token = token, .priority = 8};
    assert_int_equal(drvrig_call(client, 4, NULL, 0, &prepare, 56, NULL, 0, &prepare, 56),
                     kIOReturnBadArgument);
    /* Prepared as often as unprepared. */
    assert_int_equal(drvrig_prepare(client, token, &prepare), kIOReturnSuccess);
    pages = drv_stats_get(rig.driver).pages;
    assert_int_equal(drvrig_prepare(client, token, &prepare), kIOReturnSuccess);
    assert_int_equal(drv_stats_get(rig.driver).pages, pages);
    assert_int_equal(drvrig_unprepare(client, token), kIOReturnSuccess);
    assert_int_equal(drvrig_unprepare(client, token), kIOReturnSuccess);
    assert_int_equal(drvrig_unprepare(client, token), kIOReturnNotReady);
    /* Destroy ends the owner's own process. */
    assert_int_equal(drvrig_prepare(client, token, &prepare), kIOReturnSuccess);
    assert_int_equal(drvrig_destroy(client, token), kIOReturnSuccess);
    assert_int_equal(drvrig_destroy(client, token), kIOReturnNotFound);
    drv_client_close(client);
}

/* Requests. */

static void requests_refuse(void **state)
{
    struct drv_client *client = drvrig_client(&rig, ANE_CLIENT_CONTROL);
    uint64_t token = drvrig_program(&rig, client, 2, 0, 0x4000), doorbell = ANE_REQUEST_DOORBELL;
    const uint32_t surface[] = {drvrig_surface(&rig, 128), drvrig_surface(&rig, 64),
                                drvrig_surface(&rig, 64)},
                   tiny = drvrig_surface(&rig, 63);
    struct ane_request_reply reply;
    struct ane_request good, bad;

    (void)state;
    drvrig_request(&good, token, 2, 1, surface);
#define REFUSED(change, code, text)                                \
    do {                                                           \
        bad = good;                                                \
        change;                                                    \
        assert_int_equal(drvrig_send(client, &bad, &reply), code); \
        expect_error(text);                                        \
    } while (0)
    REFUSED(bad.token++, kIOReturnNotFound, "no program");
    REFUSED(bad.token = 0, kIOReturnNotFound, "no program");
    REFUSED(bad.priority = 8, kIOReturnBadArgument, "Priority 8");
    REFUSED(bad.procedure = 1, kIOReturnBadArgument, "Procedure 1");
    REFUSED(bad.session = UINT64_MAX, kIOReturnBadArgument, "is not this connection");
    REFUSED(bad.reserved[0] = 1, kIOReturnBadArgument, "Reserved");
    REFUSED(bad.reserved[7] = 1, kIOReturnBadArgument, "Reserved");
    REFUSED(bad.inputs = 1, kIOReturnBadArgument, "1 inputs");
    REFUSED(bad.inputs = 0xffffffff, kIOReturnBadArgument, "inputs");
    REFUSED(bad.outputs = 2, kIOReturnBadArgument, "2 outputs");
    REFUSED(bad.intermediates = 2, kIOReturnBadArgument, "2 intermediates");
    REFUSED(bad.surface[0] = 0, kIOReturnBadArgument, "no surface 0");
    REFUSED(bad.surface[1] = 0xffffffff, kIOReturnBadArgument, "no surface");
    REFUSED(bad.surface[2] = tiny, kIOReturnBadArgument, "Buffer 2");
    REFUSED(bad.offset[0] = 8, kIOReturnBadArgument, "offsets are multiples of 16");
    REFUSED(bad.offset[0] = 24, kIOReturnBadArgument, "Buffer 0");
    REFUSED(bad.offset[0] = 128, kIOReturnBadArgument, "Buffer 0");
    REFUSED(bad.offset[1] = ~63ull, kIOReturnBadArgument, "Buffer 1");
    REFUSED(bad.stats_surface = 61, kIOReturnBadArgument, "no surface 61");
    REFUSED((bad.intermediates = 1, bad.surface[3] = 62), kIOReturnBadArgument, "no surface 62");
#undef REFUSED
    doorbell = 32;
    assert_int_equal(drvrig_call(client, 2, &doorbell, 1, &good, 2376, NULL, 0, &reply, 40),
                     kIOReturnBadArgument);
    doorbell = 6;
    assert_int_equal(drvrig_call(client, 2, &doorbell, 1, &good, 2376, NULL, 0, &reply, 40),
                     kIOReturnBadArgument);
    doorbell = 0x100000007ull;
    assert_int_equal(drvrig_call(client, 2, &doorbell, 1, &good, 2376, NULL, 0, &reply, 40),
                     kIOReturnBadArgument);
    good.offset[0] = 16;
    assert_int_equal(drvrig_send(client, &good, &reply), kIOReturnSuccess);
    good.offset[0] = 64;
    assert_int_equal(drvrig_send(client, &good, &reply), kIOReturnSuccess);
    assert_int_equal(drv_stats_get(rig.driver).in_flight, 0);
    /* At a wake port that does not exist. */
    uint64_t reference[4] = {1, 2, 3, 4};
    struct IOExternalMethodArguments args = {.asyncWakePort = DRVRIG_PORT + 1,
                                             .asyncReference = reference,
                                             .asyncReferenceCount = 4,
                                             .scalarInput = &doorbell,
                                             .scalarInputCount = 1,
                                             .structureInput = &good,
                                             .structureInputSize = 2376,
                                             .structureOutput = &reply,
                                             .structureOutputSize = 40};
    assert_int_equal(drv_client_call(client, 2, &args, NULL), kIOReturnBadArgument);
    args.asyncWakePort = DRVRIG_PORT;
    args.asyncReferenceCount = 5;
    assert_int_equal(drv_client_call(client, 2, &args, NULL), kIOReturnBadArgument);
    assert_int_equal(rig.reserved, 0);
    drv_client_close(client);
    assert_int_equal(rig.surface[tiny].uses, 0);
}

/* Memory runs out at each place once; afterwards nothing is missing, and it works. */

static IOReturn everything(bool *started)
{
    struct base_error error;
    struct ane_device_info info = {.token = 1};
    struct ane_program_prepare prepare;
    struct ane_request_reply reply;
    struct ane_request request;
    struct drv_client *client;
    const uint32_t surface[] = {1, 2, 3};
    uint64_t token = 0;
    IOReturn result;

    *started = false;
    rig.driver = NULL;
    if (drv_create(&rig.platform, &rig.driver, &error))
        return kIOReturnNoMemory;
    if (drv_start(rig.driver, &error))
        return kIOReturnNoMemory;
    *started = true;
    result = drv_client_open(rig.driver, &drvrig_identity, ANE_CLIENT_CONTROL, &client, NULL);
    if (result)
        return result;
    result = drvrig_call(client, 0, NULL, 0, &info, 104, NULL, 0, &info, 104);
    if (!result)
        result = drvrig_create(&rig, client, image, image_size, &token);
    if (!result)
        result = drvrig_prepare(client, token, &prepare);
    drvrig_request(&request, token, 2, 1, surface);
    if (!result)
        result = drvrig_send(client, &request, &reply);
    drv_client_close(client);
    assert_true(drv_stats_get(rig.driver).clients == 0 && drv_stats_get(rig.driver).programs == 0);
    assert_int_equal(drv_stats_get(rig.driver).surfaces_mapped, 0);
    return result;
}

static void sweep(bool host)
{
    unsigned n = 0, failures = 0;
    bool started, reached = true;

    image_size = drvrig_image(image, sizeof(image), 2, 0x40, 0x4000);
    while (reached) {
        unsigned long before;
        IOReturn result;

        drvrig_make(&rig, false);
        for (unsigned i = 0; i < 3; i++)
            assert_int_equal(drvrig_surface(&rig, 64), i + 1);
        rig.alloc_calls = 0;
        before = base_alloc_count();
        n++;
        if (host)
            base_alloc_fail_nth(n);
        else
            rig.alloc_fails_at = n;
        result = everything(&started);
        reached = host ? base_alloc_count() - before >= n : rig.alloc_calls >= n;
        base_alloc_fail_nth(0);
        rig.alloc_fails_at = 0;
        failures += result != kIOReturnSuccess;
        if (result && started)
            assert_int_equal(result, kIOReturnNoMemory);
        drvrig_drop(&rig);
        assert_true(n < 200);
    }
    print_message("# %u %s allocations, %u of them needed\n", n - 1, host ? "host" : "DRAM", failures);
    assert_true(failures > 10 && failures + 2 >= n - 1); /* the firmware's log buffer is a wish */
}

static void memory_runs_out_anywhere(void **state)
{
    (void)state;
    sweep(true);
    sweep(false);
}

/* Bytes nobody meant. */

static void random_selectors(void **state)
{
    const uint32_t types[] = {ANE_CLIENT_CONTROL, ANE_CLIENT_DIRECT_PATH};
    struct drv_client *client[2];
    struct ane_program_prepare prepare;
    struct test_rng rng;
    uint64_t token, pages = drv_stats_get(rig.driver).pages;

    (void)state;
    test_rng_init(&rng, 0xd5e);
    image_size = drvrig_image(image, sizeof(image), 2, 0x40, 0x4000);
    for (unsigned i = 0; i < 2; i++)
        client[i] = drvrig_client(&rig, types[i]);
    assert_int_equal(drvrig_create(&rig, client[0], image, image_size, &token), kIOReturnSuccess);
    for (unsigned i = 0; i < 3; i++)
        drvrig_surface(&rig, 64);
    for (unsigned round = 0; round < 20000; round++) {
        unsigned which = test_rng_bool(&rng);
        uint32_t selector = (uint32_t)test_rng_range(&rng, 0, which ? 8 : 16);
        const uint32_t *sizes = which ? direct_sizes[selector] : control_sizes[selector];

        /* Either noise, or the right struct with a few bytes changed. */
        if (selector == 1)
            continue;
        test_rng_bytes(&rng, in, sizes[1]);
        scalar_in[0] = test_rng_bool(&rng) ? 7 : test_rng_u64(&rng);
        if (test_rng_range(&rng, 0, 3)) {
            memset(in, 0, sizes[1]);
            if (selector == 2)
                drvrig_request((struct ane_request *)(void *)in, token, 2, 1, (const uint32_t[]){1, 2, 3});
            else if (!which && (selector == 4 || selector == 5))
                memcpy(in, &token, sizeof(token));
            else if (!which && selector == 3)
                memcpy(in, &(struct ane_program_create){.surface = 1, .size = 64}, 32);
            for (int64_t i = test_rng_range(&rng, 0, 2); i > 0; i--)
                in[test_rng_range(&rng, 0,
                                  sizes[1] < 0x40 || test_rng_bool(&rng) ? (sizes[1] ? sizes[1] - 1 : 0)
                                                                         : 0x3f)] ^=
                    (uint8_t)(1u << test_rng_range(&rng, 0, 7));
        }
        call_sizes(client[which], selector, sizes);
        assert_int_equal(drv_stats_get(rig.driver).in_flight, 0);
    }
    assert_true(drv_stats_get(rig.driver).completed > 100);
    assert_int_equal(drvrig_prepare(client[0], token, &prepare), kIOReturnSuccess);
    drv_client_close(client[0]);
    drv_client_close(client[1]);
    assert_int_equal(drv_stats_get(rig.driver).pages, pages);
    for (unsigned i = 0; i < DRVRIG_SURFACES; i++)
        assert_int_equal(rig.surface[i].uses, 0);
}

/* Images with changed bytes are refused or loaded, and nothing stays. */
static void random_images(void **state)
{
    struct drv_client *client = drvrig_client(&rig, ANE_CLIENT_CONTROL);
    const uint64_t pages = drv_stats_get(rig.driver).pages;
    static uint8_t copy[sizeof(image)];
    struct test_rng rng;
    unsigned loaded = 0;

    (void)state;
    test_rng_init(&rng, 0x1a6e);
    image_size = drvrig_image(copy, sizeof(copy), 2, 0x40, 0x4000);
    for (unsigned round = 0; round < 1500; round++) {
        uint64_t token;

        memcpy(image, copy, image_size);
        for (int64_t i = test_rng_range(&rng, 1, 4); i > 0; i--)
            image[test_rng_range(&rng, 0, (int64_t)image_size - 1)] ^=
                (uint8_t)(1u << test_rng_range(&rng, 0, 7));
        if (!drvrig_create(&rig, client, image, image_size, &token)) {
            loaded++;
            assert_int_equal(drvrig_destroy(client, token), kIOReturnSuccess);
        }
        assert_int_equal(drv_stats_get(rig.driver).pages, pages);
    }
    assert_true(loaded > 0 && loaded < 1500);
    drv_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dispatch_arrays_have_forty_byte_records),
        cmocka_unit_test_setup_teardown(sizes_are_exact, boot, drop),
        cmocka_unit_test_setup_teardown(opening, boot, drop),
        cmocka_unit_test_setup_teardown(create_refuses, boot, drop),
        cmocka_unit_test_setup_teardown(a_bad_descriptor_is_named, boot, drop),
        cmocka_unit_test_setup_teardown(tokens_are_never_the_same, boot, drop),
        cmocka_unit_test_setup_teardown(lifecycle_refuses, boot, drop),
        cmocka_unit_test_setup_teardown(requests_refuse, boot, drop),
        cmocka_unit_test(memory_runs_out_anywhere),
        cmocka_unit_test_setup_teardown(random_selectors, boot, drop),
        cmocka_unit_test_setup_teardown(random_images, boot, drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
