/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wider method catalogue of Table 27.5, on a machine with its firmware: for every method its gate, its
 * exact sizes and its effect.
 */
#include "support.h"

#include <string.h>

#include <anemone/catalogue.h>
#include <anemone/iokit.h>

#include "driver/state.h"
#include "drvrig.h"
#include "iorig.h"
#include "protocol/commands.h"

#define METHODS 29u

static struct ane_machine *machine;
static io_service_t service;
static ane_task_t plain_task, raw_task;
static struct iorig_client plain, raw; /* direct-path clients of two tasks */

static int make(void **state)
{
    const char *const keys[] = {"com.apple.ane.iokit-user-access", "com.apple.ane.memory",
                                "privileged-virtual-machine-access"};

    (void)state;
    machine = iorig_machine((struct ane_machine_config){.clock = ANE_CLOCK_CLOSED});
    service = ane_machine_service(machine);
    plain_task = ane_task_create(keys, 2, NULL, NULL);
    raw_task = ane_task_create(keys, 3, NULL, NULL);
    assert_int_equal(iorig_open(service, plain_task, ANE_CLIENT_DIRECT_PATH, &plain), kIOReturnSuccess);
    assert_int_equal(iorig_open(service, raw_task, ANE_CLIENT_DIRECT_PATH, &raw), kIOReturnSuccess);
    return 0;
}

static int drop(void **state)
{
    (void)state;
    ane_machine_destroy(machine);
    ane_task_release(plain_task);
    ane_task_release(raw_task);
    return 0;
}

static void expect_error(const char *text)
{
    if (!strstr(ane_machine_error(), text))
        fail_msg("\"%s\" does not say \"%s\"", ane_machine_error(), text);
}

/* A call of scalars alone; one scalar comes back where the method has one. */
static IOReturn call(const struct iorig_client *client, uint32_t method, const uint64_t *in, uint32_t count,
                     uint64_t *out)
{
    uint32_t outputs = out ? 1 : 0;

    return ane_catalogue_call(client->connect, method, in, count, NULL, 0, out, out ? &outputs : NULL, NULL,
                              NULL);
}

static IOReturn call_with(const struct iorig_client *client, uint32_t method, uint64_t value)
{
    return call(client, method, &value, 1, NULL);
}

/* The names of Table 27.5 in its order, and what the seeds gate: registers, command injection, exclave. */
static const struct {
    const char *name;
    uint32_t sizes[4]; /* chosen: docs/abi.md */
    bool raw;
} table[METHODS] = {
    {"PowerOn", {0, 0, 0, 0}, false},
    {"PowerOff", {0, 0, 0, 0}, false},
    {"IsPowered", {0, 0, 1, 0}, false},
    {"LoadFirmware", {3, 0, 0, 0}, false},
    {"ForgetFirmware", {0, 0, 0, 0}, false},
    {"SendCommand", {0, 1040, 0, 1040}, true},
    {"SetPowerManagement", {1, 0, 0, 0}, false},
    {"SetDynamicPowerGating", {1, 0, 0, 0}, false},
    {"SetPowerGatingHysteresisTime", {1, 0, 0, 0}, false},
    {"SetThrottlingPercentage", {1, 0, 0, 0}, false},
    {"SetDARTCacheTTL", {1, 0, 0, 0}, false},
    {"FlushInactiveDARTMappings", {0, 0, 1, 0}, false},
    {"UnmapDartBuffers", {1, 0, 1, 0}, false},
    {"ReadANERegister", {1, 0, 1, 0}, true},
    {"WriteANERegister", {2, 0, 0, 0}, true},
    {"FWSharedEventDoorbellRing", {1, 0, 0, 0}, false},
    {"AddPersistentClient", {0, 0, 0, 0}, false},
    {"RemovePersistentClient", {0, 0, 0, 0}, false},
    {"MPMMemoryMapRequest", {1, 2080, 1, 0}, false},
    {"MPMMemoryUnmapRequest", {0, 2080, 0, 0}, false},
    {"ExclaveCycle", {0, 0, 0, 0}, true},
    {"ExclaveLoad", {1, 0, 0, 0}, true},
    {"ExclaveEvaluate", {1, 0, 0, 0}, true},
    {"ExclaveUnload", {1, 0, 0, 0}, true},
    {"ExclaveReadPropertyValue", {1, 0, 1, 0}, true},
    {"ExclaveWritePropertyValue", {2, 0, 0, 0}, true},
    {"GetClientsInfo", {1, 0, 0, 528}, false},
    {"ShowSharedMemoryAllocations", {1, 0, 0, 528}, false},
    {"ShowModelMemoryStatus", {1, 0, 0, 528}, false},
};

