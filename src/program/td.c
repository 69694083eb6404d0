/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Task descriptors: tables, framing, register image. A descriptor that pr_td_read accepts has records of
 * known blocks only, all inside its declared size; pr_td_apply relies on that.
 */
#include "program/td.h"

#include <string.h>

#include "base/array.h"
#include "program/experiment.h"
#include "program/td_codes.h"

/* Image index of each block's first word: each entry continues after the last word of the one before. */
enum {
#define PR_TD_BLOCK(id, name, base, words) FIRST_##id, LAST_##id = FIRST_##id + (words)-1,
#include "program/td_regs.def"
    FIRST_END
};
_Static_assert((int)FIRST_END == (int)PR_IMAGE_WORDS, "the image holds every word of every block");

#define BASE_OF(block) BASE_##block
enum {
#define PR_TD_BLOCK(id, name, base, words) BASE_##id = (base),
#include "program/td_regs.def"
};

#define PR_TD_REG(block, id, name, address, count) \
    _Static_assert((address) % 4 == 0 && (address) >= BASE_OF(block), name " is in its block");
#define PR_TD_FIELD(reg, id, name, lo, width, use, source, where, accepted, meaning, action) \
    _Static_assert((width) > 0 && (lo) + (width) <= 32, name " fits a word");
#include "program/td_regs.def"

const struct pr_block_info pr_block_table[PR_BLOCK_COUNT] = {
#define PR_TD_BLOCK(id, name, base, words) [PR_BLOCK_##id] = {name, base, words, FIRST_##id},
#include "program/td_regs.def"
};

