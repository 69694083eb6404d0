/* SPDX-License-Identifier: Apache-2.0 */
/* The broker's methods by way of its client library: models, instances, adapters, sharing, requests. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "broker/connection.h"
#include "brokerrig.h"
#include "folder.h"
#include "iorig.h"

#define KEY(id) PR_ENTITLEMENT_BIT(id)

static int start(void **state)
{
    (void)state;
    brokerrig_start();
    return 0;
}

static int stop(void **state)
{
    (void)state;
    brokerrig_stop();
    return 0;
}

static struct ane_broker_instance load(struct ane_broker *broker, struct ane_broker_arguments arguments)
{
    struct ane_broker_instance instance = {.size = sizeof(instance)};
    IOReturn status;

    arguments.size = sizeof(arguments);
    status = ane_broker_load(broker, &arguments, &instance);
    if (status)
        fail_msg("0x%x: %s", (unsigned)status, ane_machine_error());
    return instance;
}

static void check_run(struct ane_broker *broker, ane_task_t task, uint64_t instance, double want)
{
    double value;
    IOReturn status = brokerrig_run(broker, task, instance, &value);

    if (status)
        fail_msg("0x%x: %s", (unsigned)status, ane_machine_error());
    assert_true(value == want);
}

/* Compiled once; the second time the cache has it. The instance computes, and is gone when it is released. */
static void compile_load_submit_release(void **state)
{
    struct brokerrig_who who = {.keys = KEY(ALLOW)};
    struct ane_broker *broker = brokerrig_connect(&who);
    struct ane_broker_compile compile = {.size = sizeof(compile), .path = brokerrig_model("two", 2)};
    struct ane_broker_model model = {.size = sizeof(model)};
    struct ane_broker_instance instance;
    struct ane_broker_info info = {.size = sizeof(info)};
    double value;

    (void)state;
    assert_int_equal(ane_broker_compile(broker, &compile, &model), kIOReturnSuccess);
    assert_true(model.main >= 0 && model.main_bytes > 0 && model.weights_bytes > 0);
    assert_int_equal(lseek(model.main, 0, SEEK_END), model.main_bytes);
    close(model.main);
    assert_int_equal(ane_broker_compile(broker, &compile, &model), kIOReturnSuccess);
    assert_int_equal(model.hit, 1);
    close(model.main);
    instance = load(broker, (struct ane_broker_arguments){.model = model.model, .token = 77, .qos = 0x19});
    assert_true(instance.program != 0 && instance.token == 77 && instance.shared == 0);
    assert_true(instance.inputs == 1 && instance.outputs == 1 && instance.procedures == 1);
    assert_true(instance.qos == 0x19 && instance.priority == 4 && instance.queue_index == 1);
    assert_int_equal(instance.queue_depth, 24);
    check_run(broker, who.task, instance.instance, 6);
    assert_int_equal(ane_broker_info(broker, &info), kIOReturnSuccess);
    assert_true(info.instances == 1 && info.pid == 100 && info.uid == 0 && info.entitlements == 1);
    assert_string_equal(info.tier, "unrestricted");
    assert_string_equal(info.partition, "0");
    assert_int_equal(ane_broker_release(broker, instance.instance), kIOReturnSuccess);
    assert_int_equal(brokerrig_run(broker, who.task, instance.instance, &value), kIOReturnNotFound);
    assert_int_equal(ane_broker_release(broker, instance.instance), kIOReturnNotFound);
    ane_broker_disconnect(broker);
}

static struct ane_broker_instance instantiate(struct ane_broker *broker,
                                              struct ane_broker_arguments arguments)
{
    struct ane_broker_instance instance = {.size = sizeof(instance)};
    IOReturn status;

    arguments.size = sizeof(arguments);
    status = ane_broker_create_instance(broker, &arguments, &instance);
    if (status)
        fail_msg("0x%x: %s", (unsigned)status, ane_machine_error());
    return instance;
}

/* Without residents of a client the machine has no client of its task. */
static unsigned clients_of(ane_task_t task)
{
    struct ane_machine_client client[64];
    struct ane_machine *machine;
    unsigned found = 0;
    long count;

    assert_int_equal(ane_machine_default(NULL, &machine), 0);
    count = ane_machine_clients(machine, client, 64);
    assert_true(count >= 0 && count <= 64);
    for (long i = 0; i < count; i++)
        found += client[i].task == task;
    return found;
}

