/* SPDX-License-Identifier: Apache-2.0 */
/* Deeds of the broker's keys, in a process that has a service. The model is y = w x (brokerrig.h). */
#include "deeds.h"

#include <stdlib.h>
#include <unistd.h>

#include <anemone/broker.h>

#include "brokerrig.h"
#include "support.h"

#define BIT(id)        PR_ENTITLEMENT_BIT(id)
#define NOT_PRIVILEGED 0xe00002c1u

static struct ane_broker *connect(void)
{
    struct ane_broker *broker;
    IOReturn status = ane_broker_connect(&broker);

    if (status)
        fail_msg("connect: 0x%08x %s", (unsigned)status, ane_machine_error());
    return broker;
}

static void admission(io_service_t service, ane_task_t task, struct deeds_outcome *outcome)
{
    struct ane_broker *broker;

    (void)service;
    (void)task;
    deeds_note(outcome, ane_broker_connect(&broker));
    ane_broker_disconnect(broker);
}

static void compile_as(uint32_t longer, struct deeds_outcome *outcome)
{
    struct ane_broker_compile compile = {
        .size = sizeof(compile), .path = brokerrig_model("model", 2), .force = 1, .longer = longer};
    struct ane_broker_model model = {.size = sizeof(model)};
    struct ane_broker *broker = connect();

    deeds_note(outcome, ane_broker_compile(broker, &compile, &model));
    if (!outcome->status)
        close(model.main);
    ane_broker_disconnect(broker);
}

static void compile_ordinary(io_service_t service, ane_task_t task, struct deeds_outcome *outcome)
{
    (void)service;
    (void)task;
    compile_as(0, outcome);
}

static void compile_longer(io_service_t service, ane_task_t task, struct deeds_outcome *outcome)
{
    (void)service;
    (void)task;
    compile_as(1, outcome);
}

static void load_with(struct ane_broker_arguments arguments, struct deeds_outcome *outcome)
{
    struct ane_broker *broker = connect();
    struct ane_broker_instance instance = {.size = sizeof(instance)};

    arguments.size = sizeof(arguments);
    arguments.model = brokerrig_compile(broker, brokerrig_model("model", 2));
    deeds_note(outcome, ane_broker_load(broker, &arguments, &instance));
    ane_broker_disconnect(broker);
}

static void load_shared(io_service_t service, ane_task_t task, struct deeds_outcome *outcome)
{
    (void)service;
    (void)task;
    load_with((struct ane_broker_arguments){.share = 1}, outcome);
}

static void load_aggressive(io_service_t service, ane_task_t task, struct deeds_outcome *outcome)
{
    (void)service;
    (void)task;
    load_with((struct ane_broker_arguments){.power_saving = 1, .aggressive = 1}, outcome);
}

static void load_adapter(io_service_t service, ane_task_t task, struct deeds_outcome *outcome)
{
    struct ane_broker *broker = connect();
    struct ane_broker_arguments arguments = {.size = sizeof(arguments)};
    struct ane_broker_instance base = {.size = sizeof(base)}, adapter = {.size = sizeof(adapter)};
    struct ane_broker_weights file = {0};
    size_t size;

    (void)service;
    (void)task;
    file.bytes = brokerrig_weights(5, &size);
    file.size = size;
    arguments.model = brokerrig_compile(broker, brokerrig_model("model", 2));
    assert_int_equal(ane_broker_load(broker, &arguments, &base), kIOReturnSuccess);
    deeds_note(outcome, ane_broker_create_instance_with_weights(broker, &arguments, &file, 1, &adapter));
    ane_broker_disconnect(broker);
    free((void *)file.bytes);
}

static void purge_everywhere(io_service_t service, ane_task_t task, struct deeds_outcome *outcome)
{
    struct ane_broker *broker = connect();

    (void)service;
    (void)task;
    deeds_note(outcome, ane_broker_purge(broker, NULL, 1, NULL, NULL));
    ane_broker_disconnect(broker);
}

/* Who is admitted by the second key alone may not compile, so that is the deed of the first. */
const struct deeds_row deeds_broker[PR_ENTITLEMENT_COUNT] = {
    [PR_ENTITLEMENT_ALLOW] = {BIT(ACCESS), compile_ordinary, NOT_PRIVILEGED, "COMPILE: "},
    [PR_ENTITLEMENT_ACCESS] = {0, admission, NOT_PRIVILEGED, "Connection to the broker: "},
    [PR_ENTITLEMENT_ADAPTER_WEIGHT] = {BIT(ALLOW), load_adapter, NOT_PRIVILEGED,
                                       "CREATE_INSTANCE_WITH_WEIGHTS: "},
    [PR_ENTITLEMENT_MODEL_SHARE] = {BIT(ALLOW), load_shared, NOT_PRIVILEGED, "Load of a shared model: "},
    [PR_ENTITLEMENT_SECONDARY_COMPILER] = {BIT(ALLOW), compile_longer, NOT_PRIVILEGED,
                                           "Compile with the longer-duration service: "},
    [PR_ENTITLEMENT_AGGRESSIVE_POWER_SAVING] = {BIT(ALLOW), load_aggressive, NOT_PRIVILEGED,
                                                "Load with aggressive power saving: "},
    [PR_ENTITLEMENT_PURGE_ALL] = {BIT(ALLOW), purge_everywhere, NOT_PRIVILEGED, "PURGE_ALL: "},
};
