/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sections of `anemone spec`: the driver's surface (ch. 27) and the execution model (ch. 2). Selectors and
 * their sizes come from abi.h, the table that the driver dispatches by. What is in facts.h is printed only.
 */
#include <stdio.h>
#include <string.h>

#include <anemone/catalogue.h>

#include "base/array.h"
#include "driver/arguments.h"
#include "program/hwx.h"
#include "protocol/device.h"
#include "protocol/entitlement.h"
#include "protocol/kext.h"
#include "protocol/timing.h"
#include "tool/spec/facts.h"
#include "tool/spec/spec.h"

#define METHOD_NAMES 192 /* bytes for the longest row of Table 27.5 */

_Static_assert(PR_DEVICE_CPU_SUBTYPE == PR_HWX_SUBTYPE_H13, "the device's subtype is that of its images");

static const struct spec_column selector_columns[] = {SPEC_NUMBER("selector"),
                                                      SPEC_TEXT("name"),
                                                      SPEC_NUMBER("scalar_in"),
                                                      SPEC_NUMBER("struct_in"),
                                                      SPEC_NUMBER("scalar_out"),
                                                      SPEC_NUMBER("struct_out"),
                                                      SPEC_END};
static const struct spec_column catalogue_columns[] = {
    SPEC_HEX("method"),        SPEC_TEXT("name"),         SPEC_NUMBER("scalar_in"), SPEC_NUMBER("struct_in"),
    SPEC_NUMBER("scalar_out"), SPEC_NUMBER("struct_out"), SPEC_TEXT("access"),      SPEC_END};
static const struct spec_column layout_columns[] = {SPEC_TEXT("field"), SPEC_HEX("offset"),
                                                    SPEC_NUMBER("bytes"), SPEC_TEXT("meaning"), SPEC_END};
static const struct spec_column kext_columns[] = {
    SPEC_TEXT("role"), SPEC_TEXT("bundle"),   SPEC_TEXT("class"),
    SPEC_TEXT("name"), SPEC_TEXT("provider"), SPEC_TEXT("match"),
    SPEC_END};
static const struct spec_column client_columns[] = {SPEC_TEXT("class"), SPEC_TEXT("use"), SPEC_END};
static const struct spec_column method_columns[] = {SPEC_TEXT("method"), SPEC_TEXT("role"), SPEC_END};
static const struct spec_column entitlement_columns[] = {SPEC_TEXT("key"), SPEC_TEXT("capability"),
                                                         SPEC_TEXT("holders"), SPEC_TEXT("kind"), SPEC_END};
static const struct spec_column form_columns[] = {SPEC_TEXT("name"), SPEC_TEXT("what"), SPEC_TEXT("where"),
                                                  SPEC_END};
static const struct spec_column budget_columns[] = {SPEC_TEXT("stage"), SPEC_NUMBER("us_low"),
                                                    SPEC_NUMBER("us_high"), SPEC_END};

