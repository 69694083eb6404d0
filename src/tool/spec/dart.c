/* SPDX-License-Identifier: Apache-2.0 */
/* Sections of `anemone spec`: address translation (ch. 28). */
#include <stdio.h>

#include "protocol/board.h"
#include "protocol/dart_regs.h"
#include "protocol/segment.h"
#include "protocol/usage.h"
#include "tool/spec/facts.h"
#include "protocol/rebase.h"
#include "protocol/tm_regs.h"
#include "tool/spec/spec.h"

_Static_assert(FACT_DART_NODE_BYPASS == PR_DART_BYPASS_STREAMS, "the bypass streams are the node's");
_Static_assert((PR_DART_CONFIG_RESET & 0xff) == FACT_DART_NODE_OPTIONS,
               "options are the config word's low byte");
_Static_assert(FACT_DART_ISOLATION_CONTEXTS + 1 == PR_DART_DOMAINS, "a domain per context, and the base");
_Static_assert(1 << FACT_LEAF_FRAME_LOW_BIT == PR_PAGE_BYTES, "the frame begins above the page");

static void streams(struct spec *spec, const char *name, uint32_t bitmap)
{
    spec_array(spec, name);
    for (unsigned i = 0; i < PR_DART_STREAMS; i++)
        if (bitmap >> i & 1)
            spec_number(spec, NULL, i);
    spec_array_end(spec);
}

static unsigned bit_of(uint32_t mask)
{
    unsigned bit = 0;

    while (!(mask >> bit & 1))
        bit++;
    return bit;
}

static void write_space(struct spec *spec)
{
    spec_hex(spec, "page_size", PR_PAGE_BYTES);
    spec_hex(spec, "aperture_base", FACT_DART_APERTURE_BASE);
    spec_hex(spec, "aperture_size", PR_DART_APERTURE_BYTES);
    streams(spec, "streams", PR_DART_BASE_STREAMS);
    spec_number(spec, "stream_slots", PR_DART_STREAMS);
    streams(spec, "bypass_streams", PR_DART_BYPASS_STREAMS);
    spec_number(spec, "isolation_contexts", FACT_DART_ISOLATION_CONTEXTS);
    spec_number(spec, "domains", PR_DART_DOMAINS);
    spec_number(spec, "first_domain_stream", PR_DART_DOMAIN_STREAM_FIRST);
    spec_number(spec, "leaf_valid_bit", FACT_LEAF_VALID_BIT);
    spec_number(spec, "leaf_frame_low_bit", FACT_LEAF_FRAME_LOW_BIT);
    spec_number(spec, "leaf_frame_high_bit", FACT_LEAF_FRAME_HIGH_BIT);
    spec_hex(spec, "leaf_template", FACT_LEAF_TEMPLATE);
    spec_number(spec, "leaf_events_measured", FACT_LEAF_EVENTS_MEASURED);
    spec_number(spec, "ttbr_valid_bit", bit_of(PR_DART_TTBR_VALID));
    spec_number(spec, "ttbr_shift", PR_DART_TTBR_SHIFT);
    spec_hex(spec, "ttbr_seen", FACT_DART_TTBR_SEEN);
    spec_hex(spec, "table_seen", FACT_DART_TABLE_SEEN);
    spec_number(spec, "levels", 2);
    spec_number(spec, "table_entries", PR_DART_TABLE_ENTRIES);
    spec_number(spec, "level1_shift", PR_DART_L1_SHIFT);
    spec_number(spec, "level2_shift", PR_DART_L2_SHIFT);
}

static void write_node(struct spec *spec)
{
    const struct pr_board *board = &pr_board_table[PR_CHIP_T6000];

    spec_object(spec, "node");
    spec_text(spec, "name", FACT_DART_NODE);
    spec_text(spec, "compatible", FACT_DART_COMPATIBLE);
    spec_hex(spec, "page_size", PR_PAGE_BYTES);
    spec_hex(spec, "stream_enable", FACT_DART_NODE_STREAMS);
    spec_hex(spec, "bypass", FACT_DART_NODE_BYPASS);
    spec_hex(spec, "stream_count", PR_DART_STREAMS);
    spec_hex(spec, "options", FACT_DART_NODE_OPTIONS);
    spec_hex(spec, "config", PR_DART_CONFIG_RESET);
    spec_object_end(spec);
    spec_array(spec, "windows");
    for (unsigned i = 0; i < PR_DART_COUNT; i++)
        spec_hex(spec, NULL, board->dart[i]);
    spec_hex(spec, NULL, board->dapf);
    spec_array_end(spec);
    spec_hex(spec, "window_size", PR_DART_WINDOW_BYTES);
}

