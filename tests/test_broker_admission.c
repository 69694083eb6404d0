/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is admitted to the broker and to each of its methods, the tiers, the arguments of a load one by one,
 * and messages that are none.
 */
#include "support.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "base/packet.h"
#include "broker/connection.h"
#include "brokerrig.h"
#include "folder.h"

#define KEY(id) PR_ENTITLEMENT_BIT(id)

static char model[ANE_BROKER_MODEL]; /* that users 0 and 1000 have compiled */

static int start(void **state)
{
    struct brokerrig_who user = {.keys = KEY(ALLOW), .uid = 1000};
    struct ane_broker *broker;

    (void)state;
    brokerrig_start();
    broker = brokerrig_connect(&user);
    brokerrig_compile(broker, brokerrig_model("two", 2));
    ane_broker_disconnect(broker);
    broker = brokerrig_connect_with(KEY(ALLOW));
    memcpy(model, brokerrig_compile(broker, folder_path("two.mil")), sizeof(model));
    ane_broker_disconnect(broker);
    for (unsigned i = 0; i < 2; i++)
        brokerrig_tier();
    return 0;
}

static int stop(void **state)
{
    (void)state;
    brokerrig_stop();
    return 0;
}

/* Without either key the first message is refused, with the line to add, and the connection ends. */
static void connections(void **state)
{
    static const struct {
        uint32_t keys;
        IOReturn want;
    } row[] = {
        {0, kIOReturnNotPrivileged},
        {PR_ENTITLEMENTS_ALL & ~(KEY(ALLOW) | KEY(ACCESS)), kIOReturnNotPrivileged},
        {KEY(ALLOW), kIOReturnSuccess},
        {KEY(ACCESS), kIOReturnSuccess},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        struct brokerrig_who who = {.keys = row[i].keys};
        struct ane_broker *broker;

        assert_int_equal(brk_connection_adopt(brokerrig_socket(&who), &broker), row[i].want);
        if (row[i].want) {
            assert_non_null(strstr(ane_machine_error(), "\"allow com.apple.aned.private.allow\""));
            assert_non_null(strstr(ane_machine_error(), "\"match uid 0 path /usr/bin/camera\""));
        } else {
            brokerrig_tier();
        }
        ane_broker_disconnect(broker);
    }
}

/* The first condition that holds; the service hears of it. */
static void tiers(void **state)
{
    static const struct {
        uint32_t keys, uid;
        enum pr_broker_tier tier;
        const char *name;
    } row[] = {
        {KEY(ALLOW), 0, PR_BROKER_TIER_UNRESTRICTED, "unrestricted"},
        {KEY(ACCESS) | KEY(PURGE_ALL), 0, PR_BROKER_TIER_UNRESTRICTED, "unrestricted"},
        {KEY(ALLOW), 1000, PR_BROKER_TIER_PER_USER, "per-user"},
        {KEY(ALLOW) | KEY(ADAPTER_WEIGHT), 0, PR_BROKER_TIER_RESTRICTED, "restricted"},
        {KEY(ALLOW) | KEY(MODEL_SHARE), 1000, PR_BROKER_TIER_RESTRICTED, "restricted"},
        {KEY(ALLOW) | KEY(AGGRESSIVE_POWER_SAVING), 0, PR_BROKER_TIER_RESTRICTED, "restricted"},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        struct brokerrig_who who = {.keys = row[i].keys, .uid = row[i].uid};
        struct ane_broker *broker = brokerrig_connect(&who);
        struct ane_broker_info info = {.size = sizeof(info)};
        struct pr_broker_tier_notice notice = brokerrig_tier();

        assert_true(notice.task == who.task && notice.tier == row[i].tier);
        assert_int_equal(ane_broker_info(broker, &info), kIOReturnSuccess);
        assert_string_equal(info.tier, row[i].name);
        assert_int_equal(info.uid, row[i].uid);
        ane_broker_disconnect(broker);
    }
}

/* ---- Keys of methods ---- */

static IOReturn do_compile(struct ane_broker *broker, bool longer)
{
    const struct ane_broker_compile compile = {
        .size = sizeof(compile), .path = folder_path("two.mil"), .longer = longer};
    struct ane_broker_model made = {.size = sizeof(made)};
    IOReturn status = ane_broker_compile(broker, &compile, &made);

    if (!status)
        close(made.main);
    return status;
}

static IOReturn ordinary(struct ane_broker *broker)
{
    return do_compile(broker, false);
}