static uint8_t bytes_in[4096], bytes_out[4096];

static IOReturn call_sized(io_connect_t connect, uint32_t method, const uint32_t sizes[4])
{
    uint64_t in[8] = {0}, out[8];
    uint32_t outputs = sizes[2];
    size_t bytes = sizes[3];

    return ane_catalogue_call(connect, method, in, sizes[0], bytes_in, sizes[1], out, &outputs, bytes_out,
                              &bytes);
}

static void sizes_are_exact(void **state)
{
    uint32_t sizes[4];

    (void)state;
    for (uint32_t i = 0; i < METHODS; i++) {
        for (unsigned which = 0; which < 4; which++)
            for (int by = -1; by <= 1; by++) {
                memcpy(sizes, table[i].sizes, sizeof(sizes));
                sizes[which] = by ? sizes[which] + (uint32_t)by : 0xffffffff;
                if (call_sized(raw.connect, ANE_CATALOGUE_FIRST + i, sizes) != kIOReturnBadArgument)
                    fail_msg("%s takes (%u, %u, %u, %u)", table[i].name, sizes[0], sizes[1], sizes[2],
                             sizes[3]);
                expect_error(table[i].name);
            }
    }
    /* NULL where a size is not 0. */
    assert_int_equal(ane_catalogue_call(raw.connect, ANE_CATALOGUE_SetDARTCacheTTL, NULL, 1, NULL, 0, NULL,
                                        NULL, NULL, NULL),
                     kIOReturnBadArgument);
    assert_int_equal(call(&raw, ANE_CATALOGUE_IsPowered, NULL, 0, NULL), kIOReturnBadArgument);
}

static void the_second_property_is_a_gate(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < METHODS; i++) {
        IOReturn without = call_sized(plain.connect, ANE_CATALOGUE_FIRST + i, table[i].sizes);
        IOReturn with;

        if ((without == kIOReturnNotPrivileged) != table[i].raw)
            fail_msg("%s without the property: 0x%x", table[i].name, (unsigned)without);
        if (table[i].raw)
            expect_error(table[i].name);
        with = call_sized(raw.connect, ANE_CATALOGUE_FIRST + i, table[i].sizes);
        if (with == kIOReturnNotPrivileged)
            fail_msg("%s with the property", table[i].name);
    }
}

static void only_open_direct_path_clients_have_methods(void **state)
{
    struct iorig_client control;
    io_connect_t fresh;

    (void)state;
    assert_int_equal(iorig_open(service, 0, ANE_CLIENT_CONTROL, &control), kIOReturnSuccess);
    assert_int_equal(IOServiceOpen(service, 0, ANE_CLIENT_DIRECT_PATH, &fresh), kIOReturnSuccess);
    for (uint32_t i = 0; i < METHODS; i++) {
        assert_int_equal(call_sized(control.connect, ANE_CATALOGUE_FIRST + i, table[i].sizes),
                         kIOReturnBadArgument);
        assert_int_equal(call_sized(fresh, ANE_CATALOGUE_FIRST + i, table[i].sizes), kIOReturnNotReady);
    }
    assert_int_equal(call_sized(raw.connect, ANE_CATALOGUE_FIRST + METHODS, table[0].sizes),
                     kIOReturnBadArgument);
    assert_int_equal(call_sized(raw.connect, ANE_CATALOGUE_FIRST - 1, table[0].sizes), kIOReturnBadArgument);
    assert_int_equal(call_sized(raw.connect, 0, table[0].sizes), kIOReturnBadArgument);
    /* A method's number is not a selector. */
    assert_int_equal(
        IOConnectCallMethod(raw.connect, ANE_CATALOGUE_PowerOn, NULL, 0, NULL, 0, NULL, NULL, NULL, NULL),
        kIOReturnBadArgument);
    assert_int_equal(call_sized(0x7fffffff, ANE_CATALOGUE_FIRST, table[0].sizes), kIOReturnBadArgument);
    IOServiceClose(fresh);
    assert_int_equal(call_sized(fresh, ANE_CATALOGUE_FIRST, table[0].sizes), ANE_RETURN_CLOSED);
}

