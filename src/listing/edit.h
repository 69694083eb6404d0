/* SPDX-License-Identifier: Apache-2.0 */
/* What a line of text does to one word of a descriptor: `[VALUE] FIELD=VALUE ...`, see listing.h. */
#ifndef LISTING_EDIT_H
#define LISTING_EDIT_H

#include "listing/scan.h"
#include "program/td.h"

/* The bits in `mask` become those of `bits`, which has no others. */
struct pr_edit {
    uint32_t mask, bits;
};

#define PR_EDIT_ANY_OWNER UINT32_MAX

/*
 * Adds `FIELD=VALUE` or `+bits=VALUE` to an edit. The field is one of the table with that owner (register or
 * header word), and `field` is set to it, or left alone for `+bits`.
 */
bool pr_edit_word(const struct pr_scan *scan, const struct pr_word *word, const struct pr_field_info *table,
                  unsigned count, uint32_t owner, struct pr_edit *edit, const struct pr_field_info **field,
                  struct pr_problem *problem);

/* The rest of a line, which may begin with a value for the whole word. */
bool pr_edit_take(struct pr_scan *scan, const struct pr_field_info *table, unsigned count, uint32_t owner,
                  struct pr_edit *edit, struct pr_problem *problem);

#endif
