/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the text form of a descriptor stream to its bytes. Offsets ascend: an item is written only behind
 * everything before it, and only as far as the caller's buffer goes; the size is counted further.
 */
#include "listing/assemble.h"

#include <string.h>

#include "listing/edit.h"
#include "listing/listing.h"
#include "listing/scan.h"
#include "program/td.h"

#define RECORD_WORDS_MAX   64u
#define RECORD_ADDRESS_MAX 0x3ffffffu

/* The descriptor being put together. */
struct draft {
    bool open;
    uint32_t offset;
    uint32_t declared; /* words, 0 when not given */
    uint32_t header;   /* words, 0 while undecided */
    bool names_word10;
    uint32_t used;      /* words, once a write has settled the header */
    uint32_t record_at; /* word of the last record's header */
    uint32_t word[PR_TD_WORDS_MAX];
};

struct assembler {
    struct pr_scan scan;
    struct pr_problem *problem;
    uint8_t *bytes;
    size_t capacity;
    bool chained;         /* the text says `chain` */
    bool ended;           /* `end` has been read */
    uint32_t done;        /* bytes put together so far; the next item starts there or later */
    uint32_t last_offset; /* of the descriptor before the draft */
    struct draft draft;
    struct pr_assembly *result;
};

static void store(struct assembler *a, uint32_t offset, const uint8_t *bytes, uint32_t count)
{
    for (uint32_t i = 0; i < count && offset + i < a->capacity; i++)
        a->bytes[offset + i] = bytes[i];
}

static void store_word(struct assembler *a, uint32_t offset, uint32_t word)
{
    uint8_t bytes[4];

    pr_put_le32(bytes, word);
    store(a, offset, bytes, sizeof(bytes));
}

static bool take_number(struct assembler *a, const char *what, uint32_t most, uint32_t *number)
{
    struct pr_word word;

    *number = 0;
    if (!pr_scan_word(&a->scan, &word))
        return pr_scan_fail(&a->scan, NULL, a->problem, "the %s is missing.", what);
    if (!pr_word_number(&word, number))
        return pr_scan_fail(&a->scan, &word, a->problem,
                            "%s is not a number of 32 bits; the %s is expected here.", PR_QUOTE(&word), what);
    if (*number > most)
        return pr_scan_fail(&a->scan, &word, a->problem, "the %s is %u; the limit is %u.", what, *number,
                            most);
    return true;
}

static bool take_end_of_line(struct assembler *a)
{
    struct pr_word word;

    return !pr_scan_word(&a->scan, &word) ||
           pr_scan_fail(&a->scan, &word, a->problem, "%s is more than this statement takes.",
                        PR_QUOTE(&word));
}

static uint32_t field_put(uint32_t word, enum pr_td_header_field field, uint32_t value)
{
    return pr_bits_put(word, pr_header_table[field].lo, pr_header_table[field].width, value);
}

/* `chain`: the draft becomes the last descriptor, and the one before it points here. */
static void link_draft(struct assembler *a, uint32_t words)
{
    struct draft *d = &a->draft;
    bool first = a->result->descriptors == 0;
    uint8_t *last;

    d->word[0] = field_put(field_put(d->word[0], PR_H_LNID, !first), PR_H_EON, 1);
    d->word[1] = field_put(d->word[1], PR_H_NEXT_SIZE, 0);
    d->word[7] = 0;
    if (first || a->last_offset + 4 * PR_TD_HEADER_WORDS > a->capacity)
        return;
    last = a->bytes + a->last_offset;
    pr_put_le32(last, field_put(pr_le32(last), PR_H_EON, 0));
    pr_put_le32(last + 4, field_put(pr_le32(last + 4), PR_H_NEXT_SIZE, words - 1));
    pr_put_le32(last + 28, d->offset);
}

/* Fixes the header's length, when the first write or the descriptor's end needs it. */
static bool settle_header(struct assembler *a)
{
    struct draft *d = &a->draft;
    uint32_t tde = pr_bits_get(d->word[6], pr_header_table[PR_H_TDE].lo, pr_header_table[PR_H_TDE].width);

    if (d->used)
        return true;
    if (!d->header)
        d->header = tde ? PR_TD_HEADER_WORDS_EXTENDED : PR_TD_HEADER_WORDS;
    if (d->names_word10 && d->header == PR_TD_HEADER_WORDS)
        return pr_scan_fail(&a->scan, NULL, a->problem,
                            "the header sets word 10, but has %u words; TDE is not set.", d->header);
    if (d->declared && d->declared < d->header)
        return pr_scan_fail(&a->scan, NULL, a->problem,
                            "the descriptor declares %u words; its header has %u.", d->declared, d->header);
    d->used = d->header;
    return true;
}