static void power_is_the_firmwares(void **state)
{
    struct ane_machine_map map = {.size = sizeof(map)};
    uint64_t powered = 7;

    (void)state;
    assert_int_equal(call(&plain, ANE_CATALOGUE_IsPowered, NULL, 0, &powered), kIOReturnSuccess);
    assert_int_equal(powered, 1);
    assert_int_equal(call(&plain, ANE_CATALOGUE_PowerOn, NULL, 0, NULL), kIOReturnSuccess);
    assert_int_equal(call(&plain, ANE_CATALOGUE_PowerOff, NULL, 0, NULL), kIOReturnSuccess);
    assert_int_equal(call(&plain, ANE_CATALOGUE_IsPowered, NULL, 0, &powered), kIOReturnSuccess);
    assert_int_equal(powered, 0); /* it sleeps, and is not woken by the question */
    assert_int_equal(call(&plain, ANE_CATALOGUE_PowerOn, NULL, 0, NULL), kIOReturnSuccess);
    assert_int_equal(call(&plain, ANE_CATALOGUE_IsPowered, NULL, 0, &powered), kIOReturnSuccess);
    assert_int_equal(powered, 1);
    assert_int_equal(call_with(&plain, ANE_CATALOGUE_SetDynamicPowerGating, 2), kIOReturnBadArgument);
    assert_int_equal(call_with(&plain, ANE_CATALOGUE_SetDynamicPowerGating, 1), kIOReturnSuccess);
    assert_int_equal(call_with(&plain, ANE_CATALOGUE_SetDynamicPowerGating, 0), kIOReturnSuccess);
    assert_int_equal(call_with(&plain, ANE_CATALOGUE_SetPowerManagement, 2), kIOReturnBadArgument);
    assert_int_equal(call_with(&plain, ANE_CATALOGUE_SetPowerManagement, 1), kIOReturnUnsupported);
    expect_error("ANE_SetPowerManagement");
    assert_int_equal(call_with(&plain, ANE_CATALOGUE_SetPowerGatingHysteresisTime, 3600001),
                     kIOReturnBadArgument);
    assert_int_equal(call_with(&plain, ANE_CATALOGUE_SetPowerGatingHysteresisTime, 5), kIOReturnUnsupported);
    expect_error("ANE_SetPowerGatingHysteresisTime");
    assert_int_equal(call_with(&plain, ANE_CATALOGUE_SetThrottlingPercentage, 101), kIOReturnBadArgument);
    assert_int_equal(call_with(&plain, ANE_CATALOGUE_SetThrottlingPercentage, 100), kIOReturnUnsupported);
    expect_error("ANE_SetThrottlingPercentage");
    /* A power state that is switched off behind the driver is seen. */
    assert_int_equal(ane_machine_map(machine, &map), 0);
    ane_machine_write32(machine, map.pmu, 0x300);
    assert_int_equal(call(&plain, ANE_CATALOGUE_IsPowered, NULL, 0, &powered), kIOReturnSuccess);
    assert_int_equal(powered, 0);
}

/* Forgotten: the device sleeps, and its next use boots it again. */
static void the_firmware_is_forgotten_and_loaded(void **state)
{
    const uint64_t three[3] = {0, 0, 3}, none[3] = {0, 0, 0};
    uint64_t powered = 7;

    (void)state;
    assert_int_equal(call(&plain, ANE_CATALOGUE_ForgetFirmware, NULL, 0, NULL), kIOReturnSuccess);
    assert_int_equal(call(&plain, ANE_CATALOGUE_IsPowered, NULL, 0, &powered), kIOReturnSuccess);
    assert_int_equal(powered, 0);
    assert_int_equal(call(&plain, ANE_CATALOGUE_LoadFirmware, three, 3, NULL), kIOReturnBadArgument);
    expect_error("the words must be 0");
    assert_int_equal(call(&plain, ANE_CATALOGUE_LoadFirmware, none, 3, NULL), kIOReturnSuccess);
    assert_int_equal(call(&plain, ANE_CATALOGUE_IsPowered, NULL, 0, &powered), kIOReturnSuccess);
    assert_int_equal(powered, 1);
}

static IOReturn send(struct ane_command *command)
{
    size_t size = sizeof(*command);

    return ane_catalogue_call(raw.connect, ANE_CATALOGUE_SendCommand, NULL, 0, command, sizeof(*command),
                              NULL, NULL, command, &size);
}