/* Siblings have tokens of their own and one intermediate buffer; the model is resident until the last. */
static void instances_of_one_model(void **state)
{
    struct brokerrig_who who = {.keys = KEY(ALLOW) | KEY(AGGRESSIVE_POWER_SAVING)};
    struct ane_broker *broker = brokerrig_connect(&who);
    const char *model = brokerrig_compile(broker, brokerrig_model("two", 2));
    struct ane_broker_instance first, second, third;

    (void)state;
    assert_int_equal(clients_of(who.task), 0);
    first = load(broker, (struct ane_broker_arguments){.model = model, .power_saving = 1, .aggressive = 1});
    second = instantiate(broker, (struct ane_broker_arguments){
                                     .model = model, .keep_wired = 1, .queue_depth = 3, .qos = 0x09});
    third = instantiate(broker, (struct ane_broker_arguments){.model = model, .skip_prepare = 1});
    assert_int_equal(clients_of(who.task), 1);
    assert_true(first.program != second.program && second.program != third.program);
    assert_true(second.queue_depth == 3 && second.priority == 7 && second.queue_index == 4);
    assert_true(first.queue_depth == 24 && first.inputs == 1 && third.inputs == 0);
    check_run(broker, who.task, first.instance, 6);
    check_run(broker, who.task, second.instance, 6);
    check_run(broker, who.task, third.instance, 6);
    assert_int_equal(ane_broker_release(broker, first.instance), kIOReturnSuccess);
    check_run(broker, who.task, third.instance, 6);
    assert_int_equal(ane_broker_release(broker, third.instance), kIOReturnSuccess);
    assert_int_equal(ane_broker_release(broker, second.instance), kIOReturnSuccess);
    assert_int_equal(clients_of(who.task), 0);
    ane_broker_disconnect(broker);
}

static IOReturn adapt(struct ane_broker *broker, const char *model, double w,
                      struct ane_broker_instance *instance)
{
    const struct ane_broker_arguments arguments = {.size = sizeof(arguments), .model = model};
    struct ane_broker_weights file = {0};
    size_t size;
    uint8_t *bytes = brokerrig_weights(w, &size);
    IOReturn status;

    file.bytes = bytes;
    file.size = size;
    instance->size = sizeof(*instance);
    status = ane_broker_create_instance_with_weights(broker, &arguments, &file, 1, instance);
    memset(bytes, 0xff, size);
    free(bytes);
    return status;
}

/* Each adapter computes with its own weight; switching between them compiles nothing. */
static void adapters_of_a_base_model(void **state)
{
    struct brokerrig_who who = {.keys = KEY(ALLOW) | KEY(ADAPTER_WEIGHT)};
    struct ane_broker *broker = brokerrig_connect(&who);
    const char *model = brokerrig_compile(broker, brokerrig_model("two", 2));
    struct ane_broker_instance base, adapter[4];
    unsigned orders;

    (void)state;
    assert_int_equal(adapt(broker, model, 5, &adapter[0]), kIOReturnNotFound);
    base = load(broker, (struct ane_broker_arguments){.model = model});
    orders = brokerrig_orders();
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(adapt(broker, model, 3 + i, &adapter[i]), kIOReturnSuccess);
    for (unsigned round = 0; round < 3; round++)
        for (unsigned i = 0; i < 4; i++) {
            check_run(broker, who.task, adapter[i].instance, 3.0 * (3 + i));
            check_run(broker, who.task, base.instance, 6);
        }
    assert_int_equal(brokerrig_orders(), orders);
    assert_int_equal(ane_broker_release(broker, base.instance), kIOReturnBusy);
    check_run(broker, who.task, base.instance, 6);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(ane_broker_release(broker, adapter[i].instance), kIOReturnSuccess);
    assert_int_equal(ane_broker_release(broker, base.instance), kIOReturnSuccess);
    assert_int_equal(clients_of(who.task), 0);
    ane_broker_disconnect(broker);
}

struct sharer {
    struct brokerrig_who who;
    struct ane_broker *broker;
    struct ane_broker_instance instance;
};

static void share_open(struct sharer *sharer, const char *team, uint8_t hash)
{
    sharer->who = (struct brokerrig_who){
        .keys = KEY(ALLOW) | KEY(MODEL_SHARE), .team = team, .hash = hash, .pid = 200u + hash};
    sharer->broker = brokerrig_connect(&sharer->who);
}

