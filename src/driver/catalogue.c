/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wider method catalogue of the direct-path client (Table 27.5). A call is judged in this order: the
 * method exists, the client is a direct-path client, exact sizes, pointers, device open, the second access
 * property. What the firmware decides is asked of the firmware, and its refusal is the answer.
 */
#include "driver/catalogue.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "driver/client.h"
#include "driver/command.h"
#include "driver/identity.h"
#include "driver/mailbox.h"
#include "driver/power.h"
#include "driver/secure.h"
#include "driver/sleep.h"
#include "driver/surface.h"
#include "protocol/catalogue.h"

#define PERCENT_MAX 100u

typedef IOReturn (*handler)(struct drv_client *client, struct IOExternalMethodArguments *args);

static void keep_status(void *context, const struct pr_command_header *reply)
{
    *(uint32_t *)context = PR_REPLY_STATUS(reply);
}

/* A command that the firmware does not have is a method that this device does not have. */
static IOReturn ask_firmware(struct drv *d, uint32_t id, void *body, uint32_t bytes)
{
    uint32_t status = PR_STATUS_OK;
    const struct drv_command_args args = {.id = id,
                                          .program = PR_NO_ID,
                                          .process = PR_NO_ID,
                                          .body = body,
                                          .bytes = bytes,
                                          .reply = keep_status,
                                          .context = &status};
    enum drv_command_end end;
    IOReturn result = drv_command_run(d, &args, &end);

    return result && status == PR_STATUS_UNKNOWN_COMMAND ? kIOReturnUnsupported : result;
}

/* Power. */

/* What a call needs is there: the device was woken for it. */
static IOReturn power_on(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    (void)client;
    (void)args;
    return kIOReturnSuccess;
}

/* The device sleeps until its next use. */
static IOReturn go_to_sleep(struct drv_client *client, const char *method)
{
    struct drv *d = client->driver;
    uint32_t persistent = drv_client_count_persistent(d);
    struct base_error error;
    int status;

    if (persistent)
        return drv_refuse(d, kIOReturnBusy, "%s: %u persistent clients keep the device resident.", method,
                          persistent);
    status = d->asleep ? 0 : drv_sleep_enter(d, &error);
    if (!status)
        return kIOReturnSuccess;
    return drv_refuse(d, status == -EBUSY ? kIOReturnBusy : kIOReturnError, "%s: %s", method, error.text);
}

static IOReturn power_off(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    (void)args;
    return go_to_sleep(client, "ANE_PowerOff");
}

static IOReturn is_powered(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    args->scalarOutput[0] = drv_power_is_on(client->driver);
    return kIOReturnSuccess;
}

static IOReturn bad_scalar(struct drv_client *client, const char *method, uint64_t value, uint64_t most)
{
    return drv_refuse(client->driver, kIOReturnBadArgument,
                      "%s: %" PRIu64 " is above the limit of %" PRIu64 ".", method, value, most);
}

static IOReturn no_command(struct drv_client *client, const char *method)
{
    return drv_refuse(client->driver, kIOReturnUnsupported,
                      "%s is not served: no source names the firmware's command for it.", method);
}

static IOReturn set_power_management(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    if (args->scalarInput[0] > 1)
        return bad_scalar(client, "ANE_SetPowerManagement", args->scalarInput[0], 1);
    return no_command(client, "ANE_SetPowerManagement");
}

static IOReturn set_power_gating(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    struct pr_body_u32 body = {(uint32_t)args->scalarInput[0]};

    if (args->scalarInput[0] > 1)
        return bad_scalar(client, "ANE_SetDynamicPowerGating", args->scalarInput[0], 1);
    return ask_firmware(client->driver, PR_CMD_SET_DYNAMIC_POWERGATE, &body, sizeof(body));
}

static IOReturn set_hysteresis(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    if (args->scalarInput[0] > DRV_TIMEOUT_MS_MAX)
        return bad_scalar(client, "ANE_SetPowerGatingHysteresisTime", args->scalarInput[0],
                          DRV_TIMEOUT_MS_MAX);
    return no_command(client, "ANE_SetPowerGatingHysteresisTime");
}

static IOReturn set_throttling(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    if (args->scalarInput[0] > PERCENT_MAX)
        return bad_scalar(client, "ANE_SetThrottlingPercentage", args->scalarInput[0], PERCENT_MAX);
    return no_command(client, "ANE_SetThrottlingPercentage");
}

/* Firmware. */

