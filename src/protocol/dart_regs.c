/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Page-table entry forms. The forms differ only in their rows of form_table; decoding and encoding are
 * written once for all of them. Bits of an entry that the row does not name are ignored, and are 0 when it is
 * encoded. The bit that switches a sub-page range off is decoded and never set here.
 */
#include "protocol/dart_regs.h"

/*
 * One row per form: bit positions; 64 means the form has no such bit. Frames are stored shifted right
 * by frame_shift.
 */
static const struct form {
    const char *name;
    unsigned valid, no_write, no_read;
    unsigned frame_low, frame_high, frame_shift;
    bool sub_page, sub_page_disable, aux;
} form_table[PR_LEAF_FORMS] = {
    [PR_LEAF_SEED] = {"seed", 63, 64, 64, 14, 46, 0, false, false, true},
    [PR_LEAF_T8020] = {"t8020", 0, 7, 8, 12, 35, 0, true, true, false},
    [PR_LEAF_T6000] = {"t6000", 0, 2, 3, 10, 37, 4, true, false, false},
};

#define SUB_START_LOW    52
#define SUB_END_LOW      40
#define SUB_MASK         PR_LEAF_SUB_END
#define SUB_PAGE_DISABLE 1 /* t8020: bit 1 switches the sub-page range off */

static bool bit(uint64_t word, unsigned position)
{
    return position < 64 && word >> position & 1;
}

static uint64_t with(unsigned position, bool set)
{
    return position < 64 && set ? 1ull << position : 0;
}

const char *pr_leaf_form_name(enum pr_leaf_form form)
{
    return form_table[form].name;
}

struct pr_leaf pr_leaf_decode(enum pr_leaf_form form, uint64_t word)
{
    const struct form *f = &form_table[form];
    struct pr_leaf leaf = {.valid = bit(word, f->valid), .sub_end = SUB_MASK};

#define X(prot, position) leaf.aux |= (uint32_t)(f->aux && bit(word, position)) << (prot);
    PR_LEAF_AUX(X)
#undef X
    leaf.no_read = bit(word, f->no_read);
    leaf.no_write = bit(word, f->no_write);
    leaf.frame = (word & pr_bits64_mask(f->frame_high, f->frame_low)) << f->frame_shift;
    if (f->sub_page && !(f->sub_page_disable && bit(word, SUB_PAGE_DISABLE))) {
        leaf.sub_start = (uint32_t)(word >> SUB_START_LOW) & SUB_MASK;
        leaf.sub_end = (uint32_t)(word >> SUB_END_LOW) & SUB_MASK;
    }
    return leaf;
}

uint64_t pr_leaf_encode(enum pr_leaf_form form, const struct pr_leaf *leaf)
{
    const struct form *f = &form_table[form];
    uint64_t word =
        with(f->valid, leaf->valid) | with(f->no_write, leaf->no_write) | with(f->no_read, leaf->no_read);

#define X(prot, position) word |= with(position, f->aux && leaf->aux >> (prot)&1);
    PR_LEAF_AUX(X)
#undef X
    word |= leaf->frame >> f->frame_shift & pr_bits64_mask(f->frame_high, f->frame_low);
    if (f->sub_page)
        word |= (uint64_t)(leaf->sub_start & SUB_MASK) << SUB_START_LOW | (uint64_t)(leaf->sub_end & SUB_MASK)
                                                                              << SUB_END_LOW;
    return word;
}