static IOReturn longer_duration(struct ane_broker *broker)
{
    return do_compile(broker, true);
}

static IOReturn load_with(struct ane_broker *broker, struct ane_broker_arguments arguments)
{
    struct ane_broker_instance instance = {.size = sizeof(instance)};

    arguments.size = sizeof(arguments);
    arguments.model = model;
    return ane_broker_load(broker, &arguments, &instance);
}

static IOReturn plain_load(struct ane_broker *broker)
{
    return load_with(broker, (struct ane_broker_arguments){0});
}

static IOReturn shared_load(struct ane_broker *broker)
{
    return load_with(broker, (struct ane_broker_arguments){.share = 1});
}

static IOReturn aggressive_load(struct ane_broker *broker)
{
    return load_with(broker, (struct ane_broker_arguments){.power_saving = 1, .aggressive = 1});
}

static IOReturn adapter(struct ane_broker *broker)
{
    const struct ane_broker_arguments arguments = {.size = sizeof(arguments), .model = model};
    const struct ane_broker_weights file = {.bytes = model, .size = 2};
    struct ane_broker_instance instance = {.size = sizeof(instance)};

    return ane_broker_create_instance_with_weights(broker, &arguments, &file, 1, &instance);
}

static IOReturn purge_all(struct ane_broker *broker)
{
    return ane_broker_purge(broker, "0000000000000000000000000000000000000000000000000000000000000000", 1,
                            NULL, NULL);
}

/* Each key that the broker checks for a method: granted and missing. */
static void methods(void **state)
{
    static const struct {
        uint32_t key;
        const char *name;
        IOReturn (*call)(struct ane_broker *broker);
        IOReturn granted;
    } row[] = {
        {KEY(ALLOW), "com.apple.aned.private.allow", ordinary, kIOReturnSuccess},
        {KEY(SECONDARY_COMPILER), "com.apple.aned.private.secondaryANECompilerServiceAccess.allow",
         longer_duration, kIOReturnSuccess},
        {0, NULL, plain_load, kIOReturnSuccess},
        {KEY(MODEL_SHARE), "com.apple.aned.private.processModelShare.allow", shared_load, kIOReturnSuccess},
        {KEY(AGGRESSIVE_POWER_SAVING), "com.apple.aned.private.aggressivePowerSaving", aggressive_load,
         kIOReturnSuccess},
        /* With the key the next check is reached: the base is not resident, the model not there. */
        {KEY(ADAPTER_WEIGHT), "com.apple.aned.private.adapterWeight.allow", adapter, kIOReturnNotFound},
        {KEY(PURGE_ALL), "com.apple.aned.private.modelPurgeInAllPartitions", purge_all, kIOReturnNotFound},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        struct brokerrig_who who = {.keys = PR_ENTITLEMENTS_ALL, .team = "T", .hash = 1};
        struct ane_broker *broker = brokerrig_connect(&who);

        assert_int_equal(row[i].call(broker), row[i].granted);
        ane_broker_disconnect(broker);
        if (!row[i].key)
            continue;
        who.keys &= ~row[i].key;
        broker = brokerrig_connect(&who);
        assert_int_equal(row[i].call(broker), kIOReturnNotPrivileged);
        assert_non_null(strstr(ane_machine_error(), row[i].name));
        assert_non_null(strstr(ane_machine_error(), "policy"));
        ane_broker_disconnect(broker);
    }
}

/* ---- Arguments ---- */