static void share_load(struct sharer *sharer, const char *model)
{
    sharer->instance = load(sharer->broker, (struct ane_broker_arguments){.model = model, .share = 1});
    check_run(sharer->broker, sharer->who.task, sharer->instance.instance, 6);
}

/* The attach rule from both sides; the first process leaves, and the program stays for the others. */
static void sharing_by_team_and_hash(void **state)
{
    static const struct {
        const char *team;
        uint8_t hash;
        bool attaches;
    } other[] = {{"TEAM", 1, true}, {"TEAM", 2, false}, {"OTHER", 1, false}, {"", 1, false}};
    struct sharer owner, late, guest[4];
    const char *model;

    (void)state;
    share_open(&owner, "TEAM", 1);
    model = brokerrig_compile(owner.broker, brokerrig_model("two", 2));
    share_load(&owner, model);
    assert_int_equal(owner.instance.shared, 0);
    for (unsigned i = 0; i < 4; i++) {
        share_open(&guest[i], other[i].team, other[i].hash);
        share_load(&guest[i], model);
        assert_int_equal(guest[i].instance.shared, other[i].attaches);
        assert_int_equal(guest[i].instance.program == owner.instance.program, other[i].attaches);
    }
    ane_broker_disconnect(owner.broker);
    for (unsigned i = 0; i < 4; i++)
        check_run(guest[i].broker, guest[i].who.task, guest[i].instance.instance, 6);
    share_open(&late, "TEAM", 1);
    share_load(&late, model);
    assert_int_equal(late.instance.shared, 1);
    assert_int_equal(ane_broker_release(guest[0].broker, guest[0].instance.instance), kIOReturnSuccess);
    check_run(late.broker, late.who.task, late.instance.instance, 6);
    for (unsigned i = 0; i < 4; i++)
        ane_broker_disconnect(guest[i].broker);
    ane_broker_disconnect(late.broker);
}

static void sharing_needs_a_signature(void **state)
{
    struct ane_broker *broker = brokerrig_connect_with(KEY(ALLOW) | KEY(MODEL_SHARE));
    const char *model = brokerrig_compile(broker, brokerrig_model("two", 2));
    const struct ane_broker_arguments arguments = {.size = sizeof(arguments), .model = model, .share = 1};
    struct ane_broker_instance instance = {.size = sizeof(instance)};

    (void)state;
    assert_int_equal(ane_broker_load(broker, &arguments, &instance), kIOReturnNotPermitted);
    ane_broker_disconnect(broker);
}

/* A purged model is not found; what is resident stays. Other users keep theirs, unless all are purged. */
static void purge_of_partitions(void **state)
{
    struct brokerrig_who who = {.keys = KEY(ALLOW) | KEY(PURGE_ALL)},
                         user = {.keys = KEY(ALLOW), .uid = 1000};
    struct ane_broker *broker = brokerrig_connect(&who), *other = brokerrig_connect(&user);
    const char *model = brokerrig_compile(broker, brokerrig_model("two", 2));
    const struct ane_broker_arguments arguments = {.size = sizeof(arguments), .model = model};
    struct ane_broker_instance instance = load(broker, arguments), none = {.size = sizeof(none)};
    uint32_t models = 9;
    uint64_t bytes = 0;

    (void)state;
    assert_int_equal(ane_broker_load(other, &arguments, &none), kIOReturnNotFound);
    brokerrig_compile(other, brokerrig_model("two", 2));
    assert_int_equal(ane_broker_purge(broker, model, 0, &models, &bytes), kIOReturnSuccess);
    assert_true(models == 1 && bytes > 0);
    assert_int_equal(ane_broker_purge(broker, model, 0, &models, NULL), kIOReturnNotFound);
    assert_int_equal(ane_broker_load(broker, &arguments, &none), kIOReturnNotFound);
    check_run(broker, who.task, instance.instance, 6);
    assert_int_equal(ane_broker_load(other, &arguments, &none), kIOReturnSuccess);
    assert_int_equal(ane_broker_purge(broker, NULL, 1, &models, NULL), kIOReturnSuccess);
    assert_int_equal(models, 1);
    assert_int_equal(ane_broker_load(other, &arguments, &none), kIOReturnNotFound);
    ane_broker_disconnect(broker);
    ane_broker_disconnect(other);
}

