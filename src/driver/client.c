/* SPDX-License-Identifier: Apache-2.0 */
/*
 * User clients. A handle is in exactly one state, which only set_state() changes and only in the order of the
 * enum, except that a zombie is RELEASED again while it is torn down. From RELEASED on, the call that takes
 * `calls` to 0 ends the client: every call is counted in `calls` from before it waits for the gate until it
 * has left. A client keeps its domain while `busy` is not 0.
 */
#include "driver/client.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "driver/chaining.h"
#include "driver/domain.h"
#include "driver/instance.h"
#include "driver/lifecycle.h"
#include "driver/program.h"
#include "driver/request.h"
#include "driver/surface.h"
#include "protocol/device.h"

#define NEXT(state) (1u << DRV_CLIENT_##state)
static const struct drv_lifecycle_state states[] = {
    [DRV_CLIENT_NEW] = {"new", NEXT(OPEN) | NEXT(RELEASED)},
    [DRV_CLIENT_OPEN] = {"open", NEXT(CLOSED) | NEXT(RELEASED)},
    [DRV_CLIENT_CLOSED] = {"closed", NEXT(RELEASED)},
    [DRV_CLIENT_RELEASED] = {"released", NEXT(ZOMBIE)},
    [DRV_CLIENT_ZOMBIE] = {"zombie", NEXT(RELEASED)},
};
#undef NEXT
static const struct drv_lifecycle lifecycle = {"client", sizeof(states) / sizeof(states[0]), states};

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

/* A handler's arguments have the sizes of the dispatch table and no NULL; it copies each struct once. */
typedef IOReturn (*handler)(struct drv_client *client, struct IOExternalMethodArguments *args);

static IOReturn device_open(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    struct drv *d = client->driver;
    struct ane_device_info info;
    uint32_t usage;

    memcpy(&info, args->structureInput, sizeof(info));
    usage = info.token & 0xff;
    if (usage == ANE_USAGE_UNSUPPORTED)
        return drv_refuse(d, ANE_RETURN_USAGE_REFUSED, "Device open: usage 2 is not supported.");
    if (usage != ANE_USAGE_STANDARD)
        return drv_refuse(d, kIOReturnBadArgument, "Device open: usage %u is neither 1 nor 2.", usage);
    if (info.timeout > DRV_TIMEOUT_MS_MAX)
        return drv_refuse(d, kIOReturnBadArgument,
                          "Device open: a timeout of %" PRIu64 " ms; the limit is %u.", info.timeout,
                          DRV_TIMEOUT_MS_MAX);
    if (client->state != DRV_CLIENT_NEW)
        return drv_refuse(d, kIOReturnBusy, "Device open: the client is open already.");
    set_state(client, DRV_CLIENT_OPEN);
    client->token = ++d->token;
    client->timeout_ns = (info.timeout ? info.timeout : DRV_DEFAULT_TIMEOUT_MS) * DRV_MS;
    info.token = client->token;
    memset(info.reserved0, 0, sizeof(info.reserved0));
    info.version[0] = PR_DEVICE_INFO_VERSION;
    info.version[1] = PR_DEVICE_INFO_VERSION_HI;
    info.engines = PR_DEVICE_ENGINES;
    info.reserved1 = 0;
    info.cpu_subtype = PR_DEVICE_CPU_SUBTYPE;
    memcpy(args->structureOutput, &info, sizeof(info));
    return kIOReturnSuccess;
}

static bool tear_down(struct drv_client *client);

/* The session ends; the handle stays, closed, until it is given back. */
static IOReturn device_close(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    (void)args;
    if (client->calls > 1 || client->busy)
        return drv_refuse(client->driver, kIOReturnBusy, "Device close: the client has calls under way.");
    set_state(client, DRV_CLIENT_CLOSED);
    tear_down(client);
    return kIOReturnSuccess;
}

IOReturn drv_client_check_session(const struct drv_client *client, uint64_t session)
{
    if (!session || session == client->token)
        return kIOReturnSuccess;
    return drv_refuse(client->driver, kIOReturnBadArgument,
                      "Session 0x%" PRIx64 " is not this connection's; device open gave 0x%" PRIx64 ".",
                      session, client->token);
}

