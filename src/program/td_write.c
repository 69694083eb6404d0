/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing descriptors. The form is always the longest one: ten header words, then one record for each block
 * of the table with all its registers, so that no register keeps a value from the descriptor before.
 */
#include "program/td_write.h"

enum { RECORD_COUNT_LO = 26 };

void pr_td_head_put(struct pr_td_head *head, enum pr_td_header_field field, uint32_t value)
{
    const struct pr_field_info *info = &pr_header_table[field];

    if (info->owner < PR_TD_HEADER_WORDS)
        head->word[info->owner] = pr_bits_put(head->word[info->owner], info->lo, info->width, value);
}

void pr_td_write(const struct pr_td_head *head, const struct pr_image *image, void *bytes)
{
    uint8_t *at = bytes;

    for (unsigned i = 0; i < PR_TD_HEADER_WORDS; i++, at += 4)
        pr_put_le32(at, head->word[i]);
    for (unsigned b = 0; b < PR_BLOCK_COUNT; b++) {
        const struct pr_block_info *block = &pr_block_table[b];

        pr_put_le32(at, (block->words - 1) << RECORD_COUNT_LO | block->base);
        at += 4;
        for (uint32_t i = 0; i < block->words; i++, at += 4)
            pr_put_le32(at, image->word[block->first + i]);
    }
}