static bool close_draft(struct assembler *a)
{
    struct draft *d = &a->draft;
    uint32_t words;

    if (!d->open)
        return true;
    if (!settle_header(a))
        return false;
    words = d->declared ? d->declared : d->used;
    if (d->offset + 4 * words > PR_LISTING_BYTES_MAX)
        return pr_scan_fail(&a->scan, NULL, a->problem, "the descriptor ends at %x; the limit is %x.",
                            d->offset + 4 * words, PR_LISTING_BYTES_MAX);
    if (a->chained)
        link_draft(a, words);
    for (uint32_t i = 0; i < words; i++)
        store_word(a, d->offset + 4 * i, d->word[i]);
    if (a->result->descriptors++ == 0)
        a->result->first_words = words;
    a->last_offset = d->offset;
    a->done = d->offset + 4 * words;
    memset(d, 0, sizeof(*d));
    return true;
}

static bool take_offset(struct assembler *a, uint32_t unit, uint32_t *offset)
{
    if (!take_number(a, "offset", PR_LISTING_BYTES_MAX, offset))
        return false;
    if (*offset % unit)
        return pr_scan_fail(&a->scan, NULL, a->problem, "offset %x is not a multiple of %u.", *offset, unit);
    if (*offset < a->done)
        return pr_scan_fail(&a->scan, NULL, a->problem, "offset %x is taken: the item before it ends at %x.",
                            *offset, a->done);
    return true;
}

static bool begin_descriptor(struct assembler *a)
{
    struct draft *d = &a->draft;
    struct pr_word word;
    uint32_t index;

    d->open = true;
    d->offset = (uint32_t)pr_round_up(a->done, PR_TD_ALIGN);
    while (pr_scan_word(&a->scan, &word)) {
        if (pr_word_is(&word, "at")) {
            if (!take_offset(a, 4, &d->offset))
                return false;
        } else if (pr_word_is(&word, "words")) {
            if (!take_number(a, "number of words", PR_TD_WORDS_MAX, &d->declared))
                return false;
            if (d->declared < PR_TD_HEADER_WORDS)
                return pr_scan_fail(&a->scan, NULL, a->problem, "a descriptor has at least %u words.",
                                    PR_TD_HEADER_WORDS);
        } else if (!pr_word_number(&word, &index)) {
            return pr_scan_fail(&a->scan, &word, a->problem,
                                "%s is not `at`, `words` or the descriptor's number.", PR_QUOTE(&word));
        }
    }
    return true;
}

static bool check_before_writes(struct assembler *a, const struct pr_word *word)
{
    if (a->draft.used)
        return pr_scan_fail(&a->scan, word, a->problem,
                            "%s belongs to the header, which ends at the first write.", PR_QUOTE(word));
    return true;
}

static bool header_length(struct assembler *a, const struct pr_word *word)
{
    struct draft *d = &a->draft;

    if (!check_before_writes(a, word) ||
        !take_number(a, "header length", PR_TD_HEADER_WORDS_EXTENDED, &d->header))
        return false;
    if (d->header < PR_TD_HEADER_WORDS)
        return pr_scan_fail(&a->scan, word, a->problem, "a header has %u or %u words, not %u.",
                            PR_TD_HEADER_WORDS, PR_TD_HEADER_WORDS_EXTENDED, d->header);
    return take_end_of_line(a);
}

static void apply(struct draft *d, uint32_t index, const struct pr_edit *edit)
{
    d->word[index] = (d->word[index] & ~edit->mask) | edit->bits;
    if (index == PR_TD_HEADER_WORDS && !d->used)
        d->names_word10 = true;
}

/* `wN ...` */
static bool header_word(struct assembler *a, const struct pr_word *word, uint32_t index)
{
    struct pr_edit edit = {0, 0};

    if (!check_before_writes(a, word))
        return false;
    if (index >= PR_TD_HEADER_WORDS_EXTENDED)
        return pr_scan_fail(&a->scan, word, a->problem, "a header has words 0 to %u.", PR_TD_HEADER_WORDS);
    if (!pr_edit_take(&a->scan, pr_header_table, PR_H_COUNT, index, &edit, a->problem))
        return false;
    apply(&a->draft, index, &edit);
    return true;
}

/* `FIELD=VALUE ...`: each field knows its word. */
static bool header_fields(struct assembler *a, struct pr_word word)
{
    if (!check_before_writes(a, &word))
        return false;
    do {
        const struct pr_field_info *field = NULL;
        struct pr_edit edit = {0, 0};

        if (!pr_edit_word(&a->scan, &word, pr_header_table, PR_H_COUNT, PR_EDIT_ANY_OWNER, &edit, &field,
                          a->problem))
            return false;
        if (!field)
            return pr_scan_fail(&a->scan, &word, a->problem, "%s needs the number of its word in front.",
                                PR_QUOTE(&word));
        apply(&a->draft, field->owner, &edit);
    } while (pr_scan_word(&a->scan, &word));
    return true;
}