/* The image is the one that the boot loader left: what the three words would name is not known. */
static IOReturn load_firmware(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    if (args->scalarInput[0] || args->scalarInput[1] || args->scalarInput[2])
        return drv_refuse(client->driver, kIOReturnBadArgument,
                          "ANE_LoadFirmware: the words must be 0; the image is the one of the boot.");
    return kIOReturnSuccess;
}

/* Asleep, and what the firmware has retained for a warm boot is not used. */
static IOReturn forget_firmware(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    IOReturn result = go_to_sleep(client, "ANE_ForgetFirmware");

    (void)args;
    client->driver->forgotten = client->driver->forgotten || !result;
    return result;
}

/* NULL: the command may be injected. */
static const char *why_not_injected(uint32_t id)
{
    static const struct {
        uint32_t id;
        const char *why;
    } refused[] = {
#define X(command, why) {PR_CMD_##command, why},
        PR_NOT_INJECTED(X)
#undef X
    };

    for (size_t i = 0; i < BASE_COUNT_OF(refused); i++)
        if (refused[i].id == id)
            return refused[i].why;
    for (size_t i = 0; i < PR_WIRE_COUNT; i++)
        if (pr_wire_table[i].id == id && strcmp(pr_wire_table[i].family, PR_INJECTED_FAMILY) != 0)
            return "only control commands may be injected; the driver counts what the others name";
    return NULL;
}

static IOReturn check_command(const struct drv_client *client, const struct ane_command *command)
{
    struct drv *d = client->driver;
    const char *name = pr_command_name(command->id), *why = why_not_injected(command->id);

    if (command->bytes > sizeof(command->body) || command->status || command->reserved ||
        !base_is_zero(command->body + command->bytes, sizeof(command->body) - command->bytes))
        return drv_refuse(d, kIOReturnBadArgument,
                          "ANE_SendCommand: a body of %u bytes; the limit is %zu, and reserved bytes are 0.",
                          command->bytes, sizeof(command->body));
    if (!name)
        return drv_refuse(d, kIOReturnBadArgument, "ANE_SendCommand: there is no command 0x%x.", command->id);
    if (!why)
        why = drv_secure_wrong(client, command->id);
    if (why)
        return drv_refuse(d, kIOReturnNotPermitted, "ANE_SendCommand: %s (0x%x) is refused: %s.", name,
                          command->id, why);
    return kIOReturnSuccess;
}

static IOReturn send_command(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    struct ane_command command;
    IOReturn result;

    memcpy(&command, args->structureInput, sizeof(command));
    result = check_command(client, &command);
    if (!result) {
        drv_secure_claim(client, command.id);
        result = ask_firmware(client->driver, command.id, command.body, command.bytes);
        if (result)
            drv_secure_refused(client, command.id);
    }
    if (!result)
        memcpy(args->structureOutput, &command, sizeof(command));
    return result;
}

static IOReturn ring_doorbell(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    if (args->scalarInput[0] >= PR_DOORBELL_INDEX_LIMIT)
        return bad_scalar(client, "ANE_FWSharedEventDoorbellRing", args->scalarInput[0],
                          PR_DOORBELL_INDEX_LIMIT - 1);
    drv_mailbox_ring(client->driver, (uint32_t)args->scalarInput[0]);
    return kIOReturnSuccess;
}

/* Address translation. */

static IOReturn set_cache_ttl(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    if (args->scalarInput[0] > DRV_TIMEOUT_MS_MAX)
        return bad_scalar(client, "ANE_SetDARTCacheTTL", args->scalarInput[0], DRV_TIMEOUT_MS_MAX);
    drv_unwire_set_ttl(client->driver, args->scalarInput[0] * DRV_MS);
    return kIOReturnSuccess;
}

static IOReturn flush_mappings(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    args->scalarOutput[0] = drv_surface_flush(client, 0);
    return kIOReturnSuccess;
}

static IOReturn unmap_buffers(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    uint64_t surface = args->scalarInput[0];
    uint32_t count;

    if (!surface || surface > UINT32_MAX)
        return drv_refuse(client->driver, kIOReturnBadArgument,
                          "ANE_UnmapDartBuffers: %" PRIu64 " does not name a surface.", surface);
    if (drv_surface_in_use(client, (uint32_t)surface))
        return drv_refuse(
            client->driver, kIOReturnBusy,
            "ANE_UnmapDartBuffers: requests or mappings of selector 5 still use surface %" PRIu64 ".",
            surface);
    count = drv_surface_flush(client, (uint32_t)surface);
    if (!count)
        return drv_refuse(client->driver, kIOReturnBadArgument,
                          "ANE_UnmapDartBuffers: surface %" PRIu64 " is not mapped for this client.",
                          surface);
    args->scalarOutput[0] = count;
    return kIOReturnSuccess;
}

