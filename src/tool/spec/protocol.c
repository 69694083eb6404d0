/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sections of `anemone spec`: channels, commands, messages and their limits (ch. 30). Commands are printed
 * with both names, the seeds' and the corrected one. What is in facts.h is printed only.
 */
#include <string.h>

#include "base/array.h"
#include "protocol/channel.h"
#include "protocol/command_class.h"
#include "protocol/commands.h"
#include "protocol/container.h"
#include "program/e5.h"
#include "protocol/execution.h"
#include "protocol/message.h"
#include "protocol/property.h"
#include "protocol/cache.h"
#include "protocol/notification.h"
#include "tool/spec/facts.h"
#include "tool/spec/spec.h"

#define WORD_BYTES 32u

_Static_assert(PR_TQ_BARS == PR_CUSTOM_BARS_MAX, "a custom bar names a buffer register");

static const struct spec_column channel_columns[] = {SPEC_TEXT("name"),           SPEC_TEXT("type"),
                                                     SPEC_NUMBER("doorbell_bit"), SPEC_NUMBER("slots"),
                                                     SPEC_HEX("ring_offset"),     SPEC_END};
static const struct spec_column dispatched_columns[] = {
    SPEC_HEX("id"), SPEC_TEXT("name"), SPEC_TEXT("direction"), SPEC_TEXT("subsystem"), SPEC_END};
static const struct spec_column wire_columns[] = {SPEC_HEX("id"), SPEC_TEXT("name"),
                                                  SPEC_TEXT("corrected_name"), SPEC_TEXT("family"), SPEC_END};
static const struct spec_column class_columns[] = {
    SPEC_HEX("id"),      SPEC_TEXT("name"),    SPEC_TEXT("class"),  SPEC_TEXT("layout"),
    SPEC_TEXT("source"), SPEC_TEXT("channel"), SPEC_TEXT("effect"), SPEC_END};
static const struct spec_column count_columns[] = {SPEC_TEXT("class"),
                                                   SPEC_NUMBER("commands"),
                                                   SPEC_NUMBER("header_only"),
                                                   SPEC_NUMBER("known"),
                                                   SPEC_NUMBER("chosen"),
                                                   SPEC_NUMBER("unknown"),
                                                   SPEC_END};
static const struct spec_column property_columns[] = {SPEC_HEX("property"), SPEC_TEXT("class"),
                                                      SPEC_TEXT("meaning"), SPEC_TEXT("values"), SPEC_END};
static const struct spec_column family_columns[] = {SPEC_TEXT("family"),    SPEC_HEX("first"),
                                                    SPEC_HEX("last"),       SPEC_NUMBER("count"),
                                                    SPEC_TEXT("subsystem"), SPEC_END};
static const struct spec_column exeloop_columns[] = {
    SPEC_HEX("id"),       SPEC_TEXT("name"),   SPEC_TEXT("corrected_name"),
    SPEC_TEXT("meaning"), SPEC_TEXT("vtable"), SPEC_END};
static const struct spec_column header_columns[] = {SPEC_TEXT("field"), SPEC_HEX("offset"), SPEC_TEXT("type"),
                                                    SPEC_TEXT("meaning"), SPEC_END};
static const struct spec_column call_columns[] = {SPEC_TEXT("field"), SPEC_TEXT("type"), SPEC_TEXT("bound"),
                                                  SPEC_END};
static const struct spec_column status_columns[] = {SPEC_NUMBER("status"), SPEC_TEXT("name"),
                                                    SPEC_TEXT("meaning"), SPEC_END};
static const struct spec_column section_columns[] = {SPEC_NUMBER("kind"), SPEC_TEXT("name"),
                                                     SPEC_BOOL("mandatory"), SPEC_END};

/* The tables' tags in the seeds' small letters. */
static const char *lower(const char *word, char out[WORD_BYTES])
{
    size_t i = 0;

    for (; word[i] && i + 1 < WORD_BYTES; i++)
        out[i] = (char)(word[i] >= 'A' && word[i] <= 'Z' ? word[i] + ('a' - 'A') : word[i]);
    out[i] = '\0';
    return out;
}

void spec_channels(struct spec *spec)
{
    static const char *const type[] = {"host to controller", "controller to host", "report"};

    spec_table_begin(spec, spec->section, channel_columns);
    for (unsigned i = 0; i < PR_CHANNEL_COUNT; i++) {
        const struct pr_channel_info *row = &pr_channel_table[i];

        SPEC_PUT(spec, SPEC_T(row->name), SPEC_T(type[row->type]), SPEC_N(row->bit), SPEC_N(row->slots),
                 SPEC_N(pr_ipc_ring_offset((enum pr_channel)i)));
    }
    spec_table_end(spec);
}

