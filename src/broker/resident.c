/* SPDX-License-Identifier: Apache-2.0 */
/* The program of a resident model is on the client's connection, or on that of the share it holds. */
#include "broker/resident.h"

#include <string.h>

#include "base/alloc.h"
#include "broker/device.h"
#include "broker/share.h"

static IOReturn attach(struct brk_client *client, struct brk_resident *resident,
                       const struct brk_payload *payload, bool *attached, struct base_error *error)
{
    struct brk_shares *shares = &client->broker->shares;
    struct brk_share *share = brk_share_find(shares, &client->who, resident->model);
    IOReturn result = kIOReturnSuccess;

    *attached = share && share->task != client->who.task;
    if (!share)
        result = brk_share_make(shares, &client->who, resident->model, payload, &share, error);
    if (result)
        return result;
    resident->share = share;
    resident->base = share->token;
    return kIOReturnSuccess;
}

IOReturn brk_resident_load(struct brk_client *client, const char *model, const struct brk_payload *payload,
                           bool share, struct brk_resident **made, bool *attached, struct base_error *error)
{
    struct brk_resident *resident = base_alloc(sizeof(*resident));
    IOReturn result;

    *attached = false;
    if (!resident)
        return brk_refuse(error, kIOReturnNoMemory, "No memory for a resident model.");
    memcpy(resident->model, model, strlen(model) + 1);
    result = share ? attach(client, resident, payload, attached, error)
                   : brk_payload_load(&client->device, client->who.task, payload, &resident->base, error);
    if (result) {
        base_free(resident);
        return result;
    }
    resident->next = client->residents;
    client->residents = resident;
    *made = resident;
    return kIOReturnSuccess;
}

struct brk_resident *brk_resident_find(struct brk_client *client, const char *model)
{
    struct brk_resident *resident = client->residents;

    while (resident && strcmp(resident->model, model) != 0)
        resident = resident->next;
    return resident;
}

void brk_resident_forget(struct brk_client *client, struct brk_resident *resident)
{
    struct brk_resident **link = &client->residents;

    while (*link != resident)
        link = &(*link)->next;
    *link = resident->next;
    if (resident->share)
        brk_share_give(&client->broker->shares, resident->share);
    base_free(resident);
}

void brk_resident_end(struct brk_client *client, struct brk_resident *resident)
{
    if (!resident->share)
        brk_device_destroy_program(&client->device, resident->base, NULL);
    brk_resident_forget(client, resident);
}

void brk_resident_forget_all(struct brk_client *client)
{
    while (client->residents)
        brk_resident_forget(client, client->residents);
}
