/* SPDX-License-Identifier: Apache-2.0 */
/* Sections of `anemone spec`: channels, commands, messages and their limits (ch. 30). */
#include <string.h>

#include "protocol/channel.h"
#include "protocol/commands.h"
#include "protocol/container.h"
#include "program/e5.h"
#include "protocol/execution.h"
#include "protocol/message.h"
#include "tool/spec/facts.h"
#include "tool/spec/spec.h"

#define WORD_BYTES 32u

_Static_assert(PR_TQ_BARS == FACT_CUSTOM_BARS_MAX, "a custom bar names a buffer register");

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

    for (unsigned i = 0; i < PR_CHANNEL_COUNT; i++) {
        const struct pr_channel_info *row = &pr_channel_table[i];

        spec_object(spec, NULL);
        spec_text(spec, "name", row->name);
        spec_text(spec, "type", type[row->type]);
        spec_number(spec, "doorbell_bit", row->bit);
        spec_number(spec, "slots", row->slots);
        spec_hex(spec, "ring_offset", pr_ipc_ring_offset((enum pr_channel)i));
        spec_object_end(spec);
    }
}

static void write_dispatched(struct spec *spec)
{
    static const char *const direction[] = {"H>FW", "FW>H", "both"};
    char word[WORD_BYTES];

    spec_array(spec, "dispatched");
    for (unsigned i = 0; i < PR_DISPATCHED_COUNT; i++) {
        const struct pr_dispatched *row = &pr_dispatched_table[i];

        spec_object(spec, NULL);
        spec_hex(spec, "id", row->index);
        spec_text(spec, "name", row->name);
        spec_text(spec, "direction", direction[row->direction]);
        spec_text(spec, "subsystem", lower(row->subsystem, word));
        spec_object_end(spec);
    }
    spec_array_end(spec);
}

static void write_wire(struct spec *spec)
{
    char word[WORD_BYTES];

    spec_array(spec, "wire");
    for (unsigned i = 0; i < PR_WIRE_COUNT; i++) {
        const struct pr_wire *row = &pr_wire_table[i];

        spec_object(spec, NULL);
        spec_hex(spec, "id", row->id);
        spec_text(spec, "name", row->name);
        spec_text(spec, "corrected_name", row->corrected);
        spec_text(spec, "family", lower(row->family, word));
        spec_object_end(spec);
    }
    spec_array_end(spec);
}