static IOReturn send_request(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    struct ane_request_reply reply;
    struct ane_request request;
    IOReturn result;

    if (args->asyncWakePort)
        return drv_refuse(client->driver, kIOReturnUnsupported,
                          "Requests that complete at a wake port are not served yet.");
    memcpy(&request, args->structureInput, sizeof(request));
    result = drv_client_check_session(client, request.session);
    if (result)
        return result;
    result = drv_request_send(client, args->scalarInput[0], &request, &reply);
    memcpy(args->structureOutput, &reply, sizeof(reply));
    return result;
}

static IOReturn program_create(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    struct ane_program_create create;
    IOReturn result;

    memcpy(&create, args->structureInput, sizeof(create));
    result = drv_client_check_session(client, create.session);
    return result ? result : drv_program_create(client, &create);
}

static IOReturn program_prepare(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    struct ane_program_prepare prepare;
    IOReturn result;

    memcpy(&prepare, args->structureInput, sizeof(prepare));
    result = drv_client_check_session(client, prepare.session);
    if (!result)
        result = drv_program_prepare(client, &prepare);
    if (!result)
        memcpy(args->structureOutput, &prepare, sizeof(prepare));
    return result;
}

static IOReturn program_unprepare(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    struct ane_program_prepare prepare;
    IOReturn result;

    memcpy(&prepare, args->structureInput, sizeof(prepare));
    result = drv_client_check_session(client, prepare.session);
    return result ? result : drv_program_unprepare(client, &prepare);
}

static IOReturn program_destroy(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    struct ane_program_destroy destroy;
    IOReturn result;

    memcpy(&destroy, args->structureInput, sizeof(destroy));
    result = drv_client_check_session(client, destroy.session);
    return result ? result : drv_program_destroy(client, &destroy);
}

static IOReturn check_map(struct drv_client *client, const struct ane_memory_map *map)
{
    bool zero = true;

    for (size_t i = 0; i < sizeof(map->reserved); i++)
        zero = zero && !map->reserved[i];
    if (!zero || map->token != client->token)
        return drv_refuse(client->driver, kIOReturnBadArgument,
                          "Memory map: the token must be the session's, reserved bytes 0.");
    return kIOReturnSuccess;
}

/* The scalar is a word of flags whose meaning is unknown: only 0 is accepted. */
static IOReturn memory_map(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    struct drv *d = client->driver;
    struct drv_deadline deadline = {.ns = client->timeout_ns};
    struct drv_mapping *mapping = NULL;
    struct ane_memory_map map;
    IOReturn result;

    memcpy(&map, args->structureInput, sizeof(map));
    result = check_map(client, &map);
    if (result)
        return result;
    if (args->scalarInput[0] ||
        (map.usage != PR_USAGE_INPUT && map.usage != PR_USAGE_OUTPUT && map.usage != PR_USAGE_INTERMEDIATE))
        return drv_refuse(d, kIOReturnBadArgument,
                          "Memory map: usage %u is not a client's (1, 2 or 7), or the scalar is not 0.",
                          map.usage);
    drv_client_busy(client);
    result = drv_domain_lend(client, &deadline);
    if (!result)
        result = drv_surface_map(client, map.surface, map.usage, false, &mapping);
    if (!result && (map.size == 0 || map.offset > mapping->bytes || map.size > mapping->bytes - map.offset))
        result =
            drv_refuse(d, kIOReturnBadArgument,
                       "Memory map: %" PRIu64 " bytes at %" PRIu64 " of surface %u, which has %" PRIu64 ".",
                       map.size, map.offset, map.surface, mapping->bytes);
    if (!result) {
        mapping->pins++;
        client->pinned++;
        drv_domain_keep(client);
        args->scalarOutput[0] = mapping->iova + map.offset;
    }
    drv_client_idle(client);
    return result;
}

static IOReturn memory_unmap(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    struct drv *d = client->driver;
    struct drv_mapping *mapping;
    struct ane_memory_map map;
    IOReturn result;

    memcpy(&map, args->structureInput, sizeof(map));
    result = check_map(client, &map);
    if (result)
        return result;
    mapping = drv_surface_at(client, map.surface, map.address);
    if (!mapping)
        return drv_refuse(d, kIOReturnBadArgument, "Memory unmap: surface %u is not mapped at 0x%" PRIx64 ".",
                          map.surface, map.address);
    if (mapping->uses && mapping->pins == 1)
        return drv_refuse(d, kIOReturnBusy, "Memory unmap: requests still use surface %u.", map.surface);
    client->pinned--;
    if (--mapping->pins == 0)
        drv_surface_unmap(client, mapping);
    drv_domain_freed(d);
    return kIOReturnSuccess;
}

