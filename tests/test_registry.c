/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The registry as a client reads it: the tree, the properties of Tables 27.1, 27.9 and 28.2, what is there at
 * rest, live counts; the version lock of the three extensions, and what an internal build opens.
 */
#include "support.h"

#include <anemone/iokit.h>
#include <errno.h>
#include <string.h>

#include "drvrig.h"
#include "e5rig.h"
#include "iorig.h"
#include "protocol/kext.h"

static struct ane_machine *machine;
static io_service_t device;
static struct drvrig rig;

static int make(void **state)
{
    (void)state;
    machine = iorig_machine((struct ane_machine_config){0});
    device = ane_machine_service(machine);
    return 0;
}

static int drop(void **state)
{
    (void)state;
    ane_machine_destroy(machine);
    return 0;
}

static int clean(void **state)
{
    (void)state;
    folder_remove();
    return 0;
}

static io_service_t child_named(io_service_t parent, const char *name)
{
    io_service_t child;

    for (uint32_t i = 0; (child = ane_registry_child(parent, i)); i++)
        if (!strcmp(ane_registry_name(child), name))
            return child;
    return 0;
}

/* The entry at a path below the root; 0 when there is none. */
static io_service_t entry_at(const char *const *path)
{
    io_service_t entry = ane_registry_root(device);

    for (; *path && entry; path++)
        entry = child_named(entry, *path);
    return entry;
}
#define ENTRY(...) entry_at((const char *const[]){__VA_ARGS__, NULL})

static uint64_t number(io_service_t entry, const char *key)
{
    struct ane_registry_value value;

    if (ane_registry_property(entry, key, &value) != kIOReturnSuccess)
        fail_msg("%s: %s", key, ane_machine_error());
    assert_int_not_equal(value.kind, ANE_REGISTRY_TEXT);
    assert_string_equal(value.text, "");
    return value.number;
}

static void expect_text(io_service_t entry, const char *key, const char *text)
{
    struct ane_registry_value value;

    if (ane_registry_property(entry, key, &value) != kIOReturnSuccess)
        fail_msg("%s: %s", key, ane_machine_error());
    assert_int_equal(value.kind, ANE_REGISTRY_TEXT);
    assert_string_equal(value.text, text);
}

/* Table 27.9, written out again. */
static void the_device_has_its_properties(void **state)
{
    static const struct {
        const char *key;
        uint64_t value;
    } rows[] = {
        {"ANEDevicePropertyANEVersion", 96},
        {"ANEDevicePropertyANEMinorVersion", 17},
        {"ANEDevicePropertyANEHWBoardType", 96},
        {"ANEDevicePropertyANEHWBoardSubType", 0},
        {"ANEDevicePropertyNumANECores", 16},
        {"ANEDevicePropertyNumANEs", 1},
        {"ANEDevicePropertyANECPUSubType", 4},
        {"ANEDevicePropertyIsInternalBuild", 0},
        {"FirmwareLoaded", 1},
    };
    struct ane_registry_value value;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (number(device, rows[i].key) != rows[i].value)
            fail_msg("%s is not %llu", rows[i].key, (unsigned long long)rows[i].value);
    expect_text(device, "ANEDevicePropertyTypeANEArchitectureTypeStr", "h13g");
    assert_int_equal(ane_registry_property(device, "ANEDevicePropertyIsInternalBuild", &value),
                     kIOReturnSuccess);
    assert_int_equal(value.kind, ANE_REGISTRY_BOOLEAN);
}

/* Table 27.1: each extension below its provider, all of one build. */
static void the_extensions_are_below_their_providers(void **state)
{
    static const struct {
        const char *provider, *name, *bundle, *class_name;
    } rows[] = {
        {"RTBuddyService", "H11ANEIn", "AppleH11ANEInterface", "ANEHWDevice"},
        {"IOResources", "AppleT8132ANEHAL", "AppleT8132ANEHAL", "AppleT8132ANEHAL"},
        {"IOResources", "H1xANELoadBalancer", "AppleANELoadBalancer", "ANEDriver"},
    };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        io_service_t entry = ENTRY(rows[i].provider, rows[i].name);

        if (!entry)
            fail_msg("there is no %s below %s", rows[i].name, rows[i].provider);
        expect_text(entry, "IOProviderClass", rows[i].provider);
        expect_text(entry, "CFBundleIdentifier", rows[i].bundle);
        expect_text(entry, "IOClass", rows[i].class_name);
        expect_text(entry, "CFBundleVersion", "9.511.3");
    }
    expect_text(ENTRY("RTBuddyService"), "role", "ANE");
    assert_int_equal(ENTRY("RTBuddyService", "H11ANEIn"), device);
    /* Clock, power and topology: 24 MHz, seven power states, 16 cores in one engine. */
    assert_int_equal(number(ENTRY("IOResources", "AppleT8132ANEHAL"), "timebase-frequency"), 24000000);
    assert_int_equal(number(ENTRY("IOResources", "AppleT8132ANEHAL"), "power-domains"), 7);
    assert_int_equal(number(ENTRY("IOResources", "AppleT8132ANEHAL"), "cores"), 16);
    assert_int_equal(number(ENTRY("IOResources", "AppleT8132ANEHAL"), "engines"), 1);
}

