/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The registry of `anemone info`: a machine is booted, its driver's entries and its firmware's reports are
 * read through the public calls and printed, and the machine is destroyed. Of a service the entries are read
 * by the same calls; the reports of its firmware are its own.
 */
#include "tool/registry.h"

#include <inttypes.h>

#include <anemone/iokit.h>

#include "base/array.h"
#include "tool/observer.h"
#include "tool/tool.h"

static void print_value(const char *key, const struct ane_registry_value *value, int indent)
{
    if (value->kind == ANE_REGISTRY_TEXT)
        printf("%*s%s = \"%s\"\n", indent, "", key, value->text);
    else if (value->kind == ANE_REGISTRY_BOOLEAN)
        printf("%*s%s = %s\n", indent, "", key, value->number ? "Yes" : "No");
    else
        printf("%*s%s = %" PRIu64 "\n", indent, "", key, value->number);
}

static void json_value(struct json *json, const char *key, const struct ane_registry_value *value)
{
    if (value->kind == ANE_REGISTRY_TEXT)
        json_string(json, key, value->text);
    else if (value->kind == ANE_REGISTRY_BOOLEAN)
        json_bool(json, key, value->number);
    else
        json_number(json, key, value->number);
}

static void print_entry(io_service_t entry, int indent)
{
    struct ane_registry_value value;
    io_service_t child;
    const char *key;

    printf("%*s+ %s\n", indent, "", ane_registry_name(entry));
    for (uint32_t i = 0; ane_registry_property_at(entry, i, &key, &value) == kIOReturnSuccess; i++)
        print_value(key, &value, indent + 4);
    for (uint32_t i = 0; (child = ane_registry_child(entry, i)); i++)
        print_entry(child, indent + 2);
}

static void json_entry(struct json *json, const char *name, io_service_t entry)
{
    struct ane_registry_value value;
    io_service_t child;
    const char *key;

    json_object(json, name);
    json_string(json, "name", ane_registry_name(entry));
    json_object(json, "properties");
    for (uint32_t i = 0; ane_registry_property_at(entry, i, &key, &value) == kIOReturnSuccess; i++)
        json_value(json, key, &value);
    json_object_end(json);
    json_array(json, "children");
    for (uint32_t i = 0; (child = ane_registry_child(entry, i)); i++)
        json_entry(json, NULL, child);
    json_array_end(json);
    json_object_end(json);
}

/* What the firmware of the same machine says of itself. */
static bool show_reports(struct ane_machine *machine, struct json *json)
{
    static const char *const names[] = {"tasks", "pools", "arenas", "counters", "cache"};
    char text[8192];

    if (json)
        json_object(json, "firmware");
    for (unsigned i = 0; i < BASE_COUNT_OF(names); i++) {
        size_t bytes = sizeof(text);

        if (ane_machine_report(machine, names[i], text, &bytes)) {
            tool_say("%s", ane_machine_error());
            return false;
        }
        if (json)
            json_string(json, names[i], text);
        else
            printf("\nfirmware: %s\n%s", names[i], text);
    }
    if (json)
        json_object_end(json);
    return true;
}

static void show_entries(io_service_t device, const char *title, struct json *json)
{
    io_service_t root = ane_registry_root(device);

    if (json) {
        json_entry(json, "registry", root);
        return;
    }
    printf("\nregistry %s\n", title);
    print_entry(root, 2);
}

bool tool_registry_show(uint32_t chip, struct json *json)
{
    const struct ane_machine_config config = {.size = sizeof(config), .chip = chip, .firmware = 1};
    struct ane_machine *machine;
    bool shown;

    if (ane_machine_create(&config, &machine)) {
        tool_say("the machine whose registry is shown did not start: %s", ane_machine_error());
        return false;
    }
    show_entries(ane_machine_service(machine), "at rest", json);
    shown = show_reports(machine, json);
    ane_machine_destroy(machine);
    return shown;
}

static bool show_clients(const char *path, struct json *json)
{
    static struct tool_status status;
    struct tool_observer observer;
    struct base_error error;
    int result = tool_observer_open(&observer, path, &error);

    if (!result) {
        result = tool_observer_read(&observer, &status, &error);
        tool_observer_close(&observer);
    }
    if (result) {
        tool_say("%s", error.text);
        return false;
    }
    if (json) {
        tool_observer_json(&status, &status, json);
        return true;
    }
    putchar('\n');
    tool_observer_print(&status, &status, 0);
    return true;
}

bool tool_registry_show_service(const char *path, struct json *json)
{
    io_service_t device = IOServiceGetMatchingService(0, IOServiceMatching("H11ANEIn"));
    char title[sizeof(((struct tool_observer *)0)->path) + 32];

    if (!device) {
        tool_say("%s", ane_machine_error());
        return false;
    }
    snprintf(title, sizeof(title), "of the service at %s", path);
    show_entries(device, title, json);
    return show_clients(path, json);
}