/* An image of a file, with the key and without. The task of the second may not load raw images either. */
static void images_of_a_file(void **state)
{
    static uint8_t bytes[0x20000];
    const size_t size = iorig_image_add(bytes, sizeof(bytes), 4, 64);
    struct brokerrig_who who = {.keys = KEY(ALLOW) | KEY(RAW_IMAGES)};
    struct ane_broker *broker = brokerrig_connect(&who), *other = brokerrig_connect_with(KEY(ALLOW));
    struct ane_broker_arguments arguments = {.size = sizeof(arguments)};
    struct ane_broker_instance instance = {.size = sizeof(instance)};

    (void)state;
    folder_write("add.hwx", bytes, size);
    arguments.image = folder_path("add.hwx");
    assert_int_equal(ane_broker_load(other, &arguments, &instance), kIOReturnNotPrivileged);
    assert_int_equal(ane_broker_load(broker, &arguments, &instance), kIOReturnSuccess);
    assert_true(instance.inputs == 2 && instance.outputs == 1);
    assert_int_equal(ane_broker_release(broker, instance.instance), kIOReturnSuccess);
    folder_write("add.hwx", "not an image", 12);
    assert_int_equal(ane_broker_load(broker, &arguments, &instance), kIOReturnBadArgument);
    assert_int_equal(clients_of(who.task), 0);
    arguments.image = folder_path("none.hwx");
    assert_int_equal(ane_broker_load(broker, &arguments, &instance), kIOReturnBadArgument);
    ane_broker_disconnect(broker);
    ane_broker_disconnect(other);
}

/* A program that its task has used on a direct-path connection is released, and gone there. */
static void release_of_a_program_in_direct_use(void **state)
{
    struct brokerrig_who who = {.keys = KEY(ALLOW)};
    struct ane_broker *broker = brokerrig_connect(&who);
    const char *model = brokerrig_compile(broker, brokerrig_model("two", 2));
    struct ane_broker_instance instance = load(broker, (struct ane_broker_arguments){.model = model});
    struct ane_request_reply reply;
    struct iorig_client direct;
    struct ane_machine *machine;
    uint32_t surface[2];
    IOReturn status;

    (void)state;
    assert_int_equal(ane_machine_default(NULL, &machine), 0);
    assert_int_equal(iorig_open(ane_machine_service(machine), who.task, ANE_CLIENT_DIRECT_PATH, &direct),
                     kIOReturnSuccess);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(ane_surface_create(who.task, 0x4000, &surface[i]), 0);
    *(uint16_t *)ane_surface_base(surface[0]) = test_half_from_double(3);
    status = iorig_request(&direct, instance.program, 1, instance.priority, surface, 1, 1, &reply);
    assert_int_equal(status, kIOReturnSuccess);
    assert_true(test_half_to_double(*(uint16_t *)ane_surface_base(surface[1])) == 6);
    assert_int_equal(ane_broker_release(broker, instance.instance), kIOReturnSuccess);
    status = iorig_request(&direct, instance.program, 2, instance.priority, surface, 1, 1, &reply);
    assert_int_equal(status, kIOReturnNotFound);
    for (unsigned i = 0; i < 2; i++)
        ane_surface_release(surface[i]);
    assert_int_equal(IOServiceClose(direct.connect), kIOReturnSuccess);
    ane_broker_disconnect(broker);
}

/* A request that fails brings its reply, and the driver's sentence. */
static void failed_request(void **state)
{
    struct brokerrig_who who = {.keys = KEY(ALLOW)};
    struct ane_broker *broker = brokerrig_connect(&who);
    const char *model = brokerrig_compile(broker, brokerrig_model("two", 2));
    struct ane_broker_instance instance = load(broker, (struct ane_broker_arguments){.model = model});
    struct ane_request request = {
        .priority = ANE_REQUEST_PRIORITY, .sequence = 42, .inputs = 1, .outputs = 1};
    struct ane_request_reply reply = {0};

    (void)state;
    request.surface[0] = request.surface[1] = 0xdead;
    assert_int_equal(ane_broker_submit(broker, instance.instance, &request, &reply), kIOReturnBadArgument);
    assert_int_equal(reply.sequence, 42);
    assert_non_null(strstr(ane_machine_error(), "surface"));
    request.priority = 0;
    assert_int_equal(ane_broker_submit(broker, instance.instance, &request, &reply), kIOReturnNotPrivileged);
    ane_broker_disconnect(broker);
}

