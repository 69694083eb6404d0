/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame of a task descriptor: the fields of its header words, its size and its place in a stream. This is
 * what loads, links and pushes descriptors without knowing what they compute; program/td.h has the rest.
 */
#ifndef PROTOCOL_TD_FRAME_H
#define PROTOCOL_TD_FRAME_H

#include "protocol/bits.h"

#define PR_TD_HEADER_WORDS          10
#define PR_TD_HEADER_WORDS_EXTENDED 11
#define PR_TD_WORDS_MAX             512u   /* NextSize and the size register hold words - 1 in nine bits */
#define PR_TD_ALIGN                 0x100u /* descriptors start on this boundary of the stream */

enum pr_td_header_field {
#define PR_TD_HEADER_FIELD(word, id, name, lo, width, use, source, where, accepted, meaning, action) \
    PR_H_##id,
#include "protocol/td_header.def"
    PR_H_COUNT
};

enum pr_use { PR_USE_DECODED, PR_USE_HINT, PR_USE_OPAQUE, PR_USE_REFUSED, PR_USE_CHOSEN, PR_USE_COUNT };
enum pr_source { PR_SOURCE_ANEREGS, PR_SOURCE_FACTS, PR_SOURCE_ORACLES, PR_SOURCE_CHOSEN };

struct pr_field_info {
    const char *name;
    uint16_t owner; /* the header word, or enum pr_td_reg of program/td.h */
    uint8_t lo, width;
    uint8_t use;         /* enum pr_use */
    uint8_t source;      /* enum pr_source */
    const char *where;   /* the sheet, section and confidence of the meaning */
    uint32_t accepted;   /* bit n: the value n is run; 0: every value */
    const char *meaning; /* one sentence */
    const char *action;  /* what the use does not say, or "" */
};

extern const struct pr_field_info pr_header_table[PR_H_COUNT];

/* The sets of accepted values, for the tables. */
#define PR_ANY   0
#define PR_IS(n) (1u << (n))
#define PR_TO(n) ((2u << (n)) - 1)

#endif
