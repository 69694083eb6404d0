/* SPDX-License-Identifier: Apache-2.0 */
/* Sections of `anemone spec`: the driver's surface (ch. 27) and the execution model (ch. 2). */
#include <anemone/abi.h>

#include "base/array.h"
#include "driver/arguments.h"
#include "program/hwx.h"
#include "protocol/device.h"
#include "protocol/entitlement.h"
#include "tool/spec/facts.h"
#include "tool/spec/spec.h"

_Static_assert(PR_DEVICE_CPU_SUBTYPE == PR_HWX_SUBTYPE_H13, "the device's subtype is that of its images");

struct selector {
    uint32_t number;
    const char *name;
    uint32_t scalar_in, struct_in, scalar_out, struct_out;
};

static const struct selector control[] = {
#define X(number, name, si, ti, so, to) {number, #name, si, ti, so, to},
    ANE_CONTROL_SELECTORS(X)
#undef X
};

static const struct selector direct[] = {
#define X(number, name, si, ti, so, to) {number, #name, si, ti, so, to},
    ANE_DIRECT_SELECTORS(X)
#undef X
};

static void write_selectors(struct spec *spec, const char *client, const struct selector *row, size_t count)
{
    spec_array(spec, client);
    for (; count--; row++) {
        spec_object(spec, NULL);
        spec_number(spec, "selector", row->number);
        spec_text(spec, "name", row->name);
        spec_number(spec, "scalar_in", row->scalar_in);
        spec_number(spec, "struct_in", row->struct_in);
        spec_number(spec, "scalar_out", row->scalar_out);
        spec_number(spec, "struct_out", row->struct_out);
        spec_object_end(spec);
    }
    spec_array_end(spec);
}

void spec_selectors(struct spec *spec)
{
    write_selectors(spec, "control", control, BASE_COUNT_OF(control));
    write_selectors(spec, "direct", direct, BASE_COUNT_OF(direct));
}

void spec_return_codes(struct spec *spec)
{
    static const struct {
        const char *name;
        IOReturn value;
    } codes[] = {
        {"success", kIOReturnSuccess},
        {"bad_argument", kIOReturnBadArgument},
        {"unsupported", kIOReturnUnsupported},
        {"closed", ANE_RETURN_CLOSED},
        {"error", kIOReturnError},
        {"no_memory", kIOReturnNoMemory},
        {"no_resources", kIOReturnNoResources},
        {"no_device", kIOReturnNoDevice},
        {"not_privileged", kIOReturnNotPrivileged},
        {"busy", kIOReturnBusy},
        {"timeout", kIOReturnTimeout},
        {"not_ready", kIOReturnNotReady},
        {"not_permitted", kIOReturnNotPermitted},
        {"aborted", kIOReturnAborted},
        {"not_found", kIOReturnNotFound},
    };

    for (size_t i = 0; i < BASE_COUNT_OF(codes); i++)
        spec_hex(spec, codes[i].name, (uint32_t)codes[i].value);
    spec_number(spec, "usage_refused", (uint32_t)ANE_RETURN_USAGE_REFUSED);
}

static void field(struct spec *spec, const char *name, size_t offset, size_t bytes, const char *meaning)
{
    spec_object(spec, NULL);
    spec_text(spec, "field", name);
    spec_hex(spec, "offset", offset);
    spec_number(spec, "bytes", bytes);
    spec_text(spec, "meaning", meaning);
    spec_object_end(spec);
}