/* Depths are lowered for all while two processes send requests, and raised when one is left. */
static void queue_depth_under_contention(void **state)
{
    struct brokerrig_who who[2] = {{.keys = KEY(ALLOW)}, {.keys = KEY(ALLOW)}};
    struct ane_broker *broker[2];
    struct ane_broker_instance instance[2];
    struct ane_broker_info info = {.size = sizeof(info)};
    bool lowered = false;

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        broker[i] = brokerrig_connect(&who[i]);
        instance[i] = load(broker[i], (struct ane_broker_arguments){
                                          .model = brokerrig_compile(broker[i], brokerrig_model("two", 2))});
    }
    while (!lowered) {
        for (unsigned i = 0; i < 2; i++)
            check_run(broker[i], who[i].task, instance[i].instance, 6);
        assert_int_equal(ane_broker_info(broker[1], &info), kIOReturnSuccess);
        lowered = info.clients == 2 && info.queue_depth == 12;
    }
    instance[1] = instantiate(broker[1], (struct ane_broker_arguments){
                                             .model = brokerrig_compile(broker[1], folder_path("two.mil"))});
    assert_int_equal(instance[1].queue_depth, 12);
    while (info.queue_depth != 24) {
        check_run(broker[1], who[1].task, instance[1].instance, 6);
        assert_int_equal(ane_broker_info(broker[1], &info), kIOReturnSuccess);
    }
    for (unsigned i = 0; i < 2; i++)
        ane_broker_disconnect(broker[i]);
}

static uint32_t direct_depth(const struct iorig_client *client)
{
    struct ane_machine_client row[64];
    struct ane_machine *machine;
    uint32_t depth = 0;
    long count;

    assert_int_equal(ane_machine_default(NULL, &machine), 0);
    count = ane_machine_clients(machine, row, 64);
    for (long i = 0; i < count; i++)
        if (row[i].task == client->task && row[i].type == ANE_CLIENT_DIRECT_PATH)
            depth = row[i].queue_depth;
    return depth;
}

/* A process that sends requests on its own counts as well, and the depth is that of its own connection. */
static void contention_on_direct_paths(void **state)
{
    struct brokerrig_who who[3] = {{.keys = KEY(ALLOW)}, {.keys = KEY(ALLOW)}, {.keys = KEY(ALLOW)}};
    struct ane_broker *broker[3];
    struct iorig_client direct;
    struct ane_machine *machine;

    (void)state;
    assert_int_equal(ane_machine_default(NULL, &machine), 0);
    for (unsigned i = 0; i < 3; i++) {
        broker[i] = brokerrig_connect(&who[i]);
        load(broker[i],
             (struct ane_broker_arguments){.model = brokerrig_compile(broker[i], brokerrig_model("two", 2))});
    }
    assert_int_equal(iorig_open(ane_machine_service(machine), who[0].task, ANE_CLIENT_DIRECT_PATH, &direct),
                     kIOReturnSuccess);
    while (direct_depth(&direct) != 8) {
        for (unsigned i = 0; i < 3; i++)
            brokerrig_active(who[i].task);
        usleep(1000);
    }
    ane_broker_disconnect(broker[1]);
    ane_broker_disconnect(broker[2]);
    while (direct_depth(&direct) != 24) {
        brokerrig_active(who[0].task);
        usleep(1000);
    }
    assert_int_equal(IOServiceClose(direct.connect), kIOReturnSuccess);
    ane_broker_disconnect(broker[0]);
}

/* The 129th instance of a connection, and the ninth connection of a process. */
static void limits_of_a_client(void **state)
{
    struct brokerrig_who who = {.keys = KEY(ALLOW)};
    struct ane_broker *broker[PR_BROKER_TASK], *none;
    struct ane_broker_instance instance = {.size = sizeof(instance)};
    struct ane_broker_arguments arguments = {.size = sizeof(arguments)};

    (void)state;
    for (unsigned i = 0; i < PR_BROKER_TASK; i++)
        broker[i] = brokerrig_connect(&who);
    assert_int_equal(brk_connection_adopt(brokerrig_socket(&who), &none), kIOReturnNoResources);
    assert_null(none);
    arguments.model = brokerrig_compile(broker[0], brokerrig_model("two", 2));
    load(broker[0], arguments);
    for (unsigned i = 1; i < 127; i++)
        instantiate(broker[0], arguments);
    /* The base program counts for the kernel, too, when the first instance is not the program itself. */
    instantiate(broker[0], arguments);
    assert_int_equal(ane_broker_create_instance(broker[0], &arguments, &instance), kIOReturnNoResources);
    assert_non_null(strstr(ane_machine_error(), "128"));
    for (unsigned i = 0; i < PR_BROKER_TASK; i++)
        ane_broker_disconnect(broker[i]);
}