void spec_selectors(struct spec *spec)
{
#define X(number, name, si, ti, so, to) \
    SPEC_N(number), SPEC_T(#name), SPEC_N(si), SPEC_N(ti), SPEC_N(so), SPEC_N(to),
    SPEC_TABLE(spec, "control", selector_columns, ANE_CONTROL_SELECTORS(X));
    SPEC_TABLE(spec, "direct", selector_columns, ANE_DIRECT_SELECTORS(X));
#undef X
}

void spec_return_codes(struct spec *spec)
{
    static const struct {
        const char *name;
        IOReturn value;
    } codes[] = {
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

    spec_number(spec, "success", kIOReturnSuccess);
    for (size_t i = 0; i < BASE_COUNT_OF(codes); i++)
        spec_hex(spec, codes[i].name, (uint32_t)codes[i].value);
    spec_number(spec, "usage_refused", (uint32_t)ANE_RETURN_USAGE_REFUSED);
}

#define FIELD(type, member, meaning)                                                                    \
    SPEC_T(#member), SPEC_N(offsetof(struct type, member)), SPEC_N(sizeof(((struct type *)0)->member)), \
        SPEC_T(meaning)

static void write_arguments(struct spec *spec)
{
    SPEC_TABLE(spec, "external_method_arguments", layout_columns,
               FIELD(IOExternalMethodArguments, asyncWakePort, "mach completion port (async selectors only)"),
               FIELD(IOExternalMethodArguments, scalarInput, "also holds the 0x20-byte asyncReference block"),
               FIELD(IOExternalMethodArguments, scalarInputCount, ""),
               FIELD(IOExternalMethodArguments, structureInput, "pointer to the typed argument struct"),
               FIELD(IOExternalMethodArguments, structureInputSize, ""),
               FIELD(IOExternalMethodArguments, scalarOutput, ""),
               FIELD(IOExternalMethodArguments, scalarOutputCount, ""),
               FIELD(IOExternalMethodArguments, structureOutput, ""),
               FIELD(IOExternalMethodArguments, structureOutputSize, ""));
}

static void write_device_info(struct spec *spec)
{
    SPEC_TABLE(
        spec, "device_info", layout_columns,
        FIELD(ane_device_info, token,
              "in: usage type byte (1 standard, 2 unsupported); out: program / session token"),
        FIELD(ane_device_info, callback, "callback function pointer; board id 0x1111222233334444; echoed"),
        FIELD(ane_device_info, receiver, "receiver context pointer; echoed"),
        FIELD(ane_device_info, timeout, "timeout 0x2710 = 10000; echoed"),
        FIELD(ane_device_info, version, "out: ANE version 0x20 = 32, 256"),
        FIELD(ane_device_info, engines, "out: number of engines = 1"),
        FIELD(ane_device_info, cpu_subtype, "out: CPU subtype = 4"));
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
    SPEC_TABLE(spec, "request", layout_columns, FIELD(ane_request, token, "program / instance token"),
               FIELD(ane_request, sequence, "sequence number: 0, then 1 on the next submit"),
               FIELD(ane_request, priority, "observed 5"),
               FIELD(ane_request, qos, "quality of service, observed 21"),
               FIELD(ane_request, procedure, "chosen"),
               FIELD(ane_request, category, "io category, observed 2"),
               FIELD(ane_request, surface, "surface identifiers: inputs, outputs, intermediates"),
               FIELD(ane_request, inputs, "chosen"), FIELD(ane_request, outputs, "chosen"),
               FIELD(ane_request, intermediates, "chosen"), FIELD(ane_request, stats_surface, "chosen"),
               FIELD(ane_request, offset, "chosen: of each buffer in its surface"),
               FIELD(ane_request, session, "chosen"),
               FIELD(ane_request, wait_events, "chosen: events that it waits for"),
               FIELD(ane_request, signal_events, "chosen: events that it signals"),
               FIELD(ane_request, event, "chosen: 24 bytes each, waits, then signals"));
    spec_object(spec, "request_values");
    spec_number(spec, "priority", ANE_REQUEST_PRIORITY);
    spec_number(spec, "qos", ANE_REQUEST_QOS);
    spec_number(spec, "category", ANE_REQUEST_CATEGORY);
    spec_object_end(spec);
    SPEC_TABLE(spec, "request_reply", layout_columns,
               FIELD(ane_request_reply, sequence, "the sequence and result"),
               FIELD(ane_request_reply, token, "the echoed token"),
               FIELD(ane_request_reply, detail, "chosen: of a failure"),
               FIELD(ane_request_reply, status, "status flag"));
}

static void write_dispatch_record(struct spec *spec)
{
    spec_number(spec, "dispatch_stride", sizeof(struct IOExternalMethodDispatch2022));
    SPEC_TABLE(
        spec, "dispatch_record", layout_columns, FIELD(IOExternalMethodDispatch2022, function, ""),
        FIELD(IOExternalMethodDispatch2022, checkScalarInputCount, ""),
        FIELD(IOExternalMethodDispatch2022, checkStructureInputSize, ""),
        FIELD(IOExternalMethodDispatch2022, checkScalarOutputCount, ""),
        FIELD(IOExternalMethodDispatch2022, checkStructureOutputSize, ""),
        FIELD(IOExternalMethodDispatch2022, reserved, "the first byte marks the debug work-processor group"));
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

/* Table 27.5 has a row for each role: its methods, one after the other. */
static void write_methods(struct spec *spec)
{
    static const struct {
        const char *name, *role;
    } methods[] = {
#define ROW(with, number, name, si, ti, so, to, access, role) {"ANE_" #name, role},
        ANE_CATALOGUE_METHODS(ROW, )
#undef ROW
    };
    static char names[BASE_COUNT_OF(methods)][METHOD_NAMES];
    size_t i = 0;

    spec_table_begin(spec, "methods", method_columns);
    while (i < BASE_COUNT_OF(methods)) {
        size_t first = i;

        snprintf(names[first], METHOD_NAMES, "%s", methods[i++].name);
        for (; i < BASE_COUNT_OF(methods) && !strcmp(methods[i].role, methods[first].role); i++) {
            size_t used = strlen(names[first]);

            snprintf(names[first] + used, METHOD_NAMES - used, " / %s", methods[i].name);
        }
        SPEC_PUT(spec, SPEC_T(names[first]), SPEC_T(methods[first].role));
    }
    spec_table_end(spec);
#define ROW(with, number, name, si, ti, so, to, access, role) \
    SPEC_N(number), SPEC_T("ANE_" #name), SPEC_N(si), SPEC_N(ti), SPEC_N(so), SPEC_N(to), SPEC_T(#access),
    SPEC_TABLE(spec, "catalogue", catalogue_columns, ANE_CATALOGUE_METHODS(ROW, ));
#undef ROW
}

void spec_driver(struct spec *spec)
{
    spec_text(spec, "build", PR_KEXT_BUILD);
#define X(id, role, bundle, class, name, provider, match) \
    SPEC_T(role), SPEC_T(bundle), SPEC_T(class), SPEC_T(name), SPEC_T(provider), SPEC_T(match),
    SPEC_TABLE(spec, "kexts", kext_columns, PR_KEXTS(X));
#undef X
#define X(a, b) SPEC_T(a), SPEC_T(b),
    SPEC_TABLE(spec, "clients", client_columns, FACT_CLIENTS(X));
#undef X
    write_methods(spec);
}

void spec_entitlements(struct spec *spec)
{
    spec_table_begin(spec, spec->section, entitlement_columns);
    /* The tables of the seeds; keys that are chosen are not among them. */
    enum { OPEN, DRIVER, PROPERTY, BROKER, SANDBOX, SLOT };
#define X(id, a, b, c, d) \
    if (d != PROPERTY)    \
        SPEC_PUT(spec, SPEC_T(a), SPEC_T(b), SPEC_T(c), SPEC_T(#d));
    PR_ENTITLEMENTS(X)
#undef X
    spec_table_end(spec);
}

void spec_device(struct spec *spec)
{
    spec_text(spec, "architecture", PR_DEVICE_ARCHITECTURE);
    spec_number(spec, "version", PR_DEVICE_VERSION);
    spec_number(spec, "minor_version", PR_DEVICE_MINOR_VERSION);
    spec_number(spec, "board_type", PR_DEVICE_BOARD_TYPE);
    spec_number(spec, "board_subtype", PR_DEVICE_BOARD_SUBTYPE);
    spec_number(spec, "cores", PR_DEVICE_CORES);
    spec_number(spec, "engines", PR_DEVICE_ENGINES);
    spec_number(spec, "cpu_subtype", PR_DEVICE_CPU_SUBTYPE);
    spec_bool(spec, "internal_build", false);
}

void spec_dispatch(struct spec *spec)
{
#define X(a, b, c) SPEC_T(a), SPEC_T(b), SPEC_T(c),
    SPEC_TABLE(spec, "representations", form_columns, FACT_REPRESENTATIONS(X));
#undef X
#define X(id, stage, from, to) \
    SPEC_T(stage), SPEC_N((from) / PR_TIMING_TENTHS_PER_US), SPEC_N((to) / PR_TIMING_TENTHS_PER_US),
    SPEC_TABLE(spec, "budget", budget_columns, PR_TIMING_STAGES(X));
#undef X
    spec_number(spec, "whole_us", PR_TIMING_CALL_US);
    spec_number(spec, "submit_us", PR_TIMING_METHOD_US);
    spec_number(spec, "overhead_percent", FACT_DISPATCH_OVERHEAD_PERCENT);
    spec_number(spec, "interrupts", FACT_DISPATCH_INTERRUPTS);
    spec_number(spec, "two_threads_percent", FACT_DISPATCH_TWO_THREADS_PERCENT);
}