void spec_commands(struct spec *spec)
{
    char word[WORD_BYTES];

    write_dispatched(spec);
    write_wire(spec);
    spec_array(spec, "families");
#define X(tag, low, high, members, what)          \
    spec_object(spec, NULL);                      \
    spec_text(spec, "family", lower(#tag, word)); \
    spec_hex(spec, "first", low);                 \
    spec_hex(spec, "last", high);                 \
    spec_number(spec, "count", members);          \
    spec_text(spec, "subsystem", what);           \
    spec_object_end(spec);
    FACT_FAMILIES(X)
#undef X
    spec_array_end(spec);
    spec_hex(spec, "invalid", FACT_COMMAND_INVALID);
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
    for (unsigned i = 0; i < PR_EXELOOP_COUNT; i++) {
        const struct pr_exeloop_row *row = &pr_exeloop_table[i];

        spec_object(spec, NULL);
        spec_hex(spec, "id", row->id);
        spec_text(spec, "name", row->name);
        spec_text(spec, "corrected_name", corrected(row->id));
        spec_text(spec, "meaning", row->meaning);
        spec_text(spec, "vtable", row->slot);
        spec_object_end(spec);
    }
}

static void write_call_limits(struct spec *spec)
{
    spec_number(spec, "custom_bars", FACT_CUSTOM_BARS_MAX);
    spec_number(spec, "signal_events", FACT_SIGNAL_EVENTS_MAX);
    spec_number(spec, "wait_and_signal_events_above", 0);
    spec_number(spec, "custom_execute_order", FACT_EXECUTE_ORDER_MAX);
    spec_number(spec, "output_buffer_sets", PR_CALL_OUTPUT_SETS);
    spec_number(spec, "event_masks", FACT_EVENT_MASKS);
    spec_number(spec, "trigger_input_buffers", PR_TRIGGER_INPUTS_MAX);
    spec_number(spec, "active_shared_events", FACT_SHARED_EVENTS_LIMIT);
    spec_number(spec, "partitions_min", FACT_PARTITIONS_MIN);
    spec_number(spec, "cache_request_partitions", FACT_CACHE_PARTITIONS);
    spec_number(spec, "cache_requests_in_list", FACT_CACHE_REQUESTS_IN_LIST);
    spec_number(spec, "custom_bars_in_program", FACT_CUSTOM_BARS_IN_PROGRAM);
    spec_number(spec, "event_record_bytes", FACT_EVENT_RECORD_BYTES);
}

void spec_limits(struct spec *spec)
{
    write_call_limits(spec);
    spec_number(spec, "programs", PR_PROGRAMS_MAX);
    spec_number(spec, "processes", PR_PROCESSES_MAX);
    spec_number(spec, "requests_in_flight_per_pool", PR_IN_FLIGHT_MAX);
    spec_number(spec, "doorbell_index", PR_DOORBELL_INDEX_LIMIT);
    spec_hex(spec, "back_channel_payload", FACT_BACK_CHANNEL_BYTES_MAX);
    spec_hex(spec, "back_channel_magic", FACT_BACK_CHANNEL_MAGIC);
    spec_number(spec, "rpc_events_free_min", FACT_RPC_EVENTS_FREE_MIN);
    spec_number(spec, "priority_levels", PR_PRIORITIES);
    spec_number(spec, "network_ids", PR_NETWORK_ID_MAX);
    spec_hex(spec, "program_table_offset", FACT_PROGRAM_TABLE_OFFSET);
    spec_hex(spec, "program_table_stride", FACT_PROGRAM_TABLE_STRIDE);
    spec_hex(spec, "message_bytes_below", PR_MESSAGE_BYTES_MAX);
    spec_number(spec, "call_buffers", PR_CALL_BUFFERS_MAX);
    spec_hex(spec, "container_bytes", PR_CONTAINER_BYTES_MAX);
    spec_hex(spec, "section_end", PR_SECTION_LIMIT);
    spec_number(spec, "generic_buffers", PR_GENERIC_BUFFERS_MAX);
    spec_number(spec, "operations", PR_OPERATIONS_MAX);
    spec_number(spec, "procedures", PR_PROCEDURES_MAX);
    spec_number(spec, "bundle_records", PR_E5_RECORDS_MAX);
    spec_number(spec, "ports", PR_E5_PORTS_MAX);
}

static void write_header(struct spec *spec)
{
    spec_array(spec, "header");
#define X(member, title, at, kind, note) \
    spec_object(spec, NULL);             \
    spec_text(spec, "field", title);     \
    spec_hex(spec, "offset", at);        \
    spec_text(spec, "type", kind);       \
    spec_text(spec, "meaning", note);    \
    spec_object_end(spec);
    PR_HEADER_FIELDS(X)
#undef X
    spec_array_end(spec);
    spec_number(spec, "header_bytes", sizeof(struct pr_command_header));
    spec_array(spec, "call");
#define X(title, kind, rule)         \
    spec_object(spec, NULL);         \
    spec_text(spec, "field", title); \
    spec_text(spec, "type", kind);   \
    spec_text(spec, "bound", rule);  \
    spec_object_end(spec);
    FACT_CALL_FIELDS(X)
#undef X
    spec_array_end(spec);
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
    spec_array(spec, "statuses");
#define X(id, number, note)              \
    spec_object(spec, NULL);             \
    spec_number(spec, "status", number); \
    spec_text(spec, "name", #id);        \
    spec_text(spec, "meaning", note);    \
    spec_object_end(spec);
    PR_STATUSES(X)
#undef X
    spec_array_end(spec);
    spec_array(spec, "container_sections");
#define X(id, number, title, must)      \
    spec_object(spec, NULL);            \
    spec_number(spec, "kind", number);  \
    spec_text(spec, "name", title);     \
    spec_bool(spec, "mandatory", must); \
    spec_object_end(spec);
    PR_SECTIONS(X)
#undef X
    spec_array_end(spec);
}
