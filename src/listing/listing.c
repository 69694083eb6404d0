/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text form of a descriptor stream: writing it. Every byte of the stream is listed, or is a zero that
 * pr_assemble fills in again: bits without a field appear as `+bits=`, bytes outside descriptors as data. A
 * descriptor is shown as one only if it begins behind everything listed before and its framing is intact. A
 * new statement also belongs in the grammar of listing.h and in assemble.c.
 */
#include "listing/listing.h"

#include "program/chain.h"
#include "protocol/text.h"

#define LINE_BYTES    512 /* the longest line, a register of eleven fields, needs less than 300 */
#define DATA_PER_LINE 8
#define COMMENT_AT    24 /* column of a comment after a short statement */

struct lister {
    const uint8_t *bytes;
    size_t size;
    size_t done; /* bytes already listed */
    uint32_t descriptors;
    pr_listing_line line;
    void *context;
    struct pr_text text;
    char buffer[LINE_BYTES];
};

static struct pr_text *begin(struct lister *l)
{
    pr_text_init(&l->text, l->buffer, sizeof(l->buffer));
    return &l->text;
}

static void finish(struct lister *l)
{
    l->line(l->context, l->buffer, l->text.length);
}

static void put_comment(struct pr_text *t, const char *name)
{
    do
        pr_text_put_char(t, ' ');
    while (t->length < COMMENT_AT);
    pr_text_printf(t, "# %s", name);
}

/* Counts and small codes read best in decimal; addresses, masks and fp16 numbers do not. */
static bool is_hexadecimal(const struct pr_field_info *field)
{
    return field->width >= 16 && field->width != 17;
}

static void put_field(struct pr_text *t, const struct pr_field_info *field, uint32_t word)
{
    uint32_t value = pr_bits_get(word, field->lo, field->width);

    if (value == 0)
        return;
    pr_text_printf(t, is_hexadecimal(field) ? " %s=%x" : " %s=%u", field->name, value);
}

static void put_fields(struct pr_text *t, const struct pr_field_info *table, unsigned count, uint32_t owner,
                       uint32_t word, uint32_t known)
{
    for (unsigned i = 0; i < count; i++)
        if (table[i].owner == owner)
            put_field(t, &table[i], word);
    if (word & ~known)
        pr_text_printf(t, " +bits=%x", word & ~known);
}

static void list_header(struct lister *l, const struct pr_td *td)
{
    struct pr_text *t = begin(l);

    pr_text_printf(t, "  header %u", td->header_words);
    finish(l);
    for (uint32_t i = 0; i < td->header_words; i++) {
        if (!td->word[i])
            continue;
        t = begin(l);
        pr_text_printf(t, "    w%u", i);
        put_fields(t, pr_header_table, PR_H_COUNT, i, td->word[i], pr_header_known_bits(i));
        finish(l);
    }
}

static void list_register(struct lister *l, uint32_t index, uint32_t alike, uint32_t word)
{
    uint32_t element;
    enum pr_td_reg id = pr_image_reg(index, &element);
    const struct pr_reg_info *reg = &pr_reg_table[id];
    uint32_t known = pr_image_known_bits(index);
    struct pr_text *t = begin(l);

    pr_text_printf(t, "    %s", reg->name);
    if (reg->count > 1)
        pr_text_printf(t, alike > 1 ? "[%u-%u]" : "[%u]", element, element + alike - 1);
    put_fields(t, pr_field_table, PR_F_COUNT, (uint32_t)id, word, known);
    /*
     * The one field of an address, stride or size counts 16 or 64 bytes: the word itself is the number of
     * bytes.
     */
    if (known > 0xfffff && !(known & 0xf) && !(word & ~known))
        pr_text_printf(t, "  # %x bytes", word);
    finish(l);
}

