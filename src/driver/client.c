/* SPDX-License-Identifier: Apache-2.0 */
/*
 * User clients. A handle is in exactly one state, which only set_state() changes and only in the order of the
 * enum, except that a zombie is RELEASED again while it is torn down. From RELEASED on, the call that takes
 * `calls` to 0 ends the client: every call is counted in `calls` from before it waits for the gate until it
 * has left. A client keeps its domain while `busy` is not 0.
 */
#include "driver/client.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/array.h"
#include "driver/chain.h"
#include "driver/debug_work.h"
#include "driver/dispatch.h"
#include "driver/domain.h"
#include "driver/event.h"
#include "driver/flow.h"
#include "driver/hint.h"
#include "driver/identity.h"
#include "driver/lifecycle.h"
#include "driver/premap.h"
#include "driver/process.h"
#include "driver/program.h"
#include "driver/recovery.h"
#include "driver/request.h"
#include "driver/secure.h"
#include "driver/surface.h"
#include "driver/unwire.h"

#define NEXT(state) (1u << DRV_CLIENT_##state)
static const struct drv_lifecycle_state states[] = {
    [DRV_CLIENT_NEW] = {"new", NEXT(OPEN) | NEXT(RELEASED)},
    [DRV_CLIENT_OPEN] = {"open", NEXT(CLOSED) | NEXT(RELEASED)},
    [DRV_CLIENT_CLOSED] = {"closed", NEXT(RELEASED)},
    [DRV_CLIENT_RELEASED] = {"released", NEXT(ZOMBIE)},
    [DRV_CLIENT_ZOMBIE] = {"zombie", NEXT(RELEASED)},
};
#undef NEXT
static const struct drv_lifecycle lifecycle = {"client", BASE_COUNT_OF(states), states};

static void set_state(struct drv_client *client, enum drv_client_state state)
{
    drv_lifecycle_check(&lifecycle, client->state, state);
    client->state = state;
}

bool drv_client_is_closed(const struct drv_client *client)
{
    return client->state >= DRV_CLIENT_CLOSED;
}

bool drv_client_is_released(const struct drv_client *client)
{
    return client->state >= DRV_CLIENT_RELEASED;
}

/* `idle` follows `busy`. */
static void count_busy(struct drv_client *client, int change)
{
    client->busy += (uint32_t)change;
    client->idle = !client->busy;
}

/*
 * Waits until the firmware has nothing of the client's, then frees everything it holds. False when the
 * firmware still has a request after the client's timeout: only a released client can have one.
 */
static bool tear_down(struct drv_client *client)
{
    struct drv_deadline timer = {.timer = true, .ns = client->timeout_ns};
    struct drv *d = client->driver;

    drv_secure_leave(client); /* its own requests may wait for the end of the mode */
    if (!client->idle)
        drv_chain_abort_all(client);
    drv_debug_work_leave(client);
    if (!client->idle && drv_wait(d, &client->idle, &timer)) {
        SOC_TRACE(d->platform.trace, DRV_CLIENT_KEPT, client->number);
        drv_flow_leave_all(client);
        return false;
    }
    drv_event_close(client);
    count_busy(client, 1); /* its domain is not lent to another meanwhile */
    drv_program_leave_all(client);
    drv_surface_unmap_all(client, true);
    drv_domain_return(client);
    count_busy(client, -1);
    return true;
}

void drv_client_opened(struct drv_client *client)
{
    set_state(client, DRV_CLIENT_OPEN);
}

void drv_client_end_session(struct drv_client *client)
{
    set_state(client, DRV_CLIENT_CLOSED);
    tear_down(client);
}

static void unlink_client(struct drv_client *client)
{
    struct drv_client **link = &client->driver->clients;

    while (*link != client)
        link = &(*link)->next;
    *link = client->next;
    client->driver->stats.clients--;
    base_free(client);
}

static struct drv_client *find_zombie(struct drv *d)
{
    struct drv_client *client = d->clients;

    while (client && !(client->state == DRV_CLIENT_ZOMBIE && !client->calls && client->idle))
        client = client->next;
    return client;
}

/* Clients and programs that could not be ended when it was time, and can be now. */
static void reap_all(struct drv *d)
{
    struct drv_client *client;

    while ((client = find_zombie(d))) {
        set_state(client, DRV_CLIENT_RELEASED);
        client->calls++;
        drv_client_leave(client);
    }
    if (d->ready)
        drv_program_reap(d);
    drv_unwire_run(d);
}

void drv_client_busy(struct drv_client *client)
{
    count_busy(client, 1);
}

void drv_client_idle(struct drv_client *client)
{
    count_busy(client, -1);
    if (client->idle)
        drv_domain_idle(client);
}

/* The gate is held. The last call stays counted until the client is torn down, so that no other begins to. */
void drv_client_leave(struct drv_client *client)
{
    bool ended;

    if (client->calls > 1 || !drv_client_is_released(client)) {
        client->calls--;
        return;
    }
    ended = tear_down(client);
    client->calls--;
    if (client->ended)
        *client->ended = true;
    client->ended = NULL;
    if (ended)
        unlink_client(client);
    else
        set_state(client, DRV_CLIENT_ZOMBIE);
}