#define FIELD(type, member, meaning) \
    field(spec, #member, offsetof(struct type, member), sizeof(((struct type *)0)->member), meaning)

static void write_arguments(struct spec *spec)
{
    spec_array(spec, "external_method_arguments");
    FIELD(IOExternalMethodArguments, asyncWakePort, "mach completion port (async selectors only)");
    FIELD(IOExternalMethodArguments, scalarInput, "also holds the 0x20-byte asyncReference block");
    FIELD(IOExternalMethodArguments, scalarInputCount, "");
    FIELD(IOExternalMethodArguments, structureInput, "pointer to the typed argument struct");
    FIELD(IOExternalMethodArguments, structureInputSize, "");
    FIELD(IOExternalMethodArguments, scalarOutput, "");
    FIELD(IOExternalMethodArguments, scalarOutputCount, "");
    FIELD(IOExternalMethodArguments, structureOutput, "");
    FIELD(IOExternalMethodArguments, structureOutputSize, "");
    spec_array_end(spec);
}

static void write_device_info(struct spec *spec)
{
    spec_array(spec, "device_info");
    FIELD(ane_device_info, token,
          "in: usage type byte (1 standard, 2 unsupported); out: program / session token");
    FIELD(ane_device_info, callback, "callback function pointer; board id 0x1111222233334444; echoed");
    FIELD(ane_device_info, receiver, "receiver context pointer; echoed");
    FIELD(ane_device_info, timeout, "timeout 0x2710 = 10000; echoed");
    FIELD(ane_device_info, version, "out: ANE version 0x20 = 32, 256");
    FIELD(ane_device_info, engines, "out: number of engines = 1");
    FIELD(ane_device_info, cpu_subtype, "out: CPU subtype = 4");
    spec_array_end(spec);
    spec_object(spec, "device_info_values");
    spec_hex(spec, "board_id", ANE_DEVICE_INFO_BOARD);
    spec_number(spec, "timeout_ms", ANE_TIMEOUT_MS);
    spec_number(spec, "version", PR_DEVICE_INFO_VERSION);
    spec_number(spec, "version_high", PR_DEVICE_INFO_VERSION_HI);
    spec_number(spec, "engines", PR_DEVICE_ENGINES);
    spec_number(spec, "cpu_subtype", PR_DEVICE_CPU_SUBTYPE);
    spec_object_end(spec);
}

static void write_request(struct spec *spec)
{
    spec_array(spec, "request");
    FIELD(ane_request, token, "program / instance token");
    FIELD(ane_request, sequence, "sequence number: 0, then 1 on the next submit");
    FIELD(ane_request, priority, "observed 5");
    FIELD(ane_request, qos, "quality of service, observed 21");
    FIELD(ane_request, procedure, "chosen");
    FIELD(ane_request, category, "io category, observed 2");
    FIELD(ane_request, surface, "surface identifiers: inputs, outputs, intermediates");
    FIELD(ane_request, inputs, "chosen");
    FIELD(ane_request, outputs, "chosen");
    FIELD(ane_request, intermediates, "chosen");
    FIELD(ane_request, stats_surface, "chosen");
    FIELD(ane_request, offset, "chosen: of each buffer in its surface");
    spec_array_end(spec);
    spec_object(spec, "request_values");
    spec_number(spec, "priority", ANE_REQUEST_PRIORITY);
    spec_number(spec, "qos", ANE_REQUEST_QOS);
    spec_number(spec, "category", ANE_REQUEST_CATEGORY);
    spec_object_end(spec);
    spec_array(spec, "request_reply");
    FIELD(ane_request_reply, sequence, "the sequence and result");
    FIELD(ane_request_reply, token, "the echoed token");
    FIELD(ane_request_reply, detail, "chosen: of a failure");
    FIELD(ane_request_reply, status, "status flag");
    spec_array_end(spec);
}

static void write_dispatch_record(struct spec *spec)
{
    spec_number(spec, "dispatch_stride", sizeof(struct IOExternalMethodDispatch2022));
    spec_array(spec, "dispatch_record");
    FIELD(IOExternalMethodDispatch2022, function, "");
    FIELD(IOExternalMethodDispatch2022, checkScalarInputCount, "");
    FIELD(IOExternalMethodDispatch2022, checkStructureInputSize, "");
    FIELD(IOExternalMethodDispatch2022, checkScalarOutputCount, "");
    FIELD(IOExternalMethodDispatch2022, checkStructureOutputSize, "");
    FIELD(IOExternalMethodDispatch2022, reserved, "the first byte marks the debug work-processor group");
    spec_array_end(spec);
}

void spec_abi(struct spec *spec)
{
    spec_object(spec, "sizes");
    spec_number(spec, "device_info", sizeof(struct ane_device_info));
    spec_number(spec, "request", sizeof(struct ane_request));
    spec_number(spec, "request_reply", sizeof(struct ane_request_reply));
    spec_number(spec, "program_create", sizeof(struct ane_program_create));
    spec_number(spec, "program_prepare", sizeof(struct ane_program_prepare));
    spec_number(spec, "program_destroy", sizeof(struct ane_program_destroy));
    spec_number(spec, "memory_map", sizeof(struct ane_memory_map));
    spec_object_end(spec);
    write_device_info(spec);
    write_request(spec);
    write_arguments(spec);
    write_dispatch_record(spec);
}

void spec_driver(struct spec *spec)
{
    spec_text(spec, "build", FACT_KEXT_BUILD);
    spec_array(spec, "kexts");
#define X(a, b, c, d)               \
    spec_object(spec, NULL);        \
    spec_text(spec, "role", a);     \
    spec_text(spec, "bundle", b);   \
    spec_text(spec, "class", c);    \
    spec_text(spec, "provider", d); \
    spec_object_end(spec);
    FACT_KEXTS(X)
#undef X
    spec_array_end(spec);
    spec_array(spec, "clients");
#define X(a, b)                  \
    spec_object(spec, NULL);     \
    spec_text(spec, "class", a); \
    spec_text(spec, "use", b);   \
    spec_object_end(spec);
    FACT_CLIENTS(X)
#undef X
    spec_array_end(spec);
    spec_array(spec, "methods");
#define X(a, b)                   \
    spec_object(spec, NULL);      \
    spec_text(spec, "method", a); \
    spec_text(spec, "role", b);   \
    spec_object_end(spec);
    FACT_DIRECT_METHODS(X)
#undef X
    spec_array_end(spec);
}

static void entitlement(struct spec *spec, const char *key, const char *capability, const char *holders,
                        const char *kind)
{
    spec_object(spec, NULL);
    spec_text(spec, "key", key);
    spec_text(spec, "capability", capability);
    spec_text(spec, "holders", holders);
    spec_text(spec, "kind", kind);
    spec_object_end(spec);
}

void spec_entitlements(struct spec *spec)
{
    /* The tables of the seeds; a key that is chosen is not among them. */
#define X(id, a, b, c, d)                                 \
    if (PR_ENTITLEMENT_##id != PR_ENTITLEMENT_RAW_ACCESS) \
        entitlement(spec, a, b, c, #d);
    PR_ENTITLEMENTS(X)
#undef X
#define X(a, b, c, d) entitlement(spec, a, b, c, #d);
    FACT_ENTITLEMENTS(X)
#undef X
}

void spec_device(struct spec *spec)
{
    spec_text(spec, "architecture", FACT_DEVICE_ARCHITECTURE);
    spec_number(spec, "version", PR_DEVICE_VERSION);
    spec_number(spec, "minor_version", PR_DEVICE_MINOR_VERSION);
    spec_number(spec, "board_type", FACT_DEVICE_BOARD_TYPE);
    spec_number(spec, "board_subtype", FACT_DEVICE_BOARD_SUBTYPE);
    spec_number(spec, "cores", FACT_DEVICE_CORES);
    spec_number(spec, "engines", PR_DEVICE_ENGINES);
    spec_number(spec, "cpu_subtype", PR_DEVICE_CPU_SUBTYPE);
    spec_bool(spec, "internal_build", FACT_DEVICE_INTERNAL_BUILD);
}

void spec_dispatch(struct spec *spec)
{
    spec_array(spec, "representations");
#define X(a, b, c)               \
    spec_object(spec, NULL);     \
    spec_text(spec, "name", a);  \
    spec_text(spec, "what", b);  \
    spec_text(spec, "where", c); \
    spec_object_end(spec);
    FACT_REPRESENTATIONS(X)
#undef X
    spec_array_end(spec);
    spec_array(spec, "budget");
#define X(id, stage, low, high)                                       \
    spec_object(spec, NULL);                                          \
    spec_text(spec, "stage", stage);                                  \
    spec_number(spec, "us_low", (low) / FACT_BUDGET_TENTHS_PER_US);   \
    spec_number(spec, "us_high", (high) / FACT_BUDGET_TENTHS_PER_US); \
    spec_object_end(spec);
    FACT_BUDGET(X)
#undef X
    spec_array_end(spec);
    spec_number(spec, "whole_us", FACT_DISPATCH_US);
    spec_number(spec, "submit_us", FACT_DISPATCH_SUBMIT_US);
    spec_number(spec, "overhead_percent", FACT_DISPATCH_OVERHEAD_PERCENT);
    spec_number(spec, "interrupts", FACT_DISPATCH_INTERRUPTS);
    spec_number(spec, "two_threads_percent", FACT_DISPATCH_TWO_THREADS_PERCENT);
}
