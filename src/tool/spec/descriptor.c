/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The descriptor's section of `anemone spec`: blocks, registers, fields, what each means and what is done
 * with it. All text comes from the .def tables that the decoder and the checks use; only the words for a use
 * are here. The reference page docs/descriptor.md is rendered from this section.
 */
#include <stdio.h>

#include "program/hwx.h"
#include "program/td.h"
#include "protocol/text.h"
#include "tool/spec/spec.h"

#define DESCRIPTOR_VERSION 7
#define WORDS_BYTES        160u

static const char *const use_name[PR_USE_COUNT] = {"decoded", "hint", "opaque", "refused", "chosen"};
static const char *const source_name[] = {"aneregs", "facts", "oracles", "chosen"};

static const struct spec_column block_columns[] = {SPEC_TEXT("name"), SPEC_HEX("base"), SPEC_NUMBER("words"),
                                                   SPEC_END};
static const struct spec_column register_columns[] = {SPEC_TEXT("block"), SPEC_TEXT("name"),
                                                      SPEC_HEX("address"), SPEC_NUMBER("count"), SPEC_END};
/* Of a field: where it is, then what both kinds of field have. */
#define FIELD_COLUMNS                                                                                     \
    SPEC_TEXT("name"), SPEC_NUMBER("low_bit"), SPEC_NUMBER("width"), SPEC_TEXT("bits"), SPEC_TEXT("use"), \
        SPEC_TEXT("source"), SPEC_TEXT("meaning_source"), SPEC_TEXT("accepted"), SPEC_TEXT("meaning"),    \
        SPEC_TEXT("action")
static const struct spec_column header_field_columns[] = {SPEC_NUMBER("word"), FIELD_COLUMNS, SPEC_END};
static const struct spec_column field_columns[] = {SPEC_TEXT("block"),  SPEC_TEXT("register"),
                                                   SPEC_HEX("address"), SPEC_NUMBER("count"),
                                                   FIELD_COLUMNS,       SPEC_END};
static const struct spec_column value_columns[] = {SPEC_TEXT("register"), SPEC_TEXT("name"),
                                                   SPEC_NUMBER("value"), SPEC_TEXT("meaning"), SPEC_END};
static const struct spec_column restriction_columns[] = {SPEC_TEXT("field"), SPEC_TEXT("accepted"),
                                                         SPEC_TEXT("condition"), SPEC_END};

/* "0-2, 4": the values of a mask; empty when every value is run. */
static void accepted_values(const struct pr_field_info *info, struct pr_text *text)
{
    for (unsigned first = 0; first < 32; first++) {
        unsigned last = first;

        if (!(info->accepted >> first & 1))
            continue;
        while (last < 31 && info->accepted >> (last + 1) & 1)
            last++;
        pr_text_printf(text, text->length ? ", %u" : "%u", first);
        if (last > first)
            pr_text_printf(text, last == first + 1 ? ", %u" : "-%u", last);
        first = last;
    }
}

/* What is done with a field: its use in words, and what the table adds. */
static void action(const struct pr_field_info *info, const char *accepted, struct pr_text *text)
{
    static const char *const plain[PR_USE_COUNT] = {"acted on", "kept as a hint, no effect",
                                                    "accepted, no effect", "", "our own encoding"};

    pr_text_put(text, plain[info->use]);
    if (*accepted)
        pr_text_printf(text, info->use == PR_USE_REFUSED ? "refused unless %s" : "; refused unless %s",
                       accepted);
    if (*info->action)
        pr_text_printf(text, info->use == PR_USE_REFUSED ? " (%s)" : "; %s", info->action);
}

static void bits(const struct pr_field_info *info, char out[16])
{
    snprintf(out, 16, info->width > 1 ? "%u-%u" : "%u", info->lo, info->lo + info->width - 1u);
}

static void put_register(struct spec *spec, const struct pr_reg_info *reg)
{
    SPEC_PUT(spec, SPEC_T(pr_block_table[reg->block].name), SPEC_T(reg->name), SPEC_N(reg->address),
             SPEC_N(reg->count));
}

static void field(struct spec *spec, const struct pr_field_info *info, bool header)
{
    char values[WORDS_BYTES], does[WORDS_BYTES], place[16];
    struct pr_text text;

    pr_text_init(&text, values, sizeof(values));
    accepted_values(info, &text);
    pr_text_init(&text, does, sizeof(does));
    action(info, values, &text);
    bits(info, place);
    if (header)
        SPEC_PUT(spec, SPEC_N(info->owner));
    else
        put_register(spec, &pr_reg_table[info->owner]);
    SPEC_PUT(spec, SPEC_T(info->name), SPEC_N(info->lo), SPEC_N(info->width), SPEC_T(place),
             SPEC_T(use_name[info->use]), SPEC_T(source_name[info->source]), SPEC_T(info->where),
             SPEC_T(values), SPEC_T(info->meaning), SPEC_T(does));
}