/* Table 28.2, and the chain of controller, nub and mapper for each of the eight domains. */
static void the_controller_node_has_its_mappers(void **state)
{
    static const struct {
        const char *key;
        uint64_t value;
    } rows[] = {{"page-size", 0x4000}, {"sids", 0xa001},       {"bypass", 0xa000},
                {"sid-count", 16},     {"dart-options", 0x25}, {"reg", 0x285800000ull}};
    static const char *const nub[] = {"mapper-ane0",      "mapper-ane0-iso1", "mapper-ane0-iso2",
                                      "mapper-ane0-iso3", "mapper-ane0-iso4", "mapper-ane0-iso5",
                                      "mapper-ane0-iso6", "mapper-ane0-iso7"};
    static const char *const capability[] = {NULL,        "ANEIsoID1", "ANEIsoID2", "ANEIsoID3",
                                             "ANEIsoID4", "ANEIsoID5", "ANEIsoID6", "ANEIsoID7"};
    io_service_t dart = ENTRY("dart-ane0");
    struct ane_registry_value none;

    (void)state;
    assert_int_equal(ane_registry_property(ENTRY("dart-ane0", "mapper-ane0"), "exclave-capability", &none),
                     kIOReturnNotFound);
    expect_text(dart, "compatible", "dart,t6000");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (number(dart, rows[i].key) != rows[i].value)
            fail_msg("%s is 0x%llx", rows[i].key, (unsigned long long)number(dart, rows[i].key));
    for (uint32_t i = 0; i < 8; i++) {
        io_service_t at = ane_registry_child(dart, i);

        assert_string_equal(ane_registry_name(at), nub[i]);
        assert_string_equal(ane_registry_name(ane_registry_child(at, 0)), "IODARTMapper");
        if (i)
            expect_text(at, "exclave-capability", capability[i]); /* ch. 28: ANEIsoID1 to ID7 */
        assert_int_equal(ane_registry_child(at, 1), 0);
        assert_int_equal(ane_registry_child(ane_registry_child(at, 0), 0), 0);
    }
    assert_int_equal(ane_registry_child(dart, 8), 0);
}

/* A client's mapper is retained by what is mapped for it, and by its nub alone once the client is gone. */
static void mappings_retain_their_mapper(void **state)
{
    io_service_t base = ane_registry_child(ENTRY("dart-ane0", "mapper-ane0"), 0),
                 first = ane_registry_child(ENTRY("dart-ane0", "mapper-ane0-iso1"), 0);
    uint64_t at_rest = number(base, "retain-count");
    struct iorig_accumulator a;

    (void)state;
    /* Four firmware surfaces of Table 28.5's firmware class, at least; and the nub. */
    assert_true(at_rest >= 5);
    assert_int_equal(number(base, "mappings"), at_rest - 1);
    assert_int_equal(number(first, "retain-count"), 1);
    iorig_accumulator_make(&a, device, 4, 16);
    assert_int_equal(iorig_accumulator_step(&a), kIOReturnSuccess);
    /* Program text, and the surfaces x, state as input, state as output. */
    assert_int_equal(number(first, "mappings"), 4);
    assert_int_equal(number(first, "retain-count"), 5);
    assert_true(number(base, "retain-count") > at_rest);
    iorig_accumulator_release(&a);
    assert_int_equal(number(first, "retain-count"), 1);
    assert_int_equal(number(base, "retain-count"), at_rest);
}

/* One engine: the balancer passes every program to it, and forgets it when it is gone. */
static void the_balancer_knows_what_is_resident(void **state)
{
    io_service_t balancer = ENTRY("IOResources", "H1xANELoadBalancer");
    struct iorig_accumulator a, b;
    uint64_t bytes;

    (void)state;
    assert_int_equal(number(balancer, "ANEDevicePropertyNumANEs"), 1);
    assert_int_equal(number(balancer, "Programs"), 0);
    assert_int_equal(number(balancer, "ResidentBytes"), 0);
    iorig_accumulator_make(&a, device, 4, 16);
    assert_int_equal(number(balancer, "Programs"), 1);
    bytes = number(balancer, "ResidentBytes");
    assert_true(bytes > 0);
    iorig_accumulator_make(&b, device, 4, 16);
    assert_int_equal(number(balancer, "Programs"), 2);
    assert_int_equal(number(balancer, "ResidentBytes"), 2 * bytes);
    iorig_accumulator_release(&a);
    iorig_accumulator_release(&b);
    assert_int_equal(number(balancer, "Programs"), 0);
    assert_int_equal(number(balancer, "ResidentBytes"), 0);
}