/* Registers. The second access property is the only gate: what a store does is not checked. */

static IOReturn find_register(struct drv_client *client, const char *method, uint64_t offset,
                              uint64_t *address)
{
    const struct drv_aperture *aperture = &client->driver->aperture[PR_APERTURE_ANE];

    *address = 0;
    if (offset % sizeof(uint32_t) || offset > aperture->bytes - sizeof(uint32_t))
        return drv_refuse(client->driver, kIOReturnBadArgument,
                          "%s: offset 0x%" PRIx64 " is not a multiple of 4 below 0x%" PRIx64 ".", method,
                          offset, aperture->bytes);
    *address = aperture->base + offset;
    return kIOReturnSuccess;
}

static IOReturn read_register(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    uint64_t address;
    IOReturn result = find_register(client, "ANE_ReadANERegister", args->scalarInput[0], &address);

    if (!result)
        args->scalarOutput[0] = soc_bus_read32(client->driver->platform.bus, SOC_MASTER_HOST, address);
    return result;
}

static IOReturn write_register(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    uint64_t address;
    IOReturn result = find_register(client, "ANE_WriteANERegister", args->scalarInput[0], &address);

    if (!result && args->scalarInput[1] > UINT32_MAX)
        result = bad_scalar(client, "ANE_WriteANERegister", args->scalarInput[1], UINT32_MAX);
    if (!result)
        soc_bus_write32(client->driver->platform.bus, SOC_MASTER_HOST, address,
                        (uint32_t)args->scalarInput[1]);
    return result;
}

/* Residency. */

static IOReturn add_persistent(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    (void)args;
    if (client->persistent)
        return drv_refuse(client->driver, kIOReturnBusy,
                          "ANE_AddPersistentClient: the client is persistent.");
    client->persistent = true;
    return kIOReturnSuccess;
}

static IOReturn remove_persistent(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    (void)args;
    if (!client->persistent)
        return drv_refuse(client->driver, kIOReturnNotFound,
                          "ANE_RemovePersistentClient: the client is not persistent.");
    client->persistent = false;
    return kIOReturnSuccess;
}

static IOReturn managed_memory(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    (void)args;
    return drv_refuse(client->driver, kIOReturnUnsupported,
                      "The multi-process managed-memory region is not served: no source describes it.");
}

/* The secure world: every method but unload enters it first (chosen), which this firmware cannot. */

static IOReturn exclave_enter(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    (void)args;
    return ask_firmware(client->driver, PR_CMD_EXCLAVE_MODE_START, NULL, 0);
}

static IOReturn exclave_leave(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    (void)args;
    return ask_firmware(client->driver, PR_CMD_EXCLAVE_MODE_STOP, NULL, 0);
}

/* Dispatch. */