static void write_blocks(struct spec *spec)
{
    spec_table_begin(spec, "blocks", block_columns);
    for (unsigned i = 0; i < PR_BLOCK_COUNT; i++) {
        const struct pr_block_info *block = &pr_block_table[i];

        SPEC_PUT(spec, SPEC_T(block->name), SPEC_N(block->base), SPEC_N(block->words));
    }
    spec_table_end(spec);
    spec_table_begin(spec, "registers", register_columns);
    for (unsigned i = 0; i < PR_REG_COUNT; i++)
        put_register(spec, &pr_reg_table[i]);
    spec_table_end(spec);
}

static void write_values(struct spec *spec)
{
    spec_table_begin(spec, "values", value_columns);
    for (unsigned i = 0; i < pr_value_count; i++) {
        const struct pr_field_info *info = &pr_field_table[pr_value_table[i].field];

        SPEC_PUT(spec, SPEC_T(pr_reg_table[info->owner].name), SPEC_T(info->name),
                 SPEC_N(pr_value_table[i].value), SPEC_T(pr_value_table[i].text));
    }
    spec_table_end(spec);
}

static void restriction(struct spec *spec, const struct pr_field_info *info, bool header)
{
    char values[WORDS_BYTES], name[WORDS_BYTES];
    struct pr_text text;

    if (!info->accepted)
        return;
    pr_text_init(&text, values, sizeof(values));
    accepted_values(info, &text);
    if (header)
        snprintf(name, sizeof(name), "Header[%u].%s", info->owner, info->name);
    else
        snprintf(name, sizeof(name), "%s.%s.%s", pr_block_table[pr_reg_table[info->owner].block].name,
                 pr_reg_table[info->owner].name, info->name);
    SPEC_PUT(spec, SPEC_T(name), SPEC_T(values), SPEC_T(info->action));
}

static void write_counts(struct spec *spec)
{
    unsigned count[PR_USE_COUNT] = {0}, printer = 0, printer_words = 0, partly = 0;

    for (unsigned i = 0; i < PR_H_COUNT; i++) {
        count[pr_header_table[i].use]++;
        printer += pr_header_table[i].source == PR_SOURCE_ANEREGS;
        printer_words += pr_header_table[i].source == PR_SOURCE_ANEREGS;
        partly += pr_header_table[i].accepted && pr_header_table[i].use != PR_USE_REFUSED;
    }
    for (unsigned i = 0; i < PR_F_COUNT; i++) {
        count[pr_field_table[i].use]++;
        partly += pr_field_table[i].accepted && pr_field_table[i].use != PR_USE_REFUSED;
        if (pr_field_table[i].source != PR_SOURCE_ANEREGS)
            continue;
        printer++;
        printer_words += pr_reg_table[pr_field_table[i].owner].count;
    }
    spec_object(spec, "counts");
    spec_number(spec, "fields", PR_H_COUNT + PR_F_COUNT);
    for (unsigned i = 0; i < PR_USE_COUNT; i++)
        spec_number(spec, use_name[i], count[i]);
    spec_number(spec, "decoded_with_refused_values", partly);
    spec_number(spec, "named_by_the_register_printer", printer);
    spec_number(spec, "the_same_with_array_elements", printer_words);
    spec_object_end(spec);
}

void spec_descriptor(struct spec *spec)
{
    spec_number(spec, "version", DESCRIPTOR_VERSION);
    spec_number(spec, "header_words", PR_TD_HEADER_WORDS);
    spec_number(spec, "header_words_extended", PR_TD_HEADER_WORDS_EXTENDED);
    spec_number(spec, "words_max", PR_TD_WORDS_MAX);
    spec_hex(spec, "alignment", PR_TD_ALIGN);
    spec_number(spec, "buffer_registers", PR_TQ_BARS);
    spec_hex(spec, "image_magic", PR_HWX_MAGIC);
    spec_table_begin(spec, "header_fields", header_field_columns);
    for (unsigned i = 0; i < PR_H_COUNT; i++)
        field(spec, &pr_header_table[i], true);
    spec_table_end(spec);
    write_blocks(spec);
    spec_table_begin(spec, "fields", field_columns);
    for (unsigned i = 0; i < PR_F_COUNT; i++)
        field(spec, &pr_field_table[i], false);
    spec_table_end(spec);
    write_values(spec);
    spec_table_begin(spec, "restrictions", restriction_columns);
    for (unsigned i = 0; i < PR_H_COUNT; i++)
        restriction(spec, &pr_header_table[i], true);
    for (unsigned i = 0; i < PR_F_COUNT; i++)
        restriction(spec, &pr_field_table[i], false);
    spec_table_end(spec);
    write_counts(spec);
}
