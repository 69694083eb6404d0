/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a line of text does to one word of a descriptor. `bits` never has a bit outside `mask`; of two
 * settings of the same bit the later one counts. A value for the whole word is taken only as the first word
 * of a line, so that fields after it still apply.
 */
#include "listing/edit.h"

static const struct pr_field_info *find_field(const struct pr_field_info *table, unsigned count,
                                              uint32_t owner, const struct pr_word *name)
{
    for (unsigned i = 0; i < count; i++)
        if ((table[i].owner == owner || owner == PR_EDIT_ANY_OWNER) && pr_word_is(name, table[i].name))
            return &table[i];
    return NULL;
}

static void set_bits(struct pr_edit *edit, uint32_t mask, uint32_t bits)
{
    edit->mask |= mask;
    edit->bits = (edit->bits & ~mask) | bits;
}

bool pr_edit_word(const struct pr_scan *scan, const struct pr_word *word, const struct pr_field_info *table,
                  unsigned count, uint32_t owner, struct pr_edit *edit, const struct pr_field_info **field,
                  struct pr_problem *problem)
{
    const struct pr_field_info *found;
    struct pr_word name, text;
    uint32_t value, most;

    if (!pr_word_split(word, '=', &name, &text))
        return pr_scan_fail(scan, word, problem, "%s is not of the form FIELD=VALUE.", PR_QUOTE(word));
    if (!pr_word_number(&text, &value))
        return pr_scan_fail(scan, word, problem, "the value in %s is not a number of 32 bits.",
                            PR_QUOTE(word));
    if (pr_word_is(&name, "+bits")) {
        set_bits(edit, value, value);
        return true;
    }
    found = find_field(table, count, owner, &name);
    if (!found)
        return pr_scan_fail(scan, word, problem, "there is no field called %s here.", PR_QUOTE(&name));
    most = pr_bits_mask(0, found->width);
    if (value > most)
        return pr_scan_fail(scan, word, problem, "field %s holds at most %u; the value is %u.", found->name,
                            most, value);
    set_bits(edit, pr_bits_mask(found->lo, found->width), value << found->lo);
    *field = found;
    return true;
}

bool pr_edit_take(struct pr_scan *scan, const struct pr_field_info *table, unsigned count, uint32_t owner,
                  struct pr_edit *edit, struct pr_problem *problem)
{
    const struct pr_field_info *field;
    struct pr_word word;
    bool first = true;

    for (; pr_scan_word(scan, &word); first = false) {
        uint32_t value;

        if (first && pr_word_number(&word, &value))
            set_bits(edit, UINT32_MAX, value);
        else if (!pr_edit_word(scan, &word, table, count, owner, edit, &field, problem))
            return false;
    }
    return true;
}