/* Dispatch: the exact sizes of the tables, and a handler for what is implemented. */

struct method {
    const char *name;
    uint32_t scalar_in, struct_in, scalar_out, struct_out;
};

#define X(selector, name, scalar_in, struct_in, scalar_out, struct_out) CONTROL_##name = selector,
enum control_selector { ANE_CONTROL_SELECTORS(X) };
#undef X
#define X(selector, name, scalar_in, struct_in, scalar_out, struct_out) DIRECT_##name = selector,
enum direct_selector { ANE_DIRECT_SELECTORS(X) };
#undef X
#define X(selector, name, scalar_in, struct_in, scalar_out, struct_out) \
    [selector] = {#name, scalar_in, struct_in, scalar_out, struct_out},
static const struct method control_methods[] = {ANE_CONTROL_SELECTORS(X)};
static const struct method direct_methods[] = {ANE_DIRECT_SELECTORS(X)};
#undef X
#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* A selector without a handler is not served. */
static const handler control_handlers[COUNT(control_methods)] = {
    [CONTROL_ANE_DeviceOpen] = device_open,
    [CONTROL_ANE_DeviceClose] = device_close,
    [CONTROL_ANE_ProgramSendRequest] = send_request,
    [CONTROL_ANE_ProgramCreate] = program_create,
    [CONTROL_ANE_ProgramPrepare] = program_prepare,
    [CONTROL_ANE_ProgramUnprepare] = program_unprepare,
    [CONTROL_ANE_ProgramDestroy] = program_destroy,
    [CONTROL_ANE_ProgramCreateInstance] = drv_instance_create,
    [CONTROL_ANE_ProgramChainingPrepare] = drv_chaining_prepare,
};
static const handler direct_handlers[COUNT(direct_methods)] = {
    [DIRECT_ANE_DeviceOpen] = device_open,
    [DIRECT_ANE_DeviceClose] = device_close,
    [DIRECT_ANE_ProgramSendRequest] = send_request,
    [DIRECT_ANE_MemoryMapRequest] = memory_map,
    [DIRECT_ANE_MemoryUnMapRequest] = memory_unmap,
    [DIRECT_ANE_ProgramOutputSetEnqueue] = drv_chaining_enqueue,
    [DIRECT_ANE_ProgramInputsReady] = drv_chaining_ready,
    [DIRECT_ANE_ProgramChainingSetActiveProcedure] = drv_chaining_activate,
};
_Static_assert(COUNT(control_methods) == 17 && COUNT(direct_methods) == 9, "Tables 27.2 and 27.4");

static bool sizes_match(const struct method *method, const struct IOExternalMethodArguments *args)
{
    return args->scalarInputCount == method->scalar_in && args->structureInputSize == method->struct_in &&
           args->scalarOutputCount == method->scalar_out && args->structureOutputSize == method->struct_out;
}

/* A pointer wherever a size is not 0. */
static bool pointers_match(const struct method *method, const struct IOExternalMethodArguments *args)
{
    return (!method->scalar_in || args->scalarInput) && (!method->struct_in || args->structureInput) &&
           (!method->scalar_out || args->scalarOutput) && (!method->struct_out || args->structureOutput);
}

/*
 * A hint client has no selectors yet; a number at or past the end is a bad argument, as in IOKit's
 * dispatcher.
 */
static IOReturn look_up(const struct drv_client *client, uint32_t selector, const struct method **method,
                        handler *run)
{
    bool control = client->type == ANE_CLIENT_CONTROL, direct = client->type == ANE_CLIENT_DIRECT_PATH;

    if (selector >= (control ? COUNT(control_methods) : direct ? COUNT(direct_methods) : 0))
        return kIOReturnBadArgument;
    *method = control ? &control_methods[selector] : &direct_methods[selector];
    *run = control ? control_handlers[selector] : direct_handlers[selector];
    return kIOReturnSuccess;
}

static IOReturn dispatch(struct drv_client *client, uint32_t selector, struct IOExternalMethodArguments *args)
{
    const struct method *method;
    handler run;

    if (look_up(client, selector, &method, &run))
        return drv_refuse(client->driver, kIOReturnBadArgument,
                          "Selector %u does not exist on a client of type %u.", selector, client->type);
    if (!sizes_match(method, args))
        return drv_refuse(client->driver, kIOReturnBadArgument,
                          "%s: sizes (%u, %u, %u, %u) are not (%u, %u, %u, %u).", method->name,
                          args->scalarInputCount, args->structureInputSize, args->scalarOutputCount,
                          args->structureOutputSize, method->scalar_in, method->struct_in, method->scalar_out,
                          method->struct_out);
    if (!pointers_match(method, args))
        return drv_refuse(client->driver, kIOReturnBadArgument, "%s: an argument is NULL.", method->name);
    if (!run)
        return drv_refuse(client->driver, kIOReturnUnsupported, "%s is not served.", method->name);
    if (run != device_open && client->state == DRV_CLIENT_NEW)
        return drv_refuse(client->driver, kIOReturnNotReady, "%s before ANE_DeviceOpen.", method->name);
    return run(client, args);
}

/* The life of a handle. */

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

    if (!client->idle && drv_wait(d, &client->idle, &timer)) {
        SOC_TRACE(d->platform.trace, DRV_CLIENT_KEPT, client->number);
        drv_request_leave_bands(client);
        return false;
    }
    count_busy(client, 1); /* its domain is not lent to another meanwhile */
    drv_program_leave_all(client);
    drv_surface_unmap_all(client, true);
    drv_domain_return(client);
    count_busy(client, -1);
    return true;
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
    drv_program_reap(d);
}

