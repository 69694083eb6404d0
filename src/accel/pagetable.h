/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page table of the engine's device addresses: two levels in the machine's DRAM, in the form that the
 * machine's DARTs read. A second-level table is made when its first page is mapped and stays. The caller has
 * a lock, and invalidates the TLBs; the DARTs may walk the table meanwhile.
 */
#ifndef ACCEL_PAGETABLE_H
#define ACCEL_PAGETABLE_H

#include <anemone/machine.h>

#include "base/error.h"
#include "protocol/dart_regs.h"

/* Second-level tables of the whole aperture. */
#define ACC_PAGETABLE_TABLES (PR_DART_APERTURE_BYTES >> PR_DART_L1_SHIFT)

struct acc_pagetable {
    struct ane_machine *machine;
    enum pr_leaf_form form;
    uint64_t root; /* physical address */
    uint64_t *first;
    uint64_t *second[ACC_PAGETABLE_TABLES];
};

/* `form` is that of the machine's map. The tables end with the machine. */
int acc_pagetable_create(struct acc_pagetable *table, struct ane_machine *machine, enum ane_page_table form,
                         struct base_error *error);
/* Whole pages inside the aperture. -ENOMEM when DRAM has no page left: then none is mapped. */
int acc_pagetable_map(struct acc_pagetable *table, uint32_t iova, uint64_t physical, uint64_t bytes,
                      struct base_error *error);
void acc_pagetable_unmap(struct acc_pagetable *table, uint32_t iova, uint64_t bytes);

#endif
