/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A release that fails has changed nothing: what may be refused comes first. The kernel destroys a token with
 * its preparation, so a token of the client's own is not unprepared before.
 */
#include "broker/instance.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "broker/contention.h"
#include "broker/device.h"
#include "broker/payload.h"
#include "broker/resident.h"

static const struct {
    uint32_t load, instance;
} flags[] = {
    {PR_BROKER_POWER_SAVING, ANE_INSTANCE_POWER_SAVING},
    {PR_BROKER_AGGRESSIVE_POWER_SAVING, ANE_INSTANCE_AGGRESSIVE_POWER_SAVING},
    {PR_BROKER_KEEP_WIRED, ANE_INSTANCE_KEEP_WIRED},
};

static uint32_t instance_flags(uint32_t load)
{
    uint32_t set = 0;

    for (unsigned i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
        set |= load & flags[i].load ? flags[i].instance : 0;
    return set;
}

IOReturn brk_instance_check_room(const struct brk_client *client, struct base_error *error)
{
    if (client->count < PR_BROKER_INSTANCES)
        return kIOReturnSuccess;
    return brk_refuse(error, kIOReturnNoResources,
                      "The connection has %u instances, which is the limit; release one.", client->count);
}

/* A token of its own, where arguments or files need one; else that of the model. */
static IOReturn take_token(struct brk_client *client, struct brk_instance *instance,
                           const struct brk_instance_wish *wish, struct base_error *error)
{
    const struct brk_resident *resident = instance->resident;
    const struct pr_broker_load *load = wish->load;
    struct brk_instance_payload payload = {.base = resident->base,
                                           .flags = instance_flags(load->flags),
                                           .queue_depth = load->queue_depth,
                                           .descriptor = wish->descriptor};

    instance->adapter = wish->adapter;
    instance->own =
        wish->adapter || payload.flags || payload.queue_depth || resident->instances || resident->adapters;
    instance->about.program = resident->base;
    instance->about.intermediate = resident->base;
    if (!instance->own)
        return kIOReturnSuccess;
    payload.flags |= ANE_INSTANCE_SHARE_INTERMEDIATE;
    if (wish->adapter) {
        payload.files = wish->adapter->files;
        payload.file = wish->adapter->file;
    }
    return brk_payload_instance(&client->device, client->who.task, &payload, &instance->about.program,
                                &instance->about.intermediate, error);
}

IOReturn brk_instance_prepare(struct brk_client *client, struct brk_instance *instance,
                              struct base_error *error)
{
    struct pr_broker_instance *about = &instance->about;
    struct ane_program_prepare prepared;
    IOReturn result = brk_device_prepare(&client->device, about->program, about->qos, &prepared, error);

    if (result)
        return result;
    instance->prepared = true;
    about->inputs = prepared.inputs;
    about->outputs = prepared.outputs;
    about->intermediates = prepared.intermediates;
    about->procedures = prepared.procedures;
    about->intermediate_bytes = prepared.intermediate_bytes;
    return kIOReturnSuccess;
}

static void describe(struct brk_client *client, struct brk_instance *instance,
                     const struct brk_instance_wish *wish)
{
    struct pr_broker_instance *about = &instance->about;
    const struct pr_broker_load *load = wish->load;
    const char *name = load->name[0] ? load->name : load->model;

    about->instance = ++client->last;
    about->token = load->token;
    memcpy(about->model, instance->resident->model, sizeof(about->model));
    about->tier = (uint8_t)client->tier;
    about->shared = wish->attached;
    about->qos = load->qos ? load->qos : PR_QOS_DEFAULT;
    about->priority = pr_qos_program_priority(about->qos);
    about->queue_index = pr_qos_queue_index(about->qos);
    memcpy(about->name, name, strlen(name) + 1);
    about->intermediate_bytes = instance->resident->intermediate_bytes;
    instance->depth = load->queue_depth;
}

static uint32_t granted_depth(struct brk_client *client, const struct brk_instance *instance)
{
    uint32_t active, depth = brk_contention_depth(&client->broker->contention, client->party, &active);

    return instance->depth && instance->depth < depth ? instance->depth : depth;
}

static void link_instance(struct brk_client *client, struct brk_instance *instance)
{
    instance->next = client->instances;
    client->instances = instance;
    instance->resident->instances += !instance->adapter;
    instance->resident->adapters += instance->adapter;
    if (!client->count++)
        brk_contention_resident(&client->broker->contention, client->party, true);
}

static void unlink_instance(struct brk_client *client, struct brk_instance *instance)
{
    struct brk_instance **link = &client->instances;

    while (*link != instance)
        link = &(*link)->next;
    *link = instance->next;
    instance->resident->instances -= !instance->adapter;
    instance->resident->adapters -= instance->adapter;
    if (!--client->count)
        brk_contention_resident(&client->broker->contention, client->party, false);
}

IOReturn brk_instance_make(struct brk_client *client, struct brk_resident *resident,
                           const struct brk_instance_wish *wish, struct pr_broker_instance *about,
                           struct base_error *error)
{
    struct brk_instance *instance = base_alloc(sizeof(*instance));
    IOReturn result;

    if (!instance)
        return brk_refuse(error, kIOReturnNoMemory, "No memory for an instance.");
    instance->resident = resident;
    describe(client, instance, wish);
    result = take_token(client, instance, wish, error);
    if (!result && !(wish->load->flags & PR_BROKER_SKIP_PREPARE))
        result = brk_instance_prepare(client, instance, error);
    if (result) {
        if (instance->own && instance->about.program != resident->base)
            brk_device_destroy_program(&client->device, instance->about.program, NULL);
        base_free(instance);
        return result;
    }
    if (!instance->about.intermediate_bytes)
        instance->about.intermediate = 0;
    link_instance(client, instance);
    *about = instance->about;
    about->queue_depth = granted_depth(client, instance);
    return kIOReturnSuccess;
}

struct brk_instance *brk_instance_find(struct brk_client *client, uint64_t number, struct base_error *error)
{
    struct brk_instance *instance = client->instances;

    while (instance && instance->about.instance != number)
        instance = instance->next;
    if (!instance)
        brk_refuse(error, kIOReturnNotFound, "There is no instance %" PRIu64 " on this connection.", number);
    return instance;
}

void brk_instance_rest(struct brk_client *client)
{
    if (!client->count && !client->residents)
        brk_device_close(&client->device);
}

/* The kernel's part of a release. The model's own token is destroyed with the model. */
static IOReturn give_token(struct brk_client *client, const struct brk_instance *instance, bool last,
                           struct base_error *error)
{
    if (instance->own || (last && !instance->resident->share))
        return brk_device_destroy_program(&client->device, instance->about.program, error);
    if (instance->prepared)
        brk_device_unprepare(&client->device, instance->about.program);
    return kIOReturnSuccess;
}

IOReturn brk_instance_release(struct brk_client *client, struct brk_instance *instance,
                              struct base_error *error)
{
    struct brk_resident *resident = instance->resident;
    bool last = resident->instances + resident->adapters == 1, own = instance->own;
    IOReturn result;

    if (!instance->adapter && resident->instances == 1 && resident->adapters)
        return brk_refuse(error, kIOReturnBusy,
                          "Instance %" PRIu64 " is the last one of a model that %u adapters use; release "
                          "these first.",
                          instance->about.instance, resident->adapters);
    result = give_token(client, instance, last, error);
    if (result)
        return result;
    unlink_instance(client, instance);
    base_free(instance);
    if (last && own)
        brk_resident_end(client, resident);
    else if (last)
        brk_resident_forget(client, resident);
    brk_instance_rest(client);
    return kIOReturnSuccess;
}

void brk_instance_forget_all(struct brk_client *client)
{
    while (client->instances) {
        struct brk_instance *instance = client->instances;

        unlink_instance(client, instance);
        base_free(instance);
    }
}