/* The address and default count of a write's target. */
static bool find_target(const struct pr_word *word, uint32_t *address, uint32_t *count)
{
    struct pr_word block, reg;

    *count = 1;
    if (pr_word_number(word, address))
        return true;
    for (unsigned i = 0; i < PR_BLOCK_COUNT; i++)
        if (pr_word_is(word, pr_block_table[i].name)) {
            *address = pr_block_table[i].base;
            *count = pr_block_table[i].words;
            return true;
        }
    if (!pr_word_split(word, '.', &block, &reg))
        return false;
    for (unsigned i = 0; i < PR_REG_COUNT; i++)
        if (pr_word_is(&reg, pr_reg_table[i].name) &&
            pr_word_is(&block, pr_block_table[pr_reg_table[i].block].name)) {
            *address = pr_reg_table[i].address;
            return true;
        }
    return false;
}

static bool begin_write(struct assembler *a)
{
    struct draft *d = &a->draft;
    uint32_t address, count, given;
    struct pr_word word;

    if (!pr_scan_word(&a->scan, &word))
        return pr_scan_fail(&a->scan, NULL, a->problem, "the register address is missing.");
    if (!find_target(&word, &address, &count))
        return pr_scan_fail(&a->scan, &word, a->problem, "%s is not an address, a block or a register.",
                            PR_QUOTE(&word));
    if (address > RECORD_ADDRESS_MAX)
        return pr_scan_fail(&a->scan, &word, a->problem,
                            "register address %x does not fit a record; the limit is %x.", address,
                            RECORD_ADDRESS_MAX);
    if (pr_scan_word(&a->scan, &word)) {
        if (!pr_word_number(&word, &given) || given == 0 || given > RECORD_WORDS_MAX)
            return pr_scan_fail(&a->scan, &word, a->problem, "%s is not a count; a record has 1 to %u words.",
                                PR_QUOTE(&word), RECORD_WORDS_MAX);
        count = given;
    }
    if (!take_end_of_line(a) || !settle_header(a))
        return false;
    if (d->used + 1 + count > (d->declared ? d->declared : PR_TD_WORDS_MAX))
        return pr_scan_fail(&a->scan, NULL, a->problem, "the write ends at word %u of a descriptor of %u.",
                            d->used + 1 + count, d->declared ? d->declared : PR_TD_WORDS_MAX);
    d->record_at = d->used;
    d->word[d->used] = (count - 1) << 26 | address;
    d->used += 1 + count;
    return true;
}

/* `NAME`, `NAME[I]` or `NAME[I-J]` */
static bool split_elements(const struct pr_word *word, struct pr_word *name, uint32_t *from, uint32_t *to)
{
    struct pr_word inside, first, last;

    *from = *to = 0;
    if (!pr_word_split(word, '[', name, &inside)) {
        *name = *word;
        return true;
    }
    if (inside.length == 0 || inside.start[--inside.length] != ']')
        return false;
    if (!pr_word_split(&inside, '-', &first, &last))
        first = last = inside;
    return pr_word_number(&first, from) && pr_word_number(&last, to) && *from <= *to;
}

/* The register of that name among those the last record writes. */
static const struct pr_reg_info *find_register(const struct pr_word *name, uint32_t address, uint32_t count)
{
    for (unsigned i = 0; i < PR_REG_COUNT; i++) {
        const struct pr_reg_info *reg = &pr_reg_table[i];

        if (pr_word_is(name, reg->name) && reg->address < address + 4 * count &&
            reg->address + 4 * reg->count > address)
            return reg;
    }
    return NULL;
}

static bool set_register(struct assembler *a, const struct pr_word *word)
{
    struct draft *d = &a->draft;
    uint32_t head = d->word[d->record_at], address = head & RECORD_ADDRESS_MAX, count = (head >> 26) + 1;
    const struct pr_reg_info *reg;
    struct pr_edit edit = {0, 0};
    struct pr_word name;
    uint32_t from, to;

    if (!d->record_at)
        return pr_scan_fail(&a->scan, word, a->problem, "%s is not a statement of a header.", PR_QUOTE(word));
    if (!split_elements(word, &name, &from, &to))
        return pr_scan_fail(&a->scan, word, a->problem, "%s is not of the form NAME[FROM-TO].",
                            PR_QUOTE(word));
    reg = find_register(&name, address, count);
    if (!reg)
        return pr_scan_fail(&a->scan, word, a->problem,
                            "the %u registers written from %x have none called %s.", count, address,
                            PR_QUOTE(&name));
    if (to >= reg->count)
        return pr_scan_fail(&a->scan, word, a->problem, "register %s has elements 0 to %u.", reg->name,
                            reg->count - 1);
    if (reg->address + 4 * from < address || reg->address + 4 * to >= address + 4 * count)
        return pr_scan_fail(&a->scan, word, a->problem,
                            "%s is not all among the %u registers written from %x.", PR_QUOTE(word), count,
                            address);
    if (!pr_edit_take(&a->scan, pr_field_table, PR_F_COUNT, (uint32_t)(reg - pr_reg_table), &edit,
                      a->problem))
        return false;
    for (uint32_t i = from; i <= to; i++)
        apply(d, d->record_at + 1 + (reg->address + 4 * i - address) / 4, &edit);
    return true;
}