static void write_registers(struct spec *spec)
{
    spec_array(spec, "registers");
#define X(id, title, at, elements, step, from) \
    spec_object(spec, NULL);                   \
    spec_text(spec, "name", title);            \
    spec_hex(spec, "offset", at);              \
    spec_number(spec, "count", elements);      \
    spec_number(spec, "stride", step);         \
    spec_text(spec, "source", from);           \
    spec_object_end(spec);
    PR_DART_REGISTERS(X)
#undef X
    spec_array_end(spec);
    spec_number(spec, "error_flag_bit", bit_of(PR_DART_ERROR_FLAG));
    spec_array(spec, "error_codes");
#define X(id, position, meaning)         \
    spec_object(spec, NULL);             \
    spec_number(spec, "bit", position);  \
    spec_text(spec, "name", #id);        \
    spec_text(spec, "meaning", meaning); \
    spec_object_end(spec);
    PR_DART_ERRORS(X)
#undef X
    spec_array_end(spec);
}

static void write_leaf(struct spec *spec)
{
    spec_array(spec, "leaf");
#define X(title, high, low, note)        \
    spec_object(spec, NULL);             \
    spec_text(spec, "field", title);     \
    spec_number(spec, "high_bit", high); \
    spec_number(spec, "low_bit", low);   \
    spec_text(spec, "value", note);      \
    spec_object_end(spec);
    FACT_LEAF_FIELDS(X)
#undef X
    spec_array_end(spec);
}

void spec_dart(struct spec *spec)
{
    write_space(spec);
    write_node(spec);
    write_registers(spec);
    write_leaf(spec);
}

void spec_usage_codes(struct spec *spec)
{
    char name[16];

#define X(id, code, to, class, printed, role) \
    snprintf(name, sizeof(name), "%d", code); \
    if ((code) < PR_USAGE_FIRMWARE_FLAG)      \
        spec_number(spec, name, class);       \
    else                                      \
        spec_text(spec, name, printed);
    PR_USAGES(X)
#undef X
}

static void write_buffers(struct spec *spec)
{
    spec_array(spec, "usage_roles");
#define X(id, number, to, class, printed, meaning) \
    spec_object(spec, NULL);                       \
    spec_number(spec, "code", number);             \
    spec_text(spec, "role", meaning);              \
    spec_text(spec, "protection", printed);        \
    spec_object_end(spec);
    PR_USAGES(X)
#undef X
    spec_array_end(spec);
    spec_hex(spec, "firmware_usage_flag", PR_USAGE_FIRMWARE_FLAG);
    spec_array(spec, "load_buffers");
#define X(title, usage)                \
    spec_object(spec, NULL);           \
    spec_text(spec, "buffer", title);  \
    spec_number(spec, "usage", usage); \
    spec_object_end(spec);
    FACT_LOAD_BUFFERS(X)
#undef X
    spec_array_end(spec);
}

static void write_offsets(struct spec *spec)
{
    spec_number(spec, "segment_bytes", PR_SEGMENT_BYTES);
    spec_array(spec, "segment");
#define X(name, at, note)             \
    spec_object(spec, NULL);          \
    spec_text(spec, "field", #name);  \
    spec_hex(spec, "offset", at);     \
    spec_text(spec, "meaning", note); \
    spec_object_end(spec);
    PR_SEGMENT_FIELDS(X)
#undef X
    spec_array_end(spec);
    spec_array(spec, "rebase");
#define X(member, title, at, note)    \
    spec_object(spec, NULL);          \
    spec_text(spec, "field", title);  \
    spec_hex(spec, "offset", at);     \
    spec_text(spec, "meaning", note); \
    spec_object_end(spec);
    PR_REBASE_FIELDS(X)
#undef X
    spec_array_end(spec);
    spec_hex(spec, "rebase_object", PR_REBASE_OBJECT);
    spec_hex(spec, "rebase_high_half", PR_MAPPED_HALF);
    spec_hex(spec, "rebase_bar_base", pr_rebase_register(pr_board_table[PR_CHIP_T6000].container, 0, 0));
    spec_hex(spec, "rebase_bar_stride", PR_TQ_STRIDE);
    spec_number(spec, "rebase_record_bytes", sizeof(struct pr_rebase_record));
}

void spec_addressing(struct spec *spec)
{
    write_buffers(spec);
    spec_array(spec, "spaces");
#define X(letter, title, note)        \
    spec_object(spec, NULL);          \
    spec_text(spec, "space", letter); \
    spec_text(spec, "name", title);   \
    spec_text(spec, "holds", note);   \
    spec_object_end(spec);
    FACT_ADDRESS_SPACES(X)
#undef X
    spec_array_end(spec);
    write_offsets(spec);
    spec_array(spec, "alignments");
#define X(title, size, note)          \
    spec_object(spec, NULL);          \
    spec_text(spec, "scale", title);  \
    spec_number(spec, "bytes", size); \
    spec_text(spec, "governs", note); \
    spec_object_end(spec);
    FACT_ALIGNMENTS(X)
#undef X
    spec_array_end(spec);
    spec_array(spec, "error_info");
#define X(title, at, kind, note)      \
    spec_object(spec, NULL);          \
    spec_text(spec, "field", title);  \
    spec_hex(spec, "offset", at);     \
    spec_text(spec, "type", kind);    \
    spec_text(spec, "meaning", note); \
    spec_object_end(spec);
    FACT_DART_ERROR_INFO(X)
#undef X
    spec_array_end(spec);
    spec_hex(spec, "fault_status_offset", FACT_FAULT_STATUS_OFFSET);
    spec_hex(spec, "fault_status_benign", FACT_FAULT_STATUS_BENIGN);
}
