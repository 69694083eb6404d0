/* SPDX-License-Identifier: Apache-2.0 */
/* The broker's methods by way of its client library: compile, load, instances, adapters, sharing, requests. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "brokerrig.h"
#include "folder.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compile_load_submit_release),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