static void commands_are_injected(void **state)
{
    struct ane_command ping = {.id = PR_CMD_PING};
    struct ane_command resources = {.id = PR_CMD_RESOURCE_INFO_GET, .bytes = 0x5c};
    struct ane_command small = {.id = PR_CMD_RESOURCE_INFO_GET, .bytes = 4};
    struct ane_command unknown = {.id = PR_CMD_EXCLAVE_MODE_STOP};
    uint32_t words[7];

    (void)state;
    assert_int_equal(send(&ping), kIOReturnSuccess);
    assert_int_equal(ping.status, 0);
    /* Command facts 4.2 with the seeds' limits: 144 programs, 288 processes; one engine in the last word. */
    assert_int_equal(send(&resources), kIOReturnSuccess);
    memcpy(words, resources.body, sizeof(words));
    assert_int_equal(words[0], 144);
    assert_int_equal(words[1], 288);
    assert_int_equal(words[6], 1);
    /* The firmware's own refusals. */
    assert_int_equal(send(&small), kIOReturnBadArgument);
    expect_error("RESOURCE_INFO_GET");
    assert_int_equal(send(&unknown), kIOReturnUnsupported);
    expect_error("EXCLAVE_MODE_STOP");
}

static void commands_that_break_the_driver_are_refused(void **state)
{
    static const uint32_t ids[] = {PR_CMD_LOAD_PROGRAM,    PR_CMD_UNLOAD_PROGRAM,
                                   PR_CMD_CREATE_PROCESS,  PR_CMD_TERMINATE_PROCESS,
                                   PR_CMD_PROCEDURE_CALL,  PR_CMD_PREMAP_BUFFER,
                                   PR_CMD_PROGRAM_EVENT,   PR_CMD_REQUEST_PROGRAM_ID,
                                   PR_CMD_START,           PR_CMD_STOP,
                                   PR_CMD_RESET,           PR_CMD_SUSPEND,
                                   PR_CMD_POWER_DOWN,      PR_CMD_SET_SNE_PMU_BASE2,
                                   PR_CMD_IPC_ENDPOINT_SET};
    struct ane_command command;
    struct iorig_accumulator a;

    (void)state;
    iorig_accumulator_make(&a, service, 4, 16);
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        command = (struct ane_command){.id = ids[i], .bytes = 16};
        if (send(&command) != kIOReturnNotPermitted)
            fail_msg("%s is sent", pr_command_name(ids[i]));
        expect_error(pr_command_name(ids[i]));
    }
    command = (struct ane_command){.id = 0x7777};
    assert_int_equal(send(&command), kIOReturnBadArgument);
    expect_error("0x7777");
    command = (struct ane_command){.id = PR_CMD_PING, .bytes = ANE_COMMAND_BODY + 1};
    assert_int_equal(send(&command), kIOReturnBadArgument);
    command = (struct ane_command){.id = PR_CMD_PING, .bytes = 0xffffffff};
    assert_int_equal(send(&command), kIOReturnBadArgument);
    command = (struct ane_command){.id = PR_CMD_PING, .status = 1};
    assert_int_equal(send(&command), kIOReturnBadArgument);
    command = (struct ane_command){.id = PR_CMD_PING, .bytes = 4, .body = {[4] = 1}};
    assert_int_equal(send(&command), kIOReturnBadArgument);
    /* Every id with the largest body leaves the device usable. */
    for (uint32_t id = 0; id < 0x500; id++) {
        command = (struct ane_command){.id = id, .bytes = ANE_COMMAND_BODY};
        send(&command);
    }
    assert_int_equal(iorig_accumulator_step(&a), kIOReturnSuccess);
    assert_int_equal((int)iorig_accumulator_value(&a), 1);
    iorig_accumulator_release(&a);
}

/* A surface of the task, mapped by a request-like binding: selector 5 and its unmapping leave none. */
static uint64_t map_surface(const struct iorig_client *client, uint32_t surface)
{
    struct ane_memory_map map = {.token = client->session,
                                 .surface = surface,
                                 .usage = ANE_MAP_INPUT,
                                 .size = ane_surface_lookup(surface)};
    const uint64_t zero = 0;
    uint64_t address = 0;
    uint32_t outputs = 1;

    assert_int_equal(IOConnectCallMethod(client->connect, ANE_DIRECT_MemoryMapRequest, &zero, 1, &map,
                                         sizeof(map), &address, &outputs, NULL, NULL),
                     kIOReturnSuccess);
    return address;
}

static struct ane_allocations allocations(const struct iorig_client *client, uint64_t first)
{
    struct ane_allocations list;
    size_t size = sizeof(list);