static void arguments_of_a_load(void **state)
{
    static const struct {
        struct ane_broker_arguments arguments;
        IOReturn want;
    } row[] = {
        {{.model = model}, kIOReturnSuccess},
        {{.model = model, .owner = 100}, kIOReturnSuccess},
        {{.model = model, .owner = 101}, kIOReturnNotPermitted},
        {{.model = model, .owner = 1}, kIOReturnNotPermitted},
        {{.model = model, .identity = "TEAM"}, kIOReturnSuccess},
        {{.model = model, .identity = "OTHER"}, kIOReturnNotPermitted},
        {{.model = model, .cache_id = {model, "1000"}}, kIOReturnSuccess},
        {{.model = model, .cache_id = {model, "0"}}, kIOReturnNotPermitted},
        {{.model = model, .cache_id = {"abc", NULL}}, kIOReturnBadArgument},
        {{.model = model, .memory_pool = 1}, kIOReturnUnsupported},
        {{.model = model, .late_latch = 1}, kIOReturnUnsupported},
        {{.model = model, .stats_mask = 0xf}, kIOReturnSuccess}, /* set to 0 */
        {{.model = model, .queue_depth = 24}, kIOReturnSuccess},
        {{.model = model, .queue_depth = 25}, kIOReturnBadArgument},
        {{.model = model, .aggressive = 1}, kIOReturnBadArgument},
        {{.model = "two"}, kIOReturnBadArgument},
        {{.model = "../../../../../../../../../../../../../../../../../../../../../x"}, kIOReturnBadArgument},
        {{.model = "0000000000000000000000000000000000000000000000000000000000000000"}, kIOReturnNotFound},
        {{.model = model, .qos = 0xffffffff}, kIOReturnSuccess},
    };
    struct brokerrig_who who = {
        .keys = KEY(ALLOW) | KEY(AGGRESSIVE_POWER_SAVING), .uid = 1000, .team = "TEAM"};
    struct ane_broker *broker = brokerrig_connect(&who);

    (void)state;
    for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        struct ane_broker_arguments arguments = row[i].arguments;
        struct ane_broker_instance instance = {.size = sizeof(instance)};
        IOReturn status;

        arguments.size = sizeof(arguments);
        status = ane_broker_load(broker, &arguments, &instance);
        if (status != row[i].want)
            fail_msg("row %u: 0x%x: %s", i, (unsigned)status, ane_machine_error());
        if (!status)
            assert_int_equal(ane_broker_release(broker, instance.instance), kIOReturnSuccess);
        else
            assert_true(ane_machine_error()[0] != '\0');
    }
    ane_broker_disconnect(broker);
}

/* ---- Messages that are none ---- */

struct message {
    struct pr_service_header header;
    union {
        uint8_t body[PR_SERVICE_BODY + 64];
        struct pr_broker_adapter adapter;
    };
};

static struct message make_message(uint32_t method, size_t bytes)
{
    struct message message = {.header = {.magic = PR_BROKER_MAGIC,
                                         .version = PR_SERVICE_VERSION,
                                         .type = (uint16_t)method,
                                         .serial = 7,
                                         .bytes = (uint32_t)bytes}};

    return message;
}

/* Sends it; asserts one reply with that status, and the end of the connection if it breaks the format. */
static void expect_reply(const struct message *message, size_t size, int descriptor, IOReturn want, bool ends)
{
    struct brokerrig_who who = {.keys = KEY(ALLOW) | KEY(ADAPTER_WEIGHT) | KEY(RAW_IMAGES)};
    int socket = brokerrig_socket(&who), file[4];
    struct pollfd quiet = {.fd = socket, .events = POLLIN};
    struct message reply;
    unsigned count;
    long got;

    assert_int_equal(base_packet_send(socket, message, size, NULL, 0, &descriptor, descriptor >= 0, 1), 0);
    got = base_packet_receive(socket, &reply, sizeof(reply), file, 4, &count);
    assert_true(got > (long)sizeof(reply.header) && count == 0);
    assert_true(reply.header.magic == PR_BROKER_MAGIC && reply.header.status == want);
    assert_int_equal(got, sizeof(reply.header) + reply.header.bytes);
    if (want)
        assert_int_equal(reply.body[reply.header.bytes - 1], 0);
    if (ends)
        assert_int_equal(base_packet_receive(socket, &reply, sizeof(reply), file, 4, &count), 0);
    else
        assert_int_equal(poll(&quiet, 1, 0), 0);
    close(socket);
}

static void broken_messages(void **state)
{
    const size_t head = sizeof(struct pr_service_header);
    struct message message = make_message(PR_BROKER_INFO, 0);
    int file = open("/dev/null", O_RDONLY | O_CLOEXEC);

    (void)state;
    expect_reply(&message, head, -1, kIOReturnSuccess, false);
    expect_reply(&message, head - 1, -1, kIOReturnBadArgument, true);
    expect_reply(&message, 1, -1, kIOReturnBadArgument, true);
    expect_reply(&message, head + 1, -1, kIOReturnBadArgument, true);
    expect_reply(&message, sizeof(message), -1, kIOReturnBadArgument, true);
    expect_reply(&message, head, file, kIOReturnBadArgument, true);
    message.header.magic++;
    expect_reply(&message, head, -1, kIOReturnBadArgument, true);
    message = make_message(PR_BROKER_INFO, 0);
    message.header.version++;
    expect_reply(&message, head, -1, kIOReturnBadArgument, true);
    message = make_message(PR_BROKER_INFO, 0);
    message.header.status = 1;
    expect_reply(&message, head, -1, kIOReturnBadArgument, true);
    message = make_message(PR_BROKER_INFO, 1);
    expect_reply(&message, head, -1, kIOReturnBadArgument, true);
    for (unsigned type = 0; type < 300; type += type == 0 ? 11 : 53) {
        message = make_message(type, 0);
        expect_reply(&message, head, -1, kIOReturnBadArgument, true);
    }
    close(file);
}