/* Pointers, sizes and switches that the library refuses itself. */
static void wrong_calls(void **state)
{
    struct ane_broker *broker = brokerrig_connect_with(KEY(ALLOW));
    struct ane_broker_arguments arguments = {.size = sizeof(arguments)};
    struct ane_broker_instance instance = {.size = sizeof(instance)};
    struct ane_broker_compile compile = {.size = sizeof(compile), .path = "none/none.mil"};
    struct ane_broker_model model = {.size = sizeof(model)};
    struct ane_broker_info info = {.size = 1};
    const struct ane_request request = {0};

    (void)state;
    assert_int_equal(ane_broker_connect(NULL), kIOReturnBadArgument);
    assert_int_equal(ane_broker_info(broker, &info), kIOReturnBadArgument);
    assert_int_equal(ane_broker_info(NULL, NULL), kIOReturnBadArgument);
    assert_int_equal(ane_broker_load(broker, NULL, &instance), kIOReturnBadArgument);
    assert_int_equal(ane_broker_load(broker, &arguments, &instance), kIOReturnBadArgument);
    arguments.model = arguments.image = "both";
    assert_int_equal(ane_broker_load(broker, &arguments, &instance), kIOReturnBadArgument);
    arguments.image = NULL;
    assert_int_equal(ane_broker_load(broker, &arguments, NULL), kIOReturnBadArgument);
    assert_int_equal(ane_broker_load(NULL, &arguments, &instance), kIOReturnBadArgument);
    arguments.share = 2;
    assert_int_equal(ane_broker_load(broker, &arguments, &instance), kIOReturnBadArgument);
    assert_int_equal(ane_broker_compile(broker, &compile, &model), kIOReturnBadArgument);
    compile.path = NULL;
    assert_int_equal(ane_broker_compile(broker, &compile, &model), kIOReturnBadArgument);
    assert_int_equal(ane_broker_purge(broker, "", 0, NULL, NULL), kIOReturnBadArgument);
    assert_int_equal(ane_broker_submit(broker, 1, &request, NULL), kIOReturnBadArgument);
    ane_broker_disconnect(broker);
    ane_broker_disconnect(NULL);
}

/* A forked child has no connection; its parent's goes on. */
static void forked_child(void **state)
{
    struct ane_broker *broker = brokerrig_connect_with(KEY(ALLOW));
    struct ane_broker_info info = {.size = sizeof(info)};
    pid_t child = fork();
    int status;

    (void)state;
    if (!child) {
        bool refused = ane_broker_info(broker, &info) == kIOReturnNoDevice;

        ane_broker_disconnect(broker);
        _exit(refused ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(ane_broker_info(broker, &info), kIOReturnSuccess);
    ane_broker_disconnect(broker);
}

/* Without a service there is no broker to connect to. */
static void no_service(void **state)
{
    struct ane_broker *broker = (struct ane_broker *)state;

    assert_int_equal(ane_broker_connect(&broker), kIOReturnNoDevice);
    assert_null(broker);
    assert_true(ane_machine_error()[0] != '\0');
    assert_null(ane_service_name());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compile_load_submit_release),
        cmocka_unit_test(instances_of_one_model),
        cmocka_unit_test(adapters_of_a_base_model),
        cmocka_unit_test(sharing_by_team_and_hash),
        cmocka_unit_test(sharing_needs_a_signature),
        cmocka_unit_test(purge_of_partitions),
        cmocka_unit_test(images_of_a_file),
        cmocka_unit_test(release_of_a_program_in_direct_use),
        cmocka_unit_test(failed_request),
        cmocka_unit_test(queue_depth_under_contention),
        cmocka_unit_test(contention_on_direct_paths),
        cmocka_unit_test(limits_of_a_client),
        cmocka_unit_test(wrong_calls),
        cmocka_unit_test(forked_child),
        cmocka_unit_test(no_service),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
