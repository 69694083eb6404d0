/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sections of `anemone spec`: address translation (ch. 28). Numbers that the model runs on come from
 * protocol; those of facts.h are printed only. Where both state the same thing a static assertion compares
 * them.
 */
#include <stdio.h>

#include "base/array.h"
#include "protocol/board.h"
#include "protocol/dart_error.h"
#include "protocol/dart_regs.h"
#include "protocol/segment.h"
#include "protocol/usage.h"
#include "tool/spec/facts.h"
#include "protocol/rebase.h"
#include "protocol/tm_regs.h"
#include "tool/spec/spec.h"

_Static_assert((PR_DART_CONFIG_RESET & 0xff) == PR_DART_NODE_OPTIONS,
               "options are the config word's low byte");
_Static_assert(FACT_DART_ISOLATION_CONTEXTS + 1 == PR_DART_DOMAINS, "a domain per context, and the base");
_Static_assert(1 << FACT_LEAF_FRAME_LOW_BIT == PR_PAGE_BYTES, "the frame begins above the page");

static const struct spec_column register_columns[] = {SPEC_TEXT("name"),    SPEC_HEX("offset"),
                                                      SPEC_NUMBER("count"), SPEC_HEX("stride"),
                                                      SPEC_TEXT("source"),  SPEC_END};
static const struct spec_column error_columns[] = {SPEC_NUMBER("bit"), SPEC_TEXT("name"),
                                                   SPEC_TEXT("meaning"), SPEC_END};
static const struct spec_column leaf_columns[] = {SPEC_TEXT("field"), SPEC_NUMBER("high_bit"),
                                                  SPEC_NUMBER("low_bit"), SPEC_TEXT("value"), SPEC_END};
static const struct spec_column role_columns[] = {SPEC_NUMBER("code"), SPEC_TEXT("role"),
                                                  SPEC_TEXT("protection"), SPEC_END};
static const struct spec_column buffer_columns[] = {SPEC_TEXT("buffer"), SPEC_NUMBER("usage"), SPEC_END};
static const struct spec_column offset_columns[] = {SPEC_TEXT("field"), SPEC_HEX("offset"),
                                                    SPEC_TEXT("meaning"), SPEC_END};
static const struct spec_column space_columns[] = {SPEC_TEXT("space"), SPEC_TEXT("name"), SPEC_TEXT("holds"),
                                                   SPEC_END};
static const struct spec_column alignment_columns[] = {SPEC_TEXT("scale"), SPEC_NUMBER("bytes"),
                                                       SPEC_TEXT("governs"), SPEC_END};
static const struct spec_column info_columns[] = {SPEC_TEXT("field"), SPEC_HEX("offset"), SPEC_TEXT("type"),
                                                  SPEC_TEXT("meaning"), SPEC_END};

static void streams(struct spec *spec, const char *name, uint32_t bitmap)
{
    struct spec_value values[PR_DART_STREAMS];
    size_t count = 0;

    for (unsigned i = 0; i < PR_DART_STREAMS; i++)
        if (bitmap >> i & 1)
            values[count++] = SPEC_N(i);
    spec_list(spec, name, SPEC_KIND_NUMBER, values, count);
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
    struct spec_value windows[PR_DART_COUNT + 1];

    spec_object(spec, "node");
    spec_text(spec, "name", PR_DART_NODE);
    spec_text(spec, "compatible", PR_DART_NODE_COMPATIBLE);
    spec_hex(spec, "page_size", PR_PAGE_BYTES);
    spec_hex(spec, "stream_enable", PR_DART_NODE_STREAMS);
    spec_hex(spec, "bypass", PR_DART_BYPASS_STREAMS);
    spec_number(spec, "stream_count", PR_DART_STREAMS);
    spec_hex(spec, "options", PR_DART_NODE_OPTIONS);
    spec_hex(spec, "config", PR_DART_CONFIG_RESET);
    spec_object_end(spec);
    for (unsigned i = 0; i < PR_DART_COUNT; i++)
        windows[i] = SPEC_N(board->dart[i]);
    windows[PR_DART_COUNT] = SPEC_N(board->dapf);
    spec_list(spec, "windows", SPEC_KIND_HEX, windows, BASE_COUNT_OF(windows));
    spec_hex(spec, "window_size", PR_DART_WINDOW_BYTES);
}

