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

static void field(struct spec *spec, const struct pr_field_info *info, bool header)
{
    char values[WORDS_BYTES], does[WORDS_BYTES], place[16];
    struct pr_text text;

    pr_text_init(&text, values, sizeof(values));
    accepted_values(info, &text);
    pr_text_init(&text, does, sizeof(does));
    action(info, values, &text);
    bits(info, place);
    spec_object(spec, NULL);
    if (header) {
        spec_number(spec, "word", info->owner);
    } else {
        spec_text(spec, "block", pr_block_table[pr_reg_table[info->owner].block].name);
        spec_text(spec, "register", pr_reg_table[info->owner].name);
        spec_hex(spec, "address", pr_reg_table[info->owner].address);
        spec_number(spec, "count", pr_reg_table[info->owner].count);
    }
    spec_text(spec, "name", info->name);
    spec_number(spec, "low_bit", info->lo);
    spec_number(spec, "width", info->width);
    spec_text(spec, "bits", place);
    spec_text(spec, "use", use_name[info->use]);
    spec_text(spec, "source", source_name[info->source]);
    spec_text(spec, "meaning_source", info->where);
    spec_text(spec, "accepted", values);
    spec_text(spec, "meaning", info->meaning);
    spec_text(spec, "action", does);
    spec_object_end(spec);
}

static void write_blocks(struct spec *spec)
{
    spec_array(spec, "blocks");
    for (unsigned i = 0; i < PR_BLOCK_COUNT; i++) {
        spec_object(spec, NULL);
        spec_text(spec, "name", pr_block_table[i].name);
        spec_hex(spec, "base", pr_block_table[i].base);
        spec_number(spec, "words", pr_block_table[i].words);
        spec_object_end(spec);
    }
    spec_array_end(spec);
    spec_array(spec, "registers");
    for (unsigned i = 0; i < PR_REG_COUNT; i++) {
        spec_object(spec, NULL);
        spec_text(spec, "block", pr_block_table[pr_reg_table[i].block].name);
        spec_text(spec, "name", pr_reg_table[i].name);
        spec_hex(spec, "address", pr_reg_table[i].address);
        spec_number(spec, "count", pr_reg_table[i].count);
        spec_object_end(spec);
    }
    spec_array_end(spec);
}

static void write_values(struct spec *spec)
{
    spec_array(spec, "values");
    for (unsigned i = 0; i < pr_value_count; i++) {
        const struct pr_field_info *info = &pr_field_table[pr_value_table[i].field];

        spec_object(spec, NULL);
        spec_text(spec, "register", pr_reg_table[info->owner].name);
        spec_text(spec, "name", info->name);
        spec_number(spec, "value", pr_value_table[i].value);
        spec_text(spec, "meaning", pr_value_table[i].text);
        spec_object_end(spec);
    }
    spec_array_end(spec);
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
    spec_object(spec, NULL);
    spec_text(spec, "field", name);
    spec_text(spec, "accepted", values);
    spec_text(spec, "condition", info->action);
    spec_object_end(spec);
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
    spec_array(spec, "header_fields");
    for (unsigned i = 0; i < PR_H_COUNT; i++)
        field(spec, &pr_header_table[i], true);
    spec_array_end(spec);
    write_blocks(spec);
    spec_array(spec, "fields");
    for (unsigned i = 0; i < PR_F_COUNT; i++)
        field(spec, &pr_field_table[i], false);
    spec_array_end(spec);
    write_values(spec);
    spec_array(spec, "restrictions");
    for (unsigned i = 0; i < PR_H_COUNT; i++)
        restriction(spec, &pr_header_table[i], true);
    for (unsigned i = 0; i < PR_F_COUNT; i++)
        restriction(spec, &pr_field_table[i], false);
    spec_array_end(spec);
    write_counts(spec);
}