/* Bodies of the right size with wrong contents: refused, and the connection goes on. */
static void hostile_bodies(void **state)
{
    const size_t head = sizeof(struct pr_service_header);
    struct message message = make_message(PR_BROKER_COMPILE, sizeof(struct pr_broker_compile));
    struct pr_broker_adapter *with = &message.adapter;
    int folder = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), memory = base_file_memory("test", 128),
        pair[2];

    (void)state;
    memset(message.body, 'x', sizeof(message.body));
    memset(message.body, 0, 8);
    expect_reply(&message, head + message.header.bytes, folder, kIOReturnBadArgument, false);
    strcpy((char *)message.body + 8, "etc/passwd");
    expect_reply(&message, head + message.header.bytes, folder, kIOReturnBadArgument, false);
    strcpy((char *)message.body + 8, "..");
    expect_reply(&message, head + message.header.bytes, folder, kIOReturnBadArgument, false);
    message = make_message(PR_BROKER_LOAD, sizeof(struct pr_broker_load));
    memset(message.body, 0xff, sizeof(message.body));
    expect_reply(&message, head + message.header.bytes, -1, kIOReturnBadArgument, false);
    message = make_message(PR_BROKER_PURGE, sizeof(struct pr_broker_purge));
    memset(message.body, '0', sizeof(message.body));
    expect_reply(&message, head + message.header.bytes, -1, kIOReturnBadArgument, false);
    /* Weight files outside the memory file, none, too many; descriptors that are no memory file. */
    message = make_message(PR_BROKER_CREATE_INSTANCE_WITH_WEIGHTS, sizeof(struct pr_broker_adapter));
    memcpy(with->load.model, model, sizeof(model));
    expect_reply(&message, head + message.header.bytes, memory, kIOReturnBadArgument, false);
    with->files = PR_BROKER_FILES + 1;
    expect_reply(&message, head + message.header.bytes, memory, kIOReturnBadArgument, false);
    with->files = 1;
    with->file[0] = (struct pr_broker_file){0, 64, UINT64_MAX - 63};
    expect_reply(&message, head + message.header.bytes, memory, kIOReturnBadArgument, false);
    with->file[0] = (struct pr_broker_file){0, 64, 64};
    expect_reply(&message, head + message.header.bytes, memory, kIOReturnNotFound, false);
    expect_reply(&message, head + message.header.bytes, folder, kIOReturnBadArgument, false);
    assert_int_equal(pipe(pair), 0);
    expect_reply(&message, head + message.header.bytes, pair[0], kIOReturnBadArgument, false);
    close(pair[0]), close(pair[1]), close(folder), close(memory);
}

/* Random messages with plausible headers from many connections; then another client is served as before. */
static void random_messages(void **state)
{
    const size_t head = sizeof(struct pr_service_header);
    struct ane_broker *broker;
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 0xb40);
    for (unsigned round = 0; round < 100; round++) {
        struct brokerrig_who who = {.keys = PR_ENTITLEMENTS_ALL, .hash = 1};
        int socket = brokerrig_socket(&who);

        for (unsigned i = 0; i < 20; i++) {
            size_t bytes = (size_t)test_rng_range(&rng, 0, 4000);
            struct message message;

            test_rng_bytes(&rng, message.body, sizeof(message.body));
            message.header = make_message((uint32_t)test_rng_range(&rng, 0, 12), bytes).header;
            if (base_packet_send(socket, &message, head + bytes, NULL, 0, &socket, test_rng_bool(&rng), 0))
                break;
        }
        close(socket);
        ane_task_release(who.task);
    }
    broker = brokerrig_connect_with(KEY(ALLOW));
    assert_int_equal(plain_load(broker), kIOReturnSuccess);
    ane_broker_disconnect(broker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(connections),     cmocka_unit_test(tiers),
        cmocka_unit_test(methods),         cmocka_unit_test(arguments_of_a_load),
        cmocka_unit_test(broken_messages), cmocka_unit_test(hostile_bodies),
        cmocka_unit_test(random_messages),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