    assert_int_equal(ane_catalogue_call(client->connect, ANE_CATALOGUE_ShowSharedMemoryAllocations, &first, 1,
                                        NULL, 0, NULL, NULL, &list, &size),
                     kIOReturnSuccess);
    return list;
}

/* A program that a control client of the process made and a direct-path client of the process runs. */
static void run_once(const struct iorig_client *direct, const struct iorig_accumulator *a)
{
    const uint32_t surfaces[] = {a->x, a->state, a->state};
    struct ane_request_reply reply;

    assert_int_equal(iorig_request(direct, a->token, 0, 5, surfaces, 2, 1, &reply), kIOReturnSuccess);
}

static void idle_mappings_are_flushed(void **state)
{
    struct iorig_client direct;
    struct iorig_accumulator a;
    uint64_t count = 99, surface;
    uint32_t other;

    (void)state;
    assert_int_equal(iorig_open(service, 0, ANE_CLIENT_DIRECT_PATH, &direct), kIOReturnSuccess);
    iorig_accumulator_make(&a, service, 4, 16);
    assert_int_equal(call(&direct, ANE_CATALOGUE_FlushInactiveDARTMappings, NULL, 0, &count),
                     kIOReturnSuccess);
    assert_int_equal(count, 0);
    run_once(&direct, &a);
    /* Input x, and the state as input and as output. */
    assert_int_equal(allocations(&direct, 0).total, 3);
    assert_int_equal(call(&direct, ANE_CATALOGUE_FlushInactiveDARTMappings, NULL, 0, &count),
                     kIOReturnSuccess);
    assert_int_equal(count, 3);
    assert_int_equal(allocations(&direct, 0).total, 0);
    run_once(&direct, &a);
    surface = a.state;
    assert_int_equal(call(&direct, ANE_CATALOGUE_UnmapDartBuffers, &surface, 1, &count), kIOReturnSuccess);
    assert_int_equal(count, 2);
    assert_int_equal(call(&direct, ANE_CATALOGUE_UnmapDartBuffers, &surface, 1, &count),
                     kIOReturnBadArgument);
    surface = 0;
    assert_int_equal(call(&direct, ANE_CATALOGUE_UnmapDartBuffers, &surface, 1, &count),
                     kIOReturnBadArgument);
    surface = 1ull << 32 | a.x;
    assert_int_equal(call(&direct, ANE_CATALOGUE_UnmapDartBuffers, &surface, 1, &count),
                     kIOReturnBadArgument);
    /* What selector 5 has mapped is in use. */
    assert_int_equal(ane_surface_create(0, 0x4000, &other), 0);
    map_surface(&direct, other);
    surface = other;
    assert_int_equal(call(&direct, ANE_CATALOGUE_UnmapDartBuffers, &surface, 1, &count), kIOReturnBusy);
    assert_int_equal(call(&direct, ANE_CATALOGUE_FlushInactiveDARTMappings, NULL, 0, &count),
                     kIOReturnSuccess);
    assert_int_equal(count, 1);
    assert_int_equal(allocations(&direct, 0).total, 1);
    /* Three runs so far, and one more: x is 1. */
    run_once(&direct, &a);
    assert_int_equal((int)iorig_accumulator_value(&a), 3);
    IOServiceClose(direct.connect);
    iorig_accumulator_release(&a);
    ane_surface_release(other);
}

static void registers_are_read_and_written(void **state)
{
    const uint64_t scratch = 0x1840048 + 4 * 6; /* command facts 6: scratch 6 */
    struct ane_machine_map map = {.size = sizeof(map)};
    uint64_t pair[2] = {scratch, 0xcafe1234}, value = 0, bad;

    (void)state;
    assert_int_equal(ane_machine_map(machine, &map), 0);
    assert_int_equal(call(&raw, ANE_CATALOGUE_WriteANERegister, pair, 2, NULL), kIOReturnSuccess);
    assert_int_equal(ane_machine_read32(machine, map.container + scratch), 0xcafe1234);
    assert_int_equal(call(&raw, ANE_CATALOGUE_ReadANERegister, &scratch, 1, &value), kIOReturnSuccess);
    assert_int_equal(value, 0xcafe1234);
    for (bad = 1; bad < 4; bad++)
        assert_int_equal(call(&raw, ANE_CATALOGUE_ReadANERegister, &bad, 1, &value), kIOReturnBadArgument);
    bad = map.container_bytes;
    assert_int_equal(call(&raw, ANE_CATALOGUE_ReadANERegister, &bad, 1, &value), kIOReturnBadArgument);
    bad = UINT64_MAX - 3;
    assert_int_equal(call(&raw, ANE_CATALOGUE_ReadANERegister, &bad, 1, &value), kIOReturnBadArgument);
    bad = map.container_bytes - 4;
    assert_int_equal(call(&raw, ANE_CATALOGUE_ReadANERegister, &bad, 1, &value), kIOReturnSuccess);
    pair[1] = 1ull << 32;
    assert_int_equal(call(&raw, ANE_CATALOGUE_WriteANERegister, pair, 2, NULL), kIOReturnBadArgument);
    assert_int_equal(ane_machine_read32(machine, map.container + scratch), 0xcafe1234);
}