static void at_rest_no_client_is_open(void **state)
{
    io_service_t hints = ENTRY("RTBuddyService", "H11ANEIn", "ANEClientHints");
    struct iorig_client control, direct, hinting;

    (void)state;
    assert_int_not_equal(hints, 0);
    assert_int_not_equal(ENTRY("IOResources", "H1xANELoadBalancer"), 0);
    assert_int_equal(number(device, "ControlClients"), 0);
    assert_int_equal(number(device, "DirectPathClients"), 0);
    assert_int_equal(iorig_open(device, 0, ANE_CLIENT_CONTROL, &control), kIOReturnSuccess);
    assert_int_equal(iorig_open(device, 0, ANE_CLIENT_DIRECT_PATH, &direct), kIOReturnSuccess);
    assert_int_equal(IOServiceOpen(device, 0, ANE_CLIENT_HINTS, &hinting.connect), kIOReturnSuccess);
    assert_int_equal(number(device, "ControlClients"), 1);
    assert_int_equal(number(device, "DirectPathClients"), 1);
    assert_int_equal(number(hints, "HintsClients"), 1);
    IOServiceClose(control.connect);
    IOServiceClose(direct.connect);
    IOServiceClose(hinting.connect);
    assert_int_equal(number(device, "ControlClients"), 0);
    assert_int_equal(number(device, "DirectPathClients"), 0);
    assert_int_equal(number(hints, "HintsClients"), 0);
}

static void what_does_not_exist_is_refused(void **state)
{
    struct ane_registry_value value = {.number = 77};
    const char *key = "as it was";
    io_connect_t connect;

    (void)state;
    assert_int_equal(ane_registry_property(device, "no such key", &value), kIOReturnNotFound);
    assert_non_null(strstr(ane_machine_error(), "no such key"));
    assert_int_equal(ane_registry_property(device, NULL, &value), kIOReturnBadArgument);
    assert_int_equal(ane_registry_property(device, "IOClass", NULL), kIOReturnBadArgument);
    assert_int_equal(ane_registry_property_at(device, 1000, &key, &value), kIOReturnNotFound);
    assert_int_equal(ane_registry_property_at(device, 0, NULL, &value), kIOReturnBadArgument);
    assert_int_equal(ane_registry_property_at(device, 0, &key, NULL), kIOReturnBadArgument);
    assert_int_equal(value.number, 77);
    assert_string_equal(key, "as it was");
    for (io_service_t entry = 0; entry < 0x20000; entry += 0x7ff) {
        /* Of one machine, only the 24 entries of the tree exist: a step of this size meets none of them. */
        assert_null(ane_registry_name(entry));
        assert_int_equal(ane_registry_root(entry), 0);
        assert_int_equal(ane_registry_child(entry, 0), 0);
        assert_int_equal(ane_registry_property(entry, "IOClass", &value), kIOReturnNoDevice);
        assert_int_equal(ane_registry_property_at(entry, 0, &key, &value), kIOReturnNoDevice);
    }
    assert_int_equal(
        IOServiceOpen(ENTRY("IOResources", "H1xANELoadBalancer"), 0, ANE_CLIENT_CONTROL, &connect),
        kIOReturnUnsupported);
    assert_int_equal(connect, 0);
}

/* The default machine: both names match, the balancer is its own entry; the runtime opens and closes. */
static void the_runtime_opens_on_demand(void **state)
{
    io_service_t found = IOServiceGetMatchingService(0, IOServiceMatching("H11ANEIn")),
                 balancer = IOServiceGetMatchingService(0, IOServiceMatching("H1xANELoadBalancer"));
    const struct td_shape shape = {.w = 16, .h = 1, .c = 4, .n = 1};
    struct e5rig_model model, second;

    (void)state;
    assert_null(IOServiceMatching("H12ANEIn"));
    assert_string_equal(ane_registry_name(balancer), "H1xANELoadBalancer");
    assert_string_equal(ane_registry_name(found), "H11ANEIn");
    assert_int_equal(number(found, "ControlClients"), 0);
    for (unsigned round = 0; round < 2; round++) {
        e5rig_write_adder("add.hwx", &shape, 1);
        e5rig_model_open(&model, folder_path("add.hwx"));
        assert_int_equal(number(found, "ControlClients"), 1);
        e5rig_model_open(&second, folder_path("add.hwx"));
        assert_int_equal(number(found, "ControlClients"), 1);
        e5rig_model_close(&second);
        assert_int_equal(number(found, "ControlClients"), 1);
        e5rig_model_close(&model);
        assert_int_equal(number(found, "ControlClients"), 0);
    }
}