/* Keys by the access of a method. A client that the sandbox exception alone opened submits, and no more. */
#define ACCESS_ANY    0u
#define ACCESS_DEVICE PR_ENTITLEMENT_BIT(OPEN)
#define ACCESS_RAW    (PR_ENTITLEMENT_BIT(OPEN) | PR_ENTITLEMENT_BIT(RAW_ACCESS))
struct method {
    const char *name;
    uint32_t scalar_in, struct_in, scalar_out, struct_out;
    uint32_t access; /* a set of enum pr_entitlement */
};
#define ROW(with, number, name, si, ti, so, to, access, role) \
    [(number)-ANE_CATALOGUE_FIRST] = {"ANE_" #name, si, ti, so, to, ACCESS_##access},
static const struct method methods[] = {ANE_CATALOGUE_METHODS(ROW, )};
#undef ROW
_Static_assert(BASE_COUNT_OF(methods) == 29, "Table 27.5");

#define OF(name) ANE_CATALOGUE_##name - ANE_CATALOGUE_FIRST
static const handler handlers[BASE_COUNT_OF(methods)] = {
    [OF(PowerOn)] = power_on,
    [OF(PowerOff)] = power_off,
    [OF(IsPowered)] = is_powered,
    [OF(LoadFirmware)] = load_firmware,
    [OF(ForgetFirmware)] = forget_firmware,
    [OF(SendCommand)] = send_command,
    [OF(SetPowerManagement)] = set_power_management,
    [OF(SetDynamicPowerGating)] = set_power_gating,
    [OF(SetPowerGatingHysteresisTime)] = set_hysteresis,
    [OF(SetThrottlingPercentage)] = set_throttling,
    [OF(SetDARTCacheTTL)] = set_cache_ttl,
    [OF(FlushInactiveDARTMappings)] = flush_mappings,
    [OF(UnmapDartBuffers)] = unmap_buffers,
    [OF(ReadANERegister)] = read_register,
    [OF(WriteANERegister)] = write_register,
    [OF(FWSharedEventDoorbellRing)] = ring_doorbell,
    [OF(AddPersistentClient)] = add_persistent,
    [OF(RemovePersistentClient)] = remove_persistent,
    [OF(MPMMemoryMapRequest)] = managed_memory,
    [OF(MPMMemoryUnmapRequest)] = managed_memory,
    [OF(ExclaveCycle)] = exclave_enter,
    [OF(ExclaveLoad)] = exclave_enter,
    [OF(ExclaveEvaluate)] = exclave_enter,
    [OF(ExclaveUnload)] = exclave_leave,
    [OF(ExclaveReadPropertyValue)] = exclave_enter,
    [OF(ExclaveWritePropertyValue)] = exclave_enter,
    [OF(GetClientsInfo)] = drv_diagnostics_clients,
    [OF(ShowSharedMemoryAllocations)] = drv_diagnostics_allocations,
    [OF(ShowModelMemoryStatus)] = drv_diagnostics_models,
};
#undef OF

static IOReturn check_arguments(struct drv *d, const struct method *method,
                                const struct IOExternalMethodArguments *args)
{
    if (args->scalarInputCount != method->scalar_in || args->structureInputSize != method->struct_in ||
        args->scalarOutputCount != method->scalar_out || args->structureOutputSize != method->struct_out)
        return drv_refuse(d, kIOReturnBadArgument, "%s: sizes (%u, %u, %u, %u) are not (%u, %u, %u, %u).",
                          method->name, args->scalarInputCount, args->structureInputSize,
                          args->scalarOutputCount, args->structureOutputSize, method->scalar_in,
                          method->struct_in, method->scalar_out, method->struct_out);
    if ((method->scalar_in && !args->scalarInput) || (method->struct_in && !args->structureInput) ||
        (method->scalar_out && !args->scalarOutput) || (method->struct_out && !args->structureOutput))
        return drv_refuse(d, kIOReturnBadArgument, "%s: an argument is NULL.", method->name);
    return kIOReturnSuccess;
}

static IOReturn dispatch(struct drv_client *client, uint32_t number, struct IOExternalMethodArguments *args)
{
    struct drv *d = client->driver;
    const struct method *method;
    IOReturn result;

    if (client->type != ANE_CLIENT_DIRECT_PATH || number < ANE_CATALOGUE_FIRST ||
        number - ANE_CATALOGUE_FIRST >= BASE_COUNT_OF(methods))
        return drv_refuse(
            d, kIOReturnBadArgument,
            "Method 0x%x does not exist on a client of type %u; direct-path clients have 0x%x to "
            "0x%zx.",
            number, client->type, ANE_CATALOGUE_FIRST, ANE_CATALOGUE_FIRST + BASE_COUNT_OF(methods) - 1);
    method = &methods[number - ANE_CATALOGUE_FIRST];
    result = check_arguments(d, method, args);
    if (result)
        return result;
    if (client->state == DRV_CLIENT_NEW)
        return drv_refuse(d, kIOReturnNotReady, "%s before ANE_DeviceOpen.", method->name);
    result = drv_identity_require(client, method->access, method->name);
    if (result)
        return result;
    return handlers[number - ANE_CATALOGUE_FIRST](client, args);
}

/* Methods that a device which sleeps is not woken for. */
static bool leaves_asleep(uint32_t method)
{
    return method == ANE_CATALOGUE_IsPowered || method == ANE_CATALOGUE_PowerOff ||
           method == ANE_CATALOGUE_ForgetFirmware;
}

IOReturn drv_catalogue_call(struct drv_client *client, uint32_t method,
                            struct IOExternalMethodArguments *arguments, struct base_error *error)
{
    return drv_client_run(client, dispatch, method, leaves_asleep(method), arguments, error);
}