/* How many registers from here on are elements of the same array with the same word. */
static uint32_t count_alike(const uint32_t *word, uint32_t index, uint32_t left)
{
    uint32_t first, element, count = 1;
    enum pr_td_reg reg = pr_image_reg(index, &first);

    while (count < left && word[count] == word[0] && pr_image_reg(index + count, &element) == reg)
        count++;
    return count;
}

static void list_record(struct lister *l, const struct pr_td *td, const struct pr_record *record)
{
    uint32_t first = (uint32_t)pr_image_index(record->address), element;
    const uint32_t *word = &td->word[record->offset + 1];
    struct pr_text *t = begin(l);

    pr_text_printf(t, "  write %x %u", record->address, record->count);
    put_comment(t, pr_block_table[pr_reg_table[pr_image_reg(first, &element)].block].name);
    finish(l);
    for (uint32_t i = 0; i < record->count;) {
        uint32_t alike = count_alike(word + i, first + i, record->count - i);

        if (word[i])
            list_register(l, first + i, alike, word[i]);
        i += alike;
    }
}

static void list_data_line(struct lister *l, size_t words)
{
    struct pr_text *t = begin(l);

    pr_text_printf(t, "data %jx", (uint64_t)l->done);
    for (size_t i = 0; i < words; i++, l->done += 4) {
        pr_text_put_char(t, ' ');
        pr_text_put_hex(t, pr_le32(l->bytes + l->done), 8);
    }
    finish(l);
}

/* The non-zero words up to `end`, and the last one to three bytes of the stream. */
static void list_data(struct lister *l, size_t end)
{
    struct pr_text *t;

    while (end - l->done >= 4) {
        size_t words = 0;

        while (words < DATA_PER_LINE && end - l->done >= 4 * (words + 1) &&
               pr_le32(l->bytes + l->done + 4 * words))
            words++;
        if (words)
            list_data_line(l, words);
        else
            l->done += 4;
    }
    if (l->done == end)
        return;
    t = begin(l);
    pr_text_printf(t, "bytes %jx", (uint64_t)l->done);
    for (; l->done < end; l->done++) {
        pr_text_put_char(t, ' ');
        pr_text_put_hex(t, l->bytes[l->done], 2);
    }
    finish(l);
}

static void list_descriptor(struct lister *l, const struct pr_chain_link *link)
{
    struct pr_td td;
    struct pr_text *t;

    if (link->offset < l->done || !pr_td_read(l->bytes + link->offset, link->words, &td, NULL))
        return;
    list_data(l, link->offset);
    t = begin(l);
    pr_text_printf(t, "descriptor %u at %x words %u", l->descriptors++, link->offset, link->words);
    finish(l);
    list_header(l, &td);
    for (uint32_t i = 0; i < td.record_count; i++)
        list_record(l, &td, &td.record[i]);
    l->done = link->offset + 4 * link->words;
}

bool pr_listing_write(const void *bytes, size_t size, uint32_t first_words, pr_listing_line line,
                      void *context, struct pr_problem *problem)
{
    struct lister l = {.bytes = bytes, .size = size, .line = line, .context = context};
    struct pr_chain_link link;
    enum pr_chain_step step;
    struct pr_chain chain;

    if (size > PR_LISTING_BYTES_MAX)
        return pr_problem_set(problem, PR_PROBLEM_LIMIT,
                              "The stream has %jx bytes; a listing takes at most %x.", (uint64_t)size,
                              PR_LISTING_BYTES_MAX);
    pr_text_printf(begin(&l), "listing %u", PR_LISTING_VERSION);
    finish(&l);
    pr_chain_begin(&chain, bytes, size, first_words, 0);
    while ((step = pr_chain_next(&chain, &link, NULL)) != PR_CHAIN_END)
        if (step == PR_CHAIN_LINK)
            list_descriptor(&l, &link);
    list_data(&l, size);
    pr_text_printf(begin(&l), "end %jx", (uint64_t)size);
    finish(&l);
    return true;
}