static IOReturn open_client(struct drv *d, const struct drv_identity *identity, uint32_t type,
                            struct drv_client **client)
{
    struct drv_client *made;
    uint32_t methods;
    IOReturn result;

    if (!d->running)
        return drv_refuse(d, kIOReturnNotReady, "The device has not started.");
    if (!drv_dispatch_array(type, &methods))
        return drv_refuse(d, kIOReturnBadArgument, "There is no client of type %u.", type);
    made = base_alloc(sizeof(*made));
    if (!made)
        return drv_refuse(d, kIOReturnNoMemory, "No memory for a client.");
    made->driver = d;
    made->type = type;
    result = drv_identity_stamp(made, identity);
    if (result) {
        base_free(made);
        return result;
    }
    made->number = ++d->client_number;
    made->idle = true;
    made->timeout_ns = DRV_DEFAULT_TIMEOUT_MS * DRV_MS;
    drv_hint_init(made);
    made->next = d->clients;
    d->clients = made;
    d->stats.clients++;
    *client = made;
    return kIOReturnSuccess;
}

IOReturn drv_client_open(struct drv *d, const struct drv_identity *identity, uint32_t type,
                         struct drv_client **client, struct base_error *error)
{
    IOReturn result;

    *client = NULL;
    drv_enter(d, NULL);
    reap_all(d);
    d->error = error;
    result = open_client(d, identity, type, client);
    d->error = NULL;
    drv_gate_leave(&d->gate);
    return result;
}

void drv_client_close(struct drv_client *client)
{
    struct drv *d = client->driver;
    bool ended = false;

    drv_enter(d, NULL);
    set_state(client, DRV_CLIENT_RELEASED);
    client->ended = &ended;
    client->calls++;
    drv_request_abort_all(client);
    drv_waiter_wake_client(&d->domain_waiters, client);
    drv_event_close(client);
    drv_client_leave(client);
    /* Calls of other threads, or an eviction, may still be inside; the last of them ends the client. */
    if (!ended)
        drv_wait(d, &ended, NULL);
    reap_all(d);
    drv_gate_leave(&d->gate);
}

/* Without the gate: what is left to do for a client that was released meanwhile is done at a later reap. */
static IOReturn leave_outside(struct drv_client *client, struct base_error *error)
{
    struct drv *d = client->driver;
    IOReturn result;

    d->error = error;
    result = drv_refuse(d, kIOReturnTimeout,
                        "Client %u waited %" PRIu64 " ms for the device, which is being restarted.",
                        client->number, (uint64_t)(client->timeout_ns / DRV_MS));
    d->error = NULL;
    if (client->calls == 1 && client->state == DRV_CLIENT_RELEASED) {
        if (client->ended)
            *client->ended = true;
        client->ended = NULL;
        set_state(client, DRV_CLIENT_ZOMBIE);
    }
    client->calls--;
    return result;
}

/* With the gate; an error of the recovery is that of the call. */
static IOReturn run_call(struct drv_client *client, drv_dispatcher run, uint32_t number, bool plain,
                         struct IOExternalMethodArguments *arguments)
{
    struct drv *d = client->driver;

    if (drv_client_is_closed(client))
        return drv_refuse(d, ANE_RETURN_CLOSED, "Client %u is closed.", client->number);
    if (!d->ready && !plain)
        return drv_refuse(d, kIOReturnNotReady, "The device does not run: %s", d->recovery.why.text);
    return run(client, number, arguments);
}

IOReturn drv_client_run(struct drv_client *client, drv_dispatcher run, uint32_t number, bool plain,
                        struct IOExternalMethodArguments *arguments, struct base_error *error)
{
    struct drv *d = client->driver;
    struct drv_deadline deadline = {.ns = client->timeout_ns};
    IOReturn result;

    if (!arguments)
        return kIOReturnBadArgument;
    client->calls++;
    if (!drv_enter(d, &deadline) || (!d->ready && !plain && !drv_recovery_rouse(d, &deadline)))
        return leave_outside(client, error);
    d->error = error;
    result = run_call(client, run, number, plain, arguments);
    d->error = NULL;
    drv_client_leave(client);
    drv_unwire_run(d);
    drv_gate_leave(&d->gate);
    return result;
}

IOReturn drv_client_call(struct drv_client *client, uint32_t selector,
                         struct IOExternalMethodArguments *arguments, struct base_error *error)
{
    return drv_client_run(client, drv_dispatch, selector, false, arguments, error);
}

uint32_t drv_client_count_persistent(const struct drv *d)
{
    uint32_t count = 0;

    for (const struct drv_client *client = d->clients; client; client = client->next)
        count += client->persistent && client->state == DRV_CLIENT_OPEN;
    return count;
}

void drv_client_drop_all(struct drv *d)
{
    while (d->clients) {
        struct drv_client *client = d->clients;

        drv_event_close(client);
        drv_program_forget_all(client);
        drv_surface_unmap_all(client, true);
        drv_domain_return(client);
        unlink_client(client);
    }
}

uint32_t drv_client_number(const struct drv_client *client)
{
    return client->number;
}
