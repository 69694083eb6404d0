/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of the header's fields. Rows and enum pr_td_header_field come from the same td_header.def, so an
 * enum value is the index of its row. The reader, the writer, the checks, the text form and the reference
 * pages all use these rows; a field is changed there and nowhere else.
 */
#include "protocol/td_frame.h"

const struct pr_field_info pr_header_table[PR_H_COUNT] = {
#define PR_TD_HEADER_FIELD(word, id, name, lo, width, use, source, where, accepted, meaning, action) \
    [PR_H_##id] = {name, word, lo, width, PR_USE_##use, PR_SOURCE_##source, where, accepted, meaning, action},
#include "protocol/td_header.def"
};