static void write_dispatched(struct spec *spec)
{
    static const char *const direction[] = {"H>FW", "FW>H", "both"};
    char word[WORD_BYTES];

    spec_table_begin(spec, "dispatched", dispatched_columns);
    for (unsigned i = 0; i < PR_DISPATCHED_COUNT; i++) {
        const struct pr_dispatched *row = &pr_dispatched_table[i];

        SPEC_PUT(spec, SPEC_N(row->index), SPEC_T(row->name), SPEC_T(direction[row->direction]),
                 SPEC_T(lower(row->subsystem, word)));
    }
    spec_table_end(spec);
}

static void write_wire(struct spec *spec)
{
    char word[WORD_BYTES];

    spec_table_begin(spec, "wire", wire_columns);
    for (unsigned i = 0; i < PR_WIRE_COUNT; i++) {
        const struct pr_wire *row = &pr_wire_table[i];

        SPEC_PUT(spec, SPEC_N(row->id), SPEC_T(row->name), SPEC_T(row->corrected),
                 SPEC_T(lower(row->family, word)));
    }
    spec_table_end(spec);
}

/* The effect of a command of class C is why it is refused. */
static void write_classes(struct spec *spec)
{
    static const char *const layout[] = {"header only", "known", "chosen", "unknown"};

    spec_table_begin(spec, "classes", class_columns);
    for (unsigned i = 0; i < PR_CLASS_COUNT; i++) {
        const struct pr_command_class *row = &pr_command_class_table[i];
        const char letter[] = {row->letter, '\0'};

        SPEC_PUT(spec, SPEC_N(row->id), SPEC_T(row->name), SPEC_T(letter), SPEC_T(layout[row->layout]),
                 SPEC_T(row->source), SPEC_T(row->channel), SPEC_T(row->text));
    }
    spec_table_end(spec);
}

static unsigned count_classes(char letter, int layout)
{
    unsigned count = 0;

    for (unsigned i = 0; i < PR_CLASS_COUNT; i++) {
        const struct pr_command_class *row = &pr_command_class_table[i];

        count += (!letter || row->letter == letter) && (layout < 0 || (int)row->layout == layout);
    }
    return count;
}

static void write_counts(struct spec *spec)
{
    static const char letters[] = {'A', 'B', 'C', '\0'}; /* the last: all */
    static const char *const name[] = {"A", "B", "C", "all"};

    spec_table_begin(spec, "counts", count_columns);
    for (unsigned i = 0; i < BASE_COUNT_OF(letters); i++)
        SPEC_PUT(spec, SPEC_T(name[i]), SPEC_N(count_classes(letters[i], -1)),
                 SPEC_N(count_classes(letters[i], PR_LAYOUT_NONE)),
                 SPEC_N(count_classes(letters[i], PR_LAYOUT_KNOWN)),
                 SPEC_N(count_classes(letters[i], PR_LAYOUT_CHOSEN)),
                 SPEC_N(count_classes(letters[i], PR_LAYOUT_UNKNOWN)));
    spec_table_end(spec);
}

static void write_properties(struct spec *spec)
{
    spec_table_begin(spec, "properties", property_columns);
    for (unsigned i = 0; i < PR_PROPERTY_COUNT; i++) {
        const struct pr_property_row *row = &pr_property_table[i];

        SPEC_PUT(spec, SPEC_N(row->number), SPEC_T(pr_property_class_name(row->number)), SPEC_T(row->meaning),
                 SPEC_T(row->words));
    }
    spec_table_end(spec);
}

