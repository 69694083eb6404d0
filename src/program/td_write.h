/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a descriptor: the way back from a register image. */
#ifndef PROGRAM_TD_WRITE_H
#define PROGRAM_TD_WRITE_H

#include "program/td.h"

/* A full descriptor writes every register of every block: the header, then one record per block. */
enum { PR_TD_WORDS_FULL = (int)PR_TD_HEADER_WORDS + (int)PR_BLOCK_COUNT + (int)PR_IMAGE_WORDS };

struct pr_td_head {
    uint32_t word[PR_TD_HEADER_WORDS];
};

/* A field of the first ten words. */
void pr_td_head_put(struct pr_td_head *head, enum pr_td_header_field field, uint32_t value);
/*
 * Writes PR_TD_WORDS_FULL words, little-endian. The header must not have TDE set: that word does not exist
 * here.
 */
void pr_td_write(const struct pr_td_head *head, const struct pr_image *image, void *bytes);

#endif