/* Raw access can stop the controller; calls that need it end with an error, and the driver closes. */
static void a_controller_that_was_stopped_is_survived(void **state)
{
    const uint64_t stop[2] = {0x1400044, 0}; /* command facts 6: CPU_CONTROL */
    struct ane_command ping = {.id = PR_CMD_PING};

    (void)state;
    assert_int_equal(call(&raw, ANE_CATALOGUE_WriteANERegister, stop, 2, NULL), kIOReturnSuccess);
    assert_int_equal(send(&ping), kIOReturnTimeout);
    expect_error("PING");
    assert_int_equal(IOServiceClose(raw.connect), kIOReturnSuccess);
}

/* On a driver without a machine, whose registers and state can be looked at. */
static struct drvrig rig;

static IOReturn rig_call(struct drv_client *client, uint32_t method, uint64_t value)
{
    struct IOExternalMethodArguments arguments = {.scalarInput = &value, .scalarInputCount = 1};

    return drv_catalogue_call(client, method, &arguments, NULL);
}

static void doorbells_are_rung(void **state)
{
    struct drv_client *client;

    (void)state;
    drvrig_make(&rig, true);
    client = drvrig_client(&rig, ANE_CLIENT_DIRECT_PATH);
    for (uint64_t index = 0; index < 32; index++) {
        rig.doorbell = 0;
        assert_int_equal(rig_call(client, ANE_CATALOGUE_FWSharedEventDoorbellRing, index), kIOReturnSuccess);
        assert_int_equal(rig.doorbell, 1u << index);
    }
    rig.doorbell = 0;
    assert_int_equal(rig_call(client, ANE_CATALOGUE_FWSharedEventDoorbellRing, 32), kIOReturnBadArgument);
    assert_int_equal(rig_call(client, ANE_CATALOGUE_FWSharedEventDoorbellRing, UINT64_MAX),
                     kIOReturnBadArgument);
    assert_int_equal(rig.doorbell, 0);
    drv_client_close(client);
    drvrig_drop(&rig);
}

static void the_cache_ttl_is_the_drivers(void **state)
{
    struct drv_client *client;

    (void)state;
    drvrig_make(&rig, true);
    client = drvrig_client(&rig, ANE_CLIENT_DIRECT_PATH);
    assert_int_equal(rig.driver->ttl_ns, 0);
    assert_int_equal(rig_call(client, ANE_CATALOGUE_SetDARTCacheTTL, 250), kIOReturnSuccess);
    assert_int_equal(rig.driver->ttl_ns, 250000000);
    assert_int_equal(rig_call(client, ANE_CATALOGUE_SetDARTCacheTTL, 3600001), kIOReturnBadArgument);
    assert_int_equal(rig.driver->ttl_ns, 250000000);
    assert_int_equal(rig_call(client, ANE_CATALOGUE_SetDARTCacheTTL, 3600000), kIOReturnSuccess);
    assert_int_equal(rig_call(client, ANE_CATALOGUE_SetDARTCacheTTL, 0), kIOReturnSuccess);
    assert_int_equal(rig.driver->ttl_ns, 0);
    drv_client_close(client);
    drvrig_drop(&rig);
}

static uint64_t persistent_clients(void)
{
    struct ane_registry_value value;

    assert_int_equal(ane_registry_property(service, "PersistentClients", &value), kIOReturnSuccess);
    return value.number;
}

