/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `anemone spec`: the verb and its sections. Names of sections and keys are an interface: scripts/render-docs
 * and the tests read the JSON form by them. A section whose `array` is set writes rows, any other writes
 * named values.
 */
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "tool/spec/spec.h"
#include "tool/tool.h"

const char tool_spec_help[] =
    "anemone spec [SECTION] [--list] [--json] [--kinds]\n\n"
    "Prints what the machine is made of: every selector with its sizes, return codes, register maps,\n"
    "channels, commands, states, limits and descriptor fields, from the tables the code is built on.\n"
    "With a SECTION only that one.\n\n"
    "  --list   the names of the sections and what is in them\n"
    "  --json   the same as JSON\n"
    "  --kinds  in the shape of that JSON the kind of each value and of each column of a table: text,\n"
    "           number, hex (a number that is shown in base 16) or bool\n\n"
    "  anemone spec selectors\n"
    "  anemone spec --json | python3 -c 'import json,sys; print(json.load(sys.stdin)[\"limits\"])'\n";

static const struct section {
    const char *name;
    const char *about;
    void (*write)(struct spec *spec);
    bool table; /* the section is one table, not an object */
} sections[] = {
    {"selectors", "the user clients' methods and their exact sizes (Tables 27.2 and 27.4)", spec_selectors,
     false},
    {"return_codes", "what a call returns", spec_return_codes, false},
    {"apertures", "the seven register apertures (Table 29.2)", spec_apertures, true},
    {"task_states", "the controller kernel's task states (Table 29.1)", spec_task_states, true},
    {"execution_states", "the execution loop's states (Table 29.8)", spec_execution_states, true},
    {"channels", "the eight channels between host and controller", spec_channels, true},
    {"task_queue", "the engine's task queues (Table 29.7) and the task manager", spec_task_queue, false},
    {"scheduler", "the firmware's scheduler (Table 29.6)", spec_scheduler, false},
    {"dart", "address translation (Tables 28.1 to 28.4 and 28.10)", spec_dart, false},
    {"usage_codes", "protection class of each buffer role (Table 28.5)", spec_usage_codes, false},
    {"limits", "the largest numbers a request may carry (Tables 29.4 and 30.4)", spec_limits, false},
    {"stats", "the statistics buffer (Table 29.9)", spec_stats, false},
    {"commands", "the command vocabulary, logger order and wire ids", spec_commands, false},
    {"exeloop", "the ids the execution loop takes (Table 30.6)", spec_exeloop, true},
    {"device", "what the registry shows (Table 27.9)", spec_device, false},
    {"handshakes", "the three handshakes of a boot (Table 29.3)", spec_handshakes, true},
    {"boot_commands", "the first commands, in order", spec_boot_commands, true},
    {"boot", "the controller's registers, boot arguments and refusals", spec_boot, false},
    {"messages", "headers and bodies (Tables 30.1 and 30.3), statuses, container sections", spec_messages,
     false},
    {"rules", "what the firmware checks on a message, and the log lines it quotes", spec_rules, false},
    {"execution", "events, the smaller state machines, the command classes", spec_execution, false},
    {"fabric", "the doorbell's system register (Table 29.5)", spec_fabric, false},
    {"faults", "what a fault leads to", spec_faults, false},
    {"abi", "argument structs field by field (Tables 27.3 and 27.6)", spec_abi, false},
    {"driver", "kexts, clients and further methods (Tables 27.1 and 27.5)", spec_driver, false},
    {"entitlements", "who may do what (Tables 27.7 and 27.8)", spec_entitlements, true},
    {"service", "messages, ring, broker methods, tiers and limits of a machine that is served", spec_service,
     false},
    {"addressing", "buffers, spaces, rebase, alignment, fault descriptor (Tables 28.6 to 28.11)",
     spec_addressing, false},
    {"dispatch", "representations and the budget of one dispatch (Tables 2.2 and 2.3)", spec_dispatch, false},
    {"descriptor", "task descriptors: header, blocks, registers, fields", spec_descriptor, false},
    {"experiments", "published experiments with single registers, run here and compared", spec_experiments,
     false},
    {"boards", "addresses of the blocks", spec_boards, true},
    {"power", "power domains of the boards, and the bits of their words", spec_power, false},
};

#define SECTIONS BASE_COUNT_OF(sections)

static void write_section(struct spec *spec, const struct section *section)
{
    spec->section = section->name;
    if (!section->table)
        spec_object(spec, section->name);
    section->write(spec);
    if (!section->table)
        spec_object_end(spec);
}

static const struct section *find_section(const char *name)
{
    for (size_t i = 0; i < SECTIONS; i++)
        if (!strcmp(sections[i].name, name))
            return &sections[i];
    tool_say("there is no section %s; `anemone spec --list` names them.", name);
    return NULL;
}

static void list_sections(struct spec *spec)
{
    static const struct spec_column columns[] = {SPEC_TEXT("name"), SPEC_TEXT("about"), SPEC_END};

    spec_table_begin(spec, "sections", columns);
    for (size_t i = 0; i < SECTIONS; i++)
        SPEC_PUT(spec, SPEC_T(sections[i].name), SPEC_T(sections[i].about));
    spec_table_end(spec);
}

int tool_spec(int argc, char **argv)
{
    bool as_json = false, kinds = false, list = false;
    const struct tool_option options[] = {
        {"json", &as_json, NULL}, {"kinds", &kinds, NULL}, {"list", &list, NULL}, {0}};
    const struct section *only = NULL;
    const char *name;
    unsigned count;
    struct spec spec;

    if (!tool_words(argc, argv, options, &name, 1, &count))
        return TOOL_USAGE;
    if (count && !(only = find_section(name)))
        return TOOL_USAGE;
    spec_begin(&spec, kinds ? SPEC_KINDS : as_json ? SPEC_JSON : SPEC_SHEETS);
    if (list) {
        list_sections(&spec);
    } else {
        spec_text(&spec, "version", ANEMONE_VERSION);
        for (size_t i = 0; i < SECTIONS; i++)
            if (!only || only == &sections[i])
                write_section(&spec, &sections[i]);
    }
    if (spec_end(&spec))
        return TOOL_OK;
    tool_say("no memory for a table.");
    return TOOL_FAILURE;
}
