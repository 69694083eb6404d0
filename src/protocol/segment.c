/* SPDX-License-Identifier: Apache-2.0 */
/* Segments and their leaf words. */
#include "protocol/segment.h"

bool pr_protection_valid(uint64_t prot)
{
    return (prot & PR_PROT_CLASS) && !(prot & ~(uint64_t)(PR_PROT_CLASS | PR_PROT_AUX));
}

uint64_t pr_segment_leaf(enum pr_leaf_form form, const struct pr_segment *segment)
{
    const struct pr_leaf leaf = {
        .valid = true,
        .no_write = (segment->prot & PR_PROT_CLASS) == PR_PROT_READ_ONLY,
        .aux = (uint32_t)segment->prot & PR_PROT_AUX,
        .frame = segment->phys,
        .sub_end = PR_LEAF_SUB_END,
    };

    return pr_leaf_encode(form, &leaf);
}
