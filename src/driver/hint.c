/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hints. What a hints client sets for others is kept in that client, with the serial number of the call: a
 * client that opens later takes the newest that is meant for it. So the hints end with the hints client, and
 * there is no table of them to fill up. Clients that have a hint keep it.
 */
#include "driver/hint.h"

#include <inttypes.h>
#include <string.h>

#include "driver/identity.h"
#include "driver/request.h"
#include "driver/session.h"
#include "protocol/qos.h"

static const struct {
    const char *name;
    uint64_t most;
} hints[DRV_HINTS] = {
    [ANE_HINT_QOS] = {"quality of service", UINT32_MAX},
    [ANE_HINT_RESIDENT] = {"residency", 1},
    [ANE_HINT_QUEUE_DEPTH] = {"queue depth", DRV_REQUESTS_PER_CLIENT},
};
_Static_assert(DRV_REQUESTS_PER_CLIENT == 24, "anemone/abi.h has the limit of the queue depth");

static IOReturn check_hint(struct drv *d, uint64_t hint, uint64_t value)
{
    if (hint >= DRV_HINTS || !hints[hint].name)
        return drv_refuse(d, kIOReturnBadArgument, "Hint %" PRIu64 " does not exist; there are 1 to %u.",
                          hint, DRV_HINTS - 1);
    if (value > hints[hint].most)
        return drv_refuse(d, kIOReturnBadArgument,
                          "Hint %" PRIu64 ": a %s of %" PRIu64 "; the limit is %" PRIu64 ".", hint,
                          hints[hint].name, value, hints[hint].most);
    return kIOReturnSuccess;
}

/* A depth that is not limited by a hint is that of every client, and reads as 0. */
static uint32_t get_hint(const struct drv_client *client, uint32_t hint)
{
    switch (hint) {
    case ANE_HINT_QOS: return client->qos == PR_QOS_DEFAULT ? 0 : client->qos;
    case ANE_HINT_RESIDENT: return client->resident;
    default: return client->queue_depth == DRV_REQUESTS_PER_CLIENT ? 0 : client->queue_depth;
    }
}

static void set_hint(struct drv_client *client, uint32_t hint, uint32_t value)
{
    switch (hint) {
    case ANE_HINT_QOS: client->qos = value ? value : PR_QOS_DEFAULT; break;
    case ANE_HINT_RESIDENT: client->resident = value; break;
    default: client->queue_depth = value ? value : DRV_REQUESTS_PER_CLIENT; break;
    }
}

static bool is_meant(const struct drv_client *from, uint32_t scope, const struct drv_client *client)
{
    return scope == ANE_HINT_SCOPE_COALITION ? drv_identity_coalition(&from->identity, &client->identity)
                                             : from->identity.task == client->identity.task;
}

static const struct drv_hint *newest_hint(const struct drv_client *client, uint32_t hint)
{
    const struct drv_hint *newest = NULL;

    for (const struct drv_client *from = client->driver->clients; from; from = from->next)
        for (uint32_t scope = 0; scope < DRV_HINT_SCOPES; scope++) {
            const struct drv_hint *set = &from->hint[scope][hint];

            if (set->serial > (newest ? newest->serial : 0) && is_meant(from, scope, client))
                newest = set;
        }
    return newest;
}

void drv_hint_init(struct drv_client *client)
{
    for (uint32_t hint = 1; hint < DRV_HINTS; hint++) {
        const struct drv_hint *newest = newest_hint(client, hint);

        set_hint(client, hint, newest ? newest->value : 0);
    }
}

/*
 * A client that the sandbox exception alone opened keeps the depth that was set for its task: a broker lowers
 * it under contention. 0 stands for the depth of every client.
 */
static uint32_t limit_depth(const struct drv_client *client, uint32_t value)
{
    const struct drv_hint *newest = newest_hint(client, ANE_HINT_QUEUE_DEPTH);
    uint32_t most = newest ? newest->value : 0;

    if (!most || drv_identity_has(client, PR_ENTITLEMENT_BIT(OPEN)))
        return value;
    return value && value < most ? value : most;
}

IOReturn drv_hint_session(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    struct ane_session_hint_reply reply = {.session = client->token};
    struct ane_session_hint request;
    IOReturn result;

    memcpy(&request, args->structureInput, sizeof(request));
    result = drv_session_check(client, request.session);
    if (!result)
        result = check_hint(client->driver, request.hint, request.value);
    if (result)
        return result;
    reply.hint = request.hint;
    reply.previous = get_hint(client, request.hint);
    if (request.hint == ANE_HINT_QUEUE_DEPTH)
        request.value = limit_depth(client, request.value);
    set_hint(client, request.hint, request.value);
    reply.value = get_hint(client, request.hint);
    drv_request_depth_changed(client->driver);
    memcpy(args->structureOutput, &reply, sizeof(reply));
    return kIOReturnSuccess;
}

static IOReturn check_scope(const struct drv_client *client, uint64_t scope)
{
    if (scope >= DRV_HINT_SCOPES)
        return drv_refuse(client->driver, kIOReturnBadArgument,
                          "setClientHint: scope %" PRIu64 " is neither 0 (task) nor 1 (coalition).", scope);
    return scope == ANE_HINT_SCOPE_COALITION ? drv_identity_require(client, PR_ENTITLEMENT_BIT(SHARE_HINTS),
                                                                    "setClientHint for a coalition")
                                             : kIOReturnSuccess;
}

IOReturn drv_hint_clients(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    const uint64_t hint = args->scalarInput[0], value = args->scalarInput[1], scope = args->scalarInput[2];
    struct drv *d = client->driver;
    IOReturn result = check_hint(d, hint, value);

    if (!result)
        result = check_scope(client, scope);
    if (result)
        return result;
    client->hint[scope][hint] = (struct drv_hint){.serial = ++d->hints, .value = (uint32_t)value};
    for (struct drv_client *other = d->clients; other; other = other->next)
        if (is_meant(client, (uint32_t)scope, other))
            set_hint(other, (uint32_t)hint, (uint32_t)value);
    drv_request_depth_changed(d);
    return kIOReturnSuccess;
}