const struct pr_reg_info pr_reg_table[PR_REG_COUNT] = {
#define PR_TD_REG(block, id, name, address, count) \
    [PR_REG_##id] = {name, PR_BLOCK_##block, address, count, FIRST_##block + ((address)-BASE_OF(block)) / 4},
#include "program/td_regs.def"
};

const struct pr_field_info pr_field_table[PR_F_COUNT] = {
#define PR_TD_FIELD(reg, id, name, lo, width, use, source, where, accepted, meaning, action) \
    [PR_F_##id] = {name,  PR_REG_##reg, lo,      width, PR_USE_##use, PR_SOURCE_##source,    \
                   where, accepted,     meaning, action},
#include "program/td_regs.def"
};

const struct pr_value_info pr_value_table[] = {
#define PR_TD_VALUE(field, value, text) {PR_F_##field, value, text},
#include "program/td_values.def"
};
const unsigned pr_value_count = BASE_COUNT_OF(pr_value_table);

const char *pr_value_text(enum pr_td_field field, uint32_t value)
{
    for (unsigned i = 0; i < pr_value_count; i++)
        if (pr_value_table[i].field == field && pr_value_table[i].value == value)
            return pr_value_table[i].text;
    return NULL;
}

int pr_image_index(uint32_t address)
{
    for (unsigned i = 0; i < PR_BLOCK_COUNT; i++) {
        const struct pr_block_info *block = &pr_block_table[i];

        if (address >= block->base && address < block->base + 4 * block->words && address % 4 == 0)
            return (int)(block->first + (address - block->base) / 4);
    }
    return -1;
}

enum pr_td_reg pr_image_reg(uint32_t index, uint32_t *element)
{
    for (unsigned i = 0; i < PR_REG_COUNT; i++) {
        const struct pr_reg_info *reg = &pr_reg_table[i];

        if (index >= reg->first && index < reg->first + reg->count) {
            *element = index - reg->first;
            return (enum pr_td_reg)i;
        }
    }
    return PR_REG_COUNT;
}

/* The fields of a register follow it in the table, so that each case ends where the next register begins. */
static uint32_t known_bits(enum pr_td_reg reg)
{
    uint32_t bits = 0;

    switch (reg) {
#define PR_TD_REG(block, id, name, address, count) \
    break;                                         \
    case PR_REG_##id:
#define PR_TD_FIELD(owner, id, name, lo, width, use, source, where, accepted, meaning, action) \
    bits |= reg == PR_REG_##owner ? pr_bits_mask(lo, width) : 0;
#include "program/td_regs.def"
        break;
    default: break;
    }
    return bits;
}

uint32_t pr_image_known_bits(uint32_t index)
{
    uint32_t element;

    return known_bits(pr_image_reg(index, &element));
}

uint32_t pr_header_known_bits(uint32_t word)
{
    uint32_t bits = 0;

    for (unsigned i = 0; i < PR_H_COUNT; i++)
        if (pr_header_table[i].owner == word)
            bits |= pr_bits_mask(pr_header_table[i].lo, pr_header_table[i].width);
    return bits;
}

uint32_t pr_image_get_at(const struct pr_image *image, enum pr_td_field field, uint32_t element)
{
    const struct pr_field_info *info = &pr_field_table[field];

    return pr_bits_get(image->word[pr_reg_table[info->owner].first + element], info->lo, info->width);
}

uint32_t pr_image_get(const struct pr_image *image, enum pr_td_field field)
{
    return pr_image_get_at(image, field, 0);
}

void pr_image_put_at(struct pr_image *image, enum pr_td_field field, uint32_t element, uint32_t value)
{
    const struct pr_field_info *info = &pr_field_table[field];
    uint32_t *word = &image->word[pr_reg_table[info->owner].first + element];

    *word = pr_bits_put(*word, info->lo, info->width, value);
}

void pr_image_put(struct pr_image *image, enum pr_td_field field, uint32_t value)
{
    pr_image_put_at(image, field, 0, value);
}

uint32_t pr_td_header(const struct pr_td *td, enum pr_td_header_field field)
{
    const struct pr_field_info *info = &pr_header_table[field];

    if (info->owner >= td->header_words)
        return 0;
    return pr_bits_get(td->word[info->owner], info->lo, info->width);
}

static bool truncated(struct pr_problem *problem, uint32_t words)
{
    if (problem)
        problem->offset = 0;
    return pr_problem_set(problem, PR_PROBLEM_TRUNCATED,
                          "The descriptor declares %u words; a header needs %u, or %u when TDE is set.",
                          words, PR_TD_HEADER_WORDS, PR_TD_HEADER_WORDS_EXTENDED);
}

static bool record_in_block(const struct pr_record *record)
{
    int first = pr_image_index(record->address);
    int last = pr_image_index(record->address + 4 * (record->count - 1u));

    return first >= 0 && last == first + (int)record->count - 1;
}

static bool unknown_record(const struct pr_td *td, const struct pr_record *record, struct pr_problem *problem)
{
    return pr_problem_set(
        problem, PR_PROBLEM_UNKNOWN_RECORD,
        "Word %u (%x) writes %u registers from %x, which no known register block holds; the "
        "declared size of %u words may be too large.",
        record->offset, td->word[record->offset], record->count, record->address, td->words);
}

static void ignore_record(const struct pr_td *td, const struct pr_record *record,
                          const struct pr_ignore *ignore)
{
    struct pr_problem problem = {
        .offset = 4u * record->offset, .address = record->address, .bits = td->word[record->offset]};

    unknown_record(td, record, &problem);
    ignore->report(ignore->context, &problem);
}

/* Reads the record at word *next and moves *next past it. One that is ignored is not kept. */
static bool read_record(struct pr_td *td, uint32_t *next, const struct pr_ignore *ignore,
                        struct pr_problem *problem)
{
    struct pr_record *record = &td->record[td->record_count];
    uint32_t at = *next;
    bool known;

    record->offset = (uint16_t)at;
    record->count = (uint16_t)(pr_bits_get(td->word[at], 26, 6) + 1);
    record->address = td->word[at] & 0x3ffffffu;
    if (problem) {
        problem->offset = 4 * at;
        problem->address = record->address;
        problem->bits = td->word[at];
    }
    /*
     * Zeros read as "write InDim = 0": in every known descriptor they are the padding after a size declared
     * too large.
     */
    if (td->word[at] == 0 && td->record_count)
        return pr_problem_set(
            problem, PR_PROBLEM_OVER_DECLARED,
            "Word %u is 0 where a record is expected: the declared size of %u words is too large.", at,
            td->words);
    known = record_in_block(record);
    if (!known && !ignore)
        return unknown_record(td, record, problem);
    if (at + 1 + record->count > td->words)
        return pr_problem_set(
            problem, PR_PROBLEM_OVER_DECLARED,
            "The record at word %u needs words up to %u, but the descriptor declares only %u.", at,
            at + record->count, td->words);
    if (!known)
        ignore_record(td, record, ignore);
    *next = at + 1u + record->count;
    td->record_count += known;
    return true;
}

bool pr_td_read(const void *bytes, uint32_t words, struct pr_td *td, struct pr_problem *problem)
{
    return pr_td_read_lenient(bytes, words, NULL, td, problem);
}

bool pr_td_read_lenient(const void *bytes, uint32_t words, const struct pr_ignore *ignore, struct pr_td *td,
                        struct pr_problem *problem)
{
    uint32_t at;

    if (words < PR_TD_HEADER_WORDS || words > PR_TD_WORDS_MAX)
        return truncated(problem, words);
    td->words = words;
    td->record_count = 0;
    for (uint32_t i = 0; i < words; i++)
        td->word[i] = pr_le32((const uint8_t *)bytes + 4 * i);
    td->header_words = PR_TD_HEADER_WORDS;
    if (pr_td_header(td, PR_H_TDE))
        td->header_words = PR_TD_HEADER_WORDS_EXTENDED;
    if (words < td->header_words)
        return truncated(problem, words);
    for (at = td->header_words; at < words;)
        if (!read_record(td, &at, ignore, problem))
            return false;
    return true;
}

/* `reg` is PR_REG_COUNT for a word of the header. */
static bool unexplained(struct pr_problem *problem, uint32_t at, uint32_t address, uint32_t bits,
                        enum pr_td_reg reg, uint32_t word)
{
    const char *what = reg < PR_REG_COUNT ? pr_reg_table[reg].name : "header";

    if (problem) {
        problem->offset = 4 * at;
        problem->address = address;
        problem->reg = (uint16_t)(reg < PR_REG_COUNT ? reg + 1u : 0);
        problem->field = 0;
        problem->bits = bits;
    }
    return pr_problem_set(problem, PR_PROBLEM_UNEXPLAINED_BITS,
                          "Word %u (%s, value %x) has bits %x set, which no public source explains.", at,
                          what, word, bits);
}

/* Bits of a header word that no field covers. */
static bool header_explained(const struct pr_td *td, uint32_t at, struct pr_problem *problem)
{
    uint32_t bits = td->word[at] & ~pr_header_known_bits(at);

    return !bits || unexplained(problem, at, 0, bits, PR_REG_COUNT, td->word[at]);
}

/* The same of the nth word of a record, unless the whole word was seen to run on an M1. */
static bool word_explained(const struct pr_td *td, const struct pr_record *record, uint32_t nth,
                           struct pr_problem *problem)
{
    uint32_t index = (uint32_t)pr_image_index(record->address) + nth, address = record->address + 4 * nth;
    uint32_t element, at = record->offset + 1 + nth;
    uint32_t bits = td->word[at] ? td->word[at] & ~pr_image_known_bits(index) : 0;
    bool planar = !pr_td_header(td, PR_H_ENE);

    if (!bits || pr_experiment_explains(address, td->word[at], planar))
        return true;
    if (problem)
        problem->outcome = pr_experiment_hangs(address, td->word[at], planar) ? PR_OUTCOME_PUBLISHED_HANG
                                                                              : PR_OUTCOME_UNKNOWN;
    return unexplained(problem, at, address, bits, pr_image_reg(index, &element), td->word[at]);
}

/* Reports what may be ignored, else it is the caller's problem. What hangs an M1 is never ignored. */
static bool ignored(const struct pr_problem *found, const struct pr_ignore *ignore,
                    struct pr_problem *problem)
{
    if (ignore && found->outcome != PR_OUTCOME_PUBLISHED_HANG) {
        ignore->report(ignore->context, found);
        return true;
    }
    if (problem) {
        uint32_t descriptor = problem->descriptor;

        *problem = *found;
        problem->descriptor = descriptor;
    }
    return false;
}

bool pr_td_explained(const struct pr_td *td, struct pr_problem *problem)
{
    return pr_td_explained_lenient(td, NULL, problem);
}

bool pr_td_explained_lenient(const struct pr_td *td, const struct pr_ignore *ignore,
                             struct pr_problem *problem)
{
    struct pr_problem found = {0};

    for (uint32_t i = 0; i < td->header_words; i++)
        if (!header_explained(td, i, &found) && !ignored(&found, ignore, problem))
            return false;
    for (uint32_t r = 0; r < td->record_count; r++)
        for (uint32_t i = 0; i < td->record[r].count; i++)
            if (!word_explained(td, &td->record[r], i, &found) && !ignored(&found, ignore, problem))
                return false;
    return true;
}

void pr_td_apply(const struct pr_td *td, struct pr_image *image)
{
    for (uint32_t r = 0; r < td->record_count; r++) {
        const struct pr_record *record = &td->record[r];

        memcpy(&image->word[pr_image_index(record->address)], &td->word[record->offset + 1],
               record->count * sizeof(uint32_t));
    }
}

void pr_td_place(const struct pr_problem *problem, struct pr_text *reg, struct pr_text *field)
{
    const struct pr_reg_info *at =
        problem->reg && problem->reg <= PR_REG_COUNT ? &pr_reg_table[problem->reg - 1] : NULL;

    if (at)
        pr_text_printf(reg, "%s.%s", pr_block_table[at->block].name, at->name);
    if (at && problem->field && problem->field <= PR_F_COUNT)
        pr_text_printf(field, "%s.%s", at->name, pr_field_table[problem->field - 1].name);
    if (!problem->reg && problem->field && problem->field <= PR_H_COUNT)
        pr_text_printf(field, "Header.%s", pr_header_table[problem->field - 1].name);
}
