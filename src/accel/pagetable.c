/* SPDX-License-Identifier: Apache-2.0 */
/* Entries are stored whole, with release: a walk sees the old or the new one, and a table after its zeros. */
#include "accel/pagetable.h"

#include <errno.h>
#include <inttypes.h>

#include "protocol/board.h"

_Static_assert(PR_DART_APERTURE_BYTES % (1u << PR_DART_L1_SHIFT) == 0, "the last table is a whole one");
_Static_assert(PR_DART_TABLE_ENTRIES * sizeof(uint64_t) == PR_PAGE_BYTES, "a table is a page");

static int form_of(enum ane_page_table page_table, enum pr_leaf_form *form)
{
    switch (page_table) {
    case ANE_PAGE_TABLE_SEED: *form = PR_LEAF_SEED; return 0;
    case ANE_PAGE_TABLE_T8020: *form = PR_LEAF_T8020; return 0;
    case ANE_PAGE_TABLE_T6000: *form = PR_LEAF_T6000; return 0;
    case ANE_PAGE_TABLE_CHIP: break;
    }
    return -EINVAL;
}

static int make_table(struct ane_machine *machine, uint64_t *physical, uint64_t **host,
                      struct base_error *error)
{
    int status = ane_machine_dram_alloc(machine, PR_PAGE_BYTES, physical);

    if (status)
        return base_fail(error, -status, "No page for a page table: %s", ane_machine_error());
    *host = ane_machine_dram(machine, *physical, PR_PAGE_BYTES);
    return *host ? 0 : base_fail(error, EIO, "DRAM has no page at 0x%" PRIx64 ".", *physical);
}

int acc_pagetable_create(struct acc_pagetable *table, struct ane_machine *machine, enum ane_page_table form,
                         struct base_error *error)
{
    *table = (struct acc_pagetable){.machine = machine};
    if (form_of(form, &table->form))
        return base_fail(error, EINVAL, "The machine's map names page-table form %d, which is not known.",
                         (int)form);
    return make_table(machine, &table->root, &table->first, error);
}

static void store(uint64_t *entry, uint64_t word)
{
    __atomic_store_n(entry, word, __ATOMIC_RELEASE);
}

/* The entry of a page that leads to `frame`; 0 when this form cannot name it. */
static uint64_t entry_of(const struct acc_pagetable *table, uint64_t frame)
{
    const struct pr_leaf leaf = {.valid = true, .frame = frame, .sub_end = PR_LEAF_SUB_END};
    const uint64_t word = pr_leaf_encode(table->form, &leaf);

    return pr_leaf_decode(table->form, word).frame == frame ? word : 0;
}

static int make_second(struct acc_pagetable *table, uint32_t index, struct base_error *error)
{
    uint64_t physical, word;
    int status;

    if (table->second[index])
        return 0;
    status = make_table(table->machine, &physical, &table->second[index], error);
    if (status)
        return status;
    word = entry_of(table, physical);
    if (!word)
        return base_fail(error, ENOMEM, "The page-table form cannot name a table at 0x%" PRIx64 ".",
                         physical);
    store(&table->first[index], word);
    return 0;
}

int acc_pagetable_map(struct acc_pagetable *table, uint32_t iova, uint64_t physical, uint64_t bytes,
                      struct base_error *error)
{
    const uint64_t end = iova + bytes;

    if (!entry_of(table, physical) || !entry_of(table, physical + bytes - PR_PAGE_BYTES))
        return base_fail(error, ENOMEM, "The page-table form cannot name physical memory at 0x%" PRIx64 ".",
                         physical);
    for (uint64_t index = iova >> PR_DART_L1_SHIFT; index <= (end - 1) >> PR_DART_L1_SHIFT; index++) {
        int status = make_second(table, (uint32_t)index, error);

        if (status)
            return status;
    }
    for (uint64_t at = iova; at < end; at += PR_PAGE_BYTES, physical += PR_PAGE_BYTES)
        store(&table->second[at >> PR_DART_L1_SHIFT][at >> PR_DART_L2_SHIFT & (PR_DART_TABLE_ENTRIES - 1)],
              entry_of(table, physical));
    return 0;
}

void acc_pagetable_unmap(struct acc_pagetable *table, uint32_t iova, uint64_t bytes)
{
    for (uint64_t at = iova; at < iova + bytes; at += PR_PAGE_BYTES)
        store(&table->second[at >> PR_DART_L1_SHIFT][at >> PR_DART_L2_SHIFT & (PR_DART_TABLE_ENTRIES - 1)],
              0);
}