static void persistent_clients_keep_the_device(void **state)
{
    (void)state;
    assert_int_equal(persistent_clients(), 0);
    assert_int_equal(call(&plain, ANE_CATALOGUE_RemovePersistentClient, NULL, 0, NULL), kIOReturnNotFound);
    assert_int_equal(call(&plain, ANE_CATALOGUE_AddPersistentClient, NULL, 0, NULL), kIOReturnSuccess);
    assert_int_equal(call(&plain, ANE_CATALOGUE_AddPersistentClient, NULL, 0, NULL), kIOReturnBusy);
    assert_int_equal(call(&raw, ANE_CATALOGUE_AddPersistentClient, NULL, 0, NULL), kIOReturnSuccess);
    assert_int_equal(persistent_clients(), 2);
    assert_int_equal(call(&raw, ANE_CATALOGUE_PowerOff, NULL, 0, NULL), kIOReturnBusy);
    assert_int_equal(call(&raw, ANE_CATALOGUE_RemovePersistentClient, NULL, 0, NULL), kIOReturnSuccess);
    assert_int_equal(persistent_clients(), 1);
    IOServiceClose(plain.connect);
    assert_int_equal(persistent_clients(), 0);
    assert_int_equal(call(&raw, ANE_CATALOGUE_PowerOff, NULL, 0, NULL), kIOReturnSuccess);
    assert_int_equal(call(&raw, ANE_CATALOGUE_PowerOn, NULL, 0, NULL), kIOReturnSuccess);
}

static void managed_memory_is_refused(void **state)
{
    (void)state;
    assert_int_equal(call_sized(plain.connect, ANE_CATALOGUE_MPMMemoryMapRequest, table[18].sizes),
                     kIOReturnUnsupported);
    expect_error("managed-memory");
    assert_int_equal(call_sized(plain.connect, ANE_CATALOGUE_MPMMemoryUnmapRequest, table[19].sizes),
                     kIOReturnUnsupported);
    expect_error("managed-memory");
}

static void the_secure_world_is_refused_by_the_firmware(void **state)
{
    (void)state;
    for (uint32_t i = 20; i < 26; i++) {
        if (call_sized(raw.connect, ANE_CATALOGUE_FIRST + i, table[i].sizes) != kIOReturnUnsupported)
            fail_msg("%s", table[i].name);
        expect_error(!strcmp(table[i].name, "ExclaveUnload") ? "EXCLAVE_MODE_STOP" : "EXCLAVE_MODE_START");
    }
}

static struct ane_clients_info clients(const struct iorig_client *client, uint64_t first)
{
    struct ane_clients_info info;
    size_t size = sizeof(info);

    assert_int_equal(ane_catalogue_call(client->connect, ANE_CATALOGUE_GetClientsInfo, &first, 1, NULL, 0,
                                        NULL, NULL, &info, &size),
                     kIOReturnSuccess);
    return info;
}

static void clients_of_other_tasks_are_hidden(void **state)
{
    struct iorig_client more[20];
    struct ane_clients_info info;
    io_connect_t fresh;

    (void)state;
    info = clients(&plain, 0);
    assert_int_equal(info.count, 1);
    assert_int_equal(info.total, 1);
    assert_int_equal(info.record[0].type, ANE_CLIENT_DIRECT_PATH);
    assert_int_equal(info.record[0].task, plain_task);
    assert_int_equal(info.record[0].flags, ANE_CLIENT_IS_OPEN);
    assert_int_equal(call(&plain, ANE_CATALOGUE_AddPersistentClient, NULL, 0, NULL), kIOReturnSuccess);
    assert_int_equal(clients(&plain, 0).record[0].flags, ANE_CLIENT_IS_OPEN | ANE_CLIENT_IS_PERSISTENT);
    assert_int_equal(clients(&raw, 0).total, 2);
    assert_int_equal(IOServiceOpen(service, plain_task, ANE_CLIENT_CONTROL, &fresh), kIOReturnSuccess);
    info = clients(&plain, 0);
    assert_int_equal(info.total, 2);
    assert_int_equal(info.record[0].type, ANE_CLIENT_CONTROL);
    assert_int_equal(info.record[0].flags, 0);
    for (unsigned i = 0; i < 20; i++)
        assert_int_equal(iorig_open(service, 0, ANE_CLIENT_CONTROL, &more[i]), kIOReturnSuccess);
    assert_int_equal(clients(&plain, 0).total, 2);
    /* 23 in all: 16, then 7, then none. */
    info = clients(&raw, 0);
    assert_int_equal(info.total, 23);
    assert_int_equal(info.count, 16);
    info = clients(&raw, 16);
    assert_int_equal(info.count, 7);
    assert_int_equal(info.record[6].task, plain_task);
    assert_int_equal(info.record[5].flags, ANE_CLIENT_IS_OPEN | ANE_CLIENT_HAS_RAW_ACCESS);
    assert_int_equal(clients(&raw, 23).count, 0);
    assert_int_equal(clients(&raw, UINT64_MAX).count, 0);
}