/* `data` and `bytes`: units of 4 or 1 bytes. */
static bool put_data(struct assembler *a, uint32_t unit)
{
    struct pr_word word;
    uint32_t offset, value;

    if (!take_offset(a, unit, &offset))
        return false;
    for (; pr_scan_word(&a->scan, &word); offset += unit) {
        uint8_t bytes[4];

        if (!pr_word_number(&word, &value) || (unit == 1 && value > 0xff))
            return pr_scan_fail(&a->scan, &word, a->problem, "%s is not a number of %u bits.",
                                PR_QUOTE(&word), 8 * unit);
        if (offset + unit > PR_LISTING_BYTES_MAX)
            return pr_scan_fail(&a->scan, &word, a->problem, "the data goes on past %x, the limit.",
                                PR_LISTING_BYTES_MAX);
        pr_put_le32(bytes, value);
        store(a, offset, bytes, unit);
    }
    a->done = offset;
    return true;
}

static bool end_stream(struct assembler *a)
{
    uint32_t size;

    if (!take_number(a, "stream size", PR_LISTING_BYTES_MAX, &size))
        return false;
    if (size < a->done)
        return pr_scan_fail(&a->scan, NULL, a->problem, "the stream ends at %x, but its contents end at %x.",
                            size, a->done);
    a->done = size;
    a->ended = true;
    return take_end_of_line(a);
}

static bool take_version(struct assembler *a)
{
    uint32_t version;

    if (!take_number(a, "version", UINT32_MAX, &version))
        return false;
    if (version != PR_LISTING_VERSION)
        return pr_scan_fail(&a->scan, NULL, a->problem,
                            "this is a listing of version %u; version %u is read here.", version,
                            PR_LISTING_VERSION);
    return take_end_of_line(a);
}

/* A statement inside a descriptor. */
static bool draft_statement(struct assembler *a, const struct pr_word *word)
{
    struct pr_word number = {word->start + 1, word->length - 1}, name, value;
    uint32_t index;

    if (!a->draft.open)
        return pr_scan_fail(&a->scan, word, a->problem,
                            "%s is not a statement here, before the first descriptor.", PR_QUOTE(word));
    if (pr_word_is(word, "header"))
        return header_length(a, word);
    if (pr_word_is(word, "write"))
        return begin_write(a);
    if (word->start[0] == 'w' && pr_word_number(&number, &index))
        return header_word(a, word, index);
    if (pr_word_split(word, '=', &name, &value))
        return header_fields(a, *word);
    return set_register(a, word);
}

static bool statement(struct assembler *a, const struct pr_word *word)
{
    if (a->ended)
        return pr_scan_fail(&a->scan, word, a->problem, "%s comes after `end`.", PR_QUOTE(word));
    if (pr_word_is(word, "listing"))
        return take_version(a);
    if (pr_word_is(word, "chain"))
        return take_end_of_line(a);
    if (pr_word_is(word, "descriptor"))
        return close_draft(a) && begin_descriptor(a);
    if (pr_word_is(word, "data"))
        return close_draft(a) && put_data(a, 4);
    if (pr_word_is(word, "bytes"))
        return close_draft(a) && put_data(a, 1);
    if (pr_word_is(word, "end"))
        return close_draft(a) && end_stream(a);
    return draft_statement(a, word);
}

static bool says_chain(struct pr_scan scan)
{
    struct pr_word word;

    while (pr_scan_line(&scan))
        if (pr_scan_word(&scan, &word) && pr_word_is(&word, "chain"))
            return true;
    return false;
}

bool pr_assemble(const char *text, size_t length, void *bytes, size_t capacity, struct pr_assembly *result,
                 struct pr_problem *problem)
{
    struct assembler a = {.problem = problem, .bytes = bytes, .capacity = capacity, .result = result};
    struct pr_word word;

    memset(result, 0, sizeof(*result));
    if (capacity)
        memset(bytes, 0, capacity);
    pr_scan_begin(&a.scan, text, length);
    a.chained = says_chain(a.scan);
    while (pr_scan_line(&a.scan))
        if (pr_scan_word(&a.scan, &word) && !statement(&a, &word))
            return false;
    if (!close_draft(&a))
        return false;
    result->size = a.done;
    return true;
}