static void versions_are_locked(void **state)
{
    struct pr_kext kexts[PR_KEXT_COUNT];
    struct base_error error;

    (void)state;
    for (unsigned odd = 0; odd < PR_KEXT_COUNT; odd++) {
        for (unsigned i = 0; i < PR_KEXT_COUNT; i++)
            kexts[i] = (struct pr_kext){"AnyBundle", "AnyClass", "AnyName", "AnyProvider", "9.511.3"};
        kexts[odd].bundle = "OddBundle";
        kexts[odd].version = "9.512.0";
        drvrig_make(&rig, false);
        drv_destroy(rig.driver);
        rig.platform.kexts = kexts;
        assert_int_equal(drv_create(&rig.platform, &rig.driver, &error), 0);
        assert_int_equal(drv_start(rig.driver, &error), -EPROTO);
        assert_non_null(strstr(error.text, "OddBundle"));
        assert_non_null(strstr(error.text, "9.512.0"));
        assert_int_equal(rig.mmio, 0);
        kexts[odd].version = "9.511.3";
        assert_int_equal(drv_start(rig.driver, &error), 0);
        drvrig_drop(&rig);
    }
}

/* Sizes of the debug work processor's selectors, 11 to 15, from Table 27.2. */
static IOReturn debug_call(io_connect_t connect, uint32_t selector)
{
    const uint64_t scalars[2] = {0};
    const uint8_t bytes[24] = {0};

    return IOConnectCallMethod(connect, selector, scalars, selector == 13 || selector == 14 ? 2 : 0, bytes,
                               selector == 11 ? 24 : 0, NULL, NULL, NULL, NULL);
}

static void an_internal_build_opens_the_debug_surfaces(void **state)
{
    const char *const plain[] = {"com.apple.ane.iokit-user-access"}, *const raw[] = {
                                                                         plain[0],
                                                                         "privileged-virtual-machine-access"};
    ane_task_t task = ane_task_create(plain, 1, NULL, NULL), privileged = ane_task_create(raw, 2, NULL, NULL);
    struct ane_machine *internal = iorig_machine((struct ane_machine_config){.internal_build = 1}), *refused;
    const struct ane_machine_config odd = {.size = sizeof(odd), .internal_build = 2};
    struct iorig_client a, b, c;

    (void)state;
    assert_int_equal(ane_machine_create(&odd, &refused), -EINVAL);
    assert_int_equal(iorig_open(device, task, ANE_CLIENT_CONTROL, &a), kIOReturnSuccess);
    assert_int_equal(iorig_open(device, privileged, ANE_CLIENT_CONTROL, &b), kIOReturnSuccess);
    assert_int_equal(iorig_open(ane_machine_service(internal), task, ANE_CLIENT_CONTROL, &c),
                     kIOReturnSuccess);
    for (uint32_t selector = 11; selector <= 15; selector++) {
        assert_int_equal(debug_call(a.connect, selector), kIOReturnNotPrivileged);
        assert_int_not_equal(debug_call(b.connect, selector), kIOReturnNotPrivileged);
        assert_int_not_equal(debug_call(c.connect, selector), kIOReturnNotPrivileged);
    }
    assert_int_equal(number(ane_machine_service(internal), "ANEDevicePropertyIsInternalBuild"), 1);
    IOServiceClose(a.connect);
    IOServiceClose(b.connect);
    ane_machine_destroy(internal);
    ane_task_release(task);
    ane_task_release(privileged);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_device_has_its_properties, make, drop),
        cmocka_unit_test_setup_teardown(the_extensions_are_below_their_providers, make, drop),
        cmocka_unit_test_setup_teardown(the_controller_node_has_its_mappers, make, drop),
        cmocka_unit_test_setup_teardown(mappings_retain_their_mapper, make, drop),
        cmocka_unit_test_setup_teardown(the_balancer_knows_what_is_resident, make, drop),
        cmocka_unit_test_setup_teardown(at_rest_no_client_is_open, make, drop),
        cmocka_unit_test_setup_teardown(what_does_not_exist_is_refused, make, drop),
        cmocka_unit_test(the_runtime_opens_on_demand),
        cmocka_unit_test(versions_are_locked),
        cmocka_unit_test_setup_teardown(an_internal_build_opens_the_debug_surfaces, make, drop),
    };

    return cmocka_run_group_tests_name("registry", tests, NULL, clean);
}