void drv_client_busy(struct drv_client *client)
{
    count_busy(client, 1);
}

void drv_client_idle(struct drv_client *client)
{
    count_busy(client, -1);
    if (client->idle)
        drv_domain_freed(client->driver);
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

    if (!d->running)
        return drv_refuse(d, kIOReturnNotReady, "The device has not started.");
    if (type != ANE_CLIENT_CONTROL && type != ANE_CLIENT_DIRECT_PATH && type != ANE_CLIENT_HINTS)
        return drv_refuse(d, kIOReturnBadArgument, "There is no client of type %u.", type);
    if (!identity->may_open)
        return drv_refuse(d, kIOReturnUnsupported,
                          "The caller does not hold com.apple.ane.iokit-user-access.");
    made = base_alloc(sizeof(*made));
    if (!made)
        return drv_refuse(d, kIOReturnNoMemory, "No memory for a client.");
    made->driver = d;
    made->identity = *identity;
    made->type = type;
    made->number = ++d->client_number;
    made->idle = true;
    made->timeout_ns = DRV_DEFAULT_TIMEOUT_MS * DRV_MS;
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
    drv_gate_enter(&d->gate, &d->platform);
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

    drv_gate_enter(&d->gate, &d->platform);
    set_state(client, DRV_CLIENT_RELEASED);
    client->ended = &ended;
    client->calls++;
    drv_request_abort_all(client);
    drv_waiter_wake_client(&d->domain_waiters, client);
    drv_client_leave(client);
    /* Calls of other threads, or an eviction, may still be inside; the last of them ends the client. */
    if (!ended)
        drv_wait(d, &ended, NULL);
    reap_all(d);
    drv_gate_leave(&d->gate);
}

IOReturn drv_client_call(struct drv_client *client, uint32_t selector,
                         struct IOExternalMethodArguments *arguments, struct base_error *error)
{
    struct drv *d = client->driver;
    IOReturn result;

    if (!arguments)
        return kIOReturnBadArgument;
    client->calls++;
    drv_gate_enter(&d->gate, &d->platform);
    d->error = error;
    result = drv_client_is_closed(client)
                 ? drv_refuse(d, ANE_RETURN_CLOSED, "Client %u is closed.", client->number)
                 : dispatch(client, selector, arguments);
    d->error = NULL;
    drv_client_leave(client);
    drv_gate_leave(&d->gate);
    return result;
}

void drv_client_drop_all(struct drv *d)
{
    while (d->clients) {
        struct drv_client *client = d->clients;

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