static void write_registers(struct spec *spec)
{
#define X(id, title, at, elements, step, from) \
    SPEC_T(title), SPEC_N(at), SPEC_N(elements), SPEC_N(step), SPEC_T(from),
    SPEC_TABLE(spec, "registers", register_columns, PR_DART_REGISTERS(X));
#undef X
    spec_number(spec, "error_flag_bit", bit_of(PR_DART_ERROR_FLAG));
#define X(id, position, meaning) SPEC_N(position), SPEC_T(#id), SPEC_T(meaning),
    SPEC_TABLE(spec, "error_codes", error_columns, PR_DART_ERRORS(X));
#undef X
}

static void write_leaf(struct spec *spec)
{
#define X(title, high, low, note) SPEC_T(title), SPEC_N(high), SPEC_N(low), SPEC_T(note),
    SPEC_TABLE(spec, "leaf", leaf_columns, FACT_LEAF_FIELDS(X));
#undef X
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
#define X(id, number, to, class, printed, meaning) SPEC_N(number), SPEC_T(meaning), SPEC_T(printed),
    SPEC_TABLE(spec, "usage_roles", role_columns, PR_USAGES(X));
#undef X
    spec_hex(spec, "firmware_usage_flag", PR_USAGE_FIRMWARE_FLAG);
#define X(title, usage) SPEC_T(title), SPEC_N(usage),
    SPEC_TABLE(spec, "load_buffers", buffer_columns, FACT_LOAD_BUFFERS(X));
#undef X
}

static void write_offsets(struct spec *spec)
{
    spec_number(spec, "segment_bytes", PR_SEGMENT_BYTES);
#define X(name, at, note) SPEC_T(#name), SPEC_N(at), SPEC_T(note),
    SPEC_TABLE(spec, "segment", offset_columns, PR_SEGMENT_FIELDS(X));
#undef X
#define X(member, title, at, note) SPEC_T(title), SPEC_N(at), SPEC_T(note),
    SPEC_TABLE(spec, "rebase", offset_columns, PR_REBASE_FIELDS(X));
#undef X
    spec_hex(spec, "rebase_object", PR_REBASE_OBJECT);
    spec_hex(spec, "rebase_high_half", PR_MAPPED_HALF);
    spec_hex(spec, "rebase_bar_base", pr_rebase_register(pr_board_table[PR_CHIP_T6000].container, 0, 0));
    spec_hex(spec, "rebase_bar_stride", PR_TQ_STRIDE);
    spec_number(spec, "rebase_record_bytes", sizeof(struct pr_rebase_record));
}

void spec_addressing(struct spec *spec)
{
    write_buffers(spec);
#define X(letter, title, note) SPEC_T(letter), SPEC_T(title), SPEC_T(note),
    SPEC_TABLE(spec, "spaces", space_columns, FACT_ADDRESS_SPACES(X));
#undef X
    write_offsets(spec);
#define X(title, size, note) SPEC_T(title), SPEC_N(size), SPEC_T(note),
    SPEC_TABLE(spec, "alignments", alignment_columns, FACT_ALIGNMENTS(X));
#undef X
#define X(member, title, at, kind, note) SPEC_T(title), SPEC_N(at), SPEC_T(kind), SPEC_T(note),
    SPEC_TABLE(spec, "error_info", info_columns, PR_DART_ERROR_INFO(X));
#undef X
    spec_hex(spec, "fault_status_offset", PR_ENGINE_STATUS);
    spec_hex(spec, "fault_status_benign", PR_ENGINE_STATUS_IDLE);
}