void spec_commands(struct spec *spec)
{
    char word[WORD_BYTES];

    write_dispatched(spec);
    write_wire(spec);
    write_classes(spec);
    write_counts(spec);
    write_properties(spec);
    spec_table_begin(spec, "families", family_columns);
#define X(tag, low, high, members, what) \
    SPEC_PUT(spec, SPEC_T(lower(#tag, word)), SPEC_N(low), SPEC_N(high), SPEC_N(members), SPEC_T(what));
    FACT_FAMILIES(X)
#undef X
    spec_table_end(spec);
    spec_hex(spec, "invalid", PR_COMMAND_INVALID);
}

/* The corrected name of an id, for the rows of Table 30.6. */
static const char *corrected(uint32_t id)
{
    for (unsigned i = 0; i < PR_WIRE_COUNT; i++)
        if (pr_wire_table[i].id == id)
            return pr_wire_table[i].corrected;
    return "";
}

void spec_exeloop(struct spec *spec)
{
    spec_table_begin(spec, spec->section, exeloop_columns);
    for (unsigned i = 0; i < PR_EXELOOP_COUNT; i++) {
        const struct pr_exeloop_row *row = &pr_exeloop_table[i];

        SPEC_PUT(spec, SPEC_N(row->id), SPEC_T(row->name), SPEC_T(corrected(row->id)), SPEC_T(row->meaning),
                 SPEC_T(row->slot));
    }
    spec_table_end(spec);
}

static void write_call_limits(struct spec *spec)
{
    spec_number(spec, "custom_bars", PR_CUSTOM_BARS_MAX);
    spec_number(spec, "signal_events", PR_SIGNAL_EVENTS_MAX);
    spec_number(spec, "wait_and_signal_events_above", 0);
    spec_number(spec, "custom_execute_order", PR_EXECUTE_ORDER_MAX);
    spec_number(spec, "output_buffer_sets", PR_CALL_OUTPUT_SETS);
    spec_number(spec, "event_masks", PR_EVENT_MASKS);
    spec_number(spec, "trigger_input_buffers", PR_TRIGGER_INPUTS_MAX);
    spec_number(spec, "active_shared_events", PR_SHARED_EVENTS_MAX);
    spec_number(spec, "partitions_min", FACT_PARTITIONS_MIN);
    spec_number(spec, "cache_request_partitions", FACT_CACHE_PARTITIONS);
    spec_number(spec, "cache_requests_in_list", FACT_CACHE_REQUESTS_IN_LIST);
    spec_number(spec, "custom_bars_in_program", PR_PROGRAM_CUSTOM_BARS_MAX);
    spec_number(spec, "event_record_bytes", sizeof(struct pr_event));
}

void spec_limits(struct spec *spec)
{
    write_call_limits(spec);
    spec_number(spec, "programs", PR_PROGRAMS_MAX);
    spec_number(spec, "processes", PR_PROCESSES_MAX);
    spec_number(spec, "requests_in_flight_per_pool", PR_IN_FLIGHT_MAX);
    spec_number(spec, "doorbell_index", PR_DOORBELL_INDEX_LIMIT);
    spec_hex(spec, "back_channel_payload", PR_RPC_BYTES_MAX);
    spec_hex(spec, "back_channel_magic", PR_RPC_MAGIC);
    spec_number(spec, "rpc_events_free_min", PR_RPC_POOL_LEAST);
    spec_number(spec, "priority_levels", PR_PRIORITIES);
    spec_number(spec, "network_ids", PR_NETWORK_ID_MAX);
    spec_hex(spec, "program_table_offset", FACT_PROGRAM_TABLE_OFFSET);
    spec_hex(spec, "program_table_stride", PR_PROGRAM_SLOT_STRIDE);
    spec_number(spec, "message_bytes_below", PR_MESSAGE_BYTES_MAX);
    spec_number(spec, "call_buffers", PR_CALL_BUFFERS_MAX);
    spec_number(spec, "container_bytes", PR_CONTAINER_BYTES_MAX);
    spec_number(spec, "section_end", PR_SECTION_LIMIT);
    spec_number(spec, "generic_buffers", PR_GENERIC_BUFFERS_MAX);
    spec_number(spec, "operations", PR_OPERATIONS_MAX);
    spec_number(spec, "procedures", PR_PROCEDURES_MAX);
    spec_number(spec, "bundle_records", PR_E5_RECORDS_MAX);
    spec_number(spec, "ports", PR_E5_PORTS_MAX);
    spec_number(spec, "port_buffers", PR_E5_PORT_BUFFERS);
}

static void write_header(struct spec *spec)
{
#define X(member, title, at, kind, note) SPEC_T(title), SPEC_N(at), SPEC_T(kind), SPEC_T(note),
    SPEC_TABLE(spec, "header", header_columns, PR_HEADER_FIELDS(X));
#undef X
    spec_number(spec, "header_bytes", sizeof(struct pr_command_header));
#define X(title, kind, rule) SPEC_T(title), SPEC_T(kind), SPEC_T(rule),
    SPEC_TABLE(spec, "call", call_columns, FACT_CALL_FIELDS(X));
#undef X
    spec_hex(spec, "call_bytes", sizeof(struct pr_call));
    spec_hex(spec, "buffer_descriptor_bytes", sizeof(struct pr_buffer));
    spec_hex(spec, "program_event_bytes", sizeof(struct pr_program_event));
    spec_hex(spec, "slot_bytes", PR_SLOT_BYTES);
    spec_hex(spec, "pool_bytes", PR_COMMAND_POOL_BYTES);
    spec_hex(spec, "channel_record_bytes", PR_CHANNEL_RECORD_BYTES);
}

void spec_messages(struct spec *spec)
{
    write_header(spec);
#define X(id, number, note) SPEC_N(number), SPEC_T(#id), SPEC_T(note),
    SPEC_TABLE(spec, "statuses", status_columns, PR_STATUSES(X));
#undef X
    spec_bodies(spec);
#define X(id, number, title, must) SPEC_N(number), SPEC_T(title), SPEC_N(must),
    SPEC_TABLE(spec, "container_sections", section_columns, PR_SECTIONS(X));
#undef X
}
