/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel hands to the page-protection layer for each page it maps or unmaps, and the protection of a
 * page (seeds Listing 28.1, Table 28.4 and the text below Table 28.5).
 */
#ifndef PROTOCOL_SEGMENT_H
#define PROTOCOL_SEGMENT_H

#include <stddef.h>

#include "protocol/dart_regs.h"

/* X(field, offset, meaning): ppl_iommu_seg */
#define PR_SEGMENT_FIELDS(X)                  \
    X(iova, 0x00, "device virtual address")   \
    X(phys, 0x08, "physical DRAM page")       \
    X(size, 0x10, "0x4000 (16 KB granule)")   \
    X(prot, 0x18, "3 = RW, 1 = device-write") \
    X(reserved, 0x20, "0")
#define PR_SEGMENT_BYTES 0x28u

struct pr_segment {
#define X(field, offset, meaning) uint64_t field;
    PR_SEGMENT_FIELDS(X)
#undef X
};
_Static_assert(sizeof(struct pr_segment) == PR_SEGMENT_BYTES, "a segment has 40 bytes");
#define X(field, offset, meaning) _Static_assert(offsetof(struct pr_segment, field) == (offset), #field);
PR_SEGMENT_FIELDS(X)
#undef X

/* The classes that the direction mapper gives, and the bits above them, which it never sets. */
enum pr_protection {
    PR_PROT_DEVICE_WRITE = 1,
    PR_PROT_READ_ONLY = 2,
    PR_PROT_READ_WRITE = 3,
    PR_PROT_CLASS = 3, /* mask; 0 is not a class */
#define X(prot, leaf) | 1 << (prot)
    PR_PROT_AUX = 0 PR_LEAF_AUX(X),
#undef X
};

/* Whether a protection is one of the table: a class, and no bits beside the three of Table 28.4. */
bool pr_protection_valid(uint64_t prot);
/*
 * The leaf word of a segment. In the seed's form it is phys | template, where the template is bit 63 and the
 * bits of the protection. The hardware forms have no bits for the latter; there a read-only page cannot be
 * written, and a device-write page stays readable, because a program may read back its results (chosen).
 */
uint64_t pr_segment_leaf(enum pr_leaf_form form, const struct pr_segment *segment);

#endif
