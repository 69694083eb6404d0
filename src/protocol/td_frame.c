/* SPDX-License-Identifier: Apache-2.0 */
/* The frame of a task descriptor: its table. */
#include "protocol/td_frame.h"

const struct pr_field_info pr_header_table[PR_H_COUNT] = {
#define PR_TD_HEADER_FIELD(word, id, name, lo, width, use, source, where, accepted, meaning, action) \
    [PR_H_##id] = {name, word, lo, width, PR_USE_##use, PR_SOURCE_##source, where, accepted, meaning, action},
#include "protocol/td_header.def"
};