static void memory_of_other_tasks_is_hidden(void **state)
{
    uint32_t surface;
    uint64_t address;
    struct ane_allocations list;

    (void)state;
    assert_int_equal(ane_surface_create(plain_task, 0x8000, &surface), 0);
    address = map_surface(&plain, surface);
    list = allocations(&plain, 0);
    assert_int_equal(list.count, 1);
    assert_int_equal(list.total, 1);
    assert_int_equal(list.record[0].surface, surface);
    assert_int_equal(list.record[0].usage, ANE_MAP_INPUT);
    assert_int_equal(list.record[0].address, address);
    assert_int_equal(list.record[0].bytes, 0x8000);
    assert_int_equal(list.record[0].pins, 1);
    assert_int_equal(list.record[0].uses, 0);
    assert_int_equal(clients(&plain, 0).record[0].bytes, 0x8000);
    list = allocations(&plain, 1);
    assert_int_equal(list.count, 0);
    assert_int_equal(list.total, 1);
    /* Not even with the second access property: addresses are the task's own. */
    assert_int_equal(allocations(&raw, 0).total, 0);
    ane_surface_release(surface);
}

static struct ane_models models(const struct iorig_client *client)
{
    const uint64_t first = 0;
    struct ane_models list;
    size_t size = sizeof(list);

    assert_int_equal(ane_catalogue_call(client->connect, ANE_CATALOGUE_ShowModelMemoryStatus, &first, 1, NULL,
                                        0, NULL, NULL, &list, &size),
                     kIOReturnSuccess);
    return list;
}

static void programs_of_other_tasks_are_hidden(void **state)
{
    struct ane_registry_value resident;
    struct iorig_accumulator a;
    struct iorig_client direct;
    struct ane_models list;

    (void)state;
    assert_int_equal(iorig_open(service, 0, ANE_CLIENT_DIRECT_PATH, &direct), kIOReturnSuccess);
    assert_int_equal(models(&direct).total, 0);
    iorig_accumulator_make(&a, service, 4, 16);
    list = models(&direct);
    assert_int_equal(list.count, 1);
    assert_int_equal(list.record[0].token, a.token);
    assert_int_equal(list.record[0].engine, 0);
    assert_int_equal(list.record[0].processes, 1);
    assert_int_equal(list.record[0].descriptors, 1);
    assert_int_equal(
        ane_registry_property(ane_registry_child(ane_registry_child(ane_registry_root(service), 1), 1),
                              "ResidentBytes", &resident),
        kIOReturnSuccess);
    assert_int_equal(list.record[0].bytes, resident.number);
    assert_int_equal(models(&plain).total, 0);
    assert_int_equal(models(&raw).total, 0);
    iorig_accumulator_release(&a);
    assert_int_equal(models(&direct).total, 0);
}

#define WITH_MACHINE(test) cmocka_unit_test_setup_teardown(test, make, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_MACHINE(sizes_are_exact),
        WITH_MACHINE(the_second_property_is_a_gate),
        WITH_MACHINE(only_open_direct_path_clients_have_methods),
        WITH_MACHINE(power_is_the_firmwares),
        WITH_MACHINE(the_firmware_is_forgotten_and_loaded),
        WITH_MACHINE(commands_are_injected),
        WITH_MACHINE(commands_that_break_the_driver_are_refused),
        WITH_MACHINE(idle_mappings_are_flushed),
        WITH_MACHINE(registers_are_read_and_written),
        WITH_MACHINE(a_controller_that_was_stopped_is_survived),
        cmocka_unit_test(doorbells_are_rung),
        cmocka_unit_test(the_cache_ttl_is_the_drivers),
        WITH_MACHINE(persistent_clients_keep_the_device),
        WITH_MACHINE(managed_memory_is_refused),
        WITH_MACHINE(the_secure_world_is_refused_by_the_firmware),
        WITH_MACHINE(clients_of_other_tasks_are_hidden),
        WITH_MACHINE(memory_of_other_tasks_is_hidden),
        WITH_MACHINE(programs_of_other_tasks_are_hidden),
    };

    return cmocka_run_group_tests_name("catalogue", tests, NULL, NULL);
}
